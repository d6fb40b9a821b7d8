/**
 * Every kind of token at every door. The doors are read from the API's own description, so a new one cannot be
 * forgotten; a new kind belongs into `kinds`.
 */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { signToken } from '../src/identity/session/session.ts'
import { minute } from '../src/platform/lib/clock.ts'
import { addClient, callAs, codeFor, signInAt, type TestClient } from './support/applications.ts'
import { authorize, cookieFor, requestOf } from './support/authorize.ts'
import { freshNetwork } from './support/fresh.ts'
import { portalCall } from './support/portal.ts'
import { signInStudent } from './support/roster-world.ts'
import type { Reply, Service } from './support/service.ts'
import { schoolOfSuite } from './support/student-school.ts'

/** The scope with which a client's token opens a route. */
const opens: Readonly<Record<string, string>> = {
  'GET /student/me/classes': 'classes',
  'GET /veterinarian/me/classes': 'classes',
  'PATCH /veterinarian/me': 'account',
  'GET /oauth/userinfo': 'openid',
  'POST /oauth/userinfo': 'openid',
  'GET /roster/students': 'roster.read',
  'GET /roster/classes': 'roster.read',
  'GET /roster/enrolments': 'roster.read',
  'GET /staff/events': 'events.read',
}
const forClientsAlone = / \/(oauth\/userinfo|roster\/)/

interface Kind {
  readonly token: string
  /** Whose a genuine token is. */
  readonly of?: 'person' | 'client' | 'service'
  readonly scope?: string
}

