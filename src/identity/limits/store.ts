import { changeAll, type Db, prune, type Row, type Statement, statement } from '../../platform/db/db.ts'
import { type Ask, lockMade, readAll, readOne } from '../../platform/db/decision.ts'
import { clockSlackMs, day, hour, minute } from '../../platform/lib/clock.ts'
import { lastFullAt } from '../../platform/lib/limit.ts'
import { type CodeAsk, type CodeCounts, quotasOf, type TakenCode, type TakenTimes } from './codes.ts'
import type { AnswerCounts, GuessCounts, ServiceCounts } from './guessing.ts'
import { type Bucket, inboxBucket, moverQuota, networkKnownMs, type Quota } from './policies.ts'

/** A network, up to two wider ones, and the service. */
const places = [0, 1, 2, 3]
const paramsAt = (place: number) =>
  `cast($${3 * place + 2} as text), cast($${3 * place + 3} as bigint), cast($${3 * place + 4} as bigint)`
const wanted = `wanted (key, full_at, last) as (values ${places.map((place) => `(${paramsAt(place)})`).join(', ')})`
const noneIsEmpty =
  'not exists (select 1 from wanted e join bucket b on b.key = e.key where b.full_at > e.last)'
const takeWanted = (where: string) => `insert into bucket (key, full_at, mark)
  select w.key, w.full_at, '' from wanted w where w.key is not null and ${where}
  on conflict (key) do update
    set full_at = excluded.full_at + case when bucket.full_at > $1 then bucket.full_at - $1 else 0 end
    where bucket.full_at <= (select w.last from wanted w where w.key = excluded.key)
  returning key, full_at`
/**
 * On PostgreSQL another request may empty a bucket meanwhile. So each is taken only after the one before, and nobody uses
 * up a wider bucket with requests that a narrower one refuses.
 */
const takeInOrder = `with ${wanted}, ${places
  .map((place) => {
    const before = place === 0 ? noneIsEmpty : `exists (select 1 from taken${place - 1})`
    return `taken${place} as (${takeWanted(`w.key = $${3 * place + 2} and ${before}`)})`
  })
  .join(', ')} ${places.map((place) => `select key, full_at from taken${place}`).join(' union all ')}`

/**
 * Takes one from each of up to four buckets, in their order, and returns the key and the new `full_at` of each. If one
 * looks empty, takes nothing and locks nothing.
 */
export function takeFromBuckets(buckets: readonly Bucket[], now: number): Statement {
  const params = places.flatMap((place) => {
    const one = buckets[place]
    return one ? [one.key, now + one.intervalMs, lastFullAt(one, now)] : [null, null, null]
  })
  return {
    sql: `with ${wanted} ${takeWanted(noneIsEmpty)}`,
    postgres: takeInOrder,
    params: [now, ...params],
  }
}

