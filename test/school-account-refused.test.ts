/** What is left of a refused sign-in: the request of the application, a reference, and what the help desk sees. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { Refused } from '../src/identity/school-account/claims.ts'
import { newInProgress } from '../src/identity/school-account/in-progress.ts'
import { Refusals } from '../src/identity/school-account/refusals.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { day } from '../src/platform/lib/clock.ts'
import { engines } from './support/engines.ts'
import { ok } from './support/passkeys.ts'
import { startProvider, type TestClaims, type TestProvider } from './support/provider.ts'
import { addUser, bulk, emptySchool } from './support/roster-school.ts'
import { rosterOf } from './support/roster-world.ts'
import { atProvider, comeBack, newVisit, schoolSignIn, startSignIn } from './support/school-account.ts'
import { type Service, startService } from './support/service.ts'
import { addStaff, signInStaff } from './support/staff.ts'

for (const engine of engines)
  suite(`Refused school accounts on ${engine}`, () => {
    let service: Service
    let provider: TestProvider
    let providerId: string

    before(async () => {
      service = await startService(engine)
      provider = await startProvider(() => service.clock.now())
      const school = emptySchool()
      for (const name of ['ada', 'bea']) addUser(school, name, 'student', { identifier: `N-${name}` })
      await rosterOf(service).import(bulk(school))
      const { issuer, clientId, secret } = provider
      const added = await service.app.parts.providers.add(
        {
          ...{
            name: 'University account',
            kind: 'oidc',
            roles: ['student', 'staff'],
            issuer,
            clientId,
            secret,
          },
          ...{ domains: ['school.example'], numberClaim: 'student_number' },
        },
        byOperator,
      )
      providerId = added.providerId
    })
    after(async () => {
      await service.stop()
      await provider.stop()
    })

    const refusedAt = async (claims: TestClaims, body: object = {}, role = 'student') => {
      const { location, access } = await schoolSignIn(
        service,
        provider,
        providerId,
        { sub: `sub-${Math.random()}`, ...claims },
        { body, role },
      )
      assert.equal(access, undefined)
      const [page, about] = location.split('#/school-refused?')
      return { page, about: Object.fromEntries(new URLSearchParams(about)) }
    }
    test('Refusals have budgets over the service, one for strangers and one for people at the provider', async () => {
      const { clock, app } = service
      const { db, limits } = app.parts
      const refusals = new Refusals({ db, clock, limits, keepMs: day })
      const now = clock.now()
      const emptied = `insert into bucket (key, full_at, mark) values ($1, $2, '')
        on conflict (key) do update set full_at = excluded.full_at`
      const empty = (name: string) => db.run(emptied, [`service:${name}`, now + 2 * day])
      const from = newInProgress(
        { providerId, role: 'student', returnTo: '/', shared: false, linkFor: null },
        now,
      )
      const caller = { network: { fingerprint: 'n', wider: [] }, requestId: null, noteLimit() {} }
      const claimed = { number: 'N-1', address: 'somebody@school.example' }
      const record = (reason: Refused['reason'], who: typeof claimed | null) =>
        refusals.record(new Refused(reason), from, who, caller)
      await empty('school-refusals')
      assert.equal(await record('provider-refused', null), null)
      assert.equal(await record('hosted-domain', claimed), null)
      assert.equal(await record('tenant', claimed), null)
      assert.ok(await record('nobody', claimed))
      await empty('named-school-refusals')
      assert.equal(await record('nobody', claimed), null)
      await db.run("delete from bucket where key like 'service:%school-refusals'")
    })

    const desk = async (right: 'support' | 'registrar' = 'support') =>
      (await signInStaff(service, (await addStaff(service, [right])).email)).access
    const find = async (q = '') =>
      ok(await service.request(`/staff/school-refusals?q=${encodeURIComponent(q)}`, { token: await desk() }))
        .refusals

    test('The page of a refusal is where the browser was going, with the request of an application', async () => {
      const request = '/oauth/authorize?client_id=moodle&state=a%20state'
      const { page, about } = await refusedAt({}, { return: request })
      assert.equal(page, request)
      assert.match(about.reference!, /^[A-Z]{3}-[A-Z]{3}-[A-Z]{3}$/)
      assert.deepEqual([about.role, about.provider], ['student', providerId])
      const inPortal = await refusedAt({}, { return: '/#/classes' })
      assert.deepEqual([inPortal.page, inPortal.about.place], ['/', '/classes'])
      assert.equal((await refusedAt({}, { return: '/docs' })).page, '/')
      assert.equal((await refusedAt({}, {}, 'staff')).page, '/console')
    })

    test('The help desk finds number and address by the reference; the event has neither', async () => {
      const claims = { student_number: ' N-nobody ', email: 'Zed@school.example' }
      const { about } = await refusedAt(claims)
      const expected = {
        reference: about.reference,
        reason: 'address-unverified',
        role: 'student',
        provider: 'University account',
        userId: null,
        number: 'N-nobody',
        address: 'Zed@school.example',
      }
      for (const q of [
        about.reference!,
        about.reference!.toLowerCase().replaceAll('-', ' '),
        'N-nobody',
        'zed@SCHOOL.example',
      ]) {
        const [{ at, ...found }] = await find(q)
        assert.deepEqual(found, expected)
        assert.equal(at, new Date(service.clock.now()).toISOString())
      }
      assert.equal((await find())[0].reference, about.reference)
      assert.deepEqual(await find('another@school.example'), [])
      const [event] = await service.rows<{ data: string }>(
        "select data from event where type = 'school.refused' order by at desc, id desc limit 1",
      )
      assert.deepEqual(JSON.parse(event!.data), {
        reason: 'address-unverified',
        reference: about.reference,
        providerId,
        role: 'student',
      })
    })

    test('Somebody who is known here is named; claims of any kind are shown harmlessly', async () => {
      const sub = 'ada-at-school'
      await schoolSignIn(service, provider, providerId, { sub, student_number: 'N-ada' })
      const { about } = await refusedAt({ student_number: 'N-ada', email: 'x\0y@school.example'.repeat(50) })
      const [found] = await find(about.reference)
      assert.ok(found.userId)
      assert.equal(found.reason, 'other-account')
      assert.equal(found.address.length, 255)
      assert.ok(!found.address.includes('\0'))
      const odd = await refusedAt({ student_number: [{ a: 1 }, 'a\0b', 7] })
      assert.equal((await find(odd.about.reference))[0].number, 'a b, 7')
    })

    test('Only the help desk may see them, and they go after 30 days', async () => {
      const reply = await service.request('/staff/school-refusals', { token: await desk('registrar') })
      assert.equal(reply.status, 403)
      const { about } = await refusedAt({ student_number: 'N-old' })
      service.clock.jump(31 * day)
      await service.app.parts.sweeper.sweep()
      assert.deepEqual(await find(about.reference), [])
    })

    test('A refusal without claims has a reference, too', async () => {
      const visit = newVisit()
      const started = await startSignIn(service, providerId, visit)
      const back = await atProvider(ok(started).location)
      const state = new URLSearchParams(back.split('?')[1]).get('state')
      const reply = await comeBack(
        service,
        `/sign-in/school/callback?error=access_denied&state=${state}`,
        visit,
      )
      const about = new URLSearchParams(reply.headers.get('location')!.split('?')[1])
      const [found] = await find(about.get('reference')!)
      assert.deepEqual([found.reason, found.number, found.address], ['provider-refused', null, null])
    })
  })
