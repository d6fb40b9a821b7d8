import { eventHappened, eventsFrom } from '../../messages/events/events.ts'
import { type Db, insertion, type Statement, statement, update } from '../../platform/db/db.ts'
import { lockAll, lockOne, readOne } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import type { Role } from '../../roles.ts'
import type { ClientKind, Consent, IdTokenAlg } from './kinds.ts'

export interface ClientRow {
  readonly id: string
  readonly name: string
  readonly kind: ClientKind
  readonly redirect_uris: string
  readonly logout_uris: string
  readonly backchannel_uri: string | null
  readonly scopes: string
  readonly roles: string
  readonly consent: Consent
  readonly subject_salt: string | null
  readonly pkce: number
  readonly claims_in_id_token: number
  readonly id_token_alg: IdTokenAlg
  readonly unverified_veterinarians: number | null
  readonly secret_digest: string | null
  readonly secret_before: string | null
  readonly secret_before_until: number | null
  readonly created_at: number
  readonly last_used_at: number | null
  readonly disabled_at: number | null
}

const clientColumns =
  'id, name, kind, redirect_uris, logout_uris, backchannel_uri, scopes, roles, consent, subject_salt, pkce, claims_in_id_token, id_token_alg, unverified_veterinarians, secret_digest, secret_before, secret_before_until, created_at, last_used_at, disabled_at'

/** Enabled clients that are pages in a browser. */
export const pageClients = (db: Db) =>
  db.all<{ redirect_uris: string }>(
    "select redirect_uris from client where kind = 'spa' and disabled_at is null",
  )

const byId = `select ${clientColumns} from client where id = $1`
export const clientRow = (db: Db, id: string) => db.one<ClientRow>(byId, [id])
export const lockClient = (id: string) => lockOne<ClientRow>('client', byId, id)

type Given = 'id' | 'kind' | 'subject_salt' | 'secret_digest' | 'created_at'
type Later = 'secret_before' | 'secret_before_until' | 'last_used_at' | 'disabled_at'
export type NewClientRow = Omit<ClientRow, Later>
/** The columns that can be changed. */
export type ClientColumns = Omit<NewClientRow, Given>

export type WatchedClient = ClientRow & {
  /** People. */
  readonly signed_in: number
  /** Back-channel calls. */
  readonly waiting: number
  readonly failed: number
}

const watched = `select ${clientColumns},
  (select count(distinct s.person_id) from session s
    where s.client_id = client.id and s.ended_at is null and s.expires_at > $1) as signed_in,
  (select count(*) from logout_call l
    where l.client_id = client.id and l.created_at > $2 and l.ended_at is null) as waiting,
  (select count(*) from logout_call l
    where l.client_id = client.id and l.created_at > $2 and l.ended_at is not null and l.outcome <> 'delivered') as failed
  from client`

export const allClients = (db: Db, now: number, callsSince: number) =>
  db.all<WatchedClient>(`${watched} order by lower(name), id`, [now, callsSince])

export const watchedClient = (db: Db, id: string, now: number, callsSince: number) =>
  db.one<WatchedClient>(`${watched} where id = $3`, [now, callsSince, id])

export interface CallRow {
  readonly session_id: string
  readonly person_id: string
  readonly attempts: number
  readonly status: number | null
  readonly error: string | null
  readonly tried_at: number | null
  readonly next_at: number
  readonly ended_at: number | null
}

/** Back-channel calls that failed, for good or so far; newest first. */
export function failedCalls(db: Db, clientId: string, since: number, limit: number): Promise<CallRow[]> {
  return db.all<CallRow>(
    `select session_id, person_id, attempts, status, error, tried_at, next_at, ended_at from logout_call
     where client_id = $1 and created_at > $2
       and ((ended_at is null and attempts > 0) or (ended_at is not null and outcome <> 'delivered'))
     order by created_at desc, session_id limit $3`,
    [clientId, since, limit],
  )
}

interface SignedInRow {
  readonly person_id: string
  readonly role: Role
  readonly sessions: number
  readonly since: number
  readonly last_seen_at: number
}

