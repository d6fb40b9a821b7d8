/**
 * PostgreSQL through `pg` in pipeline mode. Connections are never checked out: each statement goes to the least busy
 * one and is answered in order. A `tx` is sent as begin … commit at once, so it takes one round trip and holds its
 * locks only while the server works. Reads have their own connections and do not wait behind commits; reads by id are
 * batched (by-id.ts).
 *
 * A broken connection fails the statements on it, and the next caller opens a new one. With several hosts in the URL,
 * it goes to the one that takes writes (primary.ts), which follows a failover.
 *
 * Through a pooler that hands connections out by transaction, statements are not prepared, and nothing is set outside a
 * transaction. Without `pooler=transaction` such a pooler is refused (pooler.ts).
 */
import { createHash } from 'node:crypto'
import pg from 'pg'
import { AppError, UsageError } from '../../errors.ts'
import { hostsOf, isPooled } from '../lib/postgres-url.ts'
import { ReadsById } from './by-id.ts'
import {
  type Db,
  outOfReach,
  overloaded,
  type Param,
  type Row,
  type Rows,
  type Statement,
  waitingMax,
} from './db.ts'
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
    return primary.connect(options)
  }
  const how: Sending = {
    begin: readOnly ? 'begin read only' : 'begin',
    isPrepared: !pooled,
    isAlwaysTransaction: readOnly,
  }
  const connections = (length: number) => Array.from({ length }, () => new Connection(connect, how))
  const readers = connections(readConnections)
  const writers = connections(writeConnections)

  const read = async (sql: string, params: readonly PgParam[] = []) =>
    (await leastBusy(readers).submit([{ sql, params }]))[0]!
  const write = (statements: readonly Statement[]) => leastBusy(writers).submit(statements)
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
          return (await (params.length === 0 ? client.query(sql) : client.query(sql, [...params]))).rows
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
  readonly #how: Sending

  constructor(connect: Primary['connect'], how: Sending) {
    this.#connect = connect
    this.#how = how
  }

  /** Several statements run as one transaction. Returns the rows of each. */
  async submit(statements: readonly Command[]): Promise<Row[][]> {
    if (this.waiting >= waitingMax) throw overloaded()
    this.waiting++
    try {
      for (let tries = 1; ; tries++) {
        try {
          return await this.#try(statements)
        } catch (error) {
          if (tries === triesMax || !isUndone(error)) throw translate(error)
        }
      }
    } finally {
      this.waiting--
    }
  }

  async #try(statements: readonly Command[]): Promise<Row[][]> {
    if (this.#closed) throw outOfReach(new Error('the store was closed'))
    const client = await this.#open()
    try {
      return await send(client, statements, this.#how)
    } catch (error) {
      // After an error in a pipelined transaction, statements that pg considers prepared may not be; reconnect.
      if (statements.length > 1 || !isPostgresError(error) || isUndone(error)) this.#retire(client)
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

function leastBusy(connections: readonly Connection[]): Connection {
  let best = connections[0]!
  for (const connection of connections) if (connection.waiting < best.waiting) best = connection
  return best
}

type PgParam = Param | readonly string[]
type Command = Omit<Statement, 'params'> & { readonly params: readonly PgParam[] }

interface Sending {
  readonly begin: 'begin' | 'begin read only'
  readonly isPrepared: boolean
  /** Also for a single statement. */
  readonly isAlwaysTransaction: boolean
}

/** Settles when all are answered: with the rows of each, or with the first error. */
function send(
  client: pg.Client,
  statements: readonly Command[],
  { begin, isPrepared, isAlwaysTransaction }: Sending,
): Promise<Row[][]> {
  const isTransaction = statements.length > 1 || isAlwaysTransaction
  return new Promise((resolve, reject) => {
    const results: Row[][] = []
    let failure: Error | null = null
    let left = statements.length + (isTransaction ? 2 : 0)
    const answered = (error: Error | null) => {
      failure ??= error
      if (--left > 0) return
      if (failure) reject(failure)
      else resolve(results)
    }
    if (isTransaction) client.query(begin, answered)
    for (const [i, one] of statements.entries())
      client.query(
        isPrepared ? preparedQuery(one) : plainQuery(one),
        (error: Error | null, result?: pg.QueryResult) => {
          results[i] = result?.rows ?? []
          answered(error)
        },
      )
    if (isTransaction) client.query('commit', answered)
  })
}

const names = new Map<string, string>()

/** Prepared once per connection, under a name derived from the SQL. */
function preparedQuery({ sql, postgres: text = sql, params }: Command): pg.QueryConfig {
  let name = names.get(text)
  if (!name) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 20)
    names.set(text, name)
  }
  return { name, text, values: params as unknown[] }
}

const plainQuery = ({ sql, postgres: text = sql, params }: Command): pg.QueryConfig => ({
  text,
  values: params as unknown[],
})

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
