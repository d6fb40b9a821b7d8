/**
 * Signing in with the school's own account. The roster still decides who may sign in: a provider proves who somebody is,
 * never that they study here.
 *
 * `start` sends the browser to the provider with everything sealed in a cookie (`in-progress.ts`). `answer` exchanges the
 * provider's answer for claims (`openid.ts`), decides what they are worth (`claims.ts`), and finds the person: by a link
 * made earlier, by the student number, or by an address that counts. Anything doubtful is refused, with one reply for
 * all reasons. The session, the link and their events are one transaction.
 */
import { AppError, invalidField } from '../../errors.ts'
import type { RefusalReason } from '../../messages/events/events.ts'
import { both, type Db, isTrue, type Statement } from '../../platform/db/db.ts'
import { inboxOf } from '../../platform/lib/address.ts'
import type { Caller } from '../../platform/lib/bucket.ts'
import { type By, bySelf, bySystem } from '../../platform/lib/by.ts'
import { type Clock, timestamp, timestampOrNull } from '../../platform/lib/clock.ts'
import type { FailureLog } from '../../platform/lib/failure.ts'
import { isId, newId, newIdAt } from '../../platform/lib/random.ts'
import { fingerprint, type Secrets } from '../../platform/lib/secret.ts'
import { type OpenMethods, type SchoolRole, schoolRoles } from '../../roles.ts'
import { type Limits, networkPolicies, servicePolicies } from '../limits/limits.ts'
import { lockPerson, type Person, personById, type Roles } from '../people/people.ts'
import { type IssuedTokens, isOpen, type LiveSession, type Sessions } from '../session/session.ts'
import { type Asserted, type Claimed, claimedIn, neededClaims, Refused, readClaims } from './claims.ts'
import { type InProgress, newInProgress, readInProgress, sealInProgress } from './in-progress.ts'
import { type Answered, isUnreachable, type OpenId } from './openid.ts'
import type { Provider, Providers } from './providers.ts'
import { Refusals, RefusedPerson } from './refusals.ts'
import { parametersFor, returnFrom } from './request.ts'
import {
  adminHasLink,
  deleteLink,
  hasProvider,
  insertLink,
  insertSchoolSession,
  isEnabled,
  isLinked,
  type LinkRow,
  linkBySubject,
  linkOfPerson,
  linksOfPerson,
  noteLinkUsed,
  numberOfStudent,
  pruneSchoolSessions,
  type SubjectKey,
  sessionsAt,
  studentsByNumber,
} from './store.ts'

export { guardedFetch } from './guarded-fetch.ts'
export { OpenId } from './openid.ts'
export { Providers, redirectUriOf } from './providers.ts'
export { adminHasLink, eraseLinks } from './store.ts'

const retryAfterSeconds = 30

export interface SchoolAccountsDeps {
  readonly db: Db
  readonly clock: Clock
  readonly secrets: Secrets
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
export interface Started {
  readonly location: string
  readonly sealed: string
}

export interface StartRequest {
  readonly providerId: string
  readonly returnTo: string | undefined
  readonly shared: boolean
  /** Whether the provider should offer another account than the last one. */
  readonly otherAccount: boolean
}

/** After a sign-in or a new link, the browser goes on to `returnTo`; a refusal has its own page. */
export type Outcome =
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

/** Somebody whom the provider has named, and how. */
interface Match {
  readonly person: Person
  readonly link: LinkRow | undefined
  readonly isNamed: boolean
}

export class SchoolAccounts {
  readonly #deps: SchoolAccountsDeps
  readonly refusals: Refusals

  constructor(deps: SchoolAccountsDeps) {
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
    if (await linkOfPerson(db, session.id, request.providerId))
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
    const inProgress = newInProgress(
      { providerId: provider.id, role, returnTo, shared, linkFor },
      clock.now(),
    )
    try {
      const parameters = parametersFor(provider.rules, { returnTo, shared, otherAccount })
      const location = await openId.authorizationUrl(provider, inProgress, parameters)
      return { location, sealed: sealInProgress(secrets, inProgress) }
    } catch (error) {
      if (error instanceof AppError) throw error
      this.#noteFailure(error, provider.id)
      throw new AppError('unavailable', `${provider.name} does not answer at the moment.`, {
        retryAfterSeconds,
      })
    }
  }

