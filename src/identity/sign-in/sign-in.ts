/**
 * Sign-in with a code, for any role: send, resend, validate. Somebody who is signed in confirms a new address in the same
 * way, or proves again who they are, with a challenge that belongs to them (`confirm`).
 *
 * `send` never looks up who owns the address. It writes a challenge and a queued mail for any address and answers from
 * that; the outbox decides later what the mail says. So a challenge without an account looks like any other, and its
 * code is mailed to nobody.
 *
 * `validate` works out whether the answer fits, and then does everything in one transaction: it takes from the limits,
 * counts the attempt in one conditional statement, and either starts the session or counts a wrong answer. `session/`
 * issues the tokens afterwards. Codes are derived in `lib/code.ts`.
 */

import { AppError } from '../../errors.ts'
import { codeAnswered } from '../../messages/delivery/delivery.ts'
import { queueMail } from '../../messages/mail/outbox.ts'
import {
  always,
  both,
  type Condition,
  type Db,
  isTrue,
  never,
  type Statement,
  value,
} from '../../platform/db/db.ts'
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
  serviceBuckets,
} from '../limits/limits.ts'
import { canSignIn, lockPerson, type Person, type RoleRules } from '../people/people.ts'
import type { IssuedTokens, Sessions } from '../session/session.ts'
import { deviceToken, readDeviceToken } from './device-token.ts'
import {
  type Answered,
  activate,
  askedFrom,
  attemptCounted,
  attemptWon,
  type Challenge,
  claim,
  claimed,
  countAttempt,
  countRepeat,
  countRightAttempt,
  digitsOf,
  exhaust,
  inboxOfChallenge,
  isExhausted,
  isUsed,
  lastMailOf,
  lockChallenge,
  mailOfWon,
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
  /** Uses up the code and records that, if `when` is true; `claimed` is then true for this answer alone. */
  claim(when: Condition): Statement[]
  readonly claimed: Condition
}

/** What a right answer does in the transaction that counts it. */
interface Success {
  /** Locks rows before the challenge, if the limits have granted the answer. */
  lock(granted: Condition): Statement[]
  /** Uses up the code under this mark; if null, the caller does that later. */
  readonly claimBy: string | null
  readonly statements: readonly Statement[]
  /** Which of the statements returns a row if all of them took effect. */
  readonly decides: number
}

