/** What the SQLite store does when its file fails or another process keeps it locked. */
import assert from 'node:assert/strict'
import { closeSync, openSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, suite, test } from 'node:test'
import { AppError } from '../src/errors.ts'
import { type Db, statement } from '../src/platform/db/db.ts'
import { openSqlite } from '../src/platform/db/sqlite.ts'
import { type Child, startScript } from './support/child.ts'
import { atLength, newStore, type Store } from './support/engines.ts'
import { type Faults, newFaults } from './support/faults.ts'
import { loseLog } from './support/lost-log.ts'
import { eventually } from './support/wait.ts'

const isUnavailable = (error: unknown) => error instanceof AppError && error.code === 'unavailable'
const insert = 'insert into item (id) values ($1)'

describe('A store of SQLite', () => {
  let store: Store
  let path: string
  let db: Db
  let other: DatabaseSync
  let nowMs: number
  let looksAtClock: number

  beforeEach(async () => {
    store = await newStore('sqlite')
    path = store.url.slice('sqlite:'.length)
    nowMs = 0
    looksAtClock = 0
    db = openSqlite(path, {
      now: () => {
        looksAtClock++
        return nowMs
      },
    })
    await db.exclusively(async (exec) => {
      await exec('create table item (id text primary key)')
    })
    other = new DatabaseSync(path)
  })
  afterEach(async () => {
    other.close()
    await db.close()
    await store.remove()
  })

  const ids = async () =>
    (await db.all<{ id: string }>('select id from item order by id')).map(({ id }) => id)

  const whileLogIsLost = async (work: () => Promise<void>) => {
    await db.all('select * from item')
    const restore = loseLog(path, "insert into item (id) values ('theirs')")
    try {
      await work()
    } finally {
      restore()
    }
  }

  test('an I/O error fails the reads of its turn alone, and the next succeed', async () => {
    await whileLogIsLost(async () => {
      const reads = Array.from({ length: 3 }, () => db.all('select * from item'))
      for (const read of reads) await assert.rejects(read, isUnavailable)
      await assert.rejects(db.one('select * from item'), isUnavailable)
    })
    assert.deepEqual(await Promise.all([ids(), ids()]), [['theirs'], ['theirs']])
    await db.run(insert, ['ours'])
    assert.deepEqual(await ids(), ['ours', 'theirs'])
  })

  test('an I/O error fails the writes of its turn alone, and the next succeed', async () => {
    await whileLogIsLost(async () => {
      const writes = ['a', 'b', 'c'].map((id) => db.run(insert, [id]))
      for (const write of writes) await assert.rejects(write, isUnavailable)
      await assert.rejects(
        db.exclusively(async (exec) => {
          await exec('select * from item')
        }),
        isUnavailable,
      )
    })
    await Promise.all([db.run(insert, ['a']), db.run(insert, ['b'])])
    assert.deepEqual(await ids(), ['a', 'b', 'theirs'])
  })

  test('a full disk fails the writes of its turn alone, and the next succeed', async () => {
    const pages = Number((await db.one<{ page_count: number }>('pragma page_count'))!.page_count)
    await db.run(`pragma max_page_count = ${pages}`)
    const large = 'x'.repeat(100_000)
    const writes = [db.run(insert, [large]), db.tx([statement(insert, `${large}y`), statement(insert, 'y')])]
    for (const write of writes) await assert.rejects(write, isUnavailable)
    await db.run(`pragma max_page_count = ${pages + 1_000}`)
    await Promise.all([db.run(insert, [large]), db.run(insert, ['a'])])
    assert.deepEqual(await ids(), ['a', large])
  })

  test('a damaged file is out of reach, and not the fault of who asks', async () => {
    await db.run(insert, ['x'.repeat(10_000)])
    other.exec('pragma wal_checkpoint(truncate)')
    const file = openSync(path, 'r+')
    writeSync(file, Buffer.alloc(4_096), 0, 4_096, 4_096)
    closeSync(file)
    const fresh = openSqlite(path)
    await assert.rejects(fresh.all('select * from item'), isUnavailable)
    await fresh.close()
  })

  test('a transaction that is gone in the middle of its turn fails that turn alone', async () => {
    await db.run(
      `create trigger refuse before insert on item when new.id = 'bad' begin select raise(rollback, 'no'); end`,
    )
    const writes = ['a', 'bad', 'b'].map((id) => db.run(insert, [id]))
    for (const write of writes) await assert.rejects(write)
    await Promise.all([db.run(insert, ['a']), db.run(insert, ['b'])])
    assert.deepEqual(await ids(), ['a', 'b'])
  })

  test('a file that is no longer there is out of reach for exclusive work, and is not made again', async () => {
    const folder = dirname(path)
    renameSync(folder, `${folder}.away`)
    try {
      await assert.rejects(
        db.exclusively(async () => {}),
        isUnavailable,
      )
    } finally {
      renameSync(`${folder}.away`, folder)
    }
  })

  const locked = async (work: () => Promise<void>) => {
    other.exec('begin immediate')
    try {
      await work()
    } finally {
      other.exec('rollback')
    }
  }
  const hasMetTheLock = async (write: Promise<unknown>) => {
    const before = looksAtClock
    write.catch(() => {})
    await eventually('the write meets the lock', () => looksAtClock > before)
  }

  test('after a lock that was waited for in vain, a short one is waited for again', async () => {
    await locked(async () => {
      const early = db.run(insert, ['early'])
      await hasMetTheLock(early)
      nowMs += 5_000
      await assert.rejects(early, isUnavailable)
    })
    nowMs += 60_000
    let late: Promise<unknown> = Promise.resolve()
    await locked(async () => {
      late = db.run(insert, ['late'])
      await hasMetTheLock(late)
    })
    await late
    assert.deepEqual(await ids(), ['late'])
  })

  test('nobody waits for a lock longer than that, however many wait', async () => {
    await locked(async () => {
      const writes = Array.from({ length: 1_200 }, (_, i) => db.run(insert, [`w${i}`]))
      for (const write of writes) write.catch(() => {})
      await hasMetTheLock(writes[0]!)
      nowMs += 5_000
      for (const write of writes) await assert.rejects(write, isUnavailable)
    })
    await db.run(insert, ['next'])
    assert.deepEqual(await ids(), ['next'])
  })
})

