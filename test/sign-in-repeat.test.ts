/** When the reply to a right code was lost, the same request with the same Idempotency-Key is answered again. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { minute } from '../src/platform/lib/clock.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork, repeat } from './support/fresh.ts'
import { cookieOf, portalCall, signInByPortal } from './support/portal.ts'
import { outcome, type Reply, type Service, startService } from './support/service.ts'

const unusable = [401, 'otp-unusable']

for (const engine of engines) {
  suite(`An answer that is repeated, on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const challenge = async () => {
      const email = freshAddress('repeat')
      await service.register(email)
      const { sessionId, code } = await service.code(email, freshNetwork())
      return { email, sessionId, otp_code: code }
    }
    const answer = (body: object, key?: string) =>
      service.post('/veterinarian/validate-otp', body, {
        ...freshNetwork(),
        ...(key !== undefined && { 'idempotency-key': key }),
      })
    const me = (reply: Reply) => service.request('/veterinarian/me', { token: reply.json.access_token })
    const count = async (sql: string, id: string) =>
      (await service.rows<{ n: number }>(`select count(*) as n from ${sql}`, [id]))[0]!.n

    test('With its key, within two minutes, it gives the same session’s tokens again', async () => {
      const body = await challenge()
      const first = await answer(body, 'key-1')
      assert.equal(first.status, 200)
      for (const pause of [0, minute, minute]) {
        service.clock.advance(pause)
        const again = await answer(body, 'key-1')
        assert.equal(again.status, 200)
        assert.equal(again.json.refresh_token, first.json.refresh_token)
        assert.deepEqual(again.json.user, first.json.user)
        assert.equal((await me(again)).status, 200)
      }
      assert.equal(await count('session where id = $1', body.sessionId), 1)
      assert.equal(await count("event where type = 'session.started' and session_id = $1", body.sessionId), 1)
      service.clock.advance(1)
      assert.deepEqual(outcome(await answer(body, 'key-1')), unusable)
    })

    test('It may be repeated any number of times: only guesses count', async () => {
      const body = await challenge()
      for (let i = 0; i < 20; i++) assert.equal((await answer(body, 'key')).status, 200)
    })

    test('With another key, or none, it is otp-unusable', async () => {
      const body = await challenge()
      assert.equal((await answer(body, 'key-1')).status, 200)
      assert.deepEqual(outcome(await answer(body, 'key-2')), unusable)
      assert.deepEqual(outcome(await answer(body)), unusable)
    })

    test('A code that was used without a key cannot be answered again with one', async () => {
      const body = await challenge()
      assert.equal((await answer(body)).status, 200)
      assert.deepEqual(outcome(await answer(body, 'key')), unusable)
    })

    test('With the key, but another code, address or role, it is otp-unusable', async () => {
      const body = await challenge()
      assert.equal((await answer(body, 'key')).status, 200)
      const otherCode = body.otp_code === 100000 ? 100001 : body.otp_code - 1
      assert.deepEqual(outcome(await answer({ ...body, otp_code: otherCode }, 'key')), unusable)
      assert.deepEqual(outcome(await answer({ ...body, email: freshAddress() }, 'key')), unusable)
      const student = await service.post('/student/validate-otp', body, { 'idempotency-key': 'key' })
      assert.deepEqual(outcome(student), unusable)
      assert.equal((await answer(body, 'key')).status, 200)
    })

    test('Whoever knows the key gets five guesses at the code, not any number', async () => {
      const body = await challenge()
      assert.equal((await answer(body, 'key')).status, 200)
      for (let i = 0; i < 9; i++)
        assert.deepEqual(outcome(await answer({ ...body, otp_code: 99_999_999 }, 'key')), unusable)
      assert.deepEqual(outcome(await answer(body, 'key')), unusable)
      assert.equal(await count("event where type = 'otp.exhausted' and session_id = $1", body.sessionId), 0)
    })

    test('Guesses in repeats count against the address: its next code has eight digits', async () => {
      const email = freshAddress('repeat')
      await service.register(email)
      for (let i = 0; i < 4; i++) {
        const { sessionId, code } = await service.code(email, freshNetwork())
        const body = { email, sessionId, otp_code: code }
        assert.equal((await answer(body, 'key')).status, 200)
        for (let guess = 0; guess < 5; guess++)
          assert.deepEqual(outcome(await answer({ ...body, otp_code: 99_999_999 }, 'key')), unusable)
      }
      const { json } = await service.post('/veterinarian/send-otp', { email }, freshNetwork())
      assert.equal(json.digits, 8)
    })

    test('It never revives a session that has ended', async () => {
      const body = await challenge()
      const first = await answer(body, 'key')
      assert.equal(
        (await service.request('/session', { method: 'DELETE', token: first.json.access_token })).status,
        204,
      )
      assert.deepEqual(outcome(await answer(body, 'key')), unusable)
    })

    test('Of many at once with one key, each that is counted gets the tokens of one session', async () => {
      const body = await challenge()
      const replies = await repeat(20, () => answer(body, 'key'), 20)
      const good = replies.filter((reply) => reply.status === 200)
      assert.ok(good.length >= 5)
      assert.equal(new Set(good.map((reply) => reply.json.refresh_token)).size, 1)
      for (const reply of replies) if (reply.status !== 200) assert.deepEqual(outcome(reply), unusable)
      assert.equal(await count("event where type = 'session.started' and session_id = $1", body.sessionId), 1)
    })

    test('A key of more than 255 characters, or of others than visible ASCII, is refused', async () => {
      const body = await challenge()
      for (const key of ['x'.repeat(256), 'with space', 'naïve', '']) {
        const reply = await answer(body, key)
        assert.deepEqual(outcome(reply), [400, 'invalid-request'], JSON.stringify(key))
      }
      assert.equal((await answer(body, `"${'~'.repeat(253)}"`)).status, 200)
    })

    test('The key itself is not stored', async () => {
      const body = await challenge()
      const key = 'a-key-that-is-easily-found'
      await answer(body, key)
      const rows = await service.rows<{ used_by: string }>('select used_by from challenge where id = $1', [
        body.sessionId,
      ])
      assert.equal(rows.length, 1)
      assert.ok(!rows[0]!.used_by.includes(key))
    })

    test('The portal’s answer can be repeated too', async () => {
      const headers = { 'idempotency-key': 'key' }
      const { body, cookie } = await signInByPortal(service, freshAddress('portal'), headers)
      const again = (more: object) => portalCall(service, '/veterinarian/validate-otp', { body, ...more })
      const reply = await again({ headers })
      assert.equal(reply.status, 200)
      assert.equal(cookieOf(reply), cookie)
      assert.deepEqual(outcome(await again({})), unusable)
    })
  })

  test(`A refund of limits that fails does not fail the sign-in before it, on ${engine}`, async () => {
    const service = await startService(engine)
    try {
      const email = freshAddress('refund')
      await service.register(email)
      const { sessionId, code } = await service.code(email)
      await failUpdatesOfKnownNetworks(service, engine)
      const reply = await service.post('/veterinarian/validate-otp', { email, otp_code: code, sessionId })
      assert.equal(reply.status, 200)
      const me = await service.request('/veterinarian/me', { token: reply.json.access_token })
      assert.equal(me.status, 200)
      assert.ok(service.log.some((line) => line.includes('could not refund the limits after a sign-in')))
    } finally {
      await service.stop()
    }
  })
}

async function failUpdatesOfKnownNetworks(service: Service, engine: (typeof engines)[number]) {
  const { db } = service.app.parts
  if (engine === 'sqlite')
    return db.run(
      `create trigger no_networks before insert on known_network begin select raise(abort, 'not now'); end`,
    )
  await db.run(
    `create function no_networks() returns trigger language plpgsql as $$ begin raise exception 'not now'; end $$`,
  )
  return db.run(
    'create trigger no_networks before insert on known_network for each row execute function no_networks()',
  )
}
