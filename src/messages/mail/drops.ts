import { type Clock, minute } from '../../platform/lib/clock.ts'
import type { FailureLog } from '../../platform/lib/failure.ts'

const overAfterMs = minute
/** Strangers can choose any number of domains. */
const domainsNamed = 10

export interface DropLines {
  /** Logged once for each of the first domains. */
  readonly began: string
  /** Logged with their number after a minute without another. */
  readonly over: string
}

/** Logs mails that exceed a budget, without a line for each. */
export class Drops {
  #count = 0
  #lastAt = 0
  readonly #domains = new Map<string, number>()
  readonly #log: FailureLog
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #lines: DropLines

  constructor(log: FailureLog, clock: Pick<Clock, 'elapsed'>, lines: DropLines) {
    this.#log = log
    this.#clock = clock
    this.#lines = lines
  }

  note(domain: string): void {
    const before = this.#domains.get(domain)
    if (before !== undefined) this.#domains.set(domain, before + 1)
    else if (this.#domains.size < domainsNamed) {
      this.#domains.set(domain, 1)
      this.#log.warn({ domain }, this.#lines.began)
    }
    this.#count++
    this.#lastAt = this.#clock.elapsed()
  }

  /** Call this regularly. */
  look(): void {
    if (this.#count === 0 || this.#clock.elapsed() - this.#lastAt < overAfterMs) return
    this.#log.info({ dropped: this.#count, domains: Object.fromEntries(this.#domains) }, this.#lines.over)
    this.#count = 0
    this.#domains.clear()
  }
}
