/**
 * Derives one key per purpose from the secret (HKDF), so that one key reveals nothing about another. With a previous
 * secret set, what it created is still accepted; new things use the current one.
 */
import { createHmac, hkdfSync } from 'node:crypto'

export interface Keys {
  readonly code: Buffer
  readonly refresh: Buffer
  readonly device: Buffer
  readonly address: Buffer
  readonly seal: Buffer
  readonly bounce: Buffer
  readonly hook: Buffer
  readonly passkey: Buffer
}

export interface Secrets {
  readonly current: Keys
  readonly all: readonly Keys[]
}

export function secretsFrom(secret: string, previous: string | null): Secrets {
  const current = deriveKeys(secret)
  return { current, all: previous === null ? [current] : [current, deriveKeys(previous)] }
}

function deriveKeys(secret: string): Keys {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, '', `chiron/1/${purpose}`, 32))
  return {
    code: derive('code'),
    refresh: derive('refresh'),
    device: derive('device'),
    address: derive('address'),
    seal: derive('seal'),
    bounce: derive('bounce'),
    hook: derive('hook'),
    passkey: derive('passkey'),
  }
}

/** HMAC-SHA256. Each part is prefixed with its length, so that different lists never give the same message. */
export function mac(key: Buffer, ...parts: readonly string[]): Buffer {
  const lengths = parts.map((part) => Buffer.byteLength(part))
  const message = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + 4 + length, 0))
  let at = 0
  for (const [i, part] of parts.entries()) {
    at = message.writeUInt32BE(lengths[i]!, at)
    at += message.write(part, at)
  }
  return createHmac('sha256', key).update(message).digest()
}

/**
 * How the store keeps addresses, domains and networks of people who may not have an account: we can recognise them, but
 * nobody can read them.
 */
export function fingerprint(
  keys: Keys,
  kind: 'address' | 'network' | 'domain' | 'idempotency-key',
  text: string,
): string {
  return mac(keys.address, kind, text).subarray(0, 16).toString('base64url')
}
