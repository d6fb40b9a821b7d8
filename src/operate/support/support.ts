/**
 * Actions of staff and operators on accounts: find, show, suspend, sign out, verify, change address, close. The routes
 * for staff and the commands both call this; the rules are here and in the features.
 */
import { AppError, invalidField } from '../../errors.ts'
import { passkeysOf } from '../../identity/passkeys/passkeys.ts'
import {
  type Action,
  changingStatus,
  namesOf,
  type Person,
  type Status,
} from '../../identity/people/people.ts'
import { linksOf, type SchoolAccounts } from '../../identity/school-account/school-account.ts'
import { endSessions, historyOf, type Sessions } from '../../identity/session/session.ts'
import { deliveriesOf } from '../../messages/delivery/delivery.ts'
import { eventsOf, eventView, numberEvents } from '../../messages/events/events.ts'
import type { Context } from '../../platform/context.ts'
import type { Address } from '../../platform/lib/address.ts'
import type { By } from '../../platform/lib/by.ts'
import { timestamp } from '../../platform/lib/clock.ts'
import { folded } from '../../platform/lib/folded.ts'
import { isId } from '../../platform/lib/random.ts'
import type { ServedRole } from '../../roles.ts'
import { spanOf } from '../../school/student/classes.ts'
import type { Students } from '../../school/student/student.ts'
import type { Veterinarians } from '../../school/veterinarian/veterinarian.ts'
import { markFrom, markText, orderOf, startOf } from './order.ts'
import { mayBeMisspelt, slipsBetween } from './similar.ts'
import type { Sort } from './sorts.ts'
import {
  type Named,
  namesInTurn,
  type ServedPerson,
  servedById,
  servedByKey,
  servedInOrder,
  type Verified,
} from './store.ts'

export type { SharedFigures } from './overview.ts'
export { type Sort, sorts } from './sorts.ts'
export { verifiedStates } from './store.ts'

interface Deps extends Pick<Context, 'db' | 'clock'> {
  readonly sessions: Sessions
  readonly veterinarians: Veterinarians
  readonly students: Students
  readonly schoolAccounts: SchoolAccounts
}

export interface Search {
  /** Words of a name, an address or a number, in any order; empty for everybody. */
  readonly text: string
  readonly role?: ServedRole
  readonly status?: string
  readonly year?: number
  readonly verified?: Verified
  /** Only people whose profile or status has changed since; epoch milliseconds. Closed accounts are included. */
  readonly updatedSince?: number
  /** By name if not given, or by the time of the last change with `updatedSince`. */
  readonly sort?: Sort
  /** The `next` value of the previous page. */
  readonly after?: string
  readonly limit: number
}

/** Words after these are ignored. */
const wordsMax = 10
const noteMax = 1_000
const similarMax = 200

export class Support {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** If no order is asked for, exact addresses, student numbers and ids come first. */
  async find({ text, role: asked, status, year, verified, updatedSince, sort: order, after, limit }: Search) {
    const { db } = this.#deps
    const role = verified !== undefined ? 'veterinarian' : year !== undefined ? 'student' : asked
    const sort = order ?? (updatedSince === undefined ? 'name' : 'updated')
    const start = after === undefined ? startOf(orderOf(sort)) : markFrom(sort, after)
    const isImpossible = verified !== undefined && year !== undefined
    if (isImpossible || (asked !== undefined && asked !== role)) return pageOf([], null)
    const words = folded(text).split(/\s+/).filter(Boolean).slice(0, wordsMax)
    const isWanted = (person: ServedPerson) =>
      (person.status !== 'closed' || status === 'closed') &&
      (role === undefined || person.role === role) &&
      (status === undefined || person.status === status) &&
      (year === undefined || person.year === year) &&
      (verified === undefined || verifiedOf(person).includes(verified)) &&
      (updatedSince === undefined || person.updated_at >= updatedSince)
    const exact =
      words.length === 1 && order === undefined ? (await servedByKey(db, text.trim())).filter(isWanted) : []
    const found = after === undefined ? exact.slice(0, limit) : []
    let last = start
    const wanted = { words, role, status, year, verified, since: updatedSince }
    const from = { after: start, atOnce: limit + exact.length + 1 }
    for await (const one of servedInOrder(db, orderOf(sort), wanted, from)) {
      if (!exact.some(({ id }) => id === one.person.id)) {
        if (found.length >= limit) return pageOf(found, markText(sort, last))
        found.push(one.person)
      }
      last = one.mark
    }
    if (found.length > 0 || after !== undefined || !mayBeMisspelt(words)) return pageOf(found, null)
    const similar = (await this.#similarTo(words)).filter(isWanted)
    return { ...pageOf(similar.slice(0, limit), null), similar: similar.length > 0 }
  }

  /** People whose names are nearly these words, the most similar first. */
  async #similarTo(words: readonly string[]): Promise<ServedPerson[]> {
    const { db } = this.#deps
    const similar: (Named & { readonly slips: number })[] = []
    for await (const some of namesInTurn(db))
      for (const one of some) {
        const slips = slipsBetween(words, one.name)
        if (slips !== undefined) similar.push({ ...one, slips })
      }
    similar.sort((a, b) => a.slips - b.slips || (a.name < b.name ? -1 : 1))
    const people = await Promise.all(similar.slice(0, similarMax).map(({ id }) => servedById(db, id)))
    return people.filter((person) => person !== undefined)
  }

