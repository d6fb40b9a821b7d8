/** The feed of events, for staff and for programs that follow it. */
import type { Static } from 'typebox'
import { invalidField } from '../../errors.ts'
import { operation } from '../../platform/http/operation.ts'
import { integerFrom, QueryInteger, QueryTime, timeFrom } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { type EventRow, type EventType, eventTypes, eventView, type FeedFilter } from './events.ts'
import { EventPage } from './schemas.ts'

const limits = { min: 1, max: 1_000 }
const numbers = { min: 0, max: Number.MAX_SAFE_INTEGER }

interface Deps {
  readFeed(filter: FeedFilter): Promise<EventRow[]>
  /** By userId, of those who have one. */
  namesOf(userIds: readonly string[]): Promise<Record<string, string>>
}

const FeedQuery = Type.Object({
  after: QueryInteger(numbers, 'Only events with a larger number.'),
  before: QueryInteger(numbers, 'Only events with a smaller number, newest first.'),
  types: Type.Optional(Type.String({ description: 'With commas between.', examples: ['session.started'] })),
  person: Type.Optional(Type.String({ description: 'Only events of the person with this userId.' })),
  actor: Type.Optional(
    Type.String({
      description: 'Only what this actor did: `self`, `system`, `operator`, or a userId of staff.',
    }),
  ),
  since: QueryTime('Only events at this time or later.'),
  until: QueryTime('Only events before this time.'),
  limit: QueryInteger(limits, 'Maximum number of events; default 100.'),
})

export const eventRoutes = ({ readFeed, namesOf }: Deps) => [
  operation('GET /staff/events', {
    access: 'staff',
    may: 'admin',
    scope: 'events.read',
    tag: 'staff',
    id: 'readEvents',
    summary: 'Events, oldest first',
    description:
      'To miss nothing, poll with `after` set to the `next` value of the previous reply. Use `before` to read backwards from the newest. Services need the scope `events.read`.',
    query: FeedQuery,
    reply: EventPage,
    async answer({ query }) {
      const filter = filterFrom(query)
      const events = await readFeed(filter)
      const ids = events.flatMap(({ person_id, actor }) => [person_id, actor]).filter((id) => id !== null)
      return {
        events: events.map(eventView),
        names: await namesOf([...new Set(ids)]),
        next: events.at(-1)?.number ?? filter.before ?? filter.after,
      }
    },
  }),
]

function filterFrom({ after, before, limit, ...rest }: Static<typeof FeedQuery>) {
  const { types, person, actor, since, until } = rest
  return {
    after: integerFrom('after', after ?? '0', numbers),
    ...(before !== undefined && { before: integerFrom('before', before, numbers) }),
    limit: integerFrom('limit', limit ?? '100', limits),
    ...(types !== undefined && { types: parseTypes(types) }),
    ...(person !== undefined && { personId: person }),
    ...(actor !== undefined && { actor }),
    ...(since !== undefined && { since: timeFrom('since', since) }),
    ...(until !== undefined && { until: timeFrom('until', until) }),
  }
}

function parseTypes(text: string): EventType[] {
  return text.split(',').map((name) => {
    const type = eventTypes.find((known) => known === name.trim())
    if (type) return type
    throw invalidField({ parameter: 'types', detail: `there is no event "${name.trim()}"` })
  })
}
