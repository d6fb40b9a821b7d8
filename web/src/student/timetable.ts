/** When classes meet: the days of a week, and what comes next. Dates and times are the school's, as on its timetable. */
import { type Meeting, weekdays } from '../../../src/school/student/classes.ts'
import type { SchoolTime } from '../school-time.ts'
import type { Placed } from './classes.ts'

export interface Occurrence extends Omit<Meeting, 'day'> {
  readonly date: string
  readonly placed: Placed
}

export interface Day {
  readonly date: string
  readonly occurrences: readonly Occurrence[]
}

/** A rotation over the days that it covers without a break, the first and the last as places in the week. */
interface Band {
  readonly placed: Placed
  readonly first: number
  readonly last: number
}

interface Week {
  readonly days: readonly Day[]
  readonly bands: readonly Band[]
}

const daysAheadMax = 21
const [friday, saturday] = [4, 5]
const fridayEvening = '17:00'

export const dayAfter = (date: string, days: number): string => {
  const moved = new Date(`${date}T00:00:00Z`)
  moved.setUTCDate(moved.getUTCDate() + days)
  return moved.toISOString().slice(0, 10)
}

/** 0 is Monday. */
const weekdayOf = (date: string): number => (new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7

export const mondayOf = (date: string): string => dayAfter(date, -weekdayOf(date))

/** Without meetings a rotation takes the whole day. */
export const isAllDay = ({ entry }: Placed): boolean =>
  entry.kind === 'rotation' && entry.meetings.length === 0

export function dayOf(classes: readonly Placed[], date: string): Day {
  const weekday = weekdays[weekdayOf(date)]!
  const occurrences = classes
    .filter((placed) => takesPlaceOn(placed, date))
    .flatMap((placed) =>
      placed.entry.meetings
        .filter(({ day }) => day === weekday)
        .map(({ start, end }) => ({ date, start, end, placed })),
    )
    .sort((a, b) => a.start.localeCompare(b.start) || a.end.localeCompare(b.end))
  return { date, occurrences }
}

/** The rule of the calendar feed: a class meets in its terms, not in the holidays between them. */
export function takesPlaceOn({ entry: { terms }, start, end }: Placed, date: string): boolean {
  if ((start !== null && date < start) || (end !== null && date > end)) return false
  const within = terms.filter(
    (term) => (end === null || term.startDate <= end) && (start === null || term.endDate >= start),
  )
  return within.length === 0 || within.some((term) => term.startDate <= date && date <= term.endDate)
}

/** Monday to Friday, and further if there is a class or a weekend shift, or if it is today. */
export function weekFrom(classes: readonly Placed[], monday: string, today: string): Week {
  const all = daysFrom(classes, monday)
  const shifts = classes.filter(
    (placed) => isAllDay(placed) && !takesPlaceOn(placed, dayAfter(monday, friday)),
  )
  const last = all.findLastIndex(
    ({ date, occurrences }, index) =>
      index < saturday ||
      occurrences.length > 0 ||
      date === today ||
      shifts.some((placed) => takesPlaceOn(placed, date)),
  )
  const days = all.slice(0, last + 1)
  const bands = classes.filter(isAllDay).flatMap((placed) => bandsOf(placed, days))
  return { days, bands }
}

function bandsOf(placed: Placed, days: readonly Day[]): Band[] {
  const bands: Band[] = []
  for (const [index, { date }] of days.entries()) {
    if (!takesPlaceOn(placed, date)) continue
    const before = bands.at(-1)
    if (before?.last === index - 1) bands[bands.length - 1] = { ...before, last: index }
    else bands.push({ placed, first: index, last: index })
  }
  return bands
}

/** The Monday of this week; from Friday evening, when no class is left in it, of the next one. */
export function comingMonday(classes: readonly Placed[], { date: today, time }: SchoolTime): string {
  const monday = mondayOf(today)
  const weekday = weekdayOf(today)
  const isEnding = weekday >= saturday || (weekday === friday && time >= fridayEvening)
  const isOver = !daysFrom(classes, monday).some(({ date, occurrences }) =>
    occurrences.some(({ end }) => date > today || (date === today && end > time)),
  )
  return isEnding && isOver ? dayAfter(monday, 7) : monday
}

const daysFrom = (classes: readonly Placed[], monday: string): Day[] =>
  weekdays.map((_, index) => dayOf(classes, dayAfter(monday, index)))

export const isOver = ({ date, end }: Occurrence, now: SchoolTime): boolean =>
  date < now.date || (date === now.date && end <= now.time)

export const isOn = (one: Occurrence, now: SchoolTime): boolean =>
  one.date === now.date && one.start <= now.time && !isOver(one, now)

/** The next meeting that has not begun; at most three weeks ahead. */
export function nextMeeting(classes: readonly Placed[], { date, time }: SchoolTime): Occurrence | null {
  for (let ahead = 0; ahead <= daysAheadMax; ahead++) {
    const { occurrences } = dayOf(classes, dayAfter(date, ahead))
    const next = occurrences.find(({ start }) => ahead > 0 || start > time)
    if (next) return next
  }
  return null
}

const englishDays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']

/** Rosters name periods freely; most begin with an English weekday, which is shown in the reader's language. */
export function periodText(period: string, weekday: (index: number) => string): string {
  const found = englishDays.findIndex((name) => period.startsWith(name))
  return found === -1 ? period : period.replace(/^\p{L}+/u, weekday(found))
}

export const periodsOn = (periods: readonly string[], date: string): readonly string[] =>
  periods.filter((period) => period.startsWith(englishDays[weekdayOf(date)]!))
