/** Signing keys while the store is out of reach, and when the secret that seals them changes. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, suite, test } from 'node:test'
import { SigningKeys } from '../src/identity/session/keys.ts'
import type { Db } from '../src/platform/db/db.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { minute } from '../src/platform/lib/clock.ts'
import { secretsFrom } from '../src/platform/lib/secret.ts'
import { atLength, type Engine, engines, migratedStore, type Store } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { loseLog } from './support/lost-log.ts'
import { startPostgres } from './support/postgres.ts'
import { startReceiver } from './support/receiver.ts'
import { outcome, type Service, startService, TestClock } from './support/service.ts'
import { type MailServer, startMailServer } from './support/smtp.ts'
import { decode, newSigner, signedBy } from './support/tokens.ts'
import { until } from './support/wait.ts'

const publicUrl = 'https://access.school.example'
const oldSecret = 'the secret of yesterday, long enough'
const newSecret = 'the secret of tomorrow, long enough!'
const both = { CHIRON_SECRET: newSecret, CHIRON_SECRET_PREVIOUS: oldSecret }

const wrongSecret = { name: 'UsageError', message: /^CHIRON_SECRET does not fit this store, [^\n]+$/ }

/** A separate store that can be made unreachable and brought back. */
async function storeThatGoesAway(engine: Engine) {
  if (engine === 'postgres') {
    const server = await startPostgres()
    return {
      url: server.url('postgres'),
      goAway: async () => {
        await server.stop()
        return () => server.start()
      },
      remove: () => server.remove(),
    }
  }
  const store = await migratedStore(engine)
  return {
    ...store,
    goAway: async () => {
      const path = store.url.slice('sqlite:'.length)
      const restore = loseLog(
        path,
        'update signing_key set signs_from = signs_from; update session set id = id',
      )
      return async () => restore()
    },
  }
}

