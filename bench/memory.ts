/**
 * Memory of the service after many requests of many sessions, read from outside: `node bench/memory.ts`. It must not grow
 * with the number of requests.
 */
import { parseArgs } from 'node:util'
import { Bench, say } from './bench.ts'
import { thisBuild } from './builds.ts'
import { cases } from './cases.ts'
import { table } from './figures.ts'
import { Connection } from './http.ts'
import { family, residentMb } from './processes.ts'
import { type Engine, engines, Filled } from './stores.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: engines.join(',') },
    cases: { type: 'string', default: 'me' },
    requests: { type: 'string', default: '1000000' },
    sessions: { type: 'string', default: '50000' },
  },
})
const requests = Number(values.requests)
const sessions = Number(values.sessions)
const connectionCount = 48
const readings = 10
/** Access tokens live for 15 minutes. */
const minutesMax = 12

const bench = await Bench.open()
try {
  const columns: string[][] = []
  for (const engine of values.engine.split(',')) columns.push(await memory(engine as Engine))
  const counts = Array.from({ length: readings + 1 }, (_, i) =>
    ((requests / readings) * i).toLocaleString('en'),
  )
  const rows = counts.map((count, i) => [count, ...columns.map((column) => column[i + 1] ?? '–')])
  process.stdout.write(table([['requests', ...columns.map(([engine]) => `${engine}, MiB`)], ...rows]))
} finally {
  await bench.close()
}

/** The name of the engine, then a reading before the first request and after each tenth of them. */
async function memory(engine: Engine): Promise<string[]> {
  say(`${engine}: filling`)
  const sizes = { veterinarians: sessions, students: 0, tokens: sessions }
  const stores = await bench.stores(engine)
  const filled = await new Filled(stores, 'memory', thisBuild, sizes, bench.folder).create()
  const server = await bench.serve(thisBuild, filled)
  const found = [engine as string]
  const read = () => {
    found.push(residentMb(family([server.pid])).toFixed(0))
    say(`${engine}: ${found.at(-1)} MiB`)
  }
  read()
  const tokens = await filled.tokens()
  const loads = values.cases
    .split(',')
    .map((name) => cases.find(({ id }) => id === name)!.load(tokens, bench.mail))
  const connections = Array.from({ length: connectionCount }, () => new Connection(server.port))
  const until = performance.now() + minutesMax * 60_000
  for (let i = 0; i < readings && performance.now() < until; i++) {
    for (const load of loads) {
      const seconds = (until - performance.now()) / 1000
      await load({ connections, requests: requests / readings / loads.length, seconds })
    }
    if (performance.now() < until) read()
  }
  for (const connection of connections) connection.end()
  await server.stop()
  return found
}
