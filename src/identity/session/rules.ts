/** How long a session goes on, where it may, and what a refresh token gives. */
import { second } from '../../platform/lib/clock.ts'
import type { Role } from '../../roles.ts'
import type { Person } from '../people/people.ts'
import type { KeyInStore } from './key-store.ts'
import type { ClientOfSession, Session, SessionAndPerson, SessionRow } from './store.ts'

const graceMs = 30 * second

/** Whether a session goes on, apart from its owner's account. */
export const isAlive = (
  session: Pick<SessionRow, 'ended_at' | 'expires_at'> | undefined,
  now: number,
): boolean => session !== undefined && session.ended_at === null && session.expires_at > now

export const isLive = (session: SessionAndPerson, now: number) =>
  isAlive(session, now) && session.status === 'active'

type Tokens = Pick<Session, 'refresh_seq' | 'refresh_parent' | 'rotated_at'>

/** What the refresh token with this number gives. */
export type Refresh =
  /** The successor that it has given before. */
  | { readonly is: 'repeated'; readonly seq: number }
  | { readonly is: 'due' }
  /** Somebody has a copy. */
  | { readonly is: 'reused' }

/**
 * For 30 seconds the newest token's predecessor gives the same successor, so that two tabs that refresh at once do not sign
 * each other out. After that the predecessor works because the successor was never used: either the reply was lost or
 * somebody has a copy. It then gives a new successor and voids the unused one, so that of two holders one will present a
 * void token. Any other token, however young, is a copy.
 */
export function refreshOf(tokens: Tokens, seq: number, now: number): Refresh {
  const { refresh_seq, refresh_parent, rotated_at } = tokens
  if (seq === refresh_parent && now - rotated_at <= graceMs) return { is: 'repeated', seq: refresh_seq }
  return isUsable(tokens, seq) ? { is: 'due' } : { is: 'reused' }
}

/** Whether a token with this number is still good for something. */
export const isUsable = ({ refresh_seq, refresh_parent }: Tokens, seq: number) =>
  seq === refresh_seq || seq === refresh_parent

/** Who may sign in at a client. */
export interface Admission {
  readonly roles: readonly string[]
  /** Null if nobody has decided: then they may. */
  readonly unverifiedVeterinarians: boolean | null
}

/** Why somebody may not sign in at a client; null if they may. */
export function refusalOf(
  { roles, unverifiedVeterinarians }: Admission,
  { role, verified_at }: Pick<Person, 'role' | 'verified_at'>,
): 'role' | 'unverified' | null {
  if (!roles.includes(role)) return 'role'
  const isUnverified = role === 'veterinarian' && verified_at === null
  return isUnverified && unverifiedVeterinarians === false ? 'unverified' : null
}

type Registered = Pick<ClientOfSession, 'roles' | 'unverified_veterinarians' | 'disabled_at'>

/** Whether a client that is registered serves this person now. */
export function serves(
  client: Registered | undefined,
  person: { readonly role: Role; readonly verified_at: number | null },
): boolean {
  if (!client || client.disabled_at !== null) return false
  const { roles, unverified_veterinarians: unverified } = client
  const admission = {
    roles: roles.split(' '),
    unverifiedVeterinarians: unverified === null ? null : unverified === 1,
  }
  return refusalOf(admission, person) === null
}

/** Whether somebody who is signed in at the portal can be signed in at a client from there. */
export function canStartAtClient(
  { from, account, client }: { from: SessionRow; account: Person; client: Registered | undefined },
  now: number,
): boolean {
  const isAtPortal = isAlive(from, now) && from.client_id === null && from.person_id === account.id
  return isAtPortal && account.status === 'active' && serves(client, account)
}

/** Whether a client still has its session, which may depend on one of the portal, or else on a scope. */
export function keepsSession(client: ClientOfSession, now: number): boolean {
  const { parent_id, parent_ended_at: ended_at, parent_expires_at, scopes } = client
  const goesOn =
    parent_id === null
      ? scopes.split(' ').includes('offline_access')
      : isAlive(parent_expires_at === null ? undefined : { ended_at, expires_at: parent_expires_at }, now)
  return goesOn && serves(client, client)
}

/** Of the next key. Numbers of keys that were deleted are free again. */
export const numberAfter = (keys: readonly KeyInStore[]) => (keys.at(-1)?.number ?? 0) + 1

/** Whether no other process has added a key meanwhile. */
export const isNext = (keys: readonly KeyInStore[], { number }: KeyInStore) => numberAfter(keys) === number

/** Whether a key can be revoked: if a new one takes over, nobody may have added one; otherwise one that signs must be there. */
export function canRevoke(
  keys: readonly KeyInStore[],
  { kid, signer, replacement }: { kid: string; signer: string; replacement: KeyInStore | null },
): boolean {
  const has = (one: string) => keys.some((key) => key.kid === one)
  return has(kid) && (replacement === null ? has(signer) : isNext(keys, replacement))
}
