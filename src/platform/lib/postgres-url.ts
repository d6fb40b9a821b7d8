/** Connection URLs of PostgreSQL, parsed as the driver parses them. */
import { isLoopbackHost } from './network.ts'

/** `postgres://user@a:5432,b:5432/name` is one database on several hosts. */
export function hostsOf(url: string): string[] {
  const match = /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?]+)(.*)$/.exec(url)
  if (!match) return [url]
  const [, before, hosts, after] = match
  return hosts!.split(',').map((host) => `${before}${host}${after}`)
}

/** libpq's rule: `?connect_timeout=` is in seconds, and 0 waits without end. */
export function connectTimeoutMs(url: string): number {
  const seconds = URL.parse(url)?.searchParams.getAll('connect_timeout').at(-1) ?? ''
  return /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1_000 : defaultConnectTimeoutMs
}

/** Whether a pooler in transaction mode is in between. */
export function isPooled(url: string): boolean {
  return poolerOf(url) === 'transaction'
}

export function poolerOf(url: string): string | undefined {
  return URL.parse(hostsOf(url)[0]!)?.searchParams.getAll('pooler').at(-1)
}

const defaultConnectTimeoutMs = 3_000

const sslModes = ['verify-full', 'verify-ca', 'require', 'prefer', 'no-verify', 'disable']

/** Whether a host is another machine and no sslmode is set: the driver would use plain text. */
export function isPlainByOmission(url: string): boolean {
  return hostsOf(url).some((one) => {
    const parsed = URL.parse(one)
    if (!parsed) return true
    const last = (name: string) => parsed.searchParams.getAll(name).at(-1)
    const host = last('host') || parsed.hostname
    const isHere = /^(\/|%2f)/i.test(host) || isLoopbackHost(host)
    return !isHere && !sslModes.includes(last('sslmode') ?? '')
  })
}

/** The same address as environment variables for PostgreSQL's own programs (libpq). */
export function libpqEnvironment(url: string): Record<string, string> {
  const hosts = hostsOf(url).map((one) => new URL(one))
  const { username, password, pathname, searchParams } = hosts[0]!
  const last = (name: string) => searchParams.getAll(name).at(-1) ?? ''
  const sslmode = last('uselibpqcompat') === 'true' ? last('sslmode') : libpqModes[last('sslmode')]
  const variables = {
    PGHOST:
      last('host') ||
      hosts.map(({ hostname }) => decodeURIComponent(hostname).replace(/^\[(.*)\]$/, '$1')).join(','),
    PGPORT: last('port') || hosts.map(({ port }) => port || '5432').join(','),
    PGUSER: decodeURIComponent(username) || last('user'),
    PGPASSWORD: decodeURIComponent(password) || last('password'),
    PGDATABASE: decodeURIComponent(pathname.slice(1)),
    PGSSLMODE: sslmode ?? '',
    // Without a file of its own, the driver trusts Node's authorities; libpq 16 and later trust the system's.
    PGSSLROOTCERT: last('sslrootcert') || (sslmode === 'verify-full' ? 'system' : ''),
    PGSSLCERT: last('sslcert'),
    PGSSLKEY: last('sslkey'),
    PGCONNECT_TIMEOUT: last('connect_timeout'),
    PGTARGETSESSIONATTRS: hosts.length > 1 ? 'read-write' : '',
  }
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''))
}

/** The libpq equivalent of what the driver does for each mode. */
const libpqModes: Readonly<Record<string, string>> = {
  'verify-full': 'verify-full',
  'verify-ca': 'verify-full',
  require: 'verify-full',
  prefer: 'verify-full',
  'no-verify': 'require',
  disable: 'disable',
}
