/**
 * Sign-in with a code, for any role: send, resend, validate. Somebody who is signed in confirms a new address in the same
 * way, or proves again who they are, with a challenge that belongs to them (`confirm`).
 *
 * `send` never looks up who owns the address. It writes a challenge and a queued mail for any address and answers from
 * that; the outbox decides later what the mail says. So a challenge without an account looks like any other, and its
 * code is mailed to nobody.
 *
 * `validate` works out whether the answer fits. One decision then locks the challenge, counts the attempt (rules.ts), and
 * either starts the session or counts a wrong answer. `session/` issues the tokens afterwards. Codes are derived in
 * `lib/code.ts`.
 */

import type { Static } from 'typebox'
import { AppError } from '../../errors.ts'
import { codeAnswered } from '../../messages/delivery/delivery.ts'
import { queueMail } from '../../messages/mail/outbox.ts'
import type { Context } from '../../platform/context.ts'
import { inTurn, type Statement } from '../../platform/db/db.ts'
import { around, type Decision, decision, type Outcome } from '../../platform/db/decision.ts'
import { type Address, inboxOf } from '../../platform/lib/address.ts'
import { type Caller, tooManyRequests } from '../../platform/lib/bucket.ts'
import { bySystem } from '../../platform/lib/by.ts'
import { minute, timestamp, timestampOrNull } from '../../platform/lib/clock.ts'
import { codesEqual, type Digits, deriveCode } from '../../platform/lib/code.ts'
import type { Language } from '../../platform/lib/languages.ts'
import type { Counts } from '../../platform/lib/limit.ts'
import { isId, newId, newIdAt, newReference } from '../../platform/lib/random.ts'
import { fingerprint } from '../../platform/lib/secret.ts'
import {
  type Attack,
  attacksBegunBy,
  type CodeAsk,
  codeTaken,
  isCalmWith,
  isQuiet,
  type Limits,
  needsLongerCode,
  networkPolicies,
} from '../limits/limits.ts'
import { canSignIn, type RoleRules } from '../people/people.ts'
import type { IssuedTokens, Sessions } from '../session/session.ts'
import { deviceToken, readDeviceToken } from './device-token.ts'
import {
  type Challenge,
  codeTtlMs,
  type Resend,
  resendOf,
  resendPauseMs,
  takesAnswer,
  type Verdict,
  verdictOn,
  type Whose,
} from './rules.ts'
import type { CodeSent } from './schemas.ts'
import * as store from './store.ts'

const challengeKeptMs = 60 * minute
const eightDigitsFrom = 10_000_000

export type SendReply = Static<typeof CodeSent>

interface CodeRequest {
  readonly address: Address
  readonly language: Language
  /** As sent by the client; a token for another address is ignored. */
  readonly deviceToken?: string | undefined
  /** Null for a sign-in. */
  readonly asker: Asker | null
}

/** Somebody who is signed in and asks for a code. */
interface Asker {
  readonly personId: string
  /** The session that the code renews; null if the account is to move to the address. */
  readonly sessionId: string | null
}

interface Guess {
  readonly address: Address
  readonly code: number
  readonly sessionId: string
}

interface Answer extends Guess {
  readonly device: string
  readonly idempotencyKey: string | undefined
}

/** An answer, and what it does if it is right; null if it can do nothing. The result is null if that is too late. */
interface Attempt<T> {
  readonly guess: Guess
  readonly whose: Whose
  readonly repeatedBy: string | null
  readonly fits: boolean
  readonly effect: Decision<T | null> | null
}

interface Judged<T> {
  readonly verdict: Verdict | { readonly is: 'must-wait' }
  readonly challenge?: Challenge
  readonly result?: T | null
  readonly attacks?: readonly Attack[]
}

interface SignedIn extends IssuedTokens {
  readonly deviceToken: string
}

interface Deps extends Pick<Context, 'db' | 'clock' | 'secrets'> {
  readonly limits: Limits
  readonly sessions: Sessions
  readonly outbox: { wake(): void }
  /** Called once when wrong codes reach a threshold, in the process that counted the last one. */
  attacked(attack: Attack): void
}

export class SignIn {
  readonly #deps: Deps
  readonly #rules: RoleRules

  constructor(deps: Deps, rules: RoleRules) {
    this.#deps = deps
    this.#rules = rules
  }

  send(request: CodeRequest, caller: Caller): Promise<SendReply> {
    const now = this.#deps.clock.now()
    const ask = this.#ask(request, caller, now)
    return this.#charged(ask, caller, now, () => this.#send(request, ask, caller, now))
  }

