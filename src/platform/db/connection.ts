/** One connection to PostgreSQL, and which of its errors mean that something can be sent again. */
import pg from 'pg'
import { AppError, UsageError } from '../../errors.ts'
import { errorFields } from '../lib/error-fields.ts'
import { checkNumbers, outOfReach, overloaded, waitingMax } from './bounds.ts'
import type { Row } from './db.ts'
import { type Command, exchange } from './exchange.ts'
import type { Primary } from './primary.ts'

export const statementTimeoutMs = 10_000
const triesMax = 4
/** For a server that vanished silently: slightly longer than its own timeout. */
export const replyTimeoutMs = statementTimeoutMs + 2_000

/** Opened on first use, and again after it broke. */
export class Connection {
  waiting = 0
  #closed = false
  #client: Promise<pg.Client> | undefined
  readonly #connect: Primary['connect']
  readonly #pooled: boolean
  readonly #readOnly: boolean

  constructor(connect: Primary['connect'], { pooled, readOnly }: { pooled: boolean; readOnly: boolean }) {
    this.#connect = connect
    this.#pooled = pooled
    this.#readOnly = readOnly
  }

  /** Several statements run as one transaction. Returns the rows of each. */
  async submit(commands: readonly Command[]): Promise<Row[][]> {
    if (this.waiting >= waitingMax) throw overloaded()
    this.waiting++
    try {
      return await retried(() => this.exchange(commands))
    } finally {
      this.waiting--
    }
  }

  /** Sends them once. After an error of the server, the connection is kept; a transaction may still be open on it. */
  async exchange(commands: readonly Command[]): Promise<Row[][]> {
    for (const { params } of commands) checkNumbers(params)
    if (this.#closed) throw outOfReach(new Error('the store was closed'))
    const client = await this.#open()
    try {
      const sent = this.#readOnly ? [setReadOnly, ...commands] : commands
      const results = await exchange(client, sent, { prepare: !this.#pooled })
      if (unreplicated.has(client)) throw notReplicated()
      return this.#readOnly ? results.slice(1) : results
    } catch (error) {
      if (!isPostgresError(error)) this.#retire(client)
      throw error
    }
  }

  /** Ends a transaction that is still open. If the connection is gone, so is the transaction. */
  async rollBack(): Promise<void> {
    const client = await this.#client?.catch(() => undefined)
    if (client)
      await exchange(client, [rollBack], { prepare: !this.#pooled }).catch(() => this.#retire(client))
  }

  async close(): Promise<void> {
    this.#closed = true
    const client = await this.#client?.catch(() => undefined)
    this.#client = undefined
    await client?.end()
  }

  #open(): Promise<pg.Client> {
    if (!this.#client) {
      const opening = this.#connect({ query_timeout: replyTimeoutMs })
      this.#client = opening
      const forget = () => {
        if (this.#client === opening) this.#client = undefined
      }
      opening.then((client) => client.once('end', forget), forget)
    }
    return this.#client
  }

  #retire(client: pg.Client): void {
    if (retired.has(client)) return
    retired.add(client)
    this.#client = undefined
    client.end().catch(() => {})
  }
}

const retired = new WeakSet<pg.Client>()

/**
 * On these, somebody cancelled a commit that was waiting for its synchronous standby. The server calls it a success, with a
 * warning. If the standby has been promoted since, the commit is lost.
 */
export const unreplicated = new WeakSet<pg.Client>()
export const notReplicated = () => new Error('a commit has not reached the synchronous standby')

const rollBack: Command = { text: 'rollback', params: [] }
/** Until the end of the transaction. A pooler may not keep settings of the session. */
const setReadOnly: Command = { text: "select set_config('transaction_read_only', 'on', true)", params: [] }

function isPostgresError(error: unknown): boolean {
  return error instanceof pg.DatabaseError
}

/** Runs it again while the server undoes it, and translates the error that remains. */
export async function retried<T>(work: () => Promise<T>, isUndone = isUndoneByServer): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries === triesMax || !isUndone(error)) throw translate(error)
    }
  }
}

/**
 * The server rolled everything back and it can be sent again: a deadlock, a serialisation conflict, or a statement that
 * was not prepared because an earlier transaction on the connection failed.
 */
export function isUndoneByServer(error: unknown): boolean {
  return isPostgresError(error) && /^(40P01|40001|26000)$/.test(errorFields(error).code ?? '')
}

/** Without an SQLSTATE the connection failed; with one of these, the server itself or its limits. */
export function translate(error: unknown): unknown {
  if (error instanceof AppError || error instanceof UsageError || error instanceof TypeError) return error
  if (!isPostgresError(error)) return outOfReach(error)
  const state = errorFields(error).code ?? ''
  return /^(08|53|57|40|25006|25P03|55P03)/.test(state) ? outOfReach(error) : error
}
