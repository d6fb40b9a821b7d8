import type { FastifyInstance } from 'fastify'
import { AppError } from '../../errors.ts'
import type { FailureLog } from '../lib/failure.ts'
import { readinessPath } from './health.ts'

export interface DrainTimes {
  readonly lingerMs: number
  /** In all. */
  readonly patienceMs: number
}

/**
 * Refuses new requests and waits for those in progress. First it lingers: it says that it is not ready, and serves
 * everything else until proxies have noticed.
 */
export class Drain {
  readonly #log: Pick<FailureLog, 'warn'>
  #inFlight = 0
  #lingering = false
  #stopping = false
  #idle = () => {}
  #drained: Promise<void> | undefined

  constructor(log: Pick<FailureLog, 'warn'>) {
    this.#log = log
  }

  requestBegan(): void {
    this.#inFlight++
  }

  requestEnded(): void {
    this.#inFlight--
    if (this.#inFlight === 0) this.#idle()
  }

  refuseIn(app: FastifyInstance): void {
    app.addHook('onRequest', (request, reply, done) => {
      if (this.#lingering) reply.header('Connection', 'close')
      const isRefused = this.#stopping || (this.#lingering && request.routeOptions.url === readinessPath)
      const shuttingDown = () =>
        new AppError('unavailable', 'The service is shutting down.', { retryAfterSeconds: 5 })
      done(isRefused ? shuttingDown() : undefined)
    })
  }

  /** Only once, whoever calls it. */
  run(times: DrainTimes): Promise<void> {
    this.#drained ??= this.#drain(times)
    return this.#drained
  }

  async #drain({ lingerMs, patienceMs }: DrainTimes): Promise<void> {
    this.#lingering = true
    if (lingerMs > 0) await new Promise((resolve) => setTimeout(resolve, lingerMs))
    this.#stopping = true
    if (this.#inFlight === 0) return
    const idle = new Promise<void>((resolve) => {
      this.#idle = resolve
    })
    await Promise.race([idle, new Promise((resolve) => setTimeout(resolve, patienceMs - lingerMs).unref())])
    if (this.#inFlight > 0)
      this.#log.warn({ requests: this.#inFlight }, 'cutting off requests that did not finish in time')
  }
}
