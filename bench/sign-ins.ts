/**
 * Whole sign-ins: ask for a code, wait for the mail, answer with the code. Mails take their time by design, so many
 * sign-ins are under way at once over few connections. A code sent and a code accepted are half a sign-in each: so it does
 * not matter if, in the time that counts, more begin than end.
 */
import { json, type Line, wire } from './line.ts'
import { sendOtp, verifyOtp } from './peers/better-auth/peer.ts'
import type { SmtpSink } from './smtp-sink.ts'
import type { Tally } from './tally.ts'

interface Flow {
  send(email: string): string
  /** What the answer to the code needs besides it; null if the reply is not the right one. */
  sent(reply: string): string | null
  validate(email: string, code: string, session: string): string
  isSignedIn(reply: string): boolean
}

const chiron = (headersFor: (email: string) => Record<string, string>): Flow => {
  const post = (action: string, email: string, body: string) =>
    wire({
      method: 'POST',
      path: `/veterinarian/${action}`,
      headers: { ...json, ...headersFor(email) },
      body,
    })
  return {
    send: (email) => post('send-otp', email, `{"email":"${email}"}`),
    sent: (reply) => (reply.startsWith('HTTP/1.1 202 ') && /"sessionId":"([^"]+)"/.exec(reply)?.[1]) || null,
    validate: (email, code, sessionId) =>
      post('validate-otp', email, `{"email":"${email}","otp_code":${code},"sessionId":"${sessionId}"}`),
    isSignedIn: (reply) => reply.startsWith('HTTP/1.1 200 ') && reply.includes('"access_token":"'),
  }
}

/** A network of its own for each address: the number in it becomes one of 10.0.0.0/8. */
function network(email: string): string {
  const number = Number(/(\d+)@/.exec(email)?.[1] ?? 0)
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`
}

export const flows = {
  chiron: chiron(() => ({})),
  'chiron, own networks': chiron((email) => ({ 'x-forwarded-for': network(email) })),
  'better-auth': {
    send: (email) => wire(sendOtp(email)),
    sent: (reply) => (reply.startsWith('HTTP/1.1 200 ') && reply.includes('"success":true') ? '-' : null),
    validate: (email, code) => wire(verifyOtp(email, code)),
    isSignedIn: (reply) => reply.startsWith('HTTP/1.1 200 ') && reply.includes('"token":"'),
  },
} satisfies Record<string, Flow>

export interface SignInsOrder {
  readonly seconds: number
  readonly rate?: number
  readonly lines: readonly Line[]
  readonly tally: Tally
  readonly sink: SmtpSink
  readonly addresses: readonly string[]
  readonly flow: Flow
}

interface SignIn {
  readonly email: string
  session: string | null
  code: string | null
  /** Since when the answer could have been sent. */
  ready: number
}

const underWayMax = 600
/** Not counted: until mails arrive. */
const rampMs = 500
/** At a given rate people take up to this long to type the code; otherwise they are as fast as the mail. */
const typingMsMax = 500
const patienceMs = 15_000

// Where the last order left off: no address twice while others wait.
let next = 0

export async function signIns(order: SignInsOrder): Promise<void> {
  const { tally, sink, flow, addresses, rate } = order
  const free = [...order.lines]
  const answers: SignIn[] = []
  const underWay = new Map<string, SignIn>()
  const started = performance.now()
  const openAfterMs = rate === undefined ? rampMs : rampMs + typingMsMax
  let begun = 0
  let stopped = false
  let over = () => {}

  const dueAt = () => (rate === undefined ? performance.now() : started + (begun * 1000) / rate)
  const mayBegin = () =>
    !stopped && underWay.size < Math.min(underWayMax, addresses.length) && dueAt() <= performance.now()

  const ask = (request: string, since: number, done: (reply: string) => void) => {
    const line = free.pop()!
    line.send(request, (reply) => {
      tally.replied(since)
      free.push(line)
      done(reply)
      turn()
    })
  }
  const end = (signIn: SignIn, failure?: string) => {
    underWay.delete(signIn.email)
    sink.forget(signIn.email)
    if (failure === undefined) tally.done(0.5)
    else tally.failed(failure)
  }
  const answerIfReady = (signIn: SignIn) => {
    if (signIn.session === null || signIn.code === null) return
    signIn.ready = performance.now()
    answers.push(signIn)
  }
  const begin = () => {
    while (underWay.has(addresses[next % addresses.length]!)) next++
    const email = addresses[next++ % addresses.length]!
    const signIn: SignIn = { email, session: null, code: null, ready: 0 }
    const due = dueAt()
    begun++
    underWay.set(email, signIn)
    sink.expect(email, (code) => {
      const typed = () => {
        signIn.code = code
        answerIfReady(signIn)
        turn()
      }
      if (rate === undefined) typed()
      else setTimeout(typed, Math.random() * typingMsMax)
    })
    ask(flow.send(email), due, (reply) => {
      signIn.session = flow.sent(reply)
      if (signIn.session === null) return end(signIn, reply)
      tally.done(0.5)
      answerIfReady(signIn)
    })
  }
  const answer = (signIn: SignIn) =>
    ask(flow.validate(signIn.email, signIn.code!, signIn.session!), signIn.ready, (reply) =>
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
    if (stopped && underWay.size === 0) over()
  }

  const ended = new Promise<void>((resolve) => {
    over = resolve
  })
  const ticking = setInterval(turn, 1)
  setTimeout(() => tally.open(), openAfterMs)
  setTimeout(
    () => {
      tally.close()
      stopped = true
      turn()
    },
    openAfterMs + order.seconds * 1000,
  )
  const patience = setTimeout(
    () => {
      for (const signIn of underWay.values()) end(signIn, `no mail came within ${patienceMs} ms`)
      over()
    },
    openAfterMs + order.seconds * 1000 + patienceMs,
  )
  await ended
  clearTimeout(patience)
  clearInterval(ticking)
}
