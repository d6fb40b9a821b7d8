/** What staff do for people. */

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { accounts } from '../src/identity/people/people.ts'
import { statement } from '../src/platform/db/db.ts'
import { atLength, engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { bulk } from './support/roster-school.ts'
import { rosterOf, signInStudent } from './support/roster-world.ts'
import { outcome, type Service, type SignedIn, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'
import { studentSchool } from './support/student-school.ts'

interface Found {
  userId: string
  role: string
  status: string
  email: string
}

for (const engine of engines) {
  suite(`The desk on ${engine}`, () => {
    let service: Service
    let staff: SignedIn
    before(async () => {
      service = await startService(engine)
      await rosterOf(service).import(bulk(studentSchool([])))
      staff = await newStaff(service, 'support')
    })
    after(() => service.stop())

    const get = (path: string, token = staff.access) => service.request(path, { token })
    const find = async (query: Record<string, string>): Promise<{ people: Found[]; next: string | null }> => {
      const reply = await get(`/staff/people?${new URLSearchParams(query)}`)
      assert.equal(reply.status, 200, reply.text)
      return reply.json
    }
    const act = (userId: string, action: string, body: unknown = {}) =>
      service.request(`/staff/people/${userId}/${action}`, { token: staff.access, body })
    const show = async (userId: string) => (await get(`/staff/people/${userId}`)).json
    const newVeterinarian = async (names = { firstname: 'Ada', lastname: 'Marsh' }) => {
      const email = freshAddress('vet')
      await service.register(email, names)
      return { email, ...(await service.signIn(email, freshNetwork())) }
    }

    test('People are found by parts of names without case and accents, by address, number and id', async () => {
      const email = freshAddress('zoe')
      await service.register(email, { firstname: 'Zoë', lastname: 'Ångström-Ødegård' })
      await service.app.parts.veterinarians.settle()
      const [{ userId }] = (await find({ q: email.toUpperCase() })).people as [Found]
      for (const q of ['zoe', 'ANGSTROM', 'ångström zoë', 'øde zo', 'odegard', userId, email.slice(0, -4)])
        assert.ok(
          (await find({ q })).people.some((one) => one.userId === userId),
          q,
        )
      assert.deepEqual((await find({ q: 'zoe nobody' })).people, [])
      const [student] = (await find({ q: 'ada.byron@school.example' })).people as [Found]
      assert.deepEqual([student.role, student.status], ['student', 'active'])
      assert.ok((await find({ q: 'byron', role: 'student' })).people.length > 0)
      assert.deepEqual((await find({ q: 'byron', role: 'veterinarian' })).people, [])
      assert.ok((await find({ q: 'zoe', status: 'pending' })).people.length > 0)
      const { studentNumber } = (await get('/staff/people?q=ada.byron')).json.people[0]
      if (studentNumber !== null)
        assert.ok((await find({ q: studentNumber })).people.some((one) => one.userId === student.userId))
    })

    test('People are found by the names that they have now', async () => {
      const vet = await newVeterinarian()
      const rename = (body: object) =>
        service.request('/veterinarian/me', { method: 'PATCH', token: vet.access, body })
      const named = async (q: string) =>
        (await find({ q })).people.some(({ userId }) => userId === vet.userId)
      await rename({ firstname: 'Łukasz', lastname: 'Before-Marriage' })
      assert.ok(await named('lukasz before-marriage'))
      await rename({ lastname: 'Groß' })
      assert.deepEqual([await named('lukasz gross'), await named('before-marriage')], [true, false])
    })

    test('SQL wildcards have no meaning in a search', async () => {
      for (const q of ['%', '_', 'b%n', 'b_ron', '\\', "'"])
        assert.deepEqual((await find({ q })).people, [], q)
      assert.deepEqual((await find({ q: 'q '.repeat(200) })).people, [])
    })

    test('Invalid values in a search are refused', async () => {
      for (const query of ['role=staff', 'role=owner', 'status=gone', 'limit=0', 'limit=1000000', 'limit=x'])
        assert.deepEqual(outcome(await get(`/staff/people?${query}`)), [400, 'invalid-request'], query)
    })

    test('Members of staff are not found, shown or changed at the desk', async () => {
      const admin = await newStaff(service, 'admin')
      assert.ok((await find({ q: 'hopper' })).people.every(({ userId }) => userId !== admin.userId))
      assert.deepEqual(outcome(await get(`/staff/people/${admin.userId}`)), [404, 'not-found'])
      for (const action of ['suspend', 'sign-out', 'close'])
        assert.deepEqual(
          outcome(await act(admin.userId, action, { reason: 'x' })),
          [404, 'not-found'],
          action,
        )
      const moved = await act(admin.userId, 'change-address', { email: freshAddress('thief') })
      assert.deepEqual(outcome(moved), [404, 'not-found'])
    })

    test('Pages go on where the last one ended, and name everybody once', async () => {
      const seen: string[] = []
      let after: string | null = null
      do {
        const page: { people: Found[]; next: string | null } = await find({
          limit: '3',
          ...(after !== null && { after }),
        })
        assert.ok(page.people.length <= 3)
        seen.push(...page.people.map(({ userId }) => userId))
        after = page.next
      } while (after !== null)
      assert.equal(new Set(seen).size, seen.length)
      const everybody = await service.rows<{ id: string }>(
        `select id from ${accounts} a where role <> 'staff' and status <> 'closed'`,
      )
      assert.deepEqual(seen.sort(), everybody.map(({ id }) => id).sort())
    })

    test('A person is shown with sessions and events, and who did what and why', async () => {
      const vet = await newVeterinarian()
      assert.equal((await act(vet.userId, 'suspend', { reason: 'Asked to by the dean' })).status, 204)
      const { profile, sessions, events } = await show(vet.userId)
      assert.deepEqual(
        [profile.email, profile.status, profile.role],
        [vet.email, 'suspended', 'veterinarian'],
      )
      assert.equal(sessions[0].endReason, 'account')
      const suspended = events.find(({ type }: { type: string }) => type === 'veterinarian.suspended')
      assert.equal(suspended.actor, staff.userId)
      assert.equal(suspended.note, 'Asked to by the dean')
      assert.ok(suspended.requestId && suspended.network && suspended.number > 0)
      const started = events.find(({ type }: { type: string }) => type === 'session.started')
      assert.equal(started.actor, 'self')
      const numbers = events.map(({ number }: { number: number }) => number)
      assert.deepEqual(
        numbers,
        numbers.toSorted((a: number, b: number) => a - b),
        'in the order of the feed',
      )
    })

    test('Suspending signs out at once and keeps out until reactivated', async () => {
      const vet = await newVeterinarian()
      assert.equal((await act(vet.userId, 'suspend', { reason: 'x' })).status, 204)
      assert.deepEqual(outcome(await get('/veterinarian/me', vet.access)), [401, 'session-ended'])
      assert.equal((await act(vet.userId, 'suspend', { reason: 'x' })).status, 204, 'again')
      assert.equal((await act(vet.userId, 'reactivate')).status, 204)
      assert.equal((await act(vet.userId, 'reactivate', {})).status, 204, 'again')
      assert.equal((await show(vet.userId)).profile.status, 'active')
      const again = await service.signIn(vet.email, freshNetwork())
      assert.equal((await get('/veterinarian/me', again.access)).status, 200)
      const types = (await show(vet.userId)).events.map(({ type }: { type: string }) => type)
      for (const type of ['veterinarian.suspended', 'veterinarian.reactivated'])
        assert.equal(types.filter((one: string) => one === type).length, 1, type)
    })

    test('A student is suspended and reactivated too, but not verified, moved or closed', async () => {
      const { userId, access } = await signInStudent(service, 'ada.byron@school.example')
      assert.equal((await act(userId, 'suspend', { reason: 'x' })).status, 204)
      assert.deepEqual(outcome(await get('/student/me', access)), [401, 'session-ended'])
      assert.equal((await act(userId, 'reactivate')).status, 204)
      for (const [action, body] of [
        ['verify', { note: 'x' }],
        ['change-address', { email: freshAddress('moved') }],
        ['close', { reason: 'x' }],
      ] as const) {
        const reply = await act(userId, action, body)
        assert.deepEqual(outcome(reply), [409, 'conflict'], action)
        assert.match(reply.json.detail, /student/)
      }
    })

    test('Signing somebody out ends their sessions and nothing else', async () => {
      const vet = await newVeterinarian()
      assert.equal((await act(vet.userId, 'sign-out')).status, 204)
      assert.deepEqual(outcome(await get('/veterinarian/me', vet.access)), [401, 'session-ended'])
      const { profile, sessions } = await show(vet.userId)
      assert.deepEqual([profile.status, sessions[0].endReason], ['active', 'revoked'])
    })

    test('Verifying shows on the public profile, and is taken back', async () => {
      const vet = await newVeterinarian()
      const verified = async () => (await service.request(`/veterinarian/${vet.userId}`)).json.verified
      assert.equal(await verified(), false)
      assert.equal((await act(vet.userId, 'verify', { note: 'Saw the licence' })).status, 204)
      assert.equal(await verified(), true)
      assert.equal((await get('/veterinarian/me', vet.access)).json.verified, true)
      assert.equal((await act(vet.userId, 'verify')).status, 204, 'again')
      service.clock.advance(1)
      assert.equal((await act(vet.userId, 'unverify')).status, 204)
      assert.equal(await verified(), false)
      const types = (await show(vet.userId)).events.map(({ type }: { type: string }) => type)
      assert.deepEqual(
        types.filter((type: string) => type.includes('verified')),
        ['veterinarian.verified', 'veterinarian.unverified'],
      )
    })

    test('A veterinarian who has not signed in yet cannot be verified, suspended or moved', async () => {
      const email = freshAddress('pending')
      await service.register(email)
      await service.app.parts.veterinarians.settle()
      const [{ userId }] = (await find({ q: email })).people as [Found]
      for (const [action, body] of [
        ['verify', {}],
        ['suspend', { reason: 'x' }],
        ['change-address', { email: freshAddress('x') }],
      ] as const)
        assert.deepEqual(outcome(await act(userId, action, body)), [409, 'conflict'], action)
    })

    test('Changing an address ends sessions, tells both addresses, and only the new one signs in', async () => {
      const vet = await newVeterinarian()
      const email = freshAddress('new')
      // Somebody registered it before and never confirmed.
      await service.register(email, { firstname: 'Some', lastname: 'Squatter' })
      await service.app.parts.veterinarians.settle()
      assert.equal((await act(vet.userId, 'change-address', { email })).status, 204)
      assert.deepEqual(outcome(await get('/veterinarian/me', vet.access)), [401, 'session-ended'])
      const old = await service.mail.mailTo(vet.email, 2)
      assert.match(old.mail.text ?? '', /changed the address of your veterinarian account/)
      const told = await service.mail.mailTo(email, 1)
      assert.match(told.mail.text ?? '', /moved a veterinarian account to this address/)
      assert.deepEqual([old.code, told.code], [null, null])
      assert.ok(!`${old.raw}${told.raw}`.includes('Squatter'))
      const again = await service.signIn(email, freshNetwork())
      assert.equal(again.userId, vet.userId)
      const { profile, events } = await show(vet.userId)
      assert.equal(profile.email, email)
      const types = events.map(({ type }: { type: string }) => type)
      assert.ok(types.includes('veterinarian.address-changed'))
      const { code } = await service.code(vet.email, freshNetwork())
      assert.equal(code, 0, 'the old address has no account')
    })

    test('An address that another veterinarian has is refused, and nothing changes', async () => {
      const [one, two] = [await newVeterinarian(), await newVeterinarian()]
      const reply = await act(one.userId, 'change-address', { email: two.email.toUpperCase() })
      assert.deepEqual(outcome(reply), [409, 'conflict'])
      assert.match(reply.json.detail, /belongs to another veterinarian/)
      assert.equal((await get('/veterinarian/me', one.access)).json.email, one.email)
    })

    test('Closing erases what is personal and keeps the reason', async () => {
      const vet = await newVeterinarian({ firstname: 'Erasmus', lastname: 'Gonebye' })
      await act(vet.userId, 'verify', { note: 'Erasmus came by' })
      assert.equal((await act(vet.userId, 'close', { reason: 'Asked for it' })).status, 204)
      assert.deepEqual(outcome(await get('/veterinarian/me', vet.access)), [401, 'session-ended'])
      const shown = await show(vet.userId)
      assert.equal(shown.profile.status, 'closed')
      assert.ok(!JSON.stringify(shown).includes('Erasmus'))
      assert.ok(JSON.stringify(shown).includes('Asked for it'))
      assert.deepEqual((await find({ q: 'gonebye' })).people, [])
      assert.deepEqual(outcome(await act(vet.userId, 'reactivate')), [404, 'not-found'])
    })

    test('A reason is required, and limited in length', async () => {
      const vet = await newVeterinarian()
      for (const action of ['suspend', 'close'])
        for (const body of [{}, { reason: 1 }, { reason: 'x'.repeat(1001) }])
          assert.deepEqual(outcome(await act(vet.userId, action, body)), [400, 'invalid-request'], action)
      assert.equal((await show(vet.userId)).profile.status, 'active')
    })

    test('Unknown ids are not found', async () => {
      for (const userId of ['AAAAAAAAAAAAAAAAAAAAAA', 'x', '%00', "'--"])
        assert.equal((await get(`/staff/people/${userId}`)).status, 404, userId)
    })

    test('Among twenty thousand people one is found, page after page', atLength, async () => {
      const { db } = service.app.parts
      const many = Array.from({ length: 20_000 }, (_, i) => i)
      for (let at = 0; at < many.length; at += 100)
        await db.tx(
          many.slice(at, at + 100).map((i) => {
            const id = `crowd${String(i).padStart(17, '0')}`
            return statement(
              `insert into person (id, role, status, email, email_key, firstname, firstname_key, lastname, lastname_key, created_at, updated_at)
               values ($1, 'veterinarian', 'active', $2, $2, 'Crowd', 'crowd', $3, lower($3), 0, 0)`,
              id,
              `crowd${i}@many.example`,
              `Number${i}`,
            )
          }),
        )
      const one = await find({ q: 'number19999' })
      assert.deepEqual(
        one.people.map(({ email }) => email),
        ['crowd19999@many.example'],
      )
      const first = await find({ q: 'crowd', limit: '150' })
      const second = await find({ q: 'crowd', limit: '150', after: first.next! })
      assert.equal(new Set([...first.people, ...second.people].map(({ userId }) => userId)).size, 300)
    })
  })
}
