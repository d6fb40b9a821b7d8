/**
 * Who may call what. Every route says so when it is added (`access: 'public'` is a choice, never a default), and a
 * route that says nothing stops the start. The session of a request with a token is looked up here, once.
 */
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import type { CallerNetwork } from '../limits/limits.ts'
import type { Role } from '../people/people.ts'
import type { LiveSession, Sessions } from '../session/session.ts'
import { bearerToken } from './bearer.ts'
import { type MemoryBuckets, memoryPolicies, showLimit } from './limits.ts'

export interface RouteConfig {
  readonly access: 'public' | 'signed-in' | Role
  /** Which limit counts the call when no token does: the network's, one of its own in the store, or none. */
  readonly limit?: 'network' | 'own' | 'none'
}

export interface AccessDeps {
  readonly sessions: Sessions
  /** Absent when limits are off. */
  readonly buckets: MemoryBuckets | null
  readonly log: FastifyBaseLogger
  networkOf(request: FastifyRequest): CallerNetwork
}

const caller = Symbol('caller')

interface Identified {
  [caller]: LiveSession | null
}

/** The caller of a route whose access is not public; say the role if that is the access. */
export function callerOf<R extends Role = Role>(request: FastifyRequest): LiveSession<R> {
  const session = (request as unknown as Identified)[caller]
  if (!session) throw new Error(`${request.routeOptions.url} is public and has no caller`)
  return session as LiveSession<R>
}

/**
 * Counts, against the network, a call that failed before anything counted it: an unknown path, or a body that never
 * reached a route with a limit of its own. Throws the refusal.
 */
export function countUncounted(deps: Pick<AccessDeps, 'buckets' | 'networkOf'>) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const { limit } = request.routeOptions.config as unknown as RouteConfig
    if (!deps.buckets || reply.hasHeader('RateLimit') || !(request.is404 || limit === 'own')) return
    showLimit(reply, deps.buckets.take(memoryPolicies.network, deps.networkOf(request).fingerprint))
  }
}

export function guardAccess(app: FastifyInstance, deps: AccessDeps): void {
  app.decorateRequest(caller as never, null as never)
  app.addHook('onRoute', (route) => {
    if (!(route.config as Partial<RouteConfig> | undefined)?.access) {
      throw new Error(`${route.method} ${route.url} does not say who may call it`)
    }
  })

  app.addHook('onRequest', (request, reply, done) => {
    const { access, limit = 'network' } = request.routeOptions.config as unknown as RouteConfig
    if (access === 'public') {
      if (limit === 'network') countNetwork(request, reply)
      return done()
    }
    identify(request, reply, access).then(done as () => void, done)
  })

  async function identify(request: FastifyRequest, reply: FastifyReply, access: 'signed-in' | Role) {
    let session: LiveSession
    try {
      session = await deps.sessions.authenticate(bearerToken(request))
    } catch (error) {
      countNetwork(request, reply)
      throw error
    }
    deps.buckets?.take(memoryPolicies.session, session.session_id)
    if (access !== 'signed-in' && session.role !== access) {
      throw new AppError('forbidden', `This is for a ${access}'s token.`, {
        headers: { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' },
      })
    }
    ;(request as unknown as Identified)[caller] = session
    deps.sessions
      .touch(session)
      ?.catch((error) => deps.log.warn({ requestId: request.id, err: error }, 'a session was not noted'))
  }

  function countNetwork(request: FastifyRequest, reply: FastifyReply): void {
    if (!deps.buckets) return
    showLimit(reply, deps.buckets.take(memoryPolicies.network, deps.networkOf(request).fingerprint))
  }
}
