/**
 * PostgreSQL through `pg` in pipeline mode. A read or a write goes to the least busy of its connections and is answered
 * in order. A `tx` is sent at once (exchange.ts), so it takes one round trip and holds its locks only while the server
 * works. Reads do not wait behind commits; reads by id are batched (by-id.ts). A decision has a connection to itself
 * (deciders.ts).
 *
 * A broken connection fails the statements on it, and the next caller opens a new one. With several hosts in the URL,
 * it goes to the one that takes writes (primary.ts), which follows a failover.
 *
 * Through a pooler in transaction mode, statements are not prepared, and nothing is set outside a transaction. Without
 * `pooler=transaction` such a pooler is refused (pooler.ts).
 */
import pg from 'pg'
import { hostsOf, isPooled } from '../lib/postgres-url.ts'
import { ReadsById } from './by-id.ts'
import {
  Connection,
  notReplicated,
  replyTimeoutMs,
  statementTimeoutMs,
  translate,
  unreplicated,
} from './connection.ts'
import { type Db, type Rows, type Statement, statement } from './db.ts'
import { Deciders } from './deciders.ts'
import { isTake, type Step } from './decision.ts'
import { type Command, commandOf } from './exchange.ts'
import { refusePooler } from './pooler.ts'
import { Primary } from './primary.ts'

const writeConnections = 3
const readConnections = 2
const decideConnections = 6
const migrationLock = 4_207_001
const clientOptions = {
  pipeline: true,
  keepAlive: true,
  application_name: 'chiron',
} as pg.ClientConfig

pg.types.setTypeParser(pg.types.builtins.INT8, Number)

export function openPostgres(url: string, { readOnly = false }: { readOnly?: boolean } = {}): Db {
  const pooled = isPooled(url)
  const connect = connectingTo(url, pooled)
  const connections = (length: number) =>
    Array.from({ length }, () => new Connection(connect, { pooled, readOnly }))
  const readers = connections(readConnections)
  const writers = connections(writeConnections)

  const read = async (text: string, params: Command['params'] = []) =>
    (await leastBusy(readers).submit([{ text, params }]))[0]!
  const write = (statements: readonly Statement[]) => leastBusy(writers).submit(statements.map(commandOf))
  const tx: Db['tx'] = async (statements) => (statements.length === 0 ? [] : write(statements))
  const unsynced: Db['unsynced'] = async (statements) =>
    statements.length === 0 ? [] : (await write([doNotSync, ...statements])).slice(1)
  const deciders = new Deciders(connections(decideConnections))
  const step = async (one: Step<unknown>) =>
    isTake(one) ? one.judge((await unsynced([one.take]))[0]!) : deciders.decide(one)
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
    unsynced,
    decide: (async (first, ...others) => {
      let outcome = await step(first)
      for (const next of others) {
        if (outcome.refused) break
        outcome = await step(next)
      }
      return outcome.result
    }) as Db['decide'],
    stage: async (statements) => void (await tx([...statements])),
    async analyze(tables) {
      for (const table of tables) await write([{ sql: `analyze ${table}`, params: [] }])
    },
    exclusively: async (work) => exclusively(await connect({}), work),
    async close() {
      await Promise.all(
        [...readers, ...writers].map((connection) => connection.close()).concat(deciders.close()),
      )
    },
  }
}

function connectingTo(url: string, pooled: boolean): Primary['connect'] {
  const hosts = hostsOf(url)
  // Not as an option of the connection: poolers refuse options that they do not know.
  const session = pooled ? '' : `set statement_timeout = ${statementTimeoutMs}`
  const primary = new Primary(hosts, { options: clientOptions, session, replyTimeoutMs })
  let checking: Promise<void> | undefined
  return async (options) => {
    if (!pooled) {
      checking ??= refusePooler(hosts, replyTimeoutMs).catch((error) => {
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
}

async function exclusively(client: pg.Client, work: Parameters<Db['exclusively']>[0]): Promise<void> {
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
}

function leastBusy(connections: readonly Connection[]): Connection {
  let best = connections[0]!
  for (const connection of connections) if (connection.waiting < best.waiting) best = connection
  return best
}

/** Until the end of the transaction. */
const doNotSync = statement("select set_config('synchronous_commit', 'off', true)")
