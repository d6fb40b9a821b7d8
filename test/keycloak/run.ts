/**
 * School accounts against a real Keycloak, as a provider and as a broker for SAML. Needs Java 17, Maven, about a minute, and the network once, so
 * it is not part of `npm test`.
 *
 *   node test/keycloak/run.ts
 */
import assert from 'node:assert/strict'
import { byOperator } from '../../src/platform/lib/by.ts'
import { startKeycloak } from '../support/keycloak.ts'
import { ok } from '../support/passkeys.ts'
import { addUser, bulk, drop, emptySchool } from '../support/roster-school.ts'
import { rosterOf, signInStudent } from '../support/roster-world.ts'
import { comeBack, Jar, newVisit, startSignIn, whoAmI } from '../support/school-account.ts'
import { type Reply, startService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { wire } from '../support/wire.ts'

const client = { id: 'chiron', secret: 'the-secret-of-chiron~1' }
const password = 'a-password'

const { base, administer, stop } = await startKeycloak('26.4.0')

/** A browser at Keycloak. Each realm has its own cookies of the same names. */
class Visitor {
  readonly #jars = new Map<string, Jar>()

  /** Fills in the form, follows what a browser would, and returns the path of the callback. */
  async signIn(location: string, username: string): Promise<string> {
    let next: { url: URL; form: URLSearchParams | null } = { url: new URL(location), form: null }
    for (let step = 0; step < 20; step++) {
      const { url, form } = next
      if (url.pathname === '/sign-in/school/callback') return url.pathname + url.search
      const reply = await this.#send(url, form)
      const location = reply.headers.get('location')
      next =
        location === null ? formIn(reply.text, username, url) : { url: new URL(location, url), form: null }
    }
    throw new Error('Keycloak never sent the browser back')
  }

  async #send(url: URL, form: URLSearchParams | null): Promise<Reply> {
    const realm = url.pathname.split('/')[2]!
    const jar = this.#jars.get(realm) ?? new Jar()
    this.#jars.set(realm, jar)
    const reply = await wire(base, url.pathname + url.search, {
      headers: {
        cookie: jar.header(),
        ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(form && { method: 'POST', body: form.toString() }),
    })
    jar.note(reply)
    return reply
  }
}

const unescaped = (html: string) => html.replaceAll(/&amp;|&#38;/g, '&').replaceAll(/&#61;/g, '=')

/** The form of the page, with the password or with the hidden fields that a script would send (SAML). */
function formIn(html: string, username: string, page: URL): { url: URL; form: URLSearchParams } {
  const action = /action="([^"]+)"/i.exec(html)?.[1]
  if (action === undefined) throw new Error(`no form at ${page.pathname}: ${html.slice(0, 500)}`)
  const hidden = [...html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/gi)]
  const fields: [string, string][] = /name="username"/.test(html)
    ? [
        ['username', username],
        ['password', password],
      ]
    : hidden.map(([, name, value]) => [name!, unescaped(value!)])
  return { url: new URL(unescaped(action), page), form: new URLSearchParams(fields) }
}

