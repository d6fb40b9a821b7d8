import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { type ByOf, type CallerOf, ownChangeWithinMs, routeConfig } from '../../platform/http/access.ts'
import { requestCaller } from '../../platform/http/caller.ts'
import { formMediaType } from '../../platform/http/oauth.ts'
import type { PortalCookie } from '../../platform/http/portal.ts'
import {
  bodyProblems,
  problems,
  provenChangeProblems,
  tokenProblems,
} from '../../platform/http/problem-schemas.ts'
import { Empty, Id } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import type { CallerNetwork } from '../../platform/lib/bucket.ts'
import { deviceOf } from '../../platform/lib/device.ts'
import { schoolRoles } from '../../roles.ts'
import type { LiveSession } from '../session/session.ts'
import {
  LoggedOut,
  LogoutForm,
  NewSchoolLink,
  ProviderButtons,
  SchoolLinks,
  SchoolSignIn,
  SchoolSignInStarted,
} from './schemas.ts'
import type { Outcome, Providers, SchoolAccounts } from './school-account.ts'

export interface SchoolAccountRoutesDeps {
  readonly accounts: SchoolAccounts
  readonly answer: SchoolAccounts['answer']
  readonly providers: Providers
  readonly portal: PortalCookie
  readonly callerOf: CallerOf<LiveSession>
  readonly byOf: ByOf
  networkOf(request: FastifyRequest): CallerNetwork
}

export async function schoolAccountRoutes(
  root: FastifyInstance,
  deps: SchoolAccountRoutesDeps,
): Promise<void> {
  signingIn(root, deps)
  ownLinks(root, deps)
  await loggingOut(root, deps)
}

/**
 * The same for every reason, so that nobody can find out who has an account. It is shown where the browser was going to, so
 * that the request of an application is kept.
 */
