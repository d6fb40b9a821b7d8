/**
 * The limits that hold across processes and restarts: on codes, validations and registrations. They are taken in
 * the transaction of the thing they limit, in a chain: each statement says `when` the one before it was granted, so
 * nothing is written and nobody else's share is used when an earlier limit refuses.
 *
 * Addresses and networks appear as fingerprints. The limits that live in memory are in http/limits.ts.
 */
import { always, both, type Condition, type Db, holds, type Statement } from '../db/db.ts'
import { AppError } from '../errors.ts'
import { day, hour, minute } from '../lib/clock.ts'
import {
  bucketFullAt,
  countFailure,
  failureCounts,
  giveBackToBuckets,
  networkIsKnown,
  pruneLimits,
  quotaFreeAt,
  quotaHasRoom,
  rememberNetwork,
  takeFromBucket,
  takeFromQuota,
  takenFrom,
} from './store.ts'

export { forgetNetworks } from './store.ts'

export interface BucketPolicy {
  readonly name: string
  readonly burst: number
  readonly refillPerMinute: number
}

export const bucketPolicies = {
  send: { name: 'send-otp', burst: 600, refillPerMinute: 120 },
  validate: { name: 'validate-otp', burst: 1200, refillPerMinute: 240 },
  register: { name: 'register', burst: 100, refillPerMinute: 20 },
} as const satisfies Record<string, BucketPolicy>

const codesPerPair = [
  { max: 5, windowMs: 15 * minute },
  { max: 20, windowMs: day },
] as const
const codesPerAddress = [
  { max: 20, windowMs: 15 * minute },
  { max: 60, windowMs: day },
] as const
const networkKnownMs = 90 * day

const attackThresholds = {
  address: { shortMs: hour, short: 20, longMs: day, long: 50 },
  network: { shortMs: 10 * minute, short: 100, longMs: day, long: 300 },
  service: { shortMs: hour, short: 500, longMs: hour, long: 500 },
} as const

/** What is left of a per-network policy, for the RateLimit headers. */
export interface BucketState {
  readonly policy: BucketPolicy
  readonly remaining: number
  readonly fullInMs: number
}

/** Who asks, as far as the limits care, and where to note what is left of them. */
export interface Caller {
  readonly networkHash: string
  noteLimit(state: BucketState): void
}

/** Statements that take, and the condition under which what follows them may happen. */
export interface Take {
  readonly statements: readonly Statement[]
  readonly granted: Condition
}

export const intervalMsOf = (policy: BucketPolicy) => 60_000 / policy.refillPerMinute

export function bucketState(policy: BucketPolicy, fullAt: number, now: number): BucketState {
  const intervalMs = intervalMsOf(policy)
  const fullInMs = Math.max(0, fullAt - now)
  return { policy, remaining: Math.max(0, Math.floor(policy.burst - fullInMs / intervalMs)), fullInMs }
}

export function tooManyRequests(
  freeAt: number,
  now: number,
  detail: string,
  headers: Record<string, string> = {},
): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil((freeAt - now) / 1000))
  return new AppError('too-many-requests', detail, { retryAfterSeconds, headers })
}

/** draft-ietf-httpapi-ratelimit-headers: `w` is the time in which an empty bucket fills. */
export function rateLimitHeaders({ policy, remaining, fullInMs }: BucketState): Record<string, string> {
  const windowSeconds = (policy.burst * intervalMsOf(policy)) / 1000
  return {
    'RateLimit-Policy': `"${policy.name}";q=${policy.burst};w=${windowSeconds}`,
    RateLimit: `"${policy.name}";r=${remaining};t=${Math.ceil(fullInMs / 1000)}`,
  }
}

export class Limits {
  readonly #db: Db
  readonly #enabled: boolean

  constructor(db: Db, enabled: boolean) {
    this.#db = db
    this.#enabled = enabled
  }

