import cluster, { type Worker } from 'node:cluster'
import type { Log } from '../../platform/log.ts'
import { printAside } from './output.ts'

const restartPauseMs = 1_000

interface Deps {
  /** The running ones, also for their metrics. */
  readonly workers: Set<Worker>
  readonly count: number
  readonly log: Log
  /** Called when `count` workers have become ready for the first time. */
  allReady(): void
  readonly metrics: { added(worker: Worker): void; restarted(): void } | null
}

/** Keeps workers of the service running, and ends them together. */
export class Supervisor {
  readonly #deps: Deps
  readonly #drained = new Set<Worker>()
  #stopping = false
  #everReady = 0

  constructor(deps: Deps) {
    this.#deps = deps
  }

  start(): void {
    for (let i = 0; i < this.#deps.count; i++) this.#startOne()
  }

  stop(lingerMs: number, withinMs: number): void {
    const { workers, log } = this.#deps
    this.#stopping = true
    log.info('stopping')
    for (const worker of workers) worker.send({ drain: lingerMs })
    setTimeout(() => {
      // One that hangs must not be left behind.
      for (const worker of workers) worker.process.kill('SIGKILL')
      process.exit(0)
    }, withinMs).unref()
    this.#closeWhenDrained()
  }

  readonly #startOne = () => {
    if (this.#stopping) return
    const worker = cluster.fork()
    this.#deps.workers.add(worker)
    this.#deps.metrics?.added(worker)
    // The worker may be gone before it receives a message; its exit is handled below.
    worker.on('error', () => {})
    worker.on('message', (message) => this.#heard(worker, message))
    worker.on('exit', (code, signal) => this.#ended(worker, code, signal))
  }

  #heard(worker: Worker, message: unknown): void {
    const { count, allReady } = this.#deps
    if (message === 'ready' && ++this.#everReady === count) allReady()
    if (isFailure(message) && !this.#stopping) this.#failed(worker, message.failed)
    if (message === 'drained') {
      this.#drained.add(worker)
      this.#closeWhenDrained()
    }
  }

  /** Once the service was up, a failed start (such as an unreachable store) is retried. */
  #failed(worker: Worker, why: string): void {
    const { count, log } = this.#deps
    if (this.#everReady >= count) log.warn({ worker: worker.id }, why)
    else {
      this.#stopping = true
      printAside(why)
      process.exit(1)
    }
  }

  #ended(worker: Worker, code: number, signal: string): void {
    const { workers, count, log, metrics } = this.#deps
    workers.delete(worker)
    this.#drained.delete(worker)
    if (this.#stopping) this.#closeWhenDrained()
    else if (this.#everReady < count && !signal) {
      // It never started, so another try would fail the same way.
      process.exit(code || 1)
    } else {
      log.warn({ worker: worker.id, code }, 'a worker ended; starting another')
      metrics?.restarted()
      setTimeout(this.#startOne, restartPauseMs)
    }
  }

  #closeWhenDrained(): void {
    const { workers } = this.#deps
    if (!this.#stopping) return
    if (workers.size === 0) process.exit(0)
    if (this.#drained.size === workers.size) for (const worker of workers) worker.send('close')
  }
}

function isFailure(message: unknown): message is { failed: string } {
  return typeof message === 'object' && message !== null && 'failed' in message
}
