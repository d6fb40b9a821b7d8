/**
 * The rows of limits: one way to lock, read, take and give back. Which limits there are is in identity/limits/policies.ts,
 * the arithmetic in lib/limit.ts.
 */
import { type Bucket, type Counts, countAfter, isQuota, type Limit, lastFullAt } from '../lib/limit.ts'
import { type Row, type Statement, statement } from './db.ts'
import { type Ask, lockMade, readAll } from './decision.ts'

/** A network, up to two wider ones, and the service. */
const places = [0, 1, 2, 3]
const keyAt = (place: number) => `cast($${3 * place + 2} as text)`
const paramsAt = (place: number) =>
  `(${keyAt(place)}, cast($${3 * place + 3} as bigint), cast($${3 * place + 4} as bigint))`
const wanted = `wanted (key, full_at, last) as (values ${places.map(paramsAt).join(', ')})`
const noneIsEmpty =
  'not exists (select 1 from wanted w join bucket b on b.key = w.key where b.full_at > w.last)'
const takeWanted = (where: string) => `insert into bucket (key, full_at, mark)
  select w.key, w.full_at, '' from wanted w where w.key is not null and ${where}
  on conflict (key) do update
    set full_at = excluded.full_at + case when bucket.full_at > $1 then bucket.full_at - $1 else 0 end
    where bucket.full_at <= (select w.last from wanted w where w.key = excluded.key)
  returning key, full_at as count`
/**
 * On PostgreSQL another request may make, delete or empty one meanwhile. So each is taken only after the one before: an
 * upsert locks its row even if it is new, which a lock before it would not. And nobody uses up a wider bucket with requests
 * that a narrower one refuses.
 */
const takeInOrder = `with ${wanted}, ${places
  .map((place) => {
    const before = place === 0 ? noneIsEmpty : `exists (select 1 from taken${place - 1})`
    return `taken${place} as (${takeWanted(`w.key = ${keyAt(place)} and ${before}`)})`
  })
  .join(', ')} ${places.map((place) => `select key, count from taken${place}`).join(' union all ')}`
const take = { sql: `with ${wanted} ${takeWanted(noneIsEmpty)}`, postgres: takeInOrder }

/**
 * Takes one from each of up to four buckets, in their order, and returns their new counts. If one looks empty, takes
 * nothing and locks nothing.
 */
export function takeFromBuckets(buckets: readonly Bucket[], now: number): Statement {
  const params = places.flatMap((place) => {
    const one = buckets[place]
    return one ? [one.key, now + one.intervalMs, lastFullAt(one, now)] : [null, null, null]
  })
  return { ...take, params: [now, ...params] }
}

/** Gives one back to each, unless it is full, in the order of their keys. */
export function giveBack(buckets: readonly Bucket[], now: number): Statement[] {
  const sql = 'update bucket set full_at = full_at - $1 where key = $2 and full_at > $3'
  const inOrder = buckets.toSorted((a, b) => (a.key < b.key ? -1 : 1))
  return inOrder.map(({ key, intervalMs }) => statement(sql, intervalMs, key, now))
}

export const countsIn = (rows: readonly Row[]): Counts =>
  new Map(rows.map(({ key, count }) => [String(key), String(count)]))

/** Locks one that belongs to an inbox, a person or a client; takes are counted one after the other. */
export function lockLimit(limit: Limit): Ask<Counts> {
  const { key } = limit
  const [table, column, columns] = isQuota(limit)
    ? (['quota', 'times', "times, taken_at, mark) values ($1, '', 0, '')"] as const)
    : (['bucket', 'full_at', "full_at, mark) values ($1, 0, '')"] as const)
  const make = statement(`insert into ${table} (key, ${columns} on conflict (key) do nothing`, key)
  const lock = lockMade(table, make, `select key, ${column} as count from ${table} where key = $1`, key)
  return { ...lock, read: countsIn }
}

const someCounts = `select key, cast(full_at as text) as count from bucket where key in ($1, $2, $3, $4)
  union all select key, times from quota where key in ($1, $2, $3, $4)`
const fourKeys = (limits: readonly Limit[]) => places.map((place) => limits[place]?.key ?? '')

/** For up to four limits. */
export const readCounts = (limits: readonly Limit[]): Ask<Counts> => ({
  ...readAll(someCounts, ...fourKeys(limits)),
  read: countsIn,
})

/**
 * Takes one, with the lock of what the limit belongs to. If somebody else makes the row of a new one first, the decision is
 * made again.
 */
export function takeOne(limit: Limit, counts: Counts, now: number): Statement {
  const { key } = limit
  const after = countAfter(limit, counts, now)
  if (!isQuota(limit)) return statement('update bucket set full_at = $1 where key = $2', after, key)
  const sql = counts.has(key)
    ? 'update quota set times = $1, taken_at = $2 where key = $3'
    : "insert into quota (times, taken_at, key, mark) values ($1, $2, $3, '')"
  return statement(sql, after, now, key)
}
