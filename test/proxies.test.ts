import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { atLength } from './support/engines.ts'
import { type Service, startService } from './support/service.ts'

const warnings = (service: Service) =>
  service.log.map((line) => JSON.parse(line)).filter(({ msg }) => msg.includes('CHIRON_TRUSTED_PROXIES'))

async function during(env: Record<string, string>, work: (service: Service) => Promise<void>): Promise<void> {
  const service = await startService('sqlite', { env })
  try {
    await work(service)
  } finally {
    await service.stop()
  }
}

suite('A proxy that is not trusted', atLength, () => {
  for (const header of ['x-forwarded-for', 'forwarded', 'x-real-ip']) {
    test(`is told of once, when it sends ${header}, without the address of whom it speaks for`, () =>
      during({ CHIRON_TRUSTED_PROXIES: '10.0.0.1' }, async (service) => {
        await service.request('/health/live')
        assert.deepEqual(warnings(service), [])
        for (let i = 0; i < 3; i++)
          await service.request('/health/live', { headers: { [header]: '203.0.113.77' } })
        const [warning, ...more] = warnings(service)
        assert.deepEqual(more, [])
        assert.deepEqual([warning.level, warning.header, warning.peer], [40, header, '127.0.0.1'])
        assert.doesNotMatch(service.log.join(''), /203\.0\.113\.77/)
      }))
  }

  test('is not told of when it is trusted', () =>
    during({}, async (service) => {
      await service.request('/health/live', { headers: { 'x-forwarded-for': '203.0.113.77' } })
      assert.deepEqual(warnings(service), [])
    }))

  test('is not told of when it asks for the mailbox', () =>
    during({ CHIRON_TRUSTED_PROXIES: '', CHIRON_SMTP_URL: '' }, async (service) => {
      await service.request('/mailbox', { headers: { 'x-forwarded-for': '203.0.113.77' } })
      assert.deepEqual(warnings(service), [])
    }))
})
