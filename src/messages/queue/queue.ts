/**
 * Jobs that must be done although processes die: mails, webhook deliveries and calls to applications. Each kind has a table
 * of its own and says what to do with a job; this says who does it, and when.
 *
 * Every process has a worker for each kind. It looks for lanes in which jobs are due, claims as many jobs of each as the
 * lane has room for, and works on them at once. A claim is a lease: if the process dies, the job is due again when the
 * lease ends. When to try again and when to give up is up to the kind.
 */
import { randomInt } from 'node:crypto'
import type { Context } from '../../platform/context.ts'
import type { Row } from '../../platform/db/db.ts'
import { Failure } from '../../platform/lib/failure.ts'
import { newId } from '../../platform/lib/random.ts'
import { Rounds } from '../../platform/lib/rounds.ts'
import { claimJobs, type JobsOfLane, type JobTable, release } from './store.ts'

export { release } from './store.ts'

export interface Lane<Job> extends JobsOfLane {
  readonly name: string
  /** How many of its jobs a process works on at once. */
  readonly jobsMax: number
  /** Shorter than the lease. It ends with `signal` at the latest, and then throws. */
  work(job: Job, signal: AbortSignal): Promise<void>
}

interface Kind<Job> {
  /** What its worker does, for the log. */
  readonly what: string
  readonly table: JobTable
  readonly leaseMs: number
  /** The lanes in which jobs are due. */
  dueLanes(now: number): Promise<readonly Lane<Job>[]>
}

const stopWaitMs = 1_500
const jitter = 0.1

/** Up to a tenth longer, so that jobs that failed together are not tried again together. */
export const jittered = (pauseMs: number) => pauseMs + randomInt(Math.floor(pauseMs * jitter))

export class Worker<Job extends Row> {
  readonly #deps: Pick<Context, 'db' | 'clock'>
  readonly #kind: Kind<Job>
  readonly #failure: Failure
  readonly #rounds: Rounds
  readonly #abort = new AbortController()
  /** The work in progress, with its lane. */
  readonly #working = new Map<Promise<void>, string>()
  #stopped = false

  constructor(deps: Pick<Context, 'db' | 'clock' | 'log'>, kind: Kind<Job>) {
    this.#deps = deps
    this.#kind = kind
    this.#failure = new Failure(deps.log, kind.what)
    this.#rounds = new Rounds(() => this.#round(), this.#failure)
  }

  start(everyMs: number): void {
    this.#rounds.start(everyMs)
  }

  /** Looks for due jobs now. */
  wake(): void {
    this.#rounds.wake()
  }

  /** Claims nothing more, waits for the work in progress, and aborts what does not end soon. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#rounds.stop()
    const timer = setTimeout(() => this.#abort.abort(), stopWaitMs)
    await Promise.all(this.#working.keys())
    clearTimeout(timer)
  }

  async #round(): Promise<void> {
    for (const lane of await this.#kind.dueLanes(this.#deps.clock.now())) {
      const limit = this.#roomIn(lane)
      if (limit > 0) await this.#claim(lane, limit)
    }
  }

  #roomIn({ name, jobsMax }: Lane<Job>): number {
    if (this.#stopped) return 0
    return jobsMax - [...this.#working.values()].filter((lane) => lane === name).length
  }

  async #claim(lane: Lane<Job>, limit: number): Promise<void> {
    const { db, clock } = this.#deps
    const { table, leaseMs } = this.#kind
    const now = clock.now()
    // A new id each time: a process that was too slow must not end the claim of the next one.
    const claim = { by: newId(), now, leaseUntil: now + leaseMs, limit }
    for (const job of await claimJobs<Job>(db, table, lane, claim)) this.#begin(lane, job)
  }

  #begin(lane: Lane<Job>, job: Job): void {
    const working = this.#work(lane, job)
      .catch((error) => this.#failure.began(error))
      .finally(() => {
        this.#working.delete(working)
        this.wake()
      })
    this.#working.set(working, lane.name)
  }

  async #work(lane: Lane<Job>, job: Job): Promise<void> {
    const { db, clock } = this.#deps
    const { signal } = this.#abort
    try {
      await lane.work(job, signal)
    } catch (error) {
      if (!signal.aborted) throw error
      await db.tx([release(this.#kind.table, job, clock.now())])
    }
  }
}
