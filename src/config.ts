/**
 * Settings from the environment, then from a `.env` file. `settings.ts` lists them; here they are read, and checked
 * together. An error names the setting in one line. Only files beside this one and `commands/` import it; features
 * receive values.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseEnv } from 'node:util'
import { UsageError } from './errors.ts'
import type { OAuthSettings } from './messages/mail/oauth.ts'
import type { DkimSettings, SmtpSettings } from './messages/mail/smtp.ts'
import type { Branding } from './platform/lib/branding.ts'
import { flush, makeFile, makeFolder } from './platform/lib/durable.ts'
import { errorFields } from './platform/lib/error-fields.ts'
import { nearest } from './platform/lib/nearest.ts'
import { isLoopbackHost, parseRange, type Range } from './platform/lib/network.ts'
import { type TraceSettings, traceSettings } from './platform/lib/otel.ts'
import { isPlainByOmission } from './platform/lib/postgres-url.ts'
import type { OpenMethods } from './roles.ts'
import { parseSource, type RosterSource } from './school/roster/source.ts'
import {
  allSettings,
  type Setting,
  type SettingGroup,
  type SettingName,
  settings,
  type Values,
} from './settings.ts'

type Single = Values<typeof settings.single>

/** A field is null if its setting is unset. */
export interface Config extends Omit<Single, 'publicUrl' | 'mailFrom' | 'secret' | 'passkeyId'> {
  readonly publicUrl: string
  readonly passkeyId: string
  readonly mailFrom: string
  readonly secret: string
  readonly school: Branding
  readonly smtpOAuth: OAuthSettings | null
  readonly dkim: DkimSettings | null
  readonly rosterSource: RosterSource | null
  readonly traces: TraceSettings | null
}

export type Env = Readonly<Record<string, string | undefined>>

const secretBytesMin = 32

/** A file that is asked for by name must be there; `.env` need not. */
export function readEnv(env: Env = process.env, file?: string): Env {
  if (file === undefined && !existsSync('.env')) return env
  return { ...parseEnv(settingsIn(file ?? '.env')), ...env }
}

function settingsIn(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = errorFields(error)
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
  const single = valuesOf(settings.single, env)
  const { production, databaseUrl } = single
  const publicUrl = single.publicUrl ?? `http://localhost:${single.port}`
  const config: Config = {
    ...single,
    publicUrl,
    passkeyId: (single.passkeyId ?? new URL(publicUrl).hostname).toLowerCase(),
    mailFrom: single.mailFrom ?? `Chiron <no-reply@${new URL(publicUrl).hostname}>`,
    secret: single.secret ?? (production ? '' : ownSecret(databaseUrl, makeSecret)),
    school: valuesOf(settings.school, env),
    smtpOAuth: checkOAuth(valuesOf(settings.smtpOAuth, env)),
    dkim: checkDkim(valuesOf(settings.dkim, env)),
    rosterSource: checkRosterSource(valuesOf(settings.rosterSource, env)),
    traces: readTraces(env),
  }
  checkTogether(config)
  return config
}

/** What the way to the mail server needs; null if there is none. */
export function smtpSettingsOf(config: Config): SmtpSettings | null {
  const { smtpUrl: url, smtpName: name, smtpOAuth: oauth, dkim, mailFrom: from } = config
  return url === null ? null : { url, name, oauth, dkim, from }
}

/** What a `Roster` takes from the settings. */
export function rosterSettingsOf({ timeZone, rosterHolds, rosterBadRows }: Config) {
  return { timeZone, holdShares: rosterHolds, badRows: rosterBadRows }
}

function checkName(name: string): void {
  const names = allSettings.map((setting) => setting.name)
  if (names.includes(name)) return
  const near = nearest(name, names)
  throw new UsageError(`${name} is not a setting${near ? `; did you mean ${near}?` : ' of this version'}`)
}

