/** The registry of clients, as admins change it over HTTP and operators by command. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, suite, test } from 'node:test'
import pg from 'pg'
import type { ClientKind } from '../src/identity/clients/kinds.ts'
import { redirectFault } from '../src/identity/clients/redirects.ts'
import { addClient, type NewClientRow } from '../src/identity/clients/store.ts'
import { statement } from '../src/platform/db/db.ts'
import { byOperator, bySystem } from '../src/platform/lib/by.ts'
import { day, minute } from '../src/platform/lib/clock.ts'
import { newId } from '../src/platform/lib/random.ts'
import { secretWorks } from './support/applications.ts'
import { commandFolder } from './support/child.ts'
import { atLength, engines, onPostgres } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { run } from './support/roster-commands.ts'
import {
  outcome,
  type Reply,
  type Service,
  type SignedIn,
  serviceFor,
  startService,
} from './support/service.ts'
import { newStaff } from './support/staff.ts'
import { eventually } from './support/wait.ts'

const redirect = 'https://app.example.org/callback'

suite('Redirect URIs', () => {
  const people = ['web', 'spa', 'native'] as const
  type Case = [uri: string, kinds: readonly ClientKind[], outsideProduction?: readonly ClientKind[]]
  const cases: readonly Case[] = [
    ['https://app.example.org/callback', people],
    ['https://app.example.org', people],
    ['https://app.example.org:8443/cb?x=1', people],
    ['https://app.example.org/a%20b', people],
    ['http://127.0.0.1/cb', ['native'], people],
    ['http://127.0.0.1:8080/cb', ['native'], people],
    ['http://[::1]/cb', ['native'], people],
    ['http://localhost:5173/', ['native'], people],
    ['org.example.app:/callback', ['native']],
    ['org.example.app://callback', ['native']],
    ['http://app.example.org/cb', []],
    ['http://127.0.0.1.example.org/cb', []],
    ['http://localhost.example.org/cb', []],
    ['http://10.0.0.1/cb', []],
    ['https://*.example.org/cb', []],
    ['https://app.example.org/*', []],
    ['https://app.example.org/cb#', []],
    ['https://app.example.org/cb#x', []],
    ['https://user@app.example.org/cb', []],
    ['https://user:secret@app.example.org/cb', []],
    ['https://@app.example.org/cb', []],
    ['http://user@127.0.0.1/cb', []],
    ['org.example.app://user@callback', []],
    ['https:app.example.org', []],
    ['https:///cb', []],
    ['https://app.example.org/a b', []],
    ['https://app.example.org\\@evil.example/', []],
    ['https://app.example.org/\ncb', []],
    [' https://app.example.org/cb', []],
    ['https://bücher.example/cb', []],
    ['//app.example.org/cb', []],
    ['/cb', []],
    ['', []],
    ['javascript:alert(1)', []],
    ['data:text/html,x', []],
    ['app:/callback', []],
    ['ORG.example.app:/callback', []],
    ['file:///etc/passwd', []],
    ['HTTPS://app.example.org/cb', []],
    [`https://app.example.org/${'x'.repeat(2_000)}`, []],
  ]
  for (const [uri, inProduction, outside = inProduction] of cases) {
    test(`${JSON.stringify(uri).slice(0, 60)} is for ${inProduction.join(', ') || 'nobody'}`, () => {
      const taking = (production: boolean) =>
        people.filter((kind) => redirectFault(uri, kind, production) === null)
      assert.deepEqual([taking(true), taking(false)], [inProduction, outside])
    })
  }
})

for (const engine of engines) {
  suite(`/staff/clients on ${engine}`, () => {
    let service: Service
    let admin: SignedIn
    before(async () => {
      service = await startService(engine, { env: { CHIRON_LIMITS: 'off' } })
    })
    beforeEach(async () => {
      admin = await newStaff(service, 'admin')
    })
    afterEach(async () => {
      const { clients } = service.app.parts
      for (const { clientId } of await clients.list()) await clients.remove(clientId, byOperator)
    })
    after(() => service.stop())

    const call = (method: string, path: string, body?: unknown) =>
      service.request(`/staff/clients${path}`, {
        method,
        token: admin.access,
        ...(body !== undefined && { body }),
      })
    const add = async (fields: object = {}) => {
      const reply = await call('POST', '', { name: 'Moodle', redirectUris: [redirect], ...fields })
      assert.equal(reply.status, 201, reply.text)
      return reply.json
    }
    /** For everybody who registers. */
    const addOpen = (fields: object = {}) => add({ unverifiedVeterinarians: true, ...fields })
    const eventsOf = async (clientId: string) => {
      const rows = await service.rows<{ type: string; actor: string; data: string }>(
        "select type, actor, data from event where type like 'client.%' order by at, id",
      )
      return rows
        .filter(({ data }) => JSON.parse(data).clientId === clientId)
        .map(({ type, actor }) => [type, actor])
    }
    /** Somebody who is signed in at the portal, and from there at the client. */
    const signInAt = async (clientId: string, person?: SignedIn) => {
      const { sessions, db } = service.app.parts
      const { sessionId: startedFrom, userId } =
        person ?? (await service.signIn(freshAddress(), freshNetwork()))
      const id = newId()
      const now = service.clock.now()
      const about = { id, clientId, personId: userId, scope: 'openid', language: 'en' }
      const session = { ...about, startedFrom, offline: false, now }
      assert.ok(await db.decide(sessions.startingAtClient(session, bySystem)))
      return { id, userId, startedFrom }
    }
    const tokenOf = (clientId: string, { id, userId }: { id: string; userId: string }) =>
      service.app.parts.sessions.accessToken({
        sub: userId,
        sid: id,
        roles: ['veterinarian'],
        jti: newId(),
        clientId,
        audience: clientId,
      })
    const open = async (clientId: string) =>
      (
        await service.rows<{ id: string }>(
          'select id from session where client_id = $1 and ended_at is null order by id',
          [clientId],
        )
      ).map(({ id }) => id)
    const works = (id: string, secret: string) => secretWorks(service, id, secret)

    test('An admin adds, reads, changes, disables, enables and removes an application', async () => {
      const added = await call('POST', '', { name: ' Moodle ', redirectUris: [redirect, redirect] })
      assert.equal(added.status, 201)
      assert.equal(added.headers.get('cache-control'), 'no-store')
      const { secret, ...client } = added.json
      const { clientId: id, failedCalls, ...shown } = client
      assert.match(secret, /^[\w-]{43}$/)
      assert.deepEqual(failedCalls, [])
      assert.deepEqual(shown, {
        name: 'Moodle',
        kind: 'web',
        redirectUris: [redirect],
        logoutUris: [],
        backchannelUri: null,
        scopes: ['openid', 'profile', 'email'],
        roles: ['veterinarian', 'student', 'staff'],
        consent: 'never',
        subject: 'public',
        pkce: true,
        claimsInIdToken: false,
        idTokenAlg: 'ES256',
        unverifiedVeterinarians: false,
        hasSecret: true,
        formerSecretUntil: null,
        enabled: true,
        disabledAt: null,
        createdAt: new Date(service.clock.now()).toISOString(),
        lastUsedAt: null,
        signedIn: 0,
        calls: { waiting: 0, failed: 0 },
      })
      assert.deepEqual((await call('GET', `/${id}`)).json, client)
      assert.deepEqual((await call('GET', '')).json, { clients: [{ clientId: id, ...shown }] })
      const stored = JSON.stringify(await service.rows('select * from client'))
      assert.ok(!stored.includes(secret))

      const change = {
        name: 'Moodle 5',
        redirectUris: ['https://moodle.example.org/'],
        logoutUris: ['https://moodle.example.org/out'],
        backchannelUri: 'https://moodle.example.org/bc',
        scopes: ['classes', 'openid'],
        roles: ['student'],
        consent: 'once',
        pkce: false,
        claimsInIdToken: true,
        idTokenAlg: 'RS256',
        unverifiedVeterinarians: true,
      }
      service.clock.advance(1)
      const changed = await call('PATCH', `/${id}`, change)
      assert.deepEqual(changed.json, { ...client, ...change, scopes: ['openid', 'classes'] })
      service.clock.advance(1)
      assert.deepEqual((await call('PATCH', `/${id}`, change)).json, changed.json)
      assert.equal((await call('PATCH', `/${id}`, { backchannelUri: null })).json.backchannelUri, null)
      service.clock.advance(1)
      for (const enabled of [false, false, true, true]) {
        assert.equal((await call('PATCH', `/${id}`, { enabled })).json.enabled, enabled)
        service.clock.advance(1)
      }
      assert.equal((await call('DELETE', `/${id}`)).status, 204)
      assert.deepEqual((await call('GET', '')).json, { clients: [] })
      assert.deepEqual(
        await eventsOf(id),
        ['added', 'changed', 'changed', 'disabled', 'enabled', 'removed'].map((name) => [
          `client.${name}`,
          admin.userId,
        ]),
      )
      for (const [method, path, body] of [
        ['GET', ''],
        ['PATCH', '', {}],
        ['DELETE', ''],
        ['POST', '/rotate', { overlapSeconds: 0 }],
        ['POST', '/sign-out'],
        ['GET', '/people'],
      ] as const)
        for (const client of [id, 'nonsense'])
          assert.deepEqual(outcome(await call(method, `/${client}${path}`, body)), [404, 'not-found'])
    })

    test('A secret, a consent and people are for the kinds that have them', async () => {
      const spa = await add({ kind: 'spa', subject: 'pairwise' })
      const native = await add({ kind: 'native', redirectUris: ['org.example.app:/callback'] })
      const { json: worker } = await call('POST', '', { name: 'Library', kind: 'service' })
      assert.deepEqual(
        [spa, native, worker].map((one) => [one.secret !== null, one.hasSecret, one.consent, one.subject]),
        [
          [false, false, 'never', 'pairwise'],
          [false, false, null, 'public'],
          [true, true, null, 'public'],
        ],
      )
      assert.deepEqual([worker.scopes, worker.roles, worker.redirectUris], [['roster.read'], [], []])
      for (const { clientId } of [spa, native])
        assert.deepEqual(outcome(await call('POST', `/${clientId}/rotate`, { overlapSeconds: 0 })), [
          409,
          'conflict',
        ])
    })

    test('Kind and subject cannot be changed', async () => {
      const { secret: _secret, ...client } = await add()
      await call('PATCH', `/${client.clientId}`, { kind: 'spa', subject: 'pairwise' })
      assert.deepEqual((await call('GET', `/${client.clientId}`)).json, client)
    })

    test('An invalid request is refused, with a pointer to the error', async () => {
      const { clientId: id } = await add()
      const { json: worker } = await call('POST', '', { name: 'Library', kind: 'service' })
      const full = { name: 'X', redirectUris: [redirect] }
      const wrong: [method: string, path: string, body: unknown, pointer: string][] = [
        ['POST', '', {}, '#'],
        ['POST', '', { name: 'X' }, '#/redirectUris'],
        ['POST', '', { ...full, redirectUris: [] }, '#/redirectUris'],
        ['POST', '', { ...full, redirectUris: [redirect, 'http://app.example.org/'] }, '#/redirectUris/1'],
        ['POST', '', { ...full, redirectUris: Array(21).fill(redirect) }, '#/redirectUris'],
        ['POST', '', { ...full, logoutUris: ['https://a.example/#x'] }, '#/logoutUris/0'],
        ['POST', '', { ...full, backchannelUri: 'http://a.example/' }, '#/backchannelUri'],
        ['POST', '', { ...full, backchannelUri: 'https://127.0.0.1/' }, '#/backchannelUri'],
        ['POST', '', { ...full, name: '' }, '#/name'],
        ['POST', '', { ...full, name: 'a\u202eb' }, '#/name'],
        ['POST', '', { ...full, kind: 'app' }, '#/kind'],
        ['POST', '', { ...full, scopes: [] }, '#/scopes'],
        ['POST', '', { ...full, scopes: ['openid', 'roster.read'] }, '#/scopes'],
        ['POST', '', { ...full, roles: [] }, '#/roles'],
        ['POST', '', { ...full, roles: ['admin'] }, '#/roles'],
        ['POST', '', { ...full, consent: 'always' }, '#/consent'],
        ['POST', '', { ...full, kind: 'native', consent: 'once' }, '#/consent'],
        ['POST', '', { ...full, kind: 'spa', pkce: false }, '#/pkce'],
        ['POST', '', { ...full, kind: 'service' }, '#/redirectUris'],
        ['POST', '', { name: 'X', kind: 'service', scopes: ['openid'] }, '#/scopes'],
        ['POST', '', { name: 'X', kind: 'service', subject: 'pairwise' }, '#/subject'],
        [
          'POST',
          '',
          { name: 'X', kind: 'service', unverifiedVeterinarians: true },
          '#/unverifiedVeterinarians',
        ],
        ['POST', '', { ...full, unverifiedVeterinarians: null }, '#/unverifiedVeterinarians'],
        ['PATCH', `/${id}`, { redirectUris: [] }, '#/redirectUris'],
        ['PATCH', `/${worker.clientId}`, { roles: ['student'] }, '#/roles'],
        ['POST', `/${id}/rotate`, {}, '#'],
        ['POST', `/${id}/rotate`, { overlapSeconds: -1 }, '#/overlapSeconds'],
        ['POST', `/${id}/rotate`, { overlapSeconds: 30 * 86_400 + 1 }, '#/overlapSeconds'],
      ]
      const before = (await call('GET', '')).json
      for (const [method, path, body, pointer] of wrong) {
        const reply = await call(method, path, body)
        assert.deepEqual(outcome(reply), [400, 'invalid-request'], JSON.stringify(body))
        assert.ok(reply.json.errors[0].pointer.startsWith(pointer), `${JSON.stringify(body)} ${reply.text}`)
      }
      for (const after of ['x', '%00', "'"])
        assert.deepEqual(outcome(await call('GET', `/${id}/people?after=${after}`)), [400, 'invalid-request'])
      assert.deepEqual((await call('GET', '')).json, before)
    })

    test('Only admins read applications, and change them only soon after proving who they are', async () => {
      const { clientId: id } = await add()
      const reads = ['', `/${id}`, `/${id}/people`]
      const changes: [method: string, path: string, body?: unknown][] = [
        ['POST', '', { name: 'X', redirectUris: [redirect] }],
        ['PATCH', `/${id}`, { enabled: false }],
        ['POST', `/${id}/rotate`, { overlapSeconds: 0 }],
        ['POST', `/${id}/sign-out`],
        ['DELETE', `/${id}`],
      ]
      const other = await newStaff(service, 'support', 'registrar')
      const person = await service.signIn(freshAddress(), freshNetwork())
      for (const { access: token } of [other, person])
        for (const [method, path, body] of [...reads.map((path) => ['GET', path] as const), ...changes])
          assert.deepEqual(
            outcome(
              await service.request(`/staff/clients${path}`, {
                method,
                token,
                ...(body !== undefined && { body }),
              }),
            ),
            [403, 'forbidden'],
            `${method} ${path}`,
          )
      service.clock.advance(31 * minute)
      const renewed = await service.post('/session/refresh', { refresh_token: admin.refresh })
      admin = { ...admin, access: renewed.json.access_token }
      for (const path of reads) assert.equal((await call('GET', path)).status, 200)
      for (const change of changes)
        assert.deepEqual(outcome(await call(...change)), [403, 'recent-sign-in-required'])
      admin = await newStaff(service, 'admin')
      assert.equal((await call('DELETE', `/${id}`)).status, 204)
    })

    test('There are never more than 200, even if many are added at once', async () => {
      const { clients } = service.app.parts
      const fields = { name: 'X', redirectUris: [redirect] }
      const addMany = (count: number) =>
        Promise.allSettled(Array.from({ length: count }, () => clients.add(fields, byOperator)))
      await addMany(150)
      const results = await addMany(100)
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 50)
      assert.equal((await clients.list()).length, 200)
      assert.deepEqual(outcome(await call('POST', '', fields)), [409, 'conflict'])
    })

    test('Changes of different fields at once do not undo each other', async () => {
      const { clientId: id } = await add()
      const changes = [
        { name: 'Other' },
        { scopes: ['openid'] },
        { roles: ['student'] },
        { consent: 'once' },
        { pkce: false },
        { claimsInIdToken: true },
        { idTokenAlg: 'RS256' },
        { unverifiedVeterinarians: true },
        { logoutUris: [redirect] },
      ]
      await Promise.all(changes.map((change) => call('PATCH', `/${id}`, change)))
      const { json } = await call('GET', `/${id}`)
      for (const change of changes) assert.deepEqual({ ...json, ...change }, json)
    })

    test('After a rotation the former secret works until the overlap is over', async () => {
      const { clientId: id, secret: first } = await add()
      const rotate = async (overlapSeconds: number) => {
        const { json, status } = await call('POST', `/${id}/rotate`, { overlapSeconds })
        assert.equal(status, 200)
        return json
      }
      const { secret: second, formerSecretUntil } = await rotate(600)
      assert.equal(Date.parse(formerSecretUntil), service.clock.now() + 10 * minute)
      assert.deepEqual([await works(id, first), await works(id, second)], [true, true])
      service.clock.advance(10 * minute - 1)
      assert.deepEqual([await works(id, first), await works(id, second)], [true, true])
      service.clock.advance(1)
      assert.deepEqual([await works(id, first), await works(id, second)], [false, true])
      assert.equal((await call('GET', `/${id}`)).json.formerSecretUntil, null)

      const { secret: third } = await rotate(600)
      const { secret: fourth } = await rotate(600)
      assert.deepEqual(
        [await works(id, second), await works(id, third), await works(id, fourth)],
        [false, true, true],
      )
      const { secret: fifth } = await rotate(0)
      assert.deepEqual([await works(id, fourth), await works(id, fifth)], [false, true])
      await call('PATCH', `/${id}`, { enabled: false })
      assert.equal(await works(id, fifth), false)
      await call('PATCH', `/${id}`, { enabled: true })
      assert.equal(await works(id, fifth), true)
      await call('DELETE', `/${id}`)
      assert.equal(await works(id, fifth), false)
    })

    test('Of rotations at once, each that succeeds gives a secret in turn', async () => {
      const { clientId: id } = await add()
      const replies = await Promise.all(
        Array.from({ length: 20 }, () => call('POST', `/${id}/rotate`, { overlapSeconds: 0 })),
      )
      const rotated = replies.filter(({ status }) => status === 200)
      for (const reply of replies)
        if (reply.status !== 200) assert.deepEqual(outcome(reply), [409, 'conflict'])
      const working = await Promise.all(rotated.map(({ json }) => works(id, json.secret)))
      assert.equal(working.filter(Boolean).length, 1)
      assert.equal((await eventsOf(id)).length, 1 + rotated.length)
    })

    test('Tokens of a disabled application are refused at once, and work again once it is enabled', async () => {
      const { clientId: id } = await addOpen()
      const token = await tokenOf(id, await signInAt(id))
      const { sessions } = service.app.parts
      assert.equal((await sessions.authenticate(token)).client_id, id)
      await call('PATCH', `/${id}`, { enabled: false })
      await assert.rejects(sessions.authenticate(token), { code: 'session-ended' })
      await call('PATCH', `/${id}`, { enabled: true })
      assert.equal((await sessions.authenticate(token)).client_id, id)
      await call('DELETE', `/${id}`)
      await assert.rejects(sessions.authenticate(token), { code: 'session-ended' })
    })

    /** What an application has been given: people's sessions, a code, a token of its own, a consent. */
    const grantsOf = async (clientId: string) => {
      const tables = ['authorization_code', 'service_token', 'consent']
      const counts = await Promise.all(
        tables.map((table) =>
          service.rows<{ n: number }>(`select count(*) as n from ${table} where client_id = $1`, [clientId]),
        ),
      )
      return [(await open(clientId)).length, ...counts.map(([row]) => row!.n)]
    }
    const grantAll = async (clientId: string) => {
      const { db } = service.app.parts
      const person = await service.signIn(freshAddress(), freshNetwork())
      const ids = [
        await signInAt(clientId, person),
        await signInAt(clientId, person),
        await signInAt(clientId),
      ]
      await db.tx([
        statement(
          `insert into authorization_code (digest, client_id, redirect_uri, scope, language, person_id, parent_id, expires_at)
           values ($1, $2, 'x', 'openid', 'en', $3, $4, 1)`,
          ...[newId(), clientId, person.userId, person.sessionId],
        ),
        statement(
          "insert into service_token (id, client_id, scope, expires_at) values ($1, $2, 'roster.read', 1)",
          ...[newId(), clientId],
        ),
        statement(
          "insert into consent (person_id, client_id, scope, given_at) values ($1, $2, 'openid', 1)",
          ...[person.userId, clientId],
        ),
      ])
      return { person, ids: ids.map(({ id }) => id).sort() }
    }
    const calls = (clientId: string) =>
      service.rows<{ session_id: string; uri: string }>(
        'select session_id, uri from logout_call where client_id = $1 order by session_id',
        [clientId],
      )
    const ended = (clientId: string) =>
      service
        .rows<{ data: string; actor: string; session_id: string }>(
          "select data, actor, session_id from event where type = 'session.ended'",
        )
        .then((rows) =>
          rows
            .filter(({ data }) => JSON.parse(data).client === clientId)
            .map(({ data, actor, session_id }) => [session_id, JSON.parse(data).reason, actor])
            .sort(),
        )

    test('Signing everybody out ends sessions, codes and tokens of that application alone, and tells it', async () => {
      const uri = 'https://moodle.example.org/bc'
      const { clientId: id } = await addOpen({ backchannelUri: uri })
      const { clientId: other } = await addOpen()
      const { ids } = await grantAll(id)
      await grantAll(other)
      const { json, status } = await call('POST', `/${id}/sign-out`)
      assert.deepEqual([status, json], [200, { ended: 3 }])
      assert.deepEqual(await grantsOf(id), [0, 0, 0, 1])
      assert.deepEqual(await grantsOf(other), [3, 1, 1, 1])
      assert.deepEqual(
        (await calls(id)).map((one) => [one.session_id, one.uri]),
        ids.map((session) => [session, uri]),
      )
      assert.deepEqual(
        await ended(id),
        ids.map((session) => [session, 'revoked', admin.userId]),
      )
      assert.deepEqual((await call('POST', `/${id}/sign-out`)).json, { ended: 0 })
    })

    test('Removing an application ends its sessions, tells it, and forgets what people allowed', async () => {
      const uri = 'https://moodle.example.org/bc'
      const { clientId: id } = await addOpen({ backchannelUri: uri })
      const { ids, person } = await grantAll(id)
      const both = await Promise.all([call('DELETE', `/${id}`), call('DELETE', `/${id}`)])
      assert.ok(both.some(({ status }) => status === 204))
      assert.deepEqual(await grantsOf(id), [0, 0, 0, 0])
      assert.deepEqual(
        (await calls(id)).map((one) => [one.session_id, one.uri]),
        ids.map((session) => [session, uri]),
      )
      assert.deepEqual(
        await ended(id),
        ids.map((session) => [session, 'revoked', admin.userId]),
      )
      const withdrawn = await service.rows<{ person_id: string; data: string }>(
        "select person_id, data from event where type = 'consent.withdrawn'",
      )
      assert.deepEqual(
        withdrawn.filter(({ data }) => JSON.parse(data).clientId === id).map((one) => one.person_id),
        [person.userId],
      )
      assert.deepEqual(
        (await eventsOf(id)).map(([type]) => type),
        ['client.added', 'client.removed'],
      )
    })

    test('Who is signed in is shown by pages, with names', async () => {
      const { clientId: id } = await addOpen()
      const people = await Promise.all(
        Array.from({ length: 5 }, () => service.signIn(freshAddress(), freshNetwork())),
      )
      for (const person of people) await signInAt(id, person)
      service.clock.advance(minute)
      await signInAt(id, people[0])
      const seen = []
      let next: string | null = null
      do {
        const { json }: Reply = await call('GET', `/${id}/people?limit=2${next ? `&after=${next}` : ''}`)
        seen.push(...json.people)
        next = json.next
      } while (next)
      const byId = (a: string, b: string) => (a < b ? -1 : 1)
      assert.deepEqual(
        seen.map(({ userId }) => userId).sort(byId),
        people.map(({ userId }) => userId).sort(byId),
      )
      const now = service.clock.now()
      assert.deepEqual(
        seen.find(({ userId }) => userId === people[0]!.userId),
        {
          userId: people[0]!.userId,
          name: 'Ada Marsh',
          role: 'veterinarian',
          sessions: 2,
          since: new Date(now - minute).toISOString(),
          lastSeenAt: new Date(now).toISOString(),
        },
      )
      assert.equal((await call('GET', `/${id}`)).json.signedIn, 5)
      await service.app.parts.sessions.endAll(people[1]!.userId, 'revoked', bySystem)
      assert.equal((await call('GET', '')).json.clients[0].signedIn, 4)
      assert.equal((await call('GET', `/${id}/people`)).json.people.length, 4)
    })

    test('Back-channel calls that failed in the last seven days are shown, with the answer', async () => {
      const { clientId: id } = await add({ backchannelUri: 'https://moodle.example.org/bc' })
      const now = service.clock.now()
      const callAt = (created: number, state: { status?: number; error?: string; outcome?: string }) =>
        statement(
          `insert into logout_call (session_id, client_id, uri, person_id, attempts, next_at, created_at, tried_at, status, error, ended_at, outcome)
           values ($1, $2, 'x', 'somebody', $3, $4, $5, $5, $6, $7, $8, $9)`,
          ...[newId(), id, state.error ? 2 : 0, now, created, state.status ?? null, state.error ?? null],
          ...[state.outcome ? created : null, state.outcome ?? null],
        )
      await service.app.parts.db.tx([
        callAt(now - 1, { status: 200, outcome: 'delivered' }),
        callAt(now - 2, { status: 500, error: 'it answered 500', outcome: 'failed' }),
        callAt(now - 3, { error: 'ECONNREFUSED' }),
        callAt(now - 4, {}),
        callAt(now - 8 * day, { status: 500, error: 'it answered 500', outcome: 'failed' }),
      ])
      const { json } = await call('GET', `/${id}`)
      assert.deepEqual(json.calls, { waiting: 2, failed: 1 })
      assert.deepEqual(
        json.failedCalls.map((one: Record<string, unknown>) => [
          one.state,
          one.status,
          one.error,
          one.attempts,
        ]),
        [
          ['failed', 500, 'it answered 500', 2],
          ['waiting', null, 'ECONNREFUSED', 2],
        ],
      )
    })
  })
}

