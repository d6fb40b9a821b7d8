/**
 * A veterinarian who asks for a code at an address learns nothing about who has it, whatever they read afterwards; and
 * whoever has it learns nothing about who asked. The same is done in worlds that differ only in the owner of the address,
 * and everything that the asker can read is compared.
 */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { byOperator, bySystem } from '../src/platform/lib/by.ts'
import { day, second } from '../src/platform/lib/clock.ts'
import { engines } from './support/engines.ts'
import { freshNetwork } from './support/fresh.ts'
import { addUser, bulk } from './support/roster-school.ts'
import { rosterOf } from './support/roster-world.ts'
import { type Reply, type Service, type SignedIn, startService } from './support/service.ts'
import { startMailServer } from './support/smtp.ts'
import { addStaff, newStaff } from './support/staff.ts'
import { studentSchool } from './support/student-school.ts'
import { outboxEmpty } from './support/wait.ts'

const worlds = ['nobody', 'pending', 'active', 'suspended', 'closed', 'student', 'staff'] as const
type World = (typeof worlds)[number]
/** `refused`: the mail server takes no mail to the address. */
const servers = ['taken', 'refused'] as const

for (const engine of engines) {
  suite(`Mails asked for at another address on ${engine}`, () => {
    const refused = new Set<string>()
    let service: Service
    let mail: Awaited<ReturnType<typeof startMailServer>>
    before(async () => {
      mail = await startMailServer({
        onRcptTo({ address }, _session, done) {
          done(refused.has(address) ? Object.assign(new Error('no such user'), { responseCode: 550 }) : null)
        },
      })
      service = await startService(engine, { mail })
      const school = studentSchool([])
      for (const how of servers) addUser(school, `x-${how}`, 'student', { email: addressIn('student', how) })
      await rosterOf(service).import(bulk(school))
    })
    after(async () => {
      await service.stop()
      await mail.close()
    })

    const addressIn = (world: World, how: string) => `x.${world}.${how}@school.example`
    const call = (who: SignedIn, method: string, path: string, body?: unknown) =>
      service.request(path, { method, token: who.access, body, headers: freshNetwork() })

    /** Who has the address; undefined for nobody. */
    async function prepare(world: World, email: string): Promise<SignedIn | undefined> {
      const { support, veterinarians } = service.app.parts
      if (world === 'staff') await addStaff(service, ['support'], email)
      if (world === 'pending') {
        await service.register(email)
        await veterinarians.settle()
      }
      if (world !== 'active' && world !== 'suspended' && world !== 'closed') return undefined
      const owner = await service.signIn(email, freshNetwork())
      if (world === 'suspended') await support.suspend(owner.userId, 'a test', byOperator)
      if (world === 'closed') await support.close(owner.userId, 'a test', byOperator)
      return owner
    }

    /** Everything that a person can read about themselves. */
    async function readAll(who: SignedIn): Promise<Reply[]> {
      const paths = ['me', 'me/export', 'me/classes?when=all', 'me/public-page', who.userId]
      return Promise.all([
        ...paths.map((path) => call(who, 'GET', `/veterinarian/${path}`)),
        call(who, 'GET', '/session'),
      ])
    }

    /** Times as milliseconds since `from`, ids by the order in which they appear. */
    function plain(replies: readonly Reply[], from: number, own: string): unknown {
      const ids = new Map<string, string>()
      const idOf = (id: string) => ids.set(id, ids.get(id) ?? `id ${ids.size}`).get(id)!
      const text = JSON.stringify(replies.map(({ status, json }) => ({ status, json })))
        .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (at) => String(Date.parse(at) - from))
        .replaceAll(/"reference":"[A-Z]{3}"/g, '"reference":"ABC"')
        .replaceAll(own, 'own@school.example')
        .replaceAll(/(?<=")[\w-]{22,30}(?=")/g, idOf)
      return JSON.parse(text)
    }

    /** Waits until the mail is noted as sent before it answers, so that the steps have one order. */
    async function signIn(email: string): Promise<SignedIn> {
      await service.register(email)
      const { sessionId, code } = await service.code(email, freshNetwork())
      await outboxEmpty(service)
      const body = { email, sessionId, otp_code: code }
      const { json } = await service.post('/veterinarian/validate-otp', body, freshNetwork())
      const { access_token: access, refresh_token: refresh, user } = json
      return { access, refresh, sessionId, userId: user.userId }
    }

    const refreshed = async (who: SignedIn): Promise<SignedIn> => {
      const { json } = await service.post('/session/refresh', { refresh_token: who.refresh })
      return { ...who, access: json.access_token, refresh: json.refresh_token }
    }

    /** Lives through one world, and returns all that the asker saw, by the time when. */
    async function live(world: World, how: (typeof servers)[number]): Promise<Record<string, unknown>> {
      const email = addressIn(world, how)
      const owner = await prepare(world, email)
      const own = `asker.${world}.${how}@school.example`
      const from = service.clock.now()
      let asker = await signIn(own)
      if (how === 'refused') refused.add(email)
      const seen: Record<string, unknown> = {}
      const look = async (when: string, ...replies: Reply[]) => {
        await outboxEmpty(service)
        seen[when] = plain([...replies, ...(await readAll(asker))], from, own)
      }
      // Mails of one moment are in no particular order.
      const ask = (body: object) => {
        service.clock.advance(second)
        return call(asker, 'POST', '/veterinarian/me/email', { email, ...body })
      }

      const asked = await ask({})
      assert.equal(asked.status, 202)
      const { sessionId } = asked.json
      await look('asked', asked)
      service.clock.advance(31 * second)
      await look('sent again', await ask({ sessionId }))
      const code = mail.received.filter(({ to }) => to === email).at(-1)?.code
      const wrong = { sessionId, otp_code: code === 123_456 ? 123_457 : 123_456 }
      for (let i = 0; i < 6; i++)
        await look(`wrong code ${i}`, await call(asker, 'POST', '/veterinarian/me/email/confirm', wrong))
      await look('another code', await ask({}))
      for (const hard of [false, true]) {
        const bounce = { hard, server: 'mx.example', reply: '550 gone', names: [], recipient: email }
        await service.app.parts.deliveries.bounced(bounce, bySystem)
        await look(hard ? 'bounced for good' : 'bounced')
      }
      if (owner && world !== 'closed')
        await service.app.parts.support.close(owner.userId, 'a test', byOperator)
      await look('the owner is gone')
      service.clock.advance(2 * day)
      await service.app.parts.sweeper.sweep()
      asker = await refreshed(asker)
      await look('two days later')
      return seen
    }

    for (const how of servers)
      test(`Who asked sees the same, whoever has the address, if mail there is ${how}`, async () => {
        const expected = await live('nobody', how)
        for (const world of worlds.slice(1)) {
          const seen = await live(world, how)
          for (const when of Object.keys(expected))
            assert.deepEqual(seen[when], expected[when], `${world}: ${when}`)
        }
      })

    /** One asks for a code at the address of the other, and answers wrongly. */
    async function asking(name: string) {
      const [email, own] = [`owner.${name}@school.example`, `asker.${name}@school.example`]
      const [owner, asker] = [
        await service.signIn(email, freshNetwork()),
        await service.signIn(own, freshNetwork()),
      ]
      service.clock.advance(second)
      const { json } = await call(asker, 'POST', '/veterinarian/me/email', { email })
      const sessionId: string = json.sessionId
      await outboxEmpty(service)
      await call(asker, 'POST', '/veterinarian/me/email/confirm', { sessionId, otp_code: 123_456 })
      return { email, own, owner, asker, sessionId }
    }
    const exportOf = async (who: SignedIn) => (await call(who, 'GET', '/veterinarian/me/export')).json
    const mailsIn = ({ deliveries }: { deliveries: { mail: string }[] }) =>
      deliveries.map((each) => each.mail)

    test('The export of who asked has the request alone', async () => {
      const { asker, sessionId } = await asking('alone')
      const [newest] = (await exportOf(asker)).deliveries
      const at = newest.createdAt
      assert.deepEqual(
        { ...newest, deliveryId: '' },
        {
          deliveryId: '',
          role: 'veterinarian',
          mail: 'address-code',
          domain: 'school.example',
          userId: null,
          askedBy: asker.userId,
          sessionId,
          state: 'queued',
          createdAt: at,
          updatedAt: at,
          steps: [{ at, step: 'queued', server: null, reply: null, why: null, hard: null, nextAt: null }],
        },
      )
    })

    test('Whoever has the address sees the mail, and nothing of who asked', async () => {
      const { owner, asker, own, email, sessionId } = await asking('seen')
      const bounce = { hard: true, server: null, reply: '550', names: [], recipient: email }
      await service.app.parts.deliveries.bounced(bounce, bySystem)
      const everything = await exportOf(owner)
      assert.deepEqual(mailsIn(everything), ['address-in-use', 'code'])
      const [{ steps, askedBy }] = everything.deliveries
      const taken = steps.map(({ step }: { step: string }) => step)
      assert.deepEqual([taken, askedBy], [['queued', 'handed', 'bounced'], null])
      const text = JSON.stringify(everything)
      for (const theirs of [asker.userId, asker.sessionId, own, sessionId]) assert.ok(!text.includes(theirs))
      assert.ok(everything.events.some(({ type }: { type: string }) => type === 'mail.bounced'))
    })

    test('A mail there that fails is an event of the owner, without the request of who asked', async () => {
      const email = 'owner.full@school.example'
      const [owner, asker] = [
        await service.signIn(email, freshNetwork()),
        await service.signIn('asker.full@school.example', freshNetwork()),
      ]
      refused.add(email)
      const { json } = await call(asker, 'POST', '/veterinarian/me/email', { email })
      await outboxEmpty(service)
      const ofMail = ({ events }: { events: { type: string; sessionId: string | null }[] }) =>
        events.filter(({ type }) => type === 'mail.failed').map(({ sessionId }) => sessionId)
      assert.deepEqual(ofMail(await exportOf(owner)), [null])
      assert.deepEqual(ofMail(await exportOf(asker)), [])
      assert.ok(!JSON.stringify(await exportOf(owner)).includes(json.sessionId))
    })

    test('Staff see both: whose address it was and who asked', async () => {
      const { owner, asker, email } = await asking('staff')
      const { access: token } = await newStaff(service, 'support')
      const read = async (path: string) =>
        (await service.request(`/staff/${path}`, { token })).json.deliveries
      const lists = [
        await read(`deliveries?email=${email}`),
        await read(`people/${owner.userId}`),
        await read(`people/${asker.userId}`),
      ]
      for (const [newest] of lists) {
        assert.deepEqual([newest.userId, newest.askedBy], [owner.userId, asker.userId])
        assert.deepEqual([newest.mail, newest.state], ['address-in-use', 'handed'])
        assert.equal(newest.steps.at(-1).step, 'wrong-code')
      }
    })

    test('When who asked closes the account, the owner keeps the mail, and nothing names the asker', async () => {
      const { owner, asker } = await asking('closes')
      await call(asker, 'POST', '/veterinarian/me/email', { email: 'free.closes@school.example' })
      await outboxEmpty(service)
      const before = await exportOf(owner)
      assert.equal((await call(asker, 'DELETE', '/veterinarian/me')).status, 204)
      assert.deepEqual((await exportOf(owner)).deliveries, before.deliveries)
      const left = await service.rows<{ domain: string }>(
        'select domain from delivery where asker_id = $1 or person_id = $1',
        [asker.userId],
      )
      assert.deepEqual(left, [])
    })

    test('When the owner closes the account, what is left names nobody, and staff are not shown it', async () => {
      const { owner, asker, email } = await asking('leaves')
      await service.app.parts.support.close(owner.userId, 'a test', byOperator)
      const rows = await service.rows<Record<string, unknown>>(
        'select address_fingerprint, person_id, kind, steps from delivery where asker_id = $1',
        [asker.userId],
      )
      assert.deepEqual(
        rows.map((row) => Object.values(row)),
        [['', null, null, '']],
      )
      assert.deepEqual((await service.app.parts.deliveries.find({ email, limit: 10 })).deliveries, [])
      const shown = await service.app.parts.support.show(asker.userId)
      assert.deepEqual(mailsIn(shown as never), ['code'])
      assert.deepEqual(mailsIn(await exportOf(asker)), ['address-code', 'code'])
    })
  })
}
