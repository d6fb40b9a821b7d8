/**
 * A student's classes as iCalendar (RFC 5545). A class with meeting times is a weekly event. Without them, a short
 * rotation or practical is an all-day event from its first to its last day, and any other class a note on its first day:
 * a bar over half a year would only hide the rest.
 */
import { createHash } from 'node:crypto'
import { day as dayMs } from '../../platform/lib/clock.ts'
import { type Dated, type Meeting, type Term, weekdays } from './classes.ts'
import { writeTimeZone, zoneName } from './time-zone.ts'

export interface CalendarEntry extends Dated {
  /** Stable id of the enrolment, so that an event that moves stays the same event. */
  readonly key: string
  readonly kind: string
  readonly terms: readonly (Term & { readonly termId: string })[]
  readonly location: string | null
  readonly teachers: readonly { readonly firstname: string; readonly lastname: string }[]
  readonly meetings: readonly Meeting[]
  readonly updatedAt: string
}

export interface Calendar {
  readonly name: string
  readonly entries: readonly CalendarEntry[]
  readonly timeZone: string
  readonly now: number
}

const lineOctetsMax = 75
const refreshEvery = 'PT6H'
const lastDay = '9999-12-31'
const spanDaysMax = 6 * 7
/** Weekly events are limited to these years around now: registrars write 1900 and 9999 for "open". */
const yearsBefore = 2
const yearsAfter = 3

export function writeCalendar(calendar: Calendar): string {
  const zone = new Zone(calendar)
  const events = calendar.entries.flatMap((entry) => eventsOf(entry, zone))
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Chiron//Classes//EN',
    'CALSCALE:GREGORIAN',
    'METHOD:PUBLISH',
    `X-WR-CALNAME:${text(calendar.name)}`,
    `REFRESH-INTERVAL;VALUE=DURATION:${refreshEvery}`,
    // For programs older than RFC 7986.
    `X-PUBLISHED-TTL:${refreshEvery}`,
    ...zone.component(events.length === 0),
    ...events,
    'END:VCALENDAR',
  ]
  return lines.map((line) => `${fold(line)}\r\n`).join('')
}

/** The school's clock, and the range of days for which the calendar must explain it. */
class Zone {
  readonly stamp: string
  readonly window: Term
  readonly #timeZone: string
  readonly #name: string
  readonly #today: string
  readonly #days: string[] = []

  constructor({ timeZone, now }: Calendar) {
    const today = new Date(now).toISOString()
    const year = Number(today.slice(0, 4))
    this.stamp = instant(today)
    this.window = { startDate: `${year - yearsBefore}-01-01`, endDate: `${year + yearsAfter}-12-31` }
    this.#timeZone = timeZone
    this.#name = zoneName(timeZone)
    this.#today = today.slice(0, 10)
  }

  /** Parameter and value of a local time. */
  local(date: string, time: string): string {
    this.#days.push(date)
    return `;TZID=${this.#name}:${digits(date)}T${time.replace(':', '')}00`
  }

