/** A code that was requested. It contains no secret, so it may stay in this tab's history while the mail is read. */
import type { Static } from 'typebox'
import type { CodeSent } from '../../../src/identity/sign-in/schemas.ts'
import { deadline } from '../clock.ts'
import { send } from '../http.ts'
import type { Role } from '../people.ts'
import { go } from '../route.ts'
import { signIn } from '../session.ts'
import { keepWaiting, type SentCode, type Waiting } from './waiting.ts'

const codeTtlMs = 10 * 60_000
const resendPauseMs = 30_000

export interface Challenge extends SentCode {
  readonly role: Role
  readonly email: string
  /** Known only after a wrong answer. */
  readonly attemptsLeft: number | null
  /** Sent with every answer, so that it can be repeated if the reply was lost. */
  readonly idempotencyKey: string
  /** Whether the portal has replaced a code on this screen without being asked. It does so once. */
  readonly replaced: boolean
}

/** The reply of send-otp. */
export type Sent = Static<typeof CodeSent>

export async function askForCode(role: Role, email: string): Promise<Challenge> {
  return challengeOf(role, email, await post(role, { email }))
}

export function challengeOf(role: Role, email: string, sent: Sent): Challenge {
  const { sessionId, reference, digits } = sent
  return {
    ...{ role, email, sessionId, reference, digits },
    ...{ attemptsLeft: null, idempotencyKey: newKey(), replaced: false },
    expiresAt: deadline(sent.expiresAt, codeTtlMs),
    resendAt: resendTime(sent),
  }
}

/** Sends the same code again; this does not extend its lifetime. */
async function sendAgain(challenge: Challenge): Promise<Challenge> {
  const { role, email, sessionId } = challenge
  return sentAgain(challenge, await post(role, { email, sessionId }))
}

export const sentAgain = (challenge: Challenge, sent: Sent): Challenge => ({
  ...challenge,
  resendAt: resendTime(sent),
})

/** What a form for a code does. Another form may use the code for something else. */
export interface CodeUse {
  answer(challenge: Challenge, code: number): Promise<void>
  sendAgain(challenge: Challenge): Promise<Challenge>
  renew(challenge: Challenge): Promise<Challenge>
}

export const forSignIn: CodeUse = {
  answer: ({ role, email, sessionId, idempotencyKey }, code) =>
    signIn(role, { email, otp_code: code, sessionId }, idempotencyKey),
  sendAgain,
  renew: ({ role, email }) => askForCode(role, email),
}

export const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  )

const post = (role: Role, body: { email: string; sessionId?: string }) =>
  send<Sent>(`/${role}/send-otp`, { method: 'POST', body })

const resendTime = ({ resendAt }: Sent) => (resendAt === null ? null : deadline(resendAt, resendPauseMs))

/** Kept in the history entry, so that it survives a reload or a phone that drops the page. */
export interface Kept {
  readonly challenge: Challenge
  /** The place to open after sign-in. */
  readonly next: string
  /** The masked address, if the device no longer knows the whole one. */
  readonly address?: string
  /** Whether the reader has just registered, so that there is an account to send a code to. */
  readonly registered: boolean
}

export function showCode(kept: Kept): void {
  keepWaiting(kept.challenge)
  go('#/code', { state: kept })
}

export function keep(kept: Kept): void {
  keepWaiting(kept.challenge)
  history.replaceState(kept, '')
}

/** The code screen of somebody who is back in a new tab; it asks for the address first. */
export function showWaiting(waiting: Waiting): void {
  const { address, ...known } = waiting
  const challenge = { ...known, email: '', attemptsLeft: null, idempotencyKey: newKey(), replaced: false }
  showCode({ challenge, address, next: '#/', registered: false })
}

export const kept = (): Kept | null => (history.state?.challenge ? history.state : null)