suite('Which token is taken where', () => {
  let service: Service
  schoolOfSuite('sqlite', [], (served) => {
    ;({ service } = served)
  })

  const signIn = () => signInStudent(service, 'ada.byron@school.example')

  interface World {
    readonly client: TestClient
    readonly other: TestClient
    readonly app: TestClient
    readonly robot: TestClient
    readonly kinds: Record<string, Kind>
  }

  async function makeWorld(): Promise<World> {
    const [client, other, robot] = [
      await addClient(service),
      await addClient(service),
      await addClient(service, { kind: 'service' }),
    ]
    const app = await addClient(service, { kind: 'spa' })
    const student = await signIn()
    const narrow = await signInAt(service, student, client, { scope: 'openid profile email' })
    const wide = await signInAt(service, student, client, { scope: 'openid classes account' })
    const atApp = await signInAt(service, student, app)
    const robots = await callAs(service, robot, '/oauth/token', { grant_type: 'client_credentials' })
    const { keys, db } = service.app.parts
    const logoutToken = signToken(
      await keys.signer(),
      'logout+jwt',
      {
        iss: service.url.replace('127.0.0.1', 'localhost'),
        aud: client.id,
        sub: student.userId,
        sid: narrow.sessionId,
      },
      { now: service.clock.now(), ttlMs: minute },
    )
    const { card } = (await service.request('/student/me/card', { token: student.access })).json
    assert.ok(card && db)
    return {
      client,
      other,
      app,
      robot,
      kinds: {
        'first-party access token': { token: student.access, of: 'person' },
        'first-party refresh token': { token: student.refresh },
        'access token of a client': { token: narrow.access, of: 'client', scope: 'openid profile email' },
        'access token of a client with scopes here': {
          token: wide.access,
          of: 'client',
          scope: 'openid classes account',
        },
        'access token of a page': { token: atApp.access, of: 'client', scope: 'openid profile email' },
        'refresh token of a client': { token: narrow.refresh },
        'refresh token of a page': { token: atApp.refresh },
        'token of a service': { token: robots.json.access_token, of: 'service', scope: robots.json.scope },
        'ID token': { token: narrow.idToken },
        'logout token': { token: logoutToken },
        code: { token: await codeFor(service, student, client) },
        'student card': { token: card },
        'secret of a client': { token: client.secret! },
      },
    }
  }

  test('Every route that needs a token, by every kind', async () => {
    const { kinds } = await makeWorld()
    const { paths } = (await service.request('/openapi.json')).json
    const doors = Object.entries(paths as Record<string, Record<string, { security?: unknown[] }>>).flatMap(
      ([path, item]) =>
        Object.entries(item)
          .filter(([, { security }]) => security === undefined || security.length > 0)
          .map(([method]) => ({ method: method.toUpperCase(), path })),
    )
    assert.ok(doors.length > 60)
    for (const door of Object.keys(opens))
      assert.ok(
        doors.some(({ method, path }) => `${method} ${path}` === door),
        `${door} is not described`,
      )
    for (const { method, path } of doors) {
      const door = `${method} ${path}`
      for (const [kind, { token, of, scope = '' }] of Object.entries(kinds)) {
        // The genuine owner may do all of this, and would end the sessions of the others.
        if (of === 'person' && method !== 'GET') continue
        const { status, json } = await service.request(path.replace(/\{\w+\}/g, 'A'.repeat(22)), {
          method,
          token,
          headers: { ...freshNetwork() },
        })
        const what = `${kind} at ${door}: ${status} ${json?.code}`
        if (of === undefined) assert.deepEqual([status, json.code], [401, 'invalid-token'], what)
        else if (of === 'person') {
          if (forClientsAlone.test(door)) assert.equal(json.code, 'forbidden', what)
          else assert.notEqual(status, 401, what)
        } else if (scope.split(' ').includes(opens[door] ?? 'none')) assert.notEqual(status, 401, what)
        else assert.deepEqual([status, json.code], [403, 'forbidden'], what)
      }
    }
  })

  test('Refresh tokens, at every endpoint that takes one', async () => {
    const refresh = (token: string, as: TestClient | null) =>
      callAs(service, as, '/oauth/token', { grant_type: 'refresh_token', refresh_token: token })
    const cookie = (path: string, token: string) =>
      service.request(path, {
        method: 'POST',
        headers: { Cookie: `chiron_refresh=${token}`, Origin: service.url, ...freshNetwork() },
      })
    type Door = (token: string, world: World) => Promise<Reply>
    const doors: Record<string, { ask: Door; takes: string }> = {
      'POST /session/refresh': {
        ask: (refresh_token) => service.post('/session/refresh', { refresh_token }, { ...freshNetwork() }),
        takes: 'first-party refresh token',
      },
      'POST /portal/refresh': {
        ask: (token) => cookie('/portal/refresh', token),
        takes: 'first-party refresh token',
      },
      '/oauth/token without a client': {
        ask: (token) => refresh(token, null),
        takes: 'first-party refresh token',
      },
      '/oauth/token of the client': {
        ask: (token, { client }) => refresh(token, client),
        takes: 'refresh token of a client',
      },
      '/oauth/token of another client': { ask: (token, { other }) => refresh(token, other), takes: 'none' },
      '/oauth/token of the page': {
        ask: (token, { app }) => refresh(token, app),
        takes: 'refresh token of a page',
      },
      '/oauth/token of a service': { ask: (token, { robot }) => refresh(token, robot), takes: 'none' },
    }
    const world = await makeWorld()
    for (const [door, { ask, takes }] of Object.entries(doors))
      for (const [kind, { token }] of Object.entries(world.kinds)) {
        const { status } = await ask(token, world)
        if (kind === takes) assert.equal(status, 200, `${kind} at ${door}`)
        else assert.ok(status === 400 || status === 401, `${kind} at ${door}: ${status}`)
      }
  })

  test('Any token as the portal’s cookie, at authorize and logout', async () => {
    const { kinds, client } = await makeWorld()
    const open = async () => (await service.rows('select 1 from session where ended_at is null')).length
    const before = await open()
    for (const [kind, { token }] of Object.entries(kinds)) {
      const isTaken = kind === 'first-party refresh token'
      const cookie = cookieFor({ refresh: token })
      const query = requestOf(client.id, { redirect_uri: client.redirectUri })
      const { json } = await authorize(service, query, { cookie })
      if (isTaken) assert.match(json.location, /\?code=/, kind)
      else assert.equal(json.need, 'sign-in', kind)
      const logout = await portalCall(service, '/logout', { cookie, body: { query: '' } })
      assert.equal(logout.json.need, isTaken ? 'confirm' : undefined, kind)
    }
    assert.equal(await open(), before)
  })

  test('Introspection and revocation, by every client', async () => {
    const world = await makeWorld()
    const owns: Record<string, readonly string[]> = {
      client: [
        'access token of a client',
        'access token of a client with scopes here',
        'refresh token of a client',
      ],
      other: [],
      robot: ['token of a service'],
    }
    for (const [name, own] of Object.entries(owns))
      for (const [kind, { token }] of Object.entries(world.kinds)) {
        const as = world[name as 'client' | 'other' | 'robot']
        const { status, json } = await callAs(service, as, '/oauth/introspect', { token })
        assert.deepEqual([status, json.active], [200, own.includes(kind)], `${kind} introspected by ${name}`)
      }
    for (const { token } of Object.values(world.kinds))
      assert.equal((await callAs(service, world.other, '/oauth/revoke', { token })).status, 200)
    const refused = await callAs(service, world.app, '/oauth/introspect', { token: 'x' })
    assert.deepEqual([refused.status, refused.json.error], [401, 'invalid_client'])
    for (const [kind, { token, of }] of Object.entries(world.kinds))
      if (of === 'client' || of === 'service') {
        const as = kind.includes('page') ? null : of === 'service' ? world.robot : world.client
        if (as)
          assert.equal((await callAs(service, as, '/oauth/introspect', { token })).json.active, true, kind)
      }
  })
})
