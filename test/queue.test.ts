/** Workers of a queue on a store, with jobs in one of the tables that have lanes. */
import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { Worker } from '../src/messages/queue/queue.ts'
import type { Db } from '../src/platform/db/db.ts'
import { openDb } from '../src/platform/db/open.ts'
import { second } from '../src/platform/lib/clock.ts'
import { engines, migratedStore } from './support/engines.ts'
import { TestClock } from './support/service.ts'
import { eventually, pause } from './support/wait.ts'

const leaseMs = 10 * second
const perLane = 2

type Line = { readonly webhook_id: string; readonly line: string; readonly claimed_by: string }

/** Work that ends when the test says so, or with its signal. */
interface Work extends PromiseWithResolvers<void> {
  readonly job: string
}

const table = {
  name: 'webhook_line',
  key: ['webhook_id', 'line'],
  columns: 'webhook_id, line, claimed_by',
}

function workerOn(db: Db, clock: TestClock, options: { isLong?: boolean; jobsMax?: number } = {}) {
  const begun: Work[] = []
  const said: string[] = []
  const log = {
    info: (_: object, message: string) => void said.push(message),
    warn: (_: object, message: string) => void said.push(message),
  }
  const work = async ({ webhook_id, line }: Line, signal: AbortSignal) => {
    const done = Promise.withResolvers<void>()
    if (!options.isLong) signal.addEventListener('abort', () => done.reject(signal.reason))
    begun.push({ job: webhook_id + line, ...done })
    await done.promise
    await db.run('delete from webhook_line where webhook_id = $1 and line = $2', [webhook_id, line])
  }
  const worker = new Worker<Line>(
    { db, clock, log },
    {
      what: 'the work',
      table,
      leaseMs,
      ...options,
      async dueLanes() {
        const due = await db.all<{ name: string }>(
          'select distinct webhook_id as name from webhook_line where next_at <= $1 order by webhook_id',
          [clock.now()],
        )
        return due.map(({ name }) => {
          return { name, where: 'webhook_id = $5', params: [name], jobsMax: perLane, work }
        })
      },
    },
  )
  /** Works on jobs until these have begun, in whatever order. */
  const begins = async (jobs: string) => {
    worker.wake()
    await eventually(jobs, async () => begun.length >= jobs.split(' ').length)
    assert.deepEqual(begun.map(({ job }) => job).toSorted(), jobs.split(' ').toSorted())
  }
  return { worker, begun, said, begins }
}

