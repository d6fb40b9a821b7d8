import { type Db, locking, type Statement, statement } from '../db/db.ts'
import { insertEvents } from '../events/events.ts'

export type Role = 'veterinarian' | 'student'
export type Status = 'pending' | 'active' | 'inactive' | 'suspended' | 'closed'

/** Of an account what is the same for either role. */
export interface Member {
  readonly id: string
  readonly role: Role
  readonly status: Status
  /** The number of the roster that held when a student's session was read. */
  readonly roster?: number
}

export interface Person extends Member {
  readonly email: string
  readonly email_key: string
  readonly firstname: string
  readonly lastname: string
  readonly created_at: number
  readonly updated_at: number
  readonly confirm_before: number | null
  /** When the owner gave or confirmed the names while signed in. */
  readonly confirmed_at: number | null
  /** When a member of staff checked who this is. */
  readonly verified_at: number | null
}

export const personColumns = (alias: string) =>
  [
    'id',
    'role',
    'status',
    'email',
    'email_key',
    'firstname',
    'lastname',
    'created_at',
    'updated_at',
    'confirm_before',
    'confirmed_at',
    'verified_at',
  ]
    .map((column) => `${alias}.${column}`)
    .join(', ')

export function personById(db: Db, id: string): Promise<Person | undefined> {
  return db.one<Person>(`select ${personColumns('p')} from account p where p.id = $1`, [id])
}

/** Moves a person from one status to another, and writes it down if it happened. */
export function changeStatus(change: {
  personId: string
  from: Status
  to: Status
  event: string
  eventId: string
  now: number
}): Statement[] {
  return [
    statement(
      'update person set status = $1, updated_at = $2 where id = $3 and status = $4 returning id',
      change.to,
      change.now,
      change.personId,
      change.from,
    ),
    statement(
      `${insertEvents}
       select $1, p.updated_at, $2, p.id, null, '{}' from person p
       where p.id = $3 and p.status = $4 and p.updated_at = $5
       on conflict (id) do nothing`,
      change.eventId,
      change.event,
      change.personId,
      change.to,
      change.now,
    ),
  ]
}

/** Makes whoever changes this account at the same time wait, so that what follows sees what was decided. */
export function lockPerson(personId: string): Statement {
  return locking('select id from person where id = $1', personId)
}