for (const engine of engines) {
  suite(`Signing keys while the store is out of reach, on ${engine}`, () => {
    let store: Awaited<ReturnType<typeof storeThatGoesAway>>
    let service: Service
    before(async () => {
      store = await storeThatGoesAway(engine)
      service = await startService(engine, { databaseUrl: store.url })
    })
    after(async () => {
      await service.stop()
      await store.remove()
    })

    const jwks = () => service.request('/.well-known/jwks.json')

    test('The public keys are served from memory, a signer is found, and only unknown keys are unavailable', async () => {
      const { access } = await service.signIn(freshAddress())
      const before = await jwks()
      assert.equal(before.headers.get('cache-control'), 'public, max-age=300')
      const { keys, db } = service.app.parts
      const [{ kid }] = before.json.keys
      const unknown = signedBy(
        newSigner().key,
        { ...decode(access).header, kid: 'unknown' },
        decode(access).payload,
      )
      const me = (token: string) => service.request('/veterinarian/me', { token })

      const comeBack = await store.goAway()
      try {
        service.clock.advance(2 * minute)
        assert.deepEqual([(await me(access)).status, (await me(unknown)).status], [503, 503])
        for (let n = 0; n < 3; n++) {
          service.clock.advance(2_000)
          const reply = await jwks()
          assert.deepEqual([reply.status, reply.json], [200, before.json])
        }
        assert.equal((await keys.signer()).kid, kid)
        assert.ok(await keys.verifier(kid))
        await assert.rejects(keys.verifier('unknown'), { code: 'unavailable' })
      } finally {
        await comeBack()
      }
      await until(
        () => db.all('select kid from signing_key').catch(() => []),
        (rows) => rows.length > 0,
      )
      service.clock.advance(2_000)
      assert.deepEqual(outcome(await me(unknown)), [401, 'invalid-token'])
      assert.equal((await me(access)).status, 200)
    })

    test('An unreachable store is not queried for every request', async () => {
      const { db } = service.app.parts
      let asked = 0
      const counted: Db = {
        ...db,
        all: (sql, params) => {
          asked++
          return db.all(sql, params)
        },
      }
      const { clock } = service
      const secrets = secretsFrom('a secret for tests that is long enough', null)
      const keys = new SigningKeys({ db: counted, clock, secrets }, 15 * minute)
      await keys.open()
      asked = 0
      const comeBack = await store.goAway()
      try {
        clock.advance(2 * minute)
        for (let round = 1; round <= 3; round++) {
          await Promise.all(Array.from({ length: 50 }, () => keys.publicKeys()))
          await Promise.all(Array.from({ length: 50 }, () => keys.signer()))
          await Promise.allSettled(Array.from({ length: 50 }, () => keys.verifier('unknown')))
          assert.equal(asked, round)
          clock.advance(1_000)
        }
      } finally {
        await comeBack()
      }
    })
  })

  suite(`A change of the secret on ${engine}`, atLength, () => {
    let store: Store
    let mail: MailServer
    let clock: TestClock
    beforeEach(async () => {
      store = await migratedStore(engine)
      mail = await startMailServer()
      clock = new TestClock()
    })
    afterEach(async () => {
      await mail.close()
      await store.remove()
    })

    /** The service on the store of the test with these secrets, for as long as `work` lasts. */
    const during = async <T>(secrets: Record<string, string>, work: (service: Service) => Promise<T>) => {
      const env = { CHIRON_PUBLIC_URL: publicUrl, ...secrets }
      const service = await startService(engine, { databaseUrl: store.url, mail, clock, env })
      try {
        return await work(service)
      } finally {
        await service.stop()
        clock.advance(minute)
      }
    }
    const validate = (service: Service, email: string, sessionId: string, otp_code: number) =>
      service.post('/veterinarian/validate-otp', { email, otp_code, sessionId }, freshNetwork())
    const refresh = (service: Service, refresh_token: string) =>
      service.post('/session/refresh', { refresh_token }, freshNetwork())
    const me = (service: Service, token: string) => service.request('/veterinarian/me', { token })
    const keys = async (service: Service): Promise<{ kid: string }[]> =>
      (await service.request('/.well-known/jwks.json')).json.keys
    const signedInBefore = (email: string) =>
      during({ CHIRON_SECRET: oldSecret }, async (service) => ({
        who: await service.signIn(email, freshNetwork()),
        challenge: await service.code(email, freshNetwork()),
        keys: await keys(service),
      }))

    test('With CHIRON_SECRET_PREVIOUS tokens, codes under way and signing keys stay valid', async () => {
      const email = freshAddress('kept')
      const old = await signedInBefore(email)
      await during(both, async (service) => {
        assert.equal((await me(service, old.who.access)).status, 200)
        assert.deepEqual(await keys(service), old.keys)
        const refreshed = await refresh(service, old.who.refresh)
        assert.equal(refreshed.status, 200)
        assert.equal(
          (await refresh(service, old.who.refresh)).json.refresh_token,
          refreshed.json.refresh_token,
        )
        const answered = await validate(service, email, old.challenge.sessionId, old.challenge.code)
        assert.equal(answered.status, 200)
        assert.equal((await refresh(service, refreshed.json.refresh_token)).status, 200)
      })
    })

    test('With CHIRON_SECRET_PREVIOUS a resend mails the same code as before', async () => {
      const email = freshAddress('resent')
      const old = await signedInBefore(email)
      await during(both, async (service) => {
        const body = { email, sessionId: old.challenge.sessionId }
        assert.equal((await service.post('/veterinarian/send-otp', body, freshNetwork())).status, 202)
        const { code } = await mail.mailTo(email, 3)
        assert.equal(code, old.challenge.code)
      })
    })

    test('With CHIRON_SECRET_PREVIOUS closing still erases mail that was queued before', async () => {
      const email = freshAddress('closed')
      const old = await signedInBefore(email)
      await during(both, async (service) => {
        const now = clock.now()
        const [row] = await service.rows<{ address_fingerprint: string }>(
          'select address_fingerprint from challenge where id = $1',
          [old.challenge.sessionId],
        )
        await service.app.parts.db.run(
          `insert into outbox (id, session_id, role, email, address_fingerprint, language, digits, reference, created_at, expires_at, attempts, next_at)
           values ($1, $2, 'veterinarian', $3, $4, 'en', 6, 'BCD', $5, $6, 0, $6)`,
          ['queued-before', old.challenge.sessionId, email, row!.address_fingerprint, now, now + 9 * minute],
        )
        const closed = await service.request('/veterinarian/me', { method: 'DELETE', token: old.who.access })
        assert.equal(closed.status, 204)
        assert.deepEqual(await service.rows('select id from outbox where email = $1', [email]), [])
      })
    })

    test('A service that has only the old secret does not start on what the new one sealed', async () => {
      await during(both, async () => {})
      await assert.rejects(
        during({ CHIRON_SECRET: oldSecret }, async () => {}),
        wrongSecret,
      )
    })

    test('Without CHIRON_SECRET_PREVIOUS it starts once all keys are revoked, and tokens and codes under way end', async () => {
      const email = freshAddress('ended')
      const old = await signedInBefore(email)
      const other = 'another secret, of nobody, long enough'
      await assert.rejects(
        during({ CHIRON_SECRET: other }, async () => {}),
        wrongSecret,
      )
      await during({ CHIRON_SECRET: oldSecret }, async (service) => {
        assert.equal((await me(service, old.who.access)).status, 200, 'the refused start changed nothing')
        const { db } = service.app.parts
        const secrets = secretsFrom(other, null)
        await new SigningKeys({ db, clock, secrets }, 15 * minute).revokeAll(byOperator)
        clock.advance(2_000)
        const reply = await service.request('/health/ready')
        assert.deepEqual(
          [...outcome(reply), reply.json.detail],
          [503, 'unavailable', 'The secret of the service does not fit its store.'],
        )
      })
      await during({ CHIRON_SECRET: other }, async (service) => {
        assert.deepEqual(outcome(await me(service, old.who.access)), [401, 'invalid-token'])
        assert.deepEqual(outcome(await refresh(service, old.who.refresh)), [401, 'invalid-token'])
        const answered = await validate(service, email, old.challenge.sessionId, old.challenge.code)
        assert.equal(answered.status, 401)
        const oldKids = old.keys.map((key) => key.kid)
        const kids = (await keys(service)).map((key) => key.kid)
        assert.ok(kids.length > 0 && kids.every((kid) => !oldKids.includes(kid)))
        const again = await service.signIn(email, freshNetwork())
        assert.equal((await me(service, again.access)).status, 200)
        assert.equal(again.userId, old.who.userId)
      })
    })
  })

  suite(`Resealing on ${engine}`, atLength, () => {
    test('A start reseals everything under the current secret, and the previous one can be removed', async (t) => {
      const store = await migratedStore(engine)
      const mail = await startMailServer()
      const receiver = await startReceiver()
      t.after(async () => {
        await receiver.close()
        await mail.close()
        await store.remove()
      })
      const clock = new TestClock()
      const serve = (env: Record<string, string>) =>
        startService(engine, {
          databaseUrl: store.url,
          mail,
          clock,
          env: { CHIRON_PUBLIC_URL: publicUrl, CHIRON_WEBHOOK_ALLOW: '127.0.0.1', ...env },
        })
      const sealed = (service: Service) =>
        service.rows<{ sealed: string }>(
          `select sealed from signing_key union all select sealed from webhook
           union all select sealed_before from webhook`,
        )

      const first = await serve({ CHIRON_SECRET: oldSecret })
      const who = await first.signIn(freshAddress(), freshNetwork())
      const hook = await first.app.parts.webhooks.add({ url: receiver.url, events: ['session.started'] })
      const { secret } = await first.app.parts.webhooks.rotate(hook.id)
      const before = await sealed(first)
      await first.stop()

      const second = await serve(both)
      const after = await sealed(second)
      assert.equal(after.length, 3)
      for (const { sealed } of after) assert.ok(!before.some((old) => old.sealed === sealed))
      assert.equal((await second.request('/veterinarian/me', { token: who.access })).status, 200)
      await second.stop()

      const third = await serve({ CHIRON_SECRET: newSecret })
      t.after(() => third.stop())
      assert.deepEqual(await sealed(third), after)
      assert.equal(
        (await third.request('/veterinarian/me', { token: who.access })).status,
        200,
        'the key that signed it can still be opened',
      )
      const again = await third.signIn(freshAddress(), freshNetwork())
      assert.equal(decode(again.access).header.kid, decode(who.access).header.kid)
      const [one] = await receiver.until(1)
      const { Webhook } = await import('standardwebhooks')
      const at = new Date(Number(one!.headers['webhook-timestamp']) * 1000)
      const signatures = [secret, hook.secret].map((each) =>
        new Webhook(each).sign(String(one!.headers['webhook-id']), at, one!.body),
      )
      assert.equal(one!.headers['webhook-signature'], signatures.join(' '))
    })
  })
}
