/** Codes that are requested side by side, and requests for codes that fail. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { bucketOf, inboxBucket, networkPolicies } from '../src/identity/limits/policies.ts'
import { minute } from '../src/platform/lib/clock.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork, type Network } from './support/fresh.ts'
import { type Reply, type Service, startService } from './support/service.ts'

const statuses = (replies: readonly Reply[]) => [...new Set(replies.map(({ status }) => status))]

for (const engine of engines)
  describe(`Codes at once on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const send = (email: string, headers: Network, device_token?: string) =>
      service.post('/veterinarian/send-otp', { email, device_token }, headers)
    const digitsOf = async (replies: readonly Reply[]) => {
      const ids = replies.flatMap(({ json }) => json.sessionId ?? [])
      const rows = await service.rows<{ id: string; digits: number }>('select id, digits from challenge')
      const digits = rows.filter(({ id }) => ids.includes(id)).map((row) => row.digits)
      assert.equal(digits.length, ids.length)
      return { six: digits.filter((n) => n === 6).length, all: digits.length }
    }
    const tagged = (email: string, i: number) => email.replace('@', `+${i}@`)
    const twenty = () => Array.from({ length: 20 }, freshNetwork)
    const hundred = (email: string, networks: readonly Network[]) =>
      Promise.all(Array.from({ length: 100 }, (_, i) => send(tagged(email, i), networks[i % 20]!)))

    test('A hundred for one inbox from 20 networks: 20 are opened, three of them with six digits', async () => {
      const replies = await hundred(freshAddress(), twenty())
      assert.deepEqual(statuses(replies).sort(), [202, 429])
      assert.deepEqual(await digitsOf(replies), { six: 3, all: 20 })
    })

    test('A hundred from 20 networks that the inbox knows: all are opened, three with six digits', async () => {
      const [email, networks] = [freshAddress(), twenty()]
      for (const network of networks) await service.signIn(email, network)
      service.clock.advance(15 * minute)
      const replies = await hundred(email, networks)
      assert.deepEqual(statuses(replies), [202])
      assert.deepEqual(await digitsOf(replies), { six: 3, all: 100 })
    })
  })

const broken = {
  sqlite: [
    "create trigger broken before insert on challenge begin select raise(abort, 'the disk is full'); end",
  ],
  postgres: [
    `create function broken() returns trigger language plpgsql as
       $$ begin raise exception using errcode = '53100', message = 'the disk is full'; end $$`,
    'create trigger broken before insert on challenge for each row execute function broken()',
  ],
}
const mended = {
  sqlite: ['drop trigger broken'],
  postgres: ['drop trigger broken on challenge', 'drop function broken'],
}

for (const engine of engines)
  describe(`Requests for codes that fail on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const run = async (statements: readonly string[]) => {
      for (const sql of statements) await service.app.parts.db.run(sql)
    }
    const send = (email: string, headers: Network, device_token?: string) =>
      service.post('/veterinarian/send-otp', { email, device_token }, headers)
    const deviceOf = async (email: string, headers: Network): Promise<string> => {
      await service.register(email)
      const { sessionId, code } = await service.code(email, headers)
      const body = { email, otp_code: code, sessionId }
      return (await service.post('/veterinarian/validate-otp', body, headers)).json.device_token
    }
    /** What the limits keep of everybody, without those of networks and of the whole service. */
    const own = async () => ({
      inboxes: await service.rows<{ key: string; full_at: number }>(
        `select key, full_at from bucket where key like '%${inboxBucket('').key}' and full_at > 0 order by key`,
      ),
      quotas: await service.rows("select key, times from quota where times <> '' order by key"),
    })
    const { key: sendKey, intervalMs } = bucketOf(networkPolicies.send, '')
    const takenOfNetworks = async () => {
      const rows = await service.rows<{ full_at: number }>(
        `select full_at from bucket where key like '%${sendKey}'`,
      )
      const now = service.clock.now()
      return Math.max(0, ...rows.map(({ full_at }) => (full_at - now) / intervalMs))
    }

    for (const [who, hasDevice] of [
      ['An owner who is new to the network', false],
      ['An owner with a known device', true],
    ] as const)
      test(`${who} still has five codes after five requests that failed`, async () => {
        const [email, network] = [freshAddress(), freshNetwork()]
        const device = hasDevice ? await deviceOf(email, network) : undefined
        service.clock.advance(60 * minute)
        const before = await own()
        assert.equal(await takenOfNetworks(), 0)
        await run(broken[engine])
        try {
          const replies = await Promise.all(Array.from({ length: 5 }, () => send(email, network, device)))
          for (const { status } of replies) assert.ok(status >= 500, String(status))
        } finally {
          await run(mended[engine])
        }
        assert.deepEqual(await own(), before)
        // What strangers share is taken first; on SQLite it is in the transaction that failed.
        assert.equal(await takenOfNetworks(), hasDevice || engine === 'postgres' ? 5 : 0)
        const replies = []
        for (let i = 0; i < 6; i++) replies.push((await send(email, network, device)).status)
        assert.deepEqual(replies, [202, 202, 202, 202, 202, 429])
      })
  })
