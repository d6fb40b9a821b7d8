/**
 * Times as people write them in commands and requests. `Date.parse` guesses: it reads "7" as July 2001 and "36" as
 * January 2036.
 */
import { day, hour, minute } from './clock.ts'

const units: Readonly<Record<string, number>> = { m: minute, h: hour, d: day }
const dateAndTime =
  /^(\d{4}-\d{2}-\d{2})(T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?$/

/** `90m`, `36h` or `7d`, in milliseconds; null for anything else. */
export function durationFrom(text: string): number | null {
  const [, count, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? []
  return unit === undefined ? null : Number(count) * units[unit]!
}

/** An ISO 8601 date, or date and time; in UTC if it names no zone. Null for anything else. */
export function instantFrom(text: string): number | null {
  const [, date, time, zone] = dateAndTime.exec(text) ?? []
  // V8 takes the 30th of February for the 2nd of March.
  if (date === undefined || !isDay(date)) return null
  return Date.parse(time !== undefined && zone === undefined ? `${text}Z` : text)
}

function isDay(date: string): boolean {
  const at = Date.parse(date)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(date)
}
