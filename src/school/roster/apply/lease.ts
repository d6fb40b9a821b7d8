/**
 * The lease is the right to write a roster; one import or undo has it at a time, across all processes. It is a lease, so
 * a dead process loses it. A slow process can lose it without noticing, so every write goes through the lease, and fails
 * if it was lost.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Db, Statement } from '../../../platform/db/db.ts'
import { decision } from '../../../platform/db/decision.ts'
import { type Clock, second } from '../../../platform/lib/clock.ts'
import { newId } from '../../../platform/lib/random.ts'
import { RosterError } from '../errors.ts'
import * as store from '../store/state.ts'

export type { Lease } from '../store/state.ts'

const leaseMs = 15 * second
const pollMs = 200

export async function whileLeased<T>(
  db: Db,
  clock: Clock,
  work: (lease: store.Lease) => Promise<T>,
): Promise<T> {
  const holder = newId()
  await waitForLease(db, clock, holder)
  const renewed = function* (statements: Iterable<Statement>) {
    yield store.renewLease(holder, clock.now() + leaseMs)
    yield* statements
  }
  try {
    return await work({
      write: async (statements) => (await db.tx([...renewed(statements)])).flat(),
      stage: (statements) => db.stage(renewed(statements)),
      async decide(rule) {
        const until = clock.now() + leaseMs
        const decided = await db.decide(
          decision({ state: store.lockState(), highest: store.readHighest() }, ({ state, highest }) => {
            if (state?.leased_by !== holder) return { result: null }
            const last_generation = Math.max(state.last_generation, highest!.id)
            const { writes = [], result } = rule({ ...state, last_generation })
            return { writes: [store.renewLease(holder, until), ...writes], result: { result } }
          }),
        )
        if (!decided) throw tookOver()
        return decided.result
      },
    })
  } catch (error) {
    throw store.isLeaseLost(error) ? tookOver() : error
  } finally {
    // If this fails, the lease expires.
    await store.release(db, holder).catch(() => {})
  }
}

const tookOver = () => new RosterError('busy', 'another import took over')

/** If the lease is renewed while we wait, its owner is alive and we give up. If not, we wait until it expires. */
async function waitForLease(db: Db, clock: Clock, holder: string): Promise<void> {
  const seen = await store.rosterState(db)
  for (;;) {
    const now = clock.now()
    if (await store.takeLease(db, holder, now, now + leaseMs)) return
    const state = await store.rosterState(db)
    const renewed = state.leased_by !== null && state.leased_until !== seen.leased_until
    if (renewed) throw new RosterError('busy', 'another import is running; try again when it has finished')
    await pause(pollMs)
  }
}
