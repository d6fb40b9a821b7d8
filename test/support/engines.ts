/** Both engines, with a separate store for each test. `npm run test:fast` uses only SQLite, and no browser. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'

export type Engine = 'sqlite' | 'postgres'

const fast = process.env.CHIRON_TEST_FAST !== undefined
export const engines: readonly Engine[] = fast ? ['sqlite'] : ['sqlite', 'postgres']
/** For tests that need PostgreSQL, a browser or a long time. */
export const onPostgres = { skip: fast }
export const inBrowser = { skip: fast }
export const atLength = { skip: fast }

export interface Store {
  readonly url: string
  remove(): Promise<void>
}

let count = 0

export async function newStore(engine: Engine): Promise<Store> {
  if (engine === 'sqlite') {
    const folder = mkdtempSync(join(tmpdir(), 'chiron-sqlite-'))
    return {
      url: `sqlite:${join(folder, 'chiron.db')}`,
      remove: async () => rmSync(folder, { recursive: true, force: true }),
    }
  }
  const port = process.env.CHIRON_TEST_POSTGRES_PORT
  if (!port) throw new Error('PostgreSQL is not running: start the tests with npm test')
  const name = `chiron_${process.pid}_${count++}`
  const admin = async (sql: string) => {
    const client = new pg.Client({ connectionString: `postgres://chiron@127.0.0.1:${port}/postgres` })
    await client.connect()
    await client.query(sql)
    await client.end()
  }
  await admin(`create database ${name}`)
  return {
    url: `postgres://chiron@127.0.0.1:${port}/${name}`,
    remove: () => admin(`drop database ${name} with (force)`),
  }
}
