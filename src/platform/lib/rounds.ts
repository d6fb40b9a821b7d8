/**
 * Repeated work, in rounds that never overlap. A round may begin pieces of work for receivers, which go on beside the
 * rounds and wake the next one when they end.
 */
import type { Failure } from './failure.ts'

const stopWaitMs = 1_500

export class Rounds {
  readonly #work: () => Promise<void>
  readonly #failure: Failure
  readonly #abort = new AbortController()
  /** Pieces of work in progress, by receiver. */
  readonly #pieces = new Map<string, Set<Promise<void>>>()
  #poll: NodeJS.Timeout | undefined
  #round: Promise<void> | undefined
  #again = false
  #stopped = false

  constructor(work: () => Promise<void>, failure: Failure) {
    this.#work = work
    this.#failure = failure
  }

  /** For pieces of work: aborted if they do not end soon after `stop`. */
  get signal(): AbortSignal {
    return this.#abort.signal
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

  /** How many more pieces of work this receiver may have; none once stopped. */
  roomFor(receiver: string, max: number): number {
    return this.#stopped ? 0 : max - (this.#pieces.get(receiver)?.size ?? 0)
  }

  begin(receiver: string, work: Promise<void>): void {
    const pieces = this.#pieces.get(receiver) ?? new Set()
    this.#pieces.set(receiver, pieces)
    const piece = work
      .catch((error) => this.#failure.began(error))
      .finally(() => {
        pieces.delete(piece)
        if (pieces.size === 0) this.#pieces.delete(receiver)
        this.wake()
      })
    pieces.add(piece)
  }

  /** Begins no more rounds, and waits for the current one and for all pieces of work. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#poll)
    await this.#round
    const timer = setTimeout(() => this.#abort.abort(), stopWaitMs)
    await Promise.all([...this.#pieces.values()].flatMap((pieces) => [...pieces]))
    clearTimeout(timer)
  }
}
