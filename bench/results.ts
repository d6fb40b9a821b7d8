/** What a run finds out. */
import type { Machine } from './machine.ts'
import type { Slice } from './orders.ts'
import { type Spread, spread } from './statistics.ts'
import type { Engine } from './stores.ts'

/** One service, one kind of request. */
export interface Figure {
  readonly id: string
  readonly name: string
  readonly service: 'Chiron' | 'PocketBase' | 'Better Auth'
  readonly engine: Engine
  readonly accounts: number
  readonly workers: number
  /** Processor time of the bare server for a request, divided by that of this one: 1 would be as cheap. */
  readonly ratio: Spread
  readonly cpuMicros: Spread
  /** Of the database server, where that is a process of its own. */
  readonly storeMicros: Spread | null
  readonly perSecond: Spread
  readonly p50: Spread
  readonly p99: Spread
  /** Of the bare server in the same rounds. */
  readonly bareMicros: Spread
  readonly barePerSecond: Spread
  readonly bareP99: Spread
}

/** The same request on two servers: costs and speeds, one divided by the other in the same round. */
export interface Pair {
  readonly id: string
  readonly name: string
  readonly what: 'accounts' | 'workers'
  readonly engine: Engine
  readonly cost: Spread
  readonly speed: Spread
}

/** A figure of its own kind. */
export interface Single {
  readonly id: string
  readonly name: string
  readonly engine: Engine
  readonly unit: string
  readonly value: Spread
}

export interface Results {
  readonly date: string
  readonly seconds: number
  readonly rounds: number
  readonly accounts: readonly [number, number]
  readonly machine: Machine
  readonly figures: readonly Figure[]
  readonly pairs: readonly Pair[]
  readonly singles: readonly Single[]
  /** What was left out, and why. */
  readonly left: readonly string[]
}

type About = Pick<Figure, 'id' | 'name' | 'service' | 'engine' | 'accounts' | 'workers'>

export function figureOf(about: About, slices: readonly Slice[], bare: readonly Slice[]): Figure {
  const of = (list: readonly Slice[], pick: (slice: Slice) => number) => spread(list.map(pick))
  return {
    ...about,
    ratio: spread(slices.map(({ cpuMicros }, i) => bare[i]!.cpuMicros / cpuMicros)),
    cpuMicros: of(slices, ({ cpuMicros }) => cpuMicros),
    storeMicros: about.engine === 'postgres' ? of(slices, ({ storeMicros }) => storeMicros) : null,
    perSecond: of(slices, ({ perSecond }) => perSecond),
    p50: of(slices, ({ p50 }) => p50),
    p99: of(slices, ({ p99 }) => p99),
    bareMicros: of(bare, ({ cpuMicros }) => cpuMicros),
    barePerSecond: of(bare, ({ perSecond }) => perSecond),
    bareP99: of(bare, ({ p99 }) => p99),
  }
}

export function pairOf(
  about: Omit<Pair, 'cost' | 'speed'>,
  slices: readonly Slice[],
  others: readonly Slice[],
): Pair {
  const over = (pick: (slice: Slice) => number) =>
    spread(slices.map((slice, i) => pick(slice) / pick(others[i]!)))
  return { ...about, cost: over(({ cpuMicros }) => cpuMicros), speed: over(({ perSecond }) => perSecond) }
}
