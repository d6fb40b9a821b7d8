/**
 * Runs once for the whole suite (--test-global-setup): one PostgreSQL server for all test files, and stores with all
 * tables to copy from.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { migrate } from '../../src/platform/db/migrate.ts'
import { openDb } from '../../src/platform/db/open.ts'
import { systemClock } from '../../src/platform/lib/clock.ts'
import { engines, migratedDatabase, migratedFile } from './engines.ts'
import { type PostgresServer, startPostgres } from './postgres.ts'

let server: PostgresServer | undefined
let folder: string | undefined

export async function globalSetup(): Promise<void> {
  folder = mkdtempSync(join(tmpdir(), 'chiron-migrated-'))
  const file = join(folder, 'chiron.db')
  await makeTables(`sqlite:${file}`)
  process.env[migratedFile] = file
  if (!engines.includes('postgres')) return
  server = await startPostgres()
  process.env.CHIRON_TEST_POSTGRES_PORT = String(server.port)
  const client = new pg.Client({ connectionString: server.url('postgres') })
  await client.connect()
  await client.query(`create database ${migratedDatabase}`)
  await client.end()
  await makeTables(server.url(migratedDatabase))
}

export async function globalTeardown(): Promise<void> {
  await server?.remove()
  if (folder !== undefined) rmSync(folder, { recursive: true })
}

async function makeTables(url: string): Promise<void> {
  const db = openDb(url)
  await migrate(db, systemClock)
  await db.close()
}
