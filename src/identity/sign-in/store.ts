import { type EventType, eventsFrom } from '../../messages/events/events.ts'
import {
  always,
  both,
  type Condition,
  type Db,
  type Expression,
  expression,
  locking,
  prune,
  type Statement,
  statement,
  statementOf,
  value,
} from '../../platform/db/db.ts'
import type { By } from '../../platform/lib/by.ts'
import type { Digits } from '../../platform/lib/code.ts'
import type { Role } from '../../roles.ts'

export interface Challenge {
  readonly id: string
  readonly role: Role
  readonly address_fingerprint: string
  readonly inbox_fingerprint: string
  readonly network_fingerprint: string
  /** The device whose quota paid for this code, if any. */
  readonly device_id: string | null
  readonly digits: Digits
  readonly reference: string
  readonly created_at: number
  readonly expires_at: number
  readonly resend_at: number | null
  readonly resends: number
  readonly attempts: number
  readonly send_id: string
  /** Set if somebody asked who is signed in: who, the session that it renews, if any, and the address. */
  readonly person_id: string | null
  readonly session_id: string | null
  readonly email: string | null
}

const columns =
  'id, role, address_fingerprint, inbox_fingerprint, network_fingerprint, device_id, digits, reference, created_at, expires_at, resend_at, resends, attempts, send_id, person_id, session_id, email'

/** What a request must know to use a challenge: the address for a sign-in, otherwise who asked for it, and where. */
export interface Whose {
  readonly role: Role
  /** Null for a sign-in. */
  readonly asker: { readonly personId: string; readonly sessionId: string | null } | null
  /** Under either secret; left out where the request does not name the address. */
  readonly addressFingerprints?: readonly [string, string]
}

function belongsTo({ role, asker, addressFingerprints }: Whose): Condition {
  const parts: Condition[] = [
    expression`role = ${value(role)}`,
    asker === null ? expression`person_id is null` : expression`person_id = ${value(asker.personId)}`,
    asker === null || asker.sessionId === null
      ? expression`session_id is null`
      : expression`session_id = ${value(asker.sessionId)}`,
  ]
  if (addressFingerprints) {
    const [current, previous] = addressFingerprints
    parts.push(expression`address_fingerprint in (${value(current)}, ${value(previous)})`)
  }
  return parts.reduce(both)
}

const open = (attemptsMax: number) => `used_at is null and attempts < ${attemptsMax}`

/**
 * The code has eight digits instead of six if somebody is guessing codes, or if the inbox already has `openMax` open
 * challenges. Decided in this statement, so that parallel requests cannot all count as the first.
 */
export function openChallenge(
  c: Omit<Challenge, 'digits'>,
  longer: { underAttack: Condition; openMax: number | null; attemptsMax: number },
  when: Condition,
): Statement {
  const { underAttack, openMax, attemptsMax } = longer
  const openOnes = `(select count(*) from challenge
    where inbox_fingerprint = $4 and expires_at > cast($8 as bigint) and ${open(attemptsMax)})`
  const tooMany = openMax === null ? 'false' : `${openOnes} >= ${openMax}`
  return statement(
    `insert into challenge (${columns})
     select $1, $2, $3, $4, $5, $6, case when ${tooMany} or ${underAttack.sql(15)} then 8 else 6 end, $7,
       cast($8 as bigint), cast($9 as bigint), cast($10 as bigint), 0, 0, $11, $12, $13, $14
     where ${when.sql(15 + underAttack.params.length)}
     returning digits`,
    c.id,
    c.role,
    c.address_fingerprint,
    c.inbox_fingerprint,
    c.network_fingerprint,
    c.device_id,
    c.reference,
    c.created_at,
    c.expires_at,
    c.resend_at,
    c.send_id,
    c.person_id,
    c.session_id,
    c.email,
    ...underAttack.params,
    ...when.params,
  )
}

