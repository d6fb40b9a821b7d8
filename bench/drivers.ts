/**
 * Which PostgreSQL driver? `pg` with a pool, `pg` in pipeline mode and `postgres`, in one run, alternating, median of
 * rounds: point reads, and transactions of four statements, at 48 callers. The result is in
 * docs/decisions/0003-postgres-driver.md.
 *
 *   node bench/drivers.ts [rounds, default 5]
 */
import pg from 'pg'
import postgres from 'postgres'
import { openPostgres } from '../src/platform/db/postgres.ts'
import { startPostgres } from '../test/support/postgres.ts'

const rounds = Number(process.argv[2] ?? 5)
const callers = 48
const roundMs = 1_500
const rowCount = 10_000

const server = await startPostgres()
const url = server.url('postgres')
const setup = new pg.Client({ connectionString: url })
await setup.connect()
await setup.query('create table item (id integer primary key, n integer not null, note text not null)')
await setup.query(`insert into item select i, 0, 'note ' || i from generate_series(1, ${rowCount}) i`)
await setup.end()

interface Driver {
  read(id: number): Promise<unknown>
  write(ids: readonly number[]): Promise<unknown>
  close(): Promise<unknown>
}

const select = 'select id, n, note from item where id = $1'
const update = 'update item set n = n + 1 where id = $1'

function pooled(): Driver {
  const pool = new pg.Pool({ connectionString: url, max: 8 })
  return {
    read: (id) => pool.query({ name: 'read', text: select, values: [id] }),
    async write(ids) {
      const client = await pool.connect()
      try {
        await client.query('begin')
        for (const id of ids) await client.query({ name: 'write', text: update, values: [id] })
        await client.query('commit')
      } finally {
        client.release()
      }
    },
    close: () => pool.end(),
  }
}

function pipelined(): Driver {
  const db = openPostgres(url)
  return {
    read: (id) => db.all(select, [id]),
    write: (ids) => db.tx(ids.map((id) => ({ sql: update, params: [id] }))),
    close: () => db.close(),
  }
}

function porsager(): Driver {
  const sql = postgres(url, { max: 8 })
  return {
    read: (id) => sql`select id, n, note from item where id = ${id}`,
    write: (ids) => sql.begin((tx) => ids.map((id) => tx`update item set n = n + 1 where id = ${id}`)),
    close: () => sql.end(),
  }
}

/** Each caller has rows of its own, so that locks play no part. */
async function rate(work: (caller: number) => Promise<unknown>): Promise<number> {
  let done = 0
  const end = performance.now() + roundMs
  const caller = async (_: unknown, i: number) => {
    while (performance.now() < end) {
      await work(i)
      done++
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return done / (roundMs / 1000)
}

const drivers = { 'pg, pool of 8': pooled(), 'pg, pipelined': pipelined(), postgres: porsager() }
const results = new Map<string, number[]>()
for (let round = 0; round <= rounds; round++) {
  for (const [name, driver] of Object.entries(drivers)) {
    const reads = await rate((i) => driver.read(1 + ((i * 97) % rowCount)))
    const writes = await rate((i) => driver.write([0, 1, 2, 3].map((k) => 1 + i * 4 + k)))
    if (round === 0) continue // warm-up
    results.set(`${name}: reads`, [...(results.get(`${name}: reads`) ?? []), reads])
    results.set(`${name}: transactions`, [...(results.get(`${name}: transactions`) ?? []), writes])
  }
}
for (const kind of ['reads', 'transactions']) {
  const median = (name: string) => results.get(`${name}: ${kind}`)!.toSorted((a, b) => a - b)[rounds >> 1]!
  const base = median('pg, pool of 8')
  for (const name of Object.keys(drivers)) {
    const value = median(name)
    process.stdout.write(
      `${kind.padEnd(13)} ${name.padEnd(15)} ${Math.round(value)}/s  ×${(value / base).toFixed(2)}\n`,
    )
  }
}
await Promise.all(Object.values(drivers).map((driver) => driver.close()))
await server.remove()
