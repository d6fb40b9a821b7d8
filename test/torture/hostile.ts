/**
 * Clients that mean harm to the connection itself: slow ones, idle ones, endless ones, and requests that two readers
 * could split in different places.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Connection, wire } from '../../bench/http.ts'
import { serveStore } from '../support/child.ts'
import { newStore } from '../support/engines.ts'
import type { Service } from '../support/service.ts'
import { startMailServer } from '../support/smtp.ts'
import { percentile, signInTo } from './load.ts'

/** Must never be seen as a request: the shapes below hide it in bodies and headers. */
const hidden = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n'
const post = 'POST /veterinarian/register HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
const live = 'GET /health/live HTTP/1.1\r\nHost: x\r\n'

/** What is sent, and the statuses of the replies. */
export const shapes: readonly [name: string, bytes: string, statuses: readonly number[]][] = [
  [
    'Content-Length and Transfer-Encoding',
    `${post}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    [400],
  ],
  [
    'Transfer-Encoding and Content-Length',
    `${post}Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n${hidden}`,
    [400],
  ],
  ['two equal Content-Lengths', `${post}Content-Length: 0\r\nContent-Length: 0\r\n\r\n${hidden}`, [400]],
  [
    'two different Content-Lengths',
    `${post}Content-Length: 0\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
    [400],
  ],
  ['a list of Content-Lengths', `${post}Content-Length: 0, ${hidden.length}\r\n\r\n${hidden}`, [400]],
  ['a signed Content-Length', `${post}Content-Length: +0\r\n\r\n${hidden}`, [400]],
  ['a negative Content-Length', `${post}Content-Length: -1\r\n\r\n${hidden}`, [400]],
  ['a hexadecimal Content-Length', `${post}Content-Length: 0x0\r\n\r\n${hidden}`, [400]],
  ['an empty Content-Length', `${post}Content-Length: \r\n\r\n${hidden}`, [400]],
  ['a Content-Length with a space in it', `${post}Content-Length: 0 0\r\n\r\n${hidden}`, [400]],
  ['a Content-Length that overflows', `${post}Content-Length: 18446744073709551616\r\n\r\n${hidden}`, [400]],
  ['a space before the colon', `${post}Content-Length : 0\r\n\r\n${hidden}`, [400]],
  ['Transfer-Encoding: xchunked', `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${hidden}`, [400]],
  ['Transfer-Encoding: identity', `${post}Transfer-Encoding: identity\r\n\r\n${hidden}`, [400]],
  [
    'Transfer-Encoding: chunked, identity',
    `${post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${hidden}`,
    [400],
  ],
  [
    'Transfer-Encoding: chunked, chunked',
    `${post}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n${hidden}`,
    [400],
  ],
  [
    'two Transfer-Encodings',
    `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n${hidden}`,
    [400],
  ],
  [
    'Transfer-Encoding with a vertical tab',
    `${post}Transfer-Encoding: \u000bchunked\r\n\r\n0\r\n\r\n${hidden}`,
    [400],
  ],
  ['a folded header', `${post}X-Folded: a\r\n Content-Length: 0\r\n\r\n${hidden}`, [400]],
  ['a header that begins with a space', `POST / HTTP/1.1\r\n Host: x\r\n\r\n${hidden}`, [400]],
  ['lines that end in LF', `GET /health/live HTTP/1.1\nHost: x\n\n${hidden}`, [400]],
  ['a header that ends in LF', `${post}X-One: 1\nContent-Length: 0\r\n\r\n${hidden}`, [400]],
  ['a CR alone', `${post}X-One: 1\rContent-Length: 0\r\n\r\n${hidden}`, [400]],
  ['a NUL in a header', `${post}X-One: \u0000\r\nContent-Length: 0\r\n\r\n${hidden}`, [400]],
  ['a header without a name', `${post}: 0\r\n\r\n${hidden}`, [400]],
  ['a chunk size with 0x', `${post}Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n${hidden}`, [400]],
  ['a chunk size with a sign', `${post}Transfer-Encoding: chunked\r\n\r\n+0\r\n\r\n${hidden}`, [400]],
  ['a chunk size with a space', `${post}Transfer-Encoding: chunked\r\n\r\n 0\r\n\r\n${hidden}`, [400]],
  [
    'a chunk size that overflows',
    `${post}Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n\r\n${hidden}`,
    [400],
  ],
  [
    'a chunk that is longer than it says',
    `${post}Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n${hidden}`,
    [400],
  ],
  ['a chunk that ends in LF', `${post}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\n0\r\n\r\n${hidden}`, [400]],
  [
    'a chunk size that ends in LF',
    `${post}Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n${hidden}`,
    [400],
  ],
  [
    'a chunk extension with a LF',
    `${post}Transfer-Encoding: chunked\r\n\r\n2;a\nb\r\n{}\r\n0\r\n\r\n${hidden}`,
    [400],
  ],
  ['the preface of HTTP/2', `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${hidden}`, [400]],
  ['HTTP/0.9', `GET /health/live\r\n${hidden}`, [400]],
  ['a version that is none', `GET /health/live HTTP/1.9\r\nHost: x\r\n\r\n${hidden}`, [400]],
  [
    'an old client with chunks',
    `POST /veterinarian/register HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    [415, 400],
  ],
  [
    'a request in the body of another',
    `GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
    [200],
  ],
  ['a request after the end', `${live}Connection: close\r\n\r\n${hidden}`, [400]],
  ['an offer to change the protocol', `${live}Connection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n`, [200]],
  [
    'a trailer',
    `${post}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n`,
    [400],
  ],
  ['two requests in a row', `${live}\r\n${live}Connection: close\r\n\r\n`, [200, 200]],
  ['a request and garbage', `${live}\r\ngarbage\r\n\r\n`, [400]],
]

