/** Passkeys where two workers share a store: each accepts what the other gave out or keeps, and only once. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { Agent } from 'node:http'
import { after, before, suite, test } from 'node:test'
import { openDb } from '../src/platform/db/open.ts'
import { Authenticator } from './support/authenticator.ts'
import { type ServingChild, serveStore } from './support/child.ts'
import { atLength, engines, migratedStore } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import {
  addOptions,
  addPasskey,
  ok,
  passkeySignIn,
  signInOptions,
  stepUpOptions,
} from './support/passkeys.ts'
import { childrenOf } from './support/processes.ts'
import type { Calls, Reply } from './support/service.ts'
import { startMailServer } from './support/smtp.ts'
import { callsTo } from './support/wire.ts'

const problem = ({ status, json }: Reply) => `${status} ${json?.code}`
const unusable = '401 passkey-unusable'

/** The worker that holds the other end of a connection from this port. */
function workerAt(child: ServingChild, localPort: number): number | undefined {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0')
  const line = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .find((each) => new RegExp(`:${hex(child.port)} \\S+:${hex(localPort)} `).test(each))
  const inode = line?.trim().split(/\s+/)[9]
  return childrenOf(child.pid).find((pid) =>
    readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`),
  )
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    // It was closed meanwhile.
    return null
  }
}

for (const engine of engines) {
  suite(`Passkeys with two workers on ${engine}`, atLength, () => {
    let child: ServingChild
    let mail: Awaited<ReturnType<typeof startMailServer>>
    let db: ReturnType<typeof openDb>
    let removeStore: () => Promise<void>
    /** A client with one lasting connection to each worker. */
    let one: Calls
    let other: Calls
    const agents: Agent[] = []

    before(async () => {
      const store = await migratedStore(engine)
      removeStore = store.remove
      mail = await startMailServer()
      const limitless = { CHIRON_WORKERS: '2', CHIRON_LIMITS: 'off' }
      child = await serveStore(store.url, mail, limitless)
      db = openDb(store.url)
      const clients = new Map<number, Calls>()
      while (clients.size < 2) {
        const agent = new Agent({ keepAlive: true, maxSockets: 1 })
        agents.push(agent)
        const client = callsTo(child.url, agent)
        ok(await client.request('/health/live'))
        const worker = workerAt(child, Object.values(agent.freeSockets)[0]![0]!.localPort!)
        assert.ok(worker !== undefined)
        clients.set(worker, client)
      }
      ;[one, other] = [...clients.values()] as [Calls, Calls]
    })
    after(async () => {
      for (const agent of agents) agent.destroy()
      await child.end()
      await Promise.all([mail.close(), db.close()])
      await removeStore()
    })

    const signIn = async (at: Calls) => {
      const email = freshAddress()
      ok(await at.post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email }), 202)
      const { sessionId, reference } = ok(await at.post('/veterinarian/send-otp', { email }), 202)
      const { code } = await mail.mailWith(email, reference)
      const answer = { email, otp_code: code, sessionId }
      const { access_token, user } = ok(await at.post('/veterinarian/validate-otp', answer))
      return { access: access_token as string, userId: user.userId as string }
    }
    const withPasskey = async (at: Calls) => {
      const account = await signIn(at)
      const device = new Authenticator('http://chiron.localhost', { counts: false })
      ok(await addPasskey(at, account.access, device), 201)
      return { ...account, device }
    }
    const countOf = async (sql: string, userId: string) => (await db.all(sql, [userId])).length

    test('A passkey that was added at one signs in at the other', async () => {
      const { device, userId } = await withPasskey(one)
      assert.equal(ok(await passkeySignIn(other, device)).user.userId, userId)
      assert.equal(ok(await passkeySignIn(one, device)).user.userId, userId)
    })

    test('A passkey that was removed at one is unknown at the other', async () => {
      const { device, access } = await withPasskey(one)
      ok(await passkeySignIn(other, device))
      const [{ passkeyId }] = ok(await other.request('/passkey', { token: access })).passkeys
      ok(await one.request(`/passkey/${passkeyId}`, { method: 'DELETE', token: access }), 204)
      const refused = await passkeySignIn(other, device)
      assert.deepEqual([problem(refused), refused.json.known], [unusable, false])
    })

    test('A challenge of one to sign in is good at the other, once', async () => {
      const { device } = await withPasskey(one)
      const credential = device.get(await signInOptions(one))
      ok(await other.post('/passkey/validate', { credential }))
      for (const worker of [one, other])
        assert.equal(problem(await worker.post('/passkey/validate', { credential })), unusable)
    })

    test('A challenge of one to add or to step up is good at the other, once', async () => {
      const { device, access, userId } = await withPasskey(one)
      const added = {
        credential: new Authenticator('http://chiron.localhost').create(await addOptions(one, access)),
      }
      const proved = { credential: device.get(await stepUpOptions(one, access)) }
      const post = (at: Calls, path: string, body: object) => at.request(path, { token: access, body })
      ok(await post(other, '/passkey', added), 201)
      ok(await post(other, '/session/step-up', proved))
      for (const worker of [one, other]) {
        assert.equal(problem(await post(worker, '/passkey', added)), '409 passkey-exists')
        assert.equal(problem(await post(worker, '/session/step-up', proved)), unusable)
      }
      const steps = "select id from event where type = 'session.stepped-up' and person_id = $1"
      assert.equal(await countOf(steps, userId), 1)
    })

    test('Of a hundred uses of one answer at both, one starts a session', async () => {
      const { device, userId } = await withPasskey(one)
      const sessions = 'select id from session where person_id = $1'
      const before = await countOf(sessions, userId)
      const credential = device.get(await signInOptions(one))
      const crowd = [callsTo(child.url), one, other]
      const replies = await Promise.all(
        Array.from({ length: 100 }, (_, i) => crowd[i % 3]!.post('/passkey/validate', { credential })),
      )
      assert.deepEqual(replies.map(problem).sort(), ['200 undefined', ...Array(99).fill(unusable)])
      assert.equal(await countOf(sessions, userId), before + 1)
      const starts = "select id from event where type = 'session.started' and person_id = $1"
      assert.equal(await countOf(starts, userId), 2)
      const clones = "select id from event where type = 'passkey.cloned' and person_id = $1"
      assert.equal(await countOf(clones, userId), 0)
    })

    test('With one Idempotency-Key a hundred uses at both get the tokens of one session', async () => {
      const { device } = await withPasskey(one)
      const credential = device.get(await signInOptions(one))
      const crowd = [callsTo(child.url), one, other]
      const headers = { 'idempotency-key': 'lost' }
      const replies = await Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          crowd[i % 3]!.post('/passkey/validate', { credential }, headers),
        ),
      )
      assert.equal(new Set(replies.map((reply) => ok(reply).refresh_token)).size, 1)
    })
  })
}
