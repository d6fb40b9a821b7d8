import { eventsFrom } from '../../messages/events/events.ts'
import { type Db, locking, type Statement, statement } from '../../platform/db/db.ts'
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
  readonly now: number
}

/** Returns no row if a member of staff has the address. */
export function addStaff(s: NewStaff, by: By): Statement[] {
  return [
    statement(
      `insert into person (id, role, status, email, email_key, firstname, lastname, created_at, updated_at, activated_at, may)
       values ($1, 'staff', 'active', $2, $3, $4, $5, $6, $6, $6, $7)
       on conflict (role, email_key) do nothing returning id`,
      s.id,
      s.email,
      s.email_key,
      s.firstname,
      s.lastname,
      s.now,
      s.may,
    ),
    eventsFrom(
      'staff.added',
      by,
      { id: "'added.' || id", at: 'created_at', person: 'id' },
      "from person where id = $1 and role = 'staff'",
      s.id,
    ),
  ]
}

/** The school needs somebody who can change rights, so the last admin stays one. */
const anotherAdmin = (id: string) => `exists (select 1 from person o
  where o.role = 'staff' and o.status = 'active' and o.id <> ${id} and ',' || o.may || ',' like '%,admin,%')`

export function changeStaff(
  c: { id: string; firstname: string; lastname: string; may: string; now: number; eventId: string },
  by: By,
): Statement[] {
  return [
    lockAdmins,
    statement(
      `update person set firstname = $1, lastname = $2, may = $3, updated_at = $4
       where id = $5 and role = 'staff' and status = 'active'
         and (',' || cast($3 as text) || ',' like '%,admin,%' or ',' || may || ',' not like '%,admin,%' or ${anotherAdmin('$5')})
       returning id`,
      c.firstname,
      c.lastname,
      c.may,
      c.now,
      c.id,
    ),
    eventsFrom(
      'staff.changed',
      by,
      { id: '$1', at: 'updated_at', person: 'id' },
      "from person where id = $2 and role = 'staff' and status = 'active' and updated_at = $3",
      c.eventId,
      c.id,
      c.now,
    ),
  ]
}

/** Name and address stay, because the audit trail names this person; the address can be given to somebody new. */
export function removeStaff(id: string, now: number, by: By): Statement[] {
  return [
    lockAdmins,
    statement(
      `update person set status = 'removed', email_key = null, updated_at = $1, closed_at = $1
       where id = $2 and role = 'staff' and status = 'active'
         and (',' || may || ',' not like '%,admin,%' or ${anotherAdmin('$2')})
       returning id`,
      now,
      id,
    ),
    eventsFrom(
      'staff.removed',
      by,
      { id: "'removed.' || id", at: 'closed_at', person: 'id' },
      "from person where id = $1 and role = 'staff' and closed_at = $2",
      id,
      now,
    ),
  ]
}

/** Serialises changes, so that two admins cannot remove each other at once. */
const lockAdmins = locking("select id from person where role = 'staff' and status = 'active' order by id")
