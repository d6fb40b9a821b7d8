import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { type ByOf, type CallerOf, ownChangeWithinMs, routeConfig } from '../../platform/http/access.ts'
import { requestCaller } from '../../platform/http/caller.ts'
import type { PortalCookie } from '../../platform/http/portal.ts'
import { bodyProblems, problems, tokenProblems } from '../../platform/http/problem-schemas.ts'
import { Empty, Id } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import type { CallerNetwork } from '../../platform/lib/bucket.ts'
import { deviceOf } from '../../platform/lib/device.ts'
import { chooseLanguage } from '../../platform/lib/languages.ts'
import { PortalTokenReply, TokenReply } from '../session/schemas.ts'
import type { LiveSession } from '../session/session.ts'
import { AnswerHeaders } from '../sign-in/schemas.ts'
import type { Passkeys } from './passkeys.ts'
import {
  AddedPasskey,
  NewPasskey,
  PasskeyAnswer,
  PasskeyChange,
  PasskeyCreationOptions,
  PasskeyEndpoints,
  PasskeyEntry,
  PasskeyList,
  PasskeyRequestOptions,
} from './schemas.ts'

export interface PasskeyRoutesDeps {
  readonly passkeys: Passkeys
  readonly validate: Passkeys['validate']
  /** Of any role. */
  readonly Profile: TSchema
  readonly portal: PortalCookie
  readonly publicUrl: string
  readonly callerOf: CallerOf<LiveSession>
  readonly byOf: ByOf
  networkOf(request: FastifyRequest): CallerNetwork
}

export function passkeyRoutes(root: FastifyInstance, deps: PasskeyRoutesDeps): void {
  signingIn(root, deps)
  ownPasskeys(root, deps)
  const pages = { enroll: `${deps.publicUrl}/#/passkeys`, manage: `${deps.publicUrl}/#/passkeys` }
  root.get(
    '/.well-known/passkey-endpoints',
    {
      config: routeConfig({ access: 'public' }),
      schema: {
        tags: ['passkey'],
        operationId: 'getPasskeyEndpoints',
        summary: 'Where people manage their passkeys, for password managers',
        security: [],
        response: { 200: PasskeyEndpoints, ...problems() },
      },
    },
    async (_request, reply) => {
      reply.header('Cache-Control', 'public, max-age=300')
      return pages
    },
  )
}

function signingIn(root: FastifyInstance, deps: PasskeyRoutesDeps): void {
  const { passkeys, Profile, portal, networkOf } = deps
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['passkey']
  const config = routeConfig({ access: 'public', limit: 'own' })

  app.post(
    '/passkey/options',
    {
      config,
      schema: {
        tags,
        operationId: 'getPasskeyOptions',
        summary: 'A challenge to sign in with a passkey',
        description: 'The same for everybody: it looks nothing up and stores nothing.',
        security: [],
        response: { 200: PasskeyRequestOptions, ...problems(...bodyProblems) },
      },
    },
    (request, reply) => passkeys.signInOptions(requestCaller(networkOf(request), reply)),
  )

  const validate = (request: FastifyRequest, reply: FastifyReply, body: Static<typeof PasskeyAnswer>) =>
    deps.validate(
      {
        credential: body.credential,
        device: deviceOf(request.headers['user-agent']),
        idempotencyKey: request.headers['idempotency-key'] as string | undefined,
      },
      requestCaller(networkOf(request), reply),
    )

  app.post(
    '/passkey/validate',
    {
      config,
      schema: {
        tags,
        operationId: 'validatePasskey',
        summary: 'Sign in with a passkey',
        description:
          'Exchanges the answer of an authenticator for tokens. A challenge works once, within five minutes. With an Idempotency-Key, the same request can be retried for two minutes if its reply was lost.',
        security: [],
        headers: AnswerHeaders,
        body: PasskeyAnswer,
        response: {
          200: TokenReply(Profile, 'TokenReply'),
          ...problems(...bodyProblems, 'passkey-unusable'),
        },
      },
    },
    async (request, reply) => (await validate(request, reply, request.body)).reply,
  )

  app.post(
    '/portal/passkey/validate',
    {
      config,
      onRequest: portal.refuseForeign,
      schema: {
        tags: ['portal'],
        operationId: 'validatePasskeyInPortal',
        summary: 'Sign in with a passkey',
        description:
          'Like POST /passkey/validate, but the refresh token is in a cookie instead of the body. On a shared computer the cookie lasts until the browser is closed.',
        security: [],
        headers: AnswerHeaders,
        body: PasskeyAnswer,
        response: {
          200: PortalTokenReply(Profile, 'PortalTokenReply'),
          ...problems(...bodyProblems, 'passkey-unusable', 'forbidden'),
        },
      },
    },
    async (request, reply) => portal.keep(reply, await validate(request, reply, request.body)),
  )
}

