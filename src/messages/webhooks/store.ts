import { type Db, locking, prune, type Statement, statement, sweptRowsMax } from '../../platform/db/db.ts'
import { type Decision, decision, lockAll, lockOne, readOne } from '../../platform/db/decision.ts'
import { release } from '../queue/queue.ts'
import { failingSince, type Health, hasFailed, hasRoom, isInTrouble } from './rules.ts'

/** Switched off by hand, because it answered 410, or because it failed for days. */
export type DisabledBecause = 'operator' | 'gone' | 'failing'
export type Outcome = 'delivered' | 'given-up' | 'dropped'

export interface WebhookRow extends Health {
  readonly id: string
  readonly url: string
  /** Comma-separated, or `*`. */
  readonly events: string
  readonly sealed: string
  readonly sealed_before: string | null
  readonly sealed_before_until: number | null
  readonly created_at: number
  readonly disabled_because: DisabledBecause | null
}

const columns =
  'w.id, w.url, w.events, w.sealed, w.sealed_before, w.sealed_before_until, w.created_at, w.disabled_at, w.disabled_because, w.failures, w.failing_since'
const waiting = `case when w.disabled_at is not null then 0
  else (select count(*) from webhook_delivery d where d.webhook_id = w.id and d.ended_at is null) end as waiting`
export type WatchedWebhook = WebhookRow & { readonly waiting: number }

export function allWebhooks(db: Db): Promise<WatchedWebhook[]> {
  return db.all(`select ${columns}, ${waiting} from webhook w order by w.created_at, w.id`)
}

export function webhookById(db: Db, id: string): Promise<WatchedWebhook | undefined> {
  return db.one(`select ${columns}, ${waiting} from webhook w where w.id = $1`, [id])
}

/** False if there are too many. */
export function addWebhook(w: {
  id: string
  url: string
  events: string
  sealed: string
  now: number
}): Decision<boolean> {
  const insert = statement(
    `insert into webhook (id, url, events, sealed, created_at, after_number)
     values ($1, $2, $3, $4, $5, (select last from event_counter))`,
    w.id,
    w.url,
    w.events,
    w.sealed,
    w.now,
  )
  return decision(
    {
      others: lockAll('webhook', 'select id from webhook order by id'),
      // Others may have been added while this one waited for the locks.
      count: readOne<{ n: number }>('select count(*) as n from webhook'),
    },
    ({ count }) => (hasRoom(count!.n) ? { writes: [insert], result: true } : { result: false }),
  )
}

export function changeWebhook(id: string, change: { url: string; events: string }): Statement {
  return statement('update webhook set url = $1, events = $2 where id = $3', change.url, change.events, id)
}

/** It receives events from now on. */
export function enableWebhook(id: string): Statement {
  return statement(
    `update webhook set disabled_at = null, disabled_because = null, failures = 0, failing_since = null,
       after_number = (select last from event_counter)
     where id = $1 and disabled_at is not null`,
    id,
  )
}

/** Unless it is disabled already. Waiting deliveries count as dropped, and `dropWaiting` ends them. */
export function disableWebhook(id: string, because: DisabledBecause, now: number): Statement {
  return statement(
    'update webhook set disabled_at = $1, disabled_because = $2 where id = $3 and disabled_at is null',
    now,
    because,
    id,
  )
}

export const lockWebhook = (id: string) =>
  lockOne<WebhookRow>('webhook', `select ${columns} from webhook w where w.id = $1`, id)

/**
 * Ends some of the waiting deliveries of one disabled endpoint, or of all of them, and returns a row for each. The
 * lock keeps two who do this from waiting for each other.
 */
export function dropWaiting(now: number, id: string | null): Statement[] {
  const isOff = 'w.disabled_at is not null and (cast($1 as text) is null or w.id = $1)'
  return [
    locking('select queued_to from webhook_queue where one = 1'),
    prune(
      'webhook_line',
      'webhook_id, line',
      `webhook_id in (select w.id from webhook w where ${isOff})`,
      id,
    ),
    statement(
      `update webhook_delivery set ended_at = $2, outcome = 'dropped'
       where ended_at is null and (webhook_id, number) in (
         select d.webhook_id, d.number from webhook w
         join webhook_delivery d on d.webhook_id = w.id and d.ended_at is null
         where ${isOff} limit ${sweptRowsMax})
       returning 1 as dropped`,
      id,
      now,
    ),
  ]
}

/** Deletes some of the deliveries to a disabled endpoint, and returns a row for each. */
export function forgetDeliveries(id: string): Statement[] {
  const ofIt = 'webhook_id = $1'
  return [
    prune('webhook_line', 'webhook_id, line', ofIt, id),
    prune('webhook_delivery', 'webhook_id, number', ofIt, id),
  ]
}

export function removeWebhook(id: string): Statement {
  return statement('delete from webhook where id = $1', id)
}

