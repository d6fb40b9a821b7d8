/** Anybody can register as a veterinarian, so applications admit only those whom the school has verified. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { NewClient } from '../src/identity/clients/clients.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import {
  type AtClient,
  addClient,
  type ClientOptions,
  callAs,
  codeFor,
  pkce,
  signInAt,
  type TestClient,
} from './support/applications.ts'
import { answerIn, authorize, callback, cookieFor, requestOf } from './support/authorize.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork, repeat } from './support/fresh.ts'
import { type Service, type SignedIn, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'

for (const engine of engines) {
  suite(`Veterinarians at applications on ${engine}`, () => {
    let service: Service
    let support: SignedIn
    before(async () => {
      service = await startService(engine, { env: { CHIRON_LIMITS: 'off' } })
      support = await newStaff(service, 'support')
    })
    after(() => service.stop())

    const stranger = () => service.signIn(freshAddress('vet'), freshNetwork())
    const verify = ({ userId }: SignedIn) =>
      service.app.parts.support.verify(userId, 'came with a passport', byOperator)
    const unverify = ({ userId }: SignedIn) =>
      service.app.parts.support.unverify(userId, 'came with a passport', byOperator)
    const verified = async () => {
      const vet = await stranger()
      await verify(vet)
      service.clock.advance(1_000)
      return vet
    }
    const register = async (fields: Partial<NewClient> = {}): Promise<TestClient> => {
      const given = { name: 'Moodle', redirectUris: [callback], ...fields }
      const { clientId: id, secret } = await service.app.parts.clients.add(given, byOperator)
      return { id, secret, redirectUri: callback }
    }
    const strict = (options: ClientOptions = {}) =>
      addClient(service, { unverifiedVeterinarians: false, ...options })
    const ask = (who: SignedIn, { id }: TestClient, changes = {}) =>
      authorize(service, requestOf(id, changes), { cookie: cookieFor(who) })
    const codes = async ({ id }: TestClient) =>
      (await service.rows('select 1 from authorization_code where client_id = $1', [id])).length
    const userinfo = async ({ access }: AtClient) =>
      (await service.request('/oauth/userinfo', { token: access })).json

    /** By every door at which it could be used: they agree. */
    async function works(client: TestClient, { access, refresh }: AtClient): Promise<boolean> {
      const introspect = async (token: string) =>
        (await callAs(service, client, '/oauth/introspect', { token })).json.active
      const form = { grant_type: 'refresh_token', refresh_token: refresh }
      const answers = [
        (await service.request('/oauth/userinfo', { token: access })).status === 200,
        await introspect(access),
        await introspect(refresh),
        (await callAs(service, client, '/oauth/token', form)).status === 200,
      ]
      assert.equal(new Set(answers).size, 1, JSON.stringify(answers))
      return answers[0]!
    }
    const portalLives = async ({ access }: SignedIn) =>
      (await service.request('/session', { token: access })).status === 200
    const told = async ({ sessionId }: AtClient) =>
      (await service.rows('select 1 from logout_call where session_id = $1', [sessionId])).length === 1
    const endOf = async ({ sessionId }: AtClient) => {
      const rows = await service.rows<{ data: string }>(
        "select data from event where session_id = $1 and type = 'session.ended'",
        [sessionId],
      )
      return rows.map(({ data }) => JSON.parse(data).reason)
    }

    test('Somebody who merely registered gets a page that says why, never a code', async () => {
      const client = await register()
      const vet = await stranger()
      for (const changes of [{}, { prompt: 'login' }, { prompt: 'consent' }, { max_age: '0' }]) {
        const { status, json } = await ask(vet, client, changes)
        assert.deepEqual([status, json.need, json.reason], [200, 'refused', 'unverified'])
        assert.equal(json.client.name, 'Moodle')
      }
      const silent = await ask(vet, client, { prompt: 'none' })
      assert.equal(answerIn(silent.json.location).error, 'access_denied')
      const confirmed = await authorize(service, requestOf(client.id), {
        cookie: cookieFor(vet),
        confirmed: true,
      })
      assert.equal(confirmed.json.need, 'refused')
      const back = await authorize(service, requestOf(client.id), { cookie: cookieFor(vet), declined: true })
      assert.equal(answerIn(back.json.location).error, 'access_denied')
      assert.equal(await codes(client), 0)
      await verify(vet)
      assert.match((await ask(vet, client)).json.location, /\?code=/)
    })

    test('Somebody of a role that does not sign in there gets the page, too', async () => {
      const client = await register({ roles: ['student'] })
      const { json } = await ask(await verified(), client)
      assert.deepEqual([json.need, json.reason], ['refused', 'role'])
      assert.equal(await codes(client), 0)
    })

    test('An application may take all who register, and is told who is verified', async () => {
      const client = await register({ unverifiedVeterinarians: true })
      const vet = await stranger()
      assert.match((await ask(vet, client)).json.location, /\?code=/)
      const at = await signInAt(service, vet, client)
      assert.equal((await userinfo(at)).verified, false)
      await verify(vet)
      assert.equal((await userinfo(at)).verified, true)
      assert.equal((await userinfo(await signInAt(service, support, client))).verified, true)
    })

    const losses: [how: string, lose: (vet: SignedIn, at: AtClient) => Promise<unknown>][] = [
      [
        'by a new name',
        ({ access }) =>
          service.request('/veterinarian/me', {
            method: 'PATCH',
            token: access,
            body: { firstname: 'Naomi' },
          }),
      ],
      [
        'by a new name that the application itself sets',
        (_, { access }) =>
          service.request('/veterinarian/me', {
            method: 'PATCH',
            token: access,
            body: { firstname: 'Naomi' },
          }),
      ],
      [
        'by staff',
        ({ userId }) =>
          service.request(`/staff/people/${userId}/unverify`, {
            method: 'POST',
            token: support.access,
            body: { note: 'not who she said' },
          }),
      ],
      ['by command', unverify],
    ]
    for (const [how, lose] of losses)
      test(`A verification that is lost ${how} ends the sessions that need it, and the application is told`, async () => {
        const [client, open] = [
          await strict({ backchannelUri: 'https://app.example/bc' }),
          await addClient(service),
        ]
        const vet = await verified()
        const scope = 'openid profile account offline_access'
        const [at, outliving] = [
          await signInAt(service, vet, client, { scope: 'openid profile account' }),
          await signInAt(service, vet, client, { scope }),
        ]
        const elsewhere = await signInAt(service, vet, open)
        const [other, another] = [await verified(), await strict()]
        const bystander = await signInAt(service, other, another)
        assert.ok(await works(client, at))
        await lose(vet, at)
        for (const session of [at, outliving]) {
          assert.equal(await works(client, session), false)
          assert.deepEqual([await endOf(session), await told(session)], [['account'], true])
        }
        assert.ok(await portalLives(vet))
        assert.ok(await works(open, elsewhere))
        assert.equal((await userinfo(elsewhere)).verified, false)
        assert.ok(await works(another, bystander))
        assert.equal((await ask(vet, client, { redirect_uri: client.redirectUri })).json.need, 'refused')
      })

    test('A code from before the verification was lost is worth nothing', async () => {
      const client = await strict()
      const vet = await verified()
      const { verifier, challenge } = pkce()
      const code = await codeFor(service, vet, client, { challenge })
      await unverify(vet)
      const { redirectUri: redirect_uri } = client
      const form = { grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier }
      const { status, json } = await callAs(service, client, '/oauth/token', form)
      assert.deepEqual([status, json.error], [400, 'invalid_grant'])
    })

    test('A session is refused if an older program took the verification back, and ended nothing', async () => {
      const client = await strict()
      const vet = await verified()
      const at = await signInAt(service, vet, client)
      await service.app.parts.db.run('update person set verified_at = null where id = $1', [vet.userId])
      assert.equal(await works(client, at), false)
      assert.ok(await portalLives(vet))
    })

    test('No token works after a sign-in and the loss of the verification at once', async () => {
      const client = await strict()
      for (let i = 0; i < 10; i++) {
        const vet = await verified()
        const started: AtClient[] = []
        await repeat(6, async (n) => {
          if (n === 3) await unverify(vet)
          else
            started.push(
              ...(await signInAt(service, vet, client).then(
                (at) => [at],
                () => [],
              )),
            )
        })
        for (const at of started) assert.equal(await works(client, at), false)
      }
    })

    test('An application of before keeps what it had until somebody decides', async () => {
      const client = await addClient(service, {
        unverifiedVeterinarians: null,
        backchannelUri: 'https://app.example/bc',
      })
      const { clients } = service.app.parts
      const shown = async () => (await clients.show(client.id)).unverifiedVeterinarians
      const [unknown, known] = [await stranger(), await verified()]
      const sessions = [await signInAt(service, unknown, client), await signInAt(service, known, client)]
      assert.deepEqual(await Promise.all(sessions.map((at) => works(client, at))), [true, true])
      assert.match(
        (await ask(unknown, client, { redirect_uri: client.redirectUri })).json.location,
        /\?code=/,
      )
      await clients.change(client.id, { name: 'Moodle 5', roles: ['veterinarian', 'staff'] }, byOperator)
      assert.equal(await shown(), null)

      const again = [await signInAt(service, unknown, client), await signInAt(service, known, client)]
      await clients.change(client.id, { unverifiedVeterinarians: true }, byOperator)
      assert.equal(await shown(), true)
      assert.ok(await works(client, again[0]!))
      await clients.change(client.id, { unverifiedVeterinarians: false }, byOperator)
      assert.equal(await shown(), false)
      const last = [await signInAt(service, known, client)]
      assert.deepEqual(await endOf(again[0]!), ['revoked'])
      assert.deepEqual([await told(again[0]!), await told(again[1]!)], [true, false])
      assert.ok(await works(client, last[0]!))
      await assert.rejects(signInAt(service, unknown, client))
    })

    test('An application of before that did not take veterinarians takes verified ones', async () => {
      const { clients } = service.app.parts
      const { id } = await addClient(service, { unverifiedVeterinarians: null, roles: 'student staff' })
      assert.equal((await clients.show(id)).unverifiedVeterinarians, false)
      const roles = ['veterinarian', 'student']
      assert.equal((await clients.change(id, { roles }, byOperator)).unverifiedVeterinarians, false)
    })
  })
}
