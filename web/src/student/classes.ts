/** A student's classes and their dates, by the service's own rules. */
import { useEffect, useRef } from 'react'
import { byStart, isWhen, spanOf } from '../../../src/school/student/classes.ts'
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
}

const path = '/student/me/classes?when=all'

const read = async (): Promise<ClassList> => {
  const [user, reply] = await Promise.all([
    ask<Student>('/student/me'),
    ask<{ classes: Class[] } | undefined>(path),
  ])
  const list = { classes: (reply?.classes ?? []).sort(byStart) }
  await keepForOffline(user, path, list)
  return list
}

/** `today` is the date at the school. A new day reads the list again. */
export function useClasses(today: string): Resource<readonly Placed[]> {
  const list = useResource(path, read)
  const { reload } = list
  const readOn = useRef(today)
  useEffect(() => {
    if (readOn.current === today) return
    readOn.current = today
    reload()
  }, [today, reload])
  return { ...list, data: list.data && placed(list.data, today), replace: () => {} }
}

function placed({ classes }: ClassList, today: string): readonly Placed[] {
  return classes.map((entry) => {
    const span = spanOf(entry)
    const state = isWhen(span, 'current', today) ? 'now' : isWhen(span, 'past', today) ? 'past' : 'ahead'
    return { entry, ...span, state }
  })
}

export const stateWord = ({ state }: Placed, { student }: Text): string =>
  ({ past: student.over, now: student.underWay, ahead: student.ahead })[state]

export function spanText({ start, end }: Pick<Placed, 'start' | 'end'>, text: Text, dates: Dates): string {
  if (start !== null && end !== null) return dates.span(start, end)
  if (start !== null) return text.student.from(dates.day(start))
  return end !== null ? text.student.until(dates.day(end)) : text.student.always
}

export const classLink = ({ classId }: Class) => `#/classes/${encodeURIComponent(classId)}`
