/** A student's classes as iCalendar (RFC 5545), as all-day events from the first to the last day. */
import { createHash } from 'node:crypto'
import { day } from '../lib/clock.ts'
import type { Dated, Term } from './classes.ts'

export interface CalendarEntry extends Dated {
  /** Stable id of the enrolment, so that an event that moves stays the same event. */
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
    // For programs older than RFC 7986.
    `X-PUBLISHED-TTL:${refreshEvery}`,
    ...(events.length > 0 ? events : utc),
    'END:VCALENDAR',
  ]
  return lines.map((line) => `${fold(line)}\r\n`).join('')
}

/** RFC 5545 §3.6 requires at least one component. */
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
    // A term is not an appointment and must not block the calendar.
    'TRANSP:TRANSPARENT',
    'END:VEVENT',
  ])
}

interface Span extends Term {
  readonly name: string
}

/** The dates of the enrolment if both are set, else each term limited by them. A class without an end is left out. */
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

/** DTEND of an all-day event is exclusive. */
function dayAfter(date: string): string {
  // Registrars write 9999-12-31 for "open", and no date follows it.
  return date >= lastDay ? lastDay : new Date(Date.parse(date) + day).toISOString().slice(0, 10)
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
