/** What a provider's word is worth: when it asked somebody, and which claims belong together. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { returnBytesMax, returnLengthMax } from '../src/identity/school-account/return-path.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { hour, minute, second } from '../src/platform/lib/clock.ts'
import { callAs } from './support/applications.ts'
import { answerIn, authorize, callback, newClient, requestOf } from './support/authorize.ts'
import { engines } from './support/engines.ts'
import { freshNetwork } from './support/fresh.ts'
import { ok } from './support/passkeys.ts'
import { startProvider, type TestClaims, type TestProvider, type Wrongs } from './support/provider.ts'
import { addUser, bulk, emptySchool } from './support/roster-school.ts'
import { rosterOf } from './support/roster-world.ts'
import { newVisit, schoolSignIn, startSignIn } from './support/school-account.ts'
import { type Reply, type Service, startService } from './support/service.ts'
import { decode } from './support/tokens.ts'

const problem = ({ status, json }: Reply) => `${status} ${json?.code}`
const students = Array.from({ length: 40 }, (_, i) => `stu-${i}`)
const addressOf = (name: string) => `${name}@school.example`

for (const engine of engines)
  suite(`What a provider says on ${engine}`, () => {
    let service: Service
    let provider: TestProvider
    let next = 0
    const student = () => students[next++]!

    before(async () => {
      service = await startService(engine)
      provider = await startProvider(() => service.clock.now())
      const school = emptySchool()
      for (const name of students) addUser(school, name, 'student', { identifier: `N-${name}` })
      await rosterOf(service).import(bulk(school))
    })
    after(async () => {
      await service.stop()
      await provider.stop()
    })

    const addProvider = async (more: object = {}) => {
      provider.wrongs = {}
      provider.userinfo = {}
      const { issuer, clientId, secret } = provider
      const fields = {
        ...{ name: 'University account', kind: 'oidc', roles: ['student', 'staff'] },
        ...{ domains: ['school.example'], numberClaim: 'student_number', issuer, clientId, secret, ...more },
      }
      const { providers } = service.app.parts
      for (const before of await providers.list()) await providers.remove(before.providerId, byOperator)
      return (await providers.add(fields, byOperator)).providerId
    }
    const signIn = (providerId: string, claims: TestClaims, options = {}) =>
      schoolSignIn(service, provider, providerId, { sub: `sub-${Math.random()}`, ...claims }, options)
    const signInAs = (providerId: string, name: string, claims: TestClaims, options = {}) =>
      signIn(providerId, { student_number: `N-${name}`, ...claims }, options)
    const seconds = (ms: number) => Math.floor(ms / 1000)
    const addPasskey = (token: string) =>
      service.request('/passkey/add-options', { method: 'POST', token, body: {} })
    const provedAt = async (token: string) =>
      ok(await service.request('/session', { token })).sessions[0].authenticatedAt
    const lastReason = async () =>
      JSON.parse(
        (
          await service.rows<{ data: string }>(
            "select data from event where type = 'school.refused' order by at desc, id desc limit 1",
          )
        )[0]!.data,
      ).reason

    test('The provider is asked for a proof of the last ten minutes, which is one here', async () => {
      const providerId = await addProvider()
      const authTime = seconds(service.clock.now() - 9 * minute)
      const { access } = await signInAs(providerId, student(), { auth_time: authTime })
      assert.equal(provider.asked.get('max_age'), '600')
      assert.equal(provider.asked.get('prompt'), null)
      assert.equal(await provedAt(access!), new Date(authTime * 1000).toISOString())
      ok(await addPasskey(access!))
    })

    for (const [what, authTime, proof] of [
      ['none', undefined, null],
      ['zero, which is 1970', 0, '1970-01-01T00:00:00.001Z'],
      ['a moment that is to come', 1e300, null],
    ] as const)
      test(`A sign-in with an auth_time that is ${what} proves nothing, until the person steps up`, async () => {
        const providerId = await addProvider()
        const name = student()
        const { access } = await signInAs(providerId, name, { auth_time: authTime })
        assert.equal(await provedAt(access!), proof)
        assert.equal(problem(await addPasskey(access!)), '403 recent-sign-in-required')
        const stepUp = (path: string, body: object) =>
          service.request(`/session/step-up/${path}`, { method: 'POST', token: access!, body })
        const { sessionId, reference } = ok(await stepUp('send-otp', {}), 202)
        const { code } = await service.mail.mailWith(addressOf(name), reference)
        ok(await stepUp('validate-otp', { otp_code: code, sessionId }))
        ok(await addPasskey(access!))
      })

    test('An auth_time with a fraction is a whole moment, and so is that of a logout', async () => {
      const providerId = await addProvider()
      const sub = `sub-${Math.random()}`
      const { access } = await signInAs(providerId, student(), {
        sub,
        auth_time: seconds(service.clock.now()) - 60 + 0.12345,
      })
      ok(await addPasskey(access!))
      const token = await provider.logoutToken({ sub, iat: seconds(service.clock.now()) + 0.98765 })
      const reply = await service.request(`/sign-in/school/${providerId}/logout`, {
        method: 'POST',
        body: `logout_token=${token}`,
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...freshNetwork() },
      })
      assert.equal(reply.status, 200)
      assert.equal((await service.request('/session', { token: access! })).status, 401)
    })

    test('A client’s prompt=login and max_age go to the provider, and a silent answer does not meet them', async () => {
      const providerId = await addProvider()
      const client = await newClient(service)
      const name = student()
      const enter = async (more: object, claims: TestClaims) => {
        const query = requestOf(client.id, more as Record<string, string>)
        const visit = newVisit()
        assert.equal((await authorize(service, query)).json.need, 'sign-in')
        await signInAs(
          providerId,
          name,
          { sub: 'asked', ...claims },
          {
            visit,
            body: { return: `/oauth/authorize?${query}` },
          },
        )
        return (await authorize(service, query, { cookie: visit.jar.header() })).json
      }
      const old = { auth_time: seconds(service.clock.now() - 5 * minute) }
      assert.equal((await enter({ prompt: 'login', state: '1' }, old)).need, 'step-up')
      assert.equal(provider.asked.get('prompt'), 'login')
      assert.equal((await enter({ prompt: 'login', state: '2' }, { auth_time: undefined })).need, 'step-up')
      assert.ok((await enter({ prompt: 'login', state: '3' }, {})).location)
      assert.equal((await enter({ max_age: '60', state: '4' }, old)).need, 'step-up')
      assert.equal(provider.asked.get('max_age'), '60')
      assert.ok((await enter({ max_age: '3600', state: '5' }, old)).location)
      assert.equal(provider.asked.get('max_age'), '600')
      const without = await enter({ state: '6' }, { auth_time: undefined })
      const tokens = await callAs(service, client, '/oauth/token', {
        grant_type: 'authorization_code',
        code: answerIn(without.location).code!,
        redirect_uri: callback,
        code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
      })
      assert.equal('auth_time' in decode(ok(tokens).id_token).payload, false)
    })

    for (const [kind, more, shared, prompt] of [
      ['oidc', {}, 'login select_account'],
      ['entra', { tenant: 'tenant-1' }, 'login'],
      ['google', { hostedDomain: 'school.example' }, 'select_account'],
    ].map(([kind, more, both]) => [kind, more, both, 'select_account']) as [string, object, string, string][])
      test(`Another account of ${kind} is asked for`, async () => {
        const providerId = await addProvider({ kind, ...more })
        const asked = async (visit = newVisit()) => {
          const started = await startSignIn(service, providerId, visit, {
            body: { prompt: 'select_account' },
          })
          return new URL(ok(started).location).searchParams.get('prompt')
        }
        assert.equal(await asked(), prompt)
        const onShared = newVisit()
        onShared.jar.set('chiron_shared', '1')
        assert.equal(await asked(onShared), shared)
      })

    test('The release before finds a proof that is too old where there is none', async () => {
      const providerId = await addProvider()
      const name = student()
      const { access } = await signInAs(providerId, name, { auth_time: undefined })
      const stored = await service.rows<{ auth_at: number }>(
        "select auth_at from session where method = 'school' order by started_at desc limit 1",
      )
      // Zero would be the start of the session.
      assert.ok(Number(stored[0]!.auth_at) < service.clock.now() - hour && Number(stored[0]!.auth_at) !== 0)
      assert.equal(problem(await addPasskey(access!)), '403 recent-sign-in-required')
    })

    /** Claims of the ID token and of userinfo, and what becomes of them. `of` is the victim. */
    const pairs: {
      readonly how: string
      readonly more?: object
      readonly reason: string
      token(of: string): TestClaims
      userinfo?(of: string): TestClaims
      readonly wrongs?: Wrongs
    }[] = [
      {
        how: 'an address in the ID token, and email_verified of another in userinfo',
        reason: 'ambiguous-claims',
        token: (of) => ({ email: addressOf(of) }),
        userinfo: () => ({ email: 'eve@school.example', email_verified: true }),
      },
      {
        how: 'an address in the ID token, and email_verified alone in userinfo',
        reason: 'address-unverified',
        token: (of) => ({ email: addressOf(of) }),
        userinfo: () => ({ email_verified: true }),
      },
      {
        how: 'email_verified in the ID token, and an address in userinfo',
        reason: 'address-unverified',
        token: () => ({ email_verified: true }),
        userinfo: (of) => ({ email: addressOf(of) }),
      },
      {
        how: 'xms_edov in the ID token, and an address in userinfo',
        more: { kind: 'entra', tenant: 'tenant-1' },
        reason: 'address-unverified',
        token: () => ({ tid: 'tenant-1', oid: 'o-1', xms_edov: true }),
        userinfo: (of) => ({ email: addressOf(of) }),
      },
      {
        how: 'tenant and object id that only userinfo has',
        more: { kind: 'entra', tenant: 'tenant-1' },
        reason: 'tenant',
        token: () => ({}),
        userinfo: (of) => ({ tid: 'tenant-1', oid: 'o-1', email: addressOf(of), xms_edov: true }),
      },
      {
        how: 'a hosted domain that only userinfo has',
        more: { kind: 'google', hostedDomain: 'school.example' },
        reason: 'hosted-domain',
        token: () => ({}),
        userinfo: (of) => ({ hd: 'school.example', email: addressOf(of), email_verified: true }),
      },
      {
        how: 'email_verified beside preferred_username',
        more: { addressClaim: 'preferred_username' },
        reason: 'address-unverified',
        token: (of) => ({ preferred_username: addressOf(of), email: 'e@x.example', email_verified: true }),
      },
      {
        how: 'xms_edov beside upn',
        more: { kind: 'entra', tenant: 'tenant-1', addressClaim: 'upn' },
        reason: 'address-unverified',
        token: (of) => ({ tid: 'tenant-1', oid: 'o-2', upn: addressOf(of), xms_edov: true }),
      },
      {
        how: 'two numbers, one in each',
        reason: 'ambiguous-claims',
        token: (of) => ({ student_number: `N-${of}` }),
        userinfo: () => ({ student_number: 'N-another' }),
      },
      {
        how: 'azp of another client',
        reason: 'token',
        token: (of) => ({ student_number: `N-${of}`, azp: 'another' }),
      },
      {
        how: 'a number with NUL',
        reason: 'claims',
        token: (of) => ({ student_number: `N-${of}\0` }),
      },
      {
        how: 'a number that is too long',
        reason: 'claims',
        token: () => ({ student_number: 'N'.repeat(256) }),
      },
      { how: 'a number with a fraction', reason: 'claims', token: () => ({ student_number: 47.11 }) },
      { how: 'an object as a number', reason: 'claims', token: () => ({ student_number: { a: 1 } }) },
      { how: 'half a character as a number', reason: 'claims', token: () => ({ student_number: '\ud800' }) },
      { how: 'a subject with NUL', reason: 'subject', token: () => ({ sub: 'a\0b' }) },
      { how: 'a subject that is too long', reason: 'subject', token: () => ({ sub: 'x'.repeat(256) }) },
      {
        how: 'an object id with NUL',
        more: { kind: 'entra', tenant: 'tenant-1' },
        reason: 'subject',
        token: () => ({ tid: 'tenant-1', oid: 'o\0' }),
      },
      { how: 'an auth_time that is a text', reason: 'token', token: () => ({ auth_time: '1700000000' }) },
      { how: 'an auth_time below zero', reason: 'token', token: () => ({ auth_time: -1 }) },
      { how: 'a sid with NUL', reason: 'claims', token: (of) => ({ student_number: `N-${of}`, sid: 'a\0' }) },
      {
        how: 'a sid that is no text',
        reason: 'claims',
        token: (of) => ({ student_number: `N-${of}`, sid: 1 }),
      },
      {
        how: 'an address with NUL',
        reason: 'nobody',
        token: (of) => ({ email: `${of}\0@school.example`, email_verified: true }),
      },
    ]
    for (const { how, more = {}, reason, token, userinfo } of pairs)
      test(`Refused: ${how}`, async () => {
        const providerId = await addProvider(more)
        if (userinfo) provider.userinfo = userinfo('stu-39')
        const { reply, access } = await signIn(providerId, token('stu-39'))
        assert.deepEqual([reply.status, access], [303, undefined])
        assert.equal(await lastReason(), reason)
      })

    test('A path to go on to is as long as its cookie can hold', async () => {
      const providerId = await addProvider()
      const ways = {
        'of random characters': () => randomBytes(20).toString('base64url'),
        'of digits': () => randomBytes(8).toString('hex'),
        'of escapes': () => encodeURIComponent(`{"${randomBytes(3).toString('base64')}":`),
        'of one character': () => 'x',
      }
      for (const [name, more] of Object.entries(ways)) {
        let path = '/oauth/authorize?'
        const fits = (one: string) =>
          one.length <= returnLengthMax && deflateSync(one).length <= returnBytesMax
        for (let next = path; fits(next); next += more()) path = next
        const start = (to: string) => service.post(`/portal/student/school/${providerId}`, { return: to })
        const reply = await start(path)
        assert.equal(reply.status, 200, name)
        const [cookie] = reply.headers.getSetCookie()
        assert.ok(
          cookie!.length <= 4_096 - '__Host-'.length - '; Secure'.length,
          `${name}: ${cookie!.length}`,
        )
        const refused = await start(path + more().repeat(20))
        assert.equal(refused.status, 400, name)
        assert.match(
          refused.json.errors[0].detail,
          /^must have at most 8100 characters, and at most 2400 bytes/,
        )
      }
    })

    test('A prompt that is not allowed is refused with the one that is', async () => {
      const providerId = await addProvider()
      const reply = await service.post(`/portal/student/school/${providerId}`, { prompt: 'login' })
      assert.equal(reply.status, 400)
      assert.deepEqual(reply.json.errors, [{ pointer: '#/prompt', detail: 'must be select_account' }])
    })

    test('Claims that belong together count, wherever the provider puts them', async () => {
      const name = student()
      const providerId = await addProvider()
      provider.userinfo = { email: addressOf(name), email_verified: true }
      const sub = `sub-${Math.random()}`
      const first = await signIn(providerId, { sub, email: addressOf(name).toUpperCase() })
      assert.ok(first.userId)
      provider.userinfo = {}
      assert.equal((await signIn(providerId, { sub, azp: provider.clientId })).userId, first.userId)
    })

    test('An address claim of another name counts only where all addresses are trusted; the test of the provider says so', async () => {
      const providerId = await addProvider({ numberClaim: null, addressClaim: 'preferred_username' })
      const name = student()
      const { providers } = service.app.parts
      const matching = async () =>
        (await providers.test(providerId)).steps.filter((one) => one.step === 'matching')
      const [step] = await matching()
      assert.equal(step!.ok, false)
      assert.match(step!.text, /addresses in preferred_username are ignored.*--trust-addresses/)
      const claims = { preferred_username: addressOf(name) }
      assert.equal((await signIn(providerId, claims)).userId, undefined)
      await providers.change(providerId, { trustAddresses: true }, byOperator)
      assert.deepEqual(await matching(), [])
      assert.ok((await signIn(providerId, claims)).userId)
      service.clock.advance(second)
    })
  })
