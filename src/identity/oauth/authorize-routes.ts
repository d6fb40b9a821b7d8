/**
 * /oauth/authorize, a page of the portal, and the call with which that page asks how to go on. A form that is posted to
 * the page comes from another site, so without the portal's cookie; the browser goes on to the page with a GET.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { pageContentPolicy, portalContentPolicy, portalPolicyToPost } from '../../platform/http/headers.ts'
import { queryAsForm, takeFormsAsQueries } from '../../platform/http/oauth.ts'
import { page } from '../../platform/http/operation.ts'
import { html } from '../../platform/http/pages.ts'
import type { PortalCookie } from '../../platform/http/portal.ts'
import type { Branding } from '../../platform/lib/branding.ts'
import { escapeHtml } from '../../platform/lib/html.ts'
import { chooseLanguage, type Language } from '../../platform/lib/languages.ts'
import { pageTexts } from '../../platform/lib/page-texts/page-texts.ts'
import type { Client } from '../clients/clients.ts'
import { operation } from '../session/operation.ts'
import type { Authorization } from './authorization.ts'
import type { Reading } from './authorize.ts'
import { AuthorizeAnswer, AuthorizeReply } from './authorize-schemas.ts'

export interface AuthorizeRoutesDeps {
  readonly authorization: Authorization
  readonly portal: PortalCookie
  readonly branding: Branding
  sendPrivatePage(reply: FastifyReply, contentPolicy?: string): FastifyReply
}

export const authorizeRoutes = (deps: AuthorizeRoutesDeps) => [...authorizePages(deps), authorizing(deps)]

const authorizePages = ({ authorization, branding, sendPrivatePage }: AuthorizeRoutesDeps) => [
  page('GET /oauth/authorize', async ({ request, reply }) => {
    const query = queryOf(request)
    const reading = await authorization.read(query)
    if ('refusal' in reading) return refuse(reply, query, reading.refusal, branding)
    // A form is posted by the page.
    if ('location' in reading && !reading.form) return goTo(reply, reading.location)
    return sendPrivatePage(reply, policyFor(reading))
  }),

  page(
    'POST /oauth/authorize',
    async ({ reply, body }) => {
      const query = (body as string | null) ?? ''
      const reading = await authorization.read(query)
      if ('refusal' in reading) return refuse(reply, query, reading.refusal, branding)
      const isAnswer = 'location' in reading && !reading.form
      return goTo(reply, isAnswer ? reading.location : `/oauth/authorize?${query}`)
    },
    { within: takeFormsAsQueries, ...queryAsForm },
  ),
]

function refuse(reply: FastifyReply, query: string, refusal: string, branding: Branding) {
  const wishes = [new URLSearchParams(query).get('ui_locales')?.replaceAll(' ', ',')]
  const language = chooseLanguage([...wishes, reply.request.headers['accept-language']].join(','))
  return reply
    .code(400)
    .headers({ 'Content-Security-Policy': pageContentPolicy, 'X-Robots-Tag': 'noindex' })
    .type('text/html; charset=utf-8')
    .send(refusalPage(refusal, language, branding))
}

const authorizing = ({ authorization, portal }: AuthorizeRoutesDeps) =>
  operation('POST /portal/authorize', {
    access: 'portal',
    tag: 'portal',
    id: 'authorizeClient',
    summary: 'Go on signing in at an application',
    description:
      'The page at /oauth/authorize asks where the browser goes, or what is still needed of the person whose session is in the cookie. `location` has a code for the application, or an error; with `form`, the page posts them there.',
    body: AuthorizeAnswer,
    reply: AuthorizeReply,
    refuses: ['unauthenticated'],
    async answer({ request, body: { query, confirmed = false, declined = false }, by, language }) {
      const answer = { query, confirmed, declined, language }
      const outcome = await authorization.answer(answer, onlyTokenIn(portal, request), by)
      if (!('need' in outcome)) return outcome
      const { need, client, scopes, methods, reason } = outcome
      const more = { ...(methods && { methods: [...methods] }), ...(reason && { reason }) }
      return { need, client: shown(client), scopes: [...scopes], ...more }
    },
  })

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

function refusalPage(refusal: string, language: Language, branding: Branding): string {
  const { title, lead, reason } = pageTexts[language].refusal
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
