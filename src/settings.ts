/**
 * Every setting: its name, its default, how its text is parsed, and what it is for. `config.ts` reads the environment
 * with these tables. docs/settings.md has a row for each, which begins with the sentence given here;
 * test/documents.test.ts compares the two.
 */
import { usualShares } from './school/roster/words.ts'
import * as parse from './setting-parsers.ts'

export interface Setting {
  readonly name: string
  /** Parsed like any other value. Null leaves the setting unset, and its value is null. */
  readonly default: string | null
  /** For the documentation, where unset does not mean "none". */
  readonly defaultInWords?: string
  /** Throws a `UsageError` that continues a sentence which begins with the setting's name. */
  readonly parse: (text: string) => unknown
  /** One sentence, without the full stop. */
  readonly about: string
}

export type SettingGroup = Readonly<Record<string, Setting>>

export const defaultDatabaseUrl = 'sqlite:data/chiron.db'

const days = parse.integer(1, 3_660)

/** Each becomes the field of the same name in `Config`. */
const single = {
  host: {
    name: 'CHIRON_HOST',
    default: '127.0.0.1',
    parse: parse.text,
    about: 'The address to listen on',
  },
  port: {
    name: 'CHIRON_PORT',
    default: '3000',
    parse: parse.integer(0, 65_535),
    about: 'The port to listen on',
  },
  publicUrl: {
    name: 'CHIRON_PUBLIC_URL',
    default: null,
    defaultInWords: '`http://localhost:{port}`',
    parse: parse.publicUrl,
    about: 'The address that people type, without a path',
  },
  trustedProxies: {
    name: 'CHIRON_TRUSTED_PROXIES',
    default: '',
    parse: parse.listOf(parse.proxy),
    about: 'Addresses or CIDRs of your proxies, separated by commas',
  },
  corsOrigins: {
    name: 'CHIRON_CORS_ORIGINS',
    default: '',
    parse: parse.listOf(parse.origin),
    about: 'Origins whose pages may call the service, separated by commas',
  },
  databaseUrl: {
    name: 'CHIRON_DATABASE_URL',
    default: defaultDatabaseUrl,
    parse: parse.databaseUrl,
    about: 'The database: `sqlite:` and a file, or a PostgreSQL address',
  },
  secret: {
    name: 'CHIRON_SECRET',
    default: null,
    defaultInWords: 'made by the first start',
    parse: parse.text,
    about: 'At least 32 bytes that are hard to guess, from which every key is derived',
  },
  secretPrevious: {
    name: 'CHIRON_SECRET_PREVIOUS',
    default: null,
    parse: parse.text,
    about: 'The old secret, while you change to a new one',
  },
  keepEventsDays: {
    name: 'CHIRON_KEEP_EVENTS_DAYS',
    default: '400',
    parse: days,
    about: 'Days to keep events, notes, and the ids of closed accounts and removed members of staff',
  },
  keepMailDays: {
    name: 'CHIRON_KEEP_MAIL_DAYS',
    default: '30',
    parse: days,
    about: 'Days to keep delivery records',
  },
  keepSessionsDays: {
    name: 'CHIRON_KEEP_SESSIONS_DAYS',
    default: '30',
    parse: days,
    about: 'Days to keep ended sessions',
  },
  rosterKeepDays: {
    name: 'CHIRON_ROSTER_KEEP_DAYS',
    default: '400',
    parse: days,
    about: 'Days for which an import can be undone',
  },
  rosterKeepImports: {
    name: 'CHIRON_ROSTER_KEEP_IMPORTS',
    default: '30',
    parse: parse.integer(1, 10_000),
    about: 'Always keep at least this many imports undoable',
  },
  rosterHolds: {
    name: 'CHIRON_ROSTER_HOLDS',
    default: '',
    defaultInWords: `\`${Object.entries(usualShares)
      .map(([code, share]) => `${code}:${share}`)
      .join(',')}\``,
    parse: parse.holdShares,
    about: 'Percentages above which an import or undo is held, such as `leavers:10,classes:25`',
  },
  rosterBadRows: {
    name: 'CHIRON_ROSTER_BAD_ROWS',
    default: '0',
    parse: parse.badRows,
    about: 'How many bad rows of a roster may be left out: a number, or a percentage such as `2%`',
  },
  rosterMaxAgeDays: {
    name: 'CHIRON_ROSTER_MAX_AGE_DAYS',
    default: '7',
    parse: days,
    about: 'Days without a newer file at `CHIRON_ROSTER_SOURCE` until fetches report it',
  },
  smtpUrl: {
    name: 'CHIRON_SMTP_URL',
    default: null,
    parse: parse.smtpUrl,
    about: 'The mail server: `smtp://user:password@host:587` or `smtps://user:password@host:465`',
  },
  mailFrom: {
    name: 'CHIRON_MAIL_FROM',
    default: null,
    defaultInWords: '`Chiron <no-reply@{public host}>`',
    parse: parse.mailFrom,
    about: 'The sender of mails: an address, or `Name <address>`',
  },
  smtpName: {
    name: 'CHIRON_SMTP_NAME',
    default: null,
    defaultInWords: 'the name of this machine',
    parse: parse.hostNameOrAddress,
    about: 'The name with which Chiron greets the mail server (EHLO)',
  },
  mailBounces: {
    name: 'CHIRON_MAIL_BOUNCES',
    default: null,
    parse: parse.hostName,
    about:
      'The domain of envelope senders that carry the id of the mail, so that bounces can be matched to it',
  },
  mailDomains: {
    name: 'CHIRON_MAIL_DOMAINS',
    default: '',
    parse: parse.listOf(parse.mailDomain),
    about:
      'Mail domains of your people, separated by commas, where many may ask for their first code at once',
  },
  rosterReportTo: {
    name: 'CHIRON_ROSTER_REPORT_TO',
    default: '',
    parse: parse.reportTo,
    about:
      'Up to ten addresses, separated by commas, that get a mail when a fetch is refused, put on hold or fails, or when no newer file comes',
  },
  timeZone: {
    name: 'CHIRON_TIME_ZONE',
    default: 'UTC',
    parse: parse.timeZone,
    about: "The school's time zone, such as `Europe/Lisbon`",
  },
  workers: {
    name: 'CHIRON_WORKERS',
    default: '1',
    parse: parse.workers,
    about: 'The number of processes that share the port, up to 256, or `auto` for one per core',
  },
  metricsPort: {
    name: 'CHIRON_METRICS_PORT',
    default: 'off',
    parse: parse.portOrOff,
    about: 'The port on `CHIRON_HOST` that serves metrics for Prometheus at `/metrics`',
  },
  limits: {
    name: 'CHIRON_LIMITS',
    default: 'on',
    parse: (text: string) => parse.oneOf('on', 'off')(text) === 'on',
    about: '`off` disables all limits, for development and benchmarks',
  },
  passkeys: {
    name: 'CHIRON_PASSKEYS',
    default: 'on',
    parse: (text: string) => parse.oneOf('on', 'off')(text) === 'on',
    about: '`off` if nobody can use passkeys',
  },
  passkeyId: {
    name: 'CHIRON_PASSKEY_ID',
    default: null,
    defaultInWords: 'the host of the public URL',
    parse: parse.hostName,
    about: 'The host that passkeys belong to: that of the public URL, or a parent domain',
  },
  staffPasskey: {
    name: 'CHIRON_STAFF_PASSKEY',
    default: 'optional',
    parse: parse.oneOf('optional', 'required'),
    about: '`required` if staff must use a passkey, so that a code opens nothing but adding the first one',
  },
  veterinarianSignIn: {
    name: 'CHIRON_VETERINARIAN_SIGN_IN',
    default: 'code,passkey',
    parse: parse.signInMethods('code', 'passkey'),
    about: 'How veterinarians can sign in: `code`, or `code,passkey`',
  },
  studentSignIn: {
    name: 'CHIRON_STUDENT_SIGN_IN',
    default: 'code,passkey,school',
    parse: parse.signInMethods('code', 'passkey', 'school'),
    about:
      'How students can sign in: `code`, `passkey` and `school` (the school’s own account), separated by commas',
  },
  staffSignIn: {
    name: 'CHIRON_STAFF_SIGN_IN',
    default: 'code,passkey,school',
    parse: parse.signInMethods('code', 'passkey', 'school'),
    about: 'How staff can sign in, in the same way',
  },
  providerAllow: {
    name: 'CHIRON_PROVIDER_ALLOW',
    default: '',
    parse: parse.listOf(parse.range),
    about:
      'Addresses or CIDRs, separated by commas, that providers of school accounts may have although they are not public',
  },
  webhookAllow: {
    name: 'CHIRON_WEBHOOK_ALLOW',
    default: '',
    parse: parse.listOf(parse.range),
    about:
      'Addresses or CIDRs, separated by commas, that webhooks may reach although they are not public, also without https',
  },
  production: {
    name: 'NODE_ENV',
    default: 'development',
    parse: (text: string) => parse.oneOf('production', 'development', 'test')(text) === 'production',
    about: '`production`, `development` or `test`',
  },
} as const satisfies SettingGroup

