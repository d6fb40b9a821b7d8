/** Mails without a code: who gets them, how many, and in what order. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Mail } from '../src/messages/mail/rules.ts'
import { type Lane, lanes, mails, mailsOf } from '../src/messages/mail/store.ts'
import { mailKinds } from '../src/messages/mail/templates/texts.ts'
import { claimJobs } from '../src/messages/queue/store.ts'
import type { Db, Statement } from '../src/platform/db/db.ts'
import { day, hour, minute, second } from '../src/platform/lib/clock.ts'
import { atLength, engines, migratedStore, onPostgres, type Store } from './support/engines.ts'
import { bulk } from './support/roster-school.ts'
import { rosterOf, studentCode } from './support/roster-world.ts'
import { type Service, serviceFor, startService, TestClock } from './support/service.ts'
import { type MailServer, startMailServer } from './support/smtp.ts'
import { studentSchool } from './support/student-school.ts'
import { eventually, outboxEmpty } from './support/wait.ts'

/** Half of what may be sent in an hour to addresses without a confirmed account. */
const domainBurst = 100
const serviceBurst = 1_000
const connections = 20
let asked = 0

/** Each from its own network, so that only the budgets limit them. */
async function ask(service: Service, ...emails: string[]): Promise<void> {
  for (let at = 0; at < emails.length; at += 50) {
    await Promise.all(
      emails.slice(at, at + 50).map(async (email) => {
        const n = asked++
        const headers = { 'X-Forwarded-For': `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}` }
        assert.equal((await service.post('/veterinarian/send-otp', { email }, headers)).status, 202)
      }),
    )
  }
}

const strangers = (n: number, domain: string, from = 0) =>
  Array.from({ length: n }, (_, i) => `nobody${from + i}@${domain}`)
const to = ({ received }: MailServer, end: string) => received.filter((mail) => mail.to.endsWith(end))

