/** What is not a request a second: roster imports, starts, memory, latency at half load, waking up. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../test/support/postgres.ts'
import type { Bench } from './bench.ts'
import { runOn, serve, thisBuild } from './builds.ts'
import { answeredBy, type Contestant, halfLoad, measure } from './rounds.ts'
import { writeSchoolZip } from './school.ts'
import { median, type Spread, spread } from './statistics.ts'
import type { Stores } from './stores.ts'
import { family, residentMb } from './usage.ts'

const restsMs = 1_500
const wakesWithin = 0.9

async function times<T>(count: number, work: (i: number) => Promise<T>): Promise<T[]> {
  const values: T[] = []
  for (let i = 0; i < count; i++) values.push(await work(i))
  return values
}

/** Rows a second, from the start to the end of the command, into an empty store. */
export async function rosterImport(bench: Bench, stores: Stores, students: number, rounds: number) {
  const zip = join(bench.folder, `school-${students}.zip`)
  const today = new Date().toISOString().slice(0, 10)
  await writeSchoolZip(zip, { students, enrolments: students * 12, seed: 1, today })
  const args = ['roster', 'import', zip, '--yes', '--json']
  let rows = 0
  const speeds = await times(rounds, async () => {
    await stores.create('roster')
    const started = performance.now()
    const printed = await runOn(thisBuild, stores.url('roster'), 'src/main.js', args, bench.folder)
    const seconds = (performance.now() - started) / 1000
    await stores.drop('roster')
    rows = Number(/"rows":(\d+)/.exec(printed)![1])
    return rows / seconds
  })
  rmSync(zip)
  return { rows, value: spread(speeds) }
}

async function startOn(bench: Bench, stores: Stores, store: string) {
  return serve(thisBuild, {
    databaseUrl: stores.url(store),
    smtpUrl: bench.load.smtpUrl,
    port: await freePort(),
    cwd: bench.folder,
  })
}

/** Milliseconds to the first 200 of /health/ready, and megabytes of a server that is then left alone. */
export async function starts(bench: Bench, stores: Stores, store: string, rounds: number) {
  const all = await times(rounds + 1, async () => {
    const since = performance.now()
    const server = await startOn(bench, stores, store)
    const ms = performance.now() - since
    await new Promise((resolve) => setTimeout(resolve, restsMs))
    const megabytes = residentMb(family([server.pid]))
    await server.stop()
    return { ms, megabytes }
  })
  // The first one finds nothing in the machine's caches.
  const counted = all.slice(1)
  return {
    ms: spread(counted.map(({ ms }) => ms)),
    megabytes: spread(counted.map(({ megabytes }) => megabytes)),
  }
}

/** Goes on until the server has answered so many requests, or as many as there is time for. */
export async function afterMany(bench: Bench, one: Contestant, wanted: number, seconds: number) {
  const requests = wanted - answeredBy(one.server)
  if (requests > 0) await measure(bench.load, one, { requests, seconds })
  return { requests: answeredBy(one.server), megabytes: residentMb(family([one.server.pid])) }
}

/** p99 at half of the speed just measured, divided by that of the bare server in the same round. */
export async function latencyAtHalfLoad(
  bench: Bench,
  one: Contestant,
  bare: Contestant,
  speeds: readonly [own: number, bare: number],
  rounds: number,
): Promise<{ own: Spread; bare: Spread; ratio: Spread }> {
  const all = await times(rounds, () =>
    halfLoad(
      bench.load,
      [one, bare],
      speeds.map((speed) => speed / 2),
    ),
  )
  return {
    own: spread(all.map(([own]) => own!.p99)),
    bare: spread(all.map(([, other]) => other!.p99)),
    ratio: spread(all.map(([own, other]) => own!.p99 / other!.p99)),
  }
}

/** Seconds of load until a server that was just started does nine tenths of what it comes to do. */
export async function wakingUp(
  bench: Bench,
  stores: Stores,
  store: string,
  traffic: Contestant['traffic'],
  rounds: number,
): Promise<Spread> {
  return spread(
    await times(rounds, async () => {
      const server = await startOn(bench, stores, store)
      const one = { name: 'waking up', server, storePids: stores.pids, traffic }
      const order = { cold: true, requests: Number.POSITIVE_INFINITY, seconds: 3 }
      const { turns } = await measure(bench.load, one, order)
      await server.stop()
      const costs = turns.map(({ cpuMicros }) => cpuMicros)
      const settled = median(costs.slice(costs.length / 2))
      // Of five turns the middle one: a single one may be lucky.
      const awake = turns.findIndex(
        (_, i) => median(costs.slice(i, i + 5)) * wakesWithin <= settled && i + 5 <= costs.length,
      )
      return awake <= 0 ? 0 : turns[awake - 1]!.at
    }),
  )
}