const school = {
  name: {
    name: 'CHIRON_SCHOOL_NAME',
    default: null,
    parse: parse.schoolName,
    about: 'The name of the school, shown at the top of the portal, of pages and of mails',
  },
  logo: {
    name: 'CHIRON_SCHOOL_LOGO',
    default: null,
    parse: parse.schoolLogo,
    about: 'An SVG or PNG file of up to 200 kB, shown 36 pixels high beside the name',
  },
  support: {
    name: 'CHIRON_SUPPORT_URL',
    default: null,
    parse: parse.supportUrl,
    about: 'Where people get help: an e-mail address, or an https address',
  },
  privacy: {
    name: 'CHIRON_PRIVACY_URL',
    default: null,
    parse: parse.webAddress,
    about: "The https address of the school's privacy notice",
  },
} as const satisfies SettingGroup

const smtpOAuth = {
  tokenUrl: {
    name: 'CHIRON_SMTP_OAUTH_TOKEN_URL',
    default: null,
    parse: parse.tokenUrl,
    about: 'The https address that issues tokens (XOAUTH2), to log in to the mail server without a password',
  },
  clientId: {
    name: 'CHIRON_SMTP_OAUTH_CLIENT_ID',
    default: null,
    parse: parse.text,
    about: 'The id of the application that requests tokens',
  },
  clientSecret: {
    name: 'CHIRON_SMTP_OAUTH_CLIENT_SECRET',
    default: null,
    parse: parse.text,
    about: "The application's secret",
  },
  scope: {
    name: 'CHIRON_SMTP_OAUTH_SCOPE',
    default: null,
    parse: parse.text,
    about: 'The scope to request',
  },
  refreshToken: {
    name: 'CHIRON_SMTP_OAUTH_REFRESH_TOKEN',
    default: null,
    parse: parse.text,
    about: 'The refresh token to request tokens with, instead of the client credentials',
  },
} as const satisfies SettingGroup

