/** Tokens of clients: token, userinfo, introspection and revocation. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { endSessions } from '../src/identity/session/session.ts'
import { bySystem } from '../src/platform/lib/by.ts'
import { minute } from '../src/platform/lib/clock.ts'
import { addClient, callAs, codeFor, pkce, signInAt, type TestClient } from './support/applications.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { outcome, type Service, type SignedIn, startService } from './support/service.ts'
import { decode } from './support/tokens.ts'

const inactive = { active: false }

for (const engine of engines) {
  suite(`Tokens of clients on ${engine}`, () => {
    let service: Service
    let who: SignedIn
    let client: TestClient
    before(async () => {
      service = await startService(engine)
      who = await service.signIn(freshAddress('client'))
      client = await addClient(service)
    })
    after(() => service.stop())

    const redeem = (code: string, more: Record<string, string> = {}, as = client) =>
      callAs(service, as, '/oauth/token', {
        grant_type: 'authorization_code',
        code,
        redirect_uri: as.redirectUri,
        ...more,
      })
    const refresh = (token: string, as: TestClient | null = client, more: Record<string, string> = {}) =>
      callAs(service, as, '/oauth/token', { grant_type: 'refresh_token', refresh_token: token, ...more })
    const introspect = async (token: string, as = client) =>
      (await callAs(service, as, '/oauth/introspect', { token })).json
    const userinfo = (token: string) => service.request('/oauth/userinfo', { token })

    test('A code gives an access token, an ID token and a refresh token', async () => {
      const { verifier, challenge } = pkce()
      const code = await codeFor(service, who, client, { nonce: 'abc', challenge })
      const { status, json, headers } = await redeem(code, { code_verifier: verifier })
      assert.equal(status, 200)
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.deepEqual(Object.keys(json).sort(), [
        'access_token',
        'expires_in',
        'id_token',
        'refresh_token',
        'scope',
        'token_type',
      ])
      assert.deepEqual(
        [json.token_type, json.expires_in, json.scope],
        ['Bearer', 900, 'openid profile email'],
      )
      const now = Math.floor(service.clock.now() / 1000)
      const { header, payload } = decode(json.id_token)
      assert.deepEqual([header.alg, header.typ], ['ES256', 'JWT'])
      const { sid, auth_time, ...claims } = payload
      assert.deepEqual(claims, {
        iss: service.url.replace('127.0.0.1', 'localhost'),
        aud: client.id,
        sub: who.userId,
        acr: 'urn:chiron:code',
        amr: ['otp'],
        nonce: 'abc',
        iat: now,
        exp: now + 900,
      })
      assert.notEqual(sid, who.sessionId)
      assert.ok(Number(auth_time) <= now)
      const access = decode(json.access_token).payload
      assert.deepEqual(
        [access.aud, access.client_id, access.scope, access.sid, access.sub],
        [client.id, client.id, 'openid profile email', sid, who.userId],
      )
    })

    test('A code used twice ends the session that it started', async () => {
      const { verifier, challenge } = pkce()
      const code = await codeFor(service, who, client, { challenge })
      const first = await redeem(code, { code_verifier: verifier })
      assert.equal((await userinfo(first.json.access_token)).status, 200)
      const second = await redeem(code, { code_verifier: verifier })
      assert.deepEqual([second.status, second.json.error], [400, 'invalid_grant'])
      assert.deepEqual(outcome(await userinfo(first.json.access_token)), [401, 'session-ended'])
      assert.deepEqual(await introspect(first.json.refresh_token), inactive)
    })

    test('Of a hundred redemptions of one code at once, at most one gets tokens', async () => {
      const { verifier, challenge } = pkce()
      const code = await codeFor(service, who, client, { challenge })
      const replies = await Promise.all(
        Array.from({ length: 100 }, () => redeem(code, { code_verifier: verifier })),
      )
      assert.equal(replies.filter(({ status }) => status === 200).length, 1)
    })

    test('A code is bound to its client, its redirect URI and its verifier, and lasts a minute', async () => {
      const other = await addClient(service)
      const { verifier, challenge } = pkce()
      const code = await codeFor(service, who, client, { challenge })
      const faults = [
        await redeem(code, { code_verifier: verifier }, other),
        await redeem(code, { code_verifier: verifier, redirect_uri: 'https://app.example/other' }),
        await redeem(code, { code_verifier: pkce().verifier }),
        await redeem(code),
        await redeem(`${code.slice(0, -1)}${code.endsWith('A') ? 'B' : 'A'}`, { code_verifier: verifier }),
        await redeem(await codeFor(service, who, client), { code_verifier: verifier }),
      ]
      for (const { status, json } of faults) assert.deepEqual([status, json.error], [400, 'invalid_grant'])
      const late = await codeFor(service, who, client, { challenge })
      service.clock.advance(60_001)
      assert.equal((await redeem(late, { code_verifier: verifier })).json.error, 'invalid_grant')
    })

    test('A code of a session that has ended gives nothing', async () => {
      const gone = await service.signIn(freshAddress('gone'))
      const { verifier, challenge } = pkce()
      const code = await codeFor(service, gone, client, { challenge })
      await service.request('/session', { method: 'DELETE', token: gone.access })
      assert.equal((await redeem(code, { code_verifier: verifier })).json.error, 'invalid_grant')
    })

    test('A refresh token rotates, with 30 seconds of grace, and its reuse ends the session', async () => {
      const { refresh: first } = await signInAt(service, who, client)
      const second = (await refresh(first)).json
      assert.notEqual(second.refresh_token, first)
      assert.equal(decode(second.id_token).payload.nonce, undefined)
      assert.equal((await refresh(first)).json.refresh_token, second.refresh_token)
      const third = (await refresh(second.refresh_token)).json
      assert.equal((await refresh(third.refresh_token)).status, 200)
      const stolen = await refresh(first)
      assert.deepEqual([stolen.status, stolen.json.error], [400, 'invalid_grant'])
      assert.deepEqual(outcome(await userinfo(second.access_token)), [401, 'session-ended'])
    })

    test('A refresh may ask for fewer scopes, never for more', async () => {
      const { refresh: token } = await signInAt(service, who, client, { scope: 'openid email' })
      const more = await refresh(token, client, { scope: 'openid profile' })
      assert.deepEqual([more.status, more.json.error], [400, 'invalid_scope'])
      const fewer = await refresh(token, client, { scope: 'openid' })
      assert.equal(fewer.json.scope, 'openid')
      assert.deepEqual((await userinfo(fewer.json.access_token)).json, { sub: who.userId })
    })

    test('Userinfo has the claims of the scopes', async () => {
      const { access } = await signInAt(service, who, client)
      const { json } = await userinfo(access)
      const { updated_at, ...claims } = json
      assert.deepEqual(claims, {
        sub: who.userId,
        name: 'Ada Marsh',
        given_name: 'Ada',
        family_name: 'Marsh',
        preferred_username: who.userId,
        locale: 'en',
        verified: false,
        roles: ['veterinarian'],
        email: claims.email,
        email_verified: true,
      })
      assert.equal(typeof updated_at, 'number')
      const posted = await service.request('/oauth/userinfo', { method: 'POST', token: access })
      assert.deepEqual(posted.json, json)
    })

    test('Introspection knows the client’s own tokens only, and sees an end at once', async () => {
      const other = await addClient(service)
      const { access, refresh: token, sessionId } = await signInAt(service, who, client)
      const told = await introspect(access)
      assert.deepEqual(
        [told.active, told.client_id, told.sub, told.sid, told.scope],
        [true, client.id, who.userId, sessionId, 'openid profile email'],
      )
      assert.equal((await introspect(token)).active, true)
      for (const foreign of [access, token]) assert.deepEqual(await introspect(foreign, other), inactive)
      for (const own of [who.access, who.refresh, 'x']) assert.deepEqual(await introspect(own), inactive)
      await service.request(`/session/${sessionId}`, { method: 'DELETE', token: who.access })
      for (const ended of [access, token]) assert.deepEqual(await introspect(ended), inactive)
      assert.deepEqual(outcome(await userinfo(access)), [401, 'session-ended'])
      assert.equal((await refresh(token)).json.error, 'invalid_grant')
    })

    test('Revocation ends the session of the client’s own tokens only', async () => {
      const other = await addClient(service)
      const one = await signInAt(service, who, client)
      const two = await signInAt(service, who, client)
      const revoke = (token: string, as = client) => callAs(service, as, '/oauth/revoke', { token })
      for (const token of [one.access, one.refresh]) assert.equal((await revoke(token, other)).status, 200)
      for (const token of [who.access, who.refresh]) assert.equal((await revoke(token)).status, 200)
      assert.equal((await userinfo(one.access)).status, 200)
      assert.equal((await service.request('/veterinarian/me', { token: who.access })).status, 200)
      await revoke(one.access)
      await revoke(two.refresh)
      for (const { access } of [one, two])
        assert.deepEqual(outcome(await userinfo(access)), [401, 'session-ended'])
    })

    test('A revocation that the store cannot carry out is not reported as done', async () => {
      const { db } = service.app.parts
      const { access } = await signInAt(service, who, client)
      const revoke = () => callAs(service, client, '/oauth/revoke', { token: access })
      await db.run('alter table session rename to session_away')
      const { status } = await revoke()
      await db.run('alter table session_away rename to session')
      assert.equal(status, 500)
      assert.equal((await userinfo(access)).status, 200)
      assert.equal((await revoke()).status, 200)
      assert.deepEqual(outcome(await userinfo(access)), [401, 'session-ended'])
    })

    test('The registry shows when a client was last used, to the minute', async () => {
      const { clients } = service.app.parts
      const lastUsed = async () => (await clients.show(client.id)).lastUsedAt
      const at = () => new Date(service.clock.now()).toISOString()
      service.clock.advance(2 * minute)
      const { refresh: first } = await signInAt(service, who, client)
      const signedIn = at()
      assert.equal(await lastUsed(), signedIn)
      service.clock.advance(minute / 2)
      const { json } = await refresh(first)
      assert.equal(await lastUsed(), signedIn)
      service.clock.advance(minute)
      assert.equal((await refresh(json.refresh_token)).status, 200)
      assert.equal(await lastUsed(), at())
    })

    test('A service gets a token for itself, with its scopes, which can be revoked', async () => {
      const robot = await addClient(service, { kind: 'service' })
      const ask = (form: Record<string, string> = {}) =>
        callAs(service, robot, '/oauth/token', { grant_type: 'client_credentials', ...form })
      const { status, json } = await ask()
      assert.equal(status, 200)
      assert.deepEqual(Object.keys(json).sort(), ['access_token', 'expires_in', 'scope', 'token_type'])
      assert.equal(json.scope, 'roster.read events.read')
      assert.equal((await introspect(json.access_token, robot)).active, true)
      assert.equal((await ask({ scope: 'openid' })).json.error, 'invalid_scope')
      assert.equal((await ask({ scope: 'roster.read' })).json.scope, 'roster.read')
      await callAs(service, robot, '/oauth/revoke', { token: json.access_token })
      assert.deepEqual(await introspect(json.access_token, robot), inactive)
      const persons = await callAs(service, client, '/oauth/token', { grant_type: 'client_credentials' })
      assert.equal(persons.json.error, 'unauthorized_client')
    })

    test('Unknown clients, wrong secrets and missing ones get the same refusal', async () => {
      const form = { grant_type: 'client_credentials' }
      const refused = [
        await callAs(service, { id: 'nobody', secret: 'x' }, '/oauth/token', form),
        await callAs(service, { id: client.id, secret: 'x' }, '/oauth/token', form),
        await callAs(service, { id: client.id, secret: null }, '/oauth/token', form),
        await callAs(service, null, '/oauth/token', { ...form, client_id: client.id, client_secret: 'x' }),
      ]
      for (const { status, json, headers } of refused) {
        assert.deepEqual([status, json.error], [401, 'invalid_client'])
        assert.equal(json.error_description, refused[0]!.json.error_description)
        assert.match(headers.get('www-authenticate') ?? '', /^Basic /)
      }
    })

    test('Twenty wrong secrets stop the network that sent them, and no other', async () => {
      const target = await addClient(service, { kind: 'service' })
      const from = (network: string, secret: string) =>
        service.request('/oauth/token', {
          method: 'POST',
          body: `grant_type=client_credentials&client_id=${target.id}&client_secret=${secret}`,
          headers: {
            'Content-Type': 'application/x-www-form-urlencoded',
            'X-Forwarded-For': network,
          },
        })
      for (let i = 0; i < 20; i++) assert.equal((await from('203.0.113.7', 'wrong')).status, 401)
      const stopped = await from('203.0.113.7', target.secret!)
      assert.equal(stopped.status, 429)
      assert.ok(Number(stopped.headers.get('retry-after')) > 0)
      assert.equal((await from('198.51.100.9', target.secret!)).status, 200)
      service.clock.advance(600_001)
      assert.equal((await from('203.0.113.7', target.secret!)).status, 200)
    })

    test('Wrong secrets from any number of networks are counted 149,000 times a day at most', async () => {
      const target = await addClient(service, { kind: 'service' })
      const refuse = async () => {
        const reply = await service.request('/oauth/token', {
          method: 'POST',
          body: `grant_type=client_credentials&client_id=${target.id}&client_secret=wrong`,
          headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...freshNetwork() },
        })
        assert.equal(reply.status, 401)
        const counted = await service.rows('select key from quota where key like $1', [
          `client:${target.id}:%`,
        ])
        return counted.length
      }
      assert.equal(await refuse(), 1)
      const until = service.clock.now() + 86_400_000
      await service.app.parts.db.run("update bucket set full_at = $1 where key = 'service:wrong-secrets'", [
        until,
      ])
      assert.equal(await refuse(), 1)
      await service.app.parts.db.run("delete from bucket where key = 'service:wrong-secrets'")
      assert.equal(await refuse(), 2)
    })

    test('Without a client, the token endpoint takes a first-party refresh token', async () => {
      const own = await service.signIn(freshAddress('own'))
      const { status, json } = await refresh(own.refresh, null)
      assert.equal(status, 200)
      assert.equal(json.user.userId, own.userId)
      const named = await refresh(json.refresh_token, null, { client_id: 'chiron' })
      assert.equal(named.status, 200)
    })

    test('Signing out of the portal ends its sessions at clients, unless they are offline', async () => {
      const portal = await service.signIn(freshAddress('parent'))
      const below = await signInAt(service, portal, client)
      const offline = await signInAt(service, portal, client, { scope: 'openid offline_access' })
      const { sessions } = (await service.request('/session', { token: portal.access })).json
      const shown = new Map<string, Record<string, string | null>>(
        sessions.map((one: { sessionId: string }) => [one.sessionId, one]),
      )
      for (const [{ sessionId }, parentId] of [
        [below, portal.sessionId] as const,
        [offline, null] as const,
      ]) {
        const { clientId, clientName, ...one } = shown.get(sessionId)!
        assert.deepEqual([clientId, clientName, one.parentId], [client.id, 'Moodle', parentId])
      }
      await service.request('/session', { method: 'DELETE', token: portal.access })
      assert.deepEqual(outcome(await userinfo(below.access)), [401, 'session-ended'])
      assert.equal((await refresh(below.refresh)).json.error, 'invalid_grant')
      assert.equal((await userinfo(offline.access)).status, 200)
      assert.equal((await refresh(offline.refresh)).status, 200)
      const ended = await service.rows<{ data: string }>(
        "select data from event where type = 'session.ended' and person_id = $1 order by data",
        [portal.userId],
      )
      assert.deepEqual(
        ended.map(({ data }) => JSON.parse(data)),
        [{ reason: 'signed-out', client: client.id }, { reason: 'signed-out' }],
      )
    })

    test('A copied token of the portal ends all that was started with it, offline sessions too', async () => {
      const portal = await service.signIn(freshAddress('copied'))
      const offline = await signInAt(service, portal, client, { scope: 'openid offline_access' })
      let token = portal.refresh
      for (let i = 0; i < 2; i++) {
        service.clock.advance(31_000)
        token = (await service.post('/session/refresh', { refresh_token: token })).json.refresh_token
      }
      assert.equal((await userinfo(offline.access)).status, 200)
      await service.post('/session/refresh', { refresh_token: portal.refresh })
      assert.deepEqual(outcome(await userinfo(offline.access)), [401, 'session-ended'])
    })

    test('A disabled client’s tokens are refused at once, and work again when it is enabled', async () => {
      const target = await addClient(service)
      const { access, refresh: token } = await signInAt(service, who, target)
      const set = (at: number | null) =>
        service.app.parts.db.run('update client set disabled_at = $1 where id = $2', [at, target.id])
      await set(service.clock.now())
      assert.deepEqual(outcome(await userinfo(access)), [401, 'session-ended'])
      assert.equal((await refresh(token, target)).json.error, 'invalid_client')
      await set(null)
      assert.equal((await userinfo(access)).status, 200)
      assert.equal((await refresh(token, target)).status, 200)
    })

    const losses: Record<string, { loses: string; userinfo: number; scope: string | undefined }> = {
      'the role of the person': { loses: "roles = 'student staff'", userinfo: 401, scope: undefined },
      scopes: { loses: "scopes = 'openid offline_access'", userinfo: 200, scope: 'openid offline_access' },
      'offline access': { loses: "scopes = 'openid profile'", userinfo: 401, scope: undefined },
    }
    for (const [what, { loses, ...left }] of Object.entries(losses))
      test(`A client that loses ${what} loses it in the sessions that it has`, async () => {
        const target = await addClient(service)
        const before = await signInAt(service, who, target, { scope: 'openid profile offline_access' })
        const code = await codeFor(service, who, target)
        await service.app.parts.db.run(`update client set ${loses} where id = $1`, [target.id])
        const { status, json } = await userinfo(before.access)
        assert.equal(status, left.userinfo)
        assert.equal(json.name, undefined)
        for (const token of [before.access, before.refresh])
          assert.equal((await introspect(token, target)).scope, left.scope)
        const renewed = await refresh(before.refresh, target)
        assert.deepEqual([renewed.status, renewed.json.scope], [left.scope ? 200 : 400, left.scope])
        if (loses.includes('roles'))
          assert.equal((await redeem(code, {}, target)).json.error, 'invalid_grant')
      })

    test('A service that loses a scope loses it in the tokens that it has', async () => {
      const robot = await addClient(service, { kind: 'service' })
      const { access_token: token } = (
        await callAs(service, robot, '/oauth/token', { grant_type: 'client_credentials' })
      ).json
      assert.equal((await service.request('/roster/students', { token })).status, 200)
      await service.app.parts.db.run("update client set scopes = 'events.read' where id = $1", [robot.id])
      assert.deepEqual(outcome(await service.request('/roster/students', { token })), [403, 'forbidden'])
      assert.equal((await introspect(token, robot)).scope, 'events.read')
    })

    test('Of one person’s sessions at a client the 50 newest stay', async () => {
      const target = await addClient(service)
      const many = await service.signIn(freshAddress('many'))
      const sessions = []
      for (let i = 0; i < 52; i++) {
        sessions.push(await signInAt(service, many, target, { scope: 'openid' }))
        service.clock.advance(1)
      }
      const states = await Promise.all(sessions.map(async ({ access }) => (await userinfo(access)).status))
      assert.deepEqual(states, [401, 401, ...Array(50).fill(200)])
    })

    // PostgreSQL plans by what is in the tables.
    if (engine === 'sqlite')
      test('Sessions that have ended do not slow the next sign-in down', async () => {
        const oldestOf = { personId: who.userId, clientId: client.id, keep: 50 }
        for (const { sql, params } of endSessions({ oldestOf }, 'revoked', service.clock.now(), bySystem)) {
          const steps = await service.rows<{ detail: string }>(
            `explain query plan ${sql}`,
            params as string[],
          )
          // The index by person has all the sessions that somebody ever had.
          for (const { detail } of steps) assert.doesNotMatch(detail, /session_person|SCAN session/, sql)
        }
      })

    test('A pairwise subject differs from client to client and is the same in every token', async () => {
      const pairwise = await addClient(service, { subjectSalt: 'salt' })
      const { access, idToken } = await signInAt(service, who, pairwise)
      const { sub } = decode(idToken).payload
      assert.notEqual(sub, who.userId)
      assert.equal((await userinfo(access)).json.sub, sub)
      assert.equal((await introspect(access, pairwise)).sub, sub)
      const another = await signInAt(service, who, await addClient(service, { subjectSalt: 'other' }))
      assert.notEqual(decode(another.idToken).payload.sub, sub)
    })

    test('Profile claims are in the ID token only of clients that were registered so', async () => {
      const wants = await addClient(service, { claimsInIdToken: true })
      const [with_, without] = [await signInAt(service, who, wants), await signInAt(service, who, client)]
      assert.equal(decode(with_.idToken).payload.given_name, 'Ada')
      assert.equal(decode(without.idToken).payload.given_name, undefined)
    })

    test('An export shows applications; closing ends their sessions and forgets what was allowed', async () => {
      const own = await service.signIn(freshAddress('export'))
      const { access, sessionId } = await signInAt(service, own, client)
      await service.app.parts.db.run(
        'insert into consent (person_id, client_id, scope, given_at) values ($1, $2, $3, $4)',
        [own.userId, client.id, 'openid email', service.clock.now()],
      )
      const { json } = await service.request('/veterinarian/me/export', { token: own.access })
      assert.deepEqual(json.applications, [
        {
          clientId: client.id,
          name: 'Moodle',
          scopes: ['openid', 'email'],
          givenAt: new Date(service.clock.now()).toISOString(),
        },
      ])
      const shown = json.sessions.find((one: { sessionId: string }) => one.sessionId === sessionId)
      assert.deepEqual([shown.clientId, shown.clientName], [client.id, 'Moodle'])
      await service.request('/veterinarian/me', { method: 'DELETE', token: own.access })
      assert.deepEqual(outcome(await userinfo(access)), [401, 'session-ended'])
      assert.deepEqual(
        await service.rows('select client_id from consent where person_id = $1', [own.userId]),
        [],
      )
    })

    test('A parameter given twice, or a client named twice, is invalid_request', async () => {
      const send = (body: string, headers = {}) =>
        service.request('/oauth/token', {
          method: 'POST',
          body,
          headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
        })
      const twice = await send('grant_type=refresh_token&refresh_token=a&refresh_token=b')
      assert.deepEqual([twice.status, twice.json.error], [400, 'invalid_request'])
      const both = await callAs(service, client, '/oauth/token', {
        grant_type: 'refresh_token',
        client_secret: client.secret!,
      })
      assert.deepEqual([both.status, both.json.error], [400, 'invalid_request'])
    })
  })
}
