/**
 * Codes are derived, never stored: the same session, address, role and length give the same code while the secret stays
 * the same. So a resend repeats the code, and the store reveals nothing.
 */
import { timingSafeEqual } from 'node:crypto'
import { type Keys, mac } from './secret.ts'

export type Digits = 6 | 8

export interface CodeSubject {
  readonly role: string
  readonly sessionId: string
  readonly addressKey: string
  readonly digits: Digits
}

export function deriveCode(keys: Keys, subject: CodeSubject): number {
  const least = 10 ** (subject.digits - 1)
  const range = 9 * least
  // Rejection sampling: values from the last, incomplete range would favour low codes.
  const fair = 2 ** 48 - (2 ** 48 % range)
  for (let round = 0; ; round++) {
    const bytes = mac(
      keys.code,
      subject.role,
      subject.sessionId,
      subject.addressKey,
      String(subject.digits),
      String(round),
    )
    for (let at = 0; at + 6 <= bytes.length; at += 6) {
      const draw = bytes.readUIntBE(at, 6)
      if (draw < fair) return least + (draw % range)
    }
  }
}

/** Constant time. */
export function codesEqual(a: number, b: number): boolean {
  const left = Buffer.alloc(8)
  const right = Buffer.alloc(8)
  left.writeBigUInt64BE(BigInt(a))
  right.writeBigUInt64BE(BigInt(b))
  return timingSafeEqual(left, right)
}
