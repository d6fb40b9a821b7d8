/** The CSV files of another system’s export, by name, with the rows of each by column. */

import { bare } from '../../../platform/lib/nearest.ts'
import { decoded } from '../encoding.ts'
import { aboutFile } from '../findings.ts'
import { type CellColumns, Cells } from './cells.ts'
import type { Reading } from './class-list.ts'
import { csvRows } from './csv-text.ts'
import { type DayOrder, orderOf } from './day-text.ts'
import type { Row } from './sheets.ts'

export interface Files {
  readonly name: string
  readonly names: readonly string[]
  read(name: string): Promise<Buffer>
}

/** Columns are named without case, spaces and underscores: `sisid` for "SIS ID", `userid` for user_id. */
export type ExportRow = Cells<string>

export interface ExportReading extends Reading {
  readonly files: ExportFiles
}

export class ExportFiles {
  readonly name: string
  readonly #files: Files
  readonly #reading: Pick<Reading, 'log' | 'meter'>
  /** Original file name, by lower-case name without `.csv`. */
  readonly #names: ReadonlyMap<string, string>
  readonly #termsTold = new Set<string>()

  constructor(files: Files, reading: Pick<Reading, 'log' | 'meter'>) {
    this.name = files.name
    this.#files = files
    this.#reading = reading
    const csv = files.names.filter((name) => /\.csv$/i.test(name))
    this.#names = new Map(csv.map((name) => [name.slice(0, -4).toLowerCase(), name]))
  }

  has(...names: readonly string[]): boolean {
    return names.every((name) => this.#names.has(name))
  }

  async hasColumn(name: string, column: string): Promise<boolean> {
    return (await this.#table(name))?.columns.at.has(column) ?? false
  }

  needs(...names: readonly string[]): boolean {
    for (const name of names)
      if (!this.has(name)) {
        const message = `${name}.csv is missing. Export it too, and use all files together.`
        this.#reading.log.add(aboutFile('error', 'missing-file', this.name, message))
      }
    return this.has(...names)
  }

  /** Empty if there is no such file. */
  async *rows(name: string): AsyncGenerator<ExportRow> {
    const { log, meter } = this.#reading
    const table = await this.#table(name)
    for (const row of table?.rows ?? []) {
      meter.row()
      yield new Cells(table!.columns, row, log)
    }
  }

  async dayOrderOf(name: string, ...columns: readonly string[]): Promise<DayOrder | null> {
    const texts: string[] = []
    for await (const row of this.rows(name)) for (const column of columns) texts.push(row.text(column))
    return orderOf(texts)
  }

  /** Once for each term. `message`: up to how to give the days. */
  tellNoDays(row: ExportRow, column: string, term: string, message: string): void {
    if (this.#termsTold.has(term)) return
    this.#termsTold.add(term)
    const example = `${term === '' ? '' : `${term}=`}2026-09-01..2027-01-31`
    row.tell('error', 'missing-term', column, `${message} in the console or with --term "${example}".`)
  }

  async #table(name: string): Promise<{ columns: CellColumns<string>; rows: Iterable<Row> } | undefined> {
    const place = this.#names.get(name)
    if (place === undefined) return
    const rows = csvRows(place, decoded(await this.#files.read(place)).text)
    const first = rows.next()
    if (first.done) return
    const headers = first.value.cells.map((cell) => cell.trim())
    const at = new Map(headers.map((header, column) => [bare(header), column]))
    return { columns: { place, headers, at }, rows }
  }
}

export function tellSkipped(row: ExportRow, column: string, why: string): void {
  row.tell('warning', 'dangling-reference', column, `The enrolment was skipped: ${why}.`)
}

/** Some systems have the address only as the name that people sign in with. */
export function emailIn(row: ExportRow, column: string, login: string): string | null {
  return row.email(row.text(column) === '' && row.text(login).includes('@') ? login : column)
}
