/**
 * Three times as many requests as the service can serve, sent when they are due, whether or not others were answered.
 * What it accepts must stay quick, the rest be refused with 503 and Retry-After, and all be well when it is over.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { Connection, json, wire } from '../../bench/http.ts'
import { serveStore } from '../support/child.ts'
import { type Engine, migratedStore } from '../support/engines.ts'
import { startMailServer } from '../support/smtp.ts'
import { percentile, signInTo } from './load.ts'

/** More than may wait, so that the flood is one also where each request brings the next. */
const connectionsMax = 6_000
/** A burst may wait for three seconds; what does not drain in them is a flood. */
const burstMs = 4_000
const closedLoop = 48
/** The requests of the client whose replies are timed, before the flood and beside it. */
const ordinaryPerSecond = 200

export interface OverloadReport {
  readonly 'served a second at most': number
  readonly 'offered a second': number
  readonly 'accepted a second': number
  readonly 'refused a second': number
  readonly 'ms p99 when idle': number
  readonly 'ms p99 of the accepted in the first four seconds': number
  readonly 'ms p99 of the accepted after them': number
  readonly 'ms until it serves again': number
}

type NextRequest = () => string

/** What is asked for: a durable write, a code by mail, or a read with a token. */
export type Kind = 'register' | 'send' | 'read'

export async function overload(engine: Engine, kind: Kind, seconds: number): Promise<OverloadReport> {
  const store = await migratedStore(engine)
  const mail = await startMailServer()
  const child = await serveStore(store.url, mail, { CHIRON_LIMITS: 'off' })
  try {
    const token = await signInTo(child, mail)
    const next = requestsOf(kind, token, 'flood')
    const ordinary = { port: child.port, kind, token, perSecond: ordinaryPerSecond }
    await full(child.port, next, 3)
    const quiet = await floodFromThread({ ...ordinary, name: 'before', seconds: seconds / 3 })
    const most = await full(child.port, next, seconds / 3)
    const [{ accepted, refused, offered }, beside] = await Promise.all([
      flood(child.port, next, 3 * most, seconds),
      floodFromThread({ ...ordinary, name: 'beside', seconds }),
    ])
    const back = await servesAgain(child.port, next)
    assert.ok(refused > 0, 'nothing was refused')
    const [first, later] = [
      beside.accepted.filter(({ at }) => at < burstMs),
      beside.accepted.filter(({ at }) => at >= burstMs),
    ]
    return {
      'served a second at most': Math.round(most),
      'offered a second': Math.round(offered / seconds),
      'accepted a second': Math.round(accepted.length / seconds),
      'refused a second': Math.round(refused / seconds),
      'ms p99 when idle': p99Of(quiet.accepted),
      'ms p99 of the accepted in the first four seconds': p99Of(first),
      'ms p99 of the accepted after them': p99Of(later),
      'ms until it serves again': Math.round(back),
    }
  } finally {
    await child.end('SIGKILL')
    await mail.close()
    await store.remove()
  }
}

/** When it was sent, since the beginning, and how long it took. */
interface Accepted {
  readonly at: number
  readonly ms: number
}

const p99Of = (accepted: readonly Accepted[]) =>
  Math.round(
    10 *
      percentile(
        accepted.map(({ ms }) => ms),
        99,
      ),
  ) / 10

/** `name` keeps the registrations of two clients apart. */
export function requestsOf(kind: Kind, token: string, name: string): NextRequest {
  if (kind === 'read') {
    const request = wire({
      method: 'GET',
      path: '/veterinarian/me',
      headers: { authorization: `Bearer ${token}` },
    })
    return () => request
  }
  let count = 0
  return () => {
    const email = `${name}${count++}@load.example`
    if (kind === 'send') return post('/veterinarian/send-otp', { email })
    return post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email })
  }
}

const post = (path: string, body: object) =>
  wire({ method: 'POST', path, headers: json, body: JSON.stringify(body) })

const statusOf = (reply: string) => Number(reply.slice(9, 12))

/** Every connection sends as soon as it is answered. Returns how many a second were served; none may be refused. */
async function full(port: number, next: NextRequest, seconds: number): Promise<number> {
  let served = 0
  const until = performance.now() + seconds * 1_000
  await Promise.all(
    Array.from({ length: closedLoop }, async () => {
      const connection = new Connection(port)
      while (performance.now() < until) {
        const status = statusOf(await connection.ask(next()))
        assert.ok(status < 300, `${status}`)
        served++
      }
      connection.end()
    }),
  )
  return served / seconds
}

export interface Flood {
  readonly accepted: readonly Accepted[]
  readonly refused: number
  readonly offered: number
}

/** What overload-client.ts is to do. */
export interface Errand {
  readonly port: number
  readonly kind: Kind
  readonly token: string
  readonly name: string
  readonly perSecond: number
  readonly seconds: number
}

/** A thread of its own, so that the time in which a busy client does not look at its replies is not counted. */
async function floodFromThread(workerData: Errand): Promise<Flood> {
  const client = new Worker(new URL('./overload-client.ts', import.meta.url), { workerData })
  const [done] = (await once(client, 'message')) as [Flood]
  return done
}

/** Sends so many a second. Returns how long each accepted one took, and how many were refused. */
export async function flood(
  port: number,
  next: NextRequest,
  perSecond: number,
  seconds: number,
): Promise<Flood> {
  const accepted: Accepted[] = []
  let [refused, offered, underWay] = [0, 0, 0]
  const free = await connected(port, Math.min(connectionsMax, Math.ceil(perSecond)))
  const began = performance.now()
  const send = () => {
    const connection = free.shift()
    if (connection === undefined) return false
    const since = performance.now()
    offered++
    underWay++
    connection.send(next(), (reply) => {
      underWay--
      const status = statusOf(reply)
      if (status === 503) {
        assert.match(reply, /\r\nretry-after: \d+\r\n/i)
        refused++
      } else {
        assert.ok(status >= 200 && status < 300, reply.slice(0, 200))
        accepted.push({ at: since - began, ms: performance.now() - since })
      }
      free.push(connection)
    })
    return true
  }
  await new Promise<void>((resolve) => {
    const tick = () => {
      const elapsed = performance.now() - began
      if (elapsed >= seconds * 1_000) return resolve()
      const due = (elapsed / 1_000) * perSecond
      while (offered < due && send());
      if (offered < due) setImmediate(tick)
      else setTimeout(tick, 1)
    }
    tick()
  })
  while (underWay > 0) await new Promise((resolve) => setTimeout(resolve, 1))
  for (const connection of free) connection.end()
  return { accepted, refused, offered }
}

/** Connections that were used once, made a few at a time: what is tried here is not how fast a socket can be opened. */
async function connected(port: number, count: number): Promise<Connection[]> {
  const connections: Connection[] = []
  const hello = wire({ method: 'GET', path: '/health/live' })
  while (connections.length < count) {
    const some = Array.from({ length: Math.min(50, count - connections.length) }, () => new Connection(port))
    await Promise.all(some.map((one) => one.ask(hello)))
    connections.push(...some)
  }
  return connections
}

/** How long after the flood the first twenty of a new client's requests in a row are served. */
async function servesAgain(port: number, next: NextRequest): Promise<number> {
  const began = performance.now()
  const connection = new Connection(port)
  for (let row = 0; row < 20; ) row = statusOf(await connection.ask(next())) < 300 ? row + 1 : 0
  connection.end()
  return performance.now() - began
}
