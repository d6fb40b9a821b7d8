/** `chiron roster …` and the demo school, as separate processes: output and exit codes. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { demoAddresses, demoVeterinarian } from '../demo/school.ts'
import { commandFolder, serveChild, startChiron } from './support/child.ts'
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
    assert.match(first.out, /^roster\.zip: OneRoster 1\.2, bulk, \d+ rows, sha256 [0-9a-f]{12}…\n/)
    assert.match(first.out, /now +added +changed +leaving +returning +then/)
    assert.deepEqual(cells(first.out, 'Students'), [0, 24, 0, 0, 0, 24])
    assert.deepEqual(cells(first.out, 'Classes'), [0, 2, 0, 0, 0, 2])
    assert.deepEqual(cells(first.out, 'Enrolments'), [0, 26, 0, 0, 0, 26])
    for (const title of ['People', 'Roles', 'Courses', 'Terms', 'Organisations'])
      assert.equal(cells(first.out, title)?.length, 6, title)
    assert.match(first.out, /Students: 24 new\./)
    assert.deepEqual(await roster(env, 'check', zip), first)
    assert.equal((await roster(env, 'history')).out, '')
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
    assert.deepEqual([plan.refused, plan.held], [false, []])
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
    assert.match(undone.out, /Undo import 2 \(.*\)\.\n.*0 students leave, 1 come back, 1 change/)
    const history = await roster(env, 'history', '--json')
    assert.deepEqual(
      history.json.map(({ generation, kind, sha256 }) => [generation, kind, sha256]),
      [
        [3, 'undo', plan.file.sha256],
        [2, 'import', plan.file.sha256],
        [1, 'import', history.json[2].sha256],
      ],
    )
    for (const { at } of history.json) assert.ok(Math.abs(Date.parse(at) - Date.now()) < 600_000)
    const words = await roster(env, 'history')
    assert.match(words.out, /3 .* undo of 2 [\s\S]* 1 .*OneRoster 1\.2, \d+ rows {2}sha256/)
    assert.match(words.out, /students: 24 added, 0 changed, 0 left, 0 came back/)
    const undone2 = await roster(env, 'undo', '--yes', '--json')
    assert.deepEqual(undone2.json.at(-1), { type: 'done', generation: 4 })
    const none = await roster(env, 'undo', '--yes')
    assert.deepEqual([none.code, none.out], [1, ''])
    assert.match(none.err, /^chiron: there is no import to undo\n$/)
  })

  test('--verbose says field by field what changes', async () => {
    const env = ownStore()
    await roster(env, 'import', bulk(school), '--yes')
    const { out, code } = await roster(env, 'check', bulk(changed), '--verbose')
    assert.equal(code, 0)
    assert.match(
      out,
      /changed +people stu-2\n +firstname: "Given" → "Other"\n +email: "stu-2@school.example" → "other@school.example"\n/,
    )
    assert.match(out, /leaving +students stu-1\n/)
    assert.match(out, /leaving +enrolments class-1-stu-1\n/)
  })

  test('What is held exits with 2 until --force, and says why', async () => {
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
      assert.match(held.out, /Held: 12 of 24 students would leave \(more than 10 %\)\.[\s\S]*--force/)
    }
    assert.equal((await roster(env, 'history', '--json')).json.length, 1)
    assert.equal((await roster(env, 'import', emptied, '--yes', '--force')).code, 0)
  })

  test('What is refused exits with 1, with or without --force, and every finding has its place', async () => {
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
      ['import', dirty, '--yes', '--force'],
    ]) {
      const refused = await roster(env, ...args)
      assert.equal(refused.code, 1, args.join(' '))
      assert.match(refused.out, /nothing can be imported until they are mended/)
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
    assert.equal(json.at(-1).refused, true)
    assert.deepEqual((await roster(env, 'history')).out, '')
  })

  test('A report tells the registrar what is held, and what is well', async () => {
    const env = ownStore()
    const report = join(folder.path, 'fine.txt')
    const fine = await roster(env, 'import', bulk(school), '--yes', '--report', report)
    assert.match(fine.out, /The report is in .*fine\.txt\./)
    assert.match(readFileSync(report, 'utf8'), /This roster can be imported\./)
    await roster(env, 'check', bulk(newSchool(3)), '--report', report)
    assert.match(readFileSync(report, 'utf8'), /This roster is held/)
    assert.equal(statSync(report).isFile(), true)
  })

  test('Whatever goes wrong is one line', async () => {
    const env = ownStore()
    await roster(env, 'import', bulk(school), '--yes')
    const table: [args: string[], line: RegExp][] = [
      [['import', bulk(changed)], /nobody can be asked here; add --yes/],
      [['undo'], /nobody can be asked here; add --yes/],
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
    assert.equal((await roster(env, 'import', bulk(school), '--yes')).code, 0)
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

  test('is never loaded into a store that holds anything', async () => {
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
