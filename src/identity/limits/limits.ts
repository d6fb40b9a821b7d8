/**
 * Limits on codes, validations and registrations, shared by all processes and kept across restarts. All of them are
 * listed in policies.ts.
 *
 * What strangers share (a network, the wider ones around it, the service) is taken before the action, narrowest first.
 * What belongs to one inbox or person is taken in the decision of the action, so an action that fails charges nobody.
 * A successful sign-in is refunded afterwards. Limits kept in memory are in http/limits.ts.
 */

import type { AppError } from '../../errors.ts'
import { type Db, inTurn, readNow, type Statement } from '../../platform/db/db.ts'
import { type Ask, decision, type Step } from '../../platform/db/decision.ts'
import { type BucketPolicy, bucketState, type Caller, tooManyRequests } from '../../platform/lib/bucket.ts'
import type { FailureLog } from '../../platform/lib/failure.ts'
import { freeAt, isEmpty, windowsFreeAt, windowsHaveRoom, withTime } from '../../platform/lib/limit.ts'
import { type CodeAsk, type CodeCounts, codeFreeAt, fullOf, isStranger, takeCode, takeEach } from './codes.ts'
import {
  type AnswerCounts,
  type GuessCounts,
  isCalm,
  type ServiceCounts,
  type ServiceState,
  stateOfService,
} from './guessing.ts'
import {
  type Bucket,
  bucketOf,
  networkBuckets,
  networkPolicies,
  refillTimes,
  type StrangersMail,
  secretQuota,
  serviceBucket,
  servicePolicies,
  strangersQuotas,
} from './policies.ts'
import {
  countRight,
  countWrong,
  fullAtOf,
  giveBack,
  inboxesKnownAt,
  lockQuota,
  locksOfCode,
  lockWrongAnswers,
  pruneLimits,
  readAnswerCounts,
  readBucket,
  readCodeCounts,
  readGuessCounts,
  readServiceCounts,
  rememberNetwork,
  takeFromBuckets,
  timesOf,
  writeCode,
  writeQuota,
  wrongFrom,
} from './store.ts'

export type { CodeAsk } from './codes.ts'
export {
  type Attack,
  attackedKinds,
  attacksBegunBy,
  isQuiet,
  needsLongerCode,
  type ServiceState,
} from './guessing.ts'
export { limitNames, networkPolicies, servicePolicies, strangersMails } from './policies.ts'
export { forgetNetworks } from './store.ts'

type CodeAsks = {
  readonly inboxLock?: Ask<unknown>
  readonly moverLock?: Ask<unknown>
  readonly counts?: Ask<CodeCounts>
  readonly guesses?: Ask<GuessCounts | undefined>
}

type AnswerAsks = {
  readonly service?: Ask<ServiceCounts | undefined>
  readonly wrongLock?: Ask<unknown>
  readonly wrong?: Ask<AnswerCounts | undefined>
  readonly exhausted?: Ask<{ full_at: number } | undefined>
}

/** The inbox of a code, and the networks that asked for it and answered. */
export interface Participants {
  readonly inbox: string
  readonly askedFrom: string
  readonly answeredFrom: string
}

export class Limits {
  readonly #db: Db
  readonly #enabled: boolean
  readonly #log: Pick<FailureLog, 'warn'>

  constructor(db: Db, enabled: boolean, log: Pick<FailureLog, 'warn'>) {
    this.#db = db
    this.#enabled = enabled
    this.#log = log
  }

