/**
 * The sum of the metrics of all workers, gathered by the primary at each scrape. The last counts of a worker stay in
 * the sum after it ends: a counter that falls would look to Prometheus like a restart of the whole service. A worker
 * that does not answer in time counts with its last answer.
 */
import type { Worker } from 'node:cluster'
import { AggregatorRegistry, type Registry } from 'prom-client'

type Snapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

const askMessage = 'metrics?'
const patienceMs = 2_000

/** In a worker: answers the primary. */
export function answerPrimary(registry: Registry): void {
  process.on('message', async (message) => {
    if (message === askMessage) process.send?.({ metrics: await registry.getMetricsAsJSON() })
  })
}

export class WorkerMetrics {
  readonly #last = new Map<Worker, Snapshot>()
  readonly #asked = new Map<Worker, PromiseWithResolvers<void>>()
  #ended: Snapshot[] = []

  add(worker: Worker): void {
    worker.on('message', (message: unknown) => {
      if (!isAnswer(message)) return
      this.#last.set(worker, message.metrics)
      this.#settle(worker)
    })
    worker.on('exit', () => {
      const counted = this.#last.get(worker)?.filter(({ type }) => !isGauge(type))
      if (counted) this.#ended.push(counted)
      this.#last.delete(worker)
      this.#settle(worker)
    })
  }

  async text(workers: Iterable<Worker>): Promise<string> {
    const patience = Promise.withResolvers<void>()
    const timer = setTimeout(patience.resolve, patienceMs)
    await Promise.race([Promise.all([...workers].map((worker) => this.#ask(worker))), patience.promise])
    clearTimeout(timer)
    const ended = this.#ended
    if (ended.length > 1) this.#ended = [await AggregatorRegistry.aggregate(ended).getMetricsAsJSON()]
    return AggregatorRegistry.aggregate([...this.#last.values(), ...ended]).metrics()
  }

  /** Scrapes at the same time share one answer. */
  #ask(worker: Worker): Promise<void> | undefined {
    const asked = this.#asked.get(worker)
    if (asked) return asked.promise
    if (!worker.isConnected()) return undefined
    const ask = Promise.withResolvers<void>()
    this.#asked.set(worker, ask)
    worker.send(askMessage)
    return ask.promise
  }

  #settle(worker: Worker): void {
    this.#asked.get(worker)?.resolve()
    this.#asked.delete(worker)
  }
}

/** Workers send the names of types, although prom-client’s types say numbers. */
const isGauge = (type: unknown) => type === 'gauge'

function isAnswer(message: unknown): message is { metrics: Snapshot } {
  return typeof message === 'object' && message !== null && 'metrics' in message
}
