/** Names that somebody may mean who has misspelt one. Words and names are folded. */
import { slipsToBeginnings } from '../../platform/lib/nearest.ts'

const slipsAllowed = (word: string) => (word.length < 4 ? 0 : word.length < 8 ? 1 : 2)
const partsOf = (text: string) => text.split(/[^\p{L}\p{N}]+/u).filter(Boolean)

/** Addresses and numbers are not names. */
export const mayBeMisspelt = (words: readonly string[]) =>
  words.some((word) => slipsAllowed(word) > 0) && words.every((word) => !/[\d@]/.test(word))

/** How many slips lead from what was typed to a name, or undefined if these are too many. */
export function slipsBetween(words: readonly string[], name: string): number | undefined {
  const parts = partsOf(name)
  let all = 0
  for (const word of words.flatMap(partsOf)) {
    const fewest = Math.min(...parts.map((part) => slipsIn(word, part)))
    if (fewest > slipsAllowed(word)) return undefined
    all += fewest
  }
  return all
}

/** A word may be the beginning of a part of a name. */
function slipsIn(word: string, part: string): number {
  const allowed = slipsAllowed(word)
  if (allowed === 0) return part.startsWith(word) ? 0 : Number.POSITIVE_INFINITY
  return Math.min(...slipsToBeginnings(word, part.slice(0, word.length + allowed)))
}
