/** Which ways to sign in are open to a role, the limits of school accounts, and commands that set them up. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import Provider from 'oidc-provider'
import { guardedFetch } from '../src/identity/school-account/school-account.ts'
import { checkSchoolAccounts } from '../src/operate/doctor/school-account.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { commandFolder } from './support/child.ts'
import { atLength, engines, migratedStore } from './support/engines.ts'
import { freshNetwork } from './support/fresh.ts'
import { addPasskey, newAuthenticator, ok, passkeySignIn } from './support/passkeys.ts'
import { freePort } from './support/postgres.ts'
import { startProvider } from './support/provider.ts'
import { run } from './support/roster-commands.ts'
import { addUser, bulk, emptySchool } from './support/roster-school.ts'
import { rosterOf, signInStudent } from './support/roster-world.ts'
import {
  atProvider,
  comeBack,
  Jar,
  newVisit,
  schoolSignIn,
  startSignIn,
  whoAmI,
} from './support/school-account.ts'
import { type Reply, type Service, startService } from './support/service.ts'
import { startMailServer } from './support/smtp.ts'
import { addStaff, signInStaff } from './support/staff.ts'
import { wire } from './support/wire.ts'

const problem = ({ status, json }: Reply) => `${status} ${json?.code}`
const ada = { sub: 'ada', student_number: 'N-ada' }

function adasSchool() {
  const school = emptySchool()
  addUser(school, 'ada', 'student', { identifier: 'N-ada' })
  return school
}

async function providerOf(t: TestContext, service: Service, more: object = {}) {
  const provider = await startProvider(() => service.clock.now())
  t.after(() => provider.stop())
  const { issuer, clientId, secret } = provider
  const fields = {
    name: 'University account',
    kind: 'oidc',
    roles: ['student', 'staff'],
    numberClaim: 'student_number',
  }
  const added = await service.app.parts.providers.add(
    { ...fields, issuer, clientId, secret, ...more },
    byOperator,
  )
  return { provider, providerId: added.providerId }
}

/** Services that one test starts one after the other on one store. */
async function restarting(t: TestContext, engine: (typeof engines)[number]) {
  const store = await migratedStore(engine)
  const mail = await startMailServer()
  const port = String(await freePort())
  let current: Service | undefined
  t.after(async () => {
    await current?.stop()
    await mail.close()
    await store.remove()
  })
  return async (env: Record<string, string>) => {
    const clock = current?.clock
    await current?.stop()
    current = undefined
    current = await startService(engine, {
      databaseUrl: store.url,
      mail,
      env: { CHIRON_PORT: port, ...env },
      ...(clock && { clock }),
    })
    return current
  }
}

