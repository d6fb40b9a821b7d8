/** RFC 6749 at /session/refresh, with client libraries and with raw bytes. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { atLength, engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { freePort } from './support/postgres.ts'
import { type Service, startService } from './support/service.ts'
import { wire } from './support/wire.ts'

const formType = 'application/x-www-form-urlencoded'

for (const engine of engines) {
  describe(`OAuth clients on ${engine}`, atLength, () => {
    let service: Service
    before(async () => {
      const port = String(await freePort())
      const env = { CHIRON_PORT: port, CHIRON_PUBLIC_URL: `http://127.0.0.1:${port}` }
      service = await startService(engine, { env })
    })
    after(() => service.stop())

    test('oauth4webapi finds the endpoint and refreshes', async () => {
      const { refresh, userId } = await service.signIn(freshAddress())
      const issuer = new URL(service.url)
      const insecure = { [oauth.allowInsecureRequests]: true }
      const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
      const server = await oauth.processDiscoveryResponse(issuer, found)
      const client = { client_id: 'chiron' }
      const ask = (token: string) =>
        oauth.refreshTokenGrantRequest(server, client, oauth.None(), token, insecure)
      const tokens = await oauth.processRefreshTokenResponse(server, client, await ask(refresh))
      const me = await service.request('/veterinarian/me', { token: tokens.access_token })
      assert.equal(me.json.userId, userId)
      assert.notEqual(tokens.refresh_token, refresh)
      const forged = oauth.processRefreshTokenResponse(server, client, await ask('forged'))
      await assert.rejects(forged, (error: oauth.ResponseBodyError) => error.error === 'invalid_grant')
    })

    test('openid-client finds the endpoint and refreshes', async () => {
      const { refresh, sessionId, access } = await service.signIn(freshAddress())
      const configuration = await openid.discovery(new URL(service.url), 'chiron', undefined, openid.None(), {
        algorithm: 'oauth2',
        execute: [openid.allowInsecureRequests],
      })
      const tokens = await openid.refreshTokenGrant(configuration, refresh)
      const { sessions } = (await service.request('/session', { token: tokens.access_token })).json
      assert.equal(sessions[0].sessionId, sessionId)
      assert.equal((await service.request('/session', { method: 'DELETE', token: access })).status, 204)
      await assert.rejects(
        openid.refreshTokenGrant(configuration, tokens.refresh_token!),
        (error: openid.ResponseBodyError) => error.error === 'invalid_grant' && error.status === 400,
      )
    })
  })
}

describe('A token request as a form', () => {
  let service: Service
  let refresh: string
  before(async () => {
    service = await startService('sqlite')
    refresh = (await service.signIn(freshAddress())).refresh
  })
  after(() => service.stop())

  const post = (body: string | Uint8Array, type = formType, path = '/session/refresh') =>
    wire(service.url, path, {
      method: 'POST',
      headers: { ...freshNetwork(), 'content-type': type },
      body,
    })
  const form = (token: string) => `grant_type=refresh_token&refresh_token=${encodeURIComponent(token)}`

  test('is answered as the JSON one is', async () => {
    const first = await post(`${form(refresh)}&client_id=anything&client_secret=&scope=`)
    assert.equal(first.status, 200)
    assert.equal(first.headers.get('content-type'), 'application/json; charset=utf-8')
    assert.equal(first.headers.get('cache-control'), 'no-store')
    const second = await post(
      form(first.json.refresh_token),
      'Application/X-WWW-Form-Urlencoded; charset=UTF-8',
    )
    assert.equal(second.status, 200)
    const third = await service.post('/session/refresh', { refresh_token: second.json.refresh_token })
    assert.equal(third.status, 200)
    assert.deepEqual(Object.keys(first.json), Object.keys(third.json))
    refresh = third.json.refresh_token
  })

  const refused: [name: string, body: string | Uint8Array, error: string][] = [
    ['nothing', '', 'invalid_request'],
    ['no grant_type', 'refresh_token=x', 'invalid_request'],
    ['an empty grant_type', 'grant_type=&refresh_token=x', 'invalid_request'],
    ['no token', 'grant_type=refresh_token', 'invalid_request'],
    ['an empty token', 'grant_type=refresh_token&refresh_token=', 'invalid_request'],
    ['another grant', 'grant_type=password&username=a&password=b', 'unsupported_grant_type'],
    ['the grant twice', `grant_type=refresh_token&${form('x')}`, 'invalid_request'],
    ['the token twice', `${form('x')}&refresh_token=x`, 'invalid_request'],
    ['another parameter twice', `${form('x')}&client_id=a&client_id=b`, 'invalid_request'],
    ['bytes that are not UTF-8', Uint8Array.from([0x61, 0x3d, 0xc3, 0x28]), 'invalid_request'],
    ['a forged token', form('forged'), 'invalid_grant'],
    ['JSON', '{"refresh_token":"x"}', 'invalid_request'],
  ]
  for (const [name, body, error] of refused) {
    test(`with ${name} is 400 ${error}`, async () => {
      const reply = await post(body)
      assert.equal(reply.status, 400)
      assert.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8')
      assert.equal(reply.headers.get('cache-control'), 'no-store')
      assert.deepEqual(Object.keys(reply.json), ['error', 'error_description'])
      assert.equal(reply.json.error, error)
      // RFC 6749 §5.2: neither quotes nor backslashes, and ASCII alone.
      assert.match(reply.json.error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
      assert.ok(reply.headers.get('request-id'))
    })
  }

  test('of an ended session is 400 invalid_grant', async () => {
    const ended = await service.signIn(freshAddress())
    assert.equal((await service.request('/session', { method: 'DELETE', token: ended.access })).status, 204)
    const reply = await post(form(ended.refresh))
    assert.deepEqual([reply.status, reply.json.error], [400, 'invalid_grant'])
  })

  test('that is too large, or in another charset than it can be, is refused as any body is', async () => {
    const large = await post(form('x'.repeat(17_000)))
    assert.deepEqual([large.status, large.json.code], [413, 'body-too-large'])
    const chunked = await wire(service.url, '/session/refresh', {
      method: 'POST',
      headers: { ...freshNetwork(), 'content-type': formType },
      body: form('x'.repeat(17_000)),
      chunked: true,
    })
    assert.equal(chunked.status, 413)
    const encoded = await wire(service.url, '/session/refresh', {
      method: 'POST',
      headers: { ...freshNetwork(), 'content-type': formType, 'content-encoding': 'gzip' },
      body: form('x'),
    })
    assert.equal(encoded.status, 415)
  })

  test('is a problem where it is JSON', async () => {
    const forged = await service.post('/session/refresh', { refresh_token: 'forged' })
    assert.deepEqual([forged.status, forged.json.code], [401, 'invalid-token'])
    const missing = await service.post('/session/refresh', {})
    assert.deepEqual(missing.json.errors, [{ pointer: '#/refresh_token', detail: 'is missing' }])
    const nothing = await wire(service.url, '/session/refresh', { method: 'POST', headers: freshNetwork() })
    assert.deepEqual([nothing.status, nothing.json.code], [400, 'invalid-request'])
  })

  test('is 415 with other types, which names both that are taken, and 415 everywhere else', async () => {
    const text = await post('x', 'text/plain')
    assert.equal(text.status, 415)
    assert.equal(text.headers.get('accept'), `application/json, ${formType}`)
    for (const path of ['/veterinarian/register', '/veterinarian/send-otp', '/portal/refresh']) {
      const reply = await post(form('x'), formType, path)
      assert.equal(reply.status, 415, path)
      assert.equal(reply.headers.get('accept'), 'application/json', path)
    }
  })
})
