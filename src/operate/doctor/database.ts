/** The store: whether it answers, is intact, has disk space, and has the schema of this program. */

import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { UsageError } from '../../errors.ts'
import type { Db } from '../../platform/db/db.ts'
import { knownSchema, ownDatabase, type Schema, schemaOf } from '../../platform/db/migrate.ts'
import { pooledByTransaction } from '../../platform/db/pooler.ts'
import type { Clock } from '../../platform/lib/clock.ts'
import { counted } from '../../platform/lib/counted.ts'
import { errorFields } from '../../platform/lib/error-fields.ts'
import { isLoopbackHost } from '../../platform/lib/network.ts'
import { hostsOf, isPooled } from '../../platform/lib/postgres-url.ts'
import { reasonOf } from '../../platform/lib/reason.ts'
import { checkClock } from './clock.ts'
import { bad, type Finding, good, warning } from './doctor.ts'
import { ownName } from './service-user.ts'
import { type PostgresFacts, postgresFacts, sqliteFacts } from './store.ts'

const megabyte = 1024 * 1024
const freeMin = 200 * megabyte
const freeWanted = 2_000 * megabyte
const walMax = 256 * megabyte
const oldestPostgres = 150_000
const connectionsShareMax = 0.9

/** Why the file of an SQLite store cannot be opened for writing; null if it can, or if there is no file. */
export function checkFile(databaseUrl: string): Finding | null {
  if (!databaseUrl.startsWith('sqlite:')) return null
  const path = databaseUrl.slice('sqlite:'.length)
  if (mayUse(path, constants.F_OK) === 'ENOENT') return missing(path)
  // SQLite creates its logs in the same directory.
  for (const part of [dirname(path), path, `${path}-wal`, `${path}-shm`]) {
    const mode = part === dirname(path) ? constants.W_OK | constants.X_OK : constants.R_OK | constants.W_OK
    const refusal = mayUse(part, mode)
    if (refusal === null || refusal === 'ENOENT') continue
    return refused(part, refusal)
  }
  return null
}

function missing(path: string): Finding {
  let above = dirname(resolve(path))
  while (!existsSync(above)) above = dirname(above)
  const refusal = mayUse(above, constants.W_OK | constants.X_OK)
  if (refusal !== null) return refused(above, refusal)
  return bad('store', `there is no file ${path}`, 'start the service once, or correct CHIRON_DATABASE_URL')
}

function refused(path: string, refusal: string): Finding {
  if (refusal === 'EROFS') return bad('store', `${path} is on a read-only file system`, 'mount it writable')
  const user = ownName()
  const { uid } = statSync(path, { throwIfNoEntry: false }) ?? {}
  const owner = uid === undefined ? '' : `, which belongs to ${nameOf(uid)}`
  return bad(
    'store',
    `${user} may not write ${path}${owner}`,
    `the folder and its files must belong to the user of the service: chown -R ${user}: ${path}`,
  )
}

/** Null if this user may; otherwise the error code. */
function mayUse(path: string, mode: number): string | null {
  try {
    accessSync(path, mode)
    return null
  } catch (error) {
    return errorFields(error).code ?? 'EACCES'
  }
}

