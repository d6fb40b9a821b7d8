/**
 * Students are active while they are on the roster; only the roster creates and changes them. They sign in with the
 * address on the roster and read their profile and classes, also as a calendar (`feed.ts`).
 */

import { AppError } from '../../errors.ts'
import { applicationsOf } from '../../identity/clients/clients.ts'
import { passkeysOf } from '../../identity/passkeys/passkeys.ts'
import {
  type Facts,
  type Person,
  type PersonInSession,
  personById,
  type RoleRules,
} from '../../identity/people/people.ts'
import { linksOf } from '../../identity/school-account/school-account.ts'
import { historyOf } from '../../identity/session/session.ts'
import type { Context } from '../../platform/context.ts'
import type { Db } from '../../platform/db/db.ts'
import { type Clock, timestamp, timestampOrNull } from '../../platform/lib/clock.ts'
import { writeCalendar } from './calendar.ts'
import { byStart, dayIn, isWhen, type When } from './classes.ts'
import { readDocument } from './document.ts'
import {
  disabledByAddress,
  type FeedRow,
  feedsOf,
  isOnRoster,
  personIdByAddress,
  studentWithClasses,
} from './store.ts'
import { type TaughtClass, teachingOf } from './teaching.ts'
import { type ClassOfStudent, classOf, hasClass, spanFor, type Timetable, Timetables } from './timetable.ts'

export type { When } from './classes.ts'
export { readDocument } from './document.ts'
export { endFeedsOfMoved, unlinkTeachers } from './store.ts'
export { keepTeaching } from './teaching.ts'

export class Students implements RoleRules {
  readonly role = 'student'
  readonly firstSignIn = null
  readonly #db: Db
  readonly #clock: Clock
  readonly #timeZone: string
  readonly #dayOf: (now: number) => string
  readonly #timetables: Timetables

  constructor({ db, clock, timeZone }: Pick<Context, 'db' | 'clock' | 'timeZone'>) {
    this.#db = db
    this.#clock = clock
    this.#timeZone = timeZone
    this.#dayOf = dayIn(timeZone)
    this.#timetables = new Timetables(db)
  }

  async findAccount(addressKey: string): Promise<Person | undefined> {
    const personId = await personIdByAddress(this.#db, addressKey)
    return personId === undefined ? undefined : personById(this.#db, personId)
  }

  async findDisabled(addressKey: string): Promise<Person | undefined> {
    const found = await disabledByAddress(this.#db, addressKey)
    const person = found && (await personById(this.#db, found.person_id))
    return person && { ...person, email: found.email, email_key: addressKey }
  }

  isPresent(student: PersonInSession): boolean | Promise<boolean> {
    return this.#timetables.known(student) !== undefined || isOnRoster(this.#db, student.id)
  }

  async profileOf(student: PersonInSession) {
    return this.#profile(await this.#timetable(student))
  }

  async factsOf(student: PersonInSession): Promise<Facts> {
    const { profile } = await this.#timetable(student)
    const { firstname, lastname, preferredName, email, studentNumber, year, school, updatedAt } = profile
    const names = { firstname, lastname, preferredName, email }
    const ofRoster = { studentNumber, year, school: school?.name ?? null, verified: true }
    return { ...names, ...ofRoster, updatedAt: Date.parse(updatedAt) }
  }

  async classes(student: PersonInSession, when: When) {
    return this.#select(await this.#timetable(student), when).map(classOf)
  }

  /** The classes that a veterinarian teaches, and who is in them. */
  async taughtBy(veterinarian: Pick<Person, 'id' | 'email_key'>, when: When): Promise<TaughtClass[]> {
    const today = this.#dayOf(this.#clock.now())
    const taught = await teachingOf(this.#db, veterinarian)
    return taught
      .filter(({ spans }) => spans.some((span) => isWhen(span, when, today)))
      .map(({ entry }) => entry)
  }

  async export(student: PersonInSession) {
    const [timetable, feeds, passkeys, applications, schoolLinks, history] = await Promise.all([
      this.#timetable(student),
      feedsOf(this.#db, student.id),
      passkeysOf(this.#db, student.id),
      applicationsOf(this.#db, student.id),
      linksOf(this.#db, student.id),
      historyOf(this.#db, student.id),
    ])
    return {
      exportedAt: timestamp(this.#clock.now()),
      profile: this.#profile(timetable),
      classes: timetable.classes.map(classOf),
      calendarFeeds: feeds.map(feedView),
      passkeys,
      applications,
      schoolLinks,
      ...history,
    }
  }

  /** All classes as iCalendar; undefined for somebody who is not on the roster. */
  async calendar(personId: string): Promise<string | undefined> {
    const rows = await studentWithClasses(this.#db, personId)
    const [student] = rows
    if (!student) return undefined
    const entries = rows.filter(hasClass).map((row) => {
      const entry = readDocument(row.document!, row.class_updated_at!)
      return {
        ...entry,
        key: `${personId} ${row.enrolment_id} ${entry.classId}`,
        enrolment: { startDate: row.start_date, endDate: row.end_date },
      }
    })
    const name = student.school_name ?? 'Chiron'
    const now = this.#clock.now()
    return writeCalendar({ name, entries: entries.sort(byStart), timeZone: this.#timeZone, now })
  }

  async #timetable(student: PersonInSession): Promise<Timetable> {
    const timetable = this.#timetables.known(student) ?? (await this.#timetables.of(student))
    // The student left the roster after the token was checked.
    if (!timetable) throw new AppError('session-ended')
    return timetable
  }

  /** Only signed-in students see it, so the status is active. */
  #profile(timetable: Timetable) {
    const groups = this.#select(timetable, 'current').map(({ shared: { document } }) => ({
      classId: document.classId,
      title: document.title,
      kind: document.kind,
    }))
    return { ...timetable.profile, status: 'active' as const, groups }
  }

  #select({ classes }: Timetable, when: When): readonly ClassOfStudent[] {
    const today = this.#dayOf(this.#clock.now())
    return classes.filter((entry) => isWhen(spanFor(entry), when, today))
  }
}

/** Without the address, which is not kept. */
export function feedView({ id, name, created_at, last_read_at }: FeedRow) {
  return {
    feedId: id,
    name,
    createdAt: timestamp(created_at),
    lastReadAt: timestampOrNull(last_read_at),
  }
}
