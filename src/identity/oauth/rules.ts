/** What a client is allowed, and what it gets for a code. */
import { second } from '../../platform/lib/clock.ts'
import type { Role } from '../../roles.ts'
import type { AuthorizeRequest } from './authorize.ts'
import type { CodeRow } from './store.ts'

/** Whether the client asks for a newer proof of who somebody is. */
export function isTooOld(
  { prompt, maxAge }: Pick<AuthorizeRequest, 'prompt' | 'maxAge'>,
  { auth_at }: { readonly auth_at: number | null },
  now: number,
): boolean {
  if (prompt.has('login') || maxAge === 0) return true
  return maxAge !== null && (auth_at === null || now - auth_at > maxAge * second)
}

/** Nobody who works with other people's data stays signed in at a client after leaving the console. */
export function grantedTo(role: Role, scopes: readonly string[]): readonly string[] {
  return role === 'staff' ? scopes.filter((scope) => scope !== 'offline_access') : scopes
}

const words = (scope: string | undefined) => scope?.split(' ') ?? []

/** Whether a consent to `given` includes these. */
export function covers(given: string | undefined, scopes: readonly string[]): boolean {
  return scopes.every((scope) => words(given).includes(scope))
}

/** The consent that includes these, too; null if `given` does. */
export function consentWith(given: string | undefined, scopes: readonly string[]): string | null {
  return covers(given, scopes) ? null : [...new Set([...words(given), ...scopes])].join(' ')
}

export interface Redemption {
  readonly clientId: string
  readonly redirectUri: string | undefined
  /** Whether the verifier is that of the code's challenge. */
  readonly verifierFits: boolean
}

/** `used`: two have the code, so the session that it started may be somebody else's. */
export type Redeemed = 'unusable' | 'used' | 'other-redirect' | 'wrong-verifier' | 'due'

export function redemptionOf(
  code: Pick<CodeRow, 'client_id' | 'redirect_uri' | 'used_at' | 'expires_at'> | undefined,
  { clientId, redirectUri, verifierFits }: Redemption,
  now: number,
): Redeemed {
  if (code?.client_id !== clientId) return 'unusable'
  if (code.used_at !== null) return 'used'
  if (code.expires_at <= now) return 'unusable'
  if (code.redirect_uri !== redirectUri) return 'other-redirect'
  return verifierFits ? 'due' : 'wrong-verifier'
}