export function openChallengeById(
  db: Db,
  ask: { id: string; whose: Whose; now: number; attemptsMax: number; calm: Condition },
): Promise<Challenge | undefined> {
  const wanted = both(belongsTo(ask.whose), answerable(ask.calm))
  return db.one<Challenge>(
    `select ${columns} from challenge
     where id = $1 and expires_at > $2 and ${open(ask.attemptsMax)} and ${wanted.sql(3)}`,
    [ask.id, ask.now, ...wanted.params],
  )
}

/** Sends the same code again, unless another request was faster. */
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

/** Serialises resends of one challenge, so that each sees the effect of the one before. */
export function lockChallenge(id: string): Statement {
  return locking('select id from challenge where id = $1', id)
}

export function resendable(id: string, now: number, resendsMax: number): Condition {
  return {
    sql: (n) =>
      `exists (select 1 from challenge where id = $${n} and resend_at <= $${n + 1} and resends < ${resendsMax})`,
    params: [id, now],
  }
}

/** True if this send succeeded. */
export function sent(challengeId: string, sendId: string): Condition {
  return {
    sql: (first) => `exists (select 1 from challenge where id = $${first} and send_id = $${first + 1})`,
    params: [challengeId, sendId],
  }
}

export type Answered = Pick<
  Challenge,
  'attempts' | 'digits' | 'inbox_fingerprint' | 'network_fingerprint' | 'device_id' | 'send_id' | 'email'
>

// Older challenges have no inbox fingerprint.
const answeredColumns =
  'attempts, digits, coalesce(inbox_fingerprint, address_fingerprint) as inbox_fingerprint, network_fingerprint, device_id, send_id, email'

const answered: Expression = { sql: () => answeredColumns, params: [] }

/** A six-digit code that no known device asked for can be guessed, so it is refused during an attack. */
const answerable = (calm: Condition): Condition =>
  expression`(digits = 8 or device_id is not null or (${calm}))`

interface Attempt {
  readonly id: string
  readonly whose: Whose
  readonly mark: string
  readonly now: number
  readonly attemptsMax: number
  readonly calm: Condition
}

/** Returns no row if there is no challenge that takes an answer; `attemptCounted` is true if there was one. */
export function countAttempt(attempt: Attempt, when: Condition): Statement {
  return statementOf(
    expression`update challenge set attempts = attempts + 1, answer_mark = ${value(attempt.mark)}
      where ${takesAnswer(attempt, when)} returning ${answered}`,
  )
}

/**
 * The same for a right answer, which also uses up the code if it has as many digits as the answer. Of many right answers,
 * `claimed` is true for one.
 */
export function countRightAttempt(attempt: Attempt, digits: Digits, by: string, when: Condition): Statement {
  const ifFits = (set: Expression) => expression`case when digits = ${value(digits)} then ${set} end`
  return statementOf(
    expression`update challenge set attempts = attempts + 1, answer_mark = ${value(attempt.mark)},
        used_at = ${ifFits(value(attempt.now))}, used_by = ${ifFits(value(by))}
      where ${takesAnswer(attempt, when)} returning ${answered}`,
  )
}

function takesAnswer({ id, whose, now, attemptsMax, calm }: Attempt, when: Condition): Condition {
  const isOpen: Condition = { sql: () => open(attemptsMax), params: [] }
  return expression`id = ${value(id)} and expires_at > ${value(now)} and ${isOpen} and ${belongsTo(whose)}
    and ${answerable(calm)} and ${when}`
}

export function attemptCounted(id: string, mark: string): Condition {
  return {
    sql: (n) => `exists (select 1 from challenge where id = $${n} and answer_mark = $${n + 1})`,
    params: [id, mark],
  }
}

/** The same for an answer that also used up the code. A repeated request has the same `by`, but another mark. */
export function attemptWon(id: string, mark: string, by: string): Condition {
  return { sql: (n) => `exists (select 1 from challenge where ${isWon(n)})`, params: [id, mark, by] }
}

