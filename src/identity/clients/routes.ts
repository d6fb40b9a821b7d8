/** The register of applications, for admins. */
import { invalidField } from '../../errors.ts'
import { staffChange } from '../../platform/http/access.ts'
import { After, Id, Limit, limitFrom } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { second } from '../../platform/lib/clock.ts'
import { isId } from '../../platform/lib/random.ts'
import { operation } from '../session/operation.ts'
import type { Clients } from './clients.ts'
import * as schemas from './schemas.ts'

const params = Type.Object({ clientId: Id('The application’s id.') })
const reading = { tag: 'staff', access: 'staff', may: 'admin' } as const
const changing = { tag: 'staff', ...staffChange('admin') } as const

export const clientRoutes = (clients: Clients) => [
  ...readingClients(clients),
  ...changingClients(clients),
  ...clientAccess(clients),
]

const readingClients = (clients: Clients) => [
  operation('GET /staff/clients', {
    ...reading,
    id: 'listClients',
    summary: 'All applications',
    reply: schemas.ClientList,
    answer: async () => ({ clients: await clients.list() }),
  }),
]

const changingClients = (clients: Clients) => [
  operation('POST /staff/clients', {
    ...changing,
    id: 'addClient',
    summary: 'Register an application',
    description: 'Up to 200. Like every change here, this needs a sign-in at most 30 minutes old.',
    body: schemas.NewClientBody,
    status: 201,
    reply: schemas.ClientAdded,
    refuses: ['not-found', 'conflict'],
    answer: ({ body, by }) => clients.add(body, by),
  }),
  operation('GET /staff/clients/:clientId', {
    ...reading,
    id: 'getClient',
    summary: 'An application, with failed back-channel calls',
    params,
    reply: schemas.ClientEntry,
    refuses: ['not-found'],
    answer: ({ params }) => clients.show(params.clientId),
  }),
  operation('PATCH /staff/clients/:clientId', {
    ...changing,
    id: 'changeClient',
    summary: 'Change, disable or enable an application',
    description:
      'Its tokens are refused while it is disabled. Once it is enabled again, those that have not expired work again. Roles and scopes that it loses are lost in its sessions and tokens, too. If it no longer admits unverified veterinarians, those who are signed in there are signed out.',
    params,
    body: schemas.ClientChange,
    reply: schemas.ClientEntry,
    refuses: ['not-found'],
    answer: ({ params, body, by }) => clients.change(params.clientId, body, by),
  }),
  operation('DELETE /staff/clients/:clientId', {
    ...changing,
    id: 'removeClient',
    summary: 'Remove an application',
    description: 'Everybody is signed out there first.',
    params,
    refuses: ['not-found'],
    answer: ({ params, by }) => clients.remove(params.clientId, by),
  }),
]

const clientAccess = (clients: Clients) => [
  operation('POST /staff/clients/:clientId/rotate', {
    ...changing,
    id: 'rotateClient',
    summary: 'Give an application a new secret',
    params,
    body: schemas.ClientRotation,
    reply: schemas.ClientWithSecret,
    refuses: ['not-found', 'conflict'],
    answer: ({ params, body, by }) => clients.rotate(params.clientId, body.overlapSeconds * second, by),
  }),
  operation('POST /staff/clients/:clientId/sign-out', {
    ...changing,
    id: 'signOutOfClient',
    summary: 'Sign everybody out of an application',
    description: 'The tokens that a service has for itself end, too.',
    params,
    reply: schemas.ClientSignOut,
    refuses: ['not-found'],
    answer: async ({ params, by }) => ({ ended: await clients.signOut(params.clientId, by) }),
  }),
  operation('GET /staff/clients/:clientId/people', {
    ...reading,
    id: 'listClientPeople',
    summary: 'Who is signed in at an application',
    params,
    query: Type.Object({ after: After, limit: Limit }),
    reply: schemas.ClientPeople,
    refuses: ['not-found'],
    answer: ({ params: { clientId }, query: { after, limit } }) => {
      if (after !== undefined && !isId(after))
        throw invalidField({ parameter: 'after', detail: 'must be the next value of a page' })
      return clients.people(clientId, { after: after ?? '', limit: limitFrom(limit) })
    },
  }),
]
