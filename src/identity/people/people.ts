/**
 * Accounts of any role: who has an address, and the state of the account. What differs by role (how an account is
 * created, what its profile shows) is in `veterinarian/` and `student/`, which sign-in, session and mail use through
 * `RoleRules`.
 */

import { type EventType, eventHappened, eventOf, noteOn } from '../../messages/events/events.ts'
import type { FindRecipient } from '../../messages/mail/outbox.ts'
import type { Statement } from '../../platform/db/db.ts'
import { type Decision, decision } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import type { Clock } from '../../platform/lib/clock.ts'
import { newId } from '../../platform/lib/random.ts'
import type { Role, ServedRole } from '../../roles.ts'
import { canBecome, canSignIn } from './rules.ts'
import { type Person, type PersonInSession, personLock, setStatus } from './store.ts'

export { accounts, accountTables, accountValues, personList, personNames } from './columns.ts'
export { canSignIn } from './rules.ts'
export { type Status, statuses } from './statuses.ts'
export type { LostBy, Person, PersonInSession } from './store.ts'
export {
  activation,
  hasAccountAt,
  namesOf,
  personById,
  personLock,
  prunePeople,
  readAccount,
  readPerson,
} from './store.ts'

export interface RoleRules {
  readonly role: Role
  /** The account of an address in any status; undefined once it has lapsed or was closed. */
  findAccount(addressKey: string): Promise<Person | undefined>
  /** The account of an address that the school has but does not let sign in. */
  findDisabled?(addressKey: string): Promise<Person | undefined>
  /** Whether an active account still exists: a student must still be on the roster. */
  isPresent(person: PersonInSession): boolean | Promise<boolean>
  /** The event of the first sign-in, if accounts start as pending. */
  readonly firstSignIn: EventType | null
  profileOf(person: Person): object | Promise<object>
  factsOf(person: PersonInSession): Promise<Facts>
}

/** What applications may learn about somebody of any role. */
export interface Facts {
  readonly firstname: string
  readonly lastname: string
  readonly preferredName: string | null
  readonly email: string
  readonly studentNumber: string | null
  readonly year: number | null
  readonly school: string | null
  /** Whether the school has checked who a veterinarian is; it knows all others. */
  readonly verified: boolean
  readonly updatedAt: number
}

/** Of somebody whom the roster does not have. */
export function factsOf({ role, firstname, lastname, email, verified_at, updated_at }: Person): Facts {
  const fromRoster = { preferredName: null, studentNumber: null, year: null, school: null }
  const verified = role !== 'veterinarian' || verified_at !== null
  return { firstname, lastname, email, ...fromRoster, verified, updatedAt: updated_at }
}

export type Roles = Readonly<Record<Role, RoleRules>>

/** Roles whose names come from the school; others choose their own. */
const namedBySchool: Readonly<Record<Role, boolean>> = { veterinarian: false, student: true, staff: true }

/** Finds the owner of an address. */
export function recipientsIn(roles: Roles, clock: Clock): FindRecipient {
  return async (role, addressKey) => {
    const rules = roles[role]
    const person = (await rules.findAccount(addressKey)) ?? (await rules.findDisabled?.(addressKey))
    if (!person) return undefined
    const { id, email, status } = person
    const firstname = namedBySchool[role] || person.confirmed_at !== null ? person.firstname : null
    return { id, email, status, firstname, canSignIn: canSignIn(person, clock.now()) }
  }
}

/** Who changes an account, and why. */
export interface Action {
  readonly by: By
  readonly note: string | null
  readonly now: number
}

/**
 * Suspends or reactivates somebody, and writes `also` with it. The result is whether anything has changed. Whoever is
 * suspended must lose their sessions with it.
 */
export function changingStatus(
  { id, role }: Person<ServedRole>,
  to: 'active' | 'suspended',
  { by, note, now }: Action,
  also: readonly Statement[] = [],
): Decision<boolean> {
  const eventId = newId()
  const event = eventOf(role, to === 'suspended' ? 'suspended' : 'reactivated')
  return decision({ person: personLock(id) }, ({ person }) => {
    if (!person || !canBecome(person.status, to)) return { result: false }
    const happened = eventHappened(event, by, { id: eventId, at: now, personId: id })
    return { writes: [setStatus(id, to, now), happened, ...noteOn(eventId, id, note), ...also], result: true }
  })
}
