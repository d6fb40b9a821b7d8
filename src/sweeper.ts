/**
 * Periodic work. Every process applies registrations and numbers events. One process at a time, whoever has the lease,
 * lets pending accounts lapse, ends expired sessions, deletes what is kept long enough, and rotates keys.
 *
 * It works in short transactions with pauses, so that a large backlog keeps nobody waiting.
 */
import { type Db, type Statement, sweptRowsMax } from './db/db.ts'
import { dropLease, takeLease } from './db/lease.ts'
import { numberEvents } from './events/events.ts'
import { type Clock, minute, second } from './lib/clock.ts'
import { Failure, type FailureLog } from './lib/failure.ts'
import { newId } from './lib/random.ts'
import type { SigningKeys } from './session/keys.ts'
import type { Veterinarians } from './veterinarian/veterinarian.ts'

interface Swept {
  /** One transaction. It is run again while one of its statements returns `sweptRowsMax` rows. */
  sweep(now: number): Statement[]
}

export interface SweeperDeps {
  readonly db: Db
  readonly clock: Clock
  readonly keys: Pick<SigningKeys, 'tend'>
  readonly veterinarians: Pick<Veterinarians, 'settle'>
  readonly parts: readonly Swept[]
  readonly log: FailureLog
}

const settleEveryMs = 250
const numberEveryMs = second
const sweepEveryMs = minute
const leaseName = 'sweep'
// Longer than the time between two sweeps, so that the same process goes on.
const leaseMs = 2 * sweepEveryMs
const pauseMs = 20

export class Sweeper {
  readonly #deps: SweeperDeps
  readonly #id = newId()
  readonly #timers: NodeJS.Timeout[] = []
  readonly #busy = new Map<() => Promise<void>, Promise<void>>()
  #stopped = false

  constructor(deps: SweeperDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#repeat(settleEveryMs, () => this.#deps.veterinarians.settle())
    this.#repeat(numberEveryMs, async () => void (await numberEvents(this.#deps.db)))
    this.#repeat(sweepEveryMs, () => this.sweep())
  }

  /** Starts nothing more and waits for what is running. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const timer of this.#timers) clearInterval(timer)
    await Promise.all(this.#busy.values())
    // The next process need not wait. If the store is out of reach, the lease runs out by itself.
    await dropLease(this.#deps.db, leaseName, this.#id).catch(() => {})
  }

  /** Does nothing while another process has the lease. */
  async sweep(): Promise<void> {
    const { db, clock, keys, parts } = this.#deps
    const now = clock.now()
    for (const part of parts) {
      for (let more = true; more; ) {
        if (!(await this.#holdLease())) return
        const results = await db.tx(part.sweep(now))
        more = results.some((rows) => rows.length >= sweptRowsMax)
        if (more) await new Promise((resolve) => setTimeout(resolve, pauseMs))
        if (this.#stopped) return
      }
    }
    await keys.tend()
  }

  #holdLease(): Promise<boolean> {
    const { db, clock } = this.#deps
    const now = clock.now()
    return takeLease(db, { name: leaseName, by: this.#id, now, until: now + leaseMs })
  }

  /** Never runs two rounds of the same work at once. */
  #repeat(everyMs: number, work: () => Promise<void>): void {
    const failure = new Failure(this.#deps.log, 'background work')
    const begin = () => {
      if (this.#busy.has(work)) return
      const round = work()
        .then(
          () => failure.over(),
          (error) => failure.began(error),
        )
        .finally(() => this.#busy.delete(work))
      this.#busy.set(work, round)
    }
    this.#timers.push(setInterval(begin, everyMs))
  }
}
