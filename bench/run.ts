/** The benchmark: `npm run bench`. README.md beside this file says what it can be asked. */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openBench, say } from './bench.ts'
import { buildAt, thisBuild } from './builds.ts'
import { cases } from './cases.ts'
import { slower } from './check.ts'
import { type Comparison, compare } from './compare.ts'
import { machine } from './machine.ts'
import { measurePeers } from './peers.ts'
import { quick, whole } from './plan.ts'
import { figuresTable, kept, restOf, targetsTable, write } from './report.ts'
import type { Figure, Pair, Results, Single } from './results.ts'
import { median } from './statistics.ts'
import { type Engine, engines } from './stores.ts'
import { Suite } from './suite.ts'
import { digits, whole as inFull } from './text.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    'self-check': { type: 'boolean', default: false },
    against: { type: 'string' },
    cases: { type: 'string' },
    engine: { type: 'string' },
    accounts: { type: 'string', default: '100000' },
    rounds: { type: 'string' },
  },
})

/** Those that were named, separated by commas; all without a name. */
function chosen<T>(text: string | undefined, all: readonly T[], nameOf: (one: T) => string): readonly T[] {
  if (text === undefined) return all
  return text.split(',').map((name) => {
    const one = all.find((candidate) => nameOf(candidate) === name)
    if (one === undefined) throw new Error(`there is no ${name}; there are ${all.map(nameOf).join(', ')}`)
    return one
  })
}

const theEngines = chosen<Engine>(values.engine, engines, (name) => name)
const plan = values.quick ? quick : whole
const theCases = chosen(values.cases ?? plan.cases?.join(), cases, ({ id }) => id)
/** Then nothing else is measured, and nothing written. */
const isPart = values.quick || values.cases !== undefined || values.engine !== undefined
const rounds = Number(values.rounds ?? plan.rounds)
const print = (text: string) => process.stdout.write(`${text}\n`)

const bench = await openBench()
for (const event of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(event, async () => {
    await bench.close()
    process.exit(1)
  })

try {
  if (values.against !== undefined || values['self-check']) await againstAnother()
  else if (values.check) await checkKept()
  else await measureAll()
} finally {
  await bench.close()
}

async function againstAnother(): Promise<void> {
  const before =
    values.against === undefined ? thisBuild : await buildAt(values.against, join(bench.folder, 'before'))
  const sizes = { veterinarians: Number(values.accounts), students: 5_000, tokens: 10_000 }
  const how = { cases: theCases, engines: theEngines, sizes, rounds: Number(values.rounds ?? 10), starts: 5 }
  say(`before: ${before.name}; now: ${thisBuild.name}`)
  const found = await compare(bench, before, thisBuild, how, tell)
  if (!values['self-check']) return
  const wrong = found.filter(({ id, cost }) => Math.abs(cost.median - 1) >= (id === 'sign-in' ? 0.08 : 0.05))
  for (const { id, engine } of wrong) print(`NOT STEADY ${id}, ${engine}`)
  if (wrong.length === 0) print('A build costs what it costs: no case differs from itself.')
  else process.exitCode = 1
}

function tell({ id, engine, before, now, cost, verdict }: Comparison): void {
  const of = (slices: typeof before, pick: 'cpuMicros' | 'perSecond' | 'p99' | 'storeMicros') =>
    median(slices.map((slice) => slice[pick]))
  const both = (pick: Parameters<typeof of>[1], text = digits) =>
    `${text(of(before, pick))} → ${text(of(now, pick))}`
  const percent = (ratio: number) => `${ratio >= 1 ? '+' : '−'}${Math.abs((ratio - 1) * 100).toFixed(1)} %`
  const database = engine === 'postgres' ? `, database ${both('storeMicros')}` : ''
  print(
    `${id.padEnd(12)} ${engine.padEnd(9)} ${percent(cost.median)} (${percent(cost.low)} to ${percent(cost.high)}) ${verdict}: ` +
      `${both('cpuMicros')} µs${database}; ${both('perSecond', inFull)} a second; p99 ${both('p99')} ms`,
  )
}

/** The chosen cases only, against the ratios in docs/performance.json. */
async function checkKept(): Promise<void> {
  const figures: Figure[] = []
  for (const engine of theEngines) {
    const suite = new Suite(bench, await bench.stores(engine), { ...plan, rounds })
    await suite.fill(false)
    await suite.requests(theCases, false)
    figures.push(...suite.figures)
  }
  print(figuresTable(figures))
  const worse = slower(kept(), figures)
  for (const line of worse) print(`SLOWER ${line}`)
  if (worse.length === 0) print('Nothing got slower.')
  else process.exitCode = 1
}

async function measureAll(): Promise<void> {
  const began = performance.now()
  const figures: Figure[] = []
  const pairs: Pair[] = []
  const singles: Single[] = []
  const left: string[] = []
  for (const engine of theEngines) {
    const suite = new Suite(bench, await bench.stores(engine), { ...plan, rounds })
    const withMore = theCases.length === cases.length
    await suite.fill(withMore)
    await suite.requests(theCases, withMore)
    if (withMore) {
      await suite.once()
      await suite.workers()
    }
    figures.push(...suite.figures)
    pairs.push(...suite.pairs)
    singles.push(...suite.singles)
  }
  if (!isPart) {
    const peers = await measurePeers(bench, plan.peer, rounds)
    if (peers.every(({ service }) => service !== 'PocketBase'))
      left.push('PocketBase was left out: there is no Go on this machine.')
    figures.push(...peers)
  }
  const results: Results = {
    date: new Date().toISOString().slice(0, 10),
    seconds: (performance.now() - began) / 1000,
    rounds,
    accounts: plan.accounts,
    machine: machine(),
    figures,
    pairs,
    singles,
    left,
  }
  print(`${figuresTable(figures)}\n${restOf(results)}\n${targetsTable(results)}`)
  print(`in ${inFull(results.seconds)} s`)
  if (!isPart) write(results)
}
