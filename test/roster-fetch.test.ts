/** `chiron roster fetch` within the process: what is taken, imported, noted and reported, on both engines. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { StoreFigures } from '../src/operate/metrics/figures.ts'
import { readFigures } from '../src/operate/metrics/readings.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { secretsFrom } from '../src/platform/lib/secret.ts'
import { usualLimits } from '../src/school/roster/fetch/arrival.ts'
import { type FetchOptions, RosterFetch } from '../src/school/roster/fetch/fetch.ts'
import { holdCodes, isEmpty, Roster } from '../src/school/roster/roster.ts'
import { engines } from './support/engines.ts'
import { type Files, freshPath, packZip, without } from './support/roster-files.ts'
import { bulk, bulkFiles, change, drop, edited, newSchool, numbers } from './support/roster-school.ts'
import { type Service, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'
import { outboxEmpty } from './support/wait.ts'

const registrar = 'registrar@school.example'
const hour = 3_600_000
const day = 24 * hour
const school = newSchool(24)
const grown = edited(school, (s) => change(s.users, 'stu-2', { givenName: 'Other' }))
const emptied = edited(school, (s) => {
  for (const n of numbers(12)) drop(s, `stu-${n}`)
})

for (const engine of engines) {
  suite(`A fetch on ${engine}`, () => {
    let service: Service
    let folder: string
    let hoursPassed = 0
    before(async () => {
      service = await startService(engine, { env: { CHIRON_ROSTER_SOURCE: '/somewhere' } })
      folder = freshPath('exports')
      mkdirSync(folder)
    })
    after(() => service.stop())

    /** A newer export, as the school's system would leave it. */
    async function put(files: Files): Promise<void> {
      const path = join(folder, 'roster.zip')
      writeFileSync(path, await packZip(files))
      touch()
    }
    function touch(): void {
      // With a fraction of a millisecond, as most files have.
      const at = (Date.parse('2026-11-14T00:00:00Z') + ++hoursPassed * hour) / 1000 + 0.123_456
      utimesSync(join(folder, 'roster.zip'), at, at)
    }
    function fetching(path = folder) {
      const { db } = service.app.parts
      const { clock } = service
      return new RosterFetch({
        db,
        clock,
        secrets: secretsFrom('a secret for tests that is long enough', null),
        roster: new Roster(db, clock),
        source: { kind: 'folder', path },
        reportTo: [registrar],
        timeZone: 'Europe/Lisbon',
        maxAgeDays: 7,
        limits: { ...usualLimits, quietMs: 0 },
      })
    }
    const fetch = (more: Partial<FetchOptions> = {}, path = folder) =>
      fetching(path).run({
        plan: {},
        allow: [],
        again: false,
        reportAlways: false,
        command: 'chiron roster fetch',
        by: byOperator,
        ...more,
      })
    const figures = () => readFigures(service.app.parts.db, service.clock.now())
    const mails = () => service.mail.received.filter(({ to }) => to === registrar)
    const report = async () => {
      service.app.parts.outbox.wake()
      await outboxEmpty(service)
      return mails().at(-1)!.mail
    }

    test('imports the newest set, and an unchanged one not twice', async () => {
      await put(bulkFiles(school))
      const first = await fetch()
      assert.deepEqual([first.outcome, first.exitCode, first.generation], ['imported', 0, 1])
      const second = await fetch()
      assert.deepEqual([second.outcome, second.exitCode, second.plan], ['unchanged', 0, null])
      assert.match(second.message, /nothing newer than roster\.zip, fetched 2026-11-15 09:00 Europe\/Lisbon/)
      touch()
      const third = await fetch()
      assert.deepEqual([third.outcome, third.generation], ['unchanged', null])
      assert.equal((await service.rows('select id from roster_generation')).length, 1)
      assert.deepEqual(mails(), [], 'all is well, so nobody is told')
    })

    test('moves the time of the last comparison also if nothing changes, as an import by hand does', async () => {
      const before = await figures()
      service.clock.advance(hour)
      await fetch()
      const later = await figures()
      assert.equal(later.roster_checked_at, service.clock.now())
      assert.equal(later.roster_at, before.roster_at)
      service.clock.advance(hour)
      const roster = new Roster(service.app.parts.db, service.clock)
      const plan = await roster.plan(bulk(school))
      assert.ok(isEmpty(plan))
      assert.equal(await roster.import(plan, { allow: [], by: byOperator }), null)
      assert.equal((await figures()).roster_checked_at, service.clock.now())
    })

    test('is on the console’s first page: when, how it went, and when the next is due', async () => {
      await fetch()
      const at = service.clock.now()
      const { access } = await newStaff(service, 'registrar')
      const { json } = await service.request('/staff/overview', { token: access })
      const { checkedAt, lastFetch, nextFetchAt, generation } = json.roster
      assert.deepEqual(
        { checkedAt, lastFetch, nextFetchAt, generation },
        {
          checkedAt: new Date(at).toISOString(),
          lastFetch: { at: new Date(at).toISOString(), outcome: 'unchanged' },
          nextFetchAt: new Date(at + 24 * hour).toISOString(),
          generation: 1,
        },
      )
    })

    test('does not bring back by itself what somebody has undone', async () => {
      await put(bulkFiles(grown))
      assert.equal((await fetch()).outcome, 'imported')
      const roster = new Roster(service.app.parts.db, service.clock)
      await roster.undo(await roster.planUndo(), { allow: holdCodes, by: byOperator })
      assert.equal((await fetch()).outcome, 'unchanged')
      touch()
      assert.equal((await fetch()).outcome, 'unchanged', 'the same file with another time')
      assert.equal((await fetch({ again: true })).outcome, 'imported')
      await roster.undo(await roster.planUndo(), { allow: holdCodes, by: byOperator })
    })

    test('holds what is held, tells the registrar what to type, and takes it when it is allowed', async () => {
      await put(bulkFiles(emptied))
      for (const night of [1, 2]) {
        const held = await fetch()
        assert.deepEqual([held.outcome, held.exitCode, held.mailIds.length], ['held', 2, 1], `night ${night}`)
      }
      const { subject, text = '', html = '' } = await report()
      assert.equal(subject, 'The roster is held: please check it')
      assert.match(text, /Nothing was imported: .*\n*.*on 2026-11-15 1\d:\d\d Europe\/Lisbon/)
      assert.match(text, /Students: 24 before, 0 new, 0 changed, 12 leaving, 0 returning, 12 after/)
      assert.match(text, /leavers: 12 of 24 students would leave \(more than 10 %\)\./)
      assert.match(text, /^chiron roster fetch --verbose$/m)
      assert.match(text, /^chiron roster fetch --allow leavers$/m)
      assert.doesNotMatch(text, /stu-\d+@|Given Family/)
      assert.match(html, /--allow leavers<\/p>/)
      const other = await fetch({ allow: ['terms'] })
      assert.deepEqual([other.outcome, other.exitCode], ['held', 2])
      await report()
      const allowed = await fetch({ allow: ['leavers'] })
      assert.deepEqual([allowed.outcome, allowed.exitCode, allowed.mailIds], ['imported', 0, []])
    })

    test('refuses what is refused, and reports the findings escaped, bounded and without whole addresses', async () => {
      const files = bulkFiles(emptied)
      const users = String(files['users.csv'])
      const broken = users
        .replace('stu-13@school.example', 'stu-14@school.example')
        .replace('stu-15@school.example', `no\u001b[31maddress${'x'.repeat(400)}`)
      await put({ ...files, 'users.csv': broken })
      const refused = await fetch()
      assert.deepEqual([refused.outcome, refused.exitCode, refused.generation], ['refused', 3, null])
      const { subject, text = '' } = await report()
      assert.equal(subject, 'The roster has errors and was not imported')
      assert.match(text, /users\.csv, line \d+, email: "s…@school\.example": /)
      assert.match(text, /"no\\u001b\[31maddressx+…/)
      assert.ok(!text.includes('\u001b'))
      assert.doesNotMatch(text, /stu-1\d@|x{200}|Students:/)
      assert.match(text, /^chiron roster fetch --skip-bad-rows 2$/m)
      // Who keeps an old address may collide with a new one.
      const rest = await fetch({ plan: { skipBadRowsMax: 3 } })
      assert.equal(rest.exitCode, 0, rest.message)
    })

    test('that does not find its source tells of it', async () => {
      const failed = await fetch({}, join(folder, 'none'))
      assert.deepEqual([failed.outcome, failed.exitCode], ['failed', 1])
      const { subject, text = '' } = await report()
      assert.equal(subject, 'The roster could not be fetched')
      assert.match(text, /the folder does not exist\./)
      assert.match(text, /^chiron roster fetch$/m)
      assert.deepEqual((await figures()).roster_fetch_outcome, 'failed')
    })

    test('of half a zip is refused', async () => {
      const whole = await packZip(bulkFiles(school))
      writeFileSync(join(folder, 'roster.zip'), whole.subarray(0, whole.length / 2))
      touch()
      const refused = await fetch()
      assert.deepEqual([refused.outcome, refused.exitCode], ['refused', 3])
      assert.match((await report()).text ?? '', /incomplete or damaged/)
    })

    test('of something other than a roster is refused, and named for what it is', async () => {
      await put({ 'students.csv': 'a,b\n', 'sections.csv': 'a,b\n' })
      const refused = await fetch()
      assert.deepEqual([refused.outcome, refused.exitCode], ['refused', 3])
      assert.match((await report()).text ?? '', /export for Clever/)
    })

    test('says how either reading of a set without a manifest is chosen', async () => {
      const less = edited(emptied, (s) => drop(s, 'stu-13'))
      await put(without(bulkFiles(less), 'manifest.csv'))
      const held = await fetch()
      assert.deepEqual([held.outcome, held.exitCode], ['held', 2])
      const { text = '' } = await report()
      assert.match(text, /^chiron roster fetch --bulk\nor\nchiron roster fetch --delta$/m)
      assert.equal((await fetch({ plan: { mode: 'bulk' } })).outcome, 'imported')
    })

    test('waits for nobody: while another import is under way it ends and says so', async () => {
      await put(bulkFiles(school))
      const { db } = service.app.parts
      let renewals = 0
      const renew = () =>
        db.run("update roster_state set leased_by = 'another', leased_until = $1, writer = null", [
          service.clock.now() + 15_000 + renewals++,
        ])
      let renewed = renew()
      await renewed
      const renewing = setInterval(() => {
        renewed = renew()
      }, 20)
      const busy = await fetch({ allow: ['leavers', 'changes'] }).finally(() => clearInterval(renewing))
      assert.deepEqual([busy.outcome, busy.exitCode], ['busy', 4])
      assert.match((await report()).text ?? '', /another import is running/)
      await renewed
      await db.run('update roster_state set leased_by = null, leased_until = 0, writer = null')
    })

    test('reports what went well if that is wanted', async () => {
      const done = await fetch({ reportAlways: true })
      assert.equal(done.outcome, 'imported', done.message)
      const imported = await report()
      assert.equal(imported.subject, 'The roster was imported')
      assert.match(imported.text ?? '', /^chiron roster undo$/m)
      await fetch({ reportAlways: true })
      assert.equal((await report()).subject, 'The roster has not changed')
      await fetch()
      const before = mails().length
      await outboxEmpty(service)
      assert.equal(mails().length, before)
    })

    test('from another source takes what is there, though it was taken elsewhere', async () => {
      const other = freshPath('elsewhere')
      mkdirSync(other)
      writeFileSync(join(other, 'roster.zip'), await packZip(bulkFiles(school)))
      const taken = await fetch({}, other)
      assert.deepEqual([taken.outcome, taken.message], ['unchanged', 'the roster already matches the file'])
      rmSync(other, { recursive: true })
    })

    test('reports once a day that no newer file has come for CHIRON_ROSTER_MAX_AGE_DAYS', async () => {
      await put(bulkFiles(grown))
      assert.equal((await fetch({ allow: holdCodes })).outcome, 'imported')
      const { roster_file_at: fileAt } = await figures()
      assert.ok(Number.isInteger(fileAt), String(fileAt))
      const { access } = await newStaff(service, 'registrar')
      const verdict = async () => {
        const { json } = await service.request('/staff/overview', { token: access })
        return [json.roster.state, json.roster.reason, Date.parse(json.roster.fileAt)]
      }
      assert.deepEqual(await verdict(), ['well', null, fileAt])
      service.clock.advance(fileAt! + 7 * day - service.clock.now())
      assert.equal((await fetch()).outcome, 'unchanged')
      const { roster_checked_at: checkedAt } = await figures()
      service.clock.advance(1)
      const overdue = await fetch()
      assert.deepEqual([overdue.outcome, overdue.exitCode, overdue.mailIds.length], ['overdue', 2, 1])
      assert.match(
        overdue.message,
        /^no newer file has come for 7 days; the newest is from 2026-11-14 \d\d:\d\d Europe\/Lisbon$/,
      )
      assert.equal((await figures()).roster_checked_at, checkedAt, 'the roster is not known to be current')
      const { subject, text = '' } = await report()
      assert.equal(subject, 'No newer roster has come: please check the export')
      assert.match(text, /still exports the roster/)
      service.clock.advance(hour)
      const again = await fetch()
      assert.deepEqual([again.outcome, again.isToldToday, again.mailIds], ['overdue', true, []])
      service.clock.advance(day)
      const nextDay = await fetch()
      assert.deepEqual([nextDay.exitCode, nextDay.isToldToday, nextDay.mailIds.length], [2, false, 1])
      const { access: later } = await newStaff(service, 'registrar')
      const { json } = await service.request('/staff/overview', { token: later })
      assert.deepEqual([json.roster.state, json.roster.reason], ['wrong', 'overdue'])
      const metrics = new StoreFigures(service.app.parts.db, service.clock, 7)
      assert.match(await metrics.text(), /^chiron_roster_overdue 1$/m)
      utimesSync(join(folder, 'roster.zip'), new Date(service.clock.now()), new Date(service.clock.now()))
      const renewed = await fetch()
      assert.deepEqual(
        [renewed.outcome, renewed.exitCode],
        ['unchanged', 0],
        'the same content, exported again',
      )
      assert.match(await metrics.text(), /^chiron_roster_overdue 0$/m)
    })

    test('finds an old file overdue even if it was never fetched before', async () => {
      const other = freshPath('old')
      mkdirSync(other)
      const path = join(other, 'roster.zip')
      writeFileSync(path, await packZip(bulkFiles(grown)))
      const old = (service.clock.now() - 90 * day) / 1000 + 0.000_4
      utimesSync(path, old, old)
      const found = await fetch({}, other)
      assert.deepEqual([found.outcome, found.exitCode], ['overdue', 2], found.message)
      assert.match(found.message, /^no newer file has come for 90 days; /)
    })

    test('reads a store in which SQLite kept the fraction of a file’s time', async () => {
      const { db } = service.app.parts
      const migration = new URL('../migrations/0040_whole_roster_file_times.sql', import.meta.url)
      const times = () => service.rows<{ file_at: number }>('select file_at from roster_fetch')
      const [before] = await times()
      await db.run('update roster_fetch set file_at = file_at + 0.4567')
      await db.exclusively(async (exec) => exec(readFileSync(migration, 'utf8')))
      assert.deepEqual(await times(), [before])
    })

    test('shows what became of the reports, as of every mail', async () => {
      await report()
      const { deliveries } = await service.app.parts.deliveries.find({ email: registrar, limit: 1 })
      assert.deepEqual([deliveries[0]!.mail, deliveries[0]!.state], ['report', 'handed'])
    })
  })
}
