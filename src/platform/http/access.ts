/**
 * Decides who may call a route. Every route declares its access (`public` is never a default); one that does not stops
 * the startup. The session behind a token is looked up here, once per request.
 */
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  preSerializationHookHandler,
  preValidationHookHandler,
  RouteOptions,
} from 'fastify'
import { AppError } from '../../errors.ts'
import { type Right, type Role, roles } from '../../roles.ts'
import type { Context } from '../context.ts'
import type { BucketState, CallerNetwork } from '../lib/bucket.ts'
import type { By } from '../lib/by.ts'
import { minute } from '../lib/clock.ts'
import { type Reader, readable, readablePart } from '../lib/readable.ts'
import { bearerToken } from './bearer.ts'
import { type MemoryBuckets, memoryPolicies, showLimit } from './limits.ts'
import { hasOtherMethod } from './paths.ts'
import type { PortalCookie } from './portal.ts'

const unknownShown = 10
/** `portal`: nobody’s token is needed, but only the portal’s own pages may call it. */
const accesses = ['public', 'portal', 'signed-in', 'client', 'service', ...roles] as const
export type Access = (typeof accesses)[number]

export interface RouteConfig extends FastifyContextConfig {
  readonly access: Access
  /** The right that a member of staff needs; an admin has all. */
  readonly may?: Right | 'any'
  /** The scope with which a client may call it, too. Without one, no client may. */
  readonly scope?: string
  /** Whether the token may be in the form of a POST. */
  readonly tokenInForm?: true
  /** Which limit counts a call without a token: the network’s, one of the route’s own in the store, or none. */
  readonly limit?: 'network' | 'own' | 'none'
  /** How long ago the caller may have proved who they are, for actions that are hard to undo. */
  readonly provedWithinMs?: number
  /** Whether members of staff may call it who have to use a passkey and have not yet. */
  readonly beforePasskey?: true
  /** How long the body may take to arrive, if longer than usual. */
  readonly bodyWithinMs?: number
}

/** Staff need a right, and applications a scope. */
export type AccessOf<A extends Access> = Omit<RouteConfig, 'access' | 'may'> & {
  readonly access: A
} & (A extends 'staff'
    ? { readonly may: Right | 'any' }
    : A extends 'client' | 'service'
      ? { readonly scope: string; readonly may?: never }
      : { readonly may?: never })

const staffChangeWithinMs = 30 * minute

/** For actions of staff that are hard to undo, which need a recent sign-in. */
export const staffChange = (may: Right) =>
  ({ access: 'staff', may, provedWithinMs: staffChangeWithinMs }) as const

/** For actions of the owner that are hard to undo. */
export const ownChangeWithinMs = 10 * minute

const configOf = (route: { config?: FastifyContextConfig }) =>
  route.config as Partial<RouteConfig> | undefined

export interface Identity extends Reader {
  readonly id: string
  readonly session_id: string
  readonly role: Role
  /** When the person last proved who they are in this session, and how; null if nobody has said when. */
  readonly auth_at: number | null
  readonly method: string
  /** The rights of a member of staff, comma-separated. */
  readonly may?: string
  /** The client that calls for the person. */
  readonly client_id: string | null
}

/** A client that calls for itself. */
export interface ServiceIdentity {
  readonly role: 'service'
  readonly session_id: string
  readonly client_id: string
  readonly scope: string
}

interface Deps extends Pick<Context, 'clock' | 'log'> {
  readonly sessions: {
    authenticate(token: string): Promise<Identity | ServiceIdentity>
    touch(caller: Identity): Promise<unknown> | undefined
  }
  readonly proofs: {
    /** Whether the caller must prove who they are with a passkey before anything else. */
    mustUsePasskey(caller: Identity): boolean
    /** How the caller can prove again who they are. */
    methodsOf(caller: Identity): Promise<readonly string[]>
  }
  /** Null when limits are off. */
  readonly buckets: MemoryBuckets | null
  readonly portal: Pick<PortalCookie, 'refuseForeign'>
  networkOf(request: FastifyRequest): CallerNetwork
}

/**
 * Counts a call against its network if it failed before any limit was applied: an unknown path, another method, or a body
 * that never reached a route with its own limit. Throws if the limit is exceeded.
 */
