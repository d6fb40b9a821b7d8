/** Which single requests the load sends, and what a right answer to each is. */
import { fromNetwork, json, wire } from './http.ts'
import type { Card, Traffic } from './orders.ts'

export interface Request {
  readonly request: string | Buffer
  isRight(reply: string): boolean
}

/** Gives the next request, for ever. */
export type Source = () => Request

export function sourceOf(traffic: Exclude<Traffic, { kind: 'sign-ins' }>, cards: readonly Card[]): Source {
  if (traffic.kind === 'register') return registration
  const requests =
    traffic.kind === 'refresh'
      ? cards.map((card, i) => new Rotation(card.text, i))
      : cards.map((card) => new Fixed(card))
  let next = 0
  return () => requests[next++ % requests.length]!
}

class Fixed implements Request {
  readonly request: Buffer
  readonly #expected: string

  constructor({ text, expected = '' }: Card) {
    this.request = Buffer.from(text, 'latin1')
    this.#expected = expected
  }

  isRight(reply: string): boolean {
    return reply.startsWith('HTTP/1.1 200 ') && reply.includes(this.#expected)
  }
}

/** Every answer brings the token of the next request. */
class Rotation implements Request {
  #token: string
  readonly #network: number

  constructor(token: string, network: number) {
    this.#token = token
    this.#network = network
  }

  get request(): string {
    const body = JSON.stringify({ refresh_token: this.#token })
    const headers = { ...json, ...fromNetwork(this.#network) }
    return wire({ method: 'POST', path: '/session/refresh', headers, body })
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

function registration(): Request {
  const email = `new.${run}.${registrations++}@practice.example`
  const body = JSON.stringify({ firstname: 'Ada', lastname: 'Marsh', email })
  return {
    request: wire({ method: 'POST', path: '/veterinarian/register', headers: json, body }),
    isRight: (reply) => reply.startsWith('HTTP/1.1 202 ') && reply.includes(email),
  }
}
