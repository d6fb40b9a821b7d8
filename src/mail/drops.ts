import { type Clock, minute } from '../lib/clock.ts'
import type { FailureLog } from '../lib/failure.ts'

const overAfterMs = minute

/** One line when mails over budget begin to be dropped, and one with their number when no more were for a minute. */
export class Drops {
  #count = 0
  #lastAt = 0
  readonly #log: FailureLog
  readonly #clock: Clock

  constructor(log: FailureLog, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  note(): void {
    if (this.#count === 0)
      this.#log.warn({}, 'mails without a code are over their budget; those beyond it are dropped')
    this.#count++
    this.#lastAt = this.#clock.now()
  }

  /** Call now and then. */
  look(): void {
    if (this.#count === 0 || this.#clock.now() - this.#lastAt < overAfterMs) return
    this.#log.info({ dropped: this.#count }, 'mails without a code are within their budget again')
    this.#count = 0
  }
}
