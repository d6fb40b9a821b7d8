/** Puts the service behind its HTTP server: settings in, and an app that listens and stops, out. */
import fastifyStatic from '@fastify/static'
import type { Config } from './config.ts'
import { isPageOfClient } from './identity/clients/clients.ts'
import { isHiddenMailbox } from './messages/mail/mailbox.ts'
import { describeWebhooks } from './messages/webhooks/openapi.ts'
import { WriteProbe } from './platform/db/write-probe.ts'
import { countUncounted, Guard } from './platform/http/access.ts'
import { callerNetworks } from './platform/http/caller-network.ts'
import { describeApi } from './platform/http/openapi.ts'
import { addOperations } from './platform/http/operation.ts'
import { portalCookie } from './platform/http/portal.ts'
import { warnOfUntrustedProxy } from './platform/http/proxies.ts'
import { Refusals } from './platform/http/refusals.ts'
import { createServer, type Server } from './platform/http/server.ts'
import type { Log } from './platform/log.ts'
import { routesOf } from './routes.ts'
import { apiAbout } from './school/site/openapi.ts'
import { openService, type Pace, realPace, type Service } from './service.ts'
import { packageVersion } from './version.ts'

const drainPatienceMs = 7_000

/**
 * How many connections may wait to be accepted; the system may allow fewer. Node's 511 are too few for a proxy that opens
 * thousands at once: some of its requests were cut off, or answered with 408.
 */
const unacceptedMax = 4_096

export interface App {
  listen(): Promise<{ address: string; port: number }>
  /** Refuses new requests with 503 and waits for those in progress. Until it has lingered, only readiness is refused. */
  drain(lingerMs?: number): Promise<void>
  stop(lingerMs?: number): Promise<void>
  readonly parts: Service & { readonly server: Server }
}

export async function createApp(config: Config, log: Log, pace: Pace = realPace): Promise<App> {
  const service = await openService(config, log, pace)
  const server = await openServer(service)
  const { db, outbox, sweeper, deliverer, backChannel, uploads, traces } = service
  const drain = (lingerMs = 0) => server.drain({ lingerMs, patienceMs: drainPatienceMs })
  return {
    parts: { ...service, server },
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

/** The server with all routes. */
async function openServer(service: Service): Promise<Server> {
  const { config, db, clock, secrets, log, publicUrl, branding } = service
  const { sessions, passkeys, buckets, metrics, traces } = service
  const { corsOrigins, trustedProxies } = config
  const portal = portalCookie(publicUrl)
  const networkOf = callerNetworks(secrets, trustedProxies)
  const access = { sessions, proofs: passkeys, buckets, clock, log, networkOf, portal }
  const countRefusal = countUncounted(access)
  const refusals = new Refusals(log, clock)
  const writeProbe = new WriteProbe(db, clock)
  const server = createServer({
    ...{ publicUrl, corsOrigins, branding, clock },
    logger: log,
    isApplication: (origin) => isPageOfClient(db, origin),
    countUncounted: countRefusal,
    ...(service.hasMailbox && { isHidden: isHiddenMailbox }),
    failed(error, request) {
      const { limit } = error.extra
      if (limit !== undefined && request) refusals.note(limit, networkOf(request).fingerprint)
      if (error.code === 'unavailable' && error.extra.cause) writeProbe.doubt()
      metrics?.failed(error)
    },
    ...(metrics && { answered: (note) => metrics.answered(note) }),
    ...(traces && { addFirstHooks: (fastify) => traces.watchRequests(fastify) }),
  })
  const { app } = server
  warnOfUntrustedProxy(app, trustedProxies, log)
  const guard = new Guard(app, access)
  await app.register(fastifyStatic, { serve: false, preCompressed: true })
  await describeApi(app, {
    version: packageVersion(),
    ...apiAbout(portal.name),
    webhooks: describeWebhooks(),
  })
  await addOperations(app, guard, routesOf({ ...service, app, portal, countRefusal, writeProbe }))
  await app.ready()
  return server
}
