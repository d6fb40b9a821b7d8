/** The roster after an import, and how each row differs from the current one. */
import { Numbers } from '../compact.ts'
import type { DataOf } from '../records.ts'
import type { CorrectionRow } from '../store/corrections.ts'
import type { DisabledVersion, StudentFields, StudentVersion } from '../store/students.ts'
import type { IncomingRows, Incomings } from './incoming.ts'
import type { RecordKind } from './standing.ts'
import { EnrolmentTable, type Parts, RecordTable, type Rest, type Table } from './tables.ts'

export type Operation = 'added' | 'changed' | 'leaving' | 'returning'

export interface Counts {
  before: number
  after: number
  added: number
  changed: number
  leaving: number
  returning: number
}

export function noCounts(before = 0): Counts {
  return { before, after: 0, added: 0, changed: 0, leaving: 0, returning: 0 }
}

// The outcome for a row of the file; the generation of the current row is in the higher bits.
const states = ['added', 'same', 'changed', 'returning'] as const
export type State = (typeof states)[number]

/**
 * The rows of one kind. Rows of the file keep its row numbers; the numbers after them are current rows that stay,
 * because the file does not name them.
 */
export class NextRows<D, T extends Table<D> = Table<D>> {
  readonly incoming: IncomingRows<D, T>
  readonly kept: T
  /** The current rows of those that change or leave. */
  readonly was: T
  readonly counts: Counts = noCounts()
  readonly #offset: number
  readonly #marks = new Numbers()
  readonly #keptFrom = new Numbers()
  readonly #wasFrom = new Numbers()
  /** Rows that differ from the file on purpose. */
  readonly #instead = new Map<number, D>()

  constructor(incoming: IncomingRows<D, T>, kept: T, was: T) {
    this.incoming = incoming
    this.kept = kept
    this.was = was
    this.#offset = incoming.size
    this.#marks.set(incoming.size, 0)
  }

  get size(): number {
    const { before, added, returning, leaving } = this.counts
    return before + added + returning - leaving
  }

  meet(row: number, fromGen: number, isSame: boolean, data: () => D): void {
    this.#marks.set(row, fromGen * 4 + states.indexOf(isSame ? 'same' : 'changed'))
    if (isSame) return
    this.counts.changed++
    this.#setWas(this.incoming.table.ids.at(row), fromGen, data())
  }

  keep(sourcedId: string, fromGen: number, data: D): void {
    const row = this.kept.ids.add(sourcedId)
    this.kept.set(row, data)
    this.#keptFrom.set(row, fromGen)
  }

  leave(sourcedId: string, fromGen: number, data: D): void {
    this.counts.leaving++
    this.#setWas(sourcedId, fromGen, data)
  }