/** Gives one back to two buckets, unless they are full. */
export function giveBack([one, other]: readonly [Bucket, Bucket], now: number): Statement {
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

export async function fullAtOf(db: Db, buckets: readonly Bucket[]): Promise<number[]> {
  const rows = await Promise.all(
    buckets.map(({ key }) => db.one<{ full_at: number }>('select full_at from bucket where key = $1', [key])),
  )
  return rows.map((row) => row?.full_at ?? 0)
}

/** With the lock of what it belongs to. */
export const readBucket = ({ key }: Bucket) =>
  readOne<{ full_at: number }>('select full_at from bucket where key = $1', key)

/** Locks the inbox: its codes are counted one after the other. */
export function lockInbox(inbox: string): Ask<unknown> {
  const { key } = inboxBucket(inbox)
  const make = statement(
    "insert into bucket (key, full_at, mark) values ($1, 0, '') on conflict (key) do nothing",
    key,
  )
  return lockMade('bucket', make, 'select key from bucket where key = $1', key)
}

/** Locks the quota of somebody who asks for codes to several addresses, and of mails or secrets that are counted. */
export function lockQuota(key: string): Ask<{ times: string }> {
  const make = statement(
    "insert into quota (key, times, taken_at, mark) values ($1, '', 0, '') on conflict (key) do nothing",
    key,
  )
  return lockMade('quota', make, 'select times from quota where key = $1', key)
}

/** Nobody has the quotas of an inbox without its lock; the quota of a mover is locked on its own. */
export const locksOfCode = ({ inbox, moverId }: CodeAsk) => ({
  inboxLock: lockInbox(inbox),
  ...(moverId !== null && { moverLock: lockQuota(moverQuota(moverId).key) }),
})

const codeCounts = `select 'bucket' as what, key, full_at as at, '' as times from bucket where key = $1
  union all select 'quota', key, 0, times from quota where key in ($2, $3, $4)
  union all select 'known', network_fingerprint, seen_at, '' from known_network
    where inbox_fingerprint = $5 and network_fingerprint = $6 and seen_at > $7`

/** The state of all limits that a code counts against. */
export function readCodeCounts(ask: CodeAsk, now: number): Ask<CodeCounts> {
  const [first, second = '', third = ''] = quotasOf(ask).map(({ key }) => key)
  const { inbox, network } = ask
  const params = [inboxBucket(inbox).key, first!, second, third, inbox, network, now - networkKnownMs]
  return { ...readAll(codeCounts, ...params), read: countsIn }
}

function countsIn(rows: readonly Row[]): CodeCounts {
  return {
    inboxFullAt: Number(rows.find(({ what }) => what === 'bucket')?.at ?? 0),
    times: new Map(
      rows.filter(({ what }) => what === 'quota').map(({ key, times }) => [String(key), String(times)]),
    ),
    isKnown: rows.some(({ what }) => what === 'known'),
  }
}

export function writeCode(ask: CodeAsk, { inboxFullAt, times }: TakenCode, now: number): Statement[] {
  const charged =
    inboxFullAt === null
      ? []
      : [statement('update bucket set full_at = $1 where key = $2', inboxFullAt, inboxBucket(ask.inbox).key)]
  return [...charged, ...times.map((one) => writeQuota(one, now))]
}

/** If somebody else makes a new one first, the decision is made again. */
export function writeQuota({ key, times, isNew }: TakenTimes, now: number): Statement {
  const sql = isNew
    ? "insert into quota (times, taken_at, key, mark) values ($1, $2, $3, '')"
    : 'update quota set times = $1, taken_at = $2 where key = $3'
  return statement(sql, times, now, key)
}

export async function timesOf(db: Db, { key }: Quota): Promise<string> {
  return (await db.one<{ times: string }>('select times from quota where key = $1', [key]))?.times ?? ''
}

// A slot is named by the minute at which it begins. Those of a day are longer: their sums are read at every sign-in.
const daySlotMinutes = 15
const minuteOf = (at: number) => Math.floor(at / minute)
const daySlotOf = (at: number) => Math.floor(at / minute / daySlotMinutes) * daySlotMinutes

const sum = (key: string, since: string) =>
  `(select cast(coalesce(sum(count), 0) as bigint) from failure where key = ${key} and minute >= ${since})`

// $1 is the minute of an hour ago, $2 the slot of a day ago.
const serviceSums = `${sum("'service'", '$1')} as wrong_hour, ${sum("'service:day'", '$2')} as wrong_day,
  ${sum("'right'", '$1')} as right_hour, ${sum("'right:day'", '$2')} as right_day`
// $3 is the minute of a day ago, $4 that of ten minutes ago.
const inboxSums = (inbox: string) =>
  `${sum(`'address:' || ${inbox}`, '$1')} as inbox_hour, ${sum(`'address:' || ${inbox}`, '$3')} as inbox_day`
const networkSums = (name: string, network: string) =>
  `${sum(`'network:' || ${network}`, '$4')} as ${name}_ten_minutes, ${sum(`'network:' || ${network}`, '$3')} as ${name}_day`

const serviceCounts = `select ${serviceSums}`
const guessCounts = `select ${serviceSums}, ${inboxSums('cast($5 as text)')}, ${networkSums('asked', 'cast($6 as text)')}`
// Older challenges have no inbox fingerprint.
const answerCounts = `select ${serviceSums}, ${inboxSums('c.inbox')}, ${networkSums('asked', 'c.network')},
    ${networkSums('answered', 'cast($6 as text)')}
  from (select coalesce(inbox_fingerprint, address_fingerprint) as inbox, network_fingerprint as network
    from challenge where id = $5) c`

const sinces = (now: number) => [
  minuteOf(now - hour),
  daySlotOf(now - day),
  minuteOf(now - day),
  minuteOf(now - 10 * minute),
]

export const readServiceCounts = (now: number): Ask<ServiceCounts | undefined> =>
  readOne(serviceCounts, ...sinces(now).slice(0, 2))

export const readGuessCounts = (inbox: string, network: string, now: number): Ask<GuessCounts | undefined> =>
  readOne(guessCounts, ...sinces(now), inbox, network)

/** Undefined if there is no such challenge. */
export const readAnswerCounts = (
  challengeId: string,
  answeredFrom: string,
  now: number,
): Ask<AnswerCounts | undefined> => readOne(answerCounts, ...sinces(now), challengeId, answeredFrom)

/** Wrong answers wait for each other here. */
export function lockWrongAnswers(now: number): Ask<unknown> {
  const slot = daySlotOf(now)
  const make = statement(
    "insert into failure (key, minute, count) values ('service:day', $1, 0) on conflict (key, minute) do nothing",
    slot,
  )
  return lockMade('failure', make, "select key from failure where key = 'service:day' and minute = $1", slot)
}

const addOne = (key: string, slot: number) =>
  statement(
    `insert into failure (key, minute, count) values ($1, $2, 1)
     on conflict (key, minute) do update set count = failure.count + 1`,
    key,
    slot,
  )

/** One answer counts once for a network, even if it also asked for the code. */
export function countWrong(
  { inbox, networks }: { inbox: string; networks: readonly string[] },
  now: number,
): Statement[] {
  const keys = [`address:${inbox}`, ...new Set(networks.map((network) => `network:${network}`))].sort()
  return [
    ...keys.map((key) => addOne(key, minuteOf(now))),
    addOne('service', minuteOf(now)),
    addOne('service:day', daySlotOf(now)),
  ]
}

export const countRight = (now: number): Statement[] => [
  addOne('right', minuteOf(now)),
  addOne('right:day', daySlotOf(now)),
]

/** Wrong answers of a network in the last ten minutes and in the last day. */
export async function wrongFrom(db: Db, network: string, now: number): Promise<[number, number]> {
  const row = await db.one<GuessCounts>(guessCounts, [...sinces(now), '', network])
  return [row!.asked_ten_minutes, row!.asked_day]
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

/** A bucket that is full later than it can be was written by a wrong clock, like a quota taken in the future. */
export function pruneLimits(now: number, refillTimes: ReadonlyMap<string, number>): Statement[] {
  return [
    prune('bucket', 'key', 'full_at < $1', now),
    ...Array.from(refillTimes, ([end, ms]) =>
      prune('bucket', 'key', 'full_at > $1 and key like $2', now + ms + clockSlackMs, `%${end}`),
    ),
    prune('quota', 'key', '(taken_at < $1 or taken_at > $2)', now - day, now + clockSlackMs),
    prune('failure', 'key, minute', 'minute < $1', minuteOf(now - day) - daySlotMinutes),
    prune('known_network', 'inbox_fingerprint, network_fingerprint', 'seen_at < $1', now - networkKnownMs),
  ]
}
