/** /oauth/logout, a page of the portal, and the call with which that page signs out. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type ByOf, routeConfig } from '../../platform/http/access.ts'
import { queryAsForm, takeFormsAsQueries } from '../../platform/http/oauth.ts'
import type { PortalCookie } from '../../platform/http/portal.ts'
import { bodyProblems, problems } from '../../platform/http/problem-schemas.ts'
import { queryMax } from './authorize.ts'
import { goTo, onlyTokenIn, shown } from './authorize-routes.ts'
import { LogoutAnswer, LogoutReply } from './authorize-schemas.ts'
import type { Logout } from './logout.ts'

export interface LogoutRoutesDeps {
  readonly logout: Logout
  readonly portal: PortalCookie
  readonly byOf: ByOf
  sendPrivatePage(reply: FastifyReply): FastifyReply
}

export async function logoutRoutes(
  root: FastifyInstance,
  { logout, portal, byOf, sendPrivatePage }: LogoutRoutesDeps,
): Promise<void> {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const config = routeConfig({ access: 'public' })

  const schema = { hide: true }

  app.get('/oauth/logout', { config, schema }, async (_request, reply) => sendPrivatePage(reply))

  await root.register(async (scope) => {
    takeFormsAsQueries(scope)
    scope.post('/oauth/logout', { config, schema: { ...schema, ...queryAsForm } }, async (request, reply) => {
      const query = (request.body as string | null) ?? ''
      return goTo(reply, query.length > queryMax ? '/oauth/logout' : `/oauth/logout?${query}`)
    })
  })

  app.post(
    '/portal/logout',
    {
      config,
      onRequest: portal.refuseForeign,
      schema: {
        tags: ['portal'],
        operationId: 'logoutForClient',
        summary: 'Sign out because an application asks for it',
        description:
          'The page at /oauth/logout sends it. Ends the session of the cookie with the sessions at applications below it, and clears the cookie. Asks first, unless `id_token_hint` belongs to this session.',
        security: [],
        body: LogoutAnswer,
        response: {
          200: LogoutReply,
          ...problems(...bodyProblems, 'unauthenticated', 'forbidden'),
        },
      },
    },
    async (request, reply) => {
      const { query, confirmed = false } = request.body
      const outcome = await logout.answer(query, confirmed, onlyTokenIn(portal, request), byOf(request))
      if ('need' in outcome) return { ...outcome, client: outcome.client && shown(outcome.client) }
      portal.clear(reply)
      return outcome
    },
  )
}
