/**
 * Students with their classes, kept between requests. What the roster says changes only when another one is published,
 * and every caller arrives with the number of the one that holds (`Person.roster`): under the same number nothing need
 * be read again. A class is kept once for all of its students.
 */
import type { Db } from '../db/db.ts'
import { timestamp } from '../lib/clock.ts'
import { Recent } from '../lib/recent.ts'
import type { Person } from '../people/people.ts'
import { byStart, type Dated, type Span, spanOf } from './classes.ts'
import { type ClassRow, type StudentRow, studentWithClasses } from './store.ts'

const studentsMax = 25_000
const classesMax = 10_000

/** What all of its students see of a class. */
interface SharedClass extends Omit<Dated, 'enrolment'> {
  readonly classId: string
  readonly kind: string
  readonly span: Span
  /** All of its JSON but the student's own dates, which come between. */
  readonly before: string
  readonly after: string
}

export interface ClassOfStudent {
  readonly shared: SharedClass
  readonly startDate: string | null
  readonly endDate: string | null
}

export interface Timetable {
  readonly roster: number
  readonly student: StudentRow
  /** By their start. */
  readonly classes: readonly ClassOfStudent[]
}

export class Timetables {
  readonly #db: Db
  readonly #kept = new Recent<string, Timetable>(studentsMax)
  readonly #classes = new Recent<string, SharedClass>(classesMax)

  constructor(db: Db) {
    this.#db = db
  }

  /** Nothing for who is not on the roster. */
  async of(person: Person): Promise<Timetable | undefined> {
    const kept = this.#kept.get(person.id)
    if (kept !== undefined && kept.roster === person.roster) return kept
    const rows = await studentWithClasses(this.#db, person.id)
    const [first] = rows
    if (!first) return undefined
    const { document: _, start_date, end_date, class_updated_at, enrolment_id, ...student } = first
    const classes = rows
      .filter(hasClass)
      .map((row) => ({ shared: this.#share(row), startDate: row.start_date, endDate: row.end_date }))
      .sort((a, b) => byStart({ ...a.shared, enrolment: a }, { ...b.shared, enrolment: b }))
    const timetable = { roster: student.roster, student, classes }
    this.#kept.set(person.id, timetable)
    return timetable
  }

  #share(row: ClassRow): SharedClass {
    const key = `${row.class_updated_at} ${row.document}`
    const known = this.#classes.get(key)
    if (known) return known
    const { classId, kind, title, terms } = JSON.parse(row.document!) as ClassReply
    const shared = {
      classId,
      kind,
      title,
      terms,
      span: spanOf({ title, terms, enrolment: { startDate: null, endDate: null } }),
      before: `${row.document!.slice(0, -1)},"enrolment":{"startDate":`,
      after: `},"updatedAt":"${timestamp(row.class_updated_at!)}"}`,
    }
    this.#classes.set(key, shared)
    return shared
  }
}

interface ClassReply extends Dated {
  readonly classId: string
  readonly kind: string
}

/** False for the one row of a student without classes. */
export const hasClass = (row: ClassRow) => row.document !== null

export function spanFor({ shared, startDate, endDate }: ClassOfStudent): Span {
  return { start: startDate ?? shared.span.start, end: endDate ?? shared.span.end }
}

const date = (text: string | null) => (text === null ? 'null' : `"${text}"`)

/** The class as it is sent. */
export function jsonOf({ shared, startDate, endDate }: ClassOfStudent): string {
  return `${shared.before}${date(startDate)},"endDate":${date(endDate)}${shared.after}`
}
