/** The primary of PostgreSQL killed under load, and its synchronous standby promoted. */
import assert from 'node:assert/strict'
import pg from 'pg'
import { openDb } from '../../src/platform/db/open.ts'
import { hostsOf } from '../../src/platform/lib/postgres-url.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { type Service, startService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const settings = ['fsync=off', 'wal_level=replica', 'hot_standby=on', 'wal_keep_size=64MB']
const clientCount = 6
const endOurConnections =
  "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'chiron' and datname = 'chiron'"

export interface FailoverReport {
  readonly failovers: number
  readonly acknowledged: number
  readonly refused: number
  /** From the promotion to the first write that was accepted; the longest of all. */
  readonly longestGapMs: number
}

async function query<R>(url: string, sql: string): Promise<R[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows as R[]
  } finally {
    await client.end()
  }
}

async function pairOfServers(): Promise<[PostgresServer, PostgresServer]> {
  const first = await startPostgres(settings)
  await query(first.url('postgres'), 'create database chiron')
  await first.stop()
  const second = await startPostgresLater(first)
  return [first, second]
}

/** The standby starts while the primary is down, and follows it once it is up. */
async function startPostgresLater(first: PostgresServer): Promise<PostgresServer> {
  const second = await startPostgres(settings, { followed: first })
  await first.start()
  await query(first.url('postgres'), "alter system set synchronous_standby_names = 'standby'")
  await query(first.url('postgres'), 'select pg_reload_conf()')
  await eventually('the standby is in step', async () => {
    const [row] = await query<{ state: string }>(
      first.url('postgres'),
      "select sync_state as state from pg_stat_replication where application_name = 'standby'",
    )
    return row?.state === 'sync'
  })
  return second
}

/** One failover, from a fresh pair of servers. */
export async function failover(): Promise<FailoverReport> {
  const [first, second] = await pairOfServers()
  const url = first.url('chiron').replace('/chiron?', `,127.0.0.1:${second.port}/chiron?`)
  assert.equal(hostsOf(url).length, 2)
  let service: Service | undefined
  let load: Promise<unknown> | undefined
  let loading = true
  try {
    service = await startService('postgres', { databaseUrl: url, env: { CHIRON_LIMITS: 'off' } })
    const { post } = service
    const acknowledged: string[] = []
    let [refused, lastAt] = [0, 0]
    load = Promise.all(
      Array.from({ length: clientCount }, async (_, client) => {
        for (let n = 0; loading; n++) {
          const email = `c${client}n${n}@failover.example`
          const reply = await post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email })
          if (reply.status === 202) {
            acknowledged.push(email)
            lastAt = Date.now()
          } else {
            assert.equal(reply.status, 503, reply.text)
            refused++
          }
        }
      }),
    )
    const more = (count: number) => {
      const from = acknowledged.length
      return eventually('more is acknowledged', () => acknowledged.length >= from + count)
    }
    await more(50)
    await first.kill()
    const promotedAt = Date.now()
    await second.promote()
    await eventually('writes are back', () => lastAt > promotedAt)
    const gapMs = lastAt - promotedAt
    await more(50)

    // The old primary comes back as it was, and takes writes again from whoever asks it.
    await first.start()
    await query(second.url('postgres'), endOurConnections)
    await more(50)
    const fresh = openDb(url)
    const [{ port }] = (await fresh.all('select inet_server_port() as port')) as [{ port: number }]
    await fresh.close()
    assert.equal(port, second.port, 'a process that starts now goes to the new primary')
    loading = false
    await load

    const there = await query<{ email: string }>(
      second.url('chiron'),
      'select email from person union select email from registration',
    )
    const known = new Set(there.map(({ email }) => email))
    for (const email of acknowledged) assert.ok(known.has(email), `${email} was acknowledged`)
    await eventually('nobody stays at the old primary', async () => {
      const [clients] = await query<{ count: string }>(
        first.url('postgres'),
        "select count(*) from pg_stat_activity where application_name = 'chiron' and datname = 'chiron'",
      )
      return Number(clients!.count) === 0
    })
    return { failovers: 1, acknowledged: acknowledged.length, refused, longestGapMs: gapMs }
  } finally {
    loading = false
    // Its requests must not outlive the service; their failure would hide what went wrong.
    await load?.catch(() => {})
    await service?.stop()
    await Promise.all([first.remove(), second.remove()])
  }
}
