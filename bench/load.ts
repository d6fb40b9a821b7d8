/**
 * The load, a process of its own so that it can have a core of its own; the mail server is in it. Takes `Deck`s to
 * keep and `Order`s to carry out from its parent, and answers each.
 *
 * Sides take turns of some tens of milliseconds, so that whatever disturbs the machine disturbs all alike. A server's
 * processor time is read at rest, before its first turn and after all that its last one set off, so that it belongs to
 * exactly the requests that were counted.
 */
import { flows } from './flows.ts'
import { Connection } from './http.ts'
import type { Card, Deck, Order, Side, Slice } from './orders.ts'
import { type Source, sourceOf } from './requests.ts'
import { People, signIns } from './sign-ins.ts'
import { SmtpSink } from './smtp-sink.ts'
import { Tally } from './tally.ts'
import { atRate, closedLoop } from './turns.ts'
import { cpuMicros, family } from './usage.ts'

const connectionCount = 48
const wakingRequests = 250
/** A server that takes less of its core than this is at rest. */
const restingShare = 0.04
const restMs = 40
const restWithinMs = 4_000

const decks = new Map<string, readonly Card[]>()
const sink = await SmtpSink.listen()

/** One for each deck: turns together reach all cards, and rotated tokens are kept, also when a server starts anew. */
const known = new Map<string, Source | People>()
function keep<T extends Source | People>({ traffic }: Side, make: (cards: readonly Card[]) => T): T {
  const deck = 'deck' in traffic ? traffic.deck : traffic.kind
  const one = known.get(deck) ?? make(decks.get(deck) ?? [])
  known.set(deck, one)
  return one as T
}

/** Cards that are kept already go on where they were. */
function take({ deck, cards }: Deck): void {
  if (decks.get(deck)?.[0]?.text === cards[0]?.text) return
  decks.set(deck, cards)
  known.delete(deck)
}

async function untilAtRest(pids: readonly number[]): Promise<void> {
  const patience = performance.now() + restWithinMs
  for (let before = cpuMicros(pids); performance.now() < patience; ) {
    const since = performance.now()
    await new Promise((resolve) => setTimeout(resolve, restMs))
    const now = cpuMicros(pids)
    if (now - before < (performance.now() - since) * 1000 * restingShare) return
    before = now
  }
}

/** One side on its way through a round. */
class Player {
  readonly side: Side
  readonly #server: readonly number[]
  #store: readonly number[] = []
  readonly #connections: readonly Connection[]
  #tally = new Tally()
  #cpu = 0
  #storeCpu = 0
  #seconds = 0
  #turns: { at: number; cpuMicros: number }[] = []

  constructor(side: Side) {
    this.side = side
    this.#server = family(side.server)
    this.#connections = Array.from({ length: connectionCount }, () => new Connection(side.port))
  }

  /** From here on it counts. */
  async begin(): Promise<void> {
    await untilAtRest(this.#server)
    // What was wrong already then must not be forgotten.
    if (this.#tally.failures === 0) this.#tally = new Tally()
    this.#seconds = 0
    // Looking for them takes milliseconds, so not in every turn. By now PostgreSQL has a process for each connection.
    this.#store = family(this.side.store)
    this.#storeCpu = 0
    this.#turns = []
    this.#cpu = cpuMicros(this.#server)
  }

  hasEnough({ requests, seconds }: Order): boolean {
    return this.#tally.done >= requests || this.#seconds >= seconds || this.#tally.failures > 0
  }

  async turn(requestsMax = Number.POSITIVE_INFINITY): Promise<void> {
    const { turnRequests, turnSeconds } = this.side
    const storeBefore = cpuMicros(this.#store)
    const since = performance.now()
    const [cpuBefore, doneBefore] = [cpuMicros(this.#server), this.#tally.done]
    await this.#send(Math.min(turnRequests, requestsMax), turnSeconds)
    this.#seconds += (performance.now() - since) / 1000
    const cost = (cpuMicros(this.#server) - cpuBefore) / (this.#tally.done - doneBefore)
    this.#turns.push({ at: this.#seconds, cpuMicros: cost })
    this.#storeCpu += cpuMicros(this.#store) - storeBefore
    this.#tally.endTurn()
  }

  async end(): Promise<Slice> {
    await untilAtRest(this.#server)
    const cpu = cpuMicros(this.#server) - this.#cpu
    for (const connection of this.#connections) connection.end()
    const tally = this.#tally
    return {
      done: tally.done,
      perSecond: tally.perSecond,
      cpuMicros: cpu / tally.done,
      storeMicros: this.#storeCpu / tally.done,
      p50: tally.latency(0.5),
      p99: tally.latency(0.99),
      failures: tally.failures,
      failure: tally.failure,
      turns: this.#turns,
    }
  }

  #send(requests: number, seconds: number): Promise<void> {
    const { traffic, rate } = this.side
    const turn = { requests, seconds, connections: this.#connections, tally: this.#tally }
    if (traffic.kind === 'sign-ins') {
      const people = keep(this.side, (cards) => new People(cards.map(({ text }) => text)))
      return signIns({ ...turn, rate, sink, people, flow: flows[traffic.flow] })
    }
    const next = keep(this.side, (cards) => sourceOf(traffic, cards))
    return rate === undefined ? closedLoop(turn, next) : atRate(turn, rate, next)
  }
}

async function carryOut(order: Order): Promise<Slice[]> {
  const players = order.sides.map((side) => new Player(side))
  if (!order.cold) for (const player of players) await player.turn(wakingRequests)
  await Promise.all(players.map((player) => player.begin()))
  for (let waiting = players; waiting.length > 0; ) {
    for (const player of waiting) await player.turn()
    waiting = waiting.filter((player) => !player.hasEnough(order))
  }
  return Promise.all(players.map((player) => player.end()))
}

process.on('disconnect', () => process.exit())
process.on('message', async ({ id, message }: { id: number; message: Deck | Order }) => {
  if ('deck' in message) take(message)
  process.send!({ id, slices: 'deck' in message ? [] : await carryOut(message) })
})
process.send!({ smtpPort: sink.port })
