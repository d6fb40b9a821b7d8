import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { byOperator } from '../src/platform/lib/by.ts'
import { day, minute, second } from '../src/platform/lib/clock.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { outcome, type Service, startService } from './support/service.ts'
import { until } from './support/wait.ts'

const ended = [401, 'session-ended']

for (const engine of engines) {
  suite(`Sessions on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const signIn = (email = freshAddress('session'), headers: Record<string, string> = {}) =>
      service.signIn(email, { ...freshNetwork(), ...headers })
    const refresh = (refresh_token: unknown) =>
      service.post('/session/refresh', { refresh_token }, freshNetwork())
    const me = (token: string) => service.request('/veterinarian/me', { token })
    const endReason = async (sessionId: string) =>
      (
        await service.rows<{ end_reason: string | null }>('select end_reason from session where id = $1', [
          sessionId,
        ])
      )[0]?.end_reason

    test('The token reply has exactly its members, and validate-otp’s a device token besides', async () => {
      const email = freshAddress('reply')
      await service.register(email)
      const { sessionId, code } = await service.code(email, freshNetwork())
      const reply = await service.post('/veterinarian/validate-otp', { email, otp_code: code, sessionId })
      assert.equal(reply.status, 200)
      assert.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8')
      const { access_token, refresh_token, user, device_token, ...rest } = reply.json
      assert.deepEqual(rest, { token_type: 'Bearer', expires_in: 900 })
      assert.equal(typeof device_token, 'string')
      assert.match(access_token, /^[\w-]+\.[\w-]+\.[\w-]+$/)
      assert.equal(typeof refresh_token, 'string')
      assert.deepEqual(user, (await me(access_token)).json)
      const refreshed = await refresh(refresh_token)
      assert.deepEqual(
        [...Object.keys(refreshed.json), 'device_token'].sort(),
        Object.keys(reply.json).sort(),
      )
      assert.deepEqual(refreshed.json.user, user)
    })

    test('A refresh rotates: a new refresh token, a new access token, the same session', async () => {
      const first = await signIn()
      const second_ = await refresh(first.refresh)
      assert.equal(second_.status, 200)
      assert.notEqual(second_.json.refresh_token, first.refresh)
      assert.notEqual(second_.json.access_token, first.access)
      const { json } = await service.request('/session', { token: second_.json.access_token })
      assert.deepEqual(
        json.sessions.map((session: { sessionId: string }) => session.sessionId),
        [first.sessionId],
      )
      assert.equal((await me(first.access)).status, 200)
    })

    test('The predecessor gives the same child for 30 s', async () => {
      const { refresh: first } = await signIn()
      const child = (await refresh(first)).json.refresh_token
      for (const pause of [0, 10 * second, 20 * second]) {
        service.clock.advance(pause)
        const again = await refresh(first)
        assert.equal(again.status, 200)
        assert.equal(again.json.refresh_token, child)
        assert.equal((await me(again.json.access_token)).status, 200)
      }
      assert.equal((await refresh(child)).status, 200)
    })

    test('After that it gives a new child while none was used, so lost replies do no harm', async () => {
      const { refresh: first } = await signIn()
      const given = new Set([first, (await refresh(first)).json.refresh_token])
      for (const pause of [30 * second + 1, day, 20 * day]) {
        service.clock.advance(pause)
        const again = await refresh(first)
        assert.equal(again.status, 200)
        assert.ok(!given.has(again.json.refresh_token))
        given.add(again.json.refresh_token)
        assert.equal((await refresh(first)).json.refresh_token, again.json.refresh_token)
      }
      assert.equal((await refresh([...given].at(-1))).status, 200)
    })

    test('Using a child token that is void by then ends the session', async () => {
      const { refresh: first, sessionId } = await signIn()
      const child = (await refresh(first)).json.refresh_token
      service.clock.advance(30 * second + 1)
      const other = await refresh(first)
      assert.equal(other.status, 200)
      assert.deepEqual(outcome(await refresh(child)), ended)
      assert.equal(await endReason(sessionId), 'reuse')
      assert.deepEqual(outcome(await refresh(other.json.refresh_token)), ended)
      assert.deepEqual(outcome(await me(other.json.access_token)), ended)
    })

    test('Owner and thief cannot take turns with the predecessor', async () => {
      const { refresh: copied, sessionId } = await signIn()
      const holders = [copied, copied]
      let rounds = 0
      for (; rounds < 200; rounds++) {
        service.clock.advance(minute)
        const reply = await refresh(holders[rounds % 2])
        if (reply.status !== 200) break
        holders[rounds % 2] = reply.json.refresh_token
      }
      assert.equal(rounds, 2)
      assert.equal(await endReason(sessionId), 'reuse')
    })

    test('A token two rotations old ends the session, also within 30 s of its own rotation', async () => {
      for (const pause of [0, 25 * second, 25 * second + 1]) {
        const { refresh: first, access, sessionId } = await signIn()
        const child = (await refresh(first)).json.refresh_token
        service.clock.advance(5 * second)
        const grandchild = await refresh(child)
        service.clock.advance(pause)
        assert.deepEqual(outcome(await refresh(first)), ended)
        assert.equal(await endReason(sessionId), 'reuse')
        for (const token of [first, child, grandchild.json.refresh_token])
          assert.deepEqual(outcome(await refresh(token)), ended)
        for (const token of [access, grandchild.json.access_token])
          assert.deepEqual(outcome(await me(token)), ended)
      }
    })

    test('Of a chain of quick rotations, the last predecessor alone still gives the same child', async () => {
      const { refresh: first } = await signIn()
      let [before, newest] = ['', first]
      for (let i = 0; i < 3; i++) [before, newest] = [newest, (await refresh(newest)).json.refresh_token]
      assert.equal((await refresh(before)).json.refresh_token, newest)
      assert.equal((await refresh(newest)).status, 200)
    })

    test('Anything older than the predecessor ends the session', async () => {
      const { refresh: first, sessionId } = await signIn()
      let token = first
      for (let i = 0; i < 3; i++) {
        service.clock.advance(minute)
        token = (await refresh(token)).json.refresh_token
      }
      assert.deepEqual(outcome(await refresh(first)), ended)
      assert.deepEqual(outcome(await refresh(token)), ended)
      assert.equal(await endReason(sessionId), 'reuse')
    })

    test('A session ends after 30 days without a refresh', async () => {
      const late = await signIn()
      service.clock.advance(30 * day - 1)
      const intime = await refresh(late.refresh)
      assert.equal(intime.status, 200)
      service.clock.advance(30 * day)
      assert.deepEqual(outcome(await refresh(intime.json.refresh_token)), ended)
      await service.app.parts.sweeper.sweep()
      assert.equal(await endReason(late.sessionId), 'expired')
      assert.deepEqual(outcome(await refresh(intime.json.refresh_token)), ended)
    })

    test('A session ends after 90 days however often it was refreshed', async () => {
      const { refresh: first, sessionId } = await signIn()
      let token = first
      for (let i = 0; i < 3; i++) {
        service.clock.advance(29 * day)
        const reply = await refresh(token)
        assert.equal(reply.status, 200)
        token = reply.json.refresh_token
      }
      const access = (await refresh(token)).json.access_token
      const { json } = await service.request('/session', { token: access })
      assert.equal(json.sessions[0].expiresAt, new Date(service.clock.now() + 3 * day).toISOString())
      service.clock.advance(3 * day - 1)
      token = (await refresh(token)).json.refresh_token
      const last = await refresh(token)
      assert.equal(last.status, 200)
      service.clock.advance(1)
      assert.deepEqual(outcome(await refresh(last.json.refresh_token)), ended)
      assert.deepEqual(outcome(await me(last.json.access_token)), ended)
      await service.app.parts.sweeper.sweep()
      assert.equal(await endReason(sessionId), 'expired')
    })

    test('A forged or malformed refresh token is 401 invalid-token and ends nothing', async () => {
      const { refresh: token, sessionId } = await signIn()
      const other = await signIn()
      const [id, seq, proof] = token.split('.') as [string, string, string]
      const flipped = (proof[0] === 'A' ? 'B' : 'A') + proof.slice(1)
      const forged = [
        '',
        'nonsense',
        ' ',
        '..',
        `${id}.${seq}`,
        `${id}.${seq}.`,
        `${id}.${seq}.${flipped}`,
        `${id}.${seq}.${proof.slice(0, -1)}`,
        `${id}.${seq}.${proof}A`,
        `${id}.${seq}.${proof}.`,
        ` ${token}`,
        `${token}\n`,
        `${id}.2.${proof}`,
        `${id}.0.${proof}`,
        `${id}.-1.${proof}`,
        `${id}.1e0.${proof}`,
        `${id}.01.${proof}`,
        `${id}.99999999999999999999.${proof}`,
        `${other.sessionId}.${seq}.${proof}`,
        `${'A'.repeat(22)}.${seq}.${proof}`,
        token.toUpperCase(),
        other.access,
        'é'.repeat(60),
        '\u0000',
      ]
      for (const one of forged) {
        const reply = await refresh(one)
        assert.deepEqual(outcome(reply), [401, 'invalid-token'], one)
        assert.equal(reply.headers.get('www-authenticate'), 'Bearer error="invalid_token"')
      }
      for (const one of [null, 7, undefined, [token], { token }])
        assert.deepEqual(outcome(await refresh(one)), [400, 'invalid-request'])
      assert.equal(await endReason(sessionId), null)
      assert.equal((await refresh(token)).status, 200)
    })

    const endings: [name: string, end: (who: { access: string; userId: string }) => Promise<unknown>][] = [
      ['signing out', ({ access }) => service.request('/session', { method: 'DELETE', token: access })],
      [
        'suspending the account',
        ({ userId }) => service.app.parts.support.suspend(userId, 'a test', byOperator),
      ],
      [
        'closing the account',
        ({ access }) => service.request('/veterinarian/me', { method: 'DELETE', token: access }),
      ],
    ]
    for (const [name, end] of endings) {
      test(`Grace does not survive ${name}`, async () => {
        const who = await signIn()
        const child = (await refresh(who.refresh)).json.refresh_token
        await end(who)
        assert.deepEqual(outcome(await refresh(who.refresh)), ended)
        assert.deepEqual(outcome(await refresh(child)), ended)
        assert.deepEqual(outcome(await me(who.access)), ended)
      })
    }

    test('A suspended account’s token answers 401 at once, and reactivating revives no session', async () => {
      const email = freshAddress('suspended')
      const who = await signIn(email)
      assert.equal((await me(who.access)).status, 200)
      assert.equal(await service.app.parts.support.suspend(who.userId, 'a test', byOperator), true)
      const reply = await me(who.access)
      assert.deepEqual(outcome(reply), ended)
      assert.equal(reply.headers.get('www-authenticate'), 'Bearer error="invalid_token"')
      assert.equal(await endReason(who.sessionId), 'account')
      assert.equal(await service.app.parts.support.reactivate(who.userId, null, byOperator), true)
      assert.deepEqual(outcome(await me(who.access)), ended)
      assert.deepEqual(outcome(await refresh(who.refresh)), ended)
      const again = await signIn(email)
      assert.equal(again.userId, who.userId)
      assert.equal((await me(again.access)).status, 200)
    })

    test('GET /session lists the caller’s live sessions, and nobody else’s', async () => {
      const email = freshAddress('list')
      await signIn()
      const firefox = 'Mozilla/5.0 (Android 14; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0'
      const phone = await signIn(email, { 'user-agent': firefox })
      const phoneAt = service.clock.now()
      service.clock.advance(5 * minute)
      const desk = await signIn(email)
      const deskAt = service.clock.now()
      const gone = await signIn(email)
      assert.equal((await service.request('/session', { method: 'DELETE', token: gone.access })).status, 204)
      const reply = await service.request('/session', { token: desk.access })
      assert.equal(reply.status, 200)
      const byId = Object.fromEntries(
        reply.json.sessions.map((session: { sessionId: string }) => [session.sessionId, session]),
      )
      assert.deepEqual(Object.keys(byId).sort(), [phone.sessionId, desk.sessionId].sort())
      const iso = (at: number) => new Date(at).toISOString()
      assert.deepEqual(byId[phone.sessionId], {
        sessionId: phone.sessionId,
        current: false,
        startedAt: iso(phoneAt),
        lastSeenAt: iso(phoneAt),
        expiresAt: iso(phoneAt + 30 * day),
        authenticatedAt: iso(phoneAt),
        method: 'code',
        clientId: null,
        clientName: null,
        scope: null,
        parentId: null,
        device: 'Firefox on Android',
      })
      assert.equal(byId[desk.sessionId].current, true)
      assert.equal(byId[desk.sessionId].startedAt, iso(deskAt))
      service.clock.advance(30 * day - 5 * minute)
      const fresh = await signIn(email)
      const later = await service.request('/session', { token: fresh.access })
      assert.deepEqual(
        later.json.sessions.map((session: { sessionId: string }) => session.sessionId).sort(),
        [desk.sessionId, fresh.sessionId].sort(),
      )
    })

    test('lastSeenAt follows use and refreshes', async () => {
      const who = await signIn()
      const becomesNow = (token: string) =>
        until(
          async () => (await service.request('/session', { token })).json.sessions[0].lastSeenAt,
          (lastSeenAt) => Date.parse(lastSeenAt) === service.clock.now(),
        )
      service.clock.advance(2 * minute)
      await me(who.access)
      await becomesNow(who.access)
      service.clock.advance(2 * minute)
      await becomesNow((await refresh(who.refresh)).json.access_token)
    })

    test('DELETE /session signs out here and nowhere else', async () => {
      const email = freshAddress('here')
      const here = await signIn(email)
      const there = await signIn(email)
      const reply = await service.request('/session', { method: 'DELETE', token: here.access })
      assert.deepEqual([reply.status, reply.text], [204, ''])
      assert.deepEqual(outcome(await me(here.access)), ended)
      assert.deepEqual(outcome(await refresh(here.refresh)), ended)
      assert.equal((await me(there.access)).status, 200)
      assert.equal(await endReason(here.sessionId), 'signed-out')
      const again = await service.request('/session', { method: 'DELETE', token: here.access })
      assert.deepEqual(outcome(again), ended)
    })

    test('DELETE /session/{sessionId} signs out there', async () => {
      const email = freshAddress('there')
      const here = await signIn(email)
      const there = await signIn(email)
      const path = `/session/${there.sessionId}`
      assert.equal((await service.request(path, { method: 'DELETE', token: here.access })).status, 204)
      assert.deepEqual(outcome(await me(there.access)), ended)
      assert.deepEqual(outcome(await refresh(there.refresh)), ended)
      assert.equal((await me(here.access)).status, 200)
      const again = await service.request(path, { method: 'DELETE', token: here.access })
      assert.deepEqual(outcome(again), [404, 'not-found'])
    })

    test('DELETE /session/{sessionId} of somebody else, of nobody or malformed is 404', async () => {
      const here = await signIn()
      const foreign = await signIn()
      const challenged = (await service.post('/veterinarian/send-otp', { email: freshAddress() })).json
        .sessionId
      for (const id of [foreign.sessionId, challenged, 'A'.repeat(22), 'x', '%00', 'All']) {
        const reply = await service.request(`/session/${id}`, { method: 'DELETE', token: here.access })
        assert.deepEqual(outcome(reply), [404, 'not-found'], id)
      }
      assert.equal((await me(foreign.access)).status, 200)
    })

    test('DELETE /session/all signs out everywhere, and nobody else', async () => {
      const email = freshAddress('everywhere')
      const sessions = [await signIn(email), await signIn(email), await signIn(email)]
      const other = await signIn()
      const reply = await service.request('/session/all', { method: 'DELETE', token: sessions[0]!.access })
      assert.deepEqual([reply.status, reply.text], [204, ''])
      for (const { access, refresh: token, sessionId } of sessions) {
        assert.deepEqual(outcome(await me(access)), ended)
        assert.deepEqual(outcome(await refresh(token)), ended)
        assert.equal(await endReason(sessionId), 'signed-out')
      }
      assert.equal((await me(other.access)).status, 200)
    })

    test('A session that waits for its code is not listed, and its id is not a credential', async () => {
      const email = freshAddress('challenged')
      const who = await signIn(email)
      const { sessionId } = await service.code(email, freshNetwork())
      const { json } = await service.request('/session', { token: who.access })
      assert.ok(json.sessions.every((session: { sessionId: string }) => session.sessionId !== sessionId))
      assert.deepEqual(outcome(await me(sessionId)), [401, 'invalid-token'])
      assert.deepEqual(outcome(await refresh(who.sessionId)), [401, 'invalid-token'])
    })
  })
}