for (const engine of engines)
  suite(`Ways to sign in on ${engine}`, () => {
    test('A school closes codes to students: they come with the school’s account, and step-up by code stays', async (t) => {
      const start = await restarting(t, engine)
      const service = await start({ CHIRON_STUDENT_SIGN_IN: 'school' })
      await rosterOf(service).import(bulk(adasSchool()))
      assert.ok(service.log.some((line) => line.includes('students cannot sign in')))
      const ask = await service.post('/student/send-otp', { email: 'ada@school.example' }, freshNetwork())
      assert.equal(problem(ask), '403 forbidden')
      const answer = { email: 'ada@school.example', otp_code: 123456, sessionId: 'x' }
      for (const path of ['/student/validate-otp', '/portal/student/validate-otp'])
        assert.equal(problem(await service.post(path, answer, freshNetwork())), '403 forbidden')
      const { provider, providerId } = await providerOf(t, service)
      const { access } = await schoolSignIn(service, provider, providerId, ada)
      assert.ok(access)
      const added = await service.request('/passkey/add-options', { method: 'POST', token: access })
      assert.equal(problem(added), '403 forbidden')
      const stepUp = await service.request('/session/step-up/send-otp', {
        method: 'POST',
        token: access,
        body: {},
      })
      assert.equal(stepUp.status, 202)
      assert.equal((await service.register('vet@clinic.example')).status, 202)
    })

    test('A school closes passkeys to students: those that they have no longer work', async (t) => {
      const start = await restarting(t, engine)
      const first = await start({})
      await rosterOf(first).import(bulk(adasSchool()))
      const { access } = await signInStudent(first, 'ada@school.example')
      const device = newAuthenticator(first)
      ok(await addPasskey(first, access, device), 201)
      ok(await passkeySignIn(first, device, { headers: freshNetwork() }))
      const service = await start({ CHIRON_STUDENT_SIGN_IN: 'code' })
      const reply = await passkeySignIn(service, device, { headers: freshNetwork() })
      assert.equal(problem(reply), '401 passkey-unusable')
      const { providerId } = await providerOf(t, service)
      assert.equal(problem(await startSignIn(service, providerId, newVisit())), '403 forbidden')
      const { providers } = ok(await service.request('/providers'))
      assert.deepEqual(providers[0].roles, ['staff'])
    })

    test('Staff are not locked out: the start refuses until an admin has connected an account', async (t) => {
      const start = await restarting(t, engine)
      const service = await start({})
      const { email } = await addStaff(service, ['admin'])
      const closed = { CHIRON_STAFF_SIGN_IN: 'school' }
      await assert.rejects(start(closed), /CHIRON_STAFF_SIGN_IN would lock staff out/)
      const again = await start({})
      const { provider, providerId } = await providerOf(t, again)
      const { access } = await signInStaff(again, email)
      provider.claims = { sub: 'admin' }
      const jar = new Jar()
      const body = { providerId }
      const started = await again.request('/school/links', { method: 'POST', token: access, body })
      jar.note(started)
      await comeBack(again, await atProvider(ok(started).location), { jar, headers: freshNetwork() })
      const last = await start(closed)
      assert.equal(problem(await last.post('/staff/send-otp', { email }, freshNetwork())), '403 forbidden')
      const signedIn = await schoolSignIn(last, provider, providerId, { sub: 'admin' }, { role: 'staff' })
      assert.ok(signedIn.access)
    })

    test('A secret of the service that is replaced reseals the secrets of providers', async (t) => {
      const start = await restarting(t, engine)
      const [old, fresh] = ['an old secret for tests that is long', 'a fresh secret for tests that is long']
      const first = await start({ CHIRON_SECRET: old })
      await rosterOf(first).import(bulk(adasSchool()))
      const { provider, providerId } = await providerOf(t, first)
      await start({ CHIRON_SECRET: fresh, CHIRON_SECRET_PREVIOUS: old })
      const last = await start({ CHIRON_SECRET: fresh })
      assert.ok((await schoolSignIn(last, provider, providerId, ada)).access)
      // Otherwise a secret that fits no key is refused.
      await last.app.parts.db.run('delete from signing_key')
      const lost = await start({ CHIRON_SECRET: secretsOther })
      assert.equal(problem(await startSignIn(lost, providerId, newVisit())), '404 not-found')
      assert.equal((await lost.app.parts.providers.test(providerId)).steps[0]!.step, 'secret')
    })

    test('Starts and answers are limited per network, and a sign-in gives back', async (t) => {
      const service = await startService(engine)
      t.after(() => service.stop())
      await rosterOf(service).import(bulk(adasSchool()))
      const { provider, providerId } = await providerOf(t, service)
      const visit = newVisit()
      const { reply } = await schoolSignIn(service, provider, providerId, ada, { visit })
      assert.match(reply.headers.get('ratelimit-policy')!, /"school-answer";q=1200/)
      const left = async () => {
        const network = await service.rows<{ key: string; full_at: number }>(
          "select key, full_at from bucket where key like '%:school-%' and full_at > $1",
          [service.clock.now()],
        )
        return network.map(({ key }) => key.split(':')[1])
      }
      // What is not given back is what the wider network gave.
      assert.deepEqual([...new Set(await left())].sort(), ['school-answer', 'school-start'])
      const stranger = newVisit()
      const started = await startSignIn(service, providerId, stranger)
      const sealed = stranger.jar.get('chiron_school')!
      const state = new URL(ok(started).location).searchParams.get('state')!
      const path = `/sign-in/school/callback?error=access_denied&state=${state}`
      let last: Reply | undefined
      for (let i = 0; i < 1_220; i++) {
        stranger.jar.set('chiron_school', sealed)
        last = await comeBack(service, path, stranger)
      }
      assert.equal(last!.status, 429)
      assert.ok(last!.headers.get('retry-after'))
      const elsewhere = newVisit()
      elsewhere.jar.set('chiron_school', sealed)
      assert.equal((await comeBack(service, path, elsewhere)).status, 303)
      const recorded = await service.rows("select id from event where type = 'school.refused'")
      // The budget of strangers, and what it got back meanwhile.
      assert.ok(recorded.length >= 1_000 && recorded.length < 1_010, String(recorded.length))
    })

    test('An honest provider of another make (oidc-provider) signs a student in', async (t) => {
      const service = await startService(engine)
      t.after(() => service.stop())
      service.clock.jump(Date.now() - service.clock.now())
      await rosterOf(service).import(bulk(adasSchool()))
      const issuer = await honestProvider(t, service)
      const fields = { name: 'Honest', kind: 'oidc', roles: ['student'], domains: ['school.example'] }
      const added = await service.app.parts.providers.add(
        { ...fields, issuer, clientId: 'chiron', secret: 'the-secret-of-chiron' },
        byOperator,
      )
      const tested = await service.app.parts.providers.test(added.providerId)
      assert.deepEqual(
        tested.steps.filter(({ ok: good }) => !good),
        [],
      )
      const visit = newVisit()
      const started = ok(await startSignIn(service, added.providerId, visit))
      const path = await walkThrough(started.location)
      const reply = await comeBack(service, path, visit)
      assert.equal(reply.headers.get('location'), '/')
      assert.ok((await whoAmI(service, visit)).access)
    })
  })

