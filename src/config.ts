/**
 * Settings from the environment, then from a `.env` file. Every CHIRON_* name is checked, and an error names the
 * setting in one line. Only `main.js`, `app.ts` and `commands/` read this; features receive values.
 */

import { createPrivateKey, randomBytes } from 'node:crypto'
import { existsSync, linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { parseEnv } from 'node:util'
import { UsageError } from './errors.ts'
import type { OAuthSettings } from './messages/mail/oauth.ts'
import type { DkimSettings, SmtpSettings } from './messages/mail/smtp.ts'
import { parseAddress } from './platform/lib/address.ts'
import { flush, makeFile, makeFolder } from './platform/lib/durable.ts'
import { nearest } from './platform/lib/nearest.ts'
import { isLoopbackHost, parseRange, type Range } from './platform/lib/network.ts'
import { type TraceSettings, traceSettings } from './platform/lib/otel.ts'
import { isPlainByOmission } from './platform/lib/postgres-url.ts'
import { readLogo, type School } from './platform/lib/school.ts'
import { parseSource, type RosterSource } from './school/roster/source.ts'

export interface Config {
  readonly production: boolean
  readonly host: string
  readonly port: number
  readonly publicUrl: string
  readonly databaseUrl: string
  readonly smtpUrl: string | null
  readonly mailFrom: string
  readonly smtpName: string | null
  readonly smtpOAuth: OAuthSettings | null
  readonly dkim: DkimSettings | null
  readonly mailBounces: string | null
  readonly secret: string
  readonly secretPrevious: string | null
  readonly trustedProxies: readonly Range[]
  readonly corsOrigins: readonly string[]
  readonly timeZone: string
  readonly limits: boolean
  readonly workers: number
  readonly keepEventsDays: number
  readonly keepMailDays: number
  readonly keepSessionsDays: number
  readonly rosterKeepDays: number
  readonly rosterKeepImports: number
  readonly school: School
  /** Null if there are no metrics. */
  readonly metricsPort: number | null
  /** Null if no traces are sent. */
  readonly traces: TraceSettings | null
  /** What is not public but may be reached by webhooks. */
  readonly webhookAllow: readonly Range[]
  /** Null if rosters are not fetched. */
  readonly rosterSource: RosterSource | null
  readonly rosterReportTo: readonly string[]
}

export type Env = Readonly<Record<string, string | undefined>>

export const names = [
  'CHIRON_HOST',
  'CHIRON_PORT',
  'CHIRON_PUBLIC_URL',
  'CHIRON_DATABASE_URL',
  'CHIRON_SMTP_URL',
  'CHIRON_MAIL_FROM',
  'CHIRON_SMTP_NAME',
  'CHIRON_SMTP_OAUTH_TOKEN_URL',
  'CHIRON_SMTP_OAUTH_CLIENT_ID',
  'CHIRON_SMTP_OAUTH_CLIENT_SECRET',
  'CHIRON_SMTP_OAUTH_SCOPE',
  'CHIRON_SMTP_OAUTH_REFRESH_TOKEN',
  'CHIRON_DKIM_DOMAIN',
  'CHIRON_DKIM_SELECTOR',
  'CHIRON_DKIM_KEY_FILE',
  'CHIRON_MAIL_BOUNCES',
  'CHIRON_SECRET',
  'CHIRON_SECRET_PREVIOUS',
  'CHIRON_TRUSTED_PROXIES',
  'CHIRON_CORS_ORIGINS',
  'CHIRON_TIME_ZONE',
  'CHIRON_LIMITS',
  'CHIRON_WORKERS',
  'CHIRON_KEEP_EVENTS_DAYS',
  'CHIRON_KEEP_MAIL_DAYS',
  'CHIRON_KEEP_SESSIONS_DAYS',
  'CHIRON_ROSTER_KEEP_DAYS',
  'CHIRON_ROSTER_KEEP_IMPORTS',
  'CHIRON_SCHOOL_NAME',
  'CHIRON_SCHOOL_LOGO',
  'CHIRON_SUPPORT_URL',
  'CHIRON_PRIVACY_URL',
  'CHIRON_METRICS_PORT',
  'CHIRON_WEBHOOK_ALLOW',
  'CHIRON_ROSTER_SOURCE',
  'CHIRON_ROSTER_HEADER',
  'CHIRON_ROSTER_HOST_KEY',
  'CHIRON_ROSTER_KEY_FILE',
  'CHIRON_ROSTER_REPORT_TO',
] as const
export const databaseUrlByDefault = 'sqlite:data/chiron.db'

type Name = (typeof names)[number] | 'NODE_ENV'
const environments = ['production', 'development', 'test'] as const

const secretBytesMin = 32
const keepImportsMax = 10_000
const keepDaysMax = 3_660
// Limits how many addresses can be trusted as proxies. A /8 is the widest private network; unique local addresses are a
// /7.
const proxyBitsMin = { ipv4: 8, ipv6: 16, uniqueLocal: 7 }

/** A file that is asked for by name must be there; `.env` need not. */
export function readEnv(env: Env = process.env, file?: string): Env {
  if (file === undefined && !existsSync('.env')) return env
  return { ...parseEnv(settingsIn(file ?? '.env')), ...env }
}

function settingsIn(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw new UsageError(`there is no file ${file} to read settings from`)
    if (code === 'EACCES')
      throw new UsageError(
        `this user may not read the settings in ${file}: be root, or the user of the service`,
      )
    throw new UsageError(`${file} is not a file with settings (${code})`)
  }
}

