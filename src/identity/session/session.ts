/**
 * Sessions: their tokens, renewal and end. A session starts in the decision about a proof (see `signIn`). From then on access
 * tokens say who the caller is, and every request checks in the store that session and account are still alive, so
 * ending either takes effect at once.
 */

import { hash } from 'node:crypto'
import { AppError } from '../../errors.ts'
import type { Context } from '../../platform/context.ts'
import type { Statement } from '../../platform/db/db.ts'
import { type Decision, decision } from '../../platform/db/decision.ts'
import { inboxOf } from '../../platform/lib/address.ts'
import { BoundedMap } from '../../platform/lib/bounded-map.ts'
import type { Caller } from '../../platform/lib/bucket.ts'
import { type By, bySelf, bySystem } from '../../platform/lib/by.ts'
import { day, hour, minute } from '../../platform/lib/clock.ts'
import { isId, newId } from '../../platform/lib/random.ts'
import { fingerprint } from '../../platform/lib/secret.ts'
import { type Method, type Role, roles } from '../../roles.ts'
import type { Limits } from '../limits/limits.ts'
import {
  activation,
  canSignIn,
  type Person,
  type PersonInSession,
  personLock,
  type Roles,
  readAccount,
  readPerson,
} from '../people/people.ts'
import { endSessions } from './ending.ts'
import * as jwt from './jwt.ts'
import type { SigningKeys } from './keys.ts'
import { readRefreshToken, refreshToken } from './refresh.ts'
import { canStartAtClient, isAlive, isLive, isUsable, keepsSession, refreshOf } from './rules.ts'
import * as store from './store.ts'

export { endSessions } from './ending.ts'
export { historyOf } from './history.ts'
export { type ForeignKeys, signToken, verifyForeignToken } from './jwt.ts'
export type { SigningKeys } from './keys.ts'
export { isAlive, refusalOf } from './rules.ts'
export type { LiveSession, Session, SessionAndPerson } from './store.ts'
export { lockSession } from './store.ts'

export const accessTtlMs = 15 * minute
const seenEveryMs = minute
const verifiedMax = 50_000
/** Of one person at one client; the oldest ends. */
const sessionsAtClientMax = 50

/** How long a session lasts without use, and in all. */
const lifetimes: Readonly<Record<Role, { readonly idleMs: number; readonly maxMs: number }>> = {
  veterinarian: { idleMs: 30 * day, maxMs: 90 * day },
  student: { idleMs: 30 * day, maxMs: 90 * day },
  staff: { idleMs: hour, maxMs: 12 * hour },
}

export interface TokenReply {
  readonly access_token: string
  readonly token_type: 'Bearer'
  readonly expires_in: number
  readonly refresh_token: string
  readonly user: object
}

export interface IssuedTokens {
  readonly reply: TokenReply
  /** Lifetime of the refresh token if it is not used. */
  readonly refreshTtlMs: number
}

/** A client that calls for itself. */
export interface ServiceCaller extends store.ServiceToken {
  readonly role: 'service'
}

/** Whose session has started, and the network that asked to sign in; or the session that the same request started before. */
export type Proved =
  | { readonly owner: Person; readonly askedFrom: string }
  | { readonly startedBefore: string }

/** A proof in a session that goes on. */
interface NewProof {
  readonly sessionId: string
  readonly role: Role
  readonly personId: string
  /** Must still be the account’s address. */
  readonly addressKey: string
  readonly method: Exclude<Method, 'school'>
  readonly now: number
}

interface NewClientSession {
  readonly id: string
  readonly clientId: string
  readonly personId: string
  readonly scope: string
  /** The portal's session from which it is started. Device and proof are taken from there. */
  readonly startedFrom: string
  readonly language: string
  /** Whether it goes on when that one ends. */
  readonly offline: boolean
  readonly now: number
}

