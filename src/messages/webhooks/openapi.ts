/** The requests that webhooks get, for the OpenAPI document. */
import { Timestamp } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { EventEntry } from '../events/schemas.ts'
import { type EventKind, eventKinds, testEvent } from '../events/types.ts'

/** By the type of the event. */
export function describeWebhooks(): Record<string, object> {
  const kinds = { ...eventKinds, [testEvent.type]: testEvent }
  return Object.fromEntries(
    Object.entries(kinds).map(([type, kind]) => [type, { post: webhook(type, kind) }]),
  )
}

function webhook(type: string, { when, ...kind }: EventKind): object {
  // SessionStarted for session.started.
  const name = type.replace(/(?:^|[.-])([a-z])/g, (_, letter: string) => letter.toUpperCase())
  return {
    operationId: `on${name}`,
    summary: `It happens when ${when}`,
    security: [],
    parameters: ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((header) => ({
      name: header,
      in: 'header',
      required: true,
      schema: { type: 'string' },
    })),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: requestOf(type, kind) } },
    },
    responses: { '2XX': { description: 'Any status from 200 to 299 takes it. The body is ignored.' } },
  }
}

function requestOf(type: string, { data = {}, optional = {} }: Omit<EventKind, 'when'>): object {
  const Type_ = Type.Literal(type)
  const Data = {
    type: 'object',
    ...(Object.keys(data).length > 0 && { required: Object.keys(data) }),
    properties: { ...data, ...optional },
  }
  const Event = Type.Object({ ...EventEntry.properties, type: Type_, data: Type.Unsafe(Data) })
  return Type.Object({ type: Type_, timestamp: Timestamp(), data: Event })
}