for (const engine of engines) {
  describe(`Mails without a code on ${engine}`, () => {
    let store: Store
    let mail: MailServer
    let clock: TestClock
    let services: Service[]
    let service: Service
    const serve = (env: Record<string, string> = {}) =>
      startService(engine, { databaseUrl: store.url, mail, clock, env })
    before(async () => {
      store = await migratedStore(engine)
      mail = await startMailServer()
      clock = new TestClock()
      services = await Promise.all([serve(), serve()])
      service = services[0]!
    })
    after(async () => {
      for (const one of services) await one.stop()
      await mail.close()
      await store.remove()
    })
    const budgets = () =>
      service.rows<{ key: string; times: string }>("select key, times from quota where key like 'mails:%'")

    test('go once a day to an inbox, whatever the tag, and to the address as it was given', async () => {
      const tagged = Array.from({ length: 15 }, (_, i) => `Victim+${i}@tags.example`)
      await ask(service, ...tagged)
      await ask(service, 'victim@tags.example')
      await outboxEmpty(service)
      assert.equal(to(mail, '@tags.example').length, 1)
      assert.match(to(mail, '@tags.example')[0]!.to, /^Victim\+\d+@tags\.example$/)
      clock.advance(day)
      await ask(service, 'victim+again@tags.example')
      await mail.mailTo('victim+again@tags.example')
      clock.advance(day)
    })

    test(
      'go to a domain within its budget, over all processes, and what is refused uses up nothing',
      atLength,
      async () => {
        const crowd = strangers(150, 'one.example')
        await Promise.all(services.map((one, i) => ask(one, ...crowd.filter((_, n) => n % 2 === i))))
        await outboxEmpty(service)
        assert.equal(to(mail, '@one.example').length, domainBurst)
        const all = (await budgets()).find(({ key }) => key === 'mails:service')!
        assert.equal(all.times.split(String(clock.now())).length - 1, domainBurst)
        assert.equal((await service.rows('select 1 from notice where sent_at > 0')).length, domainBurst + 1)
        clock.advance(hour - minute)
        await ask(service, 'nobody200@one.example')
        await outboxEmpty(service)
        assert.equal(to(mail, '@one.example').length, domainBurst)
        clock.advance(minute)
        const refused = crowd.filter((email) => !mail.received.some((one) => one.to === email))
        await ask(service, ...refused)
        await outboxEmpty(service)
        assert.equal(to(mail, '@one.example').length, crowd.length)
        const keys = JSON.stringify(await budgets())
        assert.doesNotMatch(keys, /example/)
      },
    )

    test('go within a budget for the whole service, and a code is never held back', atLength, async () => {
      clock.advance(day)
      await service.signIn('vet@many.example')
      const before = String(clock.now()).repeat(serviceBurst - 5)
      await service.app.parts.db.run("update quota set times = $1 where key = 'mails:service'", [before])
      await ask(service, ...Array.from({ length: 4 }, (_, i) => strangers(3, `many${i}.example`)).flat())
      await ask(service, 'vet@many.example')
      await outboxEmpty(service)
      const sent = mail.received.filter((one) => /@many\d\.example$/.test(one.to))
      assert.equal(sent.length, 5)
      assert.equal(to(mail, 'vet@many.example').filter(({ code }) => code !== null).length, 2)
    })

    test(
      'and first codes to registered addresses share their budgets, of which notices may use half',
      atLength,
      async () => {
        clock.advance(day)
        const crowd = strangers(140, 'registered.example')
        await Promise.all(
          crowd.map((email, i) =>
            service.post(
              '/veterinarian/register',
              { firstname: 'Ada', lastname: 'Marsh', email },
              { 'X-Forwarded-For': `10.200.${i}.1` },
            ),
          ),
        )
        await service.app.parts.veterinarians.settle()
        await ask(service, ...strangers(domainBurst + 10, 'registered.example', 1_000))
        await outboxEmpty(service)
        assert.equal(to(mail, '@registered.example').length, domainBurst)
        await ask(service, ...crowd)
        await eventually('all mails sent or waiting', async () => {
          const waiting = await service.rows<{ waits_for: string | null }>('select waits_for from outbox')
          return (
            waiting.length === crowd.length - domainBurst && waiting.every((one) => one.waits_for !== null)
          )
        })
        assert.equal(to(mail, '@registered.example').length, 2 * domainBurst)
        clock.advance(10 * minute)
        await outboxEmpty(service)
        assert.equal(to(mail, '@registered.example').length, 2 * domainBurst)
      },
    )

    test('An address that was registered gets three codes a day until it is confirmed, and the replies do not show it', async () => {
      clock.advance(day)
      const email = 'unconfirmed+tag@three.example'
      await service.register(email)
      await ask(service, ...Array<string>(20).fill(email))
      await outboxEmpty(service)
      assert.equal(to(mail, '@three.example').length, 3)
      clock.advance(day)
      const { sessionId, code } = await service.code(email)
      const body = { email, otp_code: code, sessionId }
      assert.equal((await service.post('/veterinarian/validate-otp', body)).status, 200)
      await ask(service, ...Array<string>(5).fill(email))
      await mail.mailTo(email, 3 + 1 + 5)
    })

    test('A new address without an account gets three codes a day as well', async () => {
      clock.advance(day)
      const { access } = await service.signIn('mover@three.example')
      const move = () =>
        service.request('/veterinarian/me/email', {
          method: 'POST',
          token: access,
          body: { email: 'new@elsewhere.example' },
        })
      for (let i = 0; i < 5; i++) assert.equal((await move()).status, 202)
      await outboxEmpty(service)
      assert.equal(to(mail, 'new@elsewhere.example').length, 3)
    })

    test('are on record for a day if nobody has the address, and for a month if somebody has', async () => {
      clock.advance(day)
      await service.signIn('kept@record.example')
      await ask(service, 'nobody@record.example')
      await outboxEmpty(service)
      const kept = () =>
        service.rows<{ person_id: string | null }>(
          "select person_id from delivery where domain = 'record.example'",
        )
      assert.equal((await kept()).length, 2)
      clock.advance(day + minute)
      await service.app.parts.sweeper.sweep()
      assert.deepEqual(
        (await kept()).map(({ person_id }) => person_id !== null),
        [true],
      )
    })

    test('have no budget where limits are off', atLength, async () => {
      const free = await serve({ CHIRON_LIMITS: 'off' })
      try {
        for (const one of services) await one.app.parts.outbox.stop()
        await ask(free, ...strangers(domainBurst + 20, 'off.example'))
        await outboxEmpty(free)
        assert.equal(to(mail, '@off.example').length, domainBurst + 20)
      } finally {
        await free.stop()
      }
    })

    test('are forgotten with the account of the inbox', async (t) => {
      clock.advance(day + 1)
      await service.app.parts.sweeper.sweep()
      assert.equal((await service.rows('select * from notice')).length, 0)
      assert.equal((await budgets()).length, 0)
      const own = await serviceFor(t, engine)
      await ask(own, 'leaver+vet@forget.example')
      await outboxEmpty(own)
      assert.equal((await own.rows('select * from notice')).length, 1)
      const { access } = await own.signIn('leaver+vet@forget.example')
      await own.request('/veterinarian/me', { method: 'DELETE', token: access })
      assert.deepEqual(await own.rows('select * from notice'), [])
    })
  })

  test(
    `A code goes before 120 notices to a mail server that takes its time, on ${engine}`,
    atLength,
    async (t) => {
      const held: (() => void)[] = []
      let open = false
      const service = await serviceFor(t, engine, {
        smtp: {
          onRcptTo({ address }, _session, callback) {
            if (open || !address.startsWith('nobody')) callback()
            else held.push(() => callback())
          },
        },
      })
      const { mail } = service
      const release = () => {
        open = true
        for (const go of held.splice(0)) go()
      }
      t.after(release)
      const crowd = Array.from({ length: 8 }, (_, i) => strangers(15, `slow${i}.example`)).flat()
      await ask(service, ...crowd)
      await eventually('notices have all the connections that they may have', async () => {
        const unknown = await service.rows('select id from outbox where kind is null')
        return unknown.length === 0 && held.length >= connections / 4
      })
      for (let i = 0; i < 3; i++) {
        await service.register(`vet${i}@slow.example`)
        await ask(service, `vet${i}@slow.example`)
        assert.notEqual((await mail.mailTo(`vet${i}@slow.example`)).code, null)
      }
      assert.equal(mail.received.length, 3)
      assert.ok(held.length <= connections / 4, `${held.length} connections are held`)
      assert.equal(
        (await service.rows("select id from outbox where email like 'nobody%'")).length,
        crowd.length,
      )
      release()
      // On a busy machine some of them may have waited too long, and are tried again after a pause.
      await eventually('an empty outbox', async () => {
        service.clock.advance(1_000)
        return (await service.rows('select id from outbox')).length === 0
      })
      assert.deepEqual(
        mail.received
          .slice(3)
          .map((one) => one.to)
          .sort(),
        crowd.sort(),
      )
    },
  )

  test(
    `Notices over budget are a line in the log when it begins and one when it is over, on ${engine}`,
    atLength,
    async (t) => {
      const service = await serviceFor(t, engine)
      const lines = () =>
        service.log
          .map((line) => JSON.parse(line))
          .filter(({ msg }) => /^mails without a code/.test(msg ?? ''))
          .map(({ msg, dropped, domain }) => [/exceeded their|within their/.exec(msg)![0], domain ?? dropped])
      await ask(service, ...strangers(domainBurst, 'log.example'))
      await outboxEmpty(service)
      assert.deepEqual(lines(), [])
      for (const from of [100, 110]) await ask(service, ...strangers(10, 'log.example', from))
      await ask(service, 'nobody@elsewhere.example')
      await outboxEmpty(service)
      assert.deepEqual(lines(), [['exceeded their', 'log.example']])
      await eventually('the second line', () => {
        // The last one may be counted a moment after it is gone from the store.
        service.clock.advance(minute)
        service.app.parts.outbox.wake()
        return lines().length === 2
      })
      assert.deepEqual(lines()[1], ['within their', 20])
    },
  )

  for (const [what, email, isRegistered] of [
    ['A notice', 'nobody@later.example', false],
    ['A first code', 'first@later.example', true],
  ] as const)
    test(`${what} that fails is tried again after two seconds and sent once, on ${engine}`, async (t) => {
      let tries = 0
      const service = await serviceFor(t, engine, {
        smtp: {
          onRcptTo(_address, _session, callback) {
            callback(++tries === 1 ? Object.assign(new Error('later'), { responseCode: 451 }) : null)
          },
        },
      })
      if (isRegistered) await service.register(email)
      await ask(service, email)
      const row = await eventually('the first try', async () => {
        const [found] = await service.rows<{ attempts: number; next_at: number }>(
          'select attempts, next_at from outbox',
        )
        return tries === 1 && found!.next_at - service.clock.now() === 2 * second && found
      })
      assert.equal(row.attempts, 1)
      service.clock.advance(2 * second)
      service.app.parts.outbox.wake()
      assert.equal((await service.mail.mailTo(email)).code !== null, isRegistered)
      await outboxEmpty(service)
      assert.equal(service.mail.received.length, 1)
      const counted = await service.rows<{ times: string }>(
        "select times from quota where key like 'first:%'",
      )
      assert.deepEqual(
        counted.map(({ times }) => times.length),
        isRegistered ? ['1763000000000'.length] : [],
      )
    })

  test(`A code for a new address goes before notices, on ${engine}`, async (t) => {
    const service = await serviceFor(t, engine)
    const { access } = await service.signIn('mover@vets.example')
    await service.app.parts.outbox.stop()
    await service.request('/veterinarian/me/email', {
      method: 'POST',
      token: access,
      body: { email: 'moved@vets.example' },
    })
    const { db } = service.app.parts
    const claim = (lane: Lane) =>
      claimJobs<Mail>(db, mails, mailsOf(lane, mailKinds), {
        by: 'test',
        now: service.clock.now(),
        leaseUntil: 0,
        limit: 20,
      })
    assert.deepEqual(await claim('notices'), [])
    assert.deepEqual(
      (await claim('codes')).map(({ kind }) => kind),
      ['address-code'],
    )
  })

  test(`A student is greeted by the roster’s name, on ${engine}`, async (t) => {
    const service = await serviceFor(t, engine)
    await rosterOf(service).import(bulk(studentSchool([])))
    const { mail } = await studentCode(service, 'ada.byron@school.example')
    assert.match(mail.text!, /^Hello Ada,/)
  })
}

