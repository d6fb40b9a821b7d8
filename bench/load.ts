/**
 * The load, a process of its own so that it can have a core of its own. Plain sockets and just enough of HTTP to
 * know where a reply ends: the client must cost less than the servers that it measures.
 *
 * Takes `Order`s from its parent, one at a time, and answers each with an `Outcome`.
 */
import { connect, type Socket } from 'node:net'

export interface Order {
  readonly port: number
  /** Whole requests as they go over the wire, taken in turn. */
  readonly requests: readonly string[]
  readonly connections: number
  readonly seconds: number
  /** Requests a second; as many as possible without it. Latency then counts from when a request was due. */
  readonly rate?: number
  readonly status: number
}

export interface Outcome {
  readonly replies: number
  readonly seconds: number
  readonly failures: number
  /** Of the first reply that was not as expected. */
  readonly failure: string | null
  readonly p50: number
  readonly p99: number
}

const latenciesMax = 2_000_000

/** How many bytes the reply at the start of this text has, or -1 if some are missing. */
export function replyLength(text: string): number {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return -1
  const status = text.slice(9, 12)
  if (status === '204' || status === '304') return head + 4
  const at = text.search(/\r\ncontent-length: ?/i)
  if (at > 0 && at < head) {
    const length = Number.parseInt(text.slice(at + 17, at + 30), 10)
    return text.length >= head + 4 + length ? head + 4 + length : -1
  }
  const end = text.indexOf('0\r\n\r\n', head + 2)
  return end < 0 ? -1 : end + 5
}

/** One connection with at most one request under way. */
export class Line {
  readonly #socket: Socket
  #received = ''
  #wanted: ((reply: string) => void) | null = null

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1')
    this.#socket.setNoDelay(true)
    this.#socket.on('data', (chunk: Buffer) => {
      this.#received =
        this.#received === '' ? chunk.toString('latin1') : this.#received + chunk.toString('latin1')
      this.#settle()
    })
    this.#socket.on('close', () => this.#wanted?.(''))
    this.#socket.on('error', () => {})
  }

  /** The callback gets the whole reply, nothing if the connection broke. */
  send(request: string | Buffer, done: (reply: string) => void): void {
    this.#wanted = done
    this.#socket.write(request as string, 'latin1')
  }

  ask(request: string): Promise<string> {
    return new Promise((resolve) => this.send(request, resolve))
  }

  end(): void {
    this.#wanted = null
    this.#socket.destroy()
  }

  #settle(): void {
    const length = replyLength(this.#received)
    if (length < 0 || !this.#wanted) return
    const reply = this.#received.slice(0, length)
    this.#received = this.#received.slice(length)
    const done = this.#wanted
    this.#wanted = null
    done(reply)
  }
}

// Where the last order left off, so that short ones together reach all requests.
let next = 0

async function carryOut(order: Order): Promise<Outcome> {
  const requests = order.requests.map((text) => Buffer.from(text, 'latin1'))
  const latencies = new Float64Array(latenciesMax)
  let replies = 0
  let failures = 0
  let failure: string | null = null
  const expected = `HTTP/1.1 ${order.status} `
  const started = performance.now()
  const until = started + order.seconds * 1000
  const note = (reply: string, since: number) => {
    if (!reply.startsWith(expected)) {
      failures++
      failure ??= reply.slice(0, 600)
    }
    if (replies < latenciesMax) latencies[replies] = performance.now() - since
    replies++
  }
  const lines = Array.from({ length: order.connections }, () => new Line(order.port))
  if (order.rate === undefined) {
    await Promise.all(
      lines.map(
        (line) =>
          new Promise<void>((resolve) => {
            const one = () => {
              const since = performance.now()
              if (since >= until) return resolve()
              line.send(requests[next++ % requests.length]!, (reply) => {
                note(reply, since)
                if (reply === '') return resolve()
                one()
              })
            }
            one()
          }),
      ),
    )
  } else {
    await atRate(order.rate, lines, until, (line, due, done) =>
      line.send(requests[next++ % requests.length]!, (reply) => {
        note(reply, due)
        done()
      }),
    )
  }
  const seconds = (performance.now() - started) / 1000
  for (const line of lines) line.end()
  const sorted = latencies.subarray(0, Math.min(replies, latenciesMax)).sort()
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { replies, seconds, failures, failure, p50: at(0.5), p99: at(0.99) }
}

/** Sends when a request is due, whether or not those before it have been answered. */
function atRate(
  rate: number,
  lines: Line[],
  until: number,
  send: (line: Line, due: number, done: () => void) => void,
): Promise<void> {
  return new Promise((resolve) => {
    const free = [...lines]
    const started = performance.now()
    let sent = 0
    let open = 0
    const turn = () => {
      const now = performance.now()
      if (now >= until) {
        if (open === 0) resolve()
        else setTimeout(turn, 1)
        return
      }
      for (let due = started + (sent * 1000) / rate; due <= now && free.length > 0; ) {
        const line = free.pop()!
        open++
        send(line, due, () => {
          open--
          free.push(line)
        })
        sent++
        due = started + (sent * 1000) / rate
      }
      setTimeout(turn, 1)
    }
    turn()
  })
}

if (process.send) {
  process.on('message', async (order: Order) => {
    process.send!(await carryOut(order))
  })
}
