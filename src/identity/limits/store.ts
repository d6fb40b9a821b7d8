import { type Db, prune, readNow, type Statement, statement } from '../../platform/db/db.ts'
import { type Ask, lockMade, readAll, readOne } from '../../platform/db/decision.ts'
import { lockLimit, readCounts } from '../../platform/db/limits.ts'
import { clockSlackMs, day, hour, minute } from '../../platform/lib/clock.ts'
import type { Counts } from '../../platform/lib/limit.ts'
import type { AnswerCounts, GuessCounts, Participants, ServiceCounts } from './guessing.ts'
import {
  type CodeAsk,
  inboxBucket,
  limitsOfCode,
  moverQuota,
  networkKnownMs,
  refillTimes,
} from './policies.ts'

/** Nobody has the quotas of an inbox without its lock; the quota of a mover is locked on its own. */
export const locksOfCode = ({ inbox, moverId }: CodeAsk) => ({
  inboxLock: lockLimit(inboxBucket(inbox)),
  ...(moverId !== null && { moverLock: lockLimit(moverQuota(moverId)) }),
})

export interface CodeCounts {
  readonly counts: Counts
  /** Whether the inbox has signed in from this network before. */
  readonly isKnown: boolean
}

export function readCodeCounts(ask: CodeAsk, now: number): Ask<CodeCounts> {
  const { inbox, network } = ask
  const { own, shared } = limitsOfCode(ask, false)
  const { question, read } = readCounts([...own, ...shared])
  const sql = `${question.sql} union all select 'known', '' from known_network
    where inbox_fingerprint = $5 and network_fingerprint = $6 and seen_at > $7`
  return {
    ...readAll(sql, ...question.params, inbox, network, now - networkKnownMs),
    read: (rows) => ({ counts: read(rows), isKnown: rows.some(({ key }) => key === 'known') }),
  }
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

const guessCounts = `select ${serviceSums}, ${inboxSums('cast($5 as text)')}, ${networkSums('asked', 'cast($6 as text)')}`
// Older challenges have no inbox fingerprint.
const answerCounts = `select ${serviceSums}, ${inboxSums('c.inbox')}, ${networkSums('asked', 'c.network')},
    ${networkSums('answered', 'cast($6 as text)')}
  from (select coalesce(inbox_fingerprint, address_fingerprint) as inbox, network_fingerprint as network
    from challenge where id = $5) c`

const serviceSinces = (now: number) => [minuteOf(now - hour), daySlotOf(now - day)]
const sinces = (now: number) => [...serviceSinces(now), minuteOf(now - day), minuteOf(now - 10 * minute)]

export const readServiceCounts = (now: number) =>
  readOne<ServiceCounts>(`select ${serviceSums}`, ...serviceSinces(now))
export const readGuessCounts = (inbox: string, network: string, now: number) =>
  readOne<GuessCounts>(guessCounts, ...sinces(now), inbox, network)
/** Undefined if there is no such challenge. */
export const readAnswerCounts = (challengeId: string, answeredFrom: string, now: number) =>
  readOne<AnswerCounts>(answerCounts, ...sinces(now), challengeId, answeredFrom)

/** Wrong answers wait for each other here. */
export function lockWrongAnswers(now: number): Ask<unknown> {
  const slot = daySlotOf(now)
  const insert = "insert into failure (key, minute, count) values ('service:day', $1, 0)"
  const make = statement(`${insert} on conflict (key, minute) do nothing`, slot)
  return lockMade('failure', make, "select key from failure where key = 'service:day' and minute = $1", slot)
}

function addOne(key: string, slot: number): Statement {
  const insert = 'insert into failure (key, minute, count) values ($1, $2, 1)'
  return statement(`${insert} on conflict (key, minute) do update set count = failure.count + 1`, key, slot)
}

/** Counts once for a network, even if it also asked for the code. */
export function countWrong({ inbox, askedFrom, answeredFrom }: Participants, now: number): Statement[] {
  const keys = new Set([`address:${inbox}`, `network:${askedFrom}`, `network:${answeredFrom}`])
  return [
    ...[...keys].sort().map((key) => addOne(key, minuteOf(now))),
    addOne('service', minuteOf(now)),
    addOne('service:day', daySlotOf(now)),
  ]
}

export const countRight = (now: number): Statement[] => [
  addOne('right', minuteOf(now)),
  addOne('right:day', daySlotOf(now)),
]

/** Wrong answers of a network in the last ten minutes and in the last day, and who signed in from there. */
export async function readNetwork(db: Db, network: string, now: number) {
  const [wrong, known] = await Promise.all([
    readNow(db, readGuessCounts('', network, now)),
    db.one<{ inboxes: number; seen_at: number | null }>(
      'select count(*) as inboxes, max(seen_at) as seen_at from known_network where network_fingerprint = $1',
      [network],
    ),
  ])
  return { wrong: wrong!, known: known! }
}

export function rememberNetwork(inbox: string, network: string, now: number): Statement {
  const sql = `insert into known_network (inbox_fingerprint, network_fingerprint, seen_at) values ($1, $2, $3)
    on conflict (inbox_fingerprint, network_fingerprint) do update set seen_at = excluded.seen_at`
  return statement(sql, inbox, network, now)
}

export const forgetNetworks = (inbox: string) =>
  statement('delete from known_network where inbox_fingerprint = $1', inbox)

/** A bucket that is full later than it can be was written by a wrong clock, like a quota taken in the future. */
export function pruneLimits(now: number): Statement[] {
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
