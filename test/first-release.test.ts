/** A store of the first release is brought up to date: nothing is lost, people stay signed in, and the feed begins. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { readFeed } from '../src/messages/events/events.ts'
import { checkRoom } from '../src/platform/db/before-migration.ts'
import type { Db, Row } from '../src/platform/db/db.ts'
import { migrate, migrationsFor } from '../src/platform/db/migrate.ts'
import { openDb } from '../src/platform/db/open.ts'
import { inspectSqlite } from '../src/platform/db/sqlite-file.ts'
import { minute } from '../src/platform/lib/clock.ts'
import { startChiron } from './support/child.ts'
import { atLength, engines, newStore, type Store } from './support/engines.ts'
import { firstSchema, makeFirstStore } from './support/first-store.ts'
import { freshNetwork } from './support/fresh.ts'
import { type Service, startService, TestClock } from './support/service.ts'

const read = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url), 'utf8')
const known = JSON.parse(read('first-release.json'))
const first = ['0001', '0002', '0003', '0004', '0005']

/** A store as the first release left it. */
async function firstStore(engine: (typeof engines)[number]): Promise<Store> {
  const store = await newStore(engine)
  await makeFirstStore(store.url)
  return store
}

async function within<T>(store: Store, work: (db: Db) => Promise<T>): Promise<T> {
  const db = openDb(store.url)
  return work(db).finally(() => db.close())
}

const renamed: Record<string, string> = {
  'challenge.address_hash': 'address_fingerprint',
  'challenge.network_hash': 'network_fingerprint',
  'outbox.address_hash': 'address_fingerprint',
  'known_network.address_hash': 'inbox_fingerprint',
  'known_network.network_hash': 'network_fingerprint',
}

async function run(databaseUrl: string, args: string[]) {
  const child = startChiron(args, { env: { CHIRON_DATABASE_URL: databaseUrl } })
  const { code } = await child.exited
  assert.equal(code, 0, child.output.err)
  return child.output
}

