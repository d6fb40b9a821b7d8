/** `chiron roster fetch` as a timer runs it: a process without a terminal, beside no service. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { openDb } from '../src/platform/db/open.ts'
import { certificateFor } from './support/certificate.ts'
import { commandFolder } from './support/child.ts'
import { atLength, newStore, onPostgres } from './support/engines.ts'
import { run } from './support/roster-commands.ts'
import { packZip } from './support/roster-files.ts'
import { bulkFiles, drop, edited, newSchool, numbers } from './support/roster-school.ts'
import { type SftpServer, startSftp } from './support/sftp.ts'
import { type MailServer, startMailServer } from './support/smtp.ts'

const school = newSchool(24)
const emptied = edited(school, (s) => {
  for (const n of numbers(12)) drop(s, `stu-${n}`)
})
const registrar = 'registrar@school.example'
const folder = commandFolder()

suite('chiron roster fetch', { ...atLength }, () => {
  let mail: MailServer
  let sftp: SftpServer
  before(async () => {
    mail = await startMailServer()
    sftp = await startSftp()
    sftp.files.set('roster.zip', { content: await packZip(bulkFiles(school)), changedAt: 1_000 })
  })
  after(async () => {
    await mail.close()
    await sftp.close()
  })

  const fetch = (env: Record<string, string>, ...args: string[]) =>
    run(folder.path, ['roster', 'fetch', ...args], env)
  const newEnv = (more: Record<string, string> = {}) => ({
    ...folder.ownStore(),
    CHIRON_SMTP_URL: mail.url,
    CHIRON_ROSTER_REPORT_TO: registrar,
    ...more,
  })
  const put = async (path: string, files: Parameters<typeof packZip>[0] | null) => {
    mkdirSync(path, { recursive: true })
    const file = join(path, 'roster.zip')
    rmSync(file, { force: true })
    if (files === null) return
    writeFileSync(file, await packZip(files))
    const at = new Date(Date.now() - 3_600_000 + put.count++)
    utimesSync(file, at, at)
  }
  put.count = 0

  test('imports, finds nothing to do, holds, refuses and fails, each with its exit code, and mails what matters', async () => {
    const source = join(folder.path, 'exports')
    const env = newEnv({ CHIRON_ROSTER_SOURCE: source })
    await put(source, bulkFiles(school))
    const first = await fetch(env)
    assert.equal(first.code, 0, first.err)
    assert.match(
      first.out,
      /^Store: SQLite, .*\nSource: .*exports\n\nThe file: roster\.zip, OneRoster 1\.2, bulk/,
    )
    assert.match(first.out, /Students: 0 before, 24 new[\s\S]*\nDone: the roster is now number 1\.\n$/)
    const again = await fetch(env)
    assert.deepEqual([again.code, again.err], [0, ''])
    assert.match(
      again.out,
      /Nothing to do: there is nothing newer than roster\.zip, fetched \d{4}-\d\d-\d\d \d\d:\d\d UTC\.\n$/,
    )
    assert.equal(mail.received.length, 0)

    await put(source, bulkFiles(emptied))
    const held = await fetch(env)
    assert.equal(held.code, 2, held.err)
    assert.match(held.out, /\nleavers: 12 of 24 [\s\S]*\nA report went to CHIRON_ROSTER_REPORT_TO\.\n$/)
    assert.doesNotMatch(held.out, /stu-\d|Given/, 'a log is no place for names')
    const report1 = join(folder.path, 'report1.txt')
    const shown = await fetch({ ...env, CHIRON_ROSTER_REPORT_TO: '' }, '--verbose', '--report', report1)
    assert.equal(shown.code, 2, shown.err)
    assert.match(shown.out, /leaving +students stu-1: Given Family stu-1, stu-1@school\.example\n/)
    assert.match(readFileSync(report1, 'utf8'), /This roster is held/)
    const { mail: report } = await mail.mailTo(registrar)
    assert.match(report.text ?? '', /^chiron roster fetch --allow leavers$/m)
    const allowed = await fetch(env, '--allow', 'leavers', '--json')
    assert.equal(allowed.code, 0, allowed.err)
    const { type, outcome, generation, reports } = allowed.json.at(-1)
    assert.deepEqual([type, outcome, generation, reports], ['done', 'imported', 2, 0])

    await put(source, { ...bulkFiles(school), 'users.csv': 'nothing\n' })
    const refused = await fetch(env, '--json')
    assert.equal(refused.code, 3)
    assert.deepEqual([refused.json.at(-1).type, refused.json.at(-1).reportsSent], ['stopped', 1])

    await put(source, null)
    const failed = await fetch(env)
    assert.equal(failed.code, 1)
    assert.match(
      failed.err,
      /^chiron: nothing was fetched from .*exports: it contains neither a zip nor a CSV file\n$/,
    )
    assert.equal((await mail.mailTo(registrar, 3)).mail.subject, 'The roster could not be fetched')
  })

  test('takes a roster from SFTP, and shows no password, whatever goes wrong', async () => {
    const address = (password: string) =>
      `sftp://ada:${encodeURIComponent(password)}@127.0.0.1:${sftp.port}/out`
    const env = newEnv({ CHIRON_ROSTER_SOURCE: address('open sesame') })
    const before = mail.received.length
    const unknown = await fetch(env)
    assert.equal(unknown.code, 1)
    assert.ok(unknown.err.includes(`set CHIRON_ROSTER_HOST_KEY=${sftp.fingerprint}`), unknown.err)
    const known = { ...env, CHIRON_ROSTER_HOST_KEY: sftp.fingerprint }
    const wrong = await fetch({ ...known, CHIRON_ROSTER_SOURCE: address('sesame street') })
    assert.deepEqual([wrong.code, /refuses the user, password or key/.test(wrong.err)], [1, true], wrong.err)
    const done = await fetch(known)
    assert.equal(done.code, 0, done.err)
    assert.match(done.out, new RegExp(`Source: sftp://127\\.0\\.0\\.1:${sftp.port}/out\\n`))
    const seen = [unknown, wrong, done].flatMap(({ out, err }) => [out, err])
    const mailed = mail.received.slice(before)
    assert.equal(mailed.length, 2)
    assert.doesNotMatch([...seen, ...mailed.map(({ raw }) => raw)].join(), /sesame/)
    const db = openDb(env.CHIRON_DATABASE_URL.replace('sqlite:', `sqlite:${folder.path}/`))
    assert.doesNotMatch(JSON.stringify(await db.all('select * from roster_fetch')), /sesame/)
    await db.close()
  })

  test('takes a roster from an https address, which is not asked for an unchanged one', async (t) => {
    const certificate = certificateFor('localhost')
    const statuses: number[] = []
    const zip = await packZip(bulkFiles(school))
    const server = createServer({ ...certificate }, (request, response) => {
      const isKnown = request.headers['if-none-match'] === '"one"'
      statuses.push(isKnown ? 304 : 200)
      response.writeHead(isKnown ? 304 : 200, { ETag: '"one"', 'Content-Type': 'application/zip' })
      response.end(isKnown ? undefined : zip)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const authority = join(folder.path, 'authority.pem')
    writeFileSync(authority, certificate.cert)
    const env = newEnv({ CHIRON_ROSTER_SOURCE: `https://ada:sesame@localhost:${port}/t0ken/roster` })
    const untrusted = await fetch(env)
    assert.equal(untrusted.code, 1)
    assert.match(
      untrusted.err,
      /^chiron: nothing was fetched from https:\/\/localhost:\d+: .*certificate[^\n]*\n$/,
    )
    const trusting = { ...env, NODE_EXTRA_CA_CERTS: authority }
    const first = await fetch(trusting)
    assert.equal(first.code, 0, first.err)
    // In a file with settings it counts as well, and where it is wrong Node would only warn.
    const file = join(folder.path, 'authority.env')
    writeFileSync(file, `NODE_EXTRA_CA_CERTS=${authority}\n`)
    const second = await fetch(env, '--json', '--env-file', file)
    assert.deepEqual([second.code, second.json.at(-1).outcome, statuses], [0, 'unchanged', [200, 304]])
    for (const [value, reason] of [
      ['nowhere.pem', 'there is no such file'],
      [file, 'it has no certificate'],
    ] as const) {
      const wrong = await fetch({ ...env, NODE_EXTRA_CA_CERTS: value })
      assert.equal(wrong.code, 1)
      assert.match(wrong.err, new RegExp(`chiron: NODE_EXTRA_CA_CERTS=\\S+: ${reason}[^\\n]*\\n$`))
    }
    assert.doesNotMatch([untrusted, first, second].map(({ out, err }) => out + err).join(), /t0ken|sesame/)
  })

  test('leaves the report in the outbox when the mail server does not take it', async () => {
    const none = { CHIRON_SMTP_URL: 'smtp://127.0.0.1:1', CHIRON_ROSTER_SOURCE: join(folder.path, 'none') }
    const env = newEnv(none)
    const failed = await fetch(env, '--again')
    assert.equal(failed.code, 1, failed.err)
    assert.match(failed.out, /A report for CHIRON_ROSTER_REPORT_TO is in the outbox/)
    const db = openDb(env.CHIRON_DATABASE_URL.replace('sqlite:', `sqlite:${folder.path}/`))
    const rows = await db.all('select kind, attempts, sent_at from outbox')
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [{ kind: 'report', attempts: 1, sent_at: null }],
    )
    await db.close()
  })

  test('says on one line what is missing in the settings, and when the store is out of reach', async () => {
    const store = folder.ownStore()
    const unset = await fetch(store)
    assert.deepEqual(
      [unset.code, /^chiron: CHIRON_ROSTER_SOURCE is not set[^\n]*\n$/.test(unset.err)],
      [1, true],
    )
    const source = { CHIRON_ROSTER_SOURCE: folder.path }
    const nobody = await fetch({ ...store, ...source }, '--report-always')
    assert.match(nobody.err, /^chiron: CHIRON_ROSTER_REPORT_TO is not set[^\n]*\n$/)
    const away = {
      CHIRON_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      CHIRON_SECRET: 'a secret for tests that is long enough',
    }
    const unreachable = await fetch({ ...away, ...source })
    assert.equal(unreachable.code, 5, unreachable.err)
  })

  test('works on PostgreSQL too', onPostgres, async (t) => {
    const store = await newStore('postgres')
    t.after(() => store.remove())
    const source = join(folder.path, 'for-postgres')
    await put(source, bulkFiles(school))
    const env = {
      CHIRON_DATABASE_URL: store.url,
      CHIRON_SECRET: 'a secret for tests that is long enough',
      CHIRON_SMTP_URL: mail.url,
      CHIRON_ROSTER_SOURCE: source,
      CHIRON_ROSTER_REPORT_TO: 'someone@else.example, other@else.example',
    }
    const done = await fetch(env, '--report-always')
    assert.equal(done.code, 0, done.err)
    assert.match(done.out, /2 reports went to CHIRON_ROSTER_REPORT_TO\.\nDone: /)
    assert.equal((await mail.mailTo('other@else.example')).mail.subject, 'The roster was imported')
  })
})
