/** The portal's own calls: the refresh token is in a cookie, for the portal's pages only. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { day, second } from '../src/platform/lib/clock.ts'
import { engines, inBrowser } from './support/engines.ts'
import { freshAddress, freshNetwork, repeat } from './support/fresh.ts'
import { cookieOf, type PortalCall, portalCall, setCookie, signInByPortal } from './support/portal.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import { bulk, newSchool } from './support/roster-school.ts'
import { rosterOf, studentCode } from './support/roster-world.ts'
import { outcome, type Reply, type Service, startService } from './support/service.ts'
import { eventually } from './support/wait.ts'
import { wire } from './support/wire.ts'

const ended = [401, 'session-ended']
const name = 'chiron_refresh'
const cleared = { name, value: '' }
const clears = (reply: Reply) => {
  const { attributes, ...rest } = setCookie(reply)!
  assert.deepEqual(rest, cleared)
  assert.deepEqual(attributes, { 'max-age': '0', path: '/', httponly: true, samesite: 'Strict' })
}

for (const engine of engines) {
  suite(`The portal on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const signIn = () => signInByPortal(service, freshAddress('portal'))
    const refresh = (cookie?: string, call: PortalCall = {}) =>
      portalCall(service, '/refresh', { ...(cookie !== undefined && { cookie }), ...call })
    const signOut = (cookie?: string) =>
      portalCall(service, '/sign-out', cookie === undefined ? {} : { cookie })
    const me = (token: string) => service.request('/veterinarian/me', { token })
    const endReason = async (sessionId: string) =>
      (
        await service.rows<{ end_reason: string }>('select end_reason from session where id = $1', [
          sessionId,
        ])
      )
        .map((row) => row.end_reason)
        .join()

    test('A veterinarian who signs in gets the refresh token in a cookie, and not in the body', async () => {
      const { reply, access } = await signIn()
      assert.equal(reply.status, 200)
      assert.equal(reply.headers.get('cache-control'), 'no-store')
      const { user, access_token, ...rest } = reply.json
      assert.deepEqual(rest, { token_type: 'Bearer', expires_in: 900 })
      assert.deepEqual(user, (await me(access)).json)
      const { name: given, value, attributes } = setCookie(reply)!
      assert.equal(given, name)
      assert.deepEqual(attributes, {
        'max-age': String(30 * 24 * 60 * 60),
        path: '/',
        httponly: true,
        samesite: 'Strict',
      })
      assert.ok(!reply.text.includes(value))
      assert.equal((await service.post('/session/refresh', { refresh_token: value })).status, 200)
    })

    test('A student signs in the same way', async () => {
      await rosterOf(service).import(bulk(newSchool(1)))
      const email = 'stu-1@school.example'
      const { sessionId, code } = await studentCode(service, email)
      const body = { email, otp_code: code, sessionId }
      assert.deepEqual(outcome(await portalCall(service, '/veterinarian/validate-otp', { body })), [
        401,
        'otp-unusable',
      ])
      const reply = await portalCall(service, '/student/validate-otp', { body })
      assert.equal(reply.status, 200)
      assert.equal(reply.json.refresh_token, undefined)
      const renewed = await refresh(cookieOf(reply))
      assert.deepEqual(renewed.json.user, reply.json.user)
      const profile = await service.request('/student/me', { token: renewed.json.access_token })
      assert.deepEqual(profile.json, reply.json.user)
    })

    test('A wrong code is refused as elsewhere, and sets no cookie', async () => {
      const email = freshAddress('wrong')
      await service.register(email)
      const { sessionId, code } = await service.code(email, freshNetwork())
      const body = { email, otp_code: code === 100_000 ? 100_001 : 100_000, sessionId }
      const reply = await portalCall(service, '/veterinarian/validate-otp', { body })
      assert.deepEqual([...outcome(reply), reply.json.attemptsLeft], [401, 'otp-incorrect', 4])
      assert.equal(reply.headers.get('www-authenticate'), 'OTP')
      assert.equal(setCookie(reply), undefined)
      const malformed = await portalCall(service, '/veterinarian/validate-otp', {
        body: { ...body, otp_code: String(code) },
      })
      assert.deepEqual(outcome(malformed), [400, 'invalid-request'])
    })

    test('On a shared computer the cookie ends with the browser, and no device token stays', async () => {
      const lasting = { path: '/', httponly: true, samesite: 'Strict' }
      const { reply, cookie } = await signInByPortal(service, freshAddress('shared'), {
        cookie: 'chiron_device=old; chiron_shared=1',
      })
      assert.deepEqual(setCookie(reply)!.attributes, lasting)
      const { value, attributes } = setCookie(reply, 'device')!
      assert.deepEqual([value, attributes['max-age']], ['', '0'])
      const renewed = await refresh(`${cookie}; chiron_shared=1`)
      assert.deepEqual(setCookie(renewed)!.attributes, lasting)
      const unmarked = await refresh(`${cookieOf(renewed)}; chiron_shared=0`)
      assert.equal(setCookie(unmarked)!.attributes['max-age'], String(30 * 24 * 60 * 60))
    })

    test('A refresh gives a new access token and another cookie, which works', async () => {
      const first = await signIn()
      const renewed = await refresh(first.cookie)
      assert.equal(renewed.status, 200)
      assert.equal(renewed.headers.get('cache-control'), 'no-store')
      assert.deepEqual(Object.keys(renewed.json).sort(), Object.keys(first.reply.json).sort())
      assert.notEqual(renewed.json.access_token, first.access)
      assert.notEqual(cookieOf(renewed), first.cookie)
      assert.ok(!renewed.text.includes(setCookie(renewed)!.value))
      assert.equal((await me(renewed.json.access_token)).status, 200)
      assert.equal((await refresh(cookieOf(renewed))).status, 200)
    })

    test('The cookie lives as long as the refresh token, to the 90th day', async () => {
      let { cookie } = await signIn()
      for (const [pauseDays, lifeDays] of [
        [29, 30],
        [29, 30],
        [27, 5],
      ] as const) {
        service.clock.advance(pauseDays * day)
        const reply = await refresh(cookie)
        assert.equal(setCookie(reply)!.attributes['max-age'], String((lifeDays * day) / second))
        cookie = cookieOf(reply)
      }
      service.clock.advance(5 * day)
      const late = await refresh(cookie)
      assert.deepEqual(outcome(late), ended)
      clears(late)
    })

    test('Tabs that refresh at once all succeed, with one new cookie', async () => {
      const { cookie } = await signIn()
      const replies = await repeat(20, () => refresh(cookie))
      assert.deepEqual([...new Set(replies.map((reply) => reply.status))], [200])
      assert.equal(new Set(replies.map((reply) => cookieOf(reply))).size, 1)
      assert.equal((await refresh(cookieOf(replies[0]!))).status, 200)
    })

    test('A cookie used again after its child was used ends the session and is cleared', async () => {
      const { cookie, sessionId, access } = await signIn()
      const child = cookieOf(await refresh(cookie))
      const grandchild = cookieOf(await refresh(child))
      const reused = await refresh(cookie)
      assert.deepEqual(outcome(reused), ended)
      clears(reused)
      assert.equal(await endReason(sessionId), 'reuse')
      assert.deepEqual(outcome(await refresh(grandchild)), ended)
      assert.deepEqual(outcome(await me(access)), ended)
    })

    test('A forged cookie is 401 and cleared, and ends nothing', async () => {
      const { cookie } = await signIn()
      for (const forged of [`${cookie}A`, `${name}=x`, `${name}="${cookie.slice(name.length + 1)}"`]) {
        const reply = await refresh(forged)
        assert.deepEqual(outcome(reply), [401, 'invalid-token'], forged)
        clears(reply)
      }
      assert.equal((await refresh(cookie)).status, 200)
    })

    test('Without a cookie, or with one of another name, a refresh is 401 and sets none', async () => {
      const { cookie } = await signIn()
      for (const other of [undefined, '', `${name}=`, `x${cookie}`, `__Host-${cookie}`, 'a=b; c', name]) {
        const reply = await refresh(other)
        assert.deepEqual(outcome(reply), [401, 'unauthenticated'], `${other}`)
        assert.equal(setCookie(reply), undefined)
      }
      const value = cookie.slice(name.length + 1)
      const elsewhere = [
        { body: { refresh_token: value } },
        { headers: { authorization: `Bearer ${value}` } },
      ]
      for (const call of elsewhere)
        assert.deepEqual(outcome(await refresh(undefined, call)), [401, 'unauthenticated'])
    })

    test('The cookie is found among others', async () => {
      const { cookie } = await signIn()
      assert.equal((await refresh(`theme=dark; ${cookie};other="a b"`)).status, 200)
    })

    test('Of two cookies of the name none counts, and signing out ends both sessions', async () => {
      const [one, two] = [await signIn(), await signIn()]
      const both = `${one.cookie}; ${two.cookie}`
      assert.deepEqual(outcome(await refresh(both)), [401, 'unauthenticated'])
      assert.equal((await signOut(both)).status, 204)
      for (const { access } of [one, two]) assert.deepEqual(outcome(await me(access)), ended)
    })

    test('Signing out ends the session of the cookie and clears it, as often as asked', async () => {
      const email = freshAddress('out')
      const here = await signInByPortal(service, email)
      const there = await signInByPortal(service, email)
      const newest = cookieOf(await refresh(here.cookie))
      for (const cookie of [here.cookie, newest, undefined, `${name}=forged`]) {
        const reply = await signOut(cookie)
        assert.deepEqual([reply.status, reply.text], [204, ''])
        clears(reply)
      }
      assert.equal(await endReason(here.sessionId), 'signed-out')
      assert.deepEqual(outcome(await me(here.access)), ended)
      const late = await refresh(newest)
      assert.deepEqual(outcome(late), ended)
      clears(late)
      assert.equal((await me(there.access)).status, 200)
    })

    test('A cookie is left alone while the store is out of reach', async () => {
      const { cookie } = await signIn()
      const { db } = service.app.parts
      const { one } = db
      db.one = async () => {
        throw new Error('gone')
      }
      const [refreshed, signedOut] = [await refresh(cookie), await signOut(cookie)]
      db.one = one
      assert.deepEqual([refreshed.status, signedOut.status], [500, 500])
      for (const reply of [refreshed, signedOut]) assert.equal(setCookie(reply), undefined)
      assert.equal((await refresh(cookie)).status, 200)
    })
  })
}

suite('The portal’s pages', () => {
  let service: Service
  let port: string
  before(async () => {
    service = await startService('sqlite')
    port = new URL(service.url).port
  })
  after(() => service.stop())

  const paths = ['/veterinarian/validate-otp', '/student/validate-otp', '/refresh', '/sign-out']
  const statusesFrom = async (headers: Record<string, string>, one = service) => {
    const { cookie } = await signInByPortal(one, freshAddress('page'))
    const replies = []
    for (const path of paths) {
      const body = path.endsWith('otp') ? { email: 'a@b.example', otp_code: 123_456, sessionId: 'x' } : {}
      replies.push(await portalCall(one, path, { cookie, body, headers }))
    }
    return replies.map((reply) => `${reply.status} ${reply.json?.code ?? ''}`.trim())
  }
  const served = ['401 otp-unusable', '401 otp-unusable', '200', '204']
  const refused = Array(4).fill('403 forbidden')

  const own: [name: string, headers: (port: string) => Record<string, string>][] = [
    ['of the public URL', (p) => ({ origin: `http://localhost:${p}`, 'sec-fetch-site': 'same-origin' })],
    ['of the public URL through a proxy', (p) => ({ origin: `http://localhost:${p}`, host: 'inside:8080' })],
    ['of 127.0.0.1 under that name', (p) => ({ origin: `http://127.0.0.1:${p}`, host: `127.0.0.1:${p}` })],
    ['of [::1] under that name', (p) => ({ origin: `http://[::1]:${p}`, host: `[::1]:${p}` })],
    ['of which a browser says same-origin', () => ({ 'sec-fetch-site': 'same-origin' })],
    ['of which nothing is said', () => ({})],
  ]
  for (const [which, headers] of own) {
    test(`Pages ${which} are served`, async () => {
      assert.deepEqual(await statusesFrom(headers(port)), served)
    })
  }

  const foreign: [name: string, headers: (port: string) => Record<string, string>][] = [
    ['of another site', () => ({ origin: 'https://evil.example' })],
    ['of another port', () => ({ origin: 'http://localhost:1' })],
    ['of another scheme', (p) => ({ origin: `https://localhost:${p}` })],
    ['of no origin', () => ({ origin: 'null' })],
    ['of an empty origin', () => ({ origin: '' })],
    ['of a name that begins alike', (p) => ({ origin: `http://localhost:${p}.evil.example` })],
    [
      'of a name that was made to lead here',
      (p) => ({
        origin: `http://evil.example:${p}`,
        host: `evil.example:${p}`,
        'sec-fetch-site': 'same-origin',
      }),
    ],
    ['of 127.0.0.1 under another name', (p) => ({ origin: `http://127.0.0.1:${p}`, host: `localhost:${p}` })],
    ['of the same site', () => ({ 'sec-fetch-site': 'same-site' })],
    ['of another site, by the browser’s word', () => ({ 'sec-fetch-site': 'cross-site' })],
    ['of nowhere', () => ({ 'sec-fetch-site': 'none' })],
    [
      'of another site that claim the origin',
      (p) => ({ origin: `http://localhost:${p}`, 'sec-fetch-site': 'cross-site' }),
    ],
  ]
  for (const [which, headers] of foreign) {
    test(`Pages ${which} are refused`, async () => {
      assert.deepEqual(await statusesFrom(headers(port)), refused)
    })
  }

  test('A refused call sets no cookie and ends nothing', async () => {
    const { cookie, access } = await signInByPortal(service, freshAddress('kept'))
    for (const path of paths) {
      const headers = { origin: 'https://evil.example' }
      assert.equal(setCookie(await portalCall(service, path, { cookie, headers })), undefined)
    }
    assert.equal((await service.request('/veterinarian/me', { token: access })).status, 200)
    assert.equal((await portalCall(service, '/refresh', { cookie })).status, 200)
  })

  test('On https the cookie is Secure by name and by attribute, and no other name counts', async () => {
    const origin = 'https://access.school.example'
    const secure = await startService('sqlite', {
      env: { CHIRON_PUBLIC_URL: origin, CHIRON_CORS_ORIGINS: 'https://front.school.example' },
    })
    try {
      const { reply, cookie } = await signInByPortal(secure, freshAddress('https'), { origin })
      const { name: given, attributes } = setCookie(reply)!
      assert.equal(given, `__Host-${name}`)
      assert.deepEqual(attributes, {
        'max-age': String((30 * day) / second),
        path: '/',
        httponly: true,
        samesite: 'Strict',
        secure: true,
      })
      const plain = await portalCall(secure, '/refresh', { cookie: cookie.replace('__Host-', '') })
      assert.deepEqual(outcome(plain), [401, 'unauthenticated'])
      for (const mark of ['chiron_shared=1', '__Host-chiron_shared=1']) {
        const { reply } = await signInByPortal(secure, freshAddress('https'), { origin, cookie: mark })
        assert.equal('max-age' in setCookie(reply)!.attributes, mark.startsWith('chiron'), mark)
      }
      const out = setCookie(await portalCall(secure, '/sign-out', { cookie }))!
      assert.deepEqual([out.name, out.value, out.attributes.secure], [given, '', true])
      const others: Record<string, string>[] = [
        { origin: 'http://access.school.example', host: 'access.school.example' },
        { origin: 'http://localhost:3000', host: 'localhost:3000' },
        { origin: 'https://front.school.example' },
      ]
      for (const headers of others) assert.deepEqual(await statusesFrom(headers, secure), refused)
    } finally {
      await secure.stop()
    }
  })

  test('Bodies that a form could send are refused', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      for (const path of paths) {
        const headers = { ...freshNetwork(), 'content-type': type }
        const reply = await wire(service.url, `/portal${path}`, { method: 'POST', headers, body: 'a=b' })
        assert.equal(reply.status, 415, `${path} ${type}`)
      }
    }
  })

  test('Refreshing and signing out count against the network, answers as validations, refusals too', async () => {
    const headers = freshNetwork()
    const rate = (reply: Reply) => reply.headers.get('ratelimit')
    const body = { email: 'a@b.example', otp_code: 123_456, sessionId: 'x' }
    const call = (path: string, more: PortalCall = {}) =>
      portalCall(service, path, { ...more, headers: { ...headers, ...more.headers } })
    const evil = { origin: 'https://evil.example' }
    assert.match(rate(await call('/refresh'))!, /^"network";r=1999;/)
    assert.match(rate(await call('/sign-out'))!, /^"network";r=1998;/)
    assert.match(rate(await call('/refresh', { headers: evil }))!, /^"network";r=1997;/)
    assert.match(rate(await call('/student/validate-otp', { body, headers: evil }))!, /^"network";r=1996;/)
    const answered = rate(await call('/veterinarian/validate-otp', { body }))
    assert.match(answered!, /^"validate-otp";r=1199;/)
    assert.equal(rate(await service.post('/student/validate-otp', body, headers))?.split(';')[1], 'r=1198')
  })
})

suite('The portal in a browser', inBrowser, () => {
  let service: Service
  let browser: Browser
  let port: string
  portalOfSuite((parts) => {
    ;({ service, browser } = parts)
    port = new URL(service.url).port
  })

  const post = (page: Page, url: string, init: object = {}) =>
    page.evaluate<[status: number, body: Record<string, unknown> | null]>(
      `fetch(${JSON.stringify(url)}, ${JSON.stringify({ method: 'POST', ...init })})
        .then(async (reply) => [reply.status, reply.ok && reply.status !== 204 ? await reply.json() : null])`,
    )
  const statusOf = async (page: Page, url: string) => (await post(page, url))[0]

  async function signedIn(page: Page, host: string): Promise<string> {
    await page.goto(`http://${host}:${port}/problems`)
    const email = freshAddress('browser')
    await service.register(email)
    const { sessionId, code } = await service.code(email, freshNetwork())
    const [status, body] = await post(page, '/portal/veterinarian/validate-otp', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, otp_code: code, sessionId }),
    })
    assert.equal(status, 200)
    return body!.access_token as string
  }

  for (const host of ['localhost', '127.0.0.1']) {
    test(`At ${host} a session outlives the page, no script sees its cookie, and signing out ends it`, async () => {
      const context = await browser.newContext()
      const [page, second] = [await context.newPage(), await context.newPage()]
      await signedIn(page, host)
      assert.equal(await page.evaluate('document.cookie'), '')
      await page.reload()
      await second.goto(page.url())
      const both = await Promise.all([page, second].map((tab) => statusOf(tab, '/portal/refresh')))
      assert.deepEqual(both, [200, 200])
      assert.equal(await statusOf(second, '/portal/sign-out'), 204)
      assert.equal(await statusOf(page, '/portal/refresh'), 401)
      const left = await context.cookies()
      assert.deepEqual(
        left.map((cookie) => cookie.name),
        ['chiron_device'],
      )
      await context.close()
    })
  }

  test('A page of the same site but another origin has the cookie sent and is refused', async () => {
    const page = await browser.newPage()
    const access = await signedIn(page, 'localhost')
    const neighbour = createServer((_request, reply) =>
      reply.setHeader('content-type', 'text/html').end('hello'),
    )
    await new Promise<void>((resolve) => neighbour.listen(0, '127.0.0.1', resolve))
    try {
      await page.goto(`http://localhost:${(neighbour.address() as AddressInfo).port}/`)
      const asked = once(service.app.parts.server.app.server, 'request')
      const init = { method: 'POST', mode: 'no-cors', credentials: 'include' }
      await page.evaluate(`void fetch('http://localhost:${port}/portal/sign-out', ${JSON.stringify(init)})`)
      const [request] = (await asked) as [IncomingMessage]
      assert.match(request.headers.cookie ?? '', /\bchiron_refresh=/)
      await eventually('the refusal in the log', () =>
        service.log.some((line) => line.includes('"route":"/portal/sign-out","status":403')),
      )
      assert.equal((await service.request('/veterinarian/me', { token: access })).status, 200)
    } finally {
      neighbour.close()
      await page.context().close()
    }
  })
})
