import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { after, before, beforeEach, describe, test } from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import { AppError } from '../src/errors.ts'
import { preparedMax } from '../src/platform/db/bounds.ts'
import { type Db, locking, type ReadById, type Statement, statement } from '../src/platform/db/db.ts'
import { openDb } from '../src/platform/db/open.ts'
import { connectTimeoutMs, hostsOf } from '../src/platform/lib/postgres-url.ts'
import { atLength, engines, newStore, onPostgres, type Store } from './support/engines.ts'
import { pooledStore, startPgBouncer } from './support/pgbouncer.ts'
import { freePort, startPostgres } from './support/postgres.ts'
import { eventually, patienceMs } from './support/wait.ts'

interface Item {
  id: string
  at: number | null
  note: string | null
}

const insertItem = 'insert into item (id, at, note) values ($1, $2, $3)'
const item = (id: string, at: number | null = null, note: string | null = null): Statement =>
  statement(insertItem, id, at, note)

const itemById: ReadById = {
  one: 'select id, at from item where id = $1',
  many: 'select id, at from item where id = any($1)',
  idColumn: 'id',
}

// An engine may give its rows another prototype; only their members matter.
const plain = <R extends object>(rows: readonly R[]) => rows.map((row) => ({ ...row }))

const isUnavailable = (error: unknown) =>
  error instanceof AppError && error.code === 'unavailable' && error.extra.retryAfterSeconds! > 0

const stores = [
  ...engines.map((engine) => ({ name: engine as string, engine, make: () => newStore(engine) })),
  ...engines
    .filter((engine) => engine === 'postgres')
    .map((engine) => ({ name: 'postgres through PgBouncer', engine, make: pooledStore })),
]

