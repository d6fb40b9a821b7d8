import { createRequire } from 'node:module'
import type { Db } from './db.ts'
import { openSqlite } from './sqlite.ts'

const require = createRequire(import.meta.url)

export interface OpenOptions {
  /** Writes fail, and a SQLite file that is missing is not made. */
  readonly readOnly?: boolean
}

export function openDb(url: string, { readOnly = false }: OpenOptions = {}): Db {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length), { readOnly })
  // Loads the driver only if it is needed.
  const { openPostgres } = require('./postgres.ts') as typeof import('./postgres.ts')
  return openPostgres(url, { readOnly })
}
