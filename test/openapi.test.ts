import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { freshAddress, freshNetwork, repeat } from './support/fresh.ts'
import { cookieOf } from './support/portal.ts'
import { bulk, newSchool } from './support/roster-school.ts'
import { rosterOf, signInStudent } from './support/roster-world.ts'
import { type Reply, type RequestOptions, type Service, startService } from './support/service.ts'

const operations = [
  'POST /veterinarian/register',
  'POST /veterinarian/send-otp',
  'POST /veterinarian/validate-otp',
  'GET /veterinarian/me',
  'PATCH /veterinarian/me',
  'DELETE /veterinarian/me',
  'GET /veterinarian/me/export',
  'GET /veterinarian/{userId}',
  'GET /student/me',
  'GET /student/me/classes',
  'GET /student/me/calendar',
  'POST /session/refresh',
  'GET /session',
  'DELETE /session',
  'DELETE /session/{sessionId}',
  'DELETE /session/all',
  'GET /.well-known/jwks.json',
  'GET /.well-known/oauth-authorization-server',
  'GET /health/live',
  'GET /health/ready',
]
const withoutToken = operations.filter(
  (name) => !/ \/(veterinarian|student)\/me| \/session(\/all|\/\{|$)/.test(name),
)

// biome-ignore lint/suspicious/noExplicitAny: a document is read freely
type Document = any

suite('/openapi.json', () => {
  let service: Service
  let document: Document
  let ajv: Ajv2020
  const provoked = new Map<string, Set<number>>()
  before(async () => {
    service = await startService('sqlite')
    document = (await service.request('/openapi.json')).json
    ajv = new Ajv2020({ strict: false, allErrors: true })
    addFormats.default(ajv)
    ajv.addSchema(document, 'openapi')
  })
  after(() => service.stop())

  const all = (): [name: string, operation: Document][] =>
    Object.entries(document.paths as Document).flatMap(([path, item]) =>
      Object.entries(item as Document).map(([method, operation]): [string, Document] => [
        `${method.toUpperCase()} ${path}`,
        operation,
      ]),
    )

  test('It is OpenAPI 3.1 with a title, a version and a server', () => {
    assert.match(document.openapi, /^3\.1\.\d+$/)
    assert.ok(document.info.title && document.info.version)
    assert.ok(document.servers.length > 0)
    assert.deepEqual(document.components.securitySchemes.bearer, {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
    })
  })

  test('It describes the endpoints that exist, and no hidden one', () => {
    const described = all().map(([name]) => name)
    for (const name of operations) assert.ok(described.includes(name), `${name} is missing`)
    for (const name of described)
      assert.match(name, / \/(veterinarian|student|session|portal|calendar|health|\.well-known)\b/)
    assert.doesNotMatch(described.join('\n'), /mailbox|\/docs|\/assets|openapi|HEAD|TRACE|OPTIONS/)
  })

  test('Every endpoint it describes exists', async () => {
    for (const [name] of all()) {
      const [method = '', path = ''] = name.split(' ')
      const reply = await service.request(path.replace(/\{\w+\}/g, 'A'.repeat(22)), {
        method,
        headers: freshNetwork(),
      })
      assert.notEqual(reply.status, 405, name)
      if (!path.includes('{')) assert.notEqual(reply.status, 404, name)
    }
  })

  test('Every operation has a tag, a summary, declared path parameters and well-formed responses', () => {
    const tags = document.tags.map((tag: Document) => tag.name)
    for (const [name, operation] of all()) {
      assert.ok(operation.summary, name)
      assert.ok(
        operation.tags?.every((tag: string) => tags.includes(tag)),
        name,
      )
      const inPath = [...name.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
      const declared = (operation.parameters ?? [])
        .filter((parameter: Document) => parameter.in === 'path')
        .map((parameter: Document) => {
          assert.equal(parameter.required, true, name)
          return parameter.name
        })
      assert.deepEqual(declared, inPath, name)
      for (const [status, response] of Object.entries(operation.responses as Document)) {
        assert.match(status, /^[1-5]\d\d$/, name)
        assert.ok((response as Document).description, `${name} ${status}`)
      }
    }
  })

  test('Operations without a token say so, the others ask for one', () => {
    for (const [name, operation] of all()) {
      const open = (operation.security ?? document.security).length === 0
      if (operations.includes(name)) assert.equal(open, withoutToken.includes(name), name)
    }
  })

  test('Every reference leads somewhere', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!)
    assert.ok(references.length > 0)
    for (const reference of references) {
      assert.match(reference, /^#\/components\/schemas\//)
      assert.ok(document.components.schemas[reference.split('/').at(-1)!], reference)
    }
    for (const [name, schema] of Object.entries(document.components.schemas))
      assert.ok(ajv.validateSchema(schema as object), name)
  })

  test('Errors are described as application/problem+json, successes with a body as application/json', () => {
    for (const [name, operation] of all()) {
      for (const [status, response] of Object.entries(operation.responses as Document)) {
        const types = Object.keys((response as Document).content ?? {})
        if (Number(status) >= 400) assert.deepEqual(types, ['application/problem+json'], `${name} ${status}`)
        else if (status === '204' || status === '304') assert.deepEqual(types, [], `${name} ${status}`)
        else if (operations.includes(name)) assert.deepEqual(types, ['application/json'], `${name} ${status}`)
      }
    }
  })

  /** Checks a reply against what the document says of its operation and status. */
  function conforms(name: string, reply: Reply): void {
    const [method = '', path = ''] = name.split(' ')
    const operation = document.paths[path][method.toLowerCase()]
    const response = operation.responses[String(reply.status)]
    assert.ok(response, `${name} does not document ${reply.status}`)
    provoked.set(name, (provoked.get(name) ?? new Set()).add(reply.status))
    const type = (reply.headers.get('content-type') ?? '').split(';')[0]!
    if (reply.text === '') return
    assert.ok(response.content?.[type], `${name} ${reply.status} does not document ${type}`)
    const escaped = (part: string) => part.replaceAll('~', '~0').replaceAll('/', '~1')
    const pointer = ['paths', path, method.toLowerCase(), 'responses', String(reply.status), 'content', type]
    const $ref = `openapi#/${pointer.map(escaped).map(encodeURIComponent).join('/')}/schema`
    const validate = ajv.getSchema($ref) ?? ajv.compile({ $ref })
    assert.ok(
      validate(reply.json ?? reply.text),
      `${name} ${reply.status}: ${ajv.errorsText(validate.errors)} ${reply.text}`,
    )
  }

  const ask = async (name: string, path: string, options: RequestOptions = {}) => {
    const reply = await service.request(path, {
      method: name.split(' ')[0]!,
      ...options,
      headers: { ...freshNetwork(), ...options.headers },
    })
    conforms(name, reply)
    return reply
  }

  test('Successes are as described', async () => {
    const email = freshAddress('openapi')
    const names = { firstname: 'Ada', lastname: 'Marsh' }
    await ask('POST /veterinarian/register', '/veterinarian/register', { body: { ...names, email } })
    const sent = await ask('POST /veterinarian/send-otp', '/veterinarian/send-otp', { body: { email } })
    const { sessionId } = sent.json
    const { code } = await service.mail.mailTo(email)
    for (let i = 0; i < 3; i++) {
      service.clock.advance(30_000)
      await ask('POST /veterinarian/send-otp', '/veterinarian/send-otp', { body: { email, sessionId } })
      await service.mail.mailTo(email, i + 2)
    }
    const validated = await ask('POST /veterinarian/validate-otp', '/veterinarian/validate-otp', {
      body: { email, sessionId, otp_code: code },
    })
    const { access_token: token, refresh_token, user } = validated.json
    const again = await service.signIn(email, freshNetwork())
    const replies = [
      await ask('GET /veterinarian/me', '/veterinarian/me', { token }),
      await ask('PATCH /veterinarian/me', '/veterinarian/me', { token, body: { firstname: 'Bea' } }),
      await ask('GET /veterinarian/me/export', '/veterinarian/me/export', { token }),
      await ask('GET /veterinarian/{userId}', `/veterinarian/${user.userId}`),
      await ask('GET /veterinarian/{userId}', `/veterinarian/${user.userId}`, {
        headers: { 'if-none-match': '*' },
      }),
      await ask('GET /session', '/session', { token }),
      await ask('DELETE /session/{sessionId}', `/session/${again.sessionId}`, { token }),
      await ask('POST /session/refresh', '/session/refresh', { body: { refresh_token } }),
      await ask('DELETE /session', '/session', { token }),
      await ask('DELETE /session/all', '/session/all', {
        token: (await service.signIn(email, freshNetwork())).access,
      }),
      await ask('DELETE /veterinarian/me', '/veterinarian/me', {
        token: (await service.signIn(email, freshNetwork())).access,
      }),
      await ask('GET /.well-known/jwks.json', '/.well-known/jwks.json'),
      await ask('GET /.well-known/oauth-authorization-server', '/.well-known/oauth-authorization-server'),
      await ask('GET /health/live', '/health/live'),
      await ask('GET /health/ready', '/health/ready'),
    ]
    assert.deepEqual(
      replies.map((reply) => reply.status),
      [200, 200, 200, 200, 304, 200, 204, 200, 204, 204, 204, 200, 200, 200, 200],
    )
  })

  test('The portal’s calls are as described, with the cookie that they name', async () => {
    const email = freshAddress('portal')
    await service.register(email)
    const { sessionId, code } = await service.code(email, freshNetwork())
    const validate = 'POST /portal/veterinarian/validate-otp'
    const body = { email, sessionId, otp_code: code }
    const wrong = { ...body, otp_code: 99_999_999 }
    const foreign = { headers: { origin: 'https://elsewhere.example' } }
    const portal = (name: string, options: RequestOptions = {}) => ask(name, name.split(' ')[1]!, options)
    const refused = [
      await portal(validate, { body, ...foreign }),
      await portal(validate, { body: wrong }),
      await portal(validate, { body: {} }),
      await portal('POST /portal/refresh', foreign),
      await portal('POST /portal/refresh'),
      await portal('POST /portal/sign-out', foreign),
      await portal('POST /portal/sign-out', { body: '{' }),
    ]
    assert.deepEqual(
      refused.map((reply) => reply.status),
      [403, 401, 400, 403, 401, 403, 400],
    )
    const signedIn = await portal(validate, { body })
    const cookie = cookieOf(signedIn)
    assert.deepEqual(document.components.securitySchemes.portal, {
      type: 'apiKey',
      in: 'cookie',
      name: cookie.split('=')[0],
    })
    const served = [
      signedIn,
      await portal('POST /portal/refresh', { headers: { cookie } }),
      await portal('POST /portal/sign-out', { headers: { cookie } }),
      await portal('POST /portal/refresh', { headers: { cookie } }),
    ]
    assert.deepEqual(
      served.map((reply) => reply.status),
      [200, 200, 204, 401],
    )
    for (const path of ['refresh', 'sign-out'])
      assert.deepEqual(document.paths[`/portal/${path}`].post.security, [{ portal: [] }])
  })

  test('The calendar feed is as described', async () => {
    await rosterOf(service).import(bulk(newSchool(1)))
    const { access: token } = await signInStudent(service, 'stu-1@school.example')
    const mine = '/student/me/calendar'
    const none = await ask(`GET ${mine}`, mine, { token })
    const made = await ask(`POST ${mine}`, mine, { token })
    const feed = new URL(made.json.url).pathname
    const replies = [
      none,
      made,
      await ask(`GET ${mine}`, mine, { token }),
      await ask('GET /calendar/{feedToken}.ics', feed),
      await ask('GET /student/me/export', '/student/me/export', { token }),
      await ask(`DELETE ${mine}`, mine, { token }),
      await ask('GET /calendar/{feedToken}.ics', feed),
      await ask(`POST ${mine}`, mine),
      await ask(`POST ${mine}`, mine, { token, body: '{' }),
      await ask(`DELETE ${mine}`, mine, { token, body: '{' }),
      await ask(`DELETE ${mine}`, mine),
    ]
    assert.deepEqual(
      replies.map((reply) => reply.status),
      [204, 201, 200, 200, 200, 204, 404, 401, 400, 400, 401],
    )
    assert.deepEqual(document.paths['/calendar/{feedToken}.ics'].get.security, [])
  })

  const path = (name: string) => name.split(' ')[1]!.replace(/\{\w+\}/, 'A'.repeat(22))
  const bodies = operations.filter((name) => /^(POST|PATCH)/.test(name))
  const guarded = operations.filter((name) => !withoutToken.includes(name))

  for (const name of operations) {
    test(`${name} documents a version that is not served`, async () => {
      const reply = await ask(name, path(name), { headers: { 'api-version': '9' } })
      assert.equal(reply.status, 400)
    })
  }

  for (const name of bodies) {
    test(`${name} documents bodies that are malformed, wrong, too large or of another type`, async () => {
      const token = name.startsWith('PATCH')
        ? (await service.signIn(freshAddress(), freshNetwork())).access
        : undefined
      const with_ = (options: RequestOptions) =>
        ask(name, path(name), { ...options, ...(token && { token }) })
      const statuses = [
        (await with_({ body: '{' })).status,
        (await with_({ body: {} })).status,
        (await with_({ body: 'x'.repeat(17_000) })).status,
        (await with_({ body: '{}', headers: { 'content-type': 'text/plain' } })).status,
      ]
      assert.deepEqual(statuses, [400, 400, 413, 415])
      assert.ok(document.paths[path(name)][name.split(' ')[0]!.toLowerCase()].responses['408'], '408')
    })
  }

  for (const name of guarded) {
    test(`${name} documents missing, forged and ended tokens`, async () => {
      const { access } = await service.signIn(freshAddress(), freshNetwork())
      await service.request('/session', { method: 'DELETE', token: access })
      const replies = [
        await ask(name, path(name)),
        await ask(name, path(name), { token: 'forged' }),
        await ask(name, path(name), { token: access }),
      ]
      assert.deepEqual(
        replies.map((reply) => [reply.status, reply.json.code]),
        [
          [401, 'unauthenticated'],
          [401, 'invalid-token'],
          [401, 'session-ended'],
        ],
      )
    })
  }

  for (const name of operations.filter((one) => one.startsWith('DELETE'))) {
    test(`${name} documents what a body can do to it`, async () => {
      const { access: token } = await service.signIn(freshAddress(), freshNetwork())
      const replies = [
        await ask(name, path(name), { token, body: '{}', headers: { 'content-type': 'text/plain' } }),
        await ask(name, path(name), { token, body: '{' }),
        await ask(name, path(name), { token, body: 'x'.repeat(17_000) }),
      ]
      assert.deepEqual(
        replies.map((reply) => reply.status),
        [415, 400, 413],
      )
    })
  }

  test('Refusals are as described', async () => {
    const email = freshAddress('refused')
    const { access: token } = await service.signIn(email, freshNetwork())
    const network = freshNetwork()
    const sent = await service.post('/veterinarian/send-otp', { email }, network)
    const { sessionId } = sent.json
    const send = 'POST /veterinarian/send-otp'
    const validate = 'POST /veterinarian/validate-otp'
    const replies = [
      await ask(send, '/veterinarian/send-otp', { body: { email, sessionId: 'x' } }),
      await ask(send, '/veterinarian/send-otp', { body: { email, sessionId } }),
      await ask(validate, '/veterinarian/validate-otp', { body: { email, sessionId, otp_code: 99_999_999 } }),
      await ask(validate, '/veterinarian/validate-otp', {
        body: { email, sessionId: 'x', otp_code: 123456 },
      }),
      await ask('POST /session/refresh', '/session/refresh', { body: { refresh_token: 'x' } }),
      await ask('GET /veterinarian/{userId}', path('GET /veterinarian/{userId}')),
      await ask('DELETE /session/{sessionId}', path('DELETE /session/{sessionId}'), { token }),
      await ask('GET /student/me', '/student/me', { token }),
      await ask('GET /student/me/classes', '/student/me/classes', { token }),
    ]
    service.clock.advance(11 * 60_000)
    replies.push(await ask('DELETE /veterinarian/me', '/veterinarian/me', { token }))
    assert.deepEqual(
      replies.map((reply) => reply.json.code),
      [
        'otp-unusable',
        'too-many-requests',
        'otp-incorrect',
        'otp-unusable',
        'invalid-token',
        'not-found',
        'not-found',
        'forbidden',
        'forbidden',
        'recent-sign-in-required',
      ],
    )
  })

  test('Limits are as described', async () => {
    const headers = freshNetwork()
    const body = { firstname: 'Ada', lastname: 'Marsh', email: freshAddress() }
    await repeat(100, () => service.post('/veterinarian/register', body, headers))
    const register = 'POST /veterinarian/register'
    assert.equal((await ask(register, '/veterinarian/register', { body, headers })).status, 429)
    for (const name of operations) {
      const [method = '', template = ''] = name.split(' ')
      assert.ok(document.paths[template][method.toLowerCase()].responses['503'], `${name} 503`)
      if (!name.includes('/health/'))
        assert.ok(document.paths[template][method.toLowerCase()].responses['429'], `${name} 429`)
    }
  })

  test('Faults are as described', async () => {
    const { db } = service.app.parts
    const { one, all: many, tx, run } = db
    const broken = async () => {
      throw Object.assign(new Error('disk I/O error'), { errcode: 10 })
    }
    Object.assign(db, { one: broken })
    try {
      assert.equal((await ask('GET /health/ready', '/health/ready')).status, 503)
      assert.equal((await ask('GET /veterinarian/{userId}', path('GET /veterinarian/{userId}'))).status, 500)
    } finally {
      Object.assign(db, { one, all: many, tx, run })
    }
  })

  test('Every success it describes was provoked, except those that need a student', () => {
    for (const [name, operation] of all().filter(([one]) => operations.includes(one))) {
      if (name.includes('/student/')) continue
      for (const status of Object.keys(operation.responses).map(Number)) {
        if (status < 400) assert.ok(provoked.get(name)?.has(status), `${name} ${status}`)
      }
    }
  })
})
