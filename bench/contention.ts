/**
 * Whether processes on one PostgreSQL get in each other's way: what a read with a token and a sign-in cost with 1, 2 and 4
 * of them, and with 4 that have a database each. Processor time of the processes and of PostgreSQL, throughput, and how many
 * connections wait for a lock.
 *
 * Each process gets the same number of callers, who never pause: with fewer, it would answer fewer at once, which costs more
 * for each. On a machine with few cores, throughput cannot grow with the processes, and processes that take turns on a core
 * empty its caches. That is why there are four apart: what four on one database cost more than they is contention.
 *
 *   node bench/contention.ts [rounds, default 10]
 *   node bench/contention.ts [rounds] --against REF    sign-ins alone, in turns with another commit
 *     --work 3    each request also keeps its process busy for 3 ms, which is where locks are held for longest
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { Bench, say } from './bench.ts'
import { buildAt, sameSchema, thisBuild } from './builds.ts'
import { type Case, cases } from './cases.ts'
import { ratio, spread, table, text } from './figures.ts'
import type { Load } from './load.ts'
import { cpuMicros, family, type Server, unpin } from './processes.ts'
import { measure, type Side } from './rounds.ts'
import { Filled, type Token } from './stores.ts'

const { values, positionals } = parseArgs({
  options: { against: { type: 'string' }, work: { type: 'string', default: '0' } },
  allowPositionals: true,
})
const rounds = Number(positionals[0] ?? 10)
const workMs = Number(values.work)
const most = 4
const sizes = { veterinarians: 20_000, students: 0, tokens: 2_000 }
/** Each process has to see every token once; which request goes where is left to chance. */
const passesToSeeAll = 6
const sampleEveryMs = 50
const restMs = 5_000

const bench = await Bench.open()
const before = values.against && (await buildAt(values.against, join(bench.folder, 'before')))
if (before && !sameSchema(before, thisBuild)) throw new Error(`${before.name} has another schema`)
const fleet = (processes: number, databases = 1, build = thisBuild) => ({
  name: `${processes}${databases > 1 ? ', a database each' : ''}${before ? `, ${build.name}` : ''}`,
  ...{ processes, databases, build },
})
const fleets = before
  ? [1, 2, 4].flatMap((processes) => [fleet(processes, 1, before), fleet(processes)])
  : [fleet(1), fleet(2), fleet(4), fleet(4, 4)]
const measured = before ? ['sign-in'] : ['me', 'sign-in']
const stores = await bench.stores('postgres')
for (const pid of stores.pids) unpin({ pid })
const observer = new pg.Client({ connectionString: stores.url('postgres') })
await observer.connect()
try {
  const rows = [
    ['', 'processes', 'a second', 'Chiron, µs', '× one', 'PostgreSQL, µs', '× one', 'waiting for a lock'],
  ]
  for (const one of cases.filter(({ id }) => measured.includes(id))) {
    const databaseOf = (fleet: number, database: number) =>
      `${one.id.replaceAll('-', '_')}_${fleet}_${database}`
    const first = await new Filled(stores, databaseOf(0, 0), thisBuild, sizes, bench.folder).create()
    const filled: Filled[][] = []
    for (const [i, { databases }] of fleets.entries()) {
      filled.push(i === 0 ? [first] : [])
      for (let n = filled[i]!.length; n < databases; n++)
        filled[i]!.push(await first.copy(databaseOf(i, n), thisBuild))
    }
    // Nothing may use the first one while it is copied.
    const sides: Side[] = []
    for (const [i, each] of fleets.entries()) sides.push(await start(one, filled[i]!, each))
    if (one.id === 'me') await rest(sides.at(-2)!.servers)
    say(`${one.name}: measuring`)
    const waits = watch()
    const costs = await measure(sides, rounds).finally(waits.end)
    for (const [i, { name }] of fleets.entries()) {
      const of = (what: 'server' | 'store' | 'rate', side = i) => costs[side]!.map((cost) => cost[what])
      const { active = 0, waiting = 0 } = waits.seen.get(i) ?? {}
      rows.push([
        i === 0 ? one.name : '',
        name,
        text(spread(of('rate'))),
        text(spread(of('server'))),
        i === 0 ? '–' : text(ratio(of('server'), of('server', 0))),
        text(spread(of('store'))),
        i === 0 ? '–' : text(ratio(of('store'), of('store', 0))),
        `${((100 * waiting) / Math.max(1, active)).toFixed(0)} %`,
      ])
    }
    for (const { servers } of sides) for (const server of servers) await server.stop()
  }
  const { rows: totals } = await observer.query(
    'select sum(deadlocks)::int as deadlocks, sum(xact_rollback)::int as rollbacks from pg_stat_database',
  )
  process.stdout.write(
    `${table(rows)}\n${totals[0].deadlocks} deadlocks, ${totals[0].rollbacks} rolled back\n`,
  )
} finally {
  await observer.end()
  await bench.close()
}

