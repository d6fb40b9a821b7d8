/** Whatever staff read: a parameter that the route does not describe is refused, so that no misspelt filter is ignored. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { engines } from './support/engines.ts'
import { type Service, type SignedIn, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'
import { schoolOfSuite } from './support/student-school.ts'

interface Operation {
  readonly parameters?: readonly { readonly name?: string; readonly in?: string }[]
  readonly responses: Readonly<Record<string, { readonly description: string }>>
}

suite('Parameters of what staff read', () => {
  let service: Service
  let admin: SignedIn
  let reads: [path: string, operation: Operation][]
  before(async () => {
    service = await startService('sqlite')
    admin = await newStaff(service, 'admin')
    const { json } = await service.request('/openapi.json')
    reads = Object.entries<Record<string, Operation>>(json.paths).flatMap(([path, item]) =>
      path.startsWith('/staff/') && item.get ? [[path, item.get] as [string, Operation]] : [],
    )
  })
  after(() => service.stop())

  const get = (path: string, query: string, method = 'GET') =>
    service.request(`${path.replaceAll(/\{\w+\}/g, 'q2nXcUoYTkKsmcYbkzyHRA')}?${query}`, {
      method,
      token: admin.access,
    })

  test('The lists of the contract are among those that are tried', () => {
    const paths = reads.map(([path]) => path)
    for (const path of [
      'people',
      'people/{userId}',
      'deliveries',
      'events',
      'overview',
      'members',
      'webhooks',
      'clients',
      'clients/{clientId}/people',
    ])
      assert.ok(paths.includes(`/staff/${path}`), path)
    for (const path of ['imports', 'undo', 'plans/{planId}', 'plans/{planId}/changes'])
      assert.ok(paths.includes(`/staff/roster/${path}`), path)
  })

  test('An unknown one is 400 and named, whatever the right ones beside it', async () => {
    for (const [path] of reads) {
      const reply = await get(path, 'limit=1&nonsense=1&Limit=2')
      assert.deepEqual([reply.status, reply.json.code], [400, 'invalid-request'], path)
      const named = reply.json.errors.map(({ parameter }: { parameter: string }) => parameter)
      assert.ok(named.includes('nonsense') && named.includes('Limit'), `${path}: ${named}`)
      for (const error of reply.json.errors) assert.deepEqual(Object.keys(error), ['parameter', 'detail'])
      assert.equal((await get(path, 'nonsense=1', 'HEAD')).status, 400, `HEAD ${path}`)
    }
  })

  test('Those that are described are not unknown', async () => {
    for (const [path, { parameters = [] }] of reads)
      for (const { name } of parameters.filter((one) => one.in === 'query')) {
        const { json } = await get(path, `${name}=x`)
        for (const { detail } of json?.errors ?? [])
          assert.doesNotMatch(detail, /parameters/, `${path}?${name}`)
      }
  })

  test('Each says so in the OpenAPI document', () => {
    for (const [path, { responses }] of reads)
      assert.match(responses[400]!.description, /`invalid-request`/, path)
  })

  test('The reply says which there are, and names ten at most', async () => {
    const { json } = await get('/staff/people', 'changedSince=2026-01-01')
    assert.deepEqual(json.errors[0].parameter, 'changedSince')
    assert.match(json.errors[0].detail, /q, role, status/)
    const many = Array.from({ length: 1_000 }, (_, i) => `a${i}=`).join('&')
    assert.equal((await get('/staff/people', many)).json.errors.length, 10)
    const none = await get('/staff/overview', 'x=')
    assert.deepEqual(none.json.errors, [
      { parameter: 'x', detail: 'is unknown; this call takes no parameters' },
    ])
  })

  test('Without a token or the right it is 401 or 403, as before', async () => {
    const { access: token } = await newStaff(service, 'registrar')
    assert.equal((await service.request('/staff/people?nonsense=1')).status, 401)
    assert.equal((await service.request('/staff/people?nonsense=1', { token })).status, 403)
  })
})

for (const engine of engines)
  suite(`Values of parameters that no store can hold, on ${engine}`, () => {
    let service: Service
    let token: string
    schoolOfSuite(engine, ['zoe'], (served) => {
      service = served.service
    })
    before(async () => {
      token = (await newStaff(service, 'admin')).access
    })

    const mark = (text: string) => Buffer.from(text).toString('base64url')
    const byTime = (key: string) =>
      `/staff/people?sort=created&after=${mark(`["created","created",${key},"x"]`)}`
    const byName = (rest: string) => `/staff/people?sort=name&after=${mark(`["name",${rest}]`)}`
    const refused: readonly (readonly [path: string, parameter: string])[] = [
      ['/staff/people?q=%00', 'q'],
      ['/staff/people?q=a%00b', 'q'],
      ['/staff/people?q=a&q=%00', 'q'],
      [byTime('1e999'), 'after'],
      [byTime('1e30'), 'after'],
      [byTime('1.5'), 'after'],
      [byTime('9007199254740993'), 'after'],
      [byTime('"1"'), 'after'],
      [byName('"named","a\\u0000","b","c"'), 'after'],
      [byName('"named","a","b"'), 'after'],
      [byName('"nameless","\\u0000"'), 'after'],
      ['/staff/events?person=%00', 'person'],
      ['/staff/events?actor=a%00', 'actor'],
      ['/staff/deliveries?email=%00', 'email'],
      ['/staff/roster/imports/1/changes?q=%00', 'q'],
      ['/staff/roster/imports/1/changes?after=0.AA', 'after'],
      ['/staff/roster/imports/1/changes?after=0.%00', 'after'],
    ]
    for (const [path, parameter] of refused)
      test(`${path} is 400`, async () => {
        const { status, json } = await service.request(path, { token })
        assert.deepEqual([status, json.code, json.errors?.[0].parameter], [400, 'invalid-request', parameter])
      })

    for (const path of [
      byTime('1'),
      byTime('-9007199254740991'),
      byName('"named","a","b","c"'),
      byName('"named","\\ud800","b","c"'),
      '/staff/roster/imports/1/changes?after=0.YQ',
    ])
      test(`${path} is 200`, async () => {
        assert.equal((await service.request(path, { token })).status, 200)
      })
  })
