/** The only wiring: takes settings and returns a service that can listen and stop. */
import fastifyStatic from '@fastify/static'
import type { FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { type Config, rosterSettingsOf, smtpSettingsOf } from './config.ts'
import { UsageError } from './errors.ts'
import { type Features, openFeatures, ownId } from './features.ts'
import { isPageOfClient, personScopes, serviceScopes } from './identity/clients/clients.ts'
import { clientRoutes } from './identity/clients/routes.ts'
import { type Attack, strangersMailLimits } from './identity/limits/limits.ts'
import { Authorization } from './identity/oauth/authorization.ts'
import { prompts, responseModes } from './identity/oauth/authorize.ts'
import { authorizeRoutes } from './identity/oauth/authorize-routes.ts'
import { BackChannel } from './identity/oauth/back-channel.ts'
import { acrValues, claimNames } from './identity/oauth/claims.ts'
import { consentRoutes } from './identity/oauth/consent-routes.ts'
import { Consents } from './identity/oauth/consents.ts'
import { Logout } from './identity/oauth/logout.ts'
import { logoutRoutes } from './identity/oauth/logout-routes.ts'
import { oauthRoutes } from './identity/oauth/routes.ts'
import { Tokens } from './identity/oauth/tokens.ts'
import type { Passkeys } from './identity/passkeys/passkeys.ts'
import { passkeyRoutes } from './identity/passkeys/routes.ts'
import { StepUpByCode } from './identity/passkeys/step-up.ts'
import { stepUpByCodeRoutes, stepUpByPasskeyRoutes } from './identity/passkeys/step-up-routes.ts'
import { hasAccountAt, namesOf, prunePeople, recipientsIn } from './identity/people/people.ts'
import { providerRoutes } from './identity/school-account/provider-routes.ts'
import { schoolAccountRoutes } from './identity/school-account/routes.ts'
import type { SchoolAccounts } from './identity/school-account/school-account.ts'
import { portalSessionRoutes, refreshRoute, sessionRoutes } from './identity/session/routes.ts'
import { wellKnownRoutes } from './identity/session/well-known.ts'
import { signInRoutes } from './identity/sign-in/routes.ts'
import { SignIn } from './identity/sign-in/sign-in.ts'
import { staffRoutes } from './identity/staff/routes.ts'
import { StaffProfile } from './identity/staff/schemas.ts'
import { deliveryRoutes } from './messages/delivery/routes.ts'
import { pruneEvents, readFeed } from './messages/events/events.ts'
import { eventRoutes } from './messages/events/routes.ts'
import { isHiddenMailbox, mailboxRoutes, mailboxTransport } from './messages/mail/mailbox.ts'
import { addressOf } from './messages/mail/mime.ts'
import { Outbox, tellOfWebhook } from './messages/mail/outbox.ts'
import { smtpTransport } from './messages/mail/smtp.ts'
import { sendTestMail } from './messages/mail/test-mail.ts'
import { Deliverer } from './messages/webhooks/deliver.ts'
import { describeWebhooks } from './messages/webhooks/openapi.ts'
import { webhookRoutes } from './messages/webhooks/routes.ts'
import { readFigures } from './operate/metrics/readings.ts'
import { Overview } from './operate/support/overview.ts'
import { supportRoutes } from './operate/support/routes.ts'
import { Sweeper } from './operate/sweeper.ts'
import type { Db } from './platform/db/db.ts'
import { watchedDb } from './platform/db/watched.ts'
import { WriteProbe } from './platform/db/write-probe.ts'
import { countUncounted, Guard } from './platform/http/access.ts'
import { healthRoutes } from './platform/http/health.ts'
import { MemoryBuckets, memoryPolicies } from './platform/http/limits.ts'
import { describeApi, openApiRoutes } from './platform/http/openapi.ts'
import { addOperations, type Operation } from './platform/http/operation.ts'
import { pageRoutes } from './platform/http/pages.ts'
import { portalCookie } from './platform/http/portal.ts'
import { warnOfUntrustedProxy } from './platform/http/proxies.ts'
import { Refusals } from './platform/http/refusals.ts'
import { createServer } from './platform/http/server.ts'
import { Type } from './platform/http/type.ts'
import type { CallerNetwork } from './platform/lib/bucket.ts'
import { type Clock, day, second, systemClock } from './platform/lib/clock.ts'
import { clientAddress, networkOf, widerNetworksOf } from './platform/lib/network.ts'
import { Recent } from './platform/lib/recent.ts'
import { fingerprint } from './platform/lib/secret.ts'
import type { Log } from './platform/log.ts'
import { type Role, roles } from './roles.ts'
import { Directory } from './school/directory/directory.ts'
import { directoryRoutes } from './school/directory/routes.ts'
import { foldGenerations } from './school/roster/roster.ts'
import { uploadRoutes } from './school/roster/upload/routes.ts'
import { Uploads } from './school/roster/upload/upload.ts'
import { apiAbout } from './school/site/openapi.ts'
import { plainRoutes } from './school/site/plain-routes.ts'
import { webRoutes } from './school/site/web-routes.ts'
import { calendarRoutes } from './school/student/calendar-routes.ts'
import { Cards } from './school/student/card.ts'
import { cardRoutes } from './school/student/card-routes.ts'
import { CalendarFeeds } from './school/student/feed.ts'
import { studentRoutes } from './school/student/routes.ts'
import { StudentProfile } from './school/student/schemas.ts'
import { veterinarianRoutes } from './school/veterinarian/routes.ts'
import { OwnProfile } from './school/veterinarian/schemas.ts'
import { packageVersion, userAgent } from './version.ts'

const drainPatienceMs = 7_000
const networksMax = 10_000

export interface App {
  listen(): Promise<{ address: string; port: number }>
  /** Refuses new requests with 503 and waits for those in progress. Until it has lingered, only readiness is refused. */
  drain(lingerMs?: number): Promise<void>
  stop(lingerMs?: number): Promise<void>
  readonly parts: Awaited<ReturnType<typeof assemble>>
}

/** Replaced in tests. */
export interface Pace {
  readonly clock: Clock
  readonly mailDelayMs: readonly [number, number]
  /** How often new events are queued for webhooks. */
  readonly webhooksMs: number
}

/**
 * How many connections may wait to be accepted; the system may allow fewer. Node's 511 are too few for a proxy that opens
 * thousands at once: some of its requests were cut off, or answered with 408.
 */
const unacceptedMax = 4_096

const realPace: Pace = { clock: systemClock, mailDelayMs: [100, 500], webhooksMs: second }

export async function createApp(config: Config, log: Log, pace: Pace = realPace): Promise<App> {
  const parts = await assemble(config, log, pace)
  const { db, server, outbox, sweeper, deliverer, backChannel, uploads, traces } = parts
  const drain = (lingerMs = 0) => server.drain({ lingerMs, patienceMs: drainPatienceMs })
  return {
    parts,
    async listen() {
      const url = await server.app.listen({ host: config.host, port: config.port, backlog: unacceptedMax })
      log.info(`listening at ${url}`)
      outbox.start()
      sweeper.start()
      deliverer.start()
      backChannel.start()
      await uploads.start()
      const { address, port } = server.app.server.address() as { address: string; port: number }
      return { address, port }
    },
    drain,
    async stop(lingerMs) {
      await drain(lingerMs)
      await Promise.all([sweeper.stop(), uploads.stop()])
      await server.close()
      await Promise.all([outbox.stop(), deliverer.stop(), backChannel.stop()])
      await traces?.close()
      await db.close()
    },
  }
}

const attackLines: Record<Attack['on'], string> = {
  address: 'wrong codes have reached a threshold; new codes for this address have eight digits for now',
  network: 'wrong codes have reached a threshold; new codes for this network have eight digits for now',
  service:
    'wrong codes have reached a threshold; all new codes have eight digits for now, and open six-digit codes are refused',
}

const foreignKeysLine =
  'some signing keys are sealed under another CHIRON_SECRET: if no other process uses that secret, remove them with "chiron keys revoke KEY"'

function noAdminWithPasskey(): UsageError {
  return new UsageError(
    'CHIRON_STAFF_PASSKEY cannot be required: no admin has a passkey. Start without it, let an admin add one in the console, and set it again',
  )
}

/** Whether somebody can still change staff. */
async function refuseLockout({ methods, passkeys, schoolAccounts }: Features): Promise<void> {
  const { staff } = methods
  if (staff.includes('code')) return
  if (staff.includes('passkey') && (await passkeys.adminHasOne())) return
  if (staff.includes('school') && (await schoolAccounts.adminHasLink())) return
  throw new UsageError(
    'CHIRON_STAFF_SIGN_IN would lock staff out: without code, an admin needs a school account that is connected, or a passkey. Start with code, let an admin connect one in the console, and set it again',
  )
}

async function assemble(config: Config, log: Log, { clock, mailDelayMs, webhooksMs }: Pace) {
  const { publicUrl } = config
  const watchers = await openWatchers(config, log)
  const { metrics, traces } = watchers
  const features = await openFeatures(config, {
    clock,
    tell: (line) => log.info(line),
    watch: watchers.watchDb,
    log,
  })
  const {
    db,
    secrets,
    limits,
    keys,
    veterinarians,
    students,
    staff,
    roles: rules,
    sessions,
    methods,
    passkeys,
    providers,
    schoolAccounts,
    support,
  } = features
  const { deliveries, webhooks, roster, clients } = features
  if (config.staffPasskey === 'required' && !(await passkeys.adminHasOne())) throw noAdminWithPasskey()
  await refuseLockout(features)
  if (!methods.student.includes('code') && !(await schoolAccounts.hasProvider('student')))
    log.warn(
      'students cannot sign in: CHIRON_STUDENT_SIGN_IN has no code, and no provider is open to students',
    )
  const foreignKeys = await keys.open()
  if (foreignKeys.length > 0) log.warn({ kids: foreignKeys }, foreignKeysLine)
  await Promise.all([webhooks.reseal(), providers.reseal()])

  const smtp = smtpSettingsOf(config)
  const plainTransport = smtp === null ? mailboxTransport(log) : smtpTransport(smtp, clock)
  const transport = traces?.watchTransport(plainTransport) ?? plainTransport
  const outbox = new Outbox({
    db,
    clock,
    secrets,
    findRecipient: recipientsIn(rules, clock),
    strangers: config.limits
      ? {
          of: strangersMailLimits,
          knowsDomain: async (domain) => config.mailDomains.includes(domain) || hasAccountAt(db, domain),
        }
      : null,
    transport,
    publicUrl,
    school: config.school,
    from: config.mailFrom,
    bounces: config.mailBounces,
    timeZone: config.timeZone,
    delayMs: mailDelayMs,
    log,
    ...(metrics && { noted: (outcome, tookMs) => metrics.mail(outcome, tookMs) }),
  })
  const attacked = (attack: Attack) => {
    log.warn({ ...attack }, attackLines[attack.on])
    metrics?.attacked(attack)
  }
  const signInDeps = { db, clock, secrets, limits, sessions, outbox, log, attacked }
  const signIn: Record<Role, SignIn> = {
    veterinarian: new SignIn(signInDeps, veterinarians),
    student: new SignIn(signInDeps, students),
    staff: new SignIn(signInDeps, staff),
  }
  const { databaseUrl, timeZone, secret, secretPrevious } = config
  const schoolName = config.school.name ?? 'School'
  const settings = { databaseUrl, secret, secretPrevious, schoolName, ...rosterSettingsOf(config) }
  const uploads = new Uploads({ db, clock, roster, settings, log })
  const tokens = new Tokens({
    ...{ db, clock, keys, sessions },
    roles: rules,
    issuer: publicUrl,
    ...(metrics && { signedIn: (clientId) => metrics.signedInAt(clientId) }),
  })
  const backChannel = new BackChannel({
    ...{ db, clock, keys, log },
    issuer: publicUrl,
    pollMs: webhooksMs,
    allow: config.webhookAllow,
    userAgent: userAgent(),
    ...(metrics && { noted: (outcome) => metrics.logoutCall(outcome) }),
  })
  const keepEventsMs = config.keepEventsDays * day
  const cards = new Cards({ db, clock, publicUrl })
  const buckets = config.limits ? new MemoryBuckets(clock) : null
  const authorization = new Authorization({
    ...{ db, clock, sessions, passkeys },
    issuer: publicUrl,
    roles: rules,
    limits: {
      countSession: (id) => void buckets?.take(memoryPolicies.session, id),
      admitStranger: () => buckets?.tryTake(memoryPolicies.asks, 'all') ?? true,
    },
  })
  const sweeper = new Sweeper({
    db,
    clock,
    log,
    keys,
    veterinarians,
    parts: {
      registrations: veterinarians,
      limits,
      codes: signIn.veterinarian,
      passkeys,
      schoolAccounts,
      sessions,
      tokens,
      backChannel,
      outbox,
      deliveries,
      webhooks,
      uploads,
      cards,
      authorization,
      events: { sweep: (now) => pruneEvents(now - keepEventsMs) },
      people: { sweep: (now) => [prunePeople(now - keepEventsMs)] },
      roster: {
        sweep: (now) => foldGenerations(now - config.rosterKeepDays * day, config.rosterKeepImports),
      },
    },
    ...(metrics && { failed: (part) => metrics.sweepFailed(part) }),
  })
  for (const part of sweeper.partNames) metrics?.sweepFailed(part, 0)
  const deliverer = new Deliverer({
    db,
    clock,
    pollMs: webhooksMs,
    webhooks,
    allow: config.webhookAllow,
    userAgent: userAgent(),
    log,
    async tellAdmins({ id, host, because, now }) {
      const admins = (await staff.list()).filter(({ may }) => may.includes('admin'))
      const off = { id, host, because, url: `${publicUrl}/console`, now }
      return admins.flatMap(({ email }) => tellOfWebhook(secrets, { ...off, email }))
    },
    ...(metrics && { noted: (outcome) => metrics.webhook(outcome) }),
  })

  const networks = new Recent<string, CallerNetwork>(networksMax)
  const callerNetworkOf = (request: FastifyRequest): CallerNetwork => {
    const peer = request.raw.socket.remoteAddress ?? ''
    const forwarded = request.headers['x-forwarded-for']
    const client = clientAddress(peer, [forwarded].flat().join(',') || undefined, config.trustedProxies)
    const known = networks.get(client)
    if (known) return known
    const fingerprintOf = (network: string) => fingerprint(secrets.current, 'network', network)
    const network = {
      fingerprint: fingerprintOf(networkOf(client)),
      wider: widerNetworksOf(client).map(({ network: wider, shares }) => ({
        fingerprint: fingerprintOf(wider),
        shares,
      })),
    }
    networks.set(client, network)
    return network
  }

  const portal = portalCookie(publicUrl)
  const access = { sessions, proofs: passkeys, buckets, clock, log, networkOf: callerNetworkOf, portal }
  const { corsOrigins } = config
  const refusals = new Refusals(log, clock)
  const writeProbe = new WriteProbe(db, clock)
  const mailbox = config.smtpUrl === null && !config.production
  const server = createServer({
    publicUrl,
    corsOrigins,
    isApplication: (origin) => isPageOfClient(db, origin),
    branding: config.school,
    logger: log,
    clock,
    countUncounted: countUncounted(access),
    ...(mailbox && { isHidden: isHiddenMailbox }),
    failed(error, request) {
      const { limit } = error.extra
      if (limit !== undefined && request) refusals.note(limit, callerNetworkOf(request).fingerprint)
      if (error.code === 'unavailable' && error.extra.cause) writeProbe.doubt()
      metrics?.failed(error)
    },
    ...(metrics && { answered: (note) => metrics.answered(note) }),
    ...(traces && { addFirstHooks: (fastify) => traces.watchRequests(fastify) }),
  })
  const { app } = server
  warnOfUntrustedProxy(app, config.trustedProxies, log)
  const guard = new Guard(app, access)
  const add = (operations: readonly Operation[]) => addOperations(app, guard, operations)
  await app.register(fastifyStatic, { serve: false, preCompressed: true })
  await describeApi(app, {
    version: packageVersion(),
    ...apiAbout(portal.name),
    webhooks: describeWebhooks(),
  })

  await add(veterinarianRoutes(veterinarians, signIn.veterinarian))
  const Profiles: Record<Role, TSchema> = {
    veterinarian: OwnProfile,
    student: StudentProfile,
    staff: StaffProfile,
  }
  for (const role of roles) {
    const Profile = Profiles[role]
    const steps = metrics?.watchSignIn(role, signIn[role]) ?? signIn[role]
    const isOpen = methods[role].includes('code')
    await add(signInRoutes({ role, signIn: steps, Profile, isOpen, portal }))
  }
  await add(studentRoutes(students))
  await add(calendarRoutes(new CalendarFeeds({ db, clock, students }), publicUrl))
  await add(cardRoutes({ cards, clock, timeZone: config.timeZone, branding: config.school }))
  const Profile = Type.Union(
    roles.map((role) => Profiles[role]),
    { title: 'Profile' },
  )
  await add([refreshRoute(sessions, Profile), ...sessionRoutes(sessions)])
  await add(
    oauthRoutes({
      tokens,
      sessions,
      auth: { db, limits, now: () => clock.now() },
      ownId,
      buckets,
      countRefusal: countUncounted(access),
      Profile,
    }),
  )
  const validate: Passkeys['validate'] =
    metrics?.watchPasskeys(passkeys) ?? ((...answer) => passkeys.validate(...answer))
  if (config.passkeys) await add(passkeyRoutes({ passkeys, validate, Profile, portal, publicUrl }))
  const answer: SchoolAccounts['answer'] =
    metrics?.watchSchoolAccounts(schoolAccounts) ?? ((...given) => schoolAccounts.answer(...given))
  await add(schoolAccountRoutes({ accounts: schoolAccounts, answer, providers, portal }))
  await add(providerRoutes(providers, schoolAccounts))
  const byCode = new StepUpByCode({ db, clock, signIn, sessions, passkeys })
  if (config.passkeys) await add(stepUpByPasskeyRoutes(passkeys))
  await add(stepUpByCodeRoutes(byCode, portal))
  await add(portalSessionRoutes(sessions, portal, Profile))
  await add(staffRoutes(staff))
  await add(
    eventRoutes({
      readFeed: (filter) => readFeed(db, filter),
      namesOf: (userIds) => namesOf(db, userIds),
    }),
  )
  const overview = new Overview({
    db,
    clock,
    webhooks,
    version: packageVersion(),
    fetchesRosters: config.rosterSource !== null,
    rosterMaxAgeDays: config.rosterMaxAgeDays,
    sendsMail: smtp !== null,
    readFigures: (now) => readFigures(db, now),
  })
  const testMail = (to: string) => {
    const mail = { to, from: config.mailFrom, publicUrl, sentBy: 'you, in the console', now: clock.now() }
    return sendTestMail(transport, mail)
  }
  await add(supportRoutes({ support, overview, testMail, clock }))
  await add(deliveryRoutes({ deliveries, secrets, log }))
  await add(webhookRoutes(webhooks))
  await add(directoryRoutes(new Directory({ db, secrets })))
  await add(clientRoutes(clients))
  await add(uploadRoutes(uploads))
  const scopes = [...personScopes, ...serviceScopes]
  const offers = { scopes, responseModes, prompts, acrValues, claims: claimNames }
  await add(wellKnownRoutes(keys, publicUrl, offers))
  await add(
    healthRoutes([
      ['The store is unreachable.', () => db.one('select 1 as ready')],
      ['The store does not take writes.', () => writeProbe.check()],
      ['The secret of the service does not fit its store.', () => keys.signer()],
    ]),
  )
  await add([...openApiRoutes(app), ...pageRoutes()])
  const mailDomain = addressOf(config.mailFrom).split('@')[1]!
  await add(plainRoutes({ publicUrl, mailDomain, clock }))
  const publicProfile = (userId: string) => veterinarians.publicProfile(userId)
  const { pages, sendPrivatePage } = webRoutes({
    ...{ log, mailbox, publicUrl, timeZone, publicProfile },
    branding: config.school,
    passkeys: config.passkeys ? config.staffPasskey : null,
    methods,
  })
  await add(pages)
  await add(authorizeRoutes({ authorization, portal, branding: config.school, sendPrivatePage }))
  await add(logoutRoutes(new Logout({ db, sessions }), { portal, sendPrivatePage }))
  await add(consentRoutes(new Consents({ db, clock })))
  if (mailbox) await add(mailboxRoutes(outbox))
  await app.ready()

  return {
    db,
    server,
    outbox,
    sweeper,
    deliverer,
    backChannel,
    sessions,
    passkeys,
    providers,
    veterinarians,
    keys,
    limits,
    staff,
    support,
    deliveries,
    webhooks,
    clients,
    uploads,
    metrics,
    traces,
  }
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
