/** Better Auth as its documentation sets it up for production, on either engine. README.md gives the reasons. */
import { DatabaseSync } from 'node:sqlite'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { emailOTP } from 'better-auth/plugins'
import pg from 'pg'

type SendCode = (email: string, code: string) => void

export function openDatabase(url: string): DatabaseSync | pg.Pool {
  if (!url.startsWith('sqlite:')) return new pg.Pool({ connectionString: url })
  const database = new DatabaseSync(url.slice('sqlite:'.length))
  // What Chiron sets: the same durability, the same memory.
  database.exec('pragma journal_mode = wal; pragma synchronous = full')
  database.exec('pragma cache_size = -16000; pragma wal_autocheckpoint = 4000')
  return database
}

/** The tables have to be there: it looks for them as soon as it is made. */
export function createAuth(database: DatabaseSync | pg.Pool, baseURL: string, sendCode: SendCode) {
  return betterAuth({
    database,
    baseURL,
    secret: process.env.BETTER_AUTH_SECRET!,
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: { level: 'error' },
    session: { cookieCache: { enabled: false } },
    // One statement spares a way to PostgreSQL and back; on SQLite, where there is none, two did better (README.md).
    advanced: { database: { joins: !(database instanceof DatabaseSync) } },
    experimental: { instrumentation: { enabled: false } },
    plugins: [
      emailOTP({
        expiresIn: 600,
        allowedAttempts: 5,
        // Not awaited, as its documentation advises: how long the mail takes must not show in the reply.
        async sendVerificationOTP({ email, otp }) {
          sendCode(email, otp)
        },
      }),
    ],
  })
}

export async function migrate(database: DatabaseSync | pg.Pool): Promise<void> {
  const { runMigrations } = await getMigrations({ database })
  await runMigrations()
}
