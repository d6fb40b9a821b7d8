/** `chiron backup`: a copy of the whole store, while the service runs. */
import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { UsageError } from '../../errors.ts'
import { sizeText } from '../../platform/db/before-migration.ts'
import type { Db } from '../../platform/db/db.ts'
import { type Schema, schemaFor, versionText } from '../../platform/db/migrate.ts'
import { fileOf, openDb } from '../../platform/db/open.ts'
import { copySqlite } from '../../platform/db/sqlite-file.ts'
import { second, systemClock, timestamp } from '../../platform/lib/clock.ts'
import { packageVersion } from '../../version.ts'
import { dumpPostgres, whileNoted } from '../backup/backup.ts'
import { type CommonOptions, configFor, numberFrom, say } from './command.ts'

export interface BackupOptions extends CommonOptions {
  readonly to?: string
  readonly keep?: string
  readonly yes?: boolean
}

const endings = { sqlite: 'db', postgres: 'dump' } as const
const keepUsual = '14'
/** The first schema that records backups. */
const notedSince = 13

export async function backupCommand(file: string | undefined, options: BackupOptions): Promise<void> {
  const { to: folder } = options
  if ((file === undefined) === (folder === undefined))
    throw new UsageError('give either a file, or --to with a folder')
  if (options.keep !== undefined && folder === undefined) throw new UsageError('--keep needs --to')
  const keep = numberFrom('--keep', options.keep ?? keepUsual, 1, 10_000)
  const { databaseUrl } = configFor(options)
  const store = fileOf(databaseUrl)
  const engine = store === null ? 'postgres' : 'sqlite'
  if (store !== null && !existsSync(store)) throw new UsageError(`there is no store at ${store}`)
  if (folder !== undefined) mkdirSync(folder, { recursive: true, mode: 0o700 })
  const at = systemClock.now()
  const target = file ?? freeName(folder!, at, engine)
  if (store !== null && existsSync(target) && realpathSync(target) === realpathSync(store))
    throw new UsageError(`${target} is the store itself`)
  if (existsSync(target) && !options.yes)
    throw new UsageError(`${target} exists: choose another name, or add --yes to overwrite it`)

  const schema = await withStore(databaseUrl, async (db, { versions, newest }) => {
    const copy = () => (store === null ? dumpPostgres(databaseUrl, target) : copySqlite(store, target))
    if (versions.includes(notedSince)) await whileNoted(db, systemClock, packageVersion(), copy)
    else await copy()
    return versionText(newest)
  })

  const removed = folder === undefined ? [] : rotate(folder, engine, keep)
  const { size: bytes } = statSync(target)
  const text = [
    `The store is backed up to ${target} (${sizeText(bytes)}, schema ${schema}). Also keep a copy of the secret, in a different place.`,
    ...(removed.length > 0 ? [`Removed ${removed.join(', ')}.`] : []),
  ]
  say(options, { file: target, bytes, schema, engine, at: timestamp(at), removed }, text.join('\n'))
}

/** Opens the store without migrating it. */
async function withStore<T>(databaseUrl: string, work: (db: Db, schema: Schema) => Promise<T>): Promise<T> {
  const db = openDb(databaseUrl)
  try {
    const schema = await schemaFor(db)
    if (schema.versions.length === 0) throw new UsageError('this database has no store yet')
    return await work(db, schema)
  } finally {
    await db.close()
  }
}

const nameOf = (at: number, engine: Db['engine']) =>
  `chiron-${timestamp(at).slice(0, 19).replaceAll(':', '-')}Z.${endings[engine]}`

/** Two backups of one second: the second has the name of the next one. */
function freeName(folder: string, at: number, engine: Db['engine']): string {
  const path = join(folder, nameOf(at, engine))
  return existsSync(path) ? freeName(folder, at + second, engine) : path
}

/** Removes the oldest backups of this kind; the names begin with the time. */
function rotate(folder: string, engine: Db['engine'], keep: number): string[] {
  const ours = new RegExp(`^chiron-\\d{4}-\\d\\d-\\d\\dT\\d\\d-\\d\\d-\\d\\dZ\\.${endings[engine]}$`)
  const old = readdirSync(folder)
    .filter((name) => ours.test(name))
    .sort()
    .slice(0, -keep)
  for (const name of old) rmSync(join(folder, name))
  return old
}
