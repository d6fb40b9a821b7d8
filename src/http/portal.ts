/**
 * How the portal's own pages stay signed in: the refresh token lies in a cookie that no script can read and that goes
 * to /portal alone. SameSite keeps it from other sites, but a sibling subdomain is the same site; so what the browser
 * says of where a request comes from is checked as well. Programs that are no browsers say nothing, and have no
 * cookies but their own.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { isLoopbackHost } from '../lib/network.ts'
import type { IssuedTokens, TokenReply } from '../session/session.ts'

export interface PortalCookie {
  readonly name: string
  /** A route's onRequest hook: only from the portal's own pages. */
  refuseForeign(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void
  /** One at most, unless another host of the domain has planted more. */
  tokensIn(request: FastifyRequest): string[]
  /** Puts the refresh token into the cookie, and gives what is left for the body. */
  keep(reply: FastifyReply, tokens: IssuedTokens): Omit<TokenReply, 'refresh_token'>
  clear(reply: FastifyReply): void
}

export function portalCookie(publicUrl: string): PortalCookie {
  const https = publicUrl.startsWith('https:')
  // The browser then takes it over https only, so that nobody on the wire can plant one.
  const name = `${https ? '__Secure-' : ''}chiron_refresh`
  const attributes = `Path=/portal; HttpOnly; SameSite=Strict${https ? '; Secure' : ''}`
  const set = (reply: FastifyReply, value: string, maxAgeSeconds: number) =>
    reply.header('Set-Cookie', `${name}=${value}; Max-Age=${maxAgeSeconds}; ${attributes}`)

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
      set(reply, refresh_token, Math.floor(refreshTtlMs / 1000))
      return rest
    },
    clear: (reply) => void set(reply, '', 0),
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
