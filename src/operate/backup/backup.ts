/**
 * Backups, and the state that a restore must invalidate. The commands `backup` and `restore` copy whole stores
 * (`db/sqlite-file.ts`, `pg-tools.ts`); this file holds what the store records and clears.
 *
 * A restored store does not know what happened after the backup: which codes and refresh tokens were used, which
 * sessions were ended and why, which event numbers readers have seen. So it trusts none of that state. docs/backup.md
 * explains this to operators.
 */

import { endSessions } from '../../identity/session/session.ts'
import type { Db, Statement } from '../../platform/db/db.ts'
import { byOperator } from '../../platform/lib/by.ts'
import { type Clock, day } from '../../platform/lib/clock.ts'
import { newId } from '../../platform/lib/random.ts'
import { dropPassing, noteBackup, noteFinished, noteRestoration, skipEventNumbers } from './store.ts'

export { dumpPostgres, inspectDump, restoreDump } from './pg-tools.ts'
export {
  contents,
  lastFinished as lastBackup,
  othersConnected,
  putAside,
  putBack,
  restored,
} from './store.ts'

const notesKeptMs = 400 * day
// More than any store has between two backups.
const skippedNumbers = 1_000_000_000

/** Records the backup before and after it is made. The record is part of the copy. */
export async function whileNoted(
  db: Db,
  clock: Clock,
  program: string,
  copy: () => Promise<void>,
): Promise<void> {
  const id = newId()
  const beganAt = clock.now()
  await noteBackup(db, { id, now: beganAt, program, forgetBefore: beganAt - notesKeptMs })
  await copy()
  await noteFinished(db, id, clock.now())
}

/**
 * Everybody has to sign in again: a token that is the newest in the backup may have been used since, and a session that
 * is alive in it may have been ended. Numbers that events may have got since the backup are not given again.
 */
export async function startAfresh(
  db: Db,
  now: number,
  program: string,
  also: readonly Statement[] = [],
): Promise<void> {
  await db.tx([
    ...dropPassing,
    ...endSessions('all', 'revoked', now, byOperator),
    skipEventNumbers(skippedNumbers),
    ...noteRestoration(newId(), now, program),
    ...also,
  ])
}
