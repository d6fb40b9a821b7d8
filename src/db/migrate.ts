/**
 * Migrations are numbered, additive SQL files. Each runs in one transaction together with its entry in `migration`, so
 * an interrupted one has no effect. Processes that start together take turns (`exclusively`). Where the engines differ,
 * there is one file for each: `0007_x.postgres.sql` and `0007_x.sqlite.sql`.
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

/** Returns the names of the migrations that ran. Refuses a store migrated by a newer program. */
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
      // A newer program may have started at the same time.
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
 * In files up to 0008 a comment marks the tables that SQLite stores in key order (one lookup instead of two). Applied
 * migrations must not change; newer ones use a file per engine instead.
 */
const withoutRowid = (sql: string) => sql.replaceAll('/* without rowid */', 'without rowid')

/** An older program may write rows that lack what the newer one relies on. */
function refuseNewer(applied: readonly number[], known: number): void {
  const newest = Math.max(0, ...applied)
  if (newest <= known) return
  const text = (version: number) => String(version).padStart(4, '0')
  throw new UsageError(
    `the store is at schema ${text(newest)}, this program knows up to ${text(known)}: start the newer program, or restore a backup from before the upgrade`,
  )
}

export async function schemaVersion(db: Db): Promise<number> {
  return Math.max(0, ...(await appliedVersions(db)))
}

/** Whether the store is empty apart from its schema. */
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
