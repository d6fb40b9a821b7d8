/** People in rosters: who keeps an account, corrections by hand, and what plans, undo and history say of them. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { eventsOf } from '../src/messages/events/events.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { type Change, fieldsOf, holdCodes, isRefused } from '../src/school/roster/roster.ts'
import { engines } from './support/engines.ts'
import {
  addClass,
  addUser,
  bulk,
  change,
  drop,
  edited,
  enrol,
  newSchool,
  numbers,
  type School,
} from './support/roster-school.ts'
import {
  assertSound,
  inWorld,
  rosterOf,
  signInStudent,
  studentsNow,
  visibleRows,
} from './support/roster-world.ts'
import { type Service, startService } from './support/service.ts'

const school = edited(newSchool(6), (s) => {
  for (const n of numbers(6)) change(s.users, `stu-${n}`, { identifier: `S${n}` })
})

/** The same people in another system: every sourcedId is new. */
function inOtherSystem(from: School, count = 6): School {
  return edited(from, (s) => {
    for (const n of numbers(count)) {
      const user = s.users.get(`stu-${n}`)!
      const own = [...s.enrollments.values()].filter((row) => row.userSourcedId === `stu-${n}`)
      drop(s, `stu-${n}`)
      addUser(s, `sis-${n}`, 'student', user)
      for (const { classSourcedId } of own) enrol(s, `sis-${n}`, classSourcedId!)
    }
  })
}

const named = (changes: Iterable<Change>, kind: Change['kind']) =>
  [...changes]
    .filter((one) => one.kind === kind)
    .map(({ operation, name, studentNumber }) => [operation, name, studentNumber])

