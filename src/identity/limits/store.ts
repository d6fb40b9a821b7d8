/** Each take is one conditional statement, so two callers cannot both take the last one. */
import {
  type Condition,
  changeAll,
  type Db,
  type Expression,
  expression,
  locking,
  prune,
  type Statement,
  statement,
  statementOf,
  type Value,
  value,
} from '../../platform/db/db.ts'
import { clockSlackMs, minute } from '../../platform/lib/clock.ts'
import { lastFullAt, type Rate } from '../../platform/lib/gcra.ts'

export interface BucketRow extends Rate {
  readonly key: string
}

/**
 * Takes one from every bucket, and returns the key and the new `full_at` of each. Takes nothing if one is empty or `when`
 * is false. On PostgreSQL, another caller may take the last one of a bucket at the same moment. So each is taken only if
 * the one before was, and nobody can use up a wider bucket with requests that a narrower one refuses.
 */
export function takeFromBuckets(
  buckets: readonly BucketRow[],
  mark: string,
  now: number,
  when: Condition,
): Statement {
  const params: Value[] = [mark, now]
  const add = (one: Value) => `$${params.push(one)}`
  const rows = buckets.map((bucket) => ({
    key: `cast(${add(bucket.key)} as text)`,
    fullAt: `cast(${add(now + bucket.intervalMs)} as bigint)`,
    last: `cast(${add(lastFullAt(bucket, now))} as bigint)`,
  }))
  const isEmpty = rows.map(({ key, last }) => `key = ${key} and full_at > ${last}`).join(' or ')
  const mayTake = `not exists (select 1 from bucket where ${isEmpty}) and ${when.sql(params.length + 1)}`
  params.push(...when.params)
  const upsert = (select: string, last: string) =>
    `insert into bucket (key, full_at, mark) ${select}
     on conflict (key) do update
       set full_at = excluded.full_at + case when bucket.full_at > $2 then bucket.full_at - $2 else 0 end, mark = excluded.mark
       where bucket.full_at <= ${last}
     returning key, full_at`
  const values = rows.map(({ key, fullAt }) => `(${key}, ${fullAt})`).join(', ')
  const lasts = rows.map(({ key, last }) => `when ${key} then ${last}`).join(' ')
  const parts = rows.map(({ key, fullAt, last }, i) => {
    const after = i === 0 ? mayTake : `exists (select 1 from taken${i - 1})`
    return `taken${i} as (${upsert(`select ${key}, ${fullAt}, cast($1 as text) where ${after}`, last)})`
  })
  const taken = rows.map((_row, i) => `select key, full_at from taken${i}`).join(' union all ')
  return {
    sql: upsert(
      `select column1, column2, $1 from (values ${values}) as wanted where ${mayTake}`,
      `case bucket.key ${lasts} end`,
    ),
    postgres: `with ${parts.join(', ')} ${taken}`,
    params,
  }
}

/** Whoever took from the last bucket took from all. */
export function takenFromBuckets(buckets: readonly BucketRow[], mark: string): Condition {
  return takenFrom('bucket', buckets.at(-1)!.key, mark)
}

export function takenFrom(table: 'bucket' | 'quota', key: string, mark: string): Condition {
  return {
    sql: (first) => `exists (select 1 from ${table} where key = $${first} and mark = $${first + 1})`,
    params: [key, mark],
  }
}

/** Gives one back to two buckets, unless they are full. */
export function giveBack([one, other]: readonly [BucketRow, BucketRow], now: number): Statement {
  return changeAll(
    'update bucket set full_at = full_at - case key when $1 then cast($2 as bigint) else cast($4 as bigint) end',
    { table: 'bucket', key: 'key', where: 'key in ($1, $3) and full_at > $5', returning: 'key' },
    one.key,
    one.intervalMs,
    other.key,
    other.intervalMs,
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

/** Serialises takes, so that each sees what the others took. Without room nobody waits. */
export function lockQuota({ key }: Quota, when: Condition): Statement {
  return locking(`select key from quota where key = $1 and ${when.sql(2)}`, key, ...when.params)
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

export async function bucketFullAt(db: Db, { key }: Pick<BucketRow, 'key'>): Promise<number> {
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

/** Counts an answer at two counters with constant keys, given in the order of their keys. */
export function countAtTwo(counters: readonly [Counter, Counter], now: number): Statement {
  const [one, other] = counters.map((counter) => expression`(${counter.key}, ${slotAt(counter, now)}, 1)`)
  return statementOf(
    expression`insert into failure (key, minute, count) values ${one!}, ${other!}
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
