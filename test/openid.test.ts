/**
 * What OpenID Connect lets a client ask for, and what it must get. docs/openid.md names these tests for the modules of
 * the conformance suite.
 */
import assert from 'node:assert/strict'
import { after, before, describe, suite, test } from 'node:test'
import { bySystem } from '../src/platform/lib/by.ts'
import { second } from '../src/platform/lib/clock.ts'
import { callAs, signInAt, type TestClient } from './support/applications.ts'
import {
  afterLogout,
  answerIn,
  authorize,
  callback,
  cookieFor,
  idToken,
  newClient,
  type Parameters,
  requestOf,
} from './support/authorize.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { portalCall } from './support/portal.ts'
import { outcome, type Reply, type Service, startService } from './support/service.ts'
import { newSigner, signedBy } from './support/tokens.ts'
import { originOf } from './support/visitor.ts'
import { wire } from './support/wire.ts'

const formType = 'application/x-www-form-urlencoded'

for (const engine of engines) {
  suite(`OpenID Connect on ${engine}`, () => {
    let service: Service
    let client: TestClient
    before(async () => {
      service = await startService(engine)
      client = await newClient(service)
    })
    after(() => service.stop())

    const signedIn = async () => {
      const person = await service.signIn(freshAddress(), freshNetwork())
      return { ...person, cookie: cookieFor(person) }
    }
    const get = (query: string) => wire(service.url, `/oauth/authorize?${query}`, { headers: freshNetwork() })
    const post = (path: string, body: string, type = formType) =>
      wire(service.url, path, {
        method: 'POST',
        headers: {
          ...freshNetwork(),
          'content-type': type,
          origin: 'https://client.example',
          'sec-fetch-site': 'cross-site',
        },
        body,
      })
    const locationOf = ({ headers }: Reply) => headers.get('location')
    const policyOf = ({ headers }: Reply) =>
      /form-action ([^;]*);/.exec(headers.get('content-security-policy')!)![1]

    describe('A posted request', () => {
      test('leads to the portal’s page with the same parameters', async () => {
        const query = requestOf(client.id, { state: 'ü &=', login_hint: 'ada@school.example' })
        const reply = await post('/oauth/authorize', query)
        assert.deepEqual([reply.status, locationOf(reply)], [303, `/oauth/authorize?${query}`])
        assert.equal(reply.headers.get('cache-control'), 'no-store')
        const faulty = await post('/oauth/authorize', requestOf(client.id, { response_type: 'token' }))
        assert.equal(answerIn(locationOf(faulty)!).error, 'unsupported_response_type')
      })

      test('of an unknown client, or to an unregistered address, is a 400 page', async () => {
        for (const change of [{ client_id: 'unknown' }, { redirect_uri: 'https://evil.example/' }]) {
          const reply = await post('/oauth/authorize', requestOf(client.id, change))
          assert.deepEqual([reply.status, locationOf(reply)], [400, null])
          assert.match(reply.text, /You cannot sign in this way/)
        }
      })

      test('with a parameter twice is invalid_request', async () => {
        const reply = await post('/oauth/authorize', `${requestOf(client.id)}&nonce=another`)
        assert.equal(answerIn(locationOf(reply)!).error, 'invalid_request')
      })

      test('never leaves its address, whatever it holds', async () => {
        for (const state of ['\r\nSet-Cookie: a=b', '#', '/../evil', '\ud800'])
          for (const path of ['/oauth/authorize', '/oauth/logout']) {
            const reply = await post(path, `${requestOf(client.id, { state: undefined })}&state=${state}`)
            const location = locationOf(reply)!
            const isHome = location.startsWith(`${path}?`) || location.startsWith(`${callback}?`)
            assert.ok(isHome && /^[!-~]+$/.test(location) && !location.includes('#'), location)
            assert.equal(reply.headers.get('set-cookie'), null)
          }
      })

      test('must be a form, and fit into an address', async () => {
        assert.equal((await post('/oauth/authorize', '{}', 'application/json')).status, 415)
        assert.equal((await post('/oauth/authorize', '')).status, 400)
        const long = requestOf(client.id, { login_hint: 'x'.repeat(8_000) })
        assert.equal((await post('/oauth/authorize', long)).status, 400)
        assert.deepEqual(outcome(await post('/oauth/authorize', 'x'.repeat(20_000))), [413, 'body-too-large'])
      })

      test('to sign out leads to the portal’s page, without parameters that do not fit', async () => {
        const query = new URLSearchParams({ post_logout_redirect_uri: afterLogout, state: 'a b' }).toString()
        assert.equal(locationOf(await post('/oauth/logout', query)), `/oauth/logout?${query}`)
        for (const body of ['', `state=${'x'.repeat(8_000)}`]) {
          const reply = await post('/oauth/logout', body)
          assert.equal(reply.status, 303)
          assert.match(locationOf(reply)!, /^\/oauth\/logout\??$/)
        }
      })
    })

    describe('response_mode=form_post', () => {
      const form = { response_mode: 'form_post' }

      test('has the page post the code, and nothing in the address', async () => {
        const { cookie } = await signedIn()
        const reply = await authorize(service, requestOf(client.id, form), { cookie })
        const { location, form: posted, ...rest } = reply.json
        assert.deepEqual([location, rest], [callback, {}])
        const { code, ...answer } = posted
        assert.match(code, /^[\w-]{43}$/)
        assert.deepEqual(answer, { state: 'a state', iss: originOf(service) })
      })

      test('has it post errors, too', async () => {
        const faults: [Parameters, string][] = [
          [{ prompt: 'none' }, 'login_required'],
          [{ response_type: 'token' }, 'unsupported_response_type'],
          [{ scope: 'openid roster.read' }, 'invalid_scope'],
        ]
        for (const [changes, error] of faults) {
          const query = requestOf(client.id, { ...form, ...changes })
          // Only the page can post.
          assert.equal((await get(query)).status, 200)
          const { location, form: posted } = (await authorize(service, query)).json
          const { error_description, ...answer } = posted
          assert.ok(error_description)
          assert.deepEqual(
            [location, answer],
            [callback, { error, state: 'a state', iss: originOf(service) }],
          )
        }
      })

      test('opens the page’s policy for forms to other hosts, which no other request does', async () => {
        assert.equal(policyOf(await get(requestOf(client.id))), "'self'")
        assert.equal(policyOf(await get(requestOf(client.id, form))), "'self' https:")
        const fault = { ...form, response_type: 'token' }
        assert.equal(policyOf(await get(requestOf(client.id, fault))), "'self' https:")
        const local = 'http://127.0.0.1/cb'
        const native = await newClient(service, { kind: 'native', redirectUris: [local] })
        const query = requestOf(native.id, { ...form, redirect_uri: local })
        assert.equal(policyOf(await get(query)), "'self' https: http:")
      })

      test('is for web addresses: an app’s own scheme takes no form', async () => {
        const uri = 'com.example.app:/cb'
        const app = await newClient(service, { kind: 'native', redirectUris: [uri] })
        const reply = await get(requestOf(app.id, { ...form, redirect_uri: uri }))
        assert.equal(answerIn(locationOf(reply)!).error, 'invalid_request')
      })

      test('is offered, and no other mode is', async () => {
        const { json } = await service.request('/.well-known/openid-configuration')
        assert.deepEqual(json.response_modes_supported, ['query', 'form_post'])
        for (const response_mode of ['fragment', 'web_message', 'form_post.jwt'])
          assert.equal(
            answerIn(locationOf(await get(requestOf(client.id, { response_mode })))!).error,
            'invalid_request',
          )
        const twice = await get(`${requestOf(client.id, form)}&response_mode=form_post`)
        assert.equal(answerIn(locationOf(twice)!).error, 'invalid_request')
      })
    })

    describe('prompt=select_account', () => {
      const query = () => requestOf(client.id, { prompt: 'select_account', nonce: freshAddress() })

      test('shows who is signed in, until they confirm', async () => {
        const { cookie } = await signedIn()
        service.clock.advance(second)
        const asking = query()
        assert.equal((await authorize(service, asking, { cookie })).json.need, 'confirm')
        assert.equal((await authorize(service, asking, { cookie })).json.need, 'confirm')
        assert.ok(
          answerIn((await authorize(service, asking, { cookie, confirmed: true })).json.location).code,
        )
        assert.equal((await authorize(service, asking, { cookie })).json.need, 'confirm')
      })

      test('asks nobody who has just signed in for it', async () => {
        const asking = query()
        assert.equal((await authorize(service, asking)).json.need, 'sign-in')
        service.clock.advance(second)
        const { cookie } = await signedIn()
        assert.ok(answerIn((await authorize(service, asking, { cookie })).json.location).code)
      })

      test('goes with login and consent, but not with none', async () => {
        for (const [prompt, error] of [
          ['select_account login', undefined],
          ['consent select_account', undefined],
          ['none select_account', 'invalid_request'],
        ] as const) {
          const location = locationOf(await get(requestOf(client.id, { prompt })))
          assert.equal(location === null ? undefined : answerIn(location).error, error)
        }
        const { json } = await service.request('/.well-known/openid-configuration')
        assert.deepEqual(json.prompt_values_supported, ['none', 'login', 'consent', 'select_account'])
      })
    })

    describe('id_token_hint', () => {
      const hintOf = async (who: Awaited<ReturnType<typeof signedIn>>, at = client) =>
        (await signInAt(service, who, at, { scope: 'openid' })).idToken
      const ask = (cookie: string | undefined, id_token_hint: string, changes: Parameters = {}) =>
        authorize(service, requestOf(client.id, { id_token_hint, ...changes }), {
          ...(cookie !== undefined && { cookie }),
        })

      test('of the person who is signed in: a code, also without a word and long after it expired', async () => {
        const one = await signedIn()
        const hint = await hintOf(one)
        assert.ok(answerIn((await ask(one.cookie, hint)).json.location).code)
        service.clock.advance(3600 * second)
        assert.ok(answerIn((await ask(one.cookie, hint, { prompt: 'none' })).json.location).code)
      })

      test('of somebody else: login_required, or a page to change the account, and never a code', async () => {
        const [one, other] = [await signedIn(), await signedIn()]
        const hint = await hintOf(other)
        const silent = answerIn((await ask(one.cookie, hint, { prompt: 'none' })).json.location)
        assert.deepEqual([silent.error, silent.code], ['login_required', undefined])
        const query = requestOf(client.id, { id_token_hint: hint })
        for (const confirmed of [false, true]) {
          const { json } = await authorize(service, query, { cookie: one.cookie, confirmed })
          assert.deepEqual([json.need, json.location], ['other-account', undefined])
        }
        assert.ok(answerIn((await authorize(service, query, { cookie: other.cookie })).json.location).code)
      })

      test('of a client that knows people by other names', async () => {
        const pairwise = await newClient(service, { subjectSalt: 'salt' })
        const [one, other] = [await signedIn(), await signedIn()]
        const hint = await hintOf(one, pairwise)
        const asking = requestOf(pairwise.id, { id_token_hint: hint, prompt: 'none' })
        const codeOf = async (cookie: string) =>
          answerIn((await authorize(service, asking, { cookie })).json.location).code
        assert.ok(await codeOf(one.cookie))
        assert.equal(await codeOf(other.cookie), undefined)
      })

      test('with nobody signed in: they sign in', async () => {
        const hint = await hintOf(await signedIn())
        assert.equal((await ask(undefined, hint)).json.need, 'sign-in')
        const silent = await ask(undefined, hint, { prompt: 'none' })
        assert.equal(answerIn(silent.json.location).error, 'login_required')
      })

      test('that is no ID token of this client: invalid_request', async () => {
        const one = await signedIn()
        const of = { aud: client.id, sub: one.userId, sid: one.sessionId }
        const others = {
          'of another client': await hintOf(one, await newClient(service)),
          'an access token': one.access,
          'a logout token': await idToken(service, of, 'logout+jwt'),
          'signed by somebody else': signedBy(
            newSigner().key,
            { alg: 'ES256', typ: 'JWT', kid: 'unknown' },
            { ...of, iss: originOf(service), iat: 1, exp: 2 },
          ),
          'not signed': `${await hintOf(one).then((token) => token.slice(0, token.lastIndexOf('.')))}.`,
          nonsense: 'x',
        }
        for (const [name, hint] of Object.entries(others))
          for (const changes of [{}, { prompt: 'none' }]) {
            const { error, code } = answerIn((await ask(one.cookie, hint, changes)).json.location)
            assert.deepEqual([error, code], ['invalid_request', undefined], name)
          }
      })
    })

    describe('Userinfo', () => {
      const ask = (form: string | null, token?: string) =>
        wire(service.url, '/oauth/userinfo', {
          method: 'POST',
          headers: {
            ...freshNetwork(),
            ...(form !== null && { 'content-type': formType }),
            ...(token !== undefined && { authorization: `Bearer ${token}` }),
          },
          ...(form !== null && { body: form }),
        })
      const refused = ({ status, json, headers }: Reply) => {
        assert.equal(headers.get('www-authenticate'), `Bearer error="${json.error}"`)
        assert.match(json.error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
        return [status, json.code, json.error]
      }

      test('takes the token in the header, with or without a form, or in the form', async () => {
        const one = await signedIn()
        const { access } = await signInAt(service, one, client, { scope: 'openid' })
        for (const reply of [
          await ask(null, access),
          await ask('', access),
          await ask('unknown=x', access),
          await ask(`access_token=${access}`),
        ])
          assert.deepEqual([reply.status, reply.json], [200, { sub: one.userId }])
      })

      test('refuses as RFC 6750 says, in whatever way the token comes', async () => {
        const one = await signedIn()
        const { access, refresh, sessionId } = await signInAt(service, one, client, { scope: 'openid' })
        const { access: narrow } = await signInAt(service, one, client, { scope: 'email' })
        const form = `access_token=${access}`
        assert.deepEqual(refused(await ask(form, access)), [400, 'invalid-request', 'invalid_request'])
        assert.deepEqual(refused(await ask(`${form}&${form}`)), [400, 'invalid-request', 'invalid_request'])
        await service.app.parts.sessions.end({ id: one.userId, session_id: sessionId }, 'revoked', bySystem)
        for (const [token, ...expected] of [
          [refresh, 401, 'invalid-token', 'invalid_token'],
          [access, 401, 'session-ended', 'invalid_token'],
          [narrow, 403, 'forbidden', 'insufficient_scope'],
          [one.access, 403, 'forbidden', 'insufficient_scope'],
        ] as const) {
          const got = await wire(service.url, '/oauth/userinfo', {
            headers: { ...freshNetwork(), authorization: `Bearer ${token}` },
          })
          for (const reply of [got, await ask(`access_token=${token}`), await ask('', token)])
            assert.deepEqual(refused(reply), expected)
        }
      })

      test('asks for a token, and names no error, if there is none', async () => {
        const { access } = await signInAt(service, await signedIn(), client, { scope: 'openid' })
        const json = await wire(service.url, '/oauth/userinfo', {
          method: 'POST',
          headers: { ...freshNetwork(), 'content-type': 'application/json' },
          body: JSON.stringify({ access_token: access }),
        })
        assert.equal(json.status, 415)
        const inQuery = await wire(service.url, `/oauth/userinfo?access_token=${access}`, {
          headers: freshNetwork(),
        })
        for (const reply of [inQuery, await ask(''), await ask(null), await ask('access_token=')]) {
          assert.deepEqual(outcome(reply), [401, 'unauthenticated'])
          assert.deepEqual([reply.headers.get('www-authenticate'), reply.json.error], ['Bearer', undefined])
        }
      })

      test('counts whoever guesses in a form', async () => {
        const network = freshNetwork()
        const replies = [
          await wire(service.url, '/oauth/userinfo', {
            method: 'POST',
            headers: { ...network, 'content-type': formType },
            body: 'access_token=x',
          }),
          await wire(service.url, '/oauth/userinfo', {
            method: 'POST',
            headers: { ...network, 'content-type': formType },
            body: 'access_token=x&access_token=x',
          }),
        ]
        const left = replies.map(({ headers }) => Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]))
        assert.equal(left[0]! - left[1]!, 1)
      })
    })

    test('The metadata names every endpoint and what it takes, and the keys are of both kinds', async () => {
      await service.app.parts.keys.rotateIfDue()
      const { json } = await service.request('/.well-known/openid-configuration')
      const issuer = originOf(service)
      assert.equal(json.issuer, issuer)
      for (const name of ['authorization', 'token', 'userinfo', 'end_session'])
        assert.ok(json[`${name}_endpoint`].startsWith(`${issuer}/oauth/`), name)
      const { scopes_supported, response_types_supported, subject_types_supported } = json
      assert.ok(scopes_supported.includes('openid'))
      assert.deepEqual(response_types_supported, ['code'])
      assert.deepEqual(subject_types_supported, ['public', 'pairwise'])
      assert.equal(json.claims_parameter_supported, false)
      assert.ok(['sub', 'email', 'name'].every((claim) => json.claims_supported.includes(claim)))
      assert.deepEqual(json.id_token_signing_alg_values_supported, ['ES256', 'RS256'])
      assert.equal(json.jwks_uri, `${issuer}/.well-known/jwks.json`)
      const { keys } = (await service.request('/.well-known/jwks.json')).json
      assert.deepEqual(
        keys.map(({ kty, alg, use }: Record<string, string>) => [kty, alg, use]),
        [
          ['EC', 'ES256', 'sig'],
          ['RSA', 'RS256', 'sig'],
        ],
      )
    })

    describe('Some parameters', () => {
      const parameters: [name: string, changes: Parameters][] = [
        ['display=page', { display: 'page' }],
        ['display=popup', { display: 'popup' }],
        ['claims_locales', { claims_locales: 'se' }],
        ['claims', { claims: '{"userinfo":{"name":{"essential":true}}}' }],
        ['an unknown one', { extra: 'foobar' }],
        ['another order of scopes', { scope: 'profile openid' }],
      ]
      for (const [name, changes] of parameters)
        test(`change nothing: ${name}`, async () => {
          const { cookie } = await signedIn()
          const query = requestOf(client.id, changes)
          assert.equal((await get(query)).status, 200)
          assert.ok(answerIn((await authorize(service, query, { cookie })).json.location).code)
        })
    })

    const state = 'a state'
    const returning = { post_logout_redirect_uri: afterLogout }
    const leaving: [name: string, keep: readonly string[], more: Parameters, expected: unknown][] = [
      ['a state', ['hint'], returning, { location: afterLogout }],
      ['an address', ['hint'], {}, { location: null }],
      ['an address, with a state alone', ['hint'], { state }, { location: null }],
      ['an ID token', [], { ...returning, state }, { need: 'confirm', client: null }],
      ['parameters', [], {}, { need: 'confirm', client: null }],
    ]
    for (const [name, keep, more, expected] of leaving)
      test(`Logout without ${name}`, async () => {
        const one = await signedIn()
        const { idToken: id_token_hint } = await signInAt(service, one, client, { scope: 'openid' })
        const given = Object.entries({ ...more, ...(keep.includes('hint') && { id_token_hint }) })
        const query = new URLSearchParams(given as [string, string][]).toString()
        const { json } = await portalCall(service, '/logout', { cookie: one.cookie, body: { query } })
        assert.deepEqual(json, expected)
      })

    describe('A scope', () => {
      const granted = async (scope: string) => {
        const { cookie } = await signedIn()
        const asked = requestOf(client.id, {
          scope,
          code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        })
        const { code = '' } = answerIn((await authorize(service, asked, { cookie })).json.location)
        const form = {
          grant_type: 'authorization_code',
          code,
          redirect_uri: callback,
          code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
        }
        return (await callAs(service, client, '/oauth/token', form)).json
      }

      test('that Chiron does not know is ignored, and the reply says what was granted', async () => {
        const { scope, refresh_token } = await granted('openid groups email address phone')
        assert.equal(scope, 'openid email')
        const form = { grant_type: 'refresh_token', refresh_token, scope: 'openid groups' }
        const refreshed = await callAs(service, client, '/oauth/token', form)
        assert.deepEqual([refreshed.status, refreshed.json.scope], [200, 'openid'])
      })

      test('beyond the client’s own is refused by its name', async () => {
        for (const [scope, name] of [
          ['openid groups classes account', 'classes'],
          ['openid roster.read', 'roster.read'],
        ] as const) {
          const answer = answerIn(locationOf(await get(requestOf(client.id, { scope })))!)
          assert.equal(answer.error, 'invalid_scope')
          assert.equal(answer.error_description, `The client may not ask for the scope ${name}.`)
        }
        const { refresh_token } = await granted('openid')
        const form = { grant_type: 'refresh_token', refresh_token, scope: 'openid profile' }
        const { json } = await callAs(service, client, '/oauth/token', form)
        assert.deepEqual(
          [json.error, json.error_description],
          ['invalid_scope', 'The scope profile was not granted.'],
        )
      })

      test('of a service is read alike', async () => {
        const robot = await newClient(service, { kind: 'service', redirectUris: [], scopes: 'roster.read' })
        const ask = (scope: string) =>
          callAs(service, robot, '/oauth/token', { grant_type: 'client_credentials', scope })
        assert.equal((await ask('roster.read api')).json.scope, 'roster.read')
        assert.deepEqual(outcome(await ask('events.read')), [400, undefined])
        assert.match((await ask('events.read')).json.error_description, /events\.read/)
        assert.equal((await ask('api')).json.error, 'invalid_scope')
      })
    })
  })
}
