/**
 * Periodic work. Every process applies registrations and numbers events. Under a lease, one process at a time rotates
 * keys, lets pending accounts lapse, ends expired sessions and deletes rows past their retention time.
 *
 * It works in short transactions with pauses, so that a large backlog delays nobody. Its parts take turns and fail
 * independently.
 */

import type { SigningKeys } from '../identity/session/keys.ts'
import { numberEvents } from '../messages/events/events.ts'
import type { Context } from '../platform/context.ts'
import { type Statement, sweptRowsMax } from '../platform/db/db.ts'
import { dropLease, takeLease } from '../platform/db/lease.ts'
import { minute, second } from '../platform/lib/clock.ts'
import { Failure } from '../platform/lib/failure.ts'
import { Poller } from '../platform/lib/poller.ts'
import { newId } from '../platform/lib/random.ts'
import type { Veterinarians } from '../school/veterinarian/veterinarian.ts'

interface Swept {
  /** One transaction. It is run again while one of its statements returns `rowsAtOnce` rows. */
  sweep(now: number): Statement[]
  /** `sweptRowsMax` if not given; fewer if rows are large. */
  readonly rowsAtOnce?: number
}

interface Deps extends Pick<Context, 'db' | 'clock' | 'log'> {
  readonly keys: Pick<SigningKeys, 'rotateIfDue'>
  readonly veterinarians: Pick<Veterinarians, 'settle'>
  /** By the names that the log and the metrics give them. */
  readonly parts: Readonly<Record<string, Swept>>
  /** Called whenever a part fails. */
  failed?(part: string): void
}

/** Does some of its work, and returns whether there is more. */
interface Part {
  readonly name: string
  readonly failure: Failure
  work(now: number): Promise<boolean>
}

const settleEveryMs = 250
const numberEveryMs = second
const sweepEveryMs = minute
const leaseName = 'sweep'
// Longer than the time between two sweeps, so that the same process keeps the lease.
const leaseMs = 2 * sweepEveryMs
const pauseMs = 20
const keysPart = 'keys'

export class Sweeper {
  readonly #deps: Deps
  readonly #id = newId()
  readonly #pollers: Poller[] = []
  readonly #parts: readonly Part[]
  #stopped = false

  constructor(deps: Deps) {
    this.#deps = deps
    const { db, keys, parts, log } = deps
    const part = (name: string, work: Part['work']) => {
      return { name, work, failure: new Failure(log, `the sweep of ${name}`) }
    }
    this.#parts = [
      part(keysPart, async () => {
        await keys.rotateIfDue()
        return false
      }),
      ...Object.entries(parts).map(([name, swept]) =>
        part(name, async (now) => {
          const { rowsAtOnce = sweptRowsMax } = swept
          return (await db.tx(swept.sweep(now))).some((rows) => rows.length >= rowsAtOnce)
        }),
      ),
    ]
  }

  get partNames(): string[] {
    return this.#parts.map(({ name }) => name)
  }

  start(): void {
    this.#repeat('applying registrations', settleEveryMs, () => this.#deps.veterinarians.settle())
    this.#repeat('numbering events', numberEveryMs, async () => void (await numberEvents(this.#deps.db)))
    this.#repeat('the sweep', sweepEveryMs, () => this.sweep())
  }

  /** Starts nothing more and waits for the running part. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#pollers.map((poller) => poller.stop()))
    // So that the next process need not wait. If the store is unreachable, the lease expires.
    await dropLease(this.#deps.db, leaseName, this.#id).catch(() => {})
  }

  /** Does nothing while another process has the lease. */
  async sweep(): Promise<void> {
    const now = this.#deps.clock.now()
    for (let parts = this.#parts; parts.length > 0; ) {
      const unfinished: Part[] = []
      for (const part of parts) {
        if (this.#stopped || !(await this.#takeLease())) return
        if (await this.#work(part, now)) unfinished.push(part)
      }
      parts = unfinished
      if (parts.length > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  async #work({ name, failure, work }: Part, now: number): Promise<boolean> {
    try {
      const more = await work(now)
      failure.over()
      return more
    } catch (error) {
      failure.began(error)
      this.#deps.failed?.(name)
      return false
    }
  }

  #takeLease(): Promise<boolean> {
    const { db, clock } = this.#deps
    const now = clock.now()
    return takeLease(db, { name: leaseName, by: this.#id, now, until: now + leaseMs })
  }

  #repeat(what: string, everyMs: number, work: () => Promise<void>): void {
    const poller = new Poller(work, new Failure(this.#deps.log, what))
    poller.start(everyMs)
    this.#pollers.push(poller)
  }
}
