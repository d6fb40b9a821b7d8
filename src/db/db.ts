/**
 * The narrow waist: everything the service keeps goes through these few calls, and every statement is
 * written once for both engines. Placeholders are `$1`, columns are text, integer and bigint, times are
 * epoch milliseconds passed in.
 *
 * There are no interactive transactions. `tx` takes its statements up front and runs them in order, all or
 * none; what depends on an earlier statement says so in SQL (`where exists …`). So nothing ever waits for
 * this process while holding a lock, SQLite can share one commit among many callers, and PostgreSQL needs
 * one round trip. See docs/decisions/0002-transactions-are-lists.md.
 */
import { AppError } from '../errors.ts'

export type Value = string | number | null
export type Row = Record<string, Value>

export interface Statement {
  readonly sql: string
  readonly params: readonly Value[]
  /** A `select` whose rows nobody else changes before the transaction ends. SQLite has one writer at a time anyhow. */
  readonly locks?: true
}

/** A read of single rows by id that many requests make at once, written for one and for many of them. */
export interface ReadById {
  /** `$1` is the id. */
  readonly one: string
  /** `$1` is an array of ids. For PostgreSQL alone: SQLite has no arrays, and no round trip to save. */
  readonly many: string
  /** The column of the result that holds the id. */
  readonly idColumn: string
}

export interface Db {
  readonly engine: 'sqlite' | 'postgres'
  /** How many rows an insert of many should have: a round trip is dear to one engine, binding to the other. */
  readonly rowsPerInsert: number
  /** Reads. */
  all<R = Row>(sql: string, params?: readonly Value[]): Promise<R[]>
  one<R = Row>(sql: string, params?: readonly Value[]): Promise<R | undefined>
  /** What is asked for in the same turn of the event loop may share a statement. */
  byId<R = Row>(read: ReadById, id: string): Promise<R | undefined>
  /** One write, durable when it resolves. Gives the rows of its `returning`. */
  run<R = Row>(sql: string, params?: readonly Value[]): Promise<R[]>
  /** Several writes, all or none, durable when it resolves. Gives the rows of each. */
  tx(statements: readonly Statement[]): Promise<Row[][]>
  /** Tells the planner that these tables have changed much. Only one engine needs it; to the other it is nothing. */
  analyze(tables: readonly string[]): Promise<void>
  /** Runs `work` in a transaction that no other process's `exclusively` overlaps. For migrations. */
  exclusively(work: (exec: (sql: string) => Promise<Row[]>) => Promise<void>): Promise<void>
  close(): Promise<void>
}

export function statement(sql: string, ...params: Value[]): Statement {
  return { sql, params }
}

/** A `select` that locks the rows it finds. */
export function locking(sql: string, ...params: Value[]): Statement {
  return { sql, params, locks: true }
}

/** A piece of a statement, its parameters numbered from `first`. */
export interface Expression {
  sql(first: number): string
  readonly params: readonly Value[]
}

/** One that belongs into a `where`. */
export type Condition = Expression

export const always: Condition = { sql: () => 'true', params: [] }
export const both = (a: Condition, b: Condition): Condition => ({
  sql: (first) => `${a.sql(first)} and ${b.sql(first + a.params.length)}`,
  params: [...a.params, ...b.params],
})
export const either = (a: Condition, b: Condition): Condition => ({
  sql: (first) => `(${a.sql(first)} or ${b.sql(first + a.params.length)})`,
  params: [...a.params, ...b.params],
})
export const not = ({ sql, params }: Condition): Condition => ({
  sql: (first) => `not (${sql(first)})`,
  params,
})

export async function holds(db: Db, condition: Condition): Promise<boolean> {
  return (await db.one(`select 1 as holds where ${condition.sql(1)}`, condition.params)) !== undefined
}

/** How many callers may wait for the store before newcomers are turned away. */
export const waitingMax = 20_000

export function overloaded(): AppError {
  return new AppError('unavailable', 'Too much is waiting for the store.', { retryAfterSeconds: 2 })
}

export function outOfReach(cause: unknown): AppError {
  return new AppError('unavailable', 'The store is out of reach.', { retryAfterSeconds: 2, cause })
}
