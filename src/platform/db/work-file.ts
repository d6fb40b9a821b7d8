/**
 * A private SQLite file for one piece of work with many rows. It has no name as soon as it is open, so it is gone when the
 * process is, however that ends. Nothing in it needs to last: it is written without a journal on disk and never synced.
 */
import { closeSync, openSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { UsageError } from '../../errors.ts'
import { isRunning } from '../lib/processes.ts'
import { newId } from '../lib/random.ts'

const prefix = 'chiron-work-'
const pageOctets = 8192
const cacheKb = 48_000
const storeCacheKb = 8_000

export interface WorkFileOptions {
  readonly folder: string
  readonly octetsMax: number
  /** Called for every row that is read, and after every statement. */
  readonly onStep?: () => void
  /** The error for a file that has grown beyond its limit. */
  readonly tooLarge?: () => Error
}

type Row = Record<string, unknown>
/** By position, or an object by name. */
type Params = SQLInputValue[] | [Record<string, SQLInputValue>]

export class WorkFile {
  readonly #database: DatabaseSync
  readonly #folder: string
  readonly #pagesMax: number
  readonly #onStep: () => void
  readonly #tooLarge: () => Error
  readonly #prepared = new Map<string, StatementSync>()

  constructor({ folder, octetsMax, onStep = () => {}, tooLarge = isFull }: WorkFileOptions) {
    removeLeftWorkFiles(folder)
    this.#folder = folder
    this.#onStep = onStep
    this.#tooLarge = tooLarge
    this.#pagesMax = Math.ceil(octetsMax / pageOctets)
    const path = join(folder, `${prefix}${process.pid}-${newId()}`)
    this.#database = this.#guarded(() => {
      closeSync(openSync(path, 'wx', 0o600))
      try {
        return new DatabaseSync(path)
      } finally {
        rmSync(path)
      }
    })
    this.exec(`pragma page_size = ${pageOctets}; pragma cache_size = -${cacheKb};
      pragma main.locking_mode = exclusive; pragma main.journal_mode = memory; pragma synchronous = off; begin`)
  }

  exec(sql: string): void {
    this.#guarded(() => this.#database.exec(sql))
  }

  /** Returns how many rows were written. */
  run(sql: string, ...params: Params): number {
    const { changes } = this.#guarded(() => this.#statement(sql).run(...(params as SQLInputValue[])))
    this.#onStep()
    if (this.number('pragma page_count') > this.#pagesMax) throw this.#tooLarge()
    return Number(changes)
  }

  one<R = Row>(sql: string, ...params: Params): R | undefined {
    return this.#guarded(() => this.#statement(sql).get(...(params as SQLInputValue[]))) as R | undefined
  }

  /** The first column of the only row. */
  number(sql: string, ...params: Params): number {
    return Number(Object.values(this.one(sql, ...params) ?? { none: 0 })[0])
  }

  all<R = Row>(sql: string, ...params: Params): R[] {
    return this.#guarded(() => this.#statement(sql).all(...(params as SQLInputValue[]))) as R[]
  }

  /** For many rows. Others may be read and written meanwhile. */
  each<R = Row>(sql: string, ...params: Params): Generator<R> {
    return this.#iterate<R>(
      this.#guarded(() => this.#database.prepare(sql)),
      params,
    )
  }

  /** The same, with each row as the list of its values, which takes less time. */
  lists<R extends SQLOutputValue[]>(sql: string, ...params: Params): Generator<R> {
    const statement = this.#guarded(() => this.#database.prepare(sql))
    statement.setReturnArrays(true)
    return this.#iterate<R>(statement, params)
  }

  *#iterate<R>(statement: StatementSync, params: Params): Generator<R> {
    const rows = this.#guarded(() => statement.iterate(...(params as SQLInputValue[])))
    try {
      for (;;) {
        const { done, value } = this.#guarded(() => rows.next())
        if (done) return
        this.#onStep()
        yield value as R
      }
    } finally {
      rows.return?.()
    }
  }

  /** Writes rows many at a time, which takes half as long. */
  rows(table: string, columns: number): RowWriter {
    return new RowWriter(columns, (rows, params) => {
      const row = `(${Array(columns).fill('?').join(',')})`
      this.run(`insert into ${table} values ${Array(rows).fill(row).join(',')}`, ...params)
    })
  }

  /** Shows another SQLite file as the schema `store`, as it is at the first read, until it is hidden. */
  show(file: string): void {
    this.exec('commit')
    this.#guarded(() => this.#statement('attach database ? as store').run(`${pathToFileURL(file)}?mode=ro`))
    this.exec(`pragma store.cache_size = -${storeCacheKb}; begin`)
  }

  hide(): void {
    this.exec('commit')
    this.#prepared.clear()
    this.exec('detach database store; begin')
  }

  /** Takes back what `work` writes. */
  async aside<T>(work: () => Promise<T>): Promise<T> {
    this.exec('savepoint aside')
    try {
      return await work()
    } finally {
      this.exec('rollback to aside; release aside')
    }
  }

  close(): void {
    this.#prepared.clear()
    this.#database.close()
  }

  #statement(sql: string): StatementSync {
    let statement = this.#prepared.get(sql)
    if (!statement) {
      statement = this.#database.prepare(sql)
      this.#prepared.set(sql, statement)
    }
    return statement
  }

  #guarded<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw this.#explained(error)
    }
  }

  #explained(error: unknown): unknown {
    const { errcode, code } = error as { errcode?: number; code?: string }
    if (errcode === sqliteFull || code === 'ENOSPC')
      return new UsageError(`there is no space left for a working file in ${this.#folder}`)
    if (code !== undefined && noFolder.has(code))
      return new UsageError(`a working file cannot be written in ${this.#folder}: ${code}`)
    return error
  }
}

const sqliteFull = 13
const noFolder: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOTDIR'])
const isFull = () => new UsageError('the working file is too large')
const rowsAtOnce = 25

/** Collects rows of one table. */
export class RowWriter {
  readonly #columns: number
  readonly #write: (rows: number, params: SQLInputValue[]) => void
  #params: SQLInputValue[] = []

  constructor(columns: number, write: (rows: number, params: SQLInputValue[]) => void) {
    this.#columns = columns
    this.#write = write
  }

  add(...row: SQLInputValue[]): void {
    for (const value of row) this.#params.push(value)
    if (this.#params.length === this.#columns * rowsAtOnce) this.#send(rowsAtOnce, this.#params)
  }

  /** Writes the rows that are still waiting. */
  flush(): void {
    const waiting = this.#params
    for (let at = 0; at < waiting.length; at += this.#columns)
      this.#send(1, waiting.slice(at, at + this.#columns))
  }

  #send(rows: number, params: SQLInputValue[]): void {
    this.#params = []
    this.#write(rows, params)
  }
}

/** A process that was killed between making its file and removing the name has left an empty one. */
export function removeLeftWorkFiles(folder: string): void {
  let names: string[] = []
  try {
    names = readdirSync(folder)
  } catch {
    // Making the file says what is wrong with the folder.
  }
  for (const name of names) {
    const pid = Number(new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1] ?? 0)
    if (pid > 0 && !isRunning(pid)) rmSync(join(folder, name), { force: true })
  }
}
