/** Backups of PostgreSQL by its own programs. The password travels in the environment, never on a command line. */
import { spawn } from 'node:child_process'
import { renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { UsageError } from '../../errors.ts'
import { flush, makeFile } from '../../platform/lib/durable.ts'
import { libpqEnvironment } from '../../platform/lib/postgres-url.ts'

type Program = 'pg_dump' | 'pg_restore'

/** The file is checked, readable for its owner only, and appears under its name when it is complete. */
export async function dumpPostgres(url: string, to: string): Promise<void> {
  const draft = `${to}.part`
  rmSync(draft, { force: true })
  makeFile(draft)
  try {
    const what = ['--format=custom', '--no-owner', '--no-privileges', '--exclude-schema=replaced']
    await run('pg_dump', [...what, `--file=${draft}`], libpqEnvironment(url))
    await inspectDump(draft)
    flush(draft)
    renameSync(draft, to)
    flush(dirname(to))
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Reads the whole file, and returns what the store records about itself. */
export async function inspectDump(file: string) {
  const list = await run('pg_restore', ['--list', file]).catch(asDamaged(file))
  const has = (table: string) => new RegExp(` TABLE DATA public ${table} `).test(list)
  if (!has('migration') || !has('person')) throw new UsageError(`${file} is not a Chiron store`)
  await run('pg_restore', ['--file=/dev/null', file]).catch(asDamaged(file))
  const versions = (await rowsIn(file, 'migration')).map(([version]) => Number(version))
  const backups = has('backup') ? await rowsIn(file, 'backup') : []
  const [newest] = backups
    .map(([, kind, began_at, finished_at, program]) => ({
      isItself: kind === 'backup' && finished_at === '\\N',
      began_at: Number(began_at),
      program: program!,
    }))
    .sort((a, b) => b.began_at - a.began_at)
  return { versions, made: newest?.isItself ? newest : null }
}

/** Into an empty schema `public`, all or nothing. */
export async function restoreDump(url: string, file: string): Promise<void> {
  const how = ['--single-transaction', '--exit-on-error', '--no-owner', '--no-privileges', '--schema=public']
  const environment = libpqEnvironment(url)
  await run('pg_restore', [...how, `--dbname=${environment.PGDATABASE}`, file], environment)
}

/** The rows of a table in a dump, in column order, from its tab-separated COPY. */
async function rowsIn(file: string, table: string): Promise<string[][]> {
  const sql = await run('pg_restore', ['--data-only', `--table=${table}`, '--file=-', file])
  const rows = /^COPY [^\n]*;\n([\s\S]*?)^\\\.$/m.exec(sql)?.[1] ?? ''
  return rows
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t'))
}

const asDamaged = (file: string) => (error: unknown) => {
  if (error instanceof Failed) throw new UsageError(`${file} is damaged: ${error.message}`)
  throw error
}

class Failed extends UsageError {}

/** Resolves with what the program printed. */
function run(program: Program, args: readonly string[], environment = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: { ...process.env, LC_ALL: 'C', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let printed = ''
    let complained = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      printed += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      complained += text
    })
    child.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'ENOENT' ? missing(program) : error)
    })
    child.once('close', (code) => {
      if (code === 0) resolve(printed)
      else reject(failed(program, complained))
    })
  })
}

function missing(program: Program): UsageError {
  return new UsageError(
    `${program} is not installed here: install PostgreSQL’s client programs (on Debian: postgresql-client), or rely on the server’s own backups`,
  )
}

function failed(program: Program, complained: string): UsageError {
  if (/server version mismatch/.test(complained))
    return new UsageError(
      `${program} is older than the server: install the client programs of the server’s version`,
    )
  if (/unsupported version/.test(complained))
    return new UsageError(`${program} is older than the pg_dump that made the file: install a newer version`)
  const line = complained.split('\n').find((one) => /error|fatal/i.test(one)) ?? complained.split('\n')[0]
  return new Failed(`${program} failed: ${line!.replace(/^pg_\w+: (error: )?/, '')}`)
}
