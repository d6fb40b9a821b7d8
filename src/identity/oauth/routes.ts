/** The endpoints that clients call themselves. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { OAuthError } from '../../errors.ts'
import { type ByOf, type CallerOf, routeConfig } from '../../platform/http/access.ts'
import { type MemoryBuckets, memoryPolicies, showLimit } from '../../platform/http/limits.ts'
import { type Form, formMediaType, takeForms, takeTokens } from '../../platform/http/oauth.ts'
import { bodyProblems, problems, tokenProblems } from '../../platform/http/problem-schemas.ts'
import { Nullable } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import type { CallerNetwork } from '../../platform/lib/bucket.ts'
import { type Client, hasSecret } from '../clients/clients.ts'
import { OAuthProblem, TokenReply } from '../session/schemas.ts'
import type { LiveSession, Sessions } from '../session/session.ts'
import {
  authenticateClient,
  type ClientAuthDeps,
  type Credentials,
  credentialsIn,
} from './client-credentials.ts'
import {
  ClientTokenReply,
  Introspection,
  TokenForm,
  TokenOfClientForm,
  UserInfo,
  UserInfoForm,
} from './schemas.ts'
import type { Tokens } from './tokens.ts'

export interface OAuthRoutesDeps {
  readonly tokens: Tokens
  readonly sessions: Sessions
  readonly auth: ClientAuthDeps
  /** The id of the school's own front ends, which have no client. */
  readonly ownId: string
  /** Null when limits are off. */
  readonly buckets: MemoryBuckets | null
  readonly callerOf: CallerOf<LiveSession>
  readonly byOf: ByOf
  readonly networkOf: (request: FastifyRequest) => CallerNetwork
  /** Counts a refused call against its network. */
  readonly countRefusal: (request: FastifyRequest, reply: FastifyReply) => void
  readonly Profile: TSchema
}

