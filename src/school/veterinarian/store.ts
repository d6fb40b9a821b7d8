import { identityColumns } from '../../identity/columns.ts'
import { type LostBy, type Person, personList, type Status } from '../../identity/people/people.ts'
import { eventHappened, eventsFrom } from '../../messages/events/events.ts'
import { erasing } from '../../platform/db/columns.ts'
import {
  changeAll,
  changeSome,
  type Db,
  type ReadById,
  type Statement,
  statement,
} from '../../platform/db/db.ts'
import { lockAll, lockOne } from '../../platform/db/decision.ts'
import type { Address } from '../../platform/lib/address.ts'
import { type By, bySystem } from '../../platform/lib/by.ts'
import { folded } from '../../platform/lib/folded.ts'

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

/** The account that has the address of a registration. */
export interface Holder {
  readonly id: string
  readonly status: Status
  readonly updated_at: number
  readonly confirm_before: number | null
}

/** Nothing if another process has applied it. */
export const lockRegistration = (id: string) =>
  lockOne<{ id: string }>('registration', 'select id from registration where id = $1', id)

/** For a decision that deletes these, and no others: whoever applies one that came later may be waiting for the account. */
export const lockRegistrationsAt = (addressKey: string) =>
  lockAll<{ id: string }>(
    'registration',
    'select id from registration where email_key = $1 order by id',
    addressKey,
  )

export const lockHolder = (addressKey: string) =>
  lockOne<Holder>(
    'person',
    "select id, status, updated_at, confirm_before from person where role = 'veterinarian' and email_key = $1",
    addressKey,
  )

export function openPending(r: Registration): Statement[] {
  return [
    statement(
      `insert into person (id, role, status, email, email_key, firstname, firstname_key,
         lastname, lastname_key, created_at, updated_at, confirm_before)
       values ($1, 'veterinarian', 'pending', $2, $3, $4, $5, $6, $7, $8, $8, $9)`,
      r.id,
      r.email,
      r.email_key,
      r.firstname,
      folded(r.firstname),
      r.lastname,
      folded(r.lastname),
      r.created_at,
      r.confirm_before,
    ),
    eventHappened(
      'veterinarian.registered',
      { actor: 'self', requestId: r.request_id, network: r.network_fingerprint },
      { id: `registered.${r.id}`, at: r.created_at, personId: r.id },
    ),
  ]
}

/** Gives a pending account the names and the deadline of a newer registration. */
export function renewPending(personId: string, r: Registration): Statement {
  return statement(
    `update person set firstname = $1, firstname_key = $2, lastname = $3, lastname_key = $4, updated_at = $5,
       confirm_before = $6 where id = $7`,
    r.firstname,
    folded(r.firstname),
    r.lastname,
    folded(r.lastname),
    r.created_at,
    r.confirm_before,
    personId,
  )
}

export const dropRegistration = ({ id }: Pick<Registration, 'id'>) =>
  statement('delete from registration where id = $1', id)

/** Removes a pending account. */
export function removePending(personId: string, now: number): Statement[] {
  return [
    eventHappened('veterinarian.lapsed', bySystem, { id: `lapsed.${personId}`, at: now, personId }),
    statement('delete from person where id = $1', personId),
  ]
}

/** Removes some of the pending accounts past their deadline. */
export function lapse(now: number): Statement[] {
  return [
    changeSome(
      "update person set status = 'lapsed', updated_at = $1",
      { table: 'person', key: 'id', where: "status = 'pending' and confirm_before <= $1", returning: 'id' },
      now,
    ),
    eventsFrom(
      'veterinarian.lapsed',
      bySystem,
      { id: "'lapsed.' || id", at: 'updated_at', person: 'id' },
      statement("from person where status = 'lapsed'"),
    ),
    statement("delete from person where status = 'lapsed'"),
  ]
}

/** A veterinarian’s account as its rules see it. */
export interface Account extends Person<'veterinarian'> {
  readonly unverified_at: number | null
  readonly hidden_at: number | null
}

export const lockAccount = (id: string) =>
  lockOne<Account>(
    'person',
    `select ${personList('p')}, p.unverified_at, p.hidden_at from person p where p.id = $1 and p.role = 'veterinarian'`,
    id,
  )

/** Who changes an account, and when. */
interface Change {
  readonly by: By
  readonly now: number
  readonly eventId: string
}

/** Also confirms the names. */
export function setNames(
  personId: string,
  { firstname, lastname }: Pick<Person, 'firstname' | 'lastname'>,
  { by, now, eventId }: Change,
): Statement[] {
  return [
    statement(
      `update person set firstname = $1, firstname_key = $2, lastname = $3, lastname_key = $4, updated_at = $5,
         confirmed_at = coalesce(confirmed_at, $5) where id = $6`,
      firstname,
      folded(firstname),
      lastname,
      folded(lastname),
      now,
      personId,
    ),
    eventHappened('veterinarian.updated', by, { id: eventId, at: now, personId }),
  ]
}

export function setVerified(personId: string, verified: boolean, { by, now, eventId }: Change): Statement[] {
  return [
    eventHappened(verified ? 'veterinarian.verified' : 'veterinarian.unverified', by, {
      id: eventId,
      at: now,
      personId,
    }),
    statement(
      `update person set verified_at = cast($1 as bigint), unverified_at = null, unverified_because = null,
         updated_at = $2 where id = $3`,
      verified ? now : null,
      now,
      personId,
    ),
  ]
}

export function setHidden(personId: string, hidden: boolean, { by, now, eventId }: Change): Statement[] {
  return [
    statement(
      'update person set hidden_at = cast($1 as bigint), updated_at = $2 where id = $3',
      hidden ? now : null,
      now,
      personId,
    ),
    eventHappened('veterinarian.updated', by, { id: eventId, at: now, personId }),
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
 * Moves an account to another address. Unconfirmed accounts of that address are deleted. Another spelling of the same
 * address does not clear the verification.
 */
export function moveTo(
  account: Person,
  { email, key }: Address,
  pending: readonly AddressHolder[],
  change: Change,
): Statement[] {
  const { id: personId, verified_at } = account
  const { by, now, eventId } = change
  return [
    ...pending.flatMap(({ id }) => removePending(id, now)),
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
      : verificationLost(personId, 'address', change)),
  ]
}

/** Staff verified the person under the former name and address. `eventId` is that of the change. */
export function verificationLost(
  personId: string,
  because: LostBy,
  { by, now, eventId }: Change,
): Statement[] {
  return [
    eventHappened(
      'veterinarian.unverified',
      { ...by, actor: bySystem.actor },
      { id: `unverified.${eventId}`, at: now, personId, data: { reason: because } },
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
export function erase(personId: string, now: number): Statement[] {
  return [
    statement(
      `update person set status = 'closed', updated_at = $1, closed_at = $1, ${erasing(identityColumns.person)}
       where id = $2`,
      now,
      personId,
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
