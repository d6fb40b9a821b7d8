/** An import or undo that stalls for longer than its lease writes nothing more. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Db } from '../src/platform/db/db.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { holdCodes, Roster } from '../src/school/roster/roster.ts'
import { atLength, copiedStore, type Engine, engines, migratedStore, type Store } from './support/engines.ts'
import { addUser, bulk, drop, edited, newSchool, type School } from './support/roster-school.ts'
import {
  assertSound,
  contentOf,
  inWorld,
  publishes,
  studentsNow,
  type World,
  watched,
  writesStudents,
} from './support/roster-world.ts'

const batch = 8
const leaseOverMs = 60_000

const version = (name: string, edit: (s: School) => void = () => {}) =>
  bulk(
    edited(newSchool(5), (s) => {
      for (const [id, user] of s.users) s.users.set(id, { ...user, givenName: name })
      edit(s)
    }),
  )
const withOneMore = (name: string) =>
  version(name, (s) => {
    drop(s, 'stu-2')
    addUser(s, `${name}-1`, 'student')
  })
const [first, base, leftover, slowFile, quickFile] = [
  version('First'),
  withOneMore('Base'),
  withOneMore('Leftover'),
  withOneMore('Slow'),
  withOneMore('Quick'),
]

type Work = 'import' | 'undo'

async function planned(roster: Roster, work: Work, file: string): Promise<() => Promise<unknown>> {
  if (work === 'undo') {
    const plan = await roster.planUndo()
    return () => roster.undo(plan, { allow: holdCodes, by: byOperator })
  }
  const plan = await roster.plan(file)
  return () => roster.import(plan, { allow: holdCodes, by: byOperator })
}

/** Everything that an import or undo writes, visible or not. */
async function everything(db: Db): Promise<object> {
  const tables: Record<string, string[]> = {}
  for (const table of [
    'roster_record',
    'roster_enrolment',
    'student',
    'student_identity',
    'roster_generation',
    'roster_departure',
    'person',
    'event',
  ])
    tables[table] = (await db.all(`select * from ${table}`)).map((row) => JSON.stringify(row)).sort()
  return { ...tables, state: { ...(await db.one('select content, generation from roster_state')) } }
}

/** Stops before the write that `at` selects, until told to go on. */
function stallingRoster(world: World, at: (sql: string, write: number) => boolean) {
  const reached = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  let writes = 0
  let stalled = false
  const db = watched(world.db, async (statements) => {
    // Giving the hold back is no part of the work.
    if (statements.some(({ sql }) => /set leased_by = null/.test(sql))) return
    writes++
    if (stalled || !statements.some(({ sql }) => at(sql, writes))) return
    stalled = true
    reached.resolve()
    await goOn.promise
  })
  return {
    roster: new Roster(db, world.clock, { rowsPerBatch: batch }),
    reached: reached.promise,
    goOn: () => goOn.resolve(),
  }
}

const settled = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: Error) => error.message,
  )

/** Two imports, and the leftovers of a third that was killed. */
async function prepare(world: World): Promise<void> {
  await world.import(first)
  await world.import(base)
  const killed = new Roster(
    watched(world.db, (statements) => {
      if (publishes(statements)) throw new Error('the power went')
    }),
    world.clock,
  )
  const plan = await killed.plan(leftover)
  assert.equal(await settled(killed.import(plan, { allow: holdCodes, by: byOperator })), 'the power went')
}

/** A prepared store to copy from. */
async function preparedStore(engine: Engine): Promise<Store> {
  const store = await migratedStore(engine)
  await inWorld(engine, prepare, { ...store, remove: async () => {} })
  return store
}

interface Case {
  readonly slow: Work
  readonly quick: Work
  /** The stalled one goes on while the other is about to publish, or when it is done. */
  readonly goesOn: 'before' | 'after'
}

/** Returns false once the slow one makes fewer writes than that. */
async function stallsBefore(
  world: World,
  write: number,
  { slow, quick, goesOn }: Case,
  expected: object,
): Promise<boolean> {
  const where = `stalled before write ${write}`
  const slowOne = stallingRoster(world, (_, n) => n === write)
  const doSlow = await planned(slowOne.roster, slow, slowFile)
  const slowResult = settled(doSlow())
  if (!(await Promise.race([slowOne.reached.then(() => true), slowResult.then(() => false)]))) {
    assert.equal(await slowResult, null)
    return false
  }
  world.clock.advance(leaseOverMs)

  const quickOne = stallingRoster(world, (sql) => goesOn === 'before' && publishes([{ sql, params: [] }]))
  const doQuick = await planned(quickOne.roster, quick, quickFile)
  const quickResult = settled(doQuick())
  if (goesOn === 'before') await quickOne.reached
  else assert.equal(await quickResult, null, where)

  const before = await everything(world.db)
  slowOne.goOn()
  assert.match((await slowResult) ?? 'done', /took over|changed since|is running/, where)
  assert.deepEqual(await everything(world.db), before, where)

  quickOne.goOn()
  assert.equal(await quickResult, null, where)
  assert.deepEqual(await contentOf(world.db), expected, where)
  await assertSound(world.db)
  return true
}

