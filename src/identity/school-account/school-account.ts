/**
 * Signing in with the school's own account. The roster still decides who may sign in: a provider proves who somebody is,
 * never that they study here.
 *
 * `start` sends the browser to the provider with everything sealed in a cookie (`in-progress.ts`). `answer` exchanges the
 * provider's answer for claims (`openid.ts`), decides what they are worth (`claims.ts`), and finds the person: by a link
 * made earlier, by the student number, or by an address that counts (`rules.ts`). Anything doubtful is refused, with one
 * reply for all reasons. The session, the link and their events are one decision.
 */
import { AppError, invalidField } from '../../errors.ts'
import type { Context } from '../../platform/context.ts'
import { type Db, readNow, type Statement } from '../../platform/db/db.ts'
import { around, type Decision, decision, type Outcome } from '../../platform/db/decision.ts'
import type { Caller } from '../../platform/lib/bucket.ts'
import { type By, bySelf, bySystem } from '../../platform/lib/by.ts'
import { timestamp, timestampOrNull } from '../../platform/lib/clock.ts'
import type { FailureLog } from '../../platform/lib/failure.ts'
import { isId, newId, newIdAt } from '../../platform/lib/random.ts'
import { type OpenMethods, type SchoolRole, schoolRoles } from '../../roles.ts'
import { type Limits, networkPolicies, servicePolicies } from '../limits/limits.ts'
import { type Person, personById, personLock, type Roles } from '../people/people.ts'
import {
  type IssuedTokens,
  isAlive,
  type LiveSession,
  lockSession,
  type Sessions,
} from '../session/session.ts'
import { type Asserted, type Claimed, claimedIn, neededClaims, Refused, readClaims } from './claims.ts'
import { type InProgress, newInProgress, readInProgress, sealInProgress } from './in-progress.ts'
import { type Answered, isUnreachable, type OpenId } from './openid.ts'
import type { Provider, Providers } from './providers.ts'
import { Refusals, RefusedPerson } from './refusals.ts'
import { parametersFor, returnFrom } from './request.ts'
import { connectionRefusal, entryOf, type Match, matchOf, type Refusal } from './rules.ts'
import * as store from './store.ts'

export { guardedFetch } from './guarded-fetch.ts'
export { OpenId } from './openid.ts'
export { Providers, redirectUriOf, whyUnmatched } from './providers.ts'
export { adminHasLink, eraseLinks } from './store.ts'

interface Deps extends Pick<Context, 'db' | 'clock' | 'secrets'> {
  readonly limits: Limits
  readonly sessions: Sessions
  readonly roles: Roles
  readonly providers: Providers
  readonly openId: OpenId
  readonly methods: OpenMethods
  readonly log: Pick<FailureLog, 'warn'>
  /** How long the claims of refused sign-ins are kept. */
  readonly keepRefusalsMs: number
}

/** The browser goes to `location` and keeps `sealed` until it comes back. */
interface Started {
  readonly location: string
  readonly sealed: string
}

interface StartRequest {
  readonly providerId: string
  readonly returnTo: string | undefined
  readonly shared: boolean
  /** Whether the provider should offer another account than the last one. */
  readonly otherAccount: boolean
}

/** After a sign-in or a new link, the browser goes on to `returnTo`; a refusal has its own page. */
export type Answer =
  | {
      readonly kind: 'signed-in'
      readonly role: SchoolRole
      readonly returnTo: string
      readonly shared: boolean
      readonly tokens: IssuedTokens
    }
  | { readonly kind: 'linked'; readonly role: SchoolRole; readonly returnTo: string }
  | { readonly kind: 'refused'; readonly from: InProgress; readonly reference: string | null }
  /** It did not begin in this browser, or too long ago. */
  | { readonly kind: 'not-begun' }

export class SchoolAccounts {
  readonly #deps: Deps
  readonly refusals: Refusals

  constructor(deps: Deps) {
    this.#deps = deps
    const { db, clock, limits, keepRefusalsMs: keepMs } = deps
    this.refusals = new Refusals({ db, clock, limits, keepMs })
  }

  /** Begins a sign-in. Nothing is stored but the limit. */
  async start(role: SchoolRole, request: StartRequest, caller: Caller): Promise<Started> {
    return this.#begin(role, request, { linkFor: null, caller })
  }

