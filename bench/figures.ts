/** Medians with quartiles, and tables of them. */

export interface Spread {
  readonly median: number
  readonly q1: number
  readonly q3: number
}

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => {
    const place = (sorted.length - 1) * share
    const [low, high] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!]
    return low + (high - low) * (place % 1)
  }
  return { median: at(0.5), q1: at(0.25), q3: at(0.75) }
}

/** Round by round, one divided by the other. */
export function ratio(values: readonly number[], others: readonly number[]): Spread {
  return spread(values.map((value, i) => value / others[i]!))
}

const digits = (value: number) =>
  value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(value < 1 ? 2 : 3)

export const text = ({ median, q1, q3 }: Spread) => `${digits(median)} (${digits(q1)}–${digits(q3)})`

export function table(rows: readonly (readonly string[])[]): string {
  const [head, ...body] = rows as [readonly string[], ...(readonly string[])[]]
  const widths = head.map((_, c) => Math.max(3, ...rows.map((row) => row[c]!.length)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, c) => cell.padEnd(widths[c]!)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line), ''].join('\n')
}

/** The chance that a time of one list is longer than one of the other. */
export function areaUnderCurve(known: number[], unknown: number[]): number {
  const all = [
    ...known.map((ms) => ({ ms, isKnown: true })),
    ...unknown.map((ms) => ({ ms, isKnown: false })),
  ]
  all.sort((a, b) => a.ms - b.ms)
  let rankSum = 0
  for (const [i, { isKnown }] of all.entries()) if (isKnown) rankSum += i + 1
  return (rankSum - (known.length * (known.length + 1)) / 2) / (known.length * unknown.length)
}
