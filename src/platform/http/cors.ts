/**
 * CORS: only the configured origins may call, with tokens in headers and never with cookies. /.well-known is open to
 * all origins; the development mailbox, which shows codes, to none. Pages of applications may call what they need for
 * their own tokens.
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

const forApplications = ['/oauth/token', '/oauth/userinfo', '/oauth/revoke']

export function allowOrigins(
  app: FastifyInstance,
  origins: readonly string[],
  /** Whether pages of this origin are an application's. */
  isApplication: (origin: string) => Promise<boolean>,
): void {
  const allowed = new Set(origins)
  app.addHook('onRequest', (request, reply, done) => {
    if (isMailbox(request)) return done()
    if (request.url.startsWith('/.well-known/')) return answer(request, reply, '*', done)
    const { origin } = request.headers
    const isOpen = forApplications.includes(request.url.split('?', 1)[0]!)
    if (allowed.size > 0 || isOpen) reply.header('Vary', 'Origin')
    if (origin === undefined) return done()
    if (allowed.has(origin)) return answer(request, reply, origin, done)
    if (!isOpen) return done()
    isApplication(origin).then((is) => (is ? answer(request, reply, origin, done) : done()), done)
  })
}

function answer(request: FastifyRequest, reply: FastifyReply, origin: string, done: () => void): void {
  reply.headers(readableBy(origin))
  const isPreflight =
    request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
  if (isPreflight) reply.code(204).headers(preflightHeaders).send()
  else done()
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
