/** The feed of events, for staff and for programs that follow it. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { invalidField } from '../../errors.ts'
import { routeConfig } from '../../platform/http/access.ts'
import { problems, staffReadProblems } from '../../platform/http/problem-schemas.ts'
import { integerFrom, QueryInteger, QueryTime, timeFrom } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { type EventRow, type EventType, eventTypes, eventView, type FeedFilter } from './events.ts'
import { EventPage } from './schemas.ts'

const limits = { min: 1, max: 1_000 }
const numbers = { min: 0, max: Number.MAX_SAFE_INTEGER }

export function eventRoutes(
  root: FastifyInstance,
  deps: {
    readFeed(filter: FeedFilter): Promise<EventRow[]>
    /** By userId, of those who have one. */
    namesOf(userIds: readonly string[]): Promise<Record<string, string>>
  },
): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  app.get(
    '/staff/events',
    {
      config: routeConfig({ access: 'staff', may: 'admin', scope: 'events.read' }),
      schema: {
        tags: ['staff'],
        operationId: 'readEvents',
        summary: 'Events, oldest first',
        description:
          'To miss nothing, poll with `after` set to the `next` value of the previous reply. Use `before` to read backwards from the newest. Services need the scope `events.read`.',
        querystring: Type.Object({
          after: QueryInteger(numbers, 'Only events with a larger number.'),
          before: QueryInteger(numbers, 'Only events with a smaller number, newest first.'),
          types: Type.Optional(
            Type.String({ description: 'With commas between.', examples: ['session.started'] }),
          ),
          person: Type.Optional(Type.String({ description: 'Only events of the person with this userId.' })),
          actor: Type.Optional(
            Type.String({
              description: 'Only what this actor did: `self`, `system`, `operator`, or a userId of staff.',
            }),
          ),
          since: QueryTime('Only events at this time or later.'),
          until: QueryTime('Only events before this time.'),
          limit: QueryInteger(limits, 'Maximum number of events; default 100.'),
        }),
        response: {
          200: EventPage,
          ...problems(...staffReadProblems),
        },
      },
    },
    async (request) => {
      const { types, person, actor, since, until } = request.query
      const after = integerFrom('after', request.query.after ?? '0', numbers)
      const { before: end } = request.query
      const before = end === undefined ? undefined : integerFrom('before', end, numbers)
      const limit = integerFrom('limit', request.query.limit ?? '100', limits)
      const events = await deps.readFeed({
        after,
        limit,
        ...(before !== undefined && { before }),
        ...(types !== undefined && { types: parseTypes(types) }),
        ...(person !== undefined && { personId: person }),
        ...(actor !== undefined && { actor }),
        ...(since !== undefined && { since: timeFrom('since', since) }),
        ...(until !== undefined && { until: timeFrom('until', until) }),
      })
      const ids = events.flatMap(({ person_id, actor: by }) => [person_id, by]).filter((id) => id !== null)
      return {
        events: events.map(eventView),
        names: await deps.namesOf([...new Set(ids)]),
        next: events.at(-1)?.number ?? before ?? after,
      }
    },
  )
}

function parseTypes(text: string): EventType[] {
  return text.split(',').map((name) => {
    const type = eventTypes.find((known) => known === name.trim())
    if (type) return type
    throw invalidField({ parameter: 'types', detail: `there is no event "${name.trim()}"` })
  })
}