/** Returns no row if somebody else rotated at the same time. */
export function rotateSecret(db: Db, r: { id: string; from: string; to: string; bothUntil: number }) {
  return db.run(
    `update webhook set sealed = $1, sealed_before = sealed, sealed_before_until = $2
     where id = $3 and sealed = $4 returning id`,
    [r.to, r.bothUntil, r.id, r.from],
  )
}

export function resealSecret(column: 'sealed' | 'sealed_before', id: string, from: string, to: string) {
  return statement(`update webhook set ${column} = $1 where id = $2 and ${column} = $3`, to, id, from)
}

/** `w` is a webhook, `e` an event. */
const wants = "(w.events = '*' or ',' || w.events || ',' like '%,' || e.type || ',%')"
const lineOf = "coalesce(e.person_id, '')"

/** The last event number that is queued, and the newest there is. Undefined if no endpoint is enabled. */
export function queueState(db: Db): Promise<{ queued_to: number; first: number; last: number } | undefined> {
  return db.one(
    `select q.queued_to, c.last, w.first from webhook_queue q, event_counter c,
       (select min(after_number) as first from webhook where disabled_at is null) w
     where w.first is not null`,
  )
}

/**
 * Queues deliveries of the events from `after` to `to`, if nobody else has done so since `queuedTo` was read. Lines
 * are locked before deliveries are added: whoever ends the last delivery of a line locks it too, and removes the line
 * only if it is still empty.
 */
export function queueDeliveries(q: {
  queuedTo: number
  after: number
  to: number
  now: number
}): Statement[] {
  const from = `from webhook w join event e on e.number > $1 and e.number <= $2 and e.number > w.after_number and ${wants}
    where w.disabled_at is null and exists (select 1 from webhook_queue where queued_to = $3)`
  const range = [q.after, q.to, q.queuedTo] as const
  return [
    locking('select queued_to from webhook_queue where one = 1'),
    locking('select id from webhook where disabled_at is null order by id'),
    statement(
      `insert into webhook_line (webhook_id, line, next_at)
       select distinct w.id, ${lineOf}, cast($4 as bigint) ${from}
       on conflict (webhook_id, line) do update set next_at = webhook_line.next_at`,
      ...range,
      q.now,
    ),
    statement(
      `insert into webhook_delivery (webhook_id, number, line) select w.id, e.number, ${lineOf} ${from}
       on conflict (webhook_id, number) do nothing`,
      ...range,
    ),
    statement('update webhook_queue set queued_to = $2 where queued_to = $1', q.queuedTo, q.to),
  ]
}

export async function lastNumber(db: Db): Promise<number> {
  const row = await db.one<{ last: number }>('select last from event_counter')
  return row?.last ?? 0
}

/** Queues or requeues deliveries of these events to one endpoint, if it is enabled. Returns how many. */
export function requeueDeliveries(r: {
  id: string
  since: number
  after: number
  to: number
  now: number
}): Decision<number> {
  const from = `from webhook w join event e on e.number > $2 and e.number <= $3 and e.at >= $4 and ${wants}
    where w.id = $1`
  const range = [r.id, r.after, r.to, r.since] as const
  const queue = [
    statement(
      `insert into webhook_line (webhook_id, line, next_at)
       select distinct w.id, ${lineOf}, cast($5 as bigint) ${from}
       on conflict (webhook_id, line) do update
       set next_at = case when webhook_line.claimed_by is null then excluded.next_at else webhook_line.next_at end`,
      ...range,
      r.now,
    ),
    statement(
      `insert into webhook_delivery (webhook_id, number, line) select w.id, e.number, ${lineOf} ${from}
       on conflict (webhook_id, number) do update
       set attempts = 0, tried_at = null, status = null, error = null, ended_at = null, outcome = null`,
      ...range,
    ),
  ]
  return decision(
    { webhook: lockWebhook(r.id), count: readOne<{ n: number }>(`select count(*) as n ${from}`, ...range) },
    ({ webhook, count }) =>
      webhook?.disabled_at === null ? { writes: queue, result: count!.n } : { result: 0 },
  )
}

/** Endpoints for which something is due. */
export function dueWebhooks(db: Db, now: number): Promise<WebhookRow[]> {
  return db.all(
    `select ${columns} from webhook w
     where w.disabled_at is null
       and exists (select 1 from webhook_line l where l.webhook_id = w.id and l.next_at <= $1)`,
    [now],
  )
}

/** A line that this process has claimed. */
export type LineRow = {
  readonly webhook_id: string
  readonly line: string
  readonly claimed_by: string
}

export const lines = {
  name: 'webhook_line',
  key: ['webhook_id', 'line'],
  columns: 'webhook_id, line, claimed_by',
} as const

export const linesOf = (webhookId: string) => ({
  name: webhookId,
  where: 'webhook_id = $5',
  params: [webhookId],
})