  /**
   * Takes one from the caller's network and from the wider ones, and from the whole service if it has a bucket; then takes
   * the steps. Reports what is left to the caller. Throws if one of the buckets is empty.
   */
  async admit<T>(
    { policy, service }: { policy: BucketPolicy; service?: BucketPolicy },
    caller: Caller,
    now: number,
    ...steps: Step<T>[]
  ): Promise<T | undefined> {
    const buckets = this.#enabled ? networkBuckets(policy, caller.network) : []
    const all = service && this.#enabled ? [...buckets, serviceBucket(service)] : buckets
    const [own] = all
    if (!own) return inTurn(this.#db, steps)
    let ownFullAt: number | undefined
    const take: Step<undefined> = {
      take: takeFromBuckets(all, now),
      judge(rows) {
        const refused = rows.length < all.length
        ownFullAt = refused ? undefined : Number(rows.find(({ key }) => key === own.key)!.full_at)
        return { result: undefined, refused }
      },
    }
    const result = await this.#db.decide(take, ...steps)
    if (ownFullAt === undefined) throw await this.#refusal(policy, all, caller, now)
    caller.noteLimit(bucketState(policy, ownFullAt, now))
    return result
  }

  async #refusal(
    policy: BucketPolicy,
    buckets: readonly Bucket[],
    caller: Caller,
    now: number,
  ): Promise<AppError> {
    const fullAts = await fullAtOf(this.#db, buckets)
    caller.noteLimit(bucketState(policy, fullAts[0]!, now))
    return tooManyRequests(policy.name, freeAtOf(buckets, fullAts), now, 'Too many requests.')
  }

  /** Takes one from a bucket of the whole service; false if it is empty. */
  async takeOfService(policy: BucketPolicy, now: number): Promise<boolean> {
    if (!this.#enabled) return true
    const [taken] = await this.#db.unsynced([takeFromBuckets([serviceBucket(policy)], now)])
    return taken!.length > 0
  }

  /** Reports what is left without taking anything. */
  async show(policy: BucketPolicy, caller: Caller, now: number): Promise<void> {
    if (!this.#enabled) return
    const [fullAt] = await fullAtOf(this.#db, [bucketOf(policy, caller.network.fingerprint)])
    caller.noteLimit(bucketState(policy, fullAt!, now))
  }

  /**
   * What a code takes before its own decision: one from the bucket of the whole service, if neither device nor network is
   * known. Refused without a lock if a limit of the code shows no room.
   */
  async beforeCode(ask: CodeAsk, now: number): Promise<Step<null>[] | 'refused'> {
    if (!this.#enabled) return []
    const counts = await readNow(this.#db, readCodeCounts(ask, now))
    if (takeCode(ask, counts, now) === null) return 'refused'
    if (!isStranger(ask, counts)) return []
    const take = takeFromBuckets([serviceBucket(servicePolicies.codes)], now)
    return [{ take, judge: ([taken]) => ({ result: null, refused: !taken }) }]
  }

  /** For the decision that sends a code; nothing if there are no limits. */
  codeAsks(ask: CodeAsk, now: number): CodeAsks {
    if (!this.#enabled) return {}
    const guesses = readGuessCounts(ask.inbox, ask.network, now)
    return { ...locksOfCode(ask), counts: readCodeCounts(ask, now), guesses }
  }

  /** For the decision about a right answer, which need not wait for wrong ones while the service is quiet. */
  rightAsks(now: number): AnswerAsks {
    return this.#enabled ? { service: readServiceCounts(now) } : {}
  }

  /** For the decision about any other answer. */
  wrongAsks(challengeId: string, answeredFrom: string, now: number): AnswerAsks {
    if (!this.#enabled) return {}
    return {
      wrongLock: lockWrongAnswers(now),
      wrong: readAnswerCounts(challengeId, answeredFrom, now),
      exhausted: readBucket(exhaustedEvents),
    }
  }

  /** A wrong answer counts once for a network, even if it also asked for the code. */
  wrongAnswer({ inbox, askedFrom, answeredFrom }: Participants, now: number): Statement[] {
    return this.#enabled ? countWrong({ inbox, networks: [askedFrom, answeredFrom] }, now) : []
  }

  /** Takes an event of a used-up code, of which strangers can cause any number; null if there were enough of late. */
  exhausted(bucket: { full_at: number } | undefined, now: number): Statement[] | null {
    if (!this.#enabled) return []
    return isEmpty(exhaustedEvents, bucket?.full_at ?? 0, now)
      ? null
      : [takeFromBuckets([exhaustedEvents], now)]
  }

  async codeRefusal(ask: CodeAsk, now: number): Promise<AppError> {
    const service = serviceBucket(servicePolicies.codes)
    const counts = await readNow(this.#db, readCodeCounts(ask, now))
    const ofService = isStranger(ask, counts) ? freeAtOf([service], await fullAtOf(this.#db, [service])) : 0
    return tooManyRequests(
      'codes',
      Math.max(codeFreeAt(ask, counts), ofService),
      now,
      'Too many codes were requested.',
    )
  }

  /** Refunds a sign-in and remembers its network. The session has started, so a failure here is only logged. */
  async signedIn(way: keyof typeof refunded, { inbox, askedFrom, answeredFrom }: Participants, now: number) {
    if (!this.#enabled) return
    const { asking, answering } = refunded[way]
    try {
      await this.#db.unsynced([
        giveBack([bucketOf(asking, askedFrom), bucketOf(answering, answeredFrom)], now),
        rememberNetwork(inbox, answeredFrom, now),
        // Last, because all sign-ins share these rows. Only codes can be guessed.
        ...(way === 'code' ? countRight(now) : []),
      ])
    } catch (error) {
      this.#log.warn({ err: error }, 'could not refund the limits after a sign-in')
    }
  }

  /** Refuses a network that gave too many wrong secrets for this client. */
  async clientRefusal(clientId: string, network: string, now: number): Promise<AppError | null> {
    if (!this.#enabled) return null
    const quota = secretQuota(clientId, network)
    const times = await timesOf(this.#db, quota)
    if (windowsHaveRoom(quota.windows, times, now)) return null
    return tooManyRequests('client', windowsFreeAt(quota.windows, times), now, 'Too many wrong secrets.')
  }

  async countWrongSecret(clientId: string, network: string, now: number): Promise<void> {
    if (!this.#enabled || !(await this.takeOfService(servicePolicies.wrongSecrets, now))) return
    const { key, windows } = secretQuota(clientId, network)
    await this.#db.decide(
      decision({ quota: lockQuota(key) }, ({ quota }) => ({
        writes: windowsHaveRoom(windows, quota.times, now)
          ? [writeQuota({ key, times: withTime(windows, quota.times, now), isNew: false }, now)]
          : [],
        result: null,
      })),
    )
  }

  /** What the limits know of a network. */
  async networkState(network: string, now: number): Promise<NetworkState> {
    const [last10Minutes, lastDay] = await wrongFrom(this.#db, network, now)
    const policies = Object.values(networkPolicies)
    const fullAts = await fullAtOf(
      this.#db,
      policies.map((policy) => bucketOf(policy, network)),
    )
    const { inboxes, seen_at } = await inboxesKnownAt(this.#db, network)
    return {
      wrongCodes: { last10Minutes, lastDay },
      buckets: policies.map((policy, i) => ({
        name: policy.name,
        burst: policy.burst,
        left: bucketState(policy, fullAts[i]!, now).remaining,
      })),
      knownAddresses: inboxes,
      lastSignInAt: seen_at,
    }
  }

  sweep(now: number): Statement[] {
    return pruneLimits(now, refillTimes)
  }
}

type MailCounts = { readonly [Name in keyof ReturnType<typeof strangersQuotas>]?: { readonly times: string } }

export function strangersMailLimits(mail: StrangersMail) {
  const quotas = strangersQuotas(mail)
  const { inbox, service, domain } = quotas
  return {
    locks: {
      ...(inbox && { inbox: lockQuota(inbox.key) }),
      service: lockQuota(service.key),
      domain: lockQuota(domain.key),
    },
    full: (counts: MailCounts, now: number) => fullOf(quotas, counts, now),
    take: (counts: MailCounts, now: number) =>
      takeEach(quotas, counts, now).map((one) => writeQuota(one, now)),
  }
}

/** The writes that take a code, or null if a limit has no room. Without counts there are no limits. */
export function codeTaken(ask: CodeAsk, counts: CodeCounts | undefined, now: number): Statement[] | null {
  if (!counts) return []
  const taken = takeCode(ask, counts, now)
  return taken && writeCode(ask, taken, now)
}

export const isCalmWith = (service: ServiceCounts | undefined) => !service || isCalm(service)

/** The buckets that a sign-in gives back to: of the network that asked, and of the one that answered. */
const refunded = {
  code: { asking: networkPolicies.send, answering: networkPolicies.validate },
  passkey: { asking: networkPolicies.passkeyOptions, answering: networkPolicies.passkeyValidate },
  school: { asking: networkPolicies.schoolStart, answering: networkPolicies.schoolAnswer },
} as const

const exhaustedEvents = serviceBucket(servicePolicies.exhausted)

/** When all of the buckets hold one again. */
const freeAtOf = (buckets: readonly Bucket[], fullAts: readonly number[]) =>
  Math.max(0, ...buckets.map((bucket, i) => freeAt(bucket, fullAts[i]!)))

export interface NetworkState {
  readonly wrongCodes: { readonly last10Minutes: number; readonly lastDay: number }
  readonly buckets: readonly { readonly name: string; readonly burst: number; readonly left: number }[]
  /** How many addresses have signed in from there in the last 90 days. */
  readonly knownAddresses: number
  readonly lastSignInAt: number | null
}

export async function serviceState(db: Pick<Db, 'all'>, now: number): Promise<ServiceState> {
  return stateOfService((await readNow(db, readServiceCounts(now)))!)
}
