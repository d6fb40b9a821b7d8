/** Counts between `open` and `close`; failures count at any time. */
import type { Outcome } from './load.ts'
import { cpuSeconds } from './usage.ts'

const latenciesMax = 2_000_000

export class Tally {
  readonly #watch: Readonly<Record<string, readonly number[]>>
  readonly #latencies = new Float64Array(latenciesMax)
  #cpu: Record<string, number> = {}
  #started = 0
  #seconds = 0
  #replies = 0
  #done = 0
  #isOpen = false
  #failures = 0
  #failure: string | null = null

  constructor(watch: Readonly<Record<string, readonly number[]>>) {
    this.#watch = watch
  }

  open(): void {
    this.#cpu = this.#cpuNow()
    this.#started = performance.now()
    this.#isOpen = true
  }

  close(): void {
    this.#isOpen = false
    this.#seconds = (performance.now() - this.#started) / 1000
    for (const [name, seconds] of Object.entries(this.#cpuNow())) this.#cpu[name] = seconds - this.#cpu[name]!
  }

  /** A request that was sent, or due, at this time has its answer. */
  replied(since: number): void {
    if (this.#isOpen && this.#replies < latenciesMax)
      this.#latencies[this.#replies++] = performance.now() - since
  }

  done(share = 1): void {
    if (this.#isOpen) this.#done += share
  }

  failed(what: string): void {
    this.#failures++
    this.#failure ??= what === '' ? 'the connection broke' : what.slice(0, 600)
  }

  outcome(): Outcome {
    const sorted = this.#latencies.subarray(0, this.#replies).sort()
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
    return {
      done: this.#done,
      seconds: this.#seconds,
      failures: this.#failures,
      failure: this.#failure,
      p50: at(0.5),
      p99: at(0.99),
      cpuSeconds: this.#cpu,
    }
  }

  #cpuNow(): Record<string, number> {
    return Object.fromEntries(Object.entries(this.#watch).map(([name, pids]) => [name, cpuSeconds(pids)]))
  }
}
