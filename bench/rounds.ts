/** Measuring in rounds, after everybody is warm. What is compared takes turns within a round: see load.ts. */
import type { Load } from './driver.ts'
import type { Side, Slice } from './orders.ts'
import type { Server } from './processes.ts'

export interface Contestant {
  readonly name: string
  readonly server: Server
  readonly storePids: readonly number[]
  readonly traffic: Side['traffic']
}

const requests = 20_000
const seconds = 3
const turnRequests = 1_000
const turnSeconds = 0.1
/** Mails take half a second to arrive. */
const signInSeconds = 1.5
const agreement = 0.05
const warmUpMax = 6

function sideOf({ server, storePids, traffic }: Contestant, rate?: number): Side {
  const isSignIns = traffic.kind === 'sign-ins'
  return {
    port: server.port,
    traffic,
    server: [server.pid],
    store: storePids,
    rate,
    turnRequests,
    turnSeconds: isSignIns ? signInSeconds : turnSeconds,
  }
}

async function round(load: Load, contestants: readonly Contestant[]): Promise<Slice[]> {
  const sides = contestants.map((one) => sideOf(one))
  const slices = await load.carryOut({ sides, requests, seconds })
  for (const [i, { done, failures, failure }] of slices.entries()) {
    const { name } = contestants[i]!
    if (failures > 0) throw new Error(`${name}: ${failures} wrong answers, the first: ${failure}`)
    if (done === 0) throw new Error(`${name}: nothing was answered`)
  }
  return slices
}

/** Until everybody's slices, one after the other, cost the same within 5 %, or there is no more patience. */
async function warmUp(load: Load, contestants: readonly Contestant[]): Promise<void> {
  let before = await round(load, contestants)
  for (let i = 1; i < warmUpMax; i++) {
    const now = await round(load, contestants)
    // By the ratio to the first, since the machine may be faster or slower by now.
    const cost = (slices: Slice[], at: number) =>
      slices[at]!.cpuMicros / (at === 0 ? 1 : slices[0]!.cpuMicros)
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
    const some = await round(
      load,
      order.map((at) => contestants[at]!),
    )
    for (const [place, at] of order.entries()) slices[at]!.push(some[place]!)
  }
  return slices
}