test(
  'With a hundred thousand mails waiting, PostgreSQL finds those that are due by an index',
  onPostgres,
  async (t) => {
    const service = await serviceFor(t, 'postgres')
    await service.app.parts.outbox.stop()
    const { db } = service.app.parts
    for (const kind of ['null', "'no-account'"])
      await db.run(
        `insert into outbox (id, session_id, role, email, address_fingerprint, language, digits, reference, kind, created_at, expires_at, attempts, next_at)
       select 'mail-' || coalesce(${kind}, '') || n, 's', 'veterinarian', 'a@b.example', 'h', 'en', 6, 'ABC', ${kind}, 0, 1, 0, n
       from generate_series(1, 50000) n`,
      )
    for (const analyzed of [false, true]) {
      if (analyzed) await db.analyze(['outbox'])
      for (const lane of Object.values(lanes)) {
        const plan = await db.all<Record<string, string>>(
          `explain select id from outbox where sent_at is null and ${lane} and next_at <= 1000000 order by next_at limit 20`,
        )
        assert.match(JSON.stringify(plan), /Index (Only )?Scan using outbox_(codes|notices)_due/)
      }
      for (const lane of ['codes', 'notices'] as const) {
        let claim: Statement | undefined
        const tx: Db['tx'] = async (statements) => {
          claim = statements[0]
          return [[]]
        }
        const times = { now: 1_000_000, leaseUntil: 2_000_000 }
        await claimJobs({ tx }, mails, mailsOf(lane, mailKinds), { by: 'test', ...times, limit: 20 })
        const plan = JSON.stringify(await db.all(`explain ${claim!.postgres}`, claim!.params))
        assert.match(plan, new RegExp(`outbox_${lane}_due.*Index Scan using outbox_pkey`))
        assert.doesNotMatch(plan, /Seq Scan/)
      }
    }
  },
)
