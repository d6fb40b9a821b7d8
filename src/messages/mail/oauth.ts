/**
 * The access token for a mail server that does not accept passwords (XOAUTH2): fetched with client credentials or a
 * refresh token, shared by all connections of the process, kept until shortly before it expires.
 */
import { type Clock, minute, second } from '../../platform/lib/clock.ts'

export interface OAuthSettings {
  readonly tokenUrl: string
  readonly clientId: string
  readonly clientSecret: string | null
  readonly scope: string | null
  readonly refreshToken: string | null
}

/** No token could be fetched. Its message contains no secret, so it may be logged. */
export class TokenError extends Error {}

export interface AccessToken {
  readonly text: string
  /** Epoch milliseconds, for nodemailer. */
  readonly expiresAt: number
  /** By `clock.elapsed`. */
  readonly fetched: number
  readonly lifetimeMs: number
}

const fetchTimeoutMs = 10 * second
const leewayMs = minute
const lifetimeIfUnsaidMs = 5 * minute
/** If a server refuses a token younger than this, fetching another would not help. */
const freshMs = 10 * second

export class TokenSource {
  readonly #settings: OAuthSettings
  readonly #clock: Clock
  #token: AccessToken | undefined
  #fetching: Promise<AccessToken> | undefined
  #refreshToken: string | null

  constructor(settings: OAuthSettings, clock: Clock) {
    this.#settings = settings
    this.#clock = clock
    this.#refreshToken = settings.refreshToken
  }

  get(): Promise<AccessToken> {
    const token = this.#token
    const isFresh = token && this.#clock.elapsed() - token.fetched < token.lifetimeMs - leewayMs
    if (isFresh) return Promise.resolve(token)
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined
    })
    return this.#fetching
  }

  /** The server refused a token that was in use at `used`, by `clock.elapsed`. Returns whether there is, or will be, a newer one. */
  refused(used: number): boolean {
    const fetched = this.#token?.fetched
    if (fetched === undefined || fetched > used) return true
    if (this.#clock.elapsed() - fetched < freshMs) return false
    this.#token = undefined
    return true
  }

  async #fetch(): Promise<AccessToken> {
    const { tokenUrl, clientId, clientSecret, scope } = this.#settings
    const form = new URLSearchParams({
      client_id: clientId,
      ...(this.#refreshToken === null
        ? { grant_type: 'client_credentials' }
        : { grant_type: 'refresh_token', refresh_token: this.#refreshToken }),
      ...(clientSecret !== null && { client_secret: clientSecret }),
      ...(scope !== null && { scope }),
    })
    const { status, body } = await post(tokenUrl, form)
    const { access_token, expires_in, refresh_token, error } = body
    if (typeof access_token !== 'string' || access_token === '')
      throw new TokenError(
        `the token server ${new URL(tokenUrl).host} answered ${status}${errorName(error)} instead of a token`,
      )
    // Some servers replace the refresh token with every use.
    if (this.#refreshToken !== null && typeof refresh_token === 'string') this.#refreshToken = refresh_token
    const seconds = Number(expires_in)
    const lifetimeMs = seconds > 0 ? seconds * second : lifetimeIfUnsaidMs
    const expiresAt = this.#clock.now() + lifetimeMs
    this.#token = { text: access_token, fetched: this.#clock.elapsed(), lifetimeMs, expiresAt }
    return this.#token
  }
}

async function post(url: string, form: URLSearchParams) {
  const { host } = new URL(url)
  try {
    const reply = await fetch(url, {
      method: 'POST',
      body: form,
      headers: { Accept: 'application/json' },
      redirect: 'error',
      signal: AbortSignal.timeout(fetchTimeoutMs),
    })
    const body: unknown = await reply.json().catch(() => null)
    return { status: reply.status, body: (body ?? {}) as Record<string, unknown> }
  } catch (error) {
    const { name, cause } = error as { name?: string; cause?: { code?: string } }
    const why =
      name === 'TimeoutError' ? 'did not answer in time' : `cannot be reached (${cause?.code ?? name})`
    throw new TokenError(`the token server ${host} ${why}`)
  }
}

/** Only error names of RFC 6749 §5.2: a description may quote the request. */
function errorName(error: unknown): string {
  return typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? ` ${error}` : ''
}
