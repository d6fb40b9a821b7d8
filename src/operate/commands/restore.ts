/** `chiron restore`: replaces the store with a backup, after inspecting both. */
import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { UsageError } from '../../errors.ts'
import type { Db, Statement } from '../../platform/db/db.ts'
import { bringUpToDate, refuseNewer, schemaOf, versionText } from '../../platform/db/migrate.ts'
import { fileOf, openDb } from '../../platform/db/open.ts'
import { copySqlite, type Inside, inspectSqlite, isSqliteInUse } from '../../platform/db/sqlite-file.ts'
import { systemClock, timestamp } from '../../platform/lib/clock.ts'
import { flush } from '../../platform/lib/durable.ts'
import { packageVersion } from '../../version.ts'
import {
  contents,
  inspectDump,
  othersConnected,
  putAside,
  putBack,
  restoreDump,
  restored,
  startAfresh,
} from '../backup/backup.ts'
import { type CommonOptions, configFor, say, visible } from './command.ts'

export interface RestoreOptions extends CommonOptions {
  readonly yes?: boolean
}

export async function restoreCommand(file: string, options: RestoreOptions): Promise<void> {
  const { databaseUrl } = configFor(options)
  const target = fileOf(databaseUrl)
  const engine = target === null ? 'postgres' : 'sqlite'
  const inside = await inspect(file, engine)
  const backup = describe(file, inside)
  if (target === null) await intoPostgres(databaseUrl, file, backup, options)
  else await intoSqlite(target, file, backup, options)
}

const starts: readonly [start: string, engine: Db['engine'], name: string][] = [
  ['SQLite format 3\0', 'sqlite', 'SQLite'],
  ['PGDMP', 'postgres', 'PostgreSQL'],
]

async function inspect(file: string, engine: Db['engine']): Promise<Inside> {
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) throw new UsageError(`there is no file ${file}`)
  const kind = starts.find(([start]) => startOf(file, start.length) === start)
  if (!kind) throw new UsageError(`${file} is not a backup of Chiron`)
  if (kind[1] !== engine)
    throw new UsageError(
      `${file} is a backup of ${kind[2]}, but CHIRON_DATABASE_URL is a different kind of store`,
    )
  const inside = engine === 'sqlite' ? inspectSqlite(file) : await inspectDump(file)
  // A restored store is cleared of what it must not trust, so every table has to be known.
  refuseNewer(inside.versions, engine)
  return inside
}

function startOf(file: string, length: number): string {
  const bytes = Buffer.alloc(length)
  const descriptor = openSync(file, 'r')
  readSync(descriptor, bytes)
  closeSync(descriptor)
  return bytes.toString('latin1')
}

interface Backup {
  readonly text: string
  readonly fields: { readonly file: string; readonly schema: string; readonly madeAt: string | null }
}

function describe(file: string, { versions, made }: Inside): Backup {
  const schema = versionText(Math.max(...versions))
  const madeAt = made === null ? null : timestamp(made.began_at)
  const when =
    made === null ? 'not made by "chiron backup"' : `made ${madeAt} by version ${visible(made.program)}`
  return { text: `${file} (${when}, schema ${schema})`, fields: { file, schema, madeAt } }
}

async function intoSqlite(
  target: string,
  file: string,
  backup: Backup,
  options: RestoreOptions,
): Promise<void> {
  const there = existsSync(target)
  if (there && realpathSync(target) === realpathSync(file))
    throw new UsageError(`${file} is the store itself`)
  if (there && isSqliteInUse(target))
    throw new UsageError(`${target} is in use: stop every process of the service first`)
  if (there && !options.yes) throw wouldReplace(target, await contentsOf(`sqlite:${target}`), backup)

  mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
  // The copy is prepared beside the store, so that it replaces it in one step.
  const fresh = `${target}.restoring`
  await copySqlite(file, fresh)
  try {
    await makeReady(openDb(`sqlite:${fresh}`))
    const replaced = there ? `${target}.replaced` : null
    if (replaced !== null) setAside(target, replaced)
    renameSync(fresh, target)
    flush(dirname(target))
    told(options, backup, target, replaced)
  } finally {
    for (const end of ['', '-wal', '-shm']) rmSync(`${fresh}${end}`, { force: true })
  }
}

/** Keeps the old store under another name, with its log if it could not be folded in. */
function setAside(target: string, replaced: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(`${replaced}${end}`, { force: true })
  for (const end of ['-wal', '-shm'])
    if (existsSync(`${target}${end}`)) renameSync(`${target}${end}`, `${replaced}${end}`)
  linkSync(target, replaced)
  chmodSync(replaced, 0o600)
}

async function intoPostgres(
  url: string,
  file: string,
  backup: Backup,
  options: RestoreOptions,
): Promise<void> {
  const name = `the database ${decodeURIComponent(new URL(url.replace(/,[^/]*/, '')).pathname.slice(1))}`
  const db = openDb(url)
  let replaced: string | null = null
  try {
    if ((await othersConnected(db)) > 0)
      throw new UsageError(`${name} is in use: stop every process of the service first`)
    const { versions } = await schemaOf(db)
    if (versions.length > 0) {
      replaced = 'the schema "replaced"'
      if (!options.yes) throw wouldReplace(name, await contents(db), backup)
    }
    await db.exclusively(putAside)
    try {
      await restoreDump(url, file)
    } catch (error) {
      await db.exclusively(putBack)
      throw error
    }
  } finally {
    await db.close()
  }
  await makeReady(openDb(url), [restored])
  told(options, backup, name, replaced)
}

/** Migrates the restored store and invalidates everything that must not come back to life. */
async function makeReady(db: Db, also: readonly Statement[] = []): Promise<void> {
  try {
    await bringUpToDate(db, systemClock, () => {})
    await startAfresh(db, systemClock.now(), packageVersion(), also)
  } finally {
    await db.close()
  }
}

type Contents = Awaited<ReturnType<typeof contents>>

/** Null if it cannot be read, which may be the reason for the restore. */
async function contentsOf(databaseUrl: string): Promise<Contents | null> {
  try {
    const db = openDb(databaseUrl)
    return await contents(db).finally(() => db.close())
  } catch {
    return null
  }
}

function wouldReplace(target: string, there: Contents | null, backup: Backup): UsageError {
  const last = there?.lastEventAt ? `, and its last event is from ${timestamp(there.lastEventAt)}` : ''
  const what =
    there === null
      ? 'cannot be read'
      : `holds ${there.people} ${there.people === 1 ? 'person' : 'people'}${last}`
  return new UsageError(`${target} ${what}; add --yes to replace it with ${backup.text}`)
}

function told(options: RestoreOptions, backup: Backup, target: string, replaced: string | null): void {
  const text = [
    `Restored ${backup.text} into ${target}.`,
    ...(replaced === null
      ? []
      : [`The previous store is kept as ${replaced}; remove it when everything works.`]),
    'Everyone has to sign in again. Import the newest roster, and see docs/backup.md for the remaining steps.',
  ]
  say(options, { ...backup.fields, target, replaced }, text.join('\n'))
}