/** `makeSecret`: outside production, make a secret if there is none; otherwise it is empty. */
export function loadConfig(env: Env, { makeSecret = true } = {}): Config {
  for (const name of Object.keys(env)) if (name.startsWith('CHIRON_')) checkName(name)
  const get = (name: Name) => (env[name] === undefined || env[name] === '' ? null : env[name])

  const production = oneOf('NODE_ENV', env.NODE_ENV || 'development', environments) === 'production'
  const host = get('CHIRON_HOST') ?? '127.0.0.1'
  const port = integer('CHIRON_PORT', get('CHIRON_PORT') ?? '3000', 0, 65_535)
  const publicUrl = parsePublicUrl(get('CHIRON_PUBLIC_URL') ?? `http://localhost:${port}`)
  const databaseUrl = parseDatabaseUrl(get('CHIRON_DATABASE_URL') ?? databaseUrlByDefault)
  const smtpUrl = parseSmtpUrl(get('CHIRON_SMTP_URL'))
  const limits = oneOf('CHIRON_LIMITS', get('CHIRON_LIMITS') ?? 'on', ['on', 'off']) === 'on'
  const days = (name: Name, usual: string) => integer(name, get(name) ?? usual, 1, keepDaysMax)
  const config: Config = {
    production,
    host,
    port,
    publicUrl,
    databaseUrl,
    smtpUrl,
    mailFrom: parseMailFrom(get('CHIRON_MAIL_FROM') ?? `Chiron <no-reply@${new URL(publicUrl).hostname}>`),
    smtpName: domain('CHIRON_SMTP_NAME', get('CHIRON_SMTP_NAME')),
    smtpOAuth: parseSmtpOAuth(get),
    dkim: parseDkim(get),
    mailBounces: domain('CHIRON_MAIL_BOUNCES', get('CHIRON_MAIL_BOUNCES')),
    secret: get('CHIRON_SECRET') ?? (production ? '' : ownSecret(databaseUrl, makeSecret)),
    secretPrevious: get('CHIRON_SECRET_PREVIOUS'),
    trustedProxies: list(get('CHIRON_TRUSTED_PROXIES')).map(parseProxy),
    corsOrigins: list(get('CHIRON_CORS_ORIGINS')).map(parseOrigin),
    timeZone: parseTimeZone(get('CHIRON_TIME_ZONE') ?? 'UTC'),
    limits,
    workers: parseWorkers(get('CHIRON_WORKERS') ?? '1'),
    keepEventsDays: days('CHIRON_KEEP_EVENTS_DAYS', '400'),
    keepMailDays: days('CHIRON_KEEP_MAIL_DAYS', '30'),
    keepSessionsDays: days('CHIRON_KEEP_SESSIONS_DAYS', '30'),
    rosterKeepDays: days('CHIRON_ROSTER_KEEP_DAYS', '400'),
    rosterKeepImports: integer(
      'CHIRON_ROSTER_KEEP_IMPORTS',
      get('CHIRON_ROSTER_KEEP_IMPORTS') ?? '30',
      1,
      keepImportsMax,
    ),
    school: {
      name: parseSchoolName(get('CHIRON_SCHOOL_NAME')),
      logo: parseSchoolLogo(get('CHIRON_SCHOOL_LOGO')),
      support: parseSupportUrl(get('CHIRON_SUPPORT_URL')),
      privacy: parseWebAddress('CHIRON_PRIVACY_URL', get('CHIRON_PRIVACY_URL')),
    },
    metricsPort: parseMetricsPort(get('CHIRON_METRICS_PORT'), port),
    traces: parseTraces(env),
    webhookAllow: list(get('CHIRON_WEBHOOK_ALLOW')).map(parseWebhookAllow),
    rosterSource: parseRosterSource(get),
    rosterReportTo: parseReportTo(list(get('CHIRON_ROSTER_REPORT_TO'))),
  }
  checkTogether(config)
  return config
}

