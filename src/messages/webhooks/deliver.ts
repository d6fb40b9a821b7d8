/**
 * Sends deliveries, in every process of the service. A process claims a line under a lease, sends the first delivery
 * in it and records the outcome; if the process dies, the lease expires and another process sends it again. So every
 * event arrives at least once, and no two processes send the same one at the same time.
 *
 * A failed delivery is retried with growing pauses for three days, while its line waits. An endpoint that accepts
 * nothing for three days is switched off. Each endpoint has its own share of connections, so one that hangs delays no
 * other.
 */
import type { Context } from '../../platform/context.ts'
import { lookThenDecide, type Statement } from '../../platform/db/db.ts'
import { decision } from '../../platform/db/decision.ts'
import { second } from '../../platform/lib/clock.ts'
import { eventNumbered, eventView, numberEvents } from '../events/events.ts'
import { jittered, type Lane, Worker } from '../queue/queue.ts'
import { failingSince, isSwitchedOff, pauseAfter, type Trouble } from './rules.ts'
import { type SendDeps, sendEvent } from './send.ts'
import * as store from './store.ts'
import type { Webhooks } from './webhooks.ts'

const leaseMs = 25 * second
const connectionsPerWebhook = 8
const queueBatch = 1_000
const gone = 410

/** An endpoint that the service switches off. */
export interface SwitchedOff {
  readonly id: string
  readonly host: string
  readonly because: 'gone' | 'failing'
  readonly now: number
}

interface Deps extends SendDeps, Pick<Context, 'db' | 'log'> {
  readonly pollMs: number
  readonly webhooks: Webhooks
  /** Statements that mail those who can mend it. */
  tellAdmins?(webhook: SwitchedOff): Promise<Statement[]>
  /** Called for every attempt. */
  noted?(outcome: 'delivered' | 'deferred' | 'failed'): void
}

export class Deliverer {
  readonly #deps: Deps
  readonly #worker: Worker<store.LineRow>
  readonly #unreadable = new Set<string>()

