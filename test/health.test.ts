/** /health/ready while the store answers reads and refuses writes. test/torture/resources.ts fills real disks. */
import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { type Engine, engines } from './support/engines.ts'
import { startPostgres } from './support/postgres.ts'
import { type Reply, type Service, startService } from './support/service.ts'
import { eventually } from './support/wait.ts'

interface ReadOnlyStore {
  readonly service: Service
  refuseWrites(): Promise<void>
  takeWrites(): Promise<void>
}

async function startOnOwnStore(t: TestContext, engine: Engine): Promise<ReadOnlyStore> {
  if (engine === 'sqlite') {
    const service = await startService(engine)
    t.after(() => service.stop())
    const queryOnly = async (value: 'on' | 'off') =>
      void (await service.app.parts.db.all(`pragma query_only = ${value}`))
    return { service, refuseWrites: () => queryOnly('on'), takeWrites: () => queryOnly('off') }
  }
  const server = await startPostgres()
  t.after(() => server.remove())
  const service = await startService(engine, { databaseUrl: server.url('postgres') })
  t.after(() => service.stop())
  const readOnly = async (value: 'on' | 'off') => {
    const { db } = service.app.parts
    // Each connection of the service learns it before its next statement.
    await db.all(`alter system set default_transaction_read_only = ${value}`)
    await db.all('select pg_reload_conf()')
    // The server tells its processes a moment later.
    const told = 'select current_setting($1) as value'
    await eventually('the setting', async () => {
      const [row] = await db.all<{ value: string }>(told, ['default_transaction_read_only'])
      return row!.value === value
    })
  }
  return { service, refuseWrites: () => readOnly('on'), takeWrites: () => readOnly('off') }
}

const register = (service: Service) => service.register('ada@clinic.example')
const ready = (service: Service) => service.request('/health/ready')
const probes = (service: Service) => service.rows<{ filler: string }>('select filler from write_probe')

function assertNotReady({ status, json, headers }: Reply) {
  assert.deepEqual(
    [status, json.code, json.detail, headers.get('retry-after')],
    [503, 'unavailable', 'The store does not take writes.', '2'],
  )
}

for (const engine of engines)
  suite(`Readiness on ${engine}`, () => {
    test('is 503 while writes fail, at once after one failed, and 200 a second after they work', async (t) => {
      const { service, refuseWrites, takeWrites } = await startOnOwnStore(t, engine)
      assert.equal((await ready(service)).status, 200)
      await refuseWrites()
      assert.equal((await register(service)).status, 503)
      assertNotReady(await ready(service))
      assert.equal((await service.request('/health/live')).status, 200)
      assert.match(
        service.log.join(''),
        /"reason":"[^"]*read-?only[^"]*","msg":"The store does not take writes/,
      )
      await takeWrites()
      assertNotReady(await ready(service))
      service.clock.advance(1_000)
      assert.equal((await ready(service)).status, 200)
      assert.equal((await register(service)).status, 202)
    })

    test('notices within five seconds that writes fail, if nobody else writes', async (t) => {
      const { service, refuseWrites, takeWrites } = await startOnOwnStore(t, engine)
      assert.equal((await ready(service)).status, 200)
      await refuseWrites()
      service.clock.advance(5_000)
      assertNotReady(await ready(service))
      await takeWrites()
    })

    test('writes once in five seconds, however often it is asked', async (t) => {
      const service = await startService(engine)
      t.after(() => service.stop())
      const askOften = () => Promise.all(Array.from({ length: 50 }, () => ready(service)))
      await askOften()
      const [first] = await probes(service)
      service.clock.advance(4_999)
      await askOften()
      assert.deepEqual(await probes(service), [first])
      service.clock.advance(1)
      await askOften()
      const [next, ...others] = await probes(service)
      assert.notEqual(next!.filler, first!.filler)
      assert.deepEqual(others, [])
    })
  })
