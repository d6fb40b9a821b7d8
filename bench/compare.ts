/** Two builds against each other, case by case, each on a store of its own. */
import { freePort } from '../test/support/postgres.ts'
import { type Bench, say } from './bench.ts'
import { type Build, sameSchema, serve } from './builds.ts'
import type { Case } from './cases.ts'
import type { Slice } from './orders.ts'
import { type Contestant, inRounds } from './rounds.ts'
import { difference, type Spread, spread } from './statistics.ts'
import { type Engine, Filled, type Sizes } from './stores.ts'

export interface Comparison {
  readonly id: string
  readonly engine: Engine
  readonly before: readonly Slice[]
  readonly now: readonly Slice[]
  /** Processor time for a request: now, divided by before, in the same round. */
  readonly cost: Spread
  readonly verdict: ReturnType<typeof difference>
}

export interface Plan {
  readonly cases: readonly Case[]
  readonly engines: readonly Engine[]
  readonly sizes: Sizes
  readonly rounds: number
  /** Processes are started anew so many times: two of one build may differ by some percent. */
  readonly starts: number
}

/** What two processes of one build were seen to differ by at most. */
export const leastDifference = (one: Pick<Case, 'id'>) => (one.id === 'sign-in' ? 0.04 : 0.03)

export async function compare(
  bench: Bench,
  before: Build,
  now: Build,
  plan: Plan,
  told: (comparison: Comparison) => void,
): Promise<Comparison[]> {
  const comparisons: Comparison[] = []
  for (const engine of plan.engines) {
    const stores = await bench.stores(engine)
    say(`filling, ${engine}`)
    const older = await Filled.make(stores, 'before', before, bench.folder, plan.sizes)
    const newer = sameSchema(before, now)
      ? await older.copy('now', now)
      : await Filled.make(stores, 'now', now, bench.folder, plan.sizes)
    const sides = [
      { build: before, store: older },
      { build: now, store: newer },
    ]
    for (const one of plan.cases) {
      const slices: [Slice[], Slice[]] = [[], []]
      for (let start = 0; start < plan.starts; start++) {
        const contestants: Contestant[] = []
        for (const { build, store } of sides) {
          const databaseUrl = store.url
          const { smtpUrl } = bench.load
          const serving = { databaseUrl, smtpUrl, port: await freePort(), cwd: bench.folder }
          const server = await serve(build, { ...serving, limits: one.limits })
          const deck = `${engine} ${store.name} ${one.id}`
          const cards = one.cards(await store.tokens())
          await bench.load.keep({ deck, cards })
          const name = `${one.id}, ${build.name}`
          const traffic = one.traffic(deck)
          const firstRequests = traffic.kind === 'requests' ? cards.length : 0
          contestants.push({ name, server, storePids: stores.pids, traffic, firstRequests })
        }
        const [first, second] = await inRounds(bench.load, contestants, Math.ceil(plan.rounds / plan.starts))
        slices[0].push(...first!)
        slices[1].push(...second!)
        await Promise.all(contestants.map(({ server }) => server.stop()))
      }
      const cost = spread(slices[1].map((slice, i) => slice.cpuMicros / slices[0][i]!.cpuMicros))
      const verdict = difference(cost, leastDifference(one))
      const comparison = { id: one.id, engine, before: slices[0], now: slices[1], cost, verdict }
      comparisons.push(comparison)
      told(comparison)
    }
  }
  return comparisons
}
