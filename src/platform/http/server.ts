/**
 * The HTTP server: strict bodies, common headers, 404 and 405, one log line per request, orderly shutdown.
 *
 * A request passes through: overload (shed-load.ts) → version → queue (queue.ts) → access and limits (access.ts) →
 * body → validation → route → serialisation. A request with a body enters the queue once the body has arrived.
 * Anything thrown on the way becomes a problem (problem.ts).
 */
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { finished } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { AppError, invalidField } from '../../errors.ts'
import type { Branding } from '../lib/branding.ts'
import type { Clock } from '../lib/clock.ts'
import { newId } from '../lib/random.ts'
import type { Log } from '../log.ts'
import type { RouteConfig } from './access.ts'
import { demandBodies, jsonMediaType, unsupportedBody, withoutBody } from './bodies.ts'
import { serializerWhenUsed, validatorWhenUsed } from './compile.ts'
import { compressReplies } from './compress.ts'
import { boundConnections } from './connections.ts'
import { allowOrigins } from './cors.ts'
import { apiVersion, commonHeaders, httpDate } from './headers.ts'
import { readinessPath } from './health.ts'
import { parseJsonBody } from './json.ts'
import { notFoundPage } from './pages.ts'
import { hasOtherMethod, Paths, paramLengthMax, pathOf } from './paths.ts'
import { clientErrorHandler, errorHandler, expectationHandler } from './problem.ts'
import { type Place, RequestQueue } from './queue.ts'
import { hasBody, RequestLog, type RequestNote } from './request-log.ts'
import { overloaded, turningAway } from './shed-load.ts'

const bodyBytesMax = 16 * 1024
/** Larger bodies are answered before they are read to the end. */
const discardedBytesMax = 1024 * 1024
const requestTimeoutMs = 10_000
/** For routes that say so (`bodyWithinMs`). */
const longestRequestMs = 10 * 60_000
const closePatienceMs = 300

export interface Server {
  readonly app: FastifyInstance
  /**
   * Refuses new requests and waits for those in progress. First it lingers: it says that it is not ready, and serves
   * everything else until proxies have noticed.
   */
  drain(times: DrainTimes): Promise<void>
  close(): Promise<void>
}

export interface DrainTimes {
  readonly lingerMs: number
  /** In all. */
  readonly patienceMs: number
}

export interface ServerOptions {
  readonly publicUrl: string
  readonly corsOrigins: readonly string[]
  /** Whether pages of this origin are an application's. */
  readonly isApplication: (origin: string) => Promise<boolean>
  readonly branding: Branding
  readonly logger: Log
  readonly clock: Clock
  /** Counts a request that failed before any limit was applied. */
  countUncounted(request: FastifyRequest, reply: FastifyReply): void
  /** Whether a path is hidden from this caller, whatever the method. */
  isHidden?(request: FastifyRequest): boolean
  /** Called for every error that becomes a reply. */
  failed(error: AppError, request: FastifyRequest | null): void
  /** Called when a request ends. */
  answered?(note: RequestNote): void
  /** Adds hooks that run before all others. */
  addFirstHooks?(app: FastifyInstance): void
}

