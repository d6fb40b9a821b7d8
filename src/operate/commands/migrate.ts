import { existsSync } from 'node:fs'
import { copyName, freeBeside, sizeOf, sizeText } from '../../platform/db/before-migration.ts'
import { migrate, migrationsFor, type PlannedMigration, planMigrations } from '../../platform/db/migrate.ts'
import { fileOf, openDb } from '../../platform/db/open.ts'
import { systemClock } from '../../platform/lib/clock.ts'
import { type CommonOptions, configFor, say, tell } from './command.ts'

export async function migrateCommand(options: CommonOptions & { plan?: boolean }): Promise<void> {
  const { databaseUrl } = configFor(options)
  if (options.plan) return showPlan(databaseUrl, options)
  const db = openDb(databaseUrl)
  try {
    const applied = await migrate(db, systemClock, tell)
    const text = applied.length === 0 ? 'The store is up to date.' : `Applied ${applied.join(', ')}.`
    say(options, { applied }, text)
  } finally {
    await db.close()
  }
}

async function showPlan(databaseUrl: string, options: CommonOptions): Promise<void> {
  const file = fileOf(databaseUrl)
  const plan = await planFor(databaseUrl)
  const hasRows = plan.some(({ tables }) => tables.length > 0)
  const copy =
    file !== null && hasRows
      ? { file: copyName(file, plan[0]!.version), bytes: sizeOf(file), freeBytes: freeBeside(file) }
      : null
  if (options.json) return say(options, { plan, copy }, '')
  if (plan.length === 0) return say(options, {}, 'The store is up to date: nothing would run.')
  const lines = plan.map(({ name, tables }) => {
    const touched = tables.map((table) => `${table.name} (${table.rows.toLocaleString('en')} rows)`)
    return `  ${name}: ${touched.join(', ') || 'no table with rows'}`
  })
  const first = copy
    ? `\nFirst the store (${sizeText(copy.bytes)}) is copied to ${copy.file}; ${sizeText(copy.freeBytes)} are free.`
    : ''
  say(options, {}, `These migrations would run:\n${lines.join('\n')}${first}\nNothing was changed.`)
}

/** Opening an SQLite store would create it. */
async function planFor(databaseUrl: string): Promise<PlannedMigration[]> {
  const file = fileOf(databaseUrl)
  if (file !== null && !existsSync(file))
    return migrationsFor('sqlite').map(({ name, version }) => ({ name, version, tables: [] }))
  const db = openDb(databaseUrl)
  try {
    return await planMigrations(db)
  } finally {
    await db.close()
  }
}
