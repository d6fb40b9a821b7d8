import { eventHappened } from '../../messages/events/events.ts'
import { type Db, insertion, type Statement, update } from '../../platform/db/db.ts'
import { lockAll, lockOne } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import { type Person, personList } from '../people/people.ts'

/** A member of staff; `may` is a comma-separated list of rights. */
export type StaffRow = Person<'staff'> & { readonly may: string }

const staffColumns = `${personList('p')}, p.may`
const isActive = "p.role = 'staff' and p.status = 'active'"

const staff = `select ${staffColumns} from person p where ${isActive}`

export const staffByAddress = (db: Db, addressKey: string) =>
  db.one<StaffRow>(`${staff} and p.email_key = $1`, [addressKey])
export const staffById = (db: Db, id: string) => db.one<StaffRow>(`${staff} and p.id = $1`, [id])
export const allStaff = (db: Db) => db.all<StaffRow>(`${staff} order by p.created_at, p.id`)

export type NewStaff = Pick<
  StaffRow,
  'id' | 'email' | 'email_key' | 'firstname' | 'lastname' | 'may' | 'created_at'
>

export const lockStaffAt = (addressKey: string) =>
  lockOne<{ id: string }>(
    'staff',
    "select id from person where role = 'staff' and email_key = $1",
    addressKey,
  )

/** Everybody, because a change of one may depend on the rights of the others. */
export const lockStaff = () => lockAll<StaffRow>('staff', `${staff} order by p.id`)

export function addStaff(member: NewStaff, by: By): Statement[] {
  const { id, created_at: at } = member
  const states = { role: 'staff', status: 'active', updated_at: at, activated_at: at }
  return [
    insertion('person', { ...member, ...states }),
    eventHappened('staff.added', by, { id: `added.${id}`, at, personId: id }),
  ]
}

export function changeStaff(
  { id, firstname, lastname, may }: StaffRow,
  { now, eventId }: { now: number; eventId: string },
  by: By,
): Statement[] {
  return [
    update('person', { firstname, lastname, may, updated_at: now }, { id }),
    eventHappened('staff.changed', by, { id: eventId, at: now, personId: id }),
  ]
}

/** Name and address stay, because the audit trail names this person; the address can be given to somebody new. */
export function removeStaff(id: string, now: number, by: By): Statement[] {
  return [
    update('person', { status: 'removed', email_key: null, updated_at: now, closed_at: now }, { id }),
    eventHappened('staff.removed', by, { id: `removed.${id}`, at: now, personId: id }),
  ]
}
