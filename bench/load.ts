/**
 * The load, a process of its own so that it can have a core of its own; the mail server is in it. Takes `Deck`s to
 * keep and `Order`s to carry out from its parent, and answers each.
 */
import { Line } from './line.ts'
import { flows, signIns } from './sign-ins.ts'
import { SmtpSink } from './smtp-sink.ts'
import { Tally } from './tally.ts'
import { type Card, type Source, sourceOf } from './traffic.ts'

export interface Deck {
  readonly deck: string
  readonly cards: readonly Card[]
}

export type Traffic =
  | { readonly kind: 'requests'; readonly deck: string; readonly status: number }
  | { readonly kind: 'refresh'; readonly deck: string }
  | { readonly kind: 'register' }
  | { readonly kind: 'sign-ins'; readonly deck: string; readonly flow: keyof typeof flows }

export interface Order {
  readonly port: number
  readonly traffic: Traffic
  readonly connections: number
  readonly seconds: number
  /** Every card so many times, instead of for some seconds. */
  readonly passes?: number
  /** Requests or sign-ins a second; as many as possible without it. Latency then counts from when one was due. */
  readonly rate?: number
  /** Processes, by what they are, whose processor time is wanted. */
  readonly watch: Readonly<Record<string, readonly number[]>>
}

export interface Outcome {
  /** Requests, or whole sign-ins. */
  readonly done: number
  readonly seconds: number
  readonly failures: number
  /** The first reply that was not as expected. */
  readonly failure: string | null
  /** Of single requests, in milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly cpuSeconds: Readonly<Record<string, number>>
}

/** Not counted: caches and compiled code are another server's at first. */
const leadInOf = ({ seconds }: Order) => seconds / 2

const decks = new Map<string, readonly Card[]>()
const sources = new Map<string, Source>()
const sink = await SmtpSink.listen()

/** One for all orders of a kind, so that short ones together reach all cards, and rotated tokens are kept. */
function source(traffic: Exclude<Traffic, { kind: 'sign-ins' }>): Source {
  const key = JSON.stringify(traffic)
  const cards = 'deck' in traffic ? decks.get(traffic.deck)! : []
  const known = sources.get(key) ?? sourceOf(traffic, cards)
  sources.set(key, known)
  return known
}

async function carryOut(order: Order): Promise<Outcome> {
  const tally = new Tally(order.watch)
  const lines = Array.from({ length: order.connections }, () => new Line(order.port))
  const { traffic } = order
  if (traffic.kind === 'sign-ins') {
    const addresses = decks.get(traffic.deck)!.map((card) => card.text)
    await signIns({ ...order, lines, tally, sink, addresses, flow: flows[traffic.flow] })
  } else {
    const opening = setTimeout(() => tally.open(), order.passes === undefined ? leadInOf(order) * 1000 : 0)
    await (order.rate === undefined
      ? closedLoop(order, lines, source(traffic), tally)
      : atRate({ ...order, rate: order.rate }, lines, source(traffic), tally))
    clearTimeout(opening)
    tally.close()
  }
  for (const line of lines) line.end()
  return tally.outcome()
}

/** Each connection asks again as soon as it has its answer. */
async function closedLoop(order: Order, lines: Line[], next: Source, tally: Tally): Promise<void> {
  const until = performance.now() + (leadInOf(order) + order.seconds) * 1000
  let left = order.passes === undefined ? Number.POSITIVE_INFINITY : order.passes * next.size
  const caller = (line: Line) =>
    new Promise<void>((resolve) => {
      const one = () => {
        const since = performance.now()
        if (left-- <= 0 || (order.passes === undefined && since >= until)) return resolve()
        const asking = next.take()
        line.send(asking.request, (reply) => {
          tally.replied(since)
          if (asking.isRight(reply)) tally.done()
          else tally.failed(reply)
          if (reply === '') return resolve()
          one()
        })
      }
      one()
    })
  await Promise.all(lines.map(caller))
}

/** Sends when a request is due, whether or not those before it have been answered. */
function atRate(order: Order & { rate: number }, lines: Line[], next: Source, tally: Tally): Promise<void> {
  return new Promise((resolve) => {
    const free = [...lines]
    let started = performance.now()
    const countsFrom = started + leadInOf(order) * 1000
    const until = countsFrom + order.seconds * 1000
    let sent = 0
    const dueAt = () => started + (sent * 1000) / order.rate
    const sendDue = () => {
      const now = performance.now()
      while (now < until && dueAt() <= now && free.length > 0) {
        const [line, due, asking] = [free.pop()!, dueAt(), next.take()]
        sent++
        line.send(asking.request, (reply) => {
          tally.replied(due)
          if (asking.isRight(reply)) tally.done()
          else tally.failed(reply)
          free.push(line)
          sendDue()
        })
      }
    }
    const turn = () => {
      // What a server that had to wake up first could not take in time is not due any more.
      if (started < countsFrom && performance.now() >= countsFrom) [started, sent] = [performance.now(), 0]
      sendDue()
      if (performance.now() >= until && free.length === lines.length) return resolve()
      setTimeout(turn, 1)
    }
    turn()
  })
}

process.on('disconnect', () => process.exit())
process.on('message', async ({ id, message }: { id: number; message: Deck | Order }) => {
  if ('deck' in message) decks.set(message.deck, message.cards)
  process.send!({ id, outcome: 'deck' in message ? null : await carryOut(message) })
})
process.send!({ smtpPort: sink.port })
