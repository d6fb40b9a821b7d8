/** Codes to addresses that nobody has confirmed: their budgets, and how they wait for them. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { strangersMails } from '../src/identity/limits/limits.ts'
import { lateFirstCodes } from '../src/messages/mail/outbox.ts'
import { examine } from '../src/operate/commands/doctor.ts'
import { checkFirstCodes, lateCodes } from '../src/operate/doctor/upkeep.ts'
import { StoreFigures } from '../src/operate/metrics/figures.ts'
import { day, hour, minute } from '../src/platform/lib/clock.ts'
import { fingerprint, secretsFrom } from '../src/platform/lib/secret.ts'
import { atLength, engines, onPostgres } from './support/engines.ts'
import { freshNetwork } from './support/fresh.ts'
import { type Service, serviceFor, startService } from './support/service.ts'
import { eventually, outboxEmpty, soon } from './support/wait.ts'

const secret = 'a secret for tests that is long enough'
const secrets = secretsFrom(secret, null)
const budgetOf = (domain: string) => `mails:${fingerprint(secrets.current, 'domain', domain)}`
const service = 'mails:service'

const doctorEnv = ({ databaseUrl }: Service) => ({
  CHIRON_DATABASE_URL: databaseUrl,
  CHIRON_SECRET: secret,
  CHIRON_PORT: '0',
})
const outboxFindings = async (one: Service) =>
  (await examine(doctorEnv(one), 'chiron', null)).filter(({ area }) => area === 'outbox')
const figuresOf = ({ app, clock }: Service) => new StoreFigures(app.parts.db, clock, 7).text()

/** Pretends that mails were sent at these times. */
async function sentAt({ app, clock }: Service, budget: string, times: readonly number[]): Promise<void> {
  const newestFirst = [...times].sort((a, b) => b - a).join('')
  await app.parts.db.run('insert into quota (key, times, taken_at, mark) values ($1, $2, $3, $4)', [
    budget,
    newestFirst,
    clock.now(),
    'test',
  ])
}

const people = (n: number, domain: string) => Array.from({ length: n }, (_, i) => `vet${i}@${domain}`)

async function register(one: Service, ...emails: string[]): Promise<void> {
  for (const email of emails)
    await one.post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email }, freshNetwork())
  await one.app.parts.veterinarians.settle()
}

/** One after the other. */
async function ask(one: Service, ...emails: string[]): Promise<void> {
  for (const email of emails) {
    const reply = await one.post('/veterinarian/send-otp', { email }, freshNetwork())
    assert.equal(reply.status, 202)
    one.clock.advance(1)
  }
}

const waiting = async (one: Service) =>
  (await one.rows('select id from outbox where waits_for is not null')).length
const undecided = async (one: Service) =>
  (await one.rows('select id from outbox where waits_for is null')).length
/** Every mail was sent, was dropped or waits. */
const settled = (one: Service) => eventually('no mail to decide', async () => (await undecided(one)) === 0)
const sentTo = ({ mail }: Service, domain: string) =>
  mail.received.filter(({ to }) => to.endsWith(`@${domain}`)).map(({ to }) => to)
const logged = ({ log }: Service, text: RegExp) =>
  log.map((line) => JSON.parse(line)).filter(({ msg }) => text.test(msg ?? ''))