/** What the way to the mail server needs; null if there is none. */
export function smtpSettingsOf(config: Config): SmtpSettings | null {
  const { smtpUrl: url, smtpName: name, smtpOAuth: oauth, dkim, mailFrom: from } = config
  return url === null ? null : { url, name, oauth, dkim, from }
}

function checkName(name: string): void {
  if ((names as readonly string[]).includes(name)) return
  const near = nearest(name, names)
  throw new UsageError(`${name} is not a setting${near ? `; did you mean ${near}?` : ' of this version'}`)
}

function checkTogether(config: Config): void {
  const { production, secret, secretPrevious, smtpUrl, publicUrl, databaseUrl, limits, host } = config
  const tooShort = (text: string | null) => text !== null && Buffer.byteLength(text) < secretBytesMin
  const bytes = `must have at least ${secretBytesMin} bytes`
  const complaints = [
    production && secret === '' && wrong('CHIRON_SECRET', 'must be set in production'),
    secret !== '' && tooShort(secret) && wrong('CHIRON_SECRET', bytes),
    !tooShort(secret) &&
      isGuessable(secret) &&
      wrong('CHIRON_SECRET', 'is easy to guess; make one with: openssl rand -base64 48'),
    tooShort(secretPrevious) && wrong('CHIRON_SECRET_PREVIOUS', bytes),
    production && smtpUrl === null && wrong('CHIRON_SMTP_URL', 'must be set in production'),
    production &&
      !publicUrl.startsWith('https:') &&
      wrong('CHIRON_PUBLIC_URL', 'must be an https address in production'),
    production &&
      databaseUrl.startsWith('postgres') &&
      isPlainByOmission(databaseUrl) &&
      wrong(
        'CHIRON_DATABASE_URL',
        'must set a known sslmode in production when a host is not this machine: sslmode=verify-full, or sslmode=disable for plain text',
      ),
    config.smtpOAuth !== null &&
      (smtpUrl === null
        ? wrong('CHIRON_SMTP_URL', 'must be set with CHIRON_SMTP_OAUTH_TOKEN_URL')
        : new URL(smtpUrl).password !== '' &&
          wrong('CHIRON_SMTP_URL', 'must hold no password when CHIRON_SMTP_OAUTH_TOKEN_URL is set')),
    production && !limits && wrong('CHIRON_LIMITS', 'cannot be off in production'),
    !production &&
      smtpUrl === null &&
      !isLoopbackHost(host) &&
      wrong(
        'CHIRON_SMTP_URL',
        `must be set when CHIRON_HOST is ${host}: the built-in mailbox is for this machine only`,
      ),
    // Behind a proxy on this machine, every request would seem to be local.
    !production &&
      smtpUrl === null &&
      !isLoopbackHost(new URL(publicUrl).hostname) &&
      wrong(
        'CHIRON_SMTP_URL',
        `must be set when CHIRON_PUBLIC_URL is ${publicUrl}: the built-in mailbox is for this machine only`,
      ),
  ].filter((complaint) => complaint !== false)
  if (complaints.length > 0) throw new UsageError(complaints.map(({ message }) => message).join('; '))
}

