/**
 * The audit trail: every change of state of a person or session, written in the transaction of the change, with ids
 * only. An event that can happen only once has an id derived from its subject, so two processes that notice the same
 * change write it once.
 *
 * Events are also a feed, ordered by number. A number is given after the change was committed, by one process at a
 * time (`numberEvents`), so that no event appears behind a reader that has read further.
 */
import {
  type Db,
  locking,
  padded,
  prune,
  type Statement,
  statement,
  type Value,
} from '../../platform/db/db.ts'
import { readOne } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import { day, timestamp } from '../../platform/lib/clock.ts'
import type { EventData, EventType } from './types.ts'

export { type EventType, eventOf, eventTypes, type RefusalReason } from './types.ts'

export interface EventRow {
  readonly id: string
  readonly number: number
  readonly at: number
  readonly type: EventType
  readonly person_id: string | null
  readonly session_id: string | null
  readonly data: string
  readonly actor: string
  readonly request_id: string | null
  readonly network_fingerprint: string | null
}

const insertEvents =
  'insert into event (id, at, type, person_id, session_id, data, actor, request_id, network_fingerprint)'

export function eventHappened<T extends EventType>(
  type: T,
  by: By,
  event: {
    id: string
    at: number
    personId?: string | undefined
    /** Has a column of its own. */
    sessionId?: string | null
    data?: Omit<EventData<T>, 'sessionId'>
  },
): Statement {
  return statement(
    `${insertEvents} values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (id) do nothing`,
    event.id,
    event.at,
    type,
    event.personId ?? null,
    event.sessionId ?? null,
    JSON.stringify(event.data ?? {}),
    by.actor,
    by.requestId,
    by.network,
  )
}

/** SQL for the columns of an event. */
interface EventColumns {
  readonly id: string
  readonly at: string
  readonly person?: string
  readonly session?: string
  readonly data?: string
}

/** Whether it happened before. */
export const readEvent = (id: string) => readOne<{ id: string }>('select id from event where id = $1', id)

/** Writes an event for each row of `from`, a query without its columns. */
export function eventsFrom(
  type: EventType,
  by: By,
  { id, at, person = 'null', session = 'null', data = "'{}'" }: EventColumns,
  from: Statement,
): Statement {
  const n = from.params.length
  return {
    sql: `${insertEvents}
     select ${id}, ${at}, '${type}', ${person}, ${session}, ${data}, $${n + 1}, $${n + 2}, $${n + 3} ${from.sql}
     on conflict (id) do nothing`,
    params: [...from.params, by.actor, by.requestId, by.network],
  }
}

/** An event of an import, as its columns in `roster/rows.ts`. It can be seen once its generation is published. */
export function stagedEvent<T extends EventType>(
  type: T,
  by: By,
  event: { id: string; at: number; generation: number; personId?: string; data?: EventData<T> },
): Value[] {
  const { id, at, generation, personId = null, data = {} } = event
  return [id, at, type, personId, JSON.stringify(data), generation, by.actor, by.requestId, by.network]
}

/** Events of an import count only once it is published. */
const isVisible =
  '(e.generation is null or e.generation in (select g.id from roster_generation g where g.published_at is not null))'

const eventColumns =
  'e.id, e.number, e.at, e.type, e.person_id, e.session_id, e.data, e.actor, e.request_id, e.network_fingerprint'

export function eventsOf(db: Db, personId: string): Promise<(EventRow & { note: string | null })[]> {
  return db.all(
    `select ${eventColumns}, n.text as note from event e left join note n on n.event_id = e.id
     where e.person_id = $1 and ${isVisible} order by e.number is null, e.number, e.at, e.type desc, e.id`,
    [personId],
  )
}

/** The reason or note for a change, beside its event. */
export function noteOn(eventId: string, personId: string, text: string | null): Statement[] {
  if (text === null) return []
  return [
    statement(
      'insert into note (event_id, person_id, text) values ($1, $2, $3) on conflict (event_id) do nothing',
      eventId,
      personId,
      text,
    ),
  ]
}

/** The number of a deleted event is never reused: the counter only grows. */
export function pruneEvents(before: number): Statement[] {
  const isOld = 'exists (select 1 from event e where e.id = note.event_id and e.at < $1)'
  const hasNote = 'exists (select 1 from note n where n.event_id = event.id)'
  return [
    prune('note', 'event_id', isOld, before),
    prune('event', 'id', `at < $1 and not ${hasNote}`, before),
  ]
}

const batchSize = 2_000

/**
 * Visible events without a number. Written so that SQLite, which has no statistics, reads neither what an import has
 * staged nor what was numbered long ago: a `cross join` looks up the few generations first, and `at` makes it use the
 * index of events without a number.
 */
const unnumbered = `
  select e.id, e.at, e.type from event e where e.number is null and e.generation is null and e.at >= 0
  union all
  select e.id, e.at, e.type from roster_generation g cross join event e
  where g.published_at is not null and e.generation = g.id and e.number is null and e.at >= 0`
/** At the same moment an account is registered, then activated, then its session starts, and a session ends last. */
const inOrder = 'order by at, type desc, id'

/**
 * Numbers the visible events that have no number yet. It locks the counter first: events of a transaction still in
 * progress are not visible, and get a later number. Returns how many got one.
 */
