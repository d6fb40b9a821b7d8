/** Clients are told that a session has ended (OpenID Connect Back-Channel Logout). */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { byOperator } from '../src/platform/lib/by.ts'
import { hour, minute, second } from '../src/platform/lib/clock.ts'
import { addClient, callAs, codeFor, signInAt, type TestClient } from './support/applications.ts'
import { engines } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { type Received, type Receiver, startReceiver, status } from './support/receiver.ts'
import { type Service, type SignedIn, startService } from './support/service.ts'
import { decode, verifiesUnder } from './support/tokens.ts'
import { eventually } from './support/wait.ts'

const env = { CHIRON_WEBHOOK_ALLOW: '127.0.0.1' }
const tokenIn = ({ body }: Received) => new URLSearchParams(body).get('logout_token') ?? ''

for (const engine of engines) {
  suite(`Back-channel logout on ${engine}`, () => {
    let service: Service
    let receiver: Receiver
    let client: TestClient
    before(async () => {
      service = await startService(engine, { env })
      receiver = await startReceiver()
      client = await addClient(service, { backchannelUri: receiver.url })
    })
    after(async () => {
      await service.stop()
      await receiver.close()
    })

    const signIn = () => service.signIn(freshAddress('told'))
    /** The ends that the client is told of while `work` runs. */
    const toldOf = async (work: () => Promise<unknown>, count: number) => {
      const from = receiver.received.length
      await work()
      const all = await receiver.until(from + count)
      return all.slice(from).map((one) => String(decode(tokenIn(one)).payload.sid))
    }
    const calls = (sessionId: string) =>
      service.rows<{ attempts: number; outcome: string | null; next_at: number; error: string | null }>(
        'select attempts, outcome, next_at, error from logout_call where session_id = $1',
        [sessionId],
      )
    const callOf = async (sessionId: string) => (await calls(sessionId))[0]!

    test('The token is of its own type, signed, for the client, and names the session', async () => {
      const who = await signIn()
      const { sessionId } = await signInAt(service, who, client)
      const from = receiver.received.length
      await service.request('/session', { method: 'DELETE', token: who.access })
      const one = (await receiver.until(from + 1))[from]!
      assert.equal(one.headers['content-type'], 'application/x-www-form-urlencoded')
      const { header, payload } = decode(tokenIn(one))
      const { jti, iat, exp, ...claims } = payload
      assert.deepEqual([header.alg, header.typ], ['ES256', 'logout+jwt'])
      assert.deepEqual(claims, {
        iss: service.url.replace('127.0.0.1', 'localhost'),
        aud: client.id,
        sub: who.userId,
        sid: sessionId,
        events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      })
      assert.ok(String(jti).length > 20 && Number(exp) - Number(iat) === 120)
      const { keys } = (await service.request('/.well-known/jwks.json')).json
      assert.ok(verifiesUnder(tokenIn(one), keys[0]))
    })

    const ends: Record<string, (who: SignedIn, sessionId: string) => Promise<unknown>> = {
      'sign-out of the portal': (who) => service.request('/session', { method: 'DELETE', token: who.access }),
      'sign-out everywhere': (who) =>
        service.request('/session/all', { method: 'DELETE', token: who.access }),
      'sign-out of this session by its owner': (who, id) =>
        service.request(`/session/${id}`, { method: 'DELETE', token: who.access }),
      'closing the account': (who) =>
        service.request('/veterinarian/me', { method: 'DELETE', token: who.access }),
      suspension: (who) => service.app.parts.support.suspend(who.userId, null, byOperator),
      'the end of the time': async () => {
        service.clock.advance(31 * 24 * hour)
        await service.app.parts.sweeper.sweep()
      },
    }
    for (const [way, end] of Object.entries(ends))
      test(`It is told of ${way}`, async () => {
        const who = await signIn()
        const { sessionId } = await signInAt(service, who, client)
        assert.deepEqual(await toldOf(() => end(who, sessionId), 1), [sessionId])
        await eventually('it is recorded', async () => (await callOf(sessionId)).outcome === 'delivered')
      })

    test('It is told of a session whose code was used twice', async () => {
      const code = await codeFor(service, await signIn(), client)
      const form = { grant_type: 'authorization_code', code, redirect_uri: client.redirectUri }
      const { access_token } = (await callAs(service, client, '/oauth/token', form)).json
      const { sid } = decode(access_token).payload
      assert.deepEqual(await toldOf(() => callAs(service, client, '/oauth/token', form), 1), [sid])
    })

    test('It is not told of an end that it made itself', async () => {
      const { refresh, sessionId } = await signInAt(service, await signIn(), client)
      await callAs(service, client, '/oauth/revoke', { token: refresh })
      assert.deepEqual(await calls(sessionId), [])
    })

    test('A failed call is repeated for 72 minutes, and then it is an event', async (t) => {
      const broken = await startReceiver(status(500))
      t.after(() => broken.close())
      const target = await addClient(service, { backchannelUri: broken.url })
      const who = await signIn()
      const { sessionId } = await signInAt(service, who, target)
      await service.request('/session', { method: 'DELETE', token: who.access })
      const pauses = [5 * second, 30 * second, 2 * minute, 10 * minute, hour]
      for (const [i, pause] of pauses.entries()) {
        await eventually('the next try', async () => (await callOf(sessionId)).attempts === i + 1)
        const { next_at, outcome } = await callOf(sessionId)
        assert.equal(outcome, null)
        const wait = next_at - service.clock.now()
        assert.ok(wait >= pause && wait <= pause * 1.1, `${wait}`)
        service.clock.advance(wait)
      }
      await eventually('the end', async () => (await callOf(sessionId)).outcome === 'failed')
      assert.equal(broken.received.length, 6)
      assert.equal((await callOf(sessionId)).error, 'it answered 500')
      const events = await service.rows<{ data: string; person_id: string }>(
        "select data, person_id from event where type = 'logout.failed' and session_id = $1",
        [sessionId],
      )
      assert.deepEqual(
        events.map(({ data, person_id }) => [JSON.parse(data), person_id]),
        [[{ clientId: target.id }, who.userId]],
      )
    })

    test('A client that hangs delays no other, and gets at most eight calls at once', async (t) => {
      const hanging = await startReceiver(() => {})
      t.after(() => hanging.close())
      const target = await addClient(service, { backchannelUri: hanging.url })
      const who = await signIn()
      for (let i = 0; i < 12; i++) await signInAt(service, who, target)
      const { sessionId } = await signInAt(service, who, client)
      assert.deepEqual(
        await toldOf(() => service.request('/session', { method: 'DELETE', token: who.access }), 1),
        [sessionId],
      )
      await hanging.until(8)
      assert.equal(hanging.open.most, 8)
    })

    test('A private address that is not allowed is not called', async (t) => {
      const strict = await startService(engine)
      t.after(() => strict.stop())
      const target = await addClient(strict, { backchannelUri: receiver.url })
      const who = await strict.signIn(freshAddress('strict'))
      const { sessionId } = await signInAt(strict, who, target)
      await strict.request('/session', { method: 'DELETE', token: who.access })
      const errors = () =>
        strict.rows<{ error: string | null }>('select error from logout_call where session_id = $1', [
          sessionId,
        ])
      await eventually('a try', async () => (await errors())[0]?.error !== null)
      assert.equal((await errors())[0]!.error, 'the address is not public')
    })

    test('A call of a process that died is made by another, and two never make it at once', async () => {
      const slow = await startReceiver(() => {})
      const target = await addClient(service, { backchannelUri: slow.url })
      const who = await signIn()
      const { sessionId } = await signInAt(service, who, target)
      await service.request('/session', { method: 'DELETE', token: who.access })
      await slow.until(1)
      const { databaseUrl, clock } = service
      const second_ = await startService(engine, { env, databaseUrl, clock })
      try {
        for (let i = 0; i < 5; i++) second_.app.parts.backChannel.wake()
        await eventually('rounds', async () => (await calls(sessionId)).length === 1)
        assert.equal(slow.received.length, 1, 'the lease holds')
        slow.answer = status(204)
        clock.advance(16 * second)
        await slow.until(2)
        await eventually('the outcome', async () => (await callOf(sessionId)).outcome === 'delivered')
      } finally {
        await second_.stop()
        await slow.close()
      }
    })
  })
}
