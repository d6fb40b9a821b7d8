/**
 * The OpenID protocol with a provider; the only file that uses openid-client, which is loaded at the first use. It keeps
 * the provider's metadata and keys for a while. Callers share a request that is under way, and after a failure nobody
 * asks again for some seconds, so a provider that is slow or down costs little.
 */
import { AppError } from '../../errors.ts'
import type { Context } from '../../platform/context.ts'
import { BoundedMap } from '../../platform/lib/bounded-map.ts'
import { minute, second } from '../../platform/lib/clock.ts'
import { isLoopbackHost } from '../../platform/lib/network.ts'
import { Unreachable } from '../../platform/lib/reachable.ts'
import { type ForeignKeys, verifyForeignToken } from '../session/session.ts'
import { type Claims, isClaimText, Refused } from './claims.ts'
import type { GuardedFetch } from './guarded-fetch.ts'
import type { InProgress } from './in-progress.ts'

type Library = typeof import('openid-client')
type Configuration = InstanceType<Library['Configuration']>
type Metadata = ReturnType<Configuration['serverMetadata']>

const metadataKeptMs = 10 * minute
const keysKeptMs = 10 * minute
/** An unknown key may be a new one. Keys are fetched again for it at most this often. */
const keysAgainMs = 10 * second
const failureKeptMs = 10 * second
const clockToleranceSeconds = 60
const authTimeSlackMs = 5 * second
const logoutAgeMaxSeconds = 600
const providersKept = 100
/** For `probe`. */
const dryVerifier = 'dry-run-'.repeat(6)
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'

/** A provider as the protocol needs it. */
export interface OpenIdClient {
  readonly id: string
  readonly issuer: string
  readonly clientId: string
  readonly secret: string
  /** Whether the token endpoint wants the secret in the body, where it takes both. */
  readonly secretInBody: boolean
}

export interface Answered {
  /** Those of the ID token, and those of userinfo if it was asked. */
  readonly claims: Claims
  readonly userinfo: Claims | null
  readonly sub: string
  readonly sid: string | null
  /** When the person proved who they are there, if the provider says so. */
  readonly provedAt: number | null
}

export interface LogoutToken {
  readonly sub: string | null
  readonly sid: string | null
  readonly issuedAt: number
}

interface Known {
  /** The provider's settings when it was fetched. */
  readonly for: string
  readonly metadata: Promise<Metadata>
  readonly at: number
  failedAt: number | null
  keys: { readonly set: ForeignKeys; readonly at: number } | null
}

interface Deps extends Pick<Context, 'clock'> {
  readonly fetch: GuardedFetch
  readonly redirectUri: string
}

export class OpenId {
  readonly #deps: Deps
  readonly #known = new BoundedMap<string, Known>(providersKept)

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Where the browser has to go. */
  async authorizationUrl(
    client: OpenIdClient,
    { state, nonce, verifier }: Pick<InProgress, 'state' | 'nonce' | 'verifier'>,
    more: Readonly<Record<string, string>>,
  ): Promise<string> {
    const [library, configuration] = await Promise.all([load(), this.#configuration(client)])
    const url = library.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#deps.redirectUri,
      scope: 'openid email profile',
      state,
      nonce,
      code_challenge: await library.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...more,
    })
    if (!isSafe(url)) throw new Unreachable('its authorization endpoint needs https')
    return url.href
  }

