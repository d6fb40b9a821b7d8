/**
 * Ends sessions and records each: one with those below it, all of a person, some of the expired ones, those of people
 * who left the roster, those at a client, or all there are. Their clients are told.
 */
import { eventsFrom } from '../../messages/events/events.ts'
import { changeAll, changeSome, type Statement, statement, type Value } from '../../platform/db/db.ts'
import type { By } from '../../platform/lib/by.ts'
import type { EndReason } from './store.ts'

export type Scope =
  /** The client that ends it itself need not be told. */
  | { id: string; personId: string; told?: string | null }
  | { personId: string; except?: string }
  | { personId: string; clientId: string }
  /** Of a veterinarian whom the school has not verified, at clients that do not admit them. */
  | { personId: string; atStrictClients: true }
  | { departedIn: number }
  | { clientId: string }
  /** Of veterinarians whom the school has not verified. */
  | { clientId: string; ofUnverified: true }
  /** All but the newest of a person at a client. */
  | { oldestOf: { personId: string; clientId: string; keep: number } }
  | 'all'

/** The parameters of the text start with `$3`. */
type Which = readonly [sql: string, ...params: Value[]]

export function endSessions(
  scope: Scope | { expiredAt: number },
  reason: EndReason,
  now: number,
  by: By,
): Statement[] {
  if (scope === 'all' || !('expiredAt' in scope)) {
    const told = (scope !== 'all' && 'told' in scope && scope.told) || null
    return ending(changeAll, whichOf(scope, reason), { reason, now, by, told })
  }
  const { expiredAt } = scope
  // Also of one that has ended: programs before schema 0033 end it alone.
  const belowExpired =
    'parent_id in (select p.id from session p where p.ended_at is not null or p.expires_at <= $3)'
  const expired = `expires_at <= $3 and not exists (
    select 1 from session c where c.parent_id = session.id and c.ended_at is null)`
  return [belowExpired, expired].flatMap((which) =>
    ending(changeSome, [which, expiredAt], { reason, now, by, told: null }),
  )
}

function ending(
  change: typeof changeAll,
  [which, ...params]: Which,
  { reason, now, by, told }: { reason: EndReason; now: number; by: By; told: string | null },
): Statement[] {
  // Whoever has locked a session of the portal may still have to lock one below it, so nobody locks that one before.
  const rows = { table: 'session', key: 'id', returning: 'id', order: 'client_id is not null, id' }
  const end = (where: string) =>
    change(
      'update session set ended_at = $1, end_reason = $2',
      { ...rows, where: `ended_at is null and ${where}` },
      now,
      reason,
      ...params,
    )
  return [
    end(which),
    // On PostgreSQL, the first statement does not see a session that was started below one of them while it waited.
    end(`parent_id in (select id from session where ended_at = $1 and ${which})`),
    eventsFrom(
      'session.ended',
      by,
      {
        id: "'ended.' || id",
        at: 'ended_at',
        person: 'person_id',
        session: 'id',
        data: `'{"reason":"' || end_reason || '"' ||
          case when client_id is null then '' else ',"client":"' || client_id || '"' end || '}'`,
      },
      statement(`from session where ended_at = $1 and end_reason = $2 and ${which}`, now, reason, ...params),
    ),
    statement(
      `insert into logout_call (session_id, client_id, uri, person_id, subject_salt, id_token_alg, next_at, created_at)
       select s.id, c.id, c.backchannel_uri, s.person_id, c.subject_salt, c.id_token_alg, s.ended_at, s.ended_at
       from (select id, client_id, person_id, ended_at from session
         where ended_at = $1 and client_id is not null and client_id <> $2 and ${which}) s
       join client c on c.id = s.client_id where c.backchannel_uri is not null
       on conflict (session_id) do nothing`,
      now,
      told ?? '',
      ...params,
    ),
  ]
}

function whichOf(scope: Scope, reason: EndReason): Which {
  if (scope === 'all') return ['true']
  if ('departedIn' in scope) return [departed, scope.departedIn]
  if ('id' in scope) {
    // Whoever has a copy of its token may have started others with it.
    const below = reason === 'reuse' ? 'started_from' : 'parent_id'
    return [`(id = $3 or ${below} = $3) and person_id = $4`, scope.id, scope.personId]
  }
  if ('oldestOf' in scope) {
    const { personId, clientId, keep } = scope.oldestOf
    return [allButNewest, personId, clientId, keep]
  }
  if ('ofUnverified' in scope) return [ofUnverifiedAtClient, scope.clientId]
  if ('atStrictClients' in scope) return [atStrictClients, scope.personId]
  if ('clientId' in scope)
    return 'personId' in scope
      ? ['person_id = $3 and client_id = $4', scope.personId, scope.clientId]
      : ['client_id = $3', scope.clientId]
  const { personId, except = '' } = scope
  return ['person_id = $3 and id <> $4', personId, except]
}

/** Only of a published generation. */
const departed = `person_id in (
  select d.person_id from roster_departure d join roster_state r on r.generation = d.generation where d.generation = $3)`
/** The same before and after they have ended. Reads no others that have ended, of which there may be any number. */
const allButNewest = `person_id = $3 and client_id = $4 and id not in (
  select o.id from session o where o.person_id = $3 and o.client_id = $4 and o.ended_at is null
  order by o.started_at desc, o.id desc limit $5)`
const unverified =
  "person_id in (select p.id from person p where p.role = 'veterinarian' and p.verified_at is null)"
const ofUnverifiedAtClient = `client_id = $3 and ${unverified}`
const atStrictClients = `person_id = $3 and ${unverified}
  and client_id in (select c.id from client c where c.unverified_veterinarians = 0)`
