import { eventHappened, eventsFrom } from '../../messages/events/events.ts'
import {
  always,
  type Condition,
  changeAll,
  changeSome,
  type Db,
  prune,
  type ReadById,
  type Statement,
  statement,
  type Value,
} from '../../platform/db/db.ts'
import { lockOne } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import type { Method, Role } from '../../roles.ts'
import { accounts, type Person, type PersonInSession, personList } from '../people/people.ts'
import type { Algorithm } from './jwt.ts'

export type EndReason = 'signed-out' | 'expired' | 'revoked' | 'reuse' | 'account'

export interface Session {
  readonly session_id: string
  readonly device: string
  readonly started_at: number
  readonly last_seen_at: number
  readonly expires_at: number
  /** When the person last proved who they are in this session, and how; null if nobody has said when. */
  readonly auth_at: number | null
  readonly method: Method
  /** Sequence numbers of the newest refresh token and of its predecessor. */
  readonly refresh_seq: number
  readonly refresh_parent: number
  readonly rotated_at: number
  readonly ended_at: number | null
  readonly end_reason: EndReason | null
  /** The client of the session, and the scopes that it has; null for the portal and the school's own front ends. */
  readonly client_id: string | null
  readonly scope: string | null
  /** The session with which this one ends. */
  readonly parent_id: string | null
  /** In which the person signed in at the client. */
  readonly language: string | null
}

export type SessionAndPerson = Session & Person

/** Of a session without a proof. Releases that do not know it take it for a proof that is too old for everything. */
const neverProved = -1

/** The column with its default, which programs before schema 0032 leave, replaced. */
const authAtColumn = (table: string) => `coalesce(nullif(${table}.auth_at, 0), ${table}.started_at)`
const authAt = (table: string) => `nullif(${authAtColumn(table)}, ${neverProved})`

const sessionColumns = `s.id as session_id, s.device, s.started_at, s.last_seen_at, s.expires_at, ${authAt('s')} as auth_at, s.method, s.refresh_seq, s.refresh_parent, s.rotated_at, s.ended_at, s.end_reason, s.client_id, s.scope, s.parent_id, s.language`

const sessionAndPerson = `select ${sessionColumns}, ${personList('p')} from session s join ${accounts} p on p.id = s.person_id`

export function sessionById(db: Db, id: string): Promise<SessionAndPerson | undefined> {
  return db.one<SessionAndPerson>(`${sessionAndPerson} where s.id = $1`, [id])
}

/**
 * The caller of a request, while session and account are alive. A student has only id and status here; the roster has
 * the rest.
 */
export type LiveSession<R extends Role = Role> = { [Each in R]: LiveSessionOf<Each> }[R]

type LiveSessionOf<R extends Role> = Pick<
  Session,
  'session_id' | 'last_seen_at' | 'expires_at' | 'auth_at' | 'method' | 'client_id' | 'scope' | 'language'
> &
  Accounts[R] & {
    /** Whether the client knows people by the ids that they have here. */
    readonly knowsIds?: boolean
  }

interface Accounts {
  veterinarian: Person<'veterinarian'>
  student: PersonInSession<'student'>
  staff: Person<'staff'> & { readonly may: string }
}

const live = (columns: string): ReadById => {
  const select = `select s.id as session_id, s.last_seen_at, s.expires_at, ${authAt('s')} as auth_at, s.method, s.client_id, s.scope, s.language, ${columns}
    from session s join person p on p.id = s.person_id where s.ended_at is null and p.status = 'active'`
  return {
    one: `${select} and s.id = $1`,
    many: `${select} and s.id = any($1)`,
    idColumn: 'session_id',
  }
}
const liveOf: Record<Role, ReadById> = {
  veterinarian: live(personList('p')),
  student: live('p.id, p.role, p.status, (select content from roster_state) as roster'),
  staff: live(`${personList('p')}, p.may`),
}

export async function liveSession(
  db: Db,
  id: string,
  role: Role,
  now: number,
): Promise<LiveSession | undefined> {
  const session = await db.byId<LiveSession>(liveOf[role], id)
  return session && session.expires_at > now ? session : undefined
}

