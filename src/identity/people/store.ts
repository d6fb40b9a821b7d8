import { type EventType, eventHappened } from '../../messages/events/events.ts'
import { type Db, padded, prune, readNow, type Statement, update } from '../../platform/db/db.ts'
import { lockOne, readOne } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import type { Role } from '../../roles.ts'
import { accounts, accountsOf, type PersonFields, personList } from './columns.ts'
import type { Status } from './statuses.ts'

/** The part of a person that every session needs. */
export interface PersonInSession<R extends Role = Role> {
  readonly id: string
  readonly role: R
  readonly status: Status<R>
  /** The roster that was current when a student’s session was read. */
  readonly roster?: number
}

export interface Person<R extends Role = Role>
  extends PersonInSession<R>,
    Omit<PersonFields, keyof PersonInSession> {}

/** What staff verified and the owner has changed since. */
export type LostBy = 'name' | 'address'

export const readPerson = (id: string) =>
  readOne<Person>(`select ${personList('p')} from ${accounts} p where p.id = $1`, id)
export const personById = (db: Db, id: string) => readNow(db, readPerson(id))

/** Whether somebody has a confirmed account at this domain. Those of students are in the roster. */
export async function hasAccountAt(db: Db, domain: string): Promise<boolean> {
  const domainOf =
    db.engine === 'postgres'
      ? "split_part(email_key, '@', 2)"
      : "substr(email_key, instr(email_key, '@') + 1)"
  const found = await db.one(
    `select 1 from person where ${domainOf} = $1 and status = 'active' and email_key is not null limit 1`,
    [domain],
  )
  return found !== undefined
}

/** By id, of those who have one. */
export async function namesOf(db: Db, ids: readonly string[]): Promise<Record<string, string>> {
  if (ids.length === 0) return {}
  const wanted = padded(ids)
  const rows = await db.all<{ id: string; name: string }>(
    `select a.id, a.firstname || ' ' || a.lastname as name from ${accounts} a
     where a.id in (${wanted.map((_, i) => `$${i + 1}`).join(', ')}) and a.firstname is not null`,
    wanted,
  )
  return Object.fromEntries(rows.map(({ id, name }) => [id, name]))
}

export const setStatus = (id: string, status: Status, now: number) =>
  update('person', { status, updated_at: now }, { id })

export const personLock = (id: string) =>
  lockOne<{ id: string; status: Status }>('person', 'select id, status from person where id = $1', id)

/** With a lock of the person, who is read afterwards: an account is more than one row. */
export const readAccount = (role: Role, id: string) =>
  readOne<Person>(`select ${personList('p')} from ${accountsOf(role)} p where p.id = $1`, id)

/** A pending account becomes active. */
export function activation(personId: string, event: EventType, now: number, by: By): Statement[] {
  const changes = { status: 'active', activated_at: now, updated_at: now, confirm_before: null }
  return [
    update('person', changes, { id: personId }),
    eventHappened(event, by, { id: `activated.${personId}`, at: now, personId }),
  ]
}

/** Deletes closed accounts and removed members of staff older than this, once no event or session refers to them. */
export function prunePeople(closedBefore: number): Statement {
  const isNamed = (table: string) => `exists (select 1 from ${table} t where t.person_id = person.id)`
  const where = `closed_at < $1 and not ${isNamed('event')} and not ${isNamed('session')}`
  return prune('person', 'id', where, closedBefore)
}
