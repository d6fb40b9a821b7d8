/**
 * Limits on codes, validations and registrations, shared by all processes and kept across restarts. All of them are
 * listed in policies.ts; their arithmetic is in lib/limit.ts.
 *
 * What strangers share (a network, the wider ones around it, the service) is taken before the action, narrowest first.
 * What belongs to one inbox or person is taken in the decision of the action, so an action that fails charges nobody.
 * A successful sign-in is refunded afterwards. Limits kept in memory are in http/limits.ts.
 */
import type { AppError } from '../../errors.ts'
import { type Db, inTurn, readNow, type Statement } from '../../platform/db/db.ts'
import { type Asks, decision, type Step } from '../../platform/db/decision.ts'
import * as rows from '../../platform/db/limits.ts'
import { type BucketPolicy, bucketState, type Caller, tooManyRequests } from '../../platform/lib/bucket.ts'
import type { FailureLog } from '../../platform/lib/failure.ts'
import { allFreeAt, type Counts, fullAtIn, hasRoom, left } from '../../platform/lib/limit.ts'
import { isCalm, type Participants, type ServiceCounts, stateOfService } from './guessing.ts'
import * as policies from './policies.ts'
import { type CodeAsk, networkPolicies, servicePolicies } from './policies.ts'
import * as store from './store.ts'

