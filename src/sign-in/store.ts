import { type Condition, type Db, type Expression, locking, type Statement, statement } from '../db/db.ts'
import { insertEvents } from '../events/events.ts'
import type { Digits } from '../lib/code.ts'
import type { Role } from '../people/people.ts'

export interface Challenge {
  readonly id: string
  readonly role: Role
  readonly address_hash: string
  /** Fingerprint of the address without its tag, by which limits count. */
  readonly inbox_fingerprint: string
  readonly network_hash: string
  /** The device whose share of codes paid for this one, if one did. */
  readonly device_id: string | null
  readonly digits: Digits
  readonly reference: string
  readonly created_at: number
  readonly expires_at: number
  readonly resend_at: number | null
  readonly resends: number
  readonly attempts: number
  readonly send_id: string
}

const columns =
  'id, role, address_hash, inbox_fingerprint, network_hash, device_id, digits, reference, created_at, expires_at, resend_at, resends, attempts, send_id'

const open = (attemptsMax: number) => `used_at is null and attempts < ${attemptsMax}`

/**
 * Opens a session that waits for its code. Where the inbox has `openMax` of them already, the code is longer: that is
 * decided here and not before, so that many requests at once cannot all be the first.
 */
export function openChallenge(
  c: Challenge,
  longer: { openMax: number | null; attemptsMax: number },
  when: Condition,
): Statement {
  const openOnes = `(select count(*) from challenge
    where inbox_fingerprint = $4 and expires_at > cast($9 as bigint) and ${open(longer.attemptsMax)})`
  const digits =
    longer.openMax === null
      ? 'cast($7 as integer)'
      : `case when ${openOnes} >= ${longer.openMax} then 8 else cast($7 as integer) end`
  return statement(
    `insert into challenge (${columns})
     select $1, $2, $3, $4, $5, $6, ${digits}, $8, cast($9 as bigint), cast($10 as bigint), cast($11 as bigint), 0, 0, $12
     where ${when.sql(13)}
     returning digits`,
    c.id,
    c.role,
    c.address_hash,
    c.inbox_fingerprint,
    c.network_hash,
    c.device_id,
    c.digits,
    c.reference,
    c.created_at,
    c.expires_at,
    c.resend_at,
    c.send_id,
    ...when.params,
  )
}

/** How long the code of a session is. */
export function digitsOf(id: string): Expression {
  return { sql: (first) => `(select digits from challenge where id = $${first})`, params: [id] }
}

export function openChallengeById(
  db: Db,
  ask: { id: string; role: Role; addressHashes: readonly [string, string]; now: number; attemptsMax: number },
): Promise<Challenge | undefined> {
  return db.one<Challenge>(
    `select ${columns} from challenge
     where id = $1 and role = $2 and address_hash in ($3, $4) and expires_at > $5 and ${open(ask.attemptsMax)}`,
    [ask.id, ask.role, ...ask.addressHashes, ask.now],
  )
}

/** One more mail of the same code, unless another request was quicker. */
export function resend(
  r: { id: string; sendId: string; now: number; nextAt: number; resendsMax: number },
  when: Condition,
): Statement {
  return statement(
    `update challenge
     set resends = resends + 1, send_id = $1,
         resend_at = case when resends + 1 < ${r.resendsMax} then cast($2 as bigint) else null end
     where id = $3 and resend_at <= $4 and resends < ${r.resendsMax} and ${when.sql(5)}
     returning resend_at`,
    r.sendId,
    r.nextAt,
    r.id,
    r.now,
    ...when.params,
  )
}

/** Makes the resends of one challenge wait for each other, so that what follows sees what the one before did. */
export function lockChallenge(id: string): Statement {
  return locking('select id from challenge where id = $1', id)
}

/** Looks only: holds while the code may be sent once more. */
export function resendable(id: string, now: number, resendsMax: number): Condition {
  return {
    sql: (n) =>
      `exists (select 1 from challenge where id = $${n} and resend_at <= $${n + 1} and resends < ${resendsMax})`,
    params: [id, now],
  }
}

