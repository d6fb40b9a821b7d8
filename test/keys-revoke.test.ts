/** A signing key that leaked is revoked: its tokens are refused in every process within seconds, and nobody is signed out. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { SigningKeys, trustedMs } from '../src/identity/session/keys.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { minute, second } from '../src/platform/lib/clock.ts'
import { secretsFrom } from '../src/platform/lib/secret.ts'
import { newFolder, serveStore, startChiron } from './support/child.ts'
import { atLength, engines, migratedStore } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { type Calls, type Service, startService } from './support/service.ts'
import { startMailServer } from './support/smtp.ts'
import { decode } from './support/tokens.ts'
import { eventually } from './support/wait.ts'

const secret = 'a secret for tests that is long enough'
const kidOf = (token: string) => decode(token).header.kid as string

async function meOf({ request }: Calls, token: string): Promise<[number, string | undefined]> {
  const { status, json } = await request('/veterinarian/me', { token, headers: freshNetwork() })
  return [status, json?.code]
}

for (const engine of engines) {
  suite(`Revoking a key on ${engine}`, () => {
    let service: Service
    let other: Service
    before(async () => {
      const env = { CHIRON_PUBLIC_URL: 'http://chiron.localhost' }
      service = await startService(engine, { env })
      const { databaseUrl, clock, mail } = service
      other = await startService(engine, { databaseUrl, clock, mail, env })
    })
    after(async () => {
      await other.stop()
      await service.stop()
    })

    const refreshed = async (at: Service, token: string) => {
      const reply = await at.post('/session/refresh', { refresh_token: token }, freshNetwork())
      assert.equal(reply.status, 200, reply.text)
      return reply.json as { access_token: string; refresh_token: string }
    }
    const published = async (at: Service) =>
      ((await at.request('/.well-known/jwks.json')).json.keys as { kid: string }[]).map(({ kid }) => kid)
    const revocations = async () => {
      const rows = await service.rows<{ actor: string; data: string }>(
        "select actor, data from event where type = 'key.rotated' order by at, id",
      )
      return rows
        .map(({ actor, data }) => ({ actor, ...JSON.parse(data) }))
        .filter(({ revoked }) => revoked !== undefined)
    }
    /** Like those of a process of its own: every other one has another store. */
    const newKeys = async (_: unknown, i: number) => {
      const { db } = (i % 2 ? other : service).app.parts
      const { clock } = service
      const keys = new SigningKeys({ db, clock, secrets: secretsFrom(secret, null) }, 15 * minute)
      await keys.open()
      return keys
    }

    test('ends the trust in its tokens in every process; sessions live on, and can refresh', async () => {
      const { access, refresh } = await service.signIn(freshAddress(), freshNetwork())
      // Both have seen the token, and know that its signature is right.
      for (const one of [service, other]) assert.deepEqual(await meOf(one, access), [200, undefined])
      const leaked = kidOf(access)
      const revoked = await service.app.parts.keys.revoke(leaked, byOperator)
      assert.equal(revoked?.isNew, true)

      assert.deepEqual(await meOf(service, access), [401, 'invalid-token'])
      service.clock.advance(trustedMs)
      assert.deepEqual(await meOf(other, access), [401, 'invalid-token'])
      for (const one of [service, other]) {
        assert.deepEqual(await published(one), [revoked!.signer])
        const { access_token } = await refreshed(one, refresh)
        assert.equal(kidOf(access_token), revoked!.signer)
        for (const at of [service, other]) assert.deepEqual(await meOf(at, access_token), [200, undefined])
      }
      assert.deepEqual(await revocations(), [{ actor: 'operator', kid: revoked!.signer, revoked: leaked }])
      assert.equal(trustedMs, 2 * second)
    })

    test('is prompt in a process that has had nothing to do since', async () => {
      const { access } = await service.signIn(freshAddress(), freshNetwork())
      assert.deepEqual(await meOf(other, access), [200, undefined])
      service.clock.advance(minute)
      await service.app.parts.keys.revoke(kidOf(access), byOperator)
      assert.deepEqual(await meOf(other, access), [401, 'invalid-token'])
    })

    test('that does not sign leaves the others as they are', async () => {
      const { keys } = service.app.parts
      const { access } = await service.signIn(freshAddress(), freshNetwork())
      await keys.rotate(byOperator)
      const next = (await keys.list()).at(-1)!
      assert.equal(next.state, 'next')
      assert.deepEqual(await keys.revoke(next.kid, byOperator), { signer: kidOf(access), isNew: false })
      assert.deepEqual(await meOf(service, access), [200, undefined])
      const event = (await revocations()).find(({ revoked }) => revoked === next.kid)
      assert.deepEqual(event, { actor: 'operator', revoked: next.kid })
      assert.equal(await keys.revoke(next.kid, byOperator), null)
      assert.equal(await keys.revoke('nonsense', byOperator), null)
    })

    test('done by many at once adds one key and writes one event, and one always signs', async () => {
      const many = await Promise.all(Array.from({ length: 8 }, newKeys))
      const [before] = await many[0]!.list()
      const count = (await revocations()).length
      const outcomes = await Promise.all(many.map((keys) => keys.revoke(before!.kid, byOperator)))
      assert.equal(outcomes.filter((outcome) => outcome !== null).length, 1)
      assert.equal((await revocations()).length, count + 1)
      const left = await many[0]!.list()
      assert.deepEqual([left.length, left[0]!.state], [1, 'signs'])
    })

    test('together with all others, by many at once, leaves a new one that signs, and an event for each', async () => {
      const many = await Promise.all(Array.from({ length: 4 }, newKeys))
      await many[0]!.rotate(byOperator)
      const before = (await many[0]!.list()).map(({ kid }) => kid)
      const signers = await Promise.all(many.map((keys) => keys.revokeAll(byOperator)))
      const [left, ...others] = await many[0]!.list()
      assert.deepEqual([left!.state, others], ['signs', []])
      assert.ok(signers.includes(left!.kid) && !before.includes(left!.kid))
      const revoked = (await revocations()).map((data) => data.revoked)
      for (const kid of [...before, ...signers.filter((kid) => kid !== left!.kid)])
        assert.equal(revoked.filter((one) => one === kid).length, 1, kid)
    })

    test('and the one that takes over at the same time, leaves one that signs', async () => {
      for (let round = 0; round < 5; round++) {
        const many = await Promise.all(Array.from({ length: 4 }, newKeys))
        await many[0]!.rotate(byOperator, { signsIn: 0 })
        const kids = (await many[0]!.list()).map(({ kid }) => kid)
        await Promise.all(many.flatMap((keys) => kids.map((kid) => keys.revoke(kid, byOperator))))
        const left = await many[0]!.list()
        assert.ok(left.length >= 1 && left.every(({ kid }) => !kids.includes(kid)))
        assert.ok(left.some(({ state }) => state === 'signs'))
      }
    })
  })

  test(`chiron keys revoke, beside two processes of the service on ${engine}`, atLength, async (t) => {
    const store = await migratedStore(engine)
    const mail = await startMailServer()
    const one = await serveStore(store.url, mail)
    const two = await serveStore(store.url, mail)
    const folder = newFolder()
    t.after(async () => {
      await Promise.all([one.end(), two.end()])
      await mail.close()
      await store.remove()
      folder.remove()
    })
    const chiron = async (...args: string[]) => {
      const env = { CHIRON_DATABASE_URL: store.url, CHIRON_SECRET: secret }
      const child = startChiron(args, { cwd: folder.path, env })
      const { code } = await child.exited
      return { code, ...child.output }
    }
    const email = freshAddress('revoked')
    await one.post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email })
    const sent = await one.post('/veterinarian/send-otp', { email })
    const { code } = await mail.mailTo(email)
    const answer = { email, otp_code: code, sessionId: sent.json.sessionId }
    const { access_token, refresh_token } = (await one.post('/veterinarian/validate-otp', answer)).json
    for (const each of [one, two]) assert.deepEqual(await meOf(each, access_token), [200, undefined])

    const kid = kidOf(access_token)
    const revoked = await chiron('keys', 'revoke', kid)
    assert.equal(revoked.code, 0, revoked.err)
    const lines = revoked.out.split('\n')
    assert.equal(
      lines[0],
      `Key ${kid} is revoked. The service refuses its tokens within 2 seconds; people stay signed in.`,
    )
    assert.match(lines[1]!, /^Key \S{43} is new and signs now\.$/)
    for (const each of [one, two])
      await eventually('it is refused', async () => (await meOf(each, access_token))[0] === 401)
    const again = await two.post('/session/refresh', { refresh_token })
    assert.equal(again.status, 200)
    for (const each of [one, two])
      assert.deepEqual(await meOf(each, again.json.access_token), [200, undefined])

    const all = await chiron('keys', 'revoke', '--all')
    assert.equal(all.code, 0, all.err)
    assert.match(
      all.out,
      /^All keys are revoked, .*\nKey \S{43} is new, is sealed under CHIRON_SECRET and signs now\.\n/,
    )
    for (const each of [one, two])
      await eventually('it is refused', async () => (await meOf(each, again.json.access_token))[0] === 401)
    const last = await one.post('/session/refresh', { refresh_token: again.json.refresh_token })
    for (const each of [one, two])
      await eventually('it is accepted', async () => (await meOf(each, last.json.access_token))[0] === 200)
    for (const wrong of [[], [kid, '--all']]) {
      const refused = await chiron('keys', 'revoke', ...wrong)
      assert.deepEqual([refused.code, refused.err], [1, 'chiron: give the key, or --all\n'])
    }

    for (const [wrong, message] of [
      [kid, `chiron: no key has the id ${kid}; "chiron keys list" shows all keys\n`],
      [`-${kid.slice(1)}`, `chiron: no key has the id -${kid.slice(1)}; "chiron keys list" shows all keys\n`],
    ]) {
      const refused = await chiron('keys', 'revoke', wrong!)
      assert.deepEqual([refused.code, refused.err], [1, message])
    }
  })
}
