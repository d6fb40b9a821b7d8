/**
 * Shared by the limits in the store and those in memory: the refusal when a bucket is empty, and the headers that show
 * what is left. The arithmetic is in limit.ts.
 */
import { AppError } from '../../errors.ts'
import { freeAt, left, type Rate, refillMs } from './limit.ts'

export interface BucketPolicy {
  readonly name: string
  readonly burst: number
  readonly refillPerMinute: number
}

/** For the RateLimit headers. */
export interface BucketState {
  readonly policy: BucketPolicy
  readonly remaining: number
  readonly fullInMs: number
}

/** The fingerprints of the caller's network and of the wider networks around it, which get several shares. */
export interface CallerNetwork {
  readonly fingerprint: string
  readonly wider: readonly { readonly fingerprint: string; readonly shares: number }[]
}

/** The caller of a request without a token, as limits and events see it. */
export interface Caller {
  readonly network: CallerNetwork
  readonly requestId: string | null
  noteLimit(state: BucketState): void
}

export const rateOf = ({ burst, refillPerMinute }: BucketPolicy): Rate => ({
  burst,
  intervalMs: 60_000 / refillPerMinute,
})

export function bucketState(policy: BucketPolicy, fullAt: number, now: number): BucketState {
  return { policy, remaining: left(rateOf(policy), fullAt, now), fullInMs: Math.max(0, fullAt - now) }
}

export function tooManyRequests(
  limit: string,
  waitMs: number,
  detail: string,
  headers: Record<string, string> = {},
): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new AppError('too-many-requests', detail, { retryAfterSeconds, headers, limit })
}

/** draft-ietf-httpapi-ratelimit-headers; `w` is the time in which an empty bucket refills. */
export function rateLimitHeaders({ policy, remaining, fullInMs }: BucketState): Record<string, string> {
  const windowSeconds = refillMs(rateOf(policy)) / 1000
  return {
    'RateLimit-Policy': `"${policy.name}";q=${policy.burst};w=${windowSeconds}`,
    RateLimit: `"${policy.name}";r=${remaining};t=${Math.ceil(fullInMs / 1000)}`,
  }
}

export function bucketRefusal(policy: BucketPolicy, fullAt: number, now: number): AppError {
  const headers = rateLimitHeaders(bucketState(policy, fullAt, now))
  return tooManyRequests(policy.name, freeAt(rateOf(policy), fullAt) - now, 'Too many requests.', headers)
}