/** Not a measure of strength; it catches what people type in a hurry. */
function isGuessable(secret: string): boolean {
  const characters = [...secret]
  if (new Set(characters).size < 6) return true
  const repeats = (length: number) =>
    characters.every((one, i) => i < length || one === characters[i - length])
  for (let length = 1; length < 16 && length <= characters.length / 2; length++)
    if (repeats(length)) return true
  const neighbours = characters.filter(
    (one, i) => i > 0 && Math.abs(one.codePointAt(0)! - characters[i - 1]!.codePointAt(0)!) <= 1,
  )
  return neighbours.length > (characters.length * 3) / 4
}

function wrong(name: Name, why: string): UsageError {
  return new UsageError(`${name} ${why}`)
}

function integer(name: Name, text: string, min: number, max: number): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < min || value > max)
    throw wrong(name, `must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`)
  return value
}

function oneOf<T extends string>(name: Name, text: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === text)
  if (!found) throw wrong(name, `must be ${choices.join(' or ')}, not ${JSON.stringify(text)}`)
  return found
}

function list(text: string | null): string[] {
  return (text ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function parsePublicUrl(text: string): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol))
    throw wrong('CHIRON_PUBLIC_URL', 'must be an address such as https://access.example.org')
  if (url.pathname !== '/' || url.search || url.hash || url.username)
    throw wrong(
      'CHIRON_PUBLIC_URL',
      'must be an origin such as https://access.example.org, without path or query',
    )
  return url.origin
}

/** The URL may contain a password, so errors never repeat it. */
function parseDatabaseUrl(text: string): string {
  if (/^sqlite:[^?#]+$/.test(text) && text !== 'sqlite::memory:') return text
  if (/^postgres(ql)?:\/\/[^/]+\/[^/?]+(\?.*)?$/.test(text)) return text
  throw wrong(
    'CHIRON_DATABASE_URL',
    'must be sqlite:<file> or postgres://<user>:<password>@<host>/<database>',
  )
}

function parseSmtpUrl(text: string | null): string | null {
  if (text === null) return null
  const url = URL.parse(text)
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '' || !decodes(url.username + url.password))
    throw wrong('CHIRON_SMTP_URL', 'must be smtp://<host>:<port> or smtps://<host>:<port>')
  return text
}

function decodes(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

function parseMailFrom(text: string): string {
  if (/[\r\n]/.test(text) || !/^(?:[^<>@]*<[^<>\s@]+@[^<>\s@]+>|[^<>\s@]+@[^<>\s@]+)$/.test(text))
    throw wrong('CHIRON_MAIL_FROM', `must be an address or "Name <address>", not ${JSON.stringify(text)}`)
  return text
}

type Get = (name: Name) => string | null

function parseSmtpOAuth(get: Get): OAuthSettings | null {
  const tokenUrl = get('CHIRON_SMTP_OAUTH_TOKEN_URL')
  const clientId = get('CHIRON_SMTP_OAUTH_CLIENT_ID')
  const clientSecret = get('CHIRON_SMTP_OAUTH_CLIENT_SECRET')
  const scope = get('CHIRON_SMTP_OAUTH_SCOPE')
  const refreshToken = get('CHIRON_SMTP_OAUTH_REFRESH_TOKEN')
  if ([tokenUrl, clientId, clientSecret, scope, refreshToken].every((value) => value === null)) return null
  const together = 'must be set with the other CHIRON_SMTP_OAUTH settings'
  if (tokenUrl === null) throw wrong('CHIRON_SMTP_OAUTH_TOKEN_URL', together)
  if (clientId === null) throw wrong('CHIRON_SMTP_OAUTH_CLIENT_ID', together)
  if (clientSecret === null && refreshToken === null)
    throw wrong('CHIRON_SMTP_OAUTH_CLIENT_SECRET', 'or CHIRON_SMTP_OAUTH_REFRESH_TOKEN must be set')
  const url = URL.parse(tokenUrl)
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname))
  if (!isSafe || url.username !== '')
    throw wrong('CHIRON_SMTP_OAUTH_TOKEN_URL', 'must be an https address without a user')
  return { tokenUrl, clientId, clientSecret, scope, refreshToken }
}

