/** Keys and the secret change while the service serves, and nobody notices. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { resealSigningKey, signingKeys } from '../src/identity/session/key-store.ts'
import { SigningKeys } from '../src/identity/session/keys.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { day, minute } from '../src/platform/lib/clock.ts'
import { secretsFrom } from '../src/platform/lib/secret.ts'
import { commandFolder, serveChild } from './support/child.ts'
import { atLength, engines, migratedStore, type Store } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { run } from './support/roster-commands.ts'
import { outcome, type Service, startService, TestClock } from './support/service.ts'
import { type MailServer, startMailServer } from './support/smtp.ts'
import { decode, verifiesUnder } from './support/tokens.ts'
import { eventually } from './support/wait.ts'

const oldSecret = 'the secret of yesterday, long enough'
const newSecret = 'the secret of tomorrow, long enough!'
const both = { CHIRON_SECRET: newSecret, CHIRON_SECRET_PREVIOUS: oldSecret }
const kidOf = (token: string) => decode(token).header.kid as string

for (const engine of engines) {
  suite(`Rotation of keys on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const rotations = async () =>
      service.rows<{ actor: string; data: string; person_id: null }>(
        "select actor, data, person_id from event where type = 'key.rotated' order by at, id",
      )
    const me = (token: string) => service.request('/veterinarian/me', { token })
    // Only keys that sign access tokens; RSA keys are in rs256.test.ts.
    const ofAccess = <K extends { alg: string }>(keys: K[]) => keys.filter(({ alg }) => alg === 'ES256')
    const jwks = async () =>
      ofAccess<{ kid: string; alg: string }>((await service.request('/.well-known/jwks.json')).json.keys)
    const listed = async () => ofAccess(await service.app.parts.keys.list())

    test('A rotation is an event with who did it and the key, by hand or after 90 days; the first key is not', async () => {
      assert.deepEqual(await rotations(), [])
      const { keys, sweeper } = service.app.parts
      assert.equal(await keys.rotate(byOperator), true)
      const [, next] = await listed()
      assert.deepEqual(
        (await rotations()).map(({ actor, data }) => [actor, JSON.parse(data)]),
        [['operator', { kid: next!.kid }]],
      )
      service.clock.advance(90 * day - 1)
      await sweeper.sweep()
      assert.equal((await rotations()).length, 1)
      service.clock.advance(1)
      await Promise.all([sweeper.sweep(), sweeper.sweep()])
      const [, scheduled, ...more] = await rotations()
      assert.equal(scheduled!.actor, 'system')
      assert.deepEqual(more, [])
      const { kid } = JSON.parse(scheduled!.data)
      assert.ok((await jwks()).some((key) => key.kid === kid))
    })

    test('A new key is published at once and signs ten minutes later, in every process', async () => {
      service.clock.advance(day)
      await service.app.parts.sweeper.sweep()
      const { keys, db } = service.app.parts
      const before = await listed()
      assert.deepEqual(
        before.map(({ state }) => state),
        ['signs'],
      )
      const secrets = secretsFrom('a secret for tests that is long enough', null)
      const [other, idle] = [1, 2].map(
        () => new SigningKeys({ db, clock: service.clock, secrets }, 15 * minute),
      )
      await other!.open()
      // Does nothing but sign.
      await idle!.open()
      assert.equal(await other!.rotate(byOperator), true)
      const [old, next] = await listed()
      service.clock.advance(1_000)
      assert.ok(await idle!.verifier(next!.kid))
      assert.equal(await idle!.verifier('unknown'), undefined)
      assert.deepEqual([old!.state, next!.state], ['signs', 'next'])
      assert.equal(Date.parse(next!.signsFrom) - Date.parse(next!.createdAt), 10 * minute)
      assert.ok((await jwks()).some(({ kid }) => kid === next!.kid))
      for (const all of [keys, other!]) assert.equal((await all.signer()).kid, old!.kid)
      service.clock.advance(10 * minute)
      for (const all of [keys, other!, idle!]) assert.equal((await all.signer()).kid, next!.kid)
      assert.deepEqual(
        (await listed()).map(({ state }) => state),
        ['old', 'signs'],
      )
    })

    test('Rotating signs with the new key, keeps old tokens valid and publishes both', async () => {
      service.clock.advance(day)
      await service.app.parts.sweeper.sweep()
      const before = await service.signIn(freshAddress())
      service.clock.advance(minute)
      await service.app.parts.keys.rotate(byOperator, { signsIn: 0 })
      const after = await service.signIn(freshAddress())
      assert.notEqual(kidOf(before.access), kidOf(after.access))
      const keys = await jwks()
      assert.deepEqual(keys.map((key) => key.kid).sort(), [kidOf(before.access), kidOf(after.access)].sort())
      for (const { access } of [before, after]) {
        assert.equal((await me(access)).status, 200)
        assert.equal(verifiesUnder(access, keys.find((key) => key.kid === kidOf(access))! as object), true)
      }
      const refreshed = await service.post('/session/refresh', { refresh_token: before.refresh })
      assert.equal(kidOf(refreshed.json.access_token), kidOf(after.access))
    })

    test('An old key is published until its last token has expired, then goes', async () => {
      service.clock.advance(minute)
      const before = await service.signIn(freshAddress())
      await service.app.parts.keys.rotate(byOperator, { signsIn: 0 })
      service.clock.advance(14 * minute)
      await service.app.parts.sweeper.sweep()
      assert.ok((await jwks()).some((key) => key.kid === kidOf(before.access)))
      assert.equal((await me(before.access)).status, 200)
      service.clock.advance(3 * minute)
      await service.app.parts.sweeper.sweep()
      assert.equal((await jwks()).length, 1)
      assert.deepEqual(outcome(await me(before.access)), [401, 'invalid-token'])
    })

    test('Private keys are stored only sealed', async () => {
      const rows = await service.rows<{ sealed: string; public_jwk: string }>('select * from signing_key')
      for (const row of rows) {
        assert.doesNotMatch(Buffer.from(row.sealed, 'base64url').toString('latin1'), /"kty"|"crv"/)
        assert.equal('d' in JSON.parse(row.public_jwk), false)
      }
    })

    test('Resealing skips a key that another process has already resealed', async () => {
      const { db } = service.app.parts
      const [row] = await signingKeys(db)
      await db.tx([resealSigningKey(row!, 'sealed by another')])
      await db.tx([resealSigningKey(row!, 'too late')])
      const sealed = async () => (await signingKeys(db))[0]!.sealed
      assert.equal(await sealed(), 'sealed by another')
      await db.tx([resealSigningKey({ ...row!, sealed: await sealed() }, row!.sealed)])
      assert.equal(await sealed(), row!.sealed)
    })

    test('Rotating many times at once adds one key of each kind, each with an event', async () => {
      const { db } = service.app.parts
      const secrets = secretsFrom('a secret for tests that is long enough', null)
      const many = await Promise.all(
        Array.from({ length: 10 }, async () => {
          const keys = new SigningKeys({ db, clock: service.clock, secrets }, 15 * minute)
          await keys.open()
          return keys
        }),
      )
      const [events, keys] = [(await rotations()).length, (await jwks()).length]
      const outcomes = await Promise.all(many.map((each) => each.rotate(byOperator)))
      assert.equal(outcomes.filter(Boolean).length, 1)
      assert.equal((await rotations()).length, events + 2)
      service.clock.advance(1_000)
      assert.equal((await jwks()).length, keys + 1)
    })
  })

  suite(`Under load on ${engine}`, atLength, () => {
    let store: Store
    let mail: MailServer
    before(async () => {
      store = await migratedStore(engine)
      mail = await startMailServer()
    })
    after(async () => {
      await mail.close()
      await store.remove()
    })

    test('Keys rotate and the secret changes in two processes, one after the other, and every request succeeds', async () => {
      const clock = new TestClock()
      const serve = (env: Record<string, string>) =>
        startService(engine, {
          databaseUrl: store.url,
          mail,
          clock,
          env: { CHIRON_PUBLIC_URL: 'https://access.school.example', CHIRON_LIMITS: 'off', ...env },
        })
      const live = [await serve({ CHIRON_SECRET: oldSecret }), await serve({ CHIRON_SECRET: oldSecret })]
      const load = startLoad(live)
      /** Takes one process out, as a load balancer does, and puts one with other settings in its place. */
      const restartAll = async (env: Record<string, string>) => {
        for (let i = 0; i < 2; i++) {
          const leaving = live.shift()!
          await load.quiet(leaving)
          await leaving.stop()
          live.push(await serve(env))
          await load.some(20)
        }
      }
      const rotate = async () => {
        assert.equal(await live[0]!.app.parts.keys.rotate(byOperator), true)
        await load.some(20)
        clock.advance(10 * minute)
        await load.some(40)
      }
      await load.some(20)
      await rotate()
      // First every process learns the new secret, then every process uses it.
      await restartAll({ CHIRON_SECRET: oldSecret, CHIRON_SECRET_PREVIOUS: newSecret })
      await restartAll(both)
      await rotate()
      const kids = await load.end()
      assert.ok(kids.size >= 3, 'tokens of all keys were used')
      await Promise.all(live.map((service) => service.stop()))
    })
  })
}

