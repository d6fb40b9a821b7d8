/**
 * The HTTP server: strict bodies, common headers, 404 and 405, one log line per request, orderly shutdown.
 *
 * A request passes through: overload (shed-load.ts) → version → queue (queue.ts) → access and limits (access.ts) →
 * body → validation → route → serialisation. A request with a body enters the queue once the body has arrived.
 * Anything thrown on the way becomes a problem (problem.ts).
 */
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { AppError, invalidField } from '../../errors.ts'
import type { Context } from '../context.ts'
import { newId } from '../lib/random.ts'
import type { Log } from '../log.ts'
import type { RouteConfig } from './access.ts'
import { takeBodies } from './bodies.ts'
import { serializerWhenUsed, validatorWhenUsed } from './compile.ts'
import { compressReplies } from './compress.ts'
import { boundConnections } from './connections.ts'
import { allowOrigins } from './cors.ts'
import { Drain, type DrainTimes } from './drain.ts'
import { apiVersion, commonHeaders, httpDate } from './headers.ts'
import { notFoundPage } from './pages.ts'
import { hasOtherMethod, Paths, paramLengthMax, pathOf } from './paths.ts'
import { clientErrorHandler, errorHandler, expectationHandler } from './problem.ts'
import { type Place, RequestQueue } from './queue.ts'
import { hasBody, RequestLog, type RequestNote } from './request-log.ts'
import { overloaded, shedLoad } from './shed-load.ts'

const bodyBytesMax = 16 * 1024
const requestTimeoutMs = 10_000
/** For routes that say so (`bodyWithinMs`). */
const longestRequestMs = 10 * 60_000
const closePatienceMs = 300

export interface Server {
  readonly app: FastifyInstance
  drain(times: DrainTimes): Promise<void>
  close(): Promise<void>
}

export interface ServerOptions extends Pick<Context, 'publicUrl' | 'branding' | 'clock'> {
  readonly corsOrigins: readonly string[]
  /** Whether pages of this origin are an application's. */
  readonly isApplication: (origin: string) => Promise<boolean>
  readonly logger: Log
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
  const queue = new RequestQueue(clock, logger)
  const paths = new Paths()
  const drain = new Drain(logger)
  const app = fastifyWith({
    clientErrorHandler: onClientError,
    handlerOf: (handle) => shedLoad(handle, { queue, paths, ...options, headers }),
    refuseUndecodable(request, reply) {
      requests.begin(request, reply, () => {})
      reply.headers(headers).header('Request-Id', request.id)
      onError(new AppError('not-found'), request, reply)
    },
  })

  boundConnections(app.server, clock, logger)
  paths.watch(app)
  options.addFirstHooks?.(app)
  beginRequests(app, { requests, drain, headers, date: httpDate(clock) })
  limitTime(app, onClientError)
  compressReplies(app)
  // Runs first, so that allowed origins can also read errors.
  allowOrigins(app, corsOrigins, options.isApplication)
  drain.refuseIn(app)
  checkHeaders(app)
  refuseUnknown(app, options.isHidden)
  queueRequests(app, queue)
  refuseNul(app)
  takeBodies(app)
  app.server.on('checkExpectation', expectationHandler(publicUrl, requests))
  app.setErrorHandler(onError)
  app.setNotFoundHandler(() => {
    throw new AppError('not-found')
  })

  return {
    app,
    drain: (times) => drain.run(times),
    async close() {
      // Gives half-sent requests a moment to receive their 503.
      const force = setTimeout(() => app.server.closeAllConnections(), closePatienceMs)
      await app.close()
      clearTimeout(force)
    },
  }
}

interface Handlers {
  readonly clientErrorHandler: ReturnType<typeof clientErrorHandler>
  /** What Node calls with each request, before Fastify. */
  handlerOf(handle: RequestListener): RequestListener
  /** For a path that cannot be decoded. */
  refuseUndecodable(request: FastifyRequest, reply: FastifyReply): void
}

function fastifyWith({ clientErrorHandler, handlerOf, refuseUndecodable }: Handlers): FastifyInstance {
  return Fastify({
    // Fastify’s logger creates a child per request. Our few log lines name the request id themselves.
    logger: false,
    genReqId: newId,
    requestIdHeader: false,
    bodyLimit: bodyBytesMax,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    clientErrorHandler,
    serverFactory: (handle) =>
      createHttpServer(
        {
          headersTimeout: requestTimeoutMs,
          // Node has one limit for all; `limitTime` has the usual one.
          requestTimeout: longestRequestMs,
          keepAliveTimeout: 60_000,
          connectionsCheckingInterval: 1_000,
          // Node's own refusal is not a problem document; `checkHeaders` refuses instead.
          requireHostHeader: false,
        },
        handlerOf(handle),
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
    frameworkErrors: (_error, request, reply) => refuseUndecodable(request, reply as FastifyReply),
  })
}

interface Beginning {
  readonly requests: RequestLog
  readonly drain: Drain
  readonly headers: Readonly<Record<string, string>>
  readonly date: () => string
}

function beginRequests(app: FastifyInstance, { requests, drain, headers, date }: Beginning): void {
  app.addHook('onRequest', (request, reply, done) => {
    drain.requestBegan()
    requests.begin(request, reply, () => drain.requestEnded())
    reply.headers(headers).header('Request-Id', request.id).header('Date', date())
    done()
  })
}

function checkHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      return done(new AppError('invalid-request', 'The Host header is missing.'))
    }
    if (hasTwoHosts(request.raw.rawHeaders)) {
      return done(new AppError('invalid-request', 'There is more than one Host header.'))
    }
    const version = request.headers['api-version']
    const isKnown = version === undefined || version === apiVersion
    done(isKnown ? undefined : new AppError('unsupported-version'))
  })
}

/** Paths, and methods of a path, that there are not. */
function refuseUnknown(app: FastifyInstance, isHidden: ServerOptions['isHidden']): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (isHidden?.(request)) return done(new AppError('not-found'))
    if (hasOtherMethod(request)) {
      const Allow = [...pathOf(request)!.methods].sort().join(', ')
      return done(new AppError('method-not-allowed', undefined, { headers: { Allow } }))
    }
    done(request.is404 ? new AppError('not-found') : undefined)
  })
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

/** Node exposes only the first Host header; a proxy in front may have used another (RFC 9112 §3.2). */
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let found = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (name.length === 4 && name.toLowerCase() === 'host') found++
  }
  return found > 1
}
