/**
 * Sessions: their tokens, renewal and end. A session starts in sign-in’s transaction (see `start`). From then on access
 * tokens say who the caller is, and every request checks in the store that session and account are still alive, so
 * ending either takes effect at once.
 */

import { AppError } from '../../errors.ts'
import type { Condition, Db, Statement } from '../../platform/db/db.ts'
import { type By, bySystem } from '../../platform/lib/by.ts'
import { type Clock, day, hour, minute, second } from '../../platform/lib/clock.ts'
import { isId, newId } from '../../platform/lib/random.ts'
import { Recent } from '../../platform/lib/recent.ts'
import type { Secrets } from '../../platform/lib/secret.ts'
import { type Role, roles } from '../../roles.ts'
import type { Person, Roles } from '../people/people.ts'
import { type AccessClaims, type Issuer, signAccessToken, verifyAccessToken } from './jwt.ts'
import type { SigningKeys } from './keys.ts'
import { readRefreshToken, refreshToken } from './refresh.ts'
import {
  type EndReason,
  endSessions,
  type LiveSession,
  liveSession,
  type NewSession,
  pruneSessions,
  rotate,
  type Session,
  type SessionAndPerson,
  seen,
  sessionById,
  sessionsOf,
  startSession,
} from './store.ts'

export { historyOf } from './history.ts'
export { type ForeignKeys, verifyForeignToken } from './jwt.ts'
export type { SigningKeys } from './keys.ts'
export type { LiveSession, Session } from './store.ts'
export { endSessions, isOpen, renewProof } from './store.ts'

export const accessTtlMs = 15 * minute
const graceMs = 30 * second
const seenEveryMs = minute
const verifiedMax = 50_000

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

export interface SessionsDeps {
  readonly db: Db
  readonly clock: Clock
  readonly secrets: Secrets
  readonly keys: SigningKeys
  readonly issuer: Issuer
  readonly roles: Roles
  /** How long ended sessions stay in their owner's list of sign-ins. */
  readonly keepEndedMs: number
}

export class Sessions {
  readonly #deps: SessionsDeps
  /** Verified tokens, until they expire. Verifying a signature costs more than the rest of a request. */
  readonly #verified = new Recent<string, AccessClaims>(verifiedMax)

  constructor(deps: SessionsDeps) {
    this.#deps = deps
  }

  start(session: NewSession, by: By, when: Condition): Statement[] {
    return startSession({ ...session, expiresAt: session.now + lifetimes[session.role].idleMs }, by, when)
  }

