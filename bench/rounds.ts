/**
 * Measures the processor time of servers for a request. The servers take turns of some tens of milliseconds in each
 * round, so that whatever else the machine does affects all of them alike. Processor time is read while a server is
 * idle, so it includes work that a request leaves for later.
 */
import { Connection } from './http.ts'
import type { Load } from './load.ts'
import { cpuMicros, family, type Server } from './processes.ts'

export interface Side {
  readonly name: string
  /** Several share the load. */
  readonly servers: readonly Server[]
  /** The database server, where there is one. */
  readonly storePids: readonly number[]
  readonly load: Load
  readonly isSignIn: boolean
  /** The part of the usual load that it gets, if not all of it. */
  readonly share?: number
  /** Requests until the server has seen every token, which costs more the first time. */
  readonly first: number
}

/** Microseconds of processor time for a request, or for a whole sign-in. */
export interface Cost {
  readonly server: number
  readonly store: number
  /** Requests a second while the load lasted. */
  readonly rate: number
}

const connectionCount = 48
const requestsPerRound = 10_000
const secondsPerRound = 2
const turn = { requests: 250, seconds: 0.1 }
/** Mails take up to half a second. */
const signInTurn = { requests: 600, seconds: 1.5 }
const uncountedRounds = 2
const firstWithinSeconds = 60
const idleShare = 0.04
const idleForMs = 40
const idleWithinMs = 4_000

/** The costs of each side, one for each round. */
export async function measure(sides: readonly Side[], rounds: number): Promise<Cost[][]> {
  for (const side of sides.filter(({ first }) => first > 0)) {
    const connections = connect(side)
    await side.load({ connections, requests: side.first, seconds: firstWithinSeconds })
    disconnect(connections)
  }
  for (let i = 0; i < uncountedRounds; i++) await round(sides)
  const costs: Cost[][] = sides.map(() => [])
  for (let i = 0; i < rounds; i++) {
    const order = i % 2 === 0 ? [...sides.keys()] : [...sides.keys()].reverse()
    const found = await round(order.map((at) => sides[at]!))
    for (const [place, at] of order.entries()) costs[at]!.push(found[place]!)
  }
  return costs
}

async function round(sides: readonly Side[]): Promise<Cost[]> {
  const players = sides.map((side) => ({
    side,
    turn: turnOf(side),
    connections: connect(side),
    ...{ server: [] as number[], store: [] as number[] },
    ...{ requests: 0, seconds: 0, serverAt: 0, storeMicros: 0 },
  }))
  // PostgreSQL starts its processes with the first requests.
  for (const { side, connections } of players) await side.load({ ...turn, connections })
  for (const player of players) {
    player.server = family(player.side.servers.map(({ pid }) => pid))
    player.store = family(player.side.storePids)
    await untilIdle(player.server)
    player.serverAt = cpuMicros(player.server)
  }
  const isDone = ({ requests, seconds }: (typeof players)[number]) =>
    requests >= requestsPerRound || seconds >= secondsPerRound
  for (let left = players; left.length > 0; left = left.filter((player) => !isDone(player))) {
    for (const player of left) {
      const [since, storeBefore] = [performance.now(), cpuMicros(player.store)]
      player.requests += await player.side.load({ ...player.turn, connections: player.connections })
      player.seconds += (performance.now() - since) / 1000
      player.storeMicros += cpuMicros(player.store) - storeBefore
    }
  }
  const costs: Cost[] = []
  for (const { side, server, serverAt, requests, seconds, storeMicros, connections } of players) {
    await untilIdle(server)
    if (requests === 0) throw new Error(`${side.name}: no reply in a whole round`)
    costs.push({
      server: (cpuMicros(server) - serverAt) / requests,
      store: storeMicros / requests,
      rate: requests / seconds,
    })
    disconnect(connections)
  }
  return costs
}

async function untilIdle(pids: readonly number[]): Promise<void> {
  const timeout = performance.now() + idleWithinMs
  for (let before = cpuMicros(pids); performance.now() < timeout; ) {
    const since = performance.now()
    await new Promise((resolve) => setTimeout(resolve, idleForMs))
    const now = cpuMicros(pids)
    if (now - before < (performance.now() - since) * 1000 * idleShare) return
    before = now
  }
}

function turnOf({ isSignIn, share = 1 }: Side) {
  const { requests, seconds } = isSignIn ? signInTurn : turn
  return { requests: requests * share, seconds }
}

const connect = ({ servers, share = 1 }: Side) =>
  Array.from({ length: connectionCount * share }, (_, i) => new Connection(servers[i % servers.length]!.port))

function disconnect(connections: readonly Connection[]): void {
  for (const connection of connections) connection.end()
}