export function countUncounted(deps: Pick<Deps, 'buckets' | 'networkOf'>) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const { limit, tokenInForm } = configOf(request.routeOptions) ?? {}
    if (reply.hasHeader('RateLimit')) return
    if (!request.is404 && !hasOtherMethod(request) && limit !== 'own' && !tokenInForm) return
    countNetwork(deps, request, reply)
  }
}

function countNetwork(
  { buckets, networkOf }: Pick<Deps, 'buckets' | 'networkOf'>,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  if (buckets) showLimit(reply, buckets.take(memoryPolicies.network, networkOf(request).fingerprint))
}

const caller = Symbol('caller')

/** Checks every request to the routes that are added after it, and knows who sent it. */
export class Guard {
  readonly #deps: Deps

  constructor(app: FastifyInstance, deps: Deps) {
    this.#deps = deps
    app.decorateRequest(caller, null)
    app.addHook('onRoute', checkRoute)
    app.addHook('onRequest', (request, reply, done) => {
      const { access, limit = 'network', tokenInForm } = configOf(request.routeOptions)!
      if (access === 'public' || access === 'portal') {
        if (limit === 'network') countNetwork(deps, request, reply)
        return access === 'portal' ? deps.portal.refuseForeign(request, reply, done) : done()
      }
      if (tokenInForm) return done()
      this.#admit(request, reply).then(() => done(), done)
    })
    app.addHook('preValidation', (request, reply, done) => {
      if (!configOf(request.routeOptions)!.tokenInForm) return done()
      this.#admit(request, reply).then(() => done(), done)
    })
  }

  /** The caller of a route that needs a token of a person. */
  callerOf(request: FastifyRequest): Identity {
    const session = request.getDecorator<Identity | null>(caller)
    if (!session) throw new Error(`${request.routeOptions.url} has no caller`)
    return session
  }

  /** Who makes a change in this request: the member of staff who calls, or else the owner. */
  byOf(request: FastifyRequest): By {
    const isOfStaff = configOf(request.routeOptions)?.access === 'staff'
    const actor = isOfStaff ? this.callerOf(request).id : 'self'
    return { actor, requestId: request.id, network: this.networkOf(request).fingerprint }
  }

  networkOf(request: FastifyRequest): CallerNetwork {
    return this.#deps.networkOf(request)
  }

  /** For actions of staff that are hard to undo only in some requests. */
  mustBeRecent(request: FastifyRequest): Promise<void> {
    return this.#refuseOldProof(this.callerOf(request), staffChangeWithinMs)
  }

  async #admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { sessions, log } = this.#deps
    const config = configOf(request.routeOptions)!
    const session = await this.#authenticate(request, reply, config)
    refuseClient(session, config)
    if (session.role === 'service') return
    await this.#refusePerson(session, config)
    request.setDecorator<Identity>(caller, session)
    sessions
      .touch(session)
      ?.catch((error) =>
        log.warn({ requestId: request.id, err: error }, 'could not save when a session was last used'),
      )
  }

  async #authenticate(request: FastifyRequest, reply: FastifyReply, { tokenInForm }: Partial<RouteConfig>) {
    const { sessions, buckets } = this.#deps
    let session: Identity | ServiceIdentity
    try {
      session = await sessions.authenticate(bearerToken(request, tokenInForm))
    } catch (error) {
      countNetwork(this.#deps, request, reply)
      throw error
    }
    if (buckets) showLimit(reply, countSession(buckets, session))
    return session
  }

  async #refusePerson(session: Identity, config: Partial<RouteConfig>): Promise<void> {
    const { access, may, provedWithinMs, beforePasskey } = config
    if (access !== 'signed-in' && access !== 'client' && session.role !== access)
      throw forbidden(`This needs a token of role ${access}.`)
    if (may !== undefined && !hasRight(session, may)) throw forbidden(`This needs the right "${may}".`)
    if (!beforePasskey && this.#deps.proofs.mustUsePasskey(session))
      throw forbidden('Staff must use a passkey here. Add one, then prove who you are with it.')
    if (provedWithinMs !== undefined) await this.#refuseOldProof(session, provedWithinMs)
  }

  async #refuseOldProof(session: Identity, withinMs: number): Promise<void> {
    const { clock, proofs } = this.#deps
    if (session.auth_at !== null && clock.now() - session.auth_at <= withinMs) return
    const methods = await proofs.methodsOf(session)
    throw new AppError('recent-sign-in-required', undefined, { within: withinMs / 1000, methods })
  }
}