  firstTokens(sessionId: string, person: Person, now: number): Promise<IssuedTokens> {
    return this.#tokens(
      { ...person, session_id: sessionId, expires_at: now + lifetimes[person.role].idleMs },
      1,
    )
  }

  /** The same tokens again if the reply was lost; null if the session has ended since. */
  async firstTokensAgain(sessionId: string): Promise<IssuedTokens | null> {
    const session = await sessionById(this.#deps.db, sessionId)
    return session && isAlive(session, this.#deps.clock.now()) ? this.#tokens(session, 1) : null
  }

  async authenticate(token: string): Promise<LiveSession> {
    const now = this.#deps.clock.now()
    const claims = (await this.#verifiedBefore(token, now)) ?? (await this.#verify(token, now))
    if (!claims) throw new AppError('invalid-token')
    const role = roles.find((each) => claims.roles.includes(each))
    if (!role) throw new AppError('invalid-token')
    const session = await liveSession(this.#deps.db, claims.sid, role, now)
    if (!session) throw new AppError('session-ended')
    if (session.id !== claims.sub || session.role !== role) throw new AppError('invalid-token')
    if (!(await this.#deps.roles[role].isPresent(session))) throw new AppError('session-ended')
    return session
  }

  /** Saves the time of last use, at most once a minute. */
  touch(session: LiveSession): Promise<unknown> | undefined {
    const now = this.#deps.clock.now()
    if (now - session.last_seen_at < seenEveryMs) return
    const { idleMs, maxMs } = lifetimes[session.role]
    return seen(this.#deps.db, {
      id: session.session_id,
      now,
      unlessSince: now - seenEveryMs + 1,
      expiresAt: now + idleMs,
      expiresMaxMs: maxMs,
    })
  }

  /**
   * Rotates the refresh token. For 30 seconds its predecessor gives the same successor, so that two tabs that refresh at
   * once do not sign each other out. After that the predecessor works because the successor was never used: either the
   * reply was lost or somebody has a copy. It then gives a new successor and voids the unused one, so that of two holders
   * one will present a void token. Any other token, however young, is a copy and ends the session.
   */
  async refresh(token: string, by: By): Promise<IssuedTokens> {
    const { db, clock, secrets } = this.#deps
    const ticket = readRefreshToken(secrets.all, token)
    if (!ticket) throw new AppError('invalid-token')
    const now = clock.now()
    const session = await sessionById(db, ticket.sessionId)
    if (!session || !isAlive(session, now)) throw new AppError('session-ended')

    const { refresh_seq: current, refresh_parent: parent, rotated_at } = session
    if (ticket.seq === parent && now - rotated_at <= graceMs) return this.#tokens(session, current)
    if (ticket.seq !== current && ticket.seq !== parent) {
      await this.end(session, 'reuse', by)
      throw new AppError('session-ended')
    }
    const { idleMs, maxMs } = lifetimes[session.role]
    const times = { now, expiresAt: now + idleMs, expiresMaxMs: maxMs }
    const [rotated] = await rotate(db, { id: ticket.sessionId, current, from: ticket.seq, ...times })
    if (rotated) return this.#tokens({ ...session, ...rotated }, rotated.refresh_seq)
    // Another request was faster; decide again with the new state.
    return this.refresh(token, by)
  }

  /** Accepts a refresh token of any age. Unknown tokens and ended sessions are ignored. */
  async signOut(token: string, by: By): Promise<void> {
    const { db, secrets } = this.#deps
    const ticket = readRefreshToken(secrets.all, token)
    const session = ticket && (await sessionById(db, ticket.sessionId))
    if (session) await this.end(session, 'signed-out', by)
  }

  async list(personId: string): Promise<Session[]> {
    const now = this.#deps.clock.now()
    const sessions = await sessionsOf(this.#deps.db, personId)
    return sessions.filter((session) => session.ended_at === null && session.expires_at > now)
  }

  async end(session: { session_id: string; id: string }, reason: EndReason, by: By): Promise<boolean> {
    const scope = { id: session.session_id, personId: session.id }
    const [ended] = await this.#deps.db.tx(endSessions(scope, reason, this.#deps.clock.now(), by))
    return ended!.length > 0
  }

  async endOne(personId: string, sessionId: string, by: By): Promise<void> {
    const ended = isId(sessionId) && (await this.end({ session_id: sessionId, id: personId }, 'revoked', by))
    if (!ended) throw new AppError('not-found')
  }

  /** Returns how many have ended. */
  async endAll(personId: string, reason: EndReason, by: By): Promise<number> {
    const { db, clock } = this.#deps
    const [ended] = await db.tx(endSessions({ personId }, reason, clock.now(), by))
    return ended!.length
  }

  sweep(now: number): Statement[] {
    return [
      ...endSessions({ expiredAt: now }, 'expired', now, bySystem),
      pruneSessions(now - this.#deps.keepEndedMs),
    ]
  }

  async #tokens(
    session: Pick<Session, 'session_id' | 'expires_at'> & Person,
    seq: number,
  ): Promise<IssuedTokens> {
    const { keys, issuer, secrets, roles, clock } = this.#deps
    const now = clock.now()
    const accessToken = signAccessToken(await keys.signer(), issuer, {
      sub: session.id,
      sid: session.session_id,
      roles: [session.role],
      jti: newId(),
      now,
      ttlMs: accessTtlMs,
    })
    const reply: TokenReply = {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: accessTtlMs / 1000,
      refresh_token: refreshToken(secrets.current, { sessionId: session.session_id, seq }),
      user: await roles[session.role].profileOf(session),
    }
    return { reply, refreshTtlMs: session.expires_at - now }
  }

  /** A key may have been revoked since. */
  async #verifiedBefore(token: string, now: number): Promise<AccessClaims | undefined> {
    const known = this.#verified.get(token)
    if (!known) return undefined
    if (known.exp * 1000 > now && (await this.#deps.keys.verifier(known.kid))) return known
    this.#verified.delete(token)
    return undefined
  }

  async #verify(token: string, now: number): Promise<AccessClaims | null> {
    const { issuer, keys } = this.#deps
    const claims = await verifyAccessToken(token, issuer, now, (kid) => keys.verifier(kid))
    if (claims) this.#verified.set(token, claims)
    return claims
  }
}

function isAlive(session: SessionAndPerson, now: number): boolean {
  return session.ended_at === null && session.expires_at > now && session.status === 'active'
}
