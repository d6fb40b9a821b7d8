import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { generateSchool, type SchoolOptions, writeSchoolFolder, writeSchoolZip } from '../bench/school.ts'
import { demoAddresses, demoSchool, demoVeterinarian } from '../demo/school.ts'
import { parseName } from '../src/identity/people/names.ts'
import { parseAddress } from '../src/platform/lib/address.ts'
import { parseMeetings } from '../src/school/roster/read/meetings.ts'
import { atLength } from './support/engines.ts'
import { faultsOf, type Rows, type Tables, tablesOf } from './support/roster-rules.ts'

const folder = mkdtempSync(join(tmpdir(), 'chiron-school-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const today = '2026-03-04'
const small: SchoolOptions = { students: 400, classes: 100, enrolments: 5_000, today }

function tables(options: SchoolOptions): Tables {
  return tablesOf(new Map(generateSchool(options).map(({ name, text }) => [name, [...text()].join('')])))
}

function byId(rows: Rows | undefined): Map<string, Record<string, string>> {
  return new Map(rows?.map((row) => [row.sourcedId!, row]))
}

function classesPerStudent({ enrollments }: { enrollments: Rows }): number[] {
  const counts = new Map<string, number>()
  for (const { role, userSourcedId } of enrollments)
    if (role === 'student') counts.set(userSourcedId!, (counts.get(userSourcedId!) ?? 0) + 1)
  return [...counts.values()]
}

function generate(...args: string[]): string {
  const script = new URL('../bench/school.ts', import.meta.url).pathname
  return execFileSync(process.execPath, [...args.slice(0, 1), script, ...args.slice(1)], { encoding: 'utf8' })
}

const sha256 = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')

/** By the contract's rule: the enrolment's own dates or else those of the class's terms, in whole days. */
function whenOf(
  roster: Tables,
  enrolment: Record<string, string>,
  day: string,
): 'past' | 'current' | 'upcoming' {
  const ids = byId(roster.get('classes')).get(enrolment.classSourcedId!)!.termSourcedIds!.split(',')
  const terms = ids.map((id) => byId(roster.get('academicSessions')).get(id)!)
  const from = enrolment.beginDate || terms.map(({ startDate }) => startDate!).sort()[0]!
  const to =
    enrolment.endDate ||
    terms
      .map(({ endDate }) => endDate!)
      .sort()
      .at(-1)!
  if (day < from) return 'upcoming'
  return day > to ? 'past' : 'current'
}

describe('the generated school', atLength, () => {
  test('has as many students, classes and enrolments as asked, and five years of each', () => {
    const roster = tables(small)
    const students = roster.get('roles')!.filter(({ role }) => role === 'student')
    assert.equal(students.length, 400)
    assert.equal(roster.get('users')!.length, 400 + 16)
    assert.equal(roster.get('classes')!.length, 100)
    assert.equal(roster.get('enrollments')!.length, 5_000)
    const grades = new Set(roster.get('users')!.map(({ grades }) => grades))
    assert.deepEqual([...grades].sort(), ['', '1', '2', '3', '4', '5'])
    const types = new Set(roster.get('classes')!.map(({ classType }) => classType))
    assert.equal(types.size, 5)
  })

  for (const seed of [1, 2, 77])
    test(`is without fault from seed ${seed}`, () => {
      assert.deepEqual(faultsOf(tables({ ...small, seed })), [])
    })

  test('is without fault however small or crowded', () => {
    for (const students of [1, 7, 26, 1_000])
      assert.deepEqual(faultsOf(tables({ students, today: '2024-02-29' })), [])
    const crowded = { students: 50, classes: 600, enrolments: 6_500, today }
    assert.deepEqual(faultsOf(tables(crowded)), [])
  })

  test('has addresses and names that the service accepts', () => {
    for (const { email, givenName, familyName } of tables(small).get('users')!) {
      assert.equal(typeof parseAddress(email!), 'object', email!)
      for (const name of [givenName!, familyName!]) assert.deepEqual(parseName(name), { name })
    }
  })

  test('spreads classes evenly, about twelve for a student unless told otherwise', () => {
    const counts = classesPerStudent({
      enrollments: tables({ students: 500, classes: 400, today }).get('enrollments')!,
    })
    assert.deepEqual([...new Set(counts)], [12])
    const fuller = classesPerStudent({ enrollments: tables(small).get('enrollments')! })
    assert.ok(Math.max(...fuller) - Math.min(...fuller) <= 1)
  })

  test('refuses more enrolments than its classes allow', () => {
    assert.throws(() => generateSchool({ students: 10, classes: 40, enrolments: 1_000, today }), /enrolments/)
  })

  test('has rotations of two to four weeks that differ from group to group', () => {
    const roster = tables({ students: 1_200, today })
    const classes = byId(roster.get('classes'))
    const spans = new Set<string>()
    for (const { role, classSourcedId, beginDate, endDate } of roster.get('enrollments')!) {
      if (role !== 'student' || classes.get(classSourcedId!)!.classType !== 'ext:rotation') continue
      const days = (Date.parse(endDate!) - Date.parse(beginDate!)) / 86_400_000 + 1
      assert.ok(days >= 12 && days <= 26, `${beginDate} to ${endDate}`)
      spans.add(`${beginDate} ${endDate}`)
    }
    assert.ok(spans.size > 20)
  })

  test('is the same from the same seed and another from another', async () => {
    const [one, same, other] = ['one.zip', 'same.zip', 'other.zip'].map((name) => join(folder, name))
    await writeSchoolZip(one!, small)
    await writeSchoolZip(same!, { ...small, seed: 1 })
    await writeSchoolZip(other!, { ...small, seed: 2 })
    assert.equal(sha256(same!), sha256(one!))
    assert.notEqual(sha256(other!), sha256(one!))
  })

  test('is written as a folder with the same text', async () => {
    const path = join(folder, 'plain')
    await writeSchoolFolder(path, small)
    const files = generateSchool(small)
    assert.deepEqual(readdirSync(path).sort(), files.map(({ name }) => name).sort())
    for (const { name, text } of files)
      assert.equal(readFileSync(join(path, name), 'utf8'), [...text()].join(''))
  })

  test('takes little memory at 20,000 students, 1,500 classes and 200,000 enrolments', () => {
    const out = join(folder, 'large.zip')
    const size = ['--students', '20000', '--classes', '1500', '--enrolments', '200000']
    const said = generate('--max-old-space-size=48', ...size, '--seed', '1', '--today', today, '--out', out)
    const peak = Number(/(\d+) MiB of memory/.exec(said)?.[1])
    assert.ok(peak > 0 && peak < 200, said)
  })
})

describe('a school that has changed', () => {
  const shares = { leave: 0.03, rename: 0.02 }

  test('differs in just the students asked for', () => {
    const [before, later] = [tables(small), tables({ ...small, ...shares })]
    const users = byId(later.get('users'))
    const counts = { left: 0, renamed: 0 }
    for (const [id, was] of byId(before.get('users'))) {
      const is = users.get(id)
      if (is === undefined) counts.left++
      else if (is.familyName !== was.familyName) counts.renamed++
      else assert.deepEqual(is, was)
    }
    assert.deepEqual(counts, { left: 12, renamed: 8 })
    assert.deepEqual(faultsOf(later), [])
    assert.deepEqual(later.get('classes'), before.get('classes'))
  })

  test('says as a delta what it says in bulk', () => {
    const [before, later] = [tables(small), tables({ ...small, ...shares })]
    const delta = tables({ ...small, ...shares, delta: true })
    assert.deepEqual([...delta.keys()].sort(), ['enrollments', 'manifest', 'roles', 'users'])
    for (const file of ['users', 'roles', 'enrollments']) {
      const patched = byId(before.get(file))
      for (const row of delta.get(file)!) {
        assert.match(row.dateLastModified!, /^2026-03-04T/)
        if (row.status === 'tobedeleted') assert.ok(patched.delete(row.sourcedId!))
        else patched.set(row.sourcedId!, { ...row, status: '', dateLastModified: '' })
      }
      assert.deepEqual(patched, byId(later.get(file)))
    }
  })

  test('leaves out of a delta what has no rows, and is no delta without changes', () => {
    assert.deepEqual([...tables({ ...small, rename: 0.02, delta: true }).keys()], ['manifest', 'users'])
    assert.throws(() => generateSchool({ ...small, delta: true }), /a delta needs/)
  })

  test('is what the command line writes', () => {
    const path = join(folder, 'delta')
    const size = ['--students', '400', '--classes', '100', '--enrolments', '5000', '--today', today]
    generate('--no-warnings', ...size, '--leave', '0.03', '--rename', '0.02', '--delta', '--out', path)
    const options = { ...small, leave: 0.03, rename: 0.02, delta: true }
    for (const { name, text } of generateSchool(options))
      assert.equal(readFileSync(join(path, name), 'utf8'), [...text()].join(''))
  })
})

const days = [
  '2026-03-04',
  '2024-02-29',
  '2023-12-31',
  '2024-01-01',
  '2026-08-15',
  '2026-06-07',
  '2025-06-06',
]

describe('the demo school', () => {
  for (const day of days)
    test(`is without fault on ${day}`, () => {
      const roster = tablesOf(demoSchool(day))
      assert.deepEqual(faultsOf(roster), [])
      const role = (name: string) => roster.get('roles')!.filter((row) => row.role === name).length
      assert.deepEqual([role('student'), role('teacher'), roster.get('classes')!.length], [60, 12, 33])
    })

  for (const day of days)
    test(`has the students that the terminal names, as it describes them, on ${day}`, () => {
      const roster = tablesOf(demoSchool(day))
      const classes = byId(roster.get('classes'))
      const found = demoAddresses.map(({ email }) => {
        const user = roster.get('users')!.find((row) => row.email === email)!
        const own = roster.get('enrollments')!.filter((row) => row.userSourcedId === user.sourcedId)
        const now = own.filter((row) => whenOf(roster, row, day) === 'current')
        const types = new Set(now.map((row) => classes.get(row.classSourcedId!)!.classType!))
        return { user, own, types, titles: now.map((row) => classes.get(row.classSourcedId!)!.title) }
      })
      const [rotating, first, preferred, placed, away, disabled] = found
      assert.deepEqual(
        found.map(({ user }) => user.grades),
        ['5', '1', '3', '4', '5', '2'],
      )
      assert.ok(rotating!.titles.includes('Equine Surgery'))
      const whens = new Set(rotating!.own.map((row) => whenOf(roster, row, day)))
      assert.deepEqual([...whens].sort(), ['current', 'past', 'upcoming'])
      assert.ok(first!.types.has('scheduled') && first!.types.has('ext:practical'))
      assert.deepEqual([preferred!.user.preferredGivenName, preferred!.user.pronouns], ['Sasha', 'they/them'])
      assert.ok(placed!.types.has('ext:rotation') && placed!.types.has('scheduled'))
      assert.deepEqual([away!.types.size, away!.own.length > 3], [0, true])
      assert.equal(disabled!.user.enabledUser, 'false')
    })

  test('has the veterinarian that the terminal names, who teaches, and classes that meet', () => {
    const roster = tablesOf(demoSchool(today))
    const user = roster.get('users')!.find(({ email }) => email === demoVeterinarian.email)!
    assert.deepEqual(
      [user.givenName, user.familyName],
      [demoVeterinarian.firstname, demoVeterinarian.lastname],
    )
    const own = roster.get('enrollments')!.filter((row) => row.userSourcedId === user.sourcedId)
    assert.ok(own.length > 3 && own.every(({ role }) => role === 'teacher'))
    const meets = roster.get('classes')!.map((row) => row['metadata.meets']!)
    for (const text of meets) assert.ok(text === '' || parseMeetings(text)!.length > 0, text)
    assert.ok(meets.includes('Wed 14:00-15:50'))
  })

  test('has addresses and names that the service accepts', () => {
    for (const { email, givenName, familyName } of tablesOf(demoSchool(today)).get('users')!) {
      assert.equal(typeof parseAddress(email!), 'object', email!)
      for (const name of [givenName!, familyName!]) assert.deepEqual(parseName(name), { name })
    }
  })

  test('ends every line in LF and has no byte order mark', () => {
    for (const text of demoSchool(today).values()) assert.match(text, /^[a-zA-Z][^\r\uFEFF]*\n$/)
  })

  test('is refused a day that does not exist', () => {
    for (const day of ['2026-02-29', '2026-13-01', 'today', '2026-3-4'])
      assert.throws(() => demoSchool(day), /must be a date/)
  })
})
