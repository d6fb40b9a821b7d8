import { createRequire } from 'node:module'
import type { Db } from './db.ts'
import type { openPostgres } from './postgres.ts'
import { openSqlite } from './sqlite.ts'

const require = createRequire(import.meta.url)

export interface OpenOptions {
  /** Writes fail, and a missing SQLite file is not created. */
  readonly readOnly?: boolean
}

/** The file of an SQLite store; null for PostgreSQL. */
export function fileOf(url: string): string | null {
  return url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : null
}

export function openDb(url: string, { readOnly = false }: OpenOptions = {}): Db {
  const file = fileOf(url)
  if (file !== null) return openSqlite(file, { readOnly })
  // Loads the driver only if it is needed.
  const driver = require('./postgres.ts') as { openPostgres: typeof openPostgres }
  return driver.openPostgres(url, { readOnly })
}
