/**
 * Sends deliveries, in every process of the service. A process claims a line under a lease, sends the first delivery
 * in it and records the outcome; if the process dies, the lease expires and another process sends it again. So every
 * event arrives at least once, and no two processes send the same one at the same time.
 *
 * A failed delivery is retried with growing pauses for three days, while its line waits. An endpoint that accepts
 * nothing for three days is switched off. Each endpoint has its own share of connections, so one that hangs delays no
 * other.
 */
import { randomInt } from 'node:crypto'
import type { Condition, Db, Statement } from '../../platform/db/db.ts'
import { hour, minute, second } from '../../platform/lib/clock.ts'
import { Failure, type FailureLog } from '../../platform/lib/failure.ts'
import { newId } from '../../platform/lib/random.ts'
import { Rounds } from '../../platform/lib/rounds.ts'
import { type EventRow, eventNumbered, eventView, numberEvents } from '../events/events.ts'
import { type Answer, type SendDeps, sendEvent } from './send.ts'
import {
  type Attempt,
  type Claim,
  claimLines,
  countFailure,
  disableWebhook,
  dueWebhooks,
  firstInLine,
  forgetFailures,
  hasFailedSince,
  isEnabled,
  lockWebhook,
  noteFailing,
  queueDeliveries,
  queueState,
  recordAttempt,
  releaseLine,
  type WebhookRow,
} from './store.ts'
import type { Webhooks } from './webhooks.ts'

const leaseMs = 25 * second
const connectionsPerWebhook = 8
const queueBatch = 1_000
const gone = 410
/** After this many failures in a row, the endpoint is in trouble, not a single event. */
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
const triesMax = pausesMs.length + 1
/** After this long without a success, and as many attempts as a single event gets, the endpoint is switched off. */
const failingMaxMs = 72 * hour
/** Jitter: pauses are up to a tenth longer, so that deliveries that failed together are not retried together. */
const jitter = 0.1

/** An endpoint that the service switches off. */
export interface SwitchedOff {
  readonly id: string
  readonly host: string
  readonly because: 'gone' | 'failing'
  readonly now: number
}

export interface DelivererDeps extends SendDeps {
  readonly db: Db
  readonly pollMs: number
  readonly webhooks: Webhooks
  readonly log: FailureLog
  /** Statements that mail those who can mend it, if the condition is true. */
  tellAdmins?(webhook: SwitchedOff, when: Condition): Promise<Statement[]>
  /** Called for every attempt. */
  noted?(outcome: 'delivered' | 'deferred' | 'failed'): void
}

export class Deliverer {
  readonly #deps: DelivererDeps
  readonly #rounds: Rounds
  readonly #unreadable = new Set<string>()

  constructor(deps: DelivererDeps) {
    this.#deps = deps
    this.#rounds = new Rounds(() => this.#take(), new Failure(deps.log, 'reading the webhook queue'))
  }

  start(): void {
    this.#rounds.start(this.#deps.pollMs)
  }

  /** Claims nothing more, and aborts requests that do not finish soon. */
  stop(): Promise<void> {
    return this.#rounds.stop()
  }

