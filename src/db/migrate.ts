/**
 * Migrations are numbered SQL files, additive, each in one transaction with the note that it ran: killed half-way,
 * it did not happen. Processes that start together take turns (`exclusively`) and find the work done.
 * `0007_x.postgres.sql` or `.sqlite.sql` stands where an engine must differ.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { UsageError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Db, Row } from './db.ts'

const folder = new URL('../../migrations/', import.meta.url)

interface Migration {
  readonly version: number
  readonly name: string
  readonly file: string
}

/** Brings the store up to date; gives the names of what ran. Refuses a store that a newer program has migrated. */
export async function migrate(db: Db, clock: Clock): Promise<string[]> {
  const ran: string[] = []
  const known = migrationsFor(db.engine)
  const newest = known.at(-1)!.version
  const before = await appliedVersions(db)
  refuseNewer(before, newest)
  if (known.every(({ version }) => before.includes(version))) return ran
  await db.exclusively(async (exec) => {
    await exec(
      'create table if not exists migration (version integer primary key, name text not null, applied_at bigint not null)',
    )
  })
  for (const migration of known) {
    await db.exclusively(async (exec) => {
      const applied = versionsOf(await exec('select version from migration'))
      // A newer program may have started at the same moment.
      refuseNewer(applied, newest)
      if (applied.includes(migration.version)) return
      const sql = readFileSync(new URL(migration.file, folder), 'utf8')
      await exec(db.engine === 'sqlite' ? withoutRowid(sql) : sql)
      await exec(
        `insert into migration (version, name, applied_at) values (${migration.version}, '${migration.name}', ${clock.now()})`,
      )
      ran.push(migration.name)
    })
  }
  return ran
}

/**
 * Files up to 0008 mark with a comment the tables that SQLite keeps in the order of their key, so that a row is found in
 * one step instead of two. What has run in a store does not change; a newer file is one for each engine instead.
 */
const withoutRowid = (sql: string) => sql.replaceAll('/* without rowid */', 'without rowid')

/** What an older program writes into a newer store may lack what the newer one relies on. */
function refuseNewer(applied: readonly number[], known: number): void {
  const newest = Math.max(0, ...applied)
  if (newest <= known) return
  const text = (version: number) => String(version).padStart(4, '0')
  throw new UsageError(
    `the store is at schema ${text(newest)}, this program knows up to ${text(known)}: start the newer program, or restore a backup from before the upgrade`,
  )
}

/** Whether nothing has happened in this store yet but migrations. */
export async function isUntouched(db: Db): Promise<boolean> {
  const something = await db.one(
    `select 1 as something where exists (select 1 from person) or exists (select 1 from registration)
       or exists (select 1 from roster_generation) or exists (select 1 from challenge) or exists (select 1 from event)`,
  )
  return something === undefined
}

async function appliedVersions(db: Db): Promise<number[]> {
  try {
    return versionsOf(await db.all('select version from migration'))
  } catch (error) {
    if (isMissingTable(error)) return []
    throw error
  }
}

const versionsOf = (rows: readonly Row[]) => rows.map(({ version }) => Number(version))

function isMissingTable(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string }
  return code === '42P01' || /no such table/.test(message ?? '')
}

export function migrationsFor(engine: Db['engine']): Migration[] {
  const pattern = new RegExp(`^(\\d{4})_([a-z0-9_]+)(?:\\.${engine})?\\.sql$`)
  return readdirSync(folder)
    .sort()
    .flatMap((file) => {
      const match = pattern.exec(file)
      return match ? [{ version: Number(match[1]), name: `${match[1]}_${match[2]}`, file }] : []
    })
}
