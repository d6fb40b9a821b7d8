/** The benchmark: `npm run bench`. README.md beside this file says what it can be asked. */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openBench, say } from './bench.ts'
import { buildAt, thisBuild } from './builds.ts'
import { cases } from './cases.ts'
import { type Comparison, compare } from './compare.ts'
import { median } from './statistics.ts'
import { type Engine, engines } from './stores.ts'

const { values } = parseArgs({
  options: {
    against: { type: 'string' },
    'self-check': { type: 'boolean', default: false },
    cases: { type: 'string' },
    engine: { type: 'string' },
    accounts: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '6' },
    starts: { type: 'string', default: '2' },
  },
})

function chosen<T>(text: string | undefined, all: readonly T[], nameOf: (one: T) => string): readonly T[] {
  if (text === undefined) return all
  return text.split(',').map((name) => {
    const one = all.find((candidate) => nameOf(candidate) === name)
    if (one === undefined) throw new Error(`there is no ${name}; there are ${all.map(nameOf).join(', ')}`)
    return one
  })
}

const chosenCases = chosen(values.cases, cases, ({ id }) => id)
const chosenEngines = chosen<Engine>(values.engine, engines, (name) => name)

const bench = await openBench()
for (const event of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(event, async () => {
    await bench.close()
    process.exit(1)
  })

const percent = (ratio: number) => `${ratio >= 1 ? '+' : '−'}${Math.abs((ratio - 1) * 100).toFixed(1)} %`

function tell({ id, engine, before, now, cost, verdict }: Comparison): void {
  const of = (outcomes: typeof before, pick: 'cpuMicros' | 'perSecond' | 'p99' | 'storeMicros') =>
    median(outcomes.map((outcome) => outcome[pick]))
  const store =
    engine === 'postgres'
      ? `, database ${of(before, 'storeMicros').toFixed(1)} → ${of(now, 'storeMicros').toFixed(1)}`
      : ''
  if (process.env.BENCH_RAW)
    process.stderr.write(
      `${before.map((b, i) => `${b.cpuMicros.toFixed(1)}/${now[i]!.cpuMicros.toFixed(1)} @${Math.round(b.perSecond)}/${Math.round(now[i]!.perSecond)}`).join('  ')}\n`,
    )
  process.stdout.write(
    `${id.padEnd(12)} ${engine.padEnd(9)} ${of(before, 'cpuMicros').toFixed(1)} → ${of(now, 'cpuMicros').toFixed(1)} µs${store}  ` +
      `${percent(cost.median)} (${percent(cost.low)} to ${percent(cost.high)})  ${verdict}  ` +
      `${Math.round(of(before, 'perSecond'))} → ${Math.round(of(now, 'perSecond'))}/s  p99 ${of(before, 'p99').toFixed(1)} → ${of(now, 'p99').toFixed(1)} ms\n`,
  )
}

try {
  const before =
    values.against === undefined ? thisBuild : await buildAt(values.against, join(bench.folder, 'before'))
  const plan = {
    cases: chosenCases,
    engines: chosenEngines,
    sizes: { veterinarians: Number(values.accounts), students: 5_000, tokens: 20_000 },
    rounds: Number(values.rounds),
    starts: Number(values.starts),
  }
  say(`before: ${before.name}; now: ${thisBuild.name}`)
  await compare(bench, before, thisBuild, plan, tell)
} finally {
  await bench.close()
}