  async show(userId: string) {
    const person = await this.#person(userId)
    const { db } = this.#deps
    await numberEvents(db)
    const [{ sessions, deliveries }, events, classes, passkeys, schoolLinks] = await Promise.all([
      historyOf(db, person.id, deliveriesOf),
      eventsOf(db, person.id),
      this.#classes(person),
      passkeysOf(db, person.id),
      linksOf(db, person.id),
    ])
    return {
      profile: detailOf(person),
      classes,
      passkeys,
      schoolLinks,
      sessions,
      deliveries,
      events: events.map((event) => ({ ...eventView(event), note: event.note })),
      names: await namesOf(db, [...new Set(events.map(({ actor }) => actor))]),
    }
  }

  /** This and the following methods return whether something changed. */
  async suspend(userId: string, reason: string | null, by: By): Promise<boolean> {
    const person = await this.#open(userId)
    if (person.status === 'suspended') return false
    mustBe(person, 'active', 'suspended')
    const action = this.#action(by, reason)
    const ending = endSessions({ personId: person.id }, 'account', action.now, by)
    return this.#deps.db.decide(changingStatus(person, 'suspended', action, ending))
  }

  async reactivate(userId: string, reason: string | null, by: By): Promise<boolean> {
    const person = await this.#open(userId)
    if (person.status === 'active') return false
    mustBe(person, 'suspended', 'reactivated')
    return this.#deps.db.decide(changingStatus(person, 'active', this.#action(by, reason)))
  }

  /** Returns how many sessions have ended. */
  async signOut(userId: string, by: By): Promise<number> {
    const person = await this.#open(userId)
    return this.#deps.sessions.endAll(person.id, 'revoked', by)
  }

  /** The next sign-in with a school account is matched to the roster again. */
  async disconnect(userId: string, providerId: string, by: By): Promise<void> {
    const person = await this.#open(userId)
    await this.#deps.schoolAccounts.unlink(person.id, providerId, by, null)
  }

  /**
   * With `seenAt`, only if the profile has not changed since: a badge must not go to a name or an address that nobody
   * has checked.
   */
  async verify(userId: string, note: string | null, by: By, seenAt?: number): Promise<boolean> {
    const person = await this.#verifiable(userId, 'verified')
    if (seenAt !== undefined && seenAt !== person.updated_at) throw refused(hasChanged)
    return person.verified_at === null && this.#setVerified(person, true, this.#action(by, note))
  }

  /** Also dismisses a verification that a change has cleared. */
  async unverify(userId: string, note: string | null, by: By): Promise<boolean> {
    const person = await this.#verifiable(userId, 'unverified')
    const isSo = verifiedOf(person).every((state) => state === 'false')
    return !isSo && this.#setVerified(person, false, this.#action(by, note))
  }

