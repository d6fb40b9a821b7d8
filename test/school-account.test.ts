import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { byOperator } from '../src/platform/lib/by.ts'
import { hour, minute, second } from '../src/platform/lib/clock.ts'
import { callAs } from './support/applications.ts'
import { answerIn, authorize, callback, newClient, requestOf } from './support/authorize.ts'
import { engines } from './support/engines.ts'
import { freshNetwork } from './support/fresh.ts'
import { ok } from './support/passkeys.ts'
import { startProvider, type TestClaims, type TestProvider, type Wrongs } from './support/provider.ts'
import { addUser, bulk, change, drop, edited, emptySchool, type School } from './support/roster-school.ts'
import { rosterOf, signInStudent } from './support/roster-world.ts'
import {
  atProvider,
  comeBack,
  newVisit,
  schoolSignIn,
  startSignIn,
  whoAmI,
} from './support/school-account.ts'
import { type Reply, type Service, startService } from './support/service.ts'
import { addStaff, signInStaff } from './support/staff.ts'
import { decode } from './support/tokens.ts'
import { eventually } from './support/wait.ts'

const problem = ({ status, json }: Reply) => `${status} ${json?.code}`
const refusedPage = '/#/school-refused'
const isRefusedPage = (location: string | null) => location?.startsWith(refusedPage) === true

const students = Array.from({ length: 60 }, (_, i) => `stu-${i}`)
const numberOf = (name: string) => `N-${name}`
const addressOf = (name: string) => `${name}@school.example`

function firstSchool(): School {
  const school = emptySchool()
  for (const name of students)
    addUser(school, name, 'student', { identifier: numberOf(name), givenName: name })
  return school
}

