import { randomBytes, randomInt } from 'node:crypto'

const idPattern = /^[A-Za-z0-9_-]{22}(?:[A-Za-z0-9_-]{8})?$/

export function newId(): string {
  return randomBytes(16).toString('base64url')
}

/**
 * Time-ordered id (like UUIDv7): inserts stay at the end of the index. Not for people, whose id must not reveal its
 * age.
 */
export function newIdAt(now: number): string {
  return firstIdAt(now) + newId()
}

/** Sorts before every id made at this time, and after all older ones. Eight characters last until May 2059. */
export function firstIdAt(now: number): string {
  return now.toString(36).padStart(8, '0')
}

const timeBytes = 6

/** A time-ordered id as 22 bytes, and back. */
export function idToBytes(id: string): Buffer {
  const bytes = Buffer.alloc(timeBytes)
  bytes.writeUIntBE(Number.parseInt(id.slice(0, 8), 36), 0, timeBytes)
  return Buffer.concat([bytes, Buffer.from(id.slice(8), 'base64url')])
}

export function idFromBytes(bytes: Buffer): string {
  return firstIdAt(bytes.readUIntBE(0, timeBytes)) + bytes.subarray(timeBytes).toString('base64url')
}

/** Anything else cannot exist, so the store need not be asked. */
export function isId(text: string): boolean {
  return idPattern.test(text)
}

const tokenPattern = /^[A-Za-z0-9_-]{43}$/

/** A bearer secret with 256 random bits. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

export function isToken(text: string): boolean {
  return tokenPattern.test(text)
}

// No vowels, so that no reference spells a word, and no look-alike letters.
const referenceLetters = 'BCDFGHJKMNPQRSTVWXZ'

/** Shows people which mail belongs to which screen. Not a secret. */
export function newReference(): string {
  let reference = ''
  for (let i = 0; i < 3; i++) reference += referenceLetters[randomInt(referenceLetters.length)]
  return reference
}
