/**
 * Periodic work: applies registrations, numbers events, lets pending accounts lapse, ends expired sessions, prunes old rows and rotates
 * keys. Every process does it; each step is safe to run twice at once.
 */
import type { Db, Statement } from './db/db.ts'
import { numberEvents } from './events/events.ts'
import { type Clock, minute, second } from './lib/clock.ts'
import { Failure, type FailureLog } from './lib/failure.ts'
import type { SigningKeys } from './session/keys.ts'
import type { Veterinarians } from './veterinarian/veterinarian.ts'

interface Swept {
  sweep(now: number): Statement[]
}

export interface SweeperDeps {
  readonly db: Db
  readonly clock: Clock
  readonly keys: SigningKeys
  readonly veterinarians: Veterinarians
  readonly parts: readonly Swept[]
  readonly log: FailureLog
}

const settleEveryMs = 250
const numberEveryMs = second
const sweepEveryMs = minute

export class Sweeper {
  readonly #deps: SweeperDeps
  readonly #timers: NodeJS.Timeout[] = []
  readonly #busy = new Map<() => Promise<void>, Promise<void>>()

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
    for (const timer of this.#timers) clearInterval(timer)
    await Promise.all(this.#busy.values())
  }

  async sweep(): Promise<void> {
    const { db, clock, keys, parts } = this.#deps
    const now = clock.now()
    for (const part of parts) await db.tx(part.sweep(now))
    await keys.tend()
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