for (const { name, engine, make } of stores) {
  describe(`the store on ${name}`, () => {
    let store: Store
    let db: Db

    before(async () => {
      store = await make()
      db = openDb(store.url)
      await db.exclusively(async (exec) => {
        await exec('create table item (id text primary key, at bigint, note text)')
      })
    })
    beforeEach(() => db.run('delete from item'))
    after(async () => {
      await db.close()
      await store.remove()
    })

    const ids = async (handle = db) =>
      (await handle.all<Item>('select id from item order by id')).map((row) => row.id)

    test('says which engine it is', () => assert.equal(db.engine, engine))

    test('placeholders may come in any order and more than once', async () => {
      await db.run('insert into item (note, at, id) values ($3, $2, $1)', ['a', 7, 'x'])
      await db.tx([
        statement('update item set note = $1, at = at + $2 where id = $3 and note <> $1', 'y', 2, 'a'),
      ])
      const found = await db.all<Item>('select id, at, note from item where note = $1 or id = $1', ['y'])
      assert.deepEqual(plain(found), [{ id: 'a', at: 9, note: 'y' }])
    })

    test('null goes in and comes out as null', async () => {
      await db.run(insertItem, ['a', null, null])
      const found = await db.one<Item>('select id, at, note from item where at is null')
      assert.deepEqual({ ...found }, { id: 'a', at: null, note: null })
    })

    test('times in milliseconds come back as the numbers they were', async () => {
      const times = [0, 1, Date.parse('2026-11-15T09:00:00.000Z'), Date.parse('9999-12-31T23:59:59.999Z')]
      await db.tx(times.map((at, i) => item(`t${i}`, at)))
      const rows = await db.all<Item>('select at from item order by id')
      assert.deepEqual(
        rows.map((row) => row.at),
        times,
      )
      const counted = await db.one<{ count: number }>('select count(*) as count from item')
      assert.equal(counted?.count, times.length)
    })

    test('a number that is not whole is refused, alone or beside others, and nothing else fails with it', async () => {
      const fraction = {
        name: 'TypeError',
        message: 'parameter $2 is 1763078400000.5, which is not a whole number',
      }
      const at = 1_763_078_400_000.5
      const [alone, together, staged, read, other] = await Promise.allSettled([
        db.run(insertItem, ['a', at, null]),
        db.tx([item('b'), item('c', at)]),
        db.stage([item('d'), item('e', at)]),
        db.all('select id from item where id = $1 or at = $2', ['a', at]),
        db.tx([item('f', 1)]),
      ])
      for (const outcome of [alone, together, staged, read]) {
        assert.ok(outcome.status === 'rejected')
        assert.deepEqual({ name: outcome.reason.name, message: outcome.reason.message }, fraction)
      }
      assert.equal(other.status, 'fulfilled')
      for (const odd of [Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])
        await assert.rejects(db.run(insertItem, ['g', odd, null]), TypeError)
      assert.deepEqual(await ids(), ['f'])
    })

    test('all gives every row, one the first or undefined', async () => {
      assert.deepEqual(await db.all('select id from item'), [])
      assert.equal(await db.one('select id from item'), undefined)
      await db.tx([item('a'), item('b'), item('c')])
      assert.deepEqual(await ids(), ['a', 'b', 'c'])
      assert.equal((await db.one<Item>('select id from item order by id desc'))?.id, 'c')
    })

    test('byId gives each of many callers the row of its id, or undefined', async () => {
      await db.tx([item('a', 1), item('b', 2), item('c', 3)])
      assert.deepEqual({ ...(await db.byId(itemById, 'b')) }, { id: 'b', at: 2 })
      const asked = ['a', 'none', 'c', 'a', "'", 'b', 'A', '{a,b}']
      const found = await Promise.all(asked.map((id) => db.byId<Item>(itemById, id)))
      assert.deepEqual(
        found.map((row) => row?.at),
        [1, undefined, 3, 1, undefined, 2, undefined, undefined],
      )
      const nowhere = { ...itemById, one: 'select id from nowhere', many: 'select id from nowhere' }
      const outcomes = await Promise.allSettled([
        db.byId(nowhere, 'a'),
        db.byId(nowhere, 'b'),
        db.byId(itemById, 'a'),
      ])
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['rejected', 'rejected', 'fulfilled'],
      )
    })

    test('what follows a select that locks sees what others have done to its rows', async () => {
      await db.run(insertItem, ['count', 0, null])
      const [one, other] = [db, openDb(store.url)]
      const addOne = [
        locking('select id from item where id = $1', 'count'),
        statement(
          "update item set at = 1 + (select i.at from item i where i.id = 'count') where id = 'count'",
        ),
      ]
      await Promise.all(Array.from({ length: 60 }, (_, i) => (i % 2 === 0 ? one : other).tx(addOne)))
      assert.equal((await db.byId<Item>(itemById, 'count'))?.at, 60)
      await other.close()
    })

    test('run gives the rows of its returning, and none without it', async () => {
      assert.deepEqual(plain(await db.run<Item>(`${insertItem} returning id, at`, ['a', 5, null])), [
        { id: 'a', at: 5 },
      ])
      assert.deepEqual(await db.run(insertItem, ['b', 6, null]), [])
      const both = await db.run<Item>('update item set at = at + 1 returning at')
      assert.deepEqual(both.map((row) => row.at).sort(), [6, 7])
      assert.deepEqual(await db.run('update item set at = 0 where id = $1 returning id', ['none']), [])
    })

    test('tx runs its statements in order, each seeing those before, and gives the rows of each', async () => {
      const results = await db.tx([
        item('a', 1),
        statement('update item set at = at + 1 where id = $1 returning at', 'a'),
        statement('update item set at = at * 10 where id = $1 returning at', 'a'),
        statement('delete from item where at <> 20'),
        statement(
          "insert into item (id) select 'b' where exists (select 1 from item where at = 20) returning id",
        ),
      ])
      assert.deepEqual(results.map(plain), [[], [{ at: 2 }], [{ at: 20 }], [], [{ id: 'b' }]])
    })

    test('tx of nothing does nothing', async () => assert.deepEqual(await db.tx([]), []))

    test('tx is all or none', async () => {
      await db.run(insertItem, ['taken', 1, null])
      await assert.rejects(db.tx([item('a'), statement('delete from item where id <> $1', 'a'), item('a')]))
      assert.deepEqual(await ids(), ['taken'])
    })

    test('what is staged is seen at once, all or none', async () => {
      await db.stage([item('a')])
      assert.deepEqual(await ids(), ['a'])
      await assert.rejects(db.stage([item('b'), item('a')]))
      await db.stage([])
      assert.deepEqual(await ids(), ['a'])
      const broken = function* () {
        yield item('c')
        throw new Error('no more of them')
      }
      await assert.rejects(db.stage(broken()), /no more of them/)
      await Promise.all([db.stage([item('d')].values()), db.tx([item('e')]), db.stage([item('f')].values())])
      assert.deepEqual(await ids(), ['a', 'd', 'e', 'f'])
    })

    test('a failing tx fails its own caller alone; others of the same moment commit', async () => {
      await db.run(insertItem, ['taken', 1, null])
      const rename = (id: string) => statement('update item set note = id where id = $1 returning note', id)
      const fails = (i: number) => i % 5 === 0
      const outcomes = await Promise.allSettled(
        Array.from({ length: 60 }, (_, i) =>
          db.tx([item(fails(i) ? 'taken' : `ok${i}`), rename(fails(i) ? 'taken' : `ok${i}`)]),
        ),
      )
      for (const [i, outcome] of outcomes.entries())
        assert.equal(outcome.status, fails(i) ? 'rejected' : 'fulfilled', `tx ${i}: ${reasonOf(outcome)}`)
      const named = await db.all<Item>('select id from item where note = id')
      assert.equal(named.length, 48)
    })

    test('a failing run fails its own caller alone; others of the same moment are kept', async () => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 40 }, (_, i) => db.run(insertItem, [i % 4 === 0 ? 'same' : `r${i}`, i, null])),
      )
      assert.equal(outcomes.filter((outcome) => outcome.status === 'fulfilled').length, 31)
      assert.equal((await ids()).length, 31)
    })

    test('a broken rule of the store is an error of its own, and later calls work', async () => {
      await db.run(insertItem, ['a', 1, null])
      for (let round = 0; round < 20; round++) {
        await assert.rejects(db.run(insertItem, ['a', 2, null]), (error) => !(error instanceof AppError))
        await assert.rejects(db.tx([item('b'), item('a')]), (error) => !(error instanceof AppError))
        await assert.rejects(db.all('select * from nowhere'), (error) => !(error instanceof AppError))
      }
      await db.tx([item('b'), item('c')])
      assert.deepEqual(await ids(), ['a', 'b', 'c'])
    })

    test('a value that no store takes fails its own caller alone', async () => {
      const odd = (value: unknown) => statement(insertItem, 'odd', value as number, null)
      const outcomes = await Promise.allSettled([
        db.tx([item('a'), odd({}), item('b')]),
        db.tx([odd({}), item('c')]),
        db.tx([item('d'), item('e')]),
      ])
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['rejected', 'rejected', 'fulfilled'],
      )
      assert.deepEqual(await ids(), ['d', 'e'])
    })

    test('a statement that cannot be prepared fails each time, and others do not notice', async () => {
      await db.run(insertItem, ['a', 1, null])
      const outcome = (work: Promise<unknown>) =>
        work.then(
          () => 'done',
          () => 'failed',
        )
      for (let turn = 0; turn < 3; turn++) {
        const wrong = () => outcome(db.run('update item set nothing = $1', [1]))
        const right = () => outcome(db.run('update item set at = $1', [turn]))
        const outcomes = await Promise.all([wrong(), right(), wrong(), right()])
        assert.deepEqual(outcomes, ['failed', 'done', 'failed', 'done'])
      }
      assert.equal((await db.one<Item>('select at from item'))?.at, 2)
    })

    test('a statement that fails when it is first used gives whole rows later, also to those already waiting', async () => {
      await db.run(insertItem, ['a', 1, 'first'])
      const read = (id: string) => db.one('select id, at, note from item where id = $1', [id])
      const write = (id: string) =>
        db.tx([
          statement('update item set at = at where id = $1', id),
          statement('update item set note = note where id = $1 returning id, at, note', id),
        ])
      // PostgreSQL takes no such character. The statement is prepared, but not carried out.
      const spoilt = 'a\0'
      const expected = { id: 'a', at: 1, note: 'first' }
      for (let turn = 0; turn < 2; turn++) {
        // So that every connection gets some of both.
        const ids = Array.from({ length: 60 }, (_, i) => (i % 5 === 0 ? spoilt : 'a'))
        const rows = await Promise.allSettled([
          ...ids.map(read),
          ...ids.map(async (id) => (await write(id))[1]![0]),
        ])
        const wanted = rows.filter((_, i) => i % 5 !== 0)
        for (const row of wanted)
          assert.deepEqual(row.status === 'fulfilled' ? { ...row.value } : reasonOf(row), expected)
      }
    })

    test('500 writes at once are each acknowledged, and another handle sees them all', async () => {
      const acknowledged = await Promise.all(
        Array.from({ length: 500 }, (_, i) =>
          i % 2 === 0
            ? db.run<Item>(`${insertItem} returning id`, [`w${i}`, i, null]).then((rows) => rows[0]!.id)
            : db.tx([item(`w${i}`), item(`v${i}`)]).then(() => `w${i}`),
        ),
      )
      assert.equal(new Set(acknowledged).size, 500)
      const other = openDb(store.url)
      assert.equal((await ids(other)).length, 750)
      await other.close()
    })

    test('what was acknowledged is read at once', async () => {
      await Promise.all(
        Array.from({ length: 100 }, async (_, i) => {
          await db.run(insertItem, [`i${i}`, i, null])
          assert.equal((await db.one<Item>('select at from item where id = $1', [`i${i}`]))?.at, i)
          await db.tx([statement('update item set at = at + 1000 where id = $1', `i${i}`)])
          assert.equal((await db.one<Item>('select at from item where id = $1', [`i${i}`]))?.at, i + 1000)
        }),
      )
    })

    test('keeps a limited number of statements prepared', async (t) => {
      const { mock } = t.mock.method(DatabaseSync.prototype, 'prepare')
      const read = (n: number) => db.one<{ n: number }>(`select ${n} as n`)
      for (let n = 0; n <= preparedMax; n++) assert.equal((await read(n))?.n, n)
      if (engine === 'postgres') {
        const row = await db.one<{ n: number }>('select count(*) as n from pg_prepared_statements')
        assert.ok(row!.n <= preparedMax, `${row!.n}`)
      } else {
        const calls = mock.callCount()
        await read(preparedMax)
        assert.equal(mock.callCount(), calls, 'the newest is prepared')
        await read(0)
        assert.equal(mock.callCount(), calls + 1, 'the oldest is not')
      }
    })

    test('text of every script and with every sign that means something in SQL is kept', async () => {
      const texts = [
        '',
        'O\'Brien -- "x"; $1 ? :a \\n %_',
        'Žofie Ñandú',
        'e\u0301',
        '獣医師',
        'طبيب بيطري',
        '🐎👩🏽‍⚕️',
        '\t\r\n',
      ]
      await db.tx(texts.map((text, i) => item(`u${i}`, i, text)))
      const rows = await db.all<Item>('select note from item order by at')
      assert.deepEqual(
        rows.map((row) => row.note),
        texts,
      )
    })

    test('of 100 conditional updates at once exactly one wins', async () => {
      await db.run(insertItem, ['prize', null, null])
      const take = 'update item set note = $1 where id = $2 and note is null returning note'
      const [one, other] = [db, openDb(store.url)]
      const taken = await Promise.all(
        Array.from({ length: 100 }, (_, i) => {
          const handle = i % 3 === 0 ? other : one
          return i % 2 === 0
            ? handle.run<Item>(take, [`${i}`, 'prize'])
            : handle.tx([statement(take, `${i}`, 'prize')]).then((results) => results[0] as unknown as Item[])
        }),
      )
      const winners = taken.flat()
      assert.equal(winners.length, 1)
      assert.equal((await db.one<Item>("select note from item where id = 'prize'"))?.note, winners[0]!.note)
      await other.close()
    })

    for (const [where, processes, calls] of [
      ['six processes', 6, 1],
      ['one process', 1, 6],
    ] as const) {
      test(`exclusively never overlaps in ${where}`, async () => {
        await Promise.all(Array.from({ length: processes }, () => countExclusively(store.url, calls)))
        assert.deepEqual(await ids(), ['e0', 'e1', 'e2', 'e3', 'e4', 'e5'])
      })
    }

    test('exclusively leaves nothing of work that fails', async () => {
      const failing = db.exclusively(async (exec) => {
        await exec("insert into item (id) values ('half')")
        throw new TypeError('enough')
      })
      await assert.rejects(failing, { name: 'TypeError', message: 'enough' })
      assert.deepEqual(await ids(), [])
    })

    test('close lets what is waiting finish', async () => {
      const own = openDb(store.url)
      await own.one('select 1 as one')
      const writes = Array.from({ length: 50 }, (_, i) => own.tx([item(`c${i}`), item(`d${i}`)]))
      const [outcomes] = await Promise.all([Promise.allSettled(writes), own.close()])
      assert.deepEqual(outcomes.filter((outcome) => outcome.status === 'rejected').map(reasonOf), [])
      assert.equal((await ids()).length, 100)
    })

    test('every call after close is refused as unavailable', async () => {
      const own = openDb(store.url)
      await own.run(insertItem, ['before', 1, null])
      await own.close()
      await assert.rejects(own.all('select id from item'), isUnavailable)
      await assert.rejects(own.one('select id from item'), isUnavailable)
      await assert.rejects(own.byId(itemById, 'before'), isUnavailable)
      await assert.rejects(own.run(insertItem, ['after', 1, null]), isUnavailable)
      await assert.rejects(own.tx([item('after')]), isUnavailable)
      assert.deepEqual(await ids(), ['before'])
    })
  })
}

