/**
 * `chiron mail …` and the timeline in `chiron people show`, as processes beside the service. What they ask the store is
 * tested on both engines in delivery and bounces.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { tagOf } from '../src/messages/delivery/delivery.ts'
import { secretsFrom } from '../src/platform/lib/secret.ts'
import { commandFolder, main, startProcess } from './support/child.ts'
import { deliveredAs, deliveriesTo } from './support/deliveries.ts'
import { atLength } from './support/engines.ts'
import { freePort } from './support/postgres.ts'
import { run } from './support/roster-commands.ts'
import { addUser, bulk, emptySchool } from './support/roster-school.ts'
import { rosterOf, studentCode } from './support/roster-world.ts'
import { type Service, startService } from './support/service.ts'
import { startMailServer } from './support/smtp.ts'
import { outboxEmpty } from './support/wait.ts'

const secret = 'a secret for tests that is long enough'
const { current } = secretsFrom(secret, null)
const folder = commandFolder()

/** A notification as small as RFC 3464 lets it be. */
const dsn = (envelopeId: string, action = 'failed') =>
  [
    'Content-Type: multipart/report; report-type=delivery-status; boundary=p',
    '',
    '--p',
    'Content-Type: message/delivery-status',
    '',
    `Original-Envelope-Id: ${envelopeId}`,
    '',
    `Action: ${action}`,
    'Status: 5.1.1',
    'Diagnostic-Code: smtp; 550 no \u001b[31msuch user',
    '',
    '--p--',
    '',
  ].join('\r\n')

