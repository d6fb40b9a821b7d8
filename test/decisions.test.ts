/** Decisions (lock, decide, write) on both engines, and through a pooler with a single connection. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { after, before, beforeEach, describe, suite, test } from 'node:test'
import pg from 'pg'
import { AppError } from '../src/errors.ts'
import { type Db, statement } from '../src/platform/db/db.ts'
import { decision, lockAll, lockMade, lockOne, readAll, readOne } from '../src/platform/db/decision.ts'
import { openDb } from '../src/platform/db/open.ts'
import { startScript } from './support/child.ts'
import { engines, newStore, onPostgres, type Store } from './support/engines.ts'
import { startPgBouncer } from './support/pgbouncer.ts'
import { eventually } from './support/wait.ts'

interface Item {
  readonly id: string
  readonly at: number
}

const insertItem = (id: string, at: number) => statement('insert into item (id, at) values ($1, $2)', id, at)
const setItem = (id: string, at: number) => statement('update item set at = $1 where id = $2', at, id)
const lockItem = (id: string) => lockOne<Item>('person', 'select id, at from item where id = $1', id)
const addOne = (id: string) =>
  decision({ item: lockItem(id) }, ({ item }) => ({
    writes: [setItem(id, item!.at + 1)],
    result: item!.at + 1,
  }))
const isUnavailable = (error: unknown) => error instanceof AppError && error.code === 'unavailable'

async function throughOneConnection(): Promise<Store> {
  const store = await newStore('postgres')
  const { port, pathname } = new URL(store.url)
  const pgBouncer = await startPgBouncer(port, { mode: 'transaction', poolSize: 1 })
  return {
    url: `${pgBouncer.url(pathname.slice(1))}&pooler=transaction`,
    async remove() {
      await pgBouncer.remove()
      await store.remove()
    },
  }
}

const makeItems = async (db: Db) =>
  db.exclusively((exec) => exec('create table item (id text primary key, at bigint not null)'))

const stores = [
  ...engines.map((engine) => ({ name: engine as string, make: () => newStore(engine) })),
  ...engines
    .filter((engine) => engine === 'postgres')
    .map(() => ({ name: 'postgres through a pooler with one connection', make: throughOneConnection })),
]

for (const { name, make } of stores)
  describe(`A decision on ${name}`, () => {
    let store: Store
    let db: Db
    let other: Db

    before(async () => {
      store = await make()
      db = openDb(store.url)
      other = openDb(store.url)
      await makeItems(db)
    })
    beforeEach(() => db.run('delete from item'))
    after(async () => {
      await Promise.all([db.close(), other.close()])
      await store.remove()
    })

    const items = async () =>
      (await db.all<Item>('select id, at from item order by id')).map(({ id, at }) => `${id}${at}`)

    test('gives its rule the rows that it locks and reads, and makes the writes', async () => {
      await db.tx([insertItem('a', 1), insertItem('b', 2)])
      const result = await db.decide(
        decision(
          {
            none: lockItem('none'),
            both: lockAll<Item>('session', 'select id, at from item where at <= $1 order by id', 2),
            count: readOne<{ n: number }>('select count(*) as n from item'),
            late: readAll<Item>('select id, at from item where at > $1', 2),
          },
          ({ none, both, count, late }) => ({
            writes: [insertItem('c', both.length), setItem('a', 9)],
            result: { none, n: count?.n, late },
          }),
        ),
      )
      assert.deepEqual(result, { none: undefined, n: 2, late: [] })
      assert.deepEqual(await items(), ['a9', 'b2', 'c2'])
    })

    test('holds its locks until the commit: of 80 at once each sees the one before', async () => {
      await db.tx([insertItem('a', 0)])
      const results = await Promise.all(
        Array.from({ length: 80 }, (_, i) => (i % 2 ? db : other).decide(addOne('a'))),
      )
      assert.deepEqual(
        results.sort((a, b) => a - b),
        Array.from({ length: 80 }, (_, i) => i + 1),
      )
    })

    test('reads after it has locked, so a count is never older than the lock', async () => {
      await db.tx([insertItem('a', 0)])
      const add = (id: string) =>
        decision(
          { lock: lockItem('a'), count: readOne<{ n: number }>('select count(*) as n from item') },
          ({ count }) => (count!.n < 4 ? { writes: [insertItem(id, 0)], result: true } : { result: false }),
        )
      const added = await Promise.all(
        Array.from({ length: 40 }, (_, i) => (i % 2 ? db : other).decide(add(`b${i}`))),
      )
      assert.equal(added.filter(Boolean).length, 3)
    })

    test('locks in one order, however its rows are named', async () => {
      await db.tx([insertItem('a', 0), insertItem('b', 0)])
      const move = (first: string, second: string) =>
        decision({ first: lockItem(first), second: lockItem(second) }, (rows) => ({
          writes: [setItem(first, rows.first!.at + 1), setItem(second, rows.second!.at + 1)],
          result: null,
        }))
      const all = Array.from({ length: 60 }, (_, i) =>
        (i % 3 ? db : other).decide(i % 2 ? move('a', 'b') : move('b', 'a')),
      )
      await Promise.all(all)
      assert.deepEqual(await items(), ['a60', 'b60'])
    })

    test('makes a row that is missing, and locks it', async () => {
      const make = statement("insert into item (id, at) values ('made', 0) on conflict (id) do nothing")
      const add = () =>
        decision(
          { item: lockMade<Item>('bucket', make, "select id, at from item where id = 'made'") },
          ({ item }) => ({ writes: [setItem('made', item.at + 1)], result: item.at }),
        )
      await Promise.all(Array.from({ length: 40 }, (_, i) => (i % 2 ? db : other).decide(add())))
      assert.deepEqual(await items(), ['made40'])
    })

    test('in a list stops at the first refusal, whose writes are made', async () => {
      await db.tx([insertItem('a', 0)])
      const note = (id: string, refused: boolean) =>
        decision({ a: lockItem('a') }, () => ({ writes: [insertItem(id, 1)], result: id, refused }))
      assert.equal(await db.decide(note('b', false), note('c', true), note('d', false)), 'c')
      assert.equal(await db.decide(note('e', false), note('f', false)), 'f')
      assert.deepEqual(await items(), ['a0', 'b1', 'c1', 'e1', 'f1'])
    })

    test('comes after what strangers share is taken', async () => {
      await db.tx([insertItem('shared', 0), insertItem('own', 0)])
      const take = {
        take: statement("update item set at = at + 1 where id = 'shared' and at < 3 returning at"),
        judge: (rows: readonly unknown[]) => ({ result: -1, refused: rows.length === 0 }),
      }
      const results = await Promise.all(
        Array.from({ length: 10 }, (_, i) => (i % 2 ? db : other).decide(take, addOne('own'))),
      )
      assert.deepEqual(
        results.sort((a, b) => a - b),
        [-1, -1, -1, -1, -1, -1, -1, 1, 2, 3],
      )
      assert.deepEqual(await items(), ['own3', 'shared3'])
    })

    test('that throws fails its own caller alone, with its own error, and writes nothing', async () => {
      await db.tx([insertItem('a', 0)])
      const broken = () =>
        decision({ a: lockItem('a') }, () => {
          throw new RangeError('a rule must not throw')
        })
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, (_, i) => db.decide(i % 5 === 0 ? broken() : addOne('a'))),
      )
      for (const [i, outcome] of outcomes.entries())
        if (i % 5 === 0) assert.ok(outcome.status === 'rejected' && outcome.reason instanceof RangeError)
        else assert.equal(outcome.status, 'fulfilled')
      assert.deepEqual(await items(), ['a16'])
    })

    test('with a write that fails fails its own caller alone, and nothing of it is done', async () => {
      await db.tx([insertItem('a', 0), insertItem('taken', 0)])
      let runs = 0
      const counted = decision({ a: lockItem('a') }, ({ a }) => {
        runs++
        return { writes: [setItem('a', a!.at + 1)], result: null }
      })
      const failing = decision({ a: lockItem('a') }, () => ({
        writes: [setItem('a', 1_000), insertItem('taken', 1)],
        result: null,
      }))
      const outcomes = await Promise.allSettled([db.decide(counted), db.decide(counted), db.decide(failing)])
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['fulfilled', 'fulfilled', 'rejected'],
      )
      assert.equal(runs, db.engine === 'sqlite' ? 4 : 2)
      assert.deepEqual(await items(), ['a2', 'taken0'])
    })

    test('is served beside reads and plain writes', async () => {
      await db.tx(Array.from({ length: 50 }, (_, i) => insertItem(`i${i}`, 0)))
      await Promise.all(
        Array.from({ length: 50 }, async (_, i) => {
          await Promise.all([
            db.decide(addOne(`i${i}`)),
            db.one('select count(*) as n from item'),
            db.run('update item set at = at where id = $1', [`i${i}`]),
            db.unsynced([setItem('none', 1)]),
          ])
        }),
      )
      assert.equal((await db.one<{ n: number }>('select count(*) as n from item where at = 1'))?.n, 50)
    })
  })

suite('A decision on PostgreSQL', onPostgres, () => {
  let store: Store
  let db: Db
  let admin: pg.Client

  before(async () => {
    store = await newStore('postgres')
    db = openDb(store.url)
    await makeItems(db)
    admin = new pg.Client({ connectionString: store.url })
    await admin.connect()
  })
  beforeEach(() => db.run('delete from item'))
  after(async () => {
    await admin.end()
    await db.close()
    await store.remove()
  })

  const atOf = async (id: string) =>
    (await db.one<{ at: number }>('select at from item where id = $1', [id]))?.at

  for (const [failures, outcome] of [
    [3, 'fulfilled'],
    [4, 'rejected'],
  ] as const)
    test(`runs its rule again on the same connection after ${failures} conflicts: ${outcome}`, async () => {
      await db.exclusively((exec) =>
        exec(`create sequence conflict${failures}; create function fail${failures}() returns void as $$ begin
          if nextval('conflict${failures}') <= ${failures} then raise exception using errcode = '40001'; end if;
          end $$ language plpgsql`),
      )
      await db.run("insert into item (id, at) values ('a', 0)")
      const connections: number[] = []
      const [settled] = await Promise.allSettled([
        db.decide(
          decision(
            { a: lockItem('a'), self: readOne<{ pid: number }>('select pg_backend_pid() as pid') },
            ({ a, self }) => {
              connections.push(self!.pid)
              return {
                writes: [setItem('a', a!.at + 1), statement(`select fail${failures}()`)],
                result: null,
              }
            },
          ),
        ),
      ])
      assert.equal(settled.status, outcome)
      if (settled.status === 'rejected') assert.ok(isUnavailable(settled.reason))
      assert.equal(connections.length, 4)
      assert.equal(new Set(connections).size, 1)
      assert.equal(await atOf('a'), outcome === 'fulfilled' ? 1 : 0)
    })

  test('runs its rule again when somebody else made the same row at the same moment', async () => {
    const add = (id: string) =>
      decision({ found: readOne<Item>('select id, at from item where id = $1', id) }, ({ found }) =>
        found ? { result: 'there' } : { writes: [insertItem(id, 1)], result: 'made' },
      )
    const results = await Promise.all(Array.from({ length: 40 }, () => db.decide(add('one'))))
    assert.equal(results.filter((result) => result === 'made').length, 1)
  })

  test('whose connection breaks before its writes is unavailable, and nothing is done', async () => {
    await db.run("insert into item (id, at) values ('a', 0)")
    const terminate = (pid: number) =>
      execFileSync(process.execPath, [
        '--input-type=module',
        '-e',
        `import pg from 'pg'
         const client = new pg.Client({ connectionString: ${JSON.stringify(store.url)} })
         await client.connect()
         await client.query('select pg_terminate_backend(${pid})')
         await client.end()`,
      ])
    const broken = db.decide(
      decision(
        { a: lockItem('a'), self: readOne<{ pid: number }>('select pg_backend_pid() as pid') },
        ({ self }) => {
          terminate(self!.pid)
          return { writes: [setItem('a', 1)], result: null }
        },
      ),
    )
    await assert.rejects(broken, isUnavailable)
    assert.equal(await atOf('a'), 0)
    assert.equal(await db.decide(addOne('a')), 1)
  })

  test('of a process that is stopped between its exchanges gives its locks up', async (t) => {
    await db.run("insert into item (id, at) values ('a', 0)")
    const source = (path: string) =>
      JSON.stringify(new URL(`../src/platform/db/${path}`, import.meta.url).href)
    const stopped = startScript(`
      import { openDb } from ${source('open.ts')}
      import { decision, lockOne } from ${source('decision.ts')}
      const db = openDb(${JSON.stringify(store.url)})
      const rule = () => {
        process.kill(process.pid, 'SIGSTOP')
        return { writes: [{ sql: "update item set at = 1000 where id = 'a'", params: [] }], result: null }
      }
      await db.decide(decision({ a: lockOne('person', "select id from item where id = 'a'") }, rule)).then(
        () => console.log('it wrote'),
        (error) => console.log(error.code),
      )
      await db.close()`)
    t.after(() => stopped.end('SIGKILL'))
    await eventually('the row is locked', async () => {
      const { rows } = await admin.query(
        "select 1 from pg_stat_activity where state = 'idle in transaction' and datname = current_database()",
      )
      return rows.length > 0
    })
    assert.equal(await db.decide(addOne('a')), 1)
    process.kill(stopped.pid, 'SIGCONT')
    await eventually('it learns that its transaction is over', () =>
      stopped.output.out.includes('unavailable'),
    )
    assert.equal(await atOf('a'), 1)
  })

  test('that waits for a row keeps none of those about other rows waiting', async () => {
    await db.tx([insertItem('attacked', 0), ...Array.from({ length: 50 }, (_, i) => insertItem(`i${i}`, 0))])
    await admin.query("begin; select id from item where id = 'attacked' for update")
    const waiting = Promise.all(Array.from({ length: 500 }, () => db.decide(addOne('attacked'))))
    const others = await Promise.all(Array.from({ length: 50 }, (_, i) => db.decide(addOne(`i${i}`))))
    assert.deepEqual(new Set(others), new Set([1]))
    assert.equal(await atOf('attacked'), 0)
    await admin.query('commit')
    assert.equal(Math.max(...(await waiting)), 500)
  })
})
