import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { AppError } from '../../errors.ts'
import { routeConfig } from '../../platform/http/access.ts'
import { requestCaller } from '../../platform/http/caller.ts'
import type { PortalCookie } from '../../platform/http/portal.ts'
import { bodyProblems, problems } from '../../platform/http/problem-schemas.ts'
import { languageNames } from '../../platform/http/schemas.ts'
import type { CallerNetwork } from '../../platform/lib/bucket.ts'
import { deviceOf } from '../../platform/lib/device.ts'
import { chooseLanguage } from '../../platform/lib/languages.ts'
import type { Role } from '../../roles.ts'
import { Fields } from '../people/fields.ts'
import { PortalTokenReply, SignInReply } from '../session/schemas.ts'
import { Answer, AnswerHeaders, Ask, CodeSent } from './schemas.ts'
import type { SignIn } from './sign-in.ts'

export interface SignInRoutesDeps {
  readonly role: Role
  readonly signIn: Pick<SignIn, 'send' | 'resend' | 'validate'>
  readonly Profile: TSchema
  /** Whether people of this role can sign in with a code. */
  readonly isOpen: boolean
  readonly portal: PortalCookie
  networkOf(request: FastifyRequest): CallerNetwork
}

export function signInRoutes(
  root: FastifyInstance,
  { role, signIn, Profile, isOpen, portal, networkOf }: SignInRoutesDeps,
): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const config = routeConfig({ access: 'public', limit: 'own' })
  const refuseClosed: onRequestHookHandler = (_request, _reply, done) =>
    done(
      isOpen
        ? undefined
        : new AppError('forbidden', 'A code does not sign anybody in here. Use the school’s account.'),
    )
  const who = `${role[0]!.toUpperCase()}${role.slice(1)}`

  app.post(
    `/${role}/send-otp`,
    {
      config,
      onRequest: refuseClosed,
      schema: {
        tags: [role],
        operationId: `send${who}Code`,
        summary: 'Ask for a code by e-mail',
        description: `Opens a session and mails its code. With \`sessionId\`, sends the same code again. The reply does not reveal whether the address has an account. The language of the mail follows Accept-Language: ${languageNames}.`,
        security: [],
        body: Ask,
        response: { 202: CodeSent, ...problems(...bodyProblems, 'otp-unusable', 'forbidden') },
      },
    },
    async (request, reply) => {
      const fields = new Fields()
      const address = fields.email(request.body.email)
      fields.check()
      const { sessionId, device_token = portal.deviceTokenIn(request) } = request.body
      const language = chooseLanguage(request.headers['accept-language'])
      const ask = { address, language, deviceToken: device_token, asker: null }
      const caller = requestCaller(networkOf(request), reply)
      const sent =
        sessionId === undefined ? await signIn.send(ask, caller) : await signIn.resend(ask, caller, sessionId)
      return reply.code(202).send(sent)
    },
  )

  const validate = (request: FastifyRequest, reply: FastifyReply, body: Static<typeof Answer>) => {
    const fields = new Fields()
    const address = fields.email(body.email)
    fields.check()
    const answer = {
      address,
      code: body.otp_code,
      sessionId: body.sessionId,
      device: deviceOf(request.headers['user-agent']),
      idempotencyKey: request.headers['idempotency-key'] as string | undefined,
    }
    return signIn.validate(answer, requestCaller(networkOf(request), reply))
  }
  const refusals = [...bodyProblems, 'otp-incorrect', 'otp-unusable', 'forbidden'] as const

  app.post(
    `/${role}/validate-otp`,
    {
      config,
      onRequest: refuseClosed,
      schema: {
        tags: [role],
        operationId: `validate${who}Code`,
        summary: 'Answer with the code',
        description:
          'Exchanges the right code for tokens. A code allows five attempts within ten minutes and works once. With an Idempotency-Key, the same request can be retried for two minutes if its reply was lost.',
        security: [],
        headers: AnswerHeaders,
        body: Answer,
        response: { 200: SignInReply(Profile, `${who}SignIn`), ...problems(...refusals) },
      },
    },
    async (request, reply) => {
      const { reply: tokens, deviceToken } = await validate(request, reply, request.body)
      return { ...tokens, device_token: deviceToken }
    },
  )

  app.post(
    `/portal/${role}/validate-otp`,
    {
      config,
      onRequest: [portal.refuseForeign, refuseClosed],
      schema: {
        tags: ['portal'],
        operationId: `validate${who}CodeInPortal`,
        summary: `Answer with the code, as a ${role}`,
        description: `Like POST /${role}/validate-otp, but the refresh token is in a cookie instead of the body. If the cookie \`chiron_shared=1\` (on https \`__Host-chiron_shared\`) marks a shared computer, the refresh cookie lasts until the browser is closed, and no device cookie is set.`,
        security: [],
        headers: AnswerHeaders,
        body: Answer,
        response: {
          200: PortalTokenReply(Profile, `${who}PortalSignIn`),
          ...problems(...refusals),
        },
      },
    },
    async (request, reply) => {
      const signedIn = await validate(request, reply, request.body)
      portal.keepDevice(reply, signedIn.deviceToken)
      return portal.keep(reply, signedIn)
    },
  )
}
