/**
 * Limits kept in memory, separately in each process, and the headers that show what is left. Headers show limits of the
 * caller's network, or of the session or client behind a valid token. Anything per address or account would tell a
 * stranger about it.
 */
import type { FastifyReply } from 'fastify'
import {
  type BucketPolicy,
  type BucketState,
  bucketRefusal,
  bucketState,
  rateLimitHeaders,
  rateOf,
} from '../lib/bucket.ts'
import type { Clock } from '../lib/clock.ts'
import { isEmpty, oneLess } from '../lib/limit.ts'

export const memoryPolicies = {
  network: { name: 'network', burst: 2000, refillPerMinute: 1000 },
  session: { name: 'session', burst: 300, refillPerMinute: 120 },
  /** Requests of clients that are remembered for people who are not signed in, of the whole process. */
  asks: { name: 'asks', burst: 5000, refillPerMinute: 1000 },
  /** All tokens that a client has for itself. */
  service: { name: 'service', burst: 3000, refillPerMinute: 1200 },
} as const satisfies Record<string, BucketPolicy>

const keysMax = 100_000

/** Like the buckets in the store, holds the time at which each bucket is full again. */
export class MemoryBuckets {
  #fullAt = new Map<string, number>()
  readonly #clock: Pick<Clock, 'elapsed'>

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock
  }

  take(policy: BucketPolicy, key: string): BucketState {
    const now = this.#clock.elapsed()
    const name = `${policy.name}:${key}`
    const rate = rateOf(policy)
    const fullAt = this.#fullAt.get(name) ?? 0
    if (isEmpty(rate, fullAt, now)) throw bucketRefusal(policy, fullAt, now)
    if (this.#fullAt.size >= keysMax) this.#forgetFull(now)
    const next = oneLess(rate, fullAt, now)
    this.#fullAt.set(name, next)
    return bucketState(policy, next, now)
  }

  /** Whether there was one to take. */
  tryTake(policy: BucketPolicy, key: string): boolean {
    const fullAt = this.#fullAt.get(`${policy.name}:${key}`) ?? 0
    if (isEmpty(rateOf(policy), fullAt, this.#clock.elapsed())) return false
    this.take(policy, key)
    return true
  }

  #forgetFull(now: number): void {
    for (const [name, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(name)
    // No bucket is full: drop the oldest, which may let a caller in too early but never locks one out.
    if (this.#fullAt.size >= keysMax) this.#fullAt.delete(this.#fullAt.keys().next().value!)
  }
}

export function showLimit(reply: FastifyReply, state: BucketState): void {
  reply.headers(rateLimitHeaders(state))
}
