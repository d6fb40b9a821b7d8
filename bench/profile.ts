/**
 * Where the time of GET /veterinarian/me goes: the service under full load with Node's own profiler, its samples summed
 * by place.
 *
 *   CHIRON_DATABASE_URL=… CHIRON_SECRET=… CHIRON_PORT=3999 node bench/accounts.ts --veterinarians 1000000 --tokens 20000
 *   CHIRON_DATABASE_URL=… CHIRON_SECRET=… CHIRON_PORT=3999 node bench/profile.ts tokens.jsonl [path] [role]
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Load } from './driver.ts'
import { endAll, startServer } from './processes.ts'

interface Profile {
  readonly nodes: { id: number; callFrame: { functionName: string; url: string } }[]
  readonly samples: number[]
  readonly timeDeltas: number[]
}

const [file = 'tokens.jsonl', path = '/veterinarian/me', role = 'veterinarian'] = process.argv.slice(2)
const seconds = 10
const port = Number(process.env.CHIRON_PORT ?? 3999)

const cards = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as { role: string; accessToken: string })
  .filter((token) => token.role === role)
  .map(({ accessToken }) => ({
    text: `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${accessToken}\r\n\r\n`,
  }))

const folder = mkdtempSync(join(tmpdir(), 'chiron-profile-'))
const main = fileURLToPath(new URL('../src/main.js', import.meta.url))
const settings = Object.entries(process.env).filter(([name]) => name.startsWith('CHIRON_')) as [
  string,
  string,
][]
const service = await startServer({
  command: [
    ...[process.execPath, '--cpu-prof', '--cpu-prof-interval', '200', '--cpu-prof-dir', folder],
    ...[main, 'serve'],
  ],
  port,
  path: '/health/ready',
  cwd: process.cwd(),
  env: { CHIRON_PORT: String(port), CHIRON_LIMITS: 'off', ...Object.fromEntries(settings) },
})
const load = await Load.start()
try {
  await load.keep({ deck: 'requests', cards })
  const traffic = { kind: 'requests', deck: 'requests' } as const
  const server = [service.pid]
  const side = {
    port,
    traffic,
    server,
    store: [],
    turnRequests: Number.POSITIVE_INFINITY,
    turnSeconds: seconds,
  }
  // One turn to warm up and one that counts.
  const [slice] = await load.carryOut({
    sides: [side],
    requests: Number.POSITIVE_INFINITY,
    seconds: seconds + 1,
  })
  if (slice!.failures > 0) throw new Error(`${slice!.failures} replies were not 200: ${slice!.failure}`)
} finally {
  await endAll()
}

/** Only the last seconds: what came before was start and warm-up. */
function shares({ nodes, samples, timeDeltas }: Profile): Map<string, number> {
  const places = new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]))
  const end = timeDeltas.reduce((sum, delta) => sum + delta, 0)
  const sums = new Map<string, number>()
  let at = 0
  for (const [i, id] of samples.entries()) {
    const delta = timeDeltas[i]!
    at += delta
    const place = places.get(id)!
    if (at < end - (seconds - 1) * 1e6 || place === 'idle') continue
    sums.set(place, (sums.get(place) ?? 0) + delta)
  }
  return sums
}

function placeOf({ functionName, url }: { functionName: string; url: string }): string {
  if (functionName === '(idle)') return 'idle'
  const own = /\/src\/(.*)$/.exec(url)?.[1]
  if (own)
    return own === 'platform/db/sqlite.ts' ? 'db/sqlite.ts and SQLite' : own.split('/').slice(0, 2).join('/')
  const npm = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]
  if (npm) return npm
  if (/_http|internal\/http|^node:net|stream|events/.test(url)) return 'node:http, net, streams'
  if (url.startsWith('node:')) return 'the rest of Node'
  if (/^write/.test(functionName)) return 'writing to sockets (kernel)'
  return functionName === '(garbage collector)' ? 'garbage collection' : 'native code and the rest'
}

const [name] = readdirSync(folder)
const sums = shares(JSON.parse(readFileSync(join(folder, name!), 'utf8')))
rmSync(folder, { recursive: true })
const total = [...sums.values()].reduce((sum, value) => sum + value, 0)
for (const [place, sum] of [...sums].sort((a, b) => b[1] - a[1])) {
  if (sum / total > 0.005)
    process.stdout.write(`${((100 * sum) / total).toFixed(1).padStart(5)} %  ${place}\n`)
}
