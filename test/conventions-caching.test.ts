import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { type Service, type SignedIn, startService } from './support/service.ts'
import { wire } from './support/wire.ts'

suite('The public profile in caches', () => {
  let service: Service
  let me: SignedIn
  let etag: string
  before(async () => {
    service = await startService('sqlite')
    me = await service.signIn(freshAddress('etag'))
    etag = (await service.request(`/veterinarian/${me.userId}`)).headers.get('etag') ?? ''
  })
  after(() => service.stop())

  const ask = (match?: string, method = 'GET') =>
    wire(service.url, `/veterinarian/${me.userId}`, {
      method,
      headers: { ...freshNetwork(), ...(match !== undefined && { 'if-none-match': match }) },
    })

  test('It is public, max-age=60 with an ETag', async () => {
    const reply = await ask()
    assert.equal(reply.status, 200)
    assert.equal(reply.headers.get('cache-control'), 'public, max-age=60')
    assert.match(etag, /^"[\x21\x23-\x7e]+"$/)
    assert.equal(reply.headers.get('etag'), etag)
  })

  const matching: [name: string, header: (etag: string) => string][] = [
    ['its ETag', (tag) => tag],
    ['its ETag as a weak one', (tag) => `W/${tag}`],
    ['a star', () => '*'],
    ['a list that holds it', (tag) => `"a", ${tag} , "b"`],
    ['a list that holds it weakly', (tag) => `W/"a",W/${tag}`],
  ]
  for (const [name, header] of matching) {
    test(`If-None-Match with ${name} is 304 without a body`, async () => {
      for (const method of ['GET', 'HEAD']) {
        const reply = await ask(header(etag), method)
        assert.equal(reply.status, 304)
        assert.equal(reply.text, '')
        assert.equal(reply.headers.get('etag'), etag)
        assert.equal(reply.headers.get('cache-control'), 'public, max-age=60')
        assert.ok(reply.headers.get('request-id'))
      }
    })
  }

  const others: [name: string, header: (etag: string) => string][] = [
    ['another ETag', () => '"other"'],
    ['its ETag without quotes', (tag) => tag.replaceAll('"', '')],
    ['a list without it', () => '"a", W/"b"'],
    ['nothing', () => ''],
  ]
  for (const [name, header] of others) {
    test(`If-None-Match with ${name} is 200`, async () => {
      assert.equal((await ask(header(etag))).status, 200)
    })
  }

  test('A change of name changes the ETag', async () => {
    service.clock.advance(1_000)
    const patched = await service.request('/veterinarian/me', {
      method: 'PATCH',
      token: me.access,
      body: { firstname: 'Berta' },
    })
    assert.equal(patched.status, 200)
    const reply = await ask(etag)
    assert.equal(reply.status, 200)
    assert.notEqual(reply.headers.get('etag'), etag)
    assert.equal(reply.json.firstname, 'Berta')
  })

  test('Two changes of name in one millisecond do not share an ETag', async () => {
    const rename = (firstname: string) =>
      service.request('/veterinarian/me', { method: 'PATCH', token: me.access, body: { firstname } })
    await rename('Clara')
    const first = await ask()
    await rename('Dora')
    const second = await ask(first.headers.get('etag') ?? '')
    assert.equal(second.status, 200)
    assert.equal(second.json.firstname, 'Dora')
  })

  test('If-None-Match is no oracle: an unknown profile is 404 even to a star', async () => {
    const reply = await service.request('/veterinarian/AAAAAAAAAAAAAAAAAAAAAA', {
      headers: { 'if-none-match': '*' },
    })
    assert.equal(reply.status, 404)
  })
})

