/** Figures with their spread, and what may be said of them. */

export interface Spread {
  readonly median: number
  readonly q1: number
  readonly q3: number
  /** Where the true middle lies, 19 times in 20: by the ranks of the values, whatever their distribution. */
  readonly low: number
  readonly high: number
}

/** Between neighbours by weight, as most tables have it. */
function quantile(sorted: readonly number[], share: number): number {
  const place = (sorted.length - 1) * share
  const [low, high] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!]
  return low + (high - low) * (place % 1)
}

/** Of n values all but so many at either end, so that the middle is inside 94 times in 100 or more. */
const outside = (n: number) => (n < 8 ? 0 : n < 11 ? 1 : n < 14 ? 2 : Math.floor(n / 2 - Math.sqrt(n)))

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const cut = outside(sorted.length)
  return {
    median: quantile(sorted, 0.5),
    q1: quantile(sorted, 0.25),
    q3: quantile(sorted, 0.75),
    low: sorted[cut]!,
    high: sorted[sorted.length - 1 - cut]!,
  }
}

export const median = (values: readonly number[]) => spread(values).median

export type Difference = 'faster' | 'slower' | 'same' | 'not to be told apart'

/** Of costs, one divided by the other. A difference below `least` is the luck of a process and none of its code. */
export function difference({ median: middle, low, high }: Spread, least: number): Difference {
  if (low > 1 && middle > 1 + least) return 'slower'
  if (high < 1 && middle < 1 / (1 + least)) return 'faster'
  return low > 1 / (1 + 2 * least) && high < 1 + 2 * least ? 'same' : 'not to be told apart'
}
