/** Codes for clients, requests for a new proof, and consents. */
import { eventHappened } from '../../messages/events/events.ts'
import { type Db, insertion, prune, type Statement, statement, update } from '../../platform/db/db.ts'
import { readOne } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import type { CodeRow } from './store.ts'

/** `parent_id` is the session at the portal. */
export const insertCode = (code: Omit<CodeRow, 'used_at' | 'session_id'> & { readonly digest: string }) =>
  insertion('authorization_code', code)

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
export const forgetAsk = (digest: string) =>
  statement('delete from authorization_ask where digest = $1', digest)

export interface Consent {
  readonly client_id: string
  readonly scope: string
  readonly given_at: number
}

export const readConsent = (personId: string, clientId: string) =>
  readOne<Consent>(
    'select client_id, scope, given_at from consent where person_id = $1 and client_id = $2',
    personId,
    clientId,
  )

export function giveConsent(
  { personId, clientId, scope, now }: { personId: string; clientId: string; scope: string; now: number },
  before: Consent | undefined,
  by: By,
): Statement[] {
  const key = { person_id: personId, client_id: clientId }
  const given = { scope, given_at: now }
  const id = `given.${personId}.${clientId}.${now}`
  return [
    before ? update('consent', given, key) : insertion('consent', { ...key, ...given }),
    eventHappened('consent.given', by, { id, at: now, personId, data: { clientId, scope } }),
  ]
}

interface Withdrawal {
  readonly personId: string
  readonly clientId: string
  readonly eventId: string
  readonly now: number
}

/** Codes of a person that were not redeemed. */
export const forgetCodes = ({ personId, clientId }: Withdrawal) =>
  statement(
    'delete from authorization_code where person_id = $1 and client_id = $2 and used_at is null',
    personId,
    clientId,
  )

/** After codes and sessions, as when a client is removed. */
export function withdrawConsent({ personId, clientId, eventId, now }: Withdrawal, by: By): Statement[] {
  return [
    statement('delete from consent where person_id = $1 and client_id = $2', personId, clientId),
    eventHappened('consent.withdrawn', by, { id: eventId, at: now, personId, data: { clientId } }),
  ]
}

export const pruneCodes = (before: number) => prune('authorization_code', 'digest', 'expires_at < $1', before)
export const pruneAsks = (before: number) => prune('authorization_ask', 'digest', 'asked_at < $1', before)
