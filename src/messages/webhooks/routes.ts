import { invalidField } from '../../errors.ts'
import { staffChange } from '../../platform/http/access.ts'
import { operation } from '../../platform/http/operation.ts'
import { Id } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { instantFrom } from '../../platform/lib/time-text.ts'
import {
  NewWebhook,
  Replay,
  ReplayQueued,
  WebhookChange,
  WebhookDeliveries,
  WebhookEntry,
  WebhookList,
  WebhookTest,
  WebhookWithSecret,
} from './schemas.ts'
import type { Webhooks } from './webhooks.ts'

const params = Type.Object({ webhookId: Id('The webhook’s id.') })
const reading = { access: 'staff', may: 'admin', tag: 'staff' } as const
const changing = { ...staffChange('admin'), tag: 'staff' } as const

export const webhookRoutes = (webhooks: Webhooks) => [...registering(webhooks), ...delivering(webhooks)]

const registering = (webhooks: Webhooks) => [
  operation('GET /staff/webhooks', {
    ...reading,
    id: 'listWebhooks',
    summary: 'All webhooks',
    reply: WebhookList,
    answer: async () => ({ webhooks: await webhooks.list() }),
  }),

  operation('POST /staff/webhooks', {
    ...changing,
    id: 'addWebhook',
    summary: 'Add a webhook',
    description:
      'It receives events from now on. Like every change here, this needs a sign-in at most 30 minutes old.',
    body: NewWebhook,
    status: 201,
    reply: WebhookWithSecret,
    refuses: ['not-found', 'conflict'],
    answer: ({ body }) => webhooks.add(body),
  }),

  operation('PATCH /staff/webhooks/:webhookId', {
    ...changing,
    id: 'changeWebhook',
    summary: 'Change, disable or enable a webhook',
    description:
      'Disabling drops waiting events. Once enabled again, it receives new events; replay sends the missed ones.',
    params,
    body: WebhookChange,
    reply: WebhookEntry,
    refuses: ['not-found'],
    answer: ({ params, body }) => webhooks.change(params.webhookId, body),
  }),

  operation('DELETE /staff/webhooks/:webhookId', {
    ...changing,
    id: 'removeWebhook',
    summary: 'Remove a webhook',
    params,
    refuses: ['not-found'],
    answer: ({ params }) => webhooks.remove(params.webhookId),
  }),

  operation('POST /staff/webhooks/:webhookId/rotate', {
    ...changing,
    id: 'rotateWebhook',
    summary: 'Give a webhook a new secret',
    description: 'For a day, requests are signed with both the new and the old secret.',
    params,
    reply: WebhookWithSecret,
    refuses: ['not-found', 'conflict'],
    answer: ({ params }) => webhooks.rotate(params.webhookId),
  }),
]

const delivering = (webhooks: Webhooks) => [
  operation('POST /staff/webhooks/:webhookId/replay', {
    ...changing,
    id: 'replayWebhook',
    summary: 'Send all events since a time again',
    description: 'In order, including those already delivered. Each event keeps its `webhook-id`.',
    params,
    body: Replay,
    status: 202,
    reply: ReplayQueued,
    refuses: ['not-found', 'conflict'],
    answer: async ({ params, body }) => {
      const queued = await webhooks.replay(params.webhookId, timeFrom(body.since))
      return { queued }
    },
  }),

  operation('POST /staff/webhooks/:webhookId/test', {
    ...reading,
    id: 'testWebhook',
    summary: 'Send a test event immediately',
    description:
      'An event of type `webhook.test`, signed like any other, even if the webhook is disabled. The answer has no effect.',
    params,
    reply: WebhookTest,
    refuses: ['not-found'],
    answer: ({ params, by }) => webhooks.test(params.webhookId, by),
  }),

  operation('GET /staff/webhooks/:webhookId/deliveries', {
    ...reading,
    id: 'listWebhookDeliveries',
    summary: 'Recent deliveries of a webhook, newest first',
    params,
    reply: WebhookDeliveries,
    refuses: ['not-found'],
    answer: async ({ params }) => ({ deliveries: await webhooks.deliveries(params.webhookId) }),
  }),
]

function timeFrom(text: string): number {
  const at = instantFrom(text)
  if (at !== null) return at
  const detail = 'must be a time such as 2026-11-15T09:00:00.000Z'
  throw invalidField({ pointer: '#/since', detail })
}
