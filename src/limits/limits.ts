/**
 * The limits that hold across processes and restarts: on codes, validations and registrations. They are taken in
 * the transaction of the thing they limit, in a chain: each statement says `when` the one before it was granted, so
 * nothing is written and nobody else's share is used when an earlier limit refuses. What a sign-in gives back it gives
 * back afterwards, in a transaction of its own.
 *
 * Addresses and networks appear as fingerprints. The limits that live in memory are in http/limits.ts.
 */
import {
  always,
  both,
  type Condition,
  type Db,
  either,
  holds,
  not,
  type Row,
  type Statement,
} from '../db/db.ts'
import type { AppError } from '../errors.ts'
import {
  type BucketPolicy,
  bucketRefusal,
  bucketState,
  type Caller,
  type CallerNetwork,
  intervalMsOf,
  tooManyRequests,
} from '../lib/bucket.ts'
import { day, hour, minute } from '../lib/clock.ts'
import {
  bucketFullAt,
  countFailure,
  failureCounts,
  giveBackToBuckets,
  networkIsKnown,
  pruneLimits,
  type Quota,
  quotaFreeAt,
  quotaHasRoom,
  rememberNetwork,
  takeFromBucket,
  takeFromQuota,
  takenFrom,
  type Window,
} from './store.ts'

export { forgetNetworks } from './store.ts'

export const bucketPolicies = {
  send: { name: 'send-otp', burst: 600, refillPerMinute: 120 },
  validate: { name: 'validate-otp', burst: 1200, refillPerMinute: 240 },
  register: { name: 'register', burst: 100, refillPerMinute: 20 },
} as const satisfies Record<string, BucketPolicy>

/** Over all networks together. */
export const serviceBuckets = {
  register: { name: 'register', burst: 5_000, refillPerMinute: 1_000 },
} as const satisfies Record<string, BucketPolicy>

const codesPerDevice: readonly Window[] = [
  { max: 5, windowMs: 15 * minute },
  { max: 40, windowMs: day },
]
/** Over all devices of an inbox: each sign-in without a token makes one, and they live long. */
const codesPerDevices: readonly Window[] = [
  { max: 20, windowMs: 15 * minute },
  { max: 160, windowMs: day },
]
const codesPerPair: readonly Window[] = [{ max: 5, windowMs: 15 * minute }]
const codesPerInbox: readonly Window[] = [
  { max: 20, windowMs: 15 * minute },
  { max: 60, windowMs: day },
]
const networkKnownMs = 90 * day
/** An inbox with so many open challenges gets longer codes for further ones. */
const openChallengesMax = 3

const attackThresholds = {
  inbox: { shortMs: hour, short: 20, longMs: day, long: 50 },
  network: { shortMs: 10 * minute, short: 100, longMs: day, long: 300 },
  service: { shortMs: hour, short: 500, longMs: hour, long: 500 },
} as const

/** Statements that take, and the condition under which what follows them may happen. */
export interface Take {
  readonly statements: readonly Statement[]
  readonly granted: Condition
}

/** One from each of these buckets, the caller's own first. */
export interface BucketTake extends Take {
  readonly policy: BucketPolicy
  readonly buckets: readonly Bucket[]
}

interface Bucket {
  readonly key: string
  readonly burst: number
  readonly intervalMs: number
}

/** What a code is counted against: a device's own share, or else those of the inbox and its pair with the network. */
export interface CodeAsk {
  /** Fingerprint of the address without its tag. */
  readonly inbox: string
  readonly network: string
  readonly device: string | null
}

export class Limits {
  readonly #db: Db
  readonly #enabled: boolean

  constructor(db: Db, enabled: boolean) {
    this.#db = db
    this.#enabled = enabled
  }

  /** How many challenges of an inbox may be open with a code of six digits; null for any number. */
  get openChallengesMax(): number | null {
    return this.#enabled ? openChallengesMax : null
  }

