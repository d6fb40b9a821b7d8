/** Repeated work, in rounds that never overlap. */
import type { Failure } from './failure.ts'

export class Poller {
  readonly #work: () => Promise<void>
  readonly #failure: Failure
  #poll: NodeJS.Timeout | undefined
  #round: Promise<void> | undefined
  #again = false
  #stopped = false

  constructor(work: () => Promise<void>, failure: Failure) {
    this.#work = work
    this.#failure = failure
  }

  start(everyMs: number): void {
    this.#poll = setInterval(() => {
      if (!this.#round) this.wake()
    }, everyMs)
  }

  /** If a round is in progress, one more follows it. */
  wake(): void {
    if (this.#stopped) return
    if (this.#round) {
      this.#again = true
      return
    }
    this.#round = this.#work()
      .then(
        () => this.#failure.over(),
        (error) => this.#failure.began(error),
      )
      .finally(() => {
        this.#round = undefined
        if (!this.#again) return
        this.#again = false
        this.wake()
      })
  }

  /** Begins no more rounds, and waits for the current one. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#poll)
    await this.#round
  }
}
