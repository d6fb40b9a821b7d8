/**
 * Load: what is sent in a turn, and the check of every reply. A wrong reply ends the run. The load must cost less than
 * the servers it measures, so it uses the small HTTP client of http.ts.
 */
import type { Connection } from './http.ts'
import type { MailServer } from './mail.ts'

export interface Turn {
  readonly connections: readonly Connection[]
  /** The turn ends after this many requests (or sign-ins), or after this time. */
  readonly requests: number
  readonly seconds: number
}

/** Takes one turn and returns the number of requests, or of sign-ins. */
export type Load = (turn: Turn) => Promise<number>

export interface Request {
  readonly text: string
  isRight(reply: string): boolean
}

/** The two requests of a sign-in, as one service wants them. */
export interface SignInFlow {
  send(email: string, network: number): string
  /** The value that `validate` needs beside the code, or null if the reply is wrong. */
  sent(reply: string): string | null
  validate(email: string, code: string, sent: string, network: number): string
  isSignedIn(reply: string): boolean
}

/** Each connection sends its next request as soon as it has a reply. */
export function requestLoad(next: () => Request): Load {
  return async ({ connections, requests, seconds }) => {
    const until = performance.now() + seconds * 1000
    let sent = 0
    const caller = async (connection: Connection) => {
      while (sent < requests && performance.now() < until) {
        sent++
        const { text, isRight } = next()
        check(await connection.ask(text), isRight)
      }
    }
    await Promise.all(connections.map(caller))
    return sent
  }
}

export function inTurn(requests: readonly Request[]): () => Request {
  let next = 0
  return () => requests[next++ % requests.length]!
}

/** An address may ask for five codes from one network in a quarter of an hour. */
const codesPerNetwork = 5

/**
 * Whole sign-ins: ask for a code, wait for its mail, send the code. Mails leave after a random delay, so all sign-ins of
 * a turn are under way at once.
 */
export function signInLoad(emails: readonly string[], flow: SignInFlow, mail: MailServer): Load {
  let taken = 0
  return async ({ connections, requests, seconds }) => {
    const until = performance.now() + seconds * 1000
    const pool = new Pool(connections)
    let done = 0
    const signIn = async () => {
      const [place, pass] = [taken % emails.length, Math.floor(taken / emails.length)]
      taken++
      const [email, network] = [emails[place]!, place + Math.floor(pass / codesPerNetwork) * emails.length]
      const first = await pool.take()
      if (performance.now() >= until) return pool.give(first)
      const code = mail.codeFor(email)
      const reply = await first.ask(flow.send(email, network))
      pool.give(first)
      const sent = flow.sent(reply)
      if (sent === null) throw new Error(`wrong reply: ${reply.slice(0, 600)}`)
      const digits = await code
      check(await pool.ask(flow.validate(email, digits, sent, network)), flow.isSignedIn)
      done++
    }
    await Promise.all(Array.from({ length: Math.min(requests, emails.length) }, signIn))
    return done
  }
}

function check(reply: string, isRight: (reply: string) => boolean): void {
  if (isRight(reply)) return
  throw new Error(reply === '' ? 'the connection broke' : `wrong reply: ${reply.slice(0, 600)}`)
}

/** Connections for callers in the order in which they ask. */
export class Pool {
  readonly #free: Connection[]
  readonly #waiting: ((connection: Connection) => void)[] = []

  constructor(connections: readonly Connection[]) {
    this.#free = [...connections]
  }

  async take(): Promise<Connection> {
    return this.#free.pop() ?? new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Sends a request on the next free connection. */
  async ask(request: string): Promise<string> {
    const connection = await this.take()
    const reply = await connection.ask(request)
    this.give(connection)
    return reply
  }

  give(connection: Connection): void {
    const next = this.#waiting.shift()
    if (next) next(connection)
    else this.#free.push(connection)
  }

  /** Once all have been given back. */
  end(): void {
    for (const connection of this.#free) connection.end()
  }
}
