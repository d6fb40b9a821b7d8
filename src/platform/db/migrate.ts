/**
 * Migrations are numbered, additive SQL files. Each runs in one transaction together with its entry in `migration`, so
 * an interrupted one has no effect. Processes that start together take turns (`exclusively`). Where the engines differ,
 * there is one file for each: `0007_x.postgres.sql` and `0007_x.sqlite.sql`.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { storeOutOfReach, UsageError } from '../../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { copyBefore } from './before-migration.ts'
import type { Db, Exec, Row, Rows } from './db.ts'
import { fillNameKeys } from './name-keys.ts'

const folder = new URL('../../../migrations/', import.meta.url)

/** The part of a migration that SQL cannot express; runs after its file. */
const afterwards: Readonly<Record<string, (exec: Exec, rows: Rows) => Promise<void>>> = {
  '0020_name_keys': fillNameKeys,
}

interface Migration {
  readonly version: number
  readonly name: string
  readonly file: string
}

/**
 * Returns the names of the migrations that ran. Refuses a store migrated by a newer program. An SQLite store with data
 * is copied first; `tell` gets a line about it.
 */
export async function migrate(
  db: Db,
  clock: Clock,
  tell: (line: string) => void = () => {},
): Promise<string[]> {
  await refuseHalfRestored(db)
  try {
    return await bringUpToDate(db, clock, tell)
  } catch (error) {
    if ((error as { code?: string }).code !== insufficientPrivilege) throw error
    throw new UsageError(
      `the role of CHIRON_DATABASE_URL may not create or change tables (${(error as Error).message}): ${ownDatabase}`,
      storeOutOfReach,
    )
  }
}

// Of PostgreSQL's codes.
const insufficientPrivilege = '42501'

export const ownDatabase =
  'as a superuser of PostgreSQL, run "alter database NAME owner to ROLE", and likewise for tables created by another role'

/** Like `migrate`, also for a store that is being restored. */
export async function bringUpToDate(db: Db, clock: Clock, tell: (line: string) => void): Promise<string[]> {
  const ran: string[] = []
  const known = migrationsFor(db.engine)
  const newest = known.at(-1)!.version
  const before = await appliedVersions(db)
  refuseNewer(before, newest)
  if (known.every(({ version }) => before.includes(version))) return ran
  await db.exclusively(async (exec) => {
    await exec(createMigration)
  })
  for (const migration of known) {
    await db.exclusively(async (exec, rows) => {
      const applied = versionsOf(await rows('select version from migration'))
      // A newer program may have started at the same time.
      refuseNewer(applied, newest)
      if (applied.includes(migration.version)) return
      if (db.file !== null && ran.length === 0 && applied.length > 0 && (await hasData(rows))) {
        const copy = await copyBefore(db.file, migration.version)
        if (copy !== null) tell(`the store was copied to ${copy} before its migration`)
      }
      await run(migration, db.engine, clock.now(), exec, rows)
      ran.push(migration.name)
    })
  }
  return ran
}

const createMigration =
  'create table if not exists migration (version integer primary key, name text not null, applied_at bigint not null)'

/** All migrations in one transaction of the caller, in a store without tables. */
export async function createSchema(engine: Db['engine'], now: number, exec: Exec, rows: Rows): Promise<void> {
  await exec(createMigration)
  for (const migration of migrationsFor(engine)) await run(migration, engine, now, exec, rows)
}

async function run(
  migration: Migration,
  engine: Db['engine'],
  now: number,
  exec: Exec,
  rows: Rows,
): Promise<void> {
  const sql = textOf(migration)
  await exec(engine === 'sqlite' ? withoutRowid(sql) : sql)
  await afterwards[migration.name]?.(exec, rows)
  await exec(
    `insert into migration (version, name, applied_at) values (${migration.version}, '${migration.name}', ${now})`,
  )
}

/**
 * In files up to 0008 a comment marks the tables that SQLite stores in key order (one lookup instead of two). Applied
 * migrations must not change; newer ones use a file per engine instead.
 */
const withoutRowid = (sql: string) => sql.replaceAll('/* without rowid */', 'without rowid')

const textOf = ({ file }: Migration) => readFileSync(new URL(file, folder), 'utf8')

/** Whether the store has data. These tables are in the first schema. */
async function hasData(rows: Rows): Promise<boolean> {
  const tables = ['person', 'registration', 'session', 'event']
  const some = tables.map((table) => `exists (select 1 from ${table})`).join(' or ')
  return (await rows(`select 1 as something where ${some}`)).length > 0
}

/** The tables of an interrupted restore may lack rows, or have sessions that must end first. */
export async function refuseHalfRestored(db: Db): Promise<void> {
  if (db.engine === 'sqlite') return
  const row = await db.one<{ name: string | null }>("select to_regclass('public.restoring') as name")
  if (row?.name) throw new UsageError('restoring a backup was interrupted: run chiron restore again')
}

export interface PlannedMigration {
  readonly name: string
  readonly version: number
  /** The tables with rows that it changes or reads. */
  readonly tables: readonly { readonly name: string; readonly rows: number }[]
}

/** What `migrate` would run. Changes nothing. */
export async function planMigrations(db: Db): Promise<PlannedMigration[]> {
  const applied = await schemaOf(db)
  const waiting = migrationsFor(db.engine).filter(({ version }) => !applied.includes(version))
  const plan: PlannedMigration[] = []
  for (const migration of waiting) {
    const tables: { name: string; rows: number }[] = []
    for (const name of tablesIn(textOf(migration))) {
      const rows = await rowsOf(db, name)
      if (rows > 0) tables.push({ name, rows })
    }
    plan.push({ name: migration.name, version: migration.version, tables })
  }
  return plan
}

/** The versions of a store that this program may open; none if it is new. */
export async function schemaOf(db: Db): Promise<number[]> {
  const applied = await appliedVersions(db)
  checkSchema(applied, db.engine)
  return applied
}

/** Refuses a store that a newer program has migrated. */
export function checkSchema(applied: readonly number[], engine: Db['engine']): void {
  refuseNewer(applied, migrationsFor(engine).at(-1)!.version)
}

export const versionText = (version: number) => String(version).padStart(4, '0')

function tablesIn(sql: string): Set<string> {
  const statements = sql.replace(/--.*$/gm, '')
  const named = statements.matchAll(
    /\b(?:alter table|update|delete from|insert into|drop table|index \w+ on|from|join)\s+([a-z_]+)/g,
  )
  return new Set([...named].map(([, table]) => table!))
}

async function rowsOf(db: Db, table: string): Promise<number> {
  try {
    const row = await db.one<{ rows: number }>(`select count(*) as rows from ${table}`)
    return Number(row!.rows)
  } catch (error) {
    // Made by a migration that has not run yet.
    if (isMissingTable(error)) return 0
    throw error
  }
}

/** An older program may write rows without values that the newer one relies on. */
function refuseNewer(applied: readonly number[], known: number): void {
  const newest = Math.max(0, ...applied)
  if (newest <= known) return
  throw new UsageError(
    `the store is at schema ${versionText(newest)}, this program supports up to ${versionText(known)}: start the newer program, or restore a backup from before the upgrade`,
  )
}

/** The newest migration that this program knows. */
export function knownSchema(engine: Db['engine']): number {
  return migrationsFor(engine).at(-1)!.version
}

export async function appliedVersions(db: Pick<Db, 'all'>): Promise<number[]> {
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