suite('The mail commands', atLength, () => {
  let service: Service
  let env: Record<string, string>
  before(async () => {
    const mail = await startMailServer({
      onRcptTo({ address }, _session, callback) {
        const refused = Object.assign(new Error('5.1.1 no \u202esuch user'), { responseCode: 550 })
        callback(address.startsWith('gone') ? refused : null)
      },
    })
    service = await startService('sqlite', { mail })
    env = {
      CHIRON_DATABASE_URL: service.databaseUrl,
      CHIRON_SECRET: secret,
      CHIRON_SMTP_URL: mail.url,
      CHIRON_PUBLIC_URL: service.url,
    }
  })
  after(async () => {
    await service.stop()
    await service.mail.close()
  })

  const chiron = (...args: string[]) => run(folder.path, ['mail', ...args], env)
  const fed = async (text: string, ...args: string[]) => {
    const file = join(folder.path, 'dsn.eml')
    writeFileSync(file, text)
    const command = `"${process.execPath}" "${main}" mail bounced ${args.join(' ')} < "${file}"`
    const child = startProcess('sh', ['-c', command], { cwd: folder.path, env })
    const { code } = await child.exited
    return { code, ...child.output }
  }

  test('show tells the story of an address, and people show that of a person', async () => {
    const { userId } = await service.signIn('Ada@vets.example')
    await outboxEmpty(service)
    const [delivery] = await deliveriesTo(service, 'ada@vets.example')
    const shown = await chiron('show', 'ADA@vets.example')
    assert.equal(shown.code, 0)
    const server = service.mail.url.replace('smtp://', '')
    assert.match(shown.out, new RegExp(`opened +code for a veterinarian at vets\\.example \\(${userId}\\)`))
    assert.match(shown.out, / queued\n/)
    assert.ok(shown.out.includes(` accepted by ${server}: “250 `))
    assert.match(shown.out, / opened: right code entered\n/)
    const json = await chiron('show', 'ada@vets.example', '--json')
    assert.deepEqual(json.json[0].deliveries, [delivery])
    const person = await run(folder.path, ['people', 'show', 'ada@vets.example'], env)
    assert.match(person.out, /Mails \(1 in the last 30 days\)/)
    assert.ok(person.out.includes(`accepted by ${server}`))
    assert.match((await chiron('show', 'nobody@vets.example')).out, /^No mail to nobody@vets\.example/)
  })

  test('list shows what failed, without letting a server write to the terminal', async () => {
    await service.post('/veterinarian/send-otp', { email: 'gone@vets.example' })
    const { deliveryId } = await deliveredAs(service, 'gone@vets.example', 'failed')
    const failed = await chiron('list', '--failed')
    assert.ok(failed.out.includes(deliveryId))
    assert.ok(failed.out.includes('“550 5.1.1 no \\u202esuch user”'))
    assert.ok(!failed.out.includes('\u202e'))
    assert.deepEqual((await chiron('list', '--state', 'bounced', '--json')).json[0], {
      deliveries: [],
      next: null,
    })
    const since = new Date(service.clock.now() + 1).toISOString()
    assert.match((await chiron('list', '--failed', '--since', since)).out, /No mails match/)
    const [page] = (await chiron('list', '--limit', '1', '--json')).json
    assert.equal(page.deliveries.length, 1)
    const older = await chiron('list', '--limit', '1', '--after', page.next, '--json')
    assert.notEqual(older.json[0].deliveries[0].deliveryId, page.deliveries[0].deliveryId)
  })

  test('test sends a mail at once and says what the server answered', async () => {
    const { code, out } = await chiron('test', 'operator@school.example')
    assert.equal(code, 0)
    assert.match(out, /^127\.0\.0\.1:\d+ accepted the mail to operator@school\.example: “250 .*”\n$/)
    const { mail, code: digits } = await service.mail.mailTo('operator@school.example')
    assert.equal(mail.subject, 'A test from Chiron')
    assert.equal(digits, null)
    const refused = await chiron('test', 'gone@school.example')
    assert.equal(refused.code, 1)
    assert.match(
      refused.err,
      /did not accept the mail: 550 5\.1\.1 no \\u202esuch user\. There is no such mailbox/,
    )
    const closed = { ...env, CHIRON_SMTP_URL: `smtp://127.0.0.1:${await freePort()}` }
    const nobody = await run(folder.path, ['mail', 'test', 'a@b.example'], closed)
    assert.match(nobody.err, /Nothing is listening there/)
    const { CHIRON_SMTP_URL: _, ...without } = env
    assert.match(
      (await run(folder.path, ['mail', 'test', 'a@b.example'], without)).err,
      /CHIRON_SMTP_URL is not set/,
    )
  })

  test('bounced marks the mail that a notification names, and refuses everything else on one line', async () => {
    const email = 'bouncing@vets.example'
    await service.post('/veterinarian/send-otp', { email })
    const { deliveryId } = await deliveredAs(service, email, 'handed')
    const marked = await fed(dsn(tagOf(current, deliveryId)))
    assert.deepEqual([marked.code, marked.out], [0, `Mail ${deliveryId} is marked as permanently bounced.\n`])
    const shown = await chiron('show', email)
    assert.match(shown.out, /bounced permanently: “550 no \\u001b\[31msuch user”/)
    const json = await fed(dsn(tagOf(current, deliveryId)), '--json')
    assert.deepEqual(JSON.parse(json.out), { marked: true, deliveryId, hard: true })
    assert.deepEqual((await fed(dsn('x', 'delivered'))).code, 0)
    for (const [text, line] of [
      [dsn('somebody else’s'), /does not match any mail/],
      ['Subject: hello\r\n\r\nhello', /not a delivery status notification/],
      ['', /not a delivery status notification/],
      ['x'.repeat(1_100_000), /larger than 1 MiB/],
    ] as const) {
      const { code, err } = await fed(text)
      assert.equal(code, 3)
      assert.match(err, line)
      assert.equal(err.trim().split('\n').length, 1)
    }
  })

  test('bounced --setup prints an address and a secret that the hook takes', async () => {
    const [{ hook, bounces }] = (await chiron('bounced', '--setup', '--json')).json
    assert.equal(bounces, null)
    assert.equal(hook.url, `${service.url}/hooks/bounces`)
    const body = { RecordType: 'Bounce', MessageID: 'x', Email: 'nobody@vets.example' }
    const reply = await service.post('/hooks/bounces', body, { authorization: `Bearer ${hook.password}` })
    assert.equal(reply.status, 204)
    assert.ok((await chiron('bounced', '--setup')).out.includes(hook.password))
  })

  test('A roster report names the students whose mail bounced', async () => {
    const school = emptySchool()
    addUser(school, 'eve', 'student')
    await rosterOf(service).import(bulk(school))
    await studentCode(service, 'eve@school.example')
    const { deliveryId } = await deliveredAs(service, 'eve@school.example', 'handed')
    assert.equal((await fed(dsn(tagOf(current, deliveryId)))).code, 0)
    const { out } = await run(folder.path, ['roster', 'check', bulk(school)], env)
    assert.match(
      out,
      /users\.csv, email: "eve@school\.example": mail to eve@school\.example bounced on \d{4}-\d\d-\d\d/,
    )
  })

  test('Whatever is wrong is one line', async () => {
    const table: [args: string[], line: RegExp][] = [
      [['show', 'nobody'], /must be one e-mail address/],
      [['show'], /missing required argument/],
      [['list', '--state', 'lost'], /--state must be one of queued, deferred/],
      [['list', '--failed', '--state', 'failed'], /give one of the two/],
      [['list', '--since', 'soon'], /--since must be a time/],
      [['list', '--limit', '0'], /--limit must be a whole number/],
      [['list', '--after', 'x'], /after must be the `next` value of a page/],
      [['test', 'a b@c'], /a b@c/],
    ]
    for (const [args, line] of table) {
      const { code, err, out } = await chiron(...args)
      assert.deepEqual([code, out], [1, ''])
      assert.match(err, line)
      assert.equal(err.trim().split('\n').length, 1)
    }
  })
})