suite('After a sync that failed, a store of SQLite', atLength, () => {
  let store: Store
  let faults: Faults
  let child: Child | undefined
  let env: Record<string, string>
  const file = () => store.url.slice('sqlite:'.length)

  beforeEach(async () => {
    store = await newStore('sqlite')
    const db = openSqlite(file())
    await db.run('create table item (id text primary key)')
    await db.close()
    faults = newFaults(dirname(file()))
    env = faults.begin()
  })
  afterEach(async () => {
    await child?.end('SIGKILL')
    faults.remove()
    await store.remove()
  })

  /** The store in a process of its own. Returns how to write; false if that failed. */
  const start = async () => {
    child = startScript(storeServer(file()), { env })
    const { output } = child
    const port = await eventually('it listens', () => Number(output.out) || undefined)
    return async (how: 'stage' | 'tx', id: string) =>
      (await fetch(`http://127.0.0.1:${port}/${how}/${id}`)).ok
  }
  const kill = () => child!.end('SIGKILL')
  const idsAfterPowerCut = () => {
    faults.losePower('none')
    const database = new DatabaseSync(file())
    try {
      return database
        .prepare('select id from item order by id')
        .all()
        .map(({ id }) => id)
    } finally {
      database.close()
    }
  }

  test('keeps what was staged before it, and what is written next', async () => {
    const write = await start()
    assert.ok(await write('stage', 'a'))
    faults.failSyncs('EIO')
    assert.ok(!(await write('tx', 'b')))
    faults.failSyncs(null)
    assert.ok(await write('tx', 'c'))
    await kill()
    assert.deepEqual(idsAfterPowerCut(), ['a', 'c'])
  })

  test('keeps what the next process writes', async () => {
    const write = await start()
    assert.ok(await write('tx', 'a'))
    faults.failSyncs('EIO')
    assert.ok(!(await write('tx', 'b')))
    await kill()
    faults.failSyncs(null)
    const writeNext = await start()
    assert.ok(await writeNext('tx', 'c'))
    await kill()
    // Whether the second was written was never said.
    assert.deepEqual(
      idsAfterPowerCut().filter((id) => id !== 'b'),
      ['a', 'c'],
    )
  })
})

/** Writes what it is asked for, and says whether that worked. */
const storeServer = (path: string) => `
import { createServer } from 'node:http'
import { openSqlite } from ${JSON.stringify(new URL('../src/platform/db/sqlite.ts', import.meta.url).href)}
const db = openSqlite(${JSON.stringify(path)})
const server = createServer(async (request, response) => {
  const [, how, id] = request.url.split('/')
  const statement = { sql: ${JSON.stringify(insert)}, params: [id] }
  const write = db[how]([statement])
  response.writeHead(await write.then(() => 200, () => 503)).end()
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`
