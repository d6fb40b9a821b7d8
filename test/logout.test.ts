/** GET /oauth/logout and POST /portal/logout, and the consents that people take back. */
import assert from 'node:assert/strict'
import { after, before, describe, suite, test } from 'node:test'
import { day, second } from '../src/platform/lib/clock.ts'
import { signInAt, type TestClient } from './support/applications.ts'
import {
  afterLogout,
  answerIn,
  authorize,
  cookieFor,
  idToken,
  newClient,
  requestOf,
} from './support/authorize.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { cookieOf, portalCall, setCookie } from './support/portal.ts'
import { outcome, type Service, startService } from './support/service.ts'
import { wire } from './support/wire.ts'

const backchannelUri = 'https://client.example/backchannel'

for (const engine of engines) {
  suite(`Logout on ${engine}`, () => {
    let service: Service
    let client: TestClient
    let other: TestClient
    before(async () => {
      service = await startService(engine)
      client = await newClient(service, { backchannelUri })
      other = await newClient(service, {
        name: 'JupyterHub',
        backchannelUri,
        logoutUris: ['https://other.example/'],
      })
    })
    after(() => service.stop())

    /** Somebody with a session at the client, and an ID token of it. */
    const person = async ({ offline = false } = {}) => {
      const one = await service.signIn(freshAddress(), freshNetwork())
      const scope = offline ? 'openid offline_access' : 'openid'
      const { sessionId: sid, idToken: hint } = await signInAt(service, one, client, { scope })
      return { ...one, cookie: cookieFor(one), sid, hint }
    }
    const logout = (parameters: Record<string, string>, cookie?: string, confirmed?: boolean) =>
      portalCall(service, '/logout', {
        ...(cookie && { cookie }),
        body: { query: new URLSearchParams(parameters).toString(), ...(confirmed && { confirmed }) },
      })
    const open = async (...ids: string[]) => {
      const rows = await Promise.all(
        ids.map((id) =>
          service.rows<{ ended_at: number | null }>('select ended_at from session where id = $1', [id]),
        ),
      )
      return rows.map(([row]) => row!.ended_at === null)
    }
    const told = async (...ids: string[]) => {
      const rows = await Promise.all(
        ids.map((id) => service.rows('select 1 from logout_call where session_id = $1', [id])),
      )
      return rows.map(({ length }) => length === 1)
    }

    test('The page is the portal’s document, whatever the query, which nobody keeps', async () => {
      for (const query of [
        '',
        '?id_token_hint=x&id_token_hint=y',
        `?post_logout_redirect_uri=//evil.example`,
      ]) {
        const reply = await wire(service.url, `/oauth/logout${query}`, { headers: freshNetwork() })
        assert.deepEqual([reply.status, reply.headers.get('location')], [200, null])
        assert.equal(reply.headers.get('cache-control'), 'no-store')
        assert.equal(reply.headers.get('x-robots-tag'), 'noindex')
        assert.match(reply.text, /id="portal"/)
      }
    })

    test('With an ID token of this session it signs out at once, everywhere below, and returns', async () => {
      const someone = await person()
      const { cookie, sessionId, sid, hint } = someone
      const { sessionId: beside } = await signInAt(service, someone, other)
      const reply = await logout(
        { id_token_hint: hint, post_logout_redirect_uri: afterLogout, state: 'a b&c' },
        cookie,
      )
      assert.deepEqual([reply.status, reply.json], [200, { location: `${afterLogout}?state=a+b%26c` }])
      assert.equal(setCookie(reply)?.value, '')
      assert.deepEqual(await open(sessionId, sid, beside), [false, false, false])
      // The client that asked knows already.
      assert.deepEqual(await told(sid, beside), [false, true])
      assert.deepEqual(outcome(await portalCall(service, '/refresh', { cookie })), [401, 'session-ended'])
    })

    test('An expired ID token will do', async () => {
      const { cookie, sessionId, hint } = await person()
      service.clock.advance(day)
      assert.equal((await logout({ id_token_hint: hint }, cookie)).json.location, null)
      assert.deepEqual(await open(sessionId), [false])
    })

    test('An ID token of an offline session of the same person will do, and ends it too', async () => {
      const { cookie, sessionId, sid, hint } = await person({ offline: true })
      assert.equal((await logout({ id_token_hint: hint }, cookie)).json.location, null)
      assert.deepEqual(await open(sessionId, sid), [false, false])
      assert.deepEqual(await told(sid), [false])
    })

    describe('It asks first', () => {
      const asks = async (
        parameters: Record<string, string>,
        cookie: string,
        sessionId: string,
        name: string | null,
      ) => {
        const reply = await logout(parameters, cookie)
        assert.equal(reply.status, 200)
        assert.deepEqual([reply.json.need, reply.json.client?.name ?? null], ['confirm', name])
        assert.equal(setCookie(reply), undefined)
        assert.deepEqual(await open(sessionId), [true])
      }

      test('without an ID token; then it signs out, tells the client, and returns', async () => {
        const { cookie, sessionId, sid } = await person()
        const parameters = { client_id: client.id, post_logout_redirect_uri: afterLogout }
        await asks({}, cookie, sessionId, null)
        await asks(parameters, cookie, sessionId, 'Moodle')
        const reply = await logout(parameters, cookie, true)
        assert.deepEqual(reply.json, { location: afterLogout })
        assert.deepEqual(await open(sessionId, sid), [false, false])
        assert.deepEqual(await told(sid), [true])
      })

      test('with an ID token of somebody else, of another session, forged, or of another kind', async () => {
        const { cookie, sessionId, userId, sid, hint } = await person()
        const stranger = await person()
        const claims = { aud: client.id, sub: userId, sid }
        const hints: [string, string | null][] = [
          [stranger.hint, 'Moodle'],
          [await idToken(service, { ...claims, sid: stranger.sid }), 'Moodle'],
          // Names a session of another client.
          [await idToken(service, { ...claims, aud: other.id }), 'JupyterHub'],
          [`${hint.slice(0, -4)}AAAA`, null],
          [await idToken(service, claims, 'at+jwt'), null],
          [await idToken(service, claims, 'logout+jwt'), null],
          ['nonsense', null],
        ]
        for (const [id_token_hint, name] of hints) await asks({ id_token_hint }, cookie, sessionId, name)
        await asks({ id_token_hint: hint, client_id: other.id }, cookie, sessionId, null)
        const query = `id_token_hint=${hint}&id_token_hint=${hint}`
        const twice = await portalCall(service, '/logout', { cookie, body: { query } })
        assert.equal(twice.json.need, 'confirm')
      })
    })

    const elsewhere = [
      'https://evil.example/',
      `${afterLogout}/`,
      `${afterLogout}?x`,
      'https://other.example/',
      '//client.example/bye',
      'javascript:alert(1)',
    ]
    for (const uri of elsewhere)
      test(`It signs out and stays for ${uri}, which is not registered`, async () => {
        const { cookie, sessionId, hint } = await person()
        const reply = await logout({ id_token_hint: hint, post_logout_redirect_uri: uri, state: 'x' }, cookie)
        assert.deepEqual([reply.status, reply.json], [200, { location: null }])
        assert.deepEqual(await open(sessionId), [false])
      })

    test('Nobody signed in: it returns at once, and clears a cookie that is dead', async () => {
      const { cookie, access, hint } = await person()
      await service.request('/session', { method: 'DELETE', token: access })
      const parameters = { id_token_hint: hint, post_logout_redirect_uri: afterLogout }
      const reply = await logout(parameters, cookie)
      assert.deepEqual(reply.json, { location: afterLogout })
      assert.equal(setCookie(reply)?.value, '')
      assert.deepEqual((await logout({ client_id: client.id })).json, { location: null })
    })

    test('A cookie that was replaced long ago still ends its session', async () => {
      const { cookie, sessionId } = await person()
      const second = cookieOf(await portalCall(service, '/refresh', { cookie }))
      await portalCall(service, '/refresh', { cookie: second })
      assert.deepEqual((await logout({}, cookie)).json, { location: null })
      assert.deepEqual(await open(sessionId), [false])
    })

    test('A disabled client gets nobody back', async () => {
      const { id } = await newClient(service, { disabled: true })
      const { cookie } = await person()
      const reply = await logout({ client_id: id, post_logout_redirect_uri: afterLogout }, cookie, true)
      assert.deepEqual(reply.json, { location: null })
    })

    test('Two cookies are refused, because one was planted', async () => {
      const [one, two] = [await person(), await person()]
      const reply = await logout({ id_token_hint: one.hint }, `${one.cookie}; ${two.cookie}`)
      assert.deepEqual(outcome(reply), [401, 'unauthenticated'])
    })
  })

  suite(`Consents on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const list = async (token: string) => (await service.request('/consents', { token })).json.consents

    test('The owner sees them with the application’s name and scopes', async () => {
      const person = await service.signIn(freshAddress(), freshNetwork())
      const cookie = cookieFor(person)
      assert.deepEqual(await list(person.access), [])
      const { id: clientId } = await newClient(service, { consent: 'once' })
      await authorize(service, requestOf(clientId), { cookie, confirmed: true })
      assert.deepEqual(await list(person.access), [
        {
          clientId,
          name: 'Moodle',
          scopes: ['openid', 'profile'],
          givenAt: new Date(service.clock.now()).toISOString(),
        },
      ])
      const other = await service.signIn(freshAddress(), freshNetwork())
      assert.deepEqual(await list(other.access), [])
    })

    test('Withdrawing one ends the sessions there and open codes, and the application asks again', async () => {
      const person = await service.signIn(freshAddress(), freshNetwork())
      const cookie = cookieFor(person)
      const client = await newClient(service, { consent: 'once', backchannelUri })
      const { id: clientId } = client
      const reply = await authorize(service, requestOf(clientId), { cookie, confirmed: true })
      assert.ok(answerIn(reply.json.location).code)
      await signInAt(service, person, client)
      await signInAt(service, person, client, { scope: 'openid offline_access' })
      const beside = await signInAt(service, person, await newClient(service))
      service.clock.advance(second)
      const withdraw = () =>
        service.request(`/consents/${clientId}`, { method: 'DELETE', token: person.access })
      assert.equal((await withdraw()).status, 204)
      const rows = await service.rows<{ id: string }>(
        'select id from session where person_id = $1 and ended_at is null',
        [person.userId],
      )
      assert.deepEqual(rows.map(({ id }) => id).toSorted(), [person.sessionId, beside.sessionId].toSorted())
      const calls = await service.rows('select 1 from logout_call where client_id = $1', [clientId])
      assert.equal(calls.length, 2)
      const codes = await service.rows(
        'select 1 from authorization_code where client_id = $1 and used_at is null',
        [clientId],
      )
      assert.deepEqual(codes, [])
      assert.equal((await authorize(service, requestOf(clientId), { cookie })).json.need, 'confirm')
      const events = await service.rows<{ type: string; data: string }>(
        "select type, data from event where person_id = $1 and type like 'consent.%' order by at",
        [person.userId],
      )
      assert.deepEqual(
        events.map(({ type, data }) => [type, JSON.parse(data)]),
        [
          ['consent.given', { clientId, scope: 'openid profile' }],
          ['consent.withdrawn', { clientId }],
        ],
      )
      assert.deepEqual(outcome(await withdraw()), [404, 'not-found'])
    })

    test('Nobody can withdraw that of somebody else', async () => {
      const [one, two] = [
        await service.signIn(freshAddress(), freshNetwork()),
        await service.signIn(freshAddress(), freshNetwork()),
      ]
      const { id: clientId } = await newClient(service, { consent: 'once' })
      await authorize(service, requestOf(clientId), { cookie: cookieFor(one), confirmed: true })
      const reply = await service.request(`/consents/${clientId}`, { method: 'DELETE', token: two.access })
      assert.deepEqual(outcome(reply), [404, 'not-found'])
      assert.equal((await list(one.access)).length, 1)
    })
  })
}