/** With the name of the client, while it is registered. */
export type NamedSession = Session & { readonly client_name: string | null }

export function sessionsOf(db: Db, personId: string): Promise<NamedSession[]> {
  return db.all<NamedSession>(
    `select ${sessionColumns}, c.name as client_name from session s left join client c on c.id = s.client_id where s.person_id = $1 order by s.started_at desc, s.id`,
    [personId],
  )
}

export interface NewSession {
  readonly id: string
  readonly role: Role
  readonly personId: string
  /** Must still be the account’s address, or a code sent to a former address would sign somebody in. */
  readonly addressKey: string
  readonly device: string
  readonly method: Method
  /** When the person proved who they are, if that was not now; null if nobody has said when. */
  readonly authAt?: number | null
  readonly now: number
}

/** Zero would be the column's default. */
const storedProof = (at: number | null) => (at === null ? neverProved : Math.max(1, at))

export function insertSession(s: NewSession & { expiresAt: number }, by: By): Statement[] {
  const { id, role, personId, device, now, expiresAt, authAt = now, method } = s
  return [
    statement(
      `insert into session (id, role, person_id, device, started_at, last_seen_at, expires_at, refresh_seq, rotated_at, rotated_before_at, auth_at, method)
       values ($1, $2, $3, $4, $5, $5, $6, 1, 0, 0, $7, $8)`,
      id,
      role,
      personId,
      device,
      now,
      expiresAt,
      storedProof(authAt),
      method,
    ),
    eventHappened('session.started', by, {
      id: `started.${id}`,
      at: now,
      personId,
      sessionId: id,
      data: { method },
    }),
  ]
}

export interface NewClientSession {
  readonly id: string
  readonly clientId: string
  readonly scope: string
  /** The portal's session from which it was started. */
  readonly startedFrom: string
  readonly language: string
  /** Whether it goes on when that one ends. */
  readonly offline: boolean
  readonly now: number
  readonly expiresAt: number
}

/**
 * Starts a session at a client that serves the person, if the one it is started from is alive. Device and proof are taken from there. PostgreSQL
 * locks that one, so that it either ends before and nothing is started, or after and this one ends with it.
 */
export function startClientSession(s: NewClientSession, by: By, when: Condition): Statement[] {
  const insert = (lock: string) =>
    `insert into session (id, role, person_id, device, started_at, last_seen_at, expires_at, refresh_seq, rotated_at,
       rotated_before_at, auth_at, method, client_id, scope, parent_id, started_from, language)
     select $1, o.role, o.person_id, o.device, cast($2 as bigint), cast($2 as bigint), cast($3 as bigint), 1, 0, 0,
       ${authAtColumn('o')}, o.method, $4, $5, $6, o.id, $8
     from session o join ${accounts} p on p.id = o.person_id join client c on c.id = $4 and ${admits}
     where o.id = $7 and o.ended_at is null and o.client_id is null and o.expires_at > $2 and p.status = 'active'
       and ${when.sql(9)}
     ${lock}
     on conflict (id) do nothing
     returning id, person_id`
  const parent = s.offline ? null : s.startedFrom
  const { id, now, expiresAt, clientId, scope, startedFrom, language } = s
  const params = [id, now, expiresAt, clientId, scope, parent, startedFrom, language, ...when.params]
  return [{ sql: insert(''), postgres: insert('for update of o'), params }, started(by, s.id)]
}

function started(by: By, sessionId: string): Statement {
  return eventsFrom(
    'session.started',
    by,
    {
      id: "'started.' || id",
      at: 'started_at',
      person: 'person_id',
      session: 'id',
      data: `'{"method":"' || method || '"' || ${clientData} || '}'`,
    },
    'from session where id = $1',
    sessionId,
  )
}

/** Whether a person, `p`, may sign in at a client, `c`; `refusalOf` says why not. */
const admits = `c.disabled_at is null and ' ' || c.roles || ' ' like '% ' || p.role || ' %'
  and (p.role <> 'veterinarian' or p.verified_at is not null or coalesce(c.unverified_veterinarians, 1) = 1)`

