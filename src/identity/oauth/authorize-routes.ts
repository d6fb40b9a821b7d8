/**
 * /oauth/authorize, a page of the portal, and the call with which that page asks how to go on. A form that is posted to
 * the page comes from another site, so without the portal's cookie; the browser goes on to the page with a GET.
 */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { type ByOf, routeConfig } from '../../platform/http/access.ts'
import { pageContentPolicy, portalContentPolicy, portalPolicyToPost } from '../../platform/http/headers.ts'
import { queryAsForm, takeFormsAsQueries } from '../../platform/http/oauth.ts'
import { html } from '../../platform/http/pages.ts'
import type { PortalCookie } from '../../platform/http/portal.ts'
import { bodyProblems, problems } from '../../platform/http/problem-schemas.ts'
import type { Branding } from '../../platform/lib/branding.ts'
import { escapeHtml } from '../../platform/lib/html.ts'
import { chooseLanguage, type Language } from '../../platform/lib/languages.ts'
import type { Client } from '../clients/clients.ts'
import type { Authorization } from './authorization.ts'
import type { Reading } from './authorize.ts'
import { AuthorizeAnswer, AuthorizeReply } from './authorize-schemas.ts'

export interface AuthorizeRoutesDeps {
  readonly authorization: Authorization
  readonly portal: PortalCookie
  readonly byOf: ByOf
  readonly branding: Branding
  sendPrivatePage(reply: FastifyReply, contentPolicy?: string): FastifyReply
}

export async function authorizeRoutes(root: FastifyInstance, deps: AuthorizeRoutesDeps): Promise<void> {
  const { authorization, portal, byOf, branding, sendPrivatePage } = deps
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const config = routeConfig({ access: 'public' })

  const schema = { hide: true }

  app.get('/oauth/authorize', { config, schema }, async (request, reply) => {
    const query = queryOf(request)
    const reading = await authorization.read(query)
    if ('refusal' in reading) return refuse(request, reply, query, reading.refusal)
    // A form is posted by the page.
    if ('location' in reading && !reading.form) return goTo(reply, reading.location)
    return sendPrivatePage(reply, policyFor(reading))
  })

  await root.register(async (scope) => {
    takeFormsAsQueries(scope)
    scope.post(
      '/oauth/authorize',
      { config, schema: { ...schema, ...queryAsForm } },
      async (request, reply) => {
        const query = (request.body as string | null) ?? ''
        const reading = await authorization.read(query)
        if ('refusal' in reading) return refuse(request, reply, query, reading.refusal)
        const isAnswer = 'location' in reading && !reading.form
        return goTo(reply, isAnswer ? reading.location : `/oauth/authorize?${query}`)
      },
    )
  })

  function refuse(request: FastifyRequest, reply: FastifyReply, query: string, refusal: string) {
    const wishes = [new URLSearchParams(query).get('ui_locales')?.replaceAll(' ', ',')]
    const language = chooseLanguage([...wishes, request.headers['accept-language']].join(','))
    return reply
      .code(400)
      .headers({ 'Content-Security-Policy': pageContentPolicy, 'X-Robots-Tag': 'noindex' })
      .type('text/html; charset=utf-8')
      .send(refusalPage(refusal, language, branding))
  }

  app.post(
    '/portal/authorize',
    {
      config,
      onRequest: portal.refuseForeign,
      schema: {
        tags: ['portal'],
        operationId: 'authorizeClient',
        summary: 'Go on signing in at an application',
        description:
          'The page at /oauth/authorize asks where the browser goes, or what is still needed of the person whose session is in the cookie. `location` has a code for the application, or an error; with `form`, the page posts them there.',
        security: [],
        body: AuthorizeAnswer,
        response: {
          200: AuthorizeReply,
          ...problems(...bodyProblems, 'unauthenticated', 'forbidden'),
        },
      },
    },
    async (request) => {
      const { query, confirmed = false, declined = false } = request.body
      const token = onlyTokenIn(portal, request)
      const language = chooseLanguage(request.headers['accept-language'])
      const answer = { query, confirmed, declined, language }
      const outcome = await authorization.answer(answer, token, byOf(request))
      if (!('need' in outcome)) return outcome
      const { need, client, scopes, methods, reason } = outcome
      const more = { ...(methods && { methods: [...methods] }), ...(reason && { reason }) }
      return { need, client: shown(client), scopes: [...scopes], ...more }
    },
  )
}

/** As it was sent, since a parameter may be there twice. */
function queryOf({ raw: { url = '' } }: FastifyRequest): string {
  const start = url.indexOf('?')
  return start === -1 ? '' : url.slice(start + 1)
}

export const goTo = (reply: FastifyReply, location: string) =>
  reply.code(303).header('Location', location).send()

function policyFor(reading: Exclude<Reading, { readonly refusal: string }>): string {
  if ('location' in reading) return portalPolicyToPost(reading.location)
  const { byForm, redirectUri } = reading.request
  return byForm ? portalPolicyToPost(redirectUri) : portalContentPolicy
}

/** Of two cookies one was planted, and guessing could sign people in as somebody else. */
export function onlyTokenIn(portal: PortalCookie, request: FastifyRequest): string | undefined {
  const [token, another] = portal.tokensIn(request)
  if (another !== undefined) throw new AppError('unauthenticated', 'There is more than one session cookie.')
  return token
}

/** What people see of a client. */
export function shown({ id, name, kind, roles, unverifiedVeterinarians }: Client) {
  const takesUnverified = unverifiedVeterinarians !== false
  return { clientId: id, name, kind, roles: [...roles], unverifiedVeterinarians: takesUnverified }
}

interface RefusalTexts {
  readonly title: string
  readonly lead: string
  readonly reason: string
}

const refusalTexts: Readonly<Record<Language, RefusalTexts>> = {
  en: {
    title: 'You cannot sign in this way',
    lead: 'The application that sent you here made a mistake. Go back to it and try again. If that does not help, tell the people who run it.',
    reason: 'For them:',
  },
  fr: {
    title: 'Connexion impossible',
    lead: 'L’application qui vous a dirigé ici a fait une erreur. Retournez-y et réessayez. Si le problème persiste, prévenez ses responsables.',
    reason: 'À leur attention\u202f:',
  },
  es: {
    title: 'No es posible iniciar sesión así',
    lead: 'La aplicación que le ha traído aquí ha cometido un error. Vuelva a ella e inténtelo de nuevo. Si no funciona, avise a sus responsables.',
    reason: 'Para ellos:',
  },
}

function refusalPage(refusal: string, language: Language, branding: Branding): string {
  const { title, lead, reason } = refusalTexts[language]
  return html({
    title,
    language,
    branding,
    head: '<meta name="robots" content="noindex">',
    body: `<h1>${title}</h1>
<p>${lead}</p>
<p class="small">${reason} <span lang="en">${escapeHtml(refusal)}</span></p>`,
  })
}
