/**
 * PostgreSQL through `pg` in pipeline mode. A connection is never checked out: statements are written to the
 * least busy one as they come and answered in order, a `tx` as begin … commit in one go, so it costs one round
 * trip and the server holds its locks for no longer than its own work. Reads have connections of their own and
 * do not queue behind commits; single rows that many ask for in the same way are asked for together (`Together`).
 *
 * A connection that breaks fails what was on it; the next caller opens a new one. With several hosts in the URL
 * each is tried in turn until one takes writes, which is how a failover is followed.
 */
import { createHash } from 'node:crypto'
import pg from 'pg'
import { AppError } from '../errors.ts'
import { hostsOf } from '../lib/postgres-url.ts'
import {
  type Db,
  forUpdate,
  outOfReach,
  overloaded,
  type Row,
  type Statement,
  type Value,
  waitingMax,
} from './db.ts'

const connectTimeoutMs = 3_000
const statementTimeoutMs = 10_000
// A little after the server itself would have given up.
const replyTimeoutMs = statementTimeoutMs + 2_000
const writeConnections = 6
const readConnections = 2
const triesMax = 4
const migrationLock = 4_207_001

pg.types.setTypeParser(pg.types.builtins.INT8, Number)

export function openPostgres(url: string): Db {
  const hosts = hostsOf(url)
  const readers = Array.from({ length: readConnections }, () => new Line(hosts))
  const writers = Array.from({ length: writeConnections }, () => new Line(hosts))

  const together = readers.map((line) => new Together(line))

  const all = async (sql: string, params: readonly Value[] = []) =>
    (await leastBusy(readers).submit([{ sql, params }], false))[0]!

  return {
    engine: 'postgres',
    rowsPerInsert: 100,
    all: all as Db['all'],
    one: ((sql, params = []) => leastBusy(together).ask(sql, params)) as Db['one'],
    run: (async (sql, params = []) =>
      (await leastBusy(writers).submit([{ sql, params }], false))[0]!) as Db['run'],
    // A statement alone is a transaction of its own.
    tx: async (statements) =>
      statements.length === 0 ? [] : leastBusy(writers).submit(statements, statements.length > 1),
    async analyze(tables) {
      for (const table of tables)
        await leastBusy(writers).submit([{ sql: `analyze ${table}`, params: [] }], false)
    },
    async exclusively(work) {
      const client = await connect(hosts)
      // Only what the store does is translated: an error of the work's own stays what it is.
      const exec = async (sql: string): Promise<Row[]> => {
        try {
          return (await client.query(sql)).rows
        } catch (error) {
          throw translate(error)
        }
      }
      try {
        // A migration of a large table may take as long as it takes.
        await exec(`set statement_timeout = 0; begin; select pg_advisory_xact_lock(${migrationLock})`)
        await work(exec)
        await exec('commit')
      } finally {
        await client.end()
      }
    },
    async close() {
      await Promise.all([...readers, ...writers].map((line) => line.close()))
    },
  }
}

/** One connection, opened when first needed and again after it broke. */
class Line {
  waiting = 0
  #closed = false
  #client: Promise<pg.Client> | undefined
  readonly #hosts: string[]

  constructor(hosts: string[]) {
    this.#hosts = hosts
  }

  async submit(statements: readonly Statement[], transaction: boolean): Promise<Row[][]> {
    if (this.waiting >= waitingMax) throw overloaded()
    this.waiting++
    try {
      for (let tries = 1; ; tries++) {
        try {
          return await this.#try(statements, transaction)
        } catch (error) {
          if (tries === triesMax || !isUndone(error)) throw translate(error)
        }
      }
    } finally {
      this.waiting--
    }
  }

