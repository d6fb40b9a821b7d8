/**
 * Decisions on PostgreSQL. Each has a connection to itself until it ends, in two exchanges: begin, locks and reads; then
 * the writes and the commit.
 *
 * Decisions about the same rows wait here for their turn, not on connections, so that one attacked row never occupies all
 * of them. A process that is stopped between the exchanges holds its locks for two seconds at most.
 */

import { errorFields } from '../lib/error-fields.ts'
import { overloaded, waitingMax } from './bounds.ts'
import { type Connection, isUndoneByServer, retried } from './connection.ts'
import { type Row, statement } from './db.ts'
import { type Decision, keyOf, type Outcome } from './decision.ts'
import { type Command, commandOf } from './exchange.ts'

const patienceMs = 10_000
const idleMs = 2_000

const begin: readonly Command[] = [
  statement('begin'),
  statement(`select set_config('idle_in_transaction_session_timeout', '${idleMs}', true)`),
].map(commandOf)
const commit = commandOf(statement('commit'))

/** Two made the same row at once, or a row went away after it was made. */
const isMoved = (error: unknown) => error === goneMeanwhile || errorFields(error).code === '23505'
const goneMeanwhile = new Error('a row that was made is gone')

export class Deciders {
  readonly #connections: readonly Connection[]
  readonly #free: Connection[]
  readonly #waiting: ((connection: Connection) => void)[] = []
  /** The last decision about each row; the next waits for it. */
  readonly #last = new Map<string, Promise<void>>()
  #count = 0

  constructor(connections: readonly Connection[]) {
    this.#connections = connections
    this.#free = [...connections]
  }

  async decide(decision: Decision<unknown>): Promise<Outcome<unknown>> {
    if (this.#count >= waitingMax) throw overloaded()
    const since = performance.now()
    this.#count++
    const turns: (() => void)[] = []
    try {
      for (const ask of decision.asks) if (ask.lock !== null) turns.push(await this.#turn(keyOf(ask)))
      const connection = this.#free.pop() ?? (await this.#nextFree())
      try {
        if (performance.now() - since > patienceMs) throw overloaded()
        const isUndone = (error: unknown) => isUndoneByServer(error) || isMoved(error)
        const ended = await retried(() => decideOn(connection, decision), isUndone)
        if ('thrown' in ended) throw ended.thrown
        return ended.outcome
      } finally {
        this.#release(connection)
      }
    } finally {
      this.#count--
      for (const end of turns) end()
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()))
  }

  async #turn(key: string): Promise<() => void> {
    const before = this.#last.get(key)
    const own = Promise.withResolvers<void>()
    this.#last.set(key, own.promise)
    await before
    return () => {
      if (this.#last.get(key) === own.promise) this.#last.delete(key)
      own.resolve()
    }
  }

  #nextFree(): Promise<Connection> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #release(connection: Connection): void {
    const next = this.#waiting.shift()
    if (next) next(connection)
    else this.#free.push(connection)
  }
}

/** Apart from errors of the store, which are translated, and may be undone by another try. */
type Ended = { readonly outcome: Outcome<unknown> } | { readonly thrown: unknown }

async function decideOn(connection: Connection, decision: Decision<unknown>): Promise<Ended> {
  try {
    const rows = await ask(connection, decision)
    let outcome: Outcome<unknown>
    try {
      outcome = decision.rule(rows)
    } catch (thrown) {
      await connection.rollBack()
      return { thrown }
    }
    await connection.exchange([...(outcome.writes ?? []).map(commandOf), commit])
    return { outcome }
  } catch (error) {
    await connection.rollBack()
    throw error
  }
}

async function ask(connection: Connection, { asks }: Decision<unknown>): Promise<Row[][]> {
  const commands: Command[] = [...begin]
  const answers: number[] = []
  for (const { lock, make, question } of asks) {
    if (make) commands.push(commandOf(make))
    answers.push(commands.length)
    const { text, params } = commandOf(question)
    commands.push({ text: lock === null ? text : `${text} for update`, params })
  }
  const results = await connection.exchange(commands)
  return asks.map(({ make }, i) => {
    const rows = results[answers[i]!]!
    if (make && rows.length === 0) throw goneMeanwhile
    return rows
  })
}
