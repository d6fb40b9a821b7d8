/**
 * Streams one CSV file into rows and reports problems with its form: encoding, quotes, header, number of cells. What
 * the cells mean is checked elsewhere. Rows carry the line they start on, as an editor counts. The file is read in one
 * pass, so its size does not matter.
 */
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { CsvError, parse } from 'csv-parse'
import type { CodedFinding, FindingCode } from '../findings.ts'
import { shown } from '../findings.ts'
import type { Finding } from '../records.ts'
import type { FileColumns } from './columns.ts'
import { type Columns, resolveHeader } from './header.ts'
import { type BadQuotes, withoutBadQuotes } from './quotes.ts'

const rowOctetsMax = 1024 * 1024

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
  #linesParsed = 0
  #isUtf8 = true
  #isWhole = true
  #failed = false
  /** Lines whose quotes do not match. */
  readonly #left = new Set<number>()

  constructor(file: CsvFile, taker: CsvTaker) {
    this.#file = file
    this.#taker = taker
  }

  async read(): Promise<boolean> {
    const parser = parse({
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      max_record_size: rowOctetsMax,
      // A stream of rows would lose the rows before an error, and with them the line number of the error.
      on_record: (cells: string[], { lines }) => {
        this.#take(cells, lines)
        return null
      },
    })
    try {
      const bad = this.#badQuotes.bind(this)
      await pipeline(this.#file.source, (source) => withoutBadQuotes(this.#check(source), bad), parser)
    } catch (error) {
      if (error instanceof CsvError) this.#unparsable(error)
      else if (!(error instanceof NotText)) throw error
    }
    if (this.#header === 'awaited' && !this.#failed)
      this.#tell('error', 'empty-file', 1, null, null, `The file is empty. ${headerExpected(this.#file)}`)
    return Array.isArray(this.#header) && this.#isWhole
  }

  async *#check(source: AsyncIterable<Buffer>) {
    const decoder = new TextDecoder('utf-8', { fatal: true })
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
      this.#checkUtf8(() => decoder.decode(chunk, { stream: true }))
      endsInReturn = this.#checkReturns(chunk, endsInReturn)
      yield chunk
    }
    if (start) yield this.#checkStart(start)
    this.#checkUtf8(() => decoder.decode(start ?? undefined))
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
    return start.subarray(3)
  }

  /** The affected cells show up later: their decoded text contains replacement characters. */
  #checkUtf8(decode: () => string): void {
    if (!this.#isUtf8) return
    try {
      decode()
    } catch {
      this.#isUtf8 = false
    }
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

  #take(cells: readonly string[], linesParsed: number): void {
    const line = this.#line
    this.#line += 1
    // The parser counts a CR LF inside quotes twice, so line breaks inside cells are counted here.
    if (linesParsed !== this.#linesParsed + 1) this.#line += breaksInside(cells)
    this.#linesParsed = linesParsed
    if (this.#left.delete(line)) return
    if (cells.every(isBlank)) {
      const message = 'There are blank lines, which were skipped.'
      this.#tellOnce('blank-lines', line, message)
    } else if (this.#header === 'awaited') this.#takeHeader(cells, line)
    else this.#takeRow(cells, line)
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
      const message = `The row has ${cells.length} cells and the header has ${wanted}. A cell with a comma in it must be in double quotes.`
      this.#tell('error', 'cell-count', line, null, null, message, 'row')
      this.#taker.bad(cells)
      return
    }
    this.#taker.row(cells, line)
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
    this.#left.add(line)
    const message = `${badQuotes[reason]} ${quotesAdvice}`
    this.#tell('error', 'bad-quotes', line, null, null, message, 'row')
    this.#taker.bad(text.split(',').map((cell) => cell.replaceAll('"', '')))
  }

  /** Does not use the parser's own message: it quotes the cell, which may be a password. */
  #unparsable(error: CsvError): void {
    this.#isWhole = false
    const reason = error.code === 'CSV_MAX_RECORD_SIZE' ? 'A row is longer than 1 MiB.' : badQuotes.stray
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
  stray: 'A double quote stands inside a cell.',
  unclosed: 'A double quote opens a cell here and is never closed.',
}
const quotesAdvice =
  'A cell with a double quote in it must stand in double quotes, and the one inside be written twice, as in "5"" needle".'

/** Stops reading a file whose problem has already been reported. */
class NotText extends Error {
  override readonly name = 'NotText'
}

const howToSave =
  'Save it as UTF-8: in Excel by File, Save As, "CSV UTF-8 (Comma delimited)"; in LibreOffice by Save As, Edit filter settings, Unicode (UTF-8).'

function headerExpected({ columns }: CsvFile): string {
  return `Expected a first line with the names of the columns: ${columns.all.join(',')}`
}

function breaksInside(cells: readonly string[]): number {
  let breaks = 0
  for (const cell of cells) breaks += cell.match(/\r\n|\n|\r/g)?.length ?? 0
  return breaks
}

function isBlank(cell: string): boolean {
  return cell === '' || cell.trim() === ''
}
