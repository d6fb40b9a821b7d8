import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { invalidField } from '../../errors.ts'
import { type ByOf, routeConfig, staffChange } from '../../platform/http/access.ts'
import {
  bodyProblems,
  Empty,
  Id,
  Nullable,
  problems,
  Ref,
  staffReadProblems,
  Timestamp,
  tokenProblems,
} from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { instantFrom } from '../../platform/lib/time-text.ts'
import type { Webhooks } from './webhooks.ts'

const Url = Type.String({
  description: 'Where events are sent. Https, and a public address unless the operator allows others.',
  examples: ['https://example.org/hooks/chiron'],
})
const Events = Type.Array(Type.String(), {
  description: 'Which events it gets; `*` stands for all.',
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
      description: '`gone`: it answered 410. `failing`: three days without one success.',
    }),
  ),
  readable: Type.Boolean({
    description: 'Whether its secret can be read. If not, rotate it: the secret of the service was replaced.',
  }),
  failures: Type.Integer({ description: 'Attempts that failed since the last one that did not.' }),
  failingSince: Nullable(Timestamp('When the first of them was.')),
  waiting: Type.Integer({ description: 'Events that it has yet to get.' }),
  createdAt: Timestamp(),
}
const WebhookEntry = Type.Object(webhookFields, { $id: 'Webhook' })
const WithSecret = Type.Object(
  {
    ...webhookFields,
    secret: Type.String({
      description: 'Checks the signatures (Standard Webhooks). Shown only here.',
      examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
    }),
  },
  { $id: 'WebhookWithSecret' },
)
const Delivery = Type.Object(
  {
    number: Type.Integer({ description: 'The number of the event.' }),
    eventId: Nullable(Type.String()),
    type: Nullable(Type.String()),
    state: Type.Enum(['waiting', 'delivered', 'given-up', 'dropped'], {
      description: '`dropped`: it was waiting when the webhook was switched off.',
    }),
    attempts: Type.Integer(),
    status: Nullable(Type.Integer({ description: 'Of the last answer.' })),
    error: Nullable(Type.String({ description: 'Why the last attempt failed.' })),
    triedAt: Nullable(Timestamp()),
    nextTryAt: Nullable(Timestamp()),
  },
  { $id: 'WebhookDelivery' },
)

export function webhookRoutes(
  root: FastifyInstance,
  { webhooks, byStaffOf }: { webhooks: Webhooks; byStaffOf: ByOf },
): void {
  for (const schema of [WebhookEntry, WithSecret, Delivery]) root.addSchema(schema)
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['staff']
  const reading = routeConfig({ access: 'staff', may: 'admin' })
  const changing = staffChange('admin')
  const refusals = [
    ...bodyProblems,
    ...tokenProblems,
    'forbidden',
    'recent-sign-in-required',
    'not-found',
  ] as const
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
          200: Type.Object({ webhooks: Type.Array(Ref(WebhookEntry)) }),
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
          'It gets what happens from now on. Needs a sign-in at most 30 minutes old, like every change here.',
        body: Type.Object({ url: Url, events: Events }),
        response: { 201: Ref(WithSecret), ...stateProblems },
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
          'Disabling drops what waits. Once enabled again it gets what happens from then on; replay sends the rest.',
        params,
        body: Type.Object({
          url: Type.Optional(Url),
          events: Type.Optional(Events),
          enabled: Type.Optional(Type.Boolean()),
        }),
        response: { 200: Ref(WebhookEntry), ...changeProblems },
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
        description: 'For a day, requests are signed with the new secret and with the one before.',
        params,
        response: { 200: Ref(WithSecret), ...stateProblems },
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
        summary: 'Send again what has happened since a time',
        description: 'In order, also what was delivered. Each event keeps its `webhook-id`.',
        params,
        body: Type.Object({ since: Timestamp() }),
        response: {
          202: Type.Object({ queued: Type.Integer({ description: 'How many events.' }) }),
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
        summary: 'Send one test event at once',
        description:
          'An event of the type `webhook.test`, signed like every other, also to a webhook that is disabled. Whatever it answers changes nothing.',
        params,
        response: {
          200: Type.Object({
            eventId: Type.String(),
            status: Nullable(Type.Integer({ description: 'Of the answer; null if there was none.' })),
            error: Nullable(Type.String({ description: 'Why it was not taken; null if it was.' })),
            ms: Type.Integer({ description: 'How long the answer took.' }),
          }),
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
        summary: 'What a webhook got lately, newest events first',
        params,
        response: {
          200: Type.Object({ deliveries: Type.Array(Ref(Delivery)) }),
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