  async #try(statements: readonly Statement[], transaction: boolean): Promise<Row[][]> {
    if (this.#closed) throw outOfReach(new Error('the store was closed'))
    const client = await this.#open()
    // A peer that vanished without a word never answers.
    const patience = setTimeout(() => client.connection.stream.destroy(), replyTimeoutMs)
    try {
      return await send(client, statements, transaction)
    } catch (error) {
      // An error inside a pipelined transaction leaves statements that were never prepared; start afresh.
      if (transaction || !isPostgresError(error) || isUndone(error)) this.#retire(client)
      throw error
    } finally {
      clearTimeout(patience)
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
      const opening = connect(this.#hosts)
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

interface Question {
  readonly sql: string
  readonly params: readonly Value[]
  readonly resolve: (row: Row | undefined) => void
  readonly reject: (error: unknown) => void
}

/**
 * Single rows over one connection. While it answers, further questions gather; those of the same text then go as one
 * statement over arrays of their parameters, which costs the server and us a fraction of as many statements.
 */
class Together {
  readonly #line: Line
  #gathered: Question[] = []
  #asking = false

  constructor(line: Line) {
    this.#line = line
  }

  get waiting(): number {
    return this.#gathered.length + this.#line.waiting
  }

  ask(sql: string, params: readonly Value[]): Promise<Row | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#gathered.length >= waitingMax) return reject(overloaded())
      this.#gathered.push({ sql, params, resolve, reject })
      if (this.#asking) return
      this.#asking = true
      setImmediate(() => this.#askAll())
    })
  }

  async #askAll(): Promise<void> {
    const questions = this.#gathered
    this.#gathered = []
    const groups = Map.groupBy(questions, ({ sql }) => sql)
    await Promise.all([...groups.values()].map((group) => this.#askGroup(group)))
    if (this.#gathered.length > 0) setImmediate(() => this.#askAll())
    else this.#asking = false
  }

  async #askGroup(group: Question[]): Promise<void> {
    const typed = group.length > 1 && group.every(({ params }) => params.length > 0 && !params.includes(null))
    if (!typed) return this.#askEach(group)
    const { sql, params } = group[0]!
    const columns = params.map((_, i) => group.map((question) => question.params[i]!))
    try {
      const [rows] = await this.#line.submit(
        [{ sql: overArrays(sql, params), params: columns as never }],
        false,
      )
      const found = new Array<Row | undefined>(group.length)
      for (const row of rows!) found[(row[position] as number) - 1] ??= row
      for (const [i, question] of group.entries()) question.resolve(found[i])
    } catch (error) {
      // Whose question it was that failed, each finds out alone; not so when the store itself did.
      if (error instanceof AppError) for (const { reject } of group) reject(error)
      else await this.#askEach(group)
    }
  }

  async #askEach(group: Question[]): Promise<void> {
    await Promise.all(
      group.map(async ({ sql, params, resolve, reject }) => {
        try {
          resolve((await this.#line.submit([{ sql, params }], false))[0]![0])
        } catch (error) {
          reject(error)
        }
      }),
    )
  }
}

const position = '#'
const overArraysTexts = new Map<string, string>()

/** The same question for every element of arrays of its parameters, each row with the position of its element. */
function overArrays(sql: string, params: readonly Value[]): string {
  const known = overArraysTexts.get(sql)
  if (known) return known
  const arrays = params.map((value, i) => `$${i + 1}::${typeof value === 'number' ? 'bigint' : 'text'}[]`)
  const names = params.map((_, i) => `p${i + 1}`)
  const inner = sql.replace(/\$(\d+)/g, 'k.p$1')
  const text = `select q.*, k."${position}" from unnest(${arrays.join(', ')}) with ordinality as k(${names.join(', ')}, "${position}"), lateral (${inner}) q`
  overArraysTexts.set(sql, text)
  return text
}

const retired = new WeakSet<pg.Client>()

function leastBusy<T extends { readonly waiting: number }>(lines: readonly T[]): T {
  let best = lines[0]!
  for (const line of lines) if (line.waiting < best.waiting) best = line
  return best
}

const begin: Statement = { sql: 'begin', params: [] }
const commit: Statement = { sql: 'commit', params: [] }

/** Settles when all are answered: with the rows of each, or with what failed first. */
function send(client: pg.Client, statements: readonly Statement[], transaction: boolean): Promise<Row[][]> {
  const { stream } = client.connection
  stream.cork()
  // Transactions of the same turn of the event loop leave as one write.
  if (transaction) setImmediate(() => stream.uncork())
  const sent = new Promise<Row[][]>((resolve, reject) => {
    const results: Row[][] = []
    let failure: Error | null = null
    const whole = transaction ? [begin, ...statements, commit] : statements
    let left = whole.length
    for (const [i, one] of whole.entries())
      ask(client, one, (error, rows) => {
        failure ??= error
        results[i] = rows
        if (--left > 0) return
        if (failure) reject(failure)
        else resolve(transaction ? results.slice(1, -1) : results)
      })
  })
  if (!transaction) stream.uncork()
  return sent
}

// By their text. What begins and ends a transaction is cheaper not prepared.
const prepared = new Map<string, { name?: string; text: string }>([
  [begin.sql, { text: begin.sql }],
  [commit.sql, { text: commit.sql }],
])

/** Prepared once a connection under a name made from its text. With a callback, for a promise costs `pg` three. */
function ask(
  client: pg.Client,
  { sql, params }: Statement,
  done: (error: Error | null, rows: Row[]) => void,
): void {
  let known = prepared.get(sql)
  if (!known) {
    const name = createHash('sha256').update(sql).digest('base64url').slice(0, 20)
    known = { name, text: sql.replace(forUpdate, 'for update') }
    prepared.set(sql, known)
  }
  const query = new pg.Query(known.text) as pg.Query & {
    name: string | undefined
    values: readonly Value[]
    callback: (error: Error | null, result?: { rows: Row[] }) => void
  }
  query.name = known.name
  query.values = params
  query.callback = (error, result) => done(error, result?.rows ?? [])
  client.query(query)
}

const standbyQuestion = {
  text: 'select pg_is_in_recovery() as standby',
  query_timeout: replyTimeoutMs,
} as pg.QueryConfig

async function connect(hosts: string[]): Promise<pg.Client> {
  let failure: unknown
  for (const connectionString of hosts) {
    const client = new pg.Client({
      connectionString,
      pipeline: true,
      keepAlive: true,
      connectionTimeoutMillis: connectTimeoutMs,
      statement_timeout: statementTimeoutMs,
      application_name: 'chiron',
    } as pg.ClientConfig)
    client.on('error', () => client.end().catch(() => {}))
    try {
      await client.connect()
      const { rows } = await client.query(standbyQuestion)
      if (!rows[0].standby) return client
      failure = new Error('this server is a standby')
    } catch (error) {
      failure = error
    }
    client.end().catch(() => {})
  }
  throw outOfReach(failure)
}

function isPostgresError(error: unknown): boolean {
  return error instanceof pg.DatabaseError
}

/**
 * The server rolled everything back and it can be sent again: a deadlock, a conflict, or a statement that was not
 * prepared because a transaction before it on the same connection had failed.
 */
function isUndone(error: unknown): boolean {
  return isPostgresError(error) && /^(40P01|40001|26000)$/.test((error as pg.DatabaseError).code ?? '')
}

/** Without an SQLSTATE it is the connection that failed; with one of these, the server or its limits. */
function translate(error: unknown): unknown {
  if (error instanceof AppError) return error
  if (!isPostgresError(error)) return outOfReach(error)
  const state = (error as pg.DatabaseError).code ?? ''
  return /^(08|53|57|40|25006|55P03)/.test(state) ? outOfReach(error) : error
}