function countSession(buckets: MemoryBuckets, session: Identity | ServiceIdentity): BucketState {
  return session.role === 'service'
    ? buckets.take(memoryPolicies.service, session.client_id)
    : buckets.take(memoryPolicies.session, session.session_id)
}

function checkRoute(route: RouteOptions): void {
  const { access, may, scope } = configOf(route) ?? {}
  if (access === undefined || !accesses.includes(access) || (access === 'staff' && may === undefined))
    throw new Error(`${route.method} ${route.url} does not say who may call it`)
  const isForStaff = access === 'staff' || access === 'service'
  if (isForStaff && (route.method === 'GET' || route.method === 'HEAD')) refuseUnknown(route)
  if (scope !== undefined && !isForStaff) limitReplies(route)
}

const isObject = (payload: unknown): payload is object => typeof payload === 'object' && payload !== null

/** A reply to an application has only what its scopes read. */
function limitReplies(route: RouteOptions): void {
  const parts = Object.fromEntries(
    Object.entries(route.schema?.response ?? {}).map(([status, schema]) => [status, readablePart(schema)]),
  )
  if (Object.keys(parts[200]?.properties ?? {}).length === 0)
    throw new Error(`${route.method} ${route.url} does not say what applications may read`)
  const limit: preSerializationHookHandler = (request, reply, payload, done) => {
    const session = request.getDecorator<Identity | null>(caller)
    if (session?.client_id === null || reply.statusCode >= 400 || !isObject(payload))
      return done(null, payload)
    const part = parts[reply.statusCode] ?? readablePart({})
    // The schema of the whole requires what is missing here.
    reply.serializer(reply.compileSerializationSchema(part))
    done(null, readable(part, payload, session ?? { scope: null }))
  }
  route.preSerialization = [...[route.preSerialization ?? []].flat(), limit]
}

/**
 * A misspelt filter must not return everybody, so staff and services may give only the parameters that the route describes.
 * Others may give any, as links with tracking parameters do.
 */
function refuseUnknown(route: RouteOptions): void {
  const { properties = {} } = (route.schema?.querystring ?? {}) as { properties?: object }
  const known = Object.keys(properties)
  const detail =
    known.length === 0
      ? 'is unknown; this call takes no parameters'
      : `is not one of the parameters ${known.join(', ')}`
  const check: preValidationHookHandler = (request, _reply, done) => {
    const unknown = Object.keys(request.query as Record<string, unknown>).filter(
      (name) => !known.includes(name),
    )
    if (unknown.length === 0) return done()
    const errors = unknown.slice(0, unknownShown).map((parameter) => ({ parameter, detail }))
    done(new AppError('invalid-request', undefined, { errors }))
  }
  route.preValidation = [check, ...[route.preValidation ?? []].flat()]
}

function hasRight({ may = '' }: Identity, right: Right | 'any'): boolean {
  const rights = may.split(',')
  return right === 'any' || rights.includes('admin') || rights.includes(right)
}

/** Services read what staff may read, if it has their scope; applications with people never act for staff. */
function refuseClient(session: Identity | ServiceIdentity, { access, scope }: Partial<RouteConfig>): void {
  const isForClients = access === 'client' || access === 'service'
  if (session.client_id === null) {
    if (isForClients) throw forbidden('This needs a token of an application.')
    return
  }
  if (scope === undefined) throw forbidden('Applications may not call this.')
  const isForServices = access === 'service' || access === 'staff'
  if (isForServices !== (session.role === 'service') || !session.scope?.split(' ').includes(scope))
    throw forbidden(`This needs the scope ${scope}${isForServices ? ', of a service' : ''}.`)
}

function forbidden(detail: string): AppError {
  return new AppError('forbidden', detail, {
    headers: { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' },
  })
}
