/**
 * How the portal's own pages stay signed in: the refresh token lies in a cookie that no script can read. On https its
 * name begins with `__Host-`, so that no other host of the domain can set one (RFC 6265bis §4.1.3.2). SameSite keeps it from other sites, but a sibling subdomain is the same site; so what the browser
 * says of where a request comes from is checked as well. Programs that are no browsers say nothing, and have no
 * cookies but their own.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { day } from '../lib/clock.ts'
import { isLoopbackHost } from '../lib/network.ts'

// As long as a browser keeps a cookie at most, and as a device token lives.
const deviceTtlMs = 400 * day

/** Tokens as they were issued. */
interface Issued<Reply> {
  readonly reply: Reply
  /** How long the refresh token lives if nobody uses it. */
  readonly refreshTtlMs: number
}

export interface PortalCookie {
  readonly name: string
  /** A route's onRequest hook: only from the portal's own pages. */
  refuseForeign(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void
  /** One at most, unless on http another host of the domain has planted more. */
  tokensIn(request: FastifyRequest): string[]
  /** Puts the refresh token into the cookie, and gives what is left for the body. */
  keep<Reply extends { readonly refresh_token: string }>(
    reply: FastifyReply,
    tokens: Issued<Reply>,
  ): Omit<Reply, 'refresh_token'>
  clear(reply: FastifyReply): void
  /** The device's proof that somebody signed in on it, in a cookie of its own that outlives the session. */
  deviceTokenIn(request: FastifyRequest): string | undefined
  keepDevice(reply: FastifyReply, token: string): void
}

export function portalCookie(publicUrl: string): PortalCookie {
  const https = publicUrl.startsWith('https:')
  const named = (name: string) => `${https ? '__Host-' : ''}${name}`
  const name = named('chiron_refresh')
  const deviceName = named('chiron_device')
  const attributes = `Path=/; HttpOnly; SameSite=Strict${https ? '; Secure' : ''}`
  const set = (reply: FastifyReply, cookie: string, value: string, maxAgeMs: number) =>
    reply.header('Set-Cookie', `${cookie}=${value}; Max-Age=${Math.floor(maxAgeMs / 1000)}; ${attributes}`)

  return {
    name,
    refuseForeign(request, _reply, done) {
      const { origin, host, 'sec-fetch-site': site } = request.headers
      const foreign =
        (origin !== undefined && !isOwnOrigin(origin, host, publicUrl)) ||
        (site !== undefined && site !== 'same-origin')
      done(foreign ? new AppError('forbidden', 'This is for the portal’s own pages.') : undefined)
    },
    tokensIn: (request) => cookieValues(request.headers.cookie ?? '', name),
    keep(reply, { reply: { refresh_token, ...rest }, refreshTtlMs }) {
      set(reply, name, refresh_token, refreshTtlMs)
      return rest
    },
    clear: (reply) => void set(reply, name, '', 0),
    deviceTokenIn: (request) => cookieValues(request.headers.cookie ?? '', deviceName)[0],
    keepDevice: (reply, token) => void set(reply, deviceName, token, deviceTtlMs),
  }
}

/**
 * The public URL's origin. In development the service answers to every name of this machine (localhost, 127.0.0.1,
 * [::1]), so there the request's own host counts as well: only if it is such a name, for any other can be made to
 * lead here (DNS rebinding), while these the browser resolves by itself.
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
