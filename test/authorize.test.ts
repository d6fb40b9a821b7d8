/** GET /oauth/authorize and POST /portal/authorize: what is refused, what is asked, and the code. */
import assert from 'node:assert/strict'
import { after, before, describe, suite, test } from 'node:test'
import fc from 'fast-check'
import { digestOf } from '../src/identity/clients/client.ts'
import { Authorization } from '../src/identity/oauth/authorization.ts'
import type { Roles } from '../src/identity/people/people.ts'
import { isTake, type Step } from '../src/platform/db/decision.ts'
import { byOperator, bySystem } from '../src/platform/lib/by.ts'
import { hour, minute, second } from '../src/platform/lib/clock.ts'
import { callAs, signInAt } from './support/applications.ts'
import { anyCharacter } from './support/arbitraries.ts'
import {
  answerIn,
  authorize,
  callback,
  challenge,
  cookieFor,
  newClient,
  type Parameters,
  requestOf,
} from './support/authorize.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork, repeat } from './support/fresh.ts'
import {
  addPasskey,
  newAuthenticator,
  ok,
  passkeySignIn,
  startRequiringPasskeys,
  stepUp,
} from './support/passkeys.ts'
import { portalCall } from './support/portal.ts'
import { bulk, drop, edited, newSchool } from './support/roster-school.ts'
import { rosterOf, signInStudent } from './support/roster-world.ts'
import { outcome, type Reply, type Service, startService } from './support/service.ts'
import { newStaff, signInStaff } from './support/staff.ts'
import { originOf } from './support/visitor.ts'
import { wire } from './support/wire.ts'

const page = (service: Service, query: string, headers: Record<string, string> = {}) =>
  wire(service.url, `/oauth/authorize?${query}`, { headers: { ...freshNetwork(), ...headers } })

const codeIn = ({ json }: Reply) => answerIn(json.location).code!

