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
import { feedOf, personIdByAddress, type StudentRow, studentWithClasses } from './store.ts'
import { type ClassOfStudent, hasClass, jsonOf, spanFor, type Timetable, Timetables } from './timetable.ts'

export interface StudentDeps {
  readonly db: Db
  readonly clock: Clock
  readonly timeZone: string
}

export class Students implements RoleRules {
  readonly role = 'student'
  readonly #db: Db
  readonly #clock: Clock
  readonly #dayOf: (now: number) => string
  readonly #timetables: Timetables

  constructor({ db, clock, timeZone }: StudentDeps) {
    this.#db = db
    this.#clock = clock
    this.#dayOf = dayIn(timeZone)
    this.#timetables = new Timetables(db)
  }

  async findAccount(addressKey: string): Promise<Person | undefined> {
    const personId = await personIdByAddress(this.#db, addressKey)
    return personId === undefined ? undefined : personById(this.#db, personId)
  }

  async profileOf(person: Person) {
    return this.#profile(person, await this.#timetable(person))
  }

  /** As JSON texts, which is how they are kept. */
  async classes(person: Person, when: When): Promise<string[]> {
    return this.#select(await this.#timetable(person), when).map(jsonOf)
  }

  async export(person: Person) {
    const [timetable, feed, history] = await Promise.all([
      this.#timetable(person),
      feedOf(this.#db, person.id),
      historyOf(this.#db, person.id),
    ])
    return {
      exportedAt: timestamp(this.#clock.now()),
      profile: this.#profile(person, timetable),
      classes: timetable.classes.map((entry) => JSON.parse(jsonOf(entry))),
      calendar: feed ? { createdAt: timestamp(feed.created_at) } : null,
      ...history,
    }
  }

  /** All classes as iCalendar; nothing for who is not on the roster. */
  async calendar(personId: string): Promise<string | undefined> {
    const rows = await studentWithClasses(this.#db, personId)
    const [student] = rows
    if (!student) return undefined
    const entries = rows.filter(hasClass).map((row) => {
      const entry = JSON.parse(row.document!)
      return {
        ...entry,
        key: `${personId} ${row.enrolment_id} ${entry.classId}`,
        enrolment: { startDate: row.start_date, endDate: row.end_date },
        updatedAt: timestamp(row.class_updated_at!),
      } as CalendarEntry
    })
    const name = student.school_name ?? 'Chiron'
    return writeCalendar({ name, entries: entries.sort(byStart), now: this.#clock.now() })
  }

  async #timetable(person: Person): Promise<Timetable> {
    const timetable = await this.#timetables.of(person)
    // Left the roster since the token was looked at.
    if (!timetable) throw new AppError('session-ended')
    return timetable
  }

  #profile(person: Person, timetable: Timetable) {
    const groups = this.#select(timetable, 'current').map(({ shared: { classId, title, kind } }) => ({
      classId,
      title,
      kind,
    }))
    return { ...profileFields(timetable.student), status: person.status, groups }
  }

  #select({ classes }: Timetable, when: When): readonly ClassOfStudent[] {
    const today = this.#dayOf(this.#clock.now())
    return classes.filter((entry) => isWhen(spanFor(entry), when, today))
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
