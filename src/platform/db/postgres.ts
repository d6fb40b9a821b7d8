/**
 * PostgreSQL through `pg` in pipeline mode. Connections are never checked out: each statement goes to the least busy
 * one and is answered in order. A `tx` is sent at once (exchange.ts), so it takes one round trip and holds its locks only
 * while the server works. Reads have their own connections and do not wait behind commits; reads by id are
 * batched (by-id.ts).
 *
 * A broken connection fails the statements on it, and the next caller opens a new one. With several hosts in the URL,
 * it goes to the one that takes writes (primary.ts), which follows a failover.
 *
 * Through a pooler in transaction mode, statements are not prepared, and nothing is set outside a transaction. Without
 * `pooler=transaction` such a pooler is refused (pooler.ts).
 */
import pg from 'pg'
import { AppError, UsageError } from '../../errors.ts'
import { hostsOf, isPooled } from '../lib/postgres-url.ts'
import { ReadsById } from './by-id.ts'
import {
  checkNumbers,
  type Db,
  outOfReach,
  overloaded,
  type Row,
  type Rows,
  type Statement,
  waitingMax,
} from './db.ts'
import { type Command, exchange } from './exchange.ts'
import { refusePooler } from './pooler.ts'
import { Primary } from './primary.ts'

const statementTimeoutMs = 10_000
// For a server that vanished silently: slightly longer than its own timeout.
const replyTimeoutMs = statementTimeoutMs + 2_000
const writeConnections = 6
const readConnections = 2
const triesMax = 4
const migrationLock = 4_207_001
const clientOptions = {
  pipeline: true,
  keepAlive: true,
  application_name: 'chiron',
} as pg.ClientConfig

pg.types.setTypeParser(pg.types.builtins.INT8, Number)

export function openPostgres(url: string, { readOnly = false }: { readOnly?: boolean } = {}): Db {
  const pooled = isPooled(url)
  // Not as an option of the connection: poolers refuse options that they do not know.
  const session = pooled ? '' : `set statement_timeout = ${statementTimeoutMs}`
  const primary = new Primary(hostsOf(url), { options: clientOptions, session, replyTimeoutMs })
  let checking: Promise<void> | undefined
  const connect: Primary['connect'] = async (options) => {
    if (!pooled) {
      checking ??= refusePooler(hostsOf(url), replyTimeoutMs).catch((error) => {
        checking = undefined
        throw error
      })
      await checking
    }
    const client = await primary.connect(options)
    client.on('notice', ({ routine }) => {
      if (routine === 'SyncRepWaitForLSN') unreplicated.add(client)
    })
    return client
  }
  const connections = (length: number) =>
    Array.from({ length }, () => new Connection(connect, { pooled, readOnly }))
  const readers = connections(readConnections)
  const writers = connections(writeConnections)

  const read = async (text: string, params: Command['params'] = []) =>
    (await leastBusy(readers).submit([{ text, params }]))[0]!
  const write = (statements: readonly Statement[]) =>
    leastBusy(writers).submit(
      statements.map(({ sql, postgres = sql, params }) => ({ text: postgres, params })),
    )
  const tx: Db['tx'] = async (statements) => (statements.length === 0 ? [] : write(statements))
  const readsById = new ReadsById((sql, ids) => read(sql, [ids]))

  return {
    engine: 'postgres',
    file: null,
    rowsPerInsert: 100,
    all: read as Db['all'],
    one: (async (sql, params) => (await read(sql, params))[0]) as Db['one'],
    byId: ((lookup, id) => readsById.row(lookup, id)) as Db['byId'],
    run: (async (sql, params = []) => (await write([{ sql, params }]))[0]!) as Db['run'],
    tx,
    stage: async (statements) => void (await tx([...statements])),
    async analyze(tables) {
      for (const table of tables) await write([{ sql: `analyze ${table}`, params: [] }])
    },
    async exclusively(work) {
      const client = await connect({})
      // Translates only errors of the store; those of `work` pass unchanged.
      const rows: Rows = async (sql, params = []) => {
        try {
          // Without parameters, it may be several statements.
          const { rows } = await (params.length === 0 ? client.query(sql) : client.query(sql, [...params]))
          if (unreplicated.has(client)) throw notReplicated()
          return rows
        } catch (error) {
          throw translate(error)
        }
      }
      try {
        // A migration of a large table may take long.
        await rows(`begin; set local statement_timeout = 0; select pg_advisory_xact_lock(${migrationLock})`)
        await work(async (sql) => void (await rows(sql)), rows)
        await rows('commit')
      } finally {
        await client.end()
      }
    },
    async close() {
      await Promise.all([...readers, ...writers].map((connection) => connection.close()))
    },
  }
}

/** Opened on first use, and again after it broke. */
class Connection {
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
    for (const { params } of commands) checkNumbers(params)
    this.waiting++
    try {
      for (let tries = 1; ; tries++) {
        try {
          return await this.#try(commands)
        } catch (error) {
          if (tries === triesMax || !isUndone(error)) throw translate(error)
        }
      }
    } finally {
      this.waiting--
    }
  }

  async #try(commands: readonly Command[]): Promise<Row[][]> {
    if (this.#closed) throw outOfReach(new Error('the store was closed'))
    const client = await this.#open()
    try {
      const sent = this.#readOnly ? [setReadOnly, ...commands] : commands
      const results = await exchange(client, sent, { prepare: !this.#pooled })
      if (unreplicated.has(client)) throw notReplicated()
      return this.#readOnly ? results.slice(1) : results
    } catch (error) {
      // The server did not prepare the statements after the one that failed; reconnect.
      if (commands.length > 1 || !isPostgresError(error) || isUndone(error)) this.#retire(client)
      throw error
    }
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
const unreplicated = new WeakSet<pg.Client>()
const notReplicated = () => new Error('a commit has not reached the synchronous standby')

function leastBusy(connections: readonly Connection[]): Connection {
  let best = connections[0]!
  for (const connection of connections) if (connection.waiting < best.waiting) best = connection
  return best
}

/** Until the end of the transaction. A pooler may not keep settings of the session. */
const setReadOnly: Command = { text: "select set_config('transaction_read_only', 'on', true)", params: [] }

function isPostgresError(error: unknown): boolean {
  return error instanceof pg.DatabaseError
}

/**
 * The server rolled everything back and it can be sent again: a deadlock, a serialisation conflict, or a statement that
 * was not prepared because an earlier transaction on the connection failed.
 */
function isUndone(error: unknown): boolean {
  return isPostgresError(error) && /^(40P01|40001|26000)$/.test((error as pg.DatabaseError).code ?? '')
}

/** Without an SQLSTATE the connection failed; with one of these, the server itself or its limits. */
function translate(error: unknown): unknown {
  if (error instanceof AppError || error instanceof UsageError) return error
  if (!isPostgresError(error)) return outOfReach(error)
  const state = (error as pg.DatabaseError).code ?? ''
  return /^(08|53|57|40|25006|55P03)/.test(state) ? outOfReach(error) : error
}