for (const engine of engines)
  describe(`First codes on ${engine}`, () => {
    const start = (t: TestContext, env: Record<string, string> = {}) => serviceFor(t, engine, { env })

    test('of a domain that nobody knows go out 200 an hour, over all processes', atLength, async (t) => {
      const one = await start(t)
      const { mail, clock } = one
      const two = await startService(engine, { databaseUrl: one.databaseUrl, mail, clock })
      t.after(() => two.stop())
      const crowd = people(strangersMails.domain + 10, 'new.example')
      await register(one, ...crowd)
      await Promise.all([one, two].map((each, i) => ask(each, ...crowd.filter((_, n) => n % 2 === i))))
      await settled(one)
      assert.equal(sentTo(one, 'new.example').length, strangersMails.domain)
      assert.equal(await waiting(one), 10)
      // Once one of them has confirmed the address, the domain is known, and the others get their codes.
      const { to, code } = mail.received[0]!
      const [session] = await one.rows<{ session_id: string }>(
        'select session_id from delivery where person_id = (select id from person where email = $1)',
        [to],
      )
      const body = { email: to, otp_code: code, sessionId: session!.session_id }
      assert.equal((await one.post('/veterinarian/validate-otp', body)).status, 200)
      await outboxEmpty(one)
      assert.deepEqual(sentTo(one, 'new.example').sort(), crowd.sort())
    })

    test('of a domain that the operator named go out at once, however it is spelt', atLength, async (t) => {
      const one = await start(t, { CHIRON_MAIL_DOMAINS: 'Schule.example, vété.example' })
      await sentAt(one, budgetOf('schule.example'), Array(300).fill(one.clock.now()))
      await sentAt(one, budgetOf('xn--vt-bjab.example'), Array(300).fill(one.clock.now()))
      const crowd = [
        'ada@SCHULE.example',
        'bo@vété.example',
        'cy@xn--vt-bjab.example',
        'di@sub.schule.example',
      ]
      await register(one, ...crowd)
      await ask(one, ...crowd)
      await outboxEmpty(one)
      assert.equal(one.mail.received.length, crowd.length)
    })

    test('wait for the budget in the order in which they were requested', async (t) => {
      const one = await start(t)
      const { clock } = one
      const crowd = people(4, 'queue.example')
      await register(one, ...crowd)
      // A mail of an hour ago leaves the window in each of the next minutes.
      const leaving = [1, 2, 3, 4].map((n) => clock.now() - hour + n * minute)
      const others = Array(strangersMails.domain - leaving.length).fill(clock.now())
      await sentAt(one, budgetOf('queue.example'), [...others, ...leaving])
      const [a, b, c, d] = crowd as [string, string, string, string]
      for (const email of [c, a, d, b]) {
        await ask(one, email)
        await settled(one)
      }
      const sent: string[] = []
      for (const email of [c, a, d, b]) {
        assert.deepEqual(sentTo(one, 'queue.example'), sent)
        clock.advance(minute)
        sent.push(email)
        await soon(async () => sentTo(one, 'queue.example'), sent)
        await settled(one)
      }
      await outboxEmpty(one)
    })

    test('wait for the budget of all domains, behind which other domains wait, too', async (t) => {
      const one = await start(t, { CHIRON_MAIL_DOMAINS: 'school.example' })
      const { clock } = one
      const crowd = ['a@school.example', 'b@other.example', 'c@school.example']
      await register(one, ...crowd)
      const old = clock.now() - hour + minute
      await sentAt(one, service, Array(strangersMails.service).fill(old))
      await ask(one, ...crowd)
      await settled(one)
      assert.equal(one.mail.received.length, 0)
      clock.advance(minute)
      await outboxEmpty(one)
      assert.equal(one.mail.received.length, 3)
    })

    test('that wait for the budget of the whole service are not blamed on their domain', async (t) => {
      const one = await start(t)
      await register(one, ...people(2, 'new.example'))
      await sentAt(one, service, Array(strangersMails.service).fill(one.clock.now()))
      await ask(one, ...people(2, 'new.example'))
      await settled(one)
      const remedy =
        'ask people to register over several hours (docs/scaling.md, "A launch day"); if they are not yours, somebody is registering strangers'
      const found = (text: string) => ({ area: 'outbox', state: 'warning', text, remedy })
      const budget = 'for the budget of the whole service (2,000 an hour)'
      assert.deepEqual(await outboxFindings(one), [found(`new.example: 2 first codes wait ${budget}`)])
      one.clock.advance(10 * minute)
      await outboxEmpty(one)
      const [late] = await lateCodes(one.app.parts.db, lateFirstCodes, one.clock.now() - day, 5)
      const text = `new.example: 2 first codes of the last day expired unsent while waiting ${budget}`
      assert.deepEqual(checkFirstCodes(late!, false), found(text))
    })

    test('of a domain that is full do not hold up those of others', async (t) => {
      const one = await start(t)
      await register(one, 'a@full.example', 'b@free.example')
      await sentAt(one, budgetOf('full.example'), Array(strangersMails.domain).fill(one.clock.now()))
      await ask(one, 'a@full.example', 'b@free.example')
      await settled(one)
      assert.deepEqual([one.mail.received.map(({ to }) => to), await waiting(one)], [['b@free.example'], 1])
    })

    test('that expire while they wait are on record and in the log, with the domain', async (t) => {
      const one = await start(t, { CHIRON_METRICS_PORT: '0' })
      const crowd = people(3, 'late.example')
      await register(one, ...crowd)
      await sentAt(one, budgetOf('late.example'), Array(strangersMails.domain).fill(one.clock.now()))
      await ask(one, ...crowd)
      await settled(one)
      assert.deepEqual(await outboxFindings(one), [
        {
          area: 'outbox',
          state: 'warning',
          text: 'late.example: 3 first codes wait for the budget of the domain (200 an hour)',
          remedy:
            'if your people have addresses there, add it to CHIRON_MAIL_DOMAINS; otherwise somebody is registering strangers',
        },
      ])
      assert.match(await figuresOf(one), /chiron_mails_unsent 0\n[\s\S]*chiron_first_codes_waiting 3\n/)
      const began = logged(one, /^first codes have exceeded their budget/)
      assert.deepEqual(
        began.map(({ domain }) => domain),
        ['late.example'],
      )
      one.clock.advance(10 * minute)
      await outboxEmpty(one)
      const dropped = logged(one, /^first codes are dropped/)
      assert.deepEqual(
        dropped.map(({ domain }) => domain),
        ['late.example'],
      )
      assert.doesNotMatch(one.log.join(), /vet\d@/)
      const late = { domain: 'late.example', overall: 0, waiting: 0, dropped: 3 }
      const [found] = await lateCodes(one.app.parts.db, lateFirstCodes, one.clock.now() - day, 5)
      assert.deepEqual({ ...found }, late)
      assert.equal(
        checkFirstCodes(found!, false).text,
        'late.example: 3 first codes of the last day expired unsent while waiting for the budget of the domain (200 an hour)',
      )
      const records = await one.rows<{ state: string; steps: string }>('select state, steps from delivery')
      assert.equal(records.length, 3)
      for (const { state, steps } of records) {
        assert.equal(state, 'not-sent')
        assert.match(steps, /it waits until more may be sent[\s\S]*until the code had expired/)
      }
      const metrics = await one.app.parts.metrics!.registry.metrics()
      assert.match(metrics, /chiron_mails_total\{outcome="waiting"\} 3\n/)
      assert.match(metrics, /chiron_mails_total\{outcome="over-budget"\} 3\n/)
      assert.equal((await one.rows("select id from event where type = 'mail.failed'")).length, 0)
      await eventually('the end in the log', async () => {
        one.clock.advance(minute)
        one.app.parts.outbox.wake()
        return logged(one, /^no more first codes are dropped/).length === 1
      })
    })

    test('of one address are three a day, also if they waited', async (t) => {
      const one = await start(t)
      const { clock } = one
      await register(one, 'vet@three.example')
      await sentAt(
        one,
        budgetOf('three.example'),
        Array(strangersMails.domain).fill(clock.now() - hour + minute),
      )
      for (let i = 0; i < 5; i++) await ask(one, 'vet@three.example')
      await settled(one)
      assert.equal(await waiting(one), 5)
      clock.advance(minute)
      await outboxEmpty(one)
      assert.equal(one.mail.received.length, 3)
    })

    test('leave the budget to others if the mail goes to somebody who has confirmed', async (t) => {
      const one = await start(t)
      await one.signIn('vet@own.example')
      const before = await one.rows('select times from quota where key = $1', [service])
      await ask(one, 'vet@own.example')
      await outboxEmpty(one)
      assert.deepEqual(await one.rows('select times from quota where key = $1', [service]), before)
    })
  })

test('With many people, PostgreSQL finds a domain by its index', onPostgres, async (t) => {
  const one = await serviceFor(t, 'postgres')
  const { db } = one.app.parts
  await db.run(
    `insert into person (id, role, status, email, email_key, firstname, lastname, created_at, updated_at)
     select 'p' || n, 'veterinarian', 'active', 'e', 'vet' || n || '@d' || n % 50 || '.example', 'a', 'b', 0, 0
     from generate_series(1, 20000) n`,
  )
  await db.analyze(['person'])
  const plan = await db.all(
    `explain select 1 from person where split_part(email_key, '@', 2) = 'x.example' and status = 'active' and email_key is not null limit 1`,
  )
  assert.match(JSON.stringify(plan), /person_domain/)
})