export async function oauthRoutes(root: FastifyInstance, deps: OAuthRoutesDeps): Promise<void> {
  const { tokens, sessions, auth, ownId, buckets, callerOf, byOf, networkOf, countRefusal, Profile } = deps
  const tags = ['applications']
  const config = routeConfig({ access: 'public', limit: 'own' })
  const consumes = [formMediaType]
  const refusals = problems(...bodyProblems)
  const badRequest = refusals[400]
  const oauthProblem = { 'application/json': { schema: OAuthProblem } }
  const asOAuth = {
    ...refusals,
    400: { ...badRequest, content: { ...badRequest.content, ...oauthProblem } },
    401: { description: 'The client is unknown, or its secret is wrong', content: oauthProblem },
  }
  const countClient = (reply: FastifyReply, client: Client) => {
    if (buckets) showLimit(reply, buckets.take(memoryPolicies.service, client.id))
  }

  const clientOf = async (request: FastifyRequest, reply: FastifyReply, given: Credentials | null) => {
    if (given === null) throw new OAuthError('invalid_client', 'The client is missing.')
    const client = await authenticateClient(auth, given, networkOf(request).fingerprint)
    if (hasSecret(client.kind)) countClient(reply, client)
    else countRefusal(request, reply)
    return client
  }
  const credentialsOf = (request: FastifyRequest, form: Form) =>
    credentialsIn(request.headers.authorization, form)
  const neverStored = { 'Cache-Control': 'no-store', Pragma: 'no-cache' }

  await root.register(async (scope) => {
    takeForms(scope, (form) => form, countRefusal)
    const app = scope.withTypeProvider<TypeBoxTypeProvider>()

    app.post(
      '/oauth/token',
      {
        config,
        schema: {
          tags,
          operationId: 'getClientTokens',
          summary: 'Tokens for a code, a refresh token or a service',
          description:
            'The token endpoint of RFC 6749, for clients. A client with a secret sends it in the Authorization header or in the form. A code works once, for 60 seconds; if it is used twice, the session that it started ends. Refresh tokens rotate as at POST /session/refresh. Without a client, it takes a refresh token of one’s own front end, as that call does.',
          security: [],
          consumes,
          body: formBody(TokenForm),
          response: {
            200: Type.Union([ClientTokenReply, TokenReply(Profile, 'TokenReply')], {
              title: 'AnyTokenReply',
            }),
            ...asOAuth,
          },
        },
      },
      async (request, reply) => {
        const form = request.body as Form
        const given = credentialsOf(request, form)
        reply.headers(neverStored)
        if (form.grant_type === undefined) throw new OAuthError('invalid_request', 'grant_type is missing.')
        const isOwn = given === null || (given.clientId === ownId && given.secret === null)
        if (isOwn && form.grant_type === 'refresh_token') {
          countRefusal(request, reply)
          return (await sessions.refresh(needed(form, 'refresh_token'), byOf(request))).reply
        }
        const client = await clientOf(request, reply, given)
        switch (form.grant_type) {
          case 'authorization_code': {
            refuseService(client)
            const { redirect_uri: redirectUri, code_verifier: verifier } = form
            return tokens.redeem(client, { code: needed(form, 'code'), redirectUri, verifier }, byOf(request))
          }
          case 'refresh_token':
            refuseService(client)
            return tokens.refresh(client, needed(form, 'refresh_token'), form.scope, byOf(request))
          case 'client_credentials':
            return tokens.ofService(client, form.scope)
          default:
            throw new OAuthError(
              'unsupported_grant_type',
              'grant_type is authorization_code, refresh_token or client_credentials.',
            )
        }
      },
    )

    app.post(
      '/oauth/introspect',
      {
        config,
        schema: {
          tags,
          operationId: 'introspectToken',
          summary: 'Whether a token is valid now (RFC 7662)',
          description:
            'For a client with a secret, and its own tokens; everything else is `{"active": false}`. Sees at once that a session has ended.',
          security: [],
          consumes,
          body: formBody(TokenOfClientForm),
          response: { 200: Introspection, ...asOAuth },
        },
      },
      async (request, reply) => {
        const form = request.body as Form
        const token = needed(form, 'token')
        const client = await clientOf(request, reply, credentialsOf(request, form))
        if (!hasSecret(client.kind))
          throw new OAuthError('invalid_client', 'Only clients with a secret may ask this.')
        reply.headers(neverStored)
        return tokens.introspect(client, token)
      },
    )

    app.post(
      '/oauth/revoke',
      {
        config,
        schema: {
          tags,
          operationId: 'revokeToken',
          summary: 'End the session of a token (RFC 7009)',
          description: 'Tokens that are unknown, or of another client, are ignored.',
          security: [],
          consumes,
          body: formBody(TokenOfClientForm),
          response: { 200: Type.Object({}, { title: 'Revoked' }), ...asOAuth },
        },
      },
      async (request, reply) => {
        const form = request.body as Form
        const token = needed(form, 'token')
        const client = await clientOf(request, reply, credentialsOf(request, form))
        await tokens.revoke(client, token, byOf(request))
        reply.headers(neverStored)
        return {}
      },
    )
  })

  const userinfo = (operationId: string) => ({
    tags,
    operationId,
    summary: 'Who signed in (OpenID Connect Core §5.3)',
    description: '`sub`, and the claims of the scopes that the token has.',
    response: { 200: UserInfo, ...problems(...tokenProblems, 'forbidden') },
  })
  const ofClient = routeConfig({ access: 'client', scope: 'openid', tokenInForm: true })
  const answer = (request: FastifyRequest, reply: FastifyReply) => {
    reply.headers(neverStored)
    return tokens.userinfo(callerOf(request))
  }
  await root.register(async (scope) => {
    takeTokens(scope)
    scope.get('/oauth/userinfo', { config: ofClient, schema: userinfo('getUserInfo') }, answer)
    const form = { consumes, body: Nullable(formBody(UserInfoForm)) }
    scope.post(
      '/oauth/userinfo',
      { config: ofClient, schema: { ...userinfo('postUserInfo'), ...form } },
      answer,
    )
  })
}

/** A form is checked by hand, because its errors are OAuth's own; the document shows the schema. */
const formBody = (Form: TSchema) => ({ ...Type.Unsafe<Form>({}), documented: Form })

function needed(form: Form, name: string): string {
  const value = form[name]
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing.`)
  return value
}

function refuseService({ kind }: Client): void {
  if (kind === 'service')
    throw new OAuthError('unauthorized_client', 'A service gets tokens for itself, by client_credentials.')
}
