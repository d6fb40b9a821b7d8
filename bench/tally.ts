/** Counts the answers of one side in one round, turn by turn. */
const latenciesMax = 400_000

export class Tally {
  readonly #latencies: number[] = []
  #turn: number[] = []
  #counted = 0
  #countedMs = 0
  done = 0
  failures = 0
  failure: string | null = null

  /** A request that was sent, or due, at this time has its answer. */
  replied(since: number): void {
    if (this.#latencies.length < latenciesMax) this.#latencies.push(performance.now() - since)
  }

  right(): void {
    this.done++
    this.#turn.push(performance.now())
  }

  wrong(reply: string): void {
    this.failures++
    this.failure ??= reply === '' ? 'the connection broke' : reply.slice(0, 600)
  }

  /** Speed is that of the middle half of a turn: at its start and at its end fewer are under way. */
  endTurn(): void {
    const [from, to] = [Math.floor(this.#turn.length / 4), Math.floor((this.#turn.length * 3) / 4)]
    if (to > from) {
      this.#counted += to - from
      this.#countedMs += this.#turn[to]! - this.#turn[from]!
    }
    this.#turn = []
  }

  get perSecond(): number {
    return this.#countedMs === 0 ? 0 : (this.#counted * 1000) / this.#countedMs
  }

  latency(share: number): number {
    const sorted = Float64Array.from(this.#latencies).sort()
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  }
}