export const ofUnverified: Condition = {
  sql: () =>
    "person_id in (select p.id from person p where p.role = 'veterinarian' and p.verified_at is null)",
  params: [],
}
/** At clients that admit only verified veterinarians. */
export const atStrictClients: Condition = {
  sql: () => 'client_id in (select c.id from client c where c.unverified_veterinarians = 0)',
  params: [],
}

/**
 * The client of a session, with the scopes that it may have now. Undefined if it is disabled, if the person may no longer sign in
 * there, or if the session depends on one that has ended, or on a scope that the client has lost.
 */
export function clientOfSession(
  db: Db,
  sessionId: string,
  now: number,
): Promise<{ readonly scopes: string; readonly is_pairwise: number } | undefined> {
  return db.one(
    `select c.scopes, case when c.subject_salt is null then 0 else 1 end as is_pairwise from session s join person p on p.id = s.person_id
     join client c on c.id = s.client_id and ${admits}
     where s.id = $1 and (s.parent_id is null and ' ' || c.scopes || ' ' like '% offline_access %'
       or exists (select 1 from session o where o.id = s.parent_id and o.ended_at is null and o.expires_at > $2))`,
    [sessionId, now],
  )
}

/** A token that a client has for itself. */
export interface ServiceToken {
  readonly session_id: string
  readonly client_id: string
  readonly scope: string
}

/** With the scopes that its client may have now. */
export function liveServiceToken(
  db: Db,
  id: string,
  now: number,
): Promise<(ServiceToken & { readonly scopes: string }) | undefined> {
  return db.one(
    `select t.id as session_id, t.client_id, t.scope, c.scopes from service_token t
     join client c on c.id = t.client_id and c.disabled_at is null where t.id = $1 and t.expires_at > $2`,
    [id, now],
  )
}

export interface SessionRow {
  readonly person_id: string
  readonly ended_at: number | null
  readonly expires_at: number
}

export const lockSession = (id: string) =>
  lockOne<SessionRow>('session', 'select person_id, ended_at, expires_at from session where id = $1', id)

/** The person of a session has proved again who they are. */
export function provedAgain(
  s: { id: string; personId: string; method: Exclude<Method, 'school'>; now: number; eventId: string },
  by: By,
): Statement[] {
  const { id, personId, method, now, eventId } = s
  return [
    statement('update session set auth_at = $1, method = $2 where id = $3', now, method, id),
    eventHappened('session.stepped-up', by, {
      id: eventId,
      at: now,
      personId,
      sessionId: id,
      data: { method },
    }),
  ]
}

/** `$2` is how long a session lasts in all, `$3` when this one ends without another use. */
const extended = 'case when started_at + $2 < $3 then started_at + $2 else $3 end'

/**
 * Issues the successor of token `from`, while `current` is the newest. `from` is either the newest itself or its
 * predecessor, whose unused successor is then void.
 */
export function rotate(
  db: Db,
  r: { id: string; current: number; from: number; now: number; expiresAt: number; expiresMaxMs: number },
) {
  const parent = r.from === r.current ? 'refresh_parent = refresh_seq,' : ''
  return db.run<{ refresh_seq: number; expires_at: number }>(
    `update session
     set refresh_seq = refresh_seq + 1, ${parent} rotated_at = $1, last_seen_at = $1,
         expires_at = ${extended}
     where id = $4 and refresh_seq = $5 and ended_at is null and expires_at > $1
     returning refresh_seq, expires_at`,
    [r.now, r.expiresMaxMs, r.expiresAt, r.id, r.current],
  )
}

/** Saves the last use, and with it how long the session lasts without another. */
export function seen(
  db: Db,
  s: { id: string; now: number; unlessSince: number; expiresAt: number; expiresMaxMs: number },
) {
  return db.run(
    `update session set last_seen_at = $1, expires_at = ${extended}
     where id = $4 and last_seen_at < $5 and expires_at > $1`,
    [s.now, s.expiresMaxMs, s.expiresAt, s.id, s.unlessSince],
  )
}

/**
 * Ends sessions and records each: one with those below it, all of a person, some of the expired ones, those of people
 * who left the roster, those of a client, or all there are. Their clients are told, except `told`, which ended it.
 */
