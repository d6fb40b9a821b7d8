/** Manages a student's calendar feeds, and serves them to calendar programs. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { LiveSession } from '../../identity/session/session.ts'
import { type CallerOf, routeConfig } from '../../platform/http/access.ts'
import { bodyProblems, problems, tokenProblems } from '../../platform/http/problem-schemas.ts'
import { Empty, Nullable } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { timestamp } from '../../platform/lib/clock.ts'
import type { CalendarFeeds } from './feed.ts'
import { CalendarFeedList, CalendarFeedRequest, NewCalendarFeed } from './schemas.ts'

export interface CalendarRoutesDeps {
  readonly feeds: CalendarFeeds
  readonly callerOf: CallerOf<LiveSession>
  readonly publicUrl: string
}

export function calendarRoutes(
  root: FastifyInstance,
  { feeds, callerOf, publicUrl }: CalendarRoutesDeps,
): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['student']
  const config = routeConfig({ access: 'student' })
  const refusals = problems(...bodyProblems, ...tokenProblems, 'forbidden', 'conflict')

  app.post(
    '/student/me/calendar',
    {
      config,
      schema: {
        tags,
        operationId: 'makeCalendarFeed',
        summary: 'Create a calendar feed',
        description:
          'A URL that a calendar program can subscribe to, also as `webcal:`. It is shown only once: anyone who has it can read my classes. Five at most; all end when my e-mail address changes.',
        body: Nullable(CalendarFeedRequest),
        response: {
          201: NewCalendarFeed,
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const { token, feedId, name, createdAt } = await feeds.make(callerOf(request), request.body?.name)
      const url = `${publicUrl}/calendar/${token}.ics`
      return reply.code(201).send({ feedId, name, url, createdAt: timestamp(createdAt) })
    },
  )

  app.get(
    '/student/me/calendar',
    {
      config,
      schema: {
        tags,
        operationId: 'listCalendarFeeds',
        summary: 'My calendar feeds',
        description: 'Without their URLs, which are not stored.',
        response: {
          200: CalendarFeedList,
          ...problems(...tokenProblems, 'forbidden'),
        },
      },
    },
    async (request) => ({ feeds: await feeds.list(callerOf(request).id) }),
  )

  app.delete(
    '/student/me/calendar/:feedId',
    {
      config,
      schema: {
        tags,
        operationId: 'revokeCalendarFeed',
        summary: 'Revoke a calendar feed',
        params: Type.Object({ feedId: Type.String({ description: 'One of my feeds.' }) }),
        response: {
          204: Empty,
          ...problems(...bodyProblems, ...tokenProblems, 'forbidden', 'not-found'),
        },
      },
    },
    async (request, reply) => {
      await feeds.revoke(callerOf(request).id, request.params.feedId)
      return reply.code(204).send()
    },
  )

  app.get(
    '/calendar/:feedToken.ics',
    {
      config: routeConfig({ access: 'public' }),
      schema: {
        tags,
        operationId: 'readCalendar',
        summary: 'A student’s classes as a calendar (RFC 5545)',
        security: [],
        params: Type.Object({ feedToken: Type.String({ description: 'From POST /student/me/calendar.' }) }),
        response: {
          200: {
            description: 'Classes with meeting times as weekly events, others as all-day events.',
            content: { 'text/calendar': { schema: Type.String() } },
          },
          ...problems('not-found'),
        },
      },
    },
    async (request, reply) => {
      const calendar = await feeds.read(request.params.feedToken)
      return (
        reply
          .type('text/calendar; charset=utf-8')
          // Otherwise a browser would name the file after the token.
          .header('Content-Disposition', 'inline; filename="classes.ics"')
          .send(calendar)
      )
    },
  )
}
