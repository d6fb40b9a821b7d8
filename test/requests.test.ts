import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { type Service, startService } from './support/service.ts'
import { eventually } from './support/wait.ts'
import { rawWire, type WireRequest, wire } from './support/wire.ts'

interface Line {
  readonly msg: string
  readonly requestId: string
  readonly method: string | null
  readonly route: string | null
  readonly status: number | null
  readonly aborted?: boolean
  readonly traceId?: string
}

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentId = '00f067aa0ba902b7'

suite('The line of a request', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite')
  })
  after(() => service.stop())

  const lines = () =>
    service.log.map((line) => JSON.parse(line) as Line).filter(({ msg }) => msg === 'request')
  const lineOf = (requestId: string | null) =>
    eventually('the request is logged', async () => lines().find((line) => line.requestId === requestId))
  const ask = (path: string, request: WireRequest = {}) =>
    wire(service.url, path, { ...request, headers: { ...freshNetwork(), ...request.headers } })

  const traces: [name: string, header: string, expected: string | undefined][] = [
    ['a trace', `00-${traceId}-${parentId}-01`, traceId],
    ['a trace of a later version', `cc-${traceId}-${parentId}-01-more`, traceId],
    ['more than version 00 has', `00-${traceId}-${parentId}-01-more`, undefined],
    ['the version that is none', `ff-${traceId}-${parentId}-01`, undefined],
    ['a trace of zeros', `00-${'0'.repeat(32)}-${parentId}-01`, undefined],
    ['a parent of zeros', `00-${traceId}-${'0'.repeat(16)}-01`, undefined],
    ['capitals', `00-${traceId.toUpperCase()}-${parentId}-01`, undefined],
    ['anything else', '","status":200,"x":"', undefined],
  ]
  for (const [name, header, expected] of traces) {
    test(`With ${name} in traceparent it ${expected ? 'has the trace' : 'has none'}`, async () => {
      const reply = await ask('/health/live', { headers: { traceparent: header } })
      assert.equal(reply.status, 200)
      assert.equal((await lineOf(reply.headers.get('request-id'))).traceId, expected)
    })
  }

  const refused: [name: string, bytes: string, method: string | null, status: number][] = [
    ['garbage', 'garbage\r\n\r\n', null, 400],
    ['too many headers', `GET / HTTP/1.1\r\nHost: x\r\nX-Filler: ${'x'.repeat(17_000)}\r\n\r\n`, null, 431],
    ['an unknown Expect', 'GET /health/live HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n', 'GET', 400],
    ['an unreadable path', 'GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 'GET', 404],
  ]
  for (const [name, bytes, method, status] of refused) {
    test(`A request with ${name} has one, too`, async () => {
      const reply = await rawWire(service.url, bytes)
      assert.equal(reply.status, status)
      const line = await lineOf(reply.headers.get('request-id'))
      assert.deepEqual([line.method, line.route, line.status], [method, null, status])
    })
  }

  test('A head that breaks off is answered and logged', async () => {
    const before = lines().length
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname, () => socket.end('GET / HTTP/1.1\r\nHos'))
    const text = Buffer.concat(await socket.toArray()).toString()
    assert.match(text, /^HTTP\/1\.1 400 /)
    const line = await eventually('it is logged', async () => lines()[before])
    assert.equal(line.status, 400)
    assert.ok(text.includes(`Request-Id: ${line.requestId}`))
  })

  const register = 'POST /veterinarian/register HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'

  test('A body that never arrives is logged once, as the 408 that was sent', async () => {
    const { server } = service.app.parts.server.app
    const usual = { headersTimeout: server.headersTimeout, requestTimeout: server.requestTimeout }
    Object.assign(server, { headersTimeout: 200, requestTimeout: 200 })
    const before = lines().length
    const reply = await rawWire(service.url, `${register}Content-Length: 50\r\n\r\n{`)
    Object.assign(server, usual)
    assert.equal(reply.status, 408)
    const line = await lineOf(reply.headers.get('request-id'))
    assert.deepEqual([line.route, line.status, line.aborted], ['/veterinarian/register', 408, undefined])
    assert.equal(lines().length, before + 1)
  })

  test('A body that is broken is logged as the 400 that was sent', async () => {
    const reply = await rawWire(service.url, `${register}Transfer-Encoding: chunked\r\n\r\nzz\r\n`)
    assert.equal(reply.status, 400)
    const line = await lineOf(reply.headers.get('request-id'))
    assert.deepEqual([line.route, line.status], ['/veterinarian/register', 400])
  })

  test('A client that goes away in the midst of its body is logged without a status', async () => {
    for (const leave of ['destroy', 'resetAndDestroy'] as const) {
      const before = lines().length
      const { hostname, port } = new URL(service.url)
      const socket = connect(Number(port), hostname, () =>
        socket.write(`${register}Content-Length: 50\r\n\r\n{`),
      )
      await once(service.app.parts.server.app.server, 'request')
      socket[leave]()
      const line = await eventually('it is logged', async () => lines()[before])
      assert.deepEqual([line.status, line.aborted], [null, true], leave)
    }
  })

  test('A client that goes away before the reply is logged without a status', async () => {
    const before = lines().length
    const { db } = service.app.parts
    const { one } = db
    const waiting: (() => void)[] = []
    db.one = ((sql, params) =>
      new Promise((resolve) => waiting.push(() => resolve(one(sql, params))))) as typeof one
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname, () =>
      socket.write('GET /health/ready HTTP/1.1\r\nHost: x\r\n\r\n'),
    )
    await once(service.app.parts.server.app.server, 'request')
    socket.destroy()
    const line = await eventually('it is logged', async () => lines()[before])
    for (const answer of waiting) answer()
    db.one = one
    assert.deepEqual([line.route, line.status, line.aborted], ['/health/ready', null, true])
  })
})