/** Sends a shape and returns the statuses of all replies, and the paths that the service took for requests. */
export async function trySplit(service: Service, bytes: string) {
  const { server } = service.app.parts.server.app
  const paths: string[] = []
  const note = ({ url }: IncomingMessage) => void paths.push(url ?? '')
  server.on('request', note)
  const text = await exchange(portOf(service.url), bytes)
  server.off('request', note)
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
  return { statuses, paths }
}

const portOf = (url: string) => Number(new URL(url).port)

/** Everything that the service sends until it closes the connection. */
function exchange(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'))
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(text))
  })
}

/** How a request goes on for ever: how it begins, and what follows again and again. */
export const endless: readonly [name: string, begin: string, again: string, status: number][] = [
  ['A path', 'GET /', 'a'.repeat(1_000), 431],
  ['A query', 'GET /?', 'a=b&'.repeat(250), 431],
  ['A header', `${live}X-Long: `, 'a'.repeat(1_000), 431],
  ['Headers', live, 'X-More: 1\r\n'.repeat(100), 431],
  ['A body in chunks', `${post}Transfer-Encoding: chunked\r\n\r\n`, `400\r\n${' '.repeat(1_024)}\r\n`, 413],
  ['A body of a terabyte', `${post}Content-Length: 1000000000000\r\n\r\n`, ' '.repeat(1_024), 413],
  ['A chunk extension', `${post}Transfer-Encoding: chunked\r\n\r\n1;`, 'x'.repeat(1_000), 400],
  ['Trailers', `${post}Transfer-Encoding: chunked\r\n\r\n0\r\n`, 'X-More: 1\r\n'.repeat(100), 431],
]

/** Sends until the service closes the connection. Returns its status and how much it let come. */
export async function sendEndlessly(url: string, begin: string, again: string) {
  const socket = connect(portOf(url), '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  socket.write(begin)
  while (!socket.destroyed && socket.writable) {
    if (!socket.write(again)) await Promise.race([closed, new Promise((go) => socket.once('drain', go))])
    else await pause(0)
  }
  await closed
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]), octets: socket.bytesWritten }
}

/** Connections that send their headers an octet at a time, or nothing more after a first request. */
export class Pests {
  readonly #port: number
  readonly #sockets = new Set<Socket>()
  #slow = 0
  #timer: NodeJS.Timeout | undefined
  /** Replies to slow ones, by status. */
  readonly refused = new Map<number, number>()

  constructor(url: string) {
    this.#port = portOf(url)
  }

  get open(): number {
    return this.#sockets.size
  }

