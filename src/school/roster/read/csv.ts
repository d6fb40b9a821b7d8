/**
 * Streams one CSV file into rows and reports problems with its form: encoding, quotes, header, number of cells. What
 * the cells mean is checked elsewhere. Rows carry the line they start on, as an editor counts. The file is read in one
 * pass, so its size does not matter.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import { bare } from '../../../platform/lib/nearest.ts'
import type { CodedFinding, FindingCode } from '../findings.ts'
import { shown } from '../findings.ts'
import type { Finding } from '../records.ts'
import type { FileColumns } from './columns.ts'
import { type Columns, resolveHeader } from './header.ts'
import { type BadQuotes, withoutBadQuotes } from './quotes.ts'

const rowOctetsMax = 1024 * 1024
const quote = 0x22
const lineFeed = 0x0a
const carriageReturn = 0x0d

export interface CsvFile {
  readonly name: string
  readonly source: Readable
  readonly columns: FileColumns
  /** Columns of the other version: recognised but ignored. */
  readonly foreign: readonly string[]
}

export interface CsvTaker {
  finding(finding: CodedFinding, about: 'file' | 'row'): void
  /** Called once before the rows. If the header has errors, neither it nor any row is passed on. */
  header(columns: Columns): void
  row(cells: readonly string[], line: number): void
  /** A row that cannot be read, cut at its commas. */
  bad(cells: readonly string[]): void
}

/** Returns whether the rows could be read: the header was found and had no error. */
export async function readCsv(file: CsvFile, taker: CsvTaker): Promise<boolean> {
  return new CsvReader(file, taker).read()
}

class CsvReader {
  readonly #file: CsvFile
  readonly #taker: CsvTaker
  readonly #said = new Set<FindingCode>()
  #header: 'awaited' | 'refused' | readonly string[] = 'awaited'
  #line = 1
  /** The start of a row whose end has not come yet. */
  #rest: Buffer = Buffer.alloc(0)
  #endedInReturn = false
  #isUtf8 = true
  #isWhole = true
  #failed = false
  /** Lines whose quotes do not match. */
  readonly #left = new Set<number>()
  /** A line that is a footer if no row follows. */
  #footer: { readonly cells: readonly string[]; readonly line: number } | null = null
  /** The first line, which has no column names; they may be further down. */
  #titleLine: number | null = null

  constructor(file: CsvFile, taker: CsvTaker) {
    this.#file = file
    this.#taker = taker
  }

