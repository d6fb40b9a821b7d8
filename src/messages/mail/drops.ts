import { type Clock, minute } from '../../platform/lib/clock.ts'
import type { FailureLog } from '../../platform/lib/failure.ts'

const overAfterMs = minute

/**
 * Logs once when notices over budget start to be dropped, and once, with their number, after a minute without drops.
 */
export class Drops {
  #count = 0
  #lastAt = 0
  readonly #log: FailureLog
  readonly #clock: Pick<Clock, 'elapsed'>

  constructor(log: FailureLog, clock: Pick<Clock, 'elapsed'>) {
    this.#log = log
    this.#clock = clock
  }

  note(): void {
    if (this.#count === 0)
      this.#log.warn({}, 'mails without a code have exceeded their budget; further ones are dropped')
    this.#count++
    this.#lastAt = this.#clock.elapsed()
  }

  /** Call this regularly. */
  look(): void {
    if (this.#count === 0 || this.#clock.elapsed() - this.#lastAt < overAfterMs) return
    this.#log.info({ dropped: this.#count }, 'mails without a code are within their budget again')
    this.#count = 0
  }
}
