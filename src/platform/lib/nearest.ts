/** For "did you mean": the candidate at most two typos away (one for short names), ignoring case and punctuation. */
export function nearest(text: string, candidates: Iterable<string>): string | undefined {
  const wanted = bare(text)
  let best: string | undefined
  let bestSlips = wanted.length <= 4 ? 2 : 3
  for (const candidate of candidates) {
    const slips = countSlips(wanted, bare(candidate))
    if (slips < bestSlips) {
      best = candidate
      bestSlips = slips
    }
  }
  return best
}

/** Makes `Sourced_ID` and `sourcedId` equal. */
export function bare(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
}

function countSlips(a: string, b: string): number {
  return Math.abs(a.length - b.length) > 2 ? 3 : slipsToBeginnings(a, b).at(-1)!
}

/**
 * How many letters are wrong, missing, superfluous or swapped with the next one in `text`, if it should be a beginning of
 * `whole`: for each of its beginnings, the empty one first (optimal string alignment).
 */
export function slipsToBeginnings(text: string, whole: string): number[] {
  let beforeLast: number[] = []
  let last = Array.from({ length: whole.length + 1 }, (_, j) => j)
  for (let i = 1; i <= text.length; i++) {
    const row = [i]
    for (let j = 1; j <= whole.length; j++) {
      const same = text[i - 1] === whole[j - 1] ? 0 : 1
      let slips = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same)
      const swapped = i > 1 && j > 1 && text[i - 1] === whole[j - 2] && text[i - 2] === whole[j - 1]
      if (swapped) slips = Math.min(slips, beforeLast[j - 2]! + 1)
      row.push(slips)
    }
    beforeLast = last
    last = row
  }
  return last
}
