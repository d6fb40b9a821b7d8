import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import Fastify from 'fastify'
import { errorKinds } from '../src/errors.ts'
import { type EventKind, eventKinds, testEvent } from '../src/messages/events/types.ts'
import { describeApi } from '../src/platform/http/openapi.ts'
import { Type } from '../src/platform/http/type.ts'
import { cookieFor, newClient, requestOf } from './support/authorize.ts'
import { atLength } from './support/engines.ts'
import { freshAddress, freshNetwork, repeat } from './support/fresh.ts'
import { cookieOf } from './support/portal.ts'
import { bulk, change, newSchool } from './support/roster-school.ts'
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
  'GET /veterinarian/me/classes',
  'POST /veterinarian/me/email',
  'POST /veterinarian/me/email/confirm',
  'GET /veterinarian/{userId}',
  'GET /student/me',
  'GET /student/me/classes',
  'GET /student/me/calendar',
  'GET /student/me/card',
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

suite('/openapi.json', atLength, () => {
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

  const resolved = (value: Document): Document => {
    const [, , kind, name] = value.$ref?.split('/') ?? []
    return name === undefined ? value : document.components[kind][name]
  }
  const schemasOf = (content: Document = {}): Document[] =>
    Object.values(content).map((media) => (media as Document).schema)

  test('It is OpenAPI 3.1 with a title, a version and a server', () => {
    assert.match(document.openapi, /^3\.1\.\d+$/)
    assert.ok(document.info.title && document.info.version)
    assert.ok(document.servers.length > 0)
    const { description, ...bearer } = document.components.securitySchemes.bearer
    assert.deepEqual(bearer, { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' })
    assert.match(description, /access_token/)
  })

  test('It tells the order of a sign-in', () => {
    const steps = [
      '/register',
      '/send-otp',
      'reads the mail',
      '/validate-otp',
      '/me',
      '/session/refresh',
      'sign out',
    ]
    const places = steps.map((step) => document.info.description.indexOf(step))
    assert.ok(!places.includes(-1), JSON.stringify(places))
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    )
  })

  test('Every operation has a name of its own that a program can use', () => {
    const names = all().map(([, operation]) => operation.operationId)
    for (const [i, name] of names.entries()) assert.match(name ?? '', /^[a-z]+([A-Z][a-z]+)+$/, all()[i]![0])
    assert.equal(new Set(names).size, names.length)
    for (const name of ['registerVeterinarian', 'sendStudentCode', 'validateVeterinarianCodeInPortal'])
      assert.ok(names.includes(name), name)
  })

  /** Every object of the document that has this member. */
  function* having(name: string, value: Document = document): Generator<Document> {
    if (typeof value !== 'object' || value === null) return
    if (!Array.isArray(value) && name in value) yield value
    for (const one of Object.values(value)) yield* having(name, one)
  }

  const isObject = (schema: Document) => schema.type === 'object' || schema.properties !== undefined

  test('Every request and reply body that is an object has a name, and so has every object in them', () => {
    const bodies = all().flatMap(([name, operation]) =>
      [operation.requestBody, ...Object.values<Document>(operation.responses)].flatMap((part) =>
        schemasOf(resolved(part ?? {}).content).map((schema) => ({ name, schema })),
      ),
    )
    assert.ok(bodies.length > 100)
    const unnamed = bodies.filter(({ schema }) => !schema.$ref && schema.type !== 'string')
    assert.deepEqual(
      unnamed.map(({ name }) => name),
      [],
    )
    const within = Object.entries<Document>(document.components.schemas).flatMap(([name, schema]) =>
      [...having('type', schema)].filter((one) => one !== schema).map((one) => ({ name, one })),
    )
    for (const { name, one } of within) {
      const isOpen = one.additionalProperties === true
      assert.ok(!isObject(one) || isOpen, `${name} has an object without a name: ${JSON.stringify(one)}`)
    }
  })

  test('A list of values stands once, by a name if it is used twice; header parameters have names, too', () => {
    const named = new Set(Object.values<Document>(document.components.schemas))
    const lists = [...having('enum')]
    for (const some of [lists.filter((one) => named.has(one)), lists.filter((one) => !named.has(one))]) {
      const texts = some.map((schema) => JSON.stringify(schema.enum))
      assert.ok(texts.length > 1)
      assert.deepEqual(texts, [...new Set(texts)])
    }
    const parameters = all().flatMap(([, operation]) =>
      operation.parameters.filter((one: Document) => one.in === 'header'),
    )
    assert.deepEqual(parameters, [])
    assert.equal(document.components.parameters.IdempotencyKey.name, 'Idempotency-Key')
  })

  test('Two schemas of one name stop the document', async () => {
    const app = Fastify()
    await describeApi(app, { version: '1', description: '', tags: [], webhooks: {} })
    for (const name of ['a', 'b'])
      app.get(
        `/${name}`,
        {
          schema: { response: { 200: Type.Object({ [name]: Type.String() }, { title: 'Same' }) } },
        },
        async () => ({}),
      )
    await app.ready()
    assert.throws(() => app.swagger(), /two different schemas have the title Same/)
    await app.close()
  })

  test('Every event has a webhook with its data', () => {
    const kinds = { ...eventKinds, [testEvent.type]: testEvent }
    assert.deepEqual(Object.keys(document.webhooks), Object.keys(kinds))
    for (const [type, kind] of Object.entries<EventKind>(kinds)) {
      const [body] = schemasOf(document.webhooks[type].post.requestBody.content)
      const { data, ...request } = body.properties
      const event = data.properties
      assert.deepEqual([request.type.const, event.type.const], [type, type])
      const { properties, required = [] } = event.data
      assert.deepEqual(properties, { ...kind.data, ...kind.optional }, type)
      assert.deepEqual(required, Object.keys(kind.data ?? {}), type)
    }
  })

  test('A choice between objects is oneOf, which generators do not merge', () => {
    const objects = [...having('anyOf')].filter(({ anyOf }) => anyOf.every((one: Document) => '$ref' in one))
    assert.deepEqual(objects, [])
    assert.equal(document.components.schemas.Profile.oneOf.length, 3)
  })

  test('Values that are listed have a type', () => {
    const listed = [...having('enum'), ...having('const')]
    assert.ok(listed.length > 5)
    for (const schema of listed) {
      const values = schema.enum ?? [schema.const]
      const type = values.every(Number.isInteger) ? 'integer' : 'string'
      assert.equal(schema.type, type, JSON.stringify(schema))
    }
  })

  test('Members of requests have the bounds that the service keeps', () => {
    const bodyOf = (path: string, method = 'post') =>
      resolved(document.paths[path][method].requestBody.content['application/json'].schema)
    const { firstname, lastname, email } = bodyOf('/veterinarian/register').properties
    for (const name of [firstname, lastname]) assert.deepEqual([name.minLength, name.maxLength], [1, 100])
    assert.deepEqual([email.format, email.maxLength], ['email', 254])
    assert.equal(bodyOf('/veterinarian/me', 'patch').minProperties, 1)
    for (const role of ['veterinarian', 'student']) {
      const { otp_code, sessionId } = bodyOf(`/${role}/validate-otp`).properties
      assert.deepEqual([otp_code.type, otp_code.minimum, otp_code.maximum], ['integer', 100000, 99999999])
      assert.equal(sessionId.minLength, 1)
    }
    assert.deepEqual([...having('documented')], [])
  })

  test('What the bounds refuse the service refuses, in its own words, and it takes what they take', async () => {
    const register = (body: object) => service.post('/veterinarian/register', body, freshNetwork())
    const names = { firstname: 'Ada', lastname: 'Marsh' }
    const long = await register({ ...names, firstname: 'a'.repeat(1001), email: freshAddress() })
    assert.deepEqual(long.json.errors, [
      { pointer: '#/firstname', detail: 'must have at most 100 characters' },
    ])
    const spaced = await register({ ...names, firstname: `Ada${' '.repeat(997)}`, email: freshAddress() })
    assert.equal(spaced.status, 202)
    const empty = await register({ ...names, firstname: '', email: `${'a'.repeat(250)}@b.c` })
    assert.deepEqual(empty.json.errors, [
      { pointer: '#/firstname', detail: 'must not be empty' },
      { pointer: '#/email', detail: 'must have at most 64 characters before the @' },
    ])
    const idn = await register({ ...names, email: `ada@m${process.pid}ünster.example` })
    assert.equal(idn.status, 202)
    const { access: token } = await service.signIn(freshAddress(), freshNetwork())
    const nothing = await service.request('/veterinarian/me', { method: 'PATCH', token, body: {} })
    assert.deepEqual(nothing.json.errors, [{ pointer: '#', detail: 'must have firstname or lastname' }])
  })

  const parametersOf = (operation: Document): Document[] =>
    (operation.parameters ?? []).map((one: Document) =>
      one.$ref ? document.components.parameters[one.$ref.split('/').at(-1)] : one,
    )

  test('Headers that a request may have are described', () => {
    for (const [name, operation] of all()) {
      const headers = parametersOf(operation)
        .filter((one) => one.in === 'header')
        .map((one) => one.name.toLowerCase())
      assert.equal(headers.includes('accept-language'), /\/(send-otp|me\/email)$/.test(name), name)
      assert.equal(headers.includes('if-none-match'), '304' in operation.responses, name)
    }
  })

  test('So are those that a route has in its own schema', async () => {
    const app = Fastify()
    await describeApi(app, { version: '1', description: '', tags: [], webhooks: {} })
    const headers = Type.Object({ 'if-match': Type.Optional(Type.String({ maxLength: 255 })) })
    app.get('/x', { schema: { headers, response: { 200: Type.Null() } } }, async () => {})
    await app.ready()
    const { paths, components } = app.swagger() as Document
    await app.close()
    assert.deepEqual(components.parameters.IfMatch, {
      in: 'header',
      name: 'If-Match',
      required: false,
      schema: { type: 'string', maxLength: 255 },
    })
    assert.deepEqual(paths['/x'].get.parameters, [{ $ref: '#/components/parameters/IfMatch' }])
  })

  test('The code of a problem is open, and what is wrong has a pointer or a parameter', () => {
    const { code, errors } = document.components.schemas.Problem.properties
    assert.equal(code.type, 'string')
    assert.equal(code.enum, undefined)
    for (const known of Object.keys(errorKinds)) assert.ok(code.examples.includes(known), known)
    const { properties, required } = resolved(errors.items)
    assert.deepEqual(Object.keys(properties).sort(), ['detail', 'parameter', 'pointer'])
    assert.deepEqual(required, ['detail'])
  })

  test('The reference page offers no cookie to set', () => {
    assert.deepEqual(Object.keys(document.components.securitySchemes), ['bearer'])
    for (const path of ['refresh', 'sign-out'])
      assert.deepEqual(document.paths[`/portal/${path}`].post.security, [])
    const portal = document.tags.find((tag: Document) => tag.name === 'portal')
    assert.match(portal.description, /HttpOnly cookie `\w*chiron_refresh`/)
  })

  test('A token may be refreshed by JSON or by RFC 6749’s form', () => {
    const { requestBody, responses } = document.paths['/session/refresh'].post
    assert.deepEqual(Object.keys(requestBody.content), [
      'application/json',
      'application/x-www-form-urlencoded',
    ])
    const form = resolved(requestBody.content['application/x-www-form-urlencoded'].schema)
    assert.deepEqual(form.required, ['refresh_token'])
    assert.match(form.properties.grant_type.description, /^Required in a form/)
    assert.ok(responses['400'].content['application/json'])
  })

  test('It describes the endpoints that exist, and no hidden one', () => {
    const described = all().map(([name]) => name)
    for (const name of operations) assert.ok(described.includes(name), `${name} is missing`)
    for (const name of described)
      assert.match(
        name,
        / \/(veterinarian|student|staff|session|consents|passkey|school|sign-in|providers|portal|calendar|oauth|roster|health|\.well-known)\b/,
      )
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
        assert.match(status, /^([1-5]\d\d|default)$/, name)
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
      const [root, components, kind, name] = reference.split('/')
      assert.deepEqual([root, components], ['#', 'components'])
      assert.ok(document.components[kind!]?.[name!], reference)
    }
    for (const [name, schema] of Object.entries(document.components.schemas))
      assert.ok(ajv.validateSchema(schema as object), name)
  })

  test('No parameter is a constant: generators of Python clients leave out calls that have one', () => {
    const constants = Object.values(document.components.parameters as Document).filter(
      (parameter) => 'const' in (parameter as Document).schema,
    )
    assert.deepEqual(constants, [])
  })

  test('Errors are described as application/problem+json, successes with a body as application/json', () => {
    for (const [name, operation] of all()) {
      for (const [status, response] of Object.entries(operation.responses as Document)) {
        const types = Object.keys(resolved(response).content ?? {})
        const isOAuth = /^POST \/(session\/refresh|oauth\/(token|introspect|revoke))$/.test(name)
        const alsoOAuth = isOAuth && status === '400' ? ['application/json'] : []
        if (name.startsWith('POST /oauth/') && isOAuth && status === '401')
          assert.deepEqual(types, ['application/json'], `${name} ${status}`)
        else if (Number(status) >= 400)
          assert.deepEqual(types, ['application/problem+json', ...alsoOAuth], `${name} ${status}`)
        else if (status === '204' || status === '304') assert.deepEqual(types, [], `${name} ${status}`)
        else if (operations.includes(name)) assert.deepEqual(types, ['application/json'], `${name} ${status}`)
      }
    }
  })

  /** Headers of every reply are described once, in the introduction. */
  function headersConform(what: string, { status, headers }: Reply, documented: readonly string[]): void {
    const expected = {
      'request-id': true,
      'api-version': true,
      ...(status !== 403 && { 'www-authenticate': status === 401 }),
      'retry-after': status === 429 || status === 503,
    }
    for (const [name, isThere] of Object.entries(expected))
      assert.equal(headers.has(name), isThere, `${what} ${name}`)
    assert.equal(headers.has('etag'), documented.includes('ETag'), `${what} etag`)
    for (const name of [...Object.keys(expected), 'ratelimit', 'ratelimit-policy', 'accept'])
      assert.match(document.info.description.toLowerCase(), new RegExp(`\`${name}[:\`]`), name)
  }

  /** The codes of a status that an operation lists. */
  function codesOf(operation: Document, status: number): string[] {
    const { description = '' } = operation.responses[status] ?? {}
    return [...description.matchAll(/`([a-z-]+)`/g)].map(([, code]) => code!)
  }

  /** Checks a reply against what the document says of its operation and status. */
  function conforms(name: string, reply: Reply): void {
    const [method = '', path = ''] = name.split(' ')
    const operation = document.paths[path][method.toLowerCase()]
    const documented = operation.responses[reply.status]
    assert.ok(documented, `${name} does not document ${reply.status}`)
    const response = resolved(documented)
    if (reply.status >= 400) {
      const code = reply.json.code ?? 'invalid-request'
      assert.ok(
        codesOf(operation, reply.status).includes(code),
        `${name} does not list ${reply.status} ${code}`,
      )
    }
    provoked.set(name, (provoked.get(name) ?? new Set()).add(reply.status))
    headersConform(`${name} ${reply.status}`, reply, Object.keys(response.headers ?? {}))
    const type = (reply.headers.get('content-type') ?? '').split(';')[0]!
    if (reply.text === '') return
    assert.ok(response.content?.[type], `${name} ${reply.status} does not document ${type}`)
    const escaped = (part: string) => part.replaceAll('~', '~0').replaceAll('/', '~1')
    const place = '$ref' in documented ? ['components'] : ['paths', path, method.toLowerCase()]
    const key = '$ref' in documented ? 'Problem' : String(reply.status)
    const pointer = [...place, 'responses', key, 'content', type]
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
      // An address that nobody has confirmed gets three codes a day.
      if (i < 2) await service.mail.mailTo(email, i + 2)
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
    const tag = document.tags.find((one: Document) => one.name === 'portal')
    assert.ok(tag.description.includes(`\`${cookie.split('=')[0]}\``))
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
  })

  test('The calendar feed is as described', async () => {
    await rosterOf(service).import(bulk(newSchool(1)))
    const { access: token } = await signInStudent(service, 'stu-1@school.example')
    const mine = '/student/me/calendar'
    const none = await ask(`GET ${mine}`, mine, { token })
    const made = await ask(`POST ${mine}`, mine, { token })
    const feed = new URL(made.json.url).pathname
    const one = { name: `DELETE ${mine}/{feedId}`, at: `${mine}/${made.json.feedId}` }
    const replies = [
      none,
      made,
      await ask(`POST ${mine}`, mine, { token, body: { name: 'My phone' } }),
      await ask(`GET ${mine}`, mine, { token }),
      await ask('GET /calendar/{feedToken}.ics', feed),
      await ask('GET /student/me/export', '/student/me/export', { token }),
      await ask(one.name, one.at, { token }),
      await ask(one.name, one.at, { token }),
      await ask('GET /calendar/{feedToken}.ics', feed),
      await ask(`POST ${mine}`, mine),
      await ask(`POST ${mine}`, mine, { token, body: '{' }),
      await ask(one.name, one.at, { token, body: '{' }),
      await ask(one.name, one.at),
      await ask('GET /student/me/card', '/student/me/card', { token }),
    ]
    assert.deepEqual(
      replies.map((reply) => reply.status),
      [200, 201, 201, 200, 200, 200, 204, 404, 404, 401, 400, 400, 401, 200],
    )
    assert.deepEqual(document.paths['/calendar/{feedToken}.ics'].get.security, [])
  })

  test('What a teacher reads, and a change of address, are as described', async () => {
    const school = newSchool(3)
    change(school.classes, 'class-1', { 'metadata.meets': 'Mon 09:00-10:30' })
    await rosterOf(service).import(bulk(school))
    const { access: token } = await service.signIn('tea-1@school.example', freshNetwork())
    const email = freshAddress('moving')
    const sent = await ask('POST /veterinarian/me/email', '/veterinarian/me/email', {
      token,
      body: { email },
    })
    const { code } = await service.mail.mailTo(email)
    const confirm = { name: 'POST /veterinarian/me/email/confirm', at: '/veterinarian/me/email/confirm' }
    const answer = (otp_code: number) => ({ token, body: { sessionId: sent.json.sessionId, otp_code } })
    const classes = 'GET /veterinarian/me/classes'
    const replies = [
      await ask(classes, '/veterinarian/me/classes', { token }),
      await ask('GET /veterinarian/me/export', '/veterinarian/me/export', { token }),
      sent,
      await ask(confirm.name, confirm.at, answer(99_999_999)),
      await ask(confirm.name, confirm.at, answer(code!)),
      await ask(confirm.name, confirm.at, answer(code!)),
      await ask(classes, '/veterinarian/me/classes', { token }),
      await ask(classes, '/veterinarian/me/classes?when=past', { token }),
      await ask(classes, '/veterinarian/me/classes?when=never', { token }),
    ]
    assert.deepEqual(
      replies.map((reply) => reply.status),
      [200, 200, 202, 401, 200, 401, 200, 204, 400],
    )
    assert.equal(replies[0]!.json.classes[0].meetings.length, 1)
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
      const token = guarded.includes(name)
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
      assert.deepEqual(codesOf(document.paths[path(name)][name.split(' ')[0]!.toLowerCase()], 408), [
        'timeout',
      ])
    })
  }

  for (const name of guarded) {
    test(`${name} documents missing, forged and ended tokens`, async () => {
      const { access } = await service.signIn(freshAddress(), freshNetwork())
      assert.equal((await service.request('/session', { method: 'DELETE', token: access })).status, 204)
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

  test('Signing in at applications, and out, is as described', async () => {
    const { id: clientId } = await newClient(service, { consent: 'once' })
    const person = await service.signIn(freshAddress(), freshNetwork())
    const headers = { cookie: cookieFor(person) }
    const query = requestOf(clientId)
    const portal = (name: string, body: object, more = {}) =>
      ask(name, name.split(' ')[1]!, { body, headers: { ...headers, ...more } })
    const { access: token } = person
    const replies = [
      await portal('POST /portal/authorize', { query }),
      await portal('POST /portal/authorize', { query, confirmed: true }),
      await portal('POST /portal/authorize', { query: `${query}&prompt=login` }),
      await portal('POST /portal/authorize', { query: '' }),
      await portal('POST /portal/authorize', { query }, { origin: 'https://elsewhere.example' }),
      await portal('POST /portal/authorize', { query }, { cookie: `${headers.cookie}; ${headers.cookie}` }),
      await ask('GET /consents', '/consents', { token }),
      await ask('DELETE /consents/{clientId}', `/consents/${clientId}`, { token }),
      await ask('DELETE /consents/{clientId}', `/consents/${clientId}`, { token }),
      await portal('POST /portal/logout', { query: `client_id=${clientId}` }),
      await portal('POST /portal/logout', { query: '' }),
      await portal('POST /portal/logout', { query: '', confirmed: true }),
      await portal('POST /portal/logout', {}),
    ]
    assert.deepEqual(
      replies.map((reply) => reply.status),
      [200, 200, 200, 400, 403, 401, 200, 204, 404, 200, 200, 200, 400],
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
      const operation = document.paths[template][method.toLowerCase()]
      assert.deepEqual(codesOf(operation, 503), ['unavailable'], name)
      assert.deepEqual(codesOf(operation, 429), ['too-many-requests'], name)
    }
  })

  test('Faults are as described', async () => {
    const { db } = service.app.parts
    const { one, byId } = db
    const broken = async () => {
      throw Object.assign(new Error('disk I/O error'), { errcode: 10 })
    }
    Object.assign(db, { one: broken, byId: broken })
    try {
      assert.equal((await ask('GET /health/ready', '/health/ready')).status, 503)
      assert.equal((await ask('GET /veterinarian/{userId}', path('GET /veterinarian/{userId}'))).status, 500)
    } finally {
      Object.assign(db, { one, byId })
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
