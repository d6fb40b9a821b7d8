/** How rows of the roster are written: each by a statement of its own, or many by one. */
import type { Db, Row, Statement, Value } from '../../platform/db/db.ts'
import { folded } from '../../platform/lib/folded.ts'
import type { CorrectionRow } from './store/corrections.ts'
import type { StudentFields } from './store/students.ts'

const personal =
  'person_id from_gen sourced_id digest email email_key firstname firstname_key lastname lastname_key'

const columnsOf = each(
  {
    person: 'id role status created_at updated_at',
    student_identity: 'sourced_id person_id generation matched_from',
    student: `${personal} preferred_name pronouns student_number year school_id school_name updated_at`,
    disabled_student: `${personal} student_number year`,
    roster_correction: 'person_id from_gen email firstname lastname actor corrected_at',
    roster_departure: 'generation person_id',
    roster_record: 'kind sourced_id from_gen digest data document updated_at',
    roster_enrolment: 'sourced_id from_gen user_id class_id school_id role is_primary start_date end_date',
    event: 'id at type person_id data generation actor request_id network_fingerprint',
  },
  (_, columns) => columns.split(' '),
)

const keysOf = {
  student: ['person_id', 'from_gen'],
  disabled_student: ['person_id', 'from_gen'],
  roster_correction: ['person_id', 'from_gen'],
  roster_record: ['kind', 'sourced_id', 'from_gen'],
  roster_enrolment: ['sourced_id', 'from_gen'],
} as const

type Table = keyof typeof columnsOf
type Closable = keyof typeof keysOf

/** A new row, the key of one that ends, or a person who changes. */
export type RowWrite =
  | { readonly table: Table; readonly row: readonly Value[] }
  | { readonly closes: Closable; readonly row: readonly Value[] }
  | { readonly changes: 'person'; readonly row: readonly [id: string, updatedAt: number] }

/** A student, or one who may not sign in, as they are from a generation on. */
export interface NewVersion {
  readonly personId: string
  readonly fields: StudentFields
  readonly digest: string
}

export function newVersion(
  table: 'student' | 'disabled_student',
  { personId, fields, digest }: NewVersion,
  { generation, now }: { readonly generation: number; readonly now: number },
): RowWrite {
  const { firstname, lastname } = fields
  const keys = { firstname_key: folded(firstname), lastname_key: folded(lastname) }
  const values = { ...fields, ...keys, person_id: personId, from_gen: generation, digest, updated_at: now }
  return { table, row: rowOf(table, values) }
}

export const newCorrection = (row: CorrectionRow): RowWrite => ({
  table: 'roster_correction',
  row: rowOf('roster_correction', { ...row }),
})

const rowOf = (table: Table, values: Row) => columnsOf[table].map((name) => values[name]!)

const insertOne = each(columnsOf, (table, columns) => {
  const places = columns.map((_, i) => `$${i + 1}`)
  return `insert into ${table} (${columns.join(', ')}) values (${places.join(', ')})`
})

const closeOne = each(keysOf, (table, names) => {
  const where = names.map((name, i) => `${name} = $${i + 2}`).join(' and ')
  return `update ${table} set to_gen = $1 where ${where}`
})

/** Never back: staff may have changed the account since the import began. */
const changeOne = 'update person set updated_at = $2 where id = $1 and updated_at < $2'

/** A row that is closed ends with this generation. */
export function writeRow(write: RowWrite, generation: number): Statement {
  if ('changes' in write) return { sql: changeOne, params: write.row }
  return 'closes' in write
    ? { sql: closeOne[write.closes], params: [generation, ...write.row] }
    : { sql: insertOne[write.table], params: write.row }
}

/**
 * Makes statements of one batch of rows after the other. PostgreSQL gets the rows of a table in one statement, as JSON: it
 * saves the round trips. SQLite has none to save, and its statements are made when they are asked for. The statements of a
 * batch hold until those of the next but one are made.
 */
