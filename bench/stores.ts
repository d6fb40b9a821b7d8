/** Stores on either engine: made, filled with accounts and live tokens, and copied. */
import { copyFileSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { PostgresServer } from '../test/support/postgres.ts'
import { type Build, runOn } from './builds.ts'

export type Engine = 'sqlite' | 'postgres'
export const engines: readonly Engine[] = ['sqlite', 'postgres']

export interface Token {
  readonly role: 'veterinarian' | 'student'
  readonly userId: string
  readonly email: string
  readonly accessToken: string
  readonly refreshToken: string
}

export interface Stores {
  readonly engine: Engine
  /** Of the database server, where that is a process of its own. */
  readonly pids: readonly number[]
  url(name: string): string
  create(name: string): Promise<void>
  copy(from: string, to: string): Promise<void>
  drop(name: string): Promise<void>
  /** Does what the engine would otherwise do in the middle of a measurement. */
  settle(name: string): Promise<void>
}

/** Durable, as in production. */
export const postgresSettings = ['shared_buffers=512MB', 'max_wal_size=4GB', 'fsync=on']

export function sqliteStores(folder: string): Stores {
  const file = (name: string) => join(folder, `${name}.db`)
  return {
    engine: 'sqlite',
    pids: [],
    url: (name) => `sqlite:${file(name)}`,
    async create() {},
    async copy(from, to) {
      copyFileSync(file(from), file(to))
    },
    async drop(name) {
      for (const suffix of ['', '-wal', '-shm']) rmSync(file(name) + suffix, { force: true })
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
    pids: [server.pid],
    url: (name) => server.url(name),
    create: (name) => ask('postgres', `create database ${name}`),
    copy: (from, to) => ask('postgres', `create database ${to} template ${from} strategy file_copy`),
    drop: (name) => ask('postgres', `drop database ${name} with (force)`),
    // Only what was filled: a plan that was made for an empty table would stay when it is empty no more.
    settle: (name) => ask(name, `vacuum analyze ${filledTables}`, 'checkpoint'),
  }
}

export interface Sizes {
  readonly veterinarians: number
  readonly students: number
  readonly tokens: number
}

/** Access tokens live for 15 minutes, and no case takes longer than the rest of them. */
const freshMs = 5 * 60_000

/** A store with accounts in it, and live tokens of some. */
export class Filled {
  readonly stores: Stores
  readonly name: string
  readonly #build: Build
  readonly #folder: string
  readonly #sessions: number
  #tokens: readonly Token[]
  #madeAt = performance.now()

  private constructor(stores: Stores, name: string, build: Build, folder: string, tokens: readonly Token[]) {
    this.stores = stores
    this.name = name
    this.#build = build
    this.#folder = folder
    this.#tokens = tokens
    this.#sessions = tokens.filter(({ role }) => role === 'veterinarian').length
  }

  static async make(
    stores: Stores,
    name: string,
    build: Build,
    folder: string,
    sizes: Sizes,
  ): Promise<Filled> {
    await stores.create(name)
    return new Filled(stores, name, build, folder, await fill(stores, name, build, sizes, folder))
  }

  /** Nobody may be using the store. */
  async copy(name: string, build: Build): Promise<Filled> {
    await this.stores.copy(this.name, name)
    const copy = new Filled(this.stores, name, build, this.#folder, this.#tokens)
    copy.#madeAt = this.#madeAt
    return copy
  }

  get url(): string {
    return this.stores.url(this.name)
  }

  async tokens(): Promise<readonly Token[]> {
    if (performance.now() - this.#madeAt < freshMs) return this.#tokens
    const sizes = { veterinarians: 0, students: 0, tokens: this.#sessions }
    this.#tokens = await fill(this.stores, this.name, this.#build, sizes, this.#folder)
    this.#madeAt = performance.now()
    return this.#tokens
  }
}

/** With the numbers of people left at 0 it only makes tokens. */
async function fill(
  stores: Stores,
  name: string,
  build: Build,
  { veterinarians, students, tokens }: Sizes,
  folder: string,
): Promise<Token[]> {
  const out = join(folder, `${stores.engine}-${name}.jsonl`)
  // As many classes as in the schools of the roster case: a student has twelve.
  const people = students === 0 ? [] : ['--students', String(students), '--enrolments', String(students * 12)]
  const counts = ['--veterinarians', String(veterinarians), ...people, '--tokens', String(tokens)]
  await runOn(build, stores.url(name), 'bench/accounts.ts', [...counts, '--out', out], folder)
  await stores.settle(name)
  const lines = readFileSync(out, 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as Token)
}