  /** One from the bucket of the caller's network, from those of the wider ones, and from the whole service's if it has one. */
  takeBucket(
    policy: BucketPolicy,
    network: CallerNetwork,
    mark: string,
    now: number,
    service?: BucketPolicy,
  ): BucketTake {
    if (!this.#enabled) return { policy, buckets: [], statements: [], granted: always }
    const buckets = bucketsOf(policy, network, service)
    const takenFromBefore = (i: number) => (i === 0 ? always : takenFrom('bucket', buckets[i - 1]!.key, mark))
    return {
      policy,
      buckets,
      statements: buckets.map((bucket, i) =>
        takeFromBucket({ ...bucket, mark, now, when: takenFromBefore(i) }),
      ),
      granted: takenFromBefore(buckets.length),
    }
  }

  /**
   * One code, only if `after` was granted. The inbox is asked only while its pair with the network has room, so a
   * network that has had its share uses up nobody else's. A network where the inbox has signed in is not counted there.
   */
  takeCode(ask: CodeAsk, mark: string, now: number, after: Condition): Take {
    if (!this.#enabled) return { statements: [], granted: always }
    if (ask.device !== null) {
      const device = deviceQuota(ask.device)
      const all = devicesQuota(ask)
      return {
        statements: [
          takeFromQuota({ ...all, mark, now, when: both(after, quotaHasRoom(device, now)) }),
          takeFromQuota({ ...device, mark, now, when: takenFrom('quota', all.key, mark) }),
        ],
        granted: takenFrom('quota', device.key, mark),
      }
    }
    const pair = pairQuota(ask)
    const inbox = inboxQuota(ask)
    const isKnown = this.#isKnown(ask, now)
    const needsInbox = both(both(after, quotaHasRoom(pair, now)), not(isKnown))
    const hasInbox = either(takenFrom('quota', inbox.key, mark), both(after, isKnown))
    return {
      statements: [
        takeFromQuota({ ...inbox, mark, now, when: needsInbox }),
        takeFromQuota({ ...pair, mark, now, when: hasInbox }),
      ],
      granted: takenFrom('quota', pair.key, mark),
    }
  }

  /** Shows the caller what a take left in its bucket, or throws the refusal. `results` begins with the take's own. */
  async noteBucket(take: BucketTake, caller: Caller, results: readonly Row[][], now: number): Promise<void> {
    const fullAts = take.buckets.map((_bucket, i) => results[i]?.[0]?.full_at)
    if (typeof fullAts[0] === 'number') caller.noteLimit(bucketState(take.policy, fullAts[0], now))
    const refusedAt = fullAts.findIndex((fullAt) => typeof fullAt !== 'number')
    if (refusedAt === -1) return
    const { key, burst, intervalMs } = take.buckets[refusedAt]!
    const fullAt = await bucketFullAt(this.#db, key)
    if (refusedAt === 0) throw bucketRefusal(take.policy, fullAt, now)
    throw tooManyRequests(fullAt - (burst - 1) * intervalMs, now, 'Too many requests.')
  }

  /** Shows what is left in the bucket of the caller's network, and takes nothing. */
  async showBucket(policy: BucketPolicy, caller: Caller, now: number): Promise<void> {
    if (!this.#enabled) return
    const fullAt = await bucketFullAt(this.#db, bucketKey(policy, caller.network.fingerprint))
    caller.noteLimit(bucketState(policy, fullAt, now))
  }

  /** Why no code was granted. */
  async codeRefusal(ask: CodeAsk, now: number): Promise<AppError> {
    const freeAt = await quotaFreeAt(this.#db, await this.#quotasOf(ask, now))
    return tooManyRequests(freeAt, now, 'Too many codes were asked for this address.')
  }

  async #quotasOf(ask: CodeAsk, now: number): Promise<Quota[]> {
    if (ask.device !== null) return [deviceQuota(ask.device), devicesQuota(ask)]
    const isKnown = await holds(this.#db, this.#isKnown(ask, now))
    return isKnown ? [pairQuota(ask)] : [pairQuota(ask), inboxQuota(ask)]
  }

  #isKnown({ inbox, network }: CodeAsk, now: number): Condition {
    return networkIsKnown(inbox, network, now - networkKnownMs)
  }

  /** `networks`: the one that answered, and the one that had asked for the code. */
  countFailure(inbox: string, networks: readonly string[], now: number): Statement[] {
    if (!this.#enabled) return []
    const at = Math.floor(now / minute)
    const keys = [inboxFailures(inbox), ...new Set(networks.map(networkFailures)), serviceFailures]
    return keys.map((key) => countFailure(key, at))
  }

  /** True while guessing goes on against this inbox, from this network or at the whole service. */
  async underAttack(inbox: string, network: string, now: number): Promise<boolean> {
    if (!this.#enabled) return false
    const since = (ms: number) => Math.floor((now - ms) / minute)
    const asks = [
      { key: inboxFailures(inbox), threshold: attackThresholds.inbox },
      { key: networkFailures(network), threshold: attackThresholds.network },
      { key: serviceFailures, threshold: attackThresholds.service },
    ] as const
    const [a, b, c] = asks.map(({ key, threshold }) => ({
      key,
      shortSince: since(threshold.shortMs),
      longSince: since(threshold.longMs),
    }))
    const counts = await failureCounts(this.#db, [a!, b!, c!])
    return asks.some(({ key, threshold }) =>
      counts.some(
        (count) => count.key === key && (count.short >= threshold.short || count.long >= threshold.long),
      ),
    )
  }

  /** What a successful sign-in gives back, and what it teaches about the network. */
  signedIn(inbox: string, sendNetwork: string, validateNetwork: string, now: number): Statement[] {
    if (!this.#enabled) return []
    const one = (policy: BucketPolicy, network: string) => ({
      key: bucketKey(policy, network),
      intervalMs: intervalMsOf(policy),
    })
    const given = [
      one(bucketPolicies.send, sendNetwork),
      one(bucketPolicies.validate, validateNetwork),
    ] as const
    return [giveBackToBuckets(given, now), rememberNetwork(inbox, validateNetwork, now)]
  }

  sweep(now: number): Statement[] {
    return pruneLimits(now, now - day, now - networkKnownMs)
  }
}

function bucketsOf(
  policy: BucketPolicy,
  network: CallerNetwork,
  service: BucketPolicy | undefined,
): Bucket[] {
  const shares = [{ fingerprint: network.fingerprint, shares: 1 }, ...network.wider]
  const buckets = shares.map(({ fingerprint, shares: times }) => ({
    key: bucketKey(policy, fingerprint),
    burst: policy.burst * times,
    intervalMs: Math.round(intervalMsOf(policy) / times),
  }))
  if (!service) return buckets
  const { burst } = service
  return [...buckets, { key: bucketKey(service, 'service'), burst, intervalMs: intervalMsOf(service) }]
}

// Whose it is comes first, so that what one request takes from stands together in the store.
const bucketKey = (policy: BucketPolicy, owner: string) => `${owner}:${policy.name}`
const deviceQuota = (device: string): Quota => ({ key: `device:${device}`, windows: codesPerDevice })
const devicesQuota = ({ inbox }: CodeAsk): Quota => ({ key: `devices:${inbox}`, windows: codesPerDevices })
const pairQuota = ({ inbox, network }: CodeAsk): Quota => ({
  key: `${inbox}:${network}`,
  windows: codesPerPair,
})
const inboxQuota = ({ inbox }: CodeAsk): Quota => ({ key: inbox, windows: codesPerInbox })
const inboxFailures = (inbox: string) => `address:${inbox}`
const networkFailures = (network: string) => `network:${network}`
const serviceFailures = 'service'
