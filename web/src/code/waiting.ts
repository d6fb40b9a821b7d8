/**
 * A code that was asked for on this device, for somebody who closed the tab to read the mail. It is offered until the
 * code expires. The address is not kept: its first letter is enough to recognise it.
 */
import { recall, remember } from '../device.ts'
import { type Role, type ServedRole, servedRoles } from '../people.ts'

/** A code that was sent to somebody. */
export interface SentCode {
  readonly sessionId: string
  readonly reference: string
  readonly digits: number
  /** By this device's clock. */
  readonly expiresAt: number
  /** Null if it cannot be sent again. */
  readonly resendAt: number | null
}

export interface Waiting extends SentCode {
  readonly role: ServedRole
  /** Such as a…@… */
  readonly address: string
}

export const masked = (email: string): string => `${[...email.trim()][0] ?? ''}…@…`

interface Awaited extends SentCode {
  readonly role: Role
  readonly email: string
  readonly attemptsLeft: number | null
}

export function keepWaiting(challenge: Awaited): void {
  const role = servedRoles.find((each) => each === challenge.role)
  if (!role || challenge.email === '') return
  const { sessionId, reference, digits, expiresAt, resendAt } = challenge
  const address = masked(challenge.email)
  const waiting: Waiting = { sessionId, role, address, reference, digits, expiresAt, resendAt }
  remember('waiting', challenge.attemptsLeft === 0 ? null : JSON.stringify(waiting))
}

export function recallWaiting(): Waiting | null {
  try {
    const waiting: Waiting | null = JSON.parse(recall('waiting') ?? 'null')
    if (waiting && waiting.expiresAt > Date.now()) return waiting
  } catch {}
  forgetWaiting()
  return null
}

export const forgetWaiting = (): void => remember('waiting', null)
