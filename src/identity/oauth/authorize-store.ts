/** Codes for clients, requests for a new proof, and consents. */
import { eventsFrom, happened } from '../../messages/events/events.ts'
import { type Condition, type Db, prune, type Statement, statement } from '../../platform/db/db.ts'
import type { By } from '../../platform/lib/by.ts'
import { accounts } from '../people/people.ts'

export interface NewCode {
  readonly digest: string
  readonly clientId: string
  readonly redirectUri: string
  readonly codeChallenge: string | null
  readonly scope: string
  readonly nonce: string | null
  readonly sessionId: string
  readonly now: number
  readonly expiresAt: number
}

/** Returns a row if session, person and client are alive. */
export function insertCode(code: NewCode): Statement {
  return statement(
    `insert into authorization_code (digest, client_id, redirect_uri, code_challenge, scope, nonce, person_id, parent_id, expires_at)
     select $1, c.id, $2, $3, $4, $5, s.person_id, s.id, cast($6 as bigint)
     from session s join ${accounts} p on p.id = s.person_id join client c on c.id = $7
     where s.id = $8 and s.client_id is null and s.ended_at is null and s.expires_at > $9
       and p.status = 'active' and c.disabled_at is null
     returning digest`,
    code.digest,
    code.redirectUri,
    code.codeChallenge,
    code.scope,
    code.nonce,
    code.expiresAt,
    code.clientId,
    code.sessionId,
    code.now,
  )
}

const codeExists = (digest: string): Condition => ({
  sql: (n) => `exists (select 1 from authorization_code where digest = $${n})`,
  params: [digest],
})

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
export function forgetAsk(digest: string, code: string): Statement {
  const { sql, params } = codeExists(code)
  return statement(`delete from authorization_ask where digest = $1 and ${sql(2)}`, digest, ...params)
}

export interface Consent {
  readonly client_id: string
  readonly scope: string
  readonly given_at: number
}

export function consentOf(db: Db, personId: string, clientId: string): Promise<Consent | undefined> {
  return db.one<Consent>(
    'select client_id, scope, given_at from consent where person_id = $1 and client_id = $2',
    [personId, clientId],
  )
}

interface NewConsent {
  readonly personId: string
  readonly clientId: string
  readonly scope: string
  readonly eventId: string
  readonly now: number
}

/** With the code for which it was given. */
export function giveConsent(consent: NewConsent, by: By, code: string): Statement[] {
  const { personId, clientId, scope, eventId, now } = consent
  const issued = codeExists(code)
  return [
    statement(
      `insert into consent (person_id, client_id, scope, given_at)
       select $1, $2, $3, cast($4 as bigint) where ${issued.sql(5)}
       on conflict (person_id, client_id) do update set scope = excluded.scope, given_at = excluded.given_at`,
      personId,
      clientId,
      scope,
      now,
      ...issued.params,
    ),
    eventsFrom(
      'consent.given',
      by,
      {
        id: 'cast($1 as text)',
        at: 'cast($2 as bigint)',
        person: 'cast($3 as text)',
        data: 'cast($4 as text)',
      },
      `where ${issued.sql(5)}`,
      eventId,
      now,
      personId,
      JSON.stringify({ clientId, scope }),
      ...issued.params,
    ),
  ]
}

/** The event first, because it depends on the row. The second statement returns a row if there was one. */
export function withdrawConsent(
  { personId, clientId, eventId, now }: Omit<NewConsent, 'scope'>,
  by: By,
): Statement[] {
  const own = 'person_id = $1 and client_id = $2'
  const withdrawn = happened(eventId)
  return [
    eventsFrom(
      'consent.withdrawn',
      by,
      { id: 'cast($3 as text)', at: 'cast($4 as bigint)', person: 'person_id', data: 'cast($5 as text)' },
      `from consent where ${own}`,
      personId,
      clientId,
      eventId,
      now,
      JSON.stringify({ clientId }),
    ),
    statement(`delete from consent where ${own} returning client_id`, personId, clientId),
    statement(
      `delete from authorization_code where ${own} and used_at is null and ${withdrawn.sql(3)}`,
      personId,
      clientId,
      ...withdrawn.params,
    ),
  ]
}

export function pruneCodes(before: number): Statement {
  return prune('authorization_code', 'digest', 'expires_at < $1', before)
}

export function pruneAsks(before: number): Statement {
  return prune('authorization_ask', 'digest', 'asked_at < $1', before)
}