  async #take(): Promise<void> {
    const { db, clock, webhooks } = this.#deps
    await this.#queue()
    for (const webhook of await dueWebhooks(db, clock.now())) {
      const limit = this.#rounds.roomFor(webhook.id, connectionsPerWebhook)
      if (limit <= 0) continue
      const secrets = webhooks.secretsOf(webhook)
      if (secrets.length === 0) await this.#cannotRead(webhook)
      else await this.#claim(webhook, secrets, limit)
    }
  }

  /** Queues deliveries for new events. */
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

  async #claim(webhook: WebhookRow, secrets: readonly string[], limit: number): Promise<void> {
    const { db, clock } = this.#deps
    const now = clock.now()
    // A new id each time: a process that was too slow and lost the line must not end the claim of the next one.
    const claim = { webhookId: webhook.id, by: newId() }
    for (const line of await claimLines(db, { ...claim, now, leaseUntil: now + leaseMs, limit }))
      this.#rounds.begin(webhook.id, this.#send(webhook, secrets, { ...claim, line }))
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

  async #post(webhook: WebhookRow, secrets: readonly string[], event: EventRow): Promise<Answer | 'stopped'> {
    const { signal } = this.#rounds
    try {
      return await sendEvent({ url: webhook.url, secrets }, eventView(event), this.#deps, signal)
    } catch (error) {
      if (signal.aborted) return 'stopped'
      throw error
    }
  }

  async #record(claim: Claim, attempt: Attempt, nextAt = attempt.at): Promise<void> {
    await this.#deps.db.tx([...recordAttempt(claim, attempt), ...releaseLine(claim, nextAt)])
  }

  async #delivered(webhook: WebhookRow, claim: Claim, attempt: Attempt): Promise<void> {
    const { db, log } = this.#deps
    this.#deps.noted?.('delivered')
    await this.#record(claim, { ...attempt, outcome: 'delivered' })
    const results = await db.tx(forgetFailures(webhook.id, manyFailures, attempt.at))
    if (results.at(-1)!.length > 0) log.info(about(webhook), 'a webhook works again')
  }

  async #gone(webhook: WebhookRow, claim: Claim, attempt: Attempt): Promise<void> {
    this.#deps.noted?.('failed')
    // Before the line is released, or the next event in it would be sent.
    await this.#switchOff(webhook, 'gone', attempt.at, isEnabled(webhook.id))
    await this.#record(claim, { ...attempt, outcome: 'dropped' })
    await this.#deps.webhooks.dropWaiting(webhook.id)
  }

  async #failed(webhook: WebhookRow, claim: Claim, attempt: Attempt, attempts: number): Promise<void> {
    const { db, log } = this.#deps
    const { number, at, status, error } = attempt
    const pauseMs = pausesMs[attempts - 1]
    this.#deps.noted?.(pauseMs === undefined ? 'failed' : 'deferred')
    if (pauseMs === undefined) {
      await this.#record(claim, { ...attempt, outcome: 'given-up' })
      log.warn({ ...about(webhook), event: number, status, error }, 'gave up on a webhook delivery')
    } else {
      const nextAt = at + pauseMs + randomInt(Math.floor(pauseMs * jitter))
      await this.#record(claim, attempt, nextAt)
    }
    const [counted] = await db.tx([countFailure(webhook.id, at)])
    const { failures, failing_since: since } = (counted![0] ?? {}) as Partial<WebhookRow>
    if (failures === 1)
      log.warn({ ...about(webhook), status, error }, 'a webhook is failing; retrying for three days')
    if (failures! >= triesMax && at - since! >= failingMaxMs) {
      const hasFailed = hasFailedSince(webhook.id, at - failingMaxMs, triesMax)
      await this.#switchOff(webhook, 'failing', at, hasFailed)
      await this.#deps.webhooks.dropWaiting(webhook.id)
    }
  }

  /** Happens once, in whichever process comes first; admins are notified in the same transaction. */
  async #switchOff(
    webhook: WebhookRow,
    because: 'gone' | 'failing',
    now: number,
    when: Condition,
  ): Promise<void> {
    const { db, log, tellAdmins } = this.#deps
    const { id } = webhook
    const host = hostNamed(webhook)
    const results = await db.tx([
      lockWebhook(id),
      ...((await tellAdmins?.({ id, host, because, now }, when)) ?? []),
      disableWebhook(id, because, now, when),
    ])
    if (results.at(-1)!.length > 0) log.warn(about(webhook), switchedOff[because])
  }

  /** Events must not pile up for an endpoint that cannot be tried. */
  async #cannotRead(webhook: WebhookRow): Promise<void> {
    const { db, clock, log } = this.#deps
    const now = clock.now()
    const { id, failing_since: since } = webhook
    if (since === null || since > now) await db.tx([noteFailing(id, now)])
    else if (now - since >= failingMaxMs)
      await this.#switchOff(webhook, 'failing', now, hasFailedSince(id, now - failingMaxMs, 0))
    if (this.#unreadable.has(id)) return
    this.#unreadable.add(id)
    log.warn(
      about(webhook),
      'the secret of a webhook was sealed under another CHIRON_SECRET; set CHIRON_SECRET_PREVIOUS, or rotate it',
    )
  }
}

const switchedOff = {
  gone: 'a webhook answered 410 and was switched off',
  failing: 'a webhook had no success for three days and was switched off',
}

const hostNamed = ({ url }: WebhookRow) => new URL(url).host

/** Path and query of an endpoint may be secret. */
const about = (webhook: WebhookRow) => ({ webhook: webhook.id, host: hostNamed(webhook) })
