/** Both engines, with a separate store for each test. `npm run test:fast` uses only SQLite, and no browser. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { postgresUrl } from './postgres.ts'

export type Engine = 'sqlite' | 'postgres'

/** `yes`, or `at length` for all that SQLite alone can do. */
const fast = process.env.CHIRON_TEST_FAST
export const engines: readonly Engine[] = fast ? ['sqlite'] : ['sqlite', 'postgres']
/** For tests that need PostgreSQL, a browser, or more than a moment. */
export const onPostgres = { skip: fast !== undefined }
export const inBrowser = { skip: fast !== undefined }
export const atLength = { skip: fast === 'yes' }

export interface Store {
  readonly url: string
  remove(): Promise<void>
}

/** `setup.ts` makes stores with all tables and nothing in them. This variable names the SQLite file. */
export const migratedFile = 'CHIRON_TEST_MIGRATED'
export const migratedDatabase = 'chiron_migrated'

let count = 0

/** A new store without tables. */
export const newStore = (engine: Engine): Promise<Store> =>
  engine === 'sqlite' ? sqliteStore() : postgresStore()

/** A new store with its tables. Copying is much quicker than migrating. */
export function migratedStore(engine: Engine): Promise<Store> {
  const migrated = process.env[migratedFile]
  if (migrated === undefined) return newStore(engine)
  return engine === 'sqlite' ? sqliteStore(migrated) : postgresStore(migratedDatabase)
}

/** A new store with all that another one has. Nothing may have that one open. */
export const copiedStore = (engine: Engine, { url }: Store): Promise<Store> =>
  engine === 'sqlite'
    ? sqliteStore(url.slice('sqlite:'.length))
    : postgresStore(new URL(url).pathname.slice(1))

async function sqliteStore(from?: string): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), 'chiron-sqlite-'))
  const file = join(folder, 'chiron.db')
  if (from !== undefined) copyFileSync(from, file)
  return { url: `sqlite:${file}`, remove: async () => rmSync(folder, { recursive: true, force: true }) }
}

async function postgresStore(from = 'template1'): Promise<Store> {
  const port = process.env.CHIRON_TEST_POSTGRES_PORT
  if (!port) throw new Error('PostgreSQL is not running: start the tests with npm test')
  const name = `chiron_${process.pid}_${count++}`
  const admin = async (sql: string) => {
    const client = new pg.Client({ connectionString: postgresUrl(port, 'postgres') })
    await client.connect()
    await client.query(sql)
    await client.end()
  }
  await admin(`create database ${name} template ${from}`)
  return {
    url: postgresUrl(port, name),
    remove: () => admin(`drop database ${name} with (force)`),
  }
}
