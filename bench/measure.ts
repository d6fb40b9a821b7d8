/** One run from empty stores to all figures. */
import { rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort, startPostgres } from '../test/support/postgres.ts'
import {
  bareCase,
  bareDeck,
  type Case,
  casesOf,
  checkClasses,
  type Durations,
  deal,
  type Servers,
} from './cases.ts'
import type { Outcome } from './load.ts'
import { type Machine, machine } from './machine.ts'
import { ensureInstalled, startBetterAuth } from './peers/better-auth/peer.ts'
import {
  bothCores,
  Load,
  loadCore,
  pin,
  type Running,
  serverCore,
  startChiron,
  startServer,
} from './processes.ts'
import { median, type Spread } from './statistics.ts'
import {
  type Engine,
  engines,
  fill,
  importSchool,
  peer,
  postgresStores,
  type Sizes,
  type Stores,
  school,
  settings,
  sqliteStores,
  storeOf,
  twin,
  writeSchool,
} from './stores.ts'
import { type Row, Sweeps } from './sweep.ts'
import { busySeconds, cpuSeconds, residentMb } from './usage.ts'

export interface Plan {
  readonly sizes: Sizes
  /** At least, and at most: as many as there is time for. */
  readonly sweeps: readonly [number, number]
  readonly sweepUntilSeconds: number
  /** How often each token is used before measuring. */
  readonly passes: number
  readonly workerSweeps: number
  readonly starts: number
  readonly durations: Durations
  readonly requestsForMemory: number
}

/** What is measured once for an engine. */
export interface Once {
  readonly engine: Engine
  readonly rosterRowsPerSecond: number
  readonly startMs: number
  readonly uncompiledStartMs: number
  readonly idleMb: number
  readonly loadedMb: number
  readonly loadedAfterRequests: number
}

