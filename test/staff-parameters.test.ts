/** Whatever staff read: a parameter that the route does not describe is refused, so that no misspelt filter is ignored. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type Service, type SignedIn, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'

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
