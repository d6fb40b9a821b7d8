/**
 * The only interface to the store. Every statement is written once for both engines: placeholders are `$1`, columns are
 * text, integer or bigint, and times are epoch milliseconds passed in.
 *
 * `tx` runs its statements in order, all or none. `decide` locks rows, lets a rule decide, and writes what it returns.
 * Neither calls back while it waits, so SQLite can share one commit among many callers, and PostgreSQL needs one round
 * trip or two. See docs/decisions/0025-rules-in-typescript.md.
 */
import type { Ask, Decision, ResultOf, Step } from './decision.ts'
import type { Param, Row, Statement, Value } from './statement.ts'

export { changeAll, changeSome, locking, padded, prune, sweptRowsMax } from './sets.ts'
export {
  insertion,
  type Param,
  type Row,
  type Statement,
  statement,
  update,
  type Value,
} from './statement.ts'

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
  /** Like `tx`, for counts: PostgreSQL does not wait for the disk, and a crash may undo the last of them. */
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
