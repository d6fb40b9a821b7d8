/**
 * Endpoints of other programs that receive events: their URLs, event types and signing secrets (Standard Webhooks
 * 1.0). `deliver.ts` sends; `post.ts` makes one request.
 *
 * Each event for an endpoint is a delivery. Deliveries of one person form a line and go out one after the other;
 * events without a person share a line. Lines do not wait for each other.
 */
import { randomBytes } from 'node:crypto'
import { AppError, invalidField } from '../../errors.ts'
import type { Context } from '../../platform/context.ts'
import { type Statement, sweptRowsMax } from '../../platform/db/db.ts'
import type { By } from '../../platform/lib/by.ts'
import { day, second, timestamp, timestampOrNull } from '../../platform/lib/clock.ts'
import { nearest } from '../../platform/lib/nearest.ts'
import type { Range } from '../../platform/lib/network.ts'
import { isId, newId } from '../../platform/lib/random.ts'
import { literalRefusal } from '../../platform/lib/reachable.ts'
import { seal, unseal } from '../../platform/lib/seal.ts'
import { eventTypes, numberBefore, numberEvents } from '../events/events.ts'
import { testEvent } from '../events/types.ts'
import { webhooksMax } from './rules.ts'
import { type Answer, type SendDeps, sendEvent } from './send.ts'
import * as store from './store.ts'

export { attempt } from './send.ts'

const urlLengthMax = 2_000
const bothSecretsMs = day
const deliveriesKeptMs = 7 * day
const deliveriesShown = 100
const replayBatch = 1_000
const allEvents = '*'
/** Longer than one request may take. */
const testMaxMs = 20 * second

type Deps = SendDeps & Pick<Context, 'db' | 'secrets'>

export interface WebhookFields {
  readonly url: string
  readonly events: readonly string[]
}

