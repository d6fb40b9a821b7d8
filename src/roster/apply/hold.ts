/**
 * The hold is the right to write a roster; one import or undo has it at a time, across all processes. It is a lease, so
 * a dead process loses it. A slow process can lose it without noticing, so every write goes through `Hold.write`, which
 * fails if the hold was lost.
 */
import type { Db } from '../../db/db.ts'
import { UsageError } from '../../errors.ts'
import { type Clock, second } from '../../lib/clock.ts'
import { newId } from '../../lib/random.ts'
import { type Hold, isHoldLost, release, renewHold, rosterState, takeHold } from '../store.ts'

export type { Hold } from '../store.ts'

const leaseMs = 15 * second
const pollMs = 200

export async function whileHeld<T>(db: Db, clock: Clock, work: (hold: Hold) => Promise<T>): Promise<T> {
  const holder = newId()
  await waitForHold(db, clock, holder)
  const write: Hold['write'] = async (statements) =>
    (await db.tx([renewHold(holder, clock.now() + leaseMs), ...statements])).slice(1)
  try {
    return await work({ write })
  } catch (error) {
    throw isHoldLost(error) ? new UsageError('another import took over') : error
  } finally {
    // If this fails, the lease runs out by itself.
    await release(db, holder).catch(() => {})
  }
}

/** If the hold is renewed while we wait, its owner is alive and we give up. If not, we wait until it runs out. */
async function waitForHold(db: Db, clock: Clock, holder: string): Promise<void> {
  const seen = await rosterState(db)
  for (;;) {
    const now = clock.now()
    if (await takeHold(db, holder, now, now + leaseMs)) return
    const state = await rosterState(db)
    const renewed = state.held_by !== null && state.held_until !== seen.held_until
    if (renewed) throw new UsageError('another import is under way; try again when it is done')
    await pause(pollMs)
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
