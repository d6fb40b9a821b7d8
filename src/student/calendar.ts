/** A student's classes as iCalendar (RFC 5545): days on which a class or rotation runs, first to last. Pure. */
import { createHash } from 'node:crypto'
import { day } from '../lib/clock.ts'
import type { Dated, Term } from './classes.ts'

export interface CalendarEntry extends Dated {
  /** Names this student's enrolment for good, so that an event that moves stays the same event. */
  readonly key: string
  readonly terms: readonly (Term & { readonly termId: string })[]
  readonly location: string | null
  readonly teachers: readonly { readonly firstname: string; readonly lastname: string }[]
  readonly updatedAt: string
}

const lineOctetsMax = 75
const refreshEvery = 'PT6H'
const lastDay = '9999-12-31'

export function writeCalendar(calendar: {
  readonly name: string
  readonly entries: readonly CalendarEntry[]
  readonly now: number
}): string {
  const stamp = instant(new Date(calendar.now).toISOString())
  const events = calendar.entries.flatMap((entry) => eventsOf(entry, stamp))
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Chiron//Classes//EN',
    'CALSCALE:GREGORIAN',
    'METHOD:PUBLISH',
    `X-WR-CALNAME:${text(calendar.name)}`,
    `REFRESH-INTERVAL;VALUE=DURATION:${refreshEvery}`,
    // The same for programs that are older than RFC 7986.
    `X-PUBLISHED-TTL:${refreshEvery}`,
    ...(events.length > 0 ? events : utc),
    'END:VCALENDAR',
  ]
  return lines.map((line) => `${fold(line)}\r\n`).join('')
}

/** A calendar must have something in it (RFC 5545 §3.6), even if that is only how to tell the time. */
const utc = [
  'BEGIN:VTIMEZONE',
  'TZID:UTC',
  'BEGIN:STANDARD',
  'DTSTART:19700101T000000',
  'TZOFFSETFROM:+0000',
  'TZOFFSETTO:+0000',
  'END:STANDARD',
  'END:VTIMEZONE',
]

function eventsOf(entry: CalendarEntry, stamp: string): string[] {
  const { title, location, teachers } = entry
  const names = teachers.map(({ firstname, lastname }) => `${firstname} ${lastname}`)
  return spansOf(entry).flatMap(({ name, startDate, endDate }) => [
    'BEGIN:VEVENT',
    `UID:${createHash('sha256').update(`${entry.key}\0${name}`).digest('hex').slice(0, 32)}`,
    `DTSTAMP:${stamp}`,
    `LAST-MODIFIED:${instant(entry.updatedAt)}`,
    `DTSTART;VALUE=DATE:${digits(startDate)}`,
    `DTEND;VALUE=DATE:${digits(dayAfter(endDate))}`,
    `SUMMARY:${text(title)}`,
    ...(location === null ? [] : [`LOCATION:${text(location)}`]),
    ...(names.length === 0 ? [] : [`DESCRIPTION:${text(names.join(', '))}`]),
    // A term is no appointment: nobody is busy for months.
    'TRANSP:TRANSPARENT',
    'END:VEVENT',
  ])
}

interface Span extends Term {
  /** Which of the entry's spans it is. */
  readonly name: string
}

/** The student's own dates if both are there, else each term as far as they allow. What has no end is no span. */
function spansOf({ terms, enrolment }: CalendarEntry): Span[] {
  const { startDate, endDate } = enrolment
  const spans =
    startDate !== null && endDate !== null
      ? [{ name: '', startDate, endDate }]
      : terms.map((term) => ({
          name: term.termId,
          startDate: startDate !== null && startDate > term.startDate ? startDate : term.startDate,
          endDate: endDate !== null && endDate < term.endDate ? endDate : term.endDate,
        }))
  return spans.filter((span) => span.startDate <= span.endDate && span.startDate < lastDay)
}

/** The end of an all-day event is the first day that is not part of it. */
function dayAfter(date: string): string {
  // Registrars write the last day there is for "open", and no date comes after it.
  return date >= lastDay ? lastDay : new Date(Date.parse(date) + day).toISOString().slice(0, 10)
}

const digits = (date: string) => date.replaceAll('-', '')
const instant = (iso: string) => iso.replace(/\.\d+/, '').replace(/[-:]/g, '')

/** A TEXT value (§3.3.11). Control characters but the tab have no place in one. */
function text(value: string): string {
  return value
    .toWellFormed()
    .replace(/\r\n?/g, '\n')
    .replace(/(?![\t\n])\p{Cc}/gu, '')
    .replace(/[\\;,]/g, '\\$&')
    .replaceAll('\n', '\\n')
}

/** Lines of at most 75 octets, never broken inside a character (§3.1). */
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
