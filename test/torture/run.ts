/**
 * `npm run torture -- --minutes N`: the long form of what `npm test` does in short. Each part runs for its share of the
 * time, and its line in docs/reliability.md is rewritten. `--only crashes` runs one part.
 */
import { randomInt } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { inspect, parseArgs } from 'node:util'
import fc from 'fast-check'
import type { Engine } from '../support/engines.ts'
import { openWorld } from '../support/roster-world.ts'
import { startService } from '../support/service.ts'
import { globalSetup, globalTeardown } from '../support/setup.ts'
import { newStaff } from '../support/staff.ts'
import { type CrashReport, crashes } from './crashes.ts'
import { failover } from './failover.ts'
import { floods } from './floods.ts'
import { fuzz } from './fuzz.ts'
import { histories, Torturer } from './histories.ts'
import { pests } from './hostile.ts'
import { machineParts } from './machine.ts'
import { type Kind, overload } from './overload.ts'
import { Failovers } from './patroni.ts'
import { archives, FileFuzzer, texts } from './roster-files.ts'

const engines: readonly Engine[] = ['sqlite', 'postgres']
const killsAtOnce = 10
const leaderKills = 20
const overloads: readonly [Kind, string][] = [
  ['register', 'registrations'],
  ['send', 'codes to sign in with'],
  ['read', 'reads with a token'],
]
const historiesOfOneService = 500

export interface Part {
  readonly name: string
  readonly what: string
  /** Its share of the whole time. */
  readonly share: number
  /** Runs until then; returns what it did, by name. Throws on the first fault. */
  run(until: number): Promise<Record<string, number>>
}

const parts: readonly Part[] = [
  {
    name: 'histories',
    what: 'Random histories of every operation; every reply matches a model',
    share: 0.4,
    async run(until) {
      const total = { histories: 0, steps: 0 }
      for (const [i, engine] of engines.entries()) {
        const end = until - ((until - Date.now()) * (engines.length - 1 - i)) / (engines.length - i)
        while (Date.now() < end) {
          const { histories, steps } = await someHistories(engine, end)
          total.histories += histories
          total.steps += steps
        }
      }
      return total
    },
  },
  {
    name: 'crashes',
    what: 'kill -9 of the service under load, one and two workers; nothing acknowledged is lost',
    share: 0.3,
    async run(until) {
      const reports: CrashReport[] = []
      while (Date.now() < until)
        for (const engine of engines)
          for (const workers of [1, 2] as const) {
            const lives = Array.from({ length: killsAtOnce }, () => randomInt(1, 60))
            reports.push(await crashes({ engine, workers, lives }))
          }
      return sumOf(reports)
    },
  },
  {
    name: 'failover',
    what: 'PostgreSQL’s primary killed under load, its synchronous standby promoted, the old primary restarted',
    share: 0.15,
    async run(until) {
      const total = { failovers: 0, acknowledged: 0, refused: 0, longestGapMs: 0 }
      while (Date.now() < until) {
        const one = await failover()
        total.failovers++
        total.acknowledged += one.acknowledged
        total.refused += one.refused
        total.longestGapMs = Math.max(total.longestGapMs, one.longestGapMs)
      }
      return total
    },
  },
  {
    name: 'patroni',
    what: 'PostgreSQL under Patroni with four services: leaders killed and frozen, etcd and proxies stopped; nothing acknowledged is lost',
    share: 0.3,
    run: () => Failovers.run(leaderKills),
  },
  {
    name: 'fuzz',
    what: 'Requests to every route, generated from the OpenAPI document and then corrupted; no reply is a 5xx',
    share: 0.15,
    async run(until) {
      const service = await startService('sqlite', { env: { CHIRON_LIMITS: 'off' } })
      try {
        const { access } = await service.signIn('fuzz@vets.example')
        const staff = await newStaff(service, 'admin')
        const tokens = [access, staff.access]
        return { ...(await fuzz(service, tokens, { until, requestsMax: Number.POSITIVE_INFINITY })) }
      } finally {
        await service.stop()
      }
    },
  },
  {
    name: 'files',
    what: 'Roster files and zips with corrupted cells, lines, encodings and headers; each ends in findings',
    share: 0.1,
    async run(until) {
      const world = await openWorld('sqlite')
      const fuzzer = new FileFuzzer(world)
      try {
        while (Date.now() < until) {
          const runs = { numRuns: 100, seed: randomInt(2 ** 31) }
          await fc.assert(
            fc.asyncProperty(texts, (files) => fuzzer.folder(files)),
            runs,
          )
          await fc.assert(
            fc.asyncProperty(archives, (archive) => fuzzer.zip(archive)),
            runs,
          )
        }
        return { ...fuzzer.report }
      } finally {
        await world.close()
      }
    },
  },
  {
    name: 'floods',
    what: 'Valid and invalid rosters of 20 million rows and more; each is refused within its bounds',
    share: 0.05,
    run: async () => ({ ...(await floods()) }),
  },
  {
    name: 'pests',
    what: 'An ordinary client beside slow senders and idle connections',
    share: 0.1,
    run: async (until) => ({ ...(await pests({ slow: 1_000, idle: 10_000 }, secondsUntil(until) / 3)) }),
  },
  ...overloads.map(
    ([kind, words]): Part => ({
      name: 'overload',
      what: `Three times the load that can be served: ${words}`,
      share: 0.05,
      run: async (until) => ({ ...(await overload('sqlite', kind, secondsUntil(until) / 2)) }),
    }),
  ),
  ...machineParts,
]

