/**
 * A challenge for an authenticator carries its own proof: 16 random bytes, the time, and a MAC over both and its purpose.
 * So asking for one looks nothing up and stores nothing. One that was answered is remembered by its digest.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { clockSlackMs, minute } from '../../platform/lib/clock.ts'
import { type Keys, mac } from '../../platform/lib/secret.ts'

export const challengeTtlMs = 5 * minute

/** A challenge for one purpose, or for one session, is never accepted for another. */
export type Purpose =
  | { readonly use: 'sign-in' }
  | { readonly use: 'add' | 'step-up'; readonly sessionId: string }

export interface ReadChallenge {
  /** Names the challenge in the store. */
  readonly digest: string
  readonly isFresh: boolean
}

const randomLength = 16
const timeLength = 6
const macLength = 32
const issuedLength = randomLength + timeLength

export function newChallenge(keys: Keys, purpose: Purpose, now: number): string {
  const issued = Buffer.alloc(issuedLength)
  randomBytes(randomLength).copy(issued)
  issued.writeUIntBE(now, randomLength, timeLength)
  return Buffer.concat([issued, proof(keys, purpose, issued)]).toString('base64url')
}

/** Null if the challenge is not ours, or was given for something else. */
export function readChallenge(
  allKeys: readonly Keys[],
  purpose: Purpose,
  challenge: string,
  now: number,
): ReadChallenge | null {
  const bytes = Buffer.from(challenge, 'base64url')
  if (bytes.length !== issuedLength + macLength || bytes.toString('base64url') !== challenge) return null
  const issued = bytes.subarray(0, issuedLength)
  const given = bytes.subarray(issuedLength)
  if (!allKeys.some((keys) => timingSafeEqual(proof(keys, purpose, issued), given))) return null
  const age = now - issued.readUIntBE(randomLength, timeLength)
  return {
    digest: createHash('sha256').update(bytes).digest('base64url'),
    isFresh: age <= challengeTtlMs && age >= -clockSlackMs,
  }
}

function proof(keys: Keys, purpose: Purpose, issued: Buffer): Buffer {
  const sessionId = purpose.use === 'sign-in' ? '' : purpose.sessionId
  return mac(keys.passkey, 'challenge', purpose.use, sessionId, issued.toString('base64url'))
}
