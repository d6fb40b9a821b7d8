/**
 * Of the servers in a connection URL, finds the one that takes writes. Each promotion of a standby begins a new
 * timeline. A replaced server comes back on an older timeline and still accepts writes; it is never used, because
 * those writes would be lost.
 */
import pg from 'pg'
import { connectTimeoutMs } from '../lib/postgres-url.ts'
import { outOfReach } from './db.ts'

interface Found {
  readonly client: pg.Client
  readonly timeline: number
}

export class Primary {
  readonly #hosts: readonly string[]
  readonly #options: pg.ClientConfig
  readonly #replyTimeoutMs: number
  #newestTimeline = 0

  constructor(hosts: readonly string[], options: pg.ClientConfig, replyTimeoutMs: number) {
    this.#hosts = hosts
    this.#options = options
    this.#replyTimeoutMs = replyTimeoutMs
  }

  /** Asks all servers, since the first that answers may be the one that was replaced. */
  async connect(options: pg.ClientConfig = {}): Promise<pg.Client> {
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
      ...this.#options,
      ...options,
    })
    client.on('error', () => client.end().catch(() => {}))
    try {
      await client.connect()
      const { rows } = await client.query({
        ...question,
        query_timeout: this.#replyTimeoutMs,
      } as pg.QueryConfig)
      if (rows[0].standby) throw new Error('this server is a standby')
      return { client, timeline: Number.parseInt(rows[0].timeline, 16) }
    } catch (error) {
      client.end().catch(() => {})
      throw error
    }
  }
}

/** The name of a file of the write-ahead log begins with its timeline. */
const question = {
  text: `select pg_is_in_recovery() as standby,
    case when pg_is_in_recovery() then null else substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end as timeline`,
}