export class Webhooks {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async list() {
    return (await store.allWebhooks(this.#deps.db)).map((row) => this.#view(row))
  }

  /** With its secret, which is never shown again. It receives events from now on. */
  async add(fields: WebhookFields) {
    const { db, clock, secrets, allow } = this.#deps
    const url = parseUrl(fields.url, allow)
    const events = parseEvents(fields.events)
    const id = newId()
    const secret = newSecret()
    // Number all earlier events first, so that the webhook does not receive them.
    await numberEvents(db)
    const sealed = seal(secrets, id, secret)
    const added = await db.decide(store.addWebhook({ id, url, events, sealed, now: clock.now() }))
    if (!added) throw new AppError('conflict', `There are already ${webhooksMax} webhooks; remove one first.`)
    return { ...(await this.#show(id)), secret }
  }

  async change(id: string, change: Partial<WebhookFields> & { enabled?: boolean }) {
    const { db, clock, allow } = this.#deps
    const before = await this.#find(id)
    const url = change.url === undefined ? before.url : parseUrl(change.url, allow)
    const events = change.events === undefined ? before.events : parseEvents(change.events)
    const now = clock.now()
    await numberEvents(db)
    // Events that waited when it was disabled must not be sent once it is enabled.
    if (change.enabled === true) await this.dropWaiting(id)
    await db.tx([
      store.changeWebhook(id, { url, events }),
      ...(change.enabled === true ? [store.enableWebhook(id)] : []),
      ...(change.enabled === false ? [store.disableWebhook(id, 'operator', now)] : []),
      ...(url === before.url ? [] : [store.hurryLines(id, now)]),
    ])
    if (change.enabled === false) await this.dropWaiting(id)
    return this.#show(id)
  }

  /** Gives it a new secret. For a day, requests are signed with both. */
  async rotate(id: string) {
    const { db, clock, secrets } = this.#deps
    const { sealed: from } = await this.#find(id)
    const secret = newSecret()
    const bothUntil = clock.now() + bothSecretsMs
    const rotated = await store.rotateSecret(db, { id, from, to: seal(secrets, id, secret), bothUntil })
    if (rotated.length === 0)
      throw new AppError('conflict', 'Somebody else has just rotated the secret of this webhook.')
    return { ...(await this.#show(id)), secret }
  }

  async remove(id: string): Promise<void> {
    const { db, clock } = this.#deps
    await this.#find(id)
    await db.tx([store.disableWebhook(id, 'operator', clock.now())])
    await this.#inBatches(() => store.forgetDeliveries(id))
    await db.tx([store.removeWebhook(id)])
  }

  /** Ends the waiting deliveries of a disabled endpoint. */
  dropWaiting(id: string): Promise<void> {
    return this.#inBatches(() => store.dropWaiting(this.#deps.clock.now(), id))
  }

  /** Sends all events since then again, in order. Returns their number. */
  async replay(id: string, since: number): Promise<number> {
    const { db, clock } = this.#deps
    const { disabled_at } = await this.#find(id)
    if (disabled_at !== null) throw new AppError('conflict', 'This webhook is disabled; enable it first.')
    const first = await numberBefore(db, since)
    const last = await store.lastNumber(db)
    let queued = 0
    for (let after = first; after < last; after += replayBatch) {
      const to = Math.min(after + replayBatch, last)
      queued += await db.decide(store.requeueDeliveries({ id, since, after, to, now: clock.now() }))
    }
    return queued
  }

  /**
   * Sends a test event at once, even to a disabled endpoint. It is not part of the feed, and its outcome has no
   * effect.
   */
  async test(id: string, by: By): Promise<Answer & { readonly eventId: string; readonly ms: number }> {
    const { clock } = this.#deps
    const webhook = await this.#find(id)
    const secrets = this.secretsOf(webhook)
    if (secrets.length === 0)
      throw invalidField({
        pointer: '#',
        detail: 'its secret is sealed under another CHIRON_SECRET; rotate it',
      })
    const eventId = `test.${newId()}`
    const event = {
      id: eventId,
      number: 0,
      type: testEvent.type,
      at: timestamp(clock.now()),
      userId: null,
      actor: by.actor,
      requestId: by.requestId,
      network: null,
      data: { webhookId: id },
    }
    const started = performance.now()
    const answer = await sendEvent(
      { url: webhook.url, secrets },
      event,
      this.#deps,
      AbortSignal.timeout(testMaxMs),
    )
    return { eventId, ...answer, ms: Math.round(performance.now() - started) }
  }

  /** The newest deliveries, with their outcomes. */
  async deliveries(id: string) {
    await this.#find(id)
    return (await store.deliveriesTo(this.#deps.db, id, deliveriesShown)).map(deliveryView)
  }

  /** The secrets to sign with, newest first. Empty if the service’s own secret cannot decrypt them. */
  secretsOf(webhook: store.WebhookRow): string[] {
    const { secrets, clock } = this.#deps
    const { id, sealed, sealed_before, sealed_before_until } = webhook
    const both = sealed_before !== null && (sealed_before_until ?? 0) > clock.now()
    const opened = [sealed, ...(both ? [sealed_before] : [])].map((each) => unseal(secrets, id, each))
    return opened[0] ? opened.flatMap((each) => each?.text ?? []) : []
  }

  /** Reseals everything that is sealed under the previous secret of the service. */
  async reseal(): Promise<void> {
    const { db, secrets } = this.#deps
    if (secrets.all.length === 1) return
    const resealed = (row: store.WebhookRow, column: 'sealed' | 'sealed_before') => {
      const sealed = row[column]
      const opened = sealed === null ? null : unseal(secrets, row.id, sealed)
      return opened?.outdated
        ? [store.resealSecret(column, row.id, sealed!, seal(secrets, row.id, opened.text))]
        : []
    }
    const rows = await store.allWebhooks(db)
    await db.tx(rows.flatMap((row) => [...resealed(row, 'sealed'), ...resealed(row, 'sealed_before')]))
  }

  sweep(now: number): Statement[] {
    return [store.pruneDeliveries(now - deliveriesKeptMs), ...store.dropWaiting(now, null)]
  }

  /** There may be hundreds of thousands of rows, and other callers need a turn. */
  async #inBatches(batch: () => Statement[]): Promise<void> {
    for (let more = true; more; ) {
      const results = await this.#deps.db.tx(batch())
      more = results.some((rows) => rows.length >= sweptRowsMax)
    }
  }

  async #find(id: string): Promise<store.WatchedWebhook> {
    const found = isId(id) ? await store.webhookById(this.#deps.db, id) : undefined
    if (!found) throw new AppError('not-found', 'No webhook has this id.')
    return found
  }

  async #show(id: string) {
    return this.#view(await this.#find(id))
  }

  #view(row: store.WatchedWebhook) {
    return {
      id: row.id,
      url: row.url,
      events: row.events.split(','),
      enabled: row.disabled_at === null,
      disabledAt: timestampOrNull(row.disabled_at),
      disabledBecause: row.disabled_because,
      readable: this.secretsOf(row).length > 0,
      failures: row.failures,
      failingSince: timestampOrNull(row.failing_since),
      waiting: row.waiting,
      createdAt: timestamp(row.created_at),
    }
  }
}

function deliveryView(row: store.DeliveryRow) {
  return {
    number: row.number,
    eventId: row.event_id,
    type: row.type,
    state: row.outcome ?? ('waiting' as const),
    attempts: row.attempts,
    status: row.status,
    error: row.error,
    triedAt: timestampOrNull(row.tried_at),
    nextTryAt: timestampOrNull(row.next_at),
  }
}

function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

/** Checks that need no DNS lookup. Names are checked whenever a connection is made. */
export function parseUrl(text: string, allow: readonly Range[], pointer = '#/url'): string {
  const url = URL.parse(text)
  const wrong = (detail: string) => invalidField({ pointer, detail })
  if (!url || !/^https?:$/.test(url.protocol)) throw wrong('must be a URL such as https://example.org/hook')
  if (url.href.length > urlLengthMax) throw wrong(`must have at most ${urlLengthMax} characters`)
  if (url.username || url.password) throw wrong('must not have a user name or password')
  if (url.hash) throw wrong('must not have a fragment (#)')
  if (url.port !== '' && !['80', '443'].includes(url.port) && Number(url.port) < 1024)
    throw wrong('must use port 80, 443, or 1024 and above')
  const refusal = literalRefusal(url, allow)
  if (refusal !== null)
    throw wrong(`cannot be reached: ${refusal}, and CHIRON_WEBHOOK_ALLOW does not list it`)
  if (url.protocol === 'http:' && allow.length === 0)
    throw wrong('must begin with https, unless CHIRON_WEBHOOK_ALLOW lists its address')
  return url.href
}

/** In the order of the list of all events, without repetitions. */
function parseEvents(names: readonly string[]): string {
  if (names.includes(allEvents)) return allEvents
  const unknown = names.find((name) => !eventTypes.some((type) => type === name))
  if (unknown !== undefined) {
    const near = nearest(unknown, eventTypes)
    throw invalidField({
      pointer: '#/events',
      detail: `must be event types, or *${near ? `; did you mean ${near}?` : ''}`,
    })
  }
  if (names.length === 0)
    throw invalidField({ pointer: '#/events', detail: 'must include an event type, or * for all' })
  return eventTypes.filter((type) => names.includes(type)).join(',')
}
