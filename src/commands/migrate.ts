import { migrate } from '../db/migrate.ts'
import { openDb } from '../db/open.ts'
import { systemClock } from '../lib/clock.ts'
import { type CommonOptions, configFor } from './command.ts'

export async function migrateCommand(options: CommonOptions): Promise<void> {
  const db = openDb(configFor(options).databaseUrl)
  try {
    const applied = await migrate(db, systemClock)
    const text = applied.length === 0 ? 'The store is up to date.' : `Applied ${applied.join(', ')}.`
    process.stdout.write(`${options.json ? JSON.stringify({ applied }) : text}\n`)
  } finally {
    await db.close()
  }
}
