import { eventsFrom } from '../../messages/events/events.ts'
import {
  type Db,
  insertion,
  prune,
  type Row,
  type Statement,
  statement,
  update,
} from '../../platform/db/db.ts'
import { lockOne } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'

export interface CodeRow {
  readonly client_id: string
  readonly redirect_uri: string
  readonly code_challenge: string | null
  readonly scope: string
  readonly nonce: string | null
  readonly language: string
  readonly person_id: string
  readonly parent_id: string
  readonly expires_at: number
  readonly used_at: number | null
  readonly session_id: string | null
}

const code = `select client_id, redirect_uri, code_challenge, scope, nonce, language, person_id, parent_id, expires_at, used_at,
  session_id from authorization_code where digest = $1`

export const codeByDigest = (db: Db, digest: string) => db.one<CodeRow>(code, [digest])
export const lockCode = (digest: string) => lockOne<CodeRow>('code', code, digest)

/** For the session that it starts. */
export const useCode = (digest: string, session_id: string, now: number) =>
  update('authorization_code', { used_at: now, session_id }, { digest })

const usedEveryMs = 60_000

/** Saves when a client was last used, at most once a minute. Most requests need no statement. */
export function noteClientUsed(
  { id, lastUsedAt }: { readonly id: string; readonly lastUsedAt: number | null },
  now: number,
): Statement[] {
  const before = now - usedEveryMs
  if (lastUsedAt !== null && lastUsedAt >= before) return []
  const sql =
    'update client set last_used_at = $1 where id = $2 and (last_used_at is null or last_used_at < $3)'
  return [statement(sql, now, id, before)]
}

interface ServiceToken extends Row {
  readonly id: string
  readonly client_id: string
  readonly scope: string
  readonly expires_at: number
}

export const addServiceToken = (token: ServiceToken) => insertion('service_token', token)
export const removeServiceToken = (id: string, clientId: string) =>
  statement('delete from service_token where id = $1 and client_id = $2', id, clientId)
export const pruneServiceTokens = (now: number) => prune('service_token', 'id', 'expires_at < $1', now)

/** A client that has to be told of the end of a session. */
export interface CallRow extends Row {
  readonly session_id: string
  readonly client_id: string
  readonly uri: string
  readonly person_id: string
  readonly subject_salt: string | null
  readonly id_token_alg: 'ES256' | 'RS256'
  readonly attempts: number
}

const isDue = 'ended_at is null and next_at <= $1'

export const clientsToCall = (db: Db, now: number) =>
  db.all<{ client_id: string }>(`select distinct client_id from logout_call where ${isDue}`, [now])

/** Claims due calls by moving `next_at` to the end of the lease, so that another process takes over if this one dies. */
export async function claimCalls(
  db: Db,
  c: { clientId: string; by: string; now: number; leaseUntil: number; limit: number },
): Promise<CallRow[]> {
  const due = `${isDue} and client_id = $2`
  const rows = `select session_id from logout_call where ${due} order by next_at limit $5`
  const claim = (ids: string) =>
    `update logout_call set claimed_by = $3, next_at = $4 where ${due} and session_id in (${ids})
     returning session_id, client_id, uri, person_id, subject_salt, id_token_alg, attempts`
  const params = [c.now, c.clientId, c.by, c.leaseUntil, c.limit]
  const postgres = `with locked as materialized (${rows} for update skip locked) ${claim('select session_id from locked')}`
  const [claimed] = await db.tx([{ sql: claim(rows), postgres, params }])
  return claimed as CallRow[]
}

export interface Call {
  readonly sessionId: string
  /** The claim under which it was made. */
  readonly by: string
  readonly at: number
  readonly status: number | null
  readonly error: string | null
  readonly nextAt: number
  /** Null if it will be tried again. */
  readonly outcome: 'delivered' | 'failed' | null
}

/** Does nothing if another process has claimed it since. */
export function recordCall(call: Call, by: By): Statement[] {
  const { sessionId, outcome } = call
  const recorded = statement(
    `update logout_call set attempts = attempts + 1, tried_at = $3, status = $4, error = $5, next_at = $6,
       claimed_by = null, outcome = $7, ended_at = $8
     where session_id = $1 and claimed_by = $2`,
    sessionId,
    call.by,
    call.at,
    call.status,
    call.error,
    call.nextAt,
    outcome,
    outcome && call.at,
  )
  return outcome === 'failed' ? [recorded, failure(sessionId, by)] : [recorded]
}

const failure = (sessionId: string, by: By) =>
  eventsFrom(
    'logout.failed',
    by,
    {
      id: "'logout-failed.' || session_id",
      at: 'ended_at',
      person: 'person_id',
      session: 'session_id',
      data: `'{"clientId":"' || client_id || '"}'`,
    },
    statement("from logout_call where session_id = $1 and outcome = 'failed'", sessionId),
  )

/** Releases a call that was not made. */
export const releaseCall = (session_id: string, claimed_by: string, now: number) =>
  update('logout_call', { next_at: now, claimed_by: null }, { session_id, claimed_by })

export const pruneCalls = (endedBefore: number) =>
  prune('logout_call', 'session_id', 'ended_at < $1', endedBefore)