  async read(): Promise<boolean> {
    try {
      const bad = this.#badQuotes.bind(this)
      for await (const part of withoutBadQuotes(this.#withoutEndMark(this.#check(this.#file.source)), bad))
        this.#split(part)
      this.#takeAll(this.#rest)
      this.#takeFooter()
      if (this.#titleLine !== null) this.#noHeader(this.#titleLine)
    } catch (error) {
      if (error instanceof Unparsable) this.#unparsable(error)
      else if (!(error instanceof NotText)) throw error
    }
    if (this.#header === 'awaited' && !this.#failed)
      this.#tell('error', 'empty-file', 1, null, null, `The file is empty. ${headerExpected(this.#file)}`)
    return Array.isArray(this.#header) && this.#isWhole
  }

  async *#check(source: AsyncIterable<Buffer>) {
    let start: Buffer | null = Buffer.alloc(0)
    let endsInReturn = false
    for await (const piece of source) {
      let chunk = piece
      if (start) {
        start = Buffer.concat([start, piece])
        if (start.length < 4) continue
        chunk = this.#checkStart(start)
        start = null
      }
      endsInReturn = this.#checkReturns(chunk, endsInReturn)
      yield chunk
    }
    if (start) yield this.#checkStart(start)
  }

  /** Leaves out a Ctrl-Z at the end, with which old programs mark it. */
  async *#withoutEndMark(chunks: AsyncIterable<Buffer>) {
    let held: Buffer = Buffer.alloc(0)
    for await (const chunk of chunks) {
      const all = held.length === 0 ? chunk : Buffer.concat([held, chunk])
      const mark = all.lastIndexOf(endMark)
      const isLast = mark >= 0 && all.subarray(mark + 1).every((octet) => octet === 0x0d || octet === 0x0a)
      held = isLast ? all.subarray(mark) : Buffer.alloc(0)
      if (held.length < all.length) yield all.subarray(0, all.length - held.length)
    }
    if (held.length === 0) return
    const message =
      'The file ends with a Ctrl-Z, the end mark of old programs, which was skipped. Nothing needs to be done.'
    this.#tell('warning', 'footer-line', null, null, null, message)
  }

  /** A part ends where a row ends, but for rows of excessive length and the last one. */
  #split(part: Buffer): void {
    const isHalfBreak = this.#endedInReturn && part[0] === lineFeed
    const fresh = isHalfBreak ? part.subarray(1) : part
    const all = this.#rest.length === 0 ? fresh : Buffer.concat([this.#rest, fresh])
    const end = endOfRows(all)
    this.#endedInReturn = all[end - 1] === carriageReturn
    this.#rest = all.subarray(end)
    if (this.#rest.length > rowOctetsMax) throw new Unparsable('long')
    this.#takeAll(all.subarray(0, end))
  }

  #takeAll(rows: Buffer): void {
    // The affected cells show up later: their decoded text contains replacement characters.
    const isPlain = isAscii(rows)
    if (!isPlain && !isUtf8(rows)) this.#isUtf8 = false
    const text = rows.toString(isPlain ? 'latin1' : 'utf8')
    if (rows.includes(quote)) for (const cells of quotedRows(text)) this.#take(cells, breaksInside(cells))
    else for (const line of plainLines(text)) this.#take(line.split(','), 0)
  }

  #checkStart(start: Buffer): Buffer {
    const [first, second, third] = start
    const marked = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
    // In UTF-16, every second byte of a Latin letter is zero, and a CSV header starts with Latin letters.
    if (marked || first === 0 || second === 0) {
      const message = `The file is in UTF-16 ("Unicode text"). ${howToSave}`
      this.#tell('error', 'not-utf-8', 1, null, null, message)
      throw new NotText()
    }
    if (first !== 0xef || second !== 0xbb || third !== 0xbf) return start
    const message = 'The file starts with a byte order mark, which was skipped. Nothing needs to be done.'
    this.#tell('warning', 'byte-order-mark', 1, null, null, message)
    let from = 3
    // Some programs add a mark to a file that has one.
    while (start.subarray(from, from + 3).equals(start.subarray(0, 3))) from += 3
    return start.subarray(from)
  }

  #checkReturns(chunk: Buffer, endedInReturn: boolean): boolean {
    let lone = endedInReturn && chunk[0] !== 0x0a
    if (!this.#said.has('lone-carriage-return'))
      for (let at = chunk.indexOf(0x0d); at >= 0 && !lone; at = chunk.indexOf(0x0d, at + 1))
        lone = at + 1 < chunk.length && chunk[at + 1] !== 0x0a
    if (lone)
      this.#tellOnce(
        'lone-carriage-return',
        null,
        'Lines end with a lone carriage return; CR LF or LF is usual.',
      )
    return chunk.at(-1) === 0x0d
  }