/** In the order of their ids. */
export function signedIn(db: Db, p: { clientId: string; now: number; after: string; limit: number }) {
  return db.all<SignedInRow>(
    `select person_id, role, count(*) as sessions, min(started_at) as since, max(last_seen_at) as last_seen_at
     from session where client_id = $1 and ended_at is null and expires_at > $2 and person_id > $3
     group by person_id, role order by person_id limit $4`,
    [p.clientId, p.now, p.after, p.limit],
  )
}

/** All of them, so that two that are added at once do not both take the last place. */
export const lockClients = () => lockAll<{ id: string }>('client', 'select id from client order by id')
/** With a lock of them all: those that were added meanwhile are not locked. */
export const readCount = () => readOne<{ n: number }>('select count(*) as n from client')

export const readEnabled = (id: string) =>
  readOne<{ id: string }>('select id from client where id = $1 and disabled_at is null', id)

export function addClient(client: NewClientRow, by: By): Statement[] {
  const { id, created_at: now } = client
  return [insertion('client', client), clientEvent('added', by, { eventId: `added.${id}`, id, now })]
}

interface Change {
  readonly eventId: string
  readonly id: string
  readonly now: number
}

type ClientEvent = 'added' | 'changed' | 'rotated' | 'disabled' | 'enabled' | 'removed'

function clientEvent(type: ClientEvent, by: By, { eventId, id, now }: Change): Statement {
  return eventHappened(`client.${type}`, by, { id: eventId, at: now, data: { clientId: id } })
}

export function changeClient(change: Change, columns: Partial<ClientColumns>, by: By): Statement[] {
  const entries = Object.entries(columns)
  if (entries.length === 0) return []
  return [
    ...entries.map(([column, value]) => update('client', { [column]: value }, { id: change.id })),
    clientEvent('changed', by, change),
  ]
}

/** The former secret, `from`, works until `bothUntil`, if that is not null. */
export function rotateClient(
  r: Change & { from: string; to: string; bothUntil: number | null },
  by: By,
): Statement[] {
  const secret_before = r.bothUntil === null ? null : r.from
  const secrets = { secret_digest: r.to, secret_before, secret_before_until: r.bothUntil }
  return [update('client', secrets, { id: r.id }), clientEvent('rotated', by, r)]
}

/** Tokens of a disabled client are refused. */
export function turnClient(change: Change, to: 'enabled' | 'disabled', by: By): Statement[] {
  const disabled_at = to === 'disabled' ? change.now : null
  return [update('client', { disabled_at }, { id: change.id }), clientEvent(to, by, change)]
}

/** Codes that were not redeemed, and tokens of a service. Codes come before sessions, as when one is redeemed. */
export function forgetGrants(id: string): Statement[] {
  return [
    statement('delete from authorization_code where client_id = $1', id),
    statement('delete from service_token where client_id = $1', id),
  ]
}

/** After its sessions have ended. */
export function removeClient(change: Change, by: By): Statement[] {
  return [
    eventsFrom(
      'consent.withdrawn',
      by,
      {
        id: "cast($1 as text) || '.' || person_id",
        at: 'cast($2 as bigint)',
        person: 'person_id',
        data: `'{"clientId":"' || client_id || '"}'`,
      },
      statement('from consent where client_id = $3', change.eventId, change.now, change.id),
    ),
    statement('delete from consent where client_id = $1', change.id),
    statement('delete from client where id = $1', change.id),
    clientEvent('removed', by, change),
  ]
}

interface ConsentRow {
  readonly client_id: string
  readonly name: string
  readonly scope: string
  readonly given_at: number
}

export function consentsOf(db: Db, personId: string): Promise<ConsentRow[]> {
  return db.all(
    `select o.client_id, o.scope, o.given_at, c.name from consent o join client c on c.id = o.client_id
     where o.person_id = $1 order by c.name, c.id`,
    [personId],
  )
}

export function eraseConsents(personId: string): Statement {
  return statement('delete from consent where person_id = $1', personId)
}
