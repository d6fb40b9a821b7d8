/** /oauth/logout, a page of the portal, and the call with which that page signs out. */
import { queryAsForm, takeFormsAsQueries } from '../../platform/http/oauth.ts'
import { page } from '../../platform/http/operation.ts'
import { operation } from '../session/operation.ts'
import { queryMax } from './authorize.ts'
import { type AuthorizeRoutesDeps, goTo, onlyTokenIn, shown } from './authorize-routes.ts'
import { LogoutAnswer, LogoutReply } from './authorize-schemas.ts'
import type { Logout } from './logout.ts'

export const logoutRoutes = (
  logout: Logout,
  { portal, sendPrivatePage }: Pick<AuthorizeRoutesDeps, 'portal' | 'sendPrivatePage'>,
) => [
  page('GET /oauth/logout', ({ reply }) => sendPrivatePage(reply)),

  page(
    'POST /oauth/logout',
    ({ reply, body }) => {
      const query = (body as string | null) ?? ''
      return goTo(reply, query.length > queryMax ? '/oauth/logout' : `/oauth/logout?${query}`)
    },
    { within: takeFormsAsQueries, ...queryAsForm },
  ),

  operation('POST /portal/logout', {
    access: 'portal',
    tag: 'portal',
    id: 'logoutForClient',
    summary: 'Sign out because an application asks for it',
    description:
      'The page at /oauth/logout sends it. Ends the session of the cookie with the sessions at applications below it, and clears the cookie. Asks first, unless `id_token_hint` belongs to this session.',
    body: LogoutAnswer,
    reply: LogoutReply,
    refuses: ['unauthenticated'],
    async answer({ request, reply, body: { query, confirmed = false }, by }) {
      const outcome = await logout.answer(query, confirmed, onlyTokenIn(portal, request), by)
      if ('need' in outcome) return { ...outcome, client: outcome.client && shown(outcome.client) }
      portal.clear(reply)
      return outcome
    },
  }),
]