test('Of two that are added at the same moment, one is counted after the other', onPostgres, async (t) => {
  const service = await serviceFor(t, 'postgres')
  const { clients } = service.app.parts
  const fields = { name: 'X', redirectUris: [redirect] }
  await Promise.all(Array.from({ length: 199 }, () => clients.add(fields, byOperator)))
  const other = new pg.Client({ connectionString: service.databaseUrl })
  await other.connect()
  await other.query('begin')
  const row: NewClientRow = {
    ...{ id: newId(), kind: 'spa', name: 'Y', redirect_uris: '[]', logout_uris: '[]', backchannel_uri: null },
    ...{
      scopes: 'openid',
      roles: 'staff',
      consent: 'never',
      pkce: 1,
      claims_in_id_token: 0,
      id_token_alg: 'ES256',
    },
    ...{ unverified_veterinarians: 0, subject_salt: null, secret_digest: null, created_at: 1 },
  }
  await other.query('select id from client order by id for update')
  for (const { sql, params } of addClient(row, byOperator)) await other.query(sql, [...params])
  let answer: string | null = null
  const added = clients.add(fields, byOperator).then(
    () => (answer = 'added'),
    ({ code }) => (answer = code),
  )
  const waits = 'select 1 from pg_locks where not granted'
  await eventually('it waits', async () => answer !== null || (await other.query(waits)).rows.length > 0)
  await other.query('commit')
  await other.end()
  await added
  assert.equal(answer, 'conflict')
  assert.equal((await clients.list()).length, 200)
})

