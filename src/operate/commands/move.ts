/**
 * `chiron move --to URL`: the whole store into an empty one of either engine. The copy becomes visible in one step, with
 * the commit (PostgreSQL) or under its name (SQLite), so an interrupted move leaves the target empty.
 */
import { existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { columns } from '../../columns.ts'
import { UsageError } from '../../errors.ts'
import { type CopiedTable, copyTables } from '../../platform/db/copy-tables.ts'
import type { Db } from '../../platform/db/db.ts'
import { createSchema, knownSchema, refuseHalfRestored, schemaOf } from '../../platform/db/migrate.ts'
import { fileOf, openDb } from '../../platform/db/open.ts'
import { isSqliteInUse } from '../../platform/db/sqlite-file.ts'
import { systemClock } from '../../platform/lib/clock.ts'
import { counted } from '../../platform/lib/counted.ts'
import { flush } from '../../platform/lib/durable.ts'
import { errorFields } from '../../platform/lib/error-fields.ts'
import { isPlainByOmission } from '../../platform/lib/postgres-url.ts'
import { databaseUrl } from '../../setting-parsers.ts'
import { othersConnected } from '../backup/backup.ts'
import { type CommonOptions, configOfStore, say, storeFailed, storeOf } from './command.ts'
import { progressFor } from './progress.ts'

export interface MoveOptions extends CommonOptions {
  readonly to: string
}

export async function moveCommand(options: MoveOptions): Promise<void> {
  const sourceUrl = configOfStore(options).databaseUrl
  const target = targetOf(options.to)
  const sourceFile = fileOf(sourceUrl)
  if (sourceFile !== null && !existsSync(sourceFile))
    throw new UsageError(`there is no store at ${sourceFile}`)
  if (sourceFile !== null && isSqliteInUse(sourceFile)) throw inUse(sourceUrl)
  const source = openDb(sourceUrl)
  try {
    await refuseUnready(source, sourceUrl).catch(storeFailed)
    const tables = await moveInto(target, source, options)
    const rows = tables.reduce((sum, table) => sum + table.rows, 0)
    const text = [
      `Moved ${counted(rows, 'row', 'rows')} of ${counted(tables.length, 'table', 'tables')} to ${placeOf(target.url)}, and checked each table.`,
      'Set CHIRON_DATABASE_URL to the new address, keep CHIRON_SECRET, and start the service: nobody is signed out.',
      `The old store, ${placeOf(sourceUrl)}, is unchanged. Delete it when everything works.`,
    ]
    say(options, { rows, tables }, text.join('\n'))
  } finally {
    await source.close()
  }
}

interface Target {
  readonly url: string
  /** Where the copy is made; it gets its name when it is complete. */
  readonly draft: { readonly file: string; readonly whole: string } | null
}

function targetOf(to: string): Target {
  const url = parsed(to)
  const whole = fileOf(url)
  if (whole === null) return { url, draft: null }
  if ((statSync(whole, { throwIfNoEntry: false })?.size ?? 0) > 0) throw notEmpty(url)
  return { url, draft: { file: `${whole}.moving`, whole } }
}

function parsed(to: string): string {
  try {
    const url = databaseUrl(to)
    if (fileOf(url) === null && isPlainByOmission(url)) throw new UsageError('must say sslmode')
    return url
  } catch (error) {
    throw new UsageError(`--to ${errorFields(error).message}`)
  }
}

/** The copy must come from a store at rest, with the tables that this program knows. */
async function refuseUnready(source: Db, url: string): Promise<void> {
  if (source.engine === 'postgres' && (await othersConnected(source)) > 0) throw inUse(url)
  await refuseHalfRestored(source)
  const { newest } = await schemaOf(source)
  const known = knownSchema(source.engine)
  if (newest === known) return
  throw new UsageError(
    `the store is at schema ${newest}, and this program knows ${known}: ${newest < known ? 'run "chiron migrate" first' : 'use the newer program'}`,
  )
}

async function moveInto({ url, draft }: Target, source: Db, options: MoveOptions): Promise<CopiedTable[]> {
  if (!draft) return copyAll(source, url, options)
  removeSqlite(draft.file)
  try {
    const moved = await copyAll(source, `sqlite:${draft.file}`, options)
    flush(draft.file)
    renameSync(draft.file, draft.whole)
    flush(dirname(draft.whole))
    return moved
  } finally {
    removeSqlite(draft.file)
  }
}

async function copyAll(source: Db, url: string, options: MoveOptions): Promise<CopiedTable[]> {
  const progress = progressFor(options.json === true)
  let moved: CopiedTable[] = []
  const db = openDb(url)
  try {
    // Before anything is locked: it may be the source itself.
    if (db.engine === 'postgres' && (await hasTables(db))) throw notEmpty(url)
    await source.exclusively(async (exec, rows) => {
      // SQLite has locked the whole file.
      if (source.engine === 'postgres')
        await exec(`lock table ${Object.keys(columns).join(', ')} in share mode`)
      await db.exclusively(async (execThere, rowsThere) => {
        await createSchema(db.engine, systemClock.now(), execThere, rowsThere)
        moved = await copyTables(
          { engine: source.engine, exec, rows },
          { engine: db.engine, exec: execThere, rows: rowsThere },
          columns,
          ({ done, total }) => progress('copying and checking', done, total),
        )
      })
    })
    await db.analyze(Object.keys(columns))
    return moved
  } finally {
    await db.close()
  }
}

async function hasTables(db: Db): Promise<boolean> {
  const found = await db.all(
    "select 1 as found from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm') limit 1",
  )
  return found.length > 0
}

function removeSqlite(file: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${end}`, { force: true })
}

function placeOf(url: string): string {
  const { engine, place } = storeOf(url)
  return `${engine} at ${place}`
}

const inUse = (url: string) =>
  new UsageError(`${placeOf(url)} is in use: stop every process of the service first`)

const notEmpty = (url: string) =>
  new UsageError(`${placeOf(url)} is not empty: name a new file, or a database without tables`)