  /** The provider's answer, with the query of the request and the cookie of the browser. Refusals are recorded. */
  async answer(
    { sealed, search, device }: { sealed: string | undefined; search: string; device: string },
    caller: Caller,
  ): Promise<Outcome> {
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
  ): Promise<Outcome> {
    const { role, returnTo, shared, linkFor } = from
    const asserted = readClaims(answered.claims, answered.userinfo, provider.rules)
    if (linkFor) {
      await this.#link(provider, asserted, linkFor, role, caller)
      return { kind: 'linked', role, returnTo }
    }
    const tokens = await this.#signIn(provider, asserted, answered, { role, device }, caller)
    return { kind: 'signed-in', role, returnTo, shared, tokens }
  }

  async #signIn(
    provider: Provider,
    asserted: Asserted,
    { sub, sid, provedAt }: Answered,
    { role, device }: { role: SchoolRole; device: string },
    caller: Caller,
  ): Promise<IssuedTokens> {
    const { db, clock, sessions } = this.#deps
    const { person, link, isNamed } = await this.#match(provider, asserted, role)
    if (person.status !== 'active') throw refusal('not-active', person)
    const now = clock.now()
    const by = bySelf(caller)
    const sessionId = newIdAt(now)
    const key: SubjectKey = { providerId: provider.id, role, subject: asserted.subject }
    const newLink = { ...key, linkId: newIdAt(now), personId: person.id, sessionId, now }
    const may = both(isLinked(key, person.id, isNamed), isEnabled(provider.id))
    const session = {
      id: sessionId,
      role,
      personId: person.id,
      addressKey: person.email_key,
      device,
      method: 'school',
      authAt: provedAt,
      now,
    } as const
    const linking = link ? [] : insertLink(newLink, by, isEnabled(provider.id))
    const results = await db.tx([
      lockPerson(person.id),
      ...linking,
      ...sessions.start(session, by, may),
      insertSchoolSession({ sessionId, providerId: provider.id, sub, sid }, isOpen(sessionId)),
      noteLinkUsed(key, person.id, now, isOpen(sessionId)),
    ])
    if (results[1 + linking.length]!.length === 0) throw refusal(await this.#whyNot(key, person), person)
    await this.#refund(person, caller, now)
    return sessions.firstTokens(sessionId, person, now)
  }

  /** By the link, then by the claims. Claims that name somebody other than the link are refused. */
  async #match(provider: Provider, asserted: Asserted, role: SchoolRole): Promise<Match> {
    const { db } = this.#deps
    const key = { providerId: provider.id, role, subject: asserted.subject }
    const [link, named] = await Promise.all([linkBySubject(db, key), this.#named(asserted, role)])
    if (link) {
      const person = await personById(db, link.person_id)
      if (!person) throw new Refused('not-active')
      if (named.some((id) => id !== person.id)) throw refusal('two-people', person)
      return { person, link, isNamed: named.length > 0 }
    }
    if (role === 'staff') throw new Refused('not-connected')
    if (named.length > 1) throw new Refused('two-people')
    const person = named[0] === undefined ? undefined : await personById(db, named[0])
    if (!person) throw new Refused(asserted.ignored ?? 'nobody')
    if (asserted.number !== '' && (await this.#hasOtherNumber(person, asserted.number)))
      throw refusal('two-people', person)
    if (await linkOfPerson(db, person.id, provider.id)) throw refusal('other-account', person)
    return { person, link: undefined, isNamed: true }
  }

  /** Everybody of this role whom the claims name; one if all is well. */
  async #named({ number, address }: Asserted, role: SchoolRole): Promise<string[]> {
    const { db, roles } = this.#deps
    const [byNumber, byAddress] = await Promise.all([
      number === '' || role !== 'student' ? [] : studentsByNumber(db, number),
      address === null ? undefined : roles[role].findAccount(address),
    ])
    return [...new Set([...byNumber, ...(byAddress ? [byAddress.id] : [])])]
  }

  /** Their address was perhaps somebody else's before. */
  async #hasOtherNumber(person: Person, number: string): Promise<boolean> {
    const own = await numberOfStudent(this.#deps.db, person.id)
    return own !== null && own !== number
  }

  /** Why the transaction started no session: somebody else was faster, or the roster changed. */
  async #whyNot(key: SubjectKey, { id: personId }: Person): Promise<RefusalReason> {
    const { db } = this.#deps
    const link = await linkBySubject(db, key)
    if (link?.person_id !== personId) return 'other-account'
    const person = await personById(db, personId)
    if (person?.status !== 'active') return 'not-active'
    return (await isTrue(db, isEnabled(key.providerId))) ? 'outdated-link' : 'closed'
  }

  async #link(
    provider: Provider,
    asserted: Asserted,
    { sessionId, personId }: NonNullable<InProgress['linkFor']>,
    role: SchoolRole,
    caller: Caller,
  ): Promise<void> {
    const { db, clock } = this.#deps
    const key = { providerId: provider.id, role, subject: asserted.subject }
    const person = await personById(db, personId)
    if (!person || !(await isTrue(db, isOpen(sessionId)))) throw new Refused('session-ended')
    const named = await this.#named(asserted, role)
    if (named.some((id) => id !== personId)) throw refusal('two-people', person)
    const link = { ...key, linkId: newIdAt(clock.now()), personId, sessionId, now: clock.now() }
    const [, linked] = await db.tx([
      lockPerson(personId),
      ...insertLink(link, bySelf(caller), both(isOpen(sessionId), isEnabled(provider.id))),
    ])
    if (linked!.length === 0) throw refusal('other-account', person)
  }

  async links(personId: string) {
    return linksOf(this.#deps.db, personId)
  }

  /** `sessionId` is that of the owner; null if staff remove it. Sessions that began with it go on. */
  async unlink(personId: string, providerId: string, by: By, sessionId: string | null): Promise<void> {
    const { db, clock } = this.#deps
    const link = { personId, providerId, sessionId }
    const removed = isId(providerId)
      ? await db.tx([lockPerson(personId), ...deleteLink(link, { eventId: newId(), now: clock.now(), by })])
      : []
    if (!removed.at(-1)?.length) throw new AppError('not-found', 'No account of this provider is connected.')
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
    const ended = await sessionsAt(db, { providerId, sub, sid, before: issuedAt + 1_000 })
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
    return [pruneSchoolSessions(), ...this.refusals.sweep(now)]
  }

  /** Whether an admin can sign in with a school account. */
  adminHasLink(): Promise<boolean> {
    return isTrue(this.#deps.db, adminHasLink)
  }

  hasProvider(role: SchoolRole): Promise<boolean> {
    return isTrue(this.#deps.db, hasProvider(role))
  }

  #isOpenTo(role: SchoolRole): boolean {
    return this.#deps.methods[role].includes('school')
  }

  async #take(policy: 'schoolStart' | 'schoolAnswer', caller: Caller, service?: 'school'): Promise<void> {
    const { clock, limits } = this.#deps
    const policies = {
      policy: networkPolicies[policy],
      ...(service && { service: servicePolicies[service] }),
    }
    await limits.admit(policies, caller, clock.now())
  }

  async #refund(person: Person, caller: Caller, now: number): Promise<void> {
    const { limits, secrets } = this.#deps
    const inbox = fingerprint(secrets.current, 'address', inboxOf(person.email_key))
    const { fingerprint: network } = caller.network
    await limits.signedIn('school', { inbox, askedFrom: network, answeredFrom: network }, now)
  }

  /** The message of an error may quote a token, so only its kind is logged. */
  #noteFailure(error: unknown, providerId: string): void {
    const { code } = (error ?? {}) as { code?: unknown }
    const why = isUnreachable(error) ? 'unreachable' : typeof code === 'string' ? code : 'failed'
    this.#deps.log.warn({ providerId, why }, 'a sign-in with a school account failed')
  }
}

const refusal = (reason: RefusalReason, { id }: Person) => new RefusedPerson(reason, id)

/** As the HTTP interface, the command line and exports show them. */
export async function linksOf(db: Db, personId: string) {
  return (await linksOfPerson(db, personId)).map((link) => ({
    providerId: link.provider_id,
    name: link.name,
    createdAt: timestamp(link.created_at),
    lastUsedAt: timestampOrNull(link.last_used_at),
  }))
}