suite('Requests', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite')
  })
  after(() => service.stop())

  test('Two Host headers are 400, alike or not', async () => {
    for (const second of ['x', 'y']) {
      const bytes = `GET /health/live HTTP/1.1\r\nHost: x\r\nhOST: ${second}\r\nConnection: close\r\n\r\n`
      const reply = await rawWire(service.url, bytes)
      assert.equal(reply.status, 400)
      assert.equal(reply.json.code, 'invalid-request')
    }
  })

  const body = () => JSON.stringify({ firstname: 'Ada', lastname: 'Marsh', email: freshAddress() })
  const post = (encoding: string, chunked = false) =>
    wire(service.url, '/veterinarian/register', {
      method: 'POST',
      headers: { ...freshNetwork(), 'content-type': 'application/json', 'content-encoding': encoding },
      body: body(),
      chunked,
    })

  for (const encoding of ['gzip', 'br', 'x-own', 'identity, gzip', '']) {
    test(`A body with Content-Encoding: ${encoding} is 415, and told what is accepted`, async () => {
      for (const chunked of [false, true]) {
        const reply = await post(encoding, chunked)
        assert.equal(reply.status, 415)
        assert.equal(reply.json.code, 'unsupported-media-type')
        assert.equal(reply.headers.get('accept'), 'application/json')
        assert.equal(reply.headers.get('accept-encoding'), 'identity')
      }
    })
  }

  test('Content-Encoding: identity is no encoding, and without a body there is nothing to decode', async () => {
    assert.equal((await post('Identity')).status, 202)
    const reply = await wire(service.url, '/health/live', { headers: { 'content-encoding': 'gzip' } })
    assert.equal(reply.status, 200)
  })

  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  const pages: [accept: string, page: boolean][] = [
    [browser, true],
    ['text/html', true],
    ['text/html, */*', true],
    ['Text/HTML;q=0.9, application/json;q=0.5', true],
    ['*/*', false],
    ['', false],
    ['application/json', false],
    ['text/html, application/json', false],
    ['text/html;q=0.5, application/problem+json', false],
    ['text/html;q=0.5, */*', false],
    ['text/html;q=0', false],
    ['text/plain', false],
  ]
  for (const [accept, page] of pages) {
    test(`An unknown path asked for as "${accept}" is 404 as ${page ? 'a page' : 'a problem'}`, async () => {
      for (const path of ['/nowhere', '/%zz', '/problems/nothing', '/veterinarian']) {
        const reply = await wire(service.url, path, { headers: { ...freshNetwork(), accept } })
        assert.equal(reply.status, 404, path)
        const type = page ? /^text\/html/ : /^application\/problem\+json/
        assert.match(reply.headers.get('content-type') ?? '', type, path)
        assert.equal(reply.headers.get('cache-control'), 'no-store')
        if (page) assert.match(reply.text, /<h1>Page not found<\/h1>/)
        if (page) assert.match(reply.headers.get('content-security-policy') ?? '', /style-src 'self'/)
      }
    })
  }

  test('The page of an unknown path is in the reader’s language', async () => {
    const languages: [accept: string, language: string, heading: string][] = [
      ['fr-CA, en;q=0.5', 'fr', 'Page introuvable'],
      ['es', 'es', 'Página no encontrada'],
      ['de-AT,de;q=0.9', 'de', 'Seite nicht gefunden'],
      ['it', 'en', 'Page not found'],
    ]
    for (const [wish, language, heading] of languages) {
      const headers = { ...freshNetwork(), accept: browser, 'accept-language': wish }
      const { text } = await wire(service.url, '/nowhere', { headers })
      assert.match(text, new RegExp(`<html lang="${language}">[^]*<h1>${heading}</h1>`), wish)
    }
  })

  test('A browser that calls the interface still gets problems', async () => {
    const headers = () => ({ ...freshNetwork(), accept: browser })
    const asked = await wire(service.url, '/veterinarian/AAAAAAAAAAAAAAAAAAAAAA', { headers: headers() })
    const sent = await wire(service.url, '/nowhere', { method: 'POST', headers: headers() })
    for (const reply of [asked, sent]) assert.equal(reply.json.code, 'not-found')
    const head = await wire(service.url, '/nowhere', { method: 'HEAD', headers: headers() })
    assert.match(head.headers.get('content-type') ?? '', /^text\/html/)
  })
})
