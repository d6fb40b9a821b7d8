/** What single requests the load sends, and what a right answer to each is. */
import { json, wire } from './line.ts'
import type { Traffic } from './load.ts'

/** A request as it goes over the wire and what its reply must hold; or a refresh token; or an address. */
export interface Card {
  readonly text: string
  readonly expected?: string
}

export interface Asking {
  readonly request: string | Buffer
  isRight(reply: string): boolean
}

export interface Source {
  /** How many different ones there are. */
  readonly size: number
  take(): Asking
}

export function sourceOf(traffic: Exclude<Traffic, { kind: 'sign-ins' }>, cards: readonly Card[]): Source {
  if (traffic.kind === 'register') return { size: 1_000, take: registration }
  const askings =
    traffic.kind === 'refresh'
      ? cards.map((card) => new Rotation(card.text))
      : cards.map((card) => new Fixed(card, traffic.status))
  let next = 0
  return { size: askings.length, take: () => askings[next++ % askings.length]! }
}

class Fixed implements Asking {
  readonly request: Buffer
  readonly #status: string
  readonly #expected: string

  constructor({ text, expected = '' }: Card, status: number) {
    this.request = Buffer.from(text, 'latin1')
    this.#status = `HTTP/1.1 ${status} `
    this.#expected = expected
  }

  isRight(reply: string): boolean {
    return reply.startsWith(this.#status) && reply.includes(this.#expected)
  }
}

/** Every answer brings the token of the next request. */
class Rotation implements Asking {
  #token: string

  constructor(token: string) {
    this.#token = token
  }

  get request(): string {
    const body = JSON.stringify({ refresh_token: this.#token })
    return wire({ method: 'POST', path: '/session/refresh', headers: json, body })
  }

  isRight(reply: string): boolean {
    const token = /"refresh_token":"([^"]+)"/.exec(reply)?.[1]
    if (!reply.startsWith('HTTP/1.1 200 ') || token === undefined || token === this.#token) return false
    this.#token = token
    return true
  }
}

const run = Date.now().toString(36)
let registrations = 0

function registration(): Asking {
  const email = `new.${run}.${registrations++}@practice.example`
  const body = JSON.stringify({ firstname: 'Ada', lastname: 'Marsh', email })
  return {
    request: wire({ method: 'POST', path: '/veterinarian/register', headers: json, body }),
    isRight: (reply) => reply.startsWith('HTTP/1.1 202 ') && reply.includes(email),
  }
}
