import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { invalidField } from '../../errors.ts'
import { type ByOf, routeConfig, staffChange } from '../../platform/http/access.ts'
import {
  problems,
  provenChangeProblems,
  staffReadProblems,
  tokenProblems,
} from '../../platform/http/problem-schemas.ts'
import { Empty, Id } from '../../platform/http/schemas.ts'
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

export function webhookRoutes(
  root: FastifyInstance,
  { webhooks, byStaffOf }: { webhooks: Webhooks; byStaffOf: ByOf },
): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['staff']
  const reading = routeConfig({ access: 'staff', may: 'admin' })
  const changing = staffChange('admin')
  const refusals = [...provenChangeProblems, 'not-found'] as const
  const changeProblems = problems(...refusals)
  const stateProblems = problems(...refusals, 'conflict')
  const params = Type.Object({ webhookId: Id('The webhook’s id.') })

  app.get(
    '/staff/webhooks',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'listWebhooks',
        summary: 'All webhooks',
        response: {
          200: WebhookList,
          ...problems(...staffReadProblems),
        },
      },
    },
    async () => ({ webhooks: await webhooks.list() }),
  )

  app.post(
    '/staff/webhooks',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'addWebhook',
        summary: 'Add a webhook',
        description:
          'It receives events from now on. Like every change here, this needs a sign-in at most 30 minutes old.',
        body: NewWebhook,
        response: { 201: WebhookWithSecret, ...stateProblems },
      },
    },
    async (request, reply) => reply.code(201).send(await webhooks.add(request.body)),
  )

  app.patch(
    '/staff/webhooks/:webhookId',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'changeWebhook',
        summary: 'Change, disable or enable a webhook',
        description:
          'Disabling drops waiting events. Once enabled again, it receives new events; replay sends the missed ones.',
        params,
        body: WebhookChange,
        response: { 200: WebhookEntry, ...changeProblems },
      },
    },
    (request) => webhooks.change(request.params.webhookId, request.body),
  )

  app.delete(
    '/staff/webhooks/:webhookId',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'removeWebhook',
        summary: 'Remove a webhook',
        params,
        response: { 204: Empty, ...changeProblems },
      },
    },
    async (request, reply) => {
      await webhooks.remove(request.params.webhookId)
      return reply.code(204).send()
    },
  )

  app.post(
    '/staff/webhooks/:webhookId/rotate',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'rotateWebhook',
        summary: 'Give a webhook a new secret',
        description: 'For a day, requests are signed with both the new and the old secret.',
        params,
        response: { 200: WebhookWithSecret, ...stateProblems },
      },
    },
    (request) => webhooks.rotate(request.params.webhookId),
  )

  app.post(
    '/staff/webhooks/:webhookId/replay',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'replayWebhook',
        summary: 'Send all events since a time again',
        description: 'In order, including those already delivered. Each event keeps its `webhook-id`.',
        params,
        body: Replay,
        response: {
          202: ReplayQueued,
          ...stateProblems,
        },
      },
    },
    async (request, reply) => {
      const queued = await webhooks.replay(request.params.webhookId, timeFrom(request.body.since))
      return reply.code(202).send({ queued })
    },
  )

  app.post(
    '/staff/webhooks/:webhookId/test',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'testWebhook',
        summary: 'Send a test event immediately',
        description:
          'An event of type `webhook.test`, signed like any other, even if the webhook is disabled. The answer has no effect.',
        params,
        response: {
          200: WebhookTest,
          ...problems('invalid-request', ...tokenProblems, 'forbidden', 'not-found'),
        },
      },
    },
    (request) => webhooks.test(request.params.webhookId, byStaffOf(request)),
  )

  app.get(
    '/staff/webhooks/:webhookId/deliveries',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'listWebhookDeliveries',
        summary: 'Recent deliveries of a webhook, newest first',
        params,
        response: {
          200: WebhookDeliveries,
          ...problems(...staffReadProblems, 'not-found'),
        },
      },
    },
    async (request) => ({ deliveries: await webhooks.deliveries(request.params.webhookId) }),
  )
}

function timeFrom(text: string): number {
  const at = instantFrom(text)
  if (at !== null) return at
  const detail = 'must be a time such as 2026-11-15T09:00:00.000Z'
  throw invalidField({ pointer: '#/since', detail })
}
