import type { HoldCode, HoldShares, SharedHold } from '../words.ts'

export interface Hold {
  readonly code: HoldCode
  /** A sentence without its full stop. */
  readonly reason: string
  readonly numbers: Readonly<Record<string, number>>
}

export interface Limits {
  isMore(code: SharedHold, count: number, before: number): boolean
  /** For reasons. */
  beyond(code: SharedHold): string
}

export function limitsOf(shares: HoldShares): Limits {
  return {
    isMore: (code, count, before) => count * 100 > before * shares[code],
    beyond: (code) => `(more than ${shares[code]} %)`,
  }
}
