/**
 * Finds the server in a connection URL that takes writes. Each promotion of a standby begins a new
 * timeline. A replaced server comes back on an older timeline and still accepts writes; it is never used, because
 * those writes would be lost.
 */
import pg from 'pg'
import { connectTimeoutMs } from '../lib/postgres-url.ts'
import { outOfReach } from './bounds.ts'

export interface PrimarySettings {
  readonly options: pg.ClientConfig
  /** A statement with settings of each connection, or an empty one. */
  readonly session: string
  readonly replyTimeoutMs: number
}

interface Found {
  readonly client: pg.Client
  readonly timeline: number
}

export class Primary {
  readonly #hosts: readonly string[]
  readonly #settings: PrimarySettings
  #newestTimeline = 0

  constructor(hosts: readonly string[], settings: PrimarySettings) {
    this.#hosts = hosts
    this.#settings = settings
  }

  /** Asks all servers, since the first that answers may be the one that was replaced. */
  async connect(options: pg.ClientConfig): Promise<pg.Client> {
    const failures: unknown[] = []
    const answers = await Promise.all(
      this.#hosts.map((host) =>
        this.#ask(host, options).catch((error) => {
          failures.push(error)
          return null
        }),
      ),
    )
    const found = answers.filter((answer) => answer !== null).sort((a, b) => b.timeline - a.timeline)
    const [newest, ...others] = found
    for (const { client } of others) client.end().catch(() => {})
    if (!newest) throw outOfReach(failures[0])
    if (newest.timeline < this.#newestTimeline) {
      newest.client.end().catch(() => {})
      throw outOfReach(new Error('this server was replaced by another'))
    }
    this.#newestTimeline = newest.timeline
    return newest.client
  }

  async #ask(connectionString: string, options: pg.ClientConfig): Promise<Found> {
    const client = new pg.Client({
      connectionString,
      connectionTimeoutMillis: connectTimeoutMs(connectionString),
      ...this.#settings.options,
      ...options,
    })
    client.on('error', () => client.end().catch(() => {}))
    try {
      await client.connect()
      const { session, replyTimeoutMs } = this.#settings
      const ask = (text: string) => client.query({ text, query_timeout: replyTimeoutMs } as pg.QueryConfig)
      const [{ rows }] = await Promise.all([ask(question), ask(session)])
      if (rows[0].standby) throw new Error('this server is a standby')
      return { client, timeline: Number.parseInt(rows[0].timeline, 16) }
    } catch (error) {
      client.end().catch(() => {})
      throw error
    }
  }
}

/** The name of a file of the write-ahead log begins with its timeline. */
const question = `select pg_is_in_recovery() as standby,
  case when pg_is_in_recovery() then null else substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end as timeline`
