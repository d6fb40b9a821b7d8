/**
 * How long the requests of sign-ins wait at a steady rate, from the start of a process on: `node bench/latency.ts`. Beside
 * it: replies of the bare server at the same rate, and what a flush to this disk takes, which every commit waits for.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Bench, say } from './bench.ts'
import { thisBuild } from './builds.ts'
import { signIn } from './cases.ts'
import { table } from './figures.ts'
import { Connection, wire } from './http.ts'
import { Pool, signInLoad } from './load.ts'
import type { Server } from './processes.ts'
import { type Engine, Filled } from './stores.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    /** Sign-ins a second; by default half of those that the service manages. */
    rate: { type: 'string' },
    seconds: { type: 'string', default: '20' },
    accounts: { type: 'string', default: '20000' },
  },
})
const seconds = Number(values.seconds)
const accounts = Number(values.accounts)
const connectionCount = 48
const replyBytes = 600
const warmUpSeconds = 3
const fullLoadSeconds = 4
/** Enough for every sign-in that waits for its mail. */
const atOnce = 2_000
const flushes = 500
const flushedBytes = 16_384
/** Where windows of time begin. */
const windows = [0, 2, 5]

interface Timed {
  /** Seconds since the first request. */
  readonly at: number
  readonly ms: number
}

const bench = await Bench.open()
try {
  const engine = values.engine as Engine
  say('filling')
  const sizes = { veterinarians: accounts, students: 0, tokens: accounts }
  const filled = await new Filled(
    await bench.stores(engine),
    'latency',
    thisBuild,
    sizes,
    bench.folder,
  ).create()
  const emails = (await filled.tokens()).map(({ email }) => email)
  const rate = values.rate === undefined ? await halfLoad(filled, emails) : Number(values.rate)
  say(`${rate} sign-ins a second`)

  const rows = [['', 'requests', 'median, ms', '99 %, ms', 'longest, ms']]
  const row = (name: string, times: readonly number[]) => {
    const sorted = times.toSorted((a, b) => a - b)
    const at = (share: number) => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(2)
    rows.push([name, String(sorted.length), at(0.5), at(0.99), at(1)])
  }
  row(`flush of ${flushedBytes / 1024} KiB`, flushTimes(bench.folder))
  row('bare node:http', await bareTimes(rate))
  const server = await bench.serve(thisBuild, filled)
  const times = await signIns(server, rate, emails)
  await server.stop()
  for (const [name, some] of Object.entries(times))
    for (const [i, from] of windows.entries()) {
      const to = windows[i + 1] ?? seconds
      row(
        `${name}, ${from} to ${to} s`,
        some.filter(({ at }) => at >= from && at < to).map(({ ms }) => ms),
      )
    }
  row('flush, again', flushTimes(bench.folder))
  process.stdout.write(`${rate} sign-ins a second, ${engine}\n\n${table(rows)}`)
} finally {
  await bench.close()
}

/** Half of the sign-ins that a warm process manages in a second. */
async function halfLoad(filled: Filled, emails: readonly string[]): Promise<number> {
  const server = await bench.serve(thisBuild, filled)
  const connections = connect(server)
  const load = signInLoad(emails, signIn, bench.mail)
  await load({ connections, requests: emails.length, seconds: warmUpSeconds })
  const since = performance.now()
  const done = await load({ connections, requests: atOnce, seconds: fullLoadSeconds })
  const taken = (performance.now() - since) / 1000
  for (const connection of connections) connection.end()
  await server.stop()
  return Math.max(1, Math.floor(done / taken / 2))
}

/** Calls `work` at a steady rate, and does not wait for one before the next. */
async function steadily(rate: number, work: (i: number) => Promise<void>): Promise<void> {
  const started = performance.now()
  const all: Promise<void>[] = []
  while (performance.now() - started < seconds * 1000) {
    const due = ((performance.now() - started) / 1000) * rate
    while (all.length < due) all.push(work(all.length))
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await Promise.all(all)
}

async function bareTimes(rate: number): Promise<number[]> {
  const { servers } = bench.bare(replyBytes)
  const pool = new Pool(connect(servers[0]!))
  const times: number[] = []
  const request = wire({ method: 'GET', path: `/${replyBytes}` })
  await steadily(2 * rate, async () => {
    const since = performance.now()
    await pool.ask(request)
    times.push(performance.now() - since)
  })
  pool.end()
  return times
}

async function signIns(server: Server, rate: number, emails: readonly string[]) {
  const pool = new Pool(connect(server))
  const started = performance.now()
  const times = { 'send-otp': [] as Timed[], 'validate-otp': [] as Timed[] }
  const timed = async (name: keyof typeof times, request: string) => {
    const since = performance.now()
    const reply = await pool.ask(request)
    times[name].push({ at: (since - started) / 1000, ms: performance.now() - since })
    return reply
  }
  await steadily(rate, async (i) => {
    const email = emails[i % emails.length]!
    const code = bench.mail.codeFor(email)
    const reply = await timed('send-otp', signIn.send(email, i))
    const sent = signIn.sent(reply)
    if (sent === null) throw new Error(`wrong reply: ${reply.slice(0, 600)}`)
    const end = await timed('validate-otp', signIn.validate(email, await code, sent, i))
    if (!signIn.isSignedIn(end)) throw new Error(`wrong reply: ${end.slice(0, 600)}`)
  })
  pool.end()
  return times
}

/** Does what SQLite does at a commit: append to a file, then flush it. */
function flushTimes(folder: string): number[] {
  const file = openSync(join(folder, 'flush'), 'a')
  const bytes = Buffer.alloc(flushedBytes, 1)
  const times = Array.from({ length: flushes }, () => {
    const since = performance.now()
    writeSync(file, bytes)
    fdatasyncSync(file)
    return performance.now() - since
  })
  closeSync(file)
  return times
}

function connect({ port }: Server): Connection[] {
  return Array.from({ length: connectionCount }, () => new Connection(port))
}