export function batchWriter(
  { engine }: Db,
  generation: number,
): (writes: Iterable<RowWrite>) => Iterable<Statement> {
  if (engine === 'sqlite') return (writes) => statementsOf(writes, generation)
  let [batch, other] = [new JsonBatch(generation), new JsonBatch(generation)]
  return (writes) => {
    ;[batch, other] = [other, batch]
    return batch.statements(writes)
  }
}

function* statementsOf(writes: Iterable<RowWrite>, generation: number): Generator<Statement> {
  for (const write of writes) yield writeRow(write, generation)
}

const insertMany = each(columnsOf, (table, columns) => {
  const names = columns.join(', ')
  return `insert into ${table} (${names}) select ${names} from json_populate_recordset(null::${table}, $1::json)`
})

const closeMany = each(keysOf, (table, names) => {
  const where = names.map((name) => `t.${name} = k.${name}`).join(' and ')
  return `update ${table} t set to_gen = $2 from json_populate_recordset(null::${table}, $1::json) k where ${where}`
})

const changeMany =
  'update person t set updated_at = k.updated_at from json_populate_recordset(null::person, $1::json) k where t.id = k.id and t.updated_at < k.updated_at'

class JsonBatch {
  readonly #generation: number
  readonly #changes = new JsonRows(['id', 'updated_at'])
  readonly #closes = each(keysOf, (_, names) => new JsonRows(names))
  readonly #inserts = each(columnsOf, (_, columns) => new JsonRows(columns))

  constructor(generation: number) {
    this.#generation = generation
  }

  statements(writes: Iterable<RowWrite>): Statement[] {
    const all = [this.#changes, ...Object.values(this.#closes), ...Object.values(this.#inserts)]
    for (const rows of all) rows.clear()
    for (const write of writes)
      if ('changes' in write) this.#changes.add(write.row)
      else if ('closes' in write) this.#closes[write.closes].add(write.row)
      else this.#inserts[write.table].add(write.row)
    return [
      ...(this.#changes.isEmpty ? [] : [{ sql: changeMany, params: [this.#changes.json()] }]),
      ...filled(this.#closes).map(([table, rows]) => ({
        sql: closeMany[table],
        params: [rows.json(), this.#generation],
      })),
      ...filled(this.#inserts).map(([table, rows]) => ({ sql: insertMany[table], params: [rows.json()] })),
    ]
  }
}

const filled = <T extends string>(rows: Record<T, JsonRows>) =>
  (Object.entries(rows) as [T, JsonRows][]).filter(([, { isEmpty }]) => !isEmpty)

/**
 * Rows as JSON in octets that are used again. As a string, a batch would outlive the collections that are cheap, and a
 * first import took 70 MB more.
 */
class JsonRows {
  readonly #names: readonly string[]
  #octets = Buffer.alloc(0)
  #length = 0

  constructor(columns: readonly string[]) {
    this.#names = columns.map((name) => `${JSON.stringify(name)}:`)
  }

  get isEmpty(): boolean {
    return this.#length === 0
  }

  clear(): void {
    this.#length = 0
  }

  add(row: readonly Value[]): void {
    const values = row.map((value, i) => this.#names[i] + JSON.stringify(value))
    this.#write(`${this.isEmpty ? '[' : ','}{${values.join(',')}}`)
  }

  json(): Buffer {
    this.#write(']')
    return this.#octets.subarray(0, this.#length)
  }

  #write(text: string): void {
    const most = this.#length + text.length * 3
    if (most > this.#octets.length) {
      const larger = Buffer.allocUnsafeSlow(most * 2)
      this.#octets.copy(larger, 0, 0, this.#length)
      this.#octets = larger
    }
    this.#length += this.#octets.write(text, this.#length)
  }
}

function each<T extends string, From, Of>(
  columns: Readonly<Record<T, From>>,
  make: (table: T, columns: From) => Of,
): Record<T, Of> {
  const tables = Object.keys(columns) as T[]
  return Object.fromEntries(tables.map((table) => [table, make(table, columns[table])])) as Record<T, Of>
}
