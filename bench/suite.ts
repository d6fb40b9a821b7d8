/** All figures of Chiron: processor time for a request against the bare server's, growth, start and memory. */
import type { Plan } from './against.ts'
import { type Bench, say, tokens } from './bench.ts'
import { thisBuild } from './builds.ts'
import { ratio, spread, table, text } from './figures.ts'
import { cpuMicros, family, residentMb, type Server } from './processes.ts'
import { type Cost, measure } from './rounds.ts'
import { Filled } from './stores.ts'

const studentCount = 5_000
const ofStudents = ['student', 'classes']
const fewAccounts = 1_000
/** Also measured in a store with few accounts. */
const byAccounts = ['me', 'sign-in']
const startsCounted = 5
const settlesMs = 1_500

const micros = (costs: readonly Cost[]) => costs.map(({ server }) => server)

export async function measureAll(bench: Bench, { cases, engines, accounts, rounds }: Plan): Promise<void> {
  const costs: string[][] = [['', 'engine', 'µs', '× bare', 'database, µs']]
  const growth: string[][] = [['', 'engine', `${accounts.toLocaleString('en')} accounts to 1,000`]]
  const processes: string[][] = [
    ['engine', 'start, ms of processor time', 'memory at rest, MiB', 'memory under load, MiB'],
  ]
  for (const engine of engines) {
    const stores = await bench.stores(engine)
    say(`${engine}: filling`)
    const fill = (name: string, veterinarians: number, students: number) =>
      new Filled(stores, name, thisBuild, { veterinarians, students, tokens }, bench.folder).create()
    const withStudents = cases.some(({ id }) => ofStudents.includes(id))
    const large = await fill('large', accounts, withStudents ? studentCount : 0)
    const small = await fill('small', fewAccounts, 0)
    const starting = await starts(bench, large)
    let loaded = 0
    for (const one of cases) {
      const filled = byAccounts.includes(one.id) ? [large, small] : [large]
      const servers: Server[] = []
      for (const each of filled) servers.push(await bench.serve(thisBuild, each, one.limits))
      const sides = [bench.bare(one.replyBytes)]
      for (const [i, each] of filled.entries())
        sides.push(bench.side(one, servers[i]!, each, one.load(await each.tokens(), bench.mail)))
      const [bare, own, few] = await measure(sides, rounds)
      loaded = Math.max(loaded, residentMb(family([servers[0]!.pid])))
      const store = engine === 'postgres' ? text(spread(own!.map((cost) => cost.store))) : '–'
      const times = text(ratio(micros(own!), micros(bare!)))
      costs.push([one.name, engine, text(spread(micros(own!))), times, store])
      say(`${engine}: ${one.name}: ${text(spread(micros(own!)))} µs, × ${times} bare`)
      if (few) growth.push([one.name, engine, `× ${text(ratio(micros(own!), micros(few)))}`])
      for (const server of servers) await server.stop()
    }
    processes.push([engine, starting.ms, starting.mib, loaded.toFixed(0)])
  }
  process.stdout.write([costs, growth, processes].map(table).join('\n'))
}

/** The server is started and then left alone. */
async function starts(bench: Bench, store: Filled): Promise<{ ms: string; mib: string }> {
  const [ms, mib]: [number[], number[]] = [[], []]
  for (let i = 0; i <= startsCounted; i++) {
    const server = await bench.serve(thisBuild, store)
    const pids = family([server.pid])
    const used = cpuMicros(pids) / 1000
    await new Promise((resolve) => setTimeout(resolve, settlesMs))
    // The first start fills the caches.
    if (i > 0) ms.push(used)
    if (i > 0) mib.push(residentMb(pids))
    await server.stop()
  }
  return { ms: text(spread(ms)), mib: text(spread(mib)) }
}