for (const engine of engines) {
  suite(`Accounts that stay on ${engine}`, { concurrency: true }, () => {
    for (const match of ['number', 'address'] as const) {
      test(`New sourcedIds for most are held, and matched by ${match} the accounts stay`, () =>
        inWorld(engine, async (world) => {
          await world.import(bulk(school))
          const before = await studentsNow(world.db)
          const path = bulk(inOtherSystem(school))
          const held = (await world.plan(path)).holds.find(({ code }) => code === 'identities')!
          assert.deepEqual(held.numbers, { added: 6, after: 6, byNumber: 6, byAddress: 6 })
          assert.match(held.reason, /--match number.*--match address/)
          const plan = await world.roster.plan(path, { match })
          assert.deepEqual(
            [plan.counts.student.added, plan.counts.student.leaving, plan.counts.student.changed],
            [0, 0, 6],
          )
          assert.ok(plan.holds.every(({ code }) => code !== 'identities' && code !== 'leavers'))
          await world.roster.import(plan, { allow: ['changes'], by: byOperator })
          const now = await studentsNow(world.db)
          for (const n of numbers(6)) assert.equal(now[`sis-${n}`], before[`stu-${n}`])
          await assertSound(world.db)
          const again = await world.plan(
            bulk(
              inOtherSystem(
                edited(school, (s) => drop(s, 'stu-6')),
                5,
              ),
            ),
          )
          assert.deepEqual(again.counts.student.added, 0, 'later files need no matching')
        }))
    }

    test('An undone match is gone: the next import may make new accounts, or match otherwise', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const [before, rows] = [await studentsNow(world.db), await visibleRows(world.db)]
        const path = bulk(inOtherSystem(school))
        const matched = await world.roster.plan(path, { match: 'number' })
        await world.roster.import(matched, { allow: ['changes'], by: byOperator })
        await world.undo()
        assert.deepEqual(await visibleRows(world.db), rows)
        await world.import(path)
        const now = await studentsNow(world.db)
        for (const n of numbers(6)) assert.notEqual(now[`sis-${n}`], before[`stu-${n}`])
        await assertSound(world.db)
        await world.undo()
        assert.deepEqual(await studentsNow(world.db), before)
      }))

    test('A number or address that two have matches nobody', () =>
      inWorld(engine, async (world) => {
        const twins = edited(school, (s) => change(s.users, 'stu-2', { identifier: 'S1' }))
        await world.import(bulk(twins))
        const plan = await world.roster.plan(bulk(inOtherSystem(twins)), { match: 'number' })
        assert.deepEqual([plan.counts.student.added, plan.counts.student.leaving], [2, 2])
      }))

    test('An id and the one it was matched with cannot both be students', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const plan = await world.roster.plan(bulk(inOtherSystem(school)), { match: 'number' })
        await world.roster.import(plan, { allow: ['changes'], by: byOperator })
        const both = edited(inOtherSystem(school), (s) =>
          addUser(s, 'stu-1', 'student', { email: 'twin@school.example' }),
        )
        const refused = await world.plan(bulk(both))
        assert.ok(isRefused(refused))
        assert.equal(refused.findings.find(({ severity }) => severity === 'error')?.code, 'same-account')
      }))

    test('A plan names whom and what it changes', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const next = edited(school, (s) => {
          drop(s, 'stu-1')
          change(s.users, 'stu-2', { email: 'other@school.example' })
          change(s.classes, 'class-1', { title: 'Surgery', location: 'Hall 2' })
          addUser(s, 'stu-7', 'student', { givenName: 'Nia', familyName: 'Okafor', identifier: 'S7' })
          enrol(s, 'stu-7', 'class-1')
        })
        const plan = await world.plan(bulk(next))
        const changes = [...plan.changes()]
        assert.deepEqual(named(changes, 'student'), [
          ['changed', 'Given Family stu-2', 'S2'],
          ['added', 'Nia Okafor', 'S7'],
          ['leaving', 'Given Family stu-1', 'S1'],
        ])
        const moved = changes.find(({ kind, operation }) => kind === 'student' && operation === 'changed')!
        assert.deepEqual(fieldsOf(moved), [
          { field: 'email', before: 'stu-2@school.example', after: 'other@school.example' },
        ])
        const retitled = changes.find(({ kind }) => kind === 'class')!
        assert.deepEqual(
          fieldsOf(retitled).map(({ field, after }) => [field, after]),
          [
            ['title', 'Surgery'],
            ['location', 'Hall 2'],
          ],
        )
        assert.deepEqual(
          named(changes, 'enrolment').map(([, name]) => name),
          ['Nia Okafor in Surgery', 'Given Family stu-1 in Surgery'],
        )
      }))

    test('Undo goes back to any number that led here, and history says who did what', () =>
      inWorld(engine, async (world) => {
        const states = [await visibleRows(world.db)]
        for (const n of numbers(4)) {
          world.clock.advance(60_000)
          await world.import(bulk(edited(school, (s) => drop(s, `stu-${n}`))))
          states.push(await visibleRows(world.db))
        }
        const plan = await world.roster.planUndo(2)
        assert.deepEqual(
          plan.undone.map(({ id }) => id),
          [4, 3],
        )
        assert.deepEqual(named(plan.changes(), 'student'), [
          ['leaving', 'Given Family stu-2', 'S2'],
          ['returning', 'Given Family stu-4', 'S4'],
        ])
        await world.roster.undo(plan, { allow: holdCodes, by: { ...byOperator, actor: 'somebody' } })
        assert.deepEqual(await visibleRows(world.db), states[2])
        for (const to of [2, 5])
          await assert.rejects(world.roster.planUndo(to), /is what the roster is now; available: 0, 1, 3, 4 /)
        await assert.rejects(world.roster.planUndo(99), /cannot be restored/)
        await world.roster.undo(await world.roster.planUndo(0), { allow: holdCodes, by: byOperator })
        assert.deepEqual(await visibleRows(world.db), states[0])
        // Number 5 is an undo to number 2.
        await assert.rejects(world.roster.planUndo(99), /available: 1, 2, 3, 4, 5 \(/)
        const { reachable } = await world.roster.standing()
        for (const { id, content } of await world.roster.history()) {
          const isOffered = [1, 2, 3, 4, 5].includes(id)
          assert.equal(reachable.includes(content), isOffered)
          if (isOffered) assert.ok(await world.roster.planUndo(id))
        }
        const history = await world.roster.history()
        assert.deepEqual(
          history.slice(0, 3).map(({ id, kind, content, actor }) => [id, kind, content, actor]),
          [
            [6, 'undo', 0, 'operator'],
            [5, 'undo', 2, 'somebody'],
            [4, 'import', 4, 'operator'],
          ],
        )
      }))

    test('Undo goes forward again to a number that was undone, until the next import begins', () =>
      inWorld(engine, async (world) => {
        const states = [await visibleRows(world.db)]
        for (const n of numbers(4)) {
          world.clock.advance(60_000)
          await world.import(bulk(edited(school, (s) => drop(s, `stu-${n}`))))
          states.push(await visibleRows(world.db))
        }
        const go = async (to: number) => {
          const plan = await world.roster.planUndo(to)
          await world.roster.undo(plan, { allow: holdCodes, by: byOperator })
          assert.deepEqual(await visibleRows(world.db), states[to], `at ${to}`)
          return plan
        }
        await go(1)
        const forward = await go(3)
        assert.deepEqual(
          forward.undone.map(({ id }) => id),
          [5],
        )
        assert.deepEqual(named(forward.changes(), 'student'), [
          ['returning', 'Given Family stu-1', 'S1'],
          ['leaving', 'Given Family stu-3', 'S3'],
        ])
        await go(2)
        await go(4)
        await go(0)
        await go(4)
        await go(3)
        assert.deepEqual((await world.roster.standing()).reachable, [4, 2, 1, 0])
        await world.import(bulk(school))
        await assert.rejects(world.roster.planUndo(4), /cannot be restored/)
        await world.undo()
        assert.deepEqual(await visibleRows(world.db), states[3])
      }))

    test('Undo goes to each number that it offers, also to that of an undo, and to no other', () =>
      inWorld(engine, async (world) => {
        const states = new Map([[0, await visibleRows(world.db)]])
        const go = async (to: number) => {
          const undo = await world.roster.planUndo(to)
          await world.roster.undo(undo, { allow: holdCodes, by: byOperator })
          assert.deepEqual(await visibleRows(world.db), states.get(to), `at ${to}`)
          const { generation } = await world.roster.standing()
          states.set(generation, states.get(to)!)
        }
        for (const n of numbers(2)) {
          await world.import(bulk(edited(school, (s) => drop(s, `stu-${n}`))))
          states.set(n, await visibleRows(world.db))
        }
        const offered = async () => {
          const { reachable } = await world.roster.standing()
          const offers: number[] = []
          for (const { id, content } of await world.roster.history()) {
            const plan = await world.roster.planUndo(id).catch(() => null)
            assert.equal(plan !== null, reachable.includes(content), `number ${id}`)
            if (plan) offers.push(id)
          }
          return offers
        }
        await go(1)
        await go(0)
        assert.deepEqual(await offered(), [3, 2, 1])
        await go(3)
        assert.deepEqual(await offered(), [4, 2])
        await go(4)
        await go(2)
        assert.deepEqual(await offered(), [6, 5, 4, 3, 1])
        await world.import(bulk(school))
        assert.deepEqual(await offered(), [7, 6, 5, 4, 3, 2, 1])
        await go(1)
        await world.import(bulk(edited(school, (s) => drop(s, 'stu-3'))))
        assert.deepEqual(await offered(), [9, 6, 5, 4, 3, 1], 'numbers 2, 7 and 8 are left behind')
      }))

    test('An undo of a match counts each student once, in its figures and in its holds', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const grown = edited(inOtherSystem(school), (s) => {
          for (const n of numbers(5)) {
            addUser(s, `new-${n}`, 'student')
            enrol(s, `new-${n}`, 'class-1')
          }
        })
        const plan = await world.roster.plan(bulk(grown), { match: 'number' })
        assert.deepEqual(
          plan.holds.map(({ code }) => code),
          ['changes'],
        )
        await world.roster.import(plan, { allow: ['changes'], by: byOperator })
        const undo = await world.roster.planUndo()
        assert.deepEqual(undo.counts, { leaving: 5, returning: 0, changed: 6 })
        assert.deepEqual(
          undo.holds.map(({ code, numbers }) => [code, numbers]),
          [['leavers', { leaving: 5, before: 11 }]],
        )
      }))

    test('Whoever keeps the account under a new sourcedId may not lose all classes unasked', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const idle = edited(inOtherSystem(school), (s) => {
          for (const [id, { role }] of s.enrollments) if (role === 'student') s.enrollments.delete(id)
        })
        const plan = await world.roster.plan(bulk(idle), { match: 'number' })
        assert.deepEqual(
          plan.holds.map(({ code, numbers }) => [code, numbers]),
          [
            ['changes', { changed: 6, before: 6 }],
            ['terms', { emptied: 6, before: 6 }],
            ['enrolments', { leaving: 6, before: 6 }],
          ],
        )
      }))

    test('An undo is held as an import would be', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(edited(school, (s) => drop(s, 'stu-1'))))
        await world.import(
          bulk(
            edited(school, (s) => {
              for (const n of numbers(8)) {
                addUser(s, `new-${n}`, 'student')
                enrol(s, `new-${n}`, 'class-1')
              }
              for (const n of [2, 3, 4]) addClass(s, `more-${n}`)
            }),
          ),
        )
        const plan = await world.roster.planUndo()
        assert.deepEqual(
          plan.holds.map(({ code }) => code),
          ['leavers', 'classes'],
        )
        await assert.rejects(world.roster.undo(plan, { allow: ['leavers'], by: byOperator }), { exitCode: 2 })
        await world.roster.undo(plan, { allow: ['leavers', 'classes'], by: byOperator })
        assert.equal((await world.roster.history())[0]!.allowed, 'leavers,classes')
        const forward = await world.roster.planUndo(2)
        assert.deepEqual(forward.holds, [])
      }))

    test('History keeps what was allowed', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const plan = await world.plan(
          bulk(
            edited(school, (s) => {
              for (const n of numbers(5)) drop(s, `stu-${n}`)
            }),
          ),
        )
        await world.roster.import(plan, { allow: ['leavers', 'stale'], by: byOperator })
        assert.equal((await world.roster.history())[0]!.allowed, 'leavers')
      }))
  })

  suite(`Corrections on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    test('A correction is seen at once, ends sessions, and survives imports until the file says the same', async () => {
      const { roster, import: load, undo } = rosterOf(service)
      const { db } = service.app.parts
      await load(bulk(school))
      const { access, userId } = await signInStudent(service, 'stu-1@school.example')
      const me = async (token: string) => (await service.request('/student/me', { token })).json
      await roster.correct(userId, { firstname: 'Ada' }, byOperator)
      assert.equal((await me(access)).firstname, 'Ada', 'a name ends no session')
      await roster.correct(userId, { email: 'ada@school.example' }, byOperator)
      assert.equal((await service.request('/student/me', { token: access })).status, 401)
      const again = await signInStudent(service, 'Ada@school.example')
      assert.deepEqual([again.userId, again.user.firstname], [userId, 'Ada'])
      assert.equal((await eventsOf(db, userId)).filter(({ type }) => type === 'student.updated').length, 2)
      assert.equal(await roster.correct(userId, { email: 'ada@school.example' }, byOperator), null)

      const later = edited(school, (s) => change(s.users, 'stu-2', { givenName: 'Other' }))
      const plan = await roster.plan(bulk(later))
      assert.deepEqual(plan.students.get('stu-1')!.correction?.inFile.email, 'stu-1@school.example')
      assert.equal(plan.counts.student.changed, 1)
      await roster.import(plan, { allow: [], by: byOperator })
      assert.equal((await me(again.access)).email, 'ada@school.example')
      const [correction, ...others] = await roster.corrections()
      assert.deepEqual(others, [])
      assert.deepEqual(
        [correction!.userId, correction!.corrected, correction!.inFile],
        [
          userId,
          { email: 'ada@school.example', firstname: 'Ada', lastname: null },
          { email: 'stu-1@school.example', firstname: 'Given', lastname: 'Family stu-1' },
        ],
      )

      const mended = edited(later, (s) => change(s.users, 'stu-1', { email: 'ada@school.example' }))
      await load(bulk(mended))
      assert.deepEqual((await roster.corrections())[0]!.corrected, {
        email: null,
        firstname: 'Ada',
        lastname: null,
      })
      assert.equal((await me(again.access)).email, 'ada@school.example', 'and nobody was signed out')
      await undo()
      assert.equal(
        (await roster.corrections())[0]!.corrected.email,
        'ada@school.example',
        'undo brings it back',
      )
      await roster.uncorrect(userId, byOperator)
      assert.deepEqual(await roster.corrections(), [])
      const { user } = await signInStudent(service, 'stu-1@school.example')
      assert.equal(user.firstname, 'Given')
      await undo()
      assert.equal((await roster.corrections()).length, 1)
      await assertSound(db)
      assert.deepEqual((await roster.plan(bulk(later))).counts.student.changed, 0)
    })

    test('A correction cannot take the address of another student, nor be of somebody who is not there', async () => {
      const { roster, import: load } = rosterOf(service)
      await load(bulk(school))
      const ids = await studentsNow(service.app.parts.db)
      const taken = roster.correct(ids['stu-3']!, { email: 'STU-4@school.example' }, byOperator)
      await assert.rejects(taken, /the address of Given Family stu-4 \(S4\)/)
      await assert.rejects(
        roster.correct('nobody', { firstname: 'X' }, byOperator),
        /no student on the roster/,
      )
    })
  })
}
