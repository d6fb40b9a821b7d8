/** `chiron move`: the whole store into an empty one of the same or the other engine. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { columns } from '../src/columns.ts'
import { copyTables } from '../src/platform/db/copy-tables.ts'
import type { Db, Row, Value } from '../src/platform/db/db.ts'
import { createSchema } from '../src/platform/db/migrate.ts'
import { openDb } from '../src/platform/db/open.ts'
import { commandFolder, startChiron } from './support/child.ts'
import { type Engine, engines, migratedStore, newStore, onPostgres, type Store } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { startReceiver } from './support/receiver.ts'
import { bulk } from './support/roster-school.ts'
import { contentOf as rosterContent, rosterOf } from './support/roster-world.ts'
import { startService, TestClock } from './support/service.ts'
import { studentSchool } from './support/student-school.ts'
import { eventually, pause } from './support/wait.ts'

const folder = commandFolder()
const tables = Object.keys(columns)
const directions = engines.flatMap((from) => engines.map((to) => [from, to] as const))
/** Together they read and write both engines. */
const crossings = directions.filter(([from, to]) => from !== to)

async function storesFor(t: TestContext, from: Engine, to: Engine): Promise<[source: Store, target: Store]> {
  const [source, target] = [await migratedStore(from), await newStore(to)]
  t.after(() => Promise.all([source.remove(), target.remove()]))
  return [source, target]
}

async function move(from: string, to: string, ...options: string[]) {
  const env = { CHIRON_DATABASE_URL: from, CHIRON_SECRET: 'a secret for tests that is long enough' }
  const child = startChiron(['move', '--to', to, ...options], { cwd: folder.path, env })
  const { code } = await child.exited
  return { code, ...child.output }
}

async function moved(from: string, to: string) {
  const { code, out, err } = await move(from, to, '--json')
  assert.equal(code, 0, err)
  return JSON.parse(out.trim().split('\n').at(-1)!) as {
    rows: number
    tables: { name: string; rows: number }[]
  }
}

async function withDb<T>(url: string, work: (db: Db) => Promise<T>): Promise<T> {
  const db = openDb(url)
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

/** Every row of every table, as text. */
const contentOf = (url: string) =>
  withDb(url, async (db) => {
    const content: Record<string, string[]> = {}
    for (const table of await tablesIn(db)) {
      const rows = await db.all<Row>(`select * from ${table}`)
      const sorted = (row: Row) => Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1))
      content[table] = rows.map((row) => JSON.stringify(sorted(row))).sort()
    }
    return content
  })

async function tablesIn(db: Db): Promise<string[]> {
  const rows = await db.all<{ name: string }>(
    db.engine === 'sqlite'
      ? "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
      : "select tablename as name from pg_tables where schemaname = 'public'",
  )
  return rows.map(({ name }) => name).sort()
}

const texts = [
  "it's",
  'back\\slash',
  'line\nbreak\ttab',
  '獣医 😀 é',
  '',
  '$1 ?1 %s',
  '"quoted"',
  ' spaces ',
  'null',
]

/** Rows with awkward values in every table, whatever its columns are. */
const fillEvery = (url: string, count: number) =>
  withDb(url, async (db) => {
    // Versions of the schema are real ones.
    for (const table of tables.filter((name) => name !== 'migration')) {
      const found = await db.all<{ name: string; type: string; required: number }>(
        db.engine === 'sqlite'
          ? `select name, type, "notnull" as required from pragma_table_info('${table}')`
          : `select column_name as name, data_type as type, case is_nullable when 'NO' then 1 else 0 end as required
             from information_schema.columns where table_schema = 'public' and table_name = '${table}'`,
      )
      const cellOf = (i: number, { type, required }: (typeof found)[number], place: number): Value => {
        if (!required && (i + place) % 3 === 0) return null
        if (/^text$/i.test(type)) return `${texts[(i + place) % texts.length]}${i % 2 ? i : `-${i}`}`
        return /^bigint$/i.test(type) ? 8_000_000_000_000 + i : 1_000_000 + i
      }
      const places = found.map((_, i) => `$${i + 1}`).join(', ')
      const sql = `insert into ${table} (${found.map(({ name }) => name).join(', ')}) values (${places})`
      // Keys are never null, also where SQLite would allow it.
      const keys = await keysOf(db, table)
      const statements = Array.from({ length: count }, (_, i) => ({
        sql,
        params: found.map((one, place) =>
          cellOf(i, keys.includes(one.name) ? { ...one, required: 1 } : one, place),
        ),
      }))
      await db.tx(statements).catch(async () => {
        // Some tables have one row at most, with the key 1; a migration may have written it.
        const one = found.map((column, place) => (keys.includes(column.name) ? 1 : cellOf(0, column, place)))
        await db.run(`${sql} on conflict do nothing`, one).catch(() => {})
        assert.equal((await db.all(`select * from ${table}`)).length, 1, table)
      })
    }
  })

