/** Headers that every reply carries. Pages widen the content policy for themselves. */
import { type IncomingMessage, ServerResponse } from 'node:http'

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

const fixed = {
  'API-Version': apiVersion,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Origin-Agent-Cluster': '?1',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Permitted-Cross-Domain-Policies': 'none',
}
const unlessSaid = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': apiContentPolicy,
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
}
const transportSecurity = { 'Strict-Transport-Security': 'max-age=31536000; includeSubDomains' }

const asText = (headers: object) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')

type StoreHeader = (this: ServerResponse, statusLine: string, headers?: Record<string, unknown>) => void
const storeHeader = (ServerResponse.prototype as unknown as { _storeHeader: StoreHeader })._storeHeader

/**
 * A reply that has these headers whoever wrote it, so that none can go without. They join the status line as text that
 * was made once: as values of their own Node would check each of them for each reply, a tenth of a small reply's cost.
 */
export function replyWithHeaders(https: boolean): typeof ServerResponse {
  const always = asText({ ...fixed, ...(https && transportSecurity) })
  const names = Object.keys(unlessSaid).map((name) => name.toLowerCase())
  // For every choice of those that were said, by their bits.
  const texts = Array.from({ length: 1 << names.length }, (_, said) => {
    const rest = Object.entries(unlessSaid).filter((_header, i) => (said & (1 << i)) === 0)
    return always + asText(Object.fromEntries(rest))
  })

  function headersFor(said: Record<string, unknown> = {}): string {
    let bits = 0
    for (let i = 0; i < names.length; i++) if (names[i]! in said) bits |= 1 << i
    return texts[bits]!
  }

  class Reply<Request extends IncomingMessage> extends ServerResponse<Request> {
    _storeHeader(statusLine: string, headers?: Record<string, unknown>): void {
      storeHeader.call(this, statusLine + headersFor(headers), headers)
    }
  }
  return Reply
}