for (const engine of engines) {
  suite(`The lease of a roster on ${engine}`, { concurrency: true, ...atLength }, () => {
    let prepared: Store
    before(async () => {
      prepared = await preparedStore(engine)
    })
    after(() => prepared.remove())
    const inPrepared = async <T>(work: (world: World) => Promise<T>) =>
      inWorld(engine, work, await copiedStore(engine, prepared))

    const contentAfter = (file: string) =>
      inWorld(engine, async (world) => {
        await world.import(file)
        return contentOf(world.db)
      })

    // Both engines get the same statements. On SQLite every write is tried, `before` or `after`.
    const every = engine === 'sqlite' ? 2 : 6
    for (const [slow, quick, writesMin] of [
      ['import', 'import', 20],
      ['import', 'undo', 20],
      ['undo', 'undo', 5],
      ['undo', 'import', 5],
    ] as const) {
      for (const goesOn of ['before', 'after'] as const) {
        test(`An ${slow} that stalls, wherever, and goes on ${goesOn} an ${quick} publishes, writes nothing`, async () => {
          const expected = await contentAfter(quick === 'undo' ? first : quickFile)
          const which = { slow, quick, goesOn }
          let write = goesOn === 'before' ? 1 : 2
          while (await inPrepared((world) => stallsBefore(world, write, which, expected))) write += every
          assert.ok(write > writesMin, `${write - 1} writes`)
        })
      }
    }

    test('An undo clears away what a killed one has left', () =>
      inPrepared(async (world) => {
        await world.undo()
        const half = await world.db.all('select id from roster_generation where published_at is null')
        assert.deepEqual(half, [])
      }))

    test('A lease of a clock that was an hour ahead is in nobody’s way', () =>
      inWorld(engine, async (world) => {
        await world.import(first)
        const until = world.clock.now() + 60 * 60_000
        await world.db.run("update roster_state set leased_by = 'dead', leased_until = $1", [until])
        await world.import(base)
      }))

    test('Two imports of one Roster at once are two, and one wins', () =>
      inWorld(engine, async (world) => {
        await world.import(first)
        const plans = [await world.plan(slowFile), await world.plan(quickFile)]
        const results = await Promise.all(
          plans.map((plan) => settled(world.roster.import(plan, { allow: holdCodes, by: byOperator }))),
        )
        assert.deepEqual(results.filter((message) => message === null).length, 1)
        assert.match(results.find((message) => message !== null)!, /is running|changed since/)
        const winner = results[0] === null ? slowFile : quickFile
        assert.deepEqual(await contentOf(world.db), await contentAfter(winner))
      }))

    test('A generation that was given up never gives its number to another', () =>
      inPrepared(async (world) => {
        const [unseen] = await world.db.all<{ id: number }>(
          'select id from roster_generation where published_at is null',
        )
        assert.ok((await world.import(quickFile))! > unseen!.id)
        assert.ok((await world.undo()) > unseen!.id + 1)
      }))

    test('A generation that an older program numbered during an upgrade is in nobody’s way', () =>
      inWorld(engine, async (world) => {
        const number = await world.import(first)
        await world.db.run('update roster_state set last_generation = 0')
        assert.equal(await world.import(quickFile), number! + 1)
      }))

    test('A row that is there already fails the import, and nothing of it is seen', () =>
      inWorld(engine, async (world) => {
        await world.import(first)
        const before = await studentsNow(world.db)
        const meddled = watched(world.db, async (statements) => {
          if (!writesStudents(statements)) return
          await world.db.run(
            "insert into student_identity (sourced_id, person_id, generation) values ('Quick-1', 'somebody', 99)",
          )
        })
        const roster = new Roster(meddled, world.clock)
        const message = await settled(
          roster.import(await roster.plan(quickFile), { allow: holdCodes, by: byOperator }),
        )
        assert.match(message ?? 'done', /unique/i)
        assert.deepEqual(await studentsNow(world.db), before)
      }))
  })
}
