/**
 * Tokens for clients: for a code, for a refresh token, or for the client itself. Sessions at clients are rows like all
 * others, so they end at once, wherever they are ended.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import type { Static } from 'typebox'
import { AppError, OAuthError } from '../../errors.ts'
import type { Context } from '../../platform/context.ts'
import type { Statement } from '../../platform/db/db.ts'
import { around, type Outcome } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import { isToken, newId } from '../../platform/lib/random.ts'
import { readable } from '../../platform/lib/readable.ts'
import { type Client, clientById, digestOf, scopesHere, subjectOf } from '../clients/clients.ts'
import type { Facts, PersonInSession, Roles } from '../people/people.ts'
import {
  type AtClient,
  accessTtlMs,
  endSessions,
  type LiveSession,
  type Session,
  type Sessions,
  type SigningKeys,
  signToken,
} from '../session/session.ts'
import { acrOf, amrOf, type Claims, claimsOf } from './claims.ts'
import { type Redeemed, redemptionOf } from './rules.ts'
import { type ClientTokenReply, type Introspection, UserInfo } from './schemas.ts'
import { beyond, knownScopes } from './scopes.ts'
import * as store from './store.ts'

interface Deps extends Pick<Context, 'db' | 'clock'> {
  readonly keys: SigningKeys
  readonly sessions: Sessions
  readonly roles: Roles
  readonly issuer: string
  /** Called for every sign-in at a client. */
  signedIn?(clientId: string): void
}

type ClientTokens = Static<typeof ClientTokenReply>

interface CodeRequest {
  readonly code: string
  readonly redirectUri: string | undefined
  readonly verifier: string | undefined
}

const invalidGrant = (detail: string) => new OAuthError('invalid_grant', detail)
const codeRefused = () =>
  invalidGrant('The code is unknown, has expired or was used, or is of another client.')

function refusalOf(redeemed: Exclude<Redeemed, 'due'>): OAuthError {
  if (redeemed === 'other-redirect')
    return invalidGrant('redirect_uri is not the one of the authorization request.')
  if (redeemed === 'wrong-verifier') return invalidGrant('code_verifier does not fit the code_challenge.')
  return codeRefused()
}

/** The client is told: it did not end it. */
function endStarted(
  { person_id: personId, session_id: id }: store.CodeRow,
  now: number,
  by: By,
): Statement[] {
  return id === null ? [] : endSessions({ id, personId }, 'reuse', now, by)
}

export class Tokens {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Somebody else has a code that is used twice, so the session that it started may be theirs: it ends. */
  async redeem(client: Client, { code, redirectUri, verifier }: CodeRequest, by: By): Promise<ClientTokens> {
    const { db, clock, sessions } = this.#deps
    const digest = digestOf(code)
    const row = isToken(code) ? await store.codeByDigest(db, digest) : undefined
    if (row?.client_id !== client.id) throw codeRefused()
    const { scope, nonce, person_id: personId, parent_id: startedFrom, language } = row
    const verifierFits = fitsChallenge(row.code_challenge, verifier)
    const redemption = { clientId: client.id, redirectUri, verifierFits }
    const now = clock.now()
    const id = newId()
    const offline = scope.split(' ').includes('offline_access')
    const started = { id, clientId: client.id, personId, scope, startedFrom, language, offline, now }
    const { redeemed, session } = await db.decide(
      around(
        { code: store.lockCode(digest) },
        sessions.startingAtClient(started, by),
        ({ code }, start): Outcome<{ redeemed: Redeemed; session?: AtClient | null }> => {
          const redeemed = redemptionOf(code, redemption, now)
          if (redeemed === 'used') return { writes: endStarted(code!, now, by), result: { redeemed } }
          if (redeemed !== 'due') return { result: { redeemed } }
          const { writes = [], result: session } = start()
          return { writes: [store.useCode(digest, id, now), ...writes], result: { redeemed, session } }
        },
      ),
    )
    if (redeemed !== 'due') throw refusalOf(redeemed)
    await this.#noteUsed(client, now)
    if (!session) throw invalidGrant('The session has ended.')
    this.#deps.signedIn?.(client.id)
    return this.#reply(client, session, scope, { nonce, refreshToken: sessions.refreshTokenOf(id) })
  }

  async refresh(client: Client, token: string, asked: string | undefined, by: By): Promise<ClientTokens> {
    const { clock, sessions } = this.#deps
    const check = (granted: string) => void narrowed(granted, asked)
    const { session, refreshToken } = await sessions.refreshAtClient(token, client.id, by, check)
    await this.#noteUsed(client, clock.now())
    return this.#reply(client, session, narrowed(session.scope!, asked), { nonce: null, refreshToken })
  }

  /** For the client itself. */
  async ofService(client: Client, asked: string | undefined): Promise<ClientTokens> {
    if (client.kind !== 'service')
      throw new OAuthError('unauthorized_client', 'Only services get tokens for themselves.')
    const { db, clock, sessions, issuer } = this.#deps
    const scope = narrowed(client.scopes.join(' '), asked)
    const jti = newId()
    const now = clock.now()
    await db.tx([
      store.addServiceToken({ id: jti, client_id: client.id, scope, expires_at: now + accessTtlMs }),
      ...store.noteClientUsed(client, now),
    ])
    const token = { sub: client.id, jti, clientId: client.id, audience: issuer, scope }
    return bearer(await sessions.accessToken(token), scope)
  }

