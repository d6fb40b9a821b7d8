/** Manages a student's calendar feeds, and serves them to calendar programs. */
import { operation } from '../../identity/session/operation.ts'
import { Nullable } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { timestamp } from '../../platform/lib/clock.ts'
import type { CalendarFeeds } from './feed.ts'
import { CalendarFeedList, CalendarFeedRequest, NewCalendarFeed } from './schemas.ts'

export const calendarRoutes = (feeds: CalendarFeeds, publicUrl: string) => [
  ...ownFeeds(feeds, publicUrl),
  calendar(feeds),
]

const ownFeeds = (feeds: CalendarFeeds, publicUrl: string) => [
  operation('POST /student/me/calendar', {
    access: 'student',
    tag: 'student',
    id: 'makeCalendarFeed',
    summary: 'Create a calendar feed',
    description:
      'A URL that a calendar program can subscribe to, also as `webcal:`. It is shown only once: anyone who has it can read my classes. Five at most; all end when my e-mail address changes.',
    body: Nullable(CalendarFeedRequest),
    status: 201,
    reply: NewCalendarFeed,
    refuses: ['conflict'],
    async answer({ caller, body }) {
      const { token, feedId, name, createdAt } = await feeds.make(caller, body?.name)
      const url = `${publicUrl}/calendar/${token}.ics`
      return { feedId, name, url, createdAt: timestamp(createdAt) }
    },
  }),

  operation('GET /student/me/calendar', {
    access: 'student',
    tag: 'student',
    id: 'listCalendarFeeds',
    summary: 'My calendar feeds',
    description: 'Without their URLs, which are not stored.',
    reply: CalendarFeedList,
    answer: async ({ caller }) => ({ feeds: await feeds.list(caller.id) }),
  }),

  operation('DELETE /student/me/calendar/:feedId', {
    access: 'student',
    tag: 'student',
    id: 'revokeCalendarFeed',
    summary: 'Revoke a calendar feed',
    params: Type.Object({ feedId: Type.String({ description: 'One of my feeds.' }) }),
    refuses: ['not-found'],
    answer: ({ caller, params }) => feeds.revoke(caller.id, params.feedId),
  }),
]

const calendar = (feeds: CalendarFeeds) =>
  operation('GET /calendar/:feedToken.ics', {
    access: 'public',
    tag: 'student',
    id: 'readCalendar',
    summary: 'A student’s classes as a calendar (RFC 5545)',
    params: Type.Object({ feedToken: Type.String({ description: 'From POST /student/me/calendar.' }) }),
    reply: {
      description: 'Classes with meeting times as weekly events, others as all-day events.',
      content: { 'text/calendar': { schema: Type.String() } },
    },
    refuses: ['not-found'],
    answer: async ({ reply, params }) =>
      reply
        .type('text/calendar; charset=utf-8')
        // Otherwise a browser would name the file after the token.
        .header('Content-Disposition', 'inline; filename="classes.ics"')
        .send(await feeds.read(params.feedToken)),
  })
