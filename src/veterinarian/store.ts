import { type Condition, type Db, locking, type ReadById, type Statement, statement } from '../db/db.ts'
import { insertEvents } from '../events/events.ts'
import { type Person, personColumns } from '../people/people.ts'

export interface Registration {
  readonly id: string
  readonly email: string
  readonly email_key: string
  readonly firstname: string
  readonly lastname: string
  readonly created_at: number
  readonly confirm_before: number
}

/** The same append for a known and an unknown address. */
export function appendRegistration(r: Registration, when: Condition): Statement {
  return statement(
    `insert into registration (id, email, email_key, firstname, lastname, created_at, confirm_before)
     select $1, $2, $3, $4, $5, cast($6 as bigint), cast($7 as bigint) where ${when.sql(8)}
     returning id`,
    r.id,
    r.email,
    r.email_key,
    r.firstname,
    r.lastname,
    r.created_at,
    r.confirm_before,
    ...when.params,
  )
}

const registrationColumns = 'id, email, email_key, firstname, lastname, created_at, confirm_before'

export function registrationsOf(db: Db, addressKey: string): Promise<Registration[]> {
  return db.all<Registration>(
    `select ${registrationColumns} from registration where email_key = $1 order by created_at, id`,
    [addressKey],
  )
}

/** The account behind an address, and whether there are registrations for it that were not applied yet. */
export async function accountAt(
  db: Db,
  addressKey: string,
): Promise<{ person: Person | undefined; registered: boolean }> {
  const row = await db.one<Person & { registrations: number }>(
    `select (select count(*) from registration where email_key = $1) as registrations, ${personColumns('p')}
     from (select 1 as one) always left join person p on p.role = 'veterinarian' and p.email_key = $1`,
    [addressKey],
  )
  const { registrations, ...person } = row!
  return { person: person.id === null ? undefined : person, registered: registrations > 0 }
}

export function oldestRegistrations(db: Db, limit: number): Promise<Registration[]> {
  return db.all<Registration>(
    `select ${registrationColumns} from registration order by created_at, id limit ${limit}`,
  )
}

/**
 * Applies one registration: a new pending account, or new names and a new date for a pending one. `updated_at`
 * keeps a slow process from putting an older registration over a newer one.
 */
export function applyRegistration(r: Registration): Statement[] {
  return [
    // Of several processes that apply it at once, the others wait here and then find it gone.
    locking('select id from registration where id = $1', r.id),
    ...lapse(r.created_at, r.email_key),
    statement(
      `insert into person (id, role, status, email, email_key, firstname, lastname, created_at, updated_at, confirm_before)
       select id, 'veterinarian', 'pending', email, email_key, firstname, lastname, created_at, created_at, confirm_before
       from registration where id = $1
       on conflict (role, email_key) do update
         set firstname = excluded.firstname, lastname = excluded.lastname, updated_at = excluded.updated_at,
             confirm_before = excluded.confirm_before
         where person.status = 'pending' and person.updated_at <= excluded.updated_at and person.id <> excluded.id`,
      r.id,
    ),
    statement(
      `${insertEvents}
       select 'registered.' || p.id, p.created_at, 'veterinarian.registered', p.id, null, '{}' from person p where p.id = $1
       on conflict (id) do nothing`,
      r.id,
    ),
    statement('delete from registration where id = $1', r.id),
  ]
}

/** Pending accounts whose date has passed are gone: all of them, or the one behind an address. */
export function lapse(now: number, addressKey: string | null): Statement[] {
  const scope = "status = 'pending' and confirm_before <= $1 and (cast($2 as text) is null or email_key = $2)"
  return [
    statement(`update person set status = 'lapsed', updated_at = $1 where ${scope}`, now, addressKey),
    statement(
      `${insertEvents}
       select 'lapsed.' || id, updated_at, 'veterinarian.lapsed', id, null, '{}' from person where status = 'lapsed'
       on conflict (id) do nothing`,
    ),
    statement("delete from person where status = 'lapsed'"),
  ]
}

/** New names, given by their owner, and the event if the account was still there to be changed. */
export function rename(
  personId: string,
  names: { firstname?: string; lastname?: string },
  now: number,
  eventId: string,
): Statement[] {
  return [
    statement(
      `update person set firstname = coalesce($1, firstname), lastname = coalesce($2, lastname), updated_at = $3,
         confirmed_at = coalesce(confirmed_at, $3)
       where id = $4 and status = 'active' returning firstname, lastname, updated_at, confirmed_at`,
      names.firstname ?? null,
      names.lastname ?? null,
      now,
      personId,
    ),
    statement(
      `${insertEvents}
       select $1, updated_at, 'veterinarian.updated', id, null, '{}' from person
       where id = $2 and status = 'active' and updated_at = $3`,
      eventId,
      personId,
      now,
    ),
  ]
}

/** Erases what is personal; the id stays, so that the audit trail keeps its meaning. */
export function erase(personId: string, addressKey: string, now: number): Statement[] {
  return [
    statement(
      `update person set status = 'closed', email = null, email_key = null, firstname = null, lastname = null,
         updated_at = $1, closed_at = $1, confirm_before = null, confirmed_at = null, verified_at = null
       where id = $2 and status <> 'closed' returning id`,
      now,
      personId,
    ),
    statement(
      'delete from registration where email_key = $1 and exists (select 1 from person where id = $2 and closed_at = $3)',
      addressKey,
      personId,
      now,
    ),
    statement("update session set device = '' where person_id = $1", personId),
  ]
}

export interface PublicProfile {
  readonly id: string
  readonly firstname: string
  readonly lastname: string
  readonly verified_at: number | null
}

const publicProfiles = `select id, firstname, lastname, verified_at from person
  where role = 'veterinarian' and status = 'active'`
const publicProfileById: ReadById = {
  one: `${publicProfiles} and id = $1`,
  many: `${publicProfiles} and id = any($1)`,
  idColumn: 'id',
}

export function publicProfile(db: Db, userId: string): Promise<PublicProfile | undefined> {
  return db.byId<PublicProfile>(publicProfileById, userId)
}