  /** One from a network's bucket. The first row of its first statement is the bucket's state. */
  takeBucket(policy: BucketPolicy, networkHash: string, mark: string, now: number): Take {
    if (!this.#enabled) return { statements: [], granted: always }
    const key = bucketKey(policy, networkHash)
    return {
      statements: [takeFromBucket({ key, mark, now, intervalMs: intervalMsOf(policy), burst: policy.burst })],
      granted: takenFrom('bucket', key, mark),
    }
  }

  /**
   * One code for an address: of its own, then of its pair with the network. Only if `after` was granted. The address
   * is asked only while the pair has room, so a network that has had its share uses up nobody else's.
   */
  takeCode(
    addressHash: string,
    networkHash: string,
    mark: string,
    now: number,
    after: Pick<Take, 'granted'>,
  ): Take {
    if (!this.#enabled) return { statements: [], granted: always }
    const pair = { key: pairKey(addressHash, networkHash), windows: codesPerPair }
    const whole = { key: wholeKey(addressHash), windows: codesPerAddress }
    return {
      statements: [
        takeFromQuota({
          ...whole,
          mark,
          now,
          when: both(after.granted, quotaHasRoom(pair, now)),
          anyway: this.#isKnown(addressHash, networkHash, now),
        }),
        takeFromQuota({ ...pair, mark, now, when: takenFrom('quota', whole.key, mark) }),
      ],
      granted: takenFrom('quota', pair.key, mark),
    }
  }

  /** Shows the caller what a take left in the bucket, or throws the refusal. */
  async noteBucket(
    policy: BucketPolicy,
    caller: Caller,
    rows: readonly { full_at?: unknown }[] | undefined,
    now: number,
  ): Promise<void> {
    if (!this.#enabled) return
    const fullAt = rows?.[0]?.full_at
    if (typeof fullAt === 'number') return caller.noteLimit(bucketState(policy, fullAt, now))
    const known = await bucketFullAt(this.#db, bucketKey(policy, caller.networkHash))
    throw bucketRefusal(policy, known, now)
  }

  /** Why no code was granted. */
  async codeRefusal(addressHash: string, networkHash: string, now: number): Promise<AppError> {
    const pair = { key: pairKey(addressHash, networkHash), windows: codesPerPair }
    const whole = { key: wholeKey(addressHash), windows: codesPerAddress }
    const known = await holds(this.#db, this.#isKnown(addressHash, networkHash, now))
    const freeAt = await quotaFreeAt(this.#db, known ? [pair] : [pair, whole])
    return tooManyRequests(freeAt, now, 'Too many codes were asked for this address.')
  }

  #isKnown(addressHash: string, networkHash: string, now: number): Condition {
    return networkIsKnown(addressHash, networkHash, now - networkKnownMs)
  }

  countFailure(addressHash: string, networkHash: string, now: number): Statement[] {
    if (!this.#enabled) return []
    const at = Math.floor(now / minute)
    return failureKeys(addressHash, networkHash).map((key) => countFailure(key, at))
  }

  /** True while guessing goes on against this address, from this network or at the whole service. */
  async underAttack(addressHash: string, networkHash: string, now: number): Promise<boolean> {
    if (!this.#enabled) return false
    const since = (ms: number) => Math.floor((now - ms) / minute)
    const { address, network, service } = attackThresholds
    const [addressKey, networkKey, serviceKey] = failureKeys(addressHash, networkHash)
    const counts = await failureCounts(this.#db, [
      { key: addressKey, shortSince: since(address.shortMs), longSince: since(address.longMs) },
      { key: networkKey, shortSince: since(network.shortMs), longSince: since(network.longMs) },
      { key: serviceKey, shortSince: since(service.shortMs), longSince: since(service.longMs) },
    ])
    const over = (key: string, threshold: { short: number; long: number }) =>
      counts.some((c) => c.key === key && (c.short >= threshold.short || c.long >= threshold.long))
    return over(addressKey, address) || over(networkKey, network) || over(serviceKey, service)
  }

  /** What a successful sign-in gives back, and what it teaches about the network. */
  signedIn(addressHash: string, sendNetwork: string, validateNetwork: string, now: number): Statement[] {
    if (!this.#enabled) return []
    const one = (policy: BucketPolicy, networkHash: string) => ({
      key: bucketKey(policy, networkHash),
      intervalMs: intervalMsOf(policy),
    })
    const given = [
      one(bucketPolicies.send, sendNetwork),
      one(bucketPolicies.validate, validateNetwork),
    ] as const
    return [giveBackToBuckets(given, now), rememberNetwork(addressHash, validateNetwork, now)]
  }

  prune(now: number): Statement[] {
    return pruneLimits(now, now - day, now - networkKnownMs)
  }
}

export function bucketRefusal(policy: BucketPolicy, fullAt: number, now: number, shown = true): AppError {
  const freeAt = fullAt - (policy.burst - 1) * intervalMsOf(policy)
  const headers = shown ? rateLimitHeaders(bucketState(policy, fullAt, now)) : {}
  return tooManyRequests(freeAt, now, 'Too many requests.', headers)
}

// Whose it is comes first, so that what one request takes from stands together in the store.
const bucketKey = (policy: BucketPolicy, networkHash: string) => `${networkHash}:${policy.name}`
const pairKey = (addressHash: string, networkHash: string) => `${addressHash}:${networkHash}`
const wholeKey = (addressHash: string) => addressHash
const failureKeys = (addressHash: string, networkHash: string) =>
  [`address:${addressHash}`, `network:${networkHash}`, 'service'] as const