/** On a service of their own: histories pass the time, and after a thousand of them its clock is decades ahead. */
async function someHistories(engine: Engine, until: number): Promise<Torturer['counts']> {
  const torturer = await Torturer.start(engine)
  try {
    while (Date.now() < until && torturer.counts.histories < historiesOfOneService) {
      const seed = randomInt(2 ** 31)
      await fc.assert(
        fc.asyncProperty(histories, (history) => torturer.run(history)),
        { numRuns: 50, seed },
      )
    }
    return torturer.counts
  } finally {
    await torturer.stop()
  }
}

/** At least so many that a figure means something. */
function secondsUntil(until: number): number {
  return Math.max(12, Math.round((until - Date.now()) / 1_000))
}

function sumOf(reports: readonly CrashReport[]): Record<string, number> {
  const total: Record<string, number> = {}
  for (const report of reports)
    for (const [name, count] of Object.entries(report)) total[name] = (total[name] ?? 0) + count
  return total
}

const { values } = parseArgs({ options: { minutes: { type: 'string' }, only: { type: 'string' } } })
const minutes = Number(values.minutes ?? 10)
if (!(minutes > 0)) throw new Error('--minutes takes a number of minutes')
const chosen = parts.filter(({ name }) => values.only === undefined || name === values.only)
if (chosen.length === 0) throw new Error(`--only takes ${parts.map(({ name }) => name).join(' or ')}`)

await globalSetup()
const report = new URL('../../docs/reliability.md', import.meta.url)
const today = new Date().toISOString().slice(0, 10)
const now = new Map<string, string>()
try {
  const shares = chosen.reduce((sum, { share }) => sum + share, 0)
  for (const part of chosen) {
    process.stdout.write(`${part.name} …\n`)
    const began = Date.now()
    const did = await outcomeOf(part, began + (minutes * 60_000 * part.share) / shares)
    const took = `${Math.round((Date.now() - began) / 1000)} s`
    process.stdout.write(`${part.name}: ${did}, in ${took}\n`)
    now.set(part.what, `| ${[part.what, did, took, today].join(' | ')} |`)
  }
} finally {
  await globalTeardown()
}
// Read only now: other parts may have been run beside these.
const before = linesIn(readFileSync(report, 'utf8'))
writeFileSync(report, page())

/** A fault ends its part; the others go on. */
async function outcomeOf(part: Part, until: number): Promise<string> {
  try {
    const counts = await part.run(until)
    return Object.entries(counts)
      .map(([name, count]) => `${count.toLocaleString('en')} ${wordsOf(name)}`)
      .join(', ')
  } catch (error) {
    process.exitCode = 1
    process.stderr.write(`${inspect(error)}\n`)
    return '**a fault was found**'
  }
}

function wordsOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

/** By what was done. */
function linesIn(text: string): Map<string, string> {
  const lines = text.split('\n').filter((line) => line.startsWith('| '))
  return new Map(lines.map((line) => [line.split(' | ')[0]!.slice(2), line]))
}

function page(): string {
  const lines = parts.flatMap(({ what }) => now.get(what) ?? before.get(what) ?? [])
  return `# Reliability

Written by \`npm run torture -- --minutes N\`. A test stops at its first fault, and its row then says so; numbers come from runs
without a fault. \`npm test\` runs a short form of each, except for Patroni ([high-availability.md](high-availability.md)).

| test | result | duration | date |
| --- | --- | --- | --- |
${lines.join('\n')}

The tests are in \`test/torture/\`. A failing history is shrunk and printed with its seed. [mutation.md](mutation.md) shows how many
faults in the sign-in code the tests detect.
`
}
