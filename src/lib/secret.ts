/**
 * One secret, many keys: each purpose gets its own by HKDF, so that nothing learnt from one use helps with another.
 * While a previous secret is given, what it made is still recognised; new things are made under the current one.
 */
import { createHmac, hkdfSync } from 'node:crypto'

export interface Keys {
  readonly code: Buffer
  readonly refresh: Buffer
  readonly address: Buffer
  readonly seal: Buffer
}

export interface Secrets {
  readonly current: Keys
  /** Current first. */
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
    address: derive('address'),
    seal: derive('seal'),
  }
}

/** HMAC-SHA256 over parts, each prefixed by its length, so that no two lists of parts look alike. */
export function mac(key: Buffer, ...parts: readonly string[]): Buffer {
  const hmac = createHmac('sha256', key)
  const length = Buffer.alloc(4)
  for (const part of parts) {
    const bytes = Buffer.from(part, 'utf8')
    length.writeUInt32BE(bytes.length)
    hmac.update(length).update(bytes)
  }
  return hmac.digest()
}

/**
 * How addresses and networks of people who may never have had an account stand in the store: recognisable by us,
 * readable by nobody.
 */
export function fingerprint(keys: Keys, kind: 'address' | 'network', text: string): string {
  return mac(keys.address, kind, text).subarray(0, 16).toString('base64url')
}
