/**
 * Sends spans in batches by OTLP over HTTP with JSON. While the collector is away, spans wait, and those for which the queue
 * has no room are dropped. Only the first failure and the recovery are logged.
 */
import { second } from '../../platform/lib/clock.ts'
import { Failure, type FailureLog } from '../../platform/lib/failure.ts'
import type { TraceSettings } from '../../platform/lib/otel.ts'

/** A span as OTLP's JSON has it. */
export interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly OtlpAttribute[]
  readonly status: { readonly code: number }
}

export interface OtlpAttribute {
  readonly key: string
  readonly value: { readonly stringValue: string } | { readonly intValue: string }
}

export function attributesOf(fields: Readonly<Record<string, string | number | undefined>>): OtlpAttribute[] {
  return Object.entries(fields).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [{ key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } }],
  )
}

const sendEveryMs = 2 * second
const batchMax = 512
const waitingMax = 4_096
const timeoutMs = 10 * second
/** Answers after which a batch is sent again (OTLP 1.10, Failures). */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504])

class Refused extends Error {
  readonly mayPass: boolean

  constructor(status: number) {
    super(`the collector answered ${status}`)
    this.mayPass = passing.has(status)
  }
}

export class SpanExport {
  readonly #settings: TraceSettings
  readonly #version: string
  readonly #failure: Failure
  readonly #timer: NodeJS.Timeout
  #waiting: OtlpSpan[] = []
  #sending: Promise<void> | null = null
  #isFailing = false

  constructor(settings: TraceSettings, version: string, log: FailureLog) {
    this.#settings = settings
    this.#version = version
    this.#failure = new Failure(log, 'sending traces')
    this.#timer = setInterval(() => this.#send(), sendEveryMs).unref()
    if (settings.wantsProtobuf)
      log.warn({}, 'OTEL_EXPORTER_OTLP_PROTOCOL asks for http/protobuf, but traces are sent as http/json')
  }

  add(span: OtlpSpan): void {
    if (this.#waiting.length < waitingMax) this.#waiting.push(span)
    if (this.#waiting.length >= batchMax && !this.#isFailing) this.#send()
  }

  /** Sends the waiting spans, unless the collector fails. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#sending
    do await this.#send()
    while (this.#waiting.length > 0 && !this.#isFailing)
  }

  #send(): Promise<void> | null {
    if (this.#sending || this.#waiting.length === 0) return this.#sending
    const spans = this.#waiting.splice(0, batchMax)
    this.#sending = this.#post(spans)
      .then(
        () => {
          this.#failure.over()
          this.#isFailing = false
        },
        (error) => {
          this.#failure.began(error)
          const isLost = error instanceof Refused && !error.mayPass
          if (!isLost) this.#waiting = [...spans, ...this.#waiting].slice(0, waitingMax)
          this.#isFailing = true
        },
      )
      .finally(() => {
        this.#sending = null
      })
    return this.#sending
  }

  async #post(spans: readonly OtlpSpan[]): Promise<void> {
    const { url, headers, attributes } = this.#settings
    const scope = { name: 'chiron', version: this.#version }
    const resource = { attributes: attributesOf({ 'service.version': this.#version, ...attributes }) }
    const reply = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }] }),
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'error',
    })
    await reply.body?.cancel()
    if (!reply.ok) throw new Refused(reply.status)
  }
}
