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
import { WriteProbe } from './platform/db/write-probe.ts'
import { MemoryBuckets, memoryPolicies } from './platform/http/limits.ts'
import { type Clock, day, second, systemClock } from './platform/lib/clock.ts'
import type { Log } from './platform/log.ts'
import type { Role } from './roles.ts'
import { Directory } from './school/directory/directory.ts'
import { foldGenerations } from './school/roster/roster.ts'
import { Uploads } from './school/roster/upload/upload.ts'
import { Cards } from './school/student/card.ts'
import { CalendarFeeds } from './school/student/feed.ts'
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

type Context = Awaited<ReturnType<typeof openContext>>
type Mail = ReturnType<typeof openMail>
type SignIns = ReturnType<typeof openSignIns>
type Pages = ReturnType<typeof openPages>
type Workers = ReturnType<typeof openWorkers>
export type Service = Awaited<ReturnType<typeof openService>>

export async function openService(config: Config, log: Log, pace: Pace) {
  const context = await openContext(config, log, pace)
  const mail = openMail(context)
  const signIns = openSignIns({ ...context, ...mail })
  const pages = openPages({ ...context, ...mail })
  const workers = openWorkers(context)
  const service = { ...context, ...mail, ...signIns, ...pages, ...workers }
  return { ...service, sweeper: openSweeper(service) }
}

async function openContext(config: Config, log: Log, pace: Pace) {
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
function openMail(context: Context) {
  const { db, clock, config, log, pace, metrics, traces } = context
  const smtp = smtpSettingsOf(config)
  const plainTransport = smtp === null ? mailboxTransport(log) : smtpTransport(smtp, clock)
  const transport = traces?.watchTransport(plainTransport) ?? plainTransport
  const outbox = new Outbox({
    ...context,
    findRecipient: recipientsIn(context.roles, clock),
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
function openSignIns(context: Context & Mail) {
  const { clock, config, log, metrics, veterinarians, students, staff } = context
  const attacked = (attack: Attack) => {
    log.warn({ ...attack }, attackLines[attack.on])
    metrics?.attacked(attack)
  }
  const deps = { ...context, attacked }
  const signIn: Record<Role, SignIn> = {
    veterinarian: new SignIn(deps, veterinarians),
    student: new SignIn(deps, students),
    staff: new SignIn(deps, staff),
  }
  const buckets = config.limits ? new MemoryBuckets(clock) : null
  const issuer = context.publicUrl
  const authorization = new Authorization({
    ...context,
    issuer,
    limits: {
      countSession: (id) => void buckets?.take(memoryPolicies.session, id),
      admitStranger: () => buckets?.tryTake(memoryPolicies.asks, 'all') ?? true,
    },
  })
  const tokens = new Tokens({
    ...context,
    issuer,
    ...(metrics && { signedIn: (clientId) => metrics.signedInAt(clientId) }),
  })
  return {
    signIn,
    buckets,
    authorization,
    tokens,
    logout: new Logout(context),
    consents: new Consents(context),
    stepUpByCode: new StepUpByCode({ ...context, signIn }),
  }
}

/** What only routes need. */
function openPages(context: Context & Mail) {
  const { db, clock, config } = context
  return {
    cards: new Cards(context),
    calendarFeeds: new CalendarFeeds(context),
    directory: new Directory(context),
    overview: new Overview({
      ...context,
      version: packageVersion(),
      fetchesRosters: config.rosterSource !== null,
      rosterMaxAgeDays: config.rosterMaxAgeDays,
      readFigures: (now) => readFigures(db, now),
    }),
    writeProbe: new WriteProbe(db, clock),
  }
}

/** Webhooks, logouts at clients, and uploaded rosters. */
function openWorkers(context: Context) {
  const { secrets, publicUrl, staff, config, pace, metrics } = context
  const pollMs = pace.webhooksMs
  const deliverer = new Deliverer({
    ...context,
    pollMs,
    async tellAdmins({ id, host, because, now }) {
      const admins = (await staff.list()).filter(({ may }) => may.includes('admin'))
      const off = { id, host, because, url: `${publicUrl}/console`, now }
      return admins.flatMap(({ email }) => tellOfWebhook(secrets, { ...off, email }))
    },
    ...(metrics && { noted: (outcome) => metrics.webhook(outcome) }),
  })
  const backChannel = new BackChannel({
    ...context,
    issuer: publicUrl,
    pollMs,
    ...(metrics && { noted: (outcome) => metrics.logoutCall(outcome) }),
  })
  const { databaseUrl, secret, secretPrevious } = config
  const schoolName = config.school.name ?? 'School'
  const settings = { databaseUrl, secret, secretPrevious, schoolName, ...rosterSettingsOf(config) }
  return { deliverer, backChannel, uploads: new Uploads({ ...context, settings }) }
}

function openSweeper(service: Context & Mail & SignIns & Pages & Workers): Sweeper {
  const { config, metrics } = service
  const keepEventsMs = config.keepEventsDays * day
  const sweeper = new Sweeper({
    ...service,
    parts: {
      registrations: service.veterinarians,
      limits: service.limits,
      codes: service.signIn.veterinarian,
      passkeys: service.passkeys,
      schoolAccounts: service.schoolAccounts,
      sessions: service.sessions,
      tokens: service.tokens,
      backChannel: service.backChannel,
      outbox: service.outbox,
      deliveries: service.deliveries,
      webhooks: service.webhooks,
      uploads: service.uploads,
      cards: service.cards,
      authorization: service.authorization,
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
