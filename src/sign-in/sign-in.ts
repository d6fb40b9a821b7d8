/**
 * Signing in by a code, for either role: send, resend, validate.
 *
 * `send` never asks who owns the address. It writes a challenge and a mail to be sent, for anybody, and answers
 * from what it wrote; the mail's text is decided later, off the request's clock. So a challenge without an
 * account is no different from any other until a right code for it turns up, which was mailed to nobody.
 *
 * `validate` counts the attempt in one conditional statement, then compares, then looks the account up. Issuing
 * tokens is `session/`'s affair; what a code looks like is `code.ts`'s.
 */
import { type Db, holds } from '../db/db.ts'
import { AppError } from '../errors.ts'
import { eventHappened } from '../events/events.ts'
import { type Clock, minute, second } from '../lib/clock.ts'
import { isId, newId, newIdAt, newReference } from '../lib/random.ts'
import { fingerprint, type Secrets } from '../lib/secret.ts'
import { bucketPolicies, type Caller, type Limits, tooManyRequests } from '../limits/limits.ts'
import { type Language, type NewMail, queueMail } from '../mail/outbox.ts'
import type { Address } from '../people/address.ts'
import { canSignIn, lockPerson, type Person, type RoleRules } from '../people/people.ts'
import type { IssuedTokens, Sessions } from '../session/session.ts'
import { type CodeSubject, codesEqual, type Digits, deriveCode } from './code.ts'
import {
  activate,
  type Challenge,
  claim,
  claimed,
  countAttempt,
  lockChallenge,
  openChallenge,
  openChallengeById,
  pruneChallenges,
  resend,
  resendable,
  sent,
} from './store.ts'

const codeTtlMs = 10 * minute
const resendPauseMs = 30 * second
const resendsMax = 3
const attemptsMax = 5
const challengeKeptMs = 60 * minute

export interface SendReply {
  readonly sessionId: string
  readonly reference: string
  readonly digits: number
  readonly expiresAt: number
  readonly resendAt: number | null
}

export interface SignInDeps {
  readonly db: Db
  readonly clock: Clock
  readonly secrets: Secrets
  readonly limits: Limits
  readonly sessions: Sessions
  readonly outbox: { wake(): void }
}

export class SignIn {
  readonly #deps: SignInDeps
  readonly #rules: RoleRules

  constructor(deps: SignInDeps, rules: RoleRules) {
    this.#deps = deps
    this.#rules = rules
  }

