/** The only wiring: takes settings and returns a service that can listen and stop. */
import fastifyStatic from '@fastify/static'
import type { FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { type Config, smtpSettingsOf } from './config.ts'
import { deliveryRoutes } from './delivery/routes.ts'
import { Overview } from './desk/overview.ts'
import { deskRoutes } from './desk/routes.ts'
import { pruneEvents, readFeed } from './events/events.ts'
import { eventRoutes } from './events/routes.ts'
import { openFeatures } from './features.ts'
import { countUncounted, guardAccess } from './http/access.ts'
import { healthRoutes } from './http/health.ts'
import { MemoryBuckets } from './http/limits.ts'
import { describeApi, openApiRoutes } from './http/openapi.ts'
import { pageRoutes } from './http/pages.ts'
import { plainRoutes } from './http/plain.ts'
import { portalCookie } from './http/portal.ts'
import { warnOfUntrustedProxy } from './http/proxies.ts'
import { DeliveryEntry, EventEntry, Problem, Ref } from './http/schemas.ts'
import { createServer, watchMethods } from './http/server.ts'
import { Type } from './http/type.ts'
import { webRoutes } from './http/web.ts'
import type { CallerNetwork } from './lib/bucket.ts'
import { type Clock, day, systemClock } from './lib/clock.ts'
import { clientAddress, networkOf, widerNetworksOf } from './lib/network.ts'
import { Recent } from './lib/recent.ts'
import { type Role, roles } from './lib/roles.ts'
import { fingerprint } from './lib/secret.ts'
import type { Log } from './log.ts'
import { mailboxRoutes, mailboxTransport } from './mail/mailbox.ts'
import { addressOf } from './mail/mime.ts'
import { Outbox } from './mail/outbox.ts'
import { smtpTransport } from './mail/smtp.ts'
import { prunePeople } from './people/people.ts'
import { portalSessionRoutes, refreshRoute, sessionRoutes } from './session/routes.ts'
import { wellKnownRoutes } from './session/well-known.ts'
import { signInRoutes } from './sign-in/routes.ts'
import { SignIn } from './sign-in/sign-in.ts'
import { StaffProfile, staffRoutes } from './staff/routes.ts'
import { CalendarFeeds } from './student/feed.ts'
import { ClassEntry, calendarRoutes, StudentProfile, studentRoutes } from './student/routes.ts'
import { Sweeper } from './sweeper.ts'
import { packageVersion } from './version.ts'
import { OwnProfile, veterinarianRoutes } from './veterinarian/routes.ts'

const drainPatienceMs = 7_000
const networksMax = 10_000

export interface App {
  listen(): Promise<{ address: string; port: number }>
  /** Refuses new requests with 503 and waits for those in progress. */
  drain(): Promise<void>
  stop(): Promise<void>
  readonly parts: Awaited<ReturnType<typeof assemble>>
}

/** Replaced in tests. */
export interface Pace {
  readonly clock: Clock
  readonly mailDelayMs: readonly [number, number]
}

const realPace: Pace = { clock: systemClock, mailDelayMs: [100, 500] }

export async function createApp(config: Config, log: Log, pace: Pace = realPace): Promise<App> {
  const parts = await assemble(config, log, pace)
  const { db, server, outbox, sweeper } = parts
  return {
    parts,
    async listen() {
      const url = await server.app.listen({ host: config.host, port: config.port })
      log.info(`listening at ${url}`)
      outbox.start()
      sweeper.start()
      const { address, port } = server.app.server.address() as { address: string; port: number }
      return { address, port }
    },
    drain: () => server.drain(drainPatienceMs),
    async stop() {
      await server.drain(drainPatienceMs)
      await sweeper.stop()
      await server.close()
      await outbox.stop()
      await db.close()
    },
  }
}

async function assemble(config: Config, log: Log, { clock, mailDelayMs }: Pace) {
  const { publicUrl } = config
  const features = await openFeatures(config, clock, (line) => log.info(line))
  const { db, secrets, limits, keys, veterinarians, students, staff, roles: rules, sessions, desk } = features
  const { deliveries } = features
  await keys.open()

  const smtp = smtpSettingsOf(config)
  const transport = smtp === null ? mailboxTransport(log) : smtpTransport(smtp, clock)
  const outbox = new Outbox({
    db,
    clock,
    secrets,
    roles: rules,
    transport,
    publicUrl,
    school: config.school,
    from: config.mailFrom,
    bounces: config.mailBounces,
    timeZone: config.timeZone,
    budgets: config.limits,
    delayMs: mailDelayMs,
    log,
  })
  const signInDeps = { db, clock, secrets, limits, sessions, outbox, log }
  const signIn: Record<Role, SignIn> = {
    veterinarian: new SignIn(signInDeps, veterinarians),
    student: new SignIn(signInDeps, students),
    staff: new SignIn(signInDeps, staff),
  }
  const keepEventsMs = config.keepEventsDays * day
  const sweeper = new Sweeper({
    db,
    clock,
    log,
    keys,
    veterinarians,
    parts: [
      veterinarians,
      limits,
      signIn.veterinarian,
      sessions,
      outbox,
      deliveries,
      { sweep: (now) => pruneEvents(now - keepEventsMs) },
      { sweep: (now) => [prunePeople(now - keepEventsMs)] },
    ],
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

  const buckets = config.limits ? new MemoryBuckets(clock) : null
  const access = { sessions, buckets, clock, log, networkOf: callerNetworkOf }
  const { corsOrigins } = config
  const server = createServer({
    publicUrl,
    corsOrigins,
    school: config.school,
    logger: log,
    countUncounted: countUncounted(access),
  })
  const { app } = server
  warnOfUntrustedProxy(app, config.trustedProxies, log)
  const { callerOf, byOf } = guardAccess(app, access)
  const others = watchMethods(app)
  await app.register(fastifyStatic, { serve: false, preCompressed: true })
  const portal = portalCookie(publicUrl)
  await describeApi(app, packageVersion(), portal.name)
  for (const schema of [
    Problem,
    OwnProfile,
    StudentProfile,
    StaffProfile,
    ClassEntry,
    EventEntry,
    DeliveryEntry,
  ])
    app.addSchema(schema)

  veterinarianRoutes(app, { veterinarians, callerOf, byOf, networkOf: callerNetworkOf })
  const Profiles: Record<Role, TSchema> = {
    veterinarian: Ref(OwnProfile),
    student: Ref(StudentProfile),
    staff: Ref(StaffProfile),
  }
  for (const role of roles) {
    const Profile = Profiles[role]
    signInRoutes(app, { role, signIn: signIn[role], Profile, portal, networkOf: callerNetworkOf })
  }
  studentRoutes(app, { students, callerOf })
  calendarRoutes(app, { feeds: new CalendarFeeds({ db, clock, students }), callerOf, publicUrl })
  const Profile = Type.Union(roles.map((role) => Profiles[role]))
  await refreshRoute(app, { sessions, byOf, Profile })
  sessionRoutes(app, { sessions, callerOf, byOf })
  portalSessionRoutes(app, { sessions, byOf, Profile, portal })
  staffRoutes(app, { staff, callerOf, byOf })
  eventRoutes(app, { readFeed: (filter) => readFeed(db, filter) })
  const overview = new Overview({ db, clock, limits, outbox, version: packageVersion() })
  deskRoutes(app, { desk, overview, callerOf, byOf })
  await deliveryRoutes(app, { deliveries, secrets, byOf, log })
  wellKnownRoutes(app, { keys, issuer: publicUrl })
  healthRoutes(app, { db })
  openApiRoutes(app)
  pageRoutes(app)
  const mailDomain = addressOf(config.mailFrom).split('@')[1]!
  plainRoutes(app, { publicUrl, mailDomain, clock })
  const mailbox = config.smtpUrl === null && !config.production
  const publicProfile = (userId: string) => veterinarians.publicProfile(userId)
  webRoutes(app, { log, mailbox, publicUrl, school: config.school, publicProfile })
  if (mailbox) mailboxRoutes(app, { outbox })
  others.refuseOthers()
  await app.ready()

  return { db, server, outbox, sweeper, sessions, veterinarians, keys, limits, staff, desk, deliveries }
}
