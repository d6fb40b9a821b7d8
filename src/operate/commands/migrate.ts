import { existsSync } from 'node:fs'
import { copyName, freeBeside, sizeOf, sizeText } from '../../platform/db/before-migration.ts'
import type { Db } from '../../platform/db/db.ts'
import {
  knownSchema,
  migrate,
  migrationsFor,
  type PlannedMigration,
  planMigrations,
  schemaOf,
  versionText,
} from '../../platform/db/migrate.ts'
import { fileOf, openDb } from '../../platform/db/open.ts'
import { systemClock } from '../../platform/lib/clock.ts'
import { type CommonOptions, configFor, say, tell } from './command.ts'

export async function migrateCommand(options: CommonOptions & { plan?: boolean }): Promise<void> {
  const { databaseUrl } = configFor(options)
  if (options.plan) return showPlan(databaseUrl, options)
  const db = openDb(databaseUrl)
  try {
    const applied = await migrate(db, systemClock, tell)
    const text = applied.length === 0 ? await upToDate(db) : `Applied ${applied.join(', ')}.`
    say(options, { applied }, text)
  } finally {
    await db.close()
  }
}

async function showPlan(databaseUrl: string, options: CommonOptions): Promise<void> {
  const file = fileOf(databaseUrl)
  const { plan, done } = await planFor(databaseUrl)
  const hasRows = plan.some(({ tables }) => tables.length > 0)
  const copy =
    file !== null && hasRows
      ? { file: copyName(file, plan[0]!.version), bytes: sizeOf(file), freeBytes: freeBeside(file) }
      : null
  if (options.json) return say(options, { plan, copy }, '')
  if (plan.length === 0) return say(options, {}, `${done} Nothing would run.`)
  const lines = plan.map(({ name, tables }) => {
    const touched = tables.map((table) => `${table.name} (${table.rows.toLocaleString('en')} rows)`)
    return `  ${name}: ${touched.join(', ') || 'no table with rows'}`
  })
  const first = copy
    ? `\nFirst the store (${sizeText(copy.bytes)}) is copied to ${copy.file}; ${sizeText(copy.freeBytes)} are free.`
    : ''
  say(options, {}, `These migrations would run:\n${lines.join('\n')}${first}\nNothing was changed.`)
}

/** `done` is for a store on which nothing is left to run. Opening an SQLite store would create it. */
async function planFor(databaseUrl: string): Promise<{ plan: PlannedMigration[]; done: string }> {
  const file = fileOf(databaseUrl)
  if (file !== null && !existsSync(file))
    return {
      plan: migrationsFor('sqlite').map(({ name, version }) => ({ name, version, tables: [] })),
      done: '',
    }
  const db = openDb(databaseUrl)
  try {
    return { plan: await planMigrations(db), done: await upToDate(db) }
  } finally {
    await db.close()
  }
}

async function upToDate(db: Db): Promise<string> {
  const { newest } = await schemaOf(db)
  const known = knownSchema(db.engine)
  if (newest <= known) return 'The store is up to date.'
  return `The store is at schema ${versionText(newest)}. This program knows ${versionText(known)}, and can run on it.`
}
