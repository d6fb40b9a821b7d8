/**
 * The stores of a benchmark: on each engine one for every number of accounts, the largest with a school in it and
 * twice (two servers on one store would send each other's mail), and the peer's. They come in full, with live tokens.
 */
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { PostgresServer } from '../test/support/postgres.ts'
import { seedBetterAuth } from './peers/better-auth/peer.ts'
import { runScript } from './processes.ts'
import { writeSchoolZip } from './school.ts'

export type Engine = 'sqlite' | 'postgres'
export const engines: readonly Engine[] = ['sqlite', 'postgres']

export interface Token {
  readonly role: 'veterinarian' | 'student'
  readonly userId: string
  readonly email: string
  readonly accessToken: string
  readonly refreshToken: string
}

export interface Sizes {
  /** Veterinarians, from the smallest store to the largest. */
  readonly accounts: readonly [number, ...number[]]
  readonly tokens: number
  readonly students: number
  readonly classes: number
  readonly peerUsers: number
  readonly peerSessions: number
}

export interface Stores {
  readonly engine: Engine
  url(name: string): string
  create(name: string): Promise<void>
  copy(from: string, to: string): Promise<void>
  /** Does what the engine would otherwise do in the middle of a measurement. */
  settle(name: string): Promise<void>
}

export const school = 'school'
export const peer = 'peer'
export const twin = 'twin'
/** By its number of veterinarians; the largest is the one with the school. */
export const storeOf = (accounts: number, sizes: Sizes) =>
  accounts === sizes.accounts.at(-1) ? school : `store${accounts}`

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** The same for every server and filler, so that all tokens hold everywhere. */
export const settings = {
  CHIRON_SECRET: 'only-ever-for-benchmarks-on-one-machine',
  CHIRON_PUBLIC_URL: 'http://localhost:3000',
}

export function sqliteStores(folder: string): Stores {
  const file = (name: string) => join(folder, `${name}.db`)
  return {
    engine: 'sqlite',
    url: (name) => `sqlite:${file(name)}`,
    async create() {},
    async copy(from, to) {
      copyFileSync(file(from), file(to))
    },
    async settle() {},
  }
}

const filledTables = 'person, session, event, student, roster_enrolment, roster_record'

export function postgresStores(server: PostgresServer): Stores {
  const ask = async (database: string, ...statements: string[]) => {
    const client = new pg.Client({ connectionString: server.url(database) })
    await client.connect()
    for (const text of statements) await client.query(text)
    await client.end()
  }
  return {
    engine: 'postgres',
    url: (name) => server.url(name),
    create: (name) => ask('postgres', `create database ${name}`),
    copy: (from, to) => ask('postgres', `create database ${to} template ${from} strategy file_copy`),
    // Only what was filled: a plan that was made for an empty table would stay when it is empty no more.
    settle: (name) => ask(name, `vacuum analyze ${filledTables}`, 'checkpoint'),
  }
}

export async function writeSchool(folder: string, { students, classes }: Sizes): Promise<string> {
  const zip = join(folder, 'school.zip')
  await writeSchoolZip(zip, { students, classes, seed: 1, today: new Date().toISOString().slice(0, 10) })
  return zip
}

/** The school comes in as a registrar's does, by the command. Gives its rows a second. */
export async function importSchool(stores: Stores, folder: string, zip: string): Promise<number> {
  await stores.create(school)
  const started = performance.now()
  const printed = await runScript([here('../src/main.ts'), 'roster', 'import', zip, '--yes', '--json'], {
    cwd: folder,
    env: { ...settings, CHIRON_DATABASE_URL: stores.url(school) },
  })
  return (Number(/"rows":(\d+)/.exec(printed)![1]) * 1000) / (performance.now() - started)
}

export interface Filled {
  /** By the name of the store. */
  readonly tokens: ReadonlyMap<string, readonly Token[]>
  readonly cookies: readonly string[]
}

/** Expects the school to be in. */
export async function fill(stores: Stores, folder: string, sizes: Sizes): Promise<Filled> {
  const tokens = new Map<string, Token[]>()
  await stores.create(peer)
  const cookies = await seedBetterAuth({
    databaseUrl: stores.url(peer),
    users: sizes.peerUsers,
    sessions: sizes.peerSessions,
    cookiesFile: join(folder, `cookies-${stores.engine}.json`),
  })
  for (const accounts of sizes.accounts) {
    const name = storeOf(accounts, sizes)
    if (name !== school) await stores.create(name)
    const out = join(folder, `${stores.engine}-${name}.jsonl`)
    const counts = ['--veterinarians', String(accounts), '--tokens', String(sizes.tokens)]
    await runScript([here('accounts.ts'), ...counts, '--out', out], {
      cwd: folder,
      env: { ...settings, CHIRON_DATABASE_URL: stores.url(name) },
    })
    await stores.settle(name)
    const lines = readFileSync(out, 'utf8').trimEnd().split('\n')
    tokens.set(
      name,
      lines.map((line) => JSON.parse(line) as Token),
    )
  }
  await stores.copy(school, twin)
  return { tokens, cookies }
}
