/** Operations on whole SQLite files: copying one in use, inspecting one, and checking for damage or use. */
import { existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { storeOutOfReach, UsageError } from '../../errors.ts'
import { flush, makeFile } from '../lib/durable.ts'
import { errorFields } from '../lib/error-fields.ts'

// All pages in one step. Between steps a write by another process would make SQLite start again from the first page.
const allPages = 2 ** 31 - 1

/** The copy is checked, readable for its owner only, and appears under its name when it is complete. */
export async function copySqlite(from: string, to: string): Promise<void> {
  const draft = `${to}.part`
  rmSync(draft, { force: true })
  makeFile(draft)
  try {
    const source = new DatabaseSync(from)
    try {
      await backup(source, draft, { rate: allPages })
    } finally {
      source.close()
    }
    const faults = faultsOf(draft)
    if (faults !== null) throw new UsageError(`the copy of ${from} is damaged, and was not kept: ${faults}`)
    flush(draft)
    renameSync(draft, to)
    flush(dirname(to))
  } finally {
    for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${draft}${end}`, { force: true })
  }
}

/** What is wrong with a file, or null. Leaves a sound one as a single file, without a write-ahead log beside it. */
function faultsOf(file: string): string | null {
  const database = new DatabaseSync(file)
  try {
    database.exec('pragma journal_mode = delete')
    const [found] = database.prepare('pragma integrity_check(1)').all() as { integrity_check: string }[]
    return found!.integrity_check === 'ok' ? null : found!.integrity_check
  } finally {
    database.close()
  }
}

// Takes a tenth of a second. `chiron doctor` checks files of any size.
const checkedBytesMax = 64e6

/** Throws if a store is damaged, and leaves it unchanged. A large one is not checked. */
export function refuseDamaged(file: string): void {
  const found = existsSync(file) ? statSync(file) : undefined
  if (!found?.isFile() || found.size > checkedBytesMax) return
  let damage: string
  const database = openToRead(file)
  try {
    damage = String(Object.values(database.prepare('pragma quick_check(1)').get()!)[0])
  } catch (error) {
    throw whyNotOpened(file, error)
  } finally {
    database.close()
  }
  if (damage !== 'ok') throw damagedStore(file, damage)
}

function openToRead(file: string): DatabaseSync {
  try {
    return new DatabaseSync(file, { readOnly: true })
  } catch (error) {
    throw whyNotOpened(file, error)
  }
}

function damagedStore(file: string, how: string): UsageError {
  return new UsageError(
    `the store ${file} is damaged or is not an SQLite file (${how.replace(/\s+/g, ' ').trim()}). It was left unchanged: restore a backup with "chiron restore BACKUP --yes", or correct CHIRON_DATABASE_URL`,
    storeOutOfReach,
  )
}

/** Adds advice if the file itself is the cause. */
export function whyNotOpened(file: string, error: unknown): unknown {
  const { errcode, code, message = '' } = errorFields(error)
  const primary = (errcode ?? 0) & 0xff
  if (primary === corrupt || primary === notADatabase) return damagedStore(file, message)
  if (code === 'EISDIR')
    return new UsageError(`${file} is a directory: CHIRON_DATABASE_URL must name a file`, storeOutOfReach)
  if (code === 'ENOTDIR')
    return new UsageError(
      `${file}: a parent of this path is not a directory; correct CHIRON_DATABASE_URL`,
      storeOutOfReach,
    )
  if (['EACCES', 'EPERM', 'EROFS'].includes(code ?? '') || primary === readOnlyFile || primary === cannotOpen)
    return new UsageError(
      `the store ${file} cannot be opened for writing (${message}): the user who runs Chiron must own the file and its directory`,
      storeOutOfReach,
    )
  return error
}

// SQLite's error codes.
const readOnlyFile = 8
const corrupt = 11
const cannotOpen = 14
const notADatabase = 26

export interface Inside {
  readonly versions: readonly number[]
  /** When it was made and by which version, if a backup says so. */
  readonly made: { readonly began_at: number; readonly program: string } | null
}

/** Looks into a file that somebody calls a backup, and changes nothing. */
export function inspectSqlite(file: string): Inside {
  try {
    const database = new DatabaseSync(file, { readOnly: true })
    try {
      const [found] = database.prepare('pragma integrity_check(1)').all() as { integrity_check: string }[]
      if (found!.integrity_check !== 'ok') throw new Error(found!.integrity_check)
      const tables = database.prepare("select name from sqlite_master where type = 'table'").all()
      const has = (table: string) => tables.some(({ name }) => name === table)
      if (!has('migration') || !has('person')) throw new UsageError(`${file} is not a Chiron store`)
      const versions = database.prepare('select version from migration').all() as { version: number }[]
      const [made] = has('backup') ? database.prepare(newestBackup).all() : []
      return {
        versions: versions.map(({ version }) => version),
        made: made ? { began_at: Number(made.began_at), program: String(made.program) } : null,
      }
    } finally {
      database.close()
    }
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`${file} is damaged: ${errorFields(error).message}`)
  }
}

/**
 * A backup is recorded before it is made, so the record in the copy has no end time. Other copies have no such record.
 */
const newestBackup = `select began_at, program from (select * from backup order by began_at desc, id desc limit 1)
  where kind = 'backup' and finished_at is null`

/**
 * Switching off write-ahead logging needs exclusive access, so it fails while another process has the file open.
 * Afterwards everything is in the one file.
 */
export function isSqliteInUse(file: string): boolean {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file, { timeout: 0 })
    database.exec('pragma journal_mode = delete')
    return false
  } catch (error) {
    // Any other error is in the file itself, which does not matter when it is replaced.
    return (errorFields(error).errcode ?? 0) % 256 === 5
  } finally {
    database?.close()
  }
}