export { type Attack, attackedKinds, attacksBegunBy, isQuiet, needsLongerCode } from './guessing.ts'
export { type CodeAsk, limitNames, networkPolicies, servicePolicies, strangersMails } from './policies.ts'
export { forgetNetworks } from './store.ts'

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
    if (!this.#enabled) return inTurn(this.#db, steps)
    const networks = policies.networkBuckets(policy, caller.network)
    const all = service ? [...networks, policies.serviceBucket(service)] : networks
    let taken: Counts | null = null
    const take: Step<undefined> = {
      take: rows.takeFromBuckets(all, now),
      judge(counted) {
        const refused = counted.length < all.length
        taken = refused ? null : rows.countsIn(counted)
        return { result: undefined, refused }
      },
    }
    const result = await this.#db.decide(take, ...steps)
    const counts = taken ?? (await readNow(this.#db, rows.readCounts(all)))
    caller.noteLimit(bucketState(policy, fullAtIn(counts, networks[0]!), now))
    if (taken === null) throw tooManyRequests(policy.name, allFreeAt(all, counts) - now, 'Too many requests.')
    return result
  }

  /** Takes one from a bucket of the whole service; false if it is empty. */
  async takeOfService(policy: BucketPolicy, now: number): Promise<boolean> {
    if (!this.#enabled) return true
    const [taken] = await this.#db.unsynced([rows.takeFromBuckets([policies.serviceBucket(policy)], now)])
    return taken!.length > 0
  }

  /** Reports what is left without taking anything. */
  async show(policy: BucketPolicy, caller: Caller, now: number): Promise<void> {
    if (!this.#enabled) return
    const own = policies.bucketOf(policy, caller.network.fingerprint)
    const counts = await readNow(this.#db, rows.readCounts([own]))
    caller.noteLimit(bucketState(policy, fullAtIn(counts, own), now))
  }

  /**
   * What a code takes before its own decision: one from the bucket of the whole service, if neither device nor network is
   * known. Refused without a lock if a limit of the code shows no room.
   */
  async beforeCode(ask: CodeAsk, now: number): Promise<Step<null>[] | 'refused'> {
    if (!this.#enabled) return []
    const state = await readNow(this.#db, store.readCodeCounts(ask, now))
    if (codeTaken(ask, state, now) === null) return 'refused'
    const { shared } = policies.limitsOfCode(ask, state.isKnown)
    if (shared.length === 0) return []
    return [
      { take: rows.takeFromBuckets(shared, now), judge: ([taken]) => ({ result: null, refused: !taken }) },
    ]
  }

  /** For the decision that sends a code. */
  codeAsks(ask: CodeAsk, now: number) {
    const guesses = store.readGuessCounts(ask.inbox, ask.network, now)
    return this.#asks({ ...store.locksOfCode(ask), state: store.readCodeCounts(ask, now), guesses })
  }

  async codeRefusal(ask: CodeAsk, now: number): Promise<AppError> {
    const { counts, isKnown } = await readNow(this.#db, store.readCodeCounts(ask, now))
    const { own, shared } = policies.limitsOfCode(ask, isKnown)
    return tooManyRequests(
      'codes',
      allFreeAt([...own, ...shared], counts) - now,
      'Too many codes were requested.',
    )
  }

  /**
   * For the decision about an answer, which `waits` until the wrong ones before it are counted. A right one need not, while
   * the service is quiet.
   */
  answerAsks(answer: { challengeId: string; answeredFrom: string; waits: boolean }, now: number) {
    const { challengeId, answeredFrom, waits } = answer
    return this.#asks({
      service: waits ? undefined : store.readServiceCounts(now),
      wrongLock: waits ? store.lockWrongAnswers(now) : undefined,
      wrong: waits ? store.readAnswerCounts(challengeId, answeredFrom, now) : undefined,
      exhausted: waits ? rows.readCounts([exhaustedEvents]) : undefined,
    })
  }

  /** Nothing is asked if there are no limits. */
  #asks<A extends Asks>(asks: A): Partial<A> {
    return this.#enabled ? asks : {}
  }

  wrongAnswer(participants: Participants, now: number): Statement[] {
    return this.#enabled ? store.countWrong(participants, now) : []
  }

  /** Takes an event of a used-up code, of which strangers can cause any number; null if there were enough of late. */
  exhausted(counts: Counts | undefined, now: number): Statement[] | null {
    if (!counts) return []
    return hasRoom(exhaustedEvents, counts, now) ? [rows.takeFromBuckets([exhaustedEvents], now)] : null
  }

  /** Refunds a sign-in and remembers its network. The session has started, so a failure here is only logged. */
  async signedIn(way: keyof typeof refunded, { inbox, askedFrom, answeredFrom }: Participants, now: number) {
    if (!this.#enabled) return
    const { asking, answering } = refunded[way]
    try {
      await this.#db.unsynced([
        ...rows.giveBack(
          [policies.bucketOf(asking, askedFrom), policies.bucketOf(answering, answeredFrom)],
          now,
        ),
        store.rememberNetwork(inbox, answeredFrom, now),
        // Last, because all sign-ins share these rows. Only codes can be guessed.
        ...(way === 'code' ? store.countRight(now) : []),
      ])
    } catch (error) {
      this.#log.warn({ err: error }, 'could not refund the limits after a sign-in')
    }
  }

  /** Refuses a network that gave too many wrong secrets for this client. */
  async clientRefusal(clientId: string, network: string, now: number): Promise<AppError | null> {
    if (!this.#enabled) return null
    const limits = [policies.secretQuota(clientId, network)]
    const freeAt = allFreeAt(limits, await readNow(this.#db, rows.readCounts(limits)))
    return freeAt <= now ? null : tooManyRequests('client', freeAt - now, 'Too many wrong secrets.')
  }

  async countWrongSecret(clientId: string, network: string, now: number): Promise<void> {
    if (!(await this.takeOfService(servicePolicies.wrongSecrets, now)) || !this.#enabled) return
    const quota = policies.secretQuota(clientId, network)
    await this.#db.decide(
      decision({ counts: rows.lockLimit(quota) }, ({ counts }) => ({
        writes: hasRoom(quota, counts, now) ? [rows.takeOne(quota, counts, now)] : [],
        result: null,
      })),
    )
  }

  /** What the limits know of a network. */
  async networkState(network: string, now: number) {
    const bucketOfNetwork = async (policy: BucketPolicy) => {
      const bucket = policies.bucketOf(policy, network)
      const counts = await readNow(this.#db, rows.readCounts([bucket]))
      return { name: policy.name, burst: policy.burst, left: left(bucket, fullAtIn(counts, bucket), now) }
    }
    const { wrong, known } = await store.readNetwork(this.#db, network, now)
    return {
      wrongCodes: { last10Minutes: wrong.asked_ten_minutes, lastDay: wrong.asked_day },
      buckets: await Promise.all(Object.values(networkPolicies).map(bucketOfNetwork)),
      /** How many addresses have signed in from there in the last 90 days. */
      knownAddresses: known.inboxes,
      lastSignInAt: known.seen_at,
    }
  }

  sweep(now: number): Statement[] {
    return store.pruneLimits(now)
  }
}

/** The writes that take a code, or null if a limit has no room. Without counts there are no limits. */
export function codeTaken(
  ask: CodeAsk,
  state: store.CodeCounts | undefined,
  now: number,
): Statement[] | null {
  if (!state) return []
  const { counts, isKnown } = state
  const { own } = policies.limitsOfCode(ask, isKnown)
  return allFreeAt(own, counts) > now ? null : own.map((limit) => rows.takeOne(limit, counts, now))
}

export function strangersMailLimits(mail: policies.StrangersMail) {
  const quotas = policies.strangersQuotas(mail)
  type CountsOfEach = { readonly [Name in policies.StrangersQuota['name']]?: Counts }
  return {
    locks: Object.fromEntries(quotas.map((quota) => [quota.name, rows.lockLimit(quota)])),
    full: (counts: CountsOfEach, now: number) =>
      quotas.find((quota) => !hasRoom(quota, counts[quota.name]!, now))?.name ?? null,
    take: (counts: CountsOfEach, now: number) =>
      quotas.map((quota) => rows.takeOne(quota, counts[quota.name]!, now)),
  }
}

export const isCalmWith = (service: ServiceCounts | undefined) => !service || isCalm(service)

/** The buckets that a sign-in gives back to: of the network that asked, and of the one that answered. */
const refunded = {
  code: { asking: networkPolicies.send, answering: networkPolicies.validate },
  passkey: { asking: networkPolicies.passkeyOptions, answering: networkPolicies.passkeyValidate },
  school: { asking: networkPolicies.schoolStart, answering: networkPolicies.schoolAnswer },
} as const

const exhaustedEvents = policies.serviceBucket(servicePolicies.exhausted)

export type ServiceState = ReturnType<typeof stateOfService>

export async function serviceState(db: Pick<Db, 'all'>, now: number): Promise<ServiceState> {
  return stateOfService((await readNow(db, store.readServiceCounts(now)))!)
}