  utc(date: string, time: string): string {
    this.#days.push(date)
    const at = Temporal.PlainDateTime.from(`${date}T${time}`).toZonedDateTime(this.#timeZone)
    return instant(at.toInstant().toString())
  }

  /** Also in a calendar without events: RFC 5545 §3.6 requires at least one component. */
  component(isEmpty: boolean): string[] {
    if (isEmpty) return writeTimeZone(this.#timeZone, this.#today, this.#today)
    const days = this.#days.sort()
    return days.length === 0 ? [] : writeTimeZone(this.#timeZone, days[0]!, days.at(-1)!)
  }
}

function eventsOf(entry: CalendarEntry, zone: Zone): string[] {
  const weekly = weeklyEvents(entry, zone)
  return weekly.length > 0 ? weekly : allDayEvents(entry, zone)
}

function weeklyEvents(entry: CalendarEntry, zone: Zone): string[] {
  if (entry.meetings.length === 0) return []
  return meetingSpans(entry)
    .map((span) => ({ ...span, ...overlap(span, zone.window) }))
    .filter(isSpan)
    .flatMap((span) =>
      entry.meetings.flatMap(({ day, start, end }, nth) => {
        const [first, last] = [firstOn(day, span.startDate), lastOn(day, span.endDate)]
        if (first > last) return []
        const when = [
          `DTSTART${zone.local(first, start)}`,
          `DTEND${zone.local(first, end)}`,
          `RRULE:FREQ=WEEKLY;UNTIL=${zone.utc(last, start)}`,
        ]
        return event(entry, zone, { name: `${span.name}\0${nth}`, when })
      }),
    )
}

function allDayEvents(entry: CalendarEntry, zone: Zone): string[] {
  return spansOf(entry).flatMap((span) => {
    const isShort = daysOf(span) <= spanDaysMax && ['rotation', 'practical'].includes(entry.kind)
    const { startDate, endDate } = isShort ? span : { ...span, endDate: span.startDate }
    const notes = isShort ? [] : [`${span.startDate} – ${span.endDate}`]
    const when = [
      `DTSTART;VALUE=DATE:${digits(startDate)}`,
      `DTEND;VALUE=DATE:${digits(dayAfter(endDate))}`,
      // Nobody is busy all day: it must not block the calendar.
      'TRANSP:TRANSPARENT',
    ]
    return event(entry, zone, { name: span.name, when, notes })
  })
}

interface Occurrence {
  /** Tells it from the others of its class. */
  readonly name: string
  readonly when: readonly string[]
  readonly notes?: readonly string[]
}

function event(
  { key, title, location, teachers, updatedAt }: CalendarEntry,
  { stamp }: Zone,
  { name, when, notes = [] }: Occurrence,
): string[] {
  const names = teachers.map(({ firstname, lastname }) => `${firstname} ${lastname}`).join(', ')
  const description = [...notes, names].filter((line) => line !== '').join('\n')
  return [
    'BEGIN:VEVENT',
    `UID:${createHash('sha256').update(`${key}\0${name}`).digest('hex').slice(0, 32)}`,
    `DTSTAMP:${stamp}`,
    `LAST-MODIFIED:${instant(updatedAt)}`,
    ...when,
    `SUMMARY:${text(title)}`,
    ...(location === null ? [] : [`LOCATION:${text(location)}`]),
    ...(description === '' ? [] : [`DESCRIPTION:${text(description)}`]),
    'END:VEVENT',
  ]
}

interface Span extends Term {
  readonly name: string
}

const isSpan = ({ startDate, endDate }: Term) => startDate <= endDate && startDate < lastDay

/** The dates of the enrolment if both are set, else each term limited by them. A class without an end is left out. */
function spansOf(entry: CalendarEntry): Span[] {
  const { startDate, endDate } = entry.enrolment
  const spans =
    startDate !== null && endDate !== null ? [{ name: '', startDate, endDate }] : enrolledTerms(entry)
  return spans.filter(isSpan)
}

/** A class meets in its terms, not in the holidays between them, unless the enrolment has other days altogether. */
function meetingSpans(entry: CalendarEntry): Span[] {
  const spans = enrolledTerms(entry).filter(isSpan)
  return spans.length > 0 ? spans : spansOf(entry)
}

function enrolledTerms({ terms, enrolment }: CalendarEntry): Span[] {
  const enrolled = { startDate: enrolment.startDate ?? '', endDate: enrolment.endDate ?? lastDay }
  return terms.map((term) => ({ name: term.termId, ...overlap(term, enrolled) }))
}

function overlap(a: Term, b: Term): Term {
  return {
    startDate: a.startDate > b.startDate ? a.startDate : b.startDate,
    endDate: a.endDate < b.endDate ? a.endDate : b.endDate,
  }
}

const daysOf = ({ startDate, endDate }: Term) => (Date.parse(endDate) - Date.parse(startDate)) / dayMs + 1

/** The first such weekday from this date on, and the last until it. */
function firstOn(day: Meeting['day'], date: string): string {
  const from = Temporal.PlainDate.from(date)
  return from.add({ days: (weekdays.indexOf(day) + 8 - from.dayOfWeek) % 7 }).toString()
}

function lastOn(day: Meeting['day'], date: string): string {
  const to = Temporal.PlainDate.from(date)
  return to.subtract({ days: (to.dayOfWeek + 6 - weekdays.indexOf(day)) % 7 }).toString()
}

/** DTEND of an all-day event is exclusive. */
function dayAfter(date: string): string {
  // No date follows the one that registrars write for "open".
  return date >= lastDay ? lastDay : new Date(Date.parse(date) + dayMs).toISOString().slice(0, 10)
}

const digits = (date: string) => date.replaceAll('-', '')
const instant = (iso: string) => iso.replace(/\.\d+/, '').replace(/[-:]/g, '')

/** TEXT value (§3.3.11): control characters other than tab are not allowed. */
function text(value: string): string {
  return value
    .toWellFormed()
    .replace(/\r\n?/g, '\n')
    .replace(/(?![\t\n])\p{Cc}/gu, '')
    .replace(/[\\;,]/g, '\\$&')
    .replaceAll('\n', '\\n')
}

/** §3.1: lines of at most 75 octets, never split within a character. */
function fold(line: string): string {
  let folded = ''
  let octets = 0
  for (const character of line) {
    const size = Buffer.byteLength(character)
    if (octets + size > lineOctetsMax) {
      folded += '\r\n '
      octets = 1
    }
    folded += character
    octets += size
  }
  return folded
}
