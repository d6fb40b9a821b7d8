/** Names that somebody may mean who has misspelt one. Words and names are folded. */

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
    const fewest = Math.min(...parts.map((part) => slipsToBeginning(word, part)))
    if (fewest > slipsAllowed(word)) return undefined
    all += fewest
  }
  return all
}

/**
 * The fewest letters that are wrong, missing, superfluous or swapped with the next one, in a word that should be the beginning
 * of a part of a name.
 */
function slipsToBeginning(word: string, part: string): number {
  const allowed = slipsAllowed(word)
  if (allowed === 0) return part.startsWith(word) ? 0 : Number.POSITIVE_INFINITY
  const end = Math.min(part.length, word.length + allowed)
  let before: number[] = []
  let last = Array.from({ length: end + 1 }, (_, to) => to)
  for (let from = 1; from <= word.length; from++) {
    const row = [from]
    for (let to = 1; to <= end; to++) {
      const isSame = word[from - 1] === part[to - 1]
      const isSwapped =
        from > 1 && to > 1 && word[from - 2] === part[to - 1] && word[from - 1] === part[to - 2]
      row[to] = Math.min(last[to - 1]! + (isSame ? 0 : 1), last[to]! + 1, row[to - 1]! + 1)
      if (isSwapped) row[to] = Math.min(row[to]!, before[to - 2]! + 1)
    }
    before = last
    last = row
  }
  return Math.min(...last)
}
