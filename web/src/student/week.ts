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

const daysAheadMax = 21
const saturday = 5

export const dayAfter = (date: string, days: number): string => {
  const moved = new Date(`${date}T00:00:00Z`)
  moved.setUTCDate(moved.getUTCDate() + days)
  return moved.toISOString().slice(0, 10)
}

/** 0 is Monday. */
export const weekdayOf = (date: string): number => (new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7

export function dayOf(classes: readonly Placed[], date: string): Day {
  const weekday = weekdays[weekdayOf(date)]!
  const occurrences = classes
    .filter((placed) => meetsOn(placed, date))
    .flatMap((placed) =>
      placed.entry.meetings
        .filter(({ day }) => day === weekday)
        .map(({ start, end }) => ({ date, start, end, placed })),
    )
    .sort((a, b) => a.start.localeCompare(b.start) || a.end.localeCompare(b.end))
  return { date, occurrences }
}

/** As in the calendar feed: a class meets in its terms, not in the holidays between them. */
function meetsOn({ entry: { terms }, start, end }: Placed, date: string): boolean {
  if ((start !== null && date < start) || (end !== null && date > end)) return false
  const within = terms.filter(
    (term) => (end === null || term.startDate <= end) && (start === null || term.endDate >= start),
  )
  return within.length === 0 || within.some((term) => term.startDate <= date && date <= term.endDate)
}

/** Monday to Friday and further if there is something; at a weekend with nothing left, the next week. */
export function weekOf(classes: readonly Placed[], today: string): { days: readonly Day[]; isNext: boolean } {
  const monday = dayAfter(today, -weekdayOf(today))
  const days = daysFrom(classes, monday)
  const isNext =
    weekdayOf(today) >= saturday && !days.some((day) => day.date >= today && day.occurrences.length > 0)
  const shown = isNext ? daysFrom(classes, dayAfter(monday, 7)) : days
  const last = shown.findLastIndex((day, index) => index < saturday || day.occurrences.length > 0)
  return { days: shown.slice(0, last + 1), isNext }
}

const daysFrom = (classes: readonly Placed[], monday: string): Day[] =>
  weekdays.map((_, index) => dayOf(classes, dayAfter(monday, index)))

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