/** People who sign in, refresh and read, each time at another process. A reply that is not as it should be fails `end`. */
function startLoad(live: Service[]) {
  const busy = new Map<Service, number>()
  const kids = new Set<string>()
  let done = 0
  let stopped = false
  let turn = 0
  const at = async <T>(work: (service: Service) => Promise<T>): Promise<T> => {
    const service = live[turn++ % live.length]!
    busy.set(service, (busy.get(service) ?? 0) + 1)
    try {
      return await work(service)
    } finally {
      busy.set(service, busy.get(service)! - 1)
      done++
    }
  }
  const person = async () => {
    const email = freshAddress('load')
    let { access, refresh } = await at((service) => service.signIn(email, freshNetwork()))
    while (!stopped) {
      kids.add(kidOf(access))
      for (let i = 0; i < 2; i++) {
        const me = await at((service) => service.request('/veterinarian/me', { token: access }))
        assert.equal(me.status, 200, me.text)
      }
      const renewed = await at((service) => service.post('/session/refresh', { refresh_token: refresh }))
      assert.equal(renewed.status, 200, renewed.text)
      access = renewed.json.access_token
      refresh = renewed.json.refresh_token
    }
  }
  const people = Promise.all(Array.from({ length: 6 }, person))
  let failure: unknown
  people.catch((error) => {
    failure = error
  })
  const check = () => {
    if (failure) throw failure
  }
  return {
    /** Waits until this many more requests were answered. */
    async some(count: number) {
      const goal = done + count
      await eventually('requests', () => {
        check()
        return done >= goal
      })
    },
    quiet: (service: Service) =>
      eventually('a process without requests', () => {
        check()
        return (busy.get(service) ?? 0) === 0
      }),
    async end() {
      stopped = true
      await people
      return kids
    },
  }
}

