/**
 * Streams one CSV file into rows and reports problems with its form: encoding, quotes, header, number of cells. What
 * the cells mean is checked elsewhere. Rows carry the line they start on, as an editor counts. The file is read in one
 * pass, so its size does not matter.
 */
import { bare } from '../../../platform/lib/nearest.ts'
import { aboutFile, type CodedFinding, type FindingCode, shown } from '../findings.ts'
import type { Finding } from '../records.ts'
import type { Octets } from './archive.ts'
import type { FileColumns } from './columns.ts'
import { type BadRow, RowCutter, type RowTaker } from './csv-rows.ts'
import { type Columns, resolveHeader } from './header.ts'

export interface CsvFile {
  readonly name: string
  readonly source: Octets
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

interface Place {
  readonly line?: number | null
  readonly column?: string | null
  readonly value?: string | null
  readonly about?: 'file' | 'row'
}

class CsvReader implements RowTaker {
  readonly #file: CsvFile
  readonly #taker: CsvTaker
  readonly #rows = new RowCutter(this)
  readonly #said = new Set<FindingCode>()
  #header: 'awaited' | 'refused' | readonly string[] = 'awaited'
  #line = 1
  #isWhole = true
  #failed = false
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
      for await (const chunk of this.#withoutEndMark(this.#withoutStartMark(this.#file.source)))
        this.#rows.push(chunk)
      this.#rows.end()
      this.#takeFooter()
      if (this.#titleLine !== null) this.#noHeader(this.#titleLine)
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      this.#isWhole = false
    }
    if (this.#header === 'awaited' && !this.#failed)
      this.#tell('error', 'empty-file', `The file is empty. ${headerExpected(this.#file)}`, { line: 1 })
    return Array.isArray(this.#header) && this.#isWhole
  }

  async *#withoutStartMark(source: Octets) {
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

  #checkStart(start: Buffer): Buffer {
    const [first, second, third] = start
    const marked = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
    // In UTF-16, every second byte of a Latin letter is zero, and a CSV header starts with Latin letters.
    if (marked || first === 0 || second === 0) {
      const message = `The file is in UTF-16 ("Unicode text"). ${howToSave}`
      this.#tell('error', 'not-utf-8', message, { line: 1 })
      throw new Unreadable()
    }
    if (first !== 0xef || second !== 0xbb || third !== 0xbf) return start
    const message = 'The file starts with a byte order mark, which was skipped. Nothing needs to be done.'
    this.#tell('warning', 'byte-order-mark', message, { line: 1 })
    let from = 3
    // Some programs add a mark to a file that has one.
    while (start.subarray(from, from + 3).equals(start.subarray(0, 3))) from += 3
    return start.subarray(from)
  }

  /** Leaves out a Ctrl-Z at the end, with which old programs mark it. */
  async *#withoutEndMark(chunks: Octets) {
    let held: Buffer = Buffer.alloc(0)
    for await (const chunk of chunks) {
      const all = held.length === 0 ? chunk : Buffer.concat([held, chunk])
      const mark = all.lastIndexOf(endMark)
      const isLast = mark >= 0 && all.subarray(mark + 1).every((octet) => octet === 0x0d || octet === 0x0a)
      held = isLast ? all.subarray(mark) : Buffer.alloc(0)
      if (held.length < all.length) yield all.subarray(0, all.length - held.length)
    }
    const message =
      'The file ends with a Ctrl-Z, the end mark of old programs, which was skipped. Nothing needs to be done.'
    if (held.length > 0) this.#tell('warning', 'footer-line', message)
  }

  #checkReturns(chunk: Buffer, endedInReturn: boolean): boolean {
    let lone = endedInReturn && chunk[0] !== 0x0a
    if (!this.#said.has('lone-carriage-return'))
      for (let at = chunk.indexOf(0x0d); at >= 0 && !lone; at = chunk.indexOf(0x0d, at + 1))
        lone = at + 1 < chunk.length && chunk[at + 1] !== 0x0a
    if (lone)
      this.#tellOnce('lone-carriage-return', 'Lines end with a lone carriage return; CR LF or LF is usual.')
    return chunk.at(-1) === 0x0d
  }