  async send(address: Address, language: Language, caller: Caller): Promise<SendReply> {
    const { clock, limits } = this.#deps
    const now = clock.now()
    const addressHash = this.#hashes(address)[0]
    const digits: Digits = (await limits.underAttack(addressHash, caller.networkHash, now)) ? 8 : 6
    const challenge: Challenge = {
      id: newIdAt(now),
      role: this.#rules.role,
      address_hash: addressHash,
      network_hash: caller.networkHash,
      digits,
      reference: newReference(),
      created_at: now,
      expires_at: now + codeTtlMs,
      resend_at: now + resendPauseMs,
      resends: 0,
      attempts: 0,
      send_id: newIdAt(now),
    }
    const policy = bucketPolicies.send
    const bucket = limits.takeBucket(policy, caller.networkHash, challenge.send_id, now)
    const code = limits.takeCode(addressHash, caller.networkHash, challenge.send_id, now, bucket)
    const results = await this.#deps.db.tx([
      ...bucket.statements,
      ...code.statements,
      openChallenge(challenge, code.granted),
      queueMail(this.#mail(challenge, address, language, now), sent(challenge.id, challenge.send_id)),
    ])
    this.#deps.outbox.wake()
    await limits.noteBucket(policy, caller, results[0], now)
    const opened = results.at(-2)!.length > 0
    if (!opened) throw await limits.codeRefusal(addressHash, caller.networkHash, now)
    return sendReply(challenge, challenge.resend_at)
  }

  async resend(address: Address, language: Language, caller: Caller, sessionId: string): Promise<SendReply> {
    const { db, clock, limits } = this.#deps
    const now = clock.now()
    const sendId = newIdAt(now)
    const bucket = limits.takeBucket(bucketPolicies.send, caller.networkHash, sendId, now)
    const [bucketRows] = await db.tx(bucket.statements)
    await limits.noteBucket(bucketPolicies.send, caller, bucketRows, now)

    const found = await this.#openChallenge(address, sessionId, now)
    if (!found) throw unusable()
    if (found.resend_at === null || found.resends >= resendsMax) throw noMoreResends(found, now)
    if (found.resend_at > now) throw tooEarly(found.resend_at, now)

    const due = { granted: resendable(found.id, now, resendsMax) }
    const code = limits.takeCode(found.address_hash, caller.networkHash, sendId, now, due)
    const next = { id: found.id, sendId, now, nextAt: now + resendPauseMs, resendsMax }
    const results = await db.tx([
      lockChallenge(found.id),
      ...code.statements,
      resend(next, code.granted),
      queueMail(this.#mail({ ...found, send_id: sendId }, address, language, now), sent(found.id, sendId)),
    ])
    this.#deps.outbox.wake()
    const [row] = results.at(-2) as unknown as { resend_at: number | null }[]
    if (row) return sendReply(found, row.resend_at)
    // Another request was quicker, or the address has had its codes.
    if (!(await holds(db, due.granted))) throw tooEarly(now + resendPauseMs, now)
    throw await limits.codeRefusal(found.address_hash, caller.networkHash, now)
  }

  #mail(challenge: Challenge, address: Address, language: Language, now: number): NewMail {
    const { id: session_id, send_id: id, role, address_hash, digits, reference, expires_at } = challenge
    return {
      id,
      session_id,
      role,
      email: address.email,
      address_hash,
      language,
      digits,
      reference,
      expires_at,
      now,
    }
  }

  async #openChallenge(address: Address, sessionId: string, now: number): Promise<Challenge | undefined> {
    if (!isId(sessionId)) return undefined
    const { role } = this.#rules
    const addressHashes = this.#hashes(address)
    return openChallengeById(this.#deps.db, { id: sessionId, role, addressHashes, now, attemptsMax })
  }

  async validate(
    address: Address,
    code: number,
    sessionId: string,
    device: string,
    caller: Caller,
  ): Promise<IssuedTokens> {
    const { db, clock, limits } = this.#deps
    const { role } = this.#rules
    const now = clock.now()
    const mark = newId()
    const addressHashes = this.#hashes(address)
    const policy = bucketPolicies.validate
    const take = limits.takeBucket(policy, caller.networkHash, mark, now)
    const results = await db.tx([
      ...take.statements,
      countAttempt(
        { id: isId(sessionId) ? sessionId : '', role, addressHashes, now, attemptsMax },
        take.granted,
      ),
    ])
    await limits.noteBucket(policy, caller, results[0], now)
    const [challenge] = results.at(-1) as unknown as Pick<Challenge, 'attempts' | 'digits' | 'network_hash'>[]
    if (!challenge) throw unusable()

    const subject: CodeSubject = { role, sessionId, addressKey: address.key, digits: challenge.digits }
    const person = this.#fits(subject, code) ? await this.#rules.findAccount(address.key) : undefined
    if (!person || !canSignIn(person, now)) {
      await this.#failed(sessionId, addressHashes[0], caller.networkHash, challenge.attempts, now)
      throw new AppError('otp-incorrect', undefined, { attemptsLeft: attemptsMax - challenge.attempts })
    }
    const networks = { sent: challenge.network_hash, validated: caller.networkHash }
    return this.#succeeded(person, sessionId, device, addressHashes[0], networks, mark, now)
  }

  /** Forgets challenges that nobody can answer any more. */
  prune(now: number) {
    return pruneChallenges(now - challengeKeptMs)
  }

  #fits(subject: CodeSubject, code: number): boolean {
    let fits = false
    for (const keys of this.#deps.secrets.all) fits = codesEqual(deriveCode(keys, subject), code) || fits
    return fits
  }

  async #failed(sessionId: string, addressHash: string, networkHash: string, attempts: number, now: number) {
    const exhausted =
      attempts < attemptsMax
        ? []
        : [eventHappened('otp.exhausted', { id: `exhausted.${sessionId}`, at: now, sessionId })]
    await this.#deps.db.tx([...this.#deps.limits.countFailure(addressHash, networkHash, now), ...exhausted])
  }

  async #succeeded(
    person: Person,
    sessionId: string,
    device: string,
    addressHash: string,
    networks: { sent: string; validated: string },
    mark: string,
    now: number,
  ): Promise<IssuedTokens> {
    const { db, limits, sessions } = this.#deps
    const won = claimed(sessionId, mark)
    const addressKey = person.email_key
    const isFirst = person.status === 'pending'
    const results = await db.tx([
      lockPerson(person.id),
      claim(sessionId, mark, now),
      ...(isFirst ? activate(person.id, now, won) : []),
      ...sessions.start({ id: sessionId, personId: person.id, addressKey, device, now }, won),
    ])
    const started = results.at(-2)!.length > 0
    if (!started) throw unusable()
    // In a transaction of its own: an attempt locks the bucket before the challenge, and must not meet this halfway.
    const refund = db.tx(limits.signedIn(addressHash, networks.sent, networks.validated, now))
    const active: Person = {
      ...person,
      status: 'active',
      ...(isFirst && { updated_at: now, confirm_before: null }),
    }
    const [tokens] = await Promise.all([sessions.firstTokens(sessionId, active, now), refund])
    return tokens
  }

  /** The address's fingerprint now, and as an earlier secret made it. */
  #hashes(address: Address): [string, string] {
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
    expiresAt: challenge.expires_at,
    resendAt,
  }
}

function unusable(): AppError {
  return new AppError('otp-unusable')
}

function tooEarly(resendAt: number, now: number): AppError {
  return tooManyRequests(resendAt, now, 'The code was sent only just now.')
}

function noMoreResends(challenge: Challenge, now: number): AppError {
  return tooManyRequests(
    challenge.expires_at,
    now,
    'This code was sent as often as it can be; ask for a new one.',
  )
}
