/** Figures as text, and tables of them. */
import type { Spread } from './statistics.ts'

export const whole = (value: number) => Math.round(value).toLocaleString('en')
export const digits = (value: number) => (value >= 100 ? whole(value) : value.toPrecision(value >= 1 ? 3 : 2))

/** The median, and the quartiles where there is more than one value. */
export function ranged(value: Spread | null, text: (value: number) => string = digits): string {
  if (!value) return '–'
  const { median, q1, q3, low, high } = value
  return low === high ? text(median) : `${text(median)} (${text(q1)}–${text(q3)})`
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  const widths = head.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i]!.length)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |\n`
  return line(head) + line(widths.map((width) => '-'.repeat(width))) + rows.map(line).join('')
}
