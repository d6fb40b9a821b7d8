/** The providers of school accounts, for admins; and for the help desk, the sign-ins that were refused. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type ByOf, routeConfig, staffChange } from '../../platform/http/access.ts'
import { problems, provenChangeProblems, staffReadProblems } from '../../platform/http/problem-schemas.ts'
import { Empty, Id, integerFrom, QueryInteger } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import {
  NewProvider,
  ProviderChange,
  ProviderEntry,
  ProviderList,
  ProviderTest,
  SchoolRefusals,
} from './schemas.ts'
import type { Providers, SchoolAccounts } from './school-account.ts'

const limits = { min: 1, max: 200 }

export function providerRoutes(
  root: FastifyInstance,
  {
    providers,
    accounts,
    byStaffOf,
  }: { providers: Providers; accounts: Pick<SchoolAccounts, 'refusals'>; byStaffOf: ByOf },
): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['staff']
  const reading = routeConfig({ access: 'staff', may: 'admin' })
  const changing = staffChange('admin')
  const params = Type.Object({ providerId: Id('The provider.') })

  app.get(
    '/staff/school-refusals',
    {
      config: routeConfig({ access: 'staff', may: 'support' }),
      schema: {
        tags,
        operationId: 'findSchoolRefusals',
        summary: 'Refused sign-ins with school accounts',
        description:
          'The newest first, with what the provider claimed of the person. They are kept as long as delivery records.',
        querystring: Type.Object({
          q: Type.Optional(
            Type.String({
              description: 'The reference that the page showed, a student number, or an address.',
              examples: ['KTV-BDF-GHJ'],
            }),
          ),
          limit: QueryInteger(limits, 'Maximum number of results; default 50.'),
        }),
        response: { 200: SchoolRefusals, ...problems(...staffReadProblems) },
      },
    },
    async ({ query: { q = '', limit = '50' } }) => ({
      refusals: await accounts.refusals.find(q, integerFrom('limit', limit, limits)),
    }),
  )

  app.get(
    '/staff/providers',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'listStaffProviders',
        summary: 'All providers of school accounts',
        response: { 200: ProviderList, ...problems(...staffReadProblems) },
      },
    },
    async () => ({ providers: await providers.list() }),
  )

  app.post(
    '/staff/providers',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'addProvider',
        summary: 'Add a provider',
        description: 'Like every change here, this needs a sign-in at most 30 minutes old.',
        body: NewProvider,
        response: { 201: ProviderEntry, ...problems(...provenChangeProblems, 'conflict') },
      },
    },
    async (request, reply) => reply.code(201).send(await providers.add(request.body, byStaffOf(request))),
  )

  app.patch(
    '/staff/providers/:providerId',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'changeProvider',
        summary: 'Change, disable or enable a provider',
        description: 'A disabled provider signs nobody in. Sessions and links stay.',
        params,
        body: ProviderChange,
        response: { 200: ProviderEntry, ...problems(...provenChangeProblems, 'not-found') },
      },
    },
    (request) => providers.change(request.params.providerId, request.body, byStaffOf(request)),
  )

  app.delete(
    '/staff/providers/:providerId',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'removeProvider',
        summary: 'Remove a provider, and all its links',
        params,
        response: { 204: Empty, ...problems(...provenChangeProblems, 'not-found') },
      },
    },
    async (request, reply) => {
      await providers.remove(request.params.providerId, byStaffOf(request))
      return reply.code(204).send()
    },
  )

  app.post(
    '/staff/providers/:providerId/test',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'testProvider',
        summary: 'Try a provider without a person',
        description:
          'Fetches its metadata and keys, opens its form, and offers it a code that cannot work, to see whether it knows our credentials. Changes nothing.',
        params,
        response: { 200: ProviderTest, ...problems(...staffReadProblems, 'not-found') },
      },
    },
    (request) => providers.test(request.params.providerId),
  )
}
