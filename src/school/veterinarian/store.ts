import { identityColumns } from '../../identity/columns.ts'
import {
  type Action,
  type LostBy,
  lockPerson,
  type Person,
  personList,
  type Status,
} from '../../identity/people/people.ts'
import { eventHappened, eventsFrom, happened } from '../../messages/events/events.ts'
import { erasing } from '../../platform/db/columns.ts'
import {
  type Condition,
  changeAll,
  type Db,
  locking,
  type ReadById,
  type Statement,
  statement,
  sweptRowsMax,
} from '../../platform/db/db.ts'
import { lockAll } from '../../platform/db/decision.ts'
import type { Address } from '../../platform/lib/address.ts'
import { type By, bySystem } from '../../platform/lib/by.ts'
import { folded } from '../../platform/lib/folded.ts'
import { newId } from '../../platform/lib/random.ts'

export interface Registration {
  readonly id: string
  readonly email: string
  readonly email_key: string
  readonly firstname: string
  readonly lastname: string
  readonly created_at: number
  readonly confirm_before: number
  readonly request_id: string | null
  readonly network_fingerprint: string | null
}

const registrationColumns =
  'id, email, email_key, firstname, lastname, created_at, confirm_before, request_id, network_fingerprint'

export function appendRegistration(r: Registration): Statement {
  return statement(
    `insert into registration (${registrationColumns}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    r.id,
    r.email,
    r.email_key,
    r.firstname,
    r.lastname,
    r.created_at,
    r.confirm_before,
    r.request_id,
    r.network_fingerprint,
  )
}

export function registrationsOf(db: Db, addressKey: string): Promise<Registration[]> {
  return db.all<Registration>(
    `select ${registrationColumns} from registration where email_key = $1 order by created_at, id`,
    [addressKey],
  )
}

/** The account of an address, and whether it has registrations that are not yet applied. */
export async function accountAt(
  db: Db,
  addressKey: string,
): Promise<{ person: Person<'veterinarian'> | undefined; registered: boolean }> {
  const row = await db.one<Person<'veterinarian'> & { registrations: number }>(
    `select (select count(*) from registration where email_key = $1) as registrations, ${personList('p')}
     from (select 1 as one) always left join person p on p.role = 'veterinarian' and p.email_key = $1`,
    [addressKey],
  )
  const { registrations, ...person } = row!
  return { person: person.id === null ? undefined : person, registered: registrations > 0 }
}

export function oldestRegistrations(db: Db, limit: number): Promise<Registration[]> {
  return db.all<Registration>(
    `select ${registrationColumns} from registration order by created_at, id limit $1`,
    [limit],
  )
}

/**
 * Creates a pending account, or gives a pending one new names and a new deadline. `updated_at` keeps a slow process
 * from overwriting a newer registration with an older one.
 */
export function applyRegistration(r: Registration): Statement[] {
  return [
    // If several processes apply it at once, the others wait here and then find it gone.
    locking('select id from registration where id = $1', r.id),
    ...lapse(r.created_at, r.email_key),
    statement(
      `insert into person (id, role, status, email, email_key, firstname, firstname_key,
         lastname, lastname_key, created_at, updated_at, confirm_before)
       select id, 'veterinarian', 'pending', email, email_key, firstname, $2, lastname, $3, created_at, created_at, confirm_before
       from registration where id = $1
       on conflict (role, email_key) do update
         set firstname = excluded.firstname, firstname_key = excluded.firstname_key,
             lastname = excluded.lastname, lastname_key = excluded.lastname_key,
             updated_at = excluded.updated_at, confirm_before = excluded.confirm_before
         where person.status = 'pending' and person.updated_at <= excluded.updated_at and person.id <> excluded.id`,
      r.id,
      folded(r.firstname),
      folded(r.lastname),
    ),
    eventsFrom(
      'veterinarian.registered',
      'row',
      { id: "'registered.' || p.id", at: 'p.created_at', person: 'p.id' },
      'from person p join registration r on r.id = p.id where p.id = $1',
      r.id,
    ),
    statement('delete from registration where id = $1', r.id),
  ]
}

/** Removes pending accounts past their deadline: that of one address, or some of all. */
export function lapse(now: number, addressKey: string | null): Statement[] {
  const scope = 'confirm_before <= $1 and (cast($2 as text) is null or email_key = $2)'
  const some = `id in (select id from person where status = 'pending' and ${scope} limit ${sweptRowsMax})`
  return removePending(statement(`${becomesLapsed} and ${scope} and ${some} returning id`, now, addressKey))
}

const becomesLapsed = "update person set status = 'lapsed', updated_at = $1 where status = 'pending'"

function removePending(change: Statement): Statement[] {
  return [
    change,
    eventsFrom(
      'veterinarian.lapsed',
      bySystem,
      { id: "'lapsed.' || id", at: 'updated_at', person: 'id' },
      "from person where status = 'lapsed'",
    ),
    statement("delete from person where status = 'lapsed'"),
  ]
}

/** Takes the verification back if there is one and `when` is true: it was of the person whom staff checked. */
function loseVerification(
  personId: string,
  because: LostBy,
  { by, now }: Pick<Action, 'by' | 'now'>,
  when: Condition,
): Statement[] {
  const eventId = newId()
  const lost = happened(eventId)
  return [
    eventsFrom(
      'veterinarian.unverified',
      { ...by, actor: bySystem.actor },
      { id: '$1', at: 'cast($2 as bigint)', person: 'id', data: `'{"reason":"${because}"}'` },
      `from person where id = $3 and verified_at is not null and ${when.sql(4)}`,
      eventId,
      now,
      personId,
      ...when.params,
    ),
    statement(
      `update person set verified_at = null, unverified_at = $1, unverified_because = '${because}'
       where id = $2 and ${lost.sql(3)}`,
      now,
      personId,
      ...lost.params,
    ),
  ]
}

/**
 * The event is written only if the account was still active. The first statement locks, the last but one returns the
 * account.
 */
export function rename(
  personId: string,
  names: { firstname?: string; lastname?: string },
  now: number,
  eventId: string,
  by: By,
): Statement[] {
  const { firstname = null, lastname = null } = names
  const isOther: Condition = {
    sql: (n) => `status = 'active'
      and (firstname <> coalesce(cast($${n} as text), firstname) or lastname <> coalesce(cast($${n + 1} as text), lastname))`,
    params: [firstname, lastname],
  }
  return [
    lockPerson(personId),
    ...loseVerification(personId, 'name', { by, now }, isOther),
    statement(
      `update person set firstname = coalesce($1, firstname), firstname_key = coalesce($5, firstname_key),
         lastname = coalesce($2, lastname), lastname_key = coalesce($6, lastname_key),
         updated_at = $3, confirmed_at = coalesce(confirmed_at, $3)
       where id = $4 and status = 'active' returning firstname, lastname, updated_at, confirmed_at, verified_at`,
      firstname,
      lastname,
      now,
      personId,
      firstname && folded(firstname),
      lastname && folded(lastname),
    ),
    eventsFrom(
      'veterinarian.updated',
      by,
      { id: '$1', at: 'updated_at', person: 'id' },
      "from person where id = $2 and status = 'active' and updated_at = $3",
      eventId,
      personId,
      now,
    ),
  ]
}

/**
 * The last statement returns no row if nothing changes, or if the name or address has changed since the account was
 * read: staff would verify somebody whom they have not checked.
 */
export function setVerified(
  { id, firstname, lastname, email_key }: Person<'veterinarian'>,
  verified: boolean,
  eventId: string,
  { now, by }: Action,
): Statement[] {
  const done = happened(eventId)
  const isOther = verified ? 'verified_at is null' : '(verified_at is not null or unverified_at is not null)'
  return [
    lockPerson(id),
    eventsFrom(
      verified ? 'veterinarian.verified' : 'veterinarian.unverified',
      by,
      { id: '$1', at: 'cast($2 as bigint)', person: 'id' },
      `from person where id = $3 and firstname = $4 and lastname = $5 and email_key = $6
         and status in ('active', 'suspended') and ${isOther}`,
      eventId,
      now,
      id,
      firstname,
      lastname,
      email_key,
    ),
    statement(
      `update person set verified_at = ${verified ? 'cast($1 as bigint)' : 'null'}, unverified_at = null,
         unverified_because = null, updated_at = $1
       where id = $2 and ${done.sql(3)} returning id`,
      now,
      id,
      ...done.params,
    ),
  ]
}

/** The event is written only if something changed. */
export function setHidden(
  personId: string,
  hidden: boolean,
  now: number,
  eventId: string,
  by: By,
): Statement[] {
  const isOther = `hidden_at is ${hidden ? '' : 'not'} null`
  return [
    eventsFrom(
      'veterinarian.updated',
      by,
      { id: '$1', at: 'cast($2 as bigint)', person: 'id' },
      `from person where id = $3 and status = 'active' and ${isOther}`,
      eventId,
      now,
      personId,
    ),
    statement(
      `update person set hidden_at = ${hidden ? 'cast($1 as bigint)' : 'null'}, updated_at = $1
       where id = $2 and status = 'active' and ${isOther}`,
      now,
      personId,
    ),
  ]
}

export async function isHidden(db: Db, personId: string): Promise<boolean> {
  const row = await db.one<{ hidden_at: number | null }>('select hidden_at from person where id = $1', [
    personId,
  ])
  return row!.hidden_at !== null
}

export interface AddressHolder {
  readonly id: string
  readonly status: Status
}

/** Locks an account and those that have an address. */
export const lockHolders = (personId: string, addressKey: string) =>
  lockAll<AddressHolder>(
    'person',
    "select id, status from person where id = $1 or (role = 'veterinarian' and email_key = $2) order by id",
    personId,
    addressKey,
  )

/**
 * Moves an account to another address. Unconfirmed registrations of that address are deleted. Another spelling of the same
 * address does not clear the verification.
 */
export function moveTo(
  account: Person,
  { email, key }: Address,
  pending: readonly AddressHolder[],
  { by, now, eventId }: { by: By; now: number; eventId: string },
): Statement[] {
  const { id: personId, verified_at } = account
  return [
    statement('delete from registration where email_key = $1', key),
    ...pending.flatMap(({ id }) => [
      eventHappened('veterinarian.lapsed', bySystem, { id: `lapsed.${id}`, at: now, personId: id }),
      statement('delete from person where id = $1', id),
    ]),
    statement(
      'update person set email = $1, email_key = $2, updated_at = $3 where id = $4',
      email,
      key,
      now,
      personId,
    ),
    eventHappened('veterinarian.address-changed', by, { id: eventId, at: now, personId }),
    ...(key === account.email_key || verified_at === null
      ? []
      : verificationLost(personId, 'address', by, now)),
  ]
}

/** Staff verified the person under the former name and address. */
export function verificationLost(personId: string, because: LostBy, by: By, now: number): Statement[] {
  return [
    eventHappened(
      'veterinarian.unverified',
      { ...by, actor: bySystem.actor },
      { id: `unverified.${because}.${personId}.${now}`, at: now, personId, data: { reason: because } },
    ),
    statement(
      'update person set verified_at = null, unverified_at = $1, unverified_because = $2 where id = $3',
      now,
      because,
      personId,
    ),
  ]
}

/** The id stays, so that the audit trail keeps its meaning. */
export function erase(personId: string, addressKey: string, now: number): Statement[] {
  return [
    statement(
      `update person set status = 'closed', updated_at = $1, closed_at = $1, ${erasing(identityColumns.person)}
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
    changeAll(
      `update session set ${erasing(identityColumns.session)}`,
      { table: 'session', key: 'id', where: 'person_id = $1', returning: 'id' },
      personId,
    ),
    statement('delete from note where person_id = $1', personId),
    // Codes that were asked for to move the account.
    statement(
      'delete from outbox where session_id in (select id from challenge where person_id = $1)',
      personId,
    ),
    statement('delete from challenge where person_id = $1', personId),
  ]
}

export interface PublicProfile {
  readonly id: string
  readonly firstname: string
  readonly lastname: string
  readonly verified_at: number | null
}

const publicProfiles = `select id, firstname, lastname, verified_at from person
  where role = 'veterinarian' and status = 'active' and hidden_at is null`
const publicProfileById: ReadById = {
  one: `${publicProfiles} and id = $1`,
  many: `${publicProfiles} and id = any($1)`,
  idColumn: 'id',
}

export function publicProfile(db: Db, userId: string): Promise<PublicProfile | undefined> {
  return db.byId<PublicProfile>(publicProfileById, userId)
}