export async function numberEvents(db: Db): Promise<number> {
  for (let total = 0; ; ) {
    if (!(await db.one(`select 1 as some from (${unnumbered}) u limit 1`))) return total
    const [, numbered] = await db.tx([
      locking('select one from event_counter where one = 1'),
      statement(
        `update event set number = fresh.next
         from (select id as event_id, (select last from event_counter) + row_number() over (${inOrder}) as next
               from (select id, at, type from (${unnumbered}) u ${inOrder} limit ${batchSize}) batch) fresh
         where id = fresh.event_id returning id`,
      ),
      statement(
        'update event_counter set last = coalesce((select max(number) from event where number > last), last)',
      ),
    ])
    total += numbered!.length
    if (numbered!.length < batchSize) return total
  }
}

/** How many of each type there were in a span of time. */
export function eventCounts(
  db: Db,
  types: readonly EventType[],
  from: number,
  to: number,
): Promise<{ type: EventType; count: number }[]> {
  const named = types.map((type) => `'${type}'`).join(', ')
  return db.all(
    `select e.type, cast(count(*) as bigint) as count from event e
     where e.at >= $1 and e.at < $2 and e.type in (${named}) group by e.type`,
    [from, to],
  )
}

/** How often each type of event came from a network, and when last. */
export function eventCountsOf(
  db: Db,
  network: string,
): Promise<{ type: EventType; count: number; last_at: number }[]> {
  return db.all(
    `select e.type, count(*) as count, max(e.at) as last_at from event e
     where e.network_fingerprint = $1 and ${isVisible} group by e.type order by e.type`,
    [network],
  )
}

export interface FeedFilter {
  /** Only events with a larger number. */
  readonly after?: number
  /** Only events with a smaller number, newest first. */
  readonly before?: number
  readonly types?: readonly EventType[]
  readonly personId?: string
  readonly actor?: string
  readonly network?: string
  /** Epoch milliseconds; `until` itself is not included. */
  readonly since?: number
  readonly until?: number
  readonly limit: number
}

/** In the order of their numbers, up to the newest change; backwards if `before` is given. */
export async function readFeed(db: Db, filter: FeedFilter): Promise<EventRow[]> {
  await numberEvents(db)
  const params: Value[] = []
  const take = (value: Value) => `$${params.push(value)}`
  const { personId, actor, network, since, until } = filter
  const isOfStaff = actor !== undefined && actor !== 'self' && actor !== 'system'
  const isNarrow = personId !== undefined || network !== undefined || isOfStaff
  // An expression that no index has: of one person or network there are few events, of a type there may be millions.
  const type = isNarrow ? "e.type || ''" : 'e.type'
  const first = isNarrow || since === undefined ? 0 : await lowerBound(db, since)
  const last = isNarrow || until === undefined ? undefined : await numberFrom(db, until + numberedWithinMs)
  const conditions = [
    `e.number > ${take(Math.max(filter.after ?? 0, first))}`,
    filter.before !== undefined && `e.number < ${take(filter.before)}`,
    last !== undefined && `e.number < ${take(last)}`,
    filter.types &&
      `${type} in (${padded([...new Set(filter.types)])
        .map(take)
        .join(', ')})`,
    personId !== undefined && `e.person_id = ${take(personId)}`,
    network !== undefined && `e.network_fingerprint = ${take(network)}`,
    actor !== undefined && `e.actor = ${take(actor)}`,
    // Lets the engine use the index.
    isOfStaff && "e.actor <> 'self' and e.actor <> 'system'",
    since !== undefined && `e.at >= ${take(since)}`,
    until !== undefined && `e.at < ${take(until)}`,
  ].filter(Boolean)
  return db.all<EventRow>(
    `select ${eventColumns} from event e where ${conditions.join(' and ')}
     order by e.number ${filter.before === undefined ? '' : 'desc'} limit ${take(filter.limit)}`,
    params,
  )
}

/** An event gets its number later than it happens, an import's when the import ends. */
const numberedWithinMs = day

/** Everything that happened at this time or later has a larger number. */
export async function numberBefore(db: Db, since: number): Promise<number> {
  await numberEvents(db)
  return lowerBound(db, since)
}

async function lowerBound(db: Db, since: number): Promise<number> {
  const first = await numberFrom(db, since - numberedWithinMs)
  if (first !== undefined) return first - 1
  return (await db.one<{ last: number }>('select last from event_counter'))!.last
}

/** The number of the first event at this time or later; undefined if there is none. */
async function numberFrom(db: Db, at: number): Promise<number | undefined> {
  const sql = 'select number from event where at >= $1 and number is not null order by at, id limit 1'
  return (await db.one<{ number: number }>(sql, [at]))?.number
}

export function eventNumbered(db: Db, number: number): Promise<EventRow | undefined> {
  return db.one<EventRow>(`select ${eventColumns} from event e where e.number = $1`, [number])
}

export type EventView = ReturnType<typeof eventView>

/** For the HTTP interface, the command line and webhooks. */
export function eventView(event: EventRow) {
  const { sessionId = event.session_id, ...data } = JSON.parse(event.data)
  return {
    id: event.id,
    number: event.number,
    type: event.type,
    at: timestamp(event.at),
    userId: event.person_id,
    actor: event.actor,
    requestId: event.request_id,
    network: event.network_fingerprint,
    data: sessionId === null ? data : { sessionId, ...data },
  }
}
