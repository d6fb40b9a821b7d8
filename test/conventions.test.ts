import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { type Reply, type Service, type SignedIn, startService } from './support/service.ts'
import { type WireRequest, wire } from './support/wire.ts'

const get = 'GET, HEAD'
const paths: [path: string, allow: string][] = [
  ['/veterinarian/register', 'POST'],
  ['/veterinarian/send-otp', 'POST'],
  ['/veterinarian/validate-otp', 'POST'],
  ['/veterinarian/me', 'DELETE, GET, HEAD, PATCH'],
  ['/veterinarian/me/export', get],
  ['/veterinarian/me/classes', get],
  ['/veterinarian/me/email', 'POST'],
  ['/veterinarian/me/email/confirm', 'POST'],
  ['/veterinarian/AAAAAAAAAAAAAAAAAAAAAA', get],
  ['/student/me', get],
  ['/student/me/classes', get],
  ['/student/me/calendar', 'GET, HEAD, POST'],
  ['/student/me/calendar/AAAAAAAAAAAAAAAAAAAAAA', 'DELETE'],
  ['/student/me/card', get],
  [`/calendar/${'A'.repeat(43)}.ics`, get],
  ['/session', 'DELETE, GET, HEAD'],
  ['/session/refresh', 'POST'],
  ['/session/all', 'DELETE'],
  ['/portal/veterinarian/validate-otp', 'POST'],
  ['/portal/student/validate-otp', 'POST'],
  ['/portal/refresh', 'POST'],
  ['/portal/sign-out', 'POST'],
  ['/session/AAAAAAAAAAAAAAAAAAAAAA', 'DELETE'],
  ['/.well-known/jwks.json', get],
  ['/.well-known/oauth-authorization-server', get],
  ['/openapi.json', get],
  ['/docs', get],
  ['/problems', get],
  ['/problems/not-found', get],
  ['/robots.txt', get],
  ['/.well-known/security.txt', get],
  ['/llms.txt', get],
  ['/health/live', get],
  ['/health/ready', get],
  ['/', get],
  ['/v/AAAAAAAAAAAAAAAAAAAAAA', get],
  ['/c/AAAA.AAAA.AAAA', get],
]
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH']
const allowed = (allow: string) => allow.split(', ').sort()

