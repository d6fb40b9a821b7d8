/** Measuring in rounds, after everybody is warm. What is compared takes turns within a round: see load.ts. */
import type { Load } from './driver.ts'
import type { Order, Side, Slice } from './orders.ts'
import type { Server } from './processes.ts'

export interface Contestant {
  readonly name: string
  readonly server: Server
  readonly storePids: readonly number[]
  readonly traffic: Side['traffic']
  /** Requests until the server has seen each token and network, which is dear the first time. */
  readonly firstRequests?: number
}

const requests = 20_000
const seconds = 3
const turnRequests = 250
const turnSeconds = 0.1
/** Mails take half a second to arrive. And an address may ask for no more than twenty codes in a quarter of an hour. */
const signInTurn = { turnRequests: 600, turnSeconds: 1.5 }
const agreement = 0.05
const warmUpMax = 3
const firstSecondsMax = 60
const halfLoadSeconds = 1.5

function sideOf({ server, storePids, traffic }: Contestant): Side {
  const turn = traffic.kind === 'sign-ins' ? signInTurn : { turnRequests, turnSeconds }
  return { port: server.port, traffic, server: [server.pid], store: storePids, ...turn }
}

type More = Partial<Omit<Order, 'sides'>>

/** How many requests a server has answered so far. */
const answered = new WeakMap<Server, number>()
export const answeredBy = (server: Server) => answered.get(server) ?? 0

async function round(load: Load, contestants: readonly Contestant[], sides: Side[], more: More = {}) {
  const slices = await load.carryOut({ sides, requests, seconds, ...more })
  for (const [i, { done, failures, failure }] of slices.entries()) {
    const { name, server } = contestants[i]!
    answered.set(server, answeredBy(server) + done)
    if (failures > 0) throw new Error(`${name}: ${failures} wrong answers, the first: ${failure}`)
    if (done === 0) throw new Error(`${name}: nothing was answered`)
  }
  return slices
}

/** One of them alone, and no rounds. */
export async function measure(load: Load, one: Contestant, more: More): Promise<Slice> {
  const [slice] = await round(load, [one], [sideOf(one)], more)
  return slice!
}

/** One round in which requests are sent when they are due. */
export function halfLoad(load: Load, contestants: readonly Contestant[], rates: number[]): Promise<Slice[]> {
  const sides = contestants.map((one, i) => ({
    ...sideOf(one),
    rate: rates[i]!,
    turnRequests: Number.POSITIVE_INFINITY,
    turnSeconds: halfLoadSeconds,
  }))
  return round(load, contestants, sides, { requests: Number.POSITIVE_INFINITY, seconds: halfLoadSeconds })
}

/** Until two rounds, one after the other, give the same ratios within 5 %, or there is no more patience. */
async function warmUp(load: Load, contestants: readonly Contestant[]): Promise<void> {
  for (const one of contestants)
    if (one.firstRequests) await measure(load, one, { requests: one.firstRequests, seconds: firstSecondsMax })
  const sides = contestants.map(sideOf)
  let before = await round(load, contestants, sides)
  for (let i = 1; i < warmUpMax; i++) {
    const now = await round(load, contestants, sides)
    // Ratios to the first, not costs: the machine may be faster or slower by now.
    const cost = (slices: Slice[], at: number) => slices[at]!.cpuMicros / slices[0]!.cpuMicros
    if (now.every((_, at) => Math.abs(cost(now, at) / cost(before, at) - 1) < agreement)) return
    before = now
  }
}

/** For each contestant a slice a round. */
export async function inRounds(
  load: Load,
  contestants: readonly Contestant[],
  rounds: number,
): Promise<Slice[][]> {
  await warmUp(load, contestants)
  const slices: Slice[][] = contestants.map(() => [])
  for (let i = 0; i < rounds; i++) {
    // Whoever was first is last in the next round.
    const order = i % 2 === 0 ? [...contestants.keys()] : [...contestants.keys()].reverse()
    const inOrder = order.map((at) => contestants[at]!)
    const some = await round(load, inOrder, inOrder.map(sideOf))
    for (const [place, at] of order.entries()) slices[at]!.push(some[place]!)
  }
  return slices
}