  /** Begins to connect an account to that of a signed-in person; the only way for staff. */
  async startLink(session: LiveSession, request: StartRequest): Promise<Started> {
    const { db } = this.#deps
    const linkFor = { sessionId: session.session_id, personId: session.id }
    const role = schoolRoles.find((one) => one === session.role)
    if (!role) throw new AppError('forbidden', 'Veterinarians sign in with a code or a passkey.')
    if (await readNow(db, store.readOwnLink(session.id, request.providerId)))
      throw new AppError('conflict', 'An account of this provider is already connected; disconnect it first.')
    return this.#begin(role, request, { linkFor, caller: null })
  }

  /** Counts for the network of `caller`, if there is one. */
  async #begin(
    role: SchoolRole,
    request: StartRequest,
    { linkFor, caller }: { linkFor: InProgress['linkFor']; caller: Caller | null },
  ): Promise<Started> {
    const { clock, secrets, openId, providers } = this.#deps
    const returnTo = returnFrom(request.returnTo, role)
    const provider = await providers.open(request.providerId)
    if (!provider?.roles.includes(role))
      throw new AppError('not-found', 'No provider with this id is open to this role.')
    if (!this.#isOpenTo(role)) throw new AppError('forbidden', 'The school’s account does not open this.')
    if (caller) await this.#take('schoolStart', caller)
    const { shared, otherAccount } = request
    const about = { providerId: provider.id, role, returnTo, shared, linkFor }
    const inProgress = newInProgress(about, clock.now())
    try {
      const parameters = parametersFor(provider.rules, { returnTo, shared, otherAccount })
      const location = await openId.authorizationUrl(provider, inProgress, parameters)
      return { location, sealed: sealInProgress(secrets, inProgress) }
    } catch (error) {
      if (error instanceof AppError) throw error
      this.#noteFailure(error, provider.id)
      const detail = `${provider.name} does not answer at the moment.`
      throw new AppError('unavailable', detail, { retryAfterSeconds: 30 })
    }
  }

  /** The provider's answer, with the query of the request and the cookie of the browser. Refusals are recorded. */
  async answer(
    { sealed, search, device }: { sealed: string | undefined; search: string; device: string },
    caller: Caller,
  ): Promise<Answer> {
    const { openId } = this.#deps
    // First of all: whoever has no cookie of ours must not use anything up.
    const from = this.#begunBy(sealed, search)
    if (!from) return { kind: 'not-begun' }
    await this.#take('schoolAnswer', caller, 'school')
    let claimed: Claimed | null = null
    try {
      const provider = await this.#providerOf(from)
      const answered = await openId.answer(provider, search, from, neededClaims(provider.rules))
      claimed = claimedIn(answered.claims, answered.userinfo, provider.rules)
      return await this.#accept(provider, answered, { from, device }, caller)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      const { reason, cause } = error
      if (reason === 'provider-unreachable' || reason === 'token') this.#noteFailure(cause, from.providerId)
      const reference = await this.refusals.record(error, from, claimed, caller)
      return { kind: 'refused', from, reference }
    }
  }

  #begunBy(sealed: string | undefined, search: string): InProgress | null {
    const { clock, secrets } = this.#deps
    const found = sealed === undefined ? null : readInProgress(secrets, sealed, clock.now())
    return found !== null && new URLSearchParams(search).getAll('state').join() === found.state ? found : null
  }

  async #providerOf({ providerId, role }: InProgress): Promise<Provider> {
    const provider = await this.#deps.providers.open(providerId)
    if (!provider?.roles.includes(role) || !this.#isOpenTo(role)) throw new Refused('closed')
    return provider
  }

  async #accept(
    provider: Provider,
    answered: Answered,
    { from, device }: { from: InProgress; device: string },
    caller: Caller,
  ): Promise<Answer> {
    const { role, returnTo, shared, linkFor } = from
    const asserted = readClaims(answered.claims, answered.userinfo, provider.rules)
    const key = { providerId: provider.id, role, subject: asserted.subject }
    if (linkFor) {
      await this.#link(key, asserted, linkFor, caller)
      return { kind: 'linked', role, returnTo }
    }
    const tokens = await this.#signIn(key, { asserted, answered }, device, caller)
    return { kind: 'signed-in', role, returnTo, shared, tokens }
  }

  async #signIn(
    key: store.SubjectKey,
    { asserted, answered }: { asserted: Asserted; answered: Answered },
    device: string,
    caller: Caller,
  ): Promise<IssuedTokens> {
    const { db, clock, sessions } = this.#deps
    const { sub, sid, provedAt: authAt } = answered
    const match = await this.#match(key, asserted)
    const { id: personId, email_key: addressKey } = match.person
    const now = clock.now()
    const id = newIdAt(now)
    const about = { id, role: key.role, personId, addressKey, device } as const
    const session = { ...about, method: 'school', authAt, now } as const
    const at = { session_id: id, provider_id: key.providerId, subject: sub, sid }
    const tokens = await sessions.signIn(session, caller, async (starting) => {
      const entered = await db.decide(this.#entering(match, key, { at, now, by: bySelf(caller) }, starting))
      if ('is' in entered) throw errorOf(entered)
      return { owner: entered, askedFrom: caller.network.fingerprint }
    })
    return tokens!
  }

  /** Starts the session, and makes the link with the first. */
  #entering(
    match: Match,
    key: store.SubjectKey,
    entry: { at: store.SchoolSession; now: number; by: By },
    starting: Decision<Person | null>,
  ): Decision<Person | Refusal> {
    const { at, now, by } = entry
    const { id: personId } = match.person
    const link = { ...key, linkId: newIdAt(now), personId, sessionId: at.session_id, now }
    const asks = {
      holder: store.readHolder(personId, key.role),
      links: store.readLinks(key, personId),
      open: store.readOpenProvider(key.providerId),
    }
    return around(asks, starting, ({ holder, links, open }, start): Outcome<Person | Refusal> => {
      const verdict = entryOf({ holder, links, isOpen: open !== undefined }, match, key.subject)
      if (verdict.is === 'refused') return { result: verdict }
      const { result: owner, writes = [] } = start()
      // They have another address than a moment ago.
      if (!owner) return { result: { is: 'refused', reason: 'outdated-link', personId } }
      const linking = verdict.is === 'new' ? store.insertLink(link, holder!, by) : []
      const linkId = verdict.is === 'new' ? link.linkId : verdict.linkId
      const noted = [store.insertSchoolSession(at), store.noteLinkUsed(linkId, holder!, now)]
      return { writes: [...linking, ...writes, ...noted], result: owner }
    })
  }

  /** By the link, then by the claims. */
  async #match(key: store.SubjectKey, asserted: Asserted): Promise<Match> {
    const { db } = this.#deps
    const { role, providerId } = key
    const [link, named] = await Promise.all([store.linkBySubject(db, key), this.#named(asserted, role)])
    const id = link?.person_id ?? (named.length === 1 ? named[0] : undefined)
    const person = id === undefined ? undefined : await personById(db, id)
    const [numberOnRoster, other] =
      person && !link
        ? await Promise.all([
            store.numberOfStudent(db, person.id),
            readNow(db, store.readOwnLink(person.id, providerId)),
          ])
        : [null, undefined]
    const hasOtherLink = other !== undefined
    const match = matchOf({ role, link, named, person, numberOnRoster, hasOtherLink }, asserted)
    if (match.is === 'refused') throw errorOf(match)
    return match
  }

  /** Everybody of this role whom the claims name; one if all is well. */
  async #named({ number, address }: Asserted, role: SchoolRole): Promise<string[]> {
    const { db, roles } = this.#deps
    const [byNumber, byAddress] = await Promise.all([
      number === '' || role !== 'student' ? [] : store.studentsByNumber(db, number),
      address === null ? undefined : roles[role].findAccount(address),
    ])
    return [...new Set([...byNumber, ...(byAddress ? [byAddress.id] : [])])]
  }

  async #link(
    key: store.SubjectKey,
    asserted: Asserted,
    { sessionId, personId }: NonNullable<InProgress['linkFor']>,
    caller: Caller,
  ): Promise<void> {
    const { db, clock } = this.#deps
    const { role, providerId } = key
    const now = clock.now()
    const named = await this.#named(asserted, role)
    const link = { ...key, linkId: newIdAt(now), personId, sessionId, now }
    const asks = {
      person: personLock(personId),
      session: lockSession(sessionId),
      holder: store.readHolder(personId, role),
      links: store.readLinks(key, personId),
      open: store.readOpenProvider(providerId),
    }
    const refusal = await db.decide(
      decision(asks, ({ session, holder, links, open }) => {
        const state = { holder, links, isOpen: open !== undefined, isSessionOpen: isAlive(session, now) }
        const refusal = connectionRefusal(state, personId, named)
        return refusal
          ? { result: refusal }
          : { writes: store.insertLink(link, holder!, bySelf(caller)), result: null }
      }),
    )
    if (refusal) throw errorOf(refusal)
  }

  links(personId: string) {
    return linksOf(this.#deps.db, personId)
  }

  /** `sessionId` is that of the owner; null if staff remove it. Sessions that began with it go on. */
  async unlink(personId: string, providerId: string, by: By, sessionId: string | null): Promise<void> {
    const { db, clock } = this.#deps
    const event = { eventId: newId(), now: clock.now(), by }
    const asks = { person: personLock(personId), link: store.readOwnLink(personId, providerId) }
    const removing = decision(asks, ({ link }) =>
      link ? { writes: store.deleteLink(link, sessionId, event), result: true } : { result: false },
    )
    if (!isId(providerId) || !(await db.decide(removing)))
      throw new AppError('not-found', 'No account of this provider is connected.')
  }

  /** Ends the sessions that a logout at the provider names (OpenID Connect Back-Channel Logout 1.0). */
  async logout(providerId: string, token: string, caller: Caller): Promise<void> {
    const { db, openId, providers, sessions } = this.#deps
    const provider = await providers.open(providerId)
    if (provider) await this.#take('schoolAnswer', caller)
    const named = provider && (await this.#readLogout(provider, token, openId))
    if (!named)
      throw invalidField({ pointer: '#/logout_token', detail: 'is not a logout token of this provider' })
    const { sub, sid, issuedAt } = named
    // A token that names only a person must not end sessions that began after it.
    const ended = await store.sessionsAt(db, { providerId, sub, sid, before: issuedAt + 1_000 })
    for (const session of ended) await sessions.end(session, 'signed-out', bySystem)
  }

  async #readLogout(provider: Provider, token: string, openId: OpenId) {
    try {
      return await openId.logoutToken(provider, token)
    } catch (error) {
      if (error instanceof AppError) throw error
      this.#noteFailure(error, provider.id)
      return null
    }
  }

  sweep(now: number): Statement[] {
    return [store.pruneSchoolSessions(), ...this.refusals.sweep(now)]
  }

  /** Whether an admin can sign in with a school account. */
  adminHasLink(): Promise<boolean> {
    return store.adminHasLink(this.#deps.db)
  }

  hasProvider(role: SchoolRole): Promise<boolean> {
    return store.hasProvider(this.#deps.db, role)
  }

  #isOpenTo(role: SchoolRole): boolean {
    return this.#deps.methods[role].includes('school')
  }

  async #take(policy: 'schoolStart' | 'schoolAnswer', caller: Caller, service?: 'school'): Promise<void> {
    const { clock, limits } = this.#deps
    const ofService = service && { service: servicePolicies[service] }
    await limits.admit({ policy: networkPolicies[policy], ...ofService }, caller, clock.now())
  }

  /** The message of an error may quote a token, so only its kind is logged. */
  #noteFailure(error: unknown, providerId: string): void {
    const { code } = (error ?? {}) as { code?: unknown }
    const why = isUnreachable(error) ? 'unreachable' : typeof code === 'string' ? code : 'failed'
    this.#deps.log.warn({ providerId, why }, 'a sign-in with a school account failed')
  }
}

const errorOf = ({ reason, personId }: Refusal) =>
  personId === undefined ? new Refused(reason) : new RefusedPerson(reason, personId)

/** As the HTTP interface, the command line and exports show them. */
export async function linksOf(db: Db, personId: string) {
  return (await store.linksOfPerson(db, personId)).map((link) => ({
    providerId: link.provider_id,
    name: link.name,
    createdAt: timestamp(link.created_at),
    lastUsedAt: timestampOrNull(link.last_used_at),
  }))
}
