/** A text of SQL and its parameters. */
export type Value = string | number | null
export type Row = Record<string, Value>
/** On PostgreSQL, a long text may come as octets in UTF-8. */
export type Param = Value | Uint8Array

export interface Statement {
  readonly sql: string
  readonly params: readonly Param[]
  /** PostgreSQL's own text, where it has to lock rows. SQLite has only one writer anyway. */
  readonly postgres?: string
}

export function statement(sql: string, ...params: Value[]): Statement {
  return { sql, params }
}

/** By column. Write the columns down, in one order: every distinct text stays prepared. */
export function insertion(table: string, row: Readonly<Row>): Statement {
  const columns = Object.keys(row)
  const places = columns.map((_, i) => `$${i + 1}`)
  return statement(
    `insert into ${table} (${columns.join(', ')}) values (${places.join(', ')})`,
    ...Object.values(row),
  )
}

/** Of the rows with these values. By column, as an insertion. */
export function update(table: string, changes: Readonly<Row>, where: Readonly<Row>): Statement {
  const equal = (row: Readonly<Row>, from: number) =>
    Object.keys(row).map((column, i) => `${column} = $${from + i}`)
  const set = equal(changes, 1)
  const rows = equal(where, set.length + 1)
  return statement(
    `update ${table} set ${set.join(', ')} where ${rows.join(' and ')}`,
    ...Object.values(changes),
    ...Object.values(where),
  )
}
