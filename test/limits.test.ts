import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { minute, second } from '../src/platform/lib/clock.ts'
import { Authenticator } from './support/authenticator.ts'
import { atLength, engines } from './support/engines.ts'
import { freshAddress, freshNetwork, type Network, repeat } from './support/fresh.ts'
import { addPasskey, newAuthenticator, ok, passkeySignIn } from './support/passkeys.ts'
import { type Reply, type Service, startService } from './support/service.ts'

const shown = (reply: Reply) => [reply.headers.get('ratelimit-policy'), reply.headers.get('ratelimit')]

for (const engine of engines) {
  // The statement is the same on both engines, so limits that take many requests to reach are reached on one.
  const often = engine === 'sqlite'
  suite(`Limits per network on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const register = (network: Network) =>
      service.post(
        '/veterinarian/register',
        { firstname: 'Ada', lastname: 'Marsh', email: 'limits@clinic.example' },
        network,
      )
    const validate = (network: Network) =>
      service.post(
        '/veterinarian/validate-otp',
        { email: 'limits@clinic.example', otp_code: 123456, sessionId: 'A'.repeat(22) },
        network,
      )
    let sends = 0
    /** Each address is used five times at most, so that only the network's limit shows. */
    const send = (network: Network) => {
      const email = `send${Math.floor(sends++ / 5)}.${network['x-forwarded-for']}@clinic.example`
      return service.post('/veterinarian/send-otp', { email }, network)
    }

    const passkeyOptions = (network: Network) => service.post('/passkey/options', {}, network)
    const stranger = new Authenticator('http://localhost')
    const anyChallenge = { challenge: 'AAAA', rp: { id: 'localhost' }, user: { id: 'AAAA' } }
    stranger.create(anyChallenge)
    const wrongAnswer = { credential: stranger.get(anyChallenge) }
    const passkeyValidate = (network: Network) => service.post('/passkey/validate', wrongAnswer, network)

    const buckets: [
      name: string,
      call: (network: Network) => Promise<Reply>,
      status: number,
      burst: number,
      perMinute: number,
    ][] = [
      ['register', register, 202, 100, 20],
      ['send-otp', send, 202, 600, 120],
      ['validate-otp', validate, 401, 1200, 240],
      ['passkey-options', passkeyOptions, 200, 600, 120],
      ['passkey-validate', passkeyValidate, 401, 1200, 240],
    ]
    for (const [name, call, status, burst, perMinute] of often ? buckets : buckets.slice(0, 1)) {
      test(
        `${name} has a burst of ${burst} and a refill of ${perMinute} a minute, and shows both`,
        atLength,
        async () => {
          const network = freshNetwork()
          const interval = minute / perMinute
          const policy = `"${name}";q=${burst};w=${(burst * 60) / perMinute}`
          const first = await call(network)
          assert.equal(first.status, status)
          assert.deepEqual(shown(first), [
            policy,
            `"${name}";r=${burst - 1};t=${Math.ceil(interval / second)}`,
          ])
          const rest = await repeat(burst - 2, () => call(network))
          assert.deepEqual([...new Set(rest.map((reply) => reply.status))], [status])
          const last = await call(network)
          assert.equal(last.status, status)
          assert.deepEqual(shown(last), [policy, `"${name}";r=0;t=${(burst * 60) / perMinute}`])

          const refused = await call(network)
          assert.deepEqual([refused.status, refused.json.code], [429, 'too-many-requests'])
          assert.deepEqual(shown(refused), [policy, `"${name}";r=0;t=${(burst * 60) / perMinute}`])
          const wait = Number(refused.headers.get('retry-after')) * second
          assert.equal(wait, Math.ceil(interval / second) * second)
          assert.equal((await call(freshNetwork())).status, status)
          service.clock.advance(wait)
          for (let i = 0; i < Math.floor(wait / interval); i++)
            assert.equal((await call(network)).status, status)
          assert.equal((await call(network)).status, 429)

          service.clock.advance(minute)
          const refilled = await repeat(perMinute + 5, () => call(network))
          assert.equal(refilled.filter((reply) => reply.status === status).length, perMinute)
          service.clock.advance(60 * minute)
          assert.deepEqual(shown(await call(network)), shown(first))
        },
      )
    }

    const ipv6 = (prefix: string) => ({ 'x-forwarded-for': `${prefix}::1` })
    const wider: [name: string, shares: number, network: (i: number) => Network][] = [
      ['An IPv6 /56', 4, (i) => ipv6(`2001:db8:56:${(i % 250).toString(16)}`)],
      ['An IPv6 /48', 16, (i) => ipv6(`2001:db8:48:${((i % 250) * 256).toString(16)}`)],
      ['An IPv4 /24', 16, (i) => ({ 'x-forwarded-for': `203.0.113.${i % 250}` })],
    ]
    for (const [name, shares, network] of often ? wider : wider.slice(0, 1)) {
      test(`${name} has ${shares} times a network’s share, however many networks ask`, atLength, async () => {
        service.clock.advance(60 * minute)
        const replies = await repeat(shares * 100, (i) => register(network(i)), 50)
        assert.deepEqual([...new Set(replies.map((reply) => reply.status))], [202])
        const refused = await register(network(249))
        assert.equal(refused.status, 429)
        const wait = Number(refused.headers.get('retry-after'))
        assert.ok(wait >= 1 && wait <= 60, `${wait} s`)
        assert.match(refused.headers.get('ratelimit-policy') ?? '', /^"register";q=100;/)
        assert.equal((await register(freshNetwork())).status, 202)
        service.clock.advance(minute)
        const refilled = await repeat(shares * 20 + 5, (i) => register(network(i)), 50)
        const granted = refilled.filter(({ status }) => status === 202).length
        // Times are whole milliseconds.
        assert.ok(Math.abs(granted - shares * 20) <= 1, `${granted}`)
      })
    }

    if (often)
      test(
        'Over the whole service, registrations have a burst of 5,000 and a refill of 1,000 a minute',
        atLength,
        async () => {
          service.clock.advance(60 * minute)
          const spread = (i: number) => ({ 'x-forwarded-for': `11.${i % 250}.${Math.floor(i / 250)}.1` })
          const replies = await repeat(5_000, (i) => register(spread(i)), 50)
          assert.deepEqual([...new Set(replies.map((reply) => reply.status))], [202])
          assert.equal((await register(spread(5_001))).status, 429)
          service.clock.advance(minute)
          const refilled = await repeat(1_010, (i) => register(spread(6_000 + i)), 50)
          assert.equal(refilled.filter((reply) => reply.status === 202).length, 1_000)
          service.clock.advance(60 * minute)
        },
      )

    test('A refused registration is not stored', async () => {
      const network = freshNetwork()
      for (const { status } of await repeat(100, () => register(network))) assert.equal(status, 202)
      const email = freshAddress('refused')
      const body = { firstname: 'Ada', lastname: 'Marsh', email }
      assert.equal((await service.post('/veterinarian/register', body, network)).status, 429)
      await service.app.parts.veterinarians.settle()
      for (const table of ['registration', 'person'])
        assert.deepEqual(await service.rows(`select id from ${table} where email = $1`, [email]), [])
    })

    if (often)
      test('A refused validation counts no attempt', atLength, async () => {
        const network = freshNetwork()
        const email = freshAddress('refused')
        await service.register(email)
        const { sessionId, code } = await service.code(email, freshNetwork())
        for (const { status } of await repeat(1200, () => validate(network), 50)) assert.equal(status, 401)
        const body = { email, sessionId, otp_code: code }
        for (let i = 0; i < 6; i++)
          assert.equal((await service.post('/veterinarian/validate-otp', body, network)).status, 429)
        assert.equal((await service.post('/veterinarian/validate-otp', body, freshNetwork())).status, 200)
      })

    test('A sign-in gives one back to the network that sent and one to the network that validated', async () => {
      const email = freshAddress('refund')
      await service.register(email)
      const sender = freshNetwork()
      const validator = freshNetwork()
      const bystander = freshNetwork()
      for (let i = 0; i < 3; i++) await send(sender)
      for (let i = 0; i < 3; i++) await validate(validator)
      for (let i = 0; i < 3; i++) await validate(bystander)
      const { sessionId, code } = await service.code(email, sender)
      const body = { email, sessionId, otp_code: code }
      assert.equal((await service.post('/veterinarian/validate-otp', body, validator)).status, 200)
      assert.match((await send(sender)).headers.get('ratelimit') ?? '', /r=596;/)
      assert.match((await validate(validator)).headers.get('ratelimit') ?? '', /r=1196;/)
      assert.match((await validate(sender)).headers.get('ratelimit') ?? '', /r=1199;/)
      assert.match((await validate(bystander)).headers.get('ratelimit') ?? '', /r=1196;/)
      assert.match((await send(validator)).headers.get('ratelimit') ?? '', /r=599;/)
    })

    test('A sign-in with a passkey gives back its options and its answer, a refused one gives nothing', async () => {
      const { access } = await service.signIn(freshAddress(), freshNetwork())
      const device = newAuthenticator(service)
      ok(await addPasskey(service, access, device), 201)
      const network = freshNetwork()
      const left = async () => [
        shown(await passkeyOptions(network))[1]?.split(';')[1],
        shown(await passkeyValidate(network))[1]?.split(';')[1],
      ]
      assert.deepEqual(await left(), ['r=599', 'r=1199'])
      ok(await passkeySignIn(service, device, { headers: network }))
      assert.deepEqual(await left(), ['r=598', 'r=1198'])
      const refused = await passkeySignIn(service, device, { headers: network, wrong: { isVerified: false } })
      assert.equal(refused.status, 401)
      assert.deepEqual(await left(), ['r=596', 'r=1196'])
    })

    test('A refund never lifts a bucket above its burst', async () => {
      const email = freshAddress('no.more')
      await service.register(email)
      const network = freshNetwork()
      const { sessionId, code } = await service.code(email, network)
      service.clock.advance(5 * minute)
      const body = { email, sessionId, otp_code: code }
      assert.equal((await service.post('/veterinarian/validate-otp', body, network)).status, 200)
      assert.match((await send(network)).headers.get('ratelimit') ?? '', /r=599;/)
      assert.match((await validate(network)).headers.get('ratelimit') ?? '', /r=1199;/)
    })

    test('A failed answer gives nothing back', async () => {
      const network = freshNetwork()
      const email = freshAddress()
      const { sessionId } = (await service.post('/veterinarian/send-otp', { email }, network)).json
      assert.equal(
        (
          await service.post(
            '/veterinarian/validate-otp',
            { email, sessionId, otp_code: 99_999_999 },
            network,
          )
        ).status,
        401,
      )
      assert.match((await send(network)).headers.get('ratelimit') ?? '', /r=598;/)
      assert.match((await validate(network)).headers.get('ratelimit') ?? '', /r=1198;/)
    })

    const shownAnyway: [name: string, path: string, body: (email: string, sessionId: string) => object][] = [
      ['a resend that comes too early', 'send-otp', (email, sessionId) => ({ email, sessionId })],
      ['a resend of an unknown session', 'send-otp', (email) => ({ email, sessionId: 'x' })],
      ['a code for a malformed address', 'send-otp', () => ({ email: 'x' })],
      ['an answer without a code', 'validate-otp', (email, sessionId) => ({ email, sessionId })],
      ['a registration without names', 'register', (email) => ({ email })],
    ]
    for (const [name, path, body] of shownAnyway) {
      test(`A limited endpoint counts ${name}, and shows what is left`, async () => {
        const email = freshAddress()
        const { sessionId } = (await service.post('/veterinarian/send-otp', { email }, freshNetwork())).json
        const network = freshNetwork()
        const left = []
        for (let i = 0; i < 2; i++) {
          const reply = await service.post(`/veterinarian/${path}`, body(email, sessionId), network)
          assert.ok(reply.status >= 400)
          assert.match(reply.headers.get('ratelimit') ?? '', /;r=\d+;/)
          left.push(Number(/r=(\d+)/.exec(reply.headers.get('ratelimit') ?? '')?.[1]))
        }
        assert.equal(left[1], left[0]! - 1)
      })
    }
  })
}