async function keysOf(db: Db, table: string): Promise<string[]> {
  const rows = await db.all<{ name: string }>(
    db.engine === 'sqlite'
      ? `select name from pragma_table_info('${table}') where pk > 0`
      : `select a.attname as name from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
         where i.indrelid = '${table}'::regclass and i.indisprimary`,
  )
  return rows.map(({ name }) => name)
}

for (const [from, to] of directions)
  suite(`A move from ${from} to ${to}`, () => {
    test('copies every row of every table, and leaves the source as it was', async (t) => {
      const [source, target] = await storesFor(t, from, to)
      await fillEvery(source.url, 50)
      const before = await contentOf(source.url)
      assert.deepEqual(Object.keys(before), tables.toSorted())
      const report = await moved(source.url, target.url)
      assert.deepEqual(await contentOf(target.url), before)
      assert.deepEqual(await contentOf(source.url), before)
      const counts = Object.entries(before).map(([name, rows]) => ({ name, rows: rows.length }))
      assert.deepEqual(
        report.tables.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
        counts,
      )
      assert.equal(
        report.rows,
        counts.reduce((sum, { rows }) => sum + rows, 0),
      )
      if (to === 'sqlite') {
        const file = target.url.slice('sqlite:'.length)
        assert.deepEqual(readdirSync(dirname(file)), ['chiron.db'])
      }
    })

    test('refuses a source in use, a target that is not empty, and a schema that is not its own', async (t) => {
      const [source, target] = await storesFor(t, from, to)
      const refused = async (why: RegExp, [one, other] = [source.url, target.url]) => {
        const { code, err } = await move(one, other)
        assert.match(err, /^chiron: [^\n]+\n$/)
        assert.match(err, why)
        assert.equal(code, 1)
      }
      const service = await startService(from, { databaseUrl: source.url })
      await refused(/is in use: stop every process of the service first/).finally(() => service.stop())
      await refused(/is not empty: name a new file, or a database without tables/, [source.url, source.url])
      await withDb(source.url, (db) =>
        db.run("insert into migration (version, name, applied_at) values (9998, '9998_of_tomorrow', 1)"),
      )
      await refused(/^chiron: the store is at schema 9998, and this program knows \d+: use the newer program/)
      await withDb(source.url, (db) =>
        db.run(
          'delete from migration where version in (9998, (select max(version) from migration where version < 9998))',
        ),
      )
      await refused(
        /^chiron: the store is at schema \d+, and this program knows \d+: run "chiron migrate" first/,
      )
      if (to === 'postgres') await withDb(target.url, async (db) => assert.deepEqual(await tablesIn(db), []))
      else assert.deepEqual(readdirSync(dirname(target.url.slice('sqlite:'.length))), [])
    })
  })