  resend(request: CodeRequest, caller: Caller, sessionId: string): Promise<SendReply> {
    const now = this.#deps.clock.now()
    const ask = this.#ask(request, caller, now)
    return this.#charged(ask, caller, now, () => this.#resend(request, ask, { sessionId, caller, now }))
  }

  async #send(request: CodeRequest, ask: CodeAsk, caller: Caller, now: number): Promise<SendReply> {
    const { db, limits, outbox } = this.#deps
    const opened = this.#newChallenge(request, ask, now)
    const asks = { ...limits.codeAsks(ask, now), open: store.readOpenChallenges(ask.inbox, now) }
    const opening = decision(asks, ({ state, guesses, open }) => {
      const taken = codeTaken(ask, state, now)
      if (!taken) return { result: null }
      const challenge = { ...opened, digits: guesses && needsLongerCode(guesses, open!.n) ? 8 : 6 } as const
      const writes = [...taken, store.insertChallenge(challenge), ...queueCode(challenge, request, now)]
      return { writes, result: challenge }
    })
    const before = await limits.beforeCode(ask, now)
    const steps = before === 'refused' ? [] : [...before, opening]
    const challenge = await (ask.device === null
      ? limits.admit({ policy: networkPolicies.send }, caller, now, ...steps)
      : inTurn(db, steps))
    if (!challenge) throw await limits.codeRefusal(ask, now)
    outbox.wake()
    return sendReply(challenge, challenge.resend_at)
  }

  async #resend(
    request: CodeRequest,
    ask: CodeAsk,
    { sessionId, caller, now }: { sessionId: string; caller: Caller; now: number },
  ): Promise<SendReply> {
    const { db, limits, outbox } = this.#deps
    if (ask.device === null) await limits.admit({ policy: networkPolicies.send }, caller, now)
    const whose = { ...this.#signInAt(request.address), asker: request.asker }
    // Whatever can be refused is, before strangers are charged.
    const found = isId(sessionId) ? await store.findChallenge(db, sessionId) : undefined
    refuseUnlessDue(resendOf(found, { whose, isCalm: true }, now), found, now)
    const before = await limits.beforeCode(ask, now)
    if (before === 'refused') throw await limits.codeRefusal(ask, now)

    const sendId = newIdAt(now)
    type Resent = Outcome<{ resend: Resend; challenge: Challenge | undefined } | null>
    const asks = { challenge: store.lockChallenge(sessionId), ...limits.codeAsks(ask, now) }
    const again = decision(asks, ({ challenge, state, guesses }): Resent => {
      const resend = resendOf(challenge, { whose, isCalm: isCalmWith(guesses) }, now)
      if (resend.is !== 'due') return { result: { resend, challenge } }
      const taken = codeTaken(ask, state, now)
      if (!taken) return { result: null }
      const mail = queueCode({ ...challenge!, send_id: sendId }, request, now)
      const writes = [...taken, store.noteResent(sessionId, sendId, resend.nextAt), ...mail]
      return { writes, result: { resend, challenge } }
    })
    const result = await inTurn(db, [...before, again])
    if (!result) throw await limits.codeRefusal(ask, now)
    const { resend, challenge } = result
    const nextAt = refuseUnlessDue(resend, challenge, now)
    outbox.wake()
    return sendReply(challenge!, nextAt)
  }

  #newChallenge({ address, asker }: CodeRequest, ask: CodeAsk, now: number) {
    return {
      id: newIdAt(now),
      role: this.#rules.role,
      address_fingerprint: this.#fingerprints(address)[0]!,
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
      person_id: asker?.personId ?? null,
      session_id: asker?.sessionId ?? null,
      email: asker === null ? null : address.email,
      used_at: null,
      used_by: null,
    }
  }

  #ask({ address, deviceToken: token, asker }: CodeRequest, caller: Caller, now: number): CodeAsk {
    const { secrets } = this.#deps
    const subject = { role: this.#rules.role, addressKey: address.key }
    return {
      inbox: fingerprint(secrets.current, 'address', inboxOf(address.key)),
      network: caller.network.fingerprint,
      device: token === undefined ? null : readDeviceToken(secrets.all, subject, token, now),
      moverId: asker?.sessionId === null ? asker.personId : null,
    }
  }

  /**
   * A device with its own quota takes nothing from its network, which strangers may have used up. If its request fails, the
   * network is charged: the quota of the device pays only for codes.
   */
  async #charged<T>({ device }: CodeAsk, caller: Caller, now: number, work: () => Promise<T>): Promise<T> {
    if (device === null) return work()
    const { limits } = this.#deps
    const policy = networkPolicies.send
    try {
      const done = await work()
      await limits.show(policy, caller, now)
      return done
    } catch (error) {
      await limits.admit({ policy }, caller, now)
      throw error
    }
  }

  async validate(answer: Answer, caller: Caller): Promise<SignedIn> {
    const { clock, sessions } = this.#deps
    const now = clock.now()
    const { address, sessionId, device } = answer
    const { role, findAccount } = this.#rules
    // A wrong answer looks somebody up as well, so that the time of a refusal does not show which is right.
    const fits = this.#fits(answer)
    const found = await findAccount.call(this.#rules, fits ? address.key : nobody())
    const owner = fits && found && canSignIn(found, now) ? found : undefined
    const who = { role, personId: owner?.id ?? '', addressKey: address.key }
    const session = { id: sessionId, ...who, device, method: 'code', now } as const
    let deviceId: string | null = null
    const tokens = await sessions.signIn(session, caller, async (starting) => {
      const whose = this.#signInAt(address)
      const effect = owner ? starting : null
      const attempt = { guess: answer, whose, repeatedBy: this.#mark(answer), fits, effect }
      const { challenge, result } = await this.#answered(attempt, caller, now)
      deviceId = challenge.device_id
      if (!result) return { startedBefore: sessionId }
      return { owner: result, askedFrom: challenge.network_fingerprint }
    })
    if (!tokens) throw unusable()
    // A device that sent its token keeps its id, so that signing in repeatedly gives it no extra quota.
    const subject = { role, addressKey: address.key }
    const token = deviceToken(this.#deps.secrets.current, subject, deviceId ?? sessionId, now)
    return { ...tokens, deviceToken: token }
  }

  /**
   * Checks a code that somebody asked for who is signed in. `use` says what a right answer does. If that is no longer
   * possible, its result is null, and the answer is treated like a wrong one.
   */
  async confirm<T>(
    { asker, code, sessionId }: { asker: Asker; code: number; sessionId: string },
    caller: Caller,
    use: (address: Address) => Decision<T | null>,
  ): Promise<T> {
    const { db, clock } = this.#deps
    const now = clock.now()
    const whose = { role: this.#rules.role, asker }
    const found = isId(sessionId) ? await store.findChallenge(db, sessionId) : undefined
    const email = found && takesAnswer(found, { whose, isCalm: true }, now) ? (found.email ?? '') : ''
    const guess = { address: { email, key: email.toLowerCase() }, code, sessionId }
    const fits = this.#fits(guess)
    const attempt = { guess, whose, repeatedBy: null, fits, effect: fits ? use(guess.address) : null }
    const { result } = await this.#answered(attempt, caller, now)
    return result!
  }

  /**
   * Counts the answer and acts on it. Throws if it is wrong, or if no challenge takes it. The result is null if the request
   * repeats one that used the code.
   */
  async #answered<T>(
    attempt: Attempt<T>,
    caller: Caller,
    now: number,
  ): Promise<{ challenge: Challenge; result: T | null }> {
    const { db, limits, attacked } = this.#deps
    const policy = networkPolicies.validate
    const waits = attempt.effect === null
    let judged = (await limits.admit({ policy }, caller, now, this.#answering(attempt, caller, now, waits)))!
    if (judged.verdict.is === 'must-wait')
      judged = await db.decide(this.#answering(attempt, caller, now, true))
    const { verdict, challenge, result, attacks } = judged
    for (const attack of attacks ?? []) attacked(attack)
    if (verdict.is === 'right' || verdict.is === 'repeated') return { challenge: challenge!, result: result! }
    if (verdict.is === 'wrong')
      throw new AppError('otp-incorrect', undefined, { attemptsLeft: verdict.attemptsLeft })
    throw unusable()
  }

  /** Whether it `waits` until the wrong answers before it are counted. */
  #answering<T>(attempt: Attempt<T>, caller: Caller, now: number, waits: boolean): Decision<Judged<T>> {
    const { limits } = this.#deps
    const { sessionId } = attempt.guess
    const id = isId(sessionId) ? sessionId : ''
    const answeredFrom = caller.network.fingerprint
    const counts = limits.answerAsks({ challengeId: id, answeredFrom, waits }, now)
    const none: Decision<T | null> = { asks: [], rule: () => ({ result: null }) }
    const claimBy = attempt.repeatedBy ?? newId()
    return around(
      { challenge: store.lockChallenge(id), ...counts },
      attempt.effect ?? none,
      ({ challenge, service, wrong, exhausted }, effect): Outcome<Judged<T>> => {
        if (service && !isQuiet(service)) return { result: { verdict: { is: 'must-wait' } } }
        const used = effect()
        const isCalm = isCalmWith(wrong ?? service)
        const canBeUsed = used.result !== null
        const answer = { ...attempt, digits: digitsIn(attempt.guess.code), canBeUsed, isCalm }
        const verdict = verdictOn(challenge, answer, now)
        if (!challenge || verdict.is === 'unusable') return { result: { verdict } }
        if (verdict.is === 'repeated') return { result: { verdict, challenge, result: null } }
        if (verdict.is === 'right') {
          const { id, send_id } = challenge
          const writes = [
            store.useCode(id, claimBy, now),
            ...(used.writes ?? []),
            codeAnswered(send_id, true, now),
          ]
          return { writes, result: { verdict, challenge, result: used.result } }
        }
        const networks = { askedFrom: challenge.network_fingerprint, answeredFrom }
        const attacks = wrong ? attacksBegunBy(wrong, networks) : []
        const writes = this.#wrongWrites({ challenge, verdict, exhausted }, caller, now)
        return { writes, result: { verdict, challenge, attacks } }
      },
    )
  }

  #wrongWrites(
    {
      challenge,
      verdict,
      exhausted,
    }: { challenge: Challenge; verdict: Verdict; exhausted: Counts | undefined },
    caller: Caller,
    now: number,
  ): Statement[] {
    const { limits } = this.#deps
    const { id, inbox_fingerprint: inbox, network_fingerprint: askedFrom, send_id } = challenge
    const answeredFrom = caller.network.fingerprint
    const counted = [store.countAttempt(id), ...limits.wrongAnswer({ inbox, askedFrom, answeredFrom }, now)]
    if (verdict.is !== 'wrong') return counted
    const taken = verdict.attemptsLeft === 0 ? limits.exhausted(exhausted, now) : null
    // Whoever tried may not be the owner of the address.
    const by = { ...bySystem, requestId: caller.requestId, network: answeredFrom }
    const event = taken ? [...taken, store.noteExhausted(id, now, by)] : []
    return [...counted, codeAnswered(send_id, false, now), ...event]
  }

  sweep(now: number): Statement[] {
    return [store.pruneChallenges(now - challengeKeptMs)]
  }

  #fits({ address, code, sessionId }: Guess): boolean {
    const { role } = this.#rules
    const subject = { role, sessionId, addressKey: address.key, digits: digitsIn(code) }
    let fits = false
    for (const keys of this.#deps.secrets.all) fits = codesEqual(deriveCode(keys, subject), code) || fits
    return fits
  }

  /** Marks the code as used by this request, however often it is sent. */
  #mark({ idempotencyKey }: Answer): string | null {
    if (idempotencyKey === undefined) return null
    return fingerprint(this.#deps.secrets.current, 'idempotency-key', idempotencyKey)
  }

  #signInAt(address: Address): Whose {
    return { role: this.#rules.role, asker: null, addressFingerprints: this.#fingerprints(address) }
  }

  /** Under the current secret, and under the previous one if there is one. */
  #fingerprints(address: Address): string[] {
    return this.#deps.secrets.all.map((keys) => fingerprint(keys, 'address', address.key))
  }
}

function queueCode(challenge: Challenge, { address, language }: CodeRequest, now: number): Statement[] {
  const { id: session_id, send_id: id, person_id, session_id: renewed } = challenge
  const { role, address_fingerprint, digits, reference, expires_at } = challenge
  const kind = person_id === null ? null : renewed === null ? 'address-code' : 'step-up-code'
  const about = { id, session_id, role, email: address.email, address_fingerprint, language }
  return queueMail({ ...about, digits, reference, expires_at, now }, kind)
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

/** Returns when it can be sent again after that. */
function refuseUnlessDue(resend: Resend, challenge: Challenge | undefined, now: number): number | null {
  if (resend.is === 'due') return resend.nextAt
  if (resend.is === 'unusable') throw unusable()
  if (resend.is === 'too-early')
    throw tooManyRequests('resends', resend.at - now, 'The code was sent only a moment ago.')
  const detail = 'This code cannot be sent again; ask for a new one.'
  throw tooManyRequests('resends', challenge!.expires_at - now, detail)
}

/** A key that no account has. */
const nobody = () => `${newId()}@nobody.invalid`

const digitsIn = (code: number): Digits => (code >= eightDigitsFrom ? 8 : 6)

const unusable = () => new AppError('otp-unusable')
