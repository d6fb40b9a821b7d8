/** What staff verified is a person under a name and an address: a change of either takes it back. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { parseAddress } from '../src/platform/lib/address.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork, repeat } from './support/fresh.ts'
import { outcome, type Reply, type Service, type SignedIn, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'

interface Vet extends SignedIn {
  readonly email: string
}

const addressOf = (email: string) => {
  const address = parseAddress(email)
  if (typeof address === 'string') throw new Error(address)
  return address
}

for (const engine of engines) {
  suite(`The verification of a veterinarian on ${engine}`, () => {
    let service: Service
    let support: SignedIn
    before(async () => {
      service = await startService(engine)
      support = await newStaff(service, 'support')
    })
    after(() => service.stop())

    const verified = async (): Promise<Vet> => {
      const email = freshAddress('vet')
      const vet = { ...(await service.signIn(email, freshNetwork())), email }
      await service.app.parts.support.verify(vet.userId, 'came with a passport', byOperator)
      service.clock.advance(1_000)
      return vet
    }
    const call = (who: SignedIn, method: string, path: string, body?: unknown) =>
      service.request(path, { method, token: who.access, body, headers: freshNetwork() })
    const rename = (vet: Vet, body: object) => call(vet, 'PATCH', '/veterinarian/me', body)
    const staffed = (vet: Vet, action: string, body: object = {}) =>
      call(support, 'POST', `/staff/people/${vet.userId}/${action}`, body)
    const shown = async (vet: Vet) => (await call(support, 'GET', `/staff/people/${vet.userId}`)).json.profile
    const page = (vet: Vet, headers: Record<string, string> = {}) =>
      service.request(`/veterinarian/${vet.userId}`, { headers })
    const html = async (vet: Vet) =>
      (await service.request(`/v/${vet.userId}`, { headers: { accept: 'text/html' } })).text
    const unverified = async ({ userId }: Vet) =>
      (
        await service.rows<{ actor: string; request_id: string | null; at: number; data: string }>(
          "select actor, request_id, at, data from event where person_id = $1 and type = 'veterinarian.unverified'",
          [userId],
        )
      ).map((row) => ({ ...row, data: JSON.parse(row.data) }))
    const moveTo = async (vet: Vet, email: string) => {
      const asked = await call(vet, 'POST', '/veterinarian/me/email', { email })
      assert.equal(asked.status, 202, asked.text)
      const { code } = await service.mail.mailTo(email, 1)
      const body = { sessionId: asked.json.sessionId, otp_code: code }
      return call(vet, 'POST', '/veterinarian/me/email/confirm', body)
    }

    /** Everywhere, at once, with one event of the system, and a note to staff. */
    async function assertLost(vet: Vet, because: 'name' | 'address', reply: Reply | null): Promise<void> {
      const now = service.clock.now()
      assert.equal((await page(vet)).json.verified, false)
      assert.ok(!(await html(vet)).includes('verified by the school'))
      const profile = await shown(vet)
      const at = new Date(now).toISOString()
      assert.deepEqual([profile.verified, profile.verificationLost], [false, { at, because }])
      const request_id = reply?.headers.get('request-id') ?? null
      assert.deepEqual(await unverified(vet), [
        { actor: 'system', request_id, at: now, data: { reason: because } },
      ])
    }
    async function assertKept(vet: Vet): Promise<void> {
      assert.equal((await page(vet)).json.verified, true)
      assert.equal((await shown(vet)).verificationLost, null)
      assert.deepEqual(await unverified(vet), [])
    }

    for (const names of [
      { firstname: 'Naomi' },
      { lastname: 'Feldman' },
      { firstname: 'Naomi', lastname: 'Feldman, Dean of Equine Surgery' },
      { firstname: 'Ada', lastname: 'marsh' },
    ])
      test(`is lost with another name: ${Object.values(names).join(' ')}`, async () => {
        const vet = await verified()
        const { headers } = await page(vet)
        assert.ok((await html(vet)).includes('verified by the school'))
        const reply = await rename(vet, names)
        assert.deepEqual([reply.status, reply.json.verified], [200, false])
        assert.equal((await call(vet, 'GET', '/veterinarian/me')).json.verified, false)
        await assertLost(vet, 'name', reply)
        const again = await page(vet, { 'if-none-match': headers.get('etag')! })
        assert.equal(again.status, 200, 'a copy of the page from before is out of date')
      })

    test('stays when the same names are sent again, one of them or both', async () => {
      const vet = await verified()
      for (const names of [
        { firstname: 'Ada' },
        { firstname: ' Ada ', lastname: 'Marsh' },
        { lastname: 'Marsh' },
      ]) {
        const reply = await rename(vet, names)
        assert.deepEqual([reply.status, reply.json.verified, reply.json.confirmed], [200, true, true])
      }
      const hidden = { shown: false }
      assert.equal((await call(vet, 'PATCH', '/veterinarian/me/public-page', hidden)).status, 200)
      await call(vet, 'PATCH', '/veterinarian/me/public-page', { shown: true })
      await assertKept(vet)
    })

    const moves: [by: string, move: (vet: Vet, to: string) => Promise<Reply | null>][] = [
      ['its owner', moveTo],
      ['staff', (vet, email) => staffed(vet, 'change-address', { email })],
      [
        'command',
        async (vet, to) => {
          const { support: desk } = service.app.parts
          assert.ok(await desk.changeAddress(vet.userId, addressOf(to), null, byOperator))
          return null
        },
      ],
    ]
    for (const [by, move] of moves)
      test(`is lost with another address, set by ${by}`, async () => {
        const vet = await verified()
        const reply = await move(vet, freshAddress('moved'))
        assert.ok(reply === null || reply.status < 300)
        await assertLost(vet, 'address', reply)
      })

    test('stays if the address is only spelt in another way, and if a change of it fails', async () => {
      const [vet, other] = [await verified(), await verified()]
      assert.deepEqual(outcome(await staffed(vet, 'change-address', { email: other.email })), [
        409,
        'conflict',
      ])
      assert.equal((await staffed(vet, 'change-address', { email: vet.email.toUpperCase() })).status, 204)
      await assertKept(vet)
    })

    test('stays if the address is registered again under another name', async () => {
      const vet = await verified()
      await service.register(vet.email, { firstname: 'Naomi', lastname: 'Feldman' })
      await service.app.parts.veterinarians.settle()
      const { code, sessionId } = await service.code(vet.email, freshNetwork())
      const body = { email: vet.email, otp_code: code, sessionId }
      const { json } = await service.post('/veterinarian/validate-otp', body, freshNetwork())
      assert.deepEqual([json.user.firstname, json.user.verified], ['Ada', true])
      await assertKept(vet)
    })

    test('is lost once: the first change counts until staff have looked', async () => {
      const vet = await verified()
      const reply = await rename(vet, { firstname: 'Naomi' })
      const { verificationLost } = await shown(vet)
      service.clock.advance(1_000)
      await rename(vet, { firstname: 'Ada' })
      await moveTo(vet, freshAddress('moved'))
      assert.deepEqual((await shown(vet)).verificationLost, verificationLost)
      assert.equal((await unverified(vet)).length, 1)
      assert.equal((await unverified(vet))[0]!.request_id, reply.headers.get('request-id'))
    })

    test('can be given again by staff, and is lost again by the next change', async () => {
      const vet = await verified()
      await rename(vet, { firstname: 'Naomi' })
      service.clock.advance(1_000)
      assert.equal((await staffed(vet, 'verify', { note: 'a marriage' })).status, 204)
      assert.deepEqual([(await page(vet)).json.verified, (await shown(vet)).verificationLost], [true, null])
      service.clock.advance(1_000)
      await rename(vet, { lastname: 'Feldman' })
      assert.equal((await page(vet)).json.verified, false)
      assert.equal((await unverified(vet)).length, 2)
    })

    test('need not be given again: staff may say that they have looked', async () => {
      const vet = await verified()
      await rename(vet, { firstname: 'Naomi' })
      assert.equal((await staffed(vet, 'unverify', { note: 'no answer' })).status, 204)
      assert.deepEqual([(await page(vet)).json.verified, (await shown(vet)).verificationLost], [false, null])
      const actors = (await unverified(vet)).map(({ actor }) => actor).sort()
      assert.deepEqual(actors, [support.userId, 'system'].sort())
      assert.equal((await staffed(vet, 'unverify')).status, 204, 'a second time changes nothing')
      assert.equal((await unverified(vet)).length, 2)
    })

    test('is not given to a profile that has changed since staff looked at it', async () => {
      const vet = await verified()
      await staffed(vet, 'unverify')
      service.clock.advance(1_000)
      const { updatedAt } = await shown(vet)
      await rename(vet, { firstname: 'Naomi' })
      const stale = await staffed(vet, 'verify', { note: 'x', updatedAt })
      assert.deepEqual(outcome(stale), [409, 'conflict'])
      assert.match(stale.json.detail, /has changed since you looked/)
      const wrong = await staffed(vet, 'verify', { updatedAt: 'yesterday' })
      assert.deepEqual(outcome(wrong), [400, 'invalid-request'])
      assert.equal((await page(vet)).json.verified, false)
      const seen = await shown(vet)
      assert.equal((await staffed(vet, 'verify', { updatedAt: seen.updatedAt })).status, 204)
      assert.equal((await page(vet)).json.verified, true)
    })

    test('never stays with an unchecked name when it is given and lost at once', async () => {
      for (let i = 0; i < 10; i++) {
        const vet = await verified()
        await staffed(vet, 'unverify')
        service.clock.advance(1_000)
        await repeat(8, (n) =>
          n % 2 === 0 ? rename(vet, { firstname: `Name${'abcd'[n / 2]}` }) : staffed(vet, 'verify'),
        )
        const events = await service.rows<{ type: string }>(
          "select type from event where person_id = $1 and type like 'veterinarian.%verified'",
          [vet.userId],
        )
        const given = events.filter(({ type }) => type === 'veterinarian.verified').length
        const isVerified = (await page(vet)).json.verified
        assert.equal(given - (events.length - given), isVerified ? 1 : 0, JSON.stringify(events))
      }
    })

    test('Staff find those who have to be checked again, and the overview counts them', async () => {
      const [lost, kept, plain] = [await verified(), await verified(), await verified()]
      await staffed(plain, 'unverify')
      const count = async () =>
        (await call(support, 'GET', '/staff/overview')).json.people.toCheckAgain as number
      const before = await count()
      await rename(lost, { lastname: 'Zzyzx' })
      assert.equal(await count(), before + 1)
      const find = async (query: string): Promise<string[]> => {
        const { json } = await call(support, 'GET', `/staff/people?limit=200&${query}`)
        return json.people.map(({ userId }: { userId: string }) => userId)
      }
      const among = async (query: string) => {
        const found = await find(query)
        return [lost, kept, plain].map(({ userId }) => found.includes(userId))
      }
      assert.deepEqual(await among('verified=lost'), [true, false, false])
      assert.deepEqual(await among('verified=true'), [false, true, false])
      assert.deepEqual(await among('verified=false'), [true, false, true])
      assert.deepEqual(await find('verified=lost&q=zzyzx'), [lost.userId])
      assert.deepEqual(await find(`verified=true&q=${lost.email}`), [])
      assert.deepEqual(await find(`verified=lost&q=${lost.email}`), [lost.userId])
      assert.deepEqual(await find('verified=lost&role=student'), [])
      assert.deepEqual(outcome(await call(support, 'GET', '/staff/people?verified=yes')), [
        400,
        'invalid-request',
      ])
      await service.app.parts.support.close(lost.userId, 'a test', byOperator)
      assert.equal(await count(), before)
    })
  })
}
