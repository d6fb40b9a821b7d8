import { Id } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { operation } from '../session/operation.ts'
import { ConsentList } from './authorize-schemas.ts'
import type { Consents } from './consents.ts'

export const consentRoutes = (consents: Consents) => [
  operation('GET /consents', {
    access: 'signed-in',
    tag: 'session',
    id: 'listConsents',
    summary: 'Applications that I have allowed to sign me in',
    reply: ConsentList,
    answer: async ({ caller }) => ({ consents: await consents.list(caller.id) }),
  }),

  operation('DELETE /consents/:clientId', {
    access: 'signed-in',
    tag: 'session',
    id: 'withdrawConsent',
    summary: 'Withdraw a consent',
    description: 'Ends my sessions at that application, too. It has to ask again.',
    params: Type.Object({ clientId: Id('The application.') }),
    refuses: ['not-found'],
    answer: ({ caller, params, by }) => consents.withdraw(caller.id, params.clientId, by),
  }),
]
