/** PgBouncer between the service and PostgreSQL, in both of its usual modes. test/db.test.ts runs every call through it. */
import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import pg from 'pg'
import { commandFolder, startChiron } from './support/child.ts'
import { newStore, onPostgres } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { type PgBouncer, startPgBouncer } from './support/pgbouncer.ts'
import { startService } from './support/service.ts'

const folder = commandFolder()
const secret = 'a secret for tests that is long enough'
const refusal =
  'CHIRON_DATABASE_URL leads to a pooler that hands connections out by transaction; add pooler=transaction to it'

/** A new database, and its address through a PgBouncer of its own. */
async function behind(t: TestContext, options: Parameters<typeof startPgBouncer>[1]) {
  const store = await newStore('postgres')
  const direct = new URL(store.url)
  const pgBouncer: PgBouncer = await startPgBouncer(direct.port, options)
  t.after(async () => {
    await pgBouncer.remove()
    await store.remove()
  })
  return { direct: store.url, pooled: pgBouncer.url(direct.pathname.slice(1)) }
}

async function chiron(databaseUrl: string, ...args: string[]) {
  const env = { CHIRON_DATABASE_URL: databaseUrl, CHIRON_SECRET: secret, CHIRON_PORT: '0' }
  const child = startChiron(args, { cwd: folder.path, env })
  const { code } = await child.exited
  return { code, ...child.output }
}

async function doctor(databaseUrl: string): Promise<{ state: string; text: string; remedy?: string }[]> {
  return JSON.parse((await chiron(databaseUrl, 'doctor', '--json')).out).findings
}

suite('Behind PgBouncer', onPostgres, () => {
  for (const [mode, parameter, poolSize] of [
    ['session', '', 20],
    ['transaction', '&pooler=transaction', 3],
    ['transaction', '&pooler=transaction', 1],
  ] as const)
    test(`with ${poolSize} connections by ${mode}, the service migrates, signs in and serves`, async (t) => {
      const { pooled } = await behind(t, { mode, poolSize })
      const service = await startService('postgres', {
        databaseUrl: `${pooled}${parameter}`,
        env: { CHIRON_LIMITS: 'off' },
      })
      t.after(() => service.stop())
      const people = await Promise.all(
        Array.from({ length: 20 }, () => service.signIn(freshAddress(), freshNetwork())),
      )
      const replies = await Promise.all(
        people.flatMap(({ access, refresh }) => [
          service.request('/veterinarian/me', { token: access }),
          service.request('/session', { token: access }),
          service.post('/session/refresh', { refresh_token: refresh }),
          service.request('/health/ready'),
        ]),
      )
      for (const { status, text } of replies) assert.equal(status, 200, text)
      assert.doesNotMatch(service.log.join(''), /"level":[45]0/)
    })

  for (const poolSize of [1, 20])
    test(`with ${poolSize} connections by transaction, nothing works without pooler=transaction`, async (t) => {
      const { direct, pooled } = await behind(t, { mode: 'transaction', poolSize })
      for (const command of ['serve', 'migrate']) {
        const { code, err } = await chiron(pooled, command)
        assert.deepEqual([code, err], [5, `chiron: ${refusal}\n`])
      }
      const [finding] = (await doctor(pooled)).filter(({ text }) => text.includes('pooler'))
      assert.deepEqual([finding?.state, finding?.text], ['bad', refusal])
      const client = new pg.Client({ connectionString: direct })
      await client.connect()
      const { rows } = await client.query("select tablename from pg_tables where schemaname = 'public'")
      await client.end()
      assert.deepEqual(rows, [])
    })

  test('by transaction, other clients of a busy PgBouncer do not hide it', async (t) => {
    const { pooled } = await behind(t, { mode: 'transaction', poolSize: 10 })
    const others = Array.from({ length: 20 }, () => new pg.Client({ connectionString: pooled }))
    await Promise.all(others.map((client) => client.connect()))
    let over = false
    const load = others.map(async (client) => {
      while (!over) await client.query('select pg_sleep(random() / 500)')
      await client.end()
    })
    try {
      for (let i = 0; i < 5; i++) assert.equal((await chiron(pooled, 'migrate')).err, `chiron: ${refusal}\n`)
    } finally {
      over = true
      await Promise.all(load)
    }
  })

  test('by transaction, the doctor asks for a time limit of the role', async (t) => {
    const { direct, pooled } = await behind(t, { mode: 'transaction' })
    const url = `${pooled}&pooler=transaction`
    assert.equal((await chiron(url, 'migrate')).code, 0)
    const about = async () => (await doctor(url)).find(({ text }) => text.includes('pooler'))!
    const missing = await about()
    assert.equal(missing.state, 'warning')
    assert.match(missing.remedy!, /"alter role chiron set statement_timeout = '10s'"/)
    const client = new pg.Client({ connectionString: direct })
    await client.connect()
    const name = new URL(direct).pathname.slice(1)
    // For this database alone, since other tests use the same role.
    await client.query(`alter role chiron in database ${name} set statement_timeout = '10s'`)
    await client.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
    await client.end()
    assert.equal((await about()).state, 'good')
  })
})
