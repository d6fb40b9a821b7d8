/**
 * Decisions: lock, decide, write. A decision names the rows that its rule needs. They are locked in the one order of
 * locks.ts, what belongs to them is read afterwards, and the rule, plain TypeScript, returns the writes and the result.
 *
 * A rule may run several times: after a deadlock, or when another write of the same commit fails. So it takes no time and
 * no id of its own, neither logs nor waits, and refuses by its result, never by throwing. If it does throw, its caller
 * alone gets the error, and nothing is written.
 *
 * Related rows are never joined to locked ones: on PostgreSQL a joined row is as old as the moment before the wait.
 */
import { type Lockable, lockOrder } from '../../locks.ts'
import type { Param, Row, Statement } from './statement.ts'

/** A question that is asked before the rule runs. */
export interface Ask<R> {
  /** Null for a plain read. */
  readonly lock: Lockable | null
  /** Makes the row if it is missing. */
  readonly make: Statement | null
  readonly question: Statement
  read(rows: readonly Row[]): R
}

export interface Outcome<T> {
  readonly result: T
  readonly writes?: readonly Statement[]
  /** Whether the steps after this one are left out. The writes are made all the same. */
  readonly refused?: boolean
}

export interface Decision<T> {
  /** In the order in which they are asked. */
  readonly asks: readonly Ask<unknown>[]
  /** Takes the rows of each question. */
  rule(rows: readonly (readonly Row[])[]): Outcome<T>
}

/**
 * A count that strangers share, taken by one conditional statement: the row is locked for as long as the server works, not
 * until this process answers. A crash may undo it.
 */
export interface Take<T> {
  readonly take: Statement
  judge(rows: readonly Row[]): Outcome<T>
}

export type Step<T> = Decision<T> | Take<T>
export type ResultOf<S> = S extends Decision<infer T> | Take<infer T> ? T : never

/** By name. An undefined one is not asked. */
export type Asks = { readonly [name: string]: Ask<unknown> | undefined }
export type Answers<A extends Asks> = {
  [Name in keyof A]: NonNullable<A[Name]> extends Ask<infer R> ? R : never
}

const asked = <R>(
  lock: Lockable | null,
  question: Statement,
  read: Ask<R>['read'],
  make: Statement | null = null,
): Ask<R> => ({ lock, make, question, read })
const first = <R>(rows: readonly Row[]) => rows[0] as R | undefined
const every = <R>(rows: readonly Row[]) => rows as readonly R[]

export const lockOne = <R>(lock: Lockable, sql: string, ...params: Param[]): Ask<R | undefined> =>
  asked(lock, { sql, params }, first<R>)
/** Select them in the order of their keys. */
export const lockAll = <R>(lock: Lockable, sql: string, ...params: Param[]): Ask<readonly R[]> =>
  asked(lock, { sql, params }, every<R>)
/** `make` inserts the row, or does nothing if there is one. */
export const lockMade = <R>(lock: Lockable, make: Statement, sql: string, ...params: Param[]): Ask<R> =>
  asked(lock, { sql, params }, (rows) => rows[0] as R, make)
export const readOne = <R>(sql: string, ...params: Param[]): Ask<R | undefined> =>
  asked(null, { sql, params }, first<R>)
export const readAll = <R>(sql: string, ...params: Param[]): Ask<readonly R[]> =>
  asked(null, { sql, params }, every<R>)

export function decision<A extends Asks, T>(asks: A, rule: (rows: Answers<A>) => Outcome<T>): Decision<T> {
  const inOrder = Object.entries(asks)
    .filter((entry): entry is [string, Ask<unknown>] => entry[1] !== undefined)
    .sort(([, a], [, b]) => compare(a, b))
  return {
    asks: inOrder.map(([, ask]) => ask),
    rule(rows) {
      const answers = inOrder.map(([name, ask], i) => [name, ask.read(rows[i]!)])
      return rule(Object.fromEntries(answers) as Answers<A>)
    },
  }
}

function compare(a: Ask<unknown>, b: Ask<unknown>): number {
  const places = placeOf(a) - placeOf(b)
  if (places !== 0 || a.lock === null) return places
  return keyOf(a) < keyOf(b) ? -1 : 1
}

const placeOf = ({ lock }: Ask<unknown>) => (lock === null ? lockOrder.length : lockOrder.indexOf(lock))

/** The same for two questions that lock the same rows. */
export const keyOf = ({ lock, question }: Ask<unknown>) => `${lock} ${question.params.join(' ')}`

export const isTake = <T>(step: Step<T>): step is Take<T> => 'take' in step

/** One decision about the rows of two. The rule runs the inner one's, or not; only the writes that it returns are made. */
export function around<A extends Asks, T, R>(
  asks: A,
  inner: Decision<T>,
  rule: (rows: Answers<A>, inner: () => Outcome<T>) => Outcome<R>,
): Decision<R> {
  const outer = decision(asks, (rows) => ({ result: rows }))
  const all = [
    ...inner.asks.map((ask, i) => ({ ask, of: inner.asks, i })),
    ...outer.asks.map((ask, i) => ({ ask, of: outer.asks, i })),
  ].sort((a, b) => compare(a.ask, b.ask))
  const placesOf = (asks: readonly Ask<unknown>[]) =>
    asks.map((_, i) => all.findIndex((one) => one.of === asks && one.i === i))
  const [innerPlaces, outerPlaces] = [placesOf(inner.asks), placesOf(outer.asks)]
  return {
    asks: all.map(({ ask }) => ask),
    rule(rows) {
      const rowsAt = (places: readonly number[]) => places.map((place) => rows[place]!)
      return rule(outer.rule(rowsAt(outerPlaces)).result, () => inner.rule(rowsAt(innerPlaces)))
    },
  }
}