const service = await startService('sqlite')
try {
  service.clock.jump(Date.now() - service.clock.now())
  const school = emptySchool()
  for (const name of ['ada', 'bea', 'cleo']) addUser(school, name, 'student', { identifier: `N-${name}` })
  // The form that federations use.
  const code = 'urn:schac:personalUniqueCode:int:esi:home.example:N-dora'
  addUser(school, 'dora', 'student', { identifier: code })
  await rosterOf(service).import(bulk(school))

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

  const enter = async (username: string, visitor = new Visitor(), provider = providerId) => {
    const visit = newVisit()
    const { location } = ok(await startSignIn(service, provider, visit))
    const reply = await comeBack(service, await visitor.signIn(location, username), visit)
    return { location: reply.headers.get('location'), ...(await whoAmI(service, visit)) }
  }
  const says = (what: string) => process.stdout.write(`ok: ${what}\n`)

  const atKeycloak = new Visitor()
  const ada = await enter('ada', atKeycloak)
  assert.equal(ada.location, '/')
  const again = await enter('ada', atKeycloak)
  assert.equal(again.userId, ada.userId)
  says('a student signs in by number, and again without the form')
  assert.ok((await enter('bea')).access)
  says('a student signs in by a verified address')
  assert.match((await enter('cleo')).location ?? '', /^\/#\/school-refused/)
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
  assert.match((await enter('bea')).location ?? '', /^\/#\/school-refused/)
  says('somebody who left the roster is refused')

  const broker = await addBroker(service.url.replace('127.0.0.1', 'localhost'))
  const throughSaml = await enter('dora', new Visitor(), broker)
  assert.equal(throughSaml.location, '/')
  says('a student of a SAML identity provider signs in through Keycloak as a broker')

  stop()
  service.clock.advance(3_600_000)
  assert.equal((await startSignIn(service, providerId, newVisit())).status, 503)
  assert.ok((await signInStudent(service, 'cleo@school.example')).access)
  says('with Keycloak stopped, codes go on')
} finally {
  stop()
  await service.stop()
}

/** Two realms: `home` is a SAML identity provider, `broker` takes its word and speaks OpenID. */
async function addBroker(origin: string): Promise<string> {
  const issuer = `${base}/realms/broker`
  const added = await service.app.parts.providers.add(
    {
      ...{ name: 'Federation', kind: 'oidc', issuer, clientId: client.id, secret: client.secret },
      ...{ roles: ['student'], numberClaim: 'student_number' },
    },
    byOperator,
  )
  for (const realm of ['home', 'broker']) {
    await administer('POST', '', { realm, enabled: true, sslRequired: 'none' })
    const profile = (await (await administer('GET', `/${realm}/users/profile`)).json()) as object
    await administer('PUT', `/${realm}/users/profile`, { ...profile, unmanagedAttributePolicy: 'ADMIN_EDIT' })
  }
  const asserting = (attribute: string, name: string, mapper = 'saml-user-property-mapper') => ({
    ...{ name, protocol: 'saml', protocolMapper: mapper },
    config: { 'user.attribute': attribute, 'attribute.name': name, 'attribute.nameformat': 'Basic' },
  })
  await administer('POST', '/home/clients', {
    clientId: issuer,
    protocol: 'saml',
    redirectUris: [`${issuer}/broker/home/endpoint`],
    attributes: { 'saml.client.signature': 'false', 'saml.assertion.signature': 'true' },
    protocolMappers: [
      asserting('email', 'mail'),
      asserting('firstName', 'givenName'),
      asserting('lastName', 'sn'),
      asserting('code', 'schacPersonalUniqueCode', 'saml-user-attribute-mapper'),
    ],
  })
  await administer('POST', '/home/users', {
    ...{ username: 'dora', email: 'dora@home.example', enabled: true, firstName: 'Dora', lastName: 'Test' },
    credentials: [{ type: 'password', value: password, temporary: false }],
    attributes: { code: ['urn:schac:personalUniqueCode:int:esi:home.example:N-dora'] },
  })
  const read = await administer('POST', '/broker/identity-provider/import-config', {
    providerId: 'saml',
    fromUrl: `${base}/realms/home/protocol/saml/descriptor`,
  })
  const config = {
    ...((await read.json()) as object),
    validateSignature: 'true',
    wantAssertionsSigned: 'true',
  }
  await administer('POST', '/broker/identity-provider/instances', {
    ...{ alias: 'home', providerId: 'saml', enabled: true, trustEmail: false, config },
  })
  const taking = async (name: string, attribute: string, to: string) =>
    administer('POST', '/broker/identity-provider/instances/home/mappers', {
      ...{ name, identityProviderAlias: 'home', identityProviderMapper: 'saml-user-attribute-idp-mapper' },
      config: { syncMode: 'FORCE', 'attribute.name': attribute, 'user.attribute': to },
    })
  await taking('address', 'mail', 'email')
  await taking('first name', 'givenName', 'firstName')
  await taking('last name', 'sn', 'lastName')
  await taking('number', 'schacPersonalUniqueCode', 'student_number')
  await administer('POST', '/broker/clients', {
    ...{ clientId: client.id, secret: client.secret, redirectUris: [`${origin}/sign-in/school/callback`] },
    protocolMappers: [
      {
        ...{ name: 'student number', protocol: 'openid-connect' },
        protocolMapper: 'oidc-usermodel-attribute-mapper',
        config: {
          'user.attribute': 'student_number',
          'claim.name': 'student_number',
          'id.token.claim': 'true',
        },
      },
    ],
  })
  await useOnly('home')
  return added.providerId
}

/** The broker's form would offer a choice; with one home organisation it goes there at once. */
async function useOnly(alias: string): Promise<void> {
  type Execution = { readonly id: string; readonly providerId: string; readonly requirement: string }
  const path = '/broker/authentication/flows/browser/executions'
  const all = (await (await administer('GET', path)).json()) as Execution[]
  const redirector = all.find(({ providerId }) => providerId === 'identity-provider-redirector')!
  await administer('POST', `/broker/authentication/executions/${redirector.id}/config`, {
    ...{ alias: 'home', config: { defaultProvider: alias } },
  })
}
