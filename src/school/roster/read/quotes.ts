/**
 * Keeps one stray quotation mark from swallowing the rows after it. A row whose quotes do not match is left out and
 * reported, and reading goes on with the next line. Rows without quotes pass in whole chunks, so this costs nothing in
 * most files.
 */

const quote = 0x22
const comma = 0x2c
const lineFeed = 0x0a
const carriageReturn = 0x0d
const rowOctetsMax = 64 * 1024

export type BadQuotes = 'stray' | 'unclosed'

/** Calls `bad` with each such row and leaves an empty line in its place, so that lines are counted right. */
export async function* withoutBadQuotes(
  chunks: AsyncIterable<Buffer>,
  bad: (line: number, text: string, reason: BadQuotes) => void,
): AsyncGenerator<Buffer> {
  const guard = new QuoteGuard(bad)
  for await (const chunk of chunks) yield* guard.pass(chunk, false)
  yield* guard.pass(Buffer.alloc(0), true)
}

class QuoteGuard {
  readonly #bad: (line: number, text: string, reason: BadQuotes) => void
  /** Begins at the start of a line. */
  #rest: Buffer = Buffer.alloc(0)
  #line = 1
  #lineBreak: number | undefined

  constructor(bad: (line: number, text: string, reason: BadQuotes) => void) {
    this.#bad = bad
  }

  *pass(chunk: Buffer, isEnd: boolean): Generator<Buffer> {
    const buffer = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    this.#lineBreak ??= lineBreakOf(buffer)
    const lineBreak = this.#lineBreak ?? lineFeed
    let passed = 0
    const upTo = (end: number) => {
      const part = buffer.subarray(passed, end)
      passed = end
      this.#line += breaksIn(part, lineBreak)
      return part.length > 0 ? [part] : []
    }
    let waitsFrom: number | null = null
    for (let at = 0; ; ) {
      const mark = buffer.indexOf(quote, at)
      if (mark < 0) break
      const start = at + buffer.subarray(at, mark).lastIndexOf(lineBreak) + 1
      const end = endOfRow(buffer, start, isEnd)
      if (typeof end === 'number') {
        // Behind the break, which may be another one than that of the other lines.
        at = end + 1
        continue
      }
      if (end === 'more' && !isEnd && buffer.length - start < rowOctetsMax) {
        waitsFrom = start
        break
      }
      yield* upTo(start)
      const lineEnd = buffer.indexOf(lineBreak, start)
      at = lineEnd < 0 ? buffer.length : lineEnd
      this.#bad(this.#line, buffer.toString('utf8', start, at), end === 'more' ? 'unclosed' : end)
      passed = at
    }
    const lastBreak = buffer.lastIndexOf(lineBreak)
    const isEndless = buffer.length - Math.max(lastBreak, passed) > rowOctetsMax
    const end = isEnd || isEndless ? buffer.length : lastBreak + 1
    yield* upTo(Math.max(passed, waitsFrom ?? end))
    this.#rest = buffer.subarray(passed)
  }
}

/** Undefined while it cannot be told: a carriage return at the end may be the first half of a break. */
function lineBreakOf(buffer: Buffer): number | undefined {
  if (buffer.includes(lineFeed)) return lineFeed
  const at = buffer.indexOf(carriageReturn)
  return at >= 0 && at + 1 < buffer.length ? carriageReturn : undefined
}

function breaksIn(part: Buffer, lineBreak: number): number {
  let breaks = 0
  for (let at = part.indexOf(lineBreak); at >= 0; at = part.indexOf(lineBreak, at + 1)) breaks++
  return breaks
}

/** The index of the line break that ends the row, or why there is none. */
function endOfRow(buffer: Buffer, start: number, isEnd: boolean): number | 'more' | 'stray' {
  for (let at = start; ; at++) {
    if (buffer[at] === quote) {
      const closing = closingQuote(buffer, at)
      if (closing < 0 || (closing + 1 === buffer.length && !isEnd)) return 'more'
      at = closing + 1
    } else {
      while (at < buffer.length && !endsCell(buffer[at])) {
        if (buffer[at] === quote) return 'stray'
        at++
      }
    }
    if (at >= buffer.length) return isEnd ? buffer.length : 'more'
    if (buffer[at] !== comma) return endsCell(buffer[at]) ? at : 'stray'
  }
}

function closingQuote(buffer: Buffer, opening: number): number {
  let at = buffer.indexOf(quote, opening + 1)
  while (at >= 0 && buffer[at + 1] === quote) at = buffer.indexOf(quote, at + 2)
  return at
}

const endsCell = (octet: number | undefined) =>
  octet === comma || octet === lineFeed || octet === carriageReturn