  /** The reply has of it what the token's scopes read. */
  async userinfo(caller: LiveSession): Promise<UserInfo> {
    const client = await clientById(this.#deps.db, caller.client_id!)
    if (!client) throw new AppError('session-ended')
    const sub = subjectOf(client.subjectSalt, caller.id)
    return { sub, ...(await this.#claims(caller, caller.scope ?? '')) }
  }

  /** RFC 7662. A client sees its own tokens only. */
  async introspect(client: Client, token: string): Promise<Introspection> {
    const { sessions, issuer } = this.#deps
    const inactive = { active: false }
    const claims = await sessions.verify(token)
    if (claims) {
      const { sub, sid, jti, iat, exp, audience: aud, clientId: client_id, roles } = claims
      if (client_id !== client.id && aud !== client.id) return inactive
      const live = await liveCaller(sessions, token)
      if (!live) return inactive
      const about = { active: true, token_type: 'Bearer', scope: live.scope ?? '', client_id }
      const ofPerson = sid === null ? {} : { sid, roles: [...roles] }
      return { ...about, sub, ...ofPerson, iss: issuer, aud, iat, exp, jti }
    }
    const session = await sessions.withRefreshToken(token, client.id)
    if (!session) return inactive
    return {
      active: true,
      token_type: 'refresh_token',
      scope: session.scope ?? '',
      client_id: client.id,
      sub: subjectOf(client.subjectSalt, session.id),
      sid: session.session_id,
      iss: issuer,
      aud: client.id,
      exp: Math.floor(session.expires_at / 1000),
    }
  }

  /** RFC 7009: ends the session of the token, if it is this client's. */
  async revoke(client: Client, token: string, by: By): Promise<void> {
    const { db, sessions } = this.#deps
    const claims = await sessions.verify(token)
    if (!claims) return sessions.signOut(token, by, client.id)
    if (claims.clientId !== client.id) return
    if (claims.sid === null) return void (await db.tx([store.removeServiceToken(claims.jti, client.id)]))
    const session = await liveCaller(sessions, token)
    if (session && session.role !== 'service') await sessions.end(session, 'signed-out', by, client.id)
  }

  /** On its own: whoever changes a client locks it first, and then its sessions. */
  async #noteUsed(client: Client, now: number): Promise<void> {
    await this.#deps.db.tx(store.noteClientUsed(client, now))
  }

  sweep(now: number) {
    return [store.pruneServiceTokens(now)]
  }

  async #reply(
    client: Client,
    session: AtClient,
    scope: string,
    { nonce, refreshToken }: { nonce: string | null; refreshToken: string },
  ): Promise<ClientTokens> {
    const { sessions, issuer } = this.#deps
    const scopes = scope.split(' ')
    const isUsedHere = scopesHere.some((here) => scopes.includes(here))
    const audience = isUsedHere ? issuer : client.id
    const who = { sub: subjectOf(client.subjectSalt, session.id), sid: session.session_id }
    const about = { roles: [session.role], jti: newId(), clientId: client.id, audience, scope }
    const accessToken = await sessions.accessToken({ ...who, ...about })
    return {
      ...bearer(accessToken, scope),
      ...(scopes.includes('openid') && { id_token: await this.#idToken(client, session, scope, nonce) }),
      refresh_token: refreshToken,
    }
  }

  async #idToken(client: Client, session: AtClient, scope: string, nonce: string | null): Promise<string> {
    const { keys, clock, issuer } = this.#deps
    const reader = { scope, knowsIds: client.subjectSalt === null }
    const claims = {
      iss: issuer,
      aud: client.id,
      sub: subjectOf(client.subjectSalt, session.id),
      sid: session.session_id,
      ...(session.auth_at !== null && { auth_time: Math.floor(session.auth_at / 1000) }),
      acr: acrOf(session.method),
      amr: amrOf[session.method],
      ...(nonce !== null && { nonce }),
      ...(client.claimsInIdToken && readable(UserInfo, await this.#claims(session, scope), reader)),
    }
    const times = { now: clock.now(), ttlMs: accessTtlMs }
    return signToken(await keys.signer(client.idTokenAlg), 'JWT', claims, times)
  }

  async #claims(person: PersonInSession & Pick<Session, 'language'>, scope: string): Promise<Claims> {
    const scopes = scope.split(' ')
    if (!scopes.includes('profile') && !scopes.includes('email')) return {}
    const facts: Facts = await this.#deps.roles[person.role].factsOf(person)
    return claimsOf(person, facts)
  }
}

function bearer(access_token: string, scope: string) {
  return { access_token, token_type: 'Bearer', expires_in: accessTtlMs / 1000, scope } as const
}

/** All that was granted, or the part that is asked for. */
export function narrowed(granted: string, asked: string | undefined): string {
  if (asked === undefined) return granted
  const scopes = knownScopes(asked)
  if (scopes.length === 0) throw new OAuthError('invalid_scope', 'scope names no scope that Chiron knows.')
  const refused = beyond(scopes, granted.split(' '))
  if (refused) throw new OAuthError('invalid_scope', `The scope ${refused} was not granted.`)
  return scopes.join(' ')
}

const verifierPattern = /^[A-Za-z0-9._~-]{43,128}$/

/** RFC 7636. A verifier without a challenge is refused, or a code could be swapped for one without. */
function fitsChallenge(challenge: string | null, verifier: string | undefined): boolean {
  if (challenge === null && verifier === undefined) return true
  const given = hash('sha256', verifier ?? '', 'buffer')
  const wanted = Buffer.from(challenge ?? '', 'base64url')
  const isRight = wanted.length === given.length && timingSafeEqual(wanted, given)
  return isRight && verifierPattern.test(verifier ?? '')
}

/** Null if the token no longer works. */
async function liveCaller(sessions: Sessions, token: string) {
  try {
    return await sessions.authenticate(token)
  } catch (error) {
    if (error instanceof AppError && (error.code === 'session-ended' || error.code === 'invalid-token'))
      return null
    throw error
  }
}
