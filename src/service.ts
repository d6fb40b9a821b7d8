/** The running service without HTTP: its features, and the work that goes on beside requests. */
import { type Config, rosterSettingsOf, smtpSettingsOf } from './config.ts'
import { openFeatures } from './features.ts'
import { type Attack, strangersMailLimits } from './identity/limits/limits.ts'
import { Authorization } from './identity/oauth/authorization.ts'
import { BackChannel } from './identity/oauth/back-channel.ts'
import { Consents } from './identity/oauth/consents.ts'
import { Logout } from './identity/oauth/logout.ts'
import { Tokens } from './identity/oauth/tokens.ts'
import { StepUpByCode } from './identity/passkeys/step-up.ts'
import { hasAccountAt, prunePeople, recipientsIn } from './identity/people/people.ts'
import { SignIn } from './identity/sign-in/sign-in.ts'
import { pruneEvents } from './messages/events/events.ts'
import { mailboxTransport } from './messages/mail/mailbox.ts'
import { Outbox, tellOfWebhook } from './messages/mail/outbox.ts'
import { smtpTransport } from './messages/mail/smtp.ts'
import { Deliverer } from './messages/webhooks/deliver.ts'
import { readFigures } from './operate/metrics/readings.ts'
import { Overview } from './operate/support/overview.ts'
import { Sweeper } from './operate/sweeper.ts'
import type { Db } from './platform/db/db.ts'
import { watchedDb } from './platform/db/watched.ts'
import { MemoryBuckets, memoryPolicies } from './platform/http/limits.ts'
import { type Clock, day, second, systemClock } from './platform/lib/clock.ts'
import type { Log } from './platform/log.ts'
import type { Role } from './roles.ts'
import { foldGenerations } from './school/roster/roster.ts'
import { Uploads } from './school/roster/upload/upload.ts'
import { checkStart } from './start-checks.ts'
import { packageVersion } from './version.ts'

/** Replaced in tests. */
export interface Pace {
  readonly clock: Clock
  readonly mailDelayMs: readonly [number, number]
  /** How often new events are queued for webhooks. */
  readonly webhooksMs: number
}

export const realPace: Pace = { clock: systemClock, mailDelayMs: [100, 500], webhooksMs: second }

type Base = Awaited<ReturnType<typeof openBase>>
type Mail = ReturnType<typeof openMail>
type SignIns = ReturnType<typeof openSignIns>
type Workers = ReturnType<typeof openWorkers>
export type Service = Awaited<ReturnType<typeof openService>>

export async function openService(config: Config, log: Log, pace: Pace) {
  const base = await openBase(config, log, pace)
  const mail = openMail(base)
  const signIns = openSignIns({ ...base, ...mail })
  const workers = openWorkers(base)
  const service = { ...base, ...mail, ...signIns, ...workers }
  return { ...service, overview: openOverview(service), sweeper: openSweeper(service) }
}

async function openBase(config: Config, log: Log, pace: Pace) {
  const watchers = await openWatchers(config, log)
  const features = await openFeatures(config, {
    clock: pace.clock,
    tell: (line) => log.info(line),
    watch: watchers.watchDb,
    log,
  })
  await checkStart(features, config, log)
  await Promise.all([features.webhooks.reseal(), features.providers.reseal()])
  return { ...features, ...watchers, config, log, pace }
}

/** Metrics and traces, if configured; otherwise their code is not loaded. */
async function openWatchers(config: Config, log: Log) {
  const metrics =
    config.metricsPort === null ? null : new (await import('./operate/metrics/metrics.ts')).Metrics()
  const traces =
    config.traces === null
      ? null
      : new (await import('./operate/traces/traces.ts')).Traces(config.traces, packageVersion(), log)
  const watchDb = (db: Db) =>
    [metrics, traces].reduce((watched, one) => (one ? watchedDb(watched, one.storeWatch) : watched), db)
  return { metrics, traces, watchDb }
}

/** The way to the mail server, or to the built-in mailbox. */
function openMail(base: Base) {
  const { db, clock, config, log, pace, metrics, traces } = base
  const smtp = smtpSettingsOf(config)
  const plainTransport = smtp === null ? mailboxTransport(log) : smtpTransport(smtp, clock)
  const transport = traces?.watchTransport(plainTransport) ?? plainTransport
  const outbox = new Outbox({
    ...base,
    findRecipient: recipientsIn(base.roles, clock),
    strangers: config.limits
      ? {
          of: strangersMailLimits,
          knowsDomain: async (domain) => config.mailDomains.includes(domain) || hasAccountAt(db, domain),
        }
      : null,
    transport,
    from: config.mailFrom,
    bounces: config.mailBounces,
    delayMs: pace.mailDelayMs,
    ...(metrics && { noted: (outcome, tookMs) => metrics.mail(outcome, tookMs) }),
  })
  return { transport, outbox, sendsMail: smtp !== null, hasMailbox: smtp === null && !config.production }
}