export function createServer(options: ServerOptions): Server {
  const { publicUrl, corsOrigins, branding, logger, clock } = options
  const onError = errorHandler(publicUrl, options, logger, (language) => notFoundPage(branding, language))
  const requests = new RequestLog(logger, options.answered)
  const onClientError = clientErrorHandler(publicUrl, requests)
  const headers = commonHeaders(publicUrl.startsWith('https:'))
  const date = httpDate(clock)
  const queue = new RequestQueue(clock, logger)
  const paths = new Paths()
  const app = Fastify({
    // Fastify’s logger creates a child per request. Our few log lines name the request id themselves.
    logger: false,
    genReqId: newId,
    requestIdHeader: false,
    bodyLimit: bodyBytesMax,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    clientErrorHandler: onClientError,
    serverFactory: (handle) =>
      createHttpServer(
        {
          headersTimeout: requestTimeoutMs,
          // Node has one limit for all; `limitTime` has the usual one.
          requestTimeout: longestRequestMs,
          keepAliveTimeout: 60_000,
          connectionsCheckingInterval: 1_000,
          // Node's own refusal is not a problem document; the onRequest hook below checks instead.
          requireHostHeader: false,
        },
        turningAway(handle, { queue, paths, ...options, headers }),
      ),
    routerOptions: { maxParamLength: paramLengthMax },
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: true,
        // Used only in the OpenAPI document (schemas.ts).
        keywords: ['documented'],
      },
    },
    schemaController: {
      compilersFactory: { buildValidator: validatorWhenUsed, buildSerializer: serializerWhenUsed },
    },
    // The path cannot be decoded.
    frameworkErrors: (_error, request, reply) => {
      requests.begin(request, reply as FastifyReply, () => {})
      reply.headers(headers).header('Request-Id', request.id)
      onError(new AppError('not-found'), request, reply as FastifyReply)
    },
  })

  boundConnections(app.server, clock, logger)
  paths.watch(app)
  options.addFirstHooks?.(app)
  const flow = { inFlight: 0, lingering: false, stopping: false, idle: () => {} }
  app.addHook('onRequest', (request, reply, done) => {
    flow.inFlight++
    requests.begin(request, reply, () => {
      flow.inFlight--
      if (flow.inFlight === 0) flow.idle()
    })
    reply.headers(headers).header('Request-Id', request.id).header('Date', date())
    done()
  })
  limitTime(app, onClientError)
  compressReplies(app)
  // Runs first, so that allowed origins can also read errors.
  allowOrigins(app, corsOrigins, options.isApplication)
  app.addHook('onRequest', (request, reply, done) => {
    if (flow.lingering) reply.header('Connection', 'close')
    if (flow.stopping || (flow.lingering && request.routeOptions.url === readinessPath)) {
      return done(new AppError('unavailable', 'The service is shutting down.', { retryAfterSeconds: 5 }))
    }
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      return done(new AppError('invalid-request', 'The Host header is missing.'))
    }
    if (hasTwoHosts(request.raw.rawHeaders)) {
      return done(new AppError('invalid-request', 'There is more than one Host header.'))
    }
    const version = request.headers['api-version']
    if (version !== undefined && version !== apiVersion) return done(new AppError('unsupported-version'))
    done()
  })
  app.addHook('onRequest', (request, _reply, done) => {
    if (options.isHidden?.(request)) return done(new AppError('not-found'))
    if (hasOtherMethod(request)) {
      const Allow = [...pathOf(request)!.methods].sort().join(', ')
      return done(new AppError('method-not-allowed', undefined, { headers: { Allow } }))
    }
    done(request.is404 ? new AppError('not-found') : undefined)
  })
  queueRequests(app, queue)
  demandBodies(app)
  refuseNul(app)
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const encoding = request.headers['content-encoding']
    if (encoding === undefined || /^\s*identity\s*$/i.test(encoding) || !hasBody(request.raw)) return done()
    const detail = 'Send the body without Content-Encoding.'
    done(unsupportedBody(request, detail, { 'Accept-Encoding': 'identity' }))
  })
  // Fastify would answer at once and close the connection. With part of the body unread, that resets the connection,
  // and a proxy answers 502 instead of passing the 413 on.
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const length = Number(request.headers['content-length'] ?? 0)
    if (length <= request.routeOptions.bodyLimit || length > discardedBytesMax) return done()
    finished(payload, { writable: false }, (error) => done(error ?? new AppError('body-too-large')))
    payload.resume()
  })
  app.server.on('checkExpectation', expectationHandler(publicUrl, requests))

  app.removeAllContentTypeParsers()
  app.addContentTypeParser(jsonMediaType, { parseAs: 'buffer' }, (request, body, done) => {
    try {
      done(null, parseBody(request, body as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
  app.setErrorHandler(onError)
  app.setNotFoundHandler(() => {
    throw new AppError('not-found')
  })

  const drain = async ({ lingerMs, patienceMs }: DrainTimes) => {
    flow.lingering = true
    if (lingerMs > 0) await new Promise((resolve) => setTimeout(resolve, lingerMs))
    flow.stopping = true
    if (flow.inFlight === 0) return
    const idle = new Promise<void>((resolve) => {
      flow.idle = resolve
    })
    await Promise.race([idle, new Promise((resolve) => setTimeout(resolve, patienceMs - lingerMs).unref())])
    if (flow.inFlight > 0)
      logger.warn({ requests: flow.inFlight }, 'cutting off requests that did not finish in time')
  }
  let drained: Promise<void> | undefined

  return {
    app,
    drain(times) {
      drained ??= drain(times)
      return drained
    },
    async close() {
      // Gives half-sent requests a moment to receive their 503.
      const force = setTimeout(() => app.server.closeAllConnections(), closePatienceMs)
      await app.close()
      clearTimeout(force)
    },
  }
}

/** No value that we store has a NUL, and PostgreSQL fails on it. */
function refuseNul(app: FastifyInstance): void {
  app.addHook('preValidation', (request, _reply, done) => {
    if (!request.routeOptions.schema?.querystring) return done()
    const found = Object.entries(request.query as Record<string, unknown>).find(([, value]) =>
      String(value).includes('\0'),
    )
    done(found && invalidField({ parameter: found[0], detail: 'must not contain a NUL character' }))
  })
}

const placeOf = Symbol('place')

/** Only after the body has arrived, so that slow senders delay nobody. */
function queueRequests(app: FastifyInstance, queue: RequestQueue): void {
  app.decorateRequest(placeOf, null)
  const enter = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => {
    if (pathOf(request)?.isQueued === false) return done()
    const place = queue.enter((admitted) => (admitted ? done() : done(overloaded())))
    request.setDecorator<Place>(placeOf, place)
    reply.raw.on('close', () => queue.leave(place))
  }
  app.addHook('onRequest', (request, reply, done) =>
    hasBody(request.raw) ? done() : enter(request, reply, done),
  )
  app.addHook('preValidation', (request, reply, done) =>
    hasBody(request.raw) ? enter(request, reply, done) : done(),
  )
  // The work is done then. A client that is slow to read the reply delays nobody.
  app.addHook('onSend', (request, _reply, payload, done) => {
    const place = request.getDecorator<Place | null>(placeOf)
    if (place) queue.leave(place)
    done(null, payload)
  })
}

/** How long bodies may take to arrive. Strangers get no more time than usual, whatever the route. */
function limitTime(app: FastifyInstance, onClientError: ReturnType<typeof clientErrorHandler>): void {
  const timers = new WeakMap<IncomingMessage, NodeJS.Timeout>()
  const begin = ({ raw }: FastifyRequest, ms: number) => {
    clearTimeout(timers.get(raw))
    const tooLate = () => {
      if (!raw.complete)
        onClientError(Object.assign(new Error('timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), raw.socket)
    }
    timers.set(raw, setTimeout(tooLate, ms).unref())
  }
  app.addHook('onRequest', (request, _reply, done) => {
    if (hasBody(request.raw)) {
      begin(request, requestTimeoutMs)
      request.raw.once('close', () => clearTimeout(timers.get(request.raw)))
    }
    done()
  })
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const { bodyWithinMs } = request.routeOptions.config as Partial<RouteConfig>
    if (bodyWithinMs !== undefined && hasBody(request.raw)) begin(request, bodyWithinMs)
    done()
  })
}

function parseBody(request: FastifyRequest, body: Buffer): unknown {
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1]
  if (charset !== undefined && !/^utf-?8$/i.test(charset))
    throw unsupportedBody(request, 'Send the body in UTF-8.')
  return body.length === 0 ? withoutBody(request) : parseJsonBody(body)
}

/** Node exposes only the first Host header; a proxy in front may have used another (RFC 9112 §3.2). */
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let found = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (name.length === 4 && name.toLowerCase() === 'host') found++
  }
  return found > 1
}
