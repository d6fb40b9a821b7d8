/** Rosters of any size: deltas that look at what they touch, generations that are folded away. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { sweptRowsMax } from '../src/platform/db/db.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { day } from '../src/platform/lib/clock.ts'
import { FindingLog } from '../src/school/roster/findings.ts'
import { judge } from '../src/school/roster/plan.ts'
import { readRoster } from '../src/school/roster/read/read.ts'
import { foldGenerations, holdCodes, type Plan } from '../src/school/roster/roster.ts'
import { rosterState } from '../src/school/roster/store/state.ts'
import { usualShares } from '../src/school/roster/words.ts'
import { standingIn, Workbench } from '../src/school/roster/workbench/workbench.ts'
import { atLength, engines, onPostgres } from './support/engines.ts'
import {
  addClass,
  addUser,
  bulk,
  change,
  type Delta,
  delta,
  drop,
  edited,
  enrol,
  newSchool,
  numbers,
  type School,
} from './support/roster-school.ts'
import { inWorld, onRead, visibleRows, type World } from './support/roster-world.ts'

const today = '2026-11-15'
const school = edited(newSchool(30, 3), (s) => {
  for (const n of numbers(30)) change(s.users, `stu-${n}`, { identifier: `S${n}` })
  change(s.users, 'stu-29', { email: '' })
  change(s.roles, 'role-stu-30', { beginDate: '2026-11-14' })
})

/** Rows of one school that are to become those of another. */
function deltaOf(before: School, then: School): Delta {
  const files = ['classes', 'users', 'roles', 'enrollments', 'academicSessions', 'courses'] as const
  const rowsOf = (file: (typeof files)[number]) => {
    const [old, fresh] = [before[file], then[file]]
    const changed = [...fresh].filter(([id, cells]) => JSON.stringify(old.get(id)) !== JSON.stringify(cells))
    const gone = [...old.keys()].filter((id) => !fresh.has(id)).map((id) => [id, null] as const)
    return [...changed, ...gone]
  }
  return Object.fromEntries(
    files.map((file) => [file, rowsOf(file)] as const).filter(([, rows]) => rows.length > 0),
  )
}

/** A plan for which the whole roster is read, whatever the file. */
async function planOfWhole({ db }: World, path: string): Promise<Plan> {
  const bench = new Workbench(db)
  const log = new FindingLog()
  const file = await readRoster(path, { mode: null }, log, bench.incoming)
  const options = { today, match: null, skipBadRowsMax: 0, holdShares: usualShares }
  return bench.beside(db, await standingIn(db, await rosterState(db)), null, (standing) =>
    judge(standing, { bench, file, log }, options),
  )
}

const shown = ({ counts, findings, holds, ...plan }: Plan) => ({
  counts,
  findings,
  holds,
  changes: [...plan.changes()],
})

const edits: readonly (readonly [string, (s: School) => void])[] = [
  ['renames somebody', (s) => change(s.users, 'stu-1', { familyName: 'Other' })],
  ['takes somebody off', (s) => drop(s, 'stu-2')],
  ['takes off a user alone', (s) => s.users.delete('stu-2')],
  ['gives an address that another has', (s) => change(s.users, 'stu-3', { email: 'stu-4@school.example' })],
  ['gives the address of a teacher', (s) => change(s.users, 'stu-3', { email: 'tea-1@school.example' })],
  ['names an unknown class', (s) => enrol(s, 'stu-5', 'class-99')],
  [
    'moves somebody to another class',
    (s) => {
      s.enrollments.delete('class-1-stu-1')
      enrol(s, 'stu-1', 'class-2')
    },
  ],
  [
    'brings a new student with the address of one who leaves',
    (s) => {
      drop(s, 'stu-6')
      addUser(s, 'new-6', 'student', { email: 'stu-6@school.example', identifier: 'S6' })
    },
  ],
  [
    'changes a class and its teacher',
    (s) => {
      change(s.classes, 'class-1', { title: 'Surgery' })
      change(s.users, 'tea-1', { familyName: 'Green' })
    },
  ],
  [
    'brings a class with people',
    (s) => {
      addClass(s, 'class-9')
      for (const n of numbers(5)) enrol(s, `stu-${n}`, 'class-9')
    },
  ],
  ['ends a role', (s) => change(s.roles, 'role-stu-7', { endDate: '2026-11-01' })],
  ['moves a term', (s) => change(s.academicSessions, 'term-1', { startDate: '2026-12-01' })],
  ['takes a class away', (s) => s.classes.delete('class-1')],
  [
    'takes every enrolment of a class away',
    (s) => {
      for (const id of s.enrollments.keys()) if (id.startsWith('class-1-')) s.enrollments.delete(id)
    },
  ],
]

