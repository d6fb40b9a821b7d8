/** Proving again who one is, in the same session: with a passkey, or with a code. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type ByOf, type CallerOf, routeConfig } from '../../platform/http/access.ts'
import { requestCaller } from '../../platform/http/caller.ts'
import type { PortalCookie } from '../../platform/http/portal.ts'
import { bodyProblems, problems, tokenProblems } from '../../platform/http/problem-schemas.ts'
import { languageNames, Nullable } from '../../platform/http/schemas.ts'
import type { CallerNetwork } from '../../platform/lib/bucket.ts'
import { timestamp } from '../../platform/lib/clock.ts'
import { chooseLanguage } from '../../platform/lib/languages.ts'
import type { LiveSession } from '../session/session.ts'
import { CodeSent } from '../sign-in/schemas.ts'
import type { Passkeys } from './passkeys.ts'
import {
  PasskeyAnswer,
  PasskeyRequestOptions,
  SteppedUp,
  StepUpCodeAnswer,
  StepUpCodeRequest,
} from './schemas.ts'
import type { StepUpByCode } from './step-up.ts'

export interface StepUpRoutesDeps {
  /** Null if passkeys are off. */
  readonly passkeys: Passkeys | null
  readonly byCode: StepUpByCode
  readonly portal: PortalCookie
  readonly callerOf: CallerOf<LiveSession>
  readonly byOf: ByOf
  networkOf(request: FastifyRequest): CallerNetwork
}

export function stepUpRoutes(root: FastifyInstance, deps: StepUpRoutesDeps): void {
  const { passkeys, byCode, portal, callerOf, byOf, networkOf } = deps
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['session']
  const refusals = [...bodyProblems, ...tokenProblems] as const

  if (passkeys) {
    const config = routeConfig({ access: 'signed-in', beforePasskey: true })
    app.post(
      '/session/step-up/options',
      {
        config,
        schema: {
          tags,
          operationId: 'getStepUpOptions',
          summary: 'A challenge to prove with a passkey who I am',
          response: { 200: PasskeyRequestOptions, ...problems(...refusals) },
        },
      },
      async (request) => passkeys.stepUpOptions(callerOf(request)),
    )

    app.post(
      '/session/step-up',
      {
        config,
        schema: {
          tags,
          operationId: 'stepUpSession',
          summary: 'Prove with a passkey who I am',
          description:
            'Renews the proof that actions ask for which are hard to undo, in the same session. The passkey must be one of mine.',
          body: PasskeyAnswer,
          response: { 200: SteppedUp, ...problems(...refusals, 'passkey-unusable') },
        },
      },
      async (request) => {
        const at = await passkeys.stepUp(callerOf(request), request.body.credential, byOf(request))
        return { authenticatedAt: timestamp(at) }
      },
    )
  }

  const config = routeConfig({ access: 'signed-in' })
  app.post(
    '/session/step-up/send-otp',
    {
      config,
      schema: {
        tags,
        operationId: 'sendStepUpCode',
        summary: 'Ask for a code to prove who I am',
        description: `Mails a code to my address; with \`sessionId\`, the same code again. It counts as a code for that address. The language of the mail follows Accept-Language: ${languageNames}.`,
        body: Nullable(StepUpCodeRequest),
        response: { 202: CodeSent, ...problems(...refusals, 'otp-unusable', 'forbidden') },
      },
    },
    async (request, reply) => {
      const ask = {
        language: chooseLanguage(request.headers['accept-language']),
        deviceToken: portal.deviceTokenIn(request),
        sessionId: request.body?.sessionId,
      }
      const caller = requestCaller(networkOf(request), reply)
      return reply.code(202).send(await byCode.send(callerOf(request), ask, caller))
    },
  )

  app.post(
    '/session/step-up/validate-otp',
    {
      config,
      schema: {
        tags,
        operationId: 'validateStepUpCode',
        summary: 'Prove with a code who I am',
        description: 'Renews the proof in the same session. Wrong codes are handled as in validate-otp.',
        body: StepUpCodeAnswer,
        response: {
          200: SteppedUp,
          ...problems(...refusals, 'otp-incorrect', 'otp-unusable', 'forbidden'),
        },
      },
    },
    async (request, reply) => {
      const { otp_code: code, sessionId } = request.body
      const caller = requestCaller(networkOf(request), reply)
      const at = await byCode.validate(callerOf(request), { code, sessionId }, caller, byOf(request))
      return { authenticatedAt: timestamp(at) }
    },
  )
}
