/** Every route that documents a body: without it, or with another type of body, nothing is done. */
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { after, before, suite, test } from 'node:test'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { bulk, newSchool } from './support/roster-school.ts'
import { rosterOf, signInStudent } from './support/roster-world.ts'
import { type Reply, type Service, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'
import { type WireRequest, wire } from './support/wire.ts'

interface Operation {
  readonly method: string
  readonly path: string
  readonly required: boolean
  readonly types: readonly string[]
}

const changed = ['person', 'registration', 'challenge', 'event', 'outbox', 'roster_generation', 'roster_plan']

suite('Bodies that are missing', () => {
  const agent = new Agent({ keepAlive: true })
  let service: Service
  let operations: Operation[]
  let tokens: Readonly<Record<string, string>>
  let userId: string
  before(async () => {
    service = await startService('sqlite', { env: { CHIRON_LIMITS: 'off' } })
    await rosterOf(service).import(bulk(newSchool(5)))
    const veterinarian = await service.signIn(freshAddress(), freshNetwork())
    const student = await signInStudent(service, 'stu-1@school.example')
    const staff = await newStaff(service, 'admin')
    userId = veterinarian.userId
    tokens = { staff: staff.access, veterinarian: veterinarian.access, student: student.access }
    const { paths } = (await service.request('/openapi.json')).json
    operations = Object.entries<Record<string, Reply['json']>>(paths).flatMap(([path, item]) =>
      Object.entries(item)
        .filter(([, { requestBody }]) => requestBody !== undefined)
        .map(
          ([
            method,
            {
              requestBody: { required, content },
            },
          ]) => ({
            method: method.toUpperCase(),
            path,
            required,
            types: Object.keys(content),
          }),
        ),
    )
  })
  after(async () => {
    agent.destroy()
    await service.stop()
  })

  /** Somebody who may make the call, with ids of somebody where there are some. */
  const call = ({ method, path }: Operation, { headers, ...request }: WireRequest) => {
    const [, first = ''] = path.split('/')
    const role = ['session', 'passkey', 'school'].includes(first) ? 'veterinarian' : first
    const token = tokens[role]
    const ids = path.replaceAll(/\{\w+\}/g, userId)
    return wire(service.url, ids, {
      agent,
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...freshNetwork(),
        ...headers,
      },
      ...request,
    })
  }
  const rows = async () =>
    Promise.all(changed.map(async (table) => (await service.rows<object>(`select * from ${table}`)).length))
  const problem = ({ status, json }: Reply) => `${status} ${json?.code}`

  test('Only a name for a calendar, which code to resend, and a token that is in a header may be left out', () => {
    assert.ok(operations.length > 30, `${operations.length}`)
    assert.deepEqual(
      operations.filter(({ required }) => !required).map(({ path }) => path),
      ['/student/me/calendar', '/oauth/userinfo', '/session/step-up/send-otp'],
    )
  })

  test('Without a body a call is 400, and nothing is done', async () => {
    const before = await rows()
    for (const operation of operations) {
      if (!operation.required) continue
      const [type = ''] = operation.types
      const typed = { headers: { 'content-type': type } }
      const ways: [how: string, request: WireRequest][] = [
        ['nothing', {}],
        ['nothing but a type', typed],
        ['no bytes', { ...typed, body: '' }],
        ['no chunks', { headers: { ...typed.headers, 'transfer-encoding': 'chunked' } }],
      ]
      for (const [how, request] of ways) {
        const reply = await call(operation, request)
        const where = `${operation.method} ${operation.path} with ${how}: ${reply.text}`
        const { detail, error, error_description: description } = reply.json
        const isOAuth = error !== undefined && operation.path.startsWith('/oauth/')
        if (isOAuth) assert.deepEqual([reply.status, error], [400, 'invalid_request'], where)
        else assert.equal(problem(reply), '400 invalid-request', where)
        assert.match(isOAuth ? description : detail, isOAuth ? /body|missing/ : /body/, where)
      }
    }
    assert.deepEqual(await rows(), before)
  })

  test('With another type than the documented ones a body is 415, and the reply names those', async () => {
    const before = await rows()
    for (const operation of operations)
      for (const type of [undefined, 'text/plain', 'application/octet-stream', `${operation.types[0]}x`]) {
        const reply = await call(operation, { headers: type ? { 'content-type': type } : {}, body: '{}' })
        const where = `${operation.method} ${operation.path} as ${type}: ${reply.text}`
        assert.equal(problem(reply), '415 unsupported-media-type', where)
        assert.equal(reply.headers.get('accept'), operation.types.join(', '), where)
        for (const one of operation.types) assert.ok(reply.json.detail.includes(one), where)
        assert.doesNotMatch(reply.json.title, /json/i, 'the title is the same for all routes')
      }
    assert.deepEqual(await rows(), before)
  })

  test('A calendar needs no body', async () => {
    const calendar = operations.find(({ path }) => path === '/student/me/calendar')!
    const headers = { 'content-type': 'application/json' }
    for (const request of [{}, { headers }, { headers, body: '' }, { headers, body: '{}' }])
      assert.equal((await call(calendar, request)).status, 201)
  })
})