for (const engine of engines) {
  suite(`Authorize on ${engine}`, () => {
    let service: Service
    let clientId: string
    before(async () => {
      service = await startService(engine)
      clientId = (await newClient(service)).id
    })
    after(() => service.stop())

    const signedIn = async () => {
      const person = await service.signIn(freshAddress(), freshNetwork())
      return { ...person, cookie: cookieFor(person) }
    }
    const stepUpByCode = async (access: string, email: string) => {
      const sent = await service.request('/session/step-up/send-otp', { body: {}, token: access })
      // Another mail, about a passkey, may come in between.
      const { code } = await service.mail.mailWith(email, sent.json.reference)
      const body = { otp_code: code, sessionId: sent.json.sessionId }
      assert.equal(
        (await service.request('/session/step-up/validate-otp', { body, token: access })).status,
        200,
      )
    }
    const codeRow = async (code: string) =>
      (
        await service.rows<Record<string, unknown>>('select * from authorization_code where digest = $1', [
          digestOf(code),
        ])
      )[0]

    describe('The page', () => {
      test('is the portal’s document, which nobody keeps or lists', async () => {
        const reply = await page(service, requestOf(clientId))
        assert.equal(reply.status, 200)
        assert.equal(reply.headers.get('content-type'), 'text/html; charset=utf-8')
        assert.equal(reply.headers.get('cache-control'), 'no-store')
        assert.equal(reply.headers.get('x-robots-tag'), 'noindex')
        assert.equal(reply.headers.get('referrer-policy'), 'no-referrer')
        assert.equal(reply.headers.get('x-frame-options'), 'DENY')
        assert.match(reply.headers.get('content-security-policy')!, /form-action 'self';/)
        assert.match(reply.text, /id="portal"/)
        const head = await wire(service.url, `/oauth/authorize?${requestOf(clientId)}`, { method: 'HEAD' })
        assert.deepEqual([head.status, head.text], [200, ''])
      })

      const refused: [name: string, changes: Parameters | ((query: string) => string)][] = [
        ['without a client', { client_id: undefined }],
        ['of an unknown client', { client_id: 'x'.repeat(22) }],
        ['of a client with a strange id', { client_id: '\0' }],
        ['without a redirect URI', { redirect_uri: undefined }],
        ['with an empty redirect URI', { redirect_uri: '' }],
        ['with the client twice', (query) => `${query}&client_id=x`],
        [
          'with the same redirect URI twice',
          (query) => `${query}&redirect_uri=${encodeURIComponent(callback)}`,
        ],
        ['that is too long', { login_hint: 'x'.repeat(8_000) }],
      ]
      for (const [name, change] of refused)
        test(`is a 400 page for a request ${name}, never a redirect`, async () => {
          const query =
            typeof change === 'function' ? change(requestOf(clientId)) : requestOf(clientId, change)
          const reply = await page(service, query)
          assert.equal(reply.status, 400)
          assert.equal(reply.headers.get('location'), null)
          assert.equal(reply.headers.get('content-type'), 'text/html; charset=utf-8')
          assert.equal(reply.headers.get('cache-control'), 'no-store')
          assert.match(reply.text, /You cannot sign in this way/)
          assert.deepEqual(outcome(await authorize(service, query)), [400, 'invalid-request'])
        })

      test('is a 400 page for a disabled client, and for a service, which has no people', async () => {
        const disabled = (await newClient(service, { disabled: true })).id
        const service_ = (await newClient(service, { kind: 'service', redirectUris: [] })).id
        for (const id of [disabled, service_]) assert.equal((await page(service, requestOf(id))).status, 400)
      })

      test('says so in the language of ui_locales, or else of the browser', async () => {
        const bad = { redirect_uri: 'https://evil.example/' }
        const french = await page(service, requestOf(clientId, { ...bad, ui_locales: 'it fr-CA en' }), {
          'accept-language': 'es',
        })
        assert.match(french.text, /lang="fr"/)
        const spanish = await page(service, requestOf(clientId, bad), { 'accept-language': 'es' })
        assert.match(spanish.text, /lang="es"/)
        assert.doesNotMatch(spanish.text, /evil/)
      })

      const elsewhere = [
        'https://client.example/callback/',
        'https://client.example/callback?x=1',
        'https://client.example/callback#',
        'https://client.example/Callback',
        'https://CLIENT.example/callback',
        'https://client.example:443/callback',
        'http://client.example/callback',
        'https://client.example/callback/../evil',
        'https://client.example/%63allback',
        'https://client.example@evil.example/callback',
        'https://client.example.evil.example/callback',
        'https://evil.example/https://client.example/callback',
        'https://evil.example\\@client.example/callback',
        '//client.example/callback',
        ' https://client.example/callback',
        'https://client.example/callback\n',
        'https://client.example/callback\u0000',
        'javascript:alert(1)',
        'data:text/html,x',
      ]
      for (const uri of elsewhere)
        test(`never sends anybody to ${JSON.stringify(uri)}`, async () => {
          for (const faulty of [{}, { response_type: 'token' }, { prompt: 'none' }]) {
            const query = requestOf(clientId, { ...faulty, redirect_uri: uri })
            const reply = await page(service, query)
            assert.deepEqual([reply.status, reply.headers.get('location')], [400, null])
            const { cookie } = { cookie: cookieFor({ refresh: 'none' }) }
            assert.equal((await authorize(service, query, { cookie, declined: true })).status, 400)
          }
        })
    })

    describe('A redirect URI of an app on a device', () => {
      const registered = [
        'http://127.0.0.1/cb',
        'http://[::1]:8000/cb',
        'http://localhost/',
        'com.example.app:/cb',
      ]
      let nativeId: string
      before(async () => {
        nativeId = (await newClient(service, { kind: 'native', redirectUris: registered })).id
      })
      const right = [
        'http://127.0.0.1/cb',
        'http://127.0.0.1:51004/cb',
        'http://[::1]:9/cb',
        'http://localhost:51004/',
        'com.example.app:/cb',
      ]
      for (const uri of right)
        test(`may be ${uri}`, async () => {
          assert.equal((await page(service, requestOf(nativeId, { redirect_uri: uri }))).status, 200)
          const declined = await authorize(service, requestOf(nativeId, { redirect_uri: uri }), {
            declined: true,
          })
          assert.ok(declined.json.location.startsWith(`${uri}?error=access_denied&`), declined.json.location)
        })
      const wrong = [
        'http://127.0.0.1:51004/other',
        'http://127.0.0.1:51004/cb/',
        'http://127.0.0.1:51004@evil.example/cb',
        'http://127.0.0.1:510040/cb',
        'http://127.0.0.1:/cb',
        'http://127.0.0.1.evil.example:80/cb',
        'http://127.0.0.2:80/cb',
        'https://127.0.0.1:51004/cb',
        'http://localhost:51004',
        'com.example.app:8000/cb',
        'com.example.app:/cb/x',
      ]
      for (const uri of wrong)
        test(`cannot be ${uri}`, async () => {
          assert.equal((await page(service, requestOf(nativeId, { redirect_uri: uri }))).status, 400)
        })
      test('of another kind has its own port only', async () => {
        const webId = (await newClient(service, { redirectUris: ['http://localhost:3000/cb'] })).id
        const status = async (redirect_uri: string) =>
          (await page(service, requestOf(webId, { redirect_uri }))).status
        assert.deepEqual(
          [await status('http://localhost:3000/cb'), await status('http://localhost:3001/cb')],
          [200, 400],
        )
      })
    })

    describe('A fault goes to the client', () => {
      const faults: [name: string, changes: Parameters, error: string][] = [
        ['no response_type', { response_type: undefined }, 'invalid_request'],
        ['the implicit flow', { response_type: 'token' }, 'unsupported_response_type'],
        ['the hybrid flow', { response_type: 'code id_token' }, 'unsupported_response_type'],
        ['another response_mode', { response_mode: 'fragment' }, 'invalid_request'],
        ['no challenge', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
        ['a method without a challenge', { code_challenge: undefined }, 'invalid_request'],
        ['a plain challenge', { code_challenge_method: 'plain' }, 'invalid_request'],
        [
          'a challenge without a method, which would be plain',
          { code_challenge_method: '' },
          'invalid_request',
        ],
        ['a challenge that is too short', { code_challenge: challenge.slice(1) }, 'invalid_request'],
        ['a challenge of other characters', { code_challenge: `${challenge.slice(1)}=` }, 'invalid_request'],
        ['no scope', { scope: undefined }, 'invalid_scope'],
        ['spaces as scope', { scope: '  ' }, 'invalid_scope'],
        ['a scope that the client does not have', { scope: 'openid classes' }, 'invalid_scope'],
        ['a scope of services', { scope: 'openid roster.read' }, 'invalid_scope'],
        ['unknown scopes alone', { scope: 'groups admin' }, 'invalid_scope'],
        ['an unknown prompt', { prompt: 'create' }, 'invalid_request'],
        ['prompt none with another', { prompt: 'none login' }, 'invalid_request'],
        ['a negative max_age', { max_age: '-1' }, 'invalid_request'],
        ['a max_age that is no number', { max_age: '1e3' }, 'invalid_request'],
        ['a request object', { request: 'e30.e30.' }, 'request_not_supported'],
        ['a request by reference', { request_uri: 'https://evil.example/' }, 'request_uri_not_supported'],
        ['a registration', { registration: '{}' }, 'registration_not_supported'],
        ['a nonce that is too long', { nonce: 'x'.repeat(501) }, 'invalid_request'],
        ['a nonce with a control character', { nonce: 'x\0' }, 'invalid_request'],
      ]
      for (const [name, changes, error] of faults)
        test(`with ${name}: ${error}`, async () => {
          const query = requestOf(clientId, changes)
          const reply = await page(service, query)
          assert.equal(reply.status, 303)
          assert.equal(reply.headers.get('cache-control'), 'no-store')
          const location = reply.headers.get('location')!
          assert.ok(location.startsWith(`${callback}?`))
          const { error_description, ...answer } = answerIn(location)
          assert.deepEqual(answer, { error, state: 'a state', iss: originOf(service) })
          // RFC 6749 §4.1.2.1: neither quotes nor backslashes, and ASCII alone.
          assert.match(error_description!, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
          assert.equal((await authorize(service, query)).json.location, location)
        })

      const names = ['response_type', 'scope', 'nonce', 'prompt', 'code_challenge', 'login_hint', 'anything']
      for (const name of names)
        test(`with ${name} twice: invalid_request`, async () => {
          const reply = await page(service, `${requestOf(clientId)}&${name}=x&${name}=x`)
          const { error, state } = answerIn(reply.headers.get('location')!)
          assert.deepEqual([error, state], ['invalid_request', 'a state'])
        })

      const states: [name: string, end: string][] = [
        ['twice', '&state=a&state=b'],
        ['that is too long', `&state=${'x'.repeat(2_001)}`],
        ['with a line break', '&state=a%0d%0aSet-Cookie:x'],
        ['that is not UTF-8', '&state=%ff'],
      ]
      for (const [name, end] of states)
        test(`with a state ${name}: invalid_request, without it`, async () => {
          const reply = await page(service, requestOf(clientId, { state: undefined }) + end)
          assert.equal(reply.status, 303)
          const { error, state } = answerIn(reply.headers.get('location')!)
          assert.deepEqual([error, state], ['invalid_request', undefined])
        })

      test('and keeps the query that the redirect URI has', async () => {
        const withQuery = `${callback}?tenant=a%20b`
        const id = (await newClient(service, { redirectUris: [withQuery] })).id
        const reply = await page(service, requestOf(id, { redirect_uri: withQuery, scope: 'x' }))
        assert.ok(reply.headers.get('location')!.startsWith(`${withQuery}&error=invalid_scope&`))
      })

      test('but not from a client that was registered without PKCE and sends no challenge', async () => {
        const id = (await newClient(service, { pkce: false })).id
        const without = { code_challenge: undefined, code_challenge_method: undefined }
        assert.equal((await page(service, requestOf(id, without))).status, 200)
        const { cookie } = await signedIn()
        const row = await codeRow(codeIn(await authorize(service, requestOf(id, without), { cookie })))
        assert.equal(row!.code_challenge, null)
        // One that is sent is kept, and must be right.
        const bound = await codeRow(codeIn(await authorize(service, requestOf(id), { cookie })))
        assert.equal(bound!.code_challenge, challenge)
        assert.equal((await page(service, requestOf(id, { code_challenge_method: 'plain' }))).status, 303)
      })
    })

    describe('The code', () => {
      test('is 256 random bits, bound to the request and the session, and kept only as a hash', async () => {
        const { cookie, sessionId, userId } = await signedIn()
        const reply = await authorize(service, requestOf(clientId, { scope: 'email openid openid' }), {
          cookie,
        })
        assert.equal(reply.status, 200)
        assert.equal(reply.headers.get('cache-control'), 'no-store')
        const { code, ...rest } = answerIn(reply.json.location)
        assert.match(code!, /^[A-Za-z0-9_-]{43}$/)
        assert.deepEqual(rest, { state: 'a state', iss: originOf(service) })
        const { digest: _, ...row } = (await codeRow(code!))!
        assert.deepEqual(row, {
          client_id: clientId,
          redirect_uri: callback,
          code_challenge: challenge,
          scope: 'email openid',
          nonce: 'a nonce',
          language: 'en',
          person_id: userId,
          parent_id: sessionId,
          expires_at: service.clock.now() + 60 * second,
          used_at: null,
          session_id: null,
        })
        const tables = await service.rows<Record<string, string>>('select * from authorization_code')
        assert.ok(!JSON.stringify(tables).includes(code!))
        assert.ok(!service.log.join('').includes(code!))
      })

      test('gives the client tokens of the person, with the proof of the session', async () => {
        const client = await newClient(service)
        const { cookie, userId } = await signedIn()
        const signedInAt = Math.floor(service.clock.now() / 1000)
        const code = codeIn(await authorize(service, requestOf(client.id), { cookie }))
        const code_verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
        const form = { grant_type: 'authorization_code', code, redirect_uri: callback, code_verifier }
        const { json } = await callAs(service, client, '/oauth/token', form)
        const claims = JSON.parse(Buffer.from(json.id_token.split('.')[1], 'base64url').toString())
        const { aud, sub, nonce, auth_time, acr } = claims
        assert.deepEqual(
          [aud, sub, nonce, auth_time, acr],
          [client.id, userId, 'a nonce', signedInAt, 'urn:chiron:code'],
        )
      })

      test('is another one each time', async () => {
        const { cookie } = await signedIn()
        const codes = [1, 2, 3].map(async () =>
          codeIn(await authorize(service, requestOf(clientId), { cookie })),
        )
        assert.equal(new Set(await Promise.all(codes)).size, 3)
      })

      test('does not use the portal’s cookie up', async () => {
        const { cookie } = await signedIn()
        for (let i = 0; i < 3; i++)
          assert.ok(codeIn(await authorize(service, requestOf(clientId), { cookie })))
        assert.equal((await portalCall(service, '/refresh', { cookie })).status, 200)
      })

      test('has no offline_access for staff', async () => {
        const query = requestOf(clientId, { scope: 'openid offline_access' })
        const staff = await newStaff(service, 'support')
        const row = await codeRow(codeIn(await authorize(service, query, { cookie: cookieFor(staff) })))
        assert.equal(row!.scope, 'openid')
        const { cookie } = await signedIn()
        const other = await codeRow(codeIn(await authorize(service, query, { cookie })))
        assert.equal(other!.scope, 'openid offline_access')
      })

      test('is given 300 times at once to one session, and then less often', async () => {
        const { cookie } = await signedIn()
        const replies = await repeat(301, () => authorize(service, requestOf(clientId), { cookie }))
        assert.equal(replies.filter(({ status }) => status === 429).length, 1)
      })

      test('is asked for without being remembered when too many strangers ask for a new proof', async () => {
        const { db, sessions, passkeys } = service.app.parts
        const authorization = new Authorization({
          ...{ db, sessions, passkeys, clock: service.clock, issuer: originOf(service) },
          roles: {} as Roles,
          limits: { countSession() {}, admitStranger: () => false },
        })
        const query = requestOf(clientId, { prompt: 'login', state: 'stranger' })
        const answer = { query, confirmed: false, declined: false, language: 'en' }
        const outcome = await authorization.answer(answer, undefined, bySystem)
        assert.equal('need' in outcome && outcome.need, 'sign-in')
        const kept = await service.rows('select 1 from authorization_ask where digest = $1', [
          digestOf(query),
        ])
        assert.equal(kept.length, 0)
      })

      test('goes an hour after it has expired, and so does a request for a new proof', async () => {
        const { cookie } = await signedIn()
        service.clock.advance(second)
        const code = codeIn(await authorize(service, requestOf(clientId), { cookie }))
        const query = requestOf(clientId, { prompt: 'login', state: 'swept' })
        await authorize(service, query, { cookie })
        const left = async () => [
          (await codeRow(code)) !== undefined,
          (await service.rows('select 1 from authorization_ask where digest = $1', [digestOf(query)])).length,
        ]
        service.clock.advance(hour)
        await service.app.parts.sweeper.sweep()
        assert.deepEqual(await left(), [true, 1])
        service.clock.advance(2 * minute)
        await service.app.parts.sweeper.sweep()
        assert.deepEqual(await left(), [false, 0])
      })
    })

    describe('sign-in is needed', () => {
      const needsSignIn = async (cookie?: string, query = requestOf(clientId)) => {
        const reply = await authorize(service, query, { ...(cookie && { cookie }) })
        assert.equal(reply.status, 200)
        assert.deepEqual(reply.json, {
          need: 'sign-in',
          client: {
            clientId,
            name: 'Moodle',
            kind: 'web',
            roles: ['veterinarian', 'student', 'staff'],
            unverifiedVeterinarians: true,
          },
          scopes: ['openid', 'profile'],
        })
        const silent = await authorize(service, `${query}&prompt=none`, { ...(cookie && { cookie }) })
        assert.equal(answerIn(silent.json.location).error, 'login_required')
      }

      test('without a cookie, and with one that means nothing', async () => {
        await needsSignIn()
        await needsSignIn('chiron_refresh=nonsense')
      })

      test('once the session has ended', async () => {
        const { cookie, access } = await signedIn()
        assert.equal((await service.request('/session', { method: 'DELETE', token: access })).status, 204)
        await needsSignIn(cookie)
      })

      test('by somebody who is suspended', async () => {
        const { cookie, userId } = await signedIn()
        await service.app.parts.support.suspend(userId, null, byOperator)
        await needsSignIn(cookie)
      })

      test('by a student who has left the roster', async () => {
        const school = newSchool(3)
        const roster = rosterOf(service)
        await roster.import(bulk(school))
        const student = await signInStudent(service, 'stu-1@school.example')
        const cookie = cookieFor(student)
        assert.ok(codeIn(await authorize(service, requestOf(clientId), { cookie })))
        service.clock.advance(second)
        await roster.import(bulk(edited(school, (next) => drop(next, 'stu-1'))))
        await needsSignIn(cookie)
      })

      test('if the cookie has a refresh token of a client, or an older one of the portal', async () => {
        const person = await signedIn()
        const { cookie } = person
        await needsSignIn(cookieFor(await signInAt(service, person, await newClient(service))))
        const again = await portalCall(service, '/refresh', { cookie })
        const second = again.headers.getSetCookie()[0]!.split(';')[0]!
        await portalCall(service, '/refresh', { cookie: second })
        await needsSignIn(cookie)
      })

      test('and two cookies are refused, because one was planted', async () => {
        const [one, two] = [await signedIn(), await signedIn()]
        const reply = await authorize(service, requestOf(clientId), {
          cookie: `${one.cookie}; ${two.cookie}`,
        })
        assert.deepEqual(outcome(reply), [401, 'unauthenticated'])
      })
    })

    describe('step-up is needed', () => {
      const needOf = async (query: string, cookie: string) => {
        const { json } = await authorize(service, query, { cookie })
        return json.need ?? (answerIn(json.location).code === undefined ? answerIn(json.location) : 'nothing')
      }
      const person = async () => {
        const email = freshAddress()
        const one = await service.signIn(email, freshNetwork())
        service.clock.advance(second)
        return { ...one, email, cookie: cookieFor(one) }
      }

      for (const [name, parameter] of [
        ['prompt=login', { prompt: 'login' }],
        ['max_age=0', { max_age: '0' }],
      ] as const) {
        test(`for ${name}, until the proof is newer than the request`, async () => {
          const { cookie, access, email } = await person()
          const query = requestOf(clientId, { ...parameter, state: name })
          const first = await authorize(service, query, { cookie })
          assert.deepEqual([first.json.need, first.json.methods], ['step-up', ['code']])
          service.clock.advance(minute)
          assert.equal(await needOf(query, cookie), 'step-up')
          await stepUpByCode(access, email)
          service.clock.advance(minute)
          assert.equal(await needOf(query, cookie), 'nothing')
          // The same request, sent later, asks again.
          assert.equal(await needOf(query, cookie), 'step-up')
        })

        test(`for ${name}, and the sign-in that follows is the proof`, async () => {
          const query = requestOf(clientId, { ...parameter, state: `${name} out` })
          assert.equal((await authorize(service, query)).json.need, 'sign-in')
          service.clock.advance(second)
          const { cookie } = await person()
          service.clock.advance(minute)
          assert.equal(await needOf(query, cookie), 'nothing')
        })
      }

      test('for a proof older than max_age, and not for a younger one', async () => {
        const { cookie, access, email } = await person()
        const query = requestOf(clientId, { max_age: '600' })
        service.clock.advance(10 * minute - second)
        assert.equal(await needOf(query, cookie), 'nothing')
        service.clock.advance(second)
        assert.equal(await needOf(query, cookie), 'step-up')
        await stepUpByCode(access, email)
        assert.equal(await needOf(query, cookie), 'nothing')
      })

      test('for a max_age that is shorter than a step-up takes, but once', async () => {
        const { cookie, access, email } = await person()
        const query = requestOf(clientId, { max_age: '1', state: 'short' })
        service.clock.advance(minute)
        assert.equal(await needOf(query, cookie), 'step-up')
        await stepUpByCode(access, email)
        service.clock.advance(5 * second)
        assert.equal(await needOf(query, cookie), 'nothing')
      })

      test('for acr_values with a passkey, of somebody who has one and did not use it', async () => {
        const { cookie, access } = await person()
        const query = requestOf(clientId, { acr_values: 'urn:other urn:chiron:passkey' })
        assert.equal(await needOf(query, cookie), 'nothing')
        const device = newAuthenticator(service)
        ok(await addPasskey(service, access, device), 201)
        const asked = await authorize(service, query, { cookie })
        assert.deepEqual([asked.json.need, asked.json.methods], ['step-up', ['passkey', 'code']])
        // A wish of the client, so it does not stand in the way of a silent request.
        assert.equal(await needOf(`${query}&prompt=none`, cookie), 'nothing')
        service.clock.advance(second)
        ok(await stepUp(service, access, device))
        assert.equal(await needOf(query, cookie), 'nothing')
        assert.equal(await needOf(query, cookie), 'nothing')
      })

      test('once for acr_values with a passkey, if the person then proves it with a code', async () => {
        const { cookie, access, email } = await person()
        ok(await addPasskey(service, access, newAuthenticator(service)), 201)
        const query = requestOf(clientId, { acr_values: 'urn:chiron:passkey', state: 'by code' })
        assert.equal(await needOf(query, cookie), 'step-up')
        await stepUpByCode(access, email)
        assert.equal(await needOf(query, cookie), 'nothing')
      })

      test('but prompt=none never asks: login_required, and nothing is remembered', async () => {
        const { cookie } = await person()
        service.clock.advance(minute)
        const query = requestOf(clientId, { prompt: 'none', max_age: '1' })
        const { error_description: _, ...answer } = (await needOf(query, cookie)) as Record<string, string>
        assert.deepEqual(answer, { error: 'login_required', state: 'a state', iss: originOf(service) })
        const asked = await service.rows('select 1 from authorization_ask where digest = $1', [
          digestOf(query),
        ])
        assert.deepEqual(asked, [])
      })
    })

    test('Staff who must use a passkey are not signed in at clients before they have', async () => {
      const { service: strict, email, device, stop } = await startRequiringPasskeys(engine)
      try {
        const id = (await newClient(strict)).id
        const byCode = cookieFor(await signInStaff(strict, email))
        const asked = await authorize(strict, requestOf(id), { cookie: byCode })
        assert.deepEqual([asked.json.need, asked.json.methods], ['step-up', ['passkey']])
        const silent = await authorize(strict, requestOf(id, { prompt: 'none' }), { cookie: byCode })
        assert.equal(answerIn(silent.json.location).error, 'login_required')
        const { refresh_token: refresh } = ok(await passkeySignIn(strict, device))
        assert.ok(codeIn(await authorize(strict, requestOf(id), { cookie: cookieFor({ refresh }) })))
      } finally {
        await stop()
      }
    })

    describe('confirm is needed', () => {
      const consents = (userId: string, id: string) =>
        service.rows<{ scope: string }>('select scope from consent where person_id = $1 and client_id = $2', [
          userId,
          id,
        ])
      const given = async (userId: string) =>
        (
          await service.rows<{ type: string; data: string }>(
            "select type, data from event where person_id = $1 and type like 'consent.%' order by at, id",
            [userId],
          )
        ).map(({ type, data }) => [type, JSON.parse(data)])

      test('once for a client with consent, and again for more scopes', async () => {
        const id = (await newClient(service, { consent: 'once' })).id
        const { cookie, userId } = await signedIn()
        const few = requestOf(id, { scope: 'openid profile' })
        const first = await authorize(service, few, { cookie })
        assert.deepEqual([first.json.need, first.json.scopes], ['confirm', ['openid', 'profile']])
        assert.deepEqual(await consents(userId, id), [])
        const silent = await authorize(service, `${few}&prompt=none`, { cookie })
        assert.equal(answerIn(silent.json.location).error, 'consent_required')

        assert.ok(codeIn(await authorize(service, few, { cookie, confirmed: true })))
        assert.ok(codeIn(await authorize(service, few, { cookie })))
        assert.ok(codeIn(await authorize(service, `${few}&prompt=none`, { cookie })))
        assert.ok(codeIn(await authorize(service, requestOf(id, { scope: 'openid' }), { cookie })))

        service.clock.advance(second)
        const more = requestOf(id, { scope: 'openid email' })
        assert.equal((await authorize(service, more, { cookie })).json.need, 'confirm')
        assert.ok(codeIn(await authorize(service, more, { cookie, confirmed: true })))
        assert.ok(codeIn(await authorize(service, few, { cookie })))
        assert.deepEqual(await given(userId), [
          ['consent.given', { clientId: id, scope: 'openid profile' }],
          ['consent.given', { clientId: id, scope: 'openid profile email' }],
        ])
      })

      test('and a hundred confirmations at once are one consent and one event', async () => {
        const id = (await newClient(service, { consent: 'once' })).id
        const { cookie, userId } = await signedIn()
        const replies = await repeat(
          100,
          () => authorize(service, requestOf(id), { cookie, confirmed: true }),
          100,
        )
        assert.equal(new Set(replies.map(codeIn)).size, 100)
        assert.equal((await consents(userId, id)).length, 1)
        assert.equal((await given(userId)).length, 1)
      })

      test('each time by an app on a device', async () => {
        const id = (await newClient(service, { kind: 'native' })).id
        const { cookie, userId } = await signedIn()
        for (let i = 0; i < 2; i++) {
          assert.equal((await authorize(service, requestOf(id), { cookie })).json.need, 'confirm')
          assert.ok(codeIn(await authorize(service, requestOf(id), { cookie, confirmed: true })))
        }
        const silent = await authorize(service, requestOf(id, { prompt: 'none' }), { cookie })
        assert.equal(answerIn(silent.json.location).error, 'consent_required')
        assert.equal((await given(userId)).length, 1)
      })

      test('for prompt=consent always', async () => {
        const query = requestOf(clientId, { prompt: 'consent' })
        const { cookie } = await signedIn()
        for (let i = 0; i < 2; i++) {
          assert.equal((await authorize(service, query, { cookie })).json.need, 'confirm')
          assert.ok(codeIn(await authorize(service, query, { cookie, confirmed: true })))
        }
      })

      test('and who declines gets access_denied, signed in or not', async () => {
        const id = (await newClient(service, { consent: 'once' })).id
        const { cookie, userId } = await signedIn()
        for (const call of [
          { cookie, declined: true },
          { declined: true },
          { cookie, declined: true, confirmed: true },
        ]) {
          const { error, state, code } = answerIn(
            (await authorize(service, requestOf(id), call)).json.location,
          )
          assert.deepEqual([error, state, code], ['access_denied', 'a state', undefined])
        }
        assert.deepEqual(await consents(userId, id), [])
      })
    })

    test('Somebody of a role that the client does not serve is told so; prompt=none gets access_denied', async () => {
      const id = (await newClient(service, { roles: 'student' })).id
      const { cookie } = await signedIn()
      for (const query of [requestOf(id), requestOf(id, { prompt: 'login' })]) {
        const { json } = await authorize(service, query, { cookie, confirmed: true })
        assert.deepEqual([json.need, json.reason], ['refused', 'role'])
      }
      const silent = await authorize(service, requestOf(id, { prompt: 'none' }), { cookie, confirmed: true })
      assert.equal(answerIn(silent.json.location).error, 'access_denied')
    })

    test('login_hint is never looked up: known and unknown addresses are answered alike', async () => {
      const email = freshAddress()
      await service.signIn(email, freshNetwork())
      const replies = [email, freshAddress()].map((hint) =>
        authorize(service, requestOf(clientId, { login_hint: hint })),
      )
      const [known, unknown] = await Promise.all(replies)
      assert.deepEqual(known!.json, unknown!.json)
      assert.ok(!service.log.join('').includes(email))
    })

    test('Only the portal’s own pages may ask', async () => {
      const { cookie } = await signedIn()
      const body = { query: requestOf(clientId), confirmed: true }
      const foreign: Record<string, string>[] = [
        { origin: 'https://client.example' },
        { origin: 'null' },
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { 'sec-fetch-site': 'none' },
      ]
      for (const path of ['/authorize', '/logout'])
        for (const headers of foreign) {
          const reply = await portalCall(service, path, { cookie, body, headers })
          assert.deepEqual(outcome(reply), [403, 'forbidden'], JSON.stringify([path, headers]))
        }
      const own = { origin: originOf(service), 'sec-fetch-site': 'same-origin' }
      assert.ok(codeIn(await portalCall(service, '/authorize', { cookie, body, headers: own })))
    })

    test('A session that ends, or a client that is disabled, while a code is written gets none', async () => {
      const { db, sessions } = service.app.parts
      const { decide } = db
      const during = async (work: () => Promise<unknown>, id: string, cookie: string) => {
        let done = false
        const isOfCode = (step: Step<unknown>) =>
          !isTake(step) && step.asks.some(({ question }) => question.sql.includes('from consent'))
        db.decide = async (...steps) => {
          if (!done && steps.some(isOfCode)) {
            done = true
            await work()
          }
          return decide(...steps)
        }
        try {
          return await authorize(service, requestOf(id), { cookie })
        } finally {
          db.decide = decide
        }
      }
      const one = await signedIn()
      const ended = await during(
        () => sessions.endAll(one.userId, 'revoked', byOperator),
        clientId,
        one.cookie,
      )
      assert.equal(ended.json.need, 'sign-in')
      const two = await signedIn()
      const id = (await newClient(service)).id
      const disabled = await during(
        () => db.run('update client set disabled_at = 1 where id = $1', [id]),
        id,
        two.cookie,
      )
      assert.deepEqual(outcome(disabled), [400, 'invalid-request'])
    })

    test('Whatever the parameters are, nobody is sent elsewhere, nothing fails, and the state comes back', async () => {
      const { cookie } = await signedIn()
      const value = fc.oneof(
        fc.constantFrom('', 'code', 'S256', 'openid', 'none', 'login', '0', callback, clientId, challenge),
        fc.constantFrom('form_post', 'select_account', 'query'),
        fc.constantFrom(
          'https://evil.example/',
          `${callback}.evil.example`,
          '//evil',
          'javascript:1',
          '\r\nX: y',
        ),
        fc.string({ unit: anyCharacter, maxLength: 40 }),
      )
      const names = [
        'client_id',
        'redirect_uri',
        'response_type',
        'response_mode',
        'scope',
        'state',
        'nonce',
        'prompt',
      ]
      const name = fc.constantFrom(
        ...names,
        ...[
          'max_age',
          'code_challenge',
          'code_challenge_method',
          'ui_locales',
          'login_hint',
          'request',
          'acr_values',
          'id_token_hint',
        ],
      )
      const encoded = (text: string) => new URLSearchParams([['x', text]]).toString().slice(2)
      const changes = fc.array(fc.tuple(name, value), { maxLength: 4 })
      const isHome = (location: string) => location.startsWith(`${callback}?`)
      await fc.assert(
        fc.asyncProperty(changes, fc.boolean(), async (list, added) => {
          const replaced = requestOf(clientId, Object.fromEntries(list))
          const twice = `${requestOf(clientId)}${list.map(([key, text]) => `&${key}=${encoded(text)}`).join('')}`
          const query = added ? twice : replaced
          const reply = await page(service, query)
          assert.ok([200, 303, 400].includes(reply.status), `${reply.status} ${query}`)
          const asked = await authorize(service, query, { cookie })
          assert.ok([200, 400].includes(asked.status), `${asked.status} ${query}`)
          const states = new URLSearchParams(query).getAll('state')
          const { location: address, form } = asked.json
          for (const location of [reply.headers.get('location'), address ?? null]) {
            if (location === null) continue
            assert.ok(form ? location === callback : isHome(location), location)
            const { state, iss } = form ?? answerIn(location)
            assert.equal(iss, originOf(service))
            if (state !== undefined) assert.deepEqual(states, [state])
            const isPlain = states.length === 1 && states[0] !== '' && !/[\p{Cc}\ufffd]/u.test(states[0]!)
            if (isPlain) assert.equal(state, states[0])
          }
        }),
        { numRuns: 200 },
      )
    })
  })
}