/** An empty text counts as unset. */
function valuesOf<G extends SettingGroup>(group: G, env: Env): Values<G> {
  const fields = Object.entries(group).map(([field, setting]) => {
    const text = env[setting.name] || setting.default
    return [field, text === null ? null : parsed(setting, text)]
  })
  return Object.fromEntries(fields) as Values<G>
}

function parsed({ name, parse }: Setting, text: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`${name} ${error.message}`) : error
  }
}

function wrong(name: SettingName, why: string): UsageError {
  return new UsageError(`${name} ${why}`)
}

function checkOAuth(values: Values<typeof settings.smtpOAuth>): OAuthSettings | null {
  const { tokenUrl, clientId, clientSecret, refreshToken } = values
  if (Object.values(values).every((value) => value === null)) return null
  const together = 'must be set with the other CHIRON_SMTP_OAUTH settings'
  if (tokenUrl === null) throw wrong('CHIRON_SMTP_OAUTH_TOKEN_URL', together)
  if (clientId === null) throw wrong('CHIRON_SMTP_OAUTH_CLIENT_ID', together)
  if (clientSecret === null && refreshToken === null)
    throw wrong('CHIRON_SMTP_OAUTH_CLIENT_SECRET', 'or CHIRON_SMTP_OAUTH_REFRESH_TOKEN must be set')
  return { ...values, tokenUrl, clientId }
}

function checkDkim(values: Values<typeof settings.dkim>): DkimSettings | null {
  const { domain, selector, privateKey } = values
  if (Object.values(values).every((value) => value === null)) return null
  const together = 'must be set with the other CHIRON_DKIM settings'
  if (domain === null) throw wrong('CHIRON_DKIM_DOMAIN', together)
  if (selector === null) throw wrong('CHIRON_DKIM_SELECTOR', together)
  if (privateKey === null) throw wrong('CHIRON_DKIM_KEY_FILE', together)
  return { domain, selector, privateKey }
}

function checkRosterSource(values: Values<typeof settings.rosterSource>): RosterSource | null {
  const { source } = values
  if (source === null) return null
  const found = parseSource({ ...values, source })
  if ('why' in found) throw wrong(settings.rosterSource[found.about].name, found.why)
  return found
}

function readTraces(env: Env): TraceSettings | null {
  const found = traceSettings(env)
  if (typeof found === 'string') throw new UsageError(found)
  return found
}

type Complaints = readonly (UsageError | false)[]

function checkTogether(config: Config): void {
  const { production, limits, port, metricsPort } = config
  const complaints = [
    ...complaintsAboutSecrets(config),
    ...complaintsInProduction(config),
    ...complaintsAboutOAuth(config),
    metricsPort !== 0 &&
      metricsPort === port &&
      wrong('CHIRON_METRICS_PORT', 'must be another port than CHIRON_PORT'),
    ...complaintsAboutPasskeys(config),
    production && !limits && wrong('CHIRON_LIMITS', 'cannot be off in production'),
    ...complaintsAboutMailbox(config),
  ].filter((complaint) => complaint !== false)
  if (complaints.length > 0) throw new UsageError(complaints.map(({ message }) => message).join('; '))
}

function complaintsAboutSecrets({ production, secret, secretPrevious }: Config): Complaints {
  const tooShort = (text: string | null) => text !== null && Buffer.byteLength(text) < secretBytesMin
  const bytes = `must have at least ${secretBytesMin} bytes`
  return [
    production && secret === '' && wrong('CHIRON_SECRET', 'must be set in production'),
    secret !== '' && tooShort(secret) && wrong('CHIRON_SECRET', bytes),
    !tooShort(secret) &&
      isGuessable(secret) &&
      wrong('CHIRON_SECRET', 'is easy to guess; make one with: openssl rand -base64 48'),
    tooShort(secretPrevious) && wrong('CHIRON_SECRET_PREVIOUS', bytes),
  ]
}

