/** The configured source of rosters. */
import { isLoopbackHost } from '../../platform/lib/network.ts'

export type RosterSource = FolderSource | WebSource | SftpSource

export interface FolderSource {
  readonly kind: 'folder'
  /** Of a folder, or of a zip. */
  readonly path: string
}

export interface WebSource {
  readonly kind: 'web'
  /** Without user and password. */
  readonly url: string
  /** Credentials, if any. Never sent to another server. */
  readonly credentials: Readonly<Record<string, string>>
}

export interface SftpSource {
  readonly kind: 'sftp'
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string | null
  /** A file with a private key. */
  readonly keyFile: string | null
  /** The server's keys that are trusted, such as `SHA256:…`. */
  readonly hostKeys: readonly string[]
  readonly path: string
}

export interface SourceSettings {
  readonly source: string
  /** `Name: value`. */
  readonly header: string | null
  readonly hostKeys: readonly string[]
  readonly keyFile: string | null
}

/** The settings that name a source; a complaint names one of them. */
type Complaint = { readonly about: 'source' | 'header' | 'hostKeys' | 'keyFile'; readonly why: string }

/** The source may contain a password, so complaints never repeat it. */
export function parseSource(settings: SourceSettings): RosterSource | Complaint {
  const { source, header, hostKeys, keyFile } = settings
  const kind = /^https?:\/\//i.test(source) ? 'web' : /^sftp:\/\//i.test(source) ? 'sftp' : 'folder'
  if (kind !== 'web' && header !== null) return { about: 'header', why: 'is only for an https source' }
  if (kind !== 'sftp' && hostKeys.length > 0) return { about: 'hostKeys', why: 'is only for an sftp source' }
  if (kind !== 'sftp' && keyFile !== null) return { about: 'keyFile', why: 'is only for an sftp source' }
  if (kind === 'web') return parseWeb(source, header)
  if (kind === 'sftp') return parseSftp(settings)
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(source))
    return { about: 'source', why: 'must be a folder, an https:// address or an sftp:// address' }
  return { kind: 'folder', path: source }
}

function parseWeb(text: string, header: string | null): WebSource | Complaint {
  const url = URL.parse(text)
  const user = decoded(url?.username)
  const password = decoded(url?.password)
  if (!url || user === null || password === null)
    return { about: 'source', why: 'must be an address such as https://sis.example.org/roster.zip' }
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname))
    return { about: 'source', why: 'must begin with https:// (http:// is only allowed for this machine)' }
  const isNamed = user !== '' || password !== ''
  url.username = ''
  url.password = ''
  url.hash = ''
  const named = header === null ? null : headerOf(header)
  if (header !== null && named === null)
    return { about: 'header', why: 'must be a header such as "Authorization: Bearer …" or "X-Api-Key: …"' }
  if (isNamed && named?.[0].toLowerCase() === 'authorization')
    return { about: 'header', why: 'must not be Authorization when CHIRON_ROSTER_SOURCE has a user' }
  const basic = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  const credentials = { ...(isNamed && { Authorization: basic }), ...(named && { [named[0]]: named[1] }) }
  return { kind: 'web', url: url.href, credentials }
}

function headerOf(text: string): [name: string, value: string] | null {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\x20-\x7e\t]+)$/.exec(text.trim()) ?? []
  return name === undefined || !value?.trim() ? null : [name, value.trim()]
}

function parseSftp({ source, hostKeys, keyFile }: SourceSettings): SftpSource | Complaint {
  const url = URL.parse(source)
  const user = decoded(url?.username)
  const password = decoded(url?.password)
  const path = decoded(url?.pathname)
  if (!url || !user || password === null || !path || url.hostname === '' || url.search || url.hash)
    return {
      about: 'source',
      why: 'must be an address such as sftp://user:password@sis.example.org/folder, with special characters percent-encoded',
    }
  if (password === '' && keyFile === null)
    return { about: 'source', why: 'must have a password, unless CHIRON_ROSTER_KEY_FILE is set' }
  const trusted = hostKeys.map((key) => /^(SHA256:[A-Za-z0-9+/]{43})=?$/.exec(key)?.[1])
  if (trusted.includes(undefined))
    return {
      about: 'hostKeys',
      why: 'must be comma-separated fingerprints such as SHA256:…; "ssh-keyscan HOST | ssh-keygen -lf -" shows them',
    }
  return {
    kind: 'sftp',
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 22 : Number(url.port),
    user,
    password: password === '' ? null : password,
    keyFile,
    hostKeys: trusted as string[],
    // As in curl, a path that begins with /~/ begins in the user's own folder.
    path: path.replace(/^\/~(\/|$)/, './'),
  }
}

function decoded(text = ''): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** For people. The path of a web address may be a secret, so it is left out. */
export function placeOf(source: RosterSource): string {
  if (source.kind === 'folder') return source.path
  if (source.kind === 'web') return new URL(source.url).origin
  const host = source.host.includes(':') ? `[${source.host}]` : source.host
  return `sftp://${host}${source.port === 22 ? '' : `:${source.port}`}${source.path.replace(/^\.\//, '/~/')}`
}
