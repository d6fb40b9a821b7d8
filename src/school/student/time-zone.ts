/**
 * A time zone as iCalendar wants it (RFC 5545 §3.6.5), for a range of days. Each change of the clocks is listed with its
 * date: the rules behind them are not known here, and programs that know the zone by name use their own.
 */

/** A name without colons, which would have to be quoted: the zone +01:00 becomes UTC+0100. */
export function zoneName(timeZone: string): string {
  const { timeZoneId } = Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(timeZone)
  return timeZoneId.includes(':') ? `UTC${timeZoneId.replaceAll(':', '')}` : timeZoneId
}

export function writeTimeZone(timeZone: string, from: string, to: string): string[] {
  const start = Temporal.PlainDate.from(from).toZonedDateTime(timeZone)
  const end = Temporal.PlainDate.from(to).add({ days: 1 }).toZonedDateTime(timeZone)
  const lines: string[] = []
  let change = start.getTimeZoneTransition('previous')
  // The zone never changed before: its offset holds from some day on that is early enough.
  if (change === null) lines.push(...observance('STANDARD', '19700101T000000', start.offset, start.offset))
  for (change ??= start.getTimeZoneTransition('next'); change !== null; ) {
    if (change.epochMilliseconds >= end.epochMilliseconds) break
    const before = change.subtract({ nanoseconds: 1 })
    const isLater = change.offsetNanoseconds > before.offsetNanoseconds
    const local = new Date(change.epochMilliseconds + before.offsetNanoseconds / 1e6).toISOString()
    const at = local.slice(0, 19).replace(/[-:]/g, '')
    lines.push(...observance(isLater ? 'DAYLIGHT' : 'STANDARD', at, before.offset, change.offset))
    change = change.getTimeZoneTransition('next')
  }
  return ['BEGIN:VTIMEZONE', `TZID:${zoneName(timeZone)}`, ...lines, 'END:VTIMEZONE']
}

/** `at` is in the time before the change. */
function observance(kind: 'STANDARD' | 'DAYLIGHT', at: string, from: string, to: string): string[] {
  return [
    `BEGIN:${kind}`,
    `DTSTART:${at}`,
    `TZOFFSETFROM:${from.replaceAll(':', '')}`,
    `TZOFFSETTO:${to.replaceAll(':', '')}`,
    `END:${kind}`,
  ]
}
