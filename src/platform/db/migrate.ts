/**
 * Migrations are numbered, additive SQL files. Each runs in one transaction together with its entry in `migration`, so
 * an interrupted one has no effect. Processes that start together take turns (`exclusively`). Where the engines differ,
 * there is one file for each: `0007_x.postgres.sql` and `0007_x.sqlite.sql`.
 *
 * Older programs run on the result, so that processes can be replaced one after the other. A migration that some cannot
 * run on says so in its name, which the store keeps: `0040_no_device_needs_0039` needs programs that know schema 0039.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { AppError, storeOutOfReach, UsageError } from '../../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { errorFields } from '../lib/error-fields.ts'
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
 * Returns the names of the migrations that ran. Refuses a store that needs a newer program. An SQLite store with data is
 * copied first; `tell` gets a line about it.
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
    if (errorFields(error).code !== insufficientPrivilege) throw error
    throw new UsageError(
      `the role of CHIRON_DATABASE_URL may not create or change tables (${errorFields(error).message}): ${ownDatabase}`,
      storeOutOfReach,
    )
  }
}

// PostgreSQL's error code.
const insufficientPrivilege = '42501'

export const ownDatabase =
  'as a superuser of PostgreSQL, run "alter database NAME owner to ROLE", and likewise for tables created by another role'

/** Like `migrate`, also for a store that is being restored. */
export async function bringUpToDate(db: Db, clock: Clock, tell: (line: string) => void): Promise<string[]> {
  const ran: string[] = []
  const known = migrationsFor(db.engine)
  const { versions: before } = await schemaFor(db)
  if (known.every(({ version }) => before.includes(version))) return ran
  await db.exclusively(async (exec) => {
    await exec(createMigration)
  })
  for (const migration of known) {
    const apply = () =>
      db.exclusively(async (exec, rows) => {
        const schema = new Schema(await rows(readMigrations))
        // A newer program may have started at the same time.
        refuseUnknown(schema, db.engine)
        const { versions } = schema
        if (versions.includes(migration.version)) return
        if (db.file !== null && ran.length === 0 && versions.length > 0 && (await hasData(rows))) {
          const copy = await copyBefore(db.file, migration.version)
          if (copy !== null) tell(`the store was copied to ${copy} before its migration`)
        }
        await run(migration, { engine: db.engine, now: clock.now(), exec, rows })
        ran.push(migration.name)
      })
    await whenUnlocked(apply, () =>
      tell(`${migration.name} waits for a table that is in use, for example by a backup`),
    )
  }
  return ran
}

const lockTimeoutMs = 1_000
const lockPauseMs = 2_000
const lockTriesMax = 200

/**
 * On PostgreSQL a change waits until nobody uses the table, and everybody else waits behind the change: during a backup the
 * whole service. So it gives up soon, lets the others pass, and tries again.
 */
async function whenUnlocked(apply: () => Promise<void>, waits: () => void): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await apply()
    } catch (error) {
      if (!isLockTimeout(error) || tries === lockTriesMax) throw error
      if (tries === 1) waits()
      await new Promise((resolve) => setTimeout(resolve, lockPauseMs))
    }
  }
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof AppError && errorFields(error.extra.cause).code === '55P03'
}

const createMigration =
  'create table if not exists migration (version integer primary key, name text not null, applied_at bigint not null)'

/** All migrations in one transaction of the caller, in a store without tables. */
export async function createSchema(engine: Db['engine'], now: number, exec: Exec, rows: Rows): Promise<void> {
  await exec(createMigration)
  for (const migration of migrationsFor(engine)) await run(migration, { engine, now, exec, rows })
}

async function run(
  migration: Migration,
  { engine, now, exec, rows }: { engine: Db['engine']; now: number; exec: Exec; rows: Rows },
): Promise<void> {
  const sql = textOf(migration)
  if (engine === 'postgres') await exec(`set local lock_timeout = ${lockTimeoutMs}`)
  await exec(engine === 'sqlite' ? withoutRowid(sql) : sql)
  await afterwards[migration.name]?.(exec, rows)
  await exec(
    `insert into migration (version, name, applied_at) values (${migration.version}, '${migration.name}', ${now})`,
  )
}

/**
 * In files for both engines, a comment marks the tables that SQLite stores in key order (one lookup instead of two).
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
  const { versions } = await schemaFor(db)
  const waiting = migrationsFor(db.engine).filter(({ version }) => !versions.includes(version))
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

/** The migrations that a store has had; none if it is new. */
export class Schema {
  readonly versions: readonly number[]
  readonly newest: number
  /** The schema that a program has to know to run on it. */
  readonly needed: number

  constructor(migrations: readonly Row[]) {
    this.versions = migrations.map(({ version }) => Number(version))
    this.newest = Math.max(0, ...this.versions)
    this.needed = Math.max(
      0,
      ...migrations.map(({ name }) => Number(/_needs_(\d{4})$/.exec(String(name))?.[1] ?? 0)),
    )
  }
}

const readMigrations = 'select version, name from migration'

export async function schemaOf(db: Pick<Db, 'all'>): Promise<Schema> {
  try {
    return new Schema(await db.all(readMigrations))
  } catch (error) {
    if (isMissingTable(error)) return new Schema([])
    throw error
  }
}

/** The same of a store on which this program can run; others are refused. */
export async function schemaFor(db: Db): Promise<Schema> {
  const schema = await schemaOf(db)
  refuseUnknown(schema, db.engine)
  return schema
}

function refuseUnknown({ newest, needed }: Schema, engine: Db['engine']): void {
  if (needed > knownSchema(engine)) throw tooNew(newest, engine)
}

/** For programs that have to know every table, such as a restore, which clears some. */
export function refuseNewer(versions: readonly number[], engine: Db['engine']): void {
  const newest = Math.max(0, ...versions)
  if (newest > knownSchema(engine)) throw tooNew(newest, engine)
}

const tooNew = (newest: number, engine: Db['engine']) =>
  new UsageError(
    `the store is at schema ${versionText(newest)}, this program supports up to ${versionText(knownSchema(engine))}: start the newer program, or restore a backup from before the upgrade`,
  )

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

/** The newest migration that this program knows. */
export function knownSchema(engine: Db['engine']): number {
  return migrationsFor(engine).at(-1)!.version
}

function isMissingTable(error: unknown): boolean {
  const { code, message } = errorFields(error)
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
