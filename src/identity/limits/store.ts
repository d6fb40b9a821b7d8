/** Each take is one conditional statement, so two callers cannot both take the last one. */
import {
  type Condition,
  type Db,
  type Expression,
  expression,
  prune,
  type Statement,
  statement,
  statementOf,
  value,
} from '../../platform/db/db.ts'
import { clockSlackMs, minute } from '../../platform/lib/clock.ts'

export function takenFrom(table: 'bucket' | 'quota', key: string, mark: string): Condition {
  return {
    sql: (first) => `exists (select 1 from ${table} where key = $${first} and mark = $${first + 1})`,
    params: [key, mark],
  }
}

export interface BucketRow {
  readonly key: string
  readonly burst: number
  readonly intervalMs: number
}

/** Returns `full_at` if one was taken; no row if the bucket is empty or `when` is false. */
export function takeFromBucket(take: BucketRow & { mark: string; now: number; when: Condition }): Statement {
  return statement(
    `insert into bucket (key, full_at, mark) select $1, cast($2 as bigint), $3 where ${take.when.sql(7)}
     on conflict (key) do update
       set full_at = case when bucket.full_at > $4 then bucket.full_at + $5 else excluded.full_at end, mark = excluded.mark
       where bucket.full_at <= $6
     returning full_at`,
    take.key,
    take.now + take.intervalMs,
    take.mark,
    take.now,
    take.intervalMs,
    take.now + (take.burst - 1) * take.intervalMs,
    ...take.when.params,
  )
}

/** Only a check: another caller may still take the last one. */
export function bucketHasRoom({ key, burst, intervalMs }: BucketRow, now: number): Condition {
  return {
    sql: (n) => `not exists (select 1 from bucket where key = $${n} and full_at > $${n + 1})`,
    params: [key, now + (burst - 1) * intervalMs],
  }
}

export interface GiveBack {
  readonly key: string
  readonly intervalMs: number
}

export function giveBackToBucket({ key, intervalMs }: GiveBack, now: number): Statement {
  return statement(
    'update bucket set full_at = full_at - cast($2 as bigint) where key = $1 and full_at > $3',
    key,
    intervalMs,
    now,
  )
}

// 13 digits hold milliseconds until the year 2286, and sort as text like numbers.
const timeDigits = 13

export interface Window {
  readonly max: number
  readonly windowMs: number
}

export interface Quota {
  readonly key: string
  readonly windows: readonly Window[]
}

/** `times` lists the newest times first. A window has room if its `max`-th newest time is older than the window. */
const hasRoom = (windows: readonly Window[], first: number) =>
  windows
    .map(({ max }, i) => `substr(quota.times, ${(max - 1) * timeDigits + 1}, ${timeDigits}) <= $${first + i}`)
    .join(' and ')
const beginnings = ({ windows }: Quota, now: number) => windows.map(({ windowMs }) => String(now - windowMs))

/** Only a check: another caller may still take it before the next statement does. */
export function quotaHasRoom(quota: Quota, now: number): Condition {
  return {
    sql: (n) =>
      `not exists (select 1 from quota where key = $${n} and not (${hasRoom(quota.windows, n + 1)}))`,
    params: [quota.key, ...beginnings(quota, now)],
  }
}

/** Returns a row if every window had room and `when` is true; otherwise takes nothing. */
export function takeFromQuota(take: Quota & { mark: string; now: number; when: Condition }): Statement {
  const kept = Math.max(...take.windows.map(({ max }) => max)) * timeDigits
  const windowsAt = 5
  return statement(
    `insert into quota (key, times, taken_at, mark)
     select $1, $2, cast($3 as bigint), $4 where ${take.when.sql(windowsAt + take.windows.length)}
     on conflict (key) do update
       set times = substr(excluded.times || quota.times, 1, ${kept}), taken_at = excluded.taken_at, mark = excluded.mark
       where ${hasRoom(take.windows, windowsAt)}
     returning key`,
    take.key,
    String(take.now),
    take.now,
    take.mark,
    ...beginnings(take, take.now),
    ...take.when.params,
  )
}

