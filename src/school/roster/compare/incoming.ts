/** Collects the rows of a file while it is read. */
import { Meter } from '../bounds.ts'
import { type Ids, Numbers } from '../compact.ts'
import type { DataOf, Kind, RosterRecord, RosterSink } from '../records.ts'
import type { RecordKind } from './standing.ts'
import { EnrolmentTable, Parts, RecordTable, type Table } from './tables.ts'

/** A row that must be left out. */
export interface BadRow {
  readonly kind: Kind
  readonly sourcedId: string
}

// The status of a row; a bad row has none.
const nothing = 0
const isThere = 1
const goes = 2

/** The rows of one kind. */
export class IncomingRows<D, T extends Table<D> = Table<D>> {
  /** As the archive calls it. */
  file = ''
  readonly table: T
  readonly meter: Meter
  /** Skipped rows: the current records of their sourcedIds stay. */
  readonly #bad = new Set<string>()
  /** Some rows were unreadable, so any sourcedId may be theirs. */
  isPartlyUnread = false
  /** By row: four times its line, plus its status. */
  readonly #rows = new Numbers()

  constructor(table: T, meter: Meter) {
    this.table = table
    this.meter = meter
  }

  get size(): number {
    return this.#rows.length
  }

  add(row: number, { sourcedId, data, file, line }: Omit<RosterRecord, 'data'> & { data: D | null }): void {
    this.file = file
    if (data !== null) this.table.set(row, data)
    const says = this.#bad.has(sourcedId) ? nothing : data === null ? goes : isThere
    this.#rows.set(row, line * 4 + says)
  }

  repeats(sourcedId: string, data: D | null): boolean {
    const row = this.table.ids.find(sourcedId)
    const says = this.#says(row)
    if (data === null || says !== isThere) return data === null && says === goes
    return JSON.stringify(this.table.dataAt(row)) === JSON.stringify(data)
  }

  bad(sourcedId: string): void {
    this.#bad.add(sourcedId)
    const row = this.table.ids.find(sourcedId)
    if (row >= 0) this.#rows.set(row, nothing)
  }

  goes(sourcedId: string): boolean {
    return this.#says(this.table.ids.find(sourcedId)) === goes
  }

  /** Whether the file mentions it. */
  isNamed(sourcedId: string): boolean {
    return this.#says(this.table.ids.find(sourcedId)) !== nothing
  }

  isBad(sourcedId: string): boolean {
    return this.#bad.size > 0 && this.#bad.has(sourcedId)
  }

  /** Whether the record may be in a row that could not be read. */
  mayBeUnread(sourcedId: string): boolean {
    return this.isPartlyUnread || this.isBad(sourcedId)
  }

  /** The row of this sourcedId if the file has it as active, or −1. */
  find(sourcedId: string): number {
    const row = this.table.ids.find(sourcedId)
    return this.#says(row) === isThere ? row : -1
  }

  lineAt(row: number): number {
    return this.#rows.at(row) >> 2
  }

  #says(row: number): number {
    return row >= 0 && row < this.size ? this.#rows.at(row) & 3 : nothing
  }

  *rows(): Generator<number> {
    for (let row = 0; row < this.size; row++) {
      this.meter.step()
      if (this.#says(row) === isThere) yield row
    }
  }

  /** Whether the file has nothing but a header. */
  get isEmpty(): boolean {
    return this.size === 0 && this.#bad.size === 0 && !this.isPartlyUnread
  }

  /** Every sourcedId in the file, including deleted ones. */
  *named(): Generator<string> {
    for (let row = 0; row < this.size; row++) if (this.#says(row) !== nothing) yield this.table.ids.at(row)
  }
}

type RowsOfKinds = { readonly [K in RecordKind]: IncomingRows<DataOf[K], RecordTable<DataOf[K]>> } & {
  readonly enrolment: IncomingRows<DataOf['enrolment'], EnrolmentTable>
}

export class Incomings implements RosterSink {
  readonly of: RowsOfKinds
  badRows = 0
  readonly #onProgress: (rows: number) => void

  constructor(onProgress: (rows: number) => void = () => {}, meter = new Meter()) {
    this.of = {
      org: new IncomingRows(new RecordTable(), meter),
      term: new IncomingRows(new RecordTable(), meter),
      course: new IncomingRows(new RecordTable(), meter),
      class: new IncomingRows(new RecordTable(), meter),
      user: new IncomingRows(new RecordTable(), meter),
      role: new IncomingRows(new RecordTable(), meter),
      enrolment: new IncomingRows(new EnrolmentTable(new Parts()), meter),
    }
    this.#onProgress = onProgress
  }

  ids(kind: Kind): Ids {
    return this.of[kind].table.ids
  }

  record(record: RosterRecord): void {
    const rows = this.of[record.kind] as IncomingRows<object>
    // The reader has just given it the newest number.
    rows.add(rows.table.ids.size - 1, record)
  }

  repeats({ kind, sourcedId, data }: RosterRecord): boolean {
    return (this.of[kind] as IncomingRows<object>).repeats(sourcedId, data)
  }

  bad(kind: Kind, sourcedId: string | null): void {
    this.badRows++
    if (sourcedId === null) this.of[kind].isPartlyUnread = true
    else this.of[kind].bad(sourcedId)
  }

  unread(kind: Kind): void {
    this.of[kind].isPartlyUnread = true
  }

  progress(rows: number): void {
    this.#onProgress(rows)
  }
}
