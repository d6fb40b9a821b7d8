/**
 * Copies whole tables from one store to another, of either engine, and checks each: the copy must have as many rows, with
 * the same checksum. Both sides are transactions of the caller, who commits if nothing was thrown.
 */
import { hash } from 'node:crypto'
import { UsageError } from '../../errors.ts'
import type { Tables } from './columns.ts'
import type { Db, Exec, Row, Rows, Value } from './db.ts'

export interface Side {
  readonly engine: Db['engine']
  readonly exec: Exec
  readonly rows: Rows
}

export interface CopiedTable {
  readonly name: string
  readonly rows: number
}

export interface CopyProgress {
  /** Rows that were copied or read back. */
  readonly done: number
  readonly total: number
}

export async function copyTables(
  from: Side,
  to: Side,
  tables: Tables,
  onProgress: (progress: CopyProgress) => void = () => {},
): Promise<CopiedTable[]> {
  const counted: CopiedTable[] = []
  for (const name of Object.keys(tables)) counted.push({ name, rows: await countRows(from, name) })
  const total = 2 * counted.reduce((sum, { rows }) => sum + rows, 0)
  let done = 0
  for (const { name } of counted) {
    const columns = Object.keys(tables[name]!)
    // Migrations write some rows of their own.
    await to.exec(`delete from ${name}`)
    const read = new Checksum(columns)
    for await (const page of pagesOf(from, name, columns)) {
      read.add(page)
      await to.exec(insertOf(name, columns, page))
      done += page.length
      onProgress({ done, total })
    }
    const written = new Checksum(columns)
    for await (const page of pagesOf(to, name, columns)) {
      written.add(page)
      done += page.length
      onProgress({ done, total })
    }
    if (read.text !== written.text)
      throw new UsageError(`the copy of the table ${name} is not the same (${read.text}; ${written.text})`)
  }
  return counted
}

async function countRows({ rows }: Side, table: string): Promise<number> {
  const [row] = await rows(`select count(*) as count from ${table}`)
  return Number(row!.count)
}

/** The same for the same rows in any order, since engines sort differently. */
class Checksum {
  readonly #columns: readonly string[]
  #rows = 0
  #sum = 0n

  constructor(columns: readonly string[]) {
    this.#columns = columns
  }

  add(page: readonly Row[]): void {
    this.#rows += page.length
    for (const row of page) {
      const digest = hash('sha256', JSON.stringify(this.#columns.map((column) => row[column])), 'buffer')
      this.#sum = BigInt.asUintN(
        128,
        this.#sum + (digest.readBigUInt64LE(0) << 64n) + digest.readBigUInt64LE(8),
      )
    }
  }

  get text(): string {
    return `${this.#rows} rows, checksum ${this.#sum.toString(16).padStart(32, '0')}`
  }
}

// Powers of two, because each text of a statement stays prepared.
const rowsMin = 16
const rowsMax = 4_096
const pageLengthWanted = 1_000_000

/** Rows in the order of the primary key, in pages of similar length: some tables have rows of a megabyte. */
async function* pagesOf(
  { engine, rows }: Side,
  table: string,
  columns: readonly string[],
): AsyncGenerator<Row[]> {
  const key = (await rows(primaryKey[engine](table))).map(({ name }) => String(name))
  if (key.length === 0) throw new Error(`the table ${table} has no primary key`)
  const keys = key.join(', ')
  const places = key.map((_, i) => `$${i + 1}`).join(', ')
  let last: Row | undefined
  for (let count = rowsMin; ; ) {
    const after = last ? `where (${keys}) > (${places})` : ''
    const sql = `select ${columns.join(', ')} from ${table} ${after} order by ${keys} limit ${count}`
    const page = await rows(sql, last ? key.map((name) => last![name]!) : [])
    if (page.length > 0) yield page
    if (page.length < count) return
    last = page.at(-1)!
    const length = lengthOf(page)
    if (length < pageLengthWanted / 2) count = Math.min(rowsMax, 2 * count)
    else if (length > 2 * pageLengthWanted) count = Math.max(rowsMin, count / 2)
  }
}

const lengthOf = (page: readonly Row[]) =>
  page.reduce((sum, row) => Object.values(row).reduce<number>((all, one) => all + String(one).length, sum), 0)

const primaryKey: Record<Db['engine'], (table: string) => string> = {
  sqlite: (table) => `select name from pragma_table_info('${table}') where pk > 0 order by pk`,
  postgres: (table) =>
    `select a.attname as name from pg_index i
     cross join unnest(i.indkey) with ordinality as k (number, place)
     join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
     where i.indrelid = '${table}'::regclass and i.indisprimary order by k.place`,
}

function insertOf(table: string, columns: readonly string[], page: readonly Row[]): string {
  const rows = page.map((row) => `(${columns.map((column) => literal(row[column]!)).join(', ')})`)
  return `insert into ${table} (${columns.join(', ')}) values ${rows.join(', ')}`
}

const literal = (value: Value) =>
  typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
