/**
 * Fills the peer's own tables with accounts and live sessions, as rows that it would have written itself.
 *
 *   node seed.ts <users> <sessions> <file for the cookies>      (DATABASE_URL, BETTER_AUTH_SECRET)
 */
import { createHmac, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type pg from 'pg'
import { migrate, openDatabase } from './auth.ts'
import { addressOf } from './peer.ts'

const [users, sessions] = process.argv.slice(2, 4).map(Number) as [number, number]
const cookiesFile = process.argv[4]!
const batchSize = 10_000
const sessionTtlMs = 7 * 24 * 3_600_000

const now = new Date().toISOString()
const expiresAt = new Date(Date.now() + sessionTtlMs).toISOString()

/** As long as its own and as random, but quicker to make: a million are needed. */
const newId = () => randomBytes(24).toString('base64url')

type Row = (string | number | null)[]

const userColumns = ['id', 'name', 'email', 'emailVerified', 'createdAt', 'updatedAt']
const sessionColumns = [
  'id',
  'token',
  'userId',
  'expiresAt',
  'createdAt',
  'updatedAt',
  'ipAddress',
  'userAgent',
]
const userIds = Array.from({ length: users }, newId)
const tokens = Array.from({ length: sessions }, newId)

const userRow = (i: number): Row => [userIds[i]!, `User ${i}`, addressOf(i), 1, now, now]
const sessionRow = (i: number): Row => [
  newId(),
  tokens[i]!,
  userIds[i % users]!,
  expiresAt,
  now,
  now,
  '',
  'bench',
]

/** As better-call signs cookies: the value, a dot, its HMAC-SHA256 in base64, all URI-encoded. */
function cookieOf(token: string): string {
  const signature = createHmac('sha256', process.env.BETTER_AUTH_SECRET!).update(token).digest('base64')
  return `better-auth.session_token=${encodeURIComponent(`${token}.${signature}`)}`
}

function fillSqlite(database: DatabaseSync): void {
  const fill = (table: string, columns: string[], count: number, row: (i: number) => Row) => {
    const names = columns.map((name) => `"${name}"`).join(', ')
    const insert = database.prepare(
      `insert into "${table}" (${names}) values (${columns.map(() => '?').join(', ')})`,
    )
    for (let i = 0; i < count; i++) insert.run(...row(i))
  }
  database.exec('begin')
  fill('user', userColumns, users, userRow)
  fill('session', sessionColumns, sessions, sessionRow)
  database.exec('commit; analyze; pragma wal_checkpoint(truncate)')
  database.close()
}

async function fillPostgres(pool: pg.Pool): Promise<void> {
  const fill = async (table: string, columns: string[], count: number, row: (i: number) => Row) => {
    const names = columns.map((name) => `"${name}"`).join(', ')
    for (let from = 0; from < count; from += batchSize) {
      const rows = Array.from({ length: Math.min(batchSize, count - from) }, (_, i) => row(from + i))
      const objects = rows.map((values) => Object.fromEntries(columns.map((name, c) => [name, values[c]])))
      await pool.query(
        `insert into "${table}" (${names}) select ${names} from json_populate_recordset(null::"${table}", $1)`,
        [JSON.stringify(objects)],
      )
    }
  }
  await fill('user', userColumns, users, userRow)
  await fill('session', sessionColumns, sessions, sessionRow)
  await pool.query('vacuum analyze')
  await pool.end()
}

const database = openDatabase(process.env.DATABASE_URL!)
await migrate(database)
if (database instanceof DatabaseSync) fillSqlite(database)
else await fillPostgres(database)
writeFileSync(cookiesFile, JSON.stringify(tokens.map(cookieOf)))