  /** Exchanges the answer for the claims. Throws `Refused`. `search` is the query of the answer. */
  async answer(
    client: OpenIdClient,
    search: string,
    { state, nonce, verifier, startedAt }: InProgress,
    needed: readonly string[],
  ): Promise<Answered> {
    const url = new URL(`${this.#deps.redirectUri}${search}`)
    // Before anything is sent anywhere: the answer of another provider must not spend its code here (RFC 9207).
    const from = url.searchParams.get('iss')
    if (from !== null && from !== client.issuer) throw new Refused('issuer')
    try {
      const [library, configuration] = await Promise.all([load(), this.#configuration(client)])
      const tokens = await library.authorizationCodeGrant(configuration, url, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      })
      const claims = await this.#verify(client, configuration, tokens.id_token!)
      if (!claims) throw new Refused('token')
      const { sub, sid = null, auth_time } = claims
      if (!isClaimText(sub)) throw new Refused('subject')
      if (sid !== null && !isClaimText(sid)) throw new Refused('claims')
      const userinfo = await this.#userinfo(configuration, claims, tokens.access_token, needed)
      return { claims, userinfo, sub, sid, provedAt: provedAt(auth_time, startedAt, this.#deps.clock.now()) }
    } catch (error) {
      throw asRefused(error)
    }
  }

  /** Null if the token is not one of this provider's for us. */
  async logoutToken(client: OpenIdClient, token: string): Promise<LogoutToken | null> {
    const configuration = await this.#configuration(client)
    const claims = await this.#verify(client, configuration, token)
    if (!claims) return null
    const { sub, sid, iat, events, nonce } = claims
    const isLogout = typeof events === 'object' && events !== null && logoutEvent in events
    const nowSeconds = this.#deps.clock.now() / 1000
    if (!isLogout || nonce !== undefined || typeof iat !== 'number') return null
    if (iat < nowSeconds - logoutAgeMaxSeconds || iat > nowSeconds + clockToleranceSeconds) return null
    const named = { sub: isClaimText(sub) ? sub : null, sid: isClaimText(sid) ? sid : null }
    return named.sub === null && named.sid === null ? null : { ...named, issuedAt: Math.floor(iat * 1000) }
  }

  /** Fetches metadata and keys again, and offers the provider a code that cannot work. Throws `Unreachable` or others. */
  async probe(client: OpenIdClient): Promise<Probe> {
    this.#known.delete(client.id)
    const [library, configuration] = await Promise.all([load(), this.#configuration(client)])
    const metadata = configuration.serverMetadata()
    const keys = await this.#keys(client, configuration, true)
    const methods = metadata.code_challenge_methods_supported
    let answered = ''
    try {
      await library.genericGrantRequest(configuration, 'authorization_code', {
        code: 'dry-run',
        redirect_uri: this.#deps.redirectUri,
        code_verifier: dryVerifier,
      })
    } catch (error) {
      const { error: name, cause } = error as { error?: unknown; cause?: unknown }
      if (cause instanceof Unreachable) throw cause
      answered = typeof name === 'string' ? name : 'no OAuth error'
    }
    return {
      refusal: await this.#enter(client),
      keys: keys.keys.length,
      pkce: methods === undefined ? null : methods.includes('S256'),
      claims: metadata.claims_supported ?? null,
      answered,
    }
  }

  /** Opens the provider's form as a browser would; returns why it is not shown, or null. */
  async #enter(client: OpenIdClient): Promise<string | null> {
    const dry = { state: 'dry-run', nonce: 'dry-run', verifier: dryVerifier }
    const { status, headers } = await this.#get(await this.authorizationUrl(client, dry, {}), 'text/html')
    if (status >= 400) return `it answered ${status}; is the redirect URI registered there?`
    const back = headers.get('location') ?? ''
    if (!back.startsWith(this.#deps.redirectUri)) return null
    const error = URL.parse(back)?.searchParams.get('error') ?? null
    return error === null ? null : `it answered ${error}`
  }

  forget(providerId: string): void {
    this.#known.delete(providerId)
  }

  /** Made for each use, because the library reads the clock's difference only here. */
  async #configuration(client: OpenIdClient): Promise<Configuration> {
    const [library, metadata] = await Promise.all([load(), this.#knownOf(client).metadata])
    const { clockSkew, clockTolerance, ClientSecretPost, ClientSecretBasic } = library
    const methods = metadata.token_endpoint_auth_methods_supported
    const { clientId, secret, secretInBody } = client
    const takesHeader = methods === undefined || methods.includes('client_secret_basic')
    const inBody = !takesHeader || (secretInBody && methods?.includes('client_secret_post'))
    const skewMs = this.#deps.clock.now() - Date.now()
    const clocks = { [clockSkew]: Math.round(skewMs / 1000), [clockTolerance]: clockToleranceSeconds }
    const authentication = inBody ? ClientSecretPost(secret) : ClientSecretBasic(secret)
    const configuration = new library.Configuration(metadata, clientId, clocks, authentication)
    configuration[library.customFetch] = this.#deps.fetch
    if (isPlain(client)) library.allowInsecureRequests(configuration)
    return configuration
  }

  #knownOf(client: OpenIdClient): Known {
    const now = this.#deps.clock.now()
    const mark = JSON.stringify([client.issuer, client.clientId, client.secret])
    const before = this.#known.get(client.id)
    const keptMs = before?.failedAt == null ? metadataKeptMs : failureKeptMs
    if (before && before.for === mark && now - (before.failedAt ?? before.at) < keptMs) return before
    this.#known.delete(client.id)
    const metadata = this.#discover(client)
    const known: Known = { for: mark, metadata, at: now, failedAt: null, keys: null }
    metadata.catch(() => {
      known.failedAt = this.#deps.clock.now()
    })
    this.#known.set(client.id, known)
    return known
  }

  async #discover(client: OpenIdClient): Promise<Metadata> {
    const library = await load()
    const found = await library.discovery(new URL(client.issuer), client.clientId, {}, library.None(), {
      [library.customFetch]: this.#deps.fetch,
      ...(isPlain(client) && { execute: [library.allowInsecureRequests] }),
    })
    const metadata = found.serverMetadata()
    // The exact text is pinned, and tokens carry it.
    if (metadata.issuer !== client.issuer) throw new Unreachable('its metadata names another issuer')
    return metadata
  }

  /** The claims of a token that the provider signed for us; null for any other. */
  async #verify(client: OpenIdClient, configuration: Configuration, token: string): Promise<Claims | null> {
    const { issuer, clientId: audience } = client
    const now = this.#deps.clock.now()
    const expected = { issuer, audience, now, toleranceSeconds: clockToleranceSeconds }
    let read = await verifyForeignToken(token, await this.#keys(client, configuration), expected)
    if (read === 'unknown-key')
      read = await verifyForeignToken(token, await this.#keys(client, configuration, true), expected)
    if (read === null || read === 'unknown-key') return null
    // `azp` names the client that the token was made for, whoever else is in its audience.
    return read.azp === undefined || read.azp === audience ? read : null
  }

  async #keys(client: OpenIdClient, configuration: Configuration, again = false): Promise<ForeignKeys> {
    const known = this.#knownOf(client)
    const now = this.#deps.clock.now()
    if (known.keys && now - known.keys.at < (again ? keysAgainMs : keysKeptMs)) return known.keys.set
    const { jwks_uri: address } = configuration.serverMetadata()
    if (address === undefined) throw new Unreachable('its metadata names no keys')
    const response = await this.#get(address, 'application/json')
    const body: unknown = response.ok ? await response.json().catch(() => null) : null
    if (!isKeySet(body)) throw new Unreachable('its keys cannot be read')
    known.keys = { set: body, at: now }
    return body
  }

  #get(address: string, accept: string): Promise<Response> {
    return this.#deps.fetch(address, { method: 'GET', headers: { accept } })
  }

  /** Some providers, proxies above all, give claims only at userinfo. Null if it need not be asked. */
  async #userinfo(
    configuration: Configuration,
    claims: Claims,
    accessToken: string,
    needed: readonly string[],
  ): Promise<Claims | null> {
    const { userinfo_endpoint } = configuration.serverMetadata()
    if (userinfo_endpoint === undefined || needed.every((name) => claims[name] !== undefined)) return null
    const library = await load()
    return library.fetchUserInfo(configuration, accessToken, claims.sub as string)
  }
}

/**
 * The moment of `auth_time`; null without one, or with one that cannot be. Providers count whole seconds and clocks
 * differ, so somebody who was asked during this sign-in has proved it since the sign-in began.
 */
function provedAt(authTime: unknown, startedAt: number, now: number): number | null {
  if (typeof authTime !== 'number' || authTime < 0) return null
  const at = Math.floor(authTime * 1000)
  if (at > now + clockToleranceSeconds * 1000) return null
  return Math.min(now, at >= startedAt - authTimeSlackMs ? Math.max(at, startedAt) : at)
}

export interface Probe {
  /** Why the provider does not show its form; null if it does. */
  readonly refusal: string | null
  readonly keys: number
  /** Null if the provider does not say. */
  readonly pkce: boolean | null
  readonly claims: readonly string[] | null
  /** The OAuth error for a code that nobody issued: `invalid_grant` if our credentials are right. */
  readonly answered: string
}

let library: Promise<Library> | undefined
const load = () => (library ??= import('openid-client'))

const isPlain = ({ issuer }: OpenIdClient) => issuer.startsWith('http:')

const isSafe = (url: URL) =>
  url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname))

function isKeySet(body: unknown): body is ForeignKeys {
  return typeof body === 'object' && body !== null && Array.isArray((body as { keys?: unknown }).keys)
}

function asRefused(error: unknown): Error {
  if (error instanceof Refused || error instanceof AppError) return error
  if (isUnreachable(error)) return new Refused('provider-unreachable', { cause: error })
  const causes: (Error & { code?: unknown })[] = causesOf(error)
  const claims = causes.map(({ cause }) => (cause as { claim?: unknown } | undefined)?.claim)
  if (claims.includes('iss')) return new Refused('issuer', { cause: error })
  const isTheirs = causes.some(({ code }) => theirFaults.some((one) => one === code))
  return new Refused(isTheirs ? 'provider-refused' : 'token', { cause: error })
}

const theirFaults = [
  'OAUTH_AUTHORIZATION_RESPONSE_ERROR',
  'OAUTH_RESPONSE_BODY_ERROR',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_WWW_AUTHENTICATE_CHALLENGE',
]

/** The library wraps errors, its own and those of requests. */
function causesOf(error: unknown): Error[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : []
}

export function isUnreachable(error: unknown): boolean {
  return causesOf(error).some((one) => one instanceof Unreachable)
}
