import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, test } from 'node:test'
import pg from 'pg'
import type { Db } from '../src/platform/db/db.ts'
import { migrate, migrationsFor } from '../src/platform/db/migrate.ts'
import { openDb } from '../src/platform/db/open.ts'
import { serveChild, startChiron, startScript } from './support/child.ts'
import { atLength, engines, newStore, onPostgres, type Store } from './support/engines.ts'
import { TestClock } from './support/service.ts'

const clock = new TestClock()
const folder = new URL('../migrations/', import.meta.url)
const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)

async function exitOf(args: string[], env: Record<string, string>) {
  const child = startChiron(args, { env })
  const { code } = await child.exited
  return { code, said: child.output.out + child.output.err }
}

for (const engine of engines) {
  describe(`migrations on ${engine}`, () => {
    const names = migrationsFor(engine).map((migration) => migration.name)
    const [first, limits, ...rest] = names
    let store: Store
    let db: Db

    beforeEach(async () => {
      store = await newStore(engine)
      db = openDb(store.url)
    })
    afterEach(async () => {
      await db.close()
      await store.remove()
    })

    /** The store, but the first statement with this text fails. */
    const failingAt = (text: string): Db => ({
      ...db,
      exclusively: (work) =>
        db.exclusively((exec, rows) =>
          work(async (sql) => {
            if (sql.includes(text)) throw new TypeError('half-way')
            return exec(sql)
          }, rows),
        ),
    })

    const noted = async () =>
      (await db.all<{ name: string }>('select name from migration order by version')).map((row) => row.name)

    const assertComplete = async () => {
      assert.deepEqual(await noted(), names)
      for (const table of ['person', 'session', 'event', 'outbox', 'bucket', 'quota'])
        assert.deepEqual(await db.all(`select * from ${table}`), [])
    }

    test('an empty store gets all of them, in order, each noted with its time', async () => {
      assert.deepEqual(await migrate(db, clock), names)
      await assertComplete()
      const times = await db.all<{ applied_at: number }>('select applied_at from migration')
      for (const row of times) assert.equal(row.applied_at, clock.now())
    })

    test('a second time changes nothing', async () => {
      await migrate(db, clock)
      await db.run("insert into notice (inbox_fingerprint, sent_at) values ('a', 1)")
      assert.deepEqual(await migrate(db, clock), [])
      const other = openDb(store.url)
      assert.deepEqual(await migrate(other, clock), [])
      await other.close()
      assert.equal((await db.all('select * from notice')).length, 1)
      await assertComplete()
    })

    test('of ten handles at once each migration is run by one', async () => {
      const handles = Array.from({ length: 10 }, () => openDb(store.url))
      const ran = await Promise.all(handles.map((handle) => migrate(handle, clock)))
      assert.deepEqual(ran.flat().sort(), names)
      await Promise.all(handles.map((handle) => handle.close()))
      await assertComplete()
    })

    test('ten processes at once all succeed, and each migration ran once', atLength, async () => {
      const ends = await Promise.all(
        Array.from({ length: 10 }, () => exitOf(['migrate'], { CHIRON_DATABASE_URL: store.url })),
      )
      for (const { code, said } of ends) assert.equal(code, 0, said)
      await assertComplete()
    })

    test('one that fails half-way leaves nothing, and the next try completes it', async () => {
      await assert.rejects(migrate(failingAt(`'${limits}'`), clock))
      assert.deepEqual(await noted(), [first])
      await assert.rejects(db.all('select * from bucket'))
      assert.deepEqual(await migrate(db, clock), [limits, ...rest])
      await assertComplete()
    })

    test('calendar feeds from before keep their token, get a name, and belong to the address that held when they were made', async () => {
      await assert.rejects(migrate(failingAt('calendar_feed add column email_key'), clock))
      const generation = (id: number, content: number, publishedAt: number) =>
        db.run(
          `insert into roster_generation (id, kind, parent, content, file_name, sha256, version, rows, summary, started_at, published_at)
           values ($1, 'import', 0, $2, 'f', 's', '1.2', 0, '{}', 0, $3)`,
          [id, content, publishedAt],
        )
      await generation(1, 1, 100)
      await generation(2, 2, 200)
      const version = (id: string, from: number, to: number | null, email: string) =>
        db.run(
          `insert into student (person_id, from_gen, to_gen, sourced_id, digest, email, email_key, firstname, lastname, updated_at)
           values ($1, $2, $3, $1, '', $4, $4, 'A', 'B', 0)`,
          [id, from, to, email],
        )
      for (const id of ['before', 'after']) {
        await version(id, 1, 2, `${id}@old.example`)
        await version(id, 2, null, `${id}@new.example`)
      }
      const feed = (id: string, at: number) =>
        db.run('insert into calendar_feed (person_id, token_hash, created_at) values ($1, $1, $2)', [id, at])
      await feed('before', 150)
      await feed('after', 250)
      await feed('unknown', 50)
      await migrate(db, clock)
      const rows = await db.all<{
        person_id: string
        token_hash: string
        name: string
        email_key: string | null
      }>('select person_id, token_hash, name, email_key from calendar_feed order by person_id')
      assert.deepEqual(
        rows.map((row) => [row.person_id, row.token_hash, row.name, row.email_key]),
        [
          ['after', 'after', 'Calendar', 'after@new.example'],
          ['before', 'before', 'Calendar', 'before@old.example'],
          ['unknown', 'unknown', 'Calendar', null],
        ],
      )
    })

    test('names from before are found without case and accents', async () => {
      await assert.rejects(migrate(failingAt('add column firstname_key'), clock))
      await db.run(
        `insert into person (id, role, status, firstname, lastname, created_at, updated_at)
         values ('a', 'veterinarian', 'active', 'Zoë', 'O’Łuk', 0, 0), ('b', 'student', 'active', null, null, 0, 0)`,
      )
      await db.run(
        `insert into student (person_id, from_gen, sourced_id, digest, firstname, lastname, updated_at)
         values ('b', 1, 'b', '', 'Zoë', '', 0)`,
      )
      await migrate(db, clock)
      const keys = (table: string) => db.all(`select firstname_key, lastname_key from ${table}`)
      assert.deepEqual(
        [await keys('person order by id'), await keys('student')].map((rows) =>
          rows.map((row) => Object.values(row)),
        ),
        [
          [
            ['zoe', "o'luk"],
            [null, null],
          ],
          [['zoe', '']],
        ],
      )
    })

    test('deliveries from before tell nobody who has an address, and whoever changed after being verified is looked at', async () => {
      await assert.rejects(migrate(failingAt('delivery add column asker_id'), clock))
      const delivery = (id: string, kind: string | null, person: string, session: string) =>
        db.run(
          `insert into delivery (id, session_id, role, kind, address_fingerprint, domain, person_id, state, created_at, updated_at, steps)
           values ($1, $2, 'veterinarian', $3, 'f', 'd', $4, 'handed', 0, 0, '')`,
          [id, session, kind, person],
        )
      await db.run(
        `insert into challenge (id, role, address_fingerprint, network_fingerprint, digits, reference, created_at, expires_at, resends, attempts, send_id, person_id)
         values ('young', 'veterinarian', 'f', 'n', 6, 'ABC', 0, 1, 0, 0, 's', 'asker')`,
      )
      await delivery('a', 'code', 'owner', 'old')
      await delivery('b', 'address-code', 'asker', 'old')
      await delivery('c', 'address-in-use', 'owner', 'old')
      await delivery('d', 'address-in-use', 'owner', 'young')
      await delivery('e', null, 'asker', 'young')
      const person = (id: string, verifiedAt: number | null) =>
        db.run(
          `insert into person (id, role, status, firstname, lastname, created_at, updated_at, verified_at)
           values ($1, 'veterinarian', 'active', 'A', 'B', 0, 0, $2)`,
          [id, verifiedAt],
        )
      for (const [id, at] of [
        ['same', 10],
        ['renamed', 10],
        ['moved', 10],
        ['never', null],
      ] as const)
        await person(id, at)
      const event = (person: string, at: number, type: string) =>
        db.run(
          `insert into event (id, at, type, person_id, data, actor) values ($1, $2, $3, $4, '{}', 'self')`,
          [`${person}.${at}`, at, `veterinarian.${type}`, person],
        )
      await event('same', 9, 'updated')
      await event('renamed', 9, 'address-changed')
      await event('renamed', 11, 'updated')
      await event('renamed', 12, 'updated')
      await event('moved', 11, 'address-changed')
      await event('never', 11, 'updated')
      await migrate(db, clock)
      const deliveries = await db.all('select id, person_id, asker_id from delivery order by id')
      assert.deepEqual(
        deliveries.map((row) => Object.values(row)),
        [
          ['a', 'owner', null],
          ['b', null, null],
          ['c', null, null],
          ['d', null, 'asker'],
          ['e', null, 'asker'],
        ],
      )
      const people = await db.all(
        'select id, verified_at, unverified_at, unverified_because from person order by id',
      )
      assert.deepEqual(
        people.map((row) => Object.values(row)),
        [
          ['moved', null, 11, 'address'],
          ['never', null, null, null],
          ['renamed', null, 12, 'name'],
          ['same', 10, null, null],
        ],
      )
      const events = await db.all(
        "select person_id, at, actor, data from event where type = 'veterinarian.unverified' order by person_id",
      )
      assert.deepEqual(
        events.map((row) => Object.values(row)),
        [
          ['moved', 11, 'system', '{"reason":"address"}'],
          ['renamed', 12, 'system', '{"reason":"name"}'],
        ],
      )
    })

    test('one killed half-way leaves nothing, and the next try completes it', async () => {
      const script = `
        import { openDb } from ${module('../src/platform/db/open.ts')}
        import { migrate } from ${module('../src/platform/db/migrate.ts')}
        const db = openDb(${JSON.stringify(store.url)})
        const exclusively = (work) =>
          db.exclusively((exec, rows) =>
            work(async (sql) => {
              if (sql.includes("'${limits}'")) {
                process.kill(process.pid, 'SIGKILL')
                await new Promise(() => {})
              }
              return exec(sql)
            }, rows),
          )
        await migrate({ ...db, exclusively }, Date)`
      const child = startScript(script)
      assert.equal((await child.exited).signal, 'SIGKILL', child.output.err)
      assert.deepEqual(await noted(), [first])
      await assert.rejects(db.all('select * from bucket'))
      assert.deepEqual(await migrate(db, clock), [limits, ...rest])
      await assertComplete()
    })

    test('codes that were counted under keys of an older kind are still counted', async () => {
      await migrate(db, clock)
      await db.run('create index bucket_full on bucket (full_at)')
      await db.run("delete from migration where name = '0005_limits_by_owner'")
      for (const key of ['address:A', 'pair:A:N'])
        await db.run("insert into quota (key, times, taken_at, mark) values ($1, '1', 1, 'm')", [key])
      assert.deepEqual(await migrate(db, clock), ['0005_limits_by_owner'])
      const kept = await db.all<{ key: string }>('select key from quota order by key')
      assert.deepEqual(
        kept.map((row) => row.key),
        ['A', 'A:N'],
      )
    })

    const upgrade = (name: string) =>
      db.run('insert into migration (version, name, applied_at) values (9998, $1, 1)', [name])
    const newest = names.at(-1)!.slice(0, 4)

    describe('a store that a newer program has migrated', () => {
      test('is used by every command as it is', atLength, async () => {
        await migrate(db, clock)
        await upgrade('9998_of_tomorrow')
        await db.run('alter table session add column of_tomorrow text')
        const env = { CHIRON_DATABASE_URL: store.url }
        const said = async (...args: string[]) => {
          const { code, said } = await exitOf(args, env)
          assert.equal(code, 0, said)
          return said
        }
        const state = `The store is at schema 9998. This program knows ${newest}, and can run on it.`
        assert.equal(await said('migrate'), `${state}\n`)
        assert.equal(await said('migrate', '--json'), '{"applied":[]}\n')
        assert.equal(await said('migrate', '--plan'), `${state} Nothing would run.\n`)
        assert.match(await said('roster', 'history'), /./)
        const service = await serveChild({ env })
        assert.equal((await service.request('/health/ready')).status, 200)
        assert.deepEqual(await service.end(), { code: 0, signal: null })
        assert.deepEqual(await noted(), [...names, '9998_of_tomorrow'])
      })

      for (const [needs, isRefused] of [
        ['_needs_9998', true],
        [`_needs_${String(Number(newest) + 1).padStart(4, '0')}`, true],
        [`_needs_${newest}`, false],
        ['_needs_0001', false],
        ['', false],
      ] as const)
        test(`is ${isRefused ? 'refused' : 'taken'} if its migration is called 9998_of_tomorrow${needs.replace(newest, 'NEWEST')}`, async () => {
          await migrate(db, clock)
          await upgrade(`9998_of_tomorrow${needs}`)
          const tried = migrate(db, clock)
          if (isRefused) await assert.rejects(tried, { name: 'UsageError', message: refusal })
          else assert.deepEqual(await tried, [])
        })
    })

    const refusal = `the store is at schema 9998, this program supports up to ${newest}: start the newer program, or restore a backup from before the upgrade`

    describe('a store that needs a newer program', () => {
      test('is refused by every command, in one line', atLength, async () => {
        await migrate(db, clock)
        await upgrade('9998_of_tomorrow_needs_9997')
        const commands = [
          ['migrate'],
          ['migrate', '--plan'],
          ['serve'],
          ['backup', 'none.db'],
          ['roster', 'history'],
          ['roster', 'undo', '--yes'],
          ['roster', 'check', 'none.zip'],
          ['roster', 'import', 'none.zip', '--yes'],
        ]
        const env = { CHIRON_DATABASE_URL: store.url, CHIRON_PORT: '0' }
        const ends = await Promise.all([
          ...commands.map((args) => exitOf(args, env)),
          exitOf(['serve'], { ...env, CHIRON_WORKERS: '2' }),
        ])
        for (const { code, said } of ends) assert.deepEqual([code, said], [1, `chiron: ${refusal}\n`])
        const json = await exitOf(['migrate', '--json'], env)
        assert.deepEqual([json.code, json.said], [1, `${JSON.stringify({ error: refusal })}\n`])
      })

      test('is refused also when that happens during the start, and left as it is', async () => {
        await migrate(db, clock)
        await db.run("delete from migration where name = '0001_people_and_sessions'")
        let upgraded = false
        const overtaken: Db = {
          ...db,
          async exclusively(work) {
            if (!upgraded) await upgrade('9998_of_tomorrow_needs_9998')
            upgraded = true
            return db.exclusively(work)
          },
        }
        await assert.rejects(migrate(overtaken, clock), { name: 'UsageError', message: refusal })
        assert.deepEqual(await noted(), [...names.slice(1), '9998_of_tomorrow_needs_9998'])
      })
    })

    test('numbers of generations go on after the highest that was ever used', async () => {
      await migrate(db, clock)
      for (const column of ['writer', 'last_generation'])
        await db.run(`alter table roster_state drop column ${column}`)
      for (const table of ['lease', 'roster_state'])
        for (const end of ['by', 'until'])
          await db.run(`alter table ${table} rename column leased_${end} to held_${end}`)
      await db.run("delete from migration where name in ('0008_roster_fence', '0024_leases')")
      await db.run("insert into roster_departure (generation, person_id) values (12, 'somebody')")
      assert.deepEqual(await migrate(db, clock), ['0008_roster_fence', '0024_leases'])
      const state = await db.one<{ last_generation: number }>('select last_generation from roster_state')
      assert.equal(state?.last_generation, 12)
    })

    test('the files are numbered from 1 without a gap', () => {
      const versions = migrationsFor(engine).map((migration) => migration.version)
      assert.deepEqual(
        versions,
        versions.map((_, i) => i + 1),
      )
    })
  })
}

