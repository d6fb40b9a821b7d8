/**
 * Accounts of any role: who has an address, and the state of the account. What differs by role (how an account is
 * created, what its profile shows) is in `veterinarian/` and `student/`, which sign-in, session and mail use through
 * `RoleRules`.
 */
import type { Db } from '../db/db.ts'
import { type EventType, eventOf } from '../events/events.ts'
import type { Role } from '../lib/roles.ts'
import { changeStatus, type Member, type Person } from './store.ts'

export type { Member, Person } from './store.ts'
export { lockPerson, personById, personColumns, statuses } from './store.ts'

export interface RoleRules {
  readonly role: Role
  /** The account of an address in any status; undefined once it has lapsed or was closed. */
  findAccount(addressKey: string): Promise<Person | undefined>
  /** Whether an active account still exists: a student must still be on the roster. */
  isPresent(person: Member): boolean | Promise<boolean>
  /** The event of the first sign-in, if accounts start as pending. */
  readonly firstSignIn: EventType | null
  profileOf(person: Person): object | Promise<object>
}

export type Roles = Readonly<Record<Role, RoleRules>>

/** Roles whose names come from the school; others choose their own. */
export const namedBySchool: Readonly<Record<Role, boolean>> = { veterinarian: false, student: true }

export function canSignIn(person: Person, now: number): boolean {
  if (person.status === 'active') return true
  return person.status === 'pending' && person.confirm_before !== null && person.confirm_before > now
}

/** The caller must end the person's sessions in the same transaction. */
export const suspension = (person: Person, now: number) =>
  changeStatus({
    personId: person.id,
    from: 'active',
    to: 'suspended',
    event: eventOf(person.role, 'suspended'),
    eventId: `suspended.${person.id}.${now}`,
    now,
  })

export async function reactivate(db: Db, person: Person, now: number): Promise<boolean> {
  const [changed] = await db.tx(
    changeStatus({
      personId: person.id,
      from: 'suspended',
      to: 'active',
      event: eventOf(person.role, 'reactivated'),
      eventId: `reactivated.${person.id}.${now}`,
      now,
    }),
  )
  return changed!.length > 0
}
