/**
 * Limits on codes, validations and registrations, shared by all processes and kept across restarts. Limits are taken
 * in the transaction of the action, all buckets of a kind in one statement, and each kind only `when` the one before
 * was granted, so a refusal uses no other limit. A successful sign-in is refunded afterwards, in its own transaction.
 *
 * Addresses and networks appear as fingerprints. Limits kept in memory are in http/limits.ts.
 */

import type { AppError } from '../../errors.ts'
import {
  always,
  both,
  type Condition,
  type Db,
  either,
  isTrue,
  never,
  not,
  type Row,
  type Statement,
} from '../../platform/db/db.ts'
import {
  type BucketPolicy,
  bucketState,
  type Caller,
  type CallerNetwork,
  rateOf,
  tooManyRequests,
} from '../../platform/lib/bucket.ts'
import { clockSlackMs, day, hour, minute } from '../../platform/lib/clock.ts'
import { freeAt, refillMs } from '../../platform/lib/gcra.ts'
import { newId } from '../../platform/lib/random.ts'
import {
  calm,
  countRight,
  countWrong,
  type FailureCounting,
  type Guess,
  underAttack,
  wrongFrom,
} from './guessing.ts'
import {
  type BucketRow,
  bucketFullAt,
  giveBack,
  inboxesKnownAt,
  lockQuota,
  networkIsKnown,
  pruneLimits,
  type Quota,
  quotaFreeAt,
  quotaHasRoom,
  rememberNetwork,
  takeFromBuckets,
  takeFromQuota,
  takenFrom,
  takenFromBuckets,
  type Window,
} from './store.ts'

export {
  type Attack,
  attackedKinds,
  type FailureCounting,
  type ServiceState,
  serviceState,
} from './guessing.ts'
export { forgetNetworks } from './store.ts'

export const bucketPolicies = {
  send: { name: 'send-otp', burst: 600, refillPerMinute: 120 },
  validate: { name: 'validate-otp', burst: 1200, refillPerMinute: 240 },
  register: { name: 'register', burst: 100, refillPerMinute: 20 },
  passkeyOptions: { name: 'passkey-options', burst: 600, refillPerMinute: 120 },
  passkeyValidate: { name: 'passkey-validate', burst: 1200, refillPerMinute: 240 },
  schoolStart: { name: 'school-start', burst: 600, refillPerMinute: 120 },
  schoolAnswer: { name: 'school-answer', burst: 1200, refillPerMinute: 240 },
} as const satisfies Record<string, BucketPolicy>

export const serviceBuckets = {
  register: { name: 'register', burst: 5_000, refillPerMinute: 1_000 },
  /** Codes requested from devices and networks that are unknown for the address. */
  codes: { name: 'codes', burst: 20_000, refillPerMinute: 4_000 },
  /** Answers of providers, each of which costs requests to one. */
  school: { name: 'school', burst: 20_000, refillPerMinute: 4_000 },
  /** Events of refused sign-ins in which no provider has named anybody: 2,440 a day. */
  schoolRefusals: { name: 'school-refusals', burst: 1_000, refillPerMinute: 1 },
  /** Events of codes with five wrong answers: 12,200 a day. */
  exhausted: { name: 'exhausted', burst: 5_000, refillPerMinute: 5 },
  /** Wrong secrets of applications that are counted: 149,000 a day. Nobody guesses 256 bits beyond it. */
  wrongSecrets: { name: 'wrong-secrets', burst: 5_000, refillPerMinute: 100 },
} as const satisfies Record<string, BucketPolicy>

/**
 * Codes for one inbox from all networks: 60 a day. A stranger who uses them up delays the owner by minutes, not by a
 * day.
 */
const inboxPolicy = { name: 'inbox', burst: 20, refillPerMinute: 1 / 24 } as const satisfies BucketPolicy