function parseDkim(get: Get): DkimSettings | null {
  const name = domain('CHIRON_DKIM_DOMAIN', get('CHIRON_DKIM_DOMAIN'))
  const selector = domain('CHIRON_DKIM_SELECTOR', get('CHIRON_DKIM_SELECTOR'))
  const file = get('CHIRON_DKIM_KEY_FILE')
  if (name === null && selector === null && file === null) return null
  const together = 'must be set with the other CHIRON_DKIM settings'
  if (name === null) throw wrong('CHIRON_DKIM_DOMAIN', together)
  if (selector === null) throw wrong('CHIRON_DKIM_SELECTOR', together)
  if (file === null) throw wrong('CHIRON_DKIM_KEY_FILE', together)
  return { domain: name, selector, privateKey: readRsaKey('CHIRON_DKIM_KEY_FILE', file) }
}

const rsaBitsMin = 1024

function readRsaKey(setting: Name, file: string): string {
  if (!existsSync(file)) throw wrong(setting, `names a file that is not there: ${file}`)
  const isRsa = (pem: string) => {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem)
    return asymmetricKeyType === 'rsa' && asymmetricKeyDetails!.modulusLength! >= rsaBitsMin
  }
  try {
    const pem = readFileSync(file, 'utf8')
    if (isRsa(pem)) return pem
  } catch {
    // The reason may quote the key.
  }
  throw wrong(setting, 'must name a readable PEM file with an RSA key and no password')
}

/** A host name; a selector of DKIM looks the same. */
function domain(setting: Name, text: string | null): string | null {
  if (text === null) return null
  const label = '[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?'
  const isBracketed = setting === 'CHIRON_SMTP_NAME' && /^\[[0-9a-fA-F:.]+\]$/.test(text)
  if (!isBracketed && !new RegExp(`^${label}(\\.${label})*$`, 'i').test(text))
    throw wrong(setting, `must be a name such as mail.example.org, not ${JSON.stringify(text)}`)
  return text
}

function parseProxy(text: string): Range {
  const range = parseRange(text)
  if (!range)
    throw wrong(
      'CHIRON_TRUSTED_PROXIES',
      `holds ${JSON.stringify(text)}, which is neither an address nor a CIDR`,
    )
  const [address, bits] = range
  const bitsMin = proxyBitsMin[address.range() === 'uniqueLocal' ? 'uniqueLocal' : address.kind()]
  if (bits < bitsMin)
    throw wrong(
      'CHIRON_TRUSTED_PROXIES',
      `holds ${JSON.stringify(text)}, which is too wide a range to trust: use at least /${bitsMin}`,
    )
  return range
}

function parseWebhookAllow(text: string): Range {
  const range = parseRange(text)
  if (range) return range
  throw wrong('CHIRON_WEBHOOK_ALLOW', `holds ${JSON.stringify(text)}, which is neither an address nor a CIDR`)
}

function parseRosterSource(get: Get): RosterSource | null {
  const settings = {
    source: get('CHIRON_ROSTER_SOURCE'),
    header: get('CHIRON_ROSTER_HEADER'),
    hostKeys: list(get('CHIRON_ROSTER_HOST_KEY')),
    keyFile: get('CHIRON_ROSTER_KEY_FILE'),
  }
  const { source } = settings
  if (source === null) return null
  const parsed = parseSource({ ...settings, source })
  if (!('why' in parsed)) return parsed
  const setting = {
    source: 'CHIRON_ROSTER_SOURCE',
    header: 'CHIRON_ROSTER_HEADER',
    hostKeys: 'CHIRON_ROSTER_HOST_KEY',
    keyFile: 'CHIRON_ROSTER_KEY_FILE',
  } as const
  throw wrong(setting[parsed.about], parsed.why)
}

const reportToMax = 10

function parseReportTo(texts: readonly string[]): string[] {
  if (texts.length > reportToMax)
    throw wrong('CHIRON_ROSTER_REPORT_TO', `has more than ${reportToMax} addresses`)
  return texts.map((text) => {
    const address = parseAddress(text)
    if (typeof address === 'string')
      throw wrong('CHIRON_ROSTER_REPORT_TO', `holds an address that cannot be used: ${address}`)
    return address.email
  })
}

