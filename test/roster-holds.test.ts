/** How files are judged: bulk or delta, old files, bad rows, missing parts, roles and their days. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { byOperator } from '../src/platform/lib/by.ts'
import { isEmpty, isRefused, type Plan, Roster } from '../src/school/roster/roster.ts'
import type { BadRows } from '../src/school/roster/words.ts'
import { studentWithClasses } from '../src/school/student/store.ts'
import { engines } from './support/engines.ts'
import { clean11 as clean11Files, type Files, writeFolder } from './support/roster-files.ts'
import {
  addUser,
  bulk,
  bulkFiles,
  change,
  delta,
  deltaFiles,
  drop,
  edited,
  enrol,
  newSchool,
  numbers,
  type School,
} from './support/roster-school.ts'
import { inWorld, studentsNow } from './support/roster-world.ts'

const clean11: Files = clean11Files
const school = newSchool(20)
const smaller = edited(school, (s) => drop(s, 'stu-1'))
const codesOf = (plan: Pick<Plan, 'holds'>) => plan.holds.map(({ code }) => code)
const errorsOf = (plan: Plan) => plan.findings.filter(({ severity }) => severity === 'error')
const withoutManifest = ({ 'manifest.csv': _, ...files }: Files): Files => files

/** Every row with a status and a date, as some systems write a whole roster too. */
function dated(files: Files, at = '2026-09-01T08:00:00Z', status = 'active'): Files {
  const mark = (text: string) => text.replaceAll(/^([^,\n]+),,,/gm, `$1,${status},${at},`)
  return Object.fromEntries(
    Object.entries(files).map(([name, text]) => [name, name === 'manifest.csv' ? text : mark(String(text))]),
  )
}

