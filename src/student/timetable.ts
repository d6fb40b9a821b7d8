/**
 * Students with their classes, kept between requests. What the roster says changes only when another one is published,
 * and every caller arrives with the number of the one that holds (`Person.roster`): under the same number nothing need
 * be read again. Students of a class share what they have in common.
 */
import type { Db } from '../db/db.ts'
import { timestamp } from '../lib/clock.ts'
import type { Person } from '../people/people.ts'
import { byStart, type Dated, type Span, spanOf } from './classes.ts'
import { type ClassRow, type StudentRow, studentWithClasses } from './store.ts'

const studentsMax = 25_000
const classesMax = 20_000

export interface ClassReply extends Dated {
  readonly classId: string
  readonly kind: string
}

export interface ClassOfStudent {
  readonly reply: ClassReply
  /** The reply as it is sent. */
  readonly json: string
  readonly span: Span
}

export interface Timetable {
  readonly roster: number
  readonly student: StudentRow
  /** By their start. */
  readonly classes: readonly ClassOfStudent[]
}

export class Timetables {
  readonly #db: Db
  readonly #kept = new Map<string, Timetable>()
  readonly #classes = new Map<string, ClassOfStudent>()

  constructor(db: Db) {
    this.#db = db
  }

  /** Nothing for who is not on the roster. */
  async of(person: Person): Promise<Timetable | undefined> {
    const kept = this.#kept.get(person.id)
    if (kept !== undefined && kept.roster === person.roster) return kept
    const rows = await studentWithClasses(this.#db, person.id)
    const [student] = rows
    if (!student) return undefined
    const classes = rows
      .filter(hasClass)
      .map((row) => this.#classOf(row))
      .sort((a, b) => byStart(a.reply, b.reply))
    const timetable = { roster: student.roster, student, classes }
    if (this.#kept.size >= studentsMax) this.#kept.delete(this.#kept.keys().next().value!)
    this.#kept.set(person.id, timetable)
    return timetable
  }

  #classOf(row: ClassRow): ClassOfStudent {
    const json = classJson(row)
    const known = this.#classes.get(json)
    if (known) return known
    const reply = JSON.parse(json) as ClassReply
    const made = { reply, json, span: spanOf(reply) }
    if (this.#classes.size >= classesMax) this.#classes.clear()
    this.#classes.set(json, made)
    return made
  }
}

/** False for the one row of a student without classes. */
export const hasClass = (row: ClassRow) => row.document !== null

/** The class as its document has it, with what is the student's own. */
export function classJson({ document, start_date, end_date, class_updated_at }: ClassRow): string {
  const enrolment = JSON.stringify({ startDate: start_date, endDate: end_date })
  return `${document!.slice(0, -1)},"enrolment":${enrolment},"updatedAt":"${timestamp(class_updated_at!)}"}`
}