export function endSessions(
  scope: Scope | { expiredAt: number },
  reason: EndReason,
  now: number,
  by: By,
  told: string | null = null,
): Statement[] {
  if (scope === 'all' || !('expiredAt' in scope))
    return ending(changeAll, wherein(scope, reason), reason, now, by, told)
  const { expiredAt } = scope
  // Also of one that has ended: programs before schema 0033 end it alone.
  const belowExpired: Where = [
    (n) => `parent_id in (select p.id from session p where p.ended_at is not null or p.expires_at <= $${n})`,
    expiredAt,
  ]
  const expired: Where = [
    (n) => `expires_at <= $${n} and not exists (
      select 1 from session c where c.parent_id = session.id and c.ended_at is null)`,
    expiredAt,
  ]
  return [belowExpired, expired].flatMap((where) => ending(changeSome, where, reason, now, by, told))
}

type Where = [sql: (first: number) => string, ...params: Value[]]

function ending(
  change: typeof changeAll,
  [where, ...params]: Where,
  reason: EndReason,
  now: number,
  by: By,
  told: string | null,
): Statement[] {
  // Whoever has locked a session of the portal may still have to lock one below it, so nobody locks that one before.
  const rows = { table: 'session', key: 'id', returning: 'id', order: 'client_id is not null, id' }
  return [
    change(
      'update session set ended_at = $1, end_reason = $2',
      { ...rows, where: `ended_at is null and ${where(3)}` },
      now,
      reason,
      ...params,
    ),
    // On PostgreSQL, the first statement does not see a session that was started below one of them while it waited.
    change(
      'update session set ended_at = $1, end_reason = $2',
      {
        ...rows,
        where: `ended_at is null and parent_id in (select id from session where ended_at = $1 and ${where(3)})`,
      },
      now,
      reason,
      ...params,
    ),
    eventsFrom(
      'session.ended',
      by,
      {
        id: "'ended.' || id",
        at: 'ended_at',
        person: 'person_id',
        session: 'id',
        data: `'{"reason":"' || end_reason || '"' || ${clientData} || '}'`,
      },
      `from session where ended_at = $1 and ${where(2)}`,
      now,
      ...params,
    ),
    statement(
      `insert into logout_call (session_id, client_id, uri, person_id, subject_salt, id_token_alg, next_at, created_at)
       select s.id, c.id, c.backchannel_uri, s.person_id, c.subject_salt, c.id_token_alg, s.ended_at, s.ended_at
       from (select id, client_id, person_id, ended_at from session
         where ended_at = $1 and client_id is not null and client_id <> $2 and ${where(3)}) s
       join client c on c.id = s.client_id where c.backchannel_uri is not null
       on conflict (session_id) do nothing`,
      now,
      told ?? '',
      ...params,
    ),
  ]
}

/** As part of the `data` of an event. */
const clientData = `case when client_id is null then '' else ',"client":"' || client_id || '"' end`

/** Only of a published generation. */
const departed = (n: number) =>
  `person_id in (select d.person_id from roster_departure d join roster_state r on r.generation = d.generation where d.generation = $${n})`

export type Scope =
  | { id: string; personId: string }
  | { personId: string; except?: string; when?: Condition }
  | { departedIn: number }
  | { clientId: string; when?: Condition }
  | { oldestOf: { personId: string; clientId: string; keep: number } }
  | 'all'

function wherein(scope: Scope, reason: EndReason): Where {
  if (scope === 'all') return [() => 'true']
  if ('departedIn' in scope) return [departed, scope.departedIn]
  if ('clientId' in scope) {
    const { clientId, when = always } = scope
    return [(n) => `client_id = $${n} and ${when.sql(n + 1)}`, clientId, ...when.params]
  }
  if ('id' in scope) {
    // Whoever has a copy of its token may have started others with it.
    const below = reason === 'reuse' ? 'started_from' : 'parent_id'
    return [(n) => `(id = $${n} or ${below} = $${n}) and person_id = $${n + 1}`, scope.id, scope.personId]
  }
  if ('oldestOf' in scope) {
    const { personId, clientId, keep } = scope.oldestOf
    return [
      // The same before and after they have ended. Reads no others that have ended, of which there may be any number.
      (n) => `person_id = $${n} and client_id = $${n + 1} and id not in (
        select o.id from session o where o.person_id = $${n} and o.client_id = $${n + 1} and o.ended_at is null
        order by o.started_at desc, o.id desc limit $${n + 2})`,
      personId,
      clientId,
      keep,
    ]
  }
  const { personId, except = '', when = always } = scope
  return [
    (n) => `person_id = $${n} and id <> $${n + 1} and ${when.sql(n + 2)}`,
    personId,
    except,
    ...when.params,
  ]
}