suite('Conventions', () => {
  let service: Service
  let me: SignedIn
  before(async () => {
    service = await startService('sqlite')
    me = await service.signIn(freshAddress('conventions'))
  })
  after(() => service.stop())

  const bearer = () => ({ authorization: `Bearer ${me.access}` })

  for (const [path, allow] of paths) {
    test(`${path} answers every other method with 405 and Allow: ${allow}`, async () => {
      for (const method of methods.filter((name) => !allowed(allow).includes(name))) {
        const reply = await wire(service.url, path, { method, headers: freshNetwork() })
        assert.equal(reply.status, 405, method)
        assert.deepEqual(allowed(reply.headers.get('allow') ?? ''), allowed(allow), method)
        assert.ok(reply.headers.get('request-id'), method)
        if (method !== 'HEAD') assert.equal(reply.json.code, 'method-not-allowed', method)
      }
    })

    test(`${path} knows the methods that Allow names`, async () => {
      for (const method of allowed(allow)) {
        const reply = await wire(service.url, path, { method, headers: freshNetwork() })
        assert.notEqual(reply.status, 405, method)
      }
    })
  }

  const heads: [path: string, withToken: boolean][] = [
    ['/veterinarian/me', true],
    ['/veterinarian/me/export', true],
    ['/session', true],
    ['/.well-known/jwks.json', false],
    ['/.well-known/oauth-authorization-server', false],
    ['/openapi.json', false],
    ['/docs', false],
    ['/problems', false],
    ['/problems/timeout', false],
    ['/health/live', false],
    ['/health/ready', false],
    ['/', false],
    ['/assets/page.css', false],
    ['/veterinarian/me', false],
    ['/veterinarian/AAAAAAAAAAAAAAAAAAAAAA', false],
    ['/nowhere', false],
  ]
  for (const [path, withToken] of heads) {
    test(`HEAD ${path}${withToken ? ' with a token' : ''} has the status and headers of GET, and no body`, async () => {
      const network = freshNetwork()
      const headers = { ...network, ...(withToken && bearer()) }
      const whole = await wire(service.url, path, { headers })
      const head = await wire(service.url, path, {
        method: 'HEAD',
        headers: { ...headers, ...freshNetwork() },
      })
      assert.equal(head.status, whole.status)
      assert.equal(head.text, '')
      for (const name of ['content-type', 'cache-control', 'etag', 'www-authenticate', 'api-version'])
        assert.equal(head.headers.get(name), whole.headers.get(name), name)
      assert.ok(head.headers.get('request-id'))
    })
  }

  test('HEAD on a public profile has its ETag', async () => {
    const head = await service.request(`/veterinarian/${me.userId}`, { method: 'HEAD' })
    assert.equal(head.status, 200)
    assert.match(head.headers.get('etag') ?? '', /^"[^"]+"$/)
  })

  const unknown = [
    '/nowhere',
    '/veterinarian',
    '/veterinarian/',
    '/veterinarian/me/',
    '/veterinarian/me/exports',
    '/Veterinarian/me',
    '//veterinarian/me',
    '/veterinarian//me',
    '/veterinarian/register/x',
    '/student',
    '/problems/',
    '/problems/nothing-of-the-kind',
    '/problems/__proto__',
    '/problems/constructor',
    '/veterinarian/%',
    '/veterinarian/%zz',
    '/veterinarian/%c3%28',
    '/veterinarian/%00',
    '/veterinarian/%2e%2e',
    '/veterinarian/me%2fexport',
    '/%',
    '/%ff',
    '/assets/../app.ts',
    '/assets/%2e%2e/server.ts',
    '/assets/..%2fserver.ts',
    '/assets/',
    '/assets/nothing.css',
    '/docs/nothing',
    `/veterinarian/${'a'.repeat(300)}`,
    `/veterinarian/${'a'.repeat(8000)}`,
    '/mailbox',
    '/.env',
    '/package.json',
  ]
  for (const path of unknown) {
    test(`GET ${path.slice(0, 60)} is 404`, async () => {
      const reply = await wire(service.url, path, { headers: freshNetwork() })
      assert.equal(reply.status, 404)
      assert.equal(reply.json.code, 'not-found')
      assert.equal(reply.json.instance, reply.headers.get('request-id'))
      assert.equal(reply.headers.get('api-version'), '1')
    })
  }

  test('An unknown path is 404 whatever the method', async () => {
    for (const method of methods.filter((name) => name !== 'HEAD')) {
      const reply = await wire(service.url, '/nowhere', { method, headers: freshNetwork() })
      assert.equal(reply.status, 404, method)
      assert.equal(reply.json.code, 'not-found', method)
    }
  })

  for (const accept of ['*/*', 'application/json', 'text/html', 'image/png', 'nonsense', '']) {
    test(`Accept: ${accept} is served`, async () => {
      const network = freshNetwork()
      const read = await wire(service.url, '/veterinarian/me', {
        headers: { ...network, ...bearer(), accept },
      })
      assert.equal(read.status, 200)
      assert.equal(read.headers.get('content-type'), 'application/json; charset=utf-8')
      const sent = await wire(service.url, '/veterinarian/send-otp', {
        method: 'POST',
        headers: { ...network, 'content-type': 'application/json', accept },
        body: JSON.stringify({ email: freshAddress() }),
      })
      assert.equal(sent.status, 202)
    })
  }

  test('Replies without an Accept request header are served', async () => {
    assert.equal((await wire(service.url, '/veterinarian/me', { headers: bearer() })).status, 200)
  })

  const versions: [version: string | undefined, status: number][] = [
    [undefined, 200],
    ['1', 200],
    ['2', 400],
    ['0', 400],
    ['1.0', 400],
    ['latest', 400],
    ['', 400],
    ['1, 2', 400],
  ]
  for (const [version, status] of versions) {
    test(`API-Version ${version === undefined ? 'left out' : `"${version}"`} is ${status}`, async () => {
      const headers = { ...freshNetwork(), ...(version !== undefined && { 'api-version': version }) }
      for (const path of ['/health/live', '/.well-known/jwks.json', '/problems']) {
        const reply = await wire(service.url, path, { headers })
        assert.equal(reply.status, status, path)
        assert.equal(reply.headers.get('api-version'), '1', path)
        if (status === 400) assert.equal(reply.json.code, 'unsupported-version', path)
      }
    })
  }

  test('A version that is not served changes nothing', async () => {
    const email = freshAddress('versioned')
    const reply = await service.post(
      '/veterinarian/register',
      { firstname: 'Ada', lastname: 'Marsh', email },
      { 'api-version': '2' },
    )
    assert.equal(reply.status, 400)
    assert.deepEqual(await service.rows('select id from registration where email = $1', [email]), [])
    assert.deepEqual(await service.rows('select id from person where email = $1', [email]), [])
  })

  const caching: [path: string, withToken: boolean, value: string][] = [
    ['/veterinarian/me', true, 'no-store'],
    ['/veterinarian/me/export', true, 'no-store'],
    ['/session', true, 'no-store'],
    ['/veterinarian/me', false, 'no-store'],
    ['/student/me', true, 'no-store'],
    ['/nowhere', false, 'no-store'],
    ['/problems/nothing', false, 'no-store'],
    ['/veterinarian/AAAAAAAAAAAAAAAAAAAAAA', false, 'no-store'],
    ['/health/live', false, 'no-store'],
    ['/health/ready', false, 'no-store'],
  ]
  for (const [path, withToken, value] of caching) {
    test(`GET ${path}${withToken ? ' with a token' : ''} is Cache-Control: ${value}`, async () => {
      const reply = await service.request(path, { headers: withToken ? bearer() : {} })
      assert.equal(reply.headers.get('cache-control'), value)
    })
  }

  test('Replies to POST, PATCH and DELETE are Cache-Control: no-store', async () => {
    const email = freshAddress('cached')
    const signedIn = await service.signIn(email)
    const replies: Reply[] = [
      await service.register(freshAddress()),
      await service.post('/veterinarian/send-otp', { email }),
      await service.post('/veterinarian/validate-otp', { email, otp_code: 123456, sessionId: 'x' }),
      await service.post('/session/refresh', { refresh_token: signedIn.refresh }),
      await service.request('/veterinarian/me', {
        method: 'PATCH',
        token: signedIn.access,
        body: { firstname: 'Bea' },
      }),
      await service.request('/veterinarian/me', { method: 'DELETE', token: signedIn.access }),
    ]
    assert.deepEqual(
      replies.map((reply) => reply.status),
      [202, 202, 401, 200, 200, 204],
    )
    for (const reply of replies) assert.equal(reply.headers.get('cache-control'), 'no-store')
  })

  test('A reply without content has neither body nor type', async () => {
    const { access } = await service.signIn(freshAddress())
    const reply = await service.request('/session', { method: 'DELETE', token: access })
    assert.equal(reply.status, 204)
    assert.equal(reply.text, '')
    assert.equal(reply.headers.get('content-type'), null)
    assert.ok(reply.headers.get('request-id'))
    assert.equal(reply.headers.get('api-version'), '1')
  })

  test('Every reply has a Request-Id of its own, whatever the client sends', async () => {
    const ids = new Set<string>()
    for (let i = 0; i < 20; i++) {
      const reply = await service.request('/health/live', { headers: { 'request-id': 'mine' } })
      const id = reply.headers.get('request-id') ?? ''
      assert.match(id, /^[A-Za-z0-9_-]{22}$/)
      ids.add(id)
    }
    assert.equal(ids.size, 20)
  })

  test('Ids are opaque, URL-safe and carry at least 122 bits', async () => {
    for (const id of [me.userId, me.sessionId]) assert.match(id, /^[A-Za-z0-9_-]{21,}$/)
  })

  test('Every reply carries the security headers', async () => {
    for (const path of ['/veterinarian/me', '/health/live', '/nowhere', '/docs', '/problems', '/%zz']) {
      const { headers } = await wire(service.url, path, { headers: freshNetwork() })
      assert.equal(headers.get('x-content-type-options'), 'nosniff', path)
      assert.equal(headers.get('x-frame-options'), 'DENY', path)
      assert.equal(headers.get('referrer-policy'), 'no-referrer', path)
      assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'/, path)
      assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/, path)
      assert.doesNotMatch(headers.get('content-security-policy') ?? '', /unsafe/, path)
      assert.equal(headers.get('strict-transport-security'), null, path)
      assert.equal(headers.get('server'), null, path)
      assert.equal(headers.get('x-powered-by'), null, path)
    }
  })

  const kinds: [name: string, status: number, path: () => string, request?: WireRequest][] = [
    ['a route', 200, () => '/health/live'],
    ['an error', 401, () => '/veterinarian/me'],
    ['a body that cannot be read', 400, () => '/veterinarian/send-otp', { method: 'POST', body: '{' }],
    ['an unknown path', 404, () => '/nowhere'],
    ['an unknown page', 404, () => '/nowhere', { headers: { accept: 'text/html' } }],
    ['a path that cannot be decoded', 404, () => '/%zz'],
    ['another method', 405, () => '/health/live', { method: 'PUT' }],
    ['a static file', 200, () => '/assets/page.css'],
    ['HEAD', 200, () => '/assets/page.css', { method: 'HEAD' }],
    ['304', 304, () => `/veterinarian/${me.userId}`, { headers: { 'if-none-match': '*' } }],
    ['a preflight', 404, () => '/nowhere', { method: 'OPTIONS' }],
  ]
  for (const [name, status, path, request] of kinds) {
    test(`The reply to ${name} carries what every reply carries`, async () => {
      const reply = await wire(service.url, path(), {
        ...request,
        headers: { ...freshNetwork(), 'content-type': 'application/json', ...request?.headers },
      })
      assert.equal(reply.status, status)
      const common = {
        'api-version': '1',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'origin-agent-cluster': '?1',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'x-permitted-cross-domain-policies': 'none',
      }
      for (const [header, value] of Object.entries(common))
        assert.equal(reply.headers.get(header), value, header)
      assert.match(reply.headers.get('request-id') ?? '', /^[\w-]{22}$/)
      assert.match(reply.headers.get('content-security-policy') ?? '', /^default-src 'none'/)
      assert.ok(reply.headers.get('cache-control'))
    })
  }

  const pages: [path: string, type: RegExp][] = [
    ['/', /^text\/html; charset=utf-8$/],
    ['/docs', /^text\/html; charset=utf-8$/],
    ['/problems', /^text\/html; charset=utf-8$/],
    ['/assets/page.css', /^text\/css/],
    ['/assets/mark.svg', /^image\/svg\+xml/],
    ['/assets/docs.js', /javascript/],
    ['/assets/social.png', /^image\/png$/],
    ['/manifest.webmanifest', /^application\/manifest\+json/],
    ['/worker.js', /javascript/],
    ['/openapi.json', /^application\/json/],
  ]
  for (const [path, type] of pages) {
    test(`GET ${path} answers 200 as ${type.source}`, async () => {
      const reply = await service.request(path)
      assert.equal(reply.status, 200)
      assert.match(reply.headers.get('content-type') ?? '', type)
      assert.ok(reply.text.length > 50)
    })
  }

  test('/robots.txt keeps crawlers from what is personal, and lets them read the rest', async () => {
    const { headers, text } = await service.request('/robots.txt')
    assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8')
    const lines = text.trimEnd().split('\n')
    assert.equal(lines[0], 'User-agent: *')
    for (const path of ['/veterinarian/', '/student/', '/session', '/portal/', '/calendar/', '/mailbox'])
      assert.ok(lines.includes(`Disallow: ${path}`), path)
    assert.ok(lines.includes('Allow: /'))
    assert.ok(!lines.includes('Disallow: /'))
  })

  test('/.well-known/security.txt is as RFC 9116 wants it, also after a year', async () => {
    for (let round = 0; round < 2; round++) {
      const { headers, text } = await service.request('/.well-known/security.txt')
      assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8')
      const fields = new Map(
        text
          .trimEnd()
          .split('\n')
          .map((line) => line.split(': ') as [string, string]),
      )
      assert.equal(fields.get('Contact'), 'mailto:postmaster@chiron.example')
      const left = Date.parse(fields.get('Expires') ?? '') - service.clock.now()
      assert.ok(left > 30 * 86_400_000 && left < 365 * 86_400_000, `${left} ms are left`)
      assert.equal(fields.get('Preferred-Languages'), 'en, fr, es, de')
      const { port } = new URL(service.url)
      assert.equal(fields.get('Canonical'), `http://localhost:${port}/.well-known/security.txt`)
      service.clock.advance(365 * 86_400_000)
    }
    me = await service.signIn(freshAddress('conventions'))
  })

  test('/llms.txt leads to what it names', async () => {
    const { headers, text } = await service.request('/llms.txt')
    assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8')
    assert.match(text, /^# Chiron\n\n> /)
    const links = [...text.matchAll(/\]\((http[^)]+)\)/g)].map((match) => new URL(match[1]!).pathname)
    for (const path of ['/openapi.json', '/docs', '/problems']) assert.ok(links.includes(path), path)
    for (const path of links) assert.equal((await service.request(path)).status, 200, path)
    const { paths } = (await service.request('/openapi.json')).json
    for (const [, method, path] of text.matchAll(/(GET|POST|DELETE) (\/\S+)/g))
      assert.ok(paths[path!]?.[method!.toLowerCase()], `${method} ${path}`)
  })

  test('Everything a page loads is there', async () => {
    for (const page of ['/', '/docs', '/problems']) {
      const { text } = await service.request(page)
      const links = [...text.matchAll(/(?:href|src)="(\/[^"]*)"/g)].map((match) => match[1]!)
      assert.ok(links.length > 0)
      for (const link of new Set(links))
        assert.equal((await service.request(link)).status, 200, `${page} → ${link}`)
    }
  })

  test('An unsatisfiable range or condition of a static file is not a server error', async () => {
    const range = await wire(service.url, '/assets/page.css', { headers: { range: 'bytes=9999999-' } })
    assert.ok([200, 416].includes(range.status), `Range answered ${range.status}`)
    const condition = await wire(service.url, '/assets/page.css', { headers: { 'if-match': '"other"' } })
    assert.ok([200, 412].includes(condition.status), `If-Match answered ${condition.status}`)
  })
})
