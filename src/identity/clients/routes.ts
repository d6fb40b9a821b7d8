import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { invalidField } from '../../errors.ts'
import { type ByOf, routeConfig, staffChange } from '../../platform/http/access.ts'
import { problems, provenChangeProblems, staffReadProblems } from '../../platform/http/problem-schemas.ts'
import { Empty, Id, integerFrom, QueryInteger } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { second } from '../../platform/lib/clock.ts'
import { isId } from '../../platform/lib/random.ts'
import type { Clients } from './clients.ts'
import {
  ClientAdded,
  ClientChange,
  ClientEntry,
  ClientList,
  ClientPeople,
  ClientRotation,
  ClientSignOut,
  ClientWithSecret,
  NewClientBody,
} from './schemas.ts'

const limits = { min: 1, max: 200 }

export function clientRoutes(
  root: FastifyInstance,
  { clients, byStaffOf }: { clients: Clients; byStaffOf: ByOf },
): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['staff']
  const reading = routeConfig({ access: 'staff', may: 'admin' })
  const changing = staffChange('admin')
  const refusals = [...provenChangeProblems, 'not-found'] as const
  const changeProblems = problems(...refusals)
  const stateProblems = problems(...refusals, 'conflict')
  const readProblems = problems(...staffReadProblems, 'not-found')
  const params = Type.Object({ clientId: Id('The application’s id.') })

  app.get(
    '/staff/clients',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'listClients',
        summary: 'All applications',
        response: { 200: ClientList, ...problems(...staffReadProblems) },
      },
    },
    async () => ({ clients: await clients.list() }),
  )

  app.post(
    '/staff/clients',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'addClient',
        summary: 'Register an application',
        description: 'Up to 200. Like every change here, this needs a sign-in at most 30 minutes old.',
        body: NewClientBody,
        response: { 201: ClientAdded, ...stateProblems },
      },
    },
    async (request, reply) => reply.code(201).send(await clients.add(request.body, byStaffOf(request))),
  )

  app.get(
    '/staff/clients/:clientId',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'getClient',
        summary: 'An application, with failed back-channel calls',
        params,
        response: { 200: ClientEntry, ...readProblems },
      },
    },
    (request) => clients.show(request.params.clientId),
  )

  app.patch(
    '/staff/clients/:clientId',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'changeClient',
        summary: 'Change, disable or enable an application',
        description:
          'Its tokens are refused while it is disabled. Once it is enabled again, those that have not expired work again. Roles and scopes that it loses are lost in its sessions and tokens, too. If it no longer admits unverified veterinarians, those who are signed in there are signed out.',
        params,
        body: ClientChange,
        response: { 200: ClientEntry, ...changeProblems },
      },
    },
    (request) => clients.change(request.params.clientId, request.body, byStaffOf(request)),
  )

  app.delete(
    '/staff/clients/:clientId',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'removeClient',
        summary: 'Remove an application',
        description: 'Everybody is signed out there first.',
        params,
        response: { 204: Empty, ...changeProblems },
      },
    },
    async (request, reply) => {
      await clients.remove(request.params.clientId, byStaffOf(request))
      return reply.code(204).send()
    },
  )

  app.post(
    '/staff/clients/:clientId/rotate',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'rotateClient',
        summary: 'Give an application a new secret',
        params,
        body: ClientRotation,
        response: { 200: ClientWithSecret, ...stateProblems },
      },
    },
    (request) => {
      const { clientId } = request.params
      return clients.rotate(clientId, request.body.overlapSeconds * second, byStaffOf(request))
    },
  )

  app.post(
    '/staff/clients/:clientId/sign-out',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'signOutOfClient',
        summary: 'Sign everybody out of an application',
        description: 'The tokens that a service has for itself end, too.',
        params,
        response: { 200: ClientSignOut, ...changeProblems },
      },
    },
    async (request) => ({ ended: await clients.signOut(request.params.clientId, byStaffOf(request)) }),
  )

  app.get(
    '/staff/clients/:clientId/people',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'listClientPeople',
        summary: 'Who is signed in at an application',
        params,
        querystring: Type.Object({
          after: Type.Optional(Type.String({ description: 'The `next` value of the previous page.' })),
          limit: QueryInteger(limits, 'Maximum number of results; default 50.'),
        }),
        response: { 200: ClientPeople, ...readProblems },
      },
    },
    ({ params: { clientId }, query: { after, limit = '50' } }) => {
      if (after !== undefined && !isId(after))
        throw invalidField({ parameter: 'after', detail: 'must be the next value of a page' })
      return clients.people(clientId, { after: after ?? '', limit: integerFrom('limit', limit, limits) })
    },
  )
}
