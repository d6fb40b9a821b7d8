import type { FastifyInstance } from 'fastify'
import { AppError } from '../../errors.ts'
import { ownChangeWithinMs } from '../../platform/http/access.ts'
import { formMediaType } from '../../platform/http/oauth.ts'
import { page } from '../../platform/http/operation.ts'
import type { PortalCookie } from '../../platform/http/portal.ts'
import { Id } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { type SchoolRole, schoolRoles } from '../../roles.ts'
import { operation } from '../session/operation.ts'
import * as schemas from './schemas.ts'
import type { Answer, Providers, SchoolAccounts } from './school-account.ts'

export interface SchoolAccountRoutesDeps {
  readonly accounts: SchoolAccounts
  readonly answer: SchoolAccounts['answer']
  readonly providers: Providers
  readonly portal: PortalCookie
}

// Limits of its own are applied only to sign-ins at a provider that is there.
export const schoolAccountRoutes = (deps: SchoolAccountRoutesDeps) => [
  providerButtons(deps.providers),
  ...schoolRoles.map((role) => signingIn(role, deps)),
  comingBack(deps),
  ...ownLinks(deps),
  loggingOut(deps.accounts),
]

const providerButtons = (providers: Providers) =>
  operation('GET /providers', {
    access: 'public',
    tag: 'school account',
    id: 'listProviders',
    summary: 'Providers of school accounts, for buttons',
    reply: schemas.ProviderButtons,
    async answer({ reply }) {
      reply.header('Cache-Control', 'no-cache')
      return { providers: await providers.buttons() }
    },
  })

const params = Type.Object({ providerId: Id('The provider.') })

const signingIn = (role: SchoolRole, { accounts, portal }: SchoolAccountRoutesDeps) =>
  operation(`POST /portal/${role}/school/:providerId`, {
    access: 'portal',
    tag: 'portal',
    id: `start${role === 'staff' ? 'Staff' : 'Student'}SchoolSignIn`,
    summary: `Sign in with a school account, as ${role === 'staff' ? 'staff' : 'a student'}`,
    description:
      'Send the browser to `location`. A sealed cookie keeps the sign-in for ten minutes; nothing else is stored. The browser comes back signed in, or to a page that says it was refused.',
    params: Type.Object({ providerId: Id('From GET /providers.') }),
    body: schemas.SchoolSignIn,
    reply: schemas.SchoolSignInStarted,
    refuses: ['not-found'],
    async answer({ request, reply, params: { providerId }, body, sender }) {
      const { return: returnTo, prompt } = body
      const otherAccount = prompt === 'select_account'
      const from = { providerId, returnTo, shared: portal.isShared(request), otherAccount }
      const { sealed, location } = await accounts.start(role, from, sender)
      portal.keepSignInElsewhere(reply, sealed)
      return { location }
    },
  })

/** Back from the provider. */
const comingBack = ({ answer, portal }: SchoolAccountRoutesDeps) =>
  page('GET /sign-in/school/callback', async ({ request, reply, sender, device }) => {
    const { search } = new URL(request.url, 'http://localhost')
    const outcome = await answer({ sealed: portal.signInElsewhereIn(request), search, device }, sender)
    reply.code(303).headers({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' })
    // Another sign-in may be under way in this browser, so its cookie stays.
    if (outcome.kind === 'not-begun') return reply.header('Location', '/#/school-refused').send()
    portal.clearSignInElsewhere(reply)
    if (outcome.kind === 'refused') return reply.header('Location', refusalPage(outcome)).send()
    if (outcome.kind === 'signed-in') portal.keep(reply, outcome.tokens, outcome.shared)
    return reply.header('Location', outcome.returnTo).send()
  })

/**
 * The same for every reason, so that nobody can find out who has an account. It is shown where the browser was going to, so
 * that the request of an application is kept.
 */
function refusalPage({ from, reference }: Extract<Answer, { kind: 'refused' }>): string {
  const { role, providerId, returnTo, linkFor } = from
  const { pathname, search, hash } = new URL(returnTo, 'http://localhost')
  const about = new URLSearchParams({
    ...(reference !== null && { reference }),
    ...{ role, provider: providerId },
    ...(linkFor !== null && { connecting: '1' }),
    ...(hash.startsWith('#/') && hash !== '#/' && { place: hash.slice(1) }),
  })
  const page = pagesWithRefusals.includes(pathname) ? pathname + search : role === 'staff' ? '/console' : '/'
  return `${page}#/school-refused?${about}`
}

const pagesWithRefusals = ['/', '/console', '/oauth/authorize']

const changing = { access: 'signed-in', tag: 'school account', provedWithinMs: ownChangeWithinMs } as const

const ownLinks = ({ accounts, portal }: SchoolAccountRoutesDeps) => [
  operation('GET /school/links', {
    access: 'signed-in',
    tag: 'school account',
    id: 'listSchoolLinks',
    summary: 'My school accounts',
    reply: schemas.SchoolLinks,
    answer: async ({ caller }) => ({ links: await accounts.links(caller.id) }),
  }),

  operation('POST /school/links', {
    ...changing,
    id: 'addSchoolLink',
    summary: 'Connect my school account',
    description:
      'Send the browser to `location`, which needs the cookie of this reply. Needs a proof of who I am at most 10 minutes old. For staff it is the only way to be able to sign in with a school account.',
    body: schemas.NewSchoolLink,
    reply: schemas.SchoolSignInStarted,
    refuses: ['not-found', 'conflict'],
    async answer({ request, reply, caller, body: { providerId, return: returnTo, prompt } }) {
      const otherAccount = prompt === 'select_account'
      const from = { providerId, returnTo, shared: portal.isShared(request), otherAccount }
      const { sealed, location } = await accounts.startLink(caller, from)
      portal.keepSignInElsewhere(reply, sealed)
      return { location }
    },
  }),

  operation('DELETE /school/links/:providerId', {
    ...changing,
    id: 'removeSchoolLink',
    summary: 'Disconnect my school account',
    description: 'Needs a proof of who I am at most 10 minutes old.',
    params,
    refuses: ['not-found'],
    answer: ({ caller, params, by }) => accounts.unlink(caller.id, params.providerId, by, caller.session_id),
  }),
]

const loggingOut = (accounts: SchoolAccounts) =>
  operation('POST /sign-in/school/:providerId/logout', {
    access: 'public',
    tag: 'school account',
    id: 'logOutFromProvider',
    summary: 'Back-channel logout',
    description:
      'For the provider: ends the sessions that began with the session or the account that the token names.',
    within: takeLogoutForms,
    consumes: [formMediaType],
    params,
    body: schemas.LogoutForm,
    reply: schemas.LoggedOut,
    async answer({ reply, params, body, sender }) {
      reply.header('Cache-Control', 'no-store')
      await accounts.logout(params.providerId, body.logout_token, sender)
      return {}
    },
  })

function takeLogoutForms(scope: FastifyInstance): void {
  scope.addContentTypeParser(formMediaType, { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) =>
    readLogoutForm(body),
  )
}

function readLogoutForm(body: Buffer): { logout_token?: string } {
  const given = new URLSearchParams(body.toString('utf8')).getAll('logout_token')
  if (given.length > 1) throw new AppError('invalid-request', 'The body has two logout tokens.')
  return given[0] === undefined ? {} : { logout_token: given[0] }
}
