/** The providers of school accounts, for admins; and for the help desk, the sign-ins that were refused. */
import { staffChange } from '../../platform/http/access.ts'
import { Id, Limit, limitFrom } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { operation } from '../session/operation.ts'
import * as schemas from './schemas.ts'
import type { Providers, SchoolAccounts } from './school-account.ts'

const params = Type.Object({ providerId: Id('The provider.') })
const reading = { access: 'staff', may: 'admin', tag: 'staff' } as const
const changing = { ...staffChange('admin'), tag: 'staff' } as const

export const providerRoutes = (providers: Providers, accounts: Pick<SchoolAccounts, 'refusals'>) => [
  refusedSignIns(accounts),
  ...managing(providers),
]

const refusedSignIns = ({ refusals }: Pick<SchoolAccounts, 'refusals'>) =>
  operation('GET /staff/school-refusals', {
    access: 'staff',
    may: 'support',
    tag: 'staff',
    id: 'findSchoolRefusals',
    summary: 'Refused sign-ins with school accounts',
    description:
      'The newest first, with what the provider claimed of the person. They are kept as long as delivery records.',
    query: Type.Object({
      q: Type.Optional(
        Type.String({
          description: 'The reference that the page showed, a student number, or an address.',
          examples: ['KTV-BDF-GHJ'],
        }),
      ),
      limit: Limit,
    }),
    reply: schemas.SchoolRefusals,
    answer: async ({ query: { q = '', limit } }) => ({ refusals: await refusals.find(q, limitFrom(limit)) }),
  })

const managing = (providers: Providers) => [
  operation('GET /staff/providers', {
    ...reading,
    id: 'listStaffProviders',
    summary: 'All providers of school accounts',
    reply: schemas.ProviderList,
    answer: async () => ({ providers: await providers.list() }),
  }),

  operation('POST /staff/providers', {
    ...changing,
    id: 'addProvider',
    summary: 'Add a provider',
    description: 'Like every change here, this needs a sign-in at most 30 minutes old.',
    body: schemas.NewProvider,
    status: 201,
    reply: schemas.ProviderEntry,
    refuses: ['conflict'],
    answer: ({ body, by }) => providers.add(body, by),
  }),

  operation('PATCH /staff/providers/:providerId', {
    ...changing,
    id: 'changeProvider',
    summary: 'Change, disable or enable a provider',
    description: 'A disabled provider signs nobody in. Sessions and links stay.',
    params,
    body: schemas.ProviderChange,
    reply: schemas.ProviderEntry,
    refuses: ['not-found'],
    answer: ({ params, body, by }) => providers.change(params.providerId, body, by),
  }),

  operation('DELETE /staff/providers/:providerId', {
    ...changing,
    id: 'removeProvider',
    summary: 'Remove a provider, and all its links',
    params,
    refuses: ['not-found'],
    answer: ({ params, by }) => providers.remove(params.providerId, by),
  }),

  operation('POST /staff/providers/:providerId/test', {
    ...reading,
    id: 'testProvider',
    summary: 'Try a provider without a person',
    description:
      'Fetches its metadata and keys, opens its form, and offers it a code that cannot work, to see whether it knows our credentials. Changes nothing.',
    params,
    reply: schemas.ProviderTest,
    refuses: ['not-found'],
    answer: ({ params }) => providers.test(params.providerId),
  }),
]
