import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { TSchema } from 'typebox'
import { AppError } from '../../errors.ts'
import { type ByOf, type CallerOf, routeConfig } from '../../platform/http/access.ts'
import { jsonMediaType } from '../../platform/http/bodies.ts'
import { formMediaType, readRefreshForm, takeForms } from '../../platform/http/oauth.ts'
import type { PortalCookie } from '../../platform/http/portal.ts'
import { bodyProblems, problems, tokenProblems } from '../../platform/http/problem-schemas.ts'
import { Empty } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { timestamp, timestampOrNull } from '../../platform/lib/clock.ts'
import { OAuthProblem, PortalTokenReply, RefreshBody, SessionList, TokenReply } from './schemas.ts'
import type { LiveSession, Sessions } from './session.ts'

export interface SessionRoutesDeps {
  readonly sessions: Sessions
  readonly callerOf: CallerOf<LiveSession>
  readonly byOf: ByOf
  readonly Profile: TSchema
  readonly portal: PortalCookie
}

/** In its own scope, because no other route takes forms. */
export async function refreshRoute(
  root: FastifyInstance,
  { sessions, byOf, Profile }: Omit<SessionRoutesDeps, 'callerOf' | 'portal'>,
): Promise<void> {
  const refusals = problems(...bodyProblems, 'invalid-token', 'session-ended')
  const badRequest = refusals[400]
  const schema = {
    tags: ['session'],
    operationId: 'refreshSession',
    summary: 'New tokens for a refresh token',
    description:
      'Rotates the refresh token. For 30 seconds the previous one returns the same new one again. Later it returns a different new one, as long as the first was never used; the first is then void. Any other token that is not the newest ends the session, however recently it was rotated. Sent as a form, this is the token request of RFC 6749, and errors are 400 as in its §5.2.',
    security: [],
    consumes: [jsonMediaType, formMediaType],
    body: RefreshBody,
    response: {
      200: TokenReply(Profile, 'TokenReply'),
      ...refusals,
      400: {
        ...badRequest,
        content: { ...badRequest.content, 'application/json': { schema: OAuthProblem } },
      },
    },
  }
  await root.register(async (scope) => {
    takeForms(scope, readRefreshForm)
    scope
      .withTypeProvider<TypeBoxTypeProvider>()
      .post(
        '/session/refresh',
        { config: routeConfig({ access: 'public' }), schema },
        async (request) => (await sessions.refresh(request.body.refresh_token, byOf(request))).reply,
      )
  })
}

export function sessionRoutes(
  root: FastifyInstance,
  { sessions, callerOf, byOf }: Omit<SessionRoutesDeps, 'Profile' | 'portal'>,
): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['session']
  const signedIn = routeConfig({ access: 'signed-in' })

  app.get(
    '/session',
    {
      config: signedIn,
      schema: {
        tags,
        operationId: 'listSessions',
        summary: 'My sessions',
        response: { 200: SessionList, ...problems(...tokenProblems) },
      },
    },
    async (request) => {
      const caller = callerOf(request)
      const list = await sessions.list(caller.id)
      return {
        sessions: list.map((session) => ({
          sessionId: session.session_id,
          current: session.session_id === caller.session_id,
          startedAt: timestamp(session.started_at),
          lastSeenAt: timestamp(session.last_seen_at),
          expiresAt: timestamp(session.expires_at),
          authenticatedAt: timestampOrNull(session.auth_at),
          method: session.method,
          device: session.device,
          clientId: session.client_id,
          clientName: session.client_name,
          scope: session.scope,
          parentId: session.parent_id,
        })),
      }
    },
  )

  const ending = (operationId: string, summary: string, ...codes: 'not-found'[]) => ({
    tags,
    operationId,
    summary,
    response: { 204: Empty, ...problems(...bodyProblems, ...tokenProblems, ...codes) },
  })

  app.delete(
    '/session',
    {
      config: routeConfig({ access: 'signed-in', beforePasskey: true }),
      schema: ending('endSession', 'Sign out here'),
    },
    async (request, reply) => {
      await sessions.end(callerOf(request), 'signed-out', byOf(request))
      return reply.code(204).send()
    },
  )

  app.delete(
    '/session/all',
    { config: signedIn, schema: ending('endAllSessions', 'Sign out everywhere') },
    async (request, reply) => {
      await sessions.endAll(callerOf(request).id, 'signed-out', byOf(request))
      return reply.code(204).send()
    },
  )

  app.delete(
    '/session/:sessionId',
    {
      config: signedIn,
      schema: {
        ...ending('endOneSession', 'Sign out another session', 'not-found'),
        params: Type.Object({ sessionId: Type.String({ description: 'One of my sessions.' }) }),
      },
    },
    async (request, reply) => {
      await sessions.endOne(callerOf(request).id, request.params.sessionId, byOf(request))
      return reply.code(204).send()
    },
  )
}

/** Refresh and sign-out for the portal, by cookie. */
export function portalSessionRoutes(
  root: FastifyInstance,
  { sessions, byOf, Profile, portal }: Omit<SessionRoutesDeps, 'callerOf'>,
): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['portal']
  // The browser sends the cookie; the reference page cannot set it.
  const security: [] = []
  const config = routeConfig({ access: 'public' })
  const onRequest = portal.refuseForeign

  app.post(
    '/portal/refresh',
    {
      config,
      onRequest,
      schema: {
        tags,
        operationId: 'refreshPortalSession',
        summary: 'A new access token from the cookie',
        description:
          'Like POST /session/refresh, but the refresh token is in the cookie, which is replaced. A token that no longer works is cleared. Without a cookie, the reply is 401.',
        security,
        response: {
          200: PortalTokenReply(Profile, 'PortalTokenReply'),
          ...problems(...bodyProblems, ...tokenProblems, 'forbidden'),
        },
      },
    },
    async (request, reply) => {
      const [token, another] = portal.tokensIn(request)
      // Of two cookies one was planted, and guessing could sign people in as somebody else.
      if (token === undefined || another !== undefined)
        throw new AppError('unauthenticated', 'There is no session cookie, or more than one.')
      try {
        return portal.keep(reply, await sessions.refresh(token, byOf(request)))
      } catch (error) {
        if (error instanceof AppError && isDead(error)) portal.clear(reply)
        throw error
      }
    },
  )

  app.post(
    '/portal/sign-out',
    {
      config,
      onRequest,
      schema: {
        tags,
        operationId: 'signOutOfPortal',
        summary: 'Sign out here',
        description:
          'Ends the session of the cookie, if it has a live one, and clears the cookie. Idempotent.',
        security,
        response: { 204: Empty, ...problems(...bodyProblems, 'forbidden') },
      },
    },
    async (request, reply) => {
      await Promise.all(portal.tokensIn(request).map((token) => sessions.signOut(token, byOf(request))))
      portal.clear(reply)
      return reply.code(204).send()
    },
  )
}

/** Whether the cookie can never work again; an unreachable store proves nothing. */
const isDead = ({ code }: AppError) => code === 'invalid-token' || code === 'session-ended'
