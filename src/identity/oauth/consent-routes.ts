import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type ByOf, type CallerOf, routeConfig } from '../../platform/http/access.ts'
import { bodyProblems, problems, tokenProblems } from '../../platform/http/problem-schemas.ts'
import { Empty, Id } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import type { LiveSession } from '../session/session.ts'
import { ConsentList } from './authorize-schemas.ts'
import type { Consents } from './consents.ts'

export interface ConsentRoutesDeps {
  readonly consents: Consents
  readonly callerOf: CallerOf<LiveSession>
  readonly byOf: ByOf
}

export function consentRoutes(root: FastifyInstance, { consents, callerOf, byOf }: ConsentRoutesDeps): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['session']
  const config = routeConfig({ access: 'signed-in' })

  app.get(
    '/consents',
    {
      config,
      schema: {
        tags,
        operationId: 'listConsents',
        summary: 'Applications that I have allowed to sign me in',
        response: { 200: ConsentList, ...problems(...tokenProblems, 'forbidden') },
      },
    },
    async (request) => ({ consents: await consents.list(callerOf(request).id) }),
  )

  app.delete(
    '/consents/:clientId',
    {
      config,
      schema: {
        tags,
        operationId: 'withdrawConsent',
        summary: 'Withdraw a consent',
        description: 'Ends my sessions at that application, too. It has to ask again.',
        params: Type.Object({ clientId: Id('The application.') }),
        response: { 204: Empty, ...problems(...bodyProblems, ...tokenProblems, 'forbidden', 'not-found') },
      },
    },
    async (request, reply) => {
      await consents.withdraw(callerOf(request).id, request.params.clientId, byOf(request))
      return reply.code(204).send()
    },
  )
}
