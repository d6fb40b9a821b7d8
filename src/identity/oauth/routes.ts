/** The endpoints that clients call themselves. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { OAuthError } from '../../errors.ts'
import { type MemoryBuckets, memoryPolicies, showLimit } from '../../platform/http/limits.ts'
import { type Form, formMediaType, takeForms, takeTokens } from '../../platform/http/oauth.ts'
import type { Call } from '../../platform/http/operation.ts'
import { Nullable, Titled } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { type Client, hasSecret } from '../clients/clients.ts'
import { operation } from '../session/operation.ts'
import { OAuthProblem, TokenReply } from '../session/schemas.ts'
import type { LiveSession, Sessions } from '../session/session.ts'
import {
  authenticateClient,
  type ClientAuthDeps,
  type Credentials,
  credentialsIn,
} from './client-credentials.ts'
import * as schemas from './schemas.ts'
import type { Tokens } from './tokens.ts'

export interface OAuthRoutesDeps {
  readonly tokens: Tokens
  readonly sessions: Sessions
  readonly auth: ClientAuthDeps
  /** The id of the school's own front ends, which have no client. */
  readonly ownId: string
  /** Null when limits are off. */
  readonly buckets: MemoryBuckets | null
  /** Counts a refused call against its network. */
  readonly countRefusal: (request: FastifyRequest, reply: FastifyReply) => void
  readonly Profile: TSchema
}

export const oauthRoutes = (deps: OAuthRoutesDeps) => [
  tokenEndpoint(deps),
  ...tokenQuestions(deps),
  ...userinfo(deps.tokens),
]

type FormCall = Call<unknown, unknown, unknown, Form>

const neverStored = { 'Cache-Control': 'no-store', Pragma: 'no-cache' }

/** What the calls of clients with a form have in common. */
const byForm = ({ countRefusal }: OAuthRoutesDeps) =>
  ({
    access: 'public',
    limit: 'own',
    tag: 'applications',
    within: (scope: FastifyInstance) => takeForms(scope, (form) => form, countRefusal),
    consumes: [formMediaType],
    refusesForms: {
      400: { schema: OAuthProblem },
      401: { description: 'The client is unknown, or its secret is wrong', schema: OAuthProblem },
    },
  }) as const

const tokenEndpoint = (deps: OAuthRoutesDeps) =>
  operation('POST /oauth/token', {
    ...byForm(deps),
    id: 'getClientTokens',
    summary: 'Tokens for a code, a refresh token or a service',
    description:
      'The token endpoint of RFC 6749, for clients. A client with a secret sends it in the Authorization header or in the form. A code works once, for 60 seconds; if it is used twice, the session that it started ends. Refresh tokens rotate as at POST /session/refresh. Without a client, it takes a refresh token of one’s own front end, as that call does.',
    body: formBody(schemas.TokenForm),
    reply: Type.Union([schemas.ClientTokenReply, TokenReply(deps.Profile, 'TokenReply')], {
      title: 'AnyTokenReply',
    }),
    answer: (call) => grant(deps, call),
  })

async function grant(deps: OAuthRoutesDeps, call: FormCall) {
  const { tokens, sessions, ownId, countRefusal } = deps
  const { request, reply, body: form, by } = call
  const given = credentialsIn(request.headers.authorization, form)
  reply.headers(neverStored)
  if (form.grant_type === undefined) throw new OAuthError('invalid_request', 'grant_type is missing.')
  const isOwn = given === null || (given.clientId === ownId && given.secret === null)
  if (isOwn && form.grant_type === 'refresh_token') {
    countRefusal(request, reply)
    return (await sessions.refresh(needed(form, 'refresh_token'), by)).reply
  }
  const client = await clientOf(deps, call, given)
  switch (form.grant_type) {
    case 'authorization_code': {
      refuseService(client)
      const { redirect_uri: redirectUri, code_verifier: verifier } = form
      return tokens.redeem(client, { code: needed(form, 'code'), redirectUri, verifier }, by)
    }
    case 'refresh_token':
      refuseService(client)
      return tokens.refresh(client, needed(form, 'refresh_token'), form.scope, by)
    case 'client_credentials':
      return tokens.ofService(client, form.scope)
    default:
      throw new OAuthError(
        'unsupported_grant_type',
        'grant_type is authorization_code, refresh_token or client_credentials.',
      )
  }
}

async function clientOf(
  { auth, buckets, countRefusal }: OAuthRoutesDeps,
  { request, reply, body, sender }: FormCall,
  given: Credentials | null = credentialsIn(request.headers.authorization, body),
): Promise<Client> {
  if (given === null) throw new OAuthError('invalid_client', 'The client is missing.')
  const client = await authenticateClient(auth, given, sender.network.fingerprint)
  if (!hasSecret(client.kind)) countRefusal(request, reply)
  else if (buckets) showLimit(reply, buckets.take(memoryPolicies.service, client.id))
  return client
}

const tokenQuestions = (deps: OAuthRoutesDeps) => [
  operation('POST /oauth/introspect', {
    ...byForm(deps),
    id: 'introspectToken',
    summary: 'Whether a token is valid now (RFC 7662)',
    description:
      'For a client with a secret, and its own tokens; everything else is `{"active": false}`. Sees at once that a session has ended.',
    body: formBody(schemas.TokenOfClientForm),
    reply: schemas.Introspection,
    async answer(call) {
      const token = needed(call.body, 'token')
      const client = await clientOf(deps, call)
      if (!hasSecret(client.kind))
        throw new OAuthError('invalid_client', 'Only clients with a secret may ask this.')
      call.reply.headers(neverStored)
      return deps.tokens.introspect(client, token)
    },
  }),

  operation('POST /oauth/revoke', {
    ...byForm(deps),
    id: 'revokeToken',
    summary: 'End the session of a token (RFC 7009)',
    description: 'Tokens that are unknown, or of another client, are ignored.',
    body: formBody(schemas.TokenOfClientForm),
    reply: Titled('Revoked', {}),
    async answer(call) {
      const token = needed(call.body, 'token')
      const client = await clientOf(deps, call)
      await deps.tokens.revoke(client, token, call.by)
      call.reply.headers(neverStored)
      return {}
    },
  }),
]

function userinfo(tokens: Tokens) {
  const shared = {
    access: 'client',
    scope: 'openid',
    tokenInForm: true,
    tag: 'applications',
    summary: 'Who signed in (OpenID Connect Core §5.3)',
    description: '`sub`, and the claims of the scopes that the token has.',
    within: takeTokens,
    reply: schemas.UserInfo,
  } as const
  const answer = ({ reply, caller }: Call<LiveSession>) => {
    reply.headers(neverStored)
    return tokens.userinfo(caller)
  }
  return [
    operation('GET /oauth/userinfo', { ...shared, id: 'getUserInfo', answer }),
    operation('POST /oauth/userinfo', {
      ...shared,
      id: 'postUserInfo',
      consumes: [formMediaType],
      body: Nullable(formBody(schemas.UserInfoForm)),
      answer,
    }),
  ]
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
