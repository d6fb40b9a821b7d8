import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { parseName } from '../src/identity/people/names.ts'
import { parseAddress } from '../src/platform/lib/address.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { engines } from './support/engines.ts'
import { type Service, startService } from './support/service.ts'

test('An address or a name that is much too long is refused before it is looked at', () => {
  const domain = Array.from({ length: 5_000 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join('')
  assert.equal(parseAddress(`ada@${domain}.example`), 'must have at most 254 octets')
  assert.equal(parseName('a\u0301\u0327'.repeat(3_000)), 'must have at most 100 characters')
  assert.deepEqual(parseName('e\u0301'.repeat(100)), { name: '\u00e9'.repeat(100) })
})

for (const engine of engines) {
  describe(`Things that meet on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine, { env: { CHIRON_LIMITS: 'off' } })
    })
    after(() => service.stop())

    test('Whoever applies one registration at the same time makes one account and no error', async () => {
      for (let round = 0; round < 10; round++) {
        const email = `met${round}@vets.example`
        assert.equal((await service.register(email)).status, 202)
        const { veterinarians } = service.app.parts
        const found = await Promise.all(Array.from({ length: 8 }, () => veterinarians.findAccount(email)))
        assert.equal(new Set(found.map((person) => person?.id)).size, 1)
        assert.ok(found[0])
      }
    })

    test('A sign-in that meets a suspension leaves no session behind', async () => {
      for (let round = 0; round < 20; round++) {
        const email = `suspended${round}@vets.example`
        const { userId } = await service.signIn(email)
        const { sessionId, code } = await service.code(email)
        const [reply] = await Promise.all([
          service.post('/veterinarian/validate-otp', { email, otp_code: code, sessionId }),
          service.app.parts.support.suspend(userId, 'a test', byOperator),
        ])
        // Before the suspension it lets in, after it no longer; it never fails.
        assert.ok([200, 401].includes(reply.status), `${reply.status} ${reply.text}`)
        const live = await service.rows('select id from session where person_id = $1 and ended_at is null', [
          userId,
        ])
        assert.deepEqual(live, [])
      }
    })
  })
}