for (const engine of engines)
  suite(`A queue on ${engine}`, () => {
    /** A store with these jobs, due in this order. */
    async function storeWith(t: TestContext, jobs: string) {
      const store = await migratedStore(engine)
      const db = openDb(store.url)
      const clock = new TestClock()
      for (const [i, [lane, line]] of jobs.split(' ').entries())
        await db.run('insert into webhook_line (webhook_id, line, next_at) values ($1, $2, $3)', [
          lane!,
          line!,
          clock.now() - 100 + i,
        ])
      t.after(async () => {
        await db.close()
        await store.remove()
      })
      return { db, clock }
    }
    const rows = (db: Db) =>
      db.all<Line & { next_at: number }>(
        'select webhook_id, line, claimed_by, next_at from webhook_line order by webhook_id, line',
      )

    test('works on each lane at once, up to its share, earliest first, and goes on when work ends', async (t) => {
      const { db, clock } = await storeWith(t, 'a1 a2 a3 b1')
      const { worker, begun, begins } = workerOn(db, clock)
      await begins('a1 a2 b1')
      for (let i = 0; i < 5; i++) worker.wake()
      await pause(50)
      assert.equal(begun.length, 3, 'lane a is full')
      begun[1]!.resolve()
      await begins('a1 a2 b1 a3')
      for (const { resolve } of begun) resolve()
      await worker.stop()
      assert.deepEqual(await rows(db), [])
    })

    test('gives a job to one of several processes, and to another when its lease has ended', async (t) => {
      const { db, clock } = await storeWith(t, 'a1 b1 c1 d1')
      const workers = [workerOn(db, clock), workerOn(db, clock), workerOn(db, clock)]
      for (const { worker } of workers) worker.wake()
      const begun = () => workers.flatMap((one) => one.begun.map(({ job }) => job))
      await eventually('all are claimed', async () => begun().length === 4)
      clock.advance(leaseMs - 1)
      for (const { worker } of workers) worker.wake()
      await pause(50)
      assert.deepEqual(begun().toSorted(), ['a1', 'b1', 'c1', 'd1'])
      clock.advance(1)
      // The others may look again, too.
      workers.push(workerOn(db, clock))
      workers.at(-1)!.worker.wake()
      await eventually('all are claimed again', async () => begun().length === 8)
      assert.deepEqual(begun().toSorted(), ['a1', 'a1', 'b1', 'b1', 'c1', 'c1', 'd1', 'd1'])
      for (const { resolve } of workers.flatMap((one) => one.begun)) resolve()
      await Promise.all(workers.map(({ worker }) => worker.stop()))
    })

    test('gives back what does not end when it stops, unless another process has claimed it since', async (t) => {
      const { db, clock } = await storeWith(t, 'a1 b1')
      const { worker, begins } = workerOn(db, clock)
      await begins('a1 b1')
      await db.run("update webhook_line set claimed_by = 'other' where webhook_id = 'b'")
      await worker.stop()
      const left = (await rows(db)).map(({ claimed_by, next_at }) => [claimed_by, next_at - clock.now()])
      assert.deepEqual(left, [
        [null, 0],
        ['other', leaseMs],
      ])
    })

    test('claims nothing more once stopped, and waits for the work in progress', async (t) => {
      const { db, clock } = await storeWith(t, 'a1 a2 a3')
      const { worker, begun, begins } = workerOn(db, clock)
      await begins('a1 a2')
      let isOver = false
      const stopped = worker.stop().then(() => {
        isOver = true
      })
      begun[0]!.resolve()
      await eventually('one has ended', async () => (await rows(db)).length === 2)
      assert.equal(isOver, false)
      begun[1]!.resolve()
      await stopped
      worker.wake()
      await pause(50)
      assert.equal(begun.length, 2)
    })

    test('keeps a lease on long work when the clock jumps, and gives it up only when the process dies', async (t) => {
      const { db, clock } = await storeWith(t, 'a1')
      const { worker, begun, begins } = workerOn(db, clock, { isLong: true })
      const other = workerOn(db, clock, { isLong: true })
      await begins('a1')
      clock.advance(2 * leaseMs)
      worker.wake()
      const until = async () => (await rows(db))[0]!.next_at - clock.now()
      await eventually('the lease is renewed', async () => (await until()) === leaseMs)
      other.worker.wake()
      await pause(50)
      assert.equal(begun.length + other.begun.length, 1)
      await Promise.all([worker.stop(), other.worker.stop()])
      assert.equal(await until(), leaseMs, 'it may still end well')
      begun[0]!.resolve()
      await eventually('it has', async () => (await rows(db)).length === 0)
    })

    test('works on a bounded number of jobs of all lanes', async (t) => {
      const { db, clock } = await storeWith(t, 'a1 a2 b1 b2')
      const { worker, begun, begins } = workerOn(db, clock, { jobsMax: 3 })
      await begins('a1 a2 b1')
      worker.wake()
      await pause(50)
      assert.equal(begun.length, 3)
      begun[0]!.resolve()
      await begins('a1 a2 b1 b2')
      for (const { resolve } of begun) resolve()
      await worker.stop()
    })

    test('works on one lane alone for a command', async (t) => {
      const { db, clock } = await storeWith(t, 'a1 b1 b2')
      const { worker } = workerOn(db, clock)
      const done: string[] = []
      const work = async ({ line }: Line) => void done.push(line)
      const lane = { name: 'b', where: 'webhook_id = $5', params: ['b'], jobsMax: 1, work }
      await worker.workOn(lane)
      assert.deepEqual(done, ['1'])
      clock.advance(leaseMs - 1)
      await worker.workOn(lane)
      await worker.workOn(lane)
      assert.deepEqual(done, ['1', '2'])
    })

    test('logs the first of many failures, and leaves the job to the next lease', async (t) => {
      const { db, clock } = await storeWith(t, 'a1 b1')
      const { worker, begun, said, begins } = workerOn(db, clock)
      await begins('a1 b1')
      for (const { reject } of begun) reject(new Error('broken'))
      await eventually('it works again', async () => said.length === 2)
      assert.deepEqual(said, ['the work is failing; retrying until it works', 'the work works again'])
      clock.advance(leaseMs)
      await begins('a1 b1 a1 b1')
      for (const { resolve } of begun) resolve()
      await worker.stop()
    })
  })