const secretsOther = 'another secret for tests, quite long'

/** It asks nothing: the interaction is answered by a script. */
async function honestProvider(t: TestContext, service: Service): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const redirect = `${service.url.replace('127.0.0.1', 'localhost')}/sign-in/school/callback`
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'chiron', client_secret: 'the-secret-of-chiron', redirect_uris: [redirect] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ sub, email: 'ada@school.example', email_verified: true }),
    }),
    features: { devInteractions: { enabled: true } },
    cookies: { keys: ['a key for tests'] },
  })
  server.on('request', provider.callback())
  return issuer
}

/** Follows redirects and sends the forms of oidc-provider's own interaction pages. */
async function walkThrough(location: string): Promise<string> {
  const jar = new Jar()
  let url = new URL(location)
  const { origin } = url
  for (let step = 0; step < 12; step++) {
    const page = await wire(origin, url.pathname + url.search, { headers: { cookie: jar.header() } })
    jar.note(page)
    let reply = page
    if (page.status === 200) {
      const prompt = /name="prompt" value="(\w+)"/.exec(page.text)![1]!
      const action = new URL(/action="([^"]+)"/.exec(page.text)![1]!, url)
      reply = await wire(origin, action.pathname, {
        method: 'POST',
        headers: { cookie: jar.header(), 'content-type': 'application/x-www-form-urlencoded' },
        body: prompt === 'login' ? 'prompt=login&login=ada&password=x' : 'prompt=consent',
      })
      jar.note(reply)
    }
    url = new URL(reply.headers.get('location')!, url)
    if (url.pathname === '/sign-in/school/callback') return url.pathname + url.search
  }
  throw new Error('the provider never sent the browser back')
}

suite('Requests to providers', () => {
  const fetch = guardedFetch([], 'test')
  const get = (url: string) => fetch(url, { method: 'GET', headers: {} })
  for (const url of [
    'http://example.org/',
    'https://10.0.0.1/',
    'https://[::1]/',
    'http://127.0.0.1:1/',
    'https://localhost:1/',
  ])
    test(`${url} is not asked`, () => assert.rejects(get(url), { name: 'Unreachable' }))
})

test('Sign-ins are counted by method', async (t) => {
  const metricsPort = await freePort()
  const service = await startService('sqlite', { env: { CHIRON_METRICS_PORT: String(metricsPort) } })
  t.after(() => service.stop())
  await rosterOf(service).import(bulk(adasSchool()))
  const { provider, providerId } = await providerOf(t, service)
  await schoolSignIn(service, provider, providerId, ada)
  await schoolSignIn(service, provider, providerId, { sub: 'stranger' })
  await comeBack(service, '/sign-in/school/callback?code=x&state=y', newVisit())
  const text = await service.app.parts.metrics!.registry.metrics()
  assert.match(text, /chiron_sign_ins_total\{role="student",outcome="right",method="school"\} 1/)
  assert.match(text, /chiron_sign_ins_total\{role="unknown",outcome="unusable",method="school"\} 1/)
  assert.match(text, /chiron_sign_ins_total\{role="unknown",outcome="not-begun",method="school"\} 1/)
})