/** The time from which every quota has room again. */
export async function quotaFreeAt(db: Db, quotas: readonly Quota[]): Promise<number> {
  let freeAt = 0
  for (const { key, windows } of quotas) {
    const row = await db.one<{ times: string }>('select times from quota where key = $1', [key])
    for (const { max, windowMs } of windows) {
      const time = row?.times.slice((max - 1) * timeDigits, max * timeDigits)
      if (time) freeAt = Math.max(freeAt, Number(time) + windowMs)
    }
  }
  return freeAt
}

export async function bucketFullAt(db: Db, key: string): Promise<number> {
  return (await db.one<{ full_at: number }>('select full_at from bucket where key = $1', [key]))?.full_at ?? 0
}

/** Counts answers, in slots of time. */
export interface Counter {
  readonly key: Expression
  readonly slotMs: number
}

/** A slot is named by the minute at which it begins. */
const slotAt = ({ slotMs }: Counter, at: number) => value(Math.floor(at / slotMs) * (slotMs / minute))

/**
 * Counts an answer at every counter, if `when` is true. The rows are locked in the order of their keys. A key that is read
 * from a challenge is null once the challenge is gone; the other counters still count.
 */
export function countAnswer(counters: readonly Counter[], now: number, when: Condition): Statement {
  const rows = counters
    .map((counter) => expression`select ${counter.key} as key, ${slotAt(counter, now)} as slot`)
    .reduce((all, one) => expression`${all} union ${one}`)
  return statementOf(
    expression`insert into failure (key, minute, count)
      select key, slot, 1 from (${rows}) as counted where key is not null and ${when} order by key
      on conflict (key, minute) do update set count = failure.count + 1`,
  )
}

/** The number of answers since then, rounded down to the start of a slot. */
export function countedSince(counter: Counter, since: number): Expression {
  return expression`(select cast(coalesce(sum(count), 0) as bigint) from failure
    where key = ${counter.key} and minute >= ${slotAt(counter, since)})`
}

export function rememberNetwork(inbox: string, network: string, now: number): Statement {
  return statement(
    `insert into known_network (inbox_fingerprint, network_fingerprint, seen_at) values ($1, $2, $3)
     on conflict (inbox_fingerprint, network_fingerprint) do update set seen_at = excluded.seen_at`,
    inbox,
    network,
    now,
  )
}

export function networkIsKnown(inbox: string, network: string, since: number): Condition {
  return {
    sql: (first) =>
      `exists (select 1 from known_network where inbox_fingerprint = $${first} and network_fingerprint = $${first + 1} and seen_at > $${first + 2})`,
    params: [inbox, network, since],
  }
}

export async function inboxesKnownAt(
  db: Db,
  network: string,
): Promise<{ inboxes: number; seen_at: number | null }> {
  const known = await db.one<{ inboxes: number; seen_at: number | null }>(
    'select count(*) as inboxes, max(seen_at) as seen_at from known_network where network_fingerprint = $1',
    [network],
  )
  return known!
}

export function forgetNetworks(inbox: string): Statement {
  return statement('delete from known_network where inbox_fingerprint = $1', inbox)
}

/** The longest slot of a counter. */
const slotMinutesMax = 15

export interface Kept {
  /**
   * The latest time at which a bucket can be full, by the suffix of its key. A later time was written by a wrong
   * clock.
   */
  readonly bucketsFullBy: ReadonlyMap<string, number>
  readonly takenSince: number
  readonly knownSince: number
}

export function pruneLimits(now: number, { bucketsFullBy, takenSince, knownSince }: Kept): Statement[] {
  return [
    prune('bucket', 'key', 'full_at < $1', now),
    ...Array.from(bucketsFullBy, ([end, fullBy]) =>
      prune('bucket', 'key', 'full_at > $1 and key like $2', fullBy, `%${end}`),
    ),
    prune('quota', 'key', '(taken_at < $1 or taken_at > $2)', takenSince, now + clockSlackMs),
    prune('failure', 'key, minute', 'minute < $1', Math.floor(takenSince / minute) - slotMinutesMax),
    prune('known_network', 'inbox_fingerprint, network_fingerprint', 'seen_at < $1', knownSince),
  ]
}
