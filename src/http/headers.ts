/** Headers of every reply. Pages use a wider content policy. */
export const apiVersion = '1'

const apiContentPolicy = "default-src 'none'; frame-ancestors 'none'"

const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
]
// Blocks every way of turning text into markup or script.
const trustedTypes = ["require-trusted-types-for 'script'", "trusted-types 'none'"]

export const pageContentPolicy = [...pagePolicy, "img-src 'self'", ...trustedTypes].join('; ')
export const mailboxContentPolicy = `${pageContentPolicy}; frame-src 'self'`
/** The school's logo, also if somebody opens it by itself. */
export const logoContentPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
/** Swagger UI has images in its style sheet and sets innerHTML. */
export const referenceContentPolicy = [...pagePolicy, "img-src 'self' data:"].join('; ')

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

/** Defaults; a route may override them. */
export function commonHeaders(https: boolean): Readonly<Record<string, string>> {
  return { ...everywhere, ...(https && transportSecurity) }
}
