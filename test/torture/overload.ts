/**
 * Three times as many requests as the service can serve, sent when they are due, whether or not others were answered.
 * What it accepts must stay quick, the rest be refused with 503 and Retry-After, and all be well when it is over.
 */
import assert from 'node:assert/strict'
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

/** What is asked for: a durable write, or a read with a token. */
export type Kind = 'register' | 'read'

export async function overload(engine: Engine, kind: Kind, seconds: number): Promise<OverloadReport> {
  const store = await migratedStore(engine)
  const mail = await startMailServer()
  const child = await serveStore(store.url, mail, { CHIRON_LIMITS: 'off' })
  try {
    const next = requestsOf(kind, await signInTo(child, mail))
    await full(child.port, next, 3)
    const quiet = await flood(child.port, next, 100, seconds / 3)
    const most = await full(child.port, next, seconds / 3)
    const { accepted, refused, offered } = await flood(child.port, next, 3 * most, seconds)
    const back = await servesAgain(child.port, next)
    assert.ok(refused > 0, 'nothing was refused')
    const [first, later] = [
      accepted.filter(({ at }) => at < burstMs),
      accepted.filter(({ at }) => at >= burstMs),
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

function requestsOf(kind: Kind, token: string): NextRequest {
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
    const body = JSON.stringify({ firstname: 'Ada', lastname: 'Marsh', email: `o${count++}@load.example` })
    return wire({ method: 'POST', path: '/veterinarian/register', headers: json, body })
  }
}

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

/** Sends so many a second. Returns how long each accepted one took, and how many were refused. */
async function flood(port: number, next: NextRequest, perSecond: number, seconds: number) {
  const accepted: Accepted[] = []
  let [refused, offered, underWay] = [0, 0, 0]
  const free = await connected(port, Math.min(connectionsMax, perSecond))
  const began = performance.now()
  const send = () => {
    const connection = free.pop()
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
      setImmediate(tick)
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
