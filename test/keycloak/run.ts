/**
 * School accounts against a real Keycloak, as a provider. Needs Java 17, Maven, about a minute, and the network once, so
 * it is not part of `npm test`.
 *
 *   node test/keycloak/run.ts
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, openSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { byOperator } from '../../src/platform/lib/by.ts'
import { ok } from '../support/passkeys.ts'
import { freePort } from '../support/postgres.ts'
import { addUser, bulk, drop, emptySchool } from '../support/roster-school.ts'
import { rosterOf, signInStudent } from '../support/roster-world.ts'
import { comeBack, Jar, newVisit, startSignIn, type Visit, whoAmI } from '../support/school-account.ts'
import { startService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { wire } from '../support/wire.ts'

const version = '26.4.0'
const cache = join(homedir(), '.cache', 'chiron-keycloak')
const folder = join(cache, `keycloak-${version}`)
const admin = { user: 'admin', password: 'admin' }
const client = { id: 'chiron', secret: 'the-secret-of-chiron~1' }
const password = 'a-password'

function done(program: string, ...args: string[]): void {
  const { status, error } = spawnSync(program, args, { stdio: 'inherit' })
  if (error) throw error
  assert.equal(status, 0, program)
}

if (!existsSync(folder)) {
  mkdirSync(cache, { recursive: true })
  const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy'
  const artifact = `org.keycloak:keycloak-quarkus-dist:${version}:zip`
  done('mvn', '-q', '-B', copy, `-Dartifact=${artifact}`, `-DoutputDirectory=${cache}`)
  done('unzip', '-q', join(cache, `keycloak-quarkus-dist-${version}.zip`), '-d', cache)
}

const port = await freePort()
const base = `http://127.0.0.1:${port}`
const log = openSync(join(cache, 'log'), 'w')
const args = [
  'start-dev',
  '--db=dev-mem',
  '--http-host=127.0.0.1',
  `--http-port=${port}`,
  `--hostname=${base}`,
]
const keycloak = spawn(join(folder, 'bin/kc.sh'), args, {
  detached: true,
  stdio: ['ignore', log, log],
  env: {
    ...process.env,
    KC_BOOTSTRAP_ADMIN_USERNAME: admin.user,
    KC_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
  },
})
const stopKeycloak = () => {
  try {
    process.kill(-keycloak.pid!, 'SIGKILL')
  } catch {
    // Already gone.
  }
}
process.on('exit', stopKeycloak)

/** A call to Keycloak's own interface for administrators. */
async function administer(method: string, path: string, body?: unknown): Promise<Response> {
  const form = {
    grant_type: 'password',
    client_id: 'admin-cli',
    username: admin.user,
    password: admin.password,
  }
  const token = await fetch(`${base}/realms/master/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams(form),
  })
  const { access_token } = (await token.json()) as { access_token: string }
  const reply = await fetch(`${base}/admin/realms${path}`, {
    method,
    headers: { Authorization: `Bearer ${access_token}`, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  assert.ok(reply.ok, `${method} ${path}: ${reply.status}`)
  return reply
}

/** Fills in Keycloak's form; returns the path of the callback. */
async function signInAt(location: string, username: string, jar: Jar): Promise<string> {
  const cookies = () => ({ cookie: jar.header() })
  const url = new URL(location)
  const page = await wire(base, url.pathname + url.search, { headers: cookies() })
  jar.note(page)
  const redirected = page.headers.get('location')
  const back = redirected ?? (await submit(page.text))
  const { pathname, search } = new URL(back)
  return pathname + search

  async function submit(html: string): Promise<string> {
    const action = new URL(/action="([^"]+)"/.exec(html)![1]!.replaceAll('&amp;', '&'))
    const reply = await wire(base, action.pathname + action.search, {
      method: 'POST',
      headers: { ...cookies(), 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ username, password }).toString(),
    })
    jar.note(reply)
    return reply.headers.get('location')!
  }
}

const service = await startService('sqlite')
try {
  service.clock.jump(Date.now() - service.clock.now())
  const school = emptySchool()
  for (const name of ['ada', 'bea', 'cleo']) addUser(school, name, 'student', { identifier: `N-${name}` })
  await rosterOf(service).import(bulk(school))

  await eventually(
    'Keycloak answers',
    async () => (await fetch(`${base}/realms/master`).catch(() => null))?.ok,
  )
  const origin = service.url.replace('127.0.0.1', 'localhost')
  await administer('POST', '', { realm: 'school', enabled: true, sslRequired: 'none' })
  // Attributes that are not in the profile are for administrators alone.
  const profile = (await (await administer('GET', '/school/users/profile')).json()) as object
  await administer('PUT', '/school/users/profile', { ...profile, unmanagedAttributePolicy: 'ADMIN_EDIT' })
  const added = await service.app.parts.providers.add(
    {
      ...{ name: 'Keycloak', kind: 'oidc', issuer: `${base}/realms/school` },
      ...{ clientId: client.id, secret: client.secret, roles: ['student'] },
      ...{ domains: ['school.example'], numberClaim: 'student_number' },
    },
    byOperator,
  )
  const { providerId } = added
  const stepsOf = async () =>
    Object.fromEntries(
      (await service.app.parts.providers.test(providerId)).steps.map((one) => [one.step, one.ok]),
    )
  const unregistered = await stepsOf()
  assert.deepEqual([unregistered.form, unregistered.credentials], [false, false])
  await administer('POST', '/school/clients', {
    clientId: client.id,
    secret: client.secret,
    redirectUris: [added.redirectUri],
    attributes: {
      'pkce.code.challenge.method': 'S256',
      'backchannel.logout.url': added.logoutUri.replace(origin, service.url),
      'backchannel.logout.session.required': 'true',
    },
    protocolMappers: [
      {
        name: 'student number',
        protocol: 'openid-connect',
        protocolMapper: 'oidc-usermodel-attribute-mapper',
        config: {
          'user.attribute': 'student_number',
          'claim.name': 'student_number',
          'id.token.claim': 'true',
        },
      },
    ],
  })
  const users: [username: string, emailVerified: boolean, number?: string][] = [
    ['ada', false, 'N-ada'],
    ['bea', true],
    ['cleo', false],
  ]
  for (const [username, emailVerified, number] of users)
    await administer('POST', '/school/users', {
      ...{ username, emailVerified, enabled: true, firstName: username, lastName: 'Test' },
      email: `${username}@school.example`,
      credentials: [{ type: 'password', value: password, temporary: false }],
      ...(number && { attributes: { student_number: [number] } }),
    })
  const registered = await stepsOf()
  assert.ok(Object.values(registered).every(Boolean), JSON.stringify(registered))

  const enter = async (username: string, jar = new Jar()) => {
    const visit: Visit = newVisit()
    const { location } = ok(await startSignIn(service, providerId, visit))
    const reply = await comeBack(service, await signInAt(location, username, jar), visit)
    return { location: reply.headers.get('location'), ...(await whoAmI(service, visit)) }
  }
  const says = (what: string) => process.stdout.write(`ok: ${what}\n`)

  const atKeycloak = new Jar()
  const ada = await enter('ada', atKeycloak)
  assert.equal(ada.location, '/')
  const again = await enter('ada', atKeycloak)
  assert.equal(again.userId, ada.userId)
  says('a student signs in by number, and again without the form')
  assert.ok((await enter('bea')).access)
  says('a student signs in by a verified address')
  assert.equal((await enter('cleo')).location, '/#/school-refused')
  says('an address that is not verified is refused')

  const [user] = (await (await administer('GET', '/school/users?username=ada')).json()) as { id: string }[]
  await administer('POST', `/school/users/${user!.id}/logout`)
  await eventually(
    'the session ends',
    async () => (await service.request('/student/me', { token: ada.access! })).status === 401,
  )
  says('a logout at Keycloak ends the session here')

  const realm = (await (await administer('GET', '/school')).json()) as { id: string }
  await administer('POST', '/school/components', {
    name: 'a newer key',
    providerId: 'rsa-generated',
    providerType: 'org.keycloak.keys.KeyProvider',
    parentId: realm.id,
    config: { priority: ['200'], keySize: ['2048'] },
  })
  service.clock.advance(11_000)
  assert.ok((await enter('bea')).access)
  says('a key that Keycloak rotates is fetched')

  drop(school, 'bea')
  service.clock.advance(1_000)
  await rosterOf(service).import(bulk(school))
  assert.equal((await enter('bea')).location, '/#/school-refused')
  says('somebody who left the roster is refused')

  stopKeycloak()
  service.clock.advance(3_600_000)
  assert.equal((await startSignIn(service, providerId, newVisit())).status, 503)
  assert.ok((await signInStudent(service, 'cleo@school.example')).access)
  says('with Keycloak stopped, codes go on')
} finally {
  stopKeycloak()
  await service.stop()
}
