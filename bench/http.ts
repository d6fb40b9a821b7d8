/** A small HTTP client: it must cost less than the servers that it measures. */
import { connect, type Socket } from 'node:net'

/** The length of the reply at the start of this text, or -1 if it is incomplete. */
function replyLength(text: string): number {
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

/** A connection with up to one request in progress. */
export class Connection {
  readonly #socket: Socket
  #received = ''
  #wanted: ((reply: string) => void) | null = null
  #broken = false

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1')
    this.#socket.setNoDelay(true)
    this.#socket.on('data', (chunk: Buffer) => {
      const text = chunk.toString('latin1')
      this.#received = this.#received === '' ? text : this.#received + text
      this.#settle()
    })
    this.#socket.on('close', () => {
      this.#broken = true
      this.#answer('')
    })
    this.#socket.on('error', () => {})
  }

  /** The callback gets the whole reply, or an empty text if the connection broke. */
  send(request: string | Buffer, done: (reply: string) => void): void {
    this.#wanted = done
    if (this.#broken) setImmediate(() => this.#answer(''))
    else this.#socket.write(request as string, 'latin1')
  }

  ask(request: string): Promise<string> {
    return new Promise((done) => this.send(request, done))
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
    this.#answer(reply)
  }

  #answer(reply: string): void {
    const done = this.#wanted
    this.#wanted = null
    done?.(reply)
  }
}

export interface WireRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** The text of a request. */
export function wire({ method, path, headers = {}, body }: WireRequest): string {
  const lines = [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1']
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  if (body !== undefined) lines.push(`content-length: ${Buffer.byteLength(body)}`)
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`
}

/** Limits count by network, so every caller gets its own in 10.0.0.0/8, as if behind a proxy. */
export function fromNetwork(number: number): Record<string, string> {
  const address = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`
  return { 'x-forwarded-for': address }
}

export const json = { 'content-type': 'application/json' }

export function bodyOf(reply: string): string {
  return reply.slice(reply.indexOf('\r\n\r\n') + 4)
}
