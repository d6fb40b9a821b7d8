/** Headers that every reply carries. Pages widen the content policy for themselves. */
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
// No text becomes markup or script anywhere on the page.
const trustedTypes = ["require-trusted-types-for 'script'", "trusted-types 'none'"]

export const pageContentPolicy = [...pagePolicy, "img-src 'self'", ...trustedTypes].join('; ')
/** Mails are shown in frames. */
export const mailboxContentPolicy = `${pageContentPolicy}; frame-src 'self'`
/** Swagger UI has its pictures in its style sheet and writes markup. */
export const referenceContentPolicy = [...pagePolicy, "img-src 'self' data:"].join('; ')

const everywhere = {
  'API-Version': apiVersion,
  'Cache-Control': 'no-store',
  'Content-Security-Policy': apiContentPolicy,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Origin-Agent-Cluster': '?1',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'X-Permitted-Cross-Domain-Policies': 'none',
}
const transportSecurity = { 'Strict-Transport-Security': 'max-age=31536000; includeSubDomains' }

/** What a reply has before anything else is done with it; what a route says itself takes its place. */
export function commonHeaders(https: boolean): Readonly<Record<string, string>> {
  return { ...everywhere, ...(https && transportSecurity) }
}
