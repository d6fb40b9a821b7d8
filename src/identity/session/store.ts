import { eventHappened } from '../../messages/events/events.ts'
import { type Db, insertion, prune, type ReadById, type Statement, update } from '../../platform/db/db.ts'
import { lockOne, readOne } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import type { Method, Role } from '../../roles.ts'
import { accounts, type Person, type PersonInSession, personList } from '../people/people.ts'

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

/** Programs before schema 0032 leave the column's default, 0. */
const authAt = `nullif(coalesce(nullif(s.auth_at, 0), s.started_at), ${neverProved}) as auth_at`

const sessionColumns = `s.id as session_id, s.device, s.started_at, s.last_seen_at, s.expires_at, ${authAt}, s.method,
  s.refresh_seq, s.refresh_parent, s.rotated_at, s.ended_at, s.end_reason, s.client_id, s.scope, s.parent_id, s.language`

export function sessionById(db: Db, id: string): Promise<SessionAndPerson | undefined> {
  return db.one<SessionAndPerson>(
    `select ${sessionColumns}, ${personList('p')} from session s join ${accounts} p on p.id = s.person_id
     where s.id = $1`,
    [id],
  )
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
  const select = `select s.id as session_id, s.last_seen_at, s.expires_at, ${authAt}, s.method, s.client_id, s.scope,
    s.language, ${columns} from session s join person p on p.id = s.person_id where s.ended_at is null and p.status = 'active'`
  return { one: `${select} and s.id = $1`, many: `${select} and s.id = any($1)`, idColumn: 'session_id' }
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
    `select ${sessionColumns}, c.name as client_name from session s left join client c on c.id = s.client_id
     where s.person_id = $1 order by s.started_at desc, s.id`,
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

export function insertSession(
  s: Omit<NewSession, 'addressKey'> & { expiresAt: number },
  by: By,
  at?: Pick<Session, 'scope' | 'parent_id' | 'language'> & { client_id: string; started_from: string },
): Statement[] {
  const { id, role, personId, device, now, expiresAt, authAt = now, method } = s
  const row = {
    ...{ id, role, person_id: personId, device, method },
    ...{ started_at: now, last_seen_at: now, expires_at: expiresAt, auth_at: storedProof(authAt) },
    ...{ refresh_seq: 1, rotated_at: 0, rotated_before_at: 0 },
    ...at,
  }
  const data = { method, ...(at && { client: at.client_id }) }
  const started = { id: `started.${id}`, at: now, personId, sessionId: id, data }
  return [insertion('session', row), eventHappened('session.started', by, started)]
}

/** The client of a session, its person, and the session on which it depends, if there is one. */
export interface ClientOfSession {
  readonly scopes: string
  readonly roles: string
  readonly unverified_veterinarians: number | null
  readonly disabled_at: number | null
  readonly is_pairwise: number
  readonly role: Role
  readonly verified_at: number | null
  readonly parent_id: string | null
  readonly parent_ended_at: number | null
  /** Null if there is no such session any more. */
  readonly parent_expires_at: number | null
}

export function clientOfSession(db: Db, sessionId: string): Promise<ClientOfSession | undefined> {
  return db.one<ClientOfSession>(
    `select c.scopes, c.roles, c.unverified_veterinarians, c.disabled_at,
       case when c.subject_salt is null then 0 else 1 end as is_pairwise, p.role, p.verified_at,
       s.parent_id, o.ended_at as parent_ended_at, o.expires_at as parent_expires_at
     from session s join person p on p.id = s.person_id join client c on c.id = s.client_id
     left join session o on o.id = s.parent_id where s.id = $1`,
    [sessionId],
  )
}

/** Whom a client serves. */
export const readRegistered = (clientId: string) =>
  readOne<Pick<ClientOfSession, 'roles' | 'unverified_veterinarians' | 'disabled_at'>>(
    'select roles, unverified_veterinarians, disabled_at from client where id = $1',
    clientId,
  )

/** How many sessions somebody has at a client. */
export const readOpenAt = (clientId: string, personId: string) =>
  readOne<{ n: number }>(
    'select count(*) as n from session where client_id = $1 and person_id = $2 and ended_at is null',
    clientId,
    personId,
  )

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

export interface SessionRow
  extends Pick<Session, 'device' | 'auth_at' | 'method' | 'client_id' | 'ended_at' | 'expires_at'> {
  readonly person_id: string
}

export const lockSession = (id: string) =>
  lockOne<SessionRow>(
    'session',
    `select s.person_id, s.device, ${authAt}, s.method, s.client_id, s.ended_at, s.expires_at
     from session s where s.id = $1`,
    id,
  )

/** The person of a session has proved again who they are. */
export function provedAgain(
  s: { id: string; personId: string; method: Exclude<Method, 'school'>; now: number; eventId: string },
  by: By,
): Statement[] {
  const { id, personId, method, now, eventId } = s
  const steppedUp = { id: eventId, at: now, personId, sessionId: id, data: { method } }
  return [
    update('session', { auth_at: now, method }, { id }),
    eventHappened('session.stepped-up', by, steppedUp),
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

export function pruneSessions(endedBefore: number): Statement {
  return prune('session', 'id', 'ended_at < $1', endedBefore)
}