for (const [from, to] of crossings)
  suite(`A move across, from ${from} to ${to}`, onPostgres, () => {
    test('takes sessions, rosters with their undo, webhooks and event numbers along', async (t) => {
      const [source, target] = await storesFor(t, from, to)
      const receiver = await startReceiver()
      t.after(() => receiver.close())
      const clock = new TestClock()
      const env = { CHIRON_WEBHOOK_ALLOW: '127.0.0.1', CHIRON_PUBLIC_URL: 'http://chiron.localhost' }
      const old = await startService(from, { databaseUrl: source.url, clock, env })
      const roster = rosterOf(old)
      await roster.import(bulk(studentSchool([])))
      const first = await rosterContent(old.app.parts.db)
      await roster.import(bulk(studentSchool(['bo'])))
      const second = await rosterContent(old.app.parts.db)
      const who = await old.signIn(freshAddress(), freshNetwork())
      await old.app.parts.webhooks.add({ url: receiver.url, events: ['veterinarian.updated'] })
      await old.app.parts.deliverer.stop()
      const token = { token: who.access }
      const renamed = { method: 'PATCH', body: { firstname: 'Renamed' }, ...token }
      assert.equal((await old.request('/veterinarian/me', renamed)).status, 200)
      await old.stop()
      const [last] = (await contentOf(source.url)).event_counter!
      await moved(source.url, target.url)

      const service = await startService(to, { databaseUrl: target.url, clock, env })
      t.after(() => service.stop())
      const me = await service.request('/veterinarian/me', token)
      assert.deepEqual([me.status, me.json.firstname], [200, 'Renamed'])
      assert.equal((await service.post('/session/refresh', { refresh_token: who.refresh })).status, 200)
      await eventually('the queued event', () => receiver.received.length > 0)
      const [counter] = await service.rows<{ last: number }>('select last from event_counter')
      assert.ok(counter!.last >= Number(/"last",(\d+)/.exec(last!)![1]))
      const { db } = service.app.parts
      assert.deepEqual(await rosterContent(db), second)
      await rosterOf(service).undo()
      assert.deepEqual(await rosterContent(db), first)
    })

    test('killed at any moment, leaves the target empty; the next try succeeds', async (t) => {
      const [source, rehearsal] = await storesFor(t, from, to)
      await fillEvery(source.url, 500)
      const before = await contentOf(source.url)
      const began = performance.now()
      await moved(source.url, rehearsal.url)
      const tookMs = performance.now() - began
      const newTarget = async () => {
        const target = await newStore(to)
        t.after(() => target.remove())
        return target
      }
      const env = { CHIRON_DATABASE_URL: source.url, CHIRON_SECRET: 'a secret for tests that is long enough' }
      let target = await newTarget()
      const isWhole = async () => isDeepStrictEqual(await contentOf(target.url), before)
      // Earlier each time, because a move may end before it is killed.
      for (let kills = 0, afterMs = tookMs * 0.9; kills < 3; afterMs *= 0.8) {
        const child = startChiron(['move', '--to', target.url], { cwd: folder.path, env })
        const ended = await Promise.race([child.exited, pause(afterMs)])
        if (!ended) {
          await child.end('SIGKILL')
          kills++
        }
        // The last step may have been done before the signal arrived.
        await eventually('an empty or a whole target', async () => (await isEmpty(target.url)) || isWhole())
        assert.deepEqual(await contentOf(source.url), before)
        if (!(await isEmpty(target.url))) target = await newTarget()
      }
      await moved(source.url, target.url)
      assert.deepEqual(await contentOf(target.url), before)
    })
  })

async function isEmpty(url: string): Promise<boolean> {
  if (url.startsWith('sqlite:')) return !existsSync(url.slice('sqlite:'.length))
  return withDb(url, async (db) => (await tablesIn(db)).length === 0)
}

for (const engine of engines)
  test(`A copy that differs is noticed, and nothing of it stays, on ${engine}`, async (t) => {
    const [source, target] = await storesFor(t, 'sqlite', engine)
    await fillEvery(source.url, 3)
    const failure = withDb(source.url, (from) =>
      withDb(target.url, (to) =>
        from.exclusively((exec, rows) =>
          to.exclusively(async (execThere, rowsThere) => {
            await createSchema(engine, 0, execThere, rowsThere)
            // Does what a fault of the disk would: changes one letter in one row.
            const damaging = (sql: string) =>
              execThere(sql.replace(/^(insert into session .*)it''s/s, "$1it''z"))
            await copyTables(
              { engine: 'sqlite', exec, rows },
              { engine, exec: damaging, rows: rowsThere },
              columns,
            )
          }),
        ),
      ),
    )
    await assert.rejects(
      failure,
      /^UsageError: the copy of the table session is not the same \(\d+ rows, checksum/,
    )
    await withDb(target.url, async (db) => assert.deepEqual(await tablesIn(db), []))
  })

test('A move says what is wrong with its addresses', async (t) => {
  const store = await migratedStore('sqlite')
  t.after(() => store.remove())
  const file = join(folder.path, 'something')
  writeFileSync(file, 'something')
  for (const [from, to, why] of [
    [store.url, 'mysql://a/b', /^chiron: --to must be sqlite:<file> or postgres:/],
    [store.url, 'postgres://a@db.example/b', /^chiron: --to must say sslmode\n/],
    [store.url, `sqlite:${file}`, /is not empty/],
    ['sqlite:nowhere.db', 'sqlite:new.db', /^chiron: there is no store at nowhere\.db\n/],
  ] as const) {
    const { code, err } = await move(from, to)
    assert.equal(code, 1)
    assert.match(err, why)
  }
})
