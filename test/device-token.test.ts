/** A device that has signed in has its own allowance of codes, which strangers cannot use up. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { day, minute, second } from '../src/platform/lib/clock.ts'
import { atLength, engines } from './support/engines.ts'
import { freshAddress, freshNetwork, type Network, repeat } from './support/fresh.ts'
import { cookieOf, setCookie, signInByPortal } from './support/portal.ts'
import { bulk, newSchool } from './support/roster-school.ts'
import { answer, rosterOf, studentCode } from './support/roster-world.ts'
import { type Service, startService } from './support/service.ts'

for (const engine of engines) {
  suite(`A device token on ${engine}`, atLength, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const send = (email: string, network: Network, more: object = {}) =>
      service.post('/veterinarian/send-otp', { email, ...more }, network)
    const signIn = async (email: string, network: Network = freshNetwork(), more: object = {}) => {
      await service.register(email)
      const seen = service.mail.received.length
      const sent = await send(email, network, more)
      assert.equal(sent.status, 202, sent.text)
      const { code } = await service.mail.mailTo(
        email,
        service.mail.received.slice(0, seen).filter((mail) => mail.to === email).length + 1,
      )
      const body = { email, otp_code: code, sessionId: sent.json.sessionId }
      const reply = await service.post('/veterinarian/validate-otp', body, network)
      assert.equal(reply.status, 200, reply.text)
      return reply.json.device_token as string
    }
    /** Every share that strangers can reach is gone: the address's, and the network's for it. */
    const useUp = async (email: string, home: Network) => {
      for (let i = 0; i < 4; i++) for (let j = 0; j < 5; j++) await send(email, freshNetwork())
      for (let j = 0; j < 5; j++) await send(email, home)
      assert.equal((await send(email, home)).status, 429)
    }

    test('It gives five codes in 15 minutes while strangers have used up all others', async () => {
      const email = freshAddress('device')
      const home = freshNetwork()
      const device_token = await signIn(email, home)
      service.clock.advance(day)
      await useUp(email, home)
      for (let i = 0; i < 5; i++) assert.equal((await send(email, home, { device_token })).status, 202)
      const refused = await send(email, home, { device_token })
      assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '900'])
      service.clock.advance(15 * minute)
      assert.equal((await send(email, freshNetwork(), { device_token })).status, 202)
    })

    test('It gives 40 codes a day', async () => {
      const email = freshAddress('device.day')
      const device_token = await signIn(email)
      for (let i = 0; i < 8; i++) {
        for (let j = 0; j < 5; j++)
          assert.equal((await send(email, freshNetwork(), { device_token })).status, 202)
        service.clock.advance(15 * minute)
      }
      const refused = await send(email, freshNetwork(), { device_token })
      // A day after the first five, which were two hours ago.
      assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, String(22 * 60 * 60)])
      service.clock.advance(day)
      assert.equal((await send(email, freshNetwork(), { device_token })).status, 202)
    })

    test('Its requests are not counted anywhere else', async () => {
      const email = freshAddress('device.alone')
      const device_token = await signIn(email)
      service.clock.advance(day)
      const network = freshNetwork()
      for (let i = 0; i < 5; i++) await send(email, network, { device_token })
      const shown = await send(email, network, { device_token: 'none' })
      assert.match(shown.headers.get('ratelimit') ?? '', /r=599;/)
      for (let i = 0; i < 4; i++) assert.equal((await send(email, network)).status, 202)
      for (let i = 0; i < 3; i++)
        for (let j = 0; j < 5; j++) assert.equal((await send(email, freshNetwork())).status, 202)
      assert.equal((await send(email, freshNetwork())).status, 429)
    })

    test('A network that has used up its own share does not keep the device from its', async () => {
      const email = freshAddress('device.network')
      const network = freshNetwork()
      const device_token = await signIn(email, network)
      await repeat(601, (i) => send(`${Math.floor(i / 5)}@crowd.example`, network), 50)
      assert.equal((await send(freshAddress(), network)).status, 429)
      const reply = await send(email, network, { device_token })
      assert.equal(reply.status, 202)
      assert.match(reply.headers.get('ratelimit-policy') ?? '', /^"send-otp";/)
    })

    test('Resends count in the same share', async () => {
      const email = freshAddress('device.resend')
      const device_token = await signIn(email)
      const { sessionId } = (await send(email, freshNetwork(), { device_token })).json
      for (let i = 0; i < 3; i++) {
        service.clock.advance(30 * second)
        const again = await send(email, freshNetwork(), { device_token, sessionId })
        assert.equal(again.status, 202)
      }
      assert.equal((await send(email, freshNetwork(), { device_token })).status, 202)
      assert.equal((await send(email, freshNetwork(), { device_token })).status, 429)
    })

    test('It is bound to its role and its address, and forged ones are as good as none', async () => {
      const email = freshAddress('device.bound')
      const device_token = await signIn(email)
      const other = freshAddress('device.other')
      for (const token of [device_token, `${device_token.slice(0, -1)}A`, 'x', '', 'a.b.c']) {
        const network = freshNetwork()
        const reply = await send(other, network, { device_token: token })
        assert.equal(reply.status, 202)
        assert.match(reply.headers.get('ratelimit') ?? '', /r=599;/, 'counted as any other')
      }
      const student = await service.post('/student/send-otp', { email, device_token }, freshNetwork())
      assert.match(student.headers.get('ratelimit') ?? '', /r=599;/)
      const wrongType = await send(email, freshNetwork(), { device_token: 7 })
      assert.deepEqual([wrongType.status, wrongType.json.code], [400, 'invalid-request'])
    })

    test('It works for 400 days', async () => {
      const email = freshAddress('device.old')
      const device_token = await signIn(email)
      const shown = async () =>
        /r=(\d+);/.exec(
          (await send(email, freshNetwork(), { device_token })).headers.get('ratelimit') ?? '',
        )?.[1]
      service.clock.advance(400 * day - 1)
      assert.equal(await shown(), '600')
      service.clock.advance(1)
      assert.equal(await shown(), '599')
    })

    test('Signing in with it gives no second share', async () => {
      const email = freshAddress('device.again')
      const first = await signIn(email)
      const next = await signIn(email, freshNetwork(), { device_token: first })
      for (let i = 0; i < 4; i++)
        assert.equal((await send(email, freshNetwork(), { device_token: next })).status, 202)
      for (const device_token of [first, next])
        assert.equal((await send(email, freshNetwork(), { device_token })).status, 429)
    })

    test('With limits off, replies say nothing of limits', async (t) => {
      const free = await startService(engine, { env: { CHIRON_LIMITS: 'off' } })
      t.after(() => free.stop())
      const email = freshAddress()
      await free.register(email)
      const { sessionId, code } = await free.code(email)
      const answered = await free.post('/veterinarian/validate-otp', { email, otp_code: code, sessionId })
      const { device_token } = answered.json
      const replies = [answered, await free.post('/veterinarian/send-otp', { email, device_token })]
      assert.deepEqual(
        replies.map(({ status, headers }) => [status, headers.get('ratelimit')]),
        [
          [200, null],
          [202, null],
        ],
      )
    })

    test('However many devices an address has, together they get 20 codes in 15 minutes', async () => {
      const email = freshAddress('devices')
      const home = freshNetwork()
      const tokens: string[] = []
      for (let i = 0; i < 5; i++) tokens.push(await signIn(email, home))
      service.clock.advance(day)
      const granted = []
      for (const device_token of tokens)
        for (let i = 0; i < 5; i++)
          granted.push((await send(email, freshNetwork(), { device_token })).status === 202)
      assert.equal(granted.filter(Boolean).length, 20)
      assert.equal((await send(email, home)).status, 202)
    })

    test('Its refused requests count for its network', async () => {
      const email = freshAddress('device.vain')
      const device_token = await signIn(email)
      const network = freshNetwork()
      const left = async (more: object) =>
        /r=(\d+);/.exec((await send(email, network, more)).headers.get('ratelimit') ?? '')?.[1]
      assert.equal(await left({ device_token, sessionId: 'A'.repeat(22) }), '599')
      assert.equal(await left({ device_token, sessionId: 'x' }), '598')
      for (let i = 0; i < 5; i++) assert.equal(await left({ device_token }), '598')
      assert.equal(await left({ device_token }), '597')
    })

    test('It is not a credential', async () => {
      const device_token = await signIn(freshAddress('device.credential'))
      assert.equal((await service.request('/veterinarian/me', { token: device_token })).status, 401)
      const refresh = await service.post('/session/refresh', { refresh_token: device_token })
      assert.deepEqual([refresh.status, refresh.json.code], [401, 'invalid-token'])
    })

    test('The portal keeps it in a cookie that outlives the session, and sends it along', async () => {
      const email = freshAddress('device.portal')
      const { reply, cookie } = await signInByPortal(service, email)
      assert.equal(reply.json.device_token, undefined)
      const { attributes } = setCookie(reply, 'device')!
      const forDays = String((400 * day) / second)
      assert.deepEqual(attributes, { 'max-age': forDays, path: '/', httponly: true, samesite: 'Strict' })
      const signedOut = await service.request('/portal/sign-out', { method: 'POST', headers: { cookie } })
      assert.equal(setCookie(signedOut, 'device'), undefined)
      service.clock.advance(day)
      const home = freshNetwork()
      await useUp(email, home)
      const again = await service.post(
        '/veterinarian/send-otp',
        { email },
        { ...home, cookie: cookieOf(reply, 'device') },
      )
      assert.equal(again.status, 202)
    })

    test('Students have one too', async () => {
      await rosterOf(service).import(bulk(newSchool(1)))
      const email = 'stu-1@school.example'
      const { sessionId, code } = await studentCode(service, email)
      const reply = await answer(service, email, sessionId, code)
      assert.equal(typeof reply.json.device_token, 'string')
    })
  })
}
