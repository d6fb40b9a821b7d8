/** Connection URLs of PostgreSQL, parsed as the driver parses them. */
import { isLoopbackHost } from './network.ts'

/** `postgres://user@a:5432,b:5432/name` is one database on several hosts. */
export function hostsOf(url: string): string[] {
  const match = /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?]+)(.*)$/.exec(url)
  if (!match) return [url]
  const [, before, hosts, after] = match
  return hosts!.split(',').map((host) => `${before}${host}${after}`)
}

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
