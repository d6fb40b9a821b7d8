/**
 * A pooler in transaction mode gives each transaction any server process. Prepared statements and session settings are
 * then lost or found by others, so it must be announced in the URL (`pooler=transaction`).
 */
import type pg from 'pg'
import { storeOutOfReach, UsageError } from '../../errors.ts'
import { Primary } from './primary.ts'

export const pooledByTransaction =
  'CHIRON_DATABASE_URL leads to a pooler that hands connections out by transaction; add pooler=transaction to it'

// Other clients of the pooler may use the server processes in between.
const rounds = 4

/**
 * Refuses such a pooler: there, two connections share a server process, or one changes it. An idle pooler usually hands
 * out the process that was used last.
 */
export async function refusePooler(hosts: readonly string[], replyTimeoutMs: number): Promise<void> {
  // Under another name than the service, which `othersConnected` looks for.
  const options = { application_name: 'chiron-start', query_timeout: replyTimeoutMs }
  const primary = new Primary(hosts, { options, session: '', replyTimeoutMs })
  const clients = [await primary.connect({})]
  try {
    clients.push(await primary.connect({}))
    const processes = clients.map(() => new Set<string>())
    for (let round = 0; round < rounds; round++)
      for (const [i, client] of clients.entries()) processes[i]!.add(await processOf(client))
    const all = new Set(processes.flatMap((seen) => [...seen]))
    if (all.size !== clients.length || processes.some((seen) => seen.size !== 1))
      throw new UsageError(pooledByTransaction, storeOutOfReach)
  } finally {
    for (const client of clients) client.end().catch(() => {})
  }
}

/** The start of the server distinguishes processes of several servers. */
async function processOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query(
    "select pg_backend_pid() || ' ' || pg_postmaster_start_time() as process",
  )
  return rows[0].process
}
