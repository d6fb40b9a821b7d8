/**
 * Refresh tokens are derived like codes: session id, sequence number and a MAC over both. The store keeps only the
 * number.
 */
import { timingSafeEqual } from 'node:crypto'
import { isId } from '../../platform/lib/random.ts'
import { type Keys, mac } from '../../platform/lib/secret.ts'

export interface RefreshTicket {
  readonly sessionId: string
  readonly seq: number
}

const shape = /^([A-Za-z0-9_-]{22,30})\.([1-9][0-9]{0,8})\.([A-Za-z0-9_-]{43})$/

export function refreshToken(keys: Keys, { sessionId, seq }: RefreshTicket): string {
  return `${sessionId}.${seq}.${proof(keys, sessionId, seq).toString('base64url')}`
}

export function readRefreshToken(allKeys: readonly Keys[], token: string): RefreshTicket | null {
  const match = shape.exec(token)
  if (!match || !isId(match[1]!)) return null
  const sessionId = match[1]!
  const seq = Number(match[2])
  const given = Buffer.from(match[3]!, 'base64url')
  // The last character has spare bits; only the canonical encoding is accepted.
  if (given.toString('base64url') !== match[3]) return null
  const ours = allKeys.some((keys) => timingSafeEqual(proof(keys, sessionId, seq), given))
  return ours ? { sessionId, seq } : null
}

function proof(keys: Keys, sessionId: string, seq: number): Buffer {
  return mac(keys.refresh, sessionId, String(seq))
}
