import { eventHappened } from '../../messages/events/events.ts'
import { type Db, prune, type Statement, statement } from '../../platform/db/db.ts'
import { lockOne, readOne } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import { attemptsMax, type Challenge } from './rules.ts'

// Older challenges have no inbox fingerprint.
const columns = `id, role, address_fingerprint, coalesce(inbox_fingerprint, address_fingerprint) as inbox_fingerprint,
  network_fingerprint, device_id, digits, reference, created_at, expires_at, resend_at, resends, attempts, send_id, person_id,
  session_id, email, used_at, used_by`
const challengeById = `select ${columns} from challenge where id = $1`

export const lockChallenge = (id: string) => lockOne<Challenge>('challenge', challengeById, id)

export function findChallenge(db: Db, id: string): Promise<Challenge | undefined> {
  return db.one<Challenge>(challengeById, [id])
}

export const readOpenChallenges = (inbox: string, now: number) =>
  readOne<{ n: number }>(
    `select count(*) as n from challenge
     where inbox_fingerprint = $1 and expires_at > $2 and used_at is null and attempts < ${attemptsMax}`,
    inbox,
    now,
  )

export function insertChallenge(c: Challenge): Statement {
  return statement(
    `insert into challenge (id, role, address_fingerprint, inbox_fingerprint, network_fingerprint, device_id, digits, reference,
       created_at, expires_at, resend_at, resends, attempts, send_id, person_id, session_id, email)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
    c.id,
    c.role,
    c.address_fingerprint,
    c.inbox_fingerprint,
    c.network_fingerprint,
    c.device_id,
    c.digits,
    c.reference,
    c.created_at,
    c.expires_at,
    c.resend_at,
    c.resends,
    c.attempts,
    c.send_id,
    c.person_id,
    c.session_id,
    c.email,
  )
}

/** The same code again, in another mail. */
export function noteResent(id: string, sendId: string, nextAt: number | null): Statement {
  return statement(
    'update challenge set resends = resends + 1, send_id = $1, resend_at = $2 where id = $3',
    sendId,
    nextAt,
    id,
  )
}

export function countAttempt(id: string): Statement {
  return statement('update challenge set attempts = attempts + 1 where id = $1', id)
}

export function useCode(id: string, by: string, now: number): Statement {
  return statement(
    'update challenge set attempts = attempts + 1, used_at = $1, used_by = $2 where id = $3',
    now,
    by,
    id,
  )
}

export function noteExhausted(id: string, now: number, by: By): Statement {
  return eventHappened('otp.exhausted', by, { id: `exhausted.${id}`, at: now, sessionId: id })
}

export function pruneChallenges(before: number): Statement {
  return prune('challenge', 'id', 'expires_at < $1', before)
}
