/**
 * Students: on the roster, active; off it, inactive; the roster alone makes and changes them. Here they sign in by
 * the address that it has for them and read their profile and classes, also as a calendar (`feed.ts`).
 */
import type { Db } from '../db/db.ts'
import { AppError } from '../errors.ts'
import { type Clock, timestamp } from '../lib/clock.ts'
import { type Person, personById, type RoleRules } from '../people/people.ts'
import { historyOf } from '../session/session.ts'
import { type CalendarEntry, writeCalendar } from './calendar.ts'
import { byStart, dayIn, isWhen, type When } from './classes.ts'
import { type ClassRow, feedOf, personIdByAddress, type StudentRow, studentWithClasses } from './store.ts'

export interface StudentDeps {
  readonly db: Db
  readonly clock: Clock
  readonly timeZone: string
}

interface ClassReply extends Omit<CalendarEntry, 'key'> {
  readonly classId: string
  readonly kind: string
}

export class Students implements RoleRules {
  readonly role = 'student'
  readonly #db: Db
  readonly #clock: Clock
  readonly #dayOf: (now: number) => string

  constructor({ db, clock, timeZone }: StudentDeps) {
    this.#db = db
    this.#clock = clock
    this.#dayOf = dayIn(timeZone)
  }

  async findAccount(addressKey: string): Promise<Person | undefined> {
    const personId = await personIdByAddress(this.#db, addressKey)
    return personId === undefined ? undefined : personById(this.#db, personId)
  }

  async profileOf(person: Person) {
    return (await this.#read(person)).profile
  }

  async classes(person: Person, when: When): Promise<ClassReply[]> {
    return this.#select((await this.#read(person)).classes, when)
  }

  async export(person: Person) {
    const [{ profile, classes }, feed, history] = await Promise.all([
      this.#read(person),
      feedOf(this.#db, person.id),
      historyOf(this.#db, person.id),
    ])
    return {
      exportedAt: timestamp(this.#clock.now()),
      profile,
      classes: this.#select(classes, 'all'),
      calendar: feed ? { createdAt: timestamp(feed.created_at) } : null,
      ...history,
    }
  }

  /** All classes as iCalendar; nothing for who is not on the roster. */
  async calendar(personId: string): Promise<string | undefined> {
    const rows = await studentWithClasses(this.#db, personId)
    const [student] = rows
    if (!student) return undefined
    const entries = rows.flatMap((row) =>
      classReply(row).map((entry) => ({ ...entry, key: `${personId} ${row.enrolment_id} ${entry.classId}` })),
    )
    const name = student.school_name ?? 'Chiron'
    return writeCalendar({ name, entries: entries.sort(byStart), now: this.#clock.now() })
  }

  async #read(person: Person) {
    const rows = await studentWithClasses(this.#db, person.id)
    const [student] = rows
    // Left the roster since the token was looked at.
    if (!student) throw new AppError('session-ended')
    const classes = rows.flatMap((row) => classReply(row))
    const groups = this.#select(classes, 'current').map(({ classId, title, kind }) => ({
      classId,
      title,
      kind,
    }))
    return { classes, profile: { ...profileFields(student), status: person.status, groups } }
  }

  #select(classes: ClassReply[], when: When): ClassReply[] {
    const today = this.#dayOf(this.#clock.now())
    return classes.filter((entry) => isWhen(entry, when, today)).sort(byStart)
  }
}

function profileFields(student: StudentRow) {
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

function classReply({ document, start_date, end_date, class_updated_at }: ClassRow): ClassReply[] {
  if (document === null) return []
  const enrolment = { startDate: start_date, endDate: end_date }
  return [{ ...JSON.parse(document), enrolment, updatedAt: timestamp(class_updated_at!) }]
}