for (const engine of engines) {
  suite(`How files are judged on ${engine}`, { concurrency: true }, () => {
    test('In a bulk set with a status and a date in every row, leavers leave', () =>
      inWorld(engine, async (world) => {
        await world.import(writeFolder(dated(bulkFiles(school))))
        const plan = await world.plan(writeFolder(dated(bulkFiles(smaller))))
        assert.deepEqual([plan.file.modes.user, plan.counts.student.leaving, plan.holds], ['bulk', 1, []])
        await world.roster.import(plan, { allow: [], by: byOperator })
        assert.ok(!('stu-1' in (await studentsNow(world.db))))
      }))

    test('In a bulk set a row that says tobedeleted is an absent one', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const files = dated(bulkFiles(school))
        const users = String(files['users.csv']).replace('stu-1,active', 'stu-1,tobedeleted')
        const plan = await world.plan(writeFolder({ ...files, 'users.csv': users }))
        assert.deepEqual([plan.counts.student.leaving, plan.holds, errorsOf(plan)], [1, [], []])
        assert.match(
          plan.findings.map(({ message }) => message).join(),
          /1 enrolment refers to people in rows .*tobedeleted/,
        )
        await world.roster.import(plan, { allow: [], by: byOperator })
        assert.ok(!('stu-1' in (await studentsNow(world.db))))
      }))

    test('Without a manifest the import is held until bulk or delta is given, and says what each would do', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        for (const files of [
          withoutManifest(bulkFiles(smaller)),
          withoutManifest(dated(bulkFiles(smaller))),
        ]) {
          const path = writeFolder(files)
          const plan = await world.plan(path)
          assert.deepEqual(codesOf(plan), ['mode'])
          assert.deepEqual(plan.holds[0]!.numbers, { leavingAsBulk: 1, leavingAsDelta: 0 })
          assert.match(
            plan.holds[0]!.reason,
            /no manifest .*--bulk\), 1 student would .*--delta\), 0 students/,
          )
          const asBulk = await world.roster.plan(path, { mode: 'bulk' })
          assert.deepEqual([asBulk.holds, asBulk.counts.student.leaving], [[], 1])
          const asDelta = await world.roster.plan(path, { mode: 'delta' })
          assert.deepEqual([asDelta.holds, isEmpty(asDelta)], [[], true])
        }
        const same = await world.plan(writeFolder(withoutManifest(bulkFiles(school))))
        assert.deepEqual([same.holds, isEmpty(same)], [[], true], 'nothing to do either way')
      }))

    test('A manifest that says delta over the rows of a whole roster is held if it matters', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const lying = (files: Files) => ({
          ...files,
          'manifest.csv': String(files['manifest.csv']).replaceAll(',bulk', ',delta'),
        })
        const plan = await world.plan(writeFolder(lying(bulkFiles(smaller))))
        assert.deepEqual(codesOf(plan), ['mode'])
        assert.match(plan.holds[0]!.reason, /says delta, but no row has a status/)
        const harmless = edited(school, (s) => change(s.users, 'stu-1', { givenName: 'Other' }))
        assert.deepEqual((await world.plan(writeFolder(lying(bulkFiles(harmless))))).holds, [])
      }))

    test('A manifest that says bulk over a few dated rows is held: most students are not named', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const few = edited(school, (s) => {
          for (const n of numbers(15)) drop(s, `stu-${n}`)
        })
        const plan = await world.plan(writeFolder(dated(bulkFiles(few))))
        assert.deepEqual(codesOf(plan), ['mode', 'leavers'])
        assert.deepEqual(plan.holds[0]!.numbers, { leavingAsBulk: 15, leavingAsDelta: 0 })
      }))

    test('A delta older than what stands is held as stale, and so is a file that was imported before', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const renamed = (givenName: string, at: string) =>
          writeFolder(deltaFiles({ users: [['stu-1', { ...school.users.get('stu-1')!, givenName }]] }, at))
        const [older, newer] = [
          renamed('Older', '2026-10-01T08:00:00Z'),
          renamed('Newer', '2026-11-01T08:00:00Z'),
        ]
        await world.import(newer)
        const stale = await world.plan(older)
        assert.deepEqual(codesOf(stale), ['stale'])
        assert.match(stale.holds[0]!.reason, /newest change is from 2026-10-01T.*2026-11-01T/)
        await assert.rejects(world.roster.import(stale, { allow: ['leavers'], by: byOperator }), /stale/)
        await world.import(renamed('Newest', '2026-11-02T08:00:00Z'))
        const again = await world.plan(newer)
        assert.deepEqual(codesOf(again), ['stale'])
        assert.match(again.holds[0]!.reason, /already imported as number 2/)
        await world.undo()
        await world.undo()
        assert.deepEqual((await world.plan(newer)).holds, [], 'what is undone was not imported')
      }))

    test('The shares are settings: a hold can be wider, narrower or off', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const fewer = bulk(
          edited(school, (s) => {
            for (const n of numbers(4)) drop(s, `stu-${n}`)
          }),
        )
        const held = async (leavers: number) => {
          const roster = new Roster(world.db, world.clock, { holdShares: { leavers } })
          return codesOf(await roster.plan(fewer))
        }
        assert.deepEqual([await held(19), await held(20), await held(100)], [['leavers'], [], []])
      }))

    test('In the holidays, next term is guarded: against an empty set, against a delta, and when it is undone', () =>
      inWorld(engine, async (world) => {
        const people: School = { ...school, classes: new Map(), enrollments: new Map() }
        const spring = edited(school, (s) => {
          change(s.academicSessions, 'term-1', { startDate: '2027-01-11', endDate: '2027-05-28' })
        })
        await world.import(bulk(people))
        await world.import(bulk(spring))
        const empty = await world.plan(bulk({ ...spring, classes: new Map(), enrollments: new Map() }))
        assert.deepEqual([codesOf(empty), errorsOf(empty)], [['teachers', 'classes', 'enrolments'], []])
        assert.match(empty.holds[1]!.reason, /^2 of 2 classes that have not ended would leave /)
        await assert.rejects(
          world.roster.import(empty, { allow: ['teachers', 'classes'], by: byOperator }),
          /enrolments/,
        )
        const enrolled = [...spring.enrollments].filter(([, { role }]) => role === 'student')
        const gone = (count: number) =>
          delta({ enrollments: enrolled.slice(0, count).map(([id]) => [id, null]) })
        const some = await world.plan(gone(6))
        assert.deepEqual(
          some.holds.map(({ code, numbers }) => [code, numbers]),
          [['enrolments', { leaving: 6, before: 20 }]],
        )
        assert.deepEqual((await world.plan(gone(5))).holds, [])
        const undo = await world.roster.planUndo()
        assert.deepEqual(codesOf(undo), ['teachers', 'classes', 'enrolments'])
        await assert.rejects(
          world.roster.undo(undo, { allow: ['teachers', 'classes'], by: byOperator }),
          /enrolments/,
        )
      }))

    test('A row that is there twice is one row, and two that differ are an error naming both lines', () =>
      inWorld(engine, async (world) => {
        const files = bulkFiles(school)
        const users = String(files['users.csv'])
        const row = users.split('\n').find((line) => line.startsWith('stu-1,'))!
        const twice = { ...files, 'users.csv': `${users}${row}\n` }
        const plan = await world.plan(writeFolder(twice))
        assert.deepEqual(
          plan.findings.map(({ severity, code }) => [severity, code]),
          [['warning', 'repeated-row']],
        )
        assert.equal(plan.counts.student.added, 20)
        const other = row.replace('Given', 'Another')
        const differing = await world.plan(writeFolder({ ...files, 'users.csv': `${users}${other}\n` }))
        const [error] = errorsOf(differing)
        assert.equal(error?.code, 'duplicate-id')
        assert.match(error!.message, /^Line \d+ and line \d+ have the same sourcedId and differ/)
      }))

    test('Bad rows may be left out by a number or a share of all rows', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const dangling = edited(school, (s) => enrol(s, 'stu-1', 'class-nowhere'))
        const path = bulk(dangling)
        const refused = async (badRows: BadRows) =>
          isRefused(await new Roster(world.db, world.clock, { badRows }).plan(path))
        assert.deepEqual(
          [await refused({ max: 0 }), await refused({ max: 1 }), await refused({ share: 0.0001 })],
          [true, false, true],
        )
        assert.equal(await refused({ share: 0.02 }), false)
      }))

    test('A student system that was replaced is not held for the mode once accounts are matched', () =>
      inWorld(engine, async (world) => {
        const numbered = edited(school, (s) => {
          for (const n of numbers(20)) change(s.users, `stu-${n}`, { identifier: `S${n}` })
        })
        await world.import(writeFolder(dated(bulkFiles(numbered))))
        const replaced = edited(numbered, (s) => {
          for (const n of numbers(20)) {
            const user = s.users.get(`stu-${n}`)!
            drop(s, `stu-${n}`)
            addUser(s, `sis-${n}`, 'student', user)
            enrol(s, `sis-${n}`, 'class-1')
          }
        })
        const path = writeFolder(dated(bulkFiles(replaced), '2026-10-01T08:00:00Z'))
        const plan = await world.roster.plan(path, { match: 'number' })
        assert.equal(plan.counts.student.leaving, 0)
        assert.ok(!codesOf(plan).includes('mode'), codesOf(plan).join())
      }))

    test('A date that a bulk set does not need, and an empty line of the manifest, are warnings', () =>
      inWorld(engine, async (world) => {
        const files = dated(bulkFiles(school), '2026-09-01 08:00:00Z x')
        const manifest = `${files['manifest.csv']}file.lineItems,\n`
        const plan = await world.plan(writeFolder({ ...files, 'manifest.csv': manifest }))
        assert.deepEqual(errorsOf(plan), [])
        const codes = new Set(plan.findings.map(({ code }) => code))
        assert.ok(codes.has('bad-datetime') && codes.has('bad-manifest-mode'), [...codes].join())
      }))

    test('Damaged text and the errors of a spreadsheet are findings', () =>
      inWorld(engine, async (world) => {
        const cases: [givenName: string, severity: string, code: string][] = [
          ['Jos\ufffd', 'warning', 'damaged-text'],
          ['Jos\u00c3\u00a9', 'warning', 'damaged-text'],
          ['#REF!', 'error', 'spreadsheet-error'],
          ['#N/A', 'error', 'spreadsheet-error'],
        ]
        for (const [givenName, severity, code] of cases) {
          const plan = await world.plan(bulk(edited(school, (s) => change(s.users, 'stu-1', { givenName }))))
          const found = plan.findings.find((one) => one.code === code)
          assert.deepEqual([found?.severity, found?.value], [severity, givenName])
        }
        for (const givenName of ['José', 'Ångström', 'Müller', 'Ãlvaro', 'Nguyễn']) {
          const plan = await world.plan(bulk(edited(school, (s) => change(s.users, 'stu-1', { givenName }))))
          assert.deepEqual(plan.findings, [], givenName)
        }
      }))

    test('The last file once more is not stale, and nothing to do', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        await world.import(bulk(smaller))
        const plan = await world.plan(bulk(smaller))
        assert.deepEqual([plan.holds, isEmpty(plan)], [[], true])
        assert.deepEqual(codesOf(await world.plan(bulk(school))), ['stale'])
      }))

    test('One bad row in users is one error, and what follows from it is counted', () =>
      inWorld(engine, async (world) => {
        const path = bulk(school)
        const users = join(path, 'users.csv')
        writeFileSync(users, readFileSync(users, 'utf8').replace('Given,Family stu-3', '"Given,Family stu-3'))
        const plan = await world.plan(path)
        assert.deepEqual(
          errorsOf(plan).map(({ code, file, line }) => [code, file, line]),
          [['bad-quotes', 'users.csv', 5]],
        )
        const follows = plan.findings.filter(({ code }) => code === 'follows').map(({ message }) => message)
        assert.match(
          follows.join(),
          /1 role refers to people.*1 enrolment refers to people in rows of users\.csv/,
        )
        assert.equal(plan.badRows, 1)
      }))

    test('Bad rows can be skipped up to a number: the others are imported, and what stands for these stays', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const before = await studentsNow(world.db)
        const broken = edited(school, (s) => {
          change(s.users, 'stu-1', { enabledUser: 'perhaps', givenName: 'Lost' })
          change(s.users, 'stu-2', { email: 'no address' })
          change(s.users, 'stu-3', { givenName: 'Other' })
          change(s.enrollments, 'class-1-stu-5', { classSourcedId: 'nowhere' })
          addUser(s, 'stu-21', 'student', { enabledUser: 'perhaps' })
          enrol(s, 'stu-21', 'class-1')
        })
        const path = bulk(broken)
        for (const skipBadRowsMax of [0, 3]) {
          const plan = await world.roster.plan(path, { skipBadRowsMax })
          assert.deepEqual([isRefused(plan), plan.badRows, plan.skipsBadRows], [true, 4, false])
        }
        const plan = await world.roster.plan(path, { skipBadRowsMax: 4 })
        assert.deepEqual([isRefused(plan), plan.badRows, plan.skipsBadRows], [false, 4, true])
        assert.ok(
          plan.findings.some(({ code, severity }) => code === 'bad-boolean' && severity === 'warning'),
        )
        assert.deepEqual(plan.counts.student, {
          before: 20,
          after: 20,
          added: 0,
          changed: 1,
          leaving: 0,
          returning: 0,
        })
        await world.roster.import(plan, { allow: [], by: byOperator })
        assert.deepEqual(await studentsNow(world.db), before)
        const [row] = await studentWithClasses(world.db, before['stu-1']!)
        assert.equal(row!.firstname, 'Given', 'what stood')
      }))

    test('Nobody leaves because of a row whose id cannot be made out', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(school))
        const path = bulk(smaller)
        const users = join(path, 'users.csv')
        writeFileSync(users, `${readFileSync(users, 'utf8')},"who is this\n`)
        const plan = await world.roster.plan(path, { skipBadRowsMax: 1 })
        assert.deepEqual([isRefused(plan), plan.counts.user.leaving], [false, 0])
      }))

    test('An error of a whole file is not skipped', () =>
      inWorld(engine, async (world) => {
        const path = bulk(school)
        const users = join(path, 'users.csv')
        writeFileSync(users, readFileSync(users, 'utf8').replace('familyName', 'familyNam'))
        const plan = await world.roster.plan(path, { skipBadRowsMax: 1_000 })
        assert.ok(isRefused(plan))
      }))

    test('A role outside its days makes nobody a student', () =>
      inWorld(engine, async (world) => {
        const days = (beginDate: string, endDate: string) => (s: School) =>
          change(s.roles, 'role-stu-1', { beginDate, endDate })
        for (const [edit, isStudent] of [
          [days('2026-11-15', '2026-11-15'), true],
          [days('2026-11-16', ''), false],
          [days('', '2026-11-14'), false],
        ] as const) {
          const plan = await world.plan(bulk(edited(school, edit)))
          assert.equal(plan.students.get('stu-1') !== undefined, isStudent)
        }
      }))

    test('Going back from 1.2 to 1.1 takes the old roles along', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(edited(newSchool(1), (s) => addUser(s, 'user-1', 'student'))))
        const guardian = String(clean11['users.csv']).replace('"org-1,org-2",student', 'org-1,guardian')
        const files = {
          ...clean11,
          'users.csv': guardian,
          'enrollments.csv': String(clean11['enrollments.csv']).replace(/^enr-2.*\n/m, ''),
        }
        const plan = await world.plan(writeFolder(files))
        assert.deepEqual(errorsOf(plan), [])
        assert.deepEqual([plan.counts.student.after, plan.counts.role.after], [0, 0])
      }))

    test('A 1.2 delta of users over a 1.1 roster leaves them the students they are', () =>
      inWorld(engine, async (world) => {
        const files = {
          ...clean11,
          'users.csv': String(clean11['users.csv']).replace('"org-1,org-2"', 'org-1'),
          'enrollments.csv': String(clean11['enrollments.csv']).replace(/^enr-2.*\n/m, ''),
        }
        await world.import(writeFolder(files))
        const cells = { givenName: 'Ida', familyName: 'Byron', email: 'ada@school.example' }
        const plan = await world.plan(delta({ users: [['user-1', cells]] }))
        assert.deepEqual([plan.counts.student.changed, plan.counts.student.leaving], [1, 0])
      }))

    test('The same enrolment under two ids is one class to the student', () =>
      inWorld(engine, async (world) => {
        const twice = edited(school, (s) => {
          change(s.enrollments, 'class-1-stu-1', { beginDate: '2026-09-01', endDate: '2026-10-01' })
          const row = {
            ...s.enrollments.get('class-1-stu-1')!,
            beginDate: '2026-09-15',
            endDate: '2026-11-30',
          }
          s.enrollments.set('again', row)
        })
        await world.import(bulk(twice))
        const rows = await studentWithClasses(world.db, (await studentsNow(world.db))['stu-1']!)
        assert.deepEqual(
          rows.map(({ start_date, end_date }) => [start_date, end_date]),
          [['2026-09-01', '2026-11-30']],
        )
      }))
  })
}
