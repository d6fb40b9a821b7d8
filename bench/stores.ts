/** Stores on either engine: created, filled with accounts and live tokens, and copied. */
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres } from '../test/support/postgres.ts'
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
  /** The database server, where there is one. */
  readonly pids: readonly number[]
  url(name: string): string
  create(name: string): Promise<void>
  copy(from: string, to: string): Promise<void>
  /** Does the maintenance that the engine would otherwise do during a measurement. */
  settle(name: string): Promise<void>
  close(): Promise<void>
}

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
    async settle() {},
    async close() {},
  }
}

/** Durable, as in production. */
const postgresSettings = ['shared_buffers=512MB', 'max_wal_size=4GB', 'fsync=on']
const filledTables = 'person, session, event, student, roster_enrolment, roster_record'

export async function postgresStores(): Promise<Stores> {
  const server = await startPostgres(postgresSettings)
  const query = async (database: string, ...statements: string[]) => {
    const client = new pg.Client({ connectionString: server.url(database) })
    await client.connect()
    for (const text of statements) await client.query(text)
    await client.end()
  }
  return {
    engine: 'postgres',
    pids: [server.pid],
    url: (name) => server.url(name),
    create: (name) => query('postgres', `create database ${name}`),
    copy: (from, to) => query('postgres', `create database ${to} template ${from} strategy file_copy`),
    // Not the empty tables: PostgreSQL would keep plans made for an empty table when it has grown.
    settle: (name) => query(name, `vacuum analyze ${filledTables}`, 'checkpoint'),
    close: () => server.remove(),
  }
}

export interface Sizes {
  readonly veterinarians: number
  readonly students: number
  /** Sessions of each role. */
  readonly tokens: number
}

/** Access tokens live for 15 minutes; a case takes less than the rest of them. */
const freshMs = 5 * 60_000

/** A store with accounts in it, and live tokens of some of them. */
export class Filled {
  readonly stores: Stores
  readonly name: string
  readonly #build: Build
  readonly #sizes: Sizes
  readonly #folder: string
  #tokens: readonly Token[] = []
  #filledAt = Number.NEGATIVE_INFINITY

  constructor(stores: Stores, name: string, build: Build, sizes: Sizes, folder: string) {
    this.stores = stores
    this.name = name
    this.#build = build
    this.#sizes = sizes
    this.#folder = folder
  }

  get url(): string {
    return this.stores.url(this.name)
  }

  async create(): Promise<this> {
    await this.stores.create(this.name)
    await this.#fill(this.#sizes)
    return this
  }

  /** No process may be using the store. */
  async copy(name: string, build: Build): Promise<Filled> {
    await this.stores.copy(this.name, name)
    const copy = new Filled(this.stores, name, build, this.#sizes, this.#folder)
    copy.#tokens = this.#tokens
    copy.#filledAt = this.#filledAt
    return copy
  }

  async tokens(): Promise<readonly Token[]> {
    if (performance.now() - this.#filledAt >= freshMs)
      await this.#fill({ ...this.#sizes, veterinarians: 0, students: 0 })
    return this.#tokens
  }

  async #fill({ veterinarians, students, tokens }: Sizes): Promise<void> {
    const out = join(this.#folder, `${this.stores.engine}-${this.name}.jsonl`)
    const school =
      students === 0 ? [] : ['--students', String(students), '--enrolments', String(students * 12)]
    const counts = ['--veterinarians', String(veterinarians), ...school, '--tokens', String(tokens)]
    await runOn(this.#build, this.url, 'bench/accounts.ts', [...counts, '--out', out], this.#folder)
    await this.stores.settle(this.name)
    this.#tokens = readFileSync(out, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Token)
    this.#filledAt = performance.now()
  }
}