function refusalPage({ from, reference }: Extract<Outcome, { kind: 'refused' }>): string {
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

function signingIn(root: FastifyInstance, deps: SchoolAccountRoutesDeps): void {
  const { accounts, answer, providers, portal, networkOf } = deps
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  // Limits of its own are applied only to sign-ins at a provider that is there.
  const config = routeConfig({ access: 'public' })

  app.get(
    '/providers',
    {
      config,
      schema: {
        tags: ['school account'],
        operationId: 'listProviders',
        summary: 'Providers of school accounts, for buttons',
        security: [],
        response: { 200: ProviderButtons, ...problems() },
      },
    },
    async (_request, reply) => {
      reply.header('Cache-Control', 'no-cache')
      return { providers: await providers.buttons() }
    },
  )

  for (const role of schoolRoles)
    app.post(
      `/portal/${role}/school/:providerId`,
      {
        config,
        onRequest: portal.refuseForeign,
        schema: {
          tags: ['portal'],
          operationId: `start${role === 'staff' ? 'Staff' : 'Student'}SchoolSignIn`,
          summary: `Sign in with a school account, as ${role === 'staff' ? 'staff' : 'a student'}`,
          description:
            'Send the browser to `location`. A sealed cookie keeps the sign-in for ten minutes; nothing else is stored. The browser comes back signed in, or to a page that says it was refused.',
          security: [],
          params: Type.Object({ providerId: Id('From GET /providers.') }),
          body: SchoolSignIn,
          response: { 200: SchoolSignInStarted, ...problems(...bodyProblems, 'forbidden', 'not-found') },
        },
      },
      async (request, reply) => {
        const started = await accounts.start(
          role,
          {
            providerId: request.params.providerId,
            returnTo: request.body.return,
            shared: portal.isShared(request),
            otherAccount: request.body.prompt === 'select_account',
          },
          requestCaller(networkOf(request), reply),
        )
        portal.keepSignInElsewhere(reply, started.sealed)
        return { location: started.location }
      },
    )

  app.get(
    '/sign-in/school/callback',
    {
      config,
      // For browsers that come back from the provider, not for programs.
      schema: { hide: true },
    },
    async (request, reply) => {
      const { search } = new URL(request.url, 'http://localhost')
      const outcome = await answer(
        {
          sealed: portal.signInElsewhereIn(request),
          search,
          device: deviceOf(request.headers['user-agent']),
        },
        requestCaller(networkOf(request), reply),
      )
      reply.code(303).headers({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' })
      // Another sign-in may be under way in this browser, so its cookie stays.
      if (outcome.kind === 'not-begun') return reply.header('Location', '/#/school-refused').send()
      portal.clearSignInElsewhere(reply)
      if (outcome.kind === 'refused') return reply.header('Location', refusalPage(outcome)).send()
      if (outcome.kind === 'signed-in') portal.keep(reply, outcome.tokens, outcome.shared)
      return reply.header('Location', outcome.returnTo).send()
    },
  )
}

function ownLinks(
  root: FastifyInstance,
  { accounts, portal, callerOf, byOf }: SchoolAccountRoutesDeps,
): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['school account']
  const changing = routeConfig({ access: 'signed-in', provedWithinMs: ownChangeWithinMs })
  const refusals = [...provenChangeProblems, 'not-found'] as const

  app.get(
    '/school/links',
    {
      config: routeConfig({ access: 'signed-in' }),
      schema: {
        tags,
        operationId: 'listSchoolLinks',
        summary: 'My school accounts',
        response: { 200: SchoolLinks, ...problems(...tokenProblems, 'forbidden') },
      },
    },
    async (request) => ({ links: await accounts.links(callerOf(request).id) }),
  )

  app.post(
    '/school/links',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'addSchoolLink',
        summary: 'Connect my school account',
        description:
          'Send the browser to `location`, which needs the cookie of this reply. Needs a proof of who I am at most 10 minutes old. For staff it is the only way to be able to sign in with a school account.',
        body: NewSchoolLink,
        response: { 200: SchoolSignInStarted, ...problems(...refusals, 'conflict') },
      },
    },
    async (request, reply) => {
      const { providerId, return: returnTo, prompt } = request.body
      const started = await accounts.startLink(callerOf(request), {
        providerId,
        returnTo,
        shared: portal.isShared(request),
        otherAccount: prompt === 'select_account',
      })
      portal.keepSignInElsewhere(reply, started.sealed)
      return { location: started.location }
    },
  )

  app.delete(
    '/school/links/:providerId',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'removeSchoolLink',
        summary: 'Disconnect my school account',
        description: 'Needs a proof of who I am at most 10 minutes old.',
        params: Type.Object({ providerId: Id('The provider.') }),
        response: { 204: Empty, ...problems(...refusals) },
      },
    },
    async (request, reply) => {
      const { id, session_id: sessionId } = callerOf(request)
      await accounts.unlink(id, request.params.providerId, byOf(request), sessionId)
      return reply.code(204).send()
    },
  )
}

async function loggingOut(
  root: FastifyInstance,
  { accounts, networkOf }: SchoolAccountRoutesDeps,
): Promise<void> {
  await root.register(async (scope) => {
    scope.addContentTypeParser(
      formMediaType,
      { parseAs: 'buffer' },
      async (_request: unknown, body: Buffer) => readLogoutForm(body),
    )
    scope.withTypeProvider<TypeBoxTypeProvider>().post(
      '/sign-in/school/:providerId/logout',
      {
        config: routeConfig({ access: 'public' }),
        schema: {
          tags: ['school account'],
          operationId: 'logOutFromProvider',
          summary: 'Back-channel logout',
          description:
            'For the provider: ends the sessions that began with the session or the account that the token names.',
          security: [],
          consumes: [formMediaType],
          params: Type.Object({ providerId: Id('The provider.') }),
          body: LogoutForm,
          response: { 200: LoggedOut, ...problems(...bodyProblems) },
        },
      },
      async (request, reply) => {
        reply.header('Cache-Control', 'no-store')
        const { logout_token: token } = request.body
        await accounts.logout(request.params.providerId, token, requestCaller(networkOf(request), reply))
        return {}
      },
    )
  })
}

function readLogoutForm(body: Buffer): { logout_token?: string } {
  const given = new URLSearchParams(body.toString('utf8')).getAll('logout_token')
  if (given.length > 1) throw new AppError('invalid-request', 'The body has two logout tokens.')
  return given[0] === undefined ? {} : { logout_token: given[0] }
}
