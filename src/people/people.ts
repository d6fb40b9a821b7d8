/**
 * Accounts of any role: who has an address, and in which state the account is. What is particular to a role
 * (how an account comes to be, what its profile shows) belongs to `veterinarian/` and `student/`, which describe
 * themselves to sign-in, session and mail as a `RoleRules`.
 */
import type { Db } from '../db/db.ts'
import { type EventType, eventOf } from '../events/events.ts'
import type { Role } from '../lib/roles.ts'
import { changeStatus, type Member, type Person } from './store.ts'

export type { Member, Person } from './store.ts'
export { lockPerson, personById, personColumns, statuses } from './store.ts'

export interface RoleRules {
  readonly role: Role
  /** The account behind an address, whatever its status; nothing once it has lapsed or was closed. */
  findAccount(addressKey: string): Promise<Person | undefined>
  /** Whether an active account is one still: a student's is, as long as the roster has it. */
  isPresent(member: Member): boolean | Promise<boolean>
  /** What the first sign-in of an account is called, if accounts wait for one. */
  readonly firstSignIn: EventType | null
  profileOf(person: Person): object | Promise<object>
}

export type Roles = Readonly<Record<Role, RoleRules>>

/** Whose names are the school's own; others may have given any. */
export const namedBySchool: Readonly<Record<Role, boolean>> = { veterinarian: false, student: true }

/** Whether a right code may sign this account in. */
export function canSignIn(person: Person, now: number): boolean {
  if (person.status === 'active') return true
  return person.status === 'pending' && person.confirm_before !== null && person.confirm_before > now
}

/** An operator's lock. The caller ends the person's sessions in the same transaction. */
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