const attackLines: Record<Attack['on'], string> = {
  address: 'wrong codes have reached a threshold; new codes for this address have eight digits for now',
  network: 'wrong codes have reached a threshold; new codes for this network have eight digits for now',
  service:
    'wrong codes have reached a threshold; all new codes have eight digits for now, and open six-digit codes are refused',
}

/** Signing in with a code, and at clients. */
function openSignIns(base: Base & Mail) {
  const { clock, config, log, metrics, veterinarians, students, staff } = base
  const attacked = (attack: Attack) => {
    log.warn({ ...attack }, attackLines[attack.on])
    metrics?.attacked(attack)
  }
  const deps = { ...base, attacked }
  const signIn: Record<Role, SignIn> = {
    veterinarian: new SignIn(deps, veterinarians),
    student: new SignIn(deps, students),
    staff: new SignIn(deps, staff),
  }
  const buckets = config.limits ? new MemoryBuckets(clock) : null
  const issuer = base.publicUrl
  const authorization = new Authorization({
    ...base,
    issuer,
    limits: {
      countSession: (id) => void buckets?.take(memoryPolicies.session, id),
      admitStranger: () => buckets?.tryTake(memoryPolicies.asks, 'all') ?? true,
    },
  })
  const tokens = new Tokens({
    ...base,
    issuer,
    ...(metrics && { signedIn: (clientId) => metrics.signedInAt(clientId) }),
  })
  return {
    signIn,
    buckets,
    authorization,
    tokens,
    logout: new Logout(base),
    consents: new Consents(base),
    stepUpByCode: new StepUpByCode({ ...base, signIn }),
  }
}

/** Webhooks, logouts at clients, and uploaded rosters. */
function openWorkers(base: Base) {
  const { secrets, publicUrl, staff, config, pace, metrics } = base
  const pollMs = pace.webhooksMs
  const deliverer = new Deliverer({
    ...base,
    pollMs,
    async tellAdmins({ id, host, because, now }) {
      const admins = (await staff.list()).filter(({ may }) => may.includes('admin'))
      const off = { id, host, because, url: `${publicUrl}/console`, now }
      return admins.flatMap(({ email }) => tellOfWebhook(secrets, { ...off, email }))
    },
    ...(metrics && { noted: (outcome) => metrics.webhook(outcome) }),
  })
  const backChannel = new BackChannel({
    ...base,
    issuer: publicUrl,
    pollMs,
    ...(metrics && { noted: (outcome) => metrics.logoutCall(outcome) }),
  })
  const { databaseUrl, secret, secretPrevious } = config
  const schoolName = config.school.name ?? 'School'
  const settings = { databaseUrl, secret, secretPrevious, schoolName, ...rosterSettingsOf(config) }
  return { deliverer, backChannel, uploads: new Uploads({ ...base, settings }) }
}

/** The console's first page. */
function openOverview(base: Base & Mail): Overview {
  const { db, config } = base
  return new Overview({
    ...base,
    version: packageVersion(),
    fetchesRosters: config.rosterSource !== null,
    rosterMaxAgeDays: config.rosterMaxAgeDays,
    readFigures: (now) => readFigures(db, now),
  })
}

function openSweeper(service: Base & Mail & SignIns & Workers): Sweeper {
  const { config, metrics, limits, passkeys, schoolAccounts, sessions, tokens, backChannel } = service
  const { outbox, deliveries, webhooks, uploads, cards, authorization } = service
  const keepEventsMs = config.keepEventsDays * day
  const sweeper = new Sweeper({
    ...service,
    parts: {
      registrations: service.veterinarians,
      limits,
      codes: service.signIn.veterinarian,
      ...{ passkeys, schoolAccounts, sessions, tokens, backChannel },
      ...{ outbox, deliveries, webhooks, uploads, cards, authorization },
      events: { sweep: (now) => pruneEvents(now - keepEventsMs) },
      people: { sweep: (now) => [prunePeople(now - keepEventsMs)] },
      roster: {
        sweep: (now) => foldGenerations(now - config.rosterKeepDays * day, config.rosterKeepImports),
      },
    },
    ...(metrics && { failed: (part) => metrics.sweepFailed(part) }),
  })
  for (const part of sweeper.partNames) metrics?.sweepFailed(part, 0)
  return sweeper
}
