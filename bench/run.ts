/** The benchmark: `npm run bench`. README.md lists its options. */
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { compare } from './against.ts'
import { Bench } from './bench.ts'
import { buildAt, thisBuild } from './builds.ts'
import { cases } from './cases.ts'
import { measurePeers } from './peers.ts'
import { engines } from './stores.ts'
import { measureAll } from './suite.ts'

const { values } = parseArgs({
  options: {
    against: { type: 'string' },
    'self-check': { type: 'boolean', default: false },
    peers: { type: 'boolean', default: false },
    cases: { type: 'string' },
    engine: { type: 'string' },
    accounts: { type: 'string' },
    rounds: { type: 'string' },
  },
})

function chosen<T>(list: string | undefined, all: readonly T[], nameOf: (one: T) => string): readonly T[] {
  if (list === undefined) return all
  return list.split(',').map((name) => {
    const one = all.find((candidate) => nameOf(candidate) === name)
    if (one === undefined) throw new Error(`${name} is none of ${all.map(nameOf).join(', ')}`)
    return one
  })
}

const plan = {
  cases: chosen(values.cases, cases, ({ id }) => id),
  engines: chosen(values.engine, engines, (name) => name),
  accounts: Number(values.accounts ?? 100_000),
  rounds: Number(values.rounds ?? 10),
}

const bench = await Bench.open()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => bench.close().finally(() => process.exit(1)))

try {
  const [cpu] = cpus()
  process.stdout.write(`${process.version}, ${cpu?.model}, ${cpus().length} cores, ${plan.rounds} rounds\n\n`)
  if (values['self-check']) await selfCheck()
  else if (values.against !== undefined) {
    const before = await buildAt(values.against, join(bench.folder, 'before'))
    await compare(bench, [before, thisBuild], plan)
  } else if (values.peers) await measurePeers(bench, plan)
  else await measureAll(bench, plan)
} finally {
  await bench.close()
}

/** How far does this tree seem to differ from itself? */
async function selfCheck(): Promise<void> {
  const found = await compare(bench, [thisBuild, thisBuild], plan)
  const most = (id: string) => (id === 'sign-in' ? 0.08 : 0.05)
  const unsteady = found.filter(({ one, cost }) => Math.abs(cost.median - 1) > most(one.id))
  for (const { one, engine } of unsteady) process.stdout.write(`unsteady: ${one.id}, ${engine}\n`)
  if (unsteady.length > 0) process.exitCode = 1
}
