import type { TSchema } from 'typebox'
import { AppError } from '../../errors.ts'
import { jsonMediaType } from '../../platform/http/bodies.ts'
import { formMediaType, readRefreshForm, takeForms } from '../../platform/http/oauth.ts'
import type { PortalCookie } from '../../platform/http/portal.ts'
import { Type } from '../../platform/http/type.ts'
import { viewOf } from './history.ts'
import { operation } from './operation.ts'
import { OAuthProblem, PortalTokenReply, RefreshBody, SessionList, TokenReply } from './schemas.ts'
import type { Sessions } from './session.ts'

export const refreshRoute = (sessions: Sessions, Profile: TSchema) =>
  operation('POST /session/refresh', {
    access: 'public',
    tag: 'session',
    id: 'refreshSession',
    summary: 'New tokens for a refresh token',
    description:
      'Rotates the refresh token. For 30 seconds the previous one returns the same new one again. Later it returns a different new one, as long as the first was never used; the first is then void. Any other token that is not the newest ends the session, however recently it was rotated. Sent as a form, this is the token request of RFC 6749, and errors are 400 as in its §5.2.',
    within: (scope) => takeForms(scope, readRefreshForm),
    consumes: [jsonMediaType, formMediaType],
    body: RefreshBody,
    reply: TokenReply(Profile, 'TokenReply'),
    refuses: ['invalid-token', 'session-ended'],
    refusesForms: { 400: { schema: OAuthProblem } },
    answer: async ({ body, by }) => (await sessions.refresh(body.refresh_token, by)).reply,
  })

export const sessionRoutes = (sessions: Sessions) => [
  operation('GET /session', {
    access: 'signed-in',
    tag: 'session',
    id: 'listSessions',
    summary: 'My sessions',
    reply: SessionList,
    answer: async ({ caller }) => ({
      sessions: (await sessions.list(caller.id)).map((session) => ({
        ...viewOf(session),
        current: session.session_id === caller.session_id,
        scope: session.scope,
        parentId: session.parent_id,
      })),
    }),
  }),

  operation('DELETE /session', {
    access: 'signed-in',
    beforePasskey: true,
    tag: 'session',
    id: 'endSession',
    summary: 'Sign out here',
    answer: ({ caller, by }) => sessions.end(caller, 'signed-out', by),
  }),

  operation('DELETE /session/all', {
    access: 'signed-in',
    tag: 'session',
    id: 'endAllSessions',
    summary: 'Sign out everywhere',
    answer: ({ caller, by }) => sessions.endAll(caller.id, 'signed-out', by),
  }),

  operation('DELETE /session/:sessionId', {
    access: 'signed-in',
    tag: 'session',
    id: 'endOneSession',
    summary: 'Sign out another session',
    params: Type.Object({ sessionId: Type.String({ description: 'One of my sessions.' }) }),
    refuses: ['not-found'],
    answer: ({ caller, params, by }) => sessions.endOne(caller.id, params.sessionId, by),
  }),
]

/** Refresh and sign-out for the portal, by cookie. */
export const portalSessionRoutes = (sessions: Sessions, portal: PortalCookie, Profile: TSchema) => [
  operation('POST /portal/refresh', {
    access: 'portal',
    tag: 'portal',
    id: 'refreshPortalSession',
    summary: 'A new access token from the cookie',
    description:
      'Like POST /session/refresh, but the refresh token is in the cookie, which is replaced. A token that no longer works is cleared. Without a cookie, the reply is 401.',
    reply: PortalTokenReply(Profile, 'PortalTokenReply'),
    refuses: ['unauthenticated', 'invalid-token', 'session-ended'],
    answer: async ({ request, reply, by }) => {
      const [token, another] = portal.tokensIn(request)
      // Of two cookies one was planted, and guessing could sign people in as somebody else.
      if (token === undefined || another !== undefined)
        throw new AppError('unauthenticated', 'There is no session cookie, or more than one.')
      try {
        return portal.keep(reply, await sessions.refresh(token, by))
      } catch (error) {
        if (error instanceof AppError && isDead(error)) portal.clear(reply)
        throw error
      }
    },
  }),

  operation('POST /portal/sign-out', {
    access: 'portal',
    tag: 'portal',
    id: 'signOutOfPortal',
    summary: 'Sign out here',
    description: 'Ends the session of the cookie, if it has a live one, and clears the cookie. Idempotent.',
    answer: async ({ request, reply, by }) => {
      await Promise.all(portal.tokensIn(request).map((token) => sessions.signOut(token, by)))
      portal.clear(reply)
    },
  }),
]

/** Whether the cookie can never work again; an unreachable store proves nothing. */
const isDead = ({ code }: AppError) => code === 'invalid-token' || code === 'session-ended'