  #setWas(sourcedId: string, fromGen: number, data: D): void {
    const row = this.was.ids.add(sourcedId)
    this.was.set(row, data)
    this.#wasFrom.set(row, fromGen)
  }

  /** New rows that existed in an earlier roster are returning. */
  async settle(gone: Gone | null): Promise<void> {
    let some: string[] = []
    const flush = async () => {
      for (const id of (await gone?.(some)) ?? []) {
        this.#marks.set(this.incoming.find(id), states.indexOf('returning'))
        this.counts.returning++
        this.counts.added--
      }
      some = []
    }
    for (const row of this.incoming.rows()) {
      if (this.#marks.at(row) !== 0) continue
      this.counts.added++
      if (gone === null) continue
      some.push(this.idAt(row))
      if (some.length === lookedUpAtOnce) await flush()
    }
    if (some.length > 0) await flush()
    this.counts.after = this.size
  }

  replace(row: number, data: D): void {
    this.#instead.set(row, data)
  }

  /** −1 if it is not there. */
  find(sourcedId: string): number {
    const row = this.incoming.find(sourcedId)
    if (row >= 0) return row
    const kept = this.kept.ids.find(sourcedId)
    return kept < 0 ? -1 : this.#offset + kept
  }

  has(sourcedId: string): boolean {
    return this.find(sourcedId) >= 0
  }

  get(sourcedId: string): D | undefined {
    const row = this.find(sourcedId)
    return row < 0 ? undefined : this.dataAt(row)
  }

  /** Those that stay come first. */
  *rows(): Generator<number> {
    for (let row = 0; row < this.kept.ids.size; row++) yield this.#offset + row
    yield* this.incoming.rows()
  }

  isOfFile(row: number): boolean {
    return row < this.#offset
  }

  idAt(row: number): string {
    return this.tableOf(row).ids.at(this.inTable(row))
  }

  dataAt(row: number): D {
    const instead = this.#instead.size > 0 ? this.#instead.get(row) : undefined
    if (instead !== undefined) return instead
    return this.tableOf(row).dataAt(this.inTable(row))
  }

  /** In the file; null if the file does not name it. */
  placeOf(row: number): { file: string; line: number } | null {
    return this.isOfFile(row) ? { file: this.incoming.file, line: this.incoming.lineAt(row) } : null
  }

  stateOf(row: number): State {
    return this.isOfFile(row) ? states[this.#marks.at(row) & 3]! : 'same'
  }

  /** The generation of its current row. */
  fromGen(row: number): number {
    return this.isOfFile(row) ? this.#marks.at(row) >> 2 : this.#keptFrom.at(row - this.#offset)
  }

  /** The current version of a changed row. */
  wasOf(sourcedId: string): D {
    return this.was.dataAt(this.was.ids.find(sourcedId))
  }

  /** The current value. */
  before(sourcedId: string): D | undefined {
    const was = this.was.ids.find(sourcedId)
    if (was >= 0) return this.was.dataAt(was)
    const row = this.find(sourcedId)
    return row >= 0 && this.stateOf(row) === 'same' ? this.dataAt(row) : undefined
  }

  /** All current and next rows. A changed one appears twice. */
  *sides(): Generator<{ id: string; data: D; isNow: boolean; isThen: boolean }> {
    for (const row of this.rows()) {
      const isNow = this.stateOf(row) === 'same'
      yield { id: this.idAt(row), data: this.dataAt(row), isNow, isThen: true }
    }
    for (let row = 0; row < this.was.ids.size; row++)
      yield { id: this.was.ids.at(row), data: this.was.dataAt(row), isNow: true, isThen: false }
  }

  /** As `sides`, for many rows. */
  each(visit: (table: T, row: number, isNow: boolean, isThen: boolean) => void): void {
    for (let row = 0; row < this.kept.ids.size; row++) visit(this.kept, row, true, true)
    for (const row of this.incoming.rows())
      visit(this.incoming.table, row, this.stateOf(row) === 'same', true)
    for (let row = 0; row < this.was.ids.size; row++) visit(this.was, row, true, false)
  }

  /** The table that has a row, and its number there. */
  protected tableOf(row: number): T {
    return this.isOfFile(row) ? this.incoming.table : this.kept
  }

  protected inTable(row: number): number {
    return this.isOfFile(row) ? row : row - this.#offset
  }

  /** Leaving rows, by their number in `was`. */
  *leaving(): Generator<{ row: number; sourcedId: string; fromGen: number }> {
    for (let row = 0; row < this.was.ids.size; row++) {
      const sourcedId = this.was.ids.at(row)
      if (this.incoming.find(sourcedId) < 0) yield { row, sourcedId, fromGen: this.#wasFrom.at(row) }
    }
  }
}

type Gone = (sourcedIds: readonly string[]) => Promise<ReadonlySet<string>>

/** How many ids are looked up in the store by one statement. */
export const lookedUpAtOnce = 500

export class NextEnrolments extends NextRows<DataOf['enrolment'], EnrolmentTable> {
  readonly parts: Parts

  constructor(incoming: IncomingRows<DataOf['enrolment'], EnrolmentTable>) {
    const { parts } = incoming.table
    super(incoming, new EnrolmentTable(parts), new EnrolmentTable(parts))
    this.parts = parts
  }

  /** A number of `parts.names`, as `classAt`. */
  userAt(row: number): number {
    return this.tableOf(row).userAt(this.inTable(row))
  }

  classAt(row: number): number {
    return this.tableOf(row).classAt(this.inTable(row))
  }

  restAt(row: number): Rest {
    return this.tableOf(row).restAt(this.inTable(row))
  }
}

export type NextRoster = { readonly [K in RecordKind]: NextRows<DataOf[K], RecordTable<DataOf[K]>> } & {
  readonly enrolment: NextEnrolments
}

export function newNextRoster(incoming: Incomings): NextRoster {
  const { of } = incoming
  return {
    org: new NextRows(of.org, new RecordTable(), new RecordTable()),
    term: new NextRows(of.term, new RecordTable(), new RecordTable()),
    course: new NextRows(of.course, new RecordTable(), new RecordTable()),
    class: new NextRows(of.class, new RecordTable(), new RecordTable()),
    user: new NextRows(of.user, new RecordTable(), new RecordTable()),
    role: new NextRows(of.role, new RecordTable(), new RecordTable()),
    enrolment: new NextEnrolments(of.enrolment),
  }
}

export interface NextStudent {
  readonly personId: string
  readonly fields: StudentFields
  readonly digest: string
  /** The same person's current row, perhaps under another sourcedId; null also if nothing changes. */
  readonly before: StudentVersion | null
  /** Whether the sourcedId was a student's before this import. */
  readonly isKnown: boolean
  /** Whether the account is new. */
  readonly isNewPerson: boolean
  /** The sourcedId of the account that this one takes over. */
  readonly matchedFrom: string | null
  readonly correction: AppliedCorrection | null
}

/** A student of the next roster who may not sign in, and who differs from the current one. */
export interface NextDisabled {
  readonly personId: string
  readonly fields: StudentFields
  readonly digest: string
  readonly before: DisabledVersion | null
  /** Whether the account is new. */
  readonly isNewPerson: boolean
}

export interface AppliedCorrection {
  readonly row: CorrectionRow
  /** The remaining correction, without fields in which the file now agrees. Null if none remain. */
  readonly left: Corrected | null
  /** The file's value of each corrected field. */
  readonly inFile: Corrected
}

/** Null: as the file has it. */
export interface Corrected {
  readonly email: string | null
  readonly firstname: string | null
  readonly lastname: string | null
}
