/**
 * Bytes of a row on disk, indexes included, on both engines: of a school after a roster import, and of people who have
 * registered and signed in, each from another network. Half of them have signed out again.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createApp } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import type { Db } from '../src/platform/db/db.ts'
import { openDb } from '../src/platform/db/open.ts'
import { deriveCode } from '../src/platform/lib/code.ts'
import { secretsFrom } from '../src/platform/lib/secret.ts'
import { createLog } from '../src/platform/log.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { bodyOf, Connection, fromNetwork, json, wire } from './http.ts'

const [people, students, atOnce] = [2_000, 10_000, 10]
const secret = 'only-ever-for-benchmarks-on-one-machine'

const sizes = {
  sqlite: `select s.tbl_name as "table", d.name as part, sum(d.pgsize) as bytes
    from dbstat d join sqlite_schema s on s.name = d.name group by d.name`,
  postgres: `select relname as "table", relname as part, pg_table_size(relid) as bytes from pg_stat_user_tables
    union all select relname, indexrelname, pg_relation_size(indexrelid) from pg_stat_user_indexes`,
}

async function print(db: Db, title: string): Promise<void> {
  process.stdout.write(`\n${db.engine}, ${title}\n`)
  const parts = await db.all<{ table: string; part: string; bytes: number }>(sizes[db.engine])
  for (const [table, own] of Map.groupBy(parts, (part) => part.table)) {
    const { rows } = (await db.one<{ rows: number }>(`select count(*) as rows from ${table}`))!
    if (rows < students / 10) continue
    const each = (bytes: number) => (bytes / rows).toFixed(0)
    const whole = own.reduce((sum, { bytes }) => sum + bytes, 0)
    const single = own.map(({ part, bytes }) => `${part} ${each(bytes)}`).join(', ')
    process.stdout.write(`  ${table}: ${rows} rows of ${each(whole)} bytes\n    ${single}\n`)
  }
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
  await print(db, wal > 0 ? `people, each with ${wal.toFixed(0)} bytes of WAL` : 'people')
  await stop()
}

async function fillSchool(url: string, cwd: string): Promise<void> {
  const script = fileURLToPath(new URL('accounts.ts', import.meta.url))
  const env = { ...process.env, CHIRON_DATABASE_URL: url, CHIRON_SECRET: secret }
  const filled = spawnSync(process.execPath, [script, '--students', String(students)], { env, cwd })
  if (filled.status !== 0) throw new Error(String(filled.stderr))
  const db = openDb(url)
  await print(db, 'a school')
  await db.close()
}

const folder = mkdtempSync(join(tmpdir(), 'chiron-sizes-'))
const postgres = await startPostgres()
try {
  const admin = openDb(postgres.url('postgres'))
  for (const name of ['school', 'people']) await admin.run(`create database ${name}`)
  await admin.close()
  for (const url of [(name: string) => `sqlite:${join(folder, name)}.db`, postgres.url]) {
    await fillSchool(url('school'), folder)
    await fillPeople(url('people'))
  }
} finally {
  await postgres.remove()
  rmSync(folder, { recursive: true, force: true })
}
