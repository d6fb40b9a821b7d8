/** A code that was asked for. It holds no secret, so it may stay in this tab's history while one reads the mail. */
import { deadline } from '../clock.ts'
import { send } from '../http.ts'
import type { Role } from '../people.ts'
import { go } from '../route.ts'

const codeTtlMs = 10 * 60_000
const resendPauseMs = 30_000

export interface Challenge {
  readonly role: Role
  readonly email: string
  readonly sessionId: string
  readonly reference: string
  readonly digits: number
  /** Times by the clock of this device. */
  readonly expiresAt: number
  /** Null when it cannot be sent again. */
  readonly resendAt: number | null
  /** Known after a wrong answer. */
  readonly attemptsLeft: number | null
  /** Goes with every answer, so that one whose reply was lost can be given again. */
  readonly idempotencyKey: string
}

interface Sent {
  readonly sessionId: string
  readonly reference: string
  readonly digits: number
  readonly expiresAt: string
  readonly resendAt: string | null
}

export async function askForCode(role: Role, email: string): Promise<Challenge> {
  const sent = await post(role, { email })
  const { sessionId, reference, digits } = sent
  return {
    ...{ role, email, sessionId, reference, digits, attemptsLeft: null, idempotencyKey: newKey() },
    expiresAt: deadline(sent.expiresAt, codeTtlMs),
    resendAt: resendTime(sent),
  }
}

/** The same code once more; it lives no longer for that. */
export async function sendAgain(challenge: Challenge): Promise<Challenge> {
  const { role, email, sessionId } = challenge
  return { ...challenge, resendAt: resendTime(await post(role, { email, sessionId })) }
}

const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  )

const post = (role: Role, body: { email: string; sessionId?: string }) =>
  send<Sent>(`/${role}/send-otp`, { method: 'POST', body })

const resendTime = ({ resendAt }: Sent) => (resendAt === null ? null : deadline(resendAt, resendPauseMs))

/** What stays with an entry of the history, so that a reload, or a phone that drops the page, loses nothing. */
export interface Kept {
  readonly challenge: Challenge
  /** Where one wanted to go. */
  readonly next: string
}

export function showCode(challenge: Challenge, next: string): void {
  go('#/code', { state: { challenge, next } satisfies Kept })
}

export function keep(kept: Kept): void {
  history.replaceState(kept, '')
}

export const kept = (): Kept | null => (history.state?.challenge ? history.state : null)
