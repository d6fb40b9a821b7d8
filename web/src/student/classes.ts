/** A student's classes and their dates, by the service's own rules. */
import { byStart, spanOf } from '../../../src/student/classes.ts'
import { keepForOffline } from '../offline.ts'
import type { Class, Student } from '../people.ts'
import { type Resource, useResource } from '../resource.ts'
import { ask } from '../session.ts'
import type { Dates, Text } from '../text/text.ts'

type State = 'past' | 'now' | 'ahead'

export interface Placed {
  readonly entry: Class
  readonly start: string | null
  readonly end: string | null
  readonly state: State
}

interface ClassList {
  readonly classes: readonly Class[]
  /** The service decides what is current, by the school's calendar date. */
  readonly current: readonly string[]
}

const path = '/student/me/classes?when=all'

const read = async (): Promise<ClassList> => {
  const [user, reply] = await Promise.all([
    ask<Student>('/student/me'),
    ask<{ classes: Class[] } | undefined>(path),
  ])
  const list = {
    classes: (reply?.classes ?? []).sort(byStart),
    current: user.groups.map(({ classId }) => classId),
  }
  await keepForOffline(user, path, list)
  return list
}

export function useClasses(): Resource<readonly Placed[]> {
  const list = useResource(path, read)
  return { ...list, data: list.data && placed(list.data, dateOf(new Date())), replace: () => {} }
}

function placed({ classes, current }: ClassList, today: string): readonly Placed[] {
  return classes.map((entry) => {
    const { start, end } = spanOf(entry)
    const over = end !== null && end <= today
    return { entry, start, end, state: current.includes(entry.classId) ? 'now' : over ? 'past' : 'ahead' }
  })
}

/** The date in the reader's time zone. */
export const dateOf = (now: Date): string =>
  [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((n) => String(n).padStart(2, '0')).join('-')

export const stateWord = ({ state }: Placed, { student }: Text): string =>
  ({ past: student.over, now: student.now, ahead: student.ahead })[state]

export function spanText({ start, end }: Pick<Placed, 'start' | 'end'>, text: Text, dates: Dates): string {
  if (start !== null && end !== null) return dates.span(start, end)
  if (start !== null) return text.student.from(dates.day(start))
  return end !== null ? text.student.until(dates.day(end)) : text.student.always
}

export const classLink = ({ classId }: Class) => `#/classes/${encodeURIComponent(classId)}`
