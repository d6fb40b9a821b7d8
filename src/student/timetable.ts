/**
 * Students with their classes, kept between requests. What the roster says changes only when another one is published,
 * and every caller arrives with the number of the one that holds (`Member.roster`): under the same number nothing need
 * be read again. A class is kept once for all of its students.
 */
import type { Db } from '../db/db.ts'
import { timestamp } from '../lib/clock.ts'
import { Recent } from '../lib/recent.ts'
import type { Member } from '../people/people.ts'
import { byStart, type Span, spanOf } from './classes.ts'
import { type ClassRow, type StudentRow, studentWithClasses } from './store.ts'

const studentsMax = 25_000
const classesMax = 10_000

/** As the import made it (roster/documents.ts). */
interface ClassDocument {
  classId: string
  code: string | null
  title: string
  kind: 'course' | 'homeroom' | 'rotation' | 'practical' | 'tutorial'
  course: { courseId: string; code: string | null; title: string }
  school: { schoolId: string; name: string }
  terms: { termId: string; title: string; startDate: string; endDate: string }[]
  teachers: { firstname: string; lastname: string; email: string | null; primary: boolean }[]
  location: string | null
  periods: string[]
  subjects: string[]
}

/** What all of its students see of a class. */
interface SharedClass {
  readonly document: ClassDocument & { readonly updatedAt: string }
  readonly span: Span
}

export interface ClassOfStudent {
  readonly shared: SharedClass
  /** The student's own dates. */
  readonly enrolment: { startDate: string | null; endDate: string | null }
}

export interface Timetable {
  readonly roster: number
  /** All of the profile but what depends on the day and the account. */
  readonly profile: ReturnType<typeof profileOf>
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

  /** As far as it is known without asking. */
  known(member: Member): Timetable | undefined {
    const kept = this.#kept.get(member.id)
    return kept?.roster === member.roster ? kept : undefined
  }

  /** Read anew. Nothing for who is not on the roster. */
  async of(member: Member): Promise<Timetable | undefined> {
    const rows = await studentWithClasses(this.#db, member.id)
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
    this.#kept.set(member.id, timetable)
    return timetable
  }

  #share(row: ClassRow): SharedClass {
    const key = `${row.class_updated_at} ${row.document}`
    const known = this.#classes.get(key)
    if (known) return known
    const document = JSON.parse(row.document!) as ClassDocument
    const shared = {
      document: { ...document, updatedAt: timestamp(row.class_updated_at!) },
      span: spanOf({ ...document, enrolment: { startDate: null, endDate: null } }),
    }
    this.#classes.set(key, shared)
    return shared
  }
}

/** False for the one row of a student without classes. */
export const hasClass = (row: ClassRow) => row.document !== null

/** The class as the student sees it. */
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