  constructor(deps: Deps) {
    this.#deps = deps
    this.#worker = new Worker(deps, {
      what: 'reading the webhook queue',
      table: store.lines,
      leaseMs,
      dueLanes: () => this.#dueLanes(),
    })
  }

  start(): void {
    this.#worker.start(this.#deps.pollMs)
  }

  /** Claims nothing more, and aborts requests that do not finish soon. */
  stop(): Promise<void> {
    return this.#worker.stop()
  }

  async #dueLanes(): Promise<Lane<store.LineRow>[]> {
    const { db, clock, webhooks } = this.#deps
    await this.#queue()
    const lanes: Lane<store.LineRow>[] = []
    for (const webhook of await store.dueWebhooks(db, clock.now())) {
      const secrets = webhooks.secretsOf(webhook)
      if (secrets.length === 0) await this.#cannotRead(webhook)
      else
        lanes.push({
          ...store.linesOf(webhook.id),
          jobsMax: connectionsPerWebhook,
          work: (line, signal) => this.#send(webhook, secrets, line, signal),
        })
    }
    return lanes
  }

  /** Queues deliveries for new events. */
  async #queue(): Promise<void> {
    const { db, clock } = this.#deps
    if (!(await store.queueState(db))) return
    await numberEvents(db)
    for (;;) {
      const state = await store.queueState(db)
      if (!state) return
      const after = Math.max(state.queued_to, state.first)
      if (state.last <= after) return
      const to = Math.min(after + queueBatch, state.last)
      await db.tx(store.queueDeliveries({ queuedTo: state.queued_to, after, to, now: clock.now() }))
    }
  }

  async #send(
    webhook: store.WebhookRow,
    secrets: readonly string[],
    line: store.LineRow,
    signal: AbortSignal,
  ): Promise<void> {
    const { db, clock } = this.#deps
    const delivery = await store.firstInLine(db, line)
    if (!delivery) return void (await db.tx(store.releaseLine(line, clock.now())))
    const { number, attempts } = delivery
    const event = await eventNumbered(db, number)
    if (!event) {
      const error = 'the event is no longer kept'
      return this.#record(line, { number, at: clock.now(), status: null, error, outcome: 'dropped' })
    }
    const { url } = webhook
    const { status, error } = await sendEvent({ url, secrets }, eventView(event), this.#deps, signal)
    const attempt = { number, at: clock.now(), status, error, outcome: null }
    if (error === null) await this.#delivered(webhook, line, attempt)
    else if (status === gone) await this.#gone(webhook, line, attempt)
    else await this.#failed(webhook, line, attempt, attempts + 1)
  }

  async #record(line: store.LineRow, attempt: store.Attempt, nextAt = attempt.at): Promise<void> {
    await this.#deps.db.tx([...store.recordAttempt(line, attempt), ...store.releaseLine(line, nextAt)])
  }

  async #delivered(webhook: store.WebhookRow, line: store.LineRow, attempt: store.Attempt): Promise<void> {
    const { db, log } = this.#deps
    this.#deps.noted?.('delivered')
    await this.#record(line, { ...attempt, outcome: 'delivered' })
    if (await lookThenDecide(db, store.forgetFailures(webhook.id, attempt.at)))
      log.info(about(webhook), 'a webhook works again')
  }

  async #gone(webhook: store.WebhookRow, line: store.LineRow, attempt: store.Attempt): Promise<void> {
    this.#deps.noted?.('failed')
    // Before the line is released, or the next event in it would be sent.
    await this.#switchOff(webhook, 'gone', attempt.at)
    await this.#record(line, { ...attempt, outcome: 'dropped' })
    await this.#deps.webhooks.dropWaiting(webhook.id)
  }

  async #failed(
    webhook: store.WebhookRow,
    line: store.LineRow,
    attempt: store.Attempt,
    attempts: number,
  ): Promise<void> {
    const { db, log } = this.#deps
    const { number, at, status, error } = attempt
    const pauseMs = pauseAfter(attempts)
    this.#deps.noted?.(pauseMs === undefined ? 'failed' : 'deferred')
    if (pauseMs === undefined) {
      await this.#record(line, { ...attempt, outcome: 'given-up' })
      log.warn({ ...about(webhook), event: number, status, error }, 'gave up on a webhook delivery')
    } else {
      await this.#record(line, attempt, at + jittered(pauseMs))
    }
    const health = await db.decide(store.countFailure(webhook.id, at))
    if (health?.failures === 1)
      log.warn({ ...about(webhook), status, error }, 'a webhook is failing; retrying for three days')
    if (isSwitchedOff(health, 'failing', at)) {
      await this.#switchOff(webhook, 'failing', at)
      await this.#deps.webhooks.dropWaiting(webhook.id)
    }
  }

  /** Happens once, in whichever process comes first; admins are notified in the same transaction. */
  async #switchOff(webhook: store.WebhookRow, trouble: Trouble, now: number): Promise<void> {
    const { db, log, tellAdmins } = this.#deps
    const { id } = webhook
    const because = trouble === 'gone' ? 'gone' : 'failing'
    const host = hostNamed(webhook)
    const mails = (await tellAdmins?.({ id, host, because, now })) ?? []
    const switching = decision({ row: store.lockWebhook(id) }, ({ row }) =>
      isSwitchedOff(row, trouble, now)
        ? { writes: [...mails, store.disableWebhook(id, because, now)], result: true }
        : { result: false },
    )
    if (await db.decide(switching)) log.warn(about(webhook), switchedOff[because])
  }

  /** Events must not pile up for an endpoint that cannot be tried. */
  async #cannotRead(webhook: store.WebhookRow): Promise<void> {
    const { db, clock, log } = this.#deps
    const now = clock.now()
    const { id, failing_since } = webhook
    if (failing_since !== failingSince(webhook, now)) await db.decide(store.noteFailing(id, now))
    else if (isSwitchedOff(webhook, 'unreadable', now)) await this.#switchOff(webhook, 'unreadable', now)
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

const hostNamed = ({ url }: store.WebhookRow) => new URL(url).host

/** Path and query of an endpoint may be secret. */
const about = (webhook: store.WebhookRow) => ({ webhook: webhook.id, host: hostNamed(webhook) })
