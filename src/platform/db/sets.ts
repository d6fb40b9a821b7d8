/** Statements about sets of rows: swept in parts, changed in the order of their keys, locked, or named by a list. */
import type { Statement, Value } from './statement.ts'

/** How many rows one statement of a sweep changes at most, so that nobody waits long for it. */
export const sweptRowsMax = 500

/** Deletes some of the rows that match `where`, and returns one row for each. */
export function prune(table: string, key: string, where: string, ...params: Value[]): Statement {
  return changeSome(`delete from ${table}`, { table, key, where, returning: '1 as gone' }, ...params)
}

interface ChangedRows {
  readonly table: string
  readonly key: string
  readonly where: string
  readonly returning: string
  /** In which `changeAll` locks the rows; that of the keys if not given. */
  readonly order?: string
}

/**
 * Changes some of the rows that match `where`, and leaves those that another transaction has locked for the next
 * time: it never waits for others while they wait for it. The condition is checked again on each locked row.
 */
export function changeSome(
  change: string,
  some: ChangedRows & { max?: number },
  ...params: Value[]
): Statement {
  const { key, table, where, returning, max = sweptRowsMax } = some
  const rows = `select ${key} from ${table} where ${where} limit ${max}`
  return {
    sql: `${change} where ${where} and (${key}) in (${rows}) returning ${returning}`,
    params,
    postgres: changeLocked(change, some, `${rows} for update skip locked`),
  }
}

/**
 * Changes all the rows that match `where`. They are locked in the order of their keys, as everywhere; otherwise two
 * transactions could wait for each other.
 */
export function changeAll(change: string, all: ChangedRows, ...params: Value[]): Statement {
  const { key, table, where, returning, order = key } = all
  const rows = `select ${key} from ${table} where ${where} order by ${order} for update`
  return {
    sql: `${change} where ${where} returning ${returning}`,
    params,
    postgres: changeLocked(change, all, rows),
  }
}

/** PostgreSQL might run a subquery that locks more than once, and find other rows each time. */
function changeLocked(change: string, { key, where, returning }: ChangedRows, rows: string): string {
  return `with locked as materialized (${rows})
    ${change} where ${where} and (${key}) in (select ${key} from locked) returning ${returning}`
}

/** Locks the selected rows until the transaction ends. Select several in the order of their keys. */
export function locking(sql: string, ...params: Value[]): Statement {
  return { sql, params, postgres: `${sql} for update` }
}

/** Pads the list with its last value to a length of 1, 2, 4, 8 …, because every distinct SQL text is prepared. */
export function padded<V>(values: readonly V[]): V[] {
  const length = values.length === 0 ? 0 : 2 ** Math.ceil(Math.log2(values.length))
  return [...values, ...Array<V>(length - values.length).fill(values.at(-1)!)]
}