suite('chiron keys', atLength, () => {
  const folder = commandFolder()
  const env = folder.ownStore()
  const chiron = (args: string[], more: Record<string, string> = {}) =>
    run(folder.path, ['keys', ...args], { ...env, ...more })

  test('says so when there is no key', async () => {
    for (const args of [['list'], ['rotate']]) {
      const { code, err } = await chiron(args)
      assert.equal(code, 1)
      assert.match(
        err,
        /^chiron: CHIRON_SECRET decrypts none of the signing keys, or there are none yet; "chiron serve" creates the first\n$/,
      )
    }
  })

  test('lists and rotates beside the service, which publishes the new key', async (t) => {
    const child = await serveChild({ cwd: folder.path, env })
    t.after(() => child.end())
    const published = async () =>
      (await child.request('/.well-known/jwks.json')).json.keys.map(({ kid }: { kid: string }) => kid)
    await eventually('both keys are made', async () => (await published()).length === 2)
    const [{ keys }] = (await chiron(['list', '--json'])).json
    assert.deepEqual(
      keys.map(({ kid, alg, state, ageDays }: Record<string, unknown>) => [kid, alg, state, ageDays]),
      (await published()).map((kid: string, i: number) => [kid, ['ES256', 'RS256'][i], 'signs', 0]),
    )
    assert.equal(keys.length, 2)
    const rotated = await chiron(['rotate'])
    assert.equal(rotated.code, 0, rotated.err)
    const [, kid] = /^Key (\S+) is published now and signs from 2\S+Z\. Nobody is signed out\.$/m.exec(
      rotated.out,
    )!
    await eventually('the key is published', async () => (await published()).includes(kid))
    const [, rsa] = /^So is key (\S+), for RS256\.$/m.exec(rotated.out)!
    const { out } = await chiron(['list'])
    assert.match(out, /^key +algorithm +created +signs from +age +state$/m)
    assert.match(out, new RegExp(`^${keys[0].kid} .* signs now$`, 'm'))
    assert.match(out, new RegExp(`^${kid} +ES256 .* published, signs later$`, 'm'))
    assert.match(out, new RegExp(`^${rsa} +RS256 .* published, signs later$`, 'm'))
    const { json } = await run(folder.path, ['events', '--type', 'key.rotated', '--json'], env)
    assert.deepEqual(
      new Set(json.map(({ actor, data, userId }) => [actor, data.kid, userId].join())),
      new Set([`operator,${kid},`, `operator,${rsa},`]),
    )
  })

  test('refuses to rotate with another secret than that of the service', async () => {
    const other = { CHIRON_SECRET: 'a secret that nobody else has, long' }
    const { code, err } = await chiron(['rotate'], other)
    assert.equal(code, 1)
    assert.match(err, /CHIRON_SECRET decrypts none of the signing keys/)
    const [{ keys }] = (await chiron(['list', '--json'])).json
    assert.equal(keys.length, 4)
  })
})
