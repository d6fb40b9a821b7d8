/**
 * Bytes of a row on disk, indexes included, on both engines: of a school after a roster import, of people who have
 * registered and signed in, each from another network (half of them have signed out again), and of rows that were written
 * directly. tables.ts says which table is measured how.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createApp } from '../src/app.ts'
import { columns } from '../src/columns.ts'
import { loadConfig } from '../src/config.ts'
import { type Db, statement, type Value } from '../src/platform/db/db.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { openDb } from '../src/platform/db/open.ts'
import { systemClock } from '../src/platform/lib/clock.ts'
import { deriveCode } from '../src/platform/lib/code.ts'
import { newId, newIdAt } from '../src/platform/lib/random.ts'
import { secretsFrom } from '../src/platform/lib/secret.ts'
import { createLog } from '../src/platform/log.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { table as markdown } from './figures.ts'
import { bodyOf, Connection, fromNetwork, json, wire } from './http.ts'
import type { Engine } from './stores.ts'
import { type Filled, type Sample, tables } from './tables.ts'

const [people, students, samples, atOnce] = [2_000, 10_000, 10_000, 10]
const enoughRows = 1_000
const secret = 'only-ever-for-benchmarks-on-one-machine'
type Table = keyof typeof tables

const sizes = {
  sqlite: `select sum(d.pgsize) as bytes from dbstat d join sqlite_schema s on s.name = d.name where s.tbl_name = $1`,
  postgres: 'select pg_total_relation_size(cast($1 as text)::regclass) as bytes',
}
const columnTypes = {
  sqlite: 'select name, lower(type) as type from pragma_table_info($1)',
  postgres:
    'select column_name as name, data_type as type from information_schema.columns where table_name = $1',
}

/** Bytes of a row by table and by what filled it. */
const measured = new Map<string, Record<Engine, number>>()

async function measure(db: Db, filledBy: Filled | 'samples'): Promise<void> {
  for (const [table, how] of Object.entries(tables)) {
    const isHere = Array.isArray(how) ? how.includes(filledBy) : how !== 'few' && filledBy === 'samples'
    if (!isHere) continue
    const { rows } = (await db.one<{ rows: number }>(`select count(*) as rows from ${table}`))!
    if (rows < enoughRows) throw new Error(`${table} has only ${rows} rows on ${db.engine}: ${filledBy}`)
    const { bytes } = (await db.one<{ bytes: number }>(sizes[db.engine], [table]))!
    const name = Array.isArray(how) && how.length > 1 ? `${table}, ${filledBy}` : table
    const own = measured.get(name) ?? { sqlite: Number.NaN, postgres: Number.NaN }
    measured.set(name, { ...own, [db.engine]: bytes / rows })
  }
}

async function fillSamples(url: string): Promise<void> {
  const db = openDb(url)
  await migrate(db, systemClock)
  for (const [table, how] of Object.entries(tables) as [Table, (typeof tables)[Table]][])
    if (typeof how === 'object' && !Array.isArray(how)) await write(db, table, how as Sample)
  await measure(db, 'samples')
  await db.close()
}

async function write(db: Db, table: Table, sample: Sample): Promise<void> {
  const found = await db.all<{ name: string; type: string }>(columnTypes[db.engine], [table])
  const valueFor = ({ name, type }: { name: string; type: string }, n: number): Value => {
    const given = sample[name]
    if (typeof given === 'function') return given()
    if (given !== undefined) return given
    const contains = (columns[table] as Record<string, unknown>)[name]
    if (/int/.test(type)) return contains === 'time' ? Date.now() + n : n
    if (contains === 'id')
      return /^(person|client|provider|webhook)_id$/.test(name) ? newId() : newIdAt(Date.now())
    if (contains === 'fingerprint') return newId()
    throw new Error(`tables.ts has to say what ${table}.${name} looks like`)
  }
  const names = found.map(({ name }) => name)
  const places = names.map((_, i) => `$${i + 1}`)
  const insert = `insert into ${table} (${names.join(', ')}) values (${places.join(', ')})`
  const rows = Array.from({ length: samples }, (_, n) => found.map((column) => valueFor(column, n)))
  await db.tx(rows.map((row) => statement(insert, ...row)))
}

