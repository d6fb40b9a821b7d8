/**
 * Students with their classes, kept between requests as the JSON texts that replies are made of. What the roster says
 * changes only when another one is published, and every caller arrives with the number of the one that holds
 * (`Member.roster`): under the same number nothing need be read again. A class is kept once for all of its students.
 */
import type { Db } from '../db/db.ts'
import { timestamp } from '../lib/clock.ts'
import { Recent } from '../lib/recent.ts'
import type { Member } from '../people/people.ts'
import { byStart, type Dated, type Span, spanOf } from './classes.ts'
import { type ClassRow, type StudentRow, studentWithClasses } from './store.ts'

const studentsMax = 25_000
const classesMax = 10_000

/** What all of its students see of a class. */
interface SharedClass extends Omit<Dated, 'enrolment'> {
  readonly span: Span
  /** As one of the groups of a profile. */
  readonly group: string
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
  /** The profile's JSON up to what depends on the day and the account. */
  readonly profile: string
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
      .map((row) => ({ shared: this.#share(row), startDate: row.start_date, endDate: row.end_date }))
      .sort((a, b) => byStart({ ...a.shared, enrolment: a }, { ...b.shared, enrolment: b }))
    const timetable = {
      roster: first.roster,
      profile: JSON.stringify(profileOf(first)).slice(0, -1),
      classes,
    }
    this.#kept.set(member.id, timetable)
    return timetable
  }

  #share(row: ClassRow): SharedClass {
    const key = `${row.class_updated_at} ${row.document}`
    const known = this.#classes.get(key)
    if (known) return known
    const { classId, kind, title, terms } = JSON.parse(row.document!) as ClassReply
    const shared = {
      group: JSON.stringify({ classId, title, kind }),
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

const date = (text: string | null) => (text === null ? 'null' : `"${text}"`)

/** The class as it is sent. */
export function jsonOf({ shared, startDate, endDate }: ClassOfStudent): string {
  return `${shared.before}${date(startDate)},"endDate":${date(endDate)}${shared.after}`
}
