/**
 * The arithmetic of a limit (GCRA, the generic cell rate algorithm). A bucket holds up to `burst` and gets one back every
 * `intervalMs`. One number says how many it holds: the time at which it will be full again. Taking one makes that
 * `intervalMs` later.
 *
 * Buckets in memory use these functions. Those in the store do the same in SQL (limits/store.ts), so that two processes
 * cannot both take the last one; test/gcra.test.ts compares the two.
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
