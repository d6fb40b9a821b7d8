/** Applications made with openid-client and oauth4webapi sign people in here; both check what they get. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, suite, test } from 'node:test'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import { openDb } from '../src/platform/db/open.ts'
import { minute } from '../src/platform/lib/clock.ts'
import { addClient, type ClientOptions, type TestClient } from './support/applications.ts'
import { cookieFor } from './support/authorize.ts'
import { type ServingChild, serveStore } from './support/child.ts'
import { atLength, engines, migratedStore } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { ok } from './support/passkeys.ts'
import { freePort } from './support/postgres.ts'
import { type Receiver, startReceiver } from './support/receiver.ts'
import {
  type AuthMethod,
  browse,
  type Decision,
  libraries,
  type RelyingParty,
  type SendOptions,
} from './support/relying-parties.ts'
import { type Calls, type Service, startService } from './support/service.ts'
import { startMailServer } from './support/smtp.ts'
import { callsTo } from './support/wire.ts'

const afterLogout = 'https://app.example/bye'

async function signInWith(at: Calls, party: RelyingParty, decision: Decision, options?: SendOptions) {
  const { url, finish } = await party.send(options)
  return finish(await browse(at, url, decision))
}

/** openid-client wraps the errors of the other library. */
const saying = (pattern: RegExp) => (error: Error) => pattern.test(`${error} ${error.cause}`)

const kinds: [name: string, client: ClientOptions, method: AuthMethod, decision?: Decision][] = [
  ['a web application, client_secret_basic', {}, 'client_secret_basic'],
  ['a web application, client_secret_post', {}, 'client_secret_post'],
  ['a web application without PKCE', { pkce: false }, 'client_secret_basic'],
  ['a web application with pairwise subjects', { subjectSalt: 'salt' }, 'client_secret_basic'],
  ['a web application with claims in the ID token', { claimsInIdToken: true }, 'client_secret_basic'],
  ['a single-page application', { kind: 'spa' }, 'none'],
  [
    'a native application',
    { kind: 'native', redirectUris: ['http://127.0.0.1:51004/cb'] },
    'none',
    { confirmed: true },
  ],
]