const dkim = {
  domain: {
    name: 'CHIRON_DKIM_DOMAIN',
    default: null,
    parse: parse.hostName,
    about: 'The domain that signs mails by DKIM',
  },
  selector: {
    name: 'CHIRON_DKIM_SELECTOR',
    default: null,
    parse: parse.hostName,
    about: 'The DKIM selector',
  },
  privateKey: {
    name: 'CHIRON_DKIM_KEY_FILE',
    default: null,
    parse: parse.rsaKeyFile,
    about: 'A PEM file with the RSA key for DKIM, without a password',
  },
} as const satisfies SettingGroup

const rosterSource = {
  source: {
    name: 'CHIRON_ROSTER_SOURCE',
    default: null,
    parse: parse.text,
    about: 'Where to fetch the newest roster: a folder, a zip file, or an `https://` or `sftp://` address',
  },
  header: {
    name: 'CHIRON_ROSTER_HEADER',
    default: null,
    parse: parse.text,
    about: 'A request header with a key or token, for an https source',
  },
  hostKeys: {
    name: 'CHIRON_ROSTER_HOST_KEY',
    default: '',
    parse: parse.listOf(parse.text),
    about: "The fingerprints of the server's keys to trust, separated by commas, for an sftp source",
  },
  keyFile: {
    name: 'CHIRON_ROSTER_KEY_FILE',
    default: null,
    parse: parse.text,
    about: 'A file with a private key without a passphrase, for an sftp source without a password',
  },
} as const satisfies SettingGroup

/** Settings that only make sense together are a group of their own, which `config.ts` checks as a whole. */
export const settings = { single, school, smtpOAuth, dkim, rosterSource } as const

type NameIn<G extends SettingGroup> = G[keyof G]['name']
type Groups = (typeof settings)[keyof typeof settings]
export type SettingName = Groups extends infer G ? (G extends SettingGroup ? NameIn<G> : never) : never

export const allSettings: readonly Setting[] = Object.values(settings).flatMap((group) =>
  Object.values<Setting>(group),
)

type ValueOf<S extends Setting> = ReturnType<S['parse']> | (S['default'] extends null ? null : never)
export type Values<G extends SettingGroup> = { readonly [Field in keyof G]: ValueOf<G[Field]> }
