import assert from 'node:assert/strict'
import { createHmac, createPublicKey, type KeyObject } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { outcome, type Reply, type Service, type SignedIn, startService } from './support/service.ts'
import { decode, newSigner, part, signedBy, verifiesUnder } from './support/tokens.ts'
import { wire } from './support/wire.ts'

const invalid = [401, 'invalid-token']
const publicUrl = 'https://access.school.example'

suite('Access tokens', () => {
  let service: Service
  let who: SignedIn
  let key: KeyObject
  let jwk: Record<string, string>
  before(async () => {
    service = await startService('sqlite', { env: { CHIRON_PUBLIC_URL: publicUrl } })
    who = await service.signIn(freshAddress('token'))
    key = (await service.app.parts.keys.signer()).key
    jwk = (await service.request('/.well-known/jwks.json')).json.keys[0]
  })
  after(() => service.stop())

  const me = (token: string) => service.request('/veterinarian/me', { token, headers: { ...freshNetwork() } })
  const claims = () => decode(who.access).payload
  const header = () => decode(who.access).header

  test('The header names ES256, at+jwt and the key, and nothing else', () => {
    assert.deepEqual(header(), { alg: 'ES256', typ: 'at+jwt', kid: jwk.kid })
  })

  test('The claims are those of the contract', () => {
    const { jti, ...rest } = claims()
    const now = Math.floor(service.clock.now() / 1000)
    assert.deepEqual(rest, {
      iss: publicUrl,
      aud: publicUrl,
      sub: who.userId,
      sid: who.sessionId,
      roles: ['veterinarian'],
      client_id: 'chiron',
      iat: now,
      exp: now + 900,
    })
    assert.match(String(jti), /^[\w-]{21,}$/)
  })

  test('Two tokens of one session have different ids', async () => {
    const { json } = await service.post('/session/refresh', { refresh_token: who.refresh })
    assert.notEqual(decode(json.access_token).payload.jti, claims().jti)
    assert.equal(decode(json.access_token).payload.sid, who.sessionId)
  })

  test('The published keys verify it, and hold nothing private', () => {
    assert.deepEqual(Object.keys(jwk).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
    assert.deepEqual([jwk.kty, jwk.crv, jwk.alg, jwk.use], ['EC', 'P-256', 'ES256', 'sig'])
    assert.equal(verifiesUnder(who.access, jwk), true)
    const { signed } = decode(who.access)
    assert.equal(verifiesUnder(`${signed}.${'A'.repeat(86)}`, jwk), false)
  })

  test('The issuer’s metadata is RFC 8414’s, and leads to the keys', async () => {
    const { status, json, headers } = await service.request('/.well-known/oauth-authorization-server')
    assert.equal(status, 200)
    assert.match(headers.get('content-type') ?? '', /^application\/json/)
    assert.equal(json.issuer, publicUrl)
    assert.equal(json.jwks_uri, `${publicUrl}/.well-known/jwks.json`)
    assert.ok(Array.isArray(json.response_types_supported))
  })

  test('A token made with the service’s own key by these tests counts, so the forgeries below fail for their own reason', async () => {
    assert.equal((await me(signedBy(key, header(), claims()))).status, 200)
  })

  const now = () => Math.floor(service.clock.now() / 1000)
  const forgeries: [name: string, make: () => string][] = [
    ['nothing', () => 'x'],
    ['two parts', () => who.access.split('.').slice(0, 2).join('.')],
    ['an empty signature', () => `${decode(who.access).signed}.`],
    ['four parts', () => `${who.access}.x`],
    ['a truncated signature', () => who.access.slice(0, -4)],
    ['a truncated payload', () => who.access.replace(/\.([\w-]+)\./, (_, p) => `.${p.slice(0, -4)}.`)],
    [
      'a changed payload',
      () => {
        const [head, , signature] = who.access.split('.')
        return `${head}.${part({ ...claims(), sub: 'A'.repeat(22) })}.${signature}`
      },
    ],
    [
      'a flipped bit in the signature',
      () => {
        const { signed, signature } = decode(who.access)
        signature[5]! ^= 1
        return `${signed}.${signature.toString('base64url')}`
      },
    ],
    ['alg none', () => `${part({ ...header(), alg: 'none' })}.${part(claims())}.`],
    [
      'alg none and the old signature',
      () => `${part({ ...header(), alg: 'none' })}.${part(claims())}.${who.access.split('.')[2]}`,
    ],
    [
      'HS256 under the public key as PEM',
      () => {
        const pem = createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
        const signed = `${part({ ...header(), alg: 'HS256' })}.${part(claims())}`
        return `${signed}.${createHmac('sha256', pem).update(signed).digest('base64url')}`
      },
    ],
    [
      'HS256 under the public key as JWK',
      () => {
        const signed = `${part({ ...header(), alg: 'HS256' })}.${part(claims())}`
        return `${signed}.${createHmac('sha256', JSON.stringify(jwk)).update(signed).digest('base64url')}`
      },
    ],
    ['another key under the same kid', () => signedBy(newSigner().key, header(), claims())],
    [
      'another key under its own kid',
      () => signedBy(newSigner().key, { ...header(), kid: 'other' }, claims()),
    ],
    [
      'another key inside the header',
      () => {
        const other = newSigner()
        return signedBy(other.key, { ...header(), jwk: other.publicJwk, kid: undefined }, claims())
      },
    ],
    ...[
      '../../../../dev/null',
      "x' or '1'='1",
      '__proto__',
      'constructor',
      '',
      '\u0000',
      'a'.repeat(5_000),
    ].map((kid): [string, () => string] => [
      `a kid of ${JSON.stringify(kid).slice(0, 30)}`,
      () => signedBy(key, { ...header(), kid }, claims()),
    ]),
    ['a kid that is no string', () => signedBy(key, { ...header(), kid: [jwk.kid] }, claims())],
    [
      'an address of keys in its header',
      () => {
        const other = newSigner()
        const jku = 'https://evil.example/jwks.json'
        return signedBy(other.key, { ...header(), jku, x5u: jku, kid: 'other' }, claims())
      },
    ],
    ['no kid', () => signedBy(key, { alg: 'ES256', typ: 'at+jwt' }, claims())],
    ['the type JWT', () => signedBy(key, { ...header(), typ: 'JWT' }, claims())],
    ['no type', () => signedBy(key, { alg: 'ES256', kid: jwk.kid }, claims())],
    ['a critical header nobody knows', () => signedBy(key, { ...header(), crit: ['x'], x: 1 }, claims())],
    ['another issuer', () => signedBy(key, header(), { ...claims(), iss: 'https://evil.example' })],
    ['no issuer', () => signedBy(key, header(), { ...claims(), iss: undefined })],
    ['another audience', () => signedBy(key, header(), { ...claims(), aud: 'https://evil.example' })],
    ['no audience', () => signedBy(key, header(), { ...claims(), aud: undefined })],
    ['an expiry that has passed', () => signedBy(key, header(), { ...claims(), exp: now() - 1 })],
    ['an expiry of now', () => signedBy(key, header(), { ...claims(), exp: now() })],
    ['no expiry', () => signedBy(key, header(), { ...claims(), exp: undefined })],
    ['an expiry in digits', () => signedBy(key, header(), { ...claims(), exp: String(now() + 900) })],
    ['an expiry in words', () => signedBy(key, header(), { ...claims(), exp: 'tomorrow' })],
    ['a start in the future', () => signedBy(key, header(), { ...claims(), nbf: now() + 600 })],
    ['no subject', () => signedBy(key, header(), { ...claims(), sub: undefined })],
    ['another subject', () => signedBy(key, header(), { ...claims(), sub: 'A'.repeat(22) })],
    ['no session', () => signedBy(key, header(), { ...claims(), sid: undefined })],
    ['a session that is no string', () => signedBy(key, header(), { ...claims(), sid: 7 })],
    ['the other role', () => signedBy(key, header(), { ...claims(), roles: ['student'] })],
    ['no roles', () => signedBy(key, header(), { ...claims(), roles: undefined })],
    ['empty roles', () => signedBy(key, header(), { ...claims(), roles: [] })],
    ['roles in one string', () => signedBy(key, header(), { ...claims(), roles: 'veterinarian' })],
    ['a refresh token', () => who.refresh],
    ['a session id', () => who.sessionId],
  ]
  for (const [name, make] of forgeries) {
    test(`A token with ${name} is 401 invalid-token`, async () => {
      const reply = await me(make())
      assert.deepEqual(outcome(reply), invalid)
      assert.equal(reply.headers.get('www-authenticate'), 'Bearer error="invalid_token"')
    })
  }

  test('A well-signed token for a session that does not exist is 401', async () => {
    assert.equal((await me(await signedBy(key, header(), { ...claims(), sid: 'A'.repeat(22) }))).status, 401)
  })

  test('A token expires after 15 minutes, also when it was used before', async () => {
    const own = await service.signIn(freshAddress())
    const unused = await service.signIn(freshAddress())
    assert.equal((await me(own.access)).status, 200)
    service.clock.advance(15 * 60_000 - 1)
    assert.equal((await me(own.access)).status, 200)
    service.clock.advance(1)
    for (const { access } of [own, unused, own]) assert.deepEqual(outcome(await me(access)), invalid)
    who = await service.signIn(freshAddress())
  })

  const placements: [name: string, ask: () => Promise<Reply>][] = [
    ['no header', () => wire(service.url, '/veterinarian/me')],
    ['the query string', () => wire(service.url, `/veterinarian/me?access_token=${who.access}`)],
    [
      'a cookie',
      () => wire(service.url, '/veterinarian/me', { headers: { cookie: `access_token=${who.access}` } }),
    ],
    [
      'a header of another name',
      () => wire(service.url, '/veterinarian/me', { headers: { 'x-access-token': who.access } }),
    ],
    [
      'Proxy-Authorization',
      () =>
        wire(service.url, '/veterinarian/me', { headers: { 'proxy-authorization': `Bearer ${who.access}` } }),
    ],
    [
      'the Basic scheme',
      () => wire(service.url, '/veterinarian/me', { headers: { authorization: `Basic ${who.access}` } }),
    ],
    ['no scheme', () => wire(service.url, '/veterinarian/me', { headers: { authorization: who.access } })],
    [
      'the OTP scheme',
      () => wire(service.url, '/veterinarian/me', { headers: { authorization: `OTP ${who.access}` } }),
    ],
    ['an empty header', () => wire(service.url, '/veterinarian/me', { headers: { authorization: '' } })],
  ]
  for (const [name, ask] of placements) {
    test(`A token in ${name} does not count: 401 unauthenticated`, async () => {
      const reply = await ask()
      assert.deepEqual(outcome(reply), [401, 'unauthenticated'])
      assert.equal(reply.headers.get('www-authenticate'), 'Bearer')
    })
  }

  test('A token in a form body does not count', async () => {
    const reply = await wire(service.url, '/veterinarian/me', {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ firstname: 'Eve', access_token: who.access }),
    })
    assert.deepEqual(outcome(reply), [401, 'unauthenticated'])
  })

  for (const scheme of ['bearer', 'BEARER', 'Bearer']) {
    test(`The scheme may be written ${scheme}`, async () => {
      const reply = await wire(service.url, '/veterinarian/me', {
        headers: { authorization: `${scheme} ${who.access}` },
      })
      assert.equal(reply.status, 200)
    })
  }

  for (const value of ['Bearer', 'Bearer ', 'Bearer a b', 'Bearer ä', 'Bearer a,b', 'Bearer "x"']) {
    test(`Authorization: ${value} is 401`, async () => {
      const reply = await wire(service.url, '/veterinarian/me', {
        headers: { authorization: Buffer.from(value).toString('latin1') },
      })
      assert.equal(reply.status, 401)
    })
  }

  const guarded: [method: string, path: string][] = [
    ['GET', '/veterinarian/me'],
    ['PATCH', '/veterinarian/me'],
    ['DELETE', '/veterinarian/me'],
    ['GET', '/veterinarian/me/export'],
    ['GET', '/student/me'],
    ['GET', '/student/me/classes'],
    ['GET', '/session'],
    ['DELETE', '/session'],
    ['DELETE', '/session/all'],
    ['DELETE', `/session/${'A'.repeat(22)}`],
  ]
  for (const [method, path] of guarded) {
    test(`${method} ${path} asks for a token before anything else`, async () => {
      const without = await wire(service.url, path, { method, headers: freshNetwork() })
      assert.deepEqual(outcome(without), [401, 'unauthenticated'])
      const forged = await wire(service.url, path, {
        method,
        headers: { ...freshNetwork(), authorization: 'Bearer forged', 'content-type': 'text/plain' },
      })
      assert.deepEqual(outcome(forged), invalid)
    })
  }

  for (const path of ['/student/me', '/student/me/classes', '/student/me/classes?when=never']) {
    test(`A veterinarian’s token is 403 at ${path}`, async () => {
      const reply = await service.request(path, { token: who.access })
      assert.deepEqual(outcome(reply), [403, 'forbidden'])
      assert.equal(reply.headers.get('www-authenticate'), 'Bearer error="insufficient_scope"')
    })
  }

  test('A student’s token is 403 at a veterinarian’s endpoints', async () => {
    const { db } = service.app.parts
    const at = service.clock.now()
    const student = 'StudentStudentStudentT'
    const sessionId = 'SessionSessionSessionT'
    await db.run(
      `insert into person (id, role, status, email, email_key, firstname, lastname, created_at, updated_at)
       values ($1, 'student', 'active', $2, $2, 'Sam', 'Reed', $3, $3)`,
      [student, freshAddress('student'), at],
    )
    await db.run(
      `insert into student (person_id, from_gen, sourced_id, digest, firstname, lastname, updated_at)
       values ($1, 0, 'reed', '', 'Sam', 'Reed', $2)`,
      [student, at],
    )
    await db.run(
      `insert into session (id, role, person_id, device, started_at, last_seen_at, expires_at, refresh_seq, rotated_at, rotated_before_at)
       values ($1, 'student', $2, 'Unknown device', $3, $3, $4, 1, 0, 0)`,
      [sessionId, student, at, at + 86_400_000],
    )
    const token = await signedBy(key, header(), {
      ...claims(),
      sub: student,
      sid: sessionId,
      roles: ['student'],
    })
    assert.equal((await service.request('/session', { token })).status, 200)
    for (const [method, path] of guarded.filter(([, one]) => one.startsWith('/veterinarian'))) {
      const body = method === 'PATCH' ? { firstname: 'Eve' } : undefined
      const reply = await service.request(path, { method, token, ...(body && { body }) })
      assert.deepEqual(outcome(reply), [403, 'forbidden'], `${method} ${path}`)
    }
  })
})