const justCounted: Success = { lock: () => [], claimBy: null, statements: [], decides: 0 }

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
    const challenge = {
      id: newIdAt(now),
      role: this.#rules.role,
      address_fingerprint: this.#fingerprints(address)[0],
      inbox_fingerprint: ask.inbox,
      network_fingerprint: ask.network,
      device_id: ask.device,
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
      openChallenge(challenge, { ...limits.longerCodes(ask, now), attemptsMax }, code.granted),
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

  #queueMail(
    challenge: Omit<Challenge, 'digits'>,
    { email }: Address,
    language: Language,
    now: number,
  ): Statement[] {
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
    const now = this.#deps.clock.now()
    const mark = newId()
    // A wrong answer looks somebody up as well, so that the time of a refusal does not show which is right.
    const fits = this.#fits(answer)
    const found = await this.#rules.findAccount(fits ? answer.address.key : nobody(mark))
    const person = fits ? found : undefined
    const success = person && canSignIn(person, now) ? this.#start(person, answer, caller, mark, now) : null
    const checked = await this.#check(answer, this.#signInAt(answer.address), caller, { mark, success, now })
    if (!checked?.succeeded) return this.#repeat(answer, caller, now)
    await this.#refund(checked.challenge, caller, now)
    const active: Person = {
      ...person!,
      status: 'active',
      ...(person!.status === 'pending' && { updated_at: now, confirm_before: null }),
    }
    const tokens = await this.#deps.sessions.firstTokens(answer.sessionId, active, now)
    return this.#signedIn(answer, checked.challenge, tokens, now)
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
    const mark = newId()
    const success = this.#fits(answer) ? justCounted : null
    const checked = await this.#check(answer, whose, caller, { mark, success, now })
    if (!checked) throw unusable()
    const used = await use({
      address: answer.address,
      claim: (when) => [
        claim(sessionId, mark, now, when),
        codeAnswered(lastMailOf(sessionId), true, now, claimed(sessionId, mark)),
      ],
      claimed: claimed(sessionId, mark),
    })
    if (used !== undefined) return used
    if (await isTrue(this.#deps.db, isUsed(sessionId))) throw unusable()
    throw await this.#failed(answer, checked.challenge, caller, now)
  }

  /**
   * Takes from the networks, counts the answer and acts on it, all in one transaction. Throws if the answer is wrong, and
   * counts it against the limits. Returns undefined if no challenge takes an answer.
   */
  async #check(
    answer: Guess,
    whose: Whose,
    caller: Caller,
    { mark, success, now }: { mark: string; success: Success | null; now: number },
  ): Promise<{ challenge: Answered; succeeded: boolean } | undefined> {
    const { db, limits } = this.#deps
    const id = isId(answer.sessionId) ? answer.sessionId : ''
    const digits = digitsIn(answer.code)
    const take = limits.takeBucket(bucketPolicies.validate, caller.network, mark, now)
    const attempt = { id, whose, mark, now, attemptsMax, calm: limits.calm(now) }
    const first = [...take.statements, ...(success?.lock(take.granted) ?? [])]
    const count = success?.claimBy
      ? countRightAttempt(attempt, digits, success.claimBy, take.granted)
      : countAttempt(attempt, take.granted)
    const act = success ?? this.#wrong(id, caller, mark, now)
    const results = await db.tx([...first, count, ...act.statements])
    await limits.noteBucket(take, caller, results, now)
    const [found, ...acted] = results.slice(first.length)
    const challenge = found![0] as Answered | undefined
    if (!challenge) return undefined
    if ('attacks' in act) throw this.#incorrect(challenge, act.attacks(acted, challenge.network_fingerprint))
    if (challenge.digits !== digits) throw await this.#failed(answer, challenge, caller, now)
    return { challenge, succeeded: (acted[act.decides]?.length ?? 0) > 0 }
  }

  sweep(now: number): Statement[] {
    return [pruneChallenges(now - challengeKeptMs)]
  }

  #fits({ address, code, sessionId }: Guess, digits = digitsIn(code)): boolean {
    const subject: CodeSubject = { role: this.#rules.role, sessionId, addressKey: address.key, digits }
    let fits = false
    for (const keys of this.#deps.secrets.all) fits = codesEqual(deriveCode(keys, subject), code) || fits
    return fits
  }

  /** The statements of a wrong answer, if the attempt with this mark was counted. */
  #wrong(id: string, caller: Caller, mark: string, now: number): FailureCounting {
    const counted = attemptCounted(id, mark)
    const failure = this.#failure(id, caller, now, { counted, last: noAttemptsLeft(mark, attemptsMax) })
    const noted = codeAnswered(lastMailOf(id), false, now, counted)
    return { ...failure, statements: [...failure.statements, noted] }
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
    // Strangers can use up any number of codes.
    const take = this.#deps.limits.takeServiceBucket(
      serviceBuckets.exhausted,
      now,
      isExhausted(sessionId, when.last),
    )
    const event = exhaust(sessionId, now, by, both(when.last, take.granted))
    return { statements: [...counting.statements, ...take.statements, event], attacks: counting.attacks }
  }

  /** Records a right answer that is refused nevertheless, and returns the refusal. */
  async #failed({ sessionId }: Guess, challenge: Answered, caller: Caller, now: number): Promise<AppError> {
    const last = challenge.attempts === attemptsMax ? always : never
    const failure = this.#failure(sessionId, caller, now, { counted: always, last })
    const noted = codeAnswered(value(challenge.send_id), false, now)
    const results = await this.#deps.db.tx([...failure.statements, noted])
    return this.#incorrect(challenge, failure.attacks(results, challenge.network_fingerprint))
  }

  #incorrect(challenge: Answered, attacks: readonly Attack[]): AppError {
    for (const attack of attacks) this.#deps.attacked(attack)
    return new AppError('otp-incorrect', undefined, { attemptsLeft: attemptsMax - challenge.attempts })
  }

  /**
   * Uses up the code and starts a session. Rows are locked in this order, as everywhere: buckets of the answer, person,
   * challenge.
   */
  #start(person: Person, answer: Answer, caller: Caller, mark: string, now: number): Success {
    const { sessions } = this.#deps
    const { sessionId, device } = answer
    const claimBy = this.#mark(answer) ?? mark
    const won = attemptWon(sessionId, mark, claimBy)
    const { firstSignIn, role } = this.#rules
    const by = bySelf(caller)
    const isFirst = person.status === 'pending'
    const session = { id: sessionId, role, personId: person.id, addressKey: person.email_key, device, now }
    const before = [
      ...(isFirst && firstSignIn ? activate(person.id, firstSignIn, now, by, won) : []),
      codeAnswered(mailOfWon(sessionId, mark, claimBy), true, now),
    ]
    return {
      lock: (granted) => [lockPerson(person.id, granted)],
      claimBy,
      statements: [...before, ...sessions.start({ ...session, method: 'code' }, by, won)],
      decides: before.length,
    }
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

/** A key that no account has. */
const nobody = (mark: string) => `${mark}@nobody.invalid`

const digitsIn = (code: number): Digits => (code >= eightDigitsFrom ? 8 : 6)

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
