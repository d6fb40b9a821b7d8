/** First and last names: any script, one line, no tricks with direction. Pure. */

const nameCodePointsMax = 100
const typedLengthMax = 1_000
const tooLong = `must have at most ${nameCodePointsMax} characters`
// Controls (with line and paragraph separators) and the characters that override or isolate direction.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused
const refused = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/

// Letters to Unicode, and nothing to the eye: fillers of Hangul, and blanks among hieroglyphs.
const seenLetter = /[\p{L}--\p{Default_Ignorable_Code_Point}--[\u{13441}\u{13442}]]/v
const unseen = /\p{Default_Ignorable_Code_Point}/gu
// With the slashes and dots that compatibility does not fold into the plain ones.
const slashOrAt = /[/@\u2044\u2215\u29f8]/
const webAddress = /www[.\u3002]/

/** The name that somebody gives without the school's knowing them: a name, and no message, address or blank. */
export function parseOwnName(text: string): { name: string } | string {
  const parsed = parseName(text)
  if (typeof parsed === 'string') return parsed
  if (!seenLetter.test(parsed.name)) return 'must have at least one letter'
  const folded = parsed.name.normalize('NFKC').replace(unseen, '').toLowerCase()
  if (slashOrAt.test(folded) || webAddress.test(folded)) return 'must hold no /, @ or www.'
  return parsed
}

/** The name as it is kept, or what is wrong with it. */
export function parseName(text: string): { name: string } | string {
  // Before anything else: normalising a long run of combining marks takes quadratic time.
  if (text.length > typedLengthMax) return tooLong
  if (!text.isWellFormed()) return 'must be well-formed Unicode'
  const name = text.normalize('NFC').trim()
  if (refused.test(name)) return 'must hold no control or direction-override characters'
  const length = [...name].length
  if (length < 1) return 'must not be empty'
  if (length > nameCodePointsMax) return tooLong
  return { name }
}
