/**
 * The cost of a read with a token and of a sign-in on PostgreSQL: directly, and through PgBouncer in both modes.
 *
 *   node bench/pooler.ts [rounds, default 10]
 */
import { startPgBouncer } from '../test/support/pgbouncer.ts'
import { Bench, say, tokens } from './bench.ts'
import { serve, thisBuild } from './builds.ts'
import { cases } from './cases.ts'
import { ratio, spread, table, text } from './figures.ts'
import { measure, type Side } from './rounds.ts'
import { Filled } from './stores.ts'

const rounds = Number(process.argv[2] ?? 10)
const accounts = 20_000
const measured = ['me', 'sign-in']

const bench = await Bench.open()
const stores = await bench.stores('postgres')
const { port } = new URL(stores.url('postgres'))
const bySession = await startPgBouncer(port, { mode: 'session' })
const byTransaction = await startPgBouncer(port, { mode: 'transaction' })
try {
  const ways = [
    { name: 'direct', url: stores.url, pids: stores.pids },
    { name: 'by session', url: bySession.url, pids: [...stores.pids, bySession.pid] },
    {
      name: 'by transaction',
      url: (name: string) => `${byTransaction.url(name)}&pooler=transaction`,
      pids: [...stores.pids, byTransaction.pid],
    },
  ]
  const rows = [['', 'connection', 'µs', '× direct', 'database and PgBouncer, µs']]
  for (const one of cases.filter(({ id }) => measured.includes(id))) {
    const sides: Side[] = []
    for (const [i, way] of ways.entries()) {
      const name = `pooler_${one.id.replaceAll('-', '_')}_${i}`
      const sizes = { veterinarians: accounts, students: 0, tokens }
      const filled = await new Filled(stores, name, thisBuild, sizes, bench.folder).create()
      const server = await serve(thisBuild, {
        databaseUrl: way.url(name),
        smtpUrl: bench.mail.url,
        cwd: bench.folder,
        limits: one.limits,
      })
      const load = one.load(await filled.tokens(), bench.mail)
      sides.push({ ...bench.side(one, server, filled, load), storePids: way.pids })
      say(`${one.name}: ${way.name} is filled`)
    }
    const costs = await measure(sides, rounds)
    const direct = costs[0]!.map(({ server }) => server)
    for (const [i, { name }] of ways.entries()) {
      const own = costs[i]!.map(({ server }) => server)
      const store = text(spread(costs[i]!.map((cost) => cost.store)))
      rows.push([one.name, name, text(spread(own)), i === 0 ? '–' : text(ratio(own, direct)), store])
    }
    for (const { servers } of sides) for (const server of servers) await server.stop()
  }
  process.stdout.write(table(rows))
} finally {
  await bySession.remove()
  await byTransaction.remove()
  await bench.close()
}
