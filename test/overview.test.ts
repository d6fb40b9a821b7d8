/** The figures of the console's first page. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { readFigures } from '../src/operate/metrics/readings.ts'
import { Overview } from '../src/operate/support/overview.ts'
import { minute } from '../src/platform/lib/clock.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { bulk } from './support/roster-school.ts'
import { rosterOf } from './support/roster-world.ts'
import { type Service, type SignedIn, startService } from './support/service.ts'
import { type MailServer, startMailServer } from './support/smtp.ts'
import { newStaff } from './support/staff.ts'
import { studentSchool } from './support/student-school.ts'
import { eventually, outboxEmpty } from './support/wait.ts'

for (const engine of engines) {
  suite(`The overview on ${engine}`, () => {
    let service: Service
    let mail: MailServer
    before(async () => {
      mail = await startMailServer({
        onRcptTo({ address }, _session, callback) {
          const responseCode = address.endsWith('@gone.example') ? 550 : 450
          callback(/@(gone|full)\./.test(address) ? Object.assign(new Error('no'), { responseCode }) : null)
        },
      })
      service = await startService(engine, { mail })
    })
    after(async () => {
      await service.stop()
      await mail.close()
    })

    const readAs = async ({ access }: SignedIn) => {
      const reply = await service.request('/staff/overview', { token: access })
      assert.equal(reply.status, 200, reply.text)
      assert.equal(reply.headers.get('cache-control'), 'no-store')
      return reply.json
    }
    const read = async () => readAs(await newStaff(service, 'registrar'))

    test('An empty service shows zeros, the store and the version', async () => {
      const registrar = await newStaff(service, 'registrar')
      await outboxEmpty(service)
      const { at, version, store, roster, attack, mail, webhooks, people } = await readAs(registrar)
      assert.equal(at, new Date(service.clock.now()).toISOString())
      assert.match(version, /^\d+\.\d+\.\d+$/)
      assert.equal(store.engine, engine)
      assert.ok(store.schema >= 10)
      assert.deepEqual(roster, {
        state: 'wrong',
        reason: 'never-imported',
        generation: null,
        publishedAt: null,
        checkedAt: null,
        fileAt: null,
        lastFetch: null,
        nextFetchAt: null,
      })
      assert.deepEqual(attack, {
        state: 'well',
        reason: null,
        underAttack: false,
        wrongCodesLastHour: 0,
        threshold: 500,
        wrongCodesLastDay: 0,
        dayThreshold: 2_000,
      })
      assert.deepEqual(mail, { state: 'well', reason: null, unsent: 0, oldestAt: null, failedLastDay: 0 })
      assert.deepEqual(webhooks, { state: 'not-set-up', reason: 'none', failing: 0, switchedOff: 0 })
      assert.deepEqual([people.state, people.reason, people.counts], ['not-set-up', 'nobody', []])
    })

    test('Sign-ins are counted by hour, for the last hour and for the last day', async () => {
      const earlier = await read()
      service.clock.advance(90 * minute)
      await service.signIn(freshAddress('one'), freshNetwork())
      const { signIns } = await read()
      assert.equal(signIns.hours.length, 24)
      assert.equal(signIns.hours.at(-1).from, '2026-11-15T10:00:00.000Z')
      assert.equal(signIns.hours.at(-1).count, 2, 'the veterinarian and the reader')
      assert.equal(signIns.lastHour, 2)
      assert.equal(signIns.lastDay, earlier.signIns.lastDay + 2)
      service.clock.advance(23 * 60 * minute)
      const later = await read()
      assert.equal(later.signIns.lastHour, 1)
      assert.equal(later.signIns.lastDay, 3, 'what was before the 24 hours is gone')
    })

    test('People are counted by role and status, at most every ten minutes', async () => {
      await rosterOf(service).import(bulk(studentSchool([])))
      await service.register(freshAddress('pending'))
      service.clock.advance(10 * minute)
      const { people, roster } = await read()
      const count = (role: string, status: string) =>
        people.counts.find(
          (each: { role: string; status: string }) => each.role === role && each.status === status,
        )?.count ?? 0
      assert.equal(count('veterinarian', 'active'), 1)
      assert.ok(count('student', 'active') > 0)
      assert.equal(people.countedAt, new Date(service.clock.now()).toISOString())
      assert.equal(roster.generation, 1)
      assert.match(roster.publishedAt, /^2026-11-16T/)
      service.clock.advance(minute)
      assert.equal((await read()).people.countedAt, people.countedAt)
      assert.deepEqual([roster.state, roster.reason], ['well', null])
    })

    test('A roster without students is wrong: none of them can sign in', async () => {
      const imported = (await read()).roster.publishedAt
      service.clock.advance(minute)
      await rosterOf(service).undo()
      const { state, reason, generation, publishedAt, checkedAt } = (await read()).roster
      assert.deepEqual([state, reason], ['wrong', 'no-students'])
      assert.deepEqual([generation, publishedAt], [2, new Date(service.clock.now()).toISOString()])
      assert.equal(checkedAt, imported, 'no file was compared')
    })

    test('Mail that is only caught is not set up', async () => {
      const { db, webhooks } = service.app.parts
      const overview = new Overview({
        db,
        clock: service.clock,
        webhooks,
        version: '0.0.0',
        fetchesRosters: false,
        rosterMaxAgeDays: 7,
        sendsMail: false,
        readFigures: (now) => readFigures(db, now),
      })
      const { state, reason } = (await overview.read()).mail
      assert.deepEqual([state, reason], ['not-set-up', 'caught'])
    })

    test('Mails that wait and mails that were given up are shown', async () => {
      const { access } = await newStaff(service, 'support')
      const look = async () => (await service.request('/staff/overview', { token: access })).json.mail
      for (const email of ['later@full.example', 'nobody@gone.example'])
        await service.post('/veterinarian/send-otp', { email }, freshNetwork())
      const mail = await eventually('a failed mail, and one that waits', async () => {
        const seen = await look()
        return seen.failedLastDay > 0 && seen.unsent === 1 && seen
      })
      const since = new Date(service.clock.now()).toISOString()
      assert.deepEqual(mail, {
        state: 'wrong',
        reason: 'failing',
        unsent: 1,
        oldestAt: since,
        failedLastDay: 1,
      })
      service.clock.advance(5 * minute)
      assert.deepEqual((await look()).reason, 'stuck')
    })

    test('A webhook that does not get its events is counted', async () => {
      const { webhooks, db } = service.app.parts
      await webhooks.add({ url: 'https://hooks.example.org/', events: ['key.rotated'] })
      const { state, failing, switchedOff } = (await read()).webhooks
      assert.deepEqual({ state, failing, switchedOff }, { state: 'well', failing: 0, switchedOff: 0 })
      await db.run('update webhook set failures = 3')
      assert.deepEqual((await read()).webhooks, {
        state: 'wrong',
        reason: 'failing',
        failing: 1,
        switchedOff: 0,
      })
    })

    test('With 500 wrong codes in an hour the service is under attack', async () => {
      const now = Math.floor(service.clock.now() / minute)
      await service.app.parts.db.run("insert into failure (key, minute, count) values ('service', $1, 500)", [
        now,
      ])
      const { attack } = await read()
      assert.deepEqual(attack, {
        state: 'wrong',
        reason: 'guessing',
        underAttack: true,
        wrongCodesLastHour: 500,
        threshold: 500,
        wrongCodesLastDay: 0,
        dayThreshold: 2_000,
      })
      service.clock.advance(61 * minute)
      const later = await eventually('the end of the attack', async () => (await read()).attack)
      assert.equal(later.underAttack, false)
    })
  })
}