/** Somebody who is signed in at a client. */
export type AtClient = PersonInSession & Pick<store.Session, 'session_id' | 'auth_at' | 'method' | 'language'>

interface Refreshed {
  readonly session: store.SessionAndPerson
  readonly refreshToken: string
}

interface Deps extends Pick<Context, 'db' | 'clock' | 'secrets'> {
  readonly limits: Pick<Limits, 'signedIn'>
  readonly keys: SigningKeys
  readonly issuer: jwt.Issuer
  readonly roles: Roles
  /** How long ended sessions stay in their owner's list of sign-ins. */
  readonly keepEndedMs: number
}

export class Sessions {
  readonly #deps: Deps
  /**
   * The claims of verified tokens, until they expire. Verifying a signature costs more than the rest of a request. The keys
   * are digests: whole tokens would more than double the memory.
   */
  readonly #verified = new BoundedMap<string, jwt.AccessClaims>(verifiedMax)

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /**
   * The one path from a proof of who somebody is to tokens, whichever way they signed in. `prove` decides whether the proof
   * counts, around the decision that starts the session. Null if an earlier request used the proof and its session has ended.
   */
  async signIn(
    session: store.NewSession,
    caller: Caller,
    prove: (starting: Decision<Person | null>) => Promise<Proved>,
  ): Promise<IssuedTokens | null> {
    const { limits, secrets } = this.#deps
    const { id, role, addressKey, method, now } = session
    const proved = await prove(this.#starting(session, bySelf(caller)))
    if ('startedBefore' in proved) return this.#firstTokensAgain(proved.startedBefore)
    const inbox = fingerprint(secrets.current, 'address', inboxOf(addressKey))
    const participants = { inbox, askedFrom: proved.askedFrom, answeredFrom: caller.network.fingerprint }
    await limits.signedIn(method, participants, now)
    return this.#tokens({ ...proved.owner, session_id: id, expires_at: now + lifetimes[role].idleMs }, 1)
  }

  /** The result is the owner, null if the account can no longer sign in at this address. A pending account becomes active. */
  #starting(session: store.NewSession, by: By): Decision<Person | null> {
    const { role, personId, addressKey, now } = session
    const { firstSignIn } = this.#deps.roles[role]
    const expiresAt = now + lifetimes[role].idleMs
    return decision({ person: personLock(personId), account: readAccount(role, personId) }, ({ account }) => {
      if (!account || account.email_key !== addressKey || !canSignIn(account, now)) return { result: null }
      const isFirst = account.status === 'pending' && firstSignIn !== null
      return {
        writes: [
          ...(isFirst ? activation(personId, firstSignIn, now, by) : []),
          ...store.insertSession({ ...session, expiresAt }, by),
        ],
        result: isFirst ? { ...account, status: 'active', updated_at: now, confirm_before: null } : account,
      }
    })
  }

  /** The result is when somebody proved again who they are; null if session or account has ended, or the address is another. */
  provingAgain(proof: NewProof, by: By): Decision<number | null> {
    const { sessionId, role, personId, addressKey, method, now } = proof
    const eventId = newId()
    return decision(
      {
        person: personLock(personId),
        account: readAccount(role, personId),
        session: store.lockSession(sessionId),
      },
      ({ account, session }) => {
        const isOwners = account?.status === 'active' && account.email_key === addressKey
        if (!isOwners || !isAlive(session, now)) return { result: null }
        return {
          writes: store.provedAgain({ id: sessionId, personId, method, now, eventId }, by),
          result: now,
        }
      },
    )
  }

