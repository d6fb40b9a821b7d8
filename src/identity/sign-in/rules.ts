/** What a challenge allows: an answer to its code, or its code sent again. */
import { minute, second } from '../../platform/lib/clock.ts'
import type { Digits } from '../../platform/lib/code.ts'
import type { Role } from '../../roles.ts'

export const codeTtlMs = 10 * minute
export const resendPauseMs = 30 * second
const resendsMax = 3
export const attemptsMax = 5
const repeatableMs = 2 * minute

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
  readonly used_at: number | null
  /** The request that used the code. */
  readonly used_by: string | null
}

/** What a request must know to use a challenge: the address for a sign-in, otherwise who asked for it, and where. */
export interface Whose {
  readonly role: Role
  /** Null for a sign-in. */
  readonly asker: { readonly personId: string; readonly sessionId: string | null } | null
  /** Under either secret; left out where the request does not name the address. */
  readonly addressFingerprints?: readonly string[]
}

function belongsTo(challenge: Challenge, { role, asker, addressFingerprints }: Whose): boolean {
  return (
    challenge.role === role &&
    challenge.person_id === (asker?.personId ?? null) &&
    challenge.session_id === (asker?.sessionId ?? null) &&
    (addressFingerprints?.includes(challenge.address_fingerprint) ?? true)
  )
}

/**
 * A six-digit code that no known device asked for can be guessed, so it is refused while the service is not calm. Also
 * for a resend.
 */
export function takesAnswer(
  challenge: Challenge,
  { whose, isCalm }: Pick<Answer, 'whose' | 'isCalm'>,
  now: number,
): boolean {
  return (
    belongsTo(challenge, whose) &&
    challenge.used_at === null &&
    challenge.attempts < attemptsMax &&
    challenge.expires_at > now &&
    (challenge.digits === 8 || challenge.device_id !== null || isCalm)
  )
}

export interface Answer {
  readonly whose: Whose
  readonly digits: Digits
  /** Whether it is the code of this session and address, if that has as many digits. */
  readonly fits: boolean
  /** Whether a right answer can have its effect. If not, it is answered as a wrong one. */
  readonly canBeUsed: boolean
  /** The request, if it may be repeated. */
  readonly repeatedBy: string | null
  readonly isCalm: boolean
}

export type Verdict =
  | { readonly is: 'right' }
  | { readonly is: 'wrong'; readonly attemptsLeft: number }
  | { readonly is: 'unusable' }
  /** The request that used the code, sent again because its reply was lost. */
  | { readonly is: 'repeated' }
  /** The same request with another code. */
  | { readonly is: 'wrong-repeat' }

/** `right`, `wrong` and `wrong-repeat` count as an attempt. */
export function verdictOn(challenge: Challenge | undefined, answer: Answer, now: number): Verdict {
  if (!challenge) return { is: 'unusable' }
  const isRight = answer.fits && challenge.digits === answer.digits
  if (takesAnswer(challenge, answer, now)) {
    if (isRight && answer.canBeUsed) return { is: 'right' }
    return { is: 'wrong', attemptsLeft: attemptsMax - challenge.attempts - 1 }
  }
  if (!isRepeatable(challenge, answer, now)) return { is: 'unusable' }
  return { is: isRight ? 'repeated' : 'wrong-repeat' }
}

/** Answers stay limited, so that guessing the key of a request does not allow guessing the code. */
function isRepeatable(challenge: Challenge, { whose, repeatedBy }: Answer, now: number): boolean {
  return (
    belongsTo(challenge, whose) &&
    repeatedBy !== null &&
    challenge.used_by === repeatedBy &&
    challenge.used_at !== null &&
    challenge.used_at >= now - repeatableMs &&
    challenge.attempts < 2 * attemptsMax
  )
}

export type Resend =
  | { readonly is: 'due'; readonly nextAt: number | null }
  | { readonly is: 'unusable' }
  | { readonly is: 'too-early'; readonly at: number }
  | { readonly is: 'too-many' }

export function resendOf(
  challenge: Challenge | undefined,
  answer: Pick<Answer, 'whose' | 'isCalm'>,
  now: number,
): Resend {
  if (!challenge || !takesAnswer(challenge, answer, now)) return { is: 'unusable' }
  if (challenge.resend_at === null || challenge.resends >= resendsMax) return { is: 'too-many' }
  if (challenge.resend_at > now) return { is: 'too-early', at: challenge.resend_at }
  return { is: 'due', nextAt: challenge.resends + 1 < resendsMax ? now + resendPauseMs : null }
}
