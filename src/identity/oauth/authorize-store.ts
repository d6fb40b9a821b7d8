/** Codes for clients, requests for a new proof, and consents. */
import { eventHappened } from '../../messages/events/events.ts'
import { type Db, prune, type Statement, statement } from '../../platform/db/db.ts'
import { readOne } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'

export interface NewCode {
  readonly digest: string
  readonly clientId: string
  readonly redirectUri: string
  readonly codeChallenge: string | null
  readonly scope: string
  readonly nonce: string | null
  readonly language: string
  readonly personId: string
  /** Of the portal. */
  readonly sessionId: string
  readonly expiresAt: number
}

export function insertCode(code: NewCode): Statement {
  return statement(
    `insert into authorization_code (digest, client_id, redirect_uri, code_challenge, scope, nonce, language, person_id, parent_id, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    code.digest,
    code.clientId,
    code.redirectUri,
    code.codeChallenge,
    code.scope,
    code.nonce,
    code.language,
    code.personId,
    code.sessionId,
    code.expiresAt,
  )
}

/** When a request first asked for a new proof: now, unless it did so within `withinMs`. */
export async function askedAt(db: Db, digest: string, now: number, withinMs: number): Promise<number> {
  const [first] = await db.run<{ asked_at: number }>(
    `insert into authorization_ask (digest, asked_at) values ($1, $2)
     on conflict (digest) do update set asked_at = case
       when authorization_ask.asked_at < $3 then $2 else authorization_ask.asked_at end
     returning asked_at`,
    [digest, now, now - withinMs],
  )
  return first!.asked_at
}

/** The same request again asks for another proof. */
export function forgetAsk(digest: string): Statement {
  return statement('delete from authorization_ask where digest = $1', digest)
}

export interface Consent {
  readonly client_id: string
  readonly scope: string
  readonly given_at: number
}

const consent = 'select client_id, scope, given_at from consent where person_id = $1 and client_id = $2'

export function consentOf(db: Db, personId: string, clientId: string): Promise<Consent | undefined> {
  return db.one<Consent>(consent, [personId, clientId])
}

/** With a lock of the person. */
export const readConsent = (personId: string, clientId: string) =>
  readOne<Consent>(consent, personId, clientId)

interface NewConsent {
  readonly personId: string
  readonly clientId: string
  readonly scope: string
  readonly now: number
}

export function giveConsent(
  { personId, clientId, scope, now }: NewConsent,
  before: Consent | undefined,
  by: By,
): Statement[] {
  const sql = before
    ? 'update consent set scope = $3, given_at = $4 where person_id = $1 and client_id = $2'
    : 'insert into consent (person_id, client_id, scope, given_at) values ($1, $2, $3, $4)'
  return [
    statement(sql, personId, clientId, scope, now),
    eventHappened('consent.given', by, {
      id: `given.${personId}.${clientId}.${now}`,
      at: now,
      personId,
      data: { clientId, scope },
    }),
  ]
}

interface Withdrawal {
  readonly personId: string
  readonly clientId: string
  readonly eventId: string
  readonly now: number
}

/** Codes of a person that were not redeemed. */
export function forgetCodes({ personId, clientId }: Withdrawal): Statement {
  return statement(
    'delete from authorization_code where person_id = $1 and client_id = $2 and used_at is null',
    personId,
    clientId,
  )
}

/** After codes and sessions, as when a client is removed. */
export function withdrawConsent({ personId, clientId, eventId, now }: Withdrawal, by: By): Statement[] {
  return [
    statement('delete from consent where person_id = $1 and client_id = $2', personId, clientId),
    eventHappened('consent.withdrawn', by, { id: eventId, at: now, personId, data: { clientId } }),
  ]
}

export function pruneCodes(before: number): Statement {
  return prune('authorization_code', 'digest', 'expires_at < $1', before)
}

export function pruneAsks(before: number): Statement {
  return prune('authorization_ask', 'digest', 'asked_at < $1', before)
}