  /** The same tokens again if the reply was lost; null if the session has ended since. */
  async #firstTokensAgain(sessionId: string): Promise<IssuedTokens | null> {
    const session = await store.sessionById(this.#deps.db, sessionId)
    return session && isLive(session, this.#deps.clock.now()) ? this.#tokens(session, 1) : null
  }

  /** Starts a session at a client, from one of the portal; null if it has ended, or if the client does not serve the person. */
  startingAtClient(session: NewClientSession, by: By): Decision<AtClient | null> {
    const { id, clientId, personId, scope, startedFrom, language, offline, now } = session
    const asks = {
      person: personLock(personId),
      from: store.lockSession(startedFrom),
      account: readPerson(personId),
      client: store.readRegistered(clientId),
      open: store.readOpenAt(clientId, personId),
    }
    return decision(asks, ({ from, account, client, open }) => {
      if (!from || !account || !canStartAtClient({ from, account, client }, now)) return { result: null }
      const { device, method, auth_at } = from
      const expiresAt = now + lifetimes[account.role].idleMs
      const started = { id, role: account.role, personId, device, method, authAt: auth_at, now, expiresAt }
      const parent_id = offline ? null : startedFrom
      const at = { client_id: clientId, scope, parent_id, started_from: startedFrom, language }
      const oldestOf = { personId, clientId, keep: sessionsAtClientMax }
      return {
        writes: [
          ...store.insertSession(started, by, at),
          ...(open!.n < sessionsAtClientMax ? [] : endSessions({ oldestOf }, 'revoked', now, by)),
        ],
        result: { ...account, session_id: id, auth_at, method, language },
      }
    })
  }

  /** Who has this token: a person, at the portal or at a client, or a client for itself. */
  async authenticate(token: string): Promise<store.LiveSession | ServiceCaller> {
    const claims = await this.verify(token)
    if (!claims) throw new AppError('invalid-token')
    return claims.sid === null ? this.#service(claims) : this.#person(claims, claims.sid)
  }

  /** The claims of a token that has not expired. Its session may have ended. */
  async verify(token: string): Promise<jwt.AccessClaims | null> {
    const { issuer, keys, clock } = this.#deps
    const now = clock.now()
    const digest = hash('sha256', token, 'base64url')
    const known = this.#verified.get(digest)
    // The key may have been revoked since.
    if (known && known.exp * 1000 > now && (await keys.verifier(known.kid))) return known
    this.#verified.delete(digest)
    const claims = await jwt.verifyAccessToken(token, issuer, now, (kid) => keys.verifier(kid))
    if (claims) this.#verified.set(digest, claims)
    return claims
  }

  async #service({ jti, clientId }: jwt.AccessClaims): Promise<ServiceCaller> {
    const live = await store.liveServiceToken(this.#deps.db, jti, this.#deps.clock.now())
    if (!live) throw new AppError('session-ended')
    if (live.client_id !== clientId) throw new AppError('invalid-token')
    const { scopes, ...token } = live
    return { ...token, scope: inBoth(live.scope, scopes), role: 'service' }
  }

  async #person(
    { sub, roles: named, clientId, scope }: jwt.AccessClaims,
    sid: string,
  ): Promise<store.LiveSession> {
    const { db, clock, issuer } = this.#deps
    const now = clock.now()
    const role = roles.find((each) => named.includes(each))
    if (!role) throw new AppError('invalid-token')
    const session = await store.liveSession(db, sid, role, now)
    if (!session) throw new AppError('session-ended')
    if (session.role !== role || (session.client_id ?? issuer.clientId) !== clientId)
      throw new AppError('invalid-token')
    // A client may know the person by another name.
    if (session.client_id === null && session.id !== sub) throw new AppError('invalid-token')
    // A token may have fewer scopes than its session.
    const allowed = await this.#allowed(session.client_id === null ? session : { ...session, scope }, now)
    if (!allowed || !(await this.#deps.roles[role].isPresent(session))) throw new AppError('session-ended')
    return allowed
  }

  /** The session, with the scopes that its client still may have; null if the client does not allow it any more. */
  async #allowed<S extends Pick<store.Session, 'session_id' | 'client_id' | 'scope'>>(
    session: S,
    now: number,
  ): Promise<S | null> {
    if (session.client_id === null) return session
    const client = await store.clientOfSession(this.#deps.db, session.session_id)
    if (!client || !keepsSession(client, now)) return null
    const scope = inBoth(session.scope ?? '', client.scopes)
    return { ...session, scope, knowsIds: client.is_pairwise === 0 }
  }

  /** Saves the time of last use, at most once a minute. */
  touch(session: store.LiveSession): Promise<unknown> | undefined {
    const now = this.#deps.clock.now()
    if (now - session.last_seen_at < seenEveryMs) return
    return store.seen(this.#deps.db, { id: session.session_id, ...extension(session.role, now) })
  }

  /** Rotates the refresh token; `refreshOf` says when. */
  async refresh(token: string, by: By): Promise<IssuedTokens> {
    const { session, seq } = await this.#rotate(token, null, by)
    return this.#tokens(session, seq)
  }

  /** The same for a client; oauth/tokens.ts makes its other tokens. */
  async refreshAtClient(
    token: string,
    clientId: string,
    by: By,
    check: (scope: string) => void,
  ): Promise<Refreshed> {
    const { session, seq } = await this.#rotate(token, clientId, by, check)
    return { session, refreshToken: this.refreshTokenOf(session.session_id, seq) }
  }

  /** The first is number 1. */
  refreshTokenOf(sessionId: string, seq = 1): string {
    return refreshToken(this.#deps.secrets.current, { sessionId, seq })
  }

  async #rotate(
    token: string,
    clientId: string | null,
    by: By,
    check?: (scope: string) => void,
  ): Promise<{ session: store.SessionAndPerson; seq: number }> {
    const { db, clock } = this.#deps
    const found = await this.#sessionOf(token, clientId)
    if (!found) throw new AppError('invalid-token')
    const now = clock.now()
    const session = await this.#allowed(found, now)
    if (!session || !isLive(session, now)) throw new AppError('session-ended')
    check?.(session.scope ?? '')

    const { session_id: id, seq: from, refresh_seq: current } = session
    const refresh = refreshOf(session, from, now)
    if (refresh.is === 'repeated') return { session, seq: refresh.seq }
    if (refresh.is === 'reused') {
      await this.end(session, 'reuse', by)
      throw new AppError('session-ended')
    }
    const times = extension(session.role, now)
    const [rotated] = await store.rotate(db, { id, current, from, ...times })
    // Another request was faster; decide again with the new state.
    if (!rotated) return this.#rotate(token, clientId, by, check)
    // Whoever uses an application is not idle.
    if (session.parent_id !== null) await store.seen(db, { id: session.parent_id, ...times })
    return { session: { ...session, ...rotated }, seq: rotated.refresh_seq }
  }

  /** The session of a refresh token, whatever its state, if the token is this client's. */
  async #sessionOf(
    token: string,
    clientId: string | null,
  ): Promise<(store.SessionAndPerson & { seq: number }) | undefined> {
    const ticket = readRefreshToken(this.#deps.secrets.all, token)
    if (!ticket) return undefined
    const session = await store.sessionById(this.#deps.db, ticket.sessionId)
    if (!session) throw new AppError('session-ended')
    return session.client_id === clientId ? { ...session, seq: ticket.seq } : undefined
  }

  /** The live session of a refresh token, which is not used up: of the portal's cookie, or of a client's token. */
  async withRefreshToken(token: string, clientId: string | null): Promise<store.SessionAndPerson | null> {
    const session = await this.#sessionOf(token, clientId).catch(ignoreEnded)
    const now = this.#deps.clock.now()
    if (!session || !isLive(session, now)) return null
    if (!isUsable(session, session.seq)) return null
    return this.#allowed(session, now)
  }

  /** Of an ID token of ours, also an expired one: its client, its subject, and its session there in any state. */
  async ofIdToken(
    token: string,
  ): Promise<{ clientId: string; subject: string; session: store.SessionAndPerson | null } | null> {
    const { db, clock, issuer, keys } = this.#deps
    const keyFor = (kid: string) => keys.verifier(kid)
    const expected = { issuer: issuer.issuer, now: clock.now(), keyFor, evenExpired: true }
    const read = await jwt.readToken(token, 'JWT', expected)
    if (!read) return null
    const { aud: clientId, sub: subject, sid } = read.claims
    if (typeof clientId !== 'string' || typeof sid !== 'string') return null
    const session = await store.sessionById(db, sid)
    return { clientId, subject, session: session?.client_id === clientId ? session : null }
  }

  /** Accepts a refresh token of any age. Unknown tokens and ended sessions are ignored. */
  async signOut(token: string, by: By, clientId: string | null = null): Promise<void> {
    const session = await this.#sessionOf(token, clientId).catch(ignoreEnded)
    if (session) await this.end(session, 'signed-out', by, clientId)
  }

  async list(personId: string): Promise<store.NamedSession[]> {
    const now = this.#deps.clock.now()
    const sessions = await store.sessionsOf(this.#deps.db, personId)
    return sessions.filter((session) => session.ended_at === null && session.expires_at > now)
  }

  /** The client that ends it itself need not be told. */
  async end(
    session: { session_id: string; id: string },
    reason: store.EndReason,
    by: By,
    told: string | null = null,
  ): Promise<boolean> {
    const { db, clock } = this.#deps
    const scope = { id: session.session_id, personId: session.id, told }
    const [ended] = await db.tx(endSessions(scope, reason, clock.now(), by))
    return ended!.length > 0
  }

  async endOne(personId: string, sessionId: string, by: By): Promise<void> {
    const ended = isId(sessionId) && (await this.end({ session_id: sessionId, id: personId }, 'revoked', by))
    if (!ended) throw new AppError('not-found')
  }

  /** Returns how many have ended. */
  async endAll(personId: string, reason: store.EndReason, by: By): Promise<number> {
    const { db, clock } = this.#deps
    const [ended] = await db.tx(endSessions({ personId }, reason, clock.now(), by))
    return ended!.length
  }

  sweep(now: number): Statement[] {
    return [
      ...endSessions({ expiredAt: now }, 'expired', now, bySystem),
      store.pruneSessions(now - this.#deps.keepEndedMs),
    ]
  }

  async #tokens(
    session: Pick<store.Session, 'session_id' | 'expires_at'> & Person,
    seq: number,
  ): Promise<IssuedTokens> {
    const { issuer, roles, clock } = this.#deps
    const { id: sub, session_id: sid, role } = session
    const { clientId, audience } = issuer
    const reply: TokenReply = {
      access_token: await this.accessToken({ sub, sid, roles: [role], jti: newId(), clientId, audience }),
      token_type: 'Bearer',
      expires_in: accessTtlMs / 1000,
      refresh_token: this.refreshTokenOf(sid, seq),
      user: await roles[role].profileOf(session),
    }
    return { reply, refreshTtlMs: session.expires_at - clock.now() }
  }

  async accessToken(token: jwt.NewAccessToken): Promise<string> {
    const { keys, issuer, clock } = this.#deps
    const times = { now: clock.now(), ttlMs: accessTtlMs }
    return jwt.signAccessToken(await keys.signer(), issuer.issuer, token, times)
  }
}

function extension(role: Role, now: number) {
  const { idleMs, maxMs } = lifetimes[role]
  return { now, unlessSince: now - seenEveryMs + 1, expiresAt: now + idleMs, expiresMaxMs: maxMs }
}

function ignoreEnded(error: unknown): undefined {
  if (error instanceof AppError && error.code === 'session-ended') return undefined
  throw error
}

/** The scopes that are in both lists. */
function inBoth(scope: string, others: string): string {
  const allowed = others.split(' ')
  const both = scope.split(' ').filter((each) => allowed.includes(each))
  return both.join(' ')
}
