import { eventHappened } from '../../messages/events/events.ts'
import { type Db, insertion, prune, statement } from '../../platform/db/db.ts'
import { lockOne, readOne } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import { attemptsMax, type Challenge } from './rules.ts'

// Older challenges have no inbox fingerprint.
const columns = `id, role, address_fingerprint, coalesce(inbox_fingerprint, address_fingerprint) as inbox_fingerprint,
  network_fingerprint, device_id, digits, reference, created_at, expires_at, resend_at, resends, attempts, send_id, person_id,
  session_id, email, used_at, used_by`
const challengeById = `select ${columns} from challenge where id = $1`

export const lockChallenge = (id: string) => lockOne<Challenge>('challenge', challengeById, id)

export const findChallenge = (db: Db, id: string) => db.one<Challenge>(challengeById, [id])

export const readOpenChallenges = (inbox: string, now: number) =>
  readOne<{ n: number }>(
    `select count(*) as n from challenge
     where inbox_fingerprint = $1 and expires_at > $2 and used_at is null and attempts < ${attemptsMax}`,
    inbox,
    now,
  )

export const insertChallenge = (challenge: Challenge) => insertion('challenge', { ...challenge })

/** The same code again, in another mail. */
export function noteResent(id: string, sendId: string, nextAt: number | null) {
  const sql = 'update challenge set resends = resends + 1, send_id = $1, resend_at = $2 where id = $3'
  return statement(sql, sendId, nextAt, id)
}

export const countAttempt = (id: string) =>
  statement('update challenge set attempts = attempts + 1 where id = $1', id)

export function useCode(id: string, by: string, now: number) {
  const sql = 'update challenge set attempts = attempts + 1, used_at = $1, used_by = $2 where id = $3'
  return statement(sql, now, by, id)
}

export const noteExhausted = (id: string, now: number, by: By) =>
  eventHappened('otp.exhausted', by, { id: `exhausted.${id}`, at: now, sessionId: id })

export const pruneChallenges = (before: number) => prune('challenge', 'id', 'expires_at < $1', before)
