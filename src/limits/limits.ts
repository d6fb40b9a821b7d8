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
import { clockSlackMs, day, hour, minute } from '../lib/clock.ts'
import {
  bucketFullAt,
  countFailure,
  type FailureAsk,
  type FailureCount,
  failureCounts,
  giveBackToBucket,
  inboxesKnownAt,
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

const slowestRefillMs = Math.max(
  ...[...Object.values(bucketPolicies), ...Object.values(serviceBuckets)].map(
    (policy) => policy.burst * intervalMsOf(policy),
  ),
)

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
/** Codes to new addresses that one person asks for: nobody can have mails sent to many strangers. */
const codesPerMover: readonly Window[] = [
  { max: 10, windowMs: 15 * minute },
  { max: 20, windowMs: day },
]
const networkKnownMs = 90 * day
/** With this many open challenges, an inbox gets longer codes for new ones. */
const openChallengesMax = 3

/** How many wrong codes within which time make an attack. */
const attackThresholds = {
  address: { shortMs: hour, short: 20, longMs: day, long: 50 },
  network: { shortMs: 10 * minute, short: 100, longMs: day, long: 300 },
  service: { shortMs: hour, short: 500, longMs: hour, long: 500 },
} as const
export const attackedKinds = ['address', 'network', 'service'] as const
type AttackedKind = (typeof attackedKinds)[number]

/** Wrong codes that have just reached a threshold. */
export interface Attack {
  readonly on: AttackedKind
  /** The network that is attacked from, or the one that gave the last wrong code. */
  readonly network: string
  readonly wrongCodes: number
  readonly withinMinutes: number
}

/** Every limit that can refuse a request. */
export const limitNames = [
  'send-otp',
  'validate-otp',
  'register',
  'codes',
  'resends',
  'network',
  'session',
] as const

/** With so many wrong codes in an hour, all new codes are longer. */
export const wrongCodesMax = attackThresholds.service.short

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
  /** Who asks, signed in, for a code to an address that is not theirs yet. */
  readonly moverId: string | null
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
    if (ask.moverId !== null) {
      const mover = moverQuota(ask.moverId)
      const code = this.takeCode({ ...ask, moverId: null }, mark, now, both(after, quotaHasRoom(mover, now)))
      return {
        statements: [...code.statements, takeFromQuota({ ...mover, mark, now, when: code.granted })],
        granted: takenFrom('quota', mover.key, mark),
      }
    }
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
    throw tooManyRequests(take.policy.name, fullAt - (burst - 1) * intervalMs, now, 'Too many requests.')
  }

  /** Reports what is left without taking anything. */
  async showBucket(policy: BucketPolicy, caller: Caller, now: number): Promise<void> {
    if (!this.#enabled) return
    const fullAt = await bucketFullAt(this.#db, bucketKey(policy, caller.network.fingerprint))
    caller.noteLimit(bucketState(policy, fullAt, now))
  }

  async codeRefusal(ask: CodeAsk, now: number): Promise<AppError> {
    const freeAt = await quotaFreeAt(this.#db, await this.#quotasOf(ask, now))
    return tooManyRequests('codes', freeAt, now, 'Too many codes were requested for this address.')
  }

  async #quotasOf(ask: CodeAsk, now: number): Promise<Quota[]> {
    if (ask.device !== null) return [deviceQuota(ask.device), devicesQuota(ask)]
    const mover = ask.moverId === null ? [] : [moverQuota(ask.moverId)]
    const isKnown = await holds(this.#db, this.#isKnown(ask, now))
    return [...mover, pairQuota(ask), ...(isKnown ? [] : [inboxQuota(ask)])]
  }

  #isKnown({ inbox, network }: CodeAsk, now: number): Condition {
    return networkIsKnown(inbox, network, now - networkKnownMs)
  }

  /**
   * `networks`: the one that answered and the one that asked for the code. Each wrong code locks its counters and reads
   * them in the same transaction, so exactly one of several at once sees a count reach its threshold.
   */
  countFailure(inbox: string, networks: readonly string[], now: number): FailureCounting {
    if (!this.#enabled) return { statements: [], attacks: () => [] }
    const asks = failureAsks(inbox, [...new Set(networks)], now)
    const counted = asks.map(({ key }) => countFailure(key, Math.floor(now / minute)))
    return {
      statements: [...counted, failureCounts(asks)],
      attacks: (results) => attacksAmong(asks, results[counted.length]! as FailureCount[], networks[0]!),
    }
  }

  /** Whether somebody is guessing codes of this inbox, from this network or across the service. */
  async underAttack(inbox: string, network: string, now: number): Promise<boolean> {
    if (!this.#enabled) return false
    const asks = failureAsks(inbox, [network], now)
    const { sql, params } = failureCounts(asks)
    const counts = await this.#db.all<FailureCount>(sql, params)
    return asks.some(({ key, on }) =>
      counts.some(
        (count) =>
          count.key === key &&
          (count.short >= attackThresholds[on].short || count.long >= attackThresholds[on].long),
      ),
    )
  }

  /** Refunds a successful sign-in and remembers its network. */
  signedIn(inbox: string, sendNetwork: string, validateNetwork: string, now: number): Statement[] {
    if (!this.#enabled) return []
    const one = (policy: BucketPolicy, network: string) => ({
      key: bucketKey(policy, network),
      intervalMs: intervalMsOf(policy),
    })
    const given = [one(bucketPolicies.send, sendNetwork), one(bucketPolicies.validate, validateNetwork)]
    return [
      // Always in the same order, or two of them could wait for each other.
      ...given.toSorted((a, b) => (a.key < b.key ? -1 : 1)).map((bucket) => giveBackToBucket(bucket, now)),
      rememberNetwork(inbox, validateNetwork, now),
    ]
  }

  /** What the limits know of a network. */
  async networkState(network: string, now: number): Promise<NetworkState> {
    const asks = failureAsks('', [network], now).filter(({ on }) => on === 'network')
    const { sql, params } = failureCounts(asks)
    const [failures] = await this.#db.all<FailureCount>(sql, params)
    const buckets = await Promise.all(
      Object.values(bucketPolicies).map(async (policy) => {
        const fullAt = await bucketFullAt(this.#db, bucketKey(policy, network))
        return { name: policy.name, burst: policy.burst, left: bucketState(policy, fullAt, now).remaining }
      }),
    )
    const { inboxes, seen_at } = await inboxesKnownAt(this.#db, network)
    return {
      wrongCodes: { last10Minutes: failures?.short ?? 0, lastDay: failures?.long ?? 0 },
      buckets,
      knownAddresses: inboxes,
      lastSignInAt: seen_at,
    }
  }

  sweep(now: number): Statement[] {
    return pruneLimits(now, now - day, now - networkKnownMs, now + slowestRefillMs + clockSlackMs)
  }
}

export interface NetworkState {
  readonly wrongCodes: { readonly last10Minutes: number; readonly lastDay: number }
  readonly buckets: readonly { readonly name: string; readonly burst: number; readonly left: number }[]
  /** How many addresses have signed in from there in the last 90 days. */
  readonly knownAddresses: number
  readonly lastSignInAt: number | null
}

/** The statements that count a wrong code, and what their results tell. */
export interface FailureCounting {
  readonly statements: readonly Statement[]
  /** `results` starts with those of the statements. */
  attacks(results: readonly Row[][]): Attack[]
}

interface KindOfFailure extends FailureAsk {
  readonly on: AttackedKind
  readonly network?: string
}

function failureAsks(inbox: string, networks: readonly string[], now: number): KindOfFailure[] {
  const ask = (on: AttackedKind, key: string, network?: string): KindOfFailure => ({
    on,
    key,
    shortSince: Math.floor((now - attackThresholds[on].shortMs) / minute),
    longSince: Math.floor((now - attackThresholds[on].longMs) / minute),
    ...(network !== undefined && { network }),
  })
  return [
    ask('address', inboxFailures(inbox)),
    ...networks.map((network) => ask('network', networkFailures(network), network)),
    ask('service', serviceFailures),
  ]
}

/** Every threshold that this very wrong code has reached. */
function attacksAmong(
  asks: readonly KindOfFailure[],
  counts: readonly FailureCount[],
  answeredFrom: string,
): Attack[] {
  return asks.flatMap(({ key, on, network = answeredFrom }) => {
    const { short, long, shortMs, longMs } = attackThresholds[on]
    const count = counts.find((one) => one.key === key)
    const reached = (wrongCodes: number, ms: number) => ({
      on,
      network,
      wrongCodes,
      withinMinutes: ms / minute,
    })
    if (count?.short === short) return [reached(short, shortMs)]
    return count?.long === long && longMs !== shortMs ? [reached(long, longMs)] : []
  })
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
const moverQuota = (person: string): Quota => ({ key: `mover:${person}`, windows: codesPerMover })
const pairQuota = ({ inbox, network }: CodeAsk): Quota => ({
  key: `${inbox}:${network}`,
  windows: codesPerPair,
})
const inboxQuota = ({ inbox }: CodeAsk): Quota => ({ key: inbox, windows: codesPerInbox })
const inboxFailures = (inbox: string) => `address:${inbox}`
const networkFailures = (network: string) => `network:${network}`
const serviceFailures = 'service'