type Fleet = (typeof fleets)[number]

async function start(one: Case, filled: readonly Filled[], { processes, build }: Fleet): Promise<Side> {
  const servers: Server[] = []
  for (let n = 0; n < processes; n++)
    servers.push(await bench.serve(build, filled[n % filled.length]!, one.limits, workMs))
  servers.forEach(unpin)
  const tokens = await filled[0]!.tokens()
  const side = bench.side(one, servers[0]!, filled[0]!, apart(one, tokens, filled.length))
  const first = side.first && sizes.tokens * processes * passesToSeeAll
  return { ...side, servers, share: processes / most, first }
}

/** A load for each database: a sign-in has to stay in the one where it began. The n-th connection leads to the n-th one. */
function apart(one: Case, tokens: readonly Token[], databases: number): Load {
  const loads = Array.from({ length: databases }, (_, n) =>
    one.load(
      tokens.filter((_token, i) => i % databases === n),
      bench.mail,
    ),
  )
  return async ({ connections, requests, seconds }) => {
    const done = await Promise.all(
      loads.map((load, n) =>
        load({
          connections: connections.filter((_, i) => i % databases === n),
          requests: requests / databases,
          seconds,
        }),
      ),
    )
    return done.reduce((sum, each) => sum + each, 0)
  }
}

/** What processes cost that nobody calls. */
async function rest(servers: readonly Server[]): Promise<void> {
  const share = async (pids: readonly number[]) => {
    const [since, before] = [performance.now(), cpuMicros(pids)]
    await new Promise((resolve) => setTimeout(resolve, restMs))
    return (cpuMicros(pids) - before) / 1000 / (performance.now() - since)
  }
  const each = (await share(family(servers.map(({ pid }) => pid)))) / servers.length
  say(`at rest, a process takes ${(1000 * each).toFixed(1)} ms of processor time a second`)
}

/** Samples how many busy connections of each fleet wait for a lock of another one, and with which statements. */
function watch() {
  const seen = new Map<number, { active: number; waiting: number }>()
  const statements = new Map<string, number>()
  let isOver = false
  const sampling = (async () => {
    while (!isOver) {
      const { rows } = await observer.query(
        `select datname, left(query, 70) as text, wait_event_type is not distinct from 'Lock' as waits
         from pg_stat_activity where state = 'active' and datname <> 'postgres'`,
      )
      for (const { datname, text, waits } of rows) {
        const fleet = Number(datname.split('_').at(-2))
        const own = seen.get(fleet) ?? { active: 0, waiting: 0 }
        seen.set(fleet, { active: own.active + 1, waiting: own.waiting + (waits ? 1 : 0) })
        if (waits) statements.set(text, (statements.get(text) ?? 0) + 1)
      }
      await new Promise((resolve) => setTimeout(resolve, sampleEveryMs))
    }
  })()
  return {
    seen,
    async end() {
      isOver = true
      await sampling
      for (const [text, times] of [...statements].sort((a, b) => b[1] - a[1]).slice(0, 5))
        say(`waiting for a lock, ${times} times: ${text.replace(/\s+/g, ' ')}`)
    },
  }
}
