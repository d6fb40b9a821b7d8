/** Headers of every reply. Pages use a wider content policy. */
import { type Clock, second } from '../lib/clock.ts'

export const apiVersion = '1'

const apiContentPolicy = "default-src 'none'; frame-ancestors 'none'"

const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
]
// Blocks every way of turning text into markup or script.
const trustedTypes = (policies: string) => ["require-trusted-types-for 'script'", `trusted-types ${policies}`]

const withTypes = (policies: string) =>
  [...pagePolicy, "img-src 'self'", ...trustedTypes(policies)].join('; ')

export const pageContentPolicy = withTypes("'none'")
/** The portal names its service worker through a policy of its own (web/src/register-worker.ts). */
export const portalContentPolicy = withTypes('worker')
/**
 * For a page that posts an answer to an application's address. Not for that host alone: Chrome holds redirects against
 * the list, too, and the application may send the browser on to another.
 */
export const portalPolicyToPost = (to: string) =>
  portalContentPolicy.replace(
    "form-action 'self'",
    `form-action 'self' https:${to.startsWith('http:') ? ' http:' : ''}`,
  )
export const mailboxContentPolicy = `${pageContentPolicy}; frame-src 'self'`
/** The service worker fetches the portal's files and nothing else. */
export const workerContentPolicy = "default-src 'none'; connect-src 'self'"
/** A logo, also when opened directly. */
export const logoContentPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"

const everywhere = {
  'api-version': apiVersion,
  'cache-control': 'no-store',
  'content-security-policy': apiContentPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-permitted-cross-domain-policies': 'none',
}
const transportSecurity = { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }

/** For the `Date` header, which the portal sets its clock by. */
export function httpDate(clock: Clock): () => string {
  let made = Number.NaN
  let text = ''
  return () => {
    const now = Math.floor(clock.now() / second)
    if (now !== made) {
      made = now
      text = new Date(now * second).toUTCString()
    }
    return text
  }
}

/** Defaults; a route may override them. */
export function commonHeaders(https: boolean): Readonly<Record<string, string>> {
  return { ...everywhere, ...(https && transportSecurity) }
}