export interface HalfLoad {
  readonly id: string
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface Results {
  readonly date: string
  readonly seconds: number
  readonly machine: Machine
  readonly sizes: Sizes
  readonly sweeps: number
  /** The share of the machine that processes of others took while the sweeps ran. */
  readonly disturbed: number
  readonly rows: readonly Row[]
  /** Beside each other on both cores, together with load and store. */
  readonly workers: readonly Row[]
  /** One case against another, sweep by sweep. */
  readonly comparisons: Readonly<Record<string, Spread | null>>
  readonly halfLoad: readonly HalfLoad[]
  readonly once: readonly Once[]
}

/** Flushed at every commit, as in production; and with memory, as in production. */
const durable = ['fsync=on', 'synchronous_commit=on', 'shared_buffers=512MB', 'max_wal_size=4GB']
const disturbedMax = 0.05
const idleAfterMs = 3_000
const memorySecondsMax = 10
const halfLoadSeconds = 1
const halfLoadTimes = 3
const warmUpSeconds = 0.8
const began = performance.now()

const percent = (share: number) => `${Math.round(share * 100)} %`
const secondsSince = (time: number) => (performance.now() - time) / 1000

function say(text: string): void {
  const seconds = String(Math.round(secondsSince(began))).padStart(4)
  process.stderr.write(`${seconds} s  ${text}\n`)
}

export async function measure(
  plan: Plan,
  folder: string,
  undo: (step: () => unknown) => void,
): Promise<Results> {
  const { sizes } = plan
  say('installing the peer, starting PostgreSQL, writing a school')
  const postgres = await startPostgres(durable)
  undo(() => postgres.remove())
  await ensureInstalled()
  const zip = await writeSchool(folder, sizes)
  const stores = { sqlite: sqliteStores(folder), postgres: postgresStores(postgres) }
  const roster = await each(async (engine) => {
    say(`importing the school, ${engine}`)
    return importSchool(stores[engine], folder, zip)
  })
  say('filling the stores')
  const filled = await atOnce((engine) => fill(stores[engine], folder, sizes))
  pin(postgres.pid, loadCore)

  const load = await Load.start()
  const bare = await startBare(await freePort())
  const starts = await each((engine) => {
    say(`starting, ${engine}`)
    return startTimes(stores[engine], folder, plan.starts)
  })
  const servers = await atOnce((engine) => startAll(stores[engine], folder, load, sizes, undo))
  await new Promise((resolve) => setTimeout(resolve, idleAfterMs))
  const idle = await each(async (engine) => residentMb([servers[engine].stores.get(school)!.pid]))

  const sweeps = new Sweeps(load, [postgres.pid])
  const bareOne = bareCase(bare, plan.durations.bare)
  await load.keep(bareDeck)
  say('warming up')
  const cases: Record<Engine, Case[]> = await atOnce(async (engine) => {
    await checkClasses(servers[engine].stores.get(school)!.port, filled[engine].tokens.get(school)!)
    await deal(load, engine, filled[engine], servers[engine], sizes)
    const all = casesOf(engine, servers[engine], sizes, plan.durations)
    for (const one of all) await warmUp(sweeps, one, plan.passes)
    return all
  })
  for (const engine of engines)
    for (const { pid } of [...servers[engine].stores.values(), servers[engine].peer]) pin(pid, serverCore)
  const every = engines.flatMap((engine) => cases[engine])
  const [least, most] = plan.sweeps
  const others = othersShare()
  let swept = 0
  while (swept < least || (swept < most && secondsSince(began) < plan.sweepUntilSeconds)) {
    say(`sweep ${++swept}`)
    await sweeps.sweep(bareOne, every)
  }
  const disturbed = others()
  if (disturbed > disturbedMax)
    say(`other processes took ${percent(disturbed)} of the machine: do not trust this run`)
  const rows = [bareOne, ...every].map((one) => sweeps.row(one))
  say('half load')
  const halfLoad = [await atHalfLoad(sweeps, bareOne, load)]
  for (const engine of engines)
    for (const id of ['me', 'sign-in'])
      halfLoad.push(await atHalfLoad(sweeps, named(cases[engine], id), load))
  say('memory')
  const loaded = await each((engine) => afterMany(sweeps, named(cases[engine], 'me'), plan.requestsForMemory))

  say('two workers')
  for (const engine of engines) await servers[engine].stores.get(twin)!.stop()
  for (const pid of [load.pid, postgres.pid, bare.pid]) pin(pid, bothCores)
  for (const engine of engines) pin(servers[engine].stores.get(school)!.pid, bothCores)
  const together = new Sweeps(load, [postgres.pid])
  const pairs: Case[] = []
  for (const engine of engines) {
    const two = await startOn(stores[engine], twin, folder, load, { CHIRON_WORKERS: '2' })
    const ones = ['me', 'sign-in'].map((id) => named(cases[engine], id))
    const twos = ones.map((one) => ({ ...one, id: `${one.id}, two workers`, server: two }))
    // Each token has to come by either worker.
    for (const one of twos) await warmUp(together, one, 2 * plan.passes)
    pairs.push(...ones, ...twos)
  }
  for (let i = 0; i < plan.workerSweeps; i++) await together.sweep(bareOne, pairs)

  say('done')
  return {
    date: new Date().toISOString().slice(0, 10),
    seconds: Math.round(secondsSince(began)),
    machine: machine(),
    sizes,
    sweeps: swept,
    disturbed,
    rows,
    workers: pairs.map((one) => together.row(one)),
    comparisons: Object.fromEntries(
      engines.flatMap((engine) => [
        ...comparisonsOf(engine, sizes).map(([name, id, other]) => [name, sweeps.compare(id, other)]),
        ...['me', 'sign-in'].map((id) => [
          `${engine}/${id}: two workers to one`,
          together.compare(`${engine}/${id}, two workers`, `${engine}/${id}`),
        ]),
      ]),
    ),
    halfLoad,
    once: engines.map((engine) => ({
      engine,
      rosterRowsPerSecond: roster[engine],
      ...starts[engine],
      idleMb: idle[engine],
      ...loaded[engine],
    })),
  }
}

/** From now until it is asked. */
function othersShare(): () => number {
  const [since, busy, own] = [performance.now(), busySeconds(), cpuSeconds([process.pid])]
  return () => {
    const theirs = busySeconds() - busy - (cpuSeconds([process.pid]) - own)
    return Math.max(0, theirs / (secondsSince(since) * availableParallelism()))
  }
}

async function each<T>(work: (engine: Engine) => Promise<T>): Promise<Record<Engine, T>> {
  return { sqlite: await work('sqlite'), postgres: await work('postgres') }
}

async function atOnce<T>(work: (engine: Engine) => Promise<T>): Promise<Record<Engine, T>> {
  const [sqlite, postgres] = await Promise.all([work('sqlite'), work('postgres')])
  return { sqlite, postgres }
}

const named = (cases: readonly Case[], id: string) =>
  cases.find((one) => one.engine !== null && one.id === `${one.engine}/${id}`)!

function comparisonsOf(engine: Engine, { accounts }: Sizes): [name: string, id: string, other: string][] {
  const of = (id: string) => `${engine}/${id}`
  const smaller = accounts.slice(0, -1)
  return [
    ...smaller.flatMap((size) =>
      ['me', 'profile', 'sign-in'].map((id): [string, string, string] => [
        `${of(id)}: ${accounts.at(-1)} accounts to ${size}`,
        of(id),
        of(`${id}@${size}`),
      ]),
    ),
    [`${of('me')}: limits on to off`, of('me-limited'), of('me')],
    [`${of('sign-in')}: limits on to off`, of('sign-in-limited'), of('sign-in')],
    [`${of('me')}: to Better Auth`, of('me'), of('peer-session')],
    [`${of('sign-in')}: to Better Auth`, of('sign-in'), of('peer-sign-in')],
    [`${of('sign-in-limited')}: to Better Auth`, of('sign-in-limited'), of('peer-sign-in')],
  ]
}

function startBare(port: number): Promise<Running> {
  const script = fileURLToPath(new URL('bare.ts', import.meta.url))
  return startServer({ args: [script, String(port)], port })
}

async function startOn(
  stores: Stores,
  name: string,
  folder: string,
  load: Load,
  env: Record<string, string> = {},
): Promise<Running> {
  const all = {
    ...settings,
    CHIRON_DATABASE_URL: stores.url(name),
    CHIRON_SMTP_URL: load.smtpUrl,
    ...env,
  }
  return startChiron(await freePort(), all, { cwd: folder, cores: bothCores })
}

/** On both cores, until all is warm. */
async function startAll(
  stores: Stores,
  folder: string,
  load: Load,
  sizes: Sizes,
  undo: (step: () => unknown) => void,
): Promise<Servers> {
  const running = new Map<string, Running>()
  for (const accounts of sizes.accounts) {
    const name = storeOf(accounts, sizes)
    running.set(name, await startOn(stores, name, folder, load))
  }
  const limits = { CHIRON_LIMITS: 'on', CHIRON_TRUSTED_PROXIES: '127.0.0.1/32' }
  running.set(twin, await startOn(stores, twin, folder, load, limits))
  const port = await freePort()
  const other = await startBetterAuth({ databaseUrl: stores.url(peer), smtpUrl: load.smtpUrl, port })
  undo(() => other.stop())
  return { stores: running, peer: { pid: other.pid, port, stop: other.stop } }
}

/** From nothing to the first 200 of /health/ready: as installed, and with nothing compiled beforehand. */
async function startTimes(stores: Stores, folder: string, times: number) {
  const compiled = join(folder, 'compiled')
  const start = async (more: Record<string, string>) => {
    const port = await freePort()
    const env = { ...settings, CHIRON_DATABASE_URL: stores.url(school), ...more }
    const since = performance.now()
    const server = await startChiron(port, env, { cwd: folder })
    const ms = performance.now() - since
    await server.stop()
    return ms
  }
  const [installed, uncompiled]: [number[], number[]] = [[], []]
  for (let i = 0; i < times; i++) {
    installed.push(await start({}))
    rmSync(compiled, { recursive: true, force: true })
    uncompiled.push(await start({ NODE_COMPILE_CACHE: compiled }))
  }
  return { startMs: median(installed), uncompiledStartMs: median(uncompiled) }
}

/** Every token, since checking its signature the first time is dear; whatever has none for a while. */
async function warmUp(sweeps: Sweeps, one: Case, passes: number): Promise<void> {
  if (one.hasTokens) await sweeps.warmUp(one, { passes })
  else await sweeps.warmUp(one, { seconds: warmUpSeconds })
}

/** Half of what it does just before: half of what it did in another minute may be all that it can do in this one. */
async function atHalfLoad(sweeps: Sweeps, one: Case, load: Load): Promise<HalfLoad> {
  const outcomes: Outcome[] = []
  const rates: number[] = []
  for (let i = 0; i < halfLoadTimes; i++) {
    const full = await load.carryOut(sweeps.order(one, { seconds: one.seconds }))
    const rate = full.done / full.seconds / 2
    rates.push(rate)
    outcomes.push(await load.carryOut(sweeps.order(one, { rate, seconds: halfLoadSeconds })))
  }
  const of = (pick: (outcome: Outcome) => number) => median(outcomes.map(pick))
  return { id: one.id, perSecond: median(rates), p50Ms: of(({ p50 }) => p50), p99Ms: of(({ p99 }) => p99) }
}

/** Goes on until the server has answered this many, or as many as there is time for. */
async function afterMany(sweeps: Sweeps, one: Case, wanted: number) {
  const rate = median(sweeps.samples(one.id).map((sample) => sample.rate))
  const seconds = Math.min(memorySecondsMax, (wanted - sweeps.answered(one.server)) / rate)
  if (seconds > 0) await sweeps.warmUp(one, { seconds })
  const loadedAfterRequests = Math.round(sweeps.answered(one.server))
  return { loadedMb: residentMb([one.server.pid]), loadedAfterRequests }
}
