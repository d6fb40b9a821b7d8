/** The CSV files of another system’s export, by name, with the rows of each by column. */

import { bare } from '../../../platform/lib/nearest.ts'
import type { Meter } from '../bounds.ts'
import { decoded } from '../encoding.ts'
import { aboutFile, type FindingLog } from '../findings.ts'
import { Cells } from './cells.ts'
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

export class ExportFiles {
  readonly #files: Files
  readonly #log: FindingLog
  readonly #meter: Meter
  /** Original file name, by lower-case name without `.csv`. */
  readonly #names: ReadonlyMap<string, string>
  readonly #dayOrder: DayOrder | null

  constructor(files: Files, log: FindingLog, meter: Meter, dayOrder: DayOrder | null) {
    this.#files = files
    this.#log = log
    this.#meter = meter
    this.#dayOrder = dayOrder
    const csv = files.names.filter((name) => /\.csv$/i.test(name))
    this.#names = new Map(csv.map((name) => [name.slice(0, -4).toLowerCase(), name]))
  }

  has(...names: readonly string[]): boolean {
    return names.every((name) => this.#names.has(name))
  }

  async hasColumn(name: string, column: string): Promise<boolean> {
    for await (const { at } of this.#tables(name)) return at.has(column)
    return false
  }

  /** Reports missing files. */
  needs(...names: readonly string[]): boolean {
    for (const name of names)
      if (!this.has(name)) {
        const message = `${name}.csv is missing. Export it too, and use all files together.`
        this.#log.add(aboutFile('error', 'missing-file', this.#files.name, message))
      }
    return this.has(...names)
  }

  /** Empty if there is no such file. */
  async *rows(name: string): AsyncGenerator<ExportRow> {
    for await (const { rows, ...columns } of this.#tables(name))
      for (const row of rows) {
        this.#meter.row()
        yield new Cells(columns, row, this.#log)
      }
  }

  /** The order of day and month in these columns of a file. */
  async dayOrderOf(name: string, ...columns: readonly string[]): Promise<DayOrder | null> {
    if (this.#dayOrder !== null) return this.#dayOrder
    const texts: string[] = []
    for await (const row of this.rows(name)) for (const column of columns) texts.push(row.text(column))
    return orderOf(texts)
  }

  async *#tables(name: string): AsyncGenerator<{
    place: string
    headers: readonly string[]
    at: ReadonlyMap<string, number>
    rows: Iterable<Row>
  }> {
    const place = this.#names.get(name)
    if (place === undefined) return
    const rows = csvRows(place, decoded(await this.#files.read(place)).text)
    const first = rows.next()
    if (first.done) return
    const headers = first.value.cells.map((cell) => cell.trim())
    yield { place, headers, at: new Map(headers.map((header, at) => [bare(header), at])), rows }
  }
}
