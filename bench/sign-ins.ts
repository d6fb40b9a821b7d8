/**
 * Whole sign-ins: ask for a code, wait for the mail, answer with the code. Mails take their time by design, so many
 * sign-ins are under way at once over few connections.
 */
import type { Flow } from './flows.ts'
import type { Connection } from './http.ts'
import type { SmtpSink } from './smtp-sink.ts'
import type { Tally } from './tally.ts'

export interface SignIns {
  readonly requests: number
  readonly seconds: number
  readonly rate?: number
  readonly connections: readonly Connection[]
  readonly tally: Tally
  readonly sink: SmtpSink
  readonly people: People
  readonly flow: Flow
}

interface SignIn {
  readonly email: string
  readonly network: number
  session: string | null
  code: string | null
  /** Since when the answer could have been sent. */
  ready: number
}

const underWayMax = 600
/** At a given rate people take up to this long to type the code; otherwise they are as fast as the mail. */
const typingMsMax = 500
/** A service that hashes codes with bcrypt takes its time when the machine is busy. */
const patienceMs = 60_000
/** One address may ask for five codes from one network in a quarter of an hour. */
const codesPerNetwork = 5

/** Who signs in, in turn: nobody twice while others wait. */
export class People {
  readonly #addresses: readonly string[]
  #taken = 0

  constructor(addresses: readonly string[]) {
    this.#addresses = addresses
  }

  get count(): number {
    return this.#addresses.length
  }

  next(): { email: string; network: number } {
    const [place, turn] = [this.#taken % this.count, Math.floor(this.#taken / this.count)]
    this.#taken++
    return {
      email: this.#addresses[place]!,
      network: place + Math.floor(turn / codesPerNetwork) * this.count,
    }
  }
}

/** Ends when the last that began has ended. */
export async function signIns(order: SignIns): Promise<void> {
  const { tally, sink, flow, people, rate } = order
  const free = [...order.connections]
  const answers: SignIn[] = []
  const underWay = new Map<string, SignIn>()
  const started = performance.now()
  const until = started + order.seconds * 1000
  let begun = 0
  let over = () => {}

  const dueAt = () => (rate === undefined ? performance.now() : started + (begun * 1000) / rate)
  const isLast = () => begun >= order.requests || performance.now() >= until
  const mayBegin = () =>
    !isLast() && underWay.size < Math.min(underWayMax, people.count / 2) && dueAt() <= performance.now()

  const ask = (request: string, since: number, done: (reply: string) => void) => {
    const connection = free.pop()!
    connection.send(request, (reply) => {
      tally.replied(since)
      free.push(connection)
      done(reply)
      turn()
    })
  }
  const end = (signIn: SignIn, failure?: string) => {
    underWay.delete(signIn.email)
    sink.forget(signIn.email)
    if (failure === undefined) tally.right()
    else tally.wrong(failure)
  }
  const answerIfReady = (signIn: SignIn) => {
    if (signIn.session === null || signIn.code === null) return
    signIn.ready = performance.now()
    answers.push(signIn)
  }
  const begin = () => {
    const who = people.next()
    if (underWay.has(who.email)) return
    const signIn: SignIn = { ...who, session: null, code: null, ready: 0 }
    const due = dueAt()
    begun++
    underWay.set(who.email, signIn)
    sink.expect(who.email, (code) => {
      const typed = () => {
        signIn.code = code
        answerIfReady(signIn)
        turn()
      }
      if (rate === undefined) typed()
      else setTimeout(typed, Math.random() * typingMsMax)
    })
    ask(flow.send(who.email, who.network), due, (reply) => {
      signIn.session = flow.sent(reply)
      if (signIn.session === null) return end(signIn, reply)
      answerIfReady(signIn)
    })
  }
  const answer = (signIn: SignIn) =>
    ask(flow.validate(signIn.email, signIn.code!, signIn.session!, signIn.network), signIn.ready, (reply) =>
      end(signIn, flow.isSignedIn(reply) ? undefined : reply),
    )
  // Those that can end go before those that would begin.
  const turn = () => {
    while (free.length > 0) {
      const signIn = answers.shift()
      if (signIn) answer(signIn)
      else if (mayBegin()) begin()
      else break
    }
    if (isLast() && underWay.size === 0) over()
  }

  const ended = new Promise<void>((resolve) => {
    over = resolve
  })
  const ticking = setInterval(turn, 1)
  const patience = setTimeout(
    () => {
      for (const signIn of underWay.values()) end(signIn, `no mail came within ${patienceMs} ms`)
      over()
    },
    order.seconds * 1000 + patienceMs,
  )
  await ended
  clearTimeout(patience)
  clearInterval(ticking)
}
