import { randomBytes, randomInt } from 'node:crypto'

const idPattern = /^[A-Za-z0-9_-]{22}(?:[A-Za-z0-9_-]{8})?$/

/** An opaque id: 128 random bits, URL-safe. */
export function newId(): string {
  return randomBytes(16).toString('base64url')
}

/**
 * An id that begins with its time, so that new rows come to stand beside each other in the store, not all over it. For
 * what is short-lived or many: a person's id says nothing of its age.
 */
export function newIdAt(now: number): string {
  return now.toString(36).padStart(8, '0') + newId()
}

/** Anything else can name nothing, and need not be asked of the store. */
export function isId(text: string): boolean {
  return idPattern.test(text)
}

const tokenPattern = /^[A-Za-z0-9_-]{43}$/

/** A secret that whoever has it may use: 256 random bits, URL-safe. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

export function isToken(text: string): boolean {
  return tokenPattern.test(text)
}

// No vowels, so that no reference spells a word; no letter that looks like another.
const referenceLetters = 'BCDFGHJKMNPQRSTVWXZ'

/** Three letters that tell people which mail belongs to which screen. Not a secret. */
export function newReference(): string {
  let reference = ''
  for (let i = 0; i < 3; i++) reference += referenceLetters[randomInt(referenceLetters.length)]
  return reference
}
