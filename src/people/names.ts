/** First and last names: any script, one line, no tricks with direction. Pure. */

const nameCodePointsMax = 100
const typedLengthMax = 1_000
const tooLong = `must have at most ${nameCodePointsMax} characters`
// Controls (with line and paragraph separators) and the characters that override or isolate direction.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused
const refused = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/

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
