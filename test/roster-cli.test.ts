/** `chiron roster …` and the demo school, as separate processes: output and exit codes. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { demoAddresses, demoVeterinarian } from '../demo/school.ts'
import { openDb } from '../src/platform/db/open.ts'
import { commandFolder, main, serveChild, startChiron, startProcess } from './support/child.ts'
import { atLength, newStore, onPostgres } from './support/engines.ts'
import { freePort } from './support/postgres.ts'
import { onTerminal, plain, run } from './support/roster-commands.ts'
import { clean12, packZip, writeFolder, writeZip } from './support/roster-files.ts'
import { bulk, bulkFiles, change, delta, drop, edited, newSchool, numbers } from './support/roster-school.ts'
import { startMailServer } from './support/smtp.ts'
import { eventually } from './support/wait.ts'

const school = newSchool(24)
const changed = edited(school, (s) => {
  drop(s, 'stu-1')
  change(s.users, 'stu-2', { givenName: 'Other', email: 'other@school.example' })
})
const oneLine = /^chiron: [^\n]+\n$/

const folder = commandFolder()
const { ownStore } = folder
const roster = (env: Record<string, string>, ...args: string[]) => run(folder.path, ['roster', ...args], env)
const cells = (out: string, title: string) =>
  out
    .split('\n')
    .find((line) => line.startsWith(title))
    ?.slice(title.length)
    .trim()
    .split(/\s+/)
    .map(Number)

suite('chiron roster', { concurrency: 2, ...atLength }, () => {
  test('check shows the plan as a table and in words, and changes nothing', async () => {
    const env = ownStore()
    const zip = writeZip(await packZip(bulkFiles(school)))
    const first = await roster(env, 'check', zip)
    assert.equal(first.code, 0, first.err)
    assert.match(
      first.out,
      /^Store: SQLite, .*\.db\nroster\.zip: OneRoster 1\.2, bulk, \d+ rows, sha256 [0-9a-f]{12}…\n/,
    )
    assert.match(first.out, /before +added +changed +leaving +returning +after/)
    assert.deepEqual(cells(first.out, 'Students'), [0, 24, 0, 0, 0, 24])
    assert.deepEqual(cells(first.out, 'Classes'), [0, 2, 0, 0, 0, 2])
    assert.deepEqual(cells(first.out, 'Enrolments'), [0, 26, 0, 0, 0, 26])
    for (const title of ['People', 'Roles', 'Courses', 'Terms', 'Organisations'])
      assert.equal(cells(first.out, title)?.length, 6, title)
    assert.match(first.out, /Students: 24 new\./)
    assert.deepEqual(await roster(env, 'check', zip), first)
    assert.equal((await roster(env, 'history', '--json')).out, '')
  })

  test('Commands whose output nobody reads do their work and say nothing of it', async () => {
    const env = { ...ownStore(), CHIRON: `${process.execPath} ${main}`, SCHOOL: bulk(school) }
    const inShell = async (line: string) => {
      const child = startProcess('bash', ['-o', 'pipefail', '-c', line], { cwd: folder.path, env })
      return { ...(await child.exited), err: child.output.err }
    }
    const quiet = { code: 0, signal: null, err: '' }
    assert.deepEqual(await inShell('$CHIRON roster import $SCHOOL --yes | true'), quiet)
    assert.match((await roster(env, 'history')).out, /roster/)
    assert.deepEqual(await inShell('$CHIRON events --follow | true'), quiet)
    const full = await inShell('$CHIRON roster history > /dev/full')
    assert.deepEqual([full.code, full.err], [1, 'chiron: the output could not be written (ENOSPC)\n'])
  })

  test('import, history and undo tell a story, in words and as JSON', async () => {
    const env = ownStore()
    const imported = await roster(env, 'import', bulk(school), '--yes')
    assert.equal(imported.code, 0, imported.err)
    assert.match(imported.out, /Done: the roster is now number 1\./)
    const again = await roster(env, 'import', bulk(school), '--yes')
    assert.equal(again.code, 0)
    assert.match(again.out, /Nothing would change\.[\s\S]*nothing to do/)

    const next = await roster(env, 'import', bulk(changed), '--yes', '--json', '--verbose')
    assert.equal(next.code, 0, next.err)
    const plan = next.json.find(({ type }) => type === 'plan')
    const { before, after: then, changed: differing, leaving } = plan.counts.student
    assert.deepEqual([before, then, differing, leaving], [24, 23, 1, 1])
    assert.deepEqual([plan.refused, plan.holds], [false, []])
    assert.match(plan.file.sha256, /^[0-9a-f]{64}$/)
    assert.deepEqual(next.json.at(-1), { type: 'done', generation: 2 })
    const user = next.json.find(
      ({ type, kind, operation }) => type === 'change' && kind === 'user' && operation === 'changed',
    )
    assert.deepEqual(
      [user.sourcedId, user.before.firstname, user.after.firstname],
      ['stu-2', 'Given', 'Other'],
    )

    const undone = await roster(env, 'undo', '--yes')
    assert.equal(undone.code, 0, undone.err)
    assert.match(
      undone.out,
      /Undo number 2: .* rows, \d{4}-\d\d-\d\d \d\d:\d\d UTC, by operator\.\n.*after number 1: 0 students leave, 1 returns, 1 changes\.\n/,
    )
    const history = await roster(env, 'history', '--json')
    assert.deepEqual(
      history.json.map(({ generation, kind, sha256 }) => [generation, kind, sha256]),
      [
        [3, 'undo', plan.file.sha256],
        [2, 'import', plan.file.sha256],
        [1, 'import', history.json[2].sha256],
      ],
    )
    assert.deepEqual(
      history.json.map(({ canGoBack }) => canGoBack),
      [false, true, false],
    )
    for (const { at } of history.json) assert.ok(Math.abs(Date.parse(at) - Date.now()) < 600_000)
    const words = await roster(env, 'history')
    assert.match(
      words.out,
      /3 .* by operator {2}undo of 2, back to number 1\n[\s\S]* 1 .*OneRoster 1\.2, \d+ rows {2}sha256/,
    )
    assert.match(words.out, /1 left, 0 returned; undo --to 2 goes back to it\n/)
    assert.doesNotMatch(words.out, /--to [13]/)
    assert.match(words.out, /students: 24 added, 0 changed, 0 left, 0 returned/)
    const held = await roster(env, 'undo', '--yes')
    assert.equal(held.code, 2, held.err)
    assert.match(
      held.out,
      /Held \(leavers\): 24 of 24 [\s\S]*If this is intended, go back with --allow leavers,/,
    )
    const allow = ['--allow', 'leavers,teachers,classes']
    const undone2 = await roster(env, 'undo', '--yes', '--json', ...allow)
    assert.deepEqual(undone2.json.at(-1), { type: 'done', generation: 4 })
    const none = await roster(env, 'undo', '--yes')
    assert.equal(none.code, 1)
    assert.match(none.err, /^chiron: there is no import to undo\n$/)
  })

  test('--verbose says field by field what changes', async () => {
    const env = ownStore()
    await roster(env, 'import', bulk(school), '--yes')
    const { out, code } = await roster(env, 'check', bulk(changed), '--verbose')
    assert.equal(code, 0)
    assert.match(
      out,
      /changed +students stu-2: Other Family stu-2: firstname Given → Other; email stu-2@school\.example → other@school\.example\n/,
    )
    assert.match(out, /leaving +students stu-1: Given Family stu-1, stu-1@school\.example\n/)
    assert.match(out, /leaving +enrolments class-1-stu-1: Given Family stu-1 in Class class-1\n/)
  })

  test('What is held exits with 2 until it is allowed by name, says why, and names who leaves', async () => {
    const env = ownStore()
    await roster(env, 'import', bulk(school), '--yes')
    const emptied = bulk(
      edited(school, (s) => {
        for (const n of numbers(12)) drop(s, `stu-${n}`)
      }),
    )
    for (const args of [['check'], ['import', '--yes']]) {
      const held = await roster(env, ...args, emptied)
      assert.equal(held.code, 2, args.join(' '))
      assert.match(
        held.out,
        /Students, leaving:\n {2}Given Family stu-1, stu-1@school\.example\n[\s\S]*and 2 more/,
      )
      assert.match(
        held.out,
        /Held \(leavers\): 12 of 24 students would leave \(more than 10 %\)\.\n[\s\S]*--allow leavers/,
      )
    }
    const wrong = await roster(env, 'import', emptied, '--yes', '--allow', 'leavers,everything')
    assert.equal(wrong.code, 1)
    assert.match(wrong.err, /--allow takes a comma-separated list of leavers, changes, .*; not everything/)
    assert.equal((await roster(env, 'import', emptied, '--yes', '--allow', 'terms')).code, 2)
    const { json } = await roster(env, 'check', emptied, '--json')
    assert.deepEqual([json[0].type, json[0].engine], ['store', 'SQLite'])
    assert.deepEqual(json.at(-1).holds[0], {
      code: 'leavers',
      reason: '12 of 24 students would leave (more than 10 %)',
      numbers: { leaving: 12, before: 24 },
    })
    assert.equal((await roster(env, 'history', '--json')).json.length, 1)
    assert.equal((await roster(env, 'import', emptied, '--yes', '--allow', 'leavers,terms')).code, 0)
    assert.match((await roster(env, 'history')).out, /12 left, 0 returned; allowed: leavers\n/)
  })

  test('What is refused exits with 3, whatever is allowed, without a plan, and every finding has its place', async () => {
    const env = ownStore()
    const dirty = writeFolder({
      ...clean12,
      'users.csv': clean12['users.csv'].replace('ada@school.example', 'ada at school'),
      'academicSessions.csv': clean12['academicSessions.csv'].replace('2026-08-17', '8/17/2026'),
      'enrollments.csv': `${clean12['enrollments.csv']}${numbers(8)
        .map((n) => `more-${n},,,class-1,org-1,nobody-${n},student,,,\n`)
        .join('')}`,
    })
    const report = join(folder.path, 'report.txt')
    for (const args of [
      ['check', dirty, '--report', report],
      ['import', dirty, '--yes', '--allow', 'leavers'],
    ]) {
      const refused = await roster(env, ...args)
      assert.equal(refused.code, 3, args.join(' '))
      assert.ok(!refused.out.includes('returning'), 'no plan')
      assert.match(refused.out, /nothing can be imported until they are fixed/)
      assert.match(refused.out, /academicSessions\.csv, line 2, startDate: "8\/17\/2026": /)
      assert.match(refused.out, /users\.csv, line 2, email: "ada at school": /)
      assert.match(refused.out, /enrollments\.csv, line 4, userSourcedId: "nobody-1": /)
      assert.match(refused.out, /… and 3 more like this \(--verbose shows all\)/)
      assert.ok(!refused.out.includes('nobody-8') && !refused.out.includes('hunter2'))
    }
    const text = readFileSync(report, 'utf8')
    assert.match(text, /^Roster report\n\nThis roster cannot be imported/)
    assert.ok(text.includes('nobody-8') && !text.includes('hunter2'))
    assert.ok((await roster(env, 'check', dirty, '--verbose')).out.includes('nobody-8'))
    const { json, out } = await roster(env, 'check', dirty, '--json')
    assert.ok(!out.includes('hunter2'))
    const { message, ...finding } = json.find(({ code }) => code === 'bad-date')
    assert.deepEqual(finding, {
      type: 'finding',
      severity: 'error',
      code: 'bad-date',
      file: 'academicSessions.csv',
      line: 2,
      column: 'startDate',
      value: '8/17/2026',
    })
    assert.match(message, /2018-08-27/)
    assert.deepEqual([json.at(-1).refused, json.at(-1).counts], [true, undefined])
    assert.deepEqual((await roster(env, 'history', '--json')).out, '')
  })

  test('A report tells the registrar what is held, and what is well', async () => {
    const env = ownStore()
    const report = join(folder.path, 'fine.txt')
    const fine = await roster(env, 'import', bulk(school), '--yes', '--report', report)
    assert.match(fine.out, /The report is in .*fine\.txt\./)
    assert.match(readFileSync(report, 'utf8'), /This roster can be imported\./)
    await roster(env, 'check', bulk(newSchool(3)), '--report', report)
    const text = readFileSync(report, 'utf8')
    assert.match(text, /This roster is held/)
    for (const n of numbers(24).slice(3)) assert.match(text, new RegExp(`leaving +students stu-${n}: Given`))
    assert.equal(statSync(report).isFile(), true)
  })

  test('Whatever goes wrong is one line', async () => {
    const env = ownStore()
    await roster(env, 'import', bulk(school), '--yes')
    const table: [args: string[], line: RegExp][] = [
      [['import', bulk(changed)], /cannot ask without a terminal; add --yes/],
      [['undo', '--allow', 'leavers,teachers,classes'], /cannot ask without a terminal; add --yes/],
      [['check', 'no-such.zip'], /no-such\.zip/],
      [['import', 'no-such.zip', '--yes', '--json'], /no-such\.zip/],
      [['check'], /missing required argument/],
      [['import', bulk(school), '--yse'], /unknown option '--yse'/],
      [['frobnicate'], /unknown command/],
      [['check', bulk(school), '--report', join(folder.path, 'no', 'such', 'report')], /ENOENT/],
    ]
    for (const [args, line] of table) {
      const { code, err } = await roster(env, ...args)
      assert.equal(code, 1, args.join(' '))
      if (args.includes('--json')) assert.equal(typeof JSON.parse(err).error, 'string')
      else assert.match(err, oneLine, args.join(' '))
      assert.match(err, line)
    }
    assert.equal((await roster(env, 'history', '--json')).json.length, 1)
  })

  test('On a terminal import asks, and takes no for an answer', async () => {
    const env = ownStore()
    for (const [typed, expected] of [
      ['n\n', /Import this\? \[y\/N\][\s\S]*Nothing was changed\./],
      ['y\n', /Import this\? \[y\/N\][\s\S]*Done: the roster is now number 1\./],
    ] as const) {
      const child = onTerminal(folder.path, ['roster', 'import', bulk(school)], env, typed)
      assert.equal((await child.exited).code, 0)
      assert.match(plain(child.output.out), expected)
    }
  })

  test('Each way to fail has its own exit code', async () => {
    const env = ownStore()
    await roster(env, 'import', bulk(school), '--yes')
    const withoutManifest = bulk(changed)
    rmSync(join(withoutManifest, 'manifest.csv'))
    assert.equal((await roster(env, 'check', withoutManifest)).code, 2)
    assert.match((await roster(env, 'check', withoutManifest)).out, /Held \(mode\).*--bulk or --delta\.\n/s)
    assert.equal((await roster(env, 'check', withoutManifest, '--bulk')).code, 0)
    const page = join(folder.path, 'page.zip')
    writeFileSync(page, '<html></html>')
    const bad = await roster(env, 'import', page, '--yes')
    assert.equal(bad.code, 3)
    assert.match(bad.out, /page\.zip: This is a web page/)
    const db = openDb(`sqlite:${join(folder.path, env.CHIRON_DATABASE_URL.slice('sqlite:'.length))}`)
    const renew = () =>
      db.run("update roster_state set leased_by = 'other', leased_until = $1", [Date.now() + 60_000])
    await renew()
    const renewing = setInterval(() => void renew().catch(() => {}), 50)
    const busy = await roster(env, 'import', bulk(changed), '--yes')
    clearInterval(renewing)
    await db.close()
    assert.deepEqual(
      [busy.code, busy.err],
      [4, 'chiron: another import is running; try again when it has finished\n'],
    )
    const nowhere = `postgres://chiron:hunter2@127.0.0.1:${await freePort()}/school?connect_timeout=1`
    const lost = await roster({ CHIRON_DATABASE_URL: nowhere }, 'check', bulk(school))
    assert.equal(lost.code, 5)
    assert.match(lost.err, /^chiron: The store is unreachable\. .*\n$/)
    assert.ok(!`${lost.out}${lost.err}`.includes('hunter2'))
    const noStore = { CHIRON_DATABASE_URL: `sqlite:${page}` }
    assert.equal((await roster(noStore, 'check', bulk(school))).code, 5, 'a file that is no store')
  })

  test('Where no settings and no store are, none is made', async () => {
    const empty = mkdtempSync(join(tmpdir(), 'chiron-nowhere-'))
    try {
      for (const args of [
        ['check', bulk(school)],
        ['import', bulk(school), '--yes'],
        ['history'],
        ['undo', '--yes'],
      ]) {
        const { code, err } = await run(empty, ['roster', ...args])
        assert.equal(code, 1)
        assert.match(err, /there is no store at .*--env-file FILE or CHIRON_DATABASE_URL/)
      }
      assert.deepEqual(readdirSync(empty), [])
      writeFileSync(join(empty, 'service.env'), `CHIRON_DATABASE_URL=sqlite:${join(empty, 'school.db')}\n`)
      const { code, out } = await run(empty, ['roster', 'history', '--env-file', 'service.env'])
      assert.equal(code, 0)
      assert.match(out, /^Store: SQLite, .*school\.db\n$/)
    } finally {
      rmSync(empty, { recursive: true, force: true })
    }
  })

  test('Nothing that a file holds reaches the terminal as a control character', async () => {
    const env = ownStore()
    await roster(env, 'import', bulk(school), '--yes')
    const evil = edited(school, (s) => {
      change(s.users, 'stu-1', { givenName: '\u200fEve\u200e', email: 'no \u001b[2J\u009b1m address' })
      change(s.classes, 'class-1', { title: 'A\u202eB' })
      change(s.users, 'stu-2', { givenName: '\u200fEve' })
    })
    for (const args of [[], ['--verbose'], ['--json', '--verbose'], ['--skip-bad-rows', '1', '--verbose']]) {
      const { out } = await roster(env, 'check', bulk(evil), ...args)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
      assert.doesNotMatch(out.replaceAll('\n', ''), /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202e]/)
    }
  })

  test('correct puts one student right, is listed, and goes again', async () => {
    const env = ownStore()
    await roster(env, 'import', bulk(school), '--yes')
    assert.match((await roster(env, 'correct', '--list')).out, /There are no corrections\./)
    const done = await roster(env, 'correct', 'stu-1@school.example', '--email', 'ada@school.example')
    assert.equal(done.code, 0, done.err)
    assert.match(done.out, /is corrected until the file agrees\./)
    const listed = await roster(env, 'correct', '--list')
    assert.match(
      listed.out,
      /Given Family stu-1, id .* UTC by operator\n {2}email: ada@school\.example \(stu-1@school\.example in the file\)/,
    )
    const plan = await roster(env, 'check', bulk(changed))
    assert.match(
      (await roster(env, 'check', bulk(school))).out,
      /Corrected by hand .*:\n {2}Given Family stu-1: email ada@/,
    )
    assert.equal(plan.code, 0)
    assert.match(
      (await roster(env, 'history')).out,
      /2 .* a correction by hand\n {6}one student was corrected/,
    )
    const gone = await roster(env, 'correct', 'ada@school.example', '--remove')
    assert.match(gone.out, /is no longer corrected\./)
    for (const [args, line] of [
      [['correct'], /name the student/],
      [['correct', 'stu-1@school.example'], /give the correction/],
      [['correct', 'nobody@school.example', '--firstname', 'X'], /Nobody has the id/],
      [['correct', 'stu-1@school.example', '--email', 'x'], /chiron: x: /],
      [
        ['correct', 'stu-1@school.example', '--email', 'stu-2@school.example'],
        /the address of Given Family stu-2/,
      ],
    ] as const) {
      const { code, err } = await roster(env, ...args)
      assert.equal(code, 1, args.join(' '))
      assert.match(err, line)
      assert.match(err, oneLine)
    }
  })

  test('undo --to goes back several steps at once', async () => {
    const env = ownStore()
    for (const n of numbers(3)) {
      const path = bulk(edited(school, (s) => drop(s, `stu-${n}`)))
      assert.equal((await roster(env, 'import', path, '--yes')).code, 0)
    }
    const { code, out } = await roster(env, 'undo', '--to', '1', '--yes')
    assert.equal(code, 0)
    assert.match(
      out,
      /Undo number 3: .*\nUndo number 2: [\s\S]*leaving +Given Family stu-1[\s\S]*numbers 3, 2 are undone/,
    )
    const wrong = await roster(env, 'undo', '--to', '7', '--yes')
    assert.match(wrong.err, /number 7 cannot be restored; available: 0/)
  })

  test('Passwords are in no output and not in the store', async () => {
    const env = ownStore()
    const path = writeFolder(clean12)
    const { out, err, code } = await roster(env, 'import', path, '--yes', '--verbose', '--json')
    assert.equal(code, 0, err)
    const store = join(folder.path, env.CHIRON_DATABASE_URL.slice('sqlite:'.length))
    const held = [store, `${store}-wal`]
      .filter((file) => existsSync(file))
      .map((file) => readFileSync(file, 'latin1'))
    for (const text of [out, err, ...held]) assert.ok(!text.includes('hunter2'))
  })

  test('The same commands work on PostgreSQL', onPostgres, async () => {
    const store = await newStore('postgres')
    const env = { CHIRON_DATABASE_URL: store.url }
    const first = await roster(env, 'import', bulk(school), '--yes')
    assert.match(first.out, /^Store: PostgreSQL, 127\.0\.0\.1:\d+\/chiron_\w+\n/)
    assert.equal(first.code, 0)
    const rename = delta({ users: [['stu-2', changed.users.get('stu-2')!]] })
    const { json } = await roster(env, 'import', rename, '--yes', '--json')
    assert.deepEqual(json.at(-1), { type: 'done', generation: 2 })
    assert.equal((await roster(env, 'undo', '--yes')).code, 0)
    assert.equal((await roster(env, 'history', '--json')).json.length, 3)
    await store.remove()
  })
})

suite('The demo school', { concurrency: 2, ...atLength }, () => {
  const students = async (env: Record<string, string>) => {
    const { json } = await roster(env, 'history', '--json')
    return json.map(({ file, summary }) => [file, summary.student.added])
  }

  test('is loaded into an empty store, once, and its students can sign in', async () => {
    const store = ownStore()
    const env = { ...store, CHIRON_PORT: String(await freePort()) }
    const child = onTerminal(folder.path, ['serve'], env)
    const url = `http://127.0.0.1:${env.CHIRON_PORT}`
    await eventually('the addresses', () =>
      demoAddresses.every(({ email }) => child.output.out.includes(email)),
    )
    const said = plain(child.output.out)
    for (const { email, who } of [...demoAddresses, demoVeterinarian])
      assert.match(said, new RegExp(`${RegExp.escape(email)} +${RegExp.escape(who)}`))
    const post = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' }
      const reply = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      return { status: reply.status, json: (await reply.json()) as Record<string, string> }
    }
    const { email } = demoAddresses[0]!
    const { sessionId } = (await post('/student/send-otp', { email })).json
    const code = await eventually(
      'the code',
      () => plain(child.output.out).match(/code (\d{6}) for eleanor/)?.[1],
    )
    const signedIn = await post('/student/validate-otp', { email, otp_code: Number(code), sessionId })
    assert.equal(signedIn.status, 200)
    const classes = await fetch(`${url}/student/me/classes`, {
      headers: { authorization: `Bearer ${signedIn.json.access_token}` },
    })
    assert.equal(classes.status, 200)
    const teacher = { email: demoVeterinarian.email }
    const sent = await post('/veterinarian/send-otp', teacher)
    const itsCode = await eventually(
      'the code',
      () => plain(child.output.out).match(/code (\d{6}) for naomi/)?.[1],
    )
    const answer = { ...teacher, otp_code: Number(itsCode), sessionId: sent.json.sessionId }
    const teaching = await fetch(`${url}/veterinarian/me/classes`, {
      headers: {
        authorization: `Bearer ${(await post('/veterinarian/validate-otp', answer)).json.access_token}`,
      },
    })
    const taught = (await teaching.json()) as { classes: { students: object[]; meetings: object[] }[] }
    assert.ok(taught.classes.length > 2)
    assert.ok(taught.classes.every(({ students }) => students.length > 0))
    assert.ok(taught.classes.some(({ meetings }) => meetings.length > 0))
    const loaded = await students(env)
    assert.deepEqual(loaded.length, 1)
    assert.equal(loaded[0]![0], 'demo school')
    assert.ok(loaded[0]![1] >= 50)
    process.kill(-child.pid, 'SIGTERM')
    await child.exited

    const again = await serveChild({ cwd: folder.path, env: store })
    again.kill('SIGTERM')
    await again.exited
    assert.equal((await students(env)).length, 1)
    assert.ok(readdirSync(folder.path).every((name) => !name.startsWith('chiron-demo')))
  })

  for (const workers of ['1', '2'])
    test(`is loaded also where members of staff were added first, with ${workers} workers`, async () => {
      const env = { ...ownStore(), CHIRON_WORKERS: workers }
      const staff = ['staff', 'add', 'ada@school.example', '--name', 'Ada Marsh', '--may', 'admin']
      assert.equal((await run(folder.path, ['migrate'], env)).code, 0)
      assert.equal((await run(folder.path, staff, env)).code, 0)
      const child = await serveChild({ cwd: folder.path, env })
      await eventually('the demo school', () => child.output.out.includes('demo school: sign in as'))
      child.kill('SIGTERM')
      await child.exited
      assert.equal((await students(env)).length, 1)
    })

  test('is never loaded into a store that had a roster', async () => {
    const env = ownStore()
    await roster(env, 'import', bulk(newSchool(3)), '--yes')
    await roster(env, 'undo', '--yes')
    const child = await serveChild({ cwd: folder.path, env })
    child.kill('SIGTERM')
    await child.exited
    const { json } = await roster(env, 'history', '--json')
    assert.ok(json.every(({ file }) => file !== 'demo school'))
  })

  test('is never loaded in production', async () => {
    const mail = await startMailServer()
    const env = {
      ...ownStore(),
      NODE_ENV: 'production',
      CHIRON_SECRET: 'a secret for tests that is long enough',
      CHIRON_SMTP_URL: mail.url,
      CHIRON_PUBLIC_URL: 'https://access.example.org',
    }
    const child = await serveChild({ cwd: folder.path, env })
    child.kill('SIGTERM')
    await child.exited
    assert.deepEqual(await students(env), [])
    await mail.close()
  })

  test('is loaded once when several workers serve', async () => {
    const env = { ...ownStore(), CHIRON_WORKERS: '2' }
    const child = await serveChild({ cwd: folder.path, env }, startChiron)
    assert.equal((await students(env)).length, 1)
    // Without a terminal the log names the people.
    await eventually('the people in the log', () =>
      [...demoAddresses, demoVeterinarian].every(({ email }) =>
        child.output.out.includes(`sign in as ${email} (`),
      ),
    )
    child.kill('SIGTERM')
    await child.exited
  })
})
