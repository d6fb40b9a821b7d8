/**
 * Traces for OpenTelemetry: a span for each request, for the store calls that it waits for, and for each mail sent.
 * Loaded only if OTEL_* settings ask for it. Attributes hold route patterns, statuses and request ids; never a path,
 * an address, a code or a token. Why there is no OpenTelemetry package: docs/decisions/0015-traces-by-hand.md.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import type { Transport } from '../../messages/mail/outbox.ts'
import type { StoreWatch } from '../../platform/db/watched.ts'
import { errorFields } from '../../platform/lib/error-fields.ts'
import type { FailureLog } from '../../platform/lib/failure.ts'
import type { TraceSettings } from '../../platform/lib/otel.ts'
import { traceParentOf } from '../../platform/lib/traceparent.ts'
import { attributesOf, SpanExport } from './export.ts'

const kinds = { server: 2, client: 3 } as const
const statusOf = { unset: 0, error: 2 } as const

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly startedAt: number
}

interface Ending {
  readonly name: string
  readonly kind: keyof typeof kinds
  readonly failed: boolean
  readonly fields: Readonly<Record<string, string | number | undefined>>
}

export class Traces {
  readonly #settings: TraceSettings
  readonly #export: SpanExport
  readonly #current = new AsyncLocalStorage<Span>()

  constructor(settings: TraceSettings, version: string, log: FailureLog) {
    this.#settings = settings
    this.#export = new SpanExport(settings, version, log)
  }

  watchRequests(app: FastifyInstance): void {
    const spans = new WeakMap<FastifyRequest, Span>()
    app.addHook('onRequest', (request, reply, done) => {
      const span = this.#begin(request.headers.traceparent)
      if (!span) return done()
      spans.set(request, span)
      reply.raw.on('close', () => this.#endRequest(span, request, reply.statusCode))
      this.#current.run(span, done)
    })
    // The body arrived in events of the socket, which know nothing of the request.
    app.addHook('preValidation', (request, _reply, done) => {
      const span = spans.get(request)
      if (span) this.#current.run(span, done)
      else done()
    })
  }

  readonly storeWatch: StoreWatch = (call) => {
    const parent = this.#current.getStore()
    if (!parent) return () => {}
    const span = childOf(parent)
    return (error) => {
      const failed = error instanceof AppError ? error.code === 'unavailable' : error !== undefined
      this.#end(span, {
        name: `store ${call}`,
        kind: 'client',
        failed,
        fields: { 'db.operation.name': call },
      })
    }
  }

  watchTransport(transport: Transport): Transport {
    return {
      ...transport,
      send: async (message) => {
        const span = this.#begin(undefined)
        const ended = (error?: unknown) => {
          const { responseCode } = errorFields(error)
          const fields = { 'smtp.response.code': responseCode }
          if (span)
            this.#end(span, { name: 'mail hand-over', kind: 'client', failed: error !== undefined, fields })
        }
        try {
          const result = await transport.send(message)
          ended()
          return result
        } catch (error) {
          ended(error)
          throw error
        }
      },
    }
  }

  close(): Promise<void> {
    return this.#export.close()
  }

  /** Null if this trace is not sampled. */
  #begin(header: string | string[] | undefined): Span | null {
    const caller = traceParentOf(header)
    const { followsCaller, share } = this.#settings
    const sampled = caller && followsCaller ? caller.sampled : Math.random() < share
    if (!sampled) return null
    return {
      traceId: caller?.traceId ?? randomBytes(16).toString('hex'),
      spanId: newSpanId(),
      ...(caller && { parentSpanId: caller.spanId }),
      startedAt: now(),
    }
  }

  #endRequest(span: Span, request: FastifyRequest, status: number): void {
    const route = request.is404 ? undefined : request.routeOptions.url
    this.#end(span, {
      name: route === undefined ? request.method : `${request.method} ${route}`,
      kind: 'server',
      failed: status >= 500,
      fields: {
        'http.request.method': request.method,
        'http.route': route,
        'http.response.status_code': status,
        'chiron.request_id': request.id,
      },
    })
  }

  #end({ startedAt, ...ids }: Span, { name, kind, failed, fields }: Ending): void {
    this.#export.add({
      ...ids,
      name,
      kind: kinds[kind],
      startTimeUnixNano: nanoseconds(startedAt),
      endTimeUnixNano: nanoseconds(now()),
      attributes: attributesOf(fields),
      status: { code: statusOf[failed ? 'error' : 'unset'] },
    })
  }
}

const newSpanId = () => randomBytes(8).toString('hex')

function childOf({ traceId, spanId }: Span): Span {
  return { traceId, spanId: newSpanId(), parentSpanId: spanId, startedAt: now() }
}

/** Epoch milliseconds with fractions: spans of store calls are shorter than a millisecond. */
const now = () => performance.timeOrigin + performance.now()
const nanoseconds = (ms: number) => String(BigInt(Math.round(ms * 1_000)) * 1_000n)
