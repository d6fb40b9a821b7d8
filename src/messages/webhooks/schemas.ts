import { Nullable, Timestamp, Titled } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'

const Url = Type.String({
  description: 'Where events are sent. Https, and a public address unless the operator allows others.',
  examples: ['https://example.org/hooks/chiron'],
})
const Events = Type.Array(Type.String(), {
  description: 'The events it receives; `*` means all.',
  examples: [['session.started', 'session.ended']],
})
const webhookFields = {
  id: Type.String(),
  url: Url,
  events: Events,
  enabled: Type.Boolean(),
  disabledAt: Nullable(Timestamp()),
  disabledBecause: Nullable(
    Type.Enum(['operator', 'gone', 'failing'], {
      title: 'WebhookDisabledBecause',
      description: '`gone`: it answered 410. `failing`: no success for three days.',
    }),
  ),
  readable: Type.Boolean({
    description:
      'Whether its secret can be decrypted. If not, rotate it: the service’s own secret was replaced.',
  }),
  failures: Type.Integer({ description: 'Failed attempts since the last success.' }),
  failingSince: Nullable(Timestamp('Time of the first of them.')),
  waiting: Type.Integer({ description: 'Events waiting for delivery.' }),
  createdAt: Timestamp(),
}
export const WebhookEntry = Titled('Webhook', webhookFields)
export const WebhookWithSecret = Titled('WebhookWithSecret', {
  ...webhookFields,
  secret: Type.String({
    description: 'The key for checking signatures (Standard Webhooks). Shown only here.',
    examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
  }),
})
export const WebhookDelivery = Titled('WebhookDelivery', {
  number: Type.Integer({ description: 'The number of the event.' }),
  eventId: Nullable(Type.String()),
  type: Nullable(Type.String()),
  state: Type.Enum(['waiting', 'delivered', 'given-up', 'dropped'], {
    title: 'WebhookDeliveryState',
    description: '`dropped`: it was waiting when the webhook was switched off.',
  }),
  attempts: Type.Integer(),
  status: Nullable(Type.Integer({ description: 'HTTP status of the last answer.' })),
  error: Nullable(Type.String({ description: 'Why the last attempt failed.' })),
  triedAt: Nullable(Timestamp()),
  nextTryAt: Nullable(Timestamp()),
})

export const WebhookList = Titled('WebhookList', { webhooks: Type.Array(WebhookEntry) })
export const WebhookDeliveries = Titled('WebhookDeliveries', { deliveries: Type.Array(WebhookDelivery) })
export const NewWebhook = Titled('NewWebhook', { url: Url, events: Events })
export const WebhookChange = Titled('WebhookChange', {
  url: Type.Optional(Url),
  events: Type.Optional(Events),
  enabled: Type.Optional(Type.Boolean()),
})
export const Replay = Titled('WebhookReplay', { since: Timestamp() })
export const ReplayQueued = Titled('WebhookReplayQueued', {
  queued: Type.Integer({ description: 'Number of events.' }),
})
export const WebhookTest = Titled('WebhookTest', {
  eventId: Type.String(),
  status: Nullable(Type.Integer({ description: 'HTTP status of the answer; null if there was none.' })),
  error: Nullable(Type.String({ description: 'Why it was not accepted; null if it was.' })),
  ms: Type.Integer({ description: 'How long the answer took.' }),
})
