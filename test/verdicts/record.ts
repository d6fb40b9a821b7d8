/** Runs scenarios on a checkout, and keeps what every command said and what the store had afterwards. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { type Engine, migratedDatabase, migratedFile, migratedStore } from '../support/engines.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { Chiron } from './calls.ts'
import type { Scenario, Step } from './scenario.ts'
import { People, type State, stateOf } from './state.ts'

export interface Verdict {
  readonly run: string
  readonly exit: number
  readonly out: readonly unknown[]
  readonly err?: readonly string[]
  readonly report?: readonly string[]
  /** What the store has now; a number is the step after which it had the same. */
  readonly state?: State | number
}
/** By the name of the scenario, as JSON: as objects, those of all scenarios would take gigabytes. */
export type Recording = ReadonlyMap<string, string>

/** On a Thursday in the autumn term of the sets. */
const start = Date.UTC(2026, 10, 19, 9)
const dayMs = 24 * 60 * 60_000
const stepMs = 60_000
const atOnce = 2
const writing = /^roster (import|undo|correct|fetch) (?!--list)/

export async function record(
  folder: string,
  engine: Engine,
  scenarios: readonly Scenario[],
  onDone: () => void,
): Promise<Recording> {
  const place = mkdtempSync(join(tmpdir(), 'chiron-verdicts-'))
  const chirons = Array.from({ length: atOnce }, () => new Chiron(folder))
  const server = engine === 'postgres' ? await startPostgres() : null
  const found = new Map(scenarios.map(({ name }) => [name, '']))
  const waiting = [...scenarios.entries()]
  const work = async (chiron: Chiron) => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [number, scenario] = next
      const verdicts = await judge(chiron, engine, scenario, join(place, String(number)))
      found.set(scenario.name, JSON.stringify(verdicts))
      onDone()
    }
  }
  try {
    await makeTables(chirons[0]!, place, server)
    await Promise.all(chirons.map(work))
  } finally {
    for (const chiron of chirons) chiron.end()
    await server?.remove()
    rmSync(place, { recursive: true, force: true })
  }
  return found
}

/** Every scenario begins with a copy. */
async function makeTables(chiron: Chiron, place: string, server: PostgresServer | null): Promise<void> {
  const file = join(place, 'migrated.db')
  process.env[migratedFile] = file
  let url = `sqlite:${file}`
  if (server) {
    process.env.CHIRON_TEST_POSTGRES_PORT = String(server.port)
    const client = new pg.Client({ connectionString: server.url('postgres') })
    await client.connect()
    await client.query(`create database ${migratedDatabase}`)
    await client.end()
    url = server.url(migratedDatabase)
  }
  const made = await chiron.run({ args: ['migrate'], cwd: place, env: settings(url), now: start })
  if (made.code !== 0) throw new Error(`chiron migrate: ${made.err}`)
}

const settings = (url: string) => ({
  CHIRON_DATABASE_URL: url,
  CHIRON_SECRET: 'only-ever-for-the-verdicts-on-rosters',
  CHIRON_PUBLIC_URL: 'http://localhost:3000',
  CHIRON_TIME_ZONE: 'Europe/Lisbon',
})

async function judge(
  chiron: Chiron,
  engine: Engine,
  { files, steps }: Scenario,
  folder: string,
): Promise<Verdict[]> {
  for (const [path, content] of Object.entries(files)) write(join(folder, path), content)
  mkdirSync(folder, { recursive: true })
  const store = await migratedStore(engine)
  const verdicts: Verdict[] = []
  const states: string[] = []
  const people = new People()
  let now = start
  try {
    for (const step of steps) {
      now += stepMs + (step.days ?? 0) * dayMs
      const env = { ...settings(store.url), ...step.env }
      const ran = await chiron.run({ args: step.args, cwd: folder, env, now })
      const state = writing.test(step.args.join(' ')) ? await stateOf(store.url, people) : undefined
      const text = JSON.stringify(state) ?? ''
      const same = state === undefined ? -1 : states.indexOf(text)
      verdicts.push({
        run: runOf(step),
        exit: ran.code,
        out: outOf(people.in(ran.out), step.args.includes('--json')),
        ...(ran.err !== '' && { err: people.in(ran.err).replaceAll(folder, '…').trim().split('\n') }),
        ...reportIn(folder),
        ...(state !== undefined && { state: same < 0 ? state : same + 1 }),
      })
      states.push(text)
    }
  } finally {
    await store.remove()
    rmSync(folder, { recursive: true, force: true })
  }
  return verdicts
}

function write(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
  utimesSync(path, start / 1000 - 3600, start / 1000 - 3600)
}

function runOf({ args, env = {}, days = 0 }: Step): string {
  const set = Object.entries(env).map(([name, value]) => `${name}=${value} `)
  return `${set.join('')}${args.join(' ')}${days > 0 ? ` (${days} days later)` : ''}`
}

/** Not the name of the store, nor how far something has come. */
function outOf(text: string, isJson: boolean): unknown[] {
  const lines = text.split('\n').filter((line) => line !== '')
  if (!isJson) return lines.filter((line) => !line.startsWith('Store: '))
  return lines
    .map((line) => {
      try {
        return JSON.parse(line)
      } catch {
        return line
      }
    })
    .filter(({ type }) => type !== 'store' && type !== 'progress')
}

function reportIn(folder: string): { report?: string[] } {
  const path = join(folder, 'report.txt')
  if (!existsSync(path)) return {}
  const text = readFileSync(path, 'utf8')
  rmSync(path)
  return { report: text.split('\n') }
}
