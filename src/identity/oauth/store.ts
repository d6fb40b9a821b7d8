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
  readonly claimed_by: string
}

export const clientsToCall = (db: Db, now: number) =>
  db.all<{ client_id: string }>(
    'select distinct client_id from logout_call where ended_at is null and next_at <= $1',
    [now],
  )

export const calls = {
  name: 'logout_call',
  key: ['session_id'],
  columns: 'session_id, client_id, uri, person_id, subject_salt, id_token_alg, attempts, claimed_by',
} as const

export const callsTo = (clientId: string) => ({
  name: clientId,
  where: 'ended_at is null and client_id = $5',
  params: [clientId],
})

interface Attempt {
  readonly at: number
  readonly status: number | null
  readonly error: string | null
  readonly nextAt: number
  /** Null if it will be tried again. */
  readonly outcome: 'delivered' | 'failed' | null
}

/** Does nothing if another process has claimed it since. */
export function recordCall(call: CallRow, attempt: Attempt, by: By): Statement[] {
  const { outcome } = attempt
  const recorded = statement(
    `update logout_call set attempts = attempts + 1, tried_at = $3, status = $4, error = $5, next_at = $6,
       claimed_by = null, outcome = $7, ended_at = $8
     where session_id = $1 and claimed_by = $2`,
    call.session_id,
    call.claimed_by,
    attempt.at,
    attempt.status,
    attempt.error,
    attempt.nextAt,
    outcome,
    outcome && attempt.at,
  )
  return outcome === 'failed' ? [recorded, failure(call.session_id, by)] : [recorded]
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

export const pruneCalls = (endedBefore: number) =>
  prune('logout_call', 'session_id', 'ended_at < $1', endedBefore)
