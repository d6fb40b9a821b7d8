/** Repeated work may fail a thousand times for one reason, so only the first failure and the recovery are logged. */

export interface FailureLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export class Failure {
  #failing = false
  readonly #log: FailureLog
  readonly #what: string

  constructor(log: FailureLog, what: string) {
    this.#log = log
    this.#what = what
  }

  began(error: unknown): void {
    if (!this.#failing) this.#log.warn({ err: error }, `${this.#what} is failing; retrying until it works`)
    this.#failing = true
  }

  over(): void {
    if (this.#failing) this.#log.info({}, `${this.#what} works again`)
    this.#failing = false
  }
}