function complaintsInProduction({ production, smtpUrl, publicUrl, databaseUrl }: Config): Complaints {
  if (!production) return []
  return [
    smtpUrl === null && wrong('CHIRON_SMTP_URL', 'must be set in production'),
    !publicUrl.startsWith('https:') && wrong('CHIRON_PUBLIC_URL', 'must be an https address in production'),
    databaseUrl.startsWith('postgres') &&
      isPlainByOmission(databaseUrl) &&
      wrong(
        'CHIRON_DATABASE_URL',
        'must set a known sslmode in production when a host is not this machine: sslmode=verify-full, or sslmode=disable for plain text',
      ),
  ]
}

function complaintsAboutOAuth({ smtpOAuth, smtpUrl }: Config): Complaints {
  if (smtpOAuth === null) return []
  if (smtpUrl === null) return [wrong('CHIRON_SMTP_URL', 'must be set with CHIRON_SMTP_OAUTH_TOKEN_URL')]
  return [
    new URL(smtpUrl).password !== '' &&
      wrong('CHIRON_SMTP_URL', 'must hold no password when CHIRON_SMTP_OAUTH_TOKEN_URL is set'),
  ]
}

function complaintsAboutPasskeys(config: Config): Complaints {
  const { hostname } = new URL(config.publicUrl)
  const isRequired = config.staffPasskey === 'required'
  return [
    !isWithin(hostname, config.passkeyId) &&
      wrong(
        'CHIRON_PASSKEY_ID',
        `must be the host of CHIRON_PUBLIC_URL (${hostname}), or a domain above it with a dot`,
      ),
    isRequired &&
      !config.passkeys &&
      wrong('CHIRON_STAFF_PASSKEY', 'cannot be required while CHIRON_PASSKEYS is off'),
    isRequired &&
      !config.staffSignIn.includes('passkey') &&
      wrong('CHIRON_STAFF_SIGN_IN', 'must have passkey while CHIRON_STAFF_PASSKEY is required'),
  ]
}

/** Without a mail server, everybody who reaches the service can read all mail. */
function complaintsAboutMailbox({ production, smtpUrl, host, publicUrl }: Config): Complaints {
  if (production || smtpUrl !== null) return []
  const mustBeSet = (name: SettingName, value: string) =>
    wrong(
      'CHIRON_SMTP_URL',
      `must be set when ${name} is ${value}: the built-in mailbox is for this machine only`,
    )
  return [
    !isLoopbackHost(host) && mustBeSet('CHIRON_HOST', host),
    // Behind a proxy on this machine, every request would seem to be local.
    !isLoopbackHost(new URL(publicUrl).hostname) && mustBeSet('CHIRON_PUBLIC_URL', publicUrl),
  ]
}

/** Browsers accept a domain above the host, but not a top-level one. */
function isWithin(host: string, domain: string): boolean {
  return host === domain || (domain.includes('.') && host.endsWith(`.${domain}`))
}

/** The origins whose pages may use passkeys: the portal's, and those that may call the service from the same domain. */
export function passkeyOriginsOf({ publicUrl, corsOrigins, passkeyId }: Config): string[] {
  return [publicUrl, ...corsOrigins.filter((origin) => isWithin(new URL(origin).hostname, passkeyId))]
}

/** How people of each role can sign in. */
export function openMethodsOf({ passkeys, ...config }: Config): OpenMethods {
  const open = (methods: OpenMethods[keyof OpenMethods]) =>
    methods.filter((method) => passkeys || method !== 'passkey')
  return {
    veterinarian: open(config.veterinarianSignIn),
    student: open(config.studentSignIn),
    staff: open(config.staffSignIn),
  }
}

/** Addresses of providers that may be reached although they are not public; outside production also this machine. */
export function providerRangesOf({ production, providerAllow }: Config): readonly Range[] {
  return production ? providerAllow : [...providerAllow, ...thisMachine]
}

const thisMachine = ['127.0.0.0/8', '::1'].map((range) => parseRange(range)!)

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
      if (errorFields(error).code !== 'EEXIST') throw error
    } finally {
      unlinkSync(draft)
    }
    // Before anybody gets a token that only this secret can check.
    flush(folder)
  }
  return readFileSync(file, 'utf8').trim()
}