/** Runs in a separate process: each call counts the items and adds one named after the count. */
async function countExclusively(url: string, calls: number): Promise<void> {
  const script = `
    import { setTimeout } from 'node:timers/promises'
    import { openDb } from ${JSON.stringify(new URL('../src/platform/db/open.ts', import.meta.url).href)}
    const handles = [openDb(${JSON.stringify(url)}), openDb(${JSON.stringify(url)})]
    const count = (_, i) =>
      handles[i % 2].exclusively(async (exec, rows) => {
        const [row] = await rows('select count(*) as count from item')
        await setTimeout(10)
        await exec("insert into item (id) values ('e" + row.count + "')")
      })
    await Promise.all(Array.from({ length: ${calls} }, count))
    await Promise.all(handles.map((handle) => handle.close()))`
  const options = { timeout: patienceMs }
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], options)
}

function reasonOf(outcome: PromiseSettledResult<unknown>): string {
  return outcome.status === 'rejected' ? String(outcome.reason) : 'fulfilled'
}

describe('several hosts of PostgreSQL', () => {
  const cases: [url: string, hosts: string[]][] = [
    ['postgres://u@a/db', ['postgres://u@a/db']],
    ['postgres://a:1,b:2/db', ['postgres://a:1/db', 'postgres://b:2/db']],
    [
      'postgresql://u:p@a,b,c:5/db',
      ['postgresql://u:p@a/db', 'postgresql://u:p@b/db', 'postgresql://u:p@c:5/db'],
    ],
    ['postgres://u:p,w@a,b/db?x=1,2', ['postgres://u:p,w@a/db?x=1,2', 'postgres://u:p,w@b/db?x=1,2']],
    ['postgres://u@[::1]:1,b/db', ['postgres://u@[::1]:1/db', 'postgres://u@b/db']],
  ]
  for (const [url, hosts] of cases)
    test(`${url} names ${hosts.length}`, () => assert.deepEqual(hostsOf(url), hosts))

  test('the address says how long to wait for a connection, or three seconds', () => {
    assert.equal(connectTimeoutMs('postgres://u@a/db'), 3_000)
    assert.equal(connectTimeoutMs('postgres://u@a/db?connect_timeout=10&sslmode=disable'), 10_000)
    assert.equal(connectTimeoutMs('postgres://u@a/db?connect_timeout=10&connect_timeout=20'), 20_000)
    assert.equal(connectTimeoutMs('postgres://u@a/db?connect_timeout=soon'), 3_000)
  })

  test('the next one serves when the first is dead', onPostgres, async () => {
    const store = await newStore('postgres')
    const dead = await freePort()
    const db = openDb(store.url.replace('@', `@127.0.0.1:${dead},`))
    await db.exclusively(async (exec) => {
      await exec('create table item (id text primary key, at bigint, note text)')
    })
    await db.tx([item('a', 1), item('b', 2)])
    assert.equal((await db.all('select id from item')).length, 2)
    await db.close()
    await store.remove()
  })
})

