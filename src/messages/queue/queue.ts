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
import { Poller } from '../../platform/lib/poller.ts'
import { newId } from '../../platform/lib/random.ts'
import { claimJobs, type JobsOfLane, type JobTable, release, renew } from './store.ts'

export { release } from './store.ts'

export interface Lane<Job> extends JobsOfLane {
  readonly name: string
  /** How many of its jobs a process works on at once. */
  readonly jobsMax: number
  /** Unless it is long, it is shorter than the lease, and throws the reason of `signal` when that is aborted. */
  work(job: Job, signal: AbortSignal): Promise<void>
  /** Told how many jobs a claim took, and for how many there was room. */
  claimed?(count: number, limit: number): void
}

interface Kind<Job> {
  /** What its worker does, for the log. */
  readonly what: string
  readonly table: JobTable
  readonly leaseMs: number
  /** How many jobs of all lanes a process works on at once. */
  readonly jobsMax?: number
  /** Work may outlast the lease, which is then renewed, and goes on when it is aborted: nobody waits for it then. */
  readonly isLong?: boolean
  /** The lanes in which jobs are due, the most urgent first. */
  dueLanes(): Promise<readonly Lane<Job>[]>
  /** Called when work ends. If not given, the worker looks for more. */
  ended?(): void
}

interface Work<Job> {
  readonly job: Job
  readonly lane: string
  leaseUntil: number
}

const stopWaitMs = 1_500
const jitter = 0.1

/** Up to a tenth longer, so that jobs that failed together are not tried again together. */
export const jittered = (pauseMs: number) => pauseMs + randomInt(Math.floor(pauseMs * jitter))

export class Worker<Job extends Row> {
  readonly #deps: Pick<Context, 'db' | 'clock'>
  readonly #kind: Kind<Job>
  readonly #failure: Failure
  readonly #poller: Poller
  readonly #abort = new AbortController()
  readonly #working = new Map<Work<Job>, Promise<void>>()
  #stopped = false

  constructor(deps: Pick<Context, 'db' | 'clock' | 'log'>, kind: Kind<Job>) {
    this.#deps = deps
    this.#kind = kind
    this.#failure = new Failure(deps.log, kind.what)
    this.#poller = new Poller(() => this.#round(), this.#failure)
  }

  start(everyMs: number): void {
    this.#poller.start(everyMs)
  }

  /** Looks for due jobs now. */
  wake(): void {
    this.#poller.wake()
  }

  /** How many jobs it is working on. */
  get jobs(): number {
    return this.#working.size
  }

  /** Claims nothing more, waits for the work in progress, and aborts it if it does not end soon. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#poller.stop()
    const aborted = Promise.withResolvers<void>()
    const timer = setTimeout(() => {
      this.#abort.abort()
      if (this.#kind.isLong) aborted.resolve()
    }, stopWaitMs)
    await Promise.race([Promise.all(this.#working.values()), aborted.promise])
    clearTimeout(timer)
  }

  /** Works on the due jobs of one lane and no others, for a command that ends soon. */
  async workOn(lane: Lane<Job>): Promise<void> {
    for (const work of await this.#claim(lane, lane.jobsMax)) await this.#work(lane, work)
  }

  async #round(): Promise<void> {
    await this.#keep()
    for (const lane of await this.#kind.dueLanes()) {
      const limit = this.#roomIn(lane)
      if (limit <= 0) continue
      const claimed = await this.#claim(lane, limit)
      for (const work of claimed) this.#begin(lane, work)
      lane.claimed?.(claimed.length, limit)
    }
  }

  /** Renews leases of long work that seem to be over because the clock was put forward. */
  async #keep(): Promise<void> {
    if (!this.#kind.isLong) return
    const now = this.#deps.clock.now()
    for (const work of this.#working.keys()) if (work.leaseUntil <= now) await this.#renew(work)
  }

  async #renew(work: Work<Job>): Promise<void> {
    const leaseUntil = this.#deps.clock.now() + this.#kind.leaseMs
    await this.#deps.db.tx([renew(this.#kind.table, work.job, leaseUntil)])
    work.leaseUntil = leaseUntil
  }

  #roomIn({ name, jobsMax }: Lane<Job>): number {
    if (this.#stopped) return 0
    const inLane = [...this.#working.keys()].filter(({ lane }) => lane === name).length
    const free = (this.#kind.jobsMax ?? Number.POSITIVE_INFINITY) - this.#working.size
    return Math.min(jobsMax - inLane, free)
  }

  async #claim(lane: Lane<Job>, limit: number): Promise<Work<Job>[]> {
    const { db, clock } = this.#deps
    const { table, leaseMs } = this.#kind
    const now = clock.now()
    const leaseUntil = now + leaseMs
    // A new id each time: a process that was too slow must not end the claim of the next one.
    const jobs = await claimJobs<Job>(db, table, lane, { by: newId(), now, leaseUntil, limit })
    return jobs.map((job) => ({ job, lane: lane.name, leaseUntil }))
  }

  #begin(lane: Lane<Job>, work: Work<Job>): void {
    const working = this.#work(lane, work)
      .catch((error) => this.#failure.began(error))
      .finally(() => {
        this.#working.delete(work)
        if (this.#kind.ended) this.#kind.ended()
        else this.wake()
      })
    this.#working.set(work, working)
  }

  async #work(lane: Lane<Job>, work: Work<Job>): Promise<void> {
    const { db, clock } = this.#deps
    const { table, leaseMs, isLong } = this.#kind
    const { signal } = this.#abort
    const renewing = isLong && setInterval(() => this.#renew(work).catch(() => {}), leaseMs / 3).unref()
    try {
      await lane.work(work.job, signal)
    } catch (error) {
      if (error !== signal.reason) throw error
      await db.tx([release(table, work.job, clock.now())])
    } finally {
      if (renewing) clearInterval(renewing)
    }
  }
}
