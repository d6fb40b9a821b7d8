/**
 * The arithmetic of limits, in memory and in the store.
 *
 * A bucket (GCRA, the generic cell rate algorithm) holds up to `burst` and gets one back every `intervalMs`. One number
 * says how many it holds: the time at which it will be full again. Taking one makes that `intervalMs` later.
 *
 * A window allows `max` within any time of `windowMs`, exactly: the times of the last takes are kept as one text, newest
 * first.
 */
export interface Rate {
  readonly burst: number
  readonly intervalMs: number
}

/** The latest `fullAt` of a bucket that still holds one. */
export const lastFullAt = ({ burst, intervalMs }: Rate, now: number) => now + (burst - 1) * intervalMs

export const isEmpty = (rate: Rate, fullAt: number, now: number) => fullAt > lastFullAt(rate, now)

/** `fullAt` after one was taken. */
export const oneLess = ({ intervalMs }: Rate, fullAt: number, now: number) =>
  Math.max(fullAt, now) + intervalMs

/** `fullAt` after one was given back. A full bucket stays as it is. */
export const oneMore = ({ intervalMs }: Rate, fullAt: number, now: number) =>
  fullAt > now ? fullAt - intervalMs : fullAt

/** When an empty bucket holds one again. */
export const freeAt = ({ burst, intervalMs }: Rate, fullAt: number) => fullAt - (burst - 1) * intervalMs

export const left = ({ burst, intervalMs }: Rate, fullAt: number, now: number) =>
  Math.max(0, Math.floor(burst - Math.max(0, fullAt - now) / intervalMs))

/** How long an empty bucket takes to fill. */
export const refillMs = ({ burst, intervalMs }: Rate) => burst * intervalMs

// 13 digits hold milliseconds until the year 2286.
const timeDigits = 13

export interface Window {
  readonly max: number
  readonly windowMs: number
}

/** The `nth` newest time, from 1; 0 if there were fewer. */
const nthTime = (times: string, nth: number) => Number(times.slice((nth - 1) * timeDigits, nth * timeDigits))

/** When every window has room again. */
export const windowsFreeAt = (windows: readonly Window[], times: string) =>
  Math.max(0, ...windows.map(({ max, windowMs }) => ifAny(nthTime(times, max), windowMs)))
const ifAny = (time: number, windowMs: number) => (time === 0 ? 0 : time + windowMs)

/** `times` after one was taken. */
export const withTime = (windows: readonly Window[], times: string, now: number) =>
  `${now}${times}`.slice(0, Math.max(...windows.map(({ max }) => max)) * timeDigits)

/** The key names the row in the store. */
export interface Bucket extends Rate {
  readonly key: string
}

export interface Quota {
  readonly key: string
  readonly windows: readonly Window[]
}

export type Limit = Bucket | Quota
export const isQuota = (limit: Limit): limit is Quota => 'windows' in limit

/** What the rows of limits hold, by their keys: the `fullAt` of a bucket as text, or the times of a quota. */
export type Counts = ReadonlyMap<string, string>

const timesIn = (counts: Counts, { key }: Quota) => counts.get(key) ?? ''
export const fullAtIn = (counts: Counts, { key }: Bucket) => Number(counts.get(key) ?? 0)

/** When all of them have room again. */
export const allFreeAt = (limits: readonly Limit[], counts: Counts) =>
  Math.max(0, ...limits.map((limit) => limitFreeAt(limit, counts)))

const limitFreeAt = (limit: Limit, counts: Counts) =>
  isQuota(limit)
    ? windowsFreeAt(limit.windows, timesIn(counts, limit))
    : freeAt(limit, fullAtIn(counts, limit))

export const hasRoom = (limit: Limit, counts: Counts, now: number) => allFreeAt([limit], counts) <= now

/** What its row holds after one was taken. */
export const countAfter = (limit: Limit, counts: Counts, now: number) =>
  isQuota(limit)
    ? withTime(limit.windows, timesIn(counts, limit), now)
    : oneLess(limit, fullAtIn(counts, limit), now)