test('a migration waits for a table in use, and lets others pass meanwhile', onPostgres, async (t) => {
  const store = await newStore('postgres')
  const db = openDb(store.url)
  const backup = new pg.Client({ connectionString: store.url })
  await backup.connect()
  t.after(async () => {
    await Promise.all([db.close(), backup.end()])
    await store.remove()
  })
  await migrate(db, clock)
  await db.run('alter table roster_state drop column redo')
  await db.run("delete from migration where name = '0026_redo'")
  const told: string[] = []
  let waiting!: () => void
  const isWaiting = new Promise<void>((resolve) => {
    waiting = resolve
  })
  // pg_dump does the same.
  await backup.query('begin; select 1 from roster_state')
  const migrating = migrate(db, clock, (line) => {
    told.push(line)
    waiting()
  })
  await isWaiting
  assert.equal((await db.all('select content from roster_state')).length, 1)
  await backup.query('commit')
  assert.deepEqual(await migrating, ['0026_redo'])
  assert.deepEqual(told, ['0026_redo waits for a table that is in use, for example by a backup'])
})

const engineFiles = (['sqlite', 'postgres'] as const).flatMap((engine) => migrationsFor(engine))

function isUniqueOn(statement: string, created: readonly string[]): boolean {
  const table = /^create unique index \w+ on (\w+)/.exec(statement)?.[1]
  return table !== undefined && !created.includes(table)
}

