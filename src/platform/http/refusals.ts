import { BoundedMap } from '../lib/bounded-map.ts'
import { type Clock, minute } from '../lib/clock.ts'
import type { FailureLog } from '../lib/failure.ts'

const oftenMax = 100
const withinMs = 10 * minute
const networksMax = 10_000

/** Logs once, not at every request, that a limit refuses a network often. Each process counts on its own. */
export class Refusals {
  readonly #log: Pick<FailureLog, 'warn'>
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #counts = new BoundedMap<string, { since: number; count: number }>(networksMax)

  constructor(log: Pick<FailureLog, 'warn'>, clock: Pick<Clock, 'elapsed'>) {
    this.#log = log
    this.#clock = clock
  }

  note(limit: string, network: string): void {
    const now = this.#clock.elapsed()
    const key = `${limit}:${network}`
    const known = this.#counts.get(key)
    const counted = known && now - known.since < withinMs ? known : { since: now, count: 0 }
    if (counted !== known) this.#counts.set(key, counted)
    counted.count++
    if (counted.count === oftenMax)
      this.#log.warn(
        { limit, network, refused: oftenMax, withinMinutes: withinMs / minute },
        'a network is refused often; "chiron network" shows its activity',
      )
  }
}
