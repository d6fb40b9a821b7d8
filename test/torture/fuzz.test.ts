import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { atLength, engines } from '../support/engines.ts'
import { startService } from '../support/service.ts'
import { newStaff } from '../support/staff.ts'
import { fuzz } from './fuzz.ts'

suite('Fuzzed requests', { ...atLength }, () => {
  for (const engine of engines)
    test(`over every route are never a 5xx, on ${engine}`, async () => {
      const service = await startService(engine, { env: { CHIRON_LIMITS: 'off' } })
      try {
        const { access } = await service.signIn('fuzz@vets.example')
        const staff = await newStaff(service, 'admin')
        const report = await fuzz(service, [access, staff.access], {
          until: Number.POSITIVE_INFINITY,
          requestsMax: 1_500,
        })
        assert.ok(report.answered > report.requests / 2, JSON.stringify(report))
      } finally {
        await service.stop()
      }
    })
})
