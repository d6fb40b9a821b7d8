import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { callerOf } from '../http/access.ts'
import { bodyProblems, Empty, problems, Timestamp, TokenReply, tokenProblems } from '../http/schemas.ts'
import { timestamp } from '../lib/clock.ts'
import type { Sessions } from './session.ts'

const SessionList = Type.Object({
  sessions: Type.Array(
    Type.Object({
      sessionId: Type.String(),
      current: Type.Boolean({ description: 'Whether it is the one that asks.' }),
      startedAt: Timestamp(),
      lastSeenAt: Timestamp('To the minute or so.'),
      expiresAt: Timestamp('Unless it is refreshed before.'),
      device: Type.String({ examples: ['Firefox on Android'] }),
    }),
  ),
})

export interface SessionRoutesDeps {
  readonly sessions: Sessions
  readonly Profile: TSchema
}

export function sessionRoutes(root: FastifyInstance, { sessions, Profile }: SessionRoutesDeps): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['session']
  const signedIn = { access: 'signed-in' } as object

  app.post(
    '/session/refresh',
    {
      config: { access: 'public' } as object,
      schema: {
        tags,
        summary: 'New tokens for a refresh token',
        description:
          'Rotates the refresh token. The one before it gives the same new one again until that is used, and for 30 seconds in any case; anything older ends the session.',
        security: [],
        body: Type.Object({ refresh_token: Type.String() }),
        response: {
          200: TokenReply(Profile),
          ...problems(...bodyProblems, 'invalid-token', 'session-ended'),
        },
      },
    },
    async (request) => (await sessions.refresh(request.body.refresh_token)) as never,
  )

  app.get(
    '/session',
    {
      config: signedIn,
      schema: { tags, summary: 'My sessions', response: { 200: SessionList, ...problems(...tokenProblems) } },
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
          device: session.device,
        })),
      }
    },
  )

  const ending = (summary: string, ...codes: 'not-found'[]) => ({
    tags,
    summary,
    response: { 204: Empty, ...problems(...bodyProblems, ...tokenProblems, ...codes) },
  })

  app.delete('/session', { config: signedIn, schema: ending('Sign out here') }, async (request, reply) => {
    await sessions.end(callerOf(request), 'signed-out')
    return reply.code(204).send()
  })

  app.delete(
    '/session/all',
    { config: signedIn, schema: ending('Sign out everywhere') },
    async (request, reply) => {
      await sessions.endAll(callerOf(request).id)
      return reply.code(204).send()
    },
  )

  app.delete(
    '/session/:sessionId',
    {
      config: signedIn,
      schema: {
        ...ending('Sign out there', 'not-found'),
        params: Type.Object({ sessionId: Type.String({ description: 'One of my sessions.' }) }),
      },
    },
    async (request, reply) => {
      await sessions.endOne(callerOf(request).id, request.params.sessionId)
      return reply.code(204).send()
    },
  )
}
