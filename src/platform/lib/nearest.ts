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

/** Edit distance that also counts swapped neighbours as one (optimal string alignment). */
function countSlips(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return 3
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let slips = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) slips = Math.min(slips, beforeLast[j - 2]! + 1)
      row.push(slips)
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}
