import { Nullable, Timestamp } from '../../platform/http/schemas.ts'
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
export const WebhookEntry = Type.Object(webhookFields, { title: 'Webhook' })
export const WebhookWithSecret = Type.Object(
  {
    ...webhookFields,
    secret: Type.String({
      description: 'The key for checking signatures (Standard Webhooks). Shown only here.',
      examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
    }),
  },
  { title: 'WebhookWithSecret' },
)
export const WebhookDelivery = Type.Object(
  {
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
  },
  { title: 'WebhookDelivery' },
)

export const WebhookList = Type.Object({ webhooks: Type.Array(WebhookEntry) }, { title: 'WebhookList' })
export const WebhookDeliveries = Type.Object(
  { deliveries: Type.Array(WebhookDelivery) },
  { title: 'WebhookDeliveries' },
)
export const NewWebhook = Type.Object({ url: Url, events: Events }, { title: 'NewWebhook' })
export const WebhookChange = Type.Object(
  {
    url: Type.Optional(Url),
    events: Type.Optional(Events),
    enabled: Type.Optional(Type.Boolean()),
  },
  { title: 'WebhookChange' },
)
export const Replay = Type.Object({ since: Timestamp() }, { title: 'WebhookReplay' })
export const ReplayQueued = Type.Object(
  { queued: Type.Integer({ description: 'Number of events.' }) },
  { title: 'WebhookReplayQueued' },
)
export const WebhookTest = Type.Object(
  {
    eventId: Type.String(),
    status: Nullable(Type.Integer({ description: 'HTTP status of the answer; null if there was none.' })),
    error: Nullable(Type.String({ description: 'Why it was not accepted; null if it was.' })),
    ms: Type.Integer({ description: 'How long the answer took.' }),
  },
  { title: 'WebhookTest' },
)