export function firstInLine(
  db: Db,
  { webhook_id, line }: LineRow,
): Promise<{ number: number; attempts: number } | undefined> {
  return db.one(
    `select number, attempts from webhook_delivery
     where webhook_id = $1 and line = $2 and ended_at is null order by number limit 1`,
    [webhook_id, line],
  )
}

const isClaimed = 'webhook_id = $1 and line = $2 and claimed_by = $3'
const claimOn = ({ webhook_id, line, claimed_by }: LineRow) => [webhook_id, line, claimed_by] as const

/** The line can be claimed again at `nextAt`; an empty line is deleted. */
export function releaseLine(line: LineRow, nextAt: number): Statement[] {
  return [
    statement(
      `delete from webhook_line where ${isClaimed} and not exists (select 1 from webhook_delivery d
         where d.webhook_id = webhook_line.webhook_id and d.line = webhook_line.line and d.ended_at is null)`,
      ...claimOn(line),
    ),
    release(lines, line, nextAt),
  ]
}

export interface Attempt {
  readonly number: number
  readonly at: number
  readonly status: number | null
  readonly error: string | null
  /** Null if it will be tried again. */
  readonly outcome: Outcome | null
}

/** Writes down an attempt, if this process still has the line. Release the line in the same transaction. */
export function recordAttempt(line: LineRow, attempt: Attempt): Statement[] {
  return [
    locking(`select line from webhook_line where ${isClaimed}`, ...claimOn(line)),
    statement(
      `update webhook_delivery
       set attempts = attempts + 1, tried_at = $5, status = $6, error = $7, outcome = $8, ended_at = $9
       where webhook_id = $1 and number = $4 and ended_at is null
         and exists (select 1 from webhook_line where ${isClaimed})`,
      ...claimOn(line),
      attempt.number,
      attempt.at,
      attempt.status,
      attempt.error,
      attempt.outcome,
      attempt.outcome && attempt.at,
    ),
  ]
}

/** Returns its health after that. */
export function countFailure(id: string, at: number): Decision<Health | undefined> {
  return decision({ webhook: lockWebhook(id) }, ({ webhook }) => {
    if (!webhook) return { result: undefined }
    const failures = webhook.failures + 1
    const result = { ...webhook, failures, failing_since: failingSince(webhook, at) }
    return { writes: [writeHealth(id, result)], result }
  })
}

/** It cannot be tried, which counts as failing. */
export function noteFailing(id: string, at: number): Decision<null> {
  return decision({ webhook: lockWebhook(id) }, ({ webhook }) => ({
    writes: webhook ? [writeHealth(id, { ...webhook, failing_since: failingSince(webhook, at) })] : [],
    result: null,
  }))
}

const writeHealth = (id: string, { failures, failing_since }: Health) =>
  statement('update webhook set failures = $1, failing_since = $2 where id = $3', failures, failing_since, id)

/**
 * Forgets the failures; false if there were none. After a longer outage, waiting deliveries are due at once; after a few
 * failures they are not, because a single event may be the cause.
 */
export function forgetFailures(id: string, now: number): Decision<boolean> {
  return decision({ webhook: lockWebhook(id) }, ({ webhook }) => {
    if (!webhook || !hasFailed(webhook)) return { result: false, refused: true }
    const forgotten = writeHealth(id, { ...webhook, failures: 0, failing_since: null })
    return { writes: isInTrouble(webhook) ? [hurryLines(id, now), forgotten] : [forgotten], result: true }
  })
}

/** Makes waiting deliveries due at once. */
export function hurryLines(id: string, now: number): Statement {
  return statement(
    'update webhook_line set next_at = $1 where webhook_id = $2 and claimed_by is null and next_at > $1',
    now,
    id,
  )
}

export interface DeliveryRow {
  readonly number: number
  readonly event_id: string | null
  readonly type: string | null
  readonly attempts: number
  readonly tried_at: number | null
  readonly status: number | null
  readonly error: string | null
  readonly outcome: Outcome | null
  readonly next_at: number | null
}

/** Newest events first. */
export function deliveriesTo(db: Db, webhookId: string, limit: number): Promise<DeliveryRow[]> {
  return db.all(
    `select d.number, e.id as event_id, e.type, d.attempts, d.tried_at, d.status, d.error,
       coalesce(d.outcome, case when w.disabled_at is not null then 'dropped' end) as outcome,
       case when d.ended_at is null and w.disabled_at is null then l.next_at end as next_at
     from webhook_delivery d join webhook w on w.id = d.webhook_id left join event e on e.number = d.number
     left join webhook_line l on l.webhook_id = d.webhook_id and l.line = d.line
     where d.webhook_id = $1 order by d.number desc limit $2`,
    [webhookId, limit],
  )
}

export function pruneDeliveries(endedBefore: number): Statement {
  return prune('webhook_delivery', 'webhook_id, number', 'ended_at < $1', endedBefore)
}
