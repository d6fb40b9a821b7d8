/** Injected, so that tests can move time. */
export interface Clock {
  /** Epoch milliseconds. Jumps when somebody sets the clock of the machine. */
  now(): number
  /** Milliseconds since some moment of this process, without jumps: for durations that no other process reads. */
  elapsed(): number
}

export const systemClock: Clock = { now: () => Date.now(), elapsed: () => performance.now() }

export const second = 1_000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour

/**
 * Clocks of machines differ by less than this. A time further ahead than any rule allows was written by a wrong clock,
 * and must not keep anyone waiting until then.
 */
export const clockSlackMs = 60 * second

/** RFC 3339 in UTC, as in the HTTP interface. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString()
}

/** Such as `2026-11-15 09:00 Europe/Lisbon`, for people. */
export function localTime(ms: number, timeZone: string): string {
  const local = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timeZone).toPlainDateTime()
  return `${local.toPlainDate()} ${local.toPlainTime().toString({ smallestUnit: 'minute' })} ${timeZone}`
}

export function timestampOrNull(ms: number | null): string | null {
  return ms === null ? null : timestamp(ms)
}