function nameOf(uid: number): string {
  const { status, stdout } = spawnSync('id', ['-un', String(uid)], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : `user ${uid}`
}

export function storeUnreachable(error: unknown): Finding {
  if (error instanceof UsageError && error.message === pooledByTransaction)
    return bad('store', error.message, 'correct CHIRON_DATABASE_URL, or connect to the server itself')
  const { errcode } = errorFields(errorFields(error).cause ?? error)
  if (errcode === 26 || errcode === 11) return damaged(reasonOf(error))
  return bad(
    'store',
    `unreachable: ${reasonOf(error)}`,
    'make sure that the database is running and that CHIRON_DATABASE_URL has the right host, port, user and password',
  )
}

function damaged(how: string): Finding {
  return bad('store', `the file is damaged: ${how}`, 'stop the service and restore the last backup')
}

/** `isReadable`: intact, with the tables and columns that this program expects. */
export async function checkStore(
  db: Db,
  databaseUrl: string,
  { now }: Clock,
): Promise<{ findings: Finding[]; isReadable: boolean }> {
  if (db.engine === 'sqlite') {
    const { version, damage } = await sqliteFacts(db)
    if (damage !== null) return { findings: [damaged(damage)], isReadable: false }
    const whole = good('store', `SQLite ${version} answers, and its file is intact`)
    const schema = checkSchema(await schemaOf(db), db.engine)
    const disk = checkDisk(databaseUrl.slice('sqlite:'.length))
    return { findings: [whole, schema, ...disk], isReadable: schema.state === 'good' }
  }
  const facts = await postgresFacts(db)
  const schema = checkSchema(await schemaOf(db), db.engine)
  const clock = checkClock({ whose: 'the database', now: facts.now, ours: now() })
  return {
    findings: [...checkPostgres(facts, databaseUrl), schema, clock],
    isReadable: schema.state === 'good',
  }
}

function checkSchema({ newest, needed }: Schema, engine: Db['engine']): Finding {
  const known = knownSchema(engine)
  if (newest === known) return good('store', `schema ${newest} matches this program`)
  if (needed > known)
    return bad(
      'store',
      `schema ${newest} is newer than this program, which knows ${known}`,
      'run the newer program, or restore a backup from before the upgrade',
    )
  if (newest > known)
    return good(
      'store',
      `schema ${newest} is newer than this program, which knows ${known} and can run on it`,
    )
  return warning(
    'store',
    `schema ${newest} is older than this program, which knows ${known}`,
    'run chiron migrate',
  )
}

function checkDisk(path: string): Finding[] {
  const { bavail, bsize } = statfsSync(dirname(path))
  const free = bavail * bsize
  const room = `${Math.round(free / megabyte)} MB of disk space are free`
  const wal = existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0
  const findings = [
    free < freeMin
      ? bad('store', room, 'free some space: without it, nobody can sign in')
      : free < freeWanted
        ? warning('store', room, 'make room')
        : good('store', room),
  ]
  if (wal > walMax)
    findings.push(
      warning(
        'store',
        `the write-ahead log has grown to ${Math.round(wal / megabyte)} MB`,
        'look for a program that keeps the file open, such as a hung backup',
      ),
    )
  if ((statSync(path).mode & 0o077) !== 0)
    findings.push(warning('store', 'other users of this machine may read the file', `run chmod 600 ${path}`))
  return findings
}

/** Migrations create tables and change existing ones, which only their owner may do. */
function checkRights({ role, database, may_create, others_tables }: PostgresFacts): Finding[] {
  const remedy = ownDatabase.replace('NAME', database).replace('ROLE', role)
  if (!may_create)
    return [bad('store', `the role ${role} may not create tables in the database ${database}`, remedy)]
  if (others_tables > 0)
    return [
      bad('store', `${counted(others_tables, 'table does', 'tables do')} not belong to ${role}`, remedy),
    ]
  return [good('store', `the role ${role} may create and change tables`)]
}

/** Directly, Chiron limits the time of statements itself. Through a pooler it cannot. */
function checkPooler({ role, statement_timeout }: PostgresFacts): Finding {
  return statement_timeout > 0
    ? good('store', 'the pooler is in transaction mode, as CHIRON_DATABASE_URL says')
    : warning(
        'store',
        'through the pooler, a statement may take as long as it likes',
        `as a superuser of PostgreSQL, run "alter role ${role} set statement_timeout = '10s'", and RECONNECT in the pooler`,
      )
}

function checkPostgres(facts: PostgresFacts, databaseUrl: string): Finding[] {
  const { version, number, encrypted, connections, connections_max } = facts
  const isHere = hostsOf(databaseUrl).every((url) => isLoopbackHost(URL.parse(url)?.hostname ?? ''))
  return [
    number < oldestPostgres
      ? bad('store', `PostgreSQL ${version} is too old`, 'use PostgreSQL 15 or later')
      : good('store', `PostgreSQL ${version} answers`),
    ...checkRights(facts),
    ...(isPooled(databaseUrl) ? [checkPooler(facts)] : []),
    encrypted
      ? good('store', 'the connection to the database uses TLS')
      : isHere
        ? good('store', 'the database is on this machine, without TLS')
        : bad(
            'store',
            'the connection to the database is plain text',
            'add sslmode=verify-full to CHIRON_DATABASE_URL',
          ),
    connections > connections_max * connectionsShareMax
      ? warning(
          'store',
          `${connections} of ${connections_max} connections to the database are in use`,
          'raise max_connections; each process of Chiron uses up to 11',
        )
      : good('store', `${connections} of ${connections_max} connections to the database are in use`),
  ]
}