/** Holds if this very send was written. */
export function sent(challengeId: string, sendId: string): Condition {
  return {
    sql: (first) => `exists (select 1 from challenge where id = $${first} and send_id = $${first + 1})`,
    params: [challengeId, sendId],
  }
}

/** What an answer has to fit, and whom to count it for. */
export type Answered = Pick<
  Challenge,
  'attempts' | 'digits' | 'inbox_fingerprint' | 'network_hash' | 'device_id'
>

// Challenges from before there was a fingerprint of the inbox live for ten minutes.
const answeredColumns =
  'attempts, digits, coalesce(inbox_fingerprint, address_hash) as inbox_fingerprint, network_hash, device_id'

/** Counts an attempt before anything is compared. No row: there is nothing to compare with. */
export function countAttempt(
  a: { id: string; role: Role; addressHashes: readonly [string, string]; now: number; attemptsMax: number },
  when: Condition,
): Statement {
  return statement(
    `update challenge set attempts = attempts + 1
     where id = $1 and role = $2 and address_hash in ($3, $4) and expires_at > $5 and ${open(a.attemptsMax)}
       and ${when.sql(6)}
     returning ${answeredColumns}`,
    a.id,
    a.role,
    ...a.addressHashes,
    a.now,
    ...when.params,
  )
}

/**
 * Counts one more answer to a code that this very request, by its idempotency key, has used up since `usedSince`. Answers
 * stay bounded: whoever guesses the key must not get to guess the code.
 */
export function countRepeat(
  db: Db,
  r: {
    id: string
    role: Role
    addressHashes: readonly [string, string]
    by: string
    usedSince: number
    attemptsMax: number
  },
): Promise<Answered[]> {
  return db.run<Answered>(
    `update challenge set attempts = attempts + 1
     where id = $1 and role = $2 and address_hash in ($3, $4) and used_by = $5 and used_at >= $6
       and attempts < ${2 * r.attemptsMax}
     returning ${answeredColumns}`,
    [r.id, r.role, ...r.addressHashes, r.by, r.usedSince],
  )
}

/** Writes down that nobody can answer any more, unless a right answer has come at the same time. */
export function exhaust(id: string, now: number): Statement[] {
  return [
    lockChallenge(id),
    statement(
      `${insertEvents}
       select 'exhausted.' || id, cast($2 as bigint), 'otp.exhausted', null, id, '{}' from challenge
       where id = $1 and used_at is null
       on conflict (id) do nothing`,
      id,
      now,
    ),
  ]
}

/** Uses the code up. Of many right answers, `claimed` holds for one. */
export function claim(id: string, by: string, now: number): Statement {
  return statement(
    'update challenge set used_at = $1, used_by = $2 where id = $3 and used_at is null',
    now,
    by,
    id,
  )
}

export function claimed(id: string, by: string): Condition {
  return {
    sql: (first) => `exists (select 1 from challenge where id = $${first} and used_by = $${first + 1})`,
    params: [id, by],
  }
}

/** A right answer that was repeated does not count: only guesses do. */
export function uncountRepeat(db: Db, id: string) {
  return db.run('update challenge set attempts = attempts - 1 where id = $1', [id])
}

/** The first right code makes a pending account active. */
export function activate(personId: string, now: number, when: Condition): Statement[] {
  return [
    statement(
      `update person set status = 'active', activated_at = $1, updated_at = $1, confirm_before = null
       where id = $2 and status = 'pending' and ${when.sql(3)}`,
      now,
      personId,
      ...when.params,
    ),
    statement(
      `${insertEvents}
       select 'activated.' || id, activated_at, role || '.activated', id, null, '{}' from person
       where id = $1 and activated_at = $2
       on conflict (id) do nothing`,
      personId,
      now,
    ),
  ]
}

export function pruneChallenges(before: number): Statement {
  return statement('delete from challenge where expires_at < $1', before)
}
