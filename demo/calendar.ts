/**
 * A school year that began fourteen weeks before the given day’s week, so that on any day there are past, current and
 * future classes.
 */
import type { Row } from './oneroster.ts'

const daysAWeek = 7
const weeksBefore = 14
const weeksOfFirstSemester = 22
export const weeksAYear = 46

/** Dates are YYYY-MM-DD; computed in UTC, where every day has 24 hours. */
export function addDays(date: string, days: number): string {
  const at = new Date(`${date}T00:00:00Z`)
  at.setUTCDate(at.getUTCDate() + days)
  return at.toISOString().slice(0, 10)
}

export function addWeeks(date: string, weeks: number): string {
  return addDays(date, weeks * daysAWeek)
}

function mondayOf(date: string): string {
  const weekday = new Date(`${date}T00:00:00Z`).getUTCDay()
  return addDays(date, -((weekday + 6) % daysAWeek))
}

function isDate(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && addDays(text, 0) === text
}

export interface Term {
  readonly sourcedId: string
  readonly title: string
  readonly startDate: string
  readonly endDate: string
}

export interface Calendar {
  /** Monday of today's week. */
  readonly monday: string
  readonly year: Term
  readonly first: Term
  readonly second: Term
  /** Rows of academicSessions.csv. */
  readonly rows: readonly Row<'academicSessions'>[]
}

/** From a Monday to the Friday `weeks` later. */
function term(sourcedId: string, title: string, startDate: string, weeks: number): Term {
  return { sourcedId, title, startDate, endDate: addDays(startDate, weeks * daysAWeek - 3) }
}

export function calendarAround(today: string): Calendar {
  if (!isDate(today)) throw new Error(`today must be a date such as 2026-03-02, not ${today}`)
  const monday = mondayOf(today)
  const start = addWeeks(monday, -weeksBefore)
  const [from, to] = [start.slice(0, 4), addWeeks(start, weeksAYear).slice(0, 4)]
  const name = from === to ? to : `${from}/${to.slice(2)}`
  const year = term(`year-${to}`, `School year ${name}`, start, weeksAYear)
  const first = term(`semester-${to}-1`, `First semester ${name}`, start, weeksOfFirstSemester)
  const second = term(
    `semester-${to}-2`,
    `Second semester ${name}`,
    addWeeks(start, weeksOfFirstSemester),
    weeksAYear - weeksOfFirstSemester,
  )
  const rows: Row<'academicSessions'>[] = [
    { ...year, type: 'schoolYear', schoolYear: to },
    { ...first, type: 'semester', schoolYear: to, parentSourcedId: year.sourcedId },
    { ...second, type: 'semester', schoolYear: to, parentSourcedId: year.sourcedId },
  ]
  return { monday, year, first, second, rows }
}
