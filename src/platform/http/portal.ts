/**
 * Keeps the portal signed in: the refresh token is in a cookie that scripts cannot read. On https its name starts with
 * `__Host-`, so no other host of the domain can set it (RFC 6265bis §4.1.3.2). SameSite blocks other sites, but a
 * sibling subdomain is the same site, so Origin and Sec-Fetch-Site are checked as well. Programs other than browsers
 * send neither header and hold only their own cookies.
 *
 * On a shared computer (web/src/shared-computer.ts) the cookie ends with the browser, and no device token is left.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { day, minute } from '../lib/clock.ts'
import { isLoopbackHost } from '../lib/network.ts'

// Browsers keep a cookie for at most 400 days; a device token lives as long.
const deviceTtlMs = 400 * day
const signInElsewhereTtlMs = 10 * minute

interface Issued<Reply> {
  readonly reply: Reply
  /** Lifetime of the refresh token if it is not used. */
  readonly refreshTtlMs: number
}

interface Cookie {
  readonly name: string
  readonly value: string
  /** Null for one that lives as long as the browser is open. */
  readonly maxAgeMs: number | null
  readonly site?: 'Strict' | 'Lax'
}

export interface PortalCookie {
  readonly name: string
  /** onRequest hook: accepts only the portal's own pages. */
  refuseForeign(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void
  /** At most one, unless (on http) another host of the domain planted more. */
  tokensIn(request: FastifyRequest): string[]
  /** Moves the refresh token into the cookie and returns the rest for the body. */
  keep<Reply extends { readonly refresh_token: string }>(
    reply: FastifyReply,
    tokens: Issued<Reply>,
    shared?: boolean,
  ): Omit<Reply, 'refresh_token'>
  /** Whether others use the computer, too. */
  isShared(request: FastifyRequest): boolean
  clear(reply: FastifyReply): void
  /** The device token, in a separate cookie that outlives the session. */
  deviceTokenIn(request: FastifyRequest): string | undefined
  keepDevice(reply: FastifyReply, token: string): void
  /** A sign-in that goes on at another site. The cookie is Lax, because the answer comes from there. */
  signInElsewhereIn(request: FastifyRequest): string | undefined
  keepSignInElsewhere(reply: FastifyReply, sealed: string): void
  clearSignInElsewhere(reply: FastifyReply): void
}

export function portalCookie(publicUrl: string): PortalCookie {
  const https = publicUrl.startsWith('https:')
  const named = (name: string) => `${https ? '__Host-' : ''}${name}`
  const name = named('chiron_refresh')
  const deviceName = named('chiron_device')
  const sharedName = named('chiron_shared')
  const elsewhereName = named('chiron_school')
  const set = (reply: FastifyReply, { name, value, maxAgeMs, site = 'Strict' }: Cookie) => {
    const age = maxAgeMs === null ? '' : `Max-Age=${Math.floor(maxAgeMs / 1000)}; `
    const attributes = `Path=/; HttpOnly; SameSite=${site}${https ? '; Secure' : ''}`
    reply.header('Set-Cookie', `${name}=${value}; ${age}${attributes}`)
  }
  const clear = (reply: FastifyReply, name: string) => set(reply, { name, value: '', maxAgeMs: 0 })
  const isShared = (request: FastifyRequest) =>
    cookieValues(request.headers.cookie ?? '', sharedName).includes('1')

  return {
    name,
    refuseForeign(request, _reply, done) {
      const { origin, host, 'sec-fetch-site': site } = request.headers
      const foreign =
        (origin !== undefined && !isOwnOrigin(origin, host, publicUrl)) ||
        (site !== undefined && site !== 'same-origin')
      done(foreign ? new AppError('forbidden', 'Only the portal’s own pages may call this.') : undefined)
    },
    tokensIn: (request) => cookieValues(request.headers.cookie ?? '', name),
    isShared,
    keep(reply, { reply: { refresh_token, ...rest }, refreshTtlMs }, shared = isShared(reply.request)) {
      set(reply, { name, value: refresh_token, maxAgeMs: shared ? null : refreshTtlMs })
      return rest
    },
    clear: (reply) => clear(reply, name),
    deviceTokenIn: (request) => cookieValues(request.headers.cookie ?? '', deviceName)[0],
    keepDevice: (reply, token) =>
      isShared(reply.request)
        ? clear(reply, deviceName)
        : set(reply, { name: deviceName, value: token, maxAgeMs: deviceTtlMs }),
    signInElsewhereIn(request) {
      const [sealed, another] = cookieValues(request.headers.cookie ?? '', elsewhereName)
      return another === undefined ? sealed : undefined
    },
    keepSignInElsewhere: (reply, value) =>
      set(reply, { name: elsewhereName, value, maxAgeMs: signInElsewhereTtlMs, site: 'Lax' }),
    clearSignInElsewhere: (reply) => set(reply, { name: elsewhereName, value: '', maxAgeMs: 0, site: 'Lax' }),
  }
}

/**
 * Accepts the public URL's origin. In development also the request's own host if it is a loopback name (localhost,
 * 127.0.0.1, [::1]): browsers resolve those themselves, while any other name could be pointed here (DNS rebinding).
 */
function isOwnOrigin(origin: string, host: string | undefined, publicUrl: string): boolean {
  if (origin === publicUrl) return true
  const names = [publicUrl, origin].map((url) => URL.parse(url)?.hostname ?? '')
  return origin === `http://${host}` && names.every(isLoopbackHost)
}

function cookieValues(header: string, name: string): string[] {
  return header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
    .filter((value) => value !== '')
}