for (const engine of engines) {
  suite(`School accounts on ${engine}`, () => {
    let service: Service
    let provider: TestProvider
    let school = firstSchool()
    let next = 0
    /** A student whom no other test uses. */
    const student = () => students[next++]!
    const subjects = { count: 0 }
    const newSubject = () => `subject-${subjects.count++}`

    before(async () => {
      service = await startService(engine)
      provider = await startProvider(() => service.clock.now())
      await rosterOf(service).import(bulk(school))
    })
    after(async () => {
      await service.stop()
      await provider.stop()
    })

    const reimport = async (edit: (school: School) => void) => {
      service.clock.advance(second)
      school = edited(school, edit)
      await rosterOf(service).import(bulk(school))
    }
    const fields = (more: object = {}) => ({
      name: 'University account',
      kind: 'oidc',
      issuer: provider.issuer,
      clientId: provider.clientId,
      secret: provider.secret,
      roles: ['student', 'staff'],
      domains: ['school.example'],
      numberClaim: 'student_number',
      ...more,
    })
    const addProvider = async (more: object = {}) => {
      provider.wrongs = {}
      provider.userinfo = {}
      provider.broken.clear()
      const { providers } = service.app.parts
      for (const before of await providers.list()) await providers.remove(before.providerId, byOperator)
      return (await providers.add(fields(more), byOperator)).providerId
    }
    const entra = { kind: 'entra', tenant: 'tenant-1', numberClaim: null }
    const google = { kind: 'google', hostedDomain: 'school.example', numberClaim: null }

    const personOf = async (name: string) =>
      (
        await service.rows<{ person_id: string }>(
          'select person_id from student where sourced_id = $1 order by from_gen desc limit 1',
          [name],
        )
      )[0]!.person_id
    const refusals = async () =>
      (
        await service.rows<{ data: string; person_id: string | null }>(
          "select data, person_id from event where type = 'school.refused' order by at, id",
        )
      ).map(({ data, person_id }) => ({ ...JSON.parse(data), userId: person_id }))
    const signIn = (providerId: string, claims: TestClaims, options = {}) =>
      schoolSignIn(service, provider, providerId, { sub: newSubject(), ...claims }, options)
    const eventTypes = async (userId: string) =>
      (
        await service.rows<{ type: string }>('select type from event where person_id = $1 order by at, id', [
          userId,
        ])
      ).map(({ type }) => type)

    /** Refused without touching anything: no event, no limit, and the cookie of another sign-in stays. */
    const isNotBegun = async (comingBack: () => Promise<Reply>) => {
      const state = async () => [
        (await refusals()).length,
        await service.rows("select * from bucket where key like '%:school%' order by key"),
      ]
      const before = await state()
      const reply = await comingBack()
      assert.deepEqual([reply.status, reply.headers.get('location')], [303, refusedPage])
      assert.deepEqual(reply.headers.getSetCookie(), [])
      assert.deepEqual(await state(), before)
    }

    /** The claims are refused with this reason, and nobody is signed in. */
    const isRefused = async (
      providerId: string,
      claims: TestClaims,
      reason: string,
      options: { role?: string } = {},
    ) => {
      const before = (await refusals()).length
      const { reply, location, access } = await signIn(providerId, claims, options)
      assert.equal(reply.status, 303)
      assert.ok(location.startsWith(options.role === 'staff' ? '/console#/school-refused?' : refusedPage))
      assert.equal(access, undefined)
      const found = (await refusals()).slice(before)
      assert.deepEqual(
        found.map((one) => [one.reason, one.providerId]),
        [[reason, providerId]],
      )
      return found[0]!
    }

    test('GET /providers names those that are enabled', async () => {
      const providerId = await addProvider({ name: 'Campus' })
      const listed = async () =>
        ok(await service.request('/providers')).providers.find(
          (one: { providerId: string }) => one.providerId === providerId,
        )
      assert.deepEqual(await listed(), { providerId, name: 'Campus', roles: ['student', 'staff'] })
      await service.app.parts.providers.change(providerId, { enabled: false }, byOperator)
      assert.equal(await listed(), undefined)
      assert.equal(problem(await startSignIn(service, providerId, newVisit())), '404 not-found')
    })

    test('A student signs in by number, goes on to the return address, and has one session with method school', async () => {
      const providerId = await addProvider()
      const name = student()
      const { reply, location, access, userId, visit } = await signIn(
        providerId,
        { student_number: numberOf(name) },
        { body: { return: '/#/classes' } },
      )
      assert.equal(reply.status, 303)
      assert.equal(location, '/#/classes')
      assert.equal(reply.headers.get('cache-control'), 'no-store')
      assert.equal(userId, await personOf(name))
      assert.equal(visit.jar.get('chiron_school'), undefined)
      const { sessions } = ok(await service.request('/session', { token: access! }))
      assert.deepEqual(
        sessions.map((one: { method: string }) => one.method),
        ['school'],
      )
      const types = await eventTypes(userId!)
      assert.deepEqual(types.slice(-2).sort(), ['school.linked', 'session.started'])
    })

    test('The cookie of a sign-in is sealed, Lax and lasts ten minutes; nothing is stored before the answer', async () => {
      const providerId = await addProvider()
      const visit = newVisit()
      const started = await startSignIn(service, providerId, visit)
      const [cookie] = started.headers.getSetCookie()
      assert.match(cookie!, /^chiron_school=[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/)
      const asked = new URL(started.json.location).searchParams
      assert.equal(asked.get('code_challenge_method'), 'S256')
      assert.equal(
        asked.get('redirect_uri'),
        `${service.url.replace('127.0.0.1', 'localhost')}/sign-in/school/callback`,
      )
      for (const hidden of ['state', 'nonce']) assert.ok(!cookie!.includes(asked.get(hidden)!))
      assert.deepEqual(
        await service.rows('select * from school_link where provider_id = $1', [providerId]),
        [],
      )
      service.clock.advance(10 * minute + second)
      const path = await atProvider(started.json.location)
      await isNotBegun(() => comeBack(service, path, visit))
    })

    test('A student signs in by a verified address in the provider’s domains, in any spelling', async () => {
      const providerId = await addProvider({ numberClaim: null })
      const name = student()
      const { userId } = await signIn(providerId, {
        email: addressOf(name).toUpperCase(),
        email_verified: true,
      })
      assert.equal(userId, await personOf(name))
    })

    test('The second sign-in goes by the link, also without the claims that made it', async () => {
      const providerId = await addProvider()
      const [name, sub] = [student(), newSubject()]
      await signIn(providerId, { sub, student_number: numberOf(name) })
      const again = await signIn(providerId, { sub })
      assert.equal(again.userId, await personOf(name))
      const types = (await eventTypes(again.userId!)).filter((type) => type === 'school.linked')
      assert.equal(types.length, 1)
    })

    test('Claims that only userinfo has count, too', async () => {
      const providerId = await addProvider()
      const name = student()
      provider.userinfo = { student_number: numberOf(name) }
      const { userId } = await signIn(providerId, {})
      assert.equal(userId, await personOf(name))
    })

    test('A number may come as a list of one, or as a JSON number', async () => {
      const providerId = await addProvider()
      const name = student()
      const { userId } = await signIn(providerId, { student_number: [numberOf(name)] })
      assert.equal(userId, await personOf(name))
      await isRefused(providerId, { student_number: ['N-1', 'N-2'] }, 'ambiguous-claims')
      await isRefused(providerId, { student_number: 4711 }, 'nobody')
    })

    test('An address of a provider whose addresses are trusted needs no email_verified, but its domain', async () => {
      const providerId = await addProvider({ trustAddresses: true, addressClaim: 'mail' })
      const name = student()
      await isRefused(providerId, { mail: 'stu-1@elsewhere.example' }, 'address-domain')
      const { userId } = await signIn(providerId, { mail: addressOf(name) })
      assert.equal(userId, await personOf(name))
    })

    test('Entra ID: tenant and object id name the account, and an address needs xms_edov', async () => {
      const providerId = await addProvider(entra)
      const name = student()
      const claims = { tid: 'tenant-1', oid: 'object-1', email: addressOf(name), xms_edov: true }
      const { userId } = await signIn(providerId, claims)
      assert.equal(userId, await personOf(name))
      const again = await signIn(providerId, { tid: 'tenant-1', oid: 'object-1' })
      assert.equal(again.userId, userId)
      await isRefused(providerId, { tid: 'tenant-2', oid: 'object-1' }, 'tenant')
      await isRefused(providerId, { tid: 'tenant-1' }, 'subject')
    })

    /** `of` is the victim: a student whom nobody has signed in as. */
    const lies: {
      readonly how: string
      readonly kind?: object
      readonly reason: string
      claims(of: string): TestClaims
    }[] = [
      {
        how: 'another tenant’s token with a victim’s address (nOAuth)',
        kind: entra,
        reason: 'tenant',
        claims: (of) => ({ tid: 'tenant-2', oid: 'o', email: addressOf(of), xms_edov: true }),
      },
      {
        how: 'the own tenant without xms_edov',
        kind: entra,
        reason: 'address-unverified',
        claims: (of) => ({ tid: 'tenant-1', oid: 'o-1', email: addressOf(of) }),
      },
      {
        how: 'the own tenant with xms_edov as a text',
        kind: entra,
        reason: 'address-unverified',
        claims: (of) => ({ tid: 'tenant-1', oid: 'o-2', email: addressOf(of), xms_edov: 'true' }),
      },
      {
        how: 'the own tenant with email_verified in place of xms_edov',
        kind: entra,
        reason: 'address-unverified',
        claims: (of) => ({ tid: 'tenant-1', oid: 'o-3', email: addressOf(of), email_verified: true }),
      },
      {
        how: 'upn and preferred_username',
        kind: entra,
        reason: 'nobody',
        claims: (of) => ({
          ...{ tid: 'tenant-1', oid: 'o-4', xms_edov: true },
          ...{ upn: addressOf(of), preferred_username: addressOf(of) },
        }),
      },
      {
        how: 'Google without hd',
        kind: google,
        reason: 'hosted-domain',
        claims: (of) => ({ email: addressOf(of), email_verified: true }),
      },
      {
        how: 'Google with another hd',
        kind: google,
        reason: 'hosted-domain',
        claims: (of) => ({ email: addressOf(of), email_verified: true, hd: 'elsewhere.example' }),
      },
      {
        how: 'email_verified as the text "true"',
        reason: 'address-unverified',
        claims: (of) => ({ email: addressOf(of), email_verified: 'true' }),
      },
      {
        how: 'email_verified as 1',
        reason: 'address-unverified',
        claims: (of) => ({ email: addressOf(of), email_verified: 1 }),
      },
      {
        how: 'email_verified missing',
        reason: 'address-unverified',
        claims: (of) => ({ email: addressOf(of) }),
      },
      {
        how: 'email_verified false',
        reason: 'address-unverified',
        claims: (of) => ({ email: addressOf(of), email_verified: false }),
      },
      {
        how: 'a verified address in another domain',
        kind: { domains: ['other.example'] },
        reason: 'address-domain',
        claims: (of) => ({ email: addressOf(of), email_verified: true }),
      },
      {
        how: 'a verified address, but no domains set',
        kind: { domains: [] },
        reason: 'address-domain',
        claims: (of) => ({ email: addressOf(of), email_verified: true }),
      },
      {
        how: 'an address that is not one plain address',
        reason: 'nobody',
        claims: (of) => ({ email: `"${of}"@school.example, x@school.example`, email_verified: true }),
      },
      {
        how: 'an address as a list',
        reason: 'nobody',
        claims: (of) => ({ email: [addressOf(of)], email_verified: true }),
      },
      { how: 'a number of nobody', reason: 'nobody', claims: () => ({ student_number: 'N-nobody' }) },
      {
        how: 'a number of nobody and the address of somebody with another number',
        reason: 'two-people',
        claims: (of) => ({ student_number: 'N-nobody', email: addressOf(of), email_verified: true }),
      },
      { how: 'no claims', reason: 'nobody', claims: () => ({}) },
      { how: 'an empty subject', reason: 'subject', claims: () => ({ sub: '' }) },
    ]
    for (const { how, kind = {}, reason, claims } of lies)
      test(`Refused: ${how}`, async () => {
        const providerId = await addProvider(kind)
        await isRefused(providerId, claims('stu-0'), reason)
        assert.deepEqual(
          await service.rows('select id from school_link where provider_id = $1', [providerId]),
          [],
        )
      })

    test('Refused: a number and an address that name two people', async () => {
      const providerId = await addProvider()
      const [one, other] = [student(), student()]
      const claims = { student_number: numberOf(one), email: addressOf(other), email_verified: true }
      await isRefused(providerId, claims, 'two-people')
    })

    test('Refused: a link of one person and claims that name another', async () => {
      const providerId = await addProvider()
      const [one, other, sub] = [student(), student(), newSubject()]
      await signIn(providerId, { sub, student_number: numberOf(one) })
      const { userId } = await isRefused(providerId, { sub, student_number: numberOf(other) }, 'two-people')
      assert.equal(userId, await personOf(one))
      const claims = { sub, email: addressOf(other), email_verified: true }
      await isRefused(providerId, claims, 'two-people')
    })

    test('Refused: a second directory account with the same address or number', async () => {
      const providerId = await addProvider()
      const name = student()
      const claims = { email: addressOf(name), email_verified: true }
      assert.ok((await signIn(providerId, claims)).userId)
      const { userId } = await isRefused(providerId, claims, 'other-account')
      assert.equal(userId, await personOf(name))
      await isRefused(providerId, { student_number: numberOf(name) }, 'other-account')
    })

    const wrongAnswers: { readonly how: string; readonly reason: string; readonly wrongs: Wrongs }[] = [
      {
        how: 'another issuer in the answer (mix-up)',
        reason: 'issuer',
        wrongs: { answerIssuer: 'https://evil.example' },
      },
      { how: 'another issuer in the token', reason: 'issuer', wrongs: { issuer: 'https://evil.example' } },
      { how: 'a token for another client', reason: 'token', wrongs: { audience: 'another' } },
      { how: 'another nonce', reason: 'token', wrongs: { nonce: 'another' } },
      { how: 'a signature of another key', reason: 'token', wrongs: { foreignKey: true } },
      { how: 'no signature', reason: 'token', wrongs: { unsigned: true } },
      { how: 'a token that has expired', reason: 'token', wrongs: { clockOffMs: -10 * minute } },
      { how: 'a token from the future', reason: 'token', wrongs: { clockOffMs: 10 * minute } },
      { how: 'an error of the provider', reason: 'provider-refused', wrongs: { error: 'access_denied' } },
      { how: 'an error of the token endpoint', reason: 'provider-refused', wrongs: { tokenStatus: 500 } },
    ]
    for (const { how, reason, wrongs } of wrongAnswers)
      test(`Refused: ${how}`, async () => {
        const providerId = await addProvider()
        provider.wrongs = wrongs
        const { reply, location, access } = await signIn(providerId, { student_number: numberOf('stu-0') })
        assert.deepEqual([reply.status, isRefusedPage(location), access], [303, true, undefined])
        assert.equal((await refusals()).at(-1)!.reason, reason)
      })

    test('The code of another provider is not sent to this one’s token endpoint', async () => {
      const providerId = await addProvider()
      provider.wrongs = { answerIssuer: 'https://evil.example' }
      const before = provider.seen.get('/token') ?? 0
      await signIn(providerId, {})
      assert.equal(provider.seen.get('/token') ?? 0, before)
    })

    test('Clocks that differ by half a minute do no harm', async () => {
      const providerId = await addProvider()
      for (const clockOffMs of [-30 * second, 30 * second]) {
        const name = student()
        provider.wrongs = { clockOffMs }
        const { userId } = await signIn(providerId, { student_number: numberOf(name) })
        assert.equal(userId, await personOf(name))
      }
    })

    test('Refused: another browser’s state, and a callback without a sign-in', async () => {
      const providerId = await addProvider()
      const name = student()
      provider.claims = { sub: newSubject(), student_number: numberOf(name) }
      const [mine, theirs] = [newVisit(), newVisit()]
      const started = await startSignIn(service, providerId, mine)
      await startSignIn(service, providerId, theirs)
      const path = await atProvider(started.json.location)
      for (const visit of [theirs, newVisit()]) {
        await isNotBegun(() => comeBack(service, path, visit))
        assert.equal((await whoAmI(service, visit)).access, undefined)
      }
      // The answer was not spent by the strangers.
      assert.equal((await comeBack(service, path, mine)).headers.get('location'), '/')
    })

    test('Refused: a callback that is sent again, and a cookie that was tampered with', async () => {
      const providerId = await addProvider()
      const name = student()
      provider.claims = { sub: newSubject(), student_number: numberOf(name) }
      const visit = newVisit()
      const started = await startSignIn(service, providerId, visit)
      const sealed = visit.jar.get('chiron_school')!
      const path = await atProvider(started.json.location)
      assert.equal((await comeBack(service, path, visit)).headers.get('location'), '/')
      const again = newVisit()
      again.jar.set('chiron_school', sealed)
      assert.ok(isRefusedPage((await comeBack(service, path, again)).headers.get('location')))
      assert.equal((await refusals()).at(-1)!.reason, 'provider-refused')
      for (const wrong of ['', 'x', `${sealed}x`, sealed.slice(0, -2)]) {
        const visitor = newVisit()
        visitor.jar.set('chiron_school', wrong)
        await isNotBegun(() => comeBack(service, path, visitor))
      }
    })

    test('Somebody who left the roster is refused, and their sessions end whichever way they came', async () => {
      const providerId = await addProvider()
      const [name, sub] = [student(), newSubject()]
      const bySchool = await signIn(providerId, { sub, student_number: numberOf(name) })
      const byCode = await signInStudent(service, addressOf(name))
      assert.equal(byCode.userId, bySchool.userId)
      assert.equal(ok(await service.request('/session', { token: byCode.access })).sessions.length, 2)
      await reimport((s) => drop(s, name))
      for (const token of [bySchool.access!, byCode.access])
        assert.equal(problem(await service.request('/student/me', { token })), '401 session-ended')
      const { userId } = await isRefused(providerId, { sub, student_number: numberOf(name) }, 'not-active')
      assert.equal(userId, bySchool.userId)
      await isRefused(providerId, { student_number: numberOf(name) }, 'nobody')
      await reimport((s) => addUser(s, name, 'student', { identifier: numberOf(name) }))
      assert.equal((await signIn(providerId, { sub })).userId, bySchool.userId)
    })

    test('A suspended student is refused', async () => {
      const providerId = await addProvider()
      const [name, sub] = [student(), newSubject()]
      const { userId } = await signIn(providerId, { sub, student_number: numberOf(name) })
      await service.app.parts.support.suspend(userId!, 'a reason', byOperator)
      await isRefused(providerId, { sub, student_number: numberOf(name) }, 'not-active')
    })

    test('The roster changes between two sign-ins: a link needs the address or the number of the last one, or claims that name the person', async () => {
      const providerId = await addProvider()
      const [name, sub] = [student(), newSubject()]
      const first = await signIn(providerId, { sub, student_number: numberOf(name) })
      await reimport((s) => change(s.users, name, { email: 'married@school.example' }))
      assert.equal((await signIn(providerId, { sub })).userId, first.userId)
      await reimport((s) => change(s.users, name, { identifier: 'N-new' }))
      assert.equal((await signIn(providerId, { sub })).userId, first.userId)
      await reimport((s) => change(s.users, name, { identifier: 'N-newer', email: 'newer@school.example' }))
      await isRefused(providerId, { sub }, 'outdated-link')
      assert.equal((await signIn(providerId, { sub, student_number: 'N-newer' })).userId, first.userId)
      assert.equal((await signIn(providerId, { sub })).userId, first.userId)
    })

    test('Two accounts of the provider that come at once for one person: one is linked', async () => {
      const providerId = await addProvider()
      const name = student()
      const visits = Array.from({ length: 8 }, newVisit)
      const paths: string[] = []
      for (const visit of visits) {
        provider.claims = { sub: newSubject(), student_number: numberOf(name) }
        paths.push(await atProvider((await startSignIn(service, providerId, visit)).json.location))
      }
      const replies = await Promise.all(visits.map((visit, i) => comeBack(service, paths[i]!, visit)))
      const locations = replies.map((reply) => reply.headers.get('location')).sort()
      assert.deepEqual(locations.map(isRefusedPage), [false, ...Array(7).fill(true)])
      const links = await service.rows('select id from school_link where provider_id = $1', [providerId])
      assert.equal(links.length, 1)
    })

    test('A key that the provider rotates is fetched at once, and the old one is worth nothing', async () => {
      const providerId = await addProvider()
      const [name, sub] = [student(), newSubject()]
      await signIn(providerId, { sub, student_number: numberOf(name) })
      service.clock.advance(11 * second)
      await provider.rotateKey()
      assert.ok((await signIn(providerId, { sub })).userId)
      const fetched = provider.seen.get('/keys')!
      for (let i = 0; i < 3; i++) assert.ok((await signIn(providerId, { sub })).userId)
      assert.equal(provider.seen.get('/keys'), fetched)
    })

    for (const broken of ['fails', 'huge', 'redirects'] as const)
      test(`Metadata that ${broken}: the start is 503, codes go on, and the provider is asked again only later`, async () => {
        const providerId = await addProvider()
        provider.broken.set('/.well-known/openid-configuration', broken)
        const before = provider.seen.get('/.well-known/openid-configuration') ?? 0
        const start = () => startSignIn(service, providerId, newVisit())
        const replies = await Promise.all([start(), start(), start()])
        for (const reply of [...replies, await start()]) {
          assert.equal(problem(reply), '503 unavailable')
          assert.ok(reply.headers.get('retry-after'))
        }
        assert.equal(provider.seen.get('/.well-known/openid-configuration'), before + 1)
        const name = student()
        assert.ok((await signInStudent(service, addressOf(name))).access)
        provider.broken.clear()
        service.clock.advance(11 * second)
        assert.ok((await signIn(providerId, { student_number: numberOf(name) })).userId)
      })

    test('Metadata that never comes is waited for five seconds, by all callers together', async (t) => {
      const path = '/.well-known/openid-configuration'
      const providerId = await addProvider()
      provider.broken.set(path, 'hangs')
      const before = provider.seen.get(path) ?? 0
      const { timeout } = AbortSignal
      const fiveSeconds: AbortController[] = []
      t.mock.method(AbortSignal, 'timeout', (ms: number) => {
        // The library has a longer one.
        if (ms !== 5 * second) return timeout.call(AbortSignal, ms)
        fiveSeconds.push(new AbortController())
        return fiveSeconds.at(-1)!.signal
      })
      const replies = Promise.all([1, 2, 3].map(() => startSignIn(service, providerId, newVisit())))
      await eventually('the provider is asked', () => (provider.seen.get(path) ?? 0) > before)
      fiveSeconds[0]!.abort()
      for (const reply of await replies) assert.equal(problem(reply), '503 unavailable')
      assert.deepEqual([fiveSeconds.length, provider.seen.get(path)], [1, before + 1])
    })

    for (const path of ['/token', '/keys'])
      test(`Refused: ${path} of the provider does not answer`, async () => {
        const providerId = await addProvider()
        provider.broken.set(path, 'hangs')
        await isRefused(providerId, { student_number: numberOf('stu-0') }, 'provider-unreachable')
      })

    test('A provider that changes its issuer is no longer used', async (t) => {
      const providerId = await addProvider()
      const sub = newSubject()
      const name = student()
      t.after(() => {
        provider.metadataIssuer = provider.issuer
      })
      assert.ok((await signIn(providerId, { sub, student_number: numberOf(name) })).userId)
      provider.metadataIssuer = 'https://new.example'
      service.clock.advance(hour)
      assert.equal(problem(await startSignIn(service, providerId, newVisit())), '503 unavailable')
    })

    test('A stopped provider stops nothing else', async () => {
      const other = await startProvider(() => service.clock.now())
      const providerId = (await service.app.parts.providers.add(fields({ issuer: other.issuer }), byOperator))
        .providerId
      await other.stop()
      assert.equal(problem(await startSignIn(service, providerId, newVisit())), '503 unavailable')
      assert.ok((await signInStudent(service, addressOf(student()))).access)
      assert.ok(ok(await service.request('/providers')).providers.length > 0)
    })

    test('A return address is a path of this service', async () => {
      const providerId = await addProvider()
      for (const wrong of [
        'https://evil.example',
        '//evil.example',
        '/\\evil.example',
        '/.//evil.example',
        'classes',
        `/${'x'.repeat(9_000)}`,
      ])
        assert.equal(
          problem(await startSignIn(service, providerId, newVisit(), { body: { return: wrong } })),
          '400 invalid-request',
          wrong,
        )
      assert.equal(
        (await startSignIn(service, providerId, newVisit(), { body: { return: '/oauth/authorize?a=b' } }))
          .status,
        200,
      )
    })

    test('Only the portal’s own pages start a sign-in', async () => {
      const providerId = await addProvider()
      const reply = await service.post(
        `/portal/student/school/${providerId}`,
        {},
        {
          ...freshNetwork(),
          origin: 'https://evil.example',
        },
      )
      assert.equal(problem(reply), '403 forbidden')
    })

    test('On a shared computer the provider asks again, and the session ends with the browser', async () => {
      const providerId = await addProvider()
      const name = student()
      const visit = newVisit()
      visit.jar.set('chiron_shared', '1')
      provider.claims = { sub: newSubject(), student_number: numberOf(name) }
      const started = await startSignIn(service, providerId, visit)
      assert.equal(new URL(started.json.location).searchParams.get('prompt'), 'login')
      const path = await atProvider(started.json.location)
      // Strict cookies do not come along from another site.
      const alone = newVisit()
      alone.jar.set('chiron_school', visit.jar.get('chiron_school')!)
      const reply = await comeBack(service, path, alone)
      const cookie = reply.headers.getSetCookie().find((line) => line.startsWith('chiron_refresh='))
      assert.ok(cookie && !cookie.includes('Max-Age'))
    })

    test('An old proof at the provider is an old proof here', async () => {
      const providerId = await addProvider()
      const authTime = Math.floor((service.clock.now() - hour) / 1000)
      const { access } = await signIn(providerId, {
        student_number: numberOf(student()),
        auth_time: authTime,
      })
      const reply = await service.request('/passkey/add-options', { method: 'POST', token: access! })
      assert.equal(problem(reply), '403 recent-sign-in-required')
      const fresh = await signIn(providerId, { student_number: numberOf(student()) })
      ok(await service.request('/passkey/add-options', { method: 'POST', token: fresh.access! }))
    })

    test('Staff sign in only after they have connected their account', async () => {
      const providerId = await addProvider()
      const { email, userId } = await addStaff(service, ['admin'])
      const claims = { sub: newSubject(), email, email_verified: true }
      await isRefused(providerId, claims, 'not-connected', { role: 'staff' })
      const { access } = await signInStaff(service, email)
      const linked = await connect(providerId, access, claims)
      assert.equal(linked.headers.get('location'), '/console')
      const signedIn = await signIn(providerId, claims, { role: 'staff' })
      assert.equal(signedIn.location, '/console')
      assert.equal(signedIn.userId, userId)
      const { links } = ok(await service.request('/school/links', { token: signedIn.access! }))
      assert.deepEqual(
        links.map((one: { providerId: string }) => one.providerId),
        [providerId],
      )
    })

    /** Connects an account in a signed-in browser. */
    const connect = async (providerId: string, token: string, claims: TestClaims) => {
      provider.claims = claims
      const visit = newVisit()
      const started = await service.request('/school/links', { method: 'POST', token, body: { providerId } })
      visit.jar.note(started)
      return comeBack(service, await atProvider(ok(started).location), visit)
    }

    test('An account that is connected elsewhere, or claims of somebody else, cannot be connected', async () => {
      const providerId = await addProvider()
      const [one, other, sub] = [student(), student(), newSubject()]
      await signIn(providerId, { sub, student_number: numberOf(one) })
      const { access } = await signInStudent(service, addressOf(other))
      const isNot = async (claims: TestClaims, reason: string) => {
        const refused = (await connect(providerId, access, claims)).headers.get('location')!
        assert.ok(isRefusedPage(refused) && refused.includes('&connecting=1'))
        assert.equal((await refusals()).at(-1)!.reason, reason)
      }
      await isNot({ sub }, 'other-account')
      await isNot({ sub: newSubject(), student_number: numberOf(one) }, 'two-people')
      assert.equal((await connect(providerId, access, { sub: newSubject() })).headers.get('location'), '/')
      const again = await service.request('/school/links', {
        method: 'POST',
        token: access,
        body: { providerId },
      })
      assert.equal(problem(again), '409 conflict')
    })

    test('A session that ended in the meantime connects nothing', async () => {
      const providerId = await addProvider()
      const { access } = await signInStudent(service, addressOf(student()))
      const visit = newVisit()
      const started = await service.request('/school/links', {
        method: 'POST',
        token: access,
        body: { providerId },
      })
      visit.jar.note(started)
      await service.request('/session', { method: 'DELETE', token: access })
      const reply = await comeBack(service, await atProvider(ok(started).location), visit)
      assert.ok(isRefusedPage(reply.headers.get('location')))
      assert.equal((await refusals()).at(-1)!.reason, 'session-ended')
    })

    test('A link is taken away by its owner and by staff, each with its event; it needs a recent proof', async () => {
      const providerId = await addProvider()
      const [name, sub] = [student(), newSubject()]
      const { access, userId } = await signIn(providerId, { sub, student_number: numberOf(name) })
      const remove = (token: string) =>
        service.request(`/school/links/${providerId}`, { method: 'DELETE', token })
      service.clock.advance(1)
      assert.equal((await remove(access!)).status, 204)
      assert.equal(problem(await remove(access!)), '404 not-found')
      await signIn(providerId, { sub, student_number: numberOf(name) })
      service.clock.advance(11 * minute)
      assert.equal(problem(await remove(access!)), '403 recent-sign-in-required')
      const { email } = await addStaff(service, ['support'])
      const desk = await signInStaff(service, email)
      const token = desk.access
      const shown = ok(await service.request(`/staff/people/${userId}`, { token }))
      assert.equal(shown.schoolLinks[0].providerId, providerId)
      const path = `/staff/people/${userId}/disconnect-school-account`
      const body = { providerId }
      assert.equal((await service.request(path, { method: 'POST', token, body })).status, 204)
      const types = (await eventTypes(userId!)).filter((type) => type.startsWith('school.'))
      assert.deepEqual(types, ['school.linked', 'school.unlinked', 'school.linked', 'school.unlinked'])
    })

    test('Veterinarians connect nothing', async () => {
      const providerId = await addProvider()
      const { access } = await service.signIn(`vet.${newSubject()}@clinic.example`, freshNetwork())
      const reply = await service.request('/school/links', {
        method: 'POST',
        token: access,
        body: { providerId },
      })
      assert.equal(problem(reply), '403 forbidden')
      assert.equal(
        (await service.post(`/portal/veterinarian/school/${providerId}`, {}, freshNetwork())).status,
        404,
      )
    })

    test('The export of a student has the links', async () => {
      const providerId = await addProvider({ name: 'Exported account' })
      const { access } = await signIn(providerId, { student_number: numberOf(student()) })
      const { schoolLinks } = ok(await service.request('/student/me/export', { token: access! }))
      assert.deepEqual(
        schoolLinks.map((one: { name: string }) => one.name),
        ['Exported account'],
      )
    })

    test('A logout at the provider ends the sessions that began there, and no others', async () => {
      const providerId = await addProvider()
      const [name, sub] = [student(), newSubject()]
      const claims = { sub, student_number: numberOf(name) }
      const one = await signIn(providerId, { ...claims, sid: 'sid-1' })
      const two = await signIn(providerId, { ...claims, sid: 'sid-2' })
      const byCode = await signInStudent(service, addressOf(name))
      const logOut = (token: string) =>
        service.request(`/sign-in/school/${providerId}/logout`, {
          method: 'POST',
          body: `logout_token=${token}`,
          headers: { 'content-type': 'application/x-www-form-urlencoded', ...freshNetwork() },
        })
      const alive = async () =>
        Promise.all(
          [one.access!, two.access!, byCode.access].map(
            async (token) => (await service.request('/student/me', { token })).status,
          ),
        )
      for (const wrong of [
        'nonsense',
        await provider.logoutToken({ sub }, { issuer: 'https://evil.example' }),
        await provider.logoutToken({ sub }, { audience: 'another' }),
        await provider.logoutToken({ sub }, { foreignKey: true }),
        await provider.logoutToken({ sub }, { unsigned: true }),
        await provider.logoutToken({ sub }, { clockOffMs: -hour, lifetimeMs: 2 * hour }),
        await provider.logoutToken({ sub, nonce: 'n' }),
        await provider.logoutToken({ sub, events: {} }),
        await provider.logoutToken({}),
      ])
        assert.equal(problem(await logOut(wrong)), '400 invalid-request')
      assert.deepEqual(await alive(), [200, 200, 200])
      assert.equal((await logOut(await provider.logoutToken({ sid: 'sid-1' }))).status, 200)
      assert.deepEqual(await alive(), [401, 200, 200])
      const old = await provider.logoutToken({ sub })
      assert.equal((await logOut(old)).status, 200)
      assert.deepEqual(await alive(), [401, 401, 200])
      service.clock.advance(minute)
      const later = await signIn(providerId, claims)
      assert.equal((await logOut(old)).status, 200)
      assert.equal((await service.request('/student/me', { token: later.access! })).status, 200)
    })

    test('Who came by a school account signs in at applications, until the provider ends the session', async () => {
      const providerId = await addProvider()
      const [name, sub] = [student(), newSubject()]
      const client = await newClient(service)
      const query = requestOf(client.id)
      const path = `/oauth/authorize?${query}`
      const claims = { sub, student_number: numberOf(name) }
      const { visit, location } = await signIn(providerId, claims, { body: { return: path } })
      assert.equal(location, path)
      const { json } = await authorize(service, query, { cookie: visit.jar.header() })
      const tokens = await callAs(service, client, '/oauth/token', {
        grant_type: 'authorization_code',
        code: answerIn(json.location).code!,
        redirect_uri: callback,
        code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
      })
      const { id_token, access_token } = ok(tokens)
      const { acr, amr } = decode(id_token).payload
      assert.deepEqual([acr, amr], ['urn:chiron:school', ['ext']])
      const userinfo = async () => (await service.request('/oauth/userinfo', { token: access_token })).status
      assert.equal(await userinfo(), 200)
      await service.request(`/sign-in/school/${providerId}/logout`, {
        method: 'POST',
        body: `logout_token=${await provider.logoutToken({ sub })}`,
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...freshNetwork() },
      })
      assert.equal(await userinfo(), 401)
    })

    test('The secret is sealed, and never in a reply, the log or an event', async () => {
      const providerId = await addProvider({ name: 'Secretive' })
      await signIn(providerId, { student_number: numberOf(student()) })
      const [row] = await service.rows<{ sealed: string }>('select sealed from provider where id = $1', [
        providerId,
      ])
      assert.ok(!row!.sealed.includes(provider.secret))
      const admin = await signInStaff(service, (await addStaff(service, ['admin'])).email)
      const listed = await service.request('/staff/providers', { token: admin.access })
      assert.ok(!listed.text.includes(provider.secret))
      assert.ok(!service.log.join().includes(provider.secret))
      assert.ok(!JSON.stringify(await service.rows('select data from event')).includes(provider.secret))
    })

    test('Admins set providers up: add, test, change, disable, remove', async () => {
      const { access: token } = await signInStaff(service, (await addStaff(service, ['admin'])).email)
      const call = (method: string, path = '', body?: object) =>
        service.request(`/staff/providers${path}`, { method, token, ...(body && { body }) })
      const added = ok(await call('POST', '', fields()), 201)
      const at = `/${added.providerId}`
      assert.equal(
        added.redirectUri,
        `${service.url.replace('127.0.0.1', 'localhost')}/sign-in/school/callback`,
      )
      const tested = ok(await call('POST', `${at}/test`))
      assert.deepEqual(
        [tested.ok, tested.steps.map((one: { step: string }) => one.step)],
        [true, ['metadata', 'keys', 'pkce', 'form', 'credentials']],
      )
      provider.broken.set('/authorize', 'fails')
      const closed = ok(await call('POST', `${at}/test`))
      assert.deepEqual(
        closed.steps.filter((one: { ok: boolean }) => !one.ok).map((one: { step: string }) => one.step),
        ['form'],
      )
      provider.broken.clear()
      ok(await call('PATCH', at, { secret: 'wrong-secret' }))
      assert.equal(ok(await call('POST', `${at}/test`)).ok, false)
      const changed = ok(
        await call('PATCH', at, { name: 'New name', enabled: false, secret: provider.secret }),
      )
      assert.deepEqual([changed.name, changed.enabled], ['New name', false])
      assert.equal((await call('DELETE', at)).status, 204)
      assert.equal(problem(await call('PATCH', at, {})), '404 not-found')
      const types = await service.rows<{ type: string; data: string }>(
        "select type, data from event where type like 'provider.%' order by at, id",
      )
      const ours = types.filter(({ data }) => data.includes(added.providerId)).map(({ type }) => type)
      assert.deepEqual(ours.sort(), [
        'provider.added',
        ...Array(2).fill('provider.changed'),
        'provider.removed',
      ])
      const { access: desk } = await signInStaff(service, (await addStaff(service, ['support'])).email)
      assert.equal(problem(await service.request('/staff/providers', { token: desk })), '403 forbidden')
    })

    const wrongFields: [what: object, field: string][] = [
      [{ name: ' ' }, 'name'],
      [{ kind: 'saml' }, 'kind'],
      [{ issuer: 'http://login.example.org' }, 'issuer'],
      [{ issuer: 'nonsense' }, 'issuer'],
      [{ issuer: 'https://login.example.org?x=y' }, 'issuer'],
      [{ kind: 'entra', issuer: 'https://login.microsoftonline.com/common/v2.0' }, 'issuer'],
      [{ kind: 'entra' }, 'tenant'],
      [{ kind: 'google' }, 'hostedDomain'],
      [{ tenant: 'x' }, 'tenant'],
      [{ hostedDomain: 'school.example' }, 'hostedDomain'],
      [{ ...entra, trustAddresses: true }, 'trustAddresses'],
      [{ trustAddresses: true, domains: [] }, 'domains'],
      [{ domains: ['*'] }, 'domains'],
      [{ domains: ['example'] }, 'domains'],
      [{ roles: [] }, 'roles'],
      [{ roles: ['veterinarian'] }, 'roles'],
      [{ secret: '' }, 'secret'],
      [{ clientId: 'a b' }, 'clientId'],
      [{ numberClaim: 'a b' }, 'numberClaim'],
    ]
    for (const [what, field] of wrongFields)
      test(`A provider with ${JSON.stringify(what)} is refused`, async () => {
        await assert.rejects(service.app.parts.providers.add(fields(what), byOperator), (error) => {
          const { errors } = (error as { extra: { errors: { pointer: string }[] } }).extra
          assert.equal(errors[0]!.pointer, `#/${field}`)
          return true
        })
      })
  })
}