suite('The doctor on school accounts', () => {
  const all = ['code', 'passkey', 'school'] as const
  const facts = {
    methods: { veterinarian: ['code'], student: all, staff: all },
    providers: [],
    adminHasOther: false,
  } as const
  const provider = { name: 'Campus', enabled: true, roles: ['student'], steps: [] }
  const without = ['school'] as const
  const cases: [how: string, change: object, state: string, text: RegExp][] = [
    ['nothing is set up', {}, 'good', /not set up/],
    ['a provider is well', { providers: [provider] }, 'good', /1 of 1 providers on/],
    [
      'a provider does not answer',
      { providers: [{ ...provider, steps: [{ step: 'metadata', ok: false, text: 'no answer' }] }] },
      'bad',
      /Campus, metadata: no answer/,
    ],
    [
      'students have no way in',
      { methods: { ...facts.methods, student: without } },
      'bad',
      /closed to students/,
    ],
    [
      'staff are locked out',
      { methods: { ...facts.methods, staff: without }, providers: [{ ...provider, roles: ['staff'] }] },
      'bad',
      /no admin can sign in/,
    ],
  ]
  for (const [how, change, state, text] of cases)
    test(how, () => {
      const [finding] = checkSchoolAccounts({ ...facts, ...change })
      assert.equal(finding!.state, state)
      assert.match(finding!.text, text)
    })
})

suite('chiron providers', { ...atLength }, () => {
  const folder = commandFolder()

  test('add, list, test, change, disable, enable and remove', async (t) => {
    const service = await startService('sqlite')
    t.after(() => service.stop())
    service.clock.jump(Date.now() - service.clock.now())
    const provider = await startProvider(() => service.clock.now())
    t.after(() => provider.stop())
    const env = {
      CHIRON_DATABASE_URL: service.databaseUrl,
      CHIRON_SECRET: 'a secret for tests that is long enough',
    }
    const file = join(folder.path, 'secret')
    writeFileSync(file, `${provider.secret}\n`)
    const chiron = (...args: string[]) => run(folder.path, ['providers', ...args], env)
    const base = ['--issuer', provider.issuer, '--client-id', provider.clientId, '--secret-file', file]
    const added = await chiron(
      'add',
      'Campus',
      '--kind',
      'oidc',
      ...base,
      '--roles',
      'student',
      '--number-claim',
      'n',
      '--json',
    )
    assert.equal(added.code, 0, added.err)
    const { providerId } = added.json[0]
    assert.ok(!added.out.includes(provider.secret))
    assert.match((await chiron('list')).out, /Campus +oidc .* student +0 +on/)
    const tested = await chiron('test', 'Campus')
    assert.equal(tested.code, 0, tested.out + tested.err)
    assert.match(tested.out, /good +credentials/)
    writeFileSync(file, 'wrong')
    assert.equal((await chiron('change', providerId, '--secret-file', file)).code, 0)
    const refused = await chiron('test', providerId)
    assert.equal(refused.code, 1)
    assert.match(refused.out, /BAD +credentials +the provider refuses the client id or the secret/)
    assert.match((await chiron('disable', providerId)).out, /Nobody can sign in with Campus/)
    assert.match((await chiron('list')).out, /off since/)
    assert.match((await chiron('enable', providerId)).out, /People can sign in/)
    assert.match((await chiron('remove', providerId)).out, /is removed/)
    const another = [...base, '--roles', 'student', '--domains', 'school.example', '--json']
    const claim = ['--address-claim', 'preferred_username']
    const ignored = await chiron('add', 'Email', ...another, ...claim)
    const { providerId: id } = ignored.json[0]
    assert.equal(ignored.code, 0)
    assert.match(
      ignored.err,
      /^chiron: warning: addresses in preferred_username are ignored: .*--trust-addresses.*; "chiron providers change \S+" mends it\n$/,
    )
    assert.match((await chiron('change', id, '--name', 'Mail')).err, /^chiron: warning: addresses in /)
    assert.equal((await chiron('change', id, '--trust-addresses')).err, '')
    assert.match((await chiron('change', id, '--no-trust-addresses')).err, /^chiron: warning: /)
    assert.equal((await chiron('change', id, '--roles', 'staff')).err, '')
    const wrong = await chiron('add', 'Campus', '--kind', 'entra', ...base, '--roles', 'student')
    assert.equal(wrong.code, 1)
    assert.match(wrong.err, /^chiron: tenant must be the id of the tenant\n$/)
    assert.match((await chiron('test', 'nobody')).err, /no provider has the name or id nobody/)
  })
})
