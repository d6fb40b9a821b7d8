/**
 * Bounds the connections, so that file descriptors are left for the store, for mail and for files. A worker needs them
 * most: node:cluster never gives another connection to a worker that had no descriptor for the last one.
 */
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { type Clock, minute } from '../lib/clock.ts'
import type { FailureLog } from '../lib/failure.ts'

/** About 30 are open in a process that does nothing. */
const ownDescriptors = 60

export function boundConnections(
  server: Server,
  clock: Pick<Clock, 'elapsed'>,
  log: Pick<FailureLog, 'warn'>,
): void {
  const descriptors = descriptorsMax()
  if (descriptors === null) return
  Object.assign(server, {
    maxConnections: Math.max(1, descriptors - ownDescriptors),
    // Otherwise the primary would offer the connection to full workers over and over. Not in the types yet.
    dropMaxConnection: true,
  })
  let saidAt = Number.NEGATIVE_INFINITY
  server.on('drop', () => {
    if (clock.elapsed() - saidAt < minute) return
    saidAt = clock.elapsed()
    log.warn(
      { connections: server.maxConnections },
      'too many connections for the open-file limit; closing new ones',
    )
  })
}

/** How many files this process may have open, or null where the system does not tell. */
function descriptorsMax(): number | null {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === undefined ? null : Number(limit)
  } catch {
    return null
  }
}
