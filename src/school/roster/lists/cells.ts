/** The cells of one row by column. A bad cell is reported, and its value is null. */
import { parseAddress } from '../../../platform/lib/address.ts'
import { type FindingCode, type FindingLog, shown, type Tell } from '../findings.ts'
import { parseId, parsePersonName, parseText } from '../read/read.ts'
import type { Finding } from '../records.ts'
import { type DayOrder, type Days, dayFrom } from './day-text.ts'
import type { Row } from './sheets.ts'
import { uncalculated } from './xlsx.ts'

const spreadsheetErrors = /^#(?:N\/A|REF!|VALUE!|NAME\?|DIV\/0!|NULL!|NUM!|CALC!|SPILL!|FIELD!|#+$|FORMULA$)/i

const withoutResult =
  'The formula of this cell has no result yet. Open the list in the spreadsheet, save it, and try again.'
const failedFormula =
  'This is a spreadsheet error, not a value. Correct the formula, and save the list again.'

const unusualSpace = /\s\s|[^\S ]/

export function oneSpaced(text: string): string {
  const trimmed = text.trim()
  return unusualSpace.test(trimmed) ? trimmed.replaceAll(/\s+/g, ' ') : trimmed
}

export interface CellColumns<Column extends string> {
  readonly place: string
  readonly headers: readonly string[]
  readonly at: ReadonlyMap<Column, number>
}

export class Cells<Column extends string> {
  readonly #columns: CellColumns<Column>
  readonly #row: Row
  readonly #log: FindingLog

  constructor(columns: CellColumns<Column>, row: Row, log: FindingLog) {
    this.#columns = columns
    this.#row = row
    this.#log = log
  }

  get line(): number {
    return this.#row.line
  }

  get place(): string {
    return this.#columns.place
  }

  has(column: Column): boolean {
    return this.#columns.at.has(column)
  }

  isBlank(): boolean {
    return this.#columns.at.values().every((at) => (this.#row.cells[at] ?? '').trim() === '')
  }

  isEmpty(column: Column): boolean {
    return this.#cell(column) === ''
  }

  isSame(other: Cells<Column>): boolean {
    return this.#columns.at.keys().every((column) => this.#cell(column) === other.#cell(column))
  }

  joined(columns: readonly Column[]): string {
    return columns.map((column) => this.#row.cells[this.#columns.at.get(column) ?? -1] ?? '').join('\0')
  }

  /** Splits a cell at line breaks and at `between`. */
  parts(column: Column, between: RegExp): string[] {
    if (this.text(column) === '') return []
    const lines = this.#row.cells[this.#columns.at.get(column)!]!.split(/[\r\n]+/)
    return lines.flatMap((line) => line.split(between).map(oneSpaced)).filter((part) => part !== '')
  }

  tell(severity: Finding['severity'], code: FindingCode, column: Column, message: string): void {
    const at = this.#columns.at.get(column)
    const header = at === undefined ? column : this.#columns.headers[at]!
    const value = this.#cell(column) === '' ? null : shown(header, this.#cell(column))
    const about = { file: this.place, line: this.line, column: header, value, message }
    this.#log.add({ severity, code, ...about }, 'row')
  }

  /** Empty if the cell is empty or bad. */
  text(column: Column): string {
    return this.#cell(column) === '' ? '' : (this.#sound(column, parseText) ?? '')
  }

  id(column: Column): string | null {
    return this.#cell(column) === '' ? '' : this.#sound(column, parseId)
  }

  name(column: Column): string | null {
    return this.#cell(column) === '' ? '' : this.#sound(column, parsePersonName)
  }

  email(column: Column): string | null {
    if (this.#cell(column) === '') return ''
    const text = this.#sound(column, parseText)?.replace(/^mailto:/i, '')
    if (text === undefined) return null
    // As mail programs copy it: Ada Byron <ada@school.example>
    const address = parseAddress(/<([^<>]+)>$/.exec(text)?.[1] ?? text)
    if (typeof address !== 'string') return address.email
    const isTwo = text.split('@').length > 2
    const message = isTwo
      ? 'There are two addresses in this cell. Keep the one the student signs in with.'
      : 'This is not an e-mail address such as ada@school.example. Correct it, or leave the cell empty.'
    this.tell('error', 'bad-address', column, message)
    return null
  }

  /** null: the row has no dates. */
  days(first: Column, last: Column, order: DayOrder | null): Days | null | 'refused' {
    if (this.text(first) === '' && this.text(last) === '') return null
    const start = this.#day(first, 'last', order)
    const end = this.#day(last, 'first', order)
    if (start === null || end === null) return 'refused'
    if (start <= end) return { start, end }
    this.tell('error', 'bad-date', last, `The last day is before the first, ${start}.`)
    return 'refused'
  }

  #day(column: Column, other: 'first' | 'last', order: DayOrder | null): string | null {
    const text = this.text(column)
    if (text === '') {
      this.tell('error', 'missing-value', column, `The row has only a ${other} day. Fill in both.`)
      return null
    }
    const day = dayFrom(text, order)
    if (day !== null && day !== 'unclear') return day
    const message =
      day === 'unclear'
        ? 'The day and the month could be either way round. Say which comes first, in the console or with --dates day-first or --dates month-first.'
        : 'This is not a day. Write it like 2026-09-01.'
    this.tell('error', 'bad-date', column, message)
    return null
  }

  #cell(column: Column): string {
    const at = this.#columns.at.get(column)
    return at === undefined ? '' : oneSpaced(this.#row.cells[at] ?? '')
  }

  #sound(column: Column, parse: typeof parseText): string | null {
    const text = this.#cell(column)
    const tell: Tell = (severity, code, message) => this.tell(severity, code, column, message)
    if (!spreadsheetErrors.test(text)) return parse(text, tell)
    if (text === uncalculated) tell('error', 'missing-value', withoutResult)
    else tell('error', 'spreadsheet-error', failedFormula)
    return null
  }
}
