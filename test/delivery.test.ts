/** What became of each mail: the timeline that answers "I got no code". */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { byOperator } from '../src/platform/lib/by.ts'
import { day, minute } from '../src/platform/lib/clock.ts'
import { deliveredAs, deliveriesTo, stepsOf } from './support/deliveries.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { type Service, startService } from './support/service.ts'
import { type MailServer, startMailServer } from './support/smtp.ts'
import { newStaff } from './support/staff.ts'
import { storeCells } from './support/store-text.ts'
import { eventually, outboxEmpty } from './support/wait.ts'

const leaseMs = 25_000
const refusal = (responseCode: number, text: string) => Object.assign(new Error(text), { responseCode })

for (const engine of engines) {
  suite(`Deliveries on ${engine}`, () => {
    let service: Service
    let mail: MailServer
    const busy = new Set<string>()
    before(async () => {
      mail = await startMailServer({
        onRcptTo({ address }, _session, callback) {
          if (address.startsWith('gone')) return callback(refusal(550, `5.1.1 <${address}> no such user`))
          if (!busy.has(address)) return callback()
          const more = address.startsWith('never') ? ', and so on'.repeat(50) : ''
          callback(refusal(451, `4.7.1 greylisted, come back later${more}`))
        },
      })
      service = await startService(engine, { mail })
    })
    after(async () => {
      await service.stop()
      await mail.close()
    })

    const ask = (email: string, sessionId?: string) =>
      service.post('/veterinarian/send-otp', { email, sessionId }, freshNetwork())
    const answer = (email: string, sessionId: string, otp_code: number) =>
      service.post('/veterinarian/validate-otp', { email, otp_code, sessionId }, freshNetwork())
    const server = () => mail.url.replace('smtp://', '')

    test('A sign-in is queued, handed over with the server’s reply, answered wrongly and opened', async () => {
      const email = freshAddress('opened')
      await service.register(email)
      const { sessionId, code } = await service.code(email, freshNetwork())
      await deliveredAs(service, email, 'handed')
      assert.equal((await answer(email, sessionId, code === 111_111 ? 222_222 : 111_111)).status, 401)
      const right = await answer(email, sessionId, code)
      assert.equal(right.status, 200)
      const [delivery, ...others] = await deliveriesTo(service, email.toUpperCase())
      assert.deepEqual(others, [])
      assert.deepEqual(stepsOf(delivery), ['queued', 'handed', 'wrong-code', 'right-code'])
      const { mail: says, role, domain, userId, state } = delivery!
      assert.deepEqual(
        { says, role, domain, userId, state, sessionId: delivery!.sessionId },
        {
          says: 'code',
          role: 'veterinarian',
          domain: 'clinic.example',
          userId: right.json.user.userId,
          state: 'opened',
          sessionId,
        },
      )
      const handed = delivery!.steps[1]!
      assert.equal(handed.server, server())
      assert.match(handed.reply!, /^250 /)
    })

    test('A code that is sent again is a delivery of its own', async () => {
      const email = freshAddress('again')
      await service.register(email)
      const { sessionId } = await service.code(email, freshNetwork())
      service.clock.advance(minute)
      assert.equal((await ask(email, sessionId)).status, 202)
      await mail.mailTo(email, 2)
      await outboxEmpty(service)
      const found = await deliveriesTo(service, email)
      assert.deepEqual(found.map(stepsOf), [
        ['queued', 'handed'],
        ['queued', 'handed'],
      ])
      assert.ok(found[0]!.createdAt > found[1]!.createdAt)
    })

    test('An address that nobody has gets a timeline too, and says why a second mail was not sent', async () => {
      const email = freshAddress('nobody')
      assert.equal((await ask(email)).status, 202)
      const first = await deliveredAs(service, email, 'handed')
      assert.deepEqual([first.mail, first.userId], ['no-account', null])
      service.clock.advance(minute)
      const { json } = await ask(email)
      const second = await deliveredAs(service, email, 'not-sent')
      assert.match(second.steps.at(-1)!.why!, /in the last 24 hours/)
      assert.equal((await answer(email, json.sessionId, 123_456)).status, 401)
      assert.deepEqual(stepsOf((await deliveriesTo(service, email))[0]), ['queued', 'not-sent', 'wrong-code'])
      assert.equal((await deliveriesTo(service, email))[0]!.state, 'not-sent')
    })

    test('A mail that the server rejects has failed with its reply, and the event names the account', async () => {
      const email = freshAddress('gone')
      await service.register(email)
      assert.equal((await ask(email)).status, 202)
      const { steps, userId, deliveryId } = await deliveredAs(service, email, 'failed')
      assert.deepEqual(
        steps.map(({ step }) => step),
        ['queued', 'failed'],
      )
      assert.equal(steps[1]!.reply, `550 5.1.1 <${email}> no such user`)
      assert.equal(steps[1]!.why ?? null, null)
      assert.notEqual(userId, null)
      const events = await service.rows<{ person_id: string }>('select person_id from event where id = $1', [
        `mail.${deliveryId}`,
      ])
      assert.deepEqual(
        events.map(({ person_id }) => person_id),
        [userId],
      )
    })

    test('A mail that the server defers shows its reply and the next try, and is handed over then', async () => {
      const email = freshAddress('busy')
      busy.add(email)
      await service.register(email)
      assert.equal((await ask(email)).status, 202)
      const { steps } = await deliveredAs(service, email, 'deferred')
      assert.equal(steps[1]!.reply, '451 4.7.1 greylisted, come back later')
      assert.equal(steps[1]!.server, server())
      busy.delete(email)
      service.clock.advance(Date.parse(steps[1]!.nextAt!) - service.clock.now())
      const handed = await deliveredAs(service, email, 'handed')
      assert.deepEqual(stepsOf(handed), ['queued', 'deferred', 'handed'])
    })

    test('The waiting mails are those that the overview counts, deferred ones included', async () => {
      const { access: token } = await newStaff(service, 'support')
      const get = async (path: string) => (await service.request(path, { token })).json
      const waiting = async () => (await get('/staff/deliveries?state=waiting')).deliveries
      await outboxEmpty(service)
      assert.deepEqual(await waiting(), [])
      const emails = [freshAddress('waits'), freshAddress('waits')]
      for (const email of emails) {
        busy.add(email)
        await service.register(email)
        await ask(email)
        await deliveredAs(service, email, 'deferred')
      }
      assert.equal((await waiting()).length, 2)
      assert.equal((await get('/staff/overview')).mail.unsent, 2)
      for (const email of emails) busy.delete(email)
      service.clock.advance(minute)
      for (const email of emails) await deliveredAs(service, email, 'handed')
      assert.deepEqual([await waiting(), (await get('/staff/overview')).mail.unsent], [[], 0])
    })

    test('A mail that is put off a thousand times keeps a timeline of moderate length', async () => {
      const email = freshAddress('never')
      busy.add(email)
      const { userId } = await service.signIn(freshAddress('mover'))
      await service.app.parts.support.changeAddress(userId, { email, key: email }, null, byOperator)
      for (let i = 0; i < 20; i++) {
        service.clock.advance(minute)
        await eventually('a try', async () => {
          service.app.parts.outbox.wake()
          const [row] = await service.rows<{ attempts: number; next_at: number }>(
            'select attempts, next_at from outbox where email = $1',
            [email],
          )
          const pause = row!.next_at - service.clock.now()
          return row!.attempts > i && pause > 0 && pause !== leaseMs
        })
      }
      const [delivery] = await deliveriesTo(service, email)
      assert.equal(delivery!.mail, null)
      assert.ok(JSON.stringify(delivery).length < 12_000)
      assert.ok(delivery!.steps.length < 15)
      assert.ok(delivery!.steps[1]!.reply!.length <= 501)
      busy.delete(email)
      service.clock.advance(minute)
      const handed = await deliveredAs(service, email, 'handed')
      assert.equal(handed.mail, 'address-taken')
      assert.equal(handed.steps.at(-1)!.step, 'handed')
    })

    test('A code that a server quotes in its reply is not kept', async () => {
      let said = ''
      const quoting = await startMailServer({
        onData(stream, _session, callback) {
          const chunks: Buffer[] = []
          stream.on('data', (chunk) => chunks.push(chunk))
          stream.on('end', () => {
            const code = /^ {4}(\d{6})\r$/m.exec(Buffer.concat(chunks).toString())?.[1]
            said = `5.7.1 your mail says ${code}, in queue 1234567 of 00000042`
            callback(refusal(554, said))
          })
        },
      })
      const other = await startService(engine, { mail: quoting })
      try {
        await other.register('quoted@vets.example')
        assert.equal(
          (await other.post('/veterinarian/send-otp', { email: 'quoted@vets.example' })).status,
          202,
        )
        const { steps } = await deliveredAs(other, 'quoted@vets.example', 'failed')
        assert.match(said, /says \d{6},/)
        assert.equal(steps[1]!.reply, '554 5.7.1 your mail says …, in queue 1234567 of 00000042')
      } finally {
        await other.stop()
        await quoting.close()
      }
    })

    test('No code is anywhere in a timeline', async () => {
      const codes: string[] = []
      for (let i = 0; i < 20; i++) {
        const email = freshAddress('scan')
        await service.register(email)
        const { sessionId, code } = await service.code(email, freshNetwork())
        codes.push(String(code))
        await answer(email, sessionId, code)
      }
      const cells = (await storeCells(service)).filter(({ table }) => table === 'delivery')
      assert.ok(cells.length > 200)
      const text = cells.map(({ value }) => value).join('\n')
      for (const code of codes) assert.doesNotMatch(text, new RegExp(`(?<![\\w-])${code}(?![\\w-])`))
      assert.doesNotMatch(text, /scan\.\d+/)
    })

    test('Support reads the timeline of any address; a registrar does not', async () => {
      const support = await newStaff(service, 'support')
      const registrar = await newStaff(service, 'registrar')
      const email = freshAddress('desk')
      const { userId } = await service.signIn(email, freshNetwork())
      await outboxEmpty(service)
      const path = `/staff/deliveries?email=${encodeURIComponent(email.toUpperCase())}`
      const found = await service.request(path, { token: support.access })
      assert.equal(found.status, 200)
      assert.equal(found.json.next, null)
      assert.deepEqual(
        found.json.deliveries.map((each: { userId: string; state: string }) => [each.userId, each.state]),
        [[userId, 'opened']],
      )
      const step = found.json.deliveries[0].steps[0]
      assert.deepEqual(
        [step.step, step.server, step.reply, step.why, step.hard, step.nextAt],
        ['queued', null, null, null, null, null],
      )
      const refused = await service.request(path, { token: registrar.access })
      assert.deepEqual([refused.status, refused.json.code], [403, 'forbidden'])
      const person = await service.request(`/staff/people/${userId}`, { token: support.access })
      assert.deepEqual(person.json.deliveries, found.json.deliveries)
    })

    test('The list goes from page to page by state, and refuses what it does not know', async () => {
      const { access: token } = await newStaff(service, 'support')
      const addresses = Array.from({ length: 5 }, () => freshAddress('gone'))
      for (const email of addresses) {
        await ask(email)
        await deliveredAs(service, email, 'failed')
      }
      const all = await service.request('/staff/deliveries?state=failed', { token })
      const paged: string[] = []
      for (let after = ''; ; ) {
        const page = await service.request(`/staff/deliveries?state=failed&limit=2${after}`, { token })
        paged.push(...page.json.deliveries.map((each: { deliveryId: string }) => each.deliveryId))
        if (page.json.next === null) break
        after = `&after=${page.json.next}`
      }
      assert.ok(paged.length >= 5)
      assert.deepEqual(
        paged,
        all.json.deliveries.map((each: { deliveryId: string }) => each.deliveryId),
      )
      for (const query of ['email=nobody', 'state=lost', 'after=x', 'limit=0', 'limit=201']) {
        const reply = await service.request(`/staff/deliveries?${query}`, { token })
        assert.deepEqual([reply.status, reply.json.code], [400, 'invalid-request'], query)
      }
    })

    test('The owner’s export has the timeline, and closing the account erases it', async () => {
      const email = freshAddress('closing')
      const { access, userId } = await service.signIn(email, freshNetwork())
      await outboxEmpty(service)
      const { json } = await service.request('/veterinarian/me/export', { token: access })
      assert.deepEqual(json.deliveries, await deliveriesTo(service, email))
      assert.deepEqual(
        (await service.request('/veterinarian/me', { method: 'DELETE', token: access })).status,
        204,
      )
      assert.deepEqual(await deliveriesTo(service, email), [])
      assert.deepEqual(await service.rows('select id from delivery where person_id = $1', [userId]), [])
    })

    test('A mail to somebody is forgotten after thirty days', async () => {
      const email = freshAddress('old')
      await service.register(email)
      await ask(email)
      await deliveredAs(service, email, 'handed')
      service.clock.advance(30 * day - minute)
      await service.app.parts.sweeper.sweep()
      assert.equal((await deliveriesTo(service, email)).length, 1)
      service.clock.advance(2 * minute)
      await service.app.parts.sweeper.sweep()
      assert.deepEqual(await deliveriesTo(service, email), [])
    })
  })
}
