/** First and last names: any script, one line, no direction overrides. */
import { invalidField } from '../../errors.ts'

const nameCodePointsMax = 100
const typedLengthMax = 1_000
const tooLong = `must have at most ${nameCodePointsMax} characters`
// Control characters, line separators, and characters that override or isolate direction.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused
const refused = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/

// Unicode counts some invisible characters as letters: Hangul fillers and blank hieroglyphs.
const seenLetter = /[\p{L}--\p{Default_Ignorable_Code_Point}--[\u{13441}\u{13442}]]/v
const unseen = /\p{Default_Ignorable_Code_Point}/gu
// Includes slashes and dots that NFKC does not fold into the ASCII ones.
const slashOrAt = /[/@\u2044\u2215\u29f8]/
const webAddress = /www[.\u3002]/

/** A self-chosen name must not be blank, an address or a link. */
export function parseOwnName(text: string): { name: string } | string {
  const parsed = parseName(text)
  if (typeof parsed === 'string') return parsed
  if (!seenLetter.test(parsed.name)) return 'must have at least one letter'
  const folded = parsed.name.normalize('NFKC').replace(unseen, '').toLowerCase()
  if (slashOrAt.test(folded) || webAddress.test(folded)) return 'must not contain /, @ or www.'
  return parsed
}

/** Of the field `name` of a body. */
export function nameFrom(text: string): string {
  const parsed = parseName(text)
  if (typeof parsed === 'string') throw invalidField({ pointer: '#/name', detail: parsed })
  return parsed.name
}

export function parseName(text: string): { name: string } | string {
  // First, because normalising a long run of combining marks takes quadratic time.
  if (text.length > typedLengthMax) return tooLong
  if (!text.isWellFormed()) return 'must be well-formed Unicode'
  const name = text.normalize('NFC').trim()
  if (refused.test(name)) return 'must not contain control or direction-override characters'
  const length = [...name].length
  if (length < 1) return 'must not be empty'
  if (length > nameCodePointsMax) return tooLong
  return { name }
}
