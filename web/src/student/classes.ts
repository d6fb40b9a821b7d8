/** A student's classes and their dates, by the service's own rules. */
import { byStart, spanOf } from '../../../src/student/classes.ts'
import type { Class, Student } from '../people.ts'
import { type Resource, useResource } from '../resource.ts'
import { ask } from '../session.ts'
import type { Dates, Text } from '../text/text.ts'

export type State = 'past' | 'now' | 'ahead'

export interface Placed {
  readonly entry: Class
  readonly start: string | null
  readonly end: string | null
  readonly state: State
}

const read = async (path: string): Promise<readonly Placed[]> => {
  const [student, reply] = await Promise.all([
    ask<Student>('/student/me'),
    ask<{ classes: Class[] } | undefined>(path),
  ])
  // The service decides what is current, by the school's calendar date; everything else is past or upcoming.
  const current = new Set(student.groups.map(({ classId }) => classId))
  const today = dateOf(new Date())
  return (reply?.classes ?? []).sort(byStart).map((entry) => {
    const { start, end } = spanOf(entry)
    const over = end !== null && end <= today
    return { entry, start, end, state: current.has(entry.classId) ? 'now' : over ? 'past' : 'ahead' }
  })
}

export const useClasses = (): Resource<readonly Placed[]> => useResource('/student/me/classes?when=all', read)

/** The date in the reader's time zone. */
export const dateOf = (now: Date): string =>
  [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((n) => String(n).padStart(2, '0')).join('-')

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

/** Rosters name periods freely. Most begin with a weekday, and those show what is on today. */
export function periodsToday({ periods }: Class, now: Date): readonly string[] {
  return periods.filter((period) => period.startsWith(weekdays[now.getDay()]!))
}

export const stateWord = ({ state }: Placed, { student }: Text): string =>
  ({ past: student.over, now: student.now, ahead: student.ahead })[state]

export function spanText({ start, end }: Pick<Placed, 'start' | 'end'>, text: Text, dates: Dates): string {
  if (start !== null && end !== null) return dates.span(start, end)
  if (start !== null) return text.student.from(dates.day(start))
  return end !== null ? text.student.until(dates.day(end)) : text.student.always
}