async function fillPeople(url: string): Promise<void> {
  const config = loadConfig({
    CHIRON_DATABASE_URL: url,
    CHIRON_SECRET: secret,
    CHIRON_TRUSTED_PROXIES: '127.0.0.1/32',
  })
  const { parts, stop } = await createApp(config, createLog(false, { write() {} }))
  const { db, server } = parts
  const origin = await server.app.listen({ port: 0, host: '127.0.0.1' })
  const signIn = async (n: number, connection: Connection) => {
    const post = async (action: string, body: object) => {
      const headers = { ...json, ...fromNetwork(n) }
      const path = `/veterinarian/${action}`
      const reply = await connection.ask(wire({ method: 'POST', path, headers, body: JSON.stringify(body) }))
      if (!reply.startsWith('HTTP/1.1 20')) throw new Error(reply)
      return JSON.parse(bodyOf(reply))
    }
    const email = `vet.${n}@practice.example`
    await post('register', { firstname: 'Ada', lastname: 'Marsh', email })
    const { sessionId, digits } = await post('send-otp', { email })
    const subject = { role: 'veterinarian', sessionId, addressKey: email, digits } as const
    const otp_code = deriveCode(secretsFrom(secret, null).current, subject)
    const { access_token } = await post('validate-otp', { email, otp_code, sessionId })
    const headers = { authorization: `Bearer ${access_token}` }
    if (n % 2) await fetch(`${origin}/session`, { method: 'DELETE', headers })
  }
  const position = "select cast(pg_current_wal_lsn() - '0/0' as bigint) as at"
  const walAt = async () =>
    db.engine === 'postgres' ? (await db.one<{ at: number }>(position))!.at : Number.NaN
  const before = await walAt()
  let next = 0
  const some = async () => {
    const connection = new Connection(Number(new URL(origin).port))
    while (next < people) await signIn(next++, connection)
    connection.end()
  }
  await Promise.all(Array.from({ length: atOnce }, some))
  const wal = ((await walAt()) - before) / people
  if (wal > 0) process.stdout.write(`${wal.toFixed(0)} bytes of WAL for a registration and a sign-in\n\n`)
  await measure(db, 'people')
  await stop()
}

async function fillSchool(url: string, cwd: string): Promise<void> {
  const script = fileURLToPath(new URL('accounts.ts', import.meta.url))
  const env = { ...process.env, CHIRON_DATABASE_URL: url, CHIRON_SECRET: secret }
  const filled = spawnSync(process.execPath, [script, '--students', String(students)], { env, cwd })
  if (filled.status !== 0) throw new Error(String(filled.stderr))
  const db = openDb(url)
  await measure(db, 'school')
  await db.close()
}

const folder = mkdtempSync(join(tmpdir(), 'chiron-sizes-'))
const postgres = await startPostgres()
try {
  const admin = openDb(postgres.url('postgres'))
  for (const name of ['school', 'people', 'samples']) await admin.run(`create database ${name}`)
  await admin.close()
  for (const url of [(name: string) => `sqlite:${join(folder, name)}.db`, postgres.url]) {
    await fillSchool(url('school'), folder)
    await fillPeople(url('people'))
    await fillSamples(url('samples'))
  }
  const rows = [...measured].map(([name, { sqlite, postgres: own }]) => [
    name,
    sqlite.toFixed(0),
    own.toFixed(0),
  ])
  process.stdout.write(markdown([['bytes of a row', 'SQLite', 'PostgreSQL'], ...rows]))
  const few = Object.keys(tables).filter((table) => tables[table as Table] === 'few')
  process.stdout.write(`\nnot measured, because they have few rows: ${few.join(', ')}\n`)
} finally {
  await postgres.remove()
  rmSync(folder, { recursive: true, force: true })
}
