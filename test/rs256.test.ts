/** Clients whose ID tokens and logout tokens are RS256, and the life of their keys. */
import assert from 'node:assert/strict'
import { createHmac, createPublicKey, type webcrypto } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { after, before, suite, test } from 'node:test'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { SigningKeys } from '../src/identity/session/keys.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { day, minute } from '../src/platform/lib/clock.ts'
import { secretsFrom } from '../src/platform/lib/secret.ts'
import { addClient, callAs, signInAt, type TestClient } from './support/applications.ts'
import { answerIn, authorize, callback, cookieFor, requestOf } from './support/authorize.ts'
import { serveChild } from './support/child.ts'
import { engines, migratedStore } from './support/engines.ts'
import { freshAddress, freshNetwork, repeat } from './support/fresh.ts'
import { type Receiver, startReceiver } from './support/receiver.ts'
import { outcome, type Service, startService } from './support/service.ts'
import { decode, part } from './support/tokens.ts'
import { eventually } from './support/wait.ts'

const algOf = (token: string) => decode(token).header.alg
const kidOf = (token: string) => decode(token).header.kid as string

for (const engine of engines) {
  suite(`RS256 on ${engine}`, () => {
    let service: Service
    let receiver: Receiver
    let client: TestClient
    before(async () => {
      service = await startService(engine, { env: { CHIRON_WEBHOOK_ALLOW: '127.0.0.1' } })
      receiver = await startReceiver()
      client = await addClient(service, {
        idTokenAlg: 'RS256',
        redirectUris: [callback],
        backchannelUri: receiver.url,
      })
    })
    after(async () => {
      await service.stop()
      await receiver.close()
    })

    type PublicKey = webcrypto.JsonWebKey & { readonly kid: string }
    const jwks = async () => (await service.request('/.well-known/jwks.json')).json.keys as PublicKey[]
    const publicKey = async (alg: string) => (await jwks()).findLast((key) => key.alg === alg)!
    const person = () => service.signIn(freshAddress(), freshNetwork())
    const isHint = async (who: { refresh: string }, hint: string) => {
      const query = requestOf(client.id, { id_token_hint: hint, prompt: 'none' })
      const { json } = await authorize(service, query, { cookie: cookieFor(who) })
      return answerIn(json.location).code !== undefined
    }

    test('The first key is made when it is needed, once, and is no event', async () => {
      const { db } = service.app.parts
      assert.deepEqual(
        (await jwks()).map(({ kty, alg }) => [kty, alg]),
        [['EC', 'ES256']],
      )
      const secrets = secretsFrom('a secret for tests that is long enough', null)
      const several = await repeat(4, async () => {
        const keys = new SigningKeys({ db, clock: service.clock, secrets }, 15 * minute)
        await keys.open()
        return (await keys.signer('RS256')).kid
      })
      service.clock.advance(3_000)
      const [, rsa, ...more] = await jwks()
      assert.deepEqual([new Set(several), more], [new Set([rsa!.kid]), []])
      assert.deepEqual(Object.keys(rsa!).sort(), ['alg', 'e', 'kid', 'kty', 'n', 'use'])
      assert.deepEqual([rsa!.kty, rsa!.alg, rsa!.use], ['RSA', 'RS256', 'sig'])
      assert.equal(Buffer.from(rsa!.n!, 'base64url').length, 256)
      assert.deepEqual(await service.rows("select 1 from event where type = 'key.rotated'"), [])
      // A process of the release before sees none of it.
      assert.equal((await service.rows('select 1 from signing_key')).length, 1)
      for (const row of await service.rows<{ sealed: string }>('select * from rsa_signing_key'))
        assert.doesNotMatch(Buffer.from(row.sealed, 'base64url').toString('latin1'), /"kty"|"n"|"d"/)
    })

    test('ID token and logout token are RS256, as jose reads them; everything else is ES256', async () => {
      const who = await person()
      const { access, idToken, refresh, sessionId } = await signInAt(service, who, client)
      assert.deepEqual([algOf(access), algOf(idToken)], ['ES256', 'RS256'])
      const keys = createLocalJWKSet({ keys: (await jwks()) as never })
      const expected = {
        issuer: service.url.replace('127.0.0.1', 'localhost'),
        audience: client.id,
        algorithms: ['RS256'],
        currentDate: new Date(service.clock.now()),
      }
      assert.equal((await jwtVerify(idToken, keys, expected)).payload.sub, who.userId)
      const again = await callAs(service, client, '/oauth/token', {
        grant_type: 'refresh_token',
        refresh_token: refresh,
      })
      assert.equal(algOf(again.json.id_token), 'RS256')
      const { idToken: other } = await signInAt(service, who, await addClient(service))
      assert.equal(algOf(other), 'ES256')

      const from = receiver.received.length
      await service.request('/session', { method: 'DELETE', token: who.access })
      const { body } = (await receiver.until(from + 1))[from]!
      const logout = new URLSearchParams(body).get('logout_token')!
      const { payload } = await jwtVerify(logout, keys, { ...expected, typ: 'logout+jwt' })
      assert.deepEqual([payload.sid, algOf(logout)], [sessionId, 'RS256'])
    })

    test('A client that is removed is still told in its own algorithm', async () => {
      const going = await addClient(service, { idTokenAlg: 'RS256', backchannelUri: receiver.url })
      await signInAt(service, await person(), going)
      const from = receiver.received.length
      await service.app.parts.clients.remove(going.id, byOperator)
      const { body } = (await receiver.until(from + 1))[from]!
      assert.equal(algOf(new URLSearchParams(body).get('logout_token')!), 'RS256')
    })

    test('Its ID token is a hint, but never one that another key or algorithm signed', async () => {
      const who = await person()
      const { idToken } = await signInAt(service, who, client)
      assert.equal(await isHint(who, idToken), true)
      const { payload, header } = decode(idToken)
      const rsa = await publicKey('RS256')
      const pem = createPublicKey({ key: rsa, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
      const byMac = `${part({ ...header, alg: 'HS256' })}.${part(payload)}`
      const mac = createHmac('sha256', pem).update(byMac).digest('base64url')
      const swapped = `${part({ ...header, kid: (await publicKey('ES256')).kid })}.${part(payload)}`
      const signature = idToken.split('.')[2]
      for (const forged of [
        `${byMac}.${mac}`,
        `${swapped}.${signature}`,
        `${part({ ...header, alg: 'none' })}.${part(payload)}.`,
      ])
        assert.equal(await isHint(who, forged), false)
    })

    test('A rotation renews both kinds, and an old key stays until its last token has expired', async () => {
      const { keys, sweeper } = service.app.parts
      const who = await person()
      const { idToken: before } = await signInAt(service, who, client)
      assert.equal(await keys.rotate(byOperator), true)
      assert.deepEqual(
        (await keys.list()).map(({ alg, state }) => [alg, state]),
        [
          ['ES256', 'signs'],
          ['ES256', 'next'],
          ['RS256', 'signs'],
          ['RS256', 'next'],
        ],
      )
      assert.equal((await service.rows("select 1 from event where type = 'key.rotated'")).length, 2)
      service.clock.advance(10 * minute)
      const { idToken: after } = await signInAt(service, who, client)
      assert.notEqual(kidOf(after), kidOf(before))
      assert.deepEqual([await isHint(who, before), await isHint(who, after)], [true, true])
      service.clock.advance(17 * minute)
      await sweeper.sweep()
      assert.deepEqual(
        (await jwks()).map(({ alg }) => alg),
        ['ES256', 'RS256'],
      )
      assert.deepEqual([await isHint(who, before), await isHint(who, after)], [false, true])
    })

    test('After 90 days each kind is renewed automatically', async () => {
      const { keys, sweeper } = service.app.parts
      service.clock.advance(90 * day)
      await sweeper.sweep()
      assert.deepEqual(
        (await keys.list()).map(({ alg, state }) => [alg, state]),
        [
          ['ES256', 'signs'],
          ['ES256', 'next'],
          ['RS256', 'signs'],
          ['RS256', 'next'],
        ],
      )
      service.clock.advance(day)
      await sweeper.sweep()
      assert.equal((await jwks()).length, 2)
    })

    test('A revoked RSA key is replaced at once, and no other key is touched', async () => {
      const { keys } = service.app.parts
      const who = await person()
      const { access, idToken } = await signInAt(service, who, client)
      const [es, rsa] = await jwks()
      assert.equal(rsa!.kid, kidOf(idToken))
      const revoked = await keys.revoke(rsa!.kid, byOperator)
      assert.equal(revoked!.isNew, true)
      const now = await jwks()
      assert.deepEqual(
        now.map(({ kid }) => kid),
        [es!.kid, revoked!.signer],
      )
      assert.equal(await isHint(who, idToken), false)
      assert.equal((await service.request('/oauth/userinfo', { token: access })).status, 200)
      assert.equal(kidOf((await signInAt(service, who, client)).idToken), revoked!.signer)
    })

    test('All keys are revoked together, of both kinds', async () => {
      const { keys } = service.app.parts
      const who = await person()
      const { access, idToken } = await signInAt(service, who, client)
      const before = (await jwks()).map(({ kid }) => kid)
      const signer = await keys.revokeAll(byOperator)
      const after = await jwks()
      assert.deepEqual(
        after.map(({ alg }) => alg),
        ['ES256', 'RS256'],
      )
      assert.equal(after[0]!.kid, signer)
      assert.ok(after.every(({ kid }) => !before.includes(kid)))
      assert.deepEqual(outcome(await service.request('/oauth/userinfo', { token: access })), [
        401,
        'invalid-token',
      ])
      assert.equal(await isHint(who, idToken), false)
    })

    test('The registry keeps the algorithm, and takes these two alone', async () => {
      const { clients } = service.app.parts
      const fields = { name: 'Moodle', redirectUris: [callback] }
      const { clientId, idTokenAlg } = await clients.add(fields, byOperator)
      assert.equal(idTokenAlg, 'ES256')
      assert.equal((await clients.change(clientId, { idTokenAlg: 'RS256' }, byOperator)).idTokenAlg, 'RS256')
      assert.equal((await clients.add({ ...fields, idTokenAlg: 'RS256' }, byOperator)).idTokenAlg, 'RS256')
      for (const alg of ['HS256', 'none', 'rs256'])
        await assert.rejects(clients.change(clientId, { idTokenAlg: alg }, byOperator), {
          code: 'invalid-request',
        })
      await assert.rejects(clients.add({ name: 'X', kind: 'service', idTokenAlg: 'RS256' }, byOperator), {
        code: 'invalid-request',
      })
      const { json } = await service.request('/.well-known/openid-configuration')
      assert.deepEqual(json.id_token_signing_alg_values_supported, ['ES256', 'RS256'])
    })
  })
}

test('A service that cannot make its RSA key starts all the same, and says so', async (t) => {
  const store = await migratedStore('sqlite')
  const file = new DatabaseSync(store.url.slice('sqlite:'.length))
  file.exec(
    "create trigger no_key before insert on rsa_signing_key begin select raise(abort, 'no room for a key'); end",
  )
  file.close()
  const child = await serveChild({ env: { CHIRON_DATABASE_URL: store.url } })
  t.after(async () => {
    await child.end('SIGKILL')
    await store.remove()
  })
  await eventually('it says so', () => child.output.out.includes('signing keys could not be made'))
  assert.equal((await child.request('/health/live')).status, 200)
})