suite('chiron clients', atLength, () => {
  const folder = commandFolder()
  const env = folder.ownStore()
  const chiron = (...args: string[]) => run(folder.path, ['clients', ...args], env)
  const asJson = async (...args: string[]) => {
    const ran = await chiron(...args, '--json')
    assert.equal(ran.code, 0, ran.err)
    return ran.json[0]
  }

  test('adds, lists, shows, changes, rotates, disables, enables, signs out and removes', async () => {
    await run(folder.path, ['migrate'], env)
    assert.match((await chiron('list')).out, /There are no applications/)
    const added = await asJson('add', 'Moodle', '--redirect', redirect, '--without-pkce')
    assert.deepEqual(Object.keys(added), ['clientId', 'secret'])
    assert.match(added.secret, /^[\w-]{43}$/)
    const { clientId: id } = added
    const shown = await asJson('show', id)
    assert.deepEqual(
      [shown.name, shown.kind, shown.redirectUris, shown.scopes, shown.pkce, shown.consent, shown.subject],
      ['Moodle', 'web', [redirect], ['openid', 'profile', 'email'], false, 'never', 'public'],
    )
    assert.deepEqual(shown.roles, ['veterinarian', 'student', 'staff'])
    assert.match((await chiron('list')).out, /^id +name +kind +signed in +last used +state$/m)

    assert.equal(shown.unverifiedVeterinarians, false)
    assert.equal((await asJson('change', id, '--unverified-veterinarians')).unverifiedVeterinarians, true)
    assert.match((await chiron('show', id)).out, /^veterinarians +all who registered$/m)
    const strict = await asJson('change', id, '--no-unverified-veterinarians')
    assert.equal(strict.unverifiedVeterinarians, false)
    assert.match((await chiron('show', id)).out, /^veterinarians +those whom the school has verified$/m)

    const changed = await asJson(
      ...['change', id, '--name', 'Moodle 5', '--with-pkce', '--claims-in-id-token', '--consent', 'once'],
      ...['--logout', 'https://app.example.org/out', '--backchannel', 'https://app.example.org/bc'],
      ...['--roles', 'staff,student', '--scopes', 'profile openid openid'],
      ...['--redirect', redirect, 'https://app.example.org/other', '--id-token-alg', 'RS256'],
    )
    assert.deepEqual(
      [changed.name, changed.pkce, changed.claimsInIdToken, changed.consent, changed.logoutUris],
      ['Moodle 5', true, true, 'once', ['https://app.example.org/out']],
    )
    assert.deepEqual(
      [changed.backchannelUri, changed.roles, changed.scopes, changed.redirectUris],
      [
        'https://app.example.org/bc',
        ['student', 'staff'],
        ['openid', 'profile'],
        [redirect, 'https://app.example.org/other'],
      ],
    )
    assert.equal(changed.idTokenAlg, 'RS256')
    assert.match((await chiron('show', id)).out, /^ID token signed by +RS256$/m)
    const unknown = await chiron('change', id, '--id-token-alg', 'RS512')
    assert.equal(unknown.code, 1)
    assert.match(unknown.err, /--id-token-alg has no "RS512"; it can be ES256, RS256/)
    const emptied = await asJson(
      ...['change', id, '--logout', 'none', '--backchannel', 'none', '--no-claims-in-id-token'],
    )
    assert.deepEqual(
      [emptied.logoutUris, emptied.backchannelUri, emptied.claimsInIdToken, emptied.pkce],
      [[], null, false, true],
    )

    const rotated = await asJson('rotate', id)
    assert.notEqual(rotated.secret, added.secret)
    const days = (Date.parse(rotated.formerSecretUntil) - Date.now()) / 86_400_000
    assert.ok(days > 6.9 && days <= 7, String(days))
    assert.equal((await asJson('rotate', id, '--overlap', '0')).formerSecretUntil, null)
    assert.match((await chiron('rotate', id, '--overlap', '36h')).out, /The former secret works until 20/)

    assert.equal((await asJson('disable', id)).enabled, false)
    assert.match((await chiron('list')).out, /disabled since/)
    assert.equal((await asJson('enable', id)).enabled, true)
    assert.deepEqual(await asJson('sign-out', id), { clientId: id, ended: 0 })
    assert.deepEqual(await asJson('remove', id), { clientId: id })
    assert.match((await chiron('show', id)).err, /^chiron: No application has this id\.$/m)
    const events = await run(folder.path, ['events', '--json'], env)
    assert.deepEqual(
      events.json.map(({ type, actor, data }) => [type, actor, data.clientId === id]),
      [
        'added',
        ...Array(4).fill('changed'),
        'rotated',
        'rotated',
        'rotated',
        'disabled',
        'enabled',
        'removed',
      ].map((name) => [`client.${name}`, 'operator', true]),
    )
    assert.doesNotMatch(events.out, new RegExp(`${added.secret}|${rotated.secret}`))
  })

  test('gives a secret to servers and services alone', async () => {
    for (const [kind, has, ...more] of [
      ['web', true, '--redirect', redirect],
      ['spa', false, '--redirect', redirect],
      ['native', false, '--redirect', 'org.example.app:/callback', 'http://127.0.0.1/callback'],
      ['service', true],
    ] as const) {
      const { clientId, secret } = await asJson('add', kind, '--kind', kind, ...more)
      assert.equal(secret !== null, has, kind)
      const { code, err } = await chiron('rotate', clientId)
      assert.deepEqual(
        [code, err],
        has ? [0, ''] : [1, `chiron: A client of kind ${kind} has no secret.\n`],
        kind,
      )
    }
  })

  for (const [args, message] of [
    [['add', 'X'], /--redirect https:/],
    [['add', 'X', '--redirect', redirect, '--kind', 'wep'], /--kind has no "wep"; did you mean web\?/],
    [['add', 'X', '--redirect', redirect, '--scopes', 'openid emial'], /did you mean email\?/],
    [
      ['add', 'X', '--redirect', redirect, '--scopes', 'roster.read'],
      /--scopes has no "roster.read"; it can be/,
    ],
    [['add', 'X', '--redirect', redirect, '--roles', 'students'], /--roles .* did you mean student\?/],
    [['add', 'X', '--redirect', redirect, '--consent', 'always'], /--consent has no "always"/],
    [['add', 'X', '--redirect', redirect, '--subject', 'private'], /--subject has no "private"/],
    [
      ['add', 'X', '--redirect', redirect, '--backchannel', 'https://10.0.0.1/'],
      /--backchannel cannot be reached/,
    ],
    [['add', 'X', '--redirect', 'http://app.example.org/'], /--redirect must begin with https/],
    [['add', 'X', '--redirect', redirect, '--kind', 'spa', '--without-pkce'], /PKCE can be off only/],
    [['add', 'X', '--kind', 'service', '--redirect', redirect], /--redirect must be left out: a service/],
    [['add', 'X', '--kind', 'service', '--subject', 'pairwise'], /--subject must be left out: a service/],
    [['add', '', '--redirect', redirect], /the name must not be empty/],
    [['rotate', 'x', '--overlap', '31d'], /--overlap must be .* at most 30d/],
    [['rotate', 'x', '--overlap', 'soon'], /--overlap must be/],
    [['change', 'x'], /give the change/],
    [['show', 'nonsense'], /No application has this id/],
  ] as const)
    test(`refuses ${args.join(' ')}`, async () => {
      const { code, out, err } = await chiron(...args)
      assert.deepEqual([code, out], [1, ''])
      assert.match(err, message)
      assert.equal(err.split('\n').length, 2)
    })
})