const refillTimes = new Map(
  [...Object.values(bucketPolicies), ...Object.values(serviceBuckets), inboxPolicy].map((policy) => [
    bucketKey(policy, ''),
    refillMs(rateOf(policy)),
  ]),
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
/** Codes that one person can request for new addresses, so that nobody can mail many strangers. */
const codesPerMover: readonly Window[] = [
  { max: 10, windowMs: 15 * minute },
  { max: 20, windowMs: day },
]
/** Code mails to an unconfirmed inbox, so that nobody can mail strangers by registering them. */
const firstCodesPerInbox: readonly Window[] = [{ max: 3, windowMs: day }]
/**
 * Mails in an hour to addresses without a confirmed account: over all domains, to one, and to one that the school uses.
 * Mails without a code use up only half of it, so that strangers who request them cannot prevent first sign-ins.
 */
export const strangersMails = { service: 2_000, domain: 200, knownDomain: 2_000 } as const
const noticesShare = 1 / 2
/** Wrong secrets of one client, from one network. */
const wrongSecrets: readonly Window[] = [{ max: 20, windowMs: 10 * minute }]
const networkKnownMs = 90 * day
/** With this many open challenges, an inbox gets longer codes for new ones. */
const openChallengesMax = 3

/** Every limit that can refuse a request. */
export const limitNames = [
  'send-otp',
  'validate-otp',
  'register',
  'passkey-options',
  'passkey-validate',
  'client',
  'service',
  'school-start',
  'school-answer',
  'codes',
  'resends',
  'network',
  'session',
] as const

/** The statements that take from a limit, and the condition that is true if they succeeded. */
export interface Take {
  readonly statements: readonly Statement[]
  readonly granted: Condition
}

/** Takes one from each bucket, the caller's own first. */
export interface BucketTake extends Take {
  readonly policy: BucketPolicy
  readonly buckets: readonly BucketRow[]
}

/** A code counts against the device's own quota, or else against the inbox and against the inbox–network pair. */
export interface CodeAsk {
  readonly inbox: string
  readonly network: string
  readonly device: string | null
  /** The signed-in person who requests a code for a new address. */
  readonly moverId: string | null
}

export class Limits {
  readonly #db: Db
  readonly #enabled: boolean

  constructor(db: Db, enabled: boolean) {
    this.#db = db
    this.#enabled = enabled
  }

  /**
   * When a code has eight digits: while somebody guesses codes of this inbox, from this network or across the service, or
   * if the inbox has `openMax` open challenges; null means no limit.
   */
  longerCodes({ inbox, network }: CodeAsk, now: number): { underAttack: Condition; openMax: number | null } {
    if (!this.#enabled) return { underAttack: never, openMax: null }
    return { underAttack: underAttack(inbox, network, now), openMax: openChallengesMax }
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
    const statements = [takeFromBuckets(buckets, mark, now, always)]
    return { policy, buckets, statements, granted: takenFromBuckets(buckets, mark) }
  }

  /**
   * Takes one code, if `after` is true. The inbox is charged only while its pair with the network has room, so a network
   * that used up its own share cannot use up the inbox’s. A network where the inbox has signed in before charges
   * neither the inbox nor the whole service.
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
    const buckets = [inboxBucket(ask), allCodes]
    const isKnown = this.#isKnown(ask, now)
    const mayTakeBuckets = both(both(after, quotaHasRoom(pair, now)), not(isKnown))
    const mayTakePair = either(takenFromBuckets(buckets, mark), both(after, isKnown))
    return {
      statements: [
        takeFromBuckets(buckets, mark, now, mayTakeBuckets),
        takeFromQuota({ ...pair, mark, now, when: mayTakePair }),
      ],
      granted: takenFrom('quota', pair.key, mark),
    }
  }

  /** Reports what is left in the caller's own bucket, or throws the refusal. `results` starts with those of the take. */
  async noteBucket(
    { policy, buckets }: BucketTake,
    caller: Caller,
    results: readonly Row[][],
    now: number,
  ): Promise<void> {
    const [own] = buckets
    if (!own) return
    const taken = results[0]!
    if (taken.length === buckets.length) {
      const { full_at } = taken.find(({ key }) => key === own.key)!
      return caller.noteLimit(bucketState(policy, Number(full_at), now))
    }
    const fullAts = await Promise.all(buckets.map((bucket) => bucketFullAt(this.#db, bucket)))
    caller.noteLimit(bucketState(policy, fullAts[0]!, now))
    throw tooManyRequests(policy.name, latestFreeAt(buckets, fullAts), now, 'Too many requests.')
  }

  /** Takes one from a bucket of the whole service, if `when` is true. */
  takeServiceBucket(policy: BucketPolicy, now: number, when: Condition): Take {
    if (!this.#enabled) return { statements: [], granted: always }
    const [bucket, mark] = [bucketOf(policy, 'service'), newId()]
    return {
      statements: [takeFromBuckets([bucket], mark, now, when)],
      granted: takenFromBuckets([bucket], mark),
    }
  }

  /** The same at once; false if the bucket is empty. */
  async takeOfService(policy: BucketPolicy, now: number): Promise<boolean> {
    const { statements } = this.takeServiceBucket(policy, now, always)
    const [taken] = await this.#db.tx(statements)
    return taken === undefined || taken.length > 0
  }

  /** Reports what is left without taking anything. */
  async showBucket(policy: BucketPolicy, caller: Caller, now: number): Promise<void> {
    if (!this.#enabled) return
    const fullAt = await bucketFullAt(this.#db, bucketOf(policy, caller.network.fingerprint))
    caller.noteLimit(bucketState(policy, fullAt, now))
  }

  async codeRefusal(ask: CodeAsk, now: number): Promise<AppError> {
    const { quotas, buckets } = await this.#limitsOf(ask, now)
    const fullAts = await Promise.all(buckets.map((bucket) => bucketFullAt(this.#db, bucket)))
    const at = Math.max(await quotaFreeAt(this.#db, quotas), latestFreeAt(buckets, fullAts))
    return tooManyRequests('codes', at, now, 'Too many codes were requested.')
  }

  async #limitsOf(ask: CodeAsk, now: number): Promise<{ quotas: Quota[]; buckets: BucketRow[] }> {
    if (ask.device !== null) return { quotas: [deviceQuota(ask.device), devicesQuota(ask)], buckets: [] }
    const mover = ask.moverId === null ? [] : [moverQuota(ask.moverId)]
    const isKnown = await isTrue(this.#db, this.#isKnown(ask, now))
    return { quotas: [...mover, pairQuota(ask)], buckets: isKnown ? [] : [inboxBucket(ask), allCodes] }
  }

  #isKnown({ inbox, network }: CodeAsk, now: number): Condition {
    return networkIsKnown(inbox, network, now - networkKnownMs)
  }

  /** True while open codes of six digits may be answered from anywhere. */
  calm(now: number): Condition {
    return this.#enabled ? calm(now) : always
  }

  countWrong(guess: Guess, now: number, when: Condition): FailureCounting {
    return this.#enabled ? countWrong(guess, now, when) : { statements: [], attacks: () => [] }
  }

  /** Refuses a network that gave too many wrong secrets for this client. */
  async clientRefusal(clientId: string, network: string, now: number): Promise<AppError | null> {
    if (!this.#enabled) return null
    const quota = secretQuota(clientId, network)
    if (await isTrue(this.#db, quotaHasRoom(quota, now))) return null
    return tooManyRequests('client', await quotaFreeAt(this.#db, [quota]), now, 'Too many wrong secrets.')
  }

  async countWrongSecret(clientId: string, network: string, now: number): Promise<void> {
    if (!this.#enabled || !(await this.takeOfService(serviceBuckets.wrongSecrets, now))) return
    await this.#db.tx([
      takeFromQuota({ ...secretQuota(clientId, network), mark: newId(), now, when: always }),
    ])
  }

  /** Refunds a successful sign-in and remembers its network. */
  signedIn(inbox: string, sendNetwork: string, validateNetwork: string, now: number): Statement[] {
    if (!this.#enabled) return []
    const { send, validate } = bucketPolicies
    return [
      giveBack([bucketOf(send, sendNetwork), bucketOf(validate, validateNetwork)], now),
      rememberNetwork(inbox, validateNetwork, now),
      // Last, because all sign-ins share these rows.
      countRight(now),
    ]
  }

  /** The same for a sign-in with a passkey. Nothing is stored of who asked for its options. */
  signedInByPasskey(inbox: string, network: string, now: number): Statement[] {
    const { passkeyOptions, passkeyValidate } = bucketPolicies
    return this.#refund(passkeyOptions, passkeyValidate, inbox, network, now)
  }

  /** The same for a sign-in with a school account. */
  signedInBySchool(inbox: string, network: string, now: number): Statement[] {
    const { schoolStart, schoolAnswer } = bucketPolicies
    return this.#refund(schoolStart, schoolAnswer, inbox, network, now)
  }

  #refund(
    asking: BucketPolicy,
    answering: BucketPolicy,
    inbox: string,
    network: string,
    now: number,
  ): Statement[] {
    if (!this.#enabled) return []
    return [
      giveBack([bucketOf(asking, network), bucketOf(answering, network)], now),
      rememberNetwork(inbox, network, now),
    ]
  }

  /** What the limits know of a network. */
  async networkState(network: string, now: number): Promise<NetworkState> {
    const [last10Minutes, lastDay] = await wrongFrom(this.#db, network, now)
    const buckets = await Promise.all(
      Object.values(bucketPolicies).map(async (policy) => {
        const fullAt = await bucketFullAt(this.#db, bucketOf(policy, network))
        return { name: policy.name, burst: policy.burst, left: bucketState(policy, fullAt, now).remaining }
      }),
    )
    const { inboxes, seen_at } = await inboxesKnownAt(this.#db, network)
    return {
      wrongCodes: { last10Minutes, lastDay },
      buckets,
      knownAddresses: inboxes,
      lastSignInAt: seen_at,
    }
  }

  sweep(now: number): Statement[] {
    return pruneLimits(now, {
      bucketsFullBy: new Map(Array.from(refillTimes, ([end, ms]) => [end, now + ms + clockSlackMs])),
      takenSince: now - day,
      knownSince: now - networkKnownMs,
    })
  }
}

/**
 * The limits of a mail to an address without a confirmed account. Its inbox and domain are fingerprints; `isKnown` if the
 * school uses the domain.
 */
export function strangersMailLimits(mail: {
  readonly inbox: string
  readonly domain: string
  readonly isKnown: boolean
  readonly hasCode: boolean
}) {
  const { service, domain, knownDomain } = strangersMails
  const perHour = (key: string, max: number): Quota => ({
    key: `mails:${key}`,
    windows: [{ max: mail.hasCode ? max : max * noticesShare, windowMs: hour }],
  })
  const budgets = {
    service: perHour('service', service),
    domain: perHour(mail.domain, mail.isKnown ? knownDomain : domain),
  }
  const inbox: Quota = { key: `first:${mail.inbox}`, windows: firstCodesPerInbox }
  const quotas: { inbox?: Quota; service: Quota; domain: Quota } = mail.hasCode
    ? { inbox, ...budgets }
    : budgets
  const all = Object.values(quotas)
  return {
    /** The one that has no room; that of the inbox first, because waiting does not help there. */
    async full(db: Db, now: number): Promise<keyof typeof quotas | null> {
      for (const [name, quota] of Object.entries(quotas))
        if (!(await isTrue(db, quotaHasRoom(quota, now)))) return name as keyof typeof quotas
      return null
    },
    /** Takes one from each, or none. All wait for the lock on the service's row, so that nobody takes too many. */
    take(mark: string, now: number, when: Condition): Take {
      const haveRoom = all.map((quota) => quotaHasRoom(quota, now)).reduce(both)
      const isFree = both(when, haveRoom)
      const after = (i: number) => (i === 0 ? isFree : takenFrom('quota', all[i - 1]!.key, mark))
      return {
        statements: [
          lockQuota(budgets.service, isFree),
          ...all.map((quota, i) => takeFromQuota({ ...quota, mark, now, when: after(i) })),
        ],
        granted: takenFrom('quota', all.at(-1)!.key, mark),
      }
    },
  }
}

export interface NetworkState {
  readonly wrongCodes: { readonly last10Minutes: number; readonly lastDay: number }
  readonly buckets: readonly { readonly name: string; readonly burst: number; readonly left: number }[]
  /** How many addresses have signed in from there in the last 90 days. */
  readonly knownAddresses: number
  readonly lastSignInAt: number | null
}

function bucketsOf(
  policy: BucketPolicy,
  network: CallerNetwork,
  service: BucketPolicy | undefined,
): BucketRow[] {
  const shares = [{ fingerprint: network.fingerprint, shares: 1 }, ...network.wider]
  const buckets = shares.map(({ fingerprint, shares: times }) => bucketOf(policy, fingerprint, times))
  return service ? [...buckets, bucketOf(service, 'service')] : buckets
}

// The owner comes first, so that the buckets of one request are neighbours in the index.
function bucketKey(policy: BucketPolicy, owner: string): string {
  return `${owner}:${policy.name}`
}
const bucketOf = (policy: BucketPolicy, owner: string, shares = 1): BucketRow => ({
  key: bucketKey(policy, owner),
  burst: policy.burst * shares,
  intervalMs: Math.round(rateOf(policy).intervalMs / shares),
})
/** When all of the buckets hold one again. */
const latestFreeAt = (buckets: readonly BucketRow[], fullAts: readonly number[]) =>
  Math.max(0, ...buckets.map((bucket, i) => freeAt(bucket, fullAts[i]!)))
const inboxBucket = ({ inbox }: CodeAsk) => bucketOf(inboxPolicy, inbox)
const allCodes = bucketOf(serviceBuckets.codes, 'service')
const deviceQuota = (device: string): Quota => ({ key: `device:${device}`, windows: codesPerDevice })
const devicesQuota = ({ inbox }: CodeAsk): Quota => ({ key: `devices:${inbox}`, windows: codesPerDevices })
const moverQuota = (person: string): Quota => ({ key: `mover:${person}`, windows: codesPerMover })
const secretQuota = (clientId: string, network: string): Quota => ({
  key: `client:${clientId}:${network}`,
  windows: wrongSecrets,
})
const pairQuota = ({ inbox, network }: CodeAsk): Quota => ({
  key: `${inbox}:${network}`,
  windows: codesPerPair,
})
