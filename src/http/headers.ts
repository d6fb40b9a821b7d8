/** Headers that every reply carries. Pages widen the content policy for themselves. */

export const apiVersion = '1'

const apiContentPolicy = "default-src 'none'; frame-ancestors 'none'"

export const pageContentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

export function commonHeaders(https: boolean): Record<string, string> {
  return {
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
    ...(https && { 'Strict-Transport-Security': 'max-age=31536000; includeSubDomains' }),
  }
}
