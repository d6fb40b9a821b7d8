/** Rosters that are broken or hostile: each is refused in a sentence, before it takes much time or memory. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, before, suite, test } from 'node:test'
import type { Bounds } from '../src/school/roster/bounds.ts'
import { openArchive } from '../src/school/roster/read/archive.ts'
import { rosterContents } from '../src/school/roster/read/foreign.ts'
import { isRefused, type Plan, Roster } from '../src/school/roster/roster.ts'
import { commandFolder } from './support/child.ts'
import { atLength } from './support/engines.ts'
import { run } from './support/roster-commands.ts'
import { clean12, packZip, writeFolder, writeZip } from './support/roster-files.ts'
import { oneCellRows, people, rowsOf } from './support/roster-floods.ts'
import { bulk, change, edited, newSchool, numbers } from './support/roster-school.ts'
import { openWorld, type World } from './support/roster-world.ts'

const tooManyErrors =
  'There are more than 10,000 errors, so the rest was not checked: fix those listed, then check again.'
const enrolments = (count: number) =>
  rowsOf(
    'sourcedId,classSourcedId,userSourcedId,role',
    count,
    (i) => `enr-${i},class-1,user-${i + 10},student`,
  )

suite('Rosters beyond a bound', () => {
  let world: World
  before(async () => {
    world = await openWorld('sqlite')
    await world.import(bulk(newSchool(40)))
  })
  after(() => world.close())

  const within = (bounds: Partial<Bounds>) => new Roster(world.db, world.clock, { bounds })
  const errorsOf = ({ findings }: Plan) =>
    findings.filter(({ severity }) => severity === 'error').map(({ code, file }) => `${code} ${file}`)
  /** Nothing was compared. */
  const assertCut = (plan: Plan) => {
    assert.ok(isRefused(plan) && plan.failsAsAWhole && !plan.skipsBadRows)
    assert.deepEqual(plan.holds, [])
    for (const counts of Object.values(plan.counts)) assert.equal(counts.leaving + counts.before, 0)
  }

  const files = { ...clean12, 'users.csv': people(5_000) }
  const cases: [what: string, bounds: Partial<Bounds>, error: RegExp][] = [
    ['rows', { rowsMax: 5_000 }, /^too-many-rows roster/],
    ['octets', { octetsMax: 50_000 }, /^unpacks-too-large roster/],
    ['rows for the memory', { memoryOctetsMax: 1 }, /^too-much-memory roster/],
    ['rows for the working file', { workOctetsMax: 500_000 }, /^too-much-memory roster/],
    ['rows for the time', { processorMsMax: 0 }, /^too-much-time roster/],
  ]
  for (const [what, bounds, error] of cases)
    for (const path of [() => writeFolder(files), async () => writeZip(await packZip(files))])
      test(`Too many ${what}`, async () => {
        const plan = await within(bounds).plan(await path())
        assert.equal(errorsOf(plan).length, 1)
        assert.match(errorsOf(plan)[0]!, error)
        assert.ok(plan.failsAsAWhole)
      })

  test('Too much memory while it is compared', async () => {
    const few = writeFolder({ ...clean12, 'users.csv': people(3_000) })
    const plan = await within({ memoryOctetsMax: 1 }).plan(few)
    assert.deepEqual(errorsOf(plan), ['too-much-memory roster'])
    assert.equal(plan.file.rows, 3_010, 'it was read')
    assertCut(plan)
    const usual = await world.plan(few)
    assert.ok(!errorsOf(usual).some((error) => error.includes('memory')))
  })

  test('A folder whose files are larger than they were is read no further', async () => {
    const path = writeFolder(clean12)
    const archive = await openArchive(path, 20_000, rosterContents(path))
    writeFileSync(join(path, 'users.csv'), people(5_000))
    await assert.rejects(buffer(await archive.open('users.csv')), /larger than .* MiB/)
  })

  test('After 10,000 errors the rest is not read, unless so many bad rows are allowed', async () => {
    const path = writeFolder({ ...clean12, 'users.csv': oneCellRows(30_000) })
    const plan = await world.plan(path)
    assertCut(plan)
    assert.deepEqual([plan.badRows, plan.file.rows], [10_000, 10_006])
    assert.equal(plan.findings[0]!.message, tooManyErrors)
    assert.equal(errorsOf(plan)[0], 'too-many-errors users.csv')
    assert.equal(errorsOf(plan).filter((error) => error.startsWith('cell-count')).length, 1_000 + 1)
    const skipping = await world.roster.plan(path, { skipBadRowsMax: 40_000, mode: 'delta' })
    assert.deepEqual([skipping.badRows, skipping.skipsBadRows], [30_000, true])
    const almost = await world.roster.plan(path, { skipBadRowsMax: 29_999, mode: 'delta' })
    assert.deepEqual([almost.badRows, almost.skipsBadRows], [29_999, false])
    assertCut(almost)
  })

  test('So it is with rows that name what is not there', async () => {
    const plan = await world.plan(writeFolder({ ...clean12, 'enrollments.csv': enrolments(30_000) }))
    assert.ok(isRefused(plan) && plan.failsAsAWhole)
    assert.equal(plan.findings.find(({ code }) => code === 'too-many-errors')?.message, tooManyErrors)
    assert.ok(plan.badRows <= 10_001, `${plan.badRows}`)
    assert.ok(plan.findings.filter(({ code }) => code === 'dangling-reference').length >= 1_000)
  })

  test('A warning in every row ends nothing', async () => {
    const rows = rowsOf('sourcedId,name,type', 30_000, (i) => `org-${i},School,School`)
    const plan = await world.roster.plan(writeFolder({ ...clean12, 'orgs.csv': rows }))
    assert.ok(!isRefused(plan))
    assert.equal(plan.file.rows, 30_011)
  })

  test('Bad rows that make others bad, and so on, are left out for some rounds', async () => {
    const moved = (count: number) =>
      edited(newSchool(40), (s) => {
        for (const n of numbers(count)) change(s.users, `stu-${n}`, { email: `stu-${n + 1}@school.example` })
        change(s.users, `stu-${count + 1}`, { givenName: '', familyName: '' })
      })
    const few = await world.roster.plan(bulk(moved(5)), { skipBadRowsMax: 100 })
    assert.deepEqual([few.skipsBadRows, few.badRows], [true, 6])
    const many = await world.roster.plan(bulk(moved(39)), { skipBadRowsMax: 100 })
    assert.ok(isRefused(many) && !many.skipsBadRows && many.failsAsAWhole)
    assert.ok(errorsOf(many).some((error) => error.startsWith('bad-rows-spread')))
    assert.ok(many.badRows < 20, `${many.badRows}`)
  })
})

const folder = commandFolder()

suite('A flood of bad rows by command', atLength, () => {
  test('is refused by check, import and fetch, in a sentence and with exit code 3', async () => {
    const source = join(folder.path, 'exports')
    mkdirSync(source)
    const zip = join(source, 'roster.zip')
    writeFileSync(zip, await packZip({ ...clean12, 'users.csv': oneCellRows(3_000_000) }))
    const env = folder.ownStore()
    for (const args of [['check', zip], ['import', zip, '--yes'], ['fetch']]) {
      const { code, out, err } = await run(folder.path, ['roster', ...args], {
        ...env,
        CHIRON_ROSTER_SOURCE: source,
      })
      assert.equal(code, 3, err)
      assert.ok(out.includes(tooManyErrors), out)
      assert.match(out, / 10006 rows, /, 'the rest was not read')
      assert.doesNotMatch(out, /--skip-bad-rows/)
    }
    assert.equal((await run(folder.path, ['roster', 'history'], env)).out.split('\n').length, 2)
  })
})
