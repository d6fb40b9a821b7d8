import { eventHappened } from '../../messages/events/events.ts'
import { type Db, type Statement, statement } from '../../platform/db/db.ts'
import { lockAll, lockOne } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import { type Person, personList } from '../people/people.ts'

/** A member of staff; `may` is a comma-separated list of rights. */
export type StaffRow = Person<'staff'> & { readonly may: string }

const staffColumns = `${personList('p')}, p.may`
const isActive = "p.role = 'staff' and p.status = 'active'"

export function staffByAddress(db: Db, addressKey: string): Promise<StaffRow | undefined> {
  return db.one<StaffRow>(`select ${staffColumns} from person p where ${isActive} and p.email_key = $1`, [
    addressKey,
  ])
}

export function staffById(db: Db, id: string): Promise<StaffRow | undefined> {
  return db.one<StaffRow>(`select ${staffColumns} from person p where ${isActive} and p.id = $1`, [id])
}

export function allStaff(db: Db): Promise<StaffRow[]> {
  return db.all<StaffRow>(
    `select ${staffColumns} from person p where ${isActive} order by p.created_at, p.id`,
  )
}

export interface NewStaff {
  readonly id: string
  readonly email: string
  readonly email_key: string
  readonly firstname: string
  readonly lastname: string
  readonly may: string
  readonly created_at: number
}

export const lockStaffAt = (addressKey: string) =>
  lockOne<{ id: string }>(
    'staff',
    "select id from person where role = 'staff' and email_key = $1",
    addressKey,
  )

/** Everybody, because a change of one may depend on the rights of the others. */
export const lockStaff = () =>
  lockAll<StaffRow>('staff', `select ${staffColumns} from person p where ${isActive} order by p.id`)

export function addStaff(s: NewStaff, by: By): Statement[] {
  return [
    statement(
      `insert into person (id, role, status, email, email_key, firstname, lastname, created_at, updated_at, activated_at, may)
       values ($1, 'staff', 'active', $2, $3, $4, $5, $6, $6, $6, $7)`,
      s.id,
      s.email,
      s.email_key,
      s.firstname,
      s.lastname,
      s.created_at,
      s.may,
    ),
    eventHappened('staff.added', by, { id: `added.${s.id}`, at: s.created_at, personId: s.id }),
  ]
}

export function changeStaff(
  { id, firstname, lastname, may }: StaffRow,
  { now, eventId }: { now: number; eventId: string },
  by: By,
): Statement[] {
  return [
    statement(
      'update person set firstname = $1, lastname = $2, may = $3, updated_at = $4 where id = $5',
      firstname,
      lastname,
      may,
      now,
      id,
    ),
    eventHappened('staff.changed', by, { id: eventId, at: now, personId: id }),
  ]
}

/** Name and address stay, because the audit trail names this person; the address can be given to somebody new. */
export function removeStaff(id: string, now: number, by: By): Statement[] {
  return [
    statement(
      "update person set status = 'removed', email_key = null, updated_at = $1, closed_at = $1 where id = $2",
      now,
      id,
    ),
    eventHappened('staff.removed', by, { id: `removed.${id}`, at: now, personId: id }),
  ]
}