for (const engine of engines) {
  for (const [library, connect] of Object.entries(libraries)) {
    suite(`${library} on ${engine}`, () => {
      let service: Service
      let receiver: Receiver
      const issuer = () => service.url
      before(async () => {
        receiver = await startReceiver()
        const port = String(await freePort())
        service = await startService(engine, {
          env: {
            CHIRON_PORT: port,
            CHIRON_PUBLIC_URL: `http://127.0.0.1:${port}`,
            CHIRON_WEBHOOK_ALLOW: '127.0.0.1',
          },
        })
      })
      // The libraries look at the real clock.
      beforeEach(() => service.clock.advance(Date.now() - service.clock.now()))
      after(async () => {
        await service.stop()
        await receiver.close()
      })

      const someone = async () => {
        const who = await service.signIn(freshAddress(), freshNetwork())
        return { ...who, cookie: cookieFor(who) }
      }
      const partyOf = (client: TestClient, method: AuthMethod = 'client_secret_basic') =>
        connect({ issuer: issuer(), client, method })
      const newParty = async (options: ClientOptions = {}, method?: AuthMethod) =>
        partyOf(await addClient(service, { logoutUris: [afterLogout], ...options }), method)

      for (const [name, options, method, decision] of kinds)
        test(`${name}: signs in, reads who it is, refreshes and revokes`, async () => {
          const party = await newParty(options, method)
          const { cookie, userId } = await someone()
          const pkce = options.pkce !== false
          const first = await signInWith(service, party, { cookie, ...decision }, { pkce })
          assert.equal(first.scope, 'openid profile email')
          assert.equal(first.claims.sub === userId, options.subjectSalt === undefined)
          assert.equal(first.claims.given_name, options.claimsInIdToken ? 'Ada' : undefined)
          const info = await party.userinfo(first)
          assert.deepEqual([info.name, info.email_verified], ['Ada Marsh', true])

          const second = await party.refresh(first.refresh)
          assert.notEqual(second.refresh, first.refresh)
          assert.deepEqual(
            [second.claims.sub, second.claims.sid, second.claims.auth_time],
            [first.claims.sub, first.claims.sid, first.claims.auth_time],
          )
          const narrow = await party.refresh(second.refresh, 'openid')
          assert.deepEqual(Object.keys(await party.userinfo(narrow)), ['sub'])

          const hasSecret = method !== 'none'
          const isActive = async (token: string) => (await party.introspect(token)).active
          if (hasSecret) assert.ok((await isActive(narrow.access)) && (await isActive(narrow.refresh)))
          else await assert.rejects(party.introspect(narrow.access), { status: 401 })
          await party.revoke(narrow.refresh)
          await assert.rejects(party.userinfo(narrow), { status: 401 })
          await assert.rejects(party.refresh(narrow.refresh), { error: 'invalid_grant', status: 400 })
          if (hasSecret)
            assert.deepEqual([await isActive(narrow.access), await isActive(narrow.refresh)], [false, false])
        })

      test('A service: its own token, what it opens, introspection and revocation', async () => {
        const party = await newParty({ kind: 'service' })
        const { access, scope } = await party.ownToken('roster.read')
        assert.equal(scope, 'roster.read')
        const students = () => service.request('/roster/students', { token: access })
        assert.equal((await students()).status, 200)
        assert.equal((await party.introspect(access)).active, true)
        await party.revoke(access)
        assert.equal((await party.introspect(access)).active, false)
        assert.equal((await students()).status, 401)
      })

      test('A service checks a token offline as RFC 9068 says', async () => {
        const client = await addClient(service)
        const { access, claims } = await signInWith(service, await partyOf(client), await someone())
        const id = new URL(issuer())
        const insecure = { [oauth.allowInsecureRequests]: true }
        const server = await oauth.processDiscoveryResponse(id, await oauth.discoveryRequest(id, insecure))
        const request = () =>
          new Request('https://app.example/', { headers: { authorization: `Bearer ${access}` } })
        const checked = await oauth.validateJwtAccessToken(server, request(), client.id, insecure)
        assert.deepEqual([checked.sub, checked.client_id], [claims.sub, client.id])
        await assert.rejects(oauth.validateJwtAccessToken(server, request(), issuer(), insecure))
      })

      describe('Refused, in the words of the library', () => {
        const answers: [name: string, error: string, decision: Decision, options: SendOptions][] = [
          ['nobody is signed in', 'login_required', {}, { more: { prompt: 'none' } }],
          ['the person declines', 'access_denied', { declined: true }, {}],
          ['the scope is not the client’s', 'invalid_scope', {}, { scope: 'openid roster.read' }],
          ['there is no challenge', 'invalid_request', {}, { pkce: false }],
        ]
        for (const [name, error, decision, options] of answers)
          test(`${name}: ${error}`, async () => {
            await assert.rejects(signInWith(service, await newParty(), decision, options), { error })
          })

        test('the secret is wrong: 401 with a challenge', async () => {
          const client = await addClient(service)
          for (const method of ['client_secret_basic', 'client_secret_post'] as const) {
            const party = await partyOf({ ...client, secret: 'wrong' }, method)
            await assert.rejects(party.refresh('x'), { status: 401, name: 'WWWAuthenticateChallengeError' })
          }
        })

        test('a code is used twice: invalid_grant, and its session has ended', async () => {
          const party = await newParty()
          const { url, finish } = await party.send()
          const back = await browse(service, url, await someone())
          const { refresh } = await finish(back)
          await assert.rejects(finish(back), { error: 'invalid_grant', status: 400 })
          await assert.rejects(party.refresh(refresh), { error: 'invalid_grant', status: 400 })
        })

        test('a client of people asks for itself: unauthorized_client', async () => {
          const { ownToken } = await newParty()
          await assert.rejects(ownToken('openid'), { error: 'unauthorized_client', status: 400 })
        })

        test('a service asks for more than it has: invalid_scope', async () => {
          const { ownToken } = await newParty({ kind: 'service', scopes: 'roster.read' })
          await assert.rejects(ownToken('roster.read events.read'), { error: 'invalid_scope', status: 400 })
        })

        test('a code of another sign-in is slipped in: the challenge does not fit', async () => {
          const party = await newParty()
          const [mine, theirs] = [await party.send({ state: 's' }), await party.send({ state: 's' })]
          const back = await browse(service, theirs.url, await someone())
          await assert.rejects(mine.finish(back), { error: 'invalid_grant', status: 400 })
        })

        test('the same without PKCE: the nonce does not fit', async () => {
          const party = await newParty({ pkce: false })
          const options = { state: 's', pkce: false }
          const [mine, theirs] = [await party.send(options), await party.send(options)]
          const back = await browse(service, theirs.url, await someone())
          await assert.rejects(mine.finish(back), saying(/"nonce"/))
        })

        test('the answer is of another issuer, or of none', async () => {
          const { url, finish } = await (await newParty()).send()
          const back = await browse(service, url, await someone())
          const other = new URL(back)
          other.searchParams.set('iss', 'https://evil.example')
          const none = new URL(back)
          none.searchParams.delete('iss')
          await assert.rejects(finish(other), saying(/"iss"/))
          await assert.rejects(finish(none), saying(/"iss"/))
          await finish(back)
        })
      })

      test('max_age: a proof that is recent enough will do, and the library checks auth_time', async () => {
        const party = await newParty()
        const { claims } = await signInWith(service, party, await someone(), { maxAge: 3600 })
        assert.equal(claims.auth_time, Math.floor(service.clock.now() / 1000))
        assert.deepEqual([claims.acr, claims.amr], ['urn:chiron:code', ['otp']])
      })

      test('Signing out by the logout address ends the session at once, and returns', async () => {
        const party = await newParty()
        const who = await someone()
        const tokens = await signInWith(service, party, who)
        const url = party.logoutUrl({
          id_token_hint: tokens.idToken,
          post_logout_redirect_uri: afterLogout,
          state: 'bye',
        })
        assert.equal((await service.request(url.href)).status, 200)
        const reply = await service.request('/portal/logout', {
          body: { query: url.search.slice(1) },
          headers: { cookie: who.cookie },
        })
        assert.equal(reply.json.location, `${afterLogout}?state=bye`)
        await assert.rejects(party.userinfo(tokens), { status: 401 })
        await assert.rejects(party.refresh(tokens.refresh), { error: 'invalid_grant' })
        assert.deepEqual(await party.introspect(tokens.access), { active: false })
      })

      test('The logout token of a back-channel call is what jose expects of one', async () => {
        const client = await addClient(service, { backchannelUri: receiver.url })
        const who = await someone()
        const { claims } = await signInWith(service, await partyOf(client), who)
        const from = receiver.received.length
        ok(await service.request('/session', { method: 'DELETE', token: who.access }), 204)
        const { body } = (await receiver.until(from + 1))[from]!
        const token = new URLSearchParams(body).get('logout_token')!
        const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', issuer()))
        const { payload } = await jwtVerify(token, keys, {
          issuer: issuer(),
          audience: client.id,
          algorithms: ['ES256'],
          typ: 'logout+jwt',
          maxTokenAge: (2 * minute) / 1000,
          requiredClaims: ['jti', 'events', 'exp'],
        })
        assert.deepEqual([payload.sub, payload.sid], [claims.sub, claims.sid])
        assert.deepEqual(payload.events, { 'http://schemas.openid.net/event/backchannel-logout': {} })
        assert.equal(payload.nonce, undefined)
      })
    })
  }

  suite(`Relying parties with two workers on ${engine}`, atLength, () => {
    let child: ServingChild
    let mail: Awaited<ReturnType<typeof startMailServer>>
    let db: ReturnType<typeof openDb>
    let removeStore: () => Promise<void>
    before(async () => {
      const store = await migratedStore(engine)
      removeStore = store.remove
      mail = await startMailServer()
      const port = await freePort()
      child = await serveStore(store.url, mail, {
        CHIRON_PORT: String(port),
        CHIRON_PUBLIC_URL: `http://127.0.0.1:${port}`,
        CHIRON_WORKERS: '2',
        CHIRON_LIMITS: 'off',
      })
      db = openDb(store.url)
    })
    after(async () => {
      await child.end()
      await Promise.all([mail.close(), db.close()])
      await removeStore()
    })

    /** Its connections go to either worker. */
    const anyWorker = (): Calls => callsTo(child.url)

    for (const [library, connect] of Object.entries(libraries))
      test(`${library} signs twenty people in at once, and each is signed out everywhere at once`, async () => {
        const at = { app: { parts: { db } }, clock: { now: Date.now } }
        const client = await addClient(at, {})
        const party = await connect({ issuer: child.url, client, method: 'client_secret_basic' })
        const one = async () => {
          const email = freshAddress()
          ok(
            await anyWorker().post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email }),
            202,
          )
          const { sessionId, reference } = ok(
            await anyWorker().post('/veterinarian/send-otp', { email }),
            202,
          )
          const { code } = await mail.mailWith(email, reference)
          const answer = { email, otp_code: code, sessionId }
          const { access_token, refresh_token } = ok(
            await anyWorker().post('/veterinarian/validate-otp', answer),
          )
          const first = await signInWith(anyWorker(), party, {
            cookie: cookieFor({ refresh: refresh_token }),
          })
          const tokens = await party.refresh(first.refresh)
          assert.equal((await party.userinfo(tokens)).email, email)
          assert.equal((await party.introspect(tokens.access)).active, true)
          ok(await anyWorker().request('/session', { method: 'DELETE', token: access_token }), 204)
          for (let i = 0; i < 4; i++) {
            await assert.rejects(party.userinfo(tokens), { status: 401 })
            assert.equal((await party.introspect(tokens.refresh)).active, false)
          }
          await assert.rejects(party.refresh(tokens.refresh), { error: 'invalid_grant' })
        }
        await Promise.all(Array.from({ length: 20 }, one))
      })
  })
}
