/** A sequence of rosters: plans, what holds or refuses them, imports, undo and events. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { eventsOf } from '../src/messages/events/events.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { holdCodes, isEmpty, isRefused, type Plan, Roster } from '../src/school/roster/roster.ts'
import { engines } from './support/engines.ts'
import { busySchool, findingCases, followUp, heldCases } from './support/roster-cases.ts'
import {
  addClass,
  addUser,
  bulk,
  change,
  delta,
  drop,
  edited,
  enrol,
  newSchool,
  schoolFiles,
} from './support/roster-school.ts'
import {
  inWorld,
  openWorld,
  publishes,
  rosterOf,
  signInStudent,
  studentsNow,
  visibleRows,
  type World,
  watched,
} from './support/roster-world.ts'
import { startService } from './support/service.ts'

function doing(plan: Plan, kind: keyof Plan['counts']): number[] {
  const { added, changed, leaving, returning } = plan.counts[kind]
  return [added, changed, leaving, returning]
}

function allDoing(plan: Plan): Record<string, number[]> {
  const kinds = Object.keys(plan.counts) as (keyof Plan['counts'])[]
  const some = kinds.filter((kind) => doing(plan, kind).some((count) => count > 0))
  return Object.fromEntries(some.map((kind) => [kind, doing(plan, kind)]))
}

const errorsOf = (plan: Plan) => plan.findings.filter(({ severity }) => severity === 'error')
const school = newSchool(4)
const idsOf = async ({ db }: World) => {
  const [persons, identities] = await Promise.all([
    db.all<{ id: string }>('select id from person order by id'),
    db.all('select sourced_id, person_id from student_identity order by sourced_id'),
  ])
  return { persons: persons.map(({ id }) => id), identities }
}

for (const engine of engines) {
  suite(`Plans and imports on ${engine}`, () => {
    let shared: World
    before(async () => {
      shared = await openWorld(engine)
    })
    after(() => shared.close())

    test('A first import adds everything, and the same file again changes nothing', () =>
      inWorld(engine, async (world) => {
        const plan = await world.plan(bulk(school))
        assert.deepEqual(allDoing(plan), {
          student: [4, 0, 0, 0],
          class: [2, 0, 0, 0],
          enrolment: [6, 0, 0, 0],
          user: [5, 0, 0, 0],
          role: [5, 0, 0, 0],
          course: [1, 0, 0, 0],
          term: [1, 0, 0, 0],
          org: [1, 0, 0, 0],
        })
        assert.deepEqual([plan.findings, plan.holds], [[], []])
        assert.deepEqual(Object.keys(await studentsNow(world.db)), [], 'a plan writes nothing')
        assert.equal(await world.roster.import(plan, { allow: [], by: byOperator }), 1)
        const before = [await visibleRows(world.db), await idsOf(world)]
        const again = await world.plan(bulk(school))
        assert.ok(isEmpty(again))
        assert.equal(await world.roster.import(again, { allow: [], by: byOperator }), null)
        assert.deepEqual([await visibleRows(world.db), await idsOf(world)], before)
        assert.equal((await world.roster.history()).length, 1)
      }))

    test('Bulk: what is absent leaves, what differs changes, what was there comes back', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const { persons } = await idsOf(world)
        const before = await studentsNow(world.db)
        const second = edited(school, (s) => {
          drop(s, 'stu-1')
          change(s.users, 'stu-2', { givenName: 'Other', email: 'other@school.example' })
          change(s.classes, 'class-2', { title: 'Other' })
          addUser(s, 'stu-5', 'student')
          enrol(s, 'stu-5', 'class-1')
        })
        const plan = await world.plan(bulk(second))
        assert.deepEqual(allDoing(plan), {
          student: [1, 1, 1, 0],
          class: [0, 1, 0, 0],
          enrolment: [1, 0, 1, 0],
          user: [1, 1, 1, 0],
          role: [1, 0, 1, 0],
        })
        await world.roster.import(plan, { allow: holdCodes, by: byOperator })
        const now = await studentsNow(world.db)
        assert.deepEqual(Object.keys(now), ['stu-2', 'stu-3', 'stu-4', 'stu-5'])
        assert.equal(now['stu-2'], before['stu-2'], 'a changed address is no new person')
        const back = await world.plan(bulk(school))
        assert.deepEqual(doing(back, 'student'), [0, 1, 1, 1])
        assert.deepEqual(doing(back, 'enrolment'), [0, 0, 1, 1])
        assert.deepEqual(doing(back, 'role'), [0, 0, 1, 1])
        await world.roster.import(back, { allow: holdCodes, by: byOperator })
        assert.deepEqual(await studentsNow(world.db), before)
        const after = await idsOf(world)
        assert.equal(after.persons.length, 5)
        assert.ok(persons.every((id) => after.persons.includes(id)))
      }))

    test('A file that is absent leaves its kind alone', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const vital = ['classes', 'users', 'roles', 'enrollments'] as const
        const grown = edited(school, (s) => addUser(s, 'stu-5', 'student'))
        const plan = await world.plan(bulk(grown, vital))
        assert.deepEqual(errorsOf(plan), [])
        assert.deepEqual(plan.file.missing, ['orgs.csv', 'academicSessions.csv', 'courses.csv'])
        assert.deepEqual(allDoing(plan), { student: [1, 0, 0, 0], user: [1, 0, 0, 0], role: [1, 0, 0, 0] })
        const users = await world.roster.plan(bulk(grown, ['users']), { mode: 'delta' })
        assert.deepEqual(errorsOf(users), [])
        assert.deepEqual(allDoing(users), { user: [1, 0, 0, 0] })
      }))

    test('Delta: only what is named changes, and tobedeleted takes away', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const rows = edited(school, (s) => addUser(s, 'stu-5', 'student'))
        const path = delta({
          users: [
            ['stu-1', null],
            ['stu-2', { ...rows.users.get('stu-2')!, givenName: 'Other' }],
            ['stu-3', rows.users.get('stu-3')!],
            ['stu-5', rows.users.get('stu-5')!],
          ],
          roles: [['role-stu-5', rows.roles.get('role-stu-5')!]],
          enrollments: [
            ['class-1-stu-1', null],
            ['class-1-stu-3', school.enrollments.get('class-1-stu-3')!],
          ],
        })
        const plan = await world.plan(path)
        assert.deepEqual(errorsOf(plan), [])
        assert.deepEqual(allDoing(plan), {
          student: [1, 1, 1, 0],
          enrolment: [0, 0, 1, 0],
          user: [1, 1, 1, 0],
          role: [1, 0, 0, 0],
        })
        await world.roster.import(plan, { allow: holdCodes, by: byOperator })
        assert.deepEqual(Object.keys(await studentsNow(world.db)), ['stu-2', 'stu-3', 'stu-4', 'stu-5'])
        assert.ok(isEmpty(await world.plan(path)), 'the same delta again is nothing')
        const returning = await world.plan(delta({ users: [['stu-1', school.users.get('stu-1')!]] }))
        assert.deepEqual(doing(returning, 'student'), [0, 0, 0, 1])
        const unknown = await world.plan(delta({ users: [['stu-99', null]] }))
        assert.ok(isEmpty(unknown) && !isRefused(unknown))
      }))

    test('A delta may name what is not there yet: a warning, and it counts once that comes', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const rows = edited(school, (s) => {
          addClass(s, 'class-9')
          enrol(s, 'stu-1', 'class-9')
        })
        const plan = await world.plan(
          delta({ enrollments: [['class-9-stu-1', rows.enrollments.get('class-9-stu-1')!]] }),
        )
        assert.deepEqual(
          plan.findings.map(({ severity, code, value }) => [severity, code, value]),
          [['warning', 'dangling-reference', 'class-9']],
        )
        await world.roster.import(plan, { allow: [], by: byOperator })
        await world.import(delta({ classes: [['class-9', rows.classes.get('class-9')!]] }))
        const whole = await world.plan(bulk(rows))
        assert.ok(isEmpty(whole), 'the two deltas make the whole')
      }))

    for (const [sentence, size, edit, expected, first] of heldCases) {
      test(`Held or not: ${sentence}`, async () => {
        const [before, second] = followUp(size, edit, first)
        await shared.import(before)
        const plan = await shared.plan(second)
        assert.deepEqual(errorsOf(plan), [])
        if (expected === null) return assert.deepEqual(plan.holds, [])
        const [code, reason] = expected
        assert.match(plan.holds.find((hold) => hold.code === code)?.reason ?? '', reason)
        const others = holdCodes.filter((each) => each !== code)
        await assert.rejects(shared.roster.import(plan, { allow: others, by: byOperator }), { exitCode: 2 })
        await assert.rejects(shared.roster.import(plan, { allow: [], by: byOperator }), /held/)
        assert.equal(
          typeof (await shared.roster.import(plan, { allow: holdCodes, by: byOperator })),
          'number',
        )
      })
    }

    test('An empty file is always held or refused, however small the school', async () => {
      await shared.import(bulk(school))
      const passed: string[] = []
      for (const file of schoolFiles) {
        const plan = await shared.plan(bulk({ ...school, [file]: new Map() }))
        if (plan.holds.length === 0 && !isRefused(plan)) passed.push(file)
      }
      assert.deepEqual(passed, [])
    })

    for (const [sentence, edit, expected] of findingCases) {
      test(`Found: ${sentence}`, async () => {
        await shared.import(bulk(school))
        const plan = await shared.plan(bulk(edited(school, edit)))
        const found = plan.findings.find(({ code }) => code === expected[1])
        assert.ok(found, `not ${JSON.stringify(plan.findings)}`)
        const { severity, code, file, line, column, value } = found
        assert.deepEqual([severity, code, file, column, value], expected)
        assert.equal(typeof line, 'number')
        assert.equal(isRefused(plan), severity === 'error')
        if (severity === 'warning') return
        const rows = await visibleRows(shared.db)
        await assert.rejects(shared.roster.import(plan, { allow: holdCodes, by: byOperator }), /errors/)
        assert.deepEqual(await visibleRows(shared.db), rows)
      })
    }

    test('A student may be in 500 classes and not in 501', () =>
      inWorld(engine, async (world) => {
        const [most, tooMany] = [await world.plan(busySchool(500)), await world.plan(busySchool(501))]
        assert.deepEqual(errorsOf(most), [])
        const [finding, ...more] = errorsOf(tooMany)
        assert.deepEqual([finding?.code, finding?.value, more], ['too-many-classes', 'stu-1', []])
      }))

    test('An import is refused if the roster changed since its plan was made', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const plan = await world.plan(bulk(edited(school, (s) => drop(s, 'stu-1'))))
        const undo = await world.roster.planUndo()
        await world.import(bulk(edited(school, (s) => drop(s, 'stu-2'))))
        const before = await visibleRows(world.db)
        await assert.rejects(
          world.roster.import(plan, { allow: holdCodes, by: byOperator }),
          /changed since the plan was made/,
        )
        await assert.rejects(
          world.roster.undo(undo, { allow: holdCodes, by: byOperator }),
          /changed since the plan was made/,
        )
        assert.deepEqual(await visibleRows(world.db), before)
      }))

    test('Undo goes back exactly, step by step, and forward again by importing', () =>
      inWorld(engine, async (world) => {
        const states = [await visibleRows(world.db)]
        const rosters = [
          school,
          edited(school, (s) => drop(s, 'stu-1')),
          edited(school, (s) => change(s.users, 'stu-2', { email: 'other@school.example' })),
        ].map((one) => bulk(one))
        for (const path of rosters) {
          world.clock.advance(60_000)
          await world.import(path)
          states.push(await visibleRows(world.db))
        }
        const { persons } = await idsOf(world)
        const users = await studentsNow(world.db)
        for (const step of [2, 1]) {
          await world.undo()
          assert.deepEqual(await visibleRows(world.db), states[step], `back to ${step}`)
        }
        await world.import(rosters[2]!)
        assert.deepEqual(await studentsNow(world.db), users, 'the same accounts')
        await world.undo()
        assert.deepEqual(await visibleRows(world.db), states[1])
        await world.undo()
        assert.deepEqual(await visibleRows(world.db), states[0])
        await assert.rejects(world.undo(), /no import to undo/)
        assert.deepEqual((await idsOf(world)).persons, persons, 'nobody was deleted')
        const history = await world.roster.history()
        assert.deepEqual(
          history.map(({ id, kind, parent }) => [id, kind, parent]),
          [
            [8, 'undo', 1],
            [7, 'undo', 6],
            [6, 'import', 1],
            [5, 'undo', 2],
            [4, 'undo', 3],
            [3, 'import', 2],
            [2, 'import', 1],
            [1, 'import', 0],
          ],
        )
        for (const { sha256, rows, published_at } of history) {
          assert.match(sha256, /^[0-9a-f]{64}$/)
          assert.ok(rows > 0 && published_at !== null)
        }
      }))

    test('The plan of an undo lists students by their names', () =>
      inWorld(engine, async (world) => {
        const students = newSchool(4)
        const names = ['Zimmer', 'Ångström', 'de Boer', 'Álvarez']
        for (const [i, familyName] of names.entries())
          change(students.users, `stu-${i + 1}`, { givenName: 'Ada', familyName })
        await world.import(bulk(students))
        const { changes } = await world.roster.planUndo()
        assert.deepEqual(
          [...changes()].map(({ name }) => name),
          ['Ada Álvarez', 'Ada Ångström', 'Ada de Boer', 'Ada Zimmer'],
        )
      }))

    test('After undo students read exactly what they read before', async () => {
      const service = await startService(engine)
      try {
        const roster = rosterOf(service)
        await roster.import(bulk(school))
        const { access } = await signInStudent(service, 'stu-1@school.example')
        const leaver = await signInStudent(service, 'stu-2@school.example')
        const read = async () => {
          const paths = ['/student/me', '/student/me/classes?when=all']
          return Promise.all(paths.map(async (path) => (await service.request(path, { token: access })).text))
        }
        const before = await read()
        service.clock.advance(60_000)
        await roster.import(
          bulk(
            edited(school, (s) => {
              drop(s, 'stu-2')
              change(s.users, 'stu-1', { givenName: 'Other' })
              change(s.users, 'tea-1', { givenName: 'Other' })
              change(s.orgs, 'org-1', { name: 'Other' })
            }),
          ),
        )
        const between = await read()
        assert.ok(between.every((text, i) => text !== before[i] && text.includes('Other')))
        service.clock.advance(60_000)
        await roster.undo()
        assert.deepEqual(await read(), before)
        assert.equal((await service.request('/student/me', { token: leaver.access })).status, 401)
        assert.equal((await signInStudent(service, 'stu-2@school.example')).userId, leaver.userId)
      } finally {
        await service.stop()
      }
    })

    test('Events say what became of students, by ids alone, from the publication on', () =>
      inWorld(engine, async (world) => {
        const { db } = world
        await world.import(bulk(school))
        const ids = await studentsNow(db)
        const next = bulk(
          edited(school, (s) => {
            drop(s, 'stu-1')
            change(s.users, 'stu-2', { givenName: 'Other' })
          }),
        )
        const typesOf = async (name: string) => (await eventsOf(db, ids[name]!)).map(({ type }) => type)
        const failing = watched(db, (statements) => {
          if (publishes(statements)) throw new Error('the power went')
        })
        const roster = new Roster(failing, world.clock)
        await assert.rejects(
          roster.import(await roster.plan(next), { allow: holdCodes, by: byOperator }),
          /the power went/,
        )
        assert.deepEqual(await typesOf('stu-1'), ['student.added'], 'a failed import is no event')
        for (const path of [next, bulk(school)]) {
          world.clock.advance(1_000)
          await world.import(path)
        }
        world.clock.advance(1_000)
        await world.undo()
        const added = 'student.added'
        const [off, on] = ['student.deactivated', 'student.reactivated']
        assert.deepEqual(await typesOf('stu-1'), [added, off, on, off])
        assert.deepEqual(await typesOf('stu-2'), [added, ...Array(3).fill('student.updated')])
        assert.deepEqual(await typesOf('stu-3'), [added])
        const all = await db.all<{ type: string; data: string }>('select * from event order by at, id')
        const times = (wanted: string) => all.filter(({ type }) => type === wanted).length
        assert.deepEqual([times('roster.imported'), times('roster.undone')], [3, 1])
        const text = JSON.stringify(all)
        for (const word of ['stu-', 'school.example', 'Given', 'Family', 'Other'])
          assert.ok(!text.includes(word), word)
      }))
  })
}
