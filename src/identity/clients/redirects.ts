/** Addresses of clients to which browsers are sent, after signing in or out. They are compared as they are written. */
import { isLoopbackHost } from '../../platform/lib/network.ts'
import type { ClientKind } from './kinds.ts'

const uriLengthMax = 2_000
/** What RFC 3986 allows in a URI. */
const uriPattern = /^[A-Za-z0-9\-._~:/?[\]@!$&'()+,;=%]+$/
/** The reverse of a domain name (RFC 8252, section 7.1). Schemes that browsers know have no dot. */
const privateScheme = /^[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+:/
const webPrefix = /^https?:\/\/(?!\/)/
const userInfo = /^[^/?]*:\/\/[^/?]*@/

/** What is wrong with the address; null if nothing is. */
export function redirectFault(text: string, kind: ClientKind, production: boolean): string | null {
  if (text.length > uriLengthMax) return `must have at most ${uriLengthMax} characters`
  if (text.includes('*')) return 'must not have a wildcard (*): give each address in full'
  if (text.includes('#')) return 'must not have a fragment (#)'
  const url = uriPattern.test(text) ? URL.parse(text) : null
  if (!url) return 'must be a URL such as https://app.example.org/callback'
  if (userInfo.test(text)) return 'must not have a user name or password'
  if (webPrefix.exec(text)?.[0] === 'https://') return null
  if (webPrefix.test(text)) return plainFault(url, kind, production)
  if (kind !== 'native') return 'must begin with https'
  if (privateScheme.test(text)) return null
  return 'must begin with https, with http on this machine, or with a private scheme that has a dot, such as org.example.app:/callback'
}

function plainFault(url: URL, kind: ClientKind, production: boolean): string | null {
  const isHere = isLoopbackHost(url.hostname)
  if (isHere && (kind === 'native' || !production)) return null
  if (isHere) return 'must begin with https: in production, only native apps are on the user’s own machine'
  return 'must begin with https, unless it is on the user’s own machine (127.0.0.1, [::1], localhost)'
}
