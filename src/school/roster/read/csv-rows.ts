/**
 * Cuts CSV into rows as it streams in. A row whose quotes do not match ends with its line, so that one stray quotation
 * mark does not swallow the rows after it. Lines without quotes, as in most files, are cut in whole chunks.
 */
import { isAscii, isUtf8 } from 'node:buffer'

const lineFeed = 0x0a
const carriageReturn = 0x0d
const rowOctetsMax = 1024 * 1024
const quotedRowCharactersMax = 64 * 1024

export type BadRow = 'stray' | 'unclosed' | 'long'

export interface RowTaker {
  /** `breaks`: within its cells. */
  row(cells: readonly string[], breaks: number): void
  bad(text: string, reason: BadRow): void
}

export class RowCutter {
  readonly #taker: RowTaker
  #rest: Buffer = Buffer.alloc(0)
  /** A row with a quote that is not closed yet. */
  #open = ''
  #lineBreak: number | undefined
  #endedInReturn = false
  #isUtf8 = true

  constructor(taker: RowTaker) {
    this.#taker = taker
  }

  /** If not, the affected cells have replacement characters. */
  get isUtf8(): boolean {
    return this.#isUtf8
  }

  push(chunk: Buffer): void {
    const octets = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    this.#lineBreak ??= lineBreakOf(octets)
    const end = octets.lastIndexOf(this.#lineBreak ?? lineFeed) + 1
    this.#rest = octets.subarray(end)
    if (end > 0) this.#cut(octets.subarray(0, end), false)
    if (this.#rest.length > rowOctetsMax) this.#taker.bad('', 'long')
  }

  end(): void {
    this.#cut(this.#rest, true)
  }

  #cut(octets: Buffer, isEnd: boolean): void {
    const isPlain = isAscii(octets)
    if (!isPlain && !isUtf8(octets)) this.#isUtf8 = false
    const text = this.#open + octets.toString(isPlain ? 'latin1' : 'utf8')
    let at = this.#endedInReturn && text.startsWith('\n') ? 1 : 0
    const lineBreak = this.#lineBreak === carriageReturn ? '\r' : '\n'
    this.#open = ''
    this.#endedInReturn = text.endsWith('\r')
    while (at < text.length) {
      const quote = text.indexOf('"', at)
      const start = quote < 0 ? text.length : at + lastBreakIn(text.slice(at, quote)) + 1
      for (const line of linesOf(text.slice(at, start))) this.#taker.row(line.split(','), 0)
      if (quote < 0) return
      const row = quotedRow(text, start)
      if (typeof row !== 'string') {
        const breaks = row.cells.reduce((sum, cell) => sum + breaksIn(cell), 0)
        this.#taker.row(row.cells, breaks)
        at = row.end
      } else if (row === 'unclosed' && !isEnd && text.length - start < quotedRowCharactersMax) {
        this.#open = text.slice(start)
        return
      } else {
        const end = text.indexOf(lineBreak, start)
        at = end < 0 ? text.length : end + 1
        this.#taker.bad(text.slice(start, at), row)
      }
    }
  }
}

/** Undefined while it cannot be told: a carriage return at the end may be the first half of a break. */
function lineBreakOf(octets: Buffer): number | undefined {
  if (octets.includes(lineFeed)) return lineFeed
  const at = octets.indexOf(carriageReturn)
  return at >= 0 && at + 1 < octets.length ? carriageReturn : undefined
}

/** Without the empty one after the last break. */
function linesOf(text: string): string[] {
  const lines = text.includes('\r') ? text.split(/\r\n|\n|\r/) : text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

const lastBreakIn = (text: string) => Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r'))

const cellEnd = /[,\r\n]/g

function quotedRow(text: string, start: number): { cells: string[]; end: number } | 'stray' | 'unclosed' {
  const cells: string[] = []
  for (let at = start; ; at++) {
    if (text[at] === '"') {
      const closing = closingQuote(text, at)
      if (closing < 0) return 'unclosed'
      cells.push(text.slice(at + 1, closing).replaceAll('""', '"'))
      at = closing + 1
    } else {
      cellEnd.lastIndex = at
      const end = cellEnd.exec(text)?.index ?? text.length
      const cell = text.slice(at, end)
      if (cell.includes('"')) return 'stray'
      cells.push(cell)
      at = end
    }
    if (text[at] === ',') continue
    if (at < text.length && text[at] !== '\n' && text[at] !== '\r') return 'stray'
    return { cells, end: at + (text.startsWith('\r\n', at) ? 2 : 1) }
  }
}

export function closingQuote(text: string, opening: number): number {
  let at = text.indexOf('"', opening + 1)
  while (at >= 0 && text[at + 1] === '"') at = text.indexOf('"', at + 2)
  return at
}

export const breaksIn = (cell: string) => cell.match(/\r\n|\n|\r/g)?.length ?? 0