for (const engine of engines) {
  suite(`A store of the first release on ${engine}`, atLength, () => {
    let store: Store
    let service: Service
    const lost: string[] = []
    before(async () => {
      store = await firstStore(engine)
      const before = await within(store, everything)
      await within(store, (db) => migrate(db, new TestClock()))
      lost.push(...(await within(store, (db) => missing(db, before))))
      const clock = new TestClock()
      clock.advance(2 * minute)
      service = await startService(engine, {
        databaseUrl: store.url,
        clock,
        env: { CHIRON_PUBLIC_URL: known.publicUrl, CHIRON_SECRET: known.secret },
      })
    })
    after(async () => {
      await service.stop()
      await store.remove()
    })

    /** All rows by table. */
    async function everything(db: Db): Promise<Map<string, Row[]>> {
      const tables = [...firstSchema.matchAll(/^create table (\w+)/gm)].map(([, name]) => name!)
      assert.ok(tables.length > 15)
      const rows = new Map<string, Row[]>()
      for (const table of tables) rows.set(table, await db.all(`select * from ${table}`))
      return rows
    }

    /** The rows of before that are not there any more, apart from columns that no longer exist. */
    async function missing(db: Db, before: Map<string, Row[]>): Promise<string[]> {
      const gone: string[] = []
      for (const [table, rows] of before) {
        const now = await db.all(`select * from ${table}`)
        for (const row of rows) {
          const kept = Object.entries(row)
            .map(([column, value]) => [renamed[`${table}.${column}`] ?? column, value] as const)
            .filter(([column]) => now.length === 0 || column in now[0]!)
          if (!now.some((one) => kept.every(([column, value]) => one[column] === value)))
            gone.push(`${table}: ${JSON.stringify(row)}`)
        }
      }
      return gone
    }

    const get = (path: string, token: string) => service.request(path, { token })

    test('loses no row', () => {
      assert.deepEqual(lost, [])
    })

    test('lets people go on with the tokens they have', async () => {
      const { json } = await get('/veterinarian/me', known.ada.access)
      assert.deepEqual(
        [json.userId, json.firstname, json.lastname, json.status],
        [known.ada.userId, 'Ada', 'O’Marsh', 'active'],
      )
      const renewed = await service.post('/session/refresh', { refresh_token: known.ada.refresh })
      assert.equal(renewed.status, 200, renewed.text)
      const again = await service.post('/session/refresh', { refresh_token: renewed.json.refresh_token })
      assert.equal(again.status, 200)
    })

    test('still ends a session whose old refresh token is used again', async () => {
      const renewed = await service.post('/session/refresh', { refresh_token: known.grace.rotated })
      assert.equal(renewed.status, 200)
      const used = await service.post('/session/refresh', { refresh_token: renewed.json.refresh_token })
      assert.equal(used.status, 200)
      service.clock.advance(minute)
      const copied = await service.post('/session/refresh', { refresh_token: known.grace.refresh })
      assert.deepEqual([copied.status, copied.json.code], [401, 'session-ended'])
    })

    test('still keeps out who signed out or closed their account', async () => {
      for (const { access, refresh } of [known.signedOut, known.closed]) {
        assert.equal((await get('/veterinarian/me', access)).status, 401)
        assert.equal((await service.post('/session/refresh', { refresh_token: refresh })).status, 401)
      }
    })

    test('shows a student profile, classes and calendar feed', async () => {
      assert.equal((await get('/student/me', known.student.access)).json.userId, known.student.userId)
      const { status, json } = await get('/student/me/classes?when=all', known.student.access)
      assert.equal(status, 200)
      assert.ok(json.classes.length > 0)
      const feed = await service.request(new URL(known.student.feed).pathname)
      assert.equal(feed.status, 200)
      assert.match(feed.text, /^BEGIN:VCALENDAR/)
    })

    test('sends the mail that was waiting, and its code signs in', async () => {
      const email = 'ada.vet@clinic.example'
      const { code } = await service.mail.mailTo(email, 1)
      const answer = { email, otp_code: code, sessionId: known.open.sessionId }
      const reply = await service.post('/veterinarian/validate-otp', answer, freshNetwork())
      assert.equal(reply.status, 200, reply.text)
      assert.equal(reply.json.user.userId, known.ada.userId)
    })

    test('lets people sign in who were registered before', async () => {
      for (const email of ['pending@clinic.example', 'new@clinic.example']) {
        const { sessionId, code } = await service.code(email, freshNetwork())
        const answer = { email, otp_code: code, sessionId }
        assert.equal((await service.post('/veterinarian/validate-otp', answer, freshNetwork())).status, 200)
      }
    })

    test('numbers the events from before, in their order', async () => {
      const events = await readFeed(service.app.parts.db, { limit: 1_000 })
      const old = [...firstSchema.matchAll(/^insert into event \(.*?values \('([^']+)'/gm)]
      assert.ok(old.length >= 20)
      for (const [, id] of old)
        assert.ok(
          events.some((event) => event.id === id),
          `${id} has no number`,
        )
      const numbers = events.map(({ number }) => number)
      assert.deepEqual(
        numbers,
        [...new Set(numbers)].sort((a, b) => a - b),
      )
    })
  })

  suite(`The plan of a migration on ${engine}`, () => {
    test('names what would run and the rows it touches, and changes nothing', async (t) => {
      const store = await firstStore(engine)
      t.after(() => store.remove())
      const { plan, copy } = JSON.parse((await run(store.url, ['migrate', '--plan', '--json'])).out)
      const expected = migrationsFor(engine).filter(({ name }) => !first.includes(name.slice(0, 4)))
      assert.deepEqual(
        plan.map(({ name }: { name: string }) => name),
        expected.map(({ name }) => name),
      )
      const rows = Object.fromEntries(
        plan[0].tables.map((table: { name: string; rows: number }) => [table.name, table.rows]),
      )
      assert.deepEqual([rows.person, rows.session, rows.challenge], [6, 5, 6])
      assert.equal(copy === null, engine === 'postgres')
      const text = (await run(store.url, ['migrate', '--plan'])).out
      assert.match(text, /0006_confirmed_names_and_devices: .*person \(6 rows\)/)
      assert.match(text, /Nothing was changed\./)
      const db = openDb(store.url)
      const applied = await db.all('select version from migration')
      await db.close()
      assert.equal(applied.length, 5)
      if (engine === 'sqlite') assert.deepEqual(copies(store), [])
    })

    test('is empty for a store that is up to date', async (t) => {
      const store = await newStore(engine)
      t.after(() => store.remove())
      await run(store.url, ['migrate'])
      assert.match((await run(store.url, ['migrate', '--plan'])).out, /Nothing would run/)
    })
  })
}

const fileOf = (store: Store) => store.url.slice('sqlite:'.length)
const copies = (store: Store) =>
  readdirSync(dirname(fileOf(store)))
    .filter((name) => name.includes('.before-'))
    .sort()

suite('The copy before a migration of SQLite', atLength, () => {
  test('is made once, for its owner only, and is the store as it was', async (t) => {
    const store = await firstStore('sqlite')
    t.after(() => store.remove())
    const { out, err } = await run(store.url, ['migrate'])
    assert.match(out, /^Applied 0006/)
    assert.match(err, /^chiron: the store was copied to \S+\.before-0006 before its migration\n$/)
    assert.deepEqual(copies(store), ['chiron.db.before-0006'])
    const copy = `${fileOf(store)}.before-0006`
    assert.equal(statSync(copy).mode & 0o777, 0o600)
    assert.equal(inspectSqlite(copy).versions.length, 5)
    assert.equal((await run(store.url, ['migrate'])).err, '')
  })

  test('is made once also by ten processes that start together', async (t) => {
    const store = await firstStore('sqlite')
    t.after(() => store.remove())
    await Promise.all(Array.from({ length: 10 }, () => run(store.url, ['migrate'])))
    assert.deepEqual(copies(store), ['chiron.db.before-0006'])
    assert.equal(inspectSqlite(`${fileOf(store)}.before-0006`).versions.length, 5)
  })

  test('is said in the log of the service', async (t) => {
    const store = await firstStore('sqlite')
    const service = await startService('sqlite', { databaseUrl: store.url })
    t.after(async () => {
      await service.stop()
      await store.remove()
    })
    assert.equal(service.log.filter((line) => line.includes('.before-0006 before its migration')).length, 1)
  })

  test('can be restored, which brings it up to date', async (t) => {
    const store = await firstStore('sqlite')
    t.after(() => store.remove())
    await run(store.url, ['migrate'])
    await run(store.url, ['restore', `${fileOf(store)}.before-0006`, '--yes'])
    assert.match((await run(store.url, ['people', 'find', 'marsh'])).out, /ada\.vet@clinic\.example/)
  })

  test('is not made of an empty store', async (t) => {
    const store = await newStore('sqlite')
    t.after(() => store.remove())
    const { err } = await run(store.url, ['migrate'])
    assert.deepEqual([err, copies(store)], ['', []])
  })

  test('leaves two copies: the newest', async (t) => {
    const store = await firstStore('sqlite')
    t.after(() => store.remove())
    for (const [name, age] of [
      ['0003', 4_000],
      ['0004', 3_000],
      ['0005', 2_000],
    ] as const) {
      const path = `${fileOf(store)}.before-${name}`
      writeFileSync(path, '')
      utimesSync(path, Date.now() / 1_000 - age, Date.now() / 1_000 - age)
    }
    await run(store.url, ['migrate'])
    assert.deepEqual(copies(store), ['chiron.db.before-0005', 'chiron.db.before-0006'])
  })

  test('needs room on the disk', () => {
    checkRoom(1_000_000, 2_000_000)
    assert.throws(() => checkRoom(1_500_000, 2_000_000), {
      name: 'UsageError',
      message:
        'there is not enough disk space to copy the store before its migration: the store has 1.5 MB; 3.0 MB are needed and 2.0 MB are free',
    })
  })

  test('The plan for a store that is not there makes none', async (t) => {
    const store = await newStore('sqlite')
    t.after(() => store.remove())
    assert.match((await run(store.url, ['migrate', '--plan'])).out, /0001_people_and_sessions/)
    assert.equal(existsSync(fileOf(store)), false)
  })
})
