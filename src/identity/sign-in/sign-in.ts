/**
 * Sign-in with a code, for any role: send, resend, validate. Somebody who is signed in confirms a new address in the same
 * way, or proves again who they are, with a challenge that belongs to them (`confirm`).
 *
 * `send` never looks up who owns the address. It writes a challenge and a queued mail for any address and answers from
 * that; the outbox decides later what the mail says. So a challenge without an account looks like any other, and its
 * code is mailed to nobody.
 *
 * `validate` counts the attempt in one conditional statement, and a wrong one against the limits in the same
 * transaction. Only then does it act on the answer: it looks up the account, and `session/` issues the tokens. Codes are
 * derived in `lib/code.ts`.
 */

import { AppError } from '../../errors.ts'
import { codeAnswered } from '../../messages/delivery/delivery.ts'
import { queueMail } from '../../messages/mail/outbox.ts'
import { always, type Condition, type Db, isTrue, never, type Statement } from '../../platform/db/db.ts'
import { type Address, inboxOf } from '../../platform/lib/address.ts'
import { type Caller, tooManyRequests } from '../../platform/lib/bucket.ts'
import { bySelf, bySystem } from '../../platform/lib/by.ts'
import { type Clock, minute, second, timestamp, timestampOrNull } from '../../platform/lib/clock.ts'
import { type CodeSubject, codesEqual, type Digits, deriveCode } from '../../platform/lib/code.ts'
import type { FailureLog } from '../../platform/lib/failure.ts'
import type { Language } from '../../platform/lib/languages.ts'
import { isId, newId, newIdAt, newReference } from '../../platform/lib/random.ts'
import { fingerprint, type Secrets } from '../../platform/lib/secret.ts'
import {
  type Attack,
  type BucketTake,
  bucketPolicies,
  type CodeAsk,
  type FailureCounting,
  type Limits,
} from '../limits/limits.ts'
import { canSignIn, lockPerson, type Person, type RoleRules } from '../people/people.ts'
import type { IssuedTokens, Sessions } from '../session/session.ts'
import { deviceToken, readDeviceToken } from './device-token.ts'
import {
  type Answered,
  activate,
  askedFrom,
  attemptCounted,
  type Challenge,
  claim,
  claimed,
  countAttempt,
  countRepeat,
  digitsOf,
  exhaust,
  inboxOfChallenge,
  isUsed,
  lockChallenge,
  noAttemptsLeft,
  openChallenge,
  openChallengeById,
  pruneChallenges,
  resend,
  resendable,
  sent,
  uncountRepeat,
  type Whose,
} from './store.ts'

const codeTtlMs = 10 * minute
const resendPauseMs = 30 * second
const resendsMax = 3
const attemptsMax = 5
const challengeKeptMs = 60 * minute
const repeatableMs = 2 * minute
const eightDigitsFrom = 10_000_000

export interface SendReply {
  readonly sessionId: string
  readonly reference: string
  readonly digits: Digits
  readonly expiresAt: string
  readonly resendAt: string | null
}

export interface CodeRequest {
  readonly address: Address
  readonly language: Language
  /** As sent by the client; a token for another address is ignored. */
  readonly deviceToken?: string | undefined
  /** Null for a sign-in. */
  readonly asker: Asker | null
}

/** Somebody who is signed in and asks for a code. */
export interface Asker {
  readonly personId: string
  /** The session that the code renews; null if the account is to move to the address. */
  readonly sessionId: string | null
}

export interface AskersAnswer {
  readonly asker: Asker
  readonly code: number
  readonly sessionId: string
}

/** An address whose owner has entered the code. */
export interface ProvenAddress {
  readonly address: Address
  /** Uses up the code, if `when` is true; `claimed` is then true for this answer alone. */
  claim(when: Condition): Statement
  readonly claimed: Condition
}

interface Guess {
  readonly address: Address
  readonly code: number
  readonly sessionId: string
}

export interface Answer extends Guess {
  readonly device: string
  readonly idempotencyKey: string | undefined
}

export interface SignedIn extends IssuedTokens {
  readonly deviceToken: string
}