describe('a commit that its synchronous standby never confirms', onPostgres, () => {
  for (const pooler of ['', 'pooler=transaction'])
    test(`is unavailable when the server gives up waiting${pooler && ', also through PgBouncer'}`, async (t) => {
      const server = await startPostgres(['fsync=off', 'synchronous_standby_names=absent'])
      const pgBouncer = pooler ? await startPgBouncer(server.port, { mode: 'transaction' }) : undefined
      const admin = new pg.Client({ connectionString: server.url('postgres') })
      await admin.connect()
      await admin.query('set synchronous_commit = local')
      await admin.query('create table item (id text primary key, at bigint, note text)')
      const db = openDb(`${(pgBouncer ?? server).url('postgres')}&${pooler}`)
      t.after(async () => {
        await db.close()
        await admin.end()
        await pgBouncer?.remove()
        await server.remove()
      })
      const writes = [
        db.run(insertItem, ['a', 1, null]),
        db.tx([item('b'), item('c')]),
        db.exclusively((exec) => exec("insert into item (id) values ('d')")),
      ]
      let outcomes: PromiseSettledResult<unknown>[] | undefined
      Promise.allSettled(writes).then((all) => {
        outcomes = all
      })
      const cancel = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"
      const settled = await eventually('all waits are over', async () => {
        await admin.query(cancel)
        return outcomes
      })
      for (const outcome of settled)
        assert.ok(outcome.status === 'rejected' && isUnavailable(outcome.reason), reasonOf(outcome))
      assert.equal((await db.all('select id from item')).length, 4)
    })
})

describe('a PostgreSQL server that cannot be reached', atLength, () => {
  async function assertRefused(url: string) {
    const db = openDb(url)
    const calls = [
      db.all('select 1 as one'),
      db.run('select 1 as one'),
      db.tx([statement('select 1 as one')]),
    ]
    for (const call of [...calls, db.exclusively(async () => {})]) await assert.rejects(call, isUnavailable)
    await db.close()
  }

  test('is unavailable when nobody listens', async () =>
    assertRefused(`postgres://chiron@127.0.0.1:${await freePort()}/chiron`))

  test('is unavailable when it takes the connection and says nothing', async () => {
    const sockets: Socket[] = []
    const silent = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as { port: number }
    await assertRefused(`postgres://chiron@127.0.0.1:${port}/chiron?connect_timeout=1`)
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
})