  row(cells: readonly string[], breaks: number): void {
    const line = this.#line
    this.#line += 1 + breaks
    if (isBlank(cells[0]!) && cells.every(isBlank))
      this.#tellOnce('blank-lines', 'There are blank lines, which were skipped.', line)
    else if (this.#header === 'awaited') this.#takeFirst(cells, line)
    else {
      this.#rejectFooter()
      if (Array.isArray(this.#header) && isFooter(cells)) this.#footer = { cells, line }
      else this.#takeRow(cells, line)
    }
  }

  bad(text: string, reason: BadRow): void {
    const line = this.#line
    // With bad quotes in its header, the file is not what it should be.
    if (reason === 'long' || this.#header === 'awaited') {
      const why = badRows[reason === 'long' ? 'long' : 'stray']
      this.#tell('error', 'bad-quotes', `${why} ${quotesAdvice} The rest of the file was not read.`, { line })
      throw new Unreadable()
    }
    this.#line++
    if (this.#header === 'refused') return
    this.#tell('error', 'bad-quotes', `${badRows[reason]} ${quotesAdvice}`, { line, about: 'row' })
    this.#taker.bad(text.split(',').map((cell) => cell.replaceAll('"', '')))
  }

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
    this.#tell('warning', 'footer-line', message, { line, value: shown(null, text.trim()) })
  }

  #takeFirst(cells: readonly string[], line: number): void {
    if (/^sep=.?$/i.test(cells.join(',').trim())) {
      const message = 'The first line tells Excel the separator. It was skipped; nothing needs to be done.'
      if (cells.length > 1 || cells[0]!.endsWith(',')) this.#tellOnce('separator-line', message, line)
      return
    }
    const isHeader = this.#isHeader(cells)
    if (isHeader && this.#titleLine === null) return void this.#takeHeader(cells, line)
    this.#titleLine ??= line
    if (isHeader) {
      const message = `The column names are in line ${line}. Delete the lines above it.`
      this.#tell('error', 'header-below', message, { line: this.#titleLine })
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
    this.#tell('error', 'empty-file', message, { line })
  }

  #takeHeader(cells: readonly string[], line: number): void {
    this.#header = 'refused'
    if (this.#hasBadBytes(cells, line)) return
    let length = cells.length
    while (cells[length - 1]!.trim() === '') length--
    if (length < cells.length) this.#trailingCells(line)
    const names = cells.slice(0, length)
    const columns = resolveHeader(names, this.#file, (severity, code, message, at) =>
      this.#tell(severity, code, message, { line, ...at }),
    )
    if (!columns) return
    this.#header = names
    this.#taker.header(columns)
  }

  #takeRow(cells: readonly string[], line: number): void {
    if (this.#header === 'refused' || this.#header === 'awaited') return
    if (this.#hasBadBytes(cells, line)) return void this.#taker.bad(cells)
    const wanted = this.#header.length
    if (cells.length !== wanted && !this.#isPadded(cells, wanted, line)) {
      const message = `The row has ${cellCount(cells.length)} and the header has ${wanted}. ${this.#cellAdvice(cells)}`
      this.#tell('error', 'cell-count', message, { line, about: 'row' })
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
    this.#tellOnce('trailing-cells', 'There are empty cells after the last column, which were ignored.', line)
  }

  #hasBadBytes(cells: readonly string[], line: number): boolean {
    if (this.#rows.isUtf8) return false
    const at = cells.findIndex((cell) => cell.includes('\ufffd'))
    if (at < 0) return false
    const message = `This is not UTF-8; most likely the file was saved as Windows-1252 ("ANSI"). ${howToSave}`
    const column = Array.isArray(this.#header) ? (this.#header[at] ?? null) : null
    const value = column === null ? null : shown(column, cells[at]!)
    const about = Array.isArray(this.#header) ? 'row' : 'file'
    this.#tell('error', 'not-utf-8', message, { line, column, value, about })
    return true
  }

  #tellOnce(code: FindingCode, message: string, line: number | null = null): void {
    if (!this.#said.has(code)) this.#tell('warning', code, message, { line })
  }

  #tell(
    severity: Finding['severity'],
    code: FindingCode,
    message: string,
    { about = 'file', ...place }: Place = {},
  ): void {
    this.#said.add(code)
    if (severity === 'error') this.#failed = true
    this.#taker.finding({ ...aboutFile(severity, code, this.#file.name, message), ...place }, about)
  }
}

const badRows: Record<BadRow, string> = {
  stray: 'There is a double quote inside a cell, or a space before the one that opens it.',
  unclosed: 'A double quote opens a cell here and is never closed.',
  long: 'A row is longer than 1 MiB.',
}
const quotesAdvice =
  'A cell that contains a double quote must be enclosed in double quotes, with the inner one doubled, as in "5"" needle".'

/** The rest of the file cannot be read, which has been reported. */
class Unreadable extends Error {
  override readonly name = 'Unreadable'
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

function isBlank(cell: string): boolean {
  return cell === '' || cell.trim() === ''
}
