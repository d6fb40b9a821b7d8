import { createRequire } from 'node:module'
import type { Db } from './db.ts'
import { openSqlite } from './sqlite.ts'

const require = createRequire(import.meta.url)

export function openDb(url: string): Db {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length))
  // Loads the driver only if it is needed.
  const { openPostgres } = require('./postgres.ts') as typeof import('./postgres.ts')
  return openPostgres(url)
}
