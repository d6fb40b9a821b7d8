/** Admins who change the school's providers at the same time. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { AppError } from '../src/errors.ts'
import type { ProviderFields } from '../src/identity/school-account/provider-fields.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { engines } from './support/engines.ts'
import { type Service, startService } from './support/service.ts'

const fields: ProviderFields = {
  name: 'Veterinary school',
  kind: 'oidc',
  issuer: 'https://login.school.example',
  clientId: 'chiron',
  secret: 'secret',
  roles: ['student'],
  domains: ['school.example'],
}

for (const engine of engines)
  suite(`Providers on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    test('Of changes of different fields at once, none is lost', async () => {
      const { providers } = service.app.parts
      const { providerId } = await providers.add(fields, byOperator)
      const before = await providers.show(providerId)
      await Promise.all([
        providers.change(providerId, { name: 'Clinic' }, byOperator),
        providers.change(providerId, { numberClaim: 'student_number' }, byOperator),
        providers.change(providerId, { roles: ['student', 'staff'] }, byOperator),
        providers.change(providerId, { trustAddresses: true }, byOperator),
      ])
      assert.deepEqual(await providers.show(providerId), {
        ...before,
        name: 'Clinic',
        numberClaim: 'student_number',
        roles: ['student', 'staff'],
        trustAddresses: true,
      })
      const change = providers.change(providerId, { domains: [] }, byOperator)
      await assert.rejects(change, (error) => error instanceof AppError && error.code === 'invalid-request')
      await providers.remove(providerId, byOperator)
      await assert.rejects(providers.remove(providerId, byOperator), { code: 'not-found' })
      await assert.rejects(providers.change(providerId, {}, byOperator), { code: 'not-found' })
    })

    test('There are twenty at most, also if many are added at once', async () => {
      const { providers } = service.app.parts
      const added = await Promise.allSettled(
        Array.from({ length: 25 }, (_, i) => providers.add({ ...fields, name: `School ${i}` }, byOperator)),
      )
      const refused = added.filter(({ status }) => status === 'rejected')
      assert.deepEqual(
        refused.map((one) => 'reason' in one && one.reason.code),
        Array(5).fill('conflict'),
      )
      assert.equal((await providers.list()).length, 20)
    })
  })
