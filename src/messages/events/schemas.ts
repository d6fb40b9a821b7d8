import { Nullable, OpenObject, Timestamp, Titled } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import type { EventType } from './types.ts'

export const EventEntry = Titled('Event', {
  id: Type.String(),
  number: Type.Integer({ description: 'Increasing; pass the last one you have seen as `after`.' }),
  type: Type.Unsafe<EventType>({ type: 'string', examples: ['session.started'] }),
  at: Timestamp(),
  userId: Nullable(Type.String()),
  actor: Type.String({
    description: '`self`, `system`, `operator` for the command line, or the userId of a member of staff.',
  }),
  requestId: Nullable(Type.String()),
  network: Nullable(Type.String({ description: 'A fingerprint; "chiron network" shows its activity.' })),
  data: OpenObject(),
})

export const EventPage = Titled('EventPage', {
  events: Type.Array(EventEntry),
  names: Type.Unsafe<Record<string, string>>({
    title: 'NamesById',
    type: 'object',
    properties: {},
    additionalProperties: { type: 'string' },
    description: 'The names of people and actors in `events`, by userId. Closed accounts have none.',
  }),
  next: Type.Integer(),
})
