import { type Condition, type Db, forUpdate, type Statement, statement } from '../db/db.ts'
import { insertEvents } from '../events/events.ts'
import type { Role } from '../people/people.ts'
import type { Digits } from './code.ts'

export interface Challenge {
  readonly id: string
  readonly role: Role
  readonly address_hash: string
  readonly network_hash: string
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
  'id, role, address_hash, network_hash, digits, reference, created_at, expires_at, resend_at, resends, attempts, send_id'

export function openChallenge(c: Challenge, when: Condition): Statement {
  return statement(
    `insert into challenge (${columns})
     select $1, $2, $3, $4, cast($5 as integer), $6, cast($7 as bigint), cast($8 as bigint), cast($9 as bigint), 0, 0, $10
     where ${when.sql(11)}
     returning id`,
    c.id,
    c.role,
    c.address_hash,
    c.network_hash,
    c.digits,
    c.reference,
    c.created_at,
    c.expires_at,
    c.resend_at,
    c.send_id,
    ...when.params,
  )
}

const open = (attemptsMax: number) => `used_at is null and attempts < ${attemptsMax}`

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
  return statement(`select id from challenge where id = $1 ${forUpdate}`, id)
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

/** Counts an attempt before anything is compared. No row: there is nothing to compare with. */
export function countAttempt(
  a: { id: string; role: Role; addressHashes: readonly [string, string]; now: number; attemptsMax: number },
  when: Condition,
): Statement {
  return statement(
    `update challenge set attempts = attempts + 1
     where id = $1 and role = $2 and address_hash in ($3, $4) and expires_at > $5 and ${open(a.attemptsMax)}
       and ${when.sql(6)}
     returning attempts, digits, network_hash`,
    a.id,
    a.role,
    ...a.addressHashes,
    a.now,
    ...when.params,
  )
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
