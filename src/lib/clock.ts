/** Time comes from one place, so that tests can move it. Epoch milliseconds everywhere inside. */
export interface Clock {
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

export const second = 1_000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour

/** RFC 3339 UTC, as the interface writes times. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString()
}

export function timestampOrNull(ms: number | null): string | null {
  return ms === null ? null : timestamp(ms)
}
