/**
 * Limits on codes, validations and registrations, shared by all processes and kept across restarts. They are taken in
 * the transaction of what they limit, as a chain: each statement runs only `when` the one before was granted, so a
 * refusal writes nothing and uses up no other limit. A successful sign-in is refunded afterwards, in its own
 * transaction.
 *
 * Addresses and networks appear as fingerprints. Limits kept in memory are in http/limits.ts.
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
  failureCount,
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

export const serviceBuckets = {
  register: { name: 'register', burst: 5_000, refillPerMinute: 1_000 },
} as const satisfies Record<string, BucketPolicy>

const codesPerDevice: readonly Window[] = [
  { max: 5, windowMs: 15 * minute },
  { max: 40, windowMs: day },
]
/** All devices of an inbox together: every sign-in without a device token creates a device, and devices live long. */
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
/** With this many open challenges, an inbox gets longer codes for new ones. */
const openChallengesMax = 3

const attackThresholds = {
  inbox: { shortMs: hour, short: 20, longMs: day, long: 50 },
  network: { shortMs: 10 * minute, short: 100, longMs: day, long: 300 },
  service: { shortMs: hour, short: 500, longMs: hour, long: 500 },
} as const

/** The statements that take from a limit, and the condition that holds if they succeeded. */
export interface Take {
  readonly statements: readonly Statement[]
  readonly granted: Condition
}

/** Takes one from each bucket, the caller's own first. */
export interface BucketTake extends Take {
  readonly policy: BucketPolicy
  readonly buckets: readonly Bucket[]
}

interface Bucket {
  readonly key: string
  readonly burst: number
  readonly intervalMs: number
}

/** What a code is counted against: the device's own quota, or else the inbox and its pair with the network. */
export interface CodeAsk {
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

  /** How many challenges of an inbox may be open with six-digit codes; null means no limit. */
  get openChallengesMax(): number | null {
    return this.#enabled ? openChallengesMax : null
  }

  /** Takes one from the caller's network, from the wider networks, and from the whole service if it has a bucket. */
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
   * Takes one code, if `after` holds. The inbox is charged only while its pair with the network has room, so a network
   * that used up its own share cannot use up the inbox’s. A network where the inbox has signed in before does not
   * charge the inbox at all.
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

  /** Reports what is left in the bucket, or throws the refusal. `results` starts with those of the take. */
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

  /** Reports what is left without taking anything. */
  async showBucket(policy: BucketPolicy, caller: Caller, now: number): Promise<void> {
    if (!this.#enabled) return
    const fullAt = await bucketFullAt(this.#db, bucketKey(policy, caller.network.fingerprint))
    caller.noteLimit(bucketState(policy, fullAt, now))
  }

  async codeRefusal(ask: CodeAsk, now: number): Promise<AppError> {
    const freeAt = await quotaFreeAt(this.#db, await this.#quotasOf(ask, now))
    return tooManyRequests(freeAt, now, 'Too many codes were requested for this address.')
  }

  async #quotasOf(ask: CodeAsk, now: number): Promise<Quota[]> {
    if (ask.device !== null) return [deviceQuota(ask.device), devicesQuota(ask)]
    const isKnown = await holds(this.#db, this.#isKnown(ask, now))
    return isKnown ? [pairQuota(ask)] : [pairQuota(ask), inboxQuota(ask)]
  }

  #isKnown({ inbox, network }: CodeAsk, now: number): Condition {
    return networkIsKnown(inbox, network, now - networkKnownMs)
  }

  /** `networks`: the one that answered and the one that asked for the code. */
  countFailure(inbox: string, networks: readonly string[], now: number): Statement[] {
    if (!this.#enabled) return []
    const at = Math.floor(now / minute)
    const keys = [inboxFailures(inbox), ...new Set(networks.map(networkFailures)), serviceFailures]
    return keys.map((key) => countFailure(key, at))
  }

  /** Whether somebody is guessing codes of this inbox, from this network or across the service. */
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

  /** Wrong codes over the whole service in the last hour, and how many make the codes longer for everybody. */
  async wrongCodes(now: number): Promise<{ lastHour: number; threshold: number }> {
    const { shortMs, short } = attackThresholds.service
    const lastHour = await failureCount(this.#db, serviceFailures, Math.floor((now - shortMs) / minute))
    return { lastHour, threshold: short }
  }

  /** Refunds a successful sign-in and remembers its network. */
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

// The owner comes first, so that the buckets of one request are neighbours in the index.
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