export function pruneSessions(endedBefore: number): Statement {
  return prune('session', 'id', 'ended_at < $1', endedBefore)
}

/** The release before signs ES256 with any key of `signing_key`. */
const keyTables = { ES256: 'signing_key', RS256: 'rsa_signing_key' } as const satisfies Record<
  Algorithm,
  string
>

export interface SigningKeyRow {
  readonly alg: Algorithm
  readonly kid: string
  readonly number: number
  readonly sealed: string
  readonly public_jwk: string
  readonly created_at: number
  readonly signs_from: number
}

export function signingKeys(db: Db): Promise<SigningKeyRow[]> {
  const columns = 'kid, number, sealed, public_jwk, created_at, signs_from'
  return db.all<SigningKeyRow>(
    `select 'ES256' as alg, ${columns} from signing_key
     union all select 'RS256' as alg, ${columns} from rsa_signing_key order by alg, number`,
  )
}

/**
 * Returns no row if another process added a key with this number, or if the key that it replaces is gone: numbers of
 * keys that were deleted are free again.
 */
function insertKey(key: SigningKeyRow, replaces: string | null = null): Statement {
  const table = keyTables[key.alg]
  return statement(
    `insert into ${table} (kid, number, sealed, public_jwk, created_at, signs_from)
     select $1, cast($2 as integer), $3, $4, cast($5 as bigint), cast($6 as bigint)
     where cast($7 as text) is null or exists (select 1 from ${table} s where s.kid = $7)
     on conflict (number) do nothing returning kid`,
    key.kid,
    key.number,
    key.sealed,
    key.public_jwk,
    key.created_at,
    key.signs_from,
    replaces,
  )
}

export function addSigningKey(key: SigningKeyRow, by: By): Statement[] {
  return [
    insertKey(key),
    eventsFrom(
      'key.rotated',
      by,
      { id: "'key.' || kid", at: 'created_at', data: `'{"kid":"' || kid || '"}'` },
      `from ${keyTables[key.alg]} where kid = $1 and number > 1`,
      key.kid,
    ),
  ]
}

export function resealSigningKey({ alg, kid, sealed }: SigningKeyRow, resealed: string): Statement {
  const update = `update ${keyTables[alg]} set sealed = $1 where kid = $2 and sealed = $3`
  return statement(update, resealed, kid, sealed)
}

/** Deletes a key, provided that the next signing key exists. The last statement returns the key if it was removed. */
export function revokeSigningKey(
  r: { alg: Algorithm; kid: string; signer: string; replacement: SigningKeyRow | null; now: number },
  by: By,
): Statement[] {
  const table = keyTables[r.alg]
  const data = { ...(r.replacement && { kid: r.replacement.kid }), revoked: r.kid }
  const mayGo = `kid = $1 and exists (select 1 from ${table} s where s.kid = $2)`
  return [
    ...(r.replacement ? [insertKey(r.replacement, r.kid)] : []),
    eventsFrom(
      'key.rotated',
      by,
      { id: "'revoked.' || kid", at: 'cast($3 as bigint)', data: 'cast($4 as text)' },
      `from ${table} where ${mayGo}`,
      r.kid,
      r.signer,
      r.now,
      JSON.stringify(data),
    ),
    statement(`delete from ${table} where ${mayGo} returning kid`, r.kid, r.signer),
  ]
}

export function dropSigningKeys(db: Db, keys: readonly Pick<SigningKeyRow, 'alg' | 'kid'>[]) {
  return db.tx(keys.map(({ alg, kid }) => statement(`delete from ${keyTables[alg]} where kid = $1`, kid)))
}