  /** Each sends another octet of its headers every so often, and comes back when it is thrown out. */
  async slow(count: number, everyMs: number): Promise<void> {
    this.#slow = count
    await this.#inBatches(count, () => this.#slowOne())
    this.#timer = setInterval(() => {
      for (const socket of this.#sockets) if (isSlow.has(socket)) socket.write('x')
    }, everyMs)
  }

  /** Each asks once and then keeps its connection. */
  async idle(count: number): Promise<void> {
    await this.#inBatches(count, async () => {
      const socket = await this.#connect()
      socket.write(`${live}\r\n`)
      await new Promise((resolve) => socket.once('data', resolve))
    })
  }

  end(): void {
    this.#slow = 0
    clearInterval(this.#timer)
    for (const socket of this.#sockets) socket.destroy()
  }

  async #slowOne(): Promise<void> {
    const socket = await this.#connect()
    isSlow.add(socket)
    socket.write(`${live}X-Slow: `)
    socket.once('data', (chunk) => {
      const status = Number(chunk.toString('latin1', 9, 12))
      this.refused.set(status, (this.refused.get(status) ?? 0) + 1)
    })
    socket.once('close', () => {
      if (this.#slow > 0) void this.#slowOne().catch(() => {})
    })
  }

  #connect(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.#port, '127.0.0.1', () => resolve(socket))
      this.#sockets.add(socket)
      socket.once('error', reject)
      socket.on('error', () => {})
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  async #inBatches(count: number, make: () => Promise<void>): Promise<void> {
    for (let made = 0; made < count; made += 250)
      await Promise.all(Array.from({ length: Math.min(250, count - made) }, make))
  }
}

const isSlow = new WeakSet<Socket>()

export interface PestReport {
  readonly slowSenders: number
  readonly idleConnections: number
  readonly sendersThrownOut: number
  readonly 'ms p99 of others before': number
  readonly 'ms p99 of others beside them': number
  readonly 'megabytes before': number
  readonly 'megabytes beside them': number
}

/** The long form: figures of a service of its own, on SQLite, and of an ordinary client beside so many pests. */
export async function pests(count: { slow: number; idle: number }, seconds: number): Promise<PestReport> {
  const store = await newStore('sqlite')
  const mail = await startMailServer()
  const child = await serveStore(store.url, mail, { CHIRON_LIMITS: 'off' })
  const all = new Pests(child.url)
  try {
    const token = await signInTo(child, mail)
    const request = wire({
      method: 'GET',
      path: '/veterinarian/me',
      headers: { authorization: `Bearer ${token}` },
    })
    await p99Of(child.port, request, 3)
    const before = { p99: await p99Of(child.port, request, seconds), memory: memoryOf(child.pid) }
    await all.idle(count.idle)
    await all.slow(count.slow, 1_000)
    const beside = { p99: await p99Of(child.port, request, seconds), memory: memoryOf(child.pid) }
    assert.ok(beside.p99 <= 2 * before.p99, `p99 of others: ${before.p99} ms before, ${beside.p99} ms beside`)
    assert.ok(beside.memory < 1_000, `${beside.memory} MB`)
    return {
      slowSenders: count.slow,
      idleConnections: count.idle,
      sendersThrownOut: all.refused.get(408) ?? 0,
      'ms p99 of others before': before.p99,
      'ms p99 of others beside them': beside.p99,
      'megabytes before': before.memory,
      'megabytes beside them': beside.memory,
    }
  } finally {
    all.end()
    await child.end('SIGKILL')
    await mail.close()
    await store.remove()
  }
}

/** An ordinary client of 200 requests a second. The median of the p99 of every second, so that one pause does not decide. */
async function p99Of(port: number, request: string, seconds: number): Promise<number> {
  const connections = Array.from({ length: 8 }, () => new Connection(port))
  const p99s: number[] = []
  for (let second = 0; second < seconds; second++) {
    const times: number[] = []
    for (let i = 0; i < 200; i++) {
      const connection = connections[i % connections.length]!
      const since = performance.now()
      const reply = await connection.ask(request)
      times.push(performance.now() - since)
      assert.match(reply, /^HTTP\/1\.1 200 /)
      await pause(4)
    }
    p99s.push(percentile(times, 99))
  }
  for (const connection of connections) connection.end()
  return Math.round(percentile(p99s, 50) * 10) / 10
}

function memoryOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)![1]) / 1024)
}
