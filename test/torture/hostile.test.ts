import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type Service, startService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { endless, Pests, sendEndlessly, shapes, trySplit } from './hostile.ts'

suite('Hostile clients', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite')
  })
  after(() => service.stop())

  for (const [name, bytes, statuses] of shapes)
    test(`No request is hidden from a proxy by ${name}`, async () => {
      const tried = await trySplit(service, bytes)
      assert.deepEqual(tried.statuses, statuses)
      assert.ok(!tried.paths.includes('/smuggled'), tried.paths.join())
    })

  for (const [name, begin, again, status] of endless)
    test(`${name} without an end is ${status}, and the connection is closed`, async () => {
      const sent = await sendEndlessly(service.url, begin, again)
      assert.equal(sent.status, status)
      // What the sockets' buffers take is not what the service takes.
      assert.ok(sent.octets < 32 * 1024 * 1024, `${sent.octets}`)
    })

  test('Slow senders are thrown out with 408, and neither they nor idle connections keep others from being served', async () => {
    const { server } = service.app.parts.server.app
    const usual = { headersTimeout: server.headersTimeout, requestTimeout: server.requestTimeout }
    const pests = new Pests(service.url)
    Object.assign(server, { headersTimeout: 500, requestTimeout: 500 })
    try {
      await pests.idle(100)
      await pests.slow(100, 50)
      for (let i = 0; i < 20; i++) assert.equal((await service.request('/health/ready')).status, 200)
      await eventually('slow senders are thrown out', () => (pests.refused.get(408) ?? 0) >= 100)
      assert.deepEqual([...pests.refused.keys()], [408])
      assert.equal((await service.register('beside@vets.example')).status, 202)
    } finally {
      Object.assign(server, usual)
      pests.end()
    }
    await eventually('the connections are gone', () => pests.open === 0)
  })
})
