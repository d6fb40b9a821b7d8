/**
 * Sends deliveries, in every process of the service. A process claims a line under a lease, sends the first delivery in
 * it and writes down what came of it; if the process dies, the lease runs out and another sends it again. So everything
 * arrives at least once, and nothing is sent by two processes at the same time.
 *
 * A delivery that fails is tried again with growing pauses for three days, while its line waits. Each endpoint has its
 * own share of connections, so one that hangs delays no other.
 */
import { randomInt } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import type { Db } from '../db/db.ts'
import { type EventRow, eventNumbered, eventView, numberEvents } from '../events/events.ts'
import { type Clock, hour, minute, second } from '../lib/clock.ts'
import { Failure, type FailureLog } from '../lib/failure.ts'
import type { Range } from '../lib/network.ts'
import { newId } from '../lib/random.ts'
import { post, Unreachable } from './post.ts'
import {
  type Attempt,
  type Claim,
  claimLines,
  countFailure,
  disableWebhook,
  dueWebhooks,
  firstInLine,
  forgetFailures,
  queueDeliveries,
  queueState,
  recordAttempt,
  releaseLine,
  type WebhookRow,
} from './store.ts'
import type { Webhooks } from './webhooks.ts'

const timeoutMs = 15 * second
const leaseMs = 25 * second
const stopWaitMs = 1_500
const connectionsPerWebhook = 8
const queueBatch = 1_000
const gone = 410
/** After so many failures in a row the endpoint itself is in trouble, and not a single event. */
const manyFailures = 5
/** 72 hours in all. */
const pausesMs = [
  5 * second,
  30 * second,
  2 * minute,
  10 * minute,
  1 * hour,
  3 * hour,
  6 * hour,
  10 * hour,
  14 * hour,
  18 * hour,
  20 * hour,
]
/** Pauses are up to a tenth longer, so that what failed together is not tried together. */
const jitter = 0.1

export interface DelivererDeps {
  readonly db: Db
  readonly clock: Clock
  readonly pollMs: number
  readonly webhooks: Webhooks
  readonly allow: readonly Range[]
  readonly userAgent: string
  readonly log: FailureLog
  /** Told of every try. */
  noted?(outcome: 'delivered' | 'deferred' | 'failed'): void
}

export class Deliverer {
  readonly #deps: DelivererDeps
  readonly #failure: Failure
  readonly #stop = new AbortController()
  /** What is being sent, by webhook. */
  readonly #sending = new Map<string, Set<Promise<void>>>()
  readonly #unreadable = new Set<string>()
  #poll: NodeJS.Timeout | undefined
  #round: Promise<void> | undefined
  #again = false
  #stopped = false

  constructor(deps: DelivererDeps) {
    this.#deps = deps
    this.#failure = new Failure(deps.log, 'reading what webhooks are to get')
  }

  start(): void {
    this.#poll = setInterval(() => this.wake(), this.#deps.pollMs)
  }

  /** One round at a time; asked again during a round, one more follows. */
  wake(): void {
    if (this.#stopped) return
    if (this.#round) {
      this.#again = true
      return
    }
    this.#round = this.#take()
      .then(
        () => this.#failure.over(),
        (error) => this.#failure.began(error),
      )
      .finally(() => {
        this.#round = undefined
        if (!this.#again) return
        this.#again = false
        this.wake()
      })
  }

  /** Claims nothing more, and ends what does not end by itself soon. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#poll)
    await this.#round
    const timer = setTimeout(() => this.#stop.abort(), stopWaitMs)
    await Promise.all([...this.#sending.values()].flatMap((sending) => [...sending]))
    clearTimeout(timer)
  }

  async #take(): Promise<void> {
    const { db, clock, webhooks } = this.#deps
    await this.#queue()
    for (const webhook of await dueWebhooks(db, clock.now())) {
      if (this.#stopped) return
      const secrets = webhooks.secretsOf(webhook)
      if (secrets.length === 0) this.#cannotRead(webhook)
      else await this.#claim(webhook, secrets)
    }
  }

  /** Makes deliveries of what has happened. */
  async #queue(): Promise<void> {
    const { db, clock } = this.#deps
    if (!(await queueState(db))) return
    await numberEvents(db)
    for (;;) {
      const state = await queueState(db)
      if (!state) return
      const after = Math.max(state.queued_to, state.first)
      if (state.last <= after) return
      const to = Math.min(after + queueBatch, state.last)
      await db.tx(queueDeliveries({ queuedTo: state.queued_to, after, to, now: clock.now() }))
    }
  }

  async #claim(webhook: WebhookRow, secrets: readonly string[]): Promise<void> {
    const { db, clock } = this.#deps
    const sending = this.#sending.get(webhook.id) ?? new Set<Promise<void>>()
    this.#sending.set(webhook.id, sending)
    const limit = connectionsPerWebhook - sending.size
    if (limit <= 0) return
    const now = clock.now()
    // A new id each time: whoever was too slow, and lost the line, must not end the claim of the next one.
    const claim = { webhookId: webhook.id, by: newId() }
    for (const line of await claimLines(db, { ...claim, now, leaseUntil: now + leaseMs, limit })) {
      const sent = this.#send(webhook, secrets, { ...claim, line })
        .catch((error) => this.#failure.began(error))
        .finally(() => {
          sending.delete(sent)
          this.wake()
        })
      sending.add(sent)
    }
  }

  async #send(webhook: WebhookRow, secrets: readonly string[], claim: Claim): Promise<void> {
    const { db, clock } = this.#deps
    const delivery = await firstInLine(db, claim.webhookId, claim.line)
    if (!delivery) return void (await db.tx(releaseLine(claim, clock.now())))
    const { number, attempts } = delivery
    const event = await eventNumbered(db, number)
    if (!event) {
      const error = 'the event is no longer kept'
      return this.#record(claim, { number, at: clock.now(), status: null, error, outcome: 'dropped' })
    }
    const answer = await this.#post(webhook, secrets, event)
    if (answer === 'stopped') return void (await db.tx(releaseLine(claim, clock.now())))
    const { status, error } = answer
    const attempt = { number, at: clock.now(), status, error, outcome: null }
    if (error === null) await this.#delivered(webhook, claim, attempt)
    else if (status === gone) await this.#gone(webhook, claim, attempt)
    else await this.#failed(webhook, claim, attempt, attempts + 1)
  }

