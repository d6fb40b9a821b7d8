/** Two builds compared case by case, each on its own store. */
import { type Bench, say, tokens } from './bench.ts'
import { type Build, sameSchema } from './builds.ts'
import type { Case } from './cases.ts'
import { ratio, type Spread, spread, text } from './figures.ts'
import { type Cost, measure, type Side } from './rounds.ts'
import { type Engine, Filled } from './stores.ts'

/** Two processes of one build may differ by some percent, so every case is measured on several. */
const starts = 5
const students = 5_000

export interface Plan {
  readonly cases: readonly Case[]
  readonly engines: readonly Engine[]
  readonly accounts: number
  readonly rounds: number
}

export interface Difference {
  readonly one: Case
  readonly engine: Engine
  /** Processor time for a request: the second build's, divided by the first's in the same round. */
  readonly cost: Spread
}

export async function compare(bench: Bench, builds: [Build, Build], plan: Plan): Promise<Difference[]> {
  const [before, now] = builds
  const found: Difference[] = []
  for (const engine of plan.engines) {
    say(`${engine}: filling`)
    const stores = await bench.stores(engine)
    const sizes = { veterinarians: plan.accounts, students, tokens }
    const older = await new Filled(stores, 'before', before, sizes, bench.folder).create()
    const newer = sameSchema(before, now)
      ? await older.copy('now', now)
      : await new Filled(stores, 'now', now, sizes, bench.folder).create()
    const filled = [older, newer]
    for (const one of plan.cases) {
      // Kept over the starts: refresh tokens work only once.
      const loads = await Promise.all(filled.map(async (each) => one.load(await each.tokens(), bench.mail)))
      const costs: [Cost[], Cost[]] = [[], []]
      for (let start = 0; start < starts; start++) {
        const sides: Side[] = []
        for (const [i, build] of builds.entries()) {
          const server = await bench.serve(build, filled[i]!, one.limits)
          sides.push(bench.side(one, server, filled[i]!, loads[i]!))
        }
        const measured = await measure(sides, Math.ceil(plan.rounds / starts))
        for (const [i, some] of measured.entries()) costs[i]!.push(...some)
        for (const { servers } of sides) for (const server of servers) await server.stop()
      }
      const micros = costs.map((each) => each.map(({ server }) => server)) as [number[], number[]]
      const cost = ratio(micros[1], micros[0])
      found.push({ one, engine, cost })
      const both = micros.map((each) => text(spread(each))).join(' → ')
      const [storeBefore, storeNow] = costs.map((each) => each.map(({ store }) => store)) as [
        number[],
        number[],
      ]
      const store = engine === 'postgres' ? `, database × ${text(ratio(storeNow, storeBefore))}` : ''
      process.stdout.write(`${one.id.padEnd(9)} ${engine.padEnd(9)} × ${text(cost)}: ${both} µs${store}\n`)
    }
  }
  return found
}
