/** Runs once for the whole suite (--test-global-setup): one PostgreSQL server for all test files. */
import { engines } from './engines.ts'
import { type PostgresServer, startPostgres } from './postgres.ts'

let server: PostgresServer | undefined

export async function globalSetup(): Promise<void> {
  if (!engines.includes('postgres')) return
  server = await startPostgres()
  process.env.CHIRON_TEST_POSTGRES_PORT = String(server.port)
}

export async function globalTeardown(): Promise<void> {
  await server?.remove()
}