export interface SignInDeps {
  readonly db: Db
  readonly clock: Clock
  readonly secrets: Secrets
  readonly limits: Limits
  readonly sessions: Sessions
  readonly outbox: { wake(): void }
  readonly log: Pick<FailureLog, 'warn'>
  /** Called once when wrong codes reach a threshold, in the process that counted the last one. */
  attacked(attack: Attack): void
}

export class SignIn {
  readonly #deps: SignInDeps
  readonly #rules: RoleRules

  constructor(deps: SignInDeps, rules: RoleRules) {
    this.#deps = deps
    this.#rules = rules
  }

  send(request: CodeRequest, caller: Caller): Promise<SendReply> {
    const now = this.#deps.clock.now()
    const ask = this.#ask(request, caller, now)
    return this.#counted(ask, caller, now, () => this.#send(request, ask, caller, now))
  }

  resend(request: CodeRequest, caller: Caller, sessionId: string): Promise<SendReply> {
    const now = this.#deps.clock.now()
    const ask = this.#ask(request, caller, now)
    return this.#counted(ask, caller, now, () => this.#resend(request, ask, caller, sessionId, now))
  }

  async #send(request: CodeRequest, ask: CodeAsk, caller: Caller, now: number): Promise<SendReply> {
    const { db, limits, outbox } = this.#deps
    const { address, language } = request
    const digits: Digits = (await limits.underAttack(ask.inbox, ask.network, now)) ? 8 : 6
    const challenge: Challenge = {
      id: newIdAt(now),
      role: this.#rules.role,
      address_fingerprint: this.#fingerprints(address)[0],
      inbox_fingerprint: ask.inbox,
      network_fingerprint: ask.network,
      device_id: ask.device,
      digits,
      reference: newReference(),
      created_at: now,
      expires_at: now + codeTtlMs,
      resend_at: now + resendPauseMs,
      resends: 0,
      attempts: 0,
      send_id: newIdAt(now),
      person_id: request.asker?.personId ?? null,
      session_id: request.asker?.sessionId ?? null,
      email: request.asker === null ? null : address.email,
    }
    const bucket = this.#takeSend(ask, caller, challenge.send_id, now)
    const code = limits.takeCode(ask, challenge.send_id, now, bucket.granted)
    const results = await db.tx([
      ...bucket.statements,
      ...code.statements,
      openChallenge(challenge, { openMax: limits.openChallengesMax, attemptsMax }, code.granted),
      ...this.#queueMail(challenge, address, language, now),
    ])
    outbox.wake()
    await limits.noteBucket(bucket, caller, results, now)
    const [opened] = results.at(-3)!
    if (!opened) throw await limits.codeRefusal(ask, now)
    return sendReply({ ...challenge, digits: opened.digits as Digits }, challenge.resend_at)
  }

  async #resend(
    request: CodeRequest,
    ask: CodeAsk,
    caller: Caller,
    sessionId: string,
    now: number,
  ): Promise<SendReply> {
    const { db, limits, outbox } = this.#deps
    const { address, language } = request
    const sendId = newIdAt(now)
    const bucket = this.#takeSend(ask, caller, sendId, now)
    await limits.noteBucket(bucket, caller, await db.tx(bucket.statements), now)

    const whose = { ...this.#signInAt(address), asker: request.asker }
    const found = await this.#openChallenge(sessionId, whose, now)
    if (!found) throw unusable()
    if (found.resend_at === null || found.resends >= resendsMax) throw noMoreResends(found, now)
    if (found.resend_at > now) throw tooEarly(found.resend_at, now)

    const due = resendable(found.id, now, resendsMax)
    const code = limits.takeCode(ask, sendId, now, due)
    const next = { id: found.id, sendId, now, nextAt: now + resendPauseMs, resendsMax }
    const results = await db.tx([
      lockChallenge(found.id),
      ...code.statements,
      resend(next, code.granted),
      ...this.#queueMail({ ...found, send_id: sendId }, address, language, now),
    ])
    outbox.wake()
    const [row] = results.at(-3)! as { resend_at: number | null }[]
    if (row) return sendReply(found, row.resend_at)
    // Another request was faster, or the quota of codes is used up.
    if (!(await isTrue(db, due))) throw tooEarly(now + resendPauseMs, now)
    throw await limits.codeRefusal(ask, now)
  }

  #ask({ address, deviceToken: token, asker }: CodeRequest, caller: Caller, now: number): CodeAsk {
    const { secrets } = this.#deps
    const subject = { role: this.#rules.role, addressKey: address.key }
    return {
      inbox: this.#inboxOf(address),
      network: caller.network.fingerprint,
      device: token === undefined ? null : readDeviceToken(secrets.all, subject, token, now),
      moverId: asker?.sessionId === null ? asker.personId : null,
    }
  }

  /** A device with its own quota takes nothing from its network, which strangers may have used up. */
  #takeSend({ device }: CodeAsk, caller: Caller, mark: string, now: number): BucketTake {
    const policy = bucketPolicies.send
    if (device === null) return this.#deps.limits.takeBucket(policy, caller.network, mark, now)
    return { policy, buckets: [], statements: [], granted: always }
  }

  /** If a device’s request fails, it is charged to the network: the device’s quota pays only for codes. */
  async #counted<T>({ device }: CodeAsk, caller: Caller, now: number, work: () => Promise<T>): Promise<T> {
    if (device === null) return work()
    const { db, limits } = this.#deps
    const policy = bucketPolicies.send
    try {
      const done = await work()
      await limits.showBucket(policy, caller, now)
      return done
    } catch (error) {
      const take = limits.takeBucket(policy, caller.network, newId(), now)
      await limits.noteBucket(take, caller, await db.tx(take.statements), now)
      throw error
    }
  }

  #queueMail(challenge: Challenge, { email }: Address, language: Language, now: number): Statement[] {
    const { id: session_id, send_id: id, role, address_fingerprint, reference, expires_at } = challenge
    const mail = { id, session_id, role, email, address_fingerprint, language, reference, expires_at, now }
    const { person_id, session_id: renewed } = challenge
    const kind = person_id === null ? null : renewed === null ? 'address-code' : 'step-up-code'
    return queueMail(mail, digitsOf(session_id), sent(session_id, id), kind)
  }

  async #openChallenge(sessionId: string, whose: Whose, now: number): Promise<Challenge | undefined> {
    if (!isId(sessionId)) return undefined
    const { db, limits } = this.#deps
    return openChallengeById(db, { id: sessionId, whose, now, attemptsMax, calm: limits.calm(now) })
  }

  async validate(answer: Answer, caller: Caller): Promise<SignedIn> {
    const { address } = answer
    const now = this.#deps.clock.now()
    const challenge = await this.#check(answer, this.#signInAt(address), caller, now)
    if (!challenge) return this.#repeat(answer, caller, now)

    const person = await this.#rules.findAccount(address.key)
    if (!person || !canSignIn(person, now)) throw await this.#failed(answer, challenge, caller, now)
    return this.#succeeded(person, answer, challenge, caller, now)
  }

  /**
   * Checks a code that somebody asked for who is signed in. `use` makes the change and uses up the code in one
   * transaction; it returns undefined if that is no longer possible, which is answered like a wrong code.
   */
  async confirm<T>(
    { asker, code, sessionId }: AskersAnswer,
    caller: Caller,
    use: (proven: ProvenAddress) => Promise<T | undefined>,
  ): Promise<T> {
    const now = this.#deps.clock.now()
    const whose = { role: this.#rules.role, asker }
    const email = (await this.#openChallenge(sessionId, whose, now))?.email ?? ''
    const answer = { address: { email, key: email.toLowerCase() }, code, sessionId }
    const challenge = await this.#check(answer, whose, caller, now)
    if (!challenge) throw unusable()
    const mark = newId()
    const used = await use({
      address: answer.address,
      claim: (when) => claim(sessionId, mark, now, when),
      claimed: claimed(sessionId, mark),
    })
    if (used !== undefined) return used
    if (await isTrue(this.#deps.db, isUsed(sessionId))) throw unusable()
    throw await this.#failed(answer, challenge, caller, now)
  }

  /**
   * Takes from the networks and counts the answer. Returns its challenge if the code is right, and undefined if no
   * challenge takes an answer. A wrong code is counted against the limits in the same transaction, and thrown.
   */
  async #check(answer: Guess, whose: Whose, caller: Caller, now: number): Promise<Answered | undefined> {
    const { db, limits } = this.#deps
    const id = isId(answer.sessionId) ? answer.sessionId : ''
    const mark = newId()
    const digits: Digits = answer.code >= eightDigitsFrom ? 8 : 6
    const fits = this.#fits(answer, digits)
    const take = limits.takeBucket(bucketPolicies.validate, caller.network, mark, now)
    const attempt = { id, whose, mark, now, attemptsMax, calm: limits.calm(now) }
    const failure = this.#failure(id, caller, now, {
      counted: attemptCounted(id, mark),
      last: noAttemptsLeft(mark, attemptsMax),
    })
    const results = await db.tx([
      ...take.statements,
      countAttempt(attempt, take.granted),
      ...(fits ? [] : failure.statements),
    ])
    await limits.noteBucket(take, caller, results, now)
    const [counted, ...failed] = results.slice(take.statements.length)
    const challenge = counted![0] as Answered | undefined
    if (!challenge) return undefined
    if (!fits)
      throw await this.#incorrect(challenge, failure.attacks(failed, challenge.network_fingerprint), now)
    if (challenge.digits !== digits) throw await this.#failed(answer, challenge, caller, now)
    return challenge
  }

  sweep(now: number): Statement[] {
    return [pruneChallenges(now - challengeKeptMs)]
  }

  #fits({ address, code, sessionId }: Guess, digits: Digits): boolean {
    const subject: CodeSubject = { role: this.#rules.role, sessionId, addressKey: address.key, digits }
    let fits = false
    for (const keys of this.#deps.secrets.all) fits = codesEqual(deriveCode(keys, subject), code) || fits
    return fits
  }

  /** The statements of a wrong answer, if it is `counted`; the `last` allowed one is also an event. */
  #failure(
    sessionId: string,
    caller: Caller,
    now: number,
    when: { counted: Condition; last: Condition },
  ): FailureCounting {
    // Whoever tried may not be the owner of the address.
    const by = { ...bySystem, requestId: caller.requestId, network: caller.network.fingerprint }
    const guess = {
      inbox: inboxOfChallenge(sessionId),
      askedFrom: askedFrom(sessionId),
      answeredFrom: caller.network.fingerprint,
    }
    const counting = this.#deps.limits.countWrong(guess, now, when.counted)
    return {
      statements: [...counting.statements, exhaust(sessionId, now, by, when.last)],
      attacks: counting.attacks,
    }
  }

  /** Records a right answer that is refused nevertheless, and returns the refusal. */
  async #failed({ sessionId }: Guess, challenge: Answered, caller: Caller, now: number): Promise<AppError> {
    const last = challenge.attempts === attemptsMax ? always : never
    const failure = this.#failure(sessionId, caller, now, { counted: always, last })
    const results = await this.#deps.db.tx(failure.statements)
    return this.#incorrect(challenge, failure.attacks(results, challenge.network_fingerprint), now)
  }

  async #incorrect(challenge: Answered, attacks: readonly Attack[], now: number): Promise<AppError> {
    for (const attack of attacks) this.#deps.attacked(attack)
    await this.#deps.db.tx([codeAnswered(challenge.send_id, false, now)])
    return new AppError('otp-incorrect', undefined, { attemptsLeft: attemptsMax - challenge.attempts })
  }

  async #succeeded(
    person: Person,
    answer: Answer,
    challenge: Answered,
    caller: Caller,
    now: number,
  ): Promise<SignedIn> {
    const { db, sessions } = this.#deps
    const { sessionId, device } = answer
    const mark = this.#mark(answer) ?? newId()
    const won = claimed(sessionId, mark)
    const addressKey = person.email_key
    const { firstSignIn, role } = this.#rules
    const by = bySelf(caller)
    const isFirst = person.status === 'pending'
    const results = await db.tx([
      lockPerson(person.id),
      claim(sessionId, mark, now),
      ...(isFirst && firstSignIn ? activate(person.id, firstSignIn, now, by, won) : []),
      codeAnswered(challenge.send_id, true, now, won),
      ...sessions.start(
        { id: sessionId, role, personId: person.id, addressKey, device, method: 'code', now },
        by,
        won,
      ),
    ])
    const started = results.at(-2)!.length > 0
    if (!started) return this.#repeat(answer, caller, now)
    await this.#refund(challenge, caller, now)
    const active: Person = {
      ...person,
      status: 'active',
      ...(isFirst && { updated_at: now, confirm_before: null }),
    }
    return this.#signedIn(answer, challenge, await sessions.firstTokens(sessionId, active, now), now)
  }

  /**
   * Repeats a successful answer whose reply was lost: a request with the same Idempotency-Key gets the tokens of the
   * session it started. Anybody else learns that the code cannot be used.
   */
  async #repeat(answer: Answer, caller: Caller, now: number): Promise<SignedIn> {
    const by = this.#mark(answer)
    if (by === null || !isId(answer.sessionId)) throw unusable()
    const [challenge] = await countRepeat(this.#deps.db, {
      id: answer.sessionId,
      whose: this.#signInAt(answer.address),
      by,
      usedSince: now - repeatableMs,
      attemptsMax,
    })
    if (!challenge) throw unusable()
    if (!this.#fits(answer, challenge.digits)) {
      const failure = this.#failure(answer.sessionId, caller, now, { counted: always, last: never })
      const results = await this.#deps.db.tx(failure.statements)
      for (const attack of failure.attacks(results, challenge.network_fingerprint))
        this.#deps.attacked(attack)
      throw unusable()
    }
    await uncountRepeat(this.#deps.db, answer.sessionId)
    const tokens = await this.#deps.sessions.firstTokensAgain(answer.sessionId)
    if (!tokens) throw unusable()
    return this.#signedIn(answer, challenge, tokens, now)
  }

  /** A device that sent its token keeps its id, so that signing in repeatedly gives it no extra quota. */
  #signedIn(
    { address, sessionId }: Answer,
    { device_id }: Answered,
    tokens: IssuedTokens,
    now: number,
  ): SignedIn {
    const subject = { role: this.#rules.role, addressKey: address.key }
    const token = deviceToken(this.#deps.secrets.current, subject, device_id ?? sessionId, now)
    return { ...tokens, deviceToken: token }
  }

  /**
   * In its own transaction: `validate` locks the bucket before the challenge, so locking them in the other order could
   * deadlock. The session has already started, so a failure here must not withhold the tokens.
   */
  async #refund(challenge: Answered, caller: Caller, now: number): Promise<void> {
    const { db, limits, log } = this.#deps
    const { inbox_fingerprint: inbox, network_fingerprint: sentFrom } = challenge
    try {
      await db.tx(limits.signedIn(inbox, sentFrom, caller.network.fingerprint, now))
    } catch (error) {
      log.warn({ err: error }, 'could not refund the limits after a sign-in')
    }
  }

  /** Marks the code as used by this request, however often it is sent. */
  #mark({ idempotencyKey }: Answer): string | null {
    if (idempotencyKey === undefined) return null
    return fingerprint(this.#deps.secrets.current, 'idempotency-key', idempotencyKey)
  }

  #signInAt(address: Address): Whose {
    return { role: this.#rules.role, asker: null, addressFingerprints: this.#fingerprints(address) }
  }

  #inboxOf(address: Address): string {
    return fingerprint(this.#deps.secrets.current, 'address', inboxOf(address.key))
  }

  /** Under the current secret, and under the previous one if there is one. */
  #fingerprints(address: Address): [string, string] {
    const [current, previous] = this.#deps.secrets.all.map((keys) =>
      fingerprint(keys, 'address', address.key),
    )
    return [current!, previous ?? current!]
  }
}

function sendReply(challenge: Challenge, resendAt: number | null): SendReply {
  return {
    sessionId: challenge.id,
    reference: challenge.reference,
    digits: challenge.digits,
    expiresAt: timestamp(challenge.expires_at),
    resendAt: timestampOrNull(resendAt),
  }
}

function unusable(): AppError {
  return new AppError('otp-unusable')
}

function tooEarly(resendAt: number, now: number): AppError {
  return tooManyRequests('resends', resendAt, now, 'The code was sent only a moment ago.')
}

function noMoreResends(challenge: Challenge, now: number): AppError {
  const detail = 'This code cannot be sent again; ask for a new one.'
  return tooManyRequests('resends', challenge.expires_at, now, detail)
}
