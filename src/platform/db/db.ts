/**
 * The only interface to the store. Every statement is written once for both engines: placeholders are `$1`, columns are
 * text, integer or bigint, and times are epoch milliseconds passed in.
 *
 * `tx` runs its statements in order, all or none. `decide` locks rows, lets a rule decide, and writes what it returns.
 * Neither calls back while it waits, so SQLite can share one commit among many callers, and PostgreSQL needs one round
 * trip or two. See docs/decisions/0025-rules-in-typescript.md.
 */
import { AppError } from '../../errors.ts'
import type { Ask, Decision, ResultOf, Step } from './decision.ts'
import type { Param, Row, Statement, Value } from './statement.ts'

export { insertion, type Param, type Row, type Statement, statement, type Value } from './statement.ts'

/** A read by id that many requests make at once, written for one id and for many. */
export interface ReadById {
  readonly one: string
  /** `$1` is an array of ids. PostgreSQL only: SQLite has no arrays and no round trip to save. */
  readonly many: string
  readonly idColumn: string
}

/** Runs one statement or several, without parameters. */
export type Exec = (sql: string) => Promise<void>
/** Runs one query. */
export type Rows = (sql: string, params?: readonly Value[]) => Promise<Row[]>

export interface Db {
  readonly engine: 'sqlite' | 'postgres'
  /** The file of an SQLite store; null if a server keeps the store. */
  readonly file: string | null
  /** Best number of rows per insert: PostgreSQL saves round trips, SQLite gains nothing. */
  readonly rowsPerInsert: number
  all<R = Row>(sql: string, params?: readonly Param[]): Promise<R[]>
  one<R = Row>(sql: string, params?: readonly Param[]): Promise<R | undefined>
  /** Calls in the same turn of the event loop may share a statement. */
  byId<R = Row>(read: ReadById, id: string): Promise<R | undefined>
  /** One write, durable when it resolves. Returns the rows of `returning`. */
  run<R = Row>(sql: string, params?: readonly Param[]): Promise<R[]>
  /** Several writes, all or none, durable when it resolves. Returns the rows of each. */
  tx(statements: readonly Statement[]): Promise<Row[][]>
  /** The same without results. The statements are iterated once, on SQLite while they run, so that many need little memory. */
  stage(statements: Iterable<Statement>): Promise<void>
  /** As `tx`, for counts: PostgreSQL does not wait for the disk, and a crash may undo the last of them. */
  unsynced(statements: readonly Statement[]): Promise<Row[][]>
  /**
   * Takes the steps in order until one refuses, and returns the result of the last one taken. Each is a transaction of
   * its own on PostgreSQL; on SQLite they share one. See decision.ts.
   */
  decide<Steps extends readonly [Step<unknown>, ...Step<unknown>[]]>(
    ...steps: Steps
  ): Promise<ResultOf<Steps[number]>>
  /** Updates planner statistics after large changes. Does nothing on SQLite. */
  analyze(tables: readonly string[]): Promise<void>
  /** Runs `work` in a transaction, one process at a time. For migrations. */
  exclusively(work: (exec: Exec, rows: Rows) => Promise<void>): Promise<void>
  close(): Promise<void>
}

/**
 * Columns hold whole numbers. PostgreSQL refuses a fraction, and SQLite would keep it until something else fails on it:
 * both engines call this first.
 */
export function checkNumbers(params: readonly unknown[]): void {
  for (const param of params)
    if (typeof param === 'number' && !Number.isSafeInteger(param))
      throw new TypeError(`parameter $${params.indexOf(param) + 1} is ${param}, which is not a whole number`)
}

/** Locks the selected rows until the transaction ends. Select several in the order of their keys. */
export function locking(sql: string, ...params: Value[]): Statement {
  return { sql, params, postgres: `${sql} for update` }
}

/** Asks a question of a decision outside of one. */
export const readNow = async <R>(db: Pick<Db, 'all'>, { question, read }: Ask<R>): Promise<R> =>
  read(await db.all(question.sql, question.params))

/** Asks without locks first: what is refused then needs none, and its refusal must not have writes. */
export async function lookThenDecide<T>(db: Pick<Db, 'all' | 'decide'>, one: Decision<T>): Promise<T> {
  const rows = await Promise.all(one.asks.map(({ question }) => db.all(question.sql, question.params)))
  const { refused, result } = one.rule(rows)
  return refused ? result : db.decide(one)
}

/** Takes the steps, if there are any. */
export const inTurn = async <T>(db: Pick<Db, 'decide'>, [first, ...others]: readonly Step<T>[]) =>
  first && db.decide(first, ...others)

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

/** As a subquery, PostgreSQL might run the locking read more than once, and find other rows each time. */
function changeLocked(change: string, { key, where, returning }: ChangedRows, rows: string): string {
  return `with locked as materialized (${rows})
    ${change} where ${where} and (${key}) in (select ${key} from locked) returning ${returning}`
}

/** How many statements stay prepared on a connection. There are fewer: texts do not contain values of callers. */
export const preparedMax = 1_000

/** Pads the list with its last value to a length of 1, 2, 4, 8 …, because every distinct SQL text is prepared. */
export function padded<V>(values: readonly V[]): V[] {
  const length = values.length === 0 ? 0 : 2 ** Math.ceil(Math.log2(values.length))
  return [...values, ...Array<V>(length - values.length).fill(values.at(-1)!)]
}

/** How many callers may wait for the store before new ones are refused. */
export const waitingMax = 20_000

export function overloaded(): AppError {
  return new AppError('unavailable', 'Too many requests are waiting for the store.', { retryAfterSeconds: 2 })
}

export function outOfReach(cause: unknown): AppError {
  return new AppError('unavailable', 'The store is unreachable.', { retryAfterSeconds: 2, cause })
}
