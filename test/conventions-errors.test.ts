import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { after, before, suite, test } from 'node:test'
import { type ErrorCode, errorKinds } from '../src/errors.ts'
import { Authenticator } from './support/authenticator.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { addOptions, addPasskey, ok, passkeySignIn } from './support/passkeys.ts'
import { bulk, newSchool } from './support/roster-school.ts'
import { rosterOf } from './support/roster-world.ts'
import { type Reply, type Service, type SignedIn, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'
import { apply, upload, zipOf } from './support/uploads.ts'
import { rawWire, wire } from './support/wire.ts'

const codes = Object.keys(errorKinds) as ErrorCode[]
const contract: Record<number, string[]> = {
  400: ['invalid-request', 'malformed-json', 'unsupported-version'],
  401: [
    'unauthenticated',
    'invalid-token',
    'session-ended',
    'otp-incorrect',
    'otp-unusable',
    'passkey-unusable',
  ],
  403: ['forbidden', 'recent-sign-in-required'],
  404: ['not-found'],
  405: ['method-not-allowed'],
  408: ['timeout'],
  409: ['conflict', 'passkey-exists', 'roster-moved-on'],
  413: ['body-too-large'],
  415: ['unsupported-media-type'],
  429: ['too-many-requests'],
  431: ['headers-too-large'],
  500: ['internal-error'],
  503: ['unavailable'],
}
const more: Record<string, string[]> = {
  'passkey-unusable': ['known'],
  'recent-sign-in-required': ['within', 'methods'],
}
const publicUrl = 'https://access.school.example'
const internals = /\bat .*:\d+|node_modules|\.ts\b|\/src\/|select |insert |sqlite|postgres|stack|ECONN|FST_/i

function isProblem(reply: Reply, code: string): void {
  assert.equal(reply.json?.code, code, reply.text)
  const { status, title } = errorKinds[code as ErrorCode]
  assert.equal(reply.status, status)
  assert.match(reply.headers.get('content-type') ?? '', /^application\/problem\+json(;|$)/)
  assert.equal(reply.json.status, status)
  assert.equal(reply.json.title, title)
  assert.equal(reply.json.type, `${publicUrl}/problems/${code}`)
  assert.equal(reply.json.instance, reply.headers.get('request-id'))
  assert.ok(typeof reply.json.detail === 'string' && reply.json.detail.length > 0)
  assert.equal(reply.headers.get('api-version'), '1')
  assert.equal(reply.headers.get('cache-control'), 'no-store')
  assert.doesNotMatch(reply.text.replace(reply.json.type, '').replace(reply.json.instance, ''), internals)
  const known = [
    'type',
    'title',
    'status',
    'detail',
    'instance',
    'code',
    'errors',
    'attemptsLeft',
    ...(more[code] ?? []),
  ]
  assert.deepEqual(
    Object.keys(reply.json).filter((name) => !known.includes(name)),
    [],
  )
  assert.equal('errors' in reply.json, Array.isArray(reply.json.errors))
  assert.equal('attemptsLeft' in reply.json, code === 'otp-incorrect')
}

suite('Errors', () => {
  let service: Service
  let me: SignedIn
  const email = freshAddress('errors')
  before(async () => {
    service = await startService('sqlite', { env: { CHIRON_PUBLIC_URL: publicUrl } })
    me = await service.signIn(email)
  })
  after(() => service.stop())

  const signedOut = async () => {
    const { access } = await service.signIn(freshAddress())
    assert.equal((await service.request('/session', { method: 'DELETE', token: access })).status, 204)
    return access
  }

  const provoked: Record<string, () => Promise<Reply>> = {
    'invalid-request': () => service.post('/veterinarian/register', {}),
    'malformed-json': () => service.post('/veterinarian/register', '{'),
    'unsupported-version': () => service.request('/health/live', { headers: { 'api-version': '7' } }),
    unauthenticated: () => service.request('/veterinarian/me'),
    'invalid-token': () => service.request('/veterinarian/me', { token: 'abc' }),
    'session-ended': async () => service.request('/veterinarian/me', { token: await signedOut() }),
    'otp-incorrect': async () => {
      const { sessionId, code } = await service.code(email)
      return service.post('/veterinarian/validate-otp', {
        email,
        sessionId,
        otp_code: code === 100000 ? 100001 : code - 1,
      })
    },
    'otp-unusable': () =>
      service.post('/veterinarian/validate-otp', { email, sessionId: 'x', otp_code: 123456 }),
    'passkey-unusable': () => {
      const device = new Authenticator(publicUrl)
      device.create({ challenge: '', rp: { id: 'x' }, user: { id: 'x' } })
      return passkeySignIn(service, device)
    },
    forbidden: () => service.request('/student/me', { token: me.access }),
    'recent-sign-in-required': async () => {
      const { access } = await service.signIn(freshAddress())
      service.clock.advance(11 * 60_000)
      return service.request('/veterinarian/me', { method: 'DELETE', token: access })
    },
    'not-found': () => service.request('/nowhere'),
    conflict: async () => {
      const { access: token, userId } = await newStaff(service, 'admin')
      return service.request(`/staff/members/${userId}`, { method: 'DELETE', token })
    },
    'passkey-exists': async () => {
      const { access: token } = await service.signIn(freshAddress())
      const device = new Authenticator(publicUrl)
      ok(await addPasskey(service, token, device), 201)
      const credential = device.createAgain(device.credentials[0]!, await addOptions(service, token))
      return service.request('/passkey', { method: 'POST', token, body: { credential } })
    },
    'roster-moved-on': async () => {
      const { access } = await newStaff(service, 'registrar')
      const plan = await upload(service, access, await zipOf(newSchool(2)))
      await rosterOf(service).import(bulk(newSchool(3)))
      return apply(service, access, plan.json.planId)
    },
    'method-not-allowed': () => service.request('/veterinarian/register'),
    timeout: async () => {
      const { server } = service.app.parts.server.app
      const usual = { headersTimeout: server.headersTimeout, requestTimeout: server.requestTimeout }
      Object.assign(server, { headersTimeout: 200, requestTimeout: 200 })
      const reply = await rawWire(service.url, 'GET /health/live HTTP/1.1\r\nHost: x\r\n')
      Object.assign(server, usual)
      return reply
    },
    'body-too-large': () => service.post('/veterinarian/register', { firstname: 'a'.repeat(17_000) }),
    'unsupported-media-type': () =>
      service.request('/veterinarian/register', { body: '{}', headers: { 'content-type': 'text/plain' } }),
    'too-many-requests': async () => {
      const { json } = await service.post('/veterinarian/send-otp', { email: freshAddress() }, freshNetwork())
      const again = freshAddress()
      const first = await service.post('/veterinarian/send-otp', { email: again }, freshNetwork())
      assert.ok(json.sessionId)
      return service.post('/veterinarian/send-otp', { email: again, sessionId: first.json.sessionId })
    },
    'headers-too-large': () =>
      rawWire(service.url, `GET / HTTP/1.1\r\nHost: x\r\nX-Filler: ${'x'.repeat(17_000)}\r\n\r\n`),
    'internal-error': async () => {
      const { veterinarians } = service.app.parts
      const original = veterinarians.publicProfile
      veterinarians.publicProfile = async () => {
        throw new Error('select * from person at /srv/chiron/src/secret.ts:12')
      }
      const reply = await service.request(`/veterinarian/${me.userId}`)
      veterinarians.publicProfile = original
      return reply
    },
    unavailable: async () => {
      const { db } = service.app.parts
      const original = db.one
      db.one = async () => {
        throw new Error('connect ECONNREFUSED 10.0.0.1:5432')
      }
      const reply = await service.request('/health/ready')
      db.one = original
      return reply
    },
  }

  test('The codes are those of the contract', () => {
    const ours: Record<number, string[]> = {}
    for (const code of codes) {
      const { status } = errorKinds[code]
      ours[status] = [...(ours[status] ?? []), code]
    }
    assert.deepEqual(ours, contract)
  })

  for (const code of codes) {
    test(`${code} can be provoked, is application/problem+json and shows nothing internal`, async () => {
      const provoke = provoked[code]
      assert.ok(provoke, `nothing provokes ${code}`)
      isProblem(await provoke(), code)
    })
  }

  const challenges: [code: string, header: string | null][] = [
    ['unauthenticated', 'Bearer'],
    ['invalid-token', 'Bearer error="invalid_token"'],
    ['session-ended', 'Bearer error="invalid_token"'],
    ['otp-incorrect', 'OTP'],
    ['otp-unusable', 'OTP'],
    ['passkey-unusable', 'Passkey'],
    ['forbidden', 'Bearer error="insufficient_scope"'],
    ['recent-sign-in-required', null],
    ['not-found', null],
  ]
  for (const [code, header] of challenges) {
    test(`${code} has ${header ? `WWW-Authenticate: ${header}` : 'no WWW-Authenticate'}`, async () => {
      me = await service.signIn(freshAddress())
      assert.equal((await provoked[code]!()).headers.get('www-authenticate'), header)
    })
  }

  for (const code of ['too-many-requests', 'unavailable']) {
    test(`${code} has Retry-After in whole seconds`, async () => {
      assert.match((await provoked[code]!()).headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    })
  }

  test('/problems lists every code, and /problems/{code} explains it', async () => {
    const list = await service.request('/problems')
    assert.equal(list.status, 200)
    for (const code of codes) {
      assert.ok(list.text.includes(`href="/problems/${code}"`), code)
      const page = await service.request(`/problems/${code}`)
      assert.equal(page.status, 200, code)
      assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
      assert.ok(page.text.includes(`<code>${code}</code>`), code)
      assert.ok(page.text.includes(String(errorKinds[code].status)), code)
    }
  })

  const raw: [name: string, bytes: string | Uint8Array, status: number][] = [
    ['garbage', 'garbage\r\n\r\n', 400],
    ['a TLS greeting', Uint8Array.from([0x16, 3, 1, 0, 0xa5, 1, 0, 0, 0xa1, 3, 3]), 400],
    ['an unknown method', 'BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a header without a colon', 'GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n', 400],
    [
      'two different Content-Length headers',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
      400,
    ],
    [
      'Content-Length beside Transfer-Encoding',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    [
      'a broken chunk',
      'POST /veterinarian/register HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      400,
    ],
    ['no Host', 'GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    [
      'an expectation that nobody can meet',
      'GET /health/live HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nConnection: close\r\n\r\n',
      400,
    ],
    ['too long a path', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
  ]
  for (const [name, bytes, status] of raw) {
    test(`A request with ${name} is ${status} and has a Request-Id`, async () => {
      const reply = await rawWire(service.url, bytes)
      assert.equal(reply.status, status)
      assert.ok(reply.headers.get('request-id'))
      assert.equal(reply.headers.get('api-version'), '1')
      assert.match(reply.headers.get('content-type') ?? '', /^application\/problem\+json/)
      assert.equal(reply.json.instance, reply.headers.get('request-id'))
      assert.doesNotMatch(reply.text.replace(reply.json.instance, ''), internals)
    })
  }

  test('A body that never arrives is 408', async () => {
    const { server } = service.app.parts.server.app
    const usual = { headersTimeout: server.headersTimeout, requestTimeout: server.requestTimeout }
    Object.assign(server, { headersTimeout: 200, requestTimeout: 200 })
    const reply = await rawWire(
      service.url,
      'POST /veterinarian/register HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{',
    )
    Object.assign(server, usual)
    isProblem(reply, 'timeout')
  })

  test('Headers and body must arrive within ten seconds, a roster within ten minutes', async (t) => {
    const { server } = service.app.parts.server.app
    assert.deepEqual([server.headersTimeout, server.requestTimeout], [10_000, 600_000])
    const { access } = await newStaff(service, 'registrar')
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const begin = async (path: string, type: string) => {
      const arrived = once(server, 'request')
      const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${access}\r\nContent-Type: ${type}`
      const reply = rawWire(service.url, `${head}\r\nContent-Length: 10\r\n\r\n{`)
      const [request] = (await arrived) as [IncomingMessage]
      // Until the token is checked and the body awaited.
      while (request.listenerCount('readable') + request.listenerCount('data') === 0)
        await new Promise((resolve) => setImmediate(resolve))
      return { reply, request }
    }
    const usual = await begin('/veterinarian/register', 'application/json')
    const roster = await begin('/staff/roster/plans', 'application/zip')
    t.mock.timers.tick(10_000)
    isProblem(await usual.reply, 'timeout')
    t.mock.timers.tick(589_999)
    assert.equal(roster.request.socket.destroyed, false)
    t.mock.timers.tick(1)
    isProblem(await roster.reply, 'timeout')
  })

  test('A store out of reach is 503 with Retry-After wherever it is needed', async () => {
    const broken = await startService('sqlite', { env: { CHIRON_PUBLIC_URL: publicUrl } })
    const signedIn = await broken.signIn(freshAddress())
    const { db } = broken.app.parts
    await db.close()
    const replies = [
      await broken.request('/health/ready'),
      await broken.request('/veterinarian/me', { token: signedIn.access }),
      await broken.request(`/veterinarian/${signedIn.userId}`),
      await broken.register(freshAddress()),
      await broken.post('/veterinarian/send-otp', { email: freshAddress() }),
      await broken.post('/veterinarian/validate-otp', {
        email: freshAddress(),
        otp_code: 123456,
        sessionId: 'x',
      }),
      await broken.post('/session/refresh', { refresh_token: signedIn.refresh }),
    ]
    const live = await broken.request('/health/live')
    db.close = async () => {}
    await broken.stop()
    for (const reply of replies) {
      isProblem(reply, 'unavailable')
      assert.match(reply.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    }
    assert.equal(live.status, 200)
  })

  test('With an https public address replies insist on https', async () => {
    const reply = await wire(service.url, '/health/live')
    assert.match(reply.headers.get('strict-transport-security') ?? '', /^max-age=\d{8}/)
  })
})