  async #post(
    webhook: WebhookRow,
    secrets: readonly string[],
    event: EventRow,
  ): Promise<{ status: number | null; error: string | null } | 'stopped'> {
    const { clock, allow, userAgent } = this.#deps
    const view = eventView(event)
    const body = JSON.stringify({ type: view.type, timestamp: view.at, data: view })
    const sentAt = new Date(clock.now())
    const headers = {
      'Content-Type': 'application/json',
      'User-Agent': userAgent,
      'webhook-id': event.id,
      'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
      'webhook-signature': secrets
        .map((secret) => new Webhook(secret).sign(event.id, sentAt, body))
        .join(' '),
    }
    const url = new URL(webhook.url)
    try {
      const status = await post({ url, headers, body, allow, timeoutMs, signal: this.#stop.signal })
      return { status, error: errorOf(status) }
    } catch (error) {
      if (this.#stop.signal.aborted) return 'stopped'
      return { status: null, error: describe(error) }
    }
  }

  async #record(claim: Claim, attempt: Attempt, nextAt = attempt.at): Promise<void> {
    await this.#deps.db.tx([...recordAttempt(claim, attempt), ...releaseLine(claim, nextAt)])
  }

  async #delivered(webhook: WebhookRow, claim: Claim, attempt: Attempt): Promise<void> {
    this.#deps.noted?.('delivered')
    await this.#record(claim, { ...attempt, outcome: 'delivered' })
    if (webhook.failures === 0) return
    const { db, log } = this.#deps
    const results = await db.tx(forgetFailures(webhook.id, manyFailures, attempt.at))
    if (results.at(-1)!.length > 0) log.info(about(webhook), 'a webhook works again')
  }

  async #gone(webhook: WebhookRow, claim: Claim, attempt: Attempt): Promise<void> {
    const { db, log } = this.#deps
    this.#deps.noted?.('failed')
    await db.tx([
      ...recordAttempt(claim, { ...attempt, outcome: 'dropped' }),
      ...disableWebhook(webhook.id, 'gone', attempt.at),
    ])
    log.warn(about(webhook), 'a webhook answered 410 and is switched off')
  }

  async #failed(webhook: WebhookRow, claim: Claim, attempt: Attempt, attempts: number): Promise<void> {
    const { db, log } = this.#deps
    const { number, status, error } = attempt
    const pauseMs = pausesMs[attempts - 1]
    this.#deps.noted?.(pauseMs === undefined ? 'failed' : 'deferred')
    if (pauseMs === undefined) {
      await this.#record(claim, { ...attempt, outcome: 'given-up' })
      log.warn({ ...about(webhook), event: number, status, error }, 'a delivery to a webhook was given up')
    } else {
      const nextAt = attempt.at + pauseMs + randomInt(Math.floor(pauseMs * jitter))
      await this.#record(claim, attempt, nextAt)
    }
    const [counted] = await db.tx([countFailure(webhook.id)])
    if (counted![0]?.failures === 1)
      log.warn({ ...about(webhook), status, error }, 'a webhook fails; it is tried again for three days')
  }

  #cannotRead(webhook: WebhookRow): void {
    if (this.#unreadable.has(webhook.id)) return
    this.#unreadable.add(webhook.id)
    this.#deps.log.warn(
      about(webhook),
      'the secret of a webhook was sealed under another CHIRON_SECRET; set CHIRON_SECRET_PREVIOUS, or rotate it',
    )
  }
}

/** Path and query of an endpoint may be secret. */
const about = (webhook: WebhookRow) => ({ webhook: webhook.id, host: new URL(webhook.url).host })

function errorOf(status: number): string | null {
  if (status >= 200 && status < 300) return null
  return status >= 300 && status < 400 ? 'it redirects' : `it answered ${status}`
}

/** Our own words or the code of an error, never text from outside. */
function describe(error: unknown): string {
  if (error instanceof Unreachable) return error.message
  return String((error as NodeJS.ErrnoException).code ?? 'the connection failed')
}