/** The last mail with a code that this answer has used up. */
export function mailOfWon(id: string, mark: string, by: string): Expression {
  return { sql: (n) => `(select send_id from challenge where ${isWon(n)})`, params: [id, mark, by] }
}

const isWon = (n: number) => `id = $${n} and answer_mark = $${n + 1} and used_by = $${n + 2}`

/** Whether the answer that was counted last was the last one allowed. */
export function noAttemptsLeft(mark: string, attemptsMax: number): Condition {
  return { sql: (n) => `answer_mark = $${n} and attempts = ${attemptsMax}`, params: [mark] }
}

const columnOf = (id: string, column: string): Expression => ({
  sql: (n) => `(select ${column} from challenge where id = $${n})`,
  params: [id],
})
export const inboxOfChallenge = (id: string) =>
  columnOf(id, 'coalesce(inbox_fingerprint, address_fingerprint)')
export const askedFrom = (id: string) => columnOf(id, 'network_fingerprint')
export const digitsOf = (id: string) => columnOf(id, 'digits')
export const lastMailOf = (id: string) => columnOf(id, 'send_id')

/**
 * Counts another answer to a code that the same request (by Idempotency-Key) used since `usedSince`. Answers stay
 * limited, so that guessing the key does not allow guessing the code.
 */
export function countRepeat(
  db: Db,
  r: { id: string; whose: Whose; by: string; usedSince: number; attemptsMax: number },
): Promise<Answered[]> {
  const whose = belongsTo(r.whose)
  return db.run<Answered>(
    `update challenge set attempts = attempts + 1
     where id = $1 and used_by = $2 and used_at >= $3 and attempts < ${2 * r.attemptsMax} and ${whose.sql(4)}
     returning ${answeredColumns}`,
    [r.id, r.by, r.usedSince, ...whose.params],
  )
}

/** For statements that read something else. */
export function isExhausted(id: string, last: Condition): Condition {
  return expression`exists (select 1 from challenge where id = ${value(id)} and used_at is null and ${last})`
}

/** Records that the attempts are used up, unless a right answer arrived at the same time. */
export function exhaust(id: string, now: number, by: By, when: Condition): Statement {
  return eventsFrom(
    'otp.exhausted',
    by,
    { id: "'exhausted.' || id", at: 'cast($2 as bigint)', session: 'id' },
    `from challenge where id = $1 and used_at is null and ${when.sql(3)}`,
    id,
    now,
    ...when.params,
  )
}

/** Uses up the code. Of many right answers, `claimed` is true for one. */
export function claim(id: string, by: string, now: number, when = always): Statement {
  return statement(
    `update challenge set used_at = $1, used_by = $2 where id = $3 and used_at is null and ${when.sql(4)}`,
    now,
    by,
    id,
    ...when.params,
  )
}

export function isUsed(id: string): Condition {
  return {
    sql: (first) => `exists (select 1 from challenge where id = $${first} and used_at is not null)`,
    params: [id],
  }
}

export function claimed(id: string, by: string): Condition {
  return {
    sql: (first) => `exists (select 1 from challenge where id = $${first} and used_by = $${first + 1})`,
    params: [id, by],
  }
}

/** Only wrong answers count against the limit. */
export function uncountRepeat(db: Db, id: string) {
  return db.run('update challenge set attempts = attempts - 1 where id = $1', [id])
}

export function activate(
  personId: string,
  event: EventType,
  now: number,
  by: By,
  when: Condition,
): Statement[] {
  return [
    statement(
      `update person set status = 'active', activated_at = $1, updated_at = $1, confirm_before = null
       where id = $2 and status = 'pending' and ${when.sql(3)}`,
      now,
      personId,
      ...when.params,
    ),
    eventsFrom(
      event,
      by,
      { id: "'activated.' || id", at: 'activated_at', person: 'id' },
      'from person where id = $1 and activated_at = $2',
      personId,
      now,
    ),
  ]
}

export function pruneChallenges(before: number): Statement {
  return prune('challenge', 'id', 'expires_at < $1', before)
}
