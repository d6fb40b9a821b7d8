/** Figures with their spread, and what may be said of them. */

export interface Spread {
  readonly median: number
  readonly q1: number
  readonly q3: number
  /** Where the true middle lies, some 19 times in 20. */
  readonly low: number
  readonly high: number
}

/** Between neighbours by weight, as most tables have it. */
function quantile(sorted: readonly number[], share: number): number {
  const place = (sorted.length - 1) * share
  const [low, high] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!]
  return low + (high - low) * (place % 1)
}

/** As the notch of a box plot has it (McGill, Tukey, Larsen 1978): by the quartiles, so one wild value does not count. */
const notch = 1.58

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const [q1, middle, q3] = [0.25, 0.5, 0.75].map((share) => quantile(sorted, share)) as [
    number,
    number,
    number,
  ]
  const reach = (notch * (q3 - q1)) / Math.sqrt(sorted.length)
  return { median: middle, q1, q3, low: middle - reach, high: middle + reach }
}

export const median = (values: readonly number[]) => spread(values).median

export type Difference = 'faster' | 'slower' | 'same' | 'not to be told apart'

/** Of costs, one divided by the other. A difference below `least` is the luck of a process and none of its code. */
export function difference({ median: middle, low, high }: Spread, least: number): Difference {
  if (low > 1 && middle > 1 + least) return 'slower'
  if (high < 1 && middle < 1 / (1 + least)) return 'faster'
  return low > 1 / (1 + 2 * least) && high < 1 + 2 * least ? 'same' : 'not to be told apart'
}