function parseOrigin(text: string): string {
  const url = URL.parse(text)
  if (!url || url.origin !== text)
    throw wrong(
      'CHIRON_CORS_ORIGINS',
      'holds something that is not an origin such as https://app.example.org, without a slash at the end',
    )
  return text
}

function parseTimeZone(text: string): string {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text })
    return text
  } catch {
    throw wrong('CHIRON_TIME_ZONE', `must be a time zone such as Europe/Lisbon, not ${JSON.stringify(text)}`)
  }
}

function parseWorkers(text: string): number {
  if (text === 'auto') return availableParallelism()
  if (!/^\d+$/.test(text))
    throw wrong('CHIRON_WORKERS', `must be a number or auto, not ${JSON.stringify(text)}`)
  return integer('CHIRON_WORKERS', text, 1, 256)
}

const schoolNameMax = 100

function parseSchoolName(text: string | null): string | null {
  if (text === null) return null
  const name = text.normalize('NFC').trim()
  if (name === '' || [...name].length > schoolNameMax || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name))
    throw wrong('CHIRON_SCHOOL_NAME', `must have 1 to ${schoolNameMax} characters that can be seen`)
  return withoutCode('CHIRON_SCHOOL_NAME', name)
}

function parseSchoolLogo(file: string | null): School['logo'] {
  if (file === null) return null
  const logo = readLogo(file)
  if (typeof logo === 'string') throw wrong('CHIRON_SCHOOL_LOGO', logo)
  return logo
}

function parseSupportUrl(text: string | null): string | null {
  const address = /^(?:mailto:)?([^\s@<>"'?&:/]+@[^\s@<>"'?&:/]+\.[^\s@<>"'?&:/]+)$/.exec(text ?? '')?.[1]
  if (address) return withoutCode('CHIRON_SUPPORT_URL', `mailto:${address}`)
  return parseWebAddress('CHIRON_SUPPORT_URL', text, ', or an e-mail address')
}

function parseWebAddress(name: Name, text: string | null, or = ''): string | null {
  if (text === null) return null
  const url = URL.parse(text)
  if (url?.protocol !== 'https:' || url.username || url.password)
    throw wrong(name, `must be an https address such as https://school.example/help${or}`)
  return withoutCode(name, url.href)
}

/** The code is the only such number in a mail. */
function withoutCode(name: Name, text: string): string {
  if (/\d{6}/.test(text))
    throw wrong(name, 'must have no six digits in a row: in a mail they would look like a code')
  return text
}

function parseMetricsPort(text: string | null, port: number): number | null {
  if (text === null || text === 'off') return null
  const metricsPort = integer('CHIRON_METRICS_PORT', text, 0, 65_535)
  if (metricsPort !== 0 && metricsPort === port)
    throw wrong('CHIRON_METRICS_PORT', 'must be another port than CHIRON_PORT')
  return metricsPort
}

function parseTraces(env: Env): TraceSettings | null {
  const settings = traceSettings(env)
  if (typeof settings === 'string') throw new UsageError(settings)
  return settings
}

/**
 * Outside production the first process creates a secret next to the SQLite file. `link` fails if the file exists, so of
 * several processes starting at once one wins and the others read its secret.
 */
function ownSecret(databaseUrl: string, make: boolean): string {
  const folder = databaseUrl.startsWith('sqlite:') ? dirname(databaseUrl.slice('sqlite:'.length)) : 'data'
  const file = join(folder, 'chiron.secret')
  if (!existsSync(file)) {
    if (!make) return ''
    makeFolder(folder)
    const draft = join(folder, `.chiron.secret.${process.pid}.${randomBytes(4).toString('hex')}`)
    makeFile(draft)
    writeFileSync(draft, `${randomBytes(32).toString('base64url')}\n`, { flush: true })
    try {
      linkSync(draft, file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      unlinkSync(draft)
    }
    // Before anybody gets a token that only this secret can check.
    flush(folder)
  }
  return readFileSync(file, 'utf8').trim()
}
