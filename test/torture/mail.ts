/**
 * Mail servers that are slow, refuse, say nothing or lie, and one that is down for long while many mails wait. No mail is
 * lost whose code still lives, none is called handed over that was not taken, and the rest is recorded as failed.
 */
import assert from 'node:assert/strict'
import { minute } from '../../src/platform/lib/clock.ts'
import {
  type BadMailServer,
  type BadManner,
  type OddManner,
  startBadMailServer,
} from '../support/bad-smtp.ts'
import type { Engine } from '../support/engines.ts'
import { type Service, startService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const quickly = 100
/** So that a code that lives for ten minutes is not dead before a busy machine has sent it. */
const briskly = 20
/** However long nobody looked, because the machine was busy. */
const passedAtOnceMaxMs = 10_000
const outOfOrderMax = 100

export interface Running {
  readonly server: BadMailServer
  readonly service: Service
  stop(): Promise<void>
}

/** @param host on Linux `0.0.0.0` is the machine itself, yet no loopback address: TLS is insisted on */
export async function startWith(engine: Engine, host = '127.0.0.1'): Promise<Running> {
  const server = await startBadMailServer()
  const env = { CHIRON_LIMITS: 'off', CHIRON_SMTP_URL: `smtp://${host}:${server.port}` }
  const service = await startService(engine, { env })
  const stop = async () => {
    await service.stop()
    await server.close()
  }
  return { server, service, stop }
}

/** Asks for a code for each address; returns them by session. */
async function ask(service: Service, addresses: readonly string[]): Promise<Map<string, string>> {
  const sessions = new Map<string, string>()
  const queue = [...addresses]
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let email = queue.shift(); email !== undefined; email = queue.shift()) {
        const sent = await service.post('/veterinarian/send-otp', { email })
        assert.equal(sent.status, 202, sent.text)
        // No two at the same moment, so that there is an order.
        service.clock.advance(1)
        sessions.set(sent.json.sessionId, email)
      }
    }),
  )
  return sessions
}

const addressesOf = (name: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${name}.${n}@mail.example`)

async function register(service: Service, addresses: readonly string[]): Promise<void> {
  const queue = [...addresses]
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let email = queue.shift(); email !== undefined; email = queue.shift())
        assert.equal((await service.register(email)).status, 202)
    }),
  )
}

const waiting = (service: Service) => service.rows('select id from outbox')

/** The sessions whose mails are recorded as failed. */
const failed = async (service: Service) =>
  new Set(
    (
      await service.rows<{ session_id: string }>("select session_id from event where type = 'mail.failed'")
    ).map(({ session_id }) => session_id),
  )

/** Time passes so many times as fast as it does. */
async function pass(
  service: Service,
  pace: number,
  what: string,
  look: () => Promise<boolean>,
): Promise<void> {
  let last = Date.now()
  await eventually(what, async () => {
    if (await look()) return true
    const now = Date.now()
    service.clock.advance(Math.min((now - last) * pace, passedAtOnceMaxMs))
    last = now
    return false
  })
}

async function newMails({ service }: Running, name: string, count: number) {
  const addresses = addressesOf(name.replaceAll(/\W+/g, '-'), count)
  await register(service, addresses)
  return { addresses, sessions: await ask(service, addresses) }
}

const triesEnded = ({ log }: Service) =>
  log.filter((line) => /it will be retried|was refused permanently/.test(line)).length

/** The server has these manners while mails are asked for, and is good some time later. */
export async function badServer(running: Running, manner: BadManner, count: number): Promise<void> {
  const { server, service } = running
  const before = triesEnded(service)
  server.change(manner)
  const { addresses, sessions } = await newMails(running, manner, count)
  await eventually('each mail was tried', () => triesEnded(service) >= before + count)
  const taken = () => addresses.filter((email) => server.taken.includes(email))
  assert.deepEqual(taken(), [], manner)
  if (manner === 'refuses STARTTLS') return assert.deepEqual(server.heard, [], 'nothing is sent without TLS')

  server.change('good')
  await pass(service, briskly, `delivery after a server that ${manner}`, async () => {
    return (await waiting(service)).length === 0
  })
  const gone = await failed(service)
  const lost = [...sessions].filter(([session]) => gone.has(session)).map(([, email]) => email)
  // Only what was refused permanently is lost before its code is dead.
  if (manner !== 'answers 250 to DATA and does not know the rest') assert.deepEqual(lost, [], manner)
  assert.deepEqual([...taken(), ...lost].sort(), [...addresses].sort(), manner)
}

/** The server is odd and says in the end that it took the mail: it is handed over, once. */
export async function oddServer(running: Running, manner: OddManner, count: number): Promise<void> {
  const { server, service } = running
  server.change(manner)
  const { addresses, sessions } = await newMails(running, manner, count)
  // A connection may be cut while the next mail is on its way; that one is tried again.
  await pass(service, briskly, 'an empty outbox', async () => (await waiting(service)).length === 0)
  const got = [...server.taken, ...server.thrownAway].filter((email) => addresses.includes(email))
  assert.deepEqual(got.sort(), [...addresses].sort(), manner)
  const gone = await failed(service)
  assert.ok([...sessions.keys()].every((session) => !gone.has(session)))
}

export interface OutageReport {
  readonly mails: number
  readonly delivered: number
  readonly recordedAsFailed: number
  /** That came more than a hundred places before or after their turn. */
  readonly outOfOrder: number
  readonly drainedInSeconds: number
}

/**
 * Half of the mails are asked for at once and half eight minutes later; the server is back after twelve. So the first half
 * has dead codes by then and the second half has live ones.
 * @param pace how fast time passes from then on
 */
export async function longOutage(engine: Engine, count: number, pace: number): Promise<OutageReport> {
  const { server, service, stop } = await startWith(engine)
  server.change('refuses connections')
  try {
    const [early, late] = [addressesOf('early', count / 2), addressesOf('late', count / 2)]
    await register(service, [...early, ...late])
    const dead = await ask(service, early)
    const began = service.clock.now()
    const until = (ms: number) =>
      pass(service, quickly, 'time passes', async () => service.clock.now() - began >= ms)
    await until(8 * minute)
    const alive = await ask(service, late)
    await until(12 * minute)
    assert.equal(server.taken.length, 0)

    server.change('good')
    const [backAt, clockAt] = [Date.now(), service.clock.now()]
    await pass(service, pace, 'the outbox is drained', async () => (await waiting(service)).length === 0)
    assert.ok(service.clock.now() - clockAt < 5 * minute, 'within minutes')
    const gone = await failed(service)
    for (const session of dead.keys()) assert.ok(gone.has(session), 'a mail with a dead code is recorded')
    for (const [session, email] of alive) {
      assert.ok(!gone.has(session), `${email} was not given up`)
      assert.ok(server.taken.includes(email), `${email} got its code`)
    }
    const twice = server.taken.length - new Set(server.taken).size
    assert.equal(twice, 0, 'none is sent twice')
    for (const email of server.taken) assert.ok(email.startsWith('late'), 'no dead code is sent')
    const places = new Map(late.map((email, place) => [email, place]))
    const outOfOrder = server.taken.filter((email, i) => Math.abs(places.get(email)! - i) > 100).length
    // Mails that were being tried when the server came back are first.
    assert.ok(outOfOrder <= outOfOrderMax, `${outOfOrder} came out of order`)
    return {
      mails: count,
      delivered: server.taken.length,
      recordedAsFailed: gone.size,
      outOfOrder,
      drainedInSeconds: Math.round((Date.now() - backAt) / 1000),
    }
  } finally {
    await stop()
  }
}