for (const engine of engines) {
  suite(`Rosters of any size on ${engine}`, { concurrency: true, ...atLength }, () => {
    test('A delta comes to the same, whether the whole roster is read or what it touches', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        await world.import(bulk(edited(school, (s) => drop(s, 'stu-28'))))
        const before = edited(school, (s) => drop(s, 'stu-28'))
        for (const [name, edit] of edits) {
          const path = delta(deltaOf(before, edited(before, edit)))
          assert.deepEqual(shown(await world.plan(path)), shown(await planOfWhole(world, path)), name)
        }
        const back = delta(deltaOf(before, school))
        assert.deepEqual(shown(await world.plan(back)), shown(await planOfWhole(world, back)))
        assert.equal((await world.plan(back)).counts.student.returning, 1)
      }))

    test('A delta reads neither all people nor all enrolments', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const paged: string[] = []
        const stop = onRead(world.db, (sql) => {
          const [, table] = /from (\w+) t\s+where.* order by t\.\w+ limit/s.exec(sql) ?? []
          if (table !== undefined && table !== 'roster_record') paged.push(table)
        })
        await world.plan(delta({ users: [['stu-1', { ...school.users.get('stu-1')!, givenName: 'Ada' }]] }))
        assert.deepEqual(paged, [])
        await world.plan(bulk(school))
        // SQLite shows the store beside the file.
        assert.deepEqual(paged, engine === 'sqlite' ? [] : ['roster_enrolment', 'student'])
        stop()
      }))

    test('A role that begins makes a student of somebody whom the delta does not name', () =>
      inWorld(engine, async (world) => {
        const later = edited(school, (s) => change(s.roles, 'role-stu-8', { beginDate: '2026-11-17' }))
        await world.import(bulk(later))
        const path = delta({ users: [['stu-1', { ...school.users.get('stu-1')!, givenName: 'Ada' }]] })
        assert.equal((await world.plan(path)).counts.student.added, 0)
        world.clock.advance(3 * day)
        const plan = await world.plan(path)
        assert.deepEqual([plan.counts.student.added, plan.counts.student.changed], [1, 1])
        await world.roster.import(plan, { allow: [], by: byOperator })
        assert.ok((await world.plan(path)).students.get('stu-8'))
      }))

    test('A plan that is made while another import begins sees all that stands', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const close = 'update roster_enrolment set to_gen = 99 where to_gen is null'
        let isBegun = false
        const stop = onRead(world.db, async (sql) => {
          if (isBegun || !/from roster_enrolment t/.test(sql)) return
          isBegun = true
          await world.db.run(close)
        })
        const { enrolment } = (await world.plan(bulk(school))).counts
        stop()
        assert.deepEqual([enrolment.before, enrolment.added], [33, 0])
      }))

    test('An undo that is planned while another import begins is judged by all that stands', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        await world.import(bulk(edited(school, (s) => drop(s, 'stu-1'))))
        const close = 'update roster_record set to_gen = 99 where to_gen is null'
        let isBegun = false
        const stop = onRead(world.db, async (sql) => {
          if (isBegun || !/from roster_record t\s+where t\.kind = \$2 and t\.from_gen.*is null/.test(sql))
            return
          isBegun = true
          await world.db.run(close)
        })
        const plan = await world.roster.planUndo()
        stop()
        assert.deepEqual([isBegun, plan.counts.returning, plan.holds], [true, 1, []])
      }))

    test('Old generations are folded away, and those that are kept can be undone exactly', () =>
      inWorld(engine, async (world) => {
        const { db, clock, roster } = world
        const states = [await visibleRows(db)]
        for (const n of numbers(5)) {
          clock.advance(100 * day)
          await world.import(bulk(edited(school, (s) => drop(s, `stu-${n}`))))
          states.push(await visibleRows(db))
        }
        const fold = async (keptDays: number, keptImports: number) => {
          const statements = foldGenerations(clock.now() - keptDays * day, keptImports)
          while ((await db.tx(statements)).some((rows) => rows.length >= sweptRowsMax));
        }
        const closed = async () =>
          (await db.one<{ n: number }>('select count(*) as n from student where to_gen is not null'))!.n
        await fold(1_000, 2)
        assert.equal(await closed(), 4, 'the days decide, if they are longer')
        await fold(150, 3)
        assert.equal(await closed(), 3, 'the imports decide, if they are more')
        await fold(150, 1)
        assert.equal(await closed(), 2)
        assert.deepEqual(await visibleRows(db), states[5])
        await assert.rejects(roster.planUndo(0), /number 0 is no longer kept; available: 3, 4 \(/)
        await assert.rejects(roster.planUndo(2), /number 2 is no longer kept/)
        await assert.rejects(roster.planUndo(9), /number 9 cannot be restored/)
        await roster.undo(await roster.planUndo(3), { allow: holdCodes, by: byOperator })
        assert.deepEqual(await visibleRows(db), states[3])
        await assert.rejects(roster.planUndo(), /number 3 can no longer be undone/)
        await fold(1, 1)
        assert.deepEqual(await visibleRows(db), states[3])
        await world.import(bulk(school))
        assert.equal((await db.all('select 1 as one from student where to_gen > 3 and to_gen < 7')).length, 0)
      }))

    test('An undo that was planned before its goal was folded away does nothing', () =>
      inWorld(engine, async (world) => {
        for (const n of numbers(4)) {
          world.clock.advance(100 * day)
          await world.import(bulk(edited(school, (s) => drop(s, `stu-${n}`))))
        }
        const plan = await world.roster.planUndo(1)
        const before = await visibleRows(world.db)
        await world.db.tx(foldGenerations(world.clock.now(), 1))
        await assert.rejects(
          world.roster.undo(plan, { allow: holdCodes, by: byOperator }),
          /the roster has changed since the plan was made/,
        )
        assert.deepEqual(await visibleRows(world.db), before)
      }))
  })
}

test('Statistics are renewed when much has changed, and not for a small delta', onPostgres, () =>
  inWorld('postgres', async (world) => {
    let renewed = 0
    const analyze = world.db.analyze.bind(world.db)
    Object.assign(world.db, {
      analyze: (tables: readonly string[]) => {
        renewed++
        return analyze(tables)
      },
    })
    const school = newSchool(50)
    await world.import(bulk(school))
    assert.equal(renewed, 1)
    await world.import(bulk(edited(school, (copy) => drop(copy, 'stu-1'))))
    assert.equal(renewed, 1)
    await world.import(bulk(newSchool(100)))
    assert.equal(renewed, 2)
  }),
)
