/** Reads the cells of the current row by column and type, and remembers whether any was refused. */

import { type CodedFinding, type FindingCode, shown, type Tell } from '../findings.ts'
import type { Finding } from '../records.ts'
import type { FileColumns, Version } from './columns.ts'
import type { Columns } from './header.ts'
import * as values from './values.ts'

export interface CellsOptions {
  readonly file: string
  readonly version: Version
  readonly expected: FileColumns
  readonly columns: Columns
  finding(finding: CodedFinding, about: 'row'): void
}

/** Columns whose value may come from an extension column instead. */
const standIns: ReadonlyMap<string, string> = new Map([['classType', 'metadata.kind']])

const isNullWord = (text: string) => text === 'NULL' || text === '(null)' || text === '\\N'
/** Somebody may be called Null. */
const names: ReadonlySet<string> = new Set(['givenName', 'familyName'])

/** Also without invisible characters, which trim() leaves. */
function trimmed(text: string): string {
  const plain = text.trim()
  if (!isInvisible(plain.charCodeAt(0)) && !isInvisible(plain.charCodeAt(plain.length - 1))) return plain
  let [start, end] = [0, plain.length]
  while (start < end && isBlank.test(plain[start]!)) start++
  while (start < end && isBlank.test(plain[end - 1]!)) end--
  return plain.slice(start, end)
}

const isBlank = /[\s\u200b\u2060]/
const isInvisible = (code: number) => code === 0x200b || code === 0x2060

/** Reused for all rows of a file, because a roster has hundreds of thousands. */
export class Cells {
  readonly version: Version
  readonly file: string
  readonly #options: CellsOptions
  #cells: readonly string[] = []
  #column = ''
  #failed = false
  #saysNull = false
  line = 0

  constructor(options: CellsOptions) {
    this.#options = options
    this.version = options.version
    this.file = options.file
  }

  moveTo(cells: readonly string[], line: number): void {
    this.#cells = cells
    this.line = line
    this.#failed = false
  }

  get failed(): boolean {
    return this.#failed
  }

  raw(column: string): string {
    const at = this.#options.columns.get(column)
    const text = at === undefined ? '' : trimmed(this.#cells[at]!)
    return isNullWord(text) && !names.has(column) ? this.#nullWord(column) : text
  }

  /** Databases write NULL for a cell without a value. */
  #nullWord(column: string): string {
    if (this.#saysNull) return ''
    this.#saysNull = true
    const message =
      'The word stands for an empty cell, here and below, and was read so. Nothing needs to be done.'
    this.tell('warning', 'null-word', column, message)
    return ''
  }

  checkNeeded(): void {
    const { needed, mayBeEmpty } = this.#options.expected
    for (const column of needed) {
      if (this.raw(column) !== '' || mayBeEmpty.includes(column)) continue
      const standIn = standIns.get(column)
      if (standIn !== undefined && this.raw(standIn) !== '') continue
      this.tell('error', 'missing-value', column, `The standard requires a value for ${column} in every row.`)
    }
  }

  text(column: string): string | null {
    return this.#parsed(column, values.parseText, 'warning')
  }

  /** Only its first characters matter, so nothing refuses it. */
  grades(column: string): string {
    return this.#look(column, 'warning')
  }

  address(column: string): string | null {
    return this.#parsed(column, values.parseText)
  }

  personName(column: string): string | null {
    return this.#parsed(column, values.parsePersonName)
  }

  id(column: string): string | null {
    const text = this.#look(column)
    const id = text === '' ? null : values.parseId(text, this.#tell)
    if (id !== null && text.length !== this.#written(column).length)
      this.#tell('warning', 'surrounding-space', 'The spaces around it were removed.')
    return id
  }

  code(column: string): string | null {
    const id = this.id(column)
    if (id !== null) values.warnIfDamaged(id, this.#tell)
    return id
  }

  ids(column: string): string[] {
    const text = this.#look(column)
    return text === '' ? [] : values.splitList(text).map((item) => values.parseId(item, this.#tell) ?? '')
  }

  texts(column: string): string[] {
    const text = this.text(column)
    return text === null ? [] : values.splitList(text)
  }

  /** Reads both dates and warns if they are in the wrong order. */
  days(first: string, last: string): [string | null, string | null] {
    const start = this.#parsed(first, values.parseDate)
    const end = this.#parsed(last, values.parseDate)
    if (start !== null && end !== null && start > end)
      this.tell('warning', 'date-order', last, `It is before ${first}, which is ${start}.`)
    return [start, end]
  }

  dateTime(column: string, severity: Finding['severity']): number | null {
    return this.#parsed(column, (text, tell) => values.parseDateTime(text, severity, tell))
  }

  boolean(column: string, whenEmpty: boolean): boolean {
    return this.#parsed(column, values.parseBoolean) ?? whenEmpty
  }

  enumeration(column: string, name: values.Enumeration): string | null {
    return this.#parsed(column, (text, tell) => values.parseEnumeration(text, name, this.version, tell))
  }

  tell(severity: Finding['severity'], code: FindingCode, column: string, message: string): void {
    if (severity === 'error') this.#failed = true
    const { file, finding } = this.#options
    const value = shown(column, this.#written(column))
    finding({ severity, code, file, line: this.line, column, value, message }, 'row')
  }

  #written(column: string): string {
    return this.#cells[this.#options.columns.get(column) ?? -1] ?? ''
  }

  #parsed<T>(
    column: string,
    parse: (text: string, tell: Tell) => T,
    severity: 'error' | 'warning' = 'error',
  ) {
    const text = this.#look(column, severity)
    return text === '' ? null : parse(text, this.#tell)
  }

  /** The text of a cell, but for the errors of spreadsheets, which are told. */
  #look(column: string, severity: 'error' | 'warning' = 'error'): string {
    this.#column = column
    const text = this.raw(column)
    return values.isSpreadsheetError(text, severity, this.#tell) && severity === 'error' ? '' : text
  }

  readonly #tell: Tell = (severity, code, message) => this.tell(severity, code, this.#column, message)
}
