import { loadConfig, readEnv } from '../config.ts'
import { migrate } from '../db/migrate.ts'
import { openDb } from '../db/open.ts'
import { systemClock } from '../lib/clock.ts'

export async function migrateCommand(options: { json?: boolean }): Promise<void> {
  const db = openDb(loadConfig(readEnv()).databaseUrl)
  try {
    const applied = await migrate(db, systemClock)
    const text = applied.length === 0 ? 'The store is up to date.' : `Applied ${applied.join(', ')}.`
    process.stdout.write(`${options.json ? JSON.stringify({ applied }) : text}\n`)
  } finally {
    await db.close()
  }
}