  async #verifiable(userId: string, done: string): Promise<ServedPerson & Person<'veterinarian'>> {
    const person = await this.#veterinarian(userId, done)
    if (person.status === 'pending') throw refused('has not signed in yet and cannot be verified')
    return person
  }

  async #setVerified(
    person: ServedPerson & Person<'veterinarian'>,
    verified: boolean,
    action: Action,
  ): Promise<true> {
    if (await this.#deps.veterinarians.setVerified(person, verified, action)) return true
    throw refused(hasChanged)
  }

  async changeAddress(userId: string, address: Address, reason: string | null, by: By): Promise<boolean> {
    const person = await this.#veterinarian(userId, 'given another address')
    if (person.status === 'pending')
      throw refused('has not signed in yet and can register with another address')
    if (person.email_key === address.key && person.email === address.email) return false
    await this.#deps.veterinarians.changeAddress(person, address, this.#action(by, reason))
    return true
  }

  async close(userId: string, reason: string | null, by: By): Promise<void> {
    const person = await this.#veterinarian(userId, 'closed')
    await this.#deps.veterinarians.close(person, by, noteOf(reason))
  }

  async export(userId: string): Promise<object> {
    const person = await this.#open(userId)
    const { veterinarians, students } = this.#deps
    return isVeterinarian(person) ? veterinarians.export(person) : students.export(person)
  }

  /** Finds a person by id, exact address or student number, and returns the id. */
  async idOf(text: string): Promise<string> {
    const found = await servedByKey(this.#deps.db, text.trim())
    if (found.length === 1) return found[0]!.id
    if (found.length === 0) throw new AppError('not-found', `Nobody has the id, address or number ${text}.`)
    const ids = found.map(({ id, role }) => `${id} (${role})`).join(', ')
    throw new AppError('not-found', `${text} matches several people: ${ids}.`)
  }

  /** The classes that a student attends or a veterinarian teaches, by start. */
  async #classes(person: ServedPerson) {
    const { veterinarians, students } = this.#deps
    if (isVeterinarian(person)) {
      if (person.status !== 'active') return []
      const current = idsOf(await veterinarians.classes(person, 'current'))
      const taught = await veterinarians.classes(person, 'all')
      return taught.map((one) => classView({ ...one, enrolment: noDates }, current, one.students.length))
    }
    if (!(await students.isPresent(person))) return []
    const current = idsOf(await students.classes(person, 'current'))
    return (await students.classes(person, 'all')).map((one) => classView(one, current, null))
  }

  async #person(userId: string): Promise<ServedPerson> {
    const person = isId(userId) ? await servedById(this.#deps.db, userId) : undefined
    if (!person) throw new AppError('not-found', 'Nobody has this id.')
    return person
  }

  async #open(userId: string): Promise<ServedPerson> {
    const person = await this.#person(userId)
    if (person.status === 'closed') throw new AppError('not-found', 'This account is closed.')
    return person
  }

  async #veterinarian(userId: string, done: string): Promise<ServedPerson & Person<'veterinarian'>> {
    const person = await this.#open(userId)
    if (!isVeterinarian(person)) throw refused(`is a student and cannot be ${done}: the roster decides`)
    return person
  }

  #action(by: By, note: string | null): Action {
    return { by, note: noteOf(note), now: this.#deps.clock.now() }
  }
}

const isVeterinarian = (person: ServedPerson): person is ServedPerson & Person<'veterinarian'> =>
  person.role === 'veterinarian'

const hasChanged = 'has changed since you looked; please check again'

const verifiedOf = ({ verified_at, unverified_at }: ServedPerson): Verified[] => [
  verified_at === null ? 'false' : 'true',
  ...(unverified_at === null ? [] : (['lost'] as const)),
]

type ClassOfStudent = Awaited<ReturnType<Students['classes']>>[number]
const noDates = { startDate: null, endDate: null }
const idsOf = (classes: readonly { classId: string }[]) => new Set(classes.map(({ classId }) => classId))

function classView(entry: ClassOfStudent, current: ReadonlySet<string>, students: number | null) {
  const { classId, code, title, kind, location } = entry
  const { start, end } = spanOf(entry)
  return {
    ...{ classId, code, title, kind, location, students },
    startDate: start,
    endDate: end,
    current: current.has(classId),
  }
}

function mustBe(person: ServedPerson, status: Status, done: string): void {
  if (person.status !== status) throw refused(`is ${person.status} and cannot be ${done}`)
}

function refused(why: string): AppError {
  return new AppError('conflict', `This person ${why}.`)
}

function noteOf(text: string | null): string | null {
  const note = text?.trim() ?? ''
  if ([...note].length > noteMax)
    throw invalidField({ pointer: '#', detail: `a reason or note may have at most ${noteMax} characters` })
  return note === '' ? null : note
}

const pageOf = (people: readonly ServedPerson[], next: string | null) => ({
  people: people.map(summaryOf),
  next,
  similar: false,
})

function summaryOf(person: ServedPerson) {
  return {
    userId: person.id,
    role: person.role,
    status: person.status,
    firstname: person.firstname,
    lastname: person.lastname,
    email: person.email,
    studentNumber: person.student_number,
    year: person.year,
    verified: person.verified_at !== null,
    verificationLost:
      person.unverified_at === null
        ? null
        : { at: timestamp(person.unverified_at), because: person.unverified_because! },
    createdAt: timestamp(person.created_at),
    updatedAt: timestamp(person.updated_at),
  }
}

function detailOf(person: ServedPerson) {
  return {
    ...summaryOf(person),
    confirmed: person.confirmed_at !== null,
  }
}
