/**
 * CORS: only the configured origins may call, with tokens in headers and never with cookies. /.well-known is open to
 * all origins; the development mailbox, which shows codes, to none.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { pathOf } from './paths.ts'

const exposed = 'Request-Id, API-Version, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, ETag'
const preflightHeaders = {
  'Access-Control-Allow-Methods': 'GET, HEAD, POST, PATCH, DELETE',
  'Access-Control-Allow-Headers':
    'Authorization, Content-Type, API-Version, If-None-Match, Idempotency-Key, traceparent',
  'Access-Control-Max-Age': '600',
}

export function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  const allowed = new Set(origins)
  app.addHook('onRequest', (request, reply, done) => {
    if (isMailbox(request)) return done()
    const origin = request.url.startsWith('/.well-known/') ? '*' : listed(request, reply)
    if (origin === undefined) return done()
    reply.headers(readableBy(origin))
    const isPreflight =
      request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
    if (isPreflight) reply.code(204).headers(preflightHeaders).send()
    else done()
  })

  function listed({ headers }: FastifyRequest, reply: FastifyReply): string | undefined {
    if (allowed.size === 0) return undefined
    reply.header('Vary', 'Origin')
    return headers.origin !== undefined && allowed.has(headers.origin) ? headers.origin : undefined
  }
}

/** Headers of a reply that pages of this origin may read. */
export function readableBy(origin: string): Record<string, string> {
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': exposed,
    'cross-origin-resource-policy': 'cross-origin',
  }
}

export function isMailbox(request: FastifyRequest): boolean {
  return pathOf(request)?.pattern.startsWith('/mailbox') ?? false
}