/** Statements after which the release before would fail, or lose what it needs. */
function notAdditive(sql: string): string[] {
  const text = sql.replace(/--.*$/gm, '').toLowerCase()
  const created = [...text.matchAll(/\bcreate table (\w+)/g)].map(([, table]) => table!)
  return text
    .split(';')
    .map((statement) => statement.trim().replaceAll(/\s+/g, ' '))
    .filter(
      (statement) =>
        /^(drop (?!index)|truncate|delete|create trigger)/.test(statement) ||
        /\b(rename|alter column|drop column|add constraint)\b/.test(statement) ||
        /\badd column\b(?=.*\b(not null|check|unique|references)\b)(?!.*\bdefault\b)/.test(statement) ||
        isUniqueOn(statement, created),
    )
}

describe('the release before runs on every migration since 0026, unless its name says what it needs', () => {
  const recent = engineFiles.filter(({ version, name }) => version >= 26 && !/_needs_/.test(name))
  for (const file of new Set(recent.map((migration) => migration.file)))
    test(file, () => assert.deepEqual(notAdditive(readFileSync(new URL(file, folder), 'utf8')), []))

  test('a program that knows a migration runs on it', () => {
    for (const { version, name } of engineFiles)
      assert.ok(Number(/_needs_(\d{4})$/.exec(name)?.[1] ?? 0) <= version, name)
  })

  for (const [sql, isAdditive] of [
    ['alter table session add column a text', true],
    ["alter table session add column a text not null default ''", true],
    ['alter table session add column a text not null', false],
    ['alter table session drop column device', false],
    ['alter table session rename column device to gadget', false],
    ['alter table session alter column device set not null', false],
    ['create table a (id text not null unique)', true],
    ['create table a (id text); create unique index a_id on a (id)', true],
    ['create unique index session_device on session (device)', false],
    ['create index session_device on session (device)', true],
    ['drop index session_device', true],
    ['drop table session', false],
    ['delete from session', false],
    ['update session set a = 1', true],
    ['-- drop table session\nselect 1', true],
  ] as const)
    test(`${isAdditive ? 'taken' : 'found'}: ${sql}`, () =>
      assert.equal(notAdditive(sql).length, isAdditive ? 0 : 1))
})

test('every file in the folder is a migration of some engine', () => {
  const known = new Set(
    (['sqlite', 'postgres'] as const).flatMap((engine) =>
      migrationsFor(engine).map((migration) => migration.file),
    ),
  )
  assert.deepEqual(readdirSync(folder).sort(), [...known].sort())
})