  #take(cells: readonly string[], breaks: number): void {
    const line = this.#line
    this.#line += 1 + breaks
    if (this.#left.size > 0 && this.#left.delete(line)) return
    if (isBlank(cells[0]!) && cells.every(isBlank)) {
      const message = 'There are blank lines, which were skipped.'
      this.#tellOnce('blank-lines', line, message)
    } else if (this.#header === 'awaited') this.#takeFirst(cells, line)
    else {
      this.#rejectFooter()
      if (Array.isArray(this.#header) && isFooter(cells)) this.#footer = { cells, line }
      else this.#takeRow(cells, line)
    }
  }

  /** What looked like a footer is a row, because another row follows. */
  #rejectFooter(): void {
    if (this.#footer === null) return
    const { cells, line } = this.#footer
    this.#footer = null
    this.#takeRow(cells, line)
  }

  #takeFooter(): void {
    if (this.#footer === null) return
    const { cells, line } = this.#footer
    const message = 'The last line is not a row but a footer, which was skipped. Nothing needs to be done.'
    const text = cells.filter((cell) => !isBlank(cell)).join(', ')
    this.#tell('warning', 'footer-line', line, null, shown(null, text.trim()), message)
  }

  #takeFirst(cells: readonly string[], line: number): void {
    if (/^sep=.?$/i.test(cells.join(',').trim())) {
      const message = 'The first line tells Excel the separator. It was skipped; nothing needs to be done.'
      if (cells.length > 1 || cells[0]!.endsWith(',')) this.#tellOnce('separator-line', line, message)
      return
    }
    const isHeader = this.#isHeader(cells)
    if (isHeader && this.#titleLine === null) return void this.#takeHeader(cells, line)
    this.#titleLine ??= line
    if (isHeader) {
      const message = `The column names are in line ${line}. Delete the lines above it.`
      this.#tell('error', 'header-below', this.#titleLine, null, null, message)
      this.#titleLine = null
      this.#header = 'refused'
    } else if (line - this.#titleLine >= titleLinesMax) this.#noHeader(this.#titleLine)
  }

  /** Whether a line has column names, or would have if its cells were separated. */
  #isHeader(cells: readonly string[]): boolean {
    if (cells.length === 1 && /[,;\t|]/.test(cells[0]!)) return this.#titleLine === null
    const names = new Set(this.#file.columns.all.map(bare))
    const known = cells.filter((cell) => names.has(bare(cell))).length
    // A title, or a row, may have one of these words.
    return known >= (this.#titleLine === null ? 1 : 2)
  }

  #noHeader(line: number): void {
    this.#titleLine = null
    this.#header = 'refused'
    const message = `The first line has no column names. ${headerExpected(this.#file)}`
    this.#tell('error', 'empty-file', line, null, null, message)
  }

  #takeHeader(cells: readonly string[], line: number): void {
    this.#header = 'refused'
    if (!this.#isUtf8 && this.#hasBadBytes(cells, line)) return
    let length = cells.length
    while (cells[length - 1]!.trim() === '') length--
    if (length < cells.length) this.#trailingCells(line)
    const names = cells.slice(0, length)
    const columns = resolveHeader(names, this.#file, (severity, code, column, value, message) =>
      this.#tell(severity, code, line, column, value, message),
    )
    if (!columns) return
    this.#header = names
    this.#taker.header(columns)
  }

  #takeRow(cells: readonly string[], line: number): void {
    if (this.#header === 'refused' || this.#header === 'awaited') return
    if (!this.#isUtf8 && this.#hasBadBytes(cells, line)) return void this.#taker.bad(cells)
    const wanted = this.#header.length
    if (cells.length !== wanted && !this.#isPadded(cells, wanted, line)) {
      const message = `The row has ${cellCount(cells.length)} and the header has ${wanted}. ${this.#cellAdvice(cells)}`
      this.#tell('error', 'cell-count', line, null, null, message, 'row')
      this.#taker.bad(cells)
      return
    }
    this.#taker.row(cells, line)
  }

  #cellAdvice(cells: readonly string[]): string {
    if (cells.some((cell) => /[“”„]/.test(cell)))
      return 'The quotation marks around a cell must be straight ones ("), not “ and ”.'
    if (cells.length > this.#header.length) return 'A cell with a comma in it must be in double quotes.'
    return 'If the file breaks off here, export it again; otherwise add the missing cells.'
  }

  #isPadded(cells: readonly string[], wanted: number, line: number): boolean {
    if (cells.length < wanted) return false
    for (let i = wanted; i < cells.length; i++) if (!isBlank(cells[i]!)) return false
    this.#trailingCells(line)
    return true
  }

  #trailingCells(line: number): void {
    this.#tellOnce('trailing-cells', line, 'There are empty cells after the last column, which were ignored.')
  }

  #hasBadBytes(cells: readonly string[], line: number): boolean {
    const at = cells.findIndex((cell) => cell.includes('\ufffd'))
    if (at < 0) return false
    const column = Array.isArray(this.#header) ? (this.#header[at] ?? null) : null
    const message = `This is not UTF-8; most likely the file was saved as Windows-1252 ("ANSI"). ${howToSave}`
    this.#tell(
      'error',
      'not-utf-8',
      line,
      column,
      column === null ? null : shown(column, cells[at]!),
      message,
      Array.isArray(this.#header) ? 'row' : 'file',
    )
    return true
  }

  #badQuotes(line: number, text: string, reason: BadQuotes): void {
    // With bad quotes in its header, the file is not what it should be.
    if (line === 1 || this.#header === 'awaited') throw new Unparsable('quotes')
    this.#left.add(line)
    if (this.#header === 'refused') return
    const message = `${badQuotes[reason]} ${quotesAdvice}`
    this.#tell('error', 'bad-quotes', line, null, null, message, 'row')
    this.#taker.bad(text.split(',').map((cell) => cell.replaceAll('"', '')))
  }

  #unparsable({ why }: Unparsable): void {
    this.#isWhole = false
    const reason = why === 'long' ? 'A row is longer than 1 MiB.' : badQuotes.stray
    const message = `${reason} ${quotesAdvice} The rest of the file was not read.`
    this.#tell('error', 'bad-quotes', this.#line, null, null, message)
  }

  #tellOnce(code: FindingCode, line: number | null, message: string): void {
    if (!this.#said.has(code)) this.#tell('warning', code, line, null, null, message)
  }

  #tell(
    severity: Finding['severity'],
    code: FindingCode,
    line: number | null,
    column: string | null,
    value: string | null,
    message: string,
    about: 'file' | 'row' = 'file',
  ): void {
    this.#said.add(code)
    if (severity === 'error') this.#failed = true
    this.#taker.finding({ severity, code, file: this.#file.name, line, column, value, message }, about)
  }
}

const badQuotes: Record<BadQuotes, string> = {
  stray: 'There is a double quote inside a cell, or a space before the one that opens it.',
  unclosed: 'A double quote opens a cell here and is never closed.',
}
const quotesAdvice =
  'A cell that contains a double quote must be enclosed in double quotes, with the inner one doubled, as in "5"" needle".'

/** The rest of the file cannot be read. */
class Unparsable extends Error {
  override readonly name = 'Unparsable'
  readonly why: 'long' | 'quotes'

  constructor(why: 'long' | 'quotes') {
    super(why)
    this.why = why
  }
}

/** Stops reading a file whose problem has already been reported. */
class NotText extends Error {
  override readonly name = 'NotText'
}

const howToSave =
  'Save it as UTF-8: in Excel with File, Save As, "CSV UTF-8 (Comma delimited)"; in LibreOffice with Save As, Edit filter settings, Unicode (UTF-8).'

const endMark = 0x1a
const titleLinesMax = 10
const footerCellsMax = 2
const footer =
  /^[([*#=\s-]*(?:(?:grand |sub-?)?total\b|end of (?:file|report|data)\b|fin du fichier|fin del archivo|(?:row|record)s?(?: ?count)?\s*[:=]|\d+ (?:rows?|records?|lignes?|enregistrements?|filas?|registros?)\b)/i

/** A line below the rows, such as "Total: 42 rows" or "(42 rows affected)". */
function isFooter(cells: readonly string[]): boolean {
  let filled = 0
  for (const cell of cells) if (cell !== '' && ++filled > footerCellsMax) return false
  return footer.test(cells[0]!)
}

const cellCount = (count: number) => (count === 1 ? '1 cell' : `${count} cells`)

function headerExpected({ columns }: CsvFile): string {
  return `Expected a first line with the column names: ${columns.all.join(',')}`
}

/** Behind the last break that is not inside quotes. */
function endOfRows(all: Buffer): number {
  const isBreak = (octet: number | undefined) => octet === lineFeed || octet === carriageReturn
  if (isBreak(all.at(-1))) return all.length
  let end = 0
  let isInside = false
  for (let at = 0; at < all.length; at++) {
    if (all[at] === quote) isInside = !isInside
    else if (!isInside && isBreak(all[at])) end = at + 1
  }
  return end
}

/** Without the empty one after the last break. */
function plainLines(text: string): string[] {
  const lines = text.includes('\r') ? text.split(/\r\n|\n|\r/) : text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

const cellEnd = /[,\r\n]/g

/** Rows with cells in quotes, which match: others have been taken out. */
function* quotedRows(text: string): Generator<string[]> {
  let cells: string[] = []
  for (let at = 0; at < text.length; ) {
    const isQuoted = text[at] === '"'
    const end = isQuoted ? closing(text, at) + 1 : endOfCell(text, at)
    const cell = isQuoted ? text.slice(at + 1, end - 1).replaceAll('""', '"') : text.slice(at, end)
    if (!isQuoted && cell.includes('"')) throw new Unparsable('quotes')
    cells.push(cell)
    const next = text[end]
    if (next === ',') {
      at = end + 1
      if (at < text.length) continue
      cells.push('')
    } else if (next === '\r' || next === '\n') at = end + (text.startsWith('\r\n', end) ? 2 : 1)
    else if (next === undefined) at = end
    else throw new Unparsable('quotes')
    yield cells
    cells = []
  }
}

function closing(text: string, opening: number): number {
  let at = text.indexOf('"', opening + 1)
  while (at >= 0 && text[at + 1] === '"') at = text.indexOf('"', at + 2)
  if (at < 0) throw new Unparsable('quotes')
  return at
}

function endOfCell(text: string, start: number): number {
  cellEnd.lastIndex = start
  return cellEnd.exec(text)?.index ?? text.length
}

function breaksInside(cells: readonly string[]): number {
  let breaks = 0
  for (const cell of cells) if (/[\r\n]/.test(cell)) breaks += cell.match(/\r\n|\n|\r/g)!.length
  return breaks
}

function isBlank(cell: string): boolean {
  return cell === '' || cell.trim() === ''
}
