/** What the answer of an authenticator is worth, and whether a passkey can be added. */
import { minute } from '../../platform/lib/clock.ts'
import type { Role } from '../../roles.ts'
import type { Person } from '../people/people.ts'
import type { Passkey, UsedChallenge } from './store.ts'

export const passkeysMax = 10
const repeatableMs = 2 * minute

export interface Answer {
  readonly personId: string
  readonly signCount: number
  readonly isFresh: boolean
  /** The request, if it may be repeated. */
  readonly repeatedBy: string | null
}

export type Verdict =
  | { readonly is: 'right' | 'refused' | 'cloned' }
  /** The request that used the challenge, sent again because its reply was lost. */
  | { readonly is: 'repeated'; readonly sessionId: string }
  /** All others use up the challenge, unless it is `repeated`. */
  | { readonly is: 'unusable' }

/** `canBeUsed`: whether a right answer can have its effect. */
export function verdictOn(
  { used, passkey, canBeUsed }: { used?: UsedChallenge; passkey?: Passkey; canBeUsed: boolean },
  answer: Answer,
  now: number,
): Verdict {
  if (used) {
    const { session_id: sessionId } = used
    return sessionId !== null && isRepeat(used, answer, now)
      ? { is: 'repeated', sessionId }
      : { is: 'unusable' }
  }
  if (!answer.isFresh) return { is: 'unusable' }
  if (!passkey) return { is: 'refused' }
  if (!countsOn(passkey.sign_count, answer.signCount)) return { is: 'cloned' }
  return { is: canBeUsed ? 'right' : 'refused' }
}

const isRepeat = (used: UsedChallenge, { repeatedBy, personId }: Answer, now: number) =>
  repeatedBy !== null &&
  used.used_by === repeatedBy &&
  used.used_at >= now - repeatableMs &&
  used.person_id === personId

/**
 * Whether the counter of an authenticator went on, or it has none (WebAuthn §6.1.1). A copy of a passkey counts on its
 * own, so sooner or later one of the two falls behind.
 */
const countsOn = (before: number, signCount: number) =>
  before < signCount || (before === 0 && signCount === 0)

/** Of those of a person, the passkeys that open the account as it is now. */
export const working = (passkeys: readonly Passkey[], account: Pick<Person, 'email_key'>) =>
  passkeys.filter(({ email_key }) => email_key === account.email_key)

export interface AddingTo {
  readonly account: Person | undefined
  readonly isSessionOpen: boolean
  readonly isChallengeUsed: boolean
  /** All passkeys of the person. */
  readonly own: readonly Passkey[]
  /** Whether anybody has this credential. */
  readonly exists: boolean
}

/** `onlyFirst`: the relying party at which the person may have no passkey yet; null if they may. */
export function additionTo(
  { account, isSessionOpen, isChallengeUsed, own, exists }: AddingTo,
  onlyFirst: string | null,
): 'added' | 'second' | 'exists' | 'too-many' | 'unusable' {
  if (account?.status !== 'active' || !isSessionOpen) return 'unusable'
  if (working(own, account).some(({ rp_id }) => rp_id === onlyFirst)) return 'second'
  if (exists) return 'exists'
  if (own.length >= passkeysMax) return 'too-many'
  return isChallengeUsed ? 'unusable' : 'added'
}

export const mustUsePasskey = (
  { role, method }: { role: Role; method: string },
  staffMustUse: boolean,
): boolean => staffMustUse && role === 'staff' && method !== 'passkey'
