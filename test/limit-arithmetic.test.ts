/** Buckets in the store count as `lib/limit.ts` says. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { type Db, readNow } from '../src/platform/db/db.ts'
import { giveBack, readCounts, takeFromBuckets } from '../src/platform/db/limits.ts'
import { openDb } from '../src/platform/db/open.ts'
import {
  type Bucket,
  freeAt,
  fullAtIn,
  isEmpty,
  left,
  oneLess,
  oneMore,
  type Rate,
} from '../src/platform/lib/limit.ts'
import { newId } from '../src/platform/lib/random.ts'
import { engines, migratedStore, type Store } from './support/engines.ts'

const start = Date.parse('2026-11-18T08:00:00Z')
const rate = fc.record({
  burst: fc.integer({ min: 1, max: 5 }),
  intervalMs: fc.integer({ min: 1, max: 1_000 }),
})
const step = fc.record({
  afterMs: fc.integer({ min: 0, max: 1_500 }),
  isTake: fc.boolean(),
})

test('A full bucket holds its burst, and an empty one gets one back in every interval', () => {
  const three: Rate = { burst: 3, intervalMs: 100 }
  let fullAt = 0
  for (const expected of [2, 1, 0]) {
    assert.equal(isEmpty(three, fullAt, start), false)
    fullAt = oneLess(three, fullAt, start)
    assert.equal(left(three, fullAt, start), expected)
  }
  assert.equal(isEmpty(three, fullAt, start), true)
  assert.equal(freeAt(three, fullAt), start + 100)
  assert.equal(isEmpty(three, fullAt, start + 99), true)
  assert.equal(isEmpty(three, fullAt, start + 100), false)
  assert.equal(left(three, oneMore(three, fullAt, start), start), 1)
})

for (const engine of engines)
  describe(`Buckets on ${engine}`, () => {
    let store: Store
    let db: Db
    before(async () => {
      store = await migratedStore(engine)
      db = openDb(store.url)
    })
    after(async () => {
      await db.close()
      await store.remove()
    })

    test('take and give back as the arithmetic says, all or none of them', async () => {
      await fc.assert(
        fc.asyncProperty(rate, rate, fc.array(step, { maxLength: 20 }), async (a, b, steps) => {
          const rows: Bucket[] = [a, b].map((one) => ({ ...one, key: newId() }))
          let fullAts = [0, 0]
          let now = start
          for (const { afterMs, isTake } of steps) {
            now += afterMs
            if (isTake) {
              const [taken] = await db.unsynced([takeFromBuckets(rows, now)])
              const granted = rows.every((row, i) => !isEmpty(row, fullAts[i]!, now))
              assert.equal(taken!.length, granted ? 2 : 0)
              if (granted) fullAts = rows.map((row, i) => oneLess(row, fullAts[i]!, now))
            } else {
              await db.tx(giveBack(rows, now))
              fullAts = rows.map((row, i) => oneMore(row, fullAts[i]!, now))
            }
            const counts = await readNow(db, readCounts(rows))
            assert.deepEqual(
              rows.map((row) => fullAtIn(counts, row)),
              fullAts,
            )
          }
        }),
        { numRuns: 40 },
      )
    })
  })
