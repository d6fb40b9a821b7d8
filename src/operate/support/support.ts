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
import type { Sort } from './sorts.ts'
import { type Client, clientById, clientsByKey, clientsInOrder, type Verified } from './store.ts'

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
    if (isImpossible || (asked !== undefined && asked !== role)) return { people: [], next: null }
    const words = folded(text).split(/\s+/).filter(Boolean).slice(0, wordsMax)
    const isWanted = (client: Client) =>
      (client.status !== 'closed' || status === 'closed') &&
      (role === undefined || client.role === role) &&
      (status === undefined || client.status === status) &&
      (year === undefined || client.year === year) &&
      (verified === undefined || verifiedOf(client).includes(verified)) &&
      (updatedSince === undefined || client.updated_at >= updatedSince)
    const exact =
      words.length === 1 && order === undefined ? (await clientsByKey(db, text.trim())).filter(isWanted) : []
    const found = after === undefined ? exact.slice(0, limit) : []
    const page = (next: string | null) => ({ people: found.map(summaryOf), next })
    let last = start
    const wanted = { words, role, status, year, verified, since: updatedSince }
    const from = { after: start, atOnce: limit + exact.length + 1 }
    for await (const one of clientsInOrder(db, orderOf(sort), wanted, from)) {
      if (!exact.some(({ id }) => id === one.client.id)) {
        if (found.length >= limit) return page(markText(sort, last))
        found.push(one.client)
      }
      last = one.mark
    }
    return page(null)
  }

  async show(userId: string) {
    const client = await this.#client(userId)
    const { db } = this.#deps
    await numberEvents(db)
    const [{ sessions, deliveries }, events, classes, passkeys, schoolLinks] = await Promise.all([
      historyOf(db, client.id, deliveriesOf),
      eventsOf(db, client.id),
      this.#classes(client),
      passkeysOf(db, client.id),
      linksOf(db, client.id),
    ])
    return {
      profile: detailOf(client),
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
    const client = await this.#open(userId)
    if (client.status === 'suspended') return false
    mustBe(client, 'active', 'suspended')
    const action = this.#action(by, reason)
    const ending = endSessions({ personId: client.id }, 'account', action.now, by)
    return this.#deps.db.decide(changingStatus(client, 'suspended', action, ending))
  }

  async reactivate(userId: string, reason: string | null, by: By): Promise<boolean> {
    const client = await this.#open(userId)
    if (client.status === 'active') return false
    mustBe(client, 'suspended', 'reactivated')
    return this.#deps.db.decide(changingStatus(client, 'active', this.#action(by, reason)))
  }

  /** Returns how many sessions have ended. */
  async signOut(userId: string, by: By): Promise<number> {
    const client = await this.#open(userId)
    return this.#deps.sessions.endAll(client.id, 'revoked', by)
  }

  /** The next sign-in with a school account is matched to the roster again. */
  async disconnect(userId: string, providerId: string, by: By): Promise<void> {
    const client = await this.#open(userId)
    await this.#deps.schoolAccounts.unlink(client.id, providerId, by, null)
  }

  /**
   * With `seenAt`, only if the profile has not changed since: a badge must not go to a name or an address that nobody
   * has checked.
   */
  async verify(userId: string, note: string | null, by: By, seenAt?: number): Promise<boolean> {
    const client = await this.#verifiable(userId, 'verified')
    if (seenAt !== undefined && seenAt !== client.updated_at) throw refused(hasChanged)
    return client.verified_at === null && this.#setVerified(client, true, this.#action(by, note))
  }

  /** Also dismisses a verification that a change has cleared. */
  async unverify(userId: string, note: string | null, by: By): Promise<boolean> {
    const client = await this.#verifiable(userId, 'unverified')
    const isSo = verifiedOf(client).every((state) => state === 'false')
    return !isSo && this.#setVerified(client, false, this.#action(by, note))
  }

  async #verifiable(userId: string, done: string): Promise<Client & Person<'veterinarian'>> {
    const client = await this.#veterinarian(userId, done)
    if (client.status === 'pending') throw refused('has not signed in yet and cannot be verified')
    return client
  }

  async #setVerified(
    client: Client & Person<'veterinarian'>,
    verified: boolean,
    action: Action,
  ): Promise<true> {
    if (await this.#deps.veterinarians.setVerified(client, verified, action)) return true
    throw refused(hasChanged)
  }

  async changeAddress(userId: string, address: Address, reason: string | null, by: By): Promise<boolean> {
    const client = await this.#veterinarian(userId, 'given another address')
    if (client.status === 'pending')
      throw refused('has not signed in yet and can register with another address')
    if (client.email_key === address.key && client.email === address.email) return false
    await this.#deps.veterinarians.changeAddress(client, address, this.#action(by, reason))
    return true
  }

  async close(userId: string, reason: string | null, by: By): Promise<void> {
    const client = await this.#veterinarian(userId, 'closed')
    await this.#deps.veterinarians.close(client, by, noteOf(reason))
  }

  async export(userId: string): Promise<object> {
    const client = await this.#open(userId)
    const { veterinarians, students } = this.#deps
    return isVeterinarian(client) ? veterinarians.export(client) : students.export(client)
  }

  /** Finds a person by id, exact address or student number, and returns the id. */
  async idOf(text: string): Promise<string> {
    const found = await clientsByKey(this.#deps.db, text.trim())
    if (found.length === 1) return found[0]!.id
    if (found.length === 0) throw new AppError('not-found', `Nobody has the id, address or number ${text}.`)
    const ids = found.map(({ id, role }) => `${id} (${role})`).join(', ')
    throw new AppError('not-found', `${text} matches several people: ${ids}.`)
  }

  /** The classes that a student attends or a veterinarian teaches, by start. */
  async #classes(client: Client) {
    const { veterinarians, students } = this.#deps
    if (isVeterinarian(client)) {
      if (client.status !== 'active') return []
      const current = idsOf(await veterinarians.classes(client, 'current'))
      const taught = await veterinarians.classes(client, 'all')
      return taught.map((one) => classView({ ...one, enrolment: noDates }, current, one.students.length))
    }
    if (!(await students.isPresent(client))) return []
    const current = idsOf(await students.classes(client, 'current'))
    return (await students.classes(client, 'all')).map((one) => classView(one, current, null))
  }

  async #client(userId: string): Promise<Client> {
    const client = isId(userId) ? await clientById(this.#deps.db, userId) : undefined
    if (!client) throw new AppError('not-found', 'Nobody has this id.')
    return client
  }

  async #open(userId: string): Promise<Client> {
    const client = await this.#client(userId)
    if (client.status === 'closed') throw new AppError('not-found', 'This account is closed.')
    return client
  }

  async #veterinarian(userId: string, done: string): Promise<Client & Person<'veterinarian'>> {
    const client = await this.#open(userId)
    if (!isVeterinarian(client)) throw refused(`is a student and cannot be ${done}: the roster decides`)
    return client
  }

  #action(by: By, note: string | null): Action {
    return { by, note: noteOf(note), now: this.#deps.clock.now() }
  }
}

const isVeterinarian = (client: Client): client is Client & Person<'veterinarian'> =>
  client.role === 'veterinarian'

const hasChanged = 'has changed since you looked; please check again'

const verifiedOf = ({ verified_at, unverified_at }: Client): Verified[] => [
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

function mustBe(client: Client, status: Status, done: string): void {
  if (client.status !== status) throw refused(`is ${client.status} and cannot be ${done}`)
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

function summaryOf(client: Client) {
  return {
    userId: client.id,
    role: client.role,
    status: client.status,
    firstname: client.firstname,
    lastname: client.lastname,
    email: client.email,
    studentNumber: client.student_number,
    year: client.year,
    verified: client.verified_at !== null,
    verificationLost:
      client.unverified_at === null
        ? null
        : { at: timestamp(client.unverified_at), because: client.unverified_because! },
    createdAt: timestamp(client.created_at),
    updatedAt: timestamp(client.updated_at),
  }
}

function detailOf(client: Client) {
  return {
    ...summaryOf(client),
    confirmed: client.confirmed_at !== null,
  }
}