function ownPasskeys(root: FastifyInstance, { passkeys, callerOf, byOf }: PasskeyRoutesDeps): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['passkey']
  const own = routeConfig({ access: 'signed-in' })
  const changing = routeConfig({ access: 'signed-in', provedWithinMs: ownChangeWithinMs })
  const adding = routeConfig({
    access: 'signed-in',
    provedWithinMs: ownChangeWithinMs,
    beforePasskey: true,
  })
  const refusals = [...bodyProblems, ...tokenProblems, 'forbidden'] as const
  const params = Type.Object({ passkeyId: Id('One of my passkeys.') })
  const languageOf = ({ headers }: FastifyRequest) => chooseLanguage(headers['accept-language'])

  app.get(
    '/passkey',
    {
      config: routeConfig({ access: 'signed-in', beforePasskey: true }),
      schema: {
        tags,
        operationId: 'listPasskeys',
        summary: 'My passkeys',
        response: { 200: PasskeyList, ...problems(...tokenProblems) },
      },
    },
    async (request) => ({ passkeys: await passkeys.own.list(callerOf(request).id) }),
  )

  app.post(
    '/passkey/add-options',
    {
      config: adding,
      schema: {
        tags,
        operationId: 'getNewPasskeyOptions',
        summary: 'A challenge to add a passkey',
        description: 'Needs a proof of who I am at most 10 minutes old. An account can have ten passkeys.',
        response: {
          200: PasskeyCreationOptions,
          ...problems(...refusals, 'recent-sign-in-required', 'conflict'),
        },
      },
    },
    (request) => passkeys.own.addOptions(callerOf(request)),
  )

  app.post(
    '/passkey',
    {
      config: adding,
      schema: {
        tags,
        operationId: 'addPasskey',
        summary: 'Add a passkey',
        description:
          'Needs a proof of who I am at most 10 minutes old. Without a name, the passkey is named after its provider or this device. I get a mail.',
        body: NewPasskey,
        response: {
          201: AddedPasskey,
          ...problems(
            ...refusals,
            'passkey-unusable',
            'recent-sign-in-required',
            'conflict',
            'passkey-exists',
          ),
        },
      },
    },
    async (request, reply) => {
      const { credential, name } = request.body
      const device = deviceOf(request.headers['user-agent'])
      const how = { by: byOf(request), language: languageOf(request) }
      return reply
        .code(201)
        .send(await passkeys.own.add(callerOf(request), { credential, name, device }, how))
    },
  )

  app.patch(
    '/passkey/:passkeyId',
    {
      config: own,
      schema: {
        tags,
        operationId: 'renamePasskey',
        summary: 'Rename a passkey',
        params,
        body: PasskeyChange,
        response: { 200: PasskeyEntry, ...problems(...refusals, 'not-found') },
      },
    },
    (request) => passkeys.own.rename(callerOf(request).id, request.params.passkeyId, request.body.name),
  )

  app.delete(
    '/passkey/:passkeyId',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'removePasskey',
        summary: 'Remove a passkey',
        description: 'Needs a proof of who I am at most 10 minutes old. I get a mail.',
        params,
        response: { 204: Empty, ...problems(...refusals, 'recent-sign-in-required', 'not-found') },
      },
    },
    async (request, reply) => {
      const { id, session_id: sessionId } = callerOf(request)
      const how = { by: byOf(request), sessionId, language: languageOf(request) }
      await passkeys.own.remove(id, request.params.passkeyId, how)
      return reply.code(204).send()
    },
  )
}
