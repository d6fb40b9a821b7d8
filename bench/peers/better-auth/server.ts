/**
 * Better Auth as its documentation sets it up for production, on SQLite. README.md gives the reasons. Settings come from
 * the environment: PORT, DATABASE_FILE, SMTP_URL, BETTER_AUTH_SECRET.
 *
 *   node server.ts                                     serves
 *   node server.ts fill <users> <sessions> <file>      adds accounts and sessions, and writes the sessions' cookies
 */
import { createHmac, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { toNodeHandler } from 'better-auth/node'
import { emailOTP } from 'better-auth/plugins'
import nodemailer from 'nodemailer'

const { PORT, DATABASE_FILE, SMTP_URL, BETTER_AUTH_SECRET } = process.env as Record<string, string>
const sessionTtlMs = 7 * 24 * 3_600_000

const database = new DatabaseSync(DATABASE_FILE!)
// The same durability and memory as in Chiron.
database.exec('pragma journal_mode = wal; pragma synchronous = full')
database.exec('pragma cache_size = -16000; pragma wal_autocheckpoint = 4000')
const { runMigrations } = await getMigrations({ database })
await runMigrations()

const [command, ...args] = process.argv.slice(2)
if (command === 'fill') fill(Number(args[0]), Number(args[1]), args[2]!)
else serve()

function serve(): void {
  const smtp = new URL(SMTP_URL!)
  const transport = nodemailer.createTransport({
    ...{ pool: true, maxConnections: 20, host: smtp.hostname, port: Number(smtp.port), ignoreTLS: true },
  })
  const auth = betterAuth({
    database,
    baseURL: `http://127.0.0.1:${PORT}`,
    secret: BETTER_AUTH_SECRET!,
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: { level: 'error' },
    session: { cookieCache: { enabled: false } },
    experimental: { instrumentation: { enabled: false } },
    plugins: [
      emailOTP({
        expiresIn: 600,
        allowedAttempts: 5,
        // Not awaited, as its documentation advises: the time of the reply must not depend on the mail.
        async sendVerificationOTP({ email, otp }) {
          const text = `Your code to sign in:\n\n${otp}\n\nIt works for 10 minutes.\n`
          transport
            .sendMail({ from: 'sign-in@school.example', to: email, subject: 'Your code', text })
            .catch((error: Error) => process.stderr.write(`a mail failed: ${error.message}\n`))
        },
      }),
    ],
  })
  const server = createServer(toNodeHandler(auth))
  // Like Fastify's: connections stay open while another server has its turn.
  server.keepAliveTimeout = 72_000
  server.listen(Number(PORT), '127.0.0.1')
  process.once('SIGTERM', () => process.exit())
}

/** Rows as Better Auth would have written them. */
function fill(users: number, sessions: number, cookiesFile: string): void {
  const now = new Date().toISOString()
  const expiresAt = new Date(Date.now() + sessionTtlMs).toISOString()
  const newId = () => randomBytes(24).toString('base64url')
  const insert = (table: string, columns: readonly string[], rows: readonly (string | number)[][]) => {
    const names = columns.map((name) => `"${name}"`).join(', ')
    const one = database.prepare(`insert into "${table}" (${names}) values (${columns.map(() => '?')})`)
    for (const row of rows) one.run(...row)
  }
  const ids = Array.from({ length: users }, newId)
  const tokens = Array.from({ length: sessions }, newId)
  database.exec('begin')
  insert(
    'user',
    ['id', 'name', 'email', 'emailVerified', 'createdAt', 'updatedAt'],
    ids.map((id, i) => [id, `User ${i}`, `user${i}@school.example`, 1, now, now]),
  )
  insert(
    'session',
    ['id', 'token', 'userId', 'expiresAt', 'createdAt', 'updatedAt', 'ipAddress', 'userAgent'],
    tokens.map((token, i) => [newId(), token, ids[i % users]!, expiresAt, now, now, '', 'bench']),
  )
  database.exec('commit; analyze; pragma wal_checkpoint(truncate)')
  database.close()
  writeFileSync(cookiesFile, JSON.stringify(tokens.map(cookieOf)))
}

/** The value, a dot and its HMAC-SHA256 in base64, all URI-encoded. */
function cookieOf(token: string): string {
  const signature = createHmac('sha256', BETTER_AUTH_SECRET!).update(token).digest('base64')
  return `better-auth.session_token=${encodeURIComponent(`${token}.${signature}`)}`
}