suite('Foreign origins', () => {
  const listed = 'https://portal.example'
  const preflight = (origin: string, method = 'PATCH') => ({
    method: 'OPTIONS',
    headers: {
      ...freshNetwork(),
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,content-type,api-version',
    },
  })
  const names = (headers: Headers) => [...headers.keys()].filter((name) => name.startsWith('access-control'))

  /** For pages that check tokens or find out where to refresh them. */
  const forEverybody = (service: () => Service) =>
    test('What is under /.well-known may be read from everywhere', async () => {
      for (const path of ['jwks.json', 'oauth-authorization-server', 'security.txt', 'nowhere']) {
        for (const origin of [listed, 'https://elsewhere.example', 'null']) {
          const reply = await wire(service().url, `/.well-known/${path}`, { headers: { origin } })
          assert.equal(reply.status, path === 'nowhere' ? 404 : 200)
          assert.equal(reply.headers.get('access-control-allow-origin'), '*')
          assert.equal(reply.headers.get('cross-origin-resource-policy'), 'cross-origin')
          assert.equal(reply.headers.get('access-control-allow-credentials'), null)
        }
        const asked = await wire(
          service().url,
          `/.well-known/${path}`,
          preflight('https://elsewhere.example'),
        )
        assert.equal(asked.status, 204)
        assert.equal(asked.headers.get('access-control-allow-origin'), '*')
      }
    })

  suite('by default', () => {
    let service: Service
    before(async () => {
      service = await startService('sqlite')
    })
    after(() => service.stop())

    forEverybody(() => service)

    test('No other reply allows another origin', async () => {
      const origin = { origin: listed }
      for (const path of ['/health/live', '/veterinarian/me', '/openapi.json', '/nowhere']) {
        const reply = await wire(service.url, path, { headers: origin })
        assert.deepEqual(names(reply.headers), [], path)
      }
    })

    test('A preflight is refused', async () => {
      const reply = await wire(service.url, '/veterinarian/me', preflight(listed))
      assert.equal(reply.status, 405)
      assert.deepEqual(names(reply.headers), [])
    })
  })

  suite('with CHIRON_CORS_ORIGINS', () => {
    let service: Service
    before(async () => {
      service = await startService('sqlite', {
        env: { CHIRON_CORS_ORIGINS: `${listed}, http://localhost:5173` },
      })
    })
    after(() => service?.stop())

    forEverybody(() => service)

    test('A listed origin may read replies', async () => {
      for (const origin of [listed, 'http://localhost:5173']) {
        const reply = await wire(service.url, '/health/live', { headers: { origin } })
        assert.equal(reply.status, 200)
        assert.equal(reply.headers.get('access-control-allow-origin'), origin)
        assert.match(reply.headers.get('vary') ?? '', /origin/i)
        assert.equal(reply.headers.get('access-control-allow-credentials'), null)
      }
    })

    test('A listed origin may read errors, too', async () => {
      for (const path of ['/veterinarian/me', '/nowhere']) {
        const reply = await wire(service.url, path, { headers: { origin: listed } })
        assert.ok(reply.status >= 400)
        assert.equal(reply.headers.get('access-control-allow-origin'), listed, path)
        assert.match(reply.headers.get('access-control-expose-headers') ?? '', /request-id/i)
      }
    })

    test('A listed origin gets its preflight answered', async () => {
      for (const path of ['/veterinarian/me', '/session', '/veterinarian/register']) {
        const reply = await wire(service.url, path, preflight(listed))
        assert.equal(reply.status, 204, path)
        assert.equal(reply.headers.get('access-control-allow-origin'), listed)
        assert.match(reply.headers.get('access-control-allow-methods') ?? '', /PATCH/)
        const headers = reply.headers.get('access-control-allow-headers') ?? ''
        for (const name of ['authorization', 'idempotency-key', 'traceparent', 'if-none-match'])
          assert.ok(headers.toLowerCase().split(', ').includes(name), name)
        assert.ok(reply.headers.get('request-id'))
      }
    })

    const foreign = [
      'https://evil.example',
      'https://portal.example.evil.example',
      'http://portal.example',
      'null',
    ]
    for (const origin of foreign) {
      test(`${origin} may read nothing`, async () => {
        const reply = await wire(service.url, '/health/live', { headers: { origin } })
        assert.equal(reply.headers.get('access-control-allow-origin'), null)
        const asked = await wire(service.url, '/veterinarian/me', preflight(origin))
        assert.equal(asked.headers.get('access-control-allow-origin'), null)
      })
    }

    test('Unknown paths are still 404, wrong methods 405', async () => {
      assert.equal((await wire(service.url, '/nowhere')).status, 404)
      const wrong = await wire(service.url, '/veterinarian/register')
      assert.equal(wrong.status, 405)
      assert.equal(wrong.headers.get('allow'), 'POST')
    })
  })
})
