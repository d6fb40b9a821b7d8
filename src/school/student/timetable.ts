/**
 * Caches students with their classes. The roster changes only when a new one is published, and each caller carries the
 * number of the current one (`PersonInSession.roster`), so nothing is read again while it stays the same. A class is cached once
 * for all its students.
 */

import type { PersonInSession } from '../../identity/people/people.ts'
import type { Db } from '../../platform/db/db.ts'
import { BoundedMap } from '../../platform/lib/bounded-map.ts'
import { timestamp } from '../../platform/lib/clock.ts'
import { byStart, type Span, spanOf } from './classes.ts'
import { type ClassDocument, readDocument } from './document.ts'
import { type ClassRow, type StudentRow, studentWithClasses } from './store.ts'

const studentsMax = 25_000
const classesMax = 10_000

/** The part of a class that is the same for all its students. */
interface SharedClass {
  readonly document: ClassDocument
  readonly span: Span
}

export interface ClassOfStudent {
  readonly shared: SharedClass
  readonly enrolment: { startDate: string | null; endDate: string | null }
}

export interface Timetable {
  readonly roster: number
  /** The profile without what depends on the day and the account. */
  readonly profile: ReturnType<typeof profileOf>
  /** Sorted by start. */
  readonly classes: readonly ClassOfStudent[]
}

export class Timetables {
  readonly #db: Db
  readonly #kept = new BoundedMap<string, Timetable>(studentsMax)
  readonly #classes = new BoundedMap<string, SharedClass>(classesMax)

  constructor(db: Db) {
    this.#db = db
  }

  /** From the cache only. */
  known(student: PersonInSession): Timetable | undefined {
    const kept = this.#kept.get(student.id)
    return kept?.roster === student.roster ? kept : undefined
  }

  /** Reads from the store; undefined if the student is not on the roster. */
  async of(student: PersonInSession): Promise<Timetable | undefined> {
    const rows = await studentWithClasses(this.#db, student.id)
    const [first] = rows
    if (!first) return undefined
    const classes = rows
      .filter(hasClass)
      .map((row) => ({
        shared: this.#share(row),
        enrolment: { startDate: row.start_date, endDate: row.end_date },
      }))
      .sort((a, b) => byStart(classOf(a), classOf(b)))
    const timetable = { roster: first.roster, profile: profileOf(first), classes }
    this.#kept.set(student.id, timetable)
    return timetable
  }

  #share(row: ClassRow): SharedClass {
    const key = `${row.class_updated_at} ${row.document}`
    const known = this.#classes.get(key)
    if (known) return known
    const document = readDocument(row.document!, row.class_updated_at!)
    const shared = {
      document,
      span: spanOf({ ...document, enrolment: { startDate: null, endDate: null } }),
    }
    this.#classes.set(key, shared)
    return shared
  }
}

/** False for the single row of a student without classes. */
export const hasClass = (row: ClassRow) => row.document !== null

export function classOf({ shared, enrolment }: ClassOfStudent) {
  return { ...shared.document, enrolment }
}

export function spanFor({ shared, enrolment }: ClassOfStudent): Span {
  return { start: enrolment.startDate ?? shared.span.start, end: enrolment.endDate ?? shared.span.end }
}

function profileOf(student: StudentRow) {
  const { school_id: schoolId, school_name: name } = student
  return {
    userId: student.person_id,
    studentNumber: student.student_number,
    firstname: student.firstname,
    lastname: student.lastname,
    preferredName: student.preferred_name,
    pronouns: student.pronouns,
    email: student.email,
    year: student.year,
    school: schoolId === null ? null : { schoolId, name: name ?? '' },
    updatedAt: timestamp(student.student_updated_at),
  }
}
