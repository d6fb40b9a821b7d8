/** Proving again who one is, in the same session: with a passkey, or with a code. */
import type { PortalCookie } from '../../platform/http/portal.ts'
import { languageNames, Nullable } from '../../platform/http/schemas.ts'
import { timestamp } from '../../platform/lib/clock.ts'
import { operation } from '../session/operation.ts'
import { CodeSent } from '../sign-in/schemas.ts'
import type { Passkeys } from './passkeys.ts'
import * as schemas from './schemas.ts'
import type { StepUpByCode } from './step-up.ts'

export const stepUpByPasskeyRoutes = (passkeys: Passkeys) => [
  operation('POST /session/step-up/options', {
    access: 'signed-in',
    beforePasskey: true,
    tag: 'session',
    id: 'getStepUpOptions',
    summary: 'A challenge to prove with a passkey who I am',
    reply: schemas.PasskeyRequestOptions,
    answer: ({ caller }) => passkeys.stepUpOptions(caller),
  }),

  operation('POST /session/step-up', {
    access: 'signed-in',
    beforePasskey: true,
    tag: 'session',
    id: 'stepUpSession',
    summary: 'Prove with a passkey who I am',
    description:
      'Renews the proof that actions ask for which are hard to undo, in the same session. The passkey must be one of mine.',
    body: schemas.PasskeyAnswer,
    reply: schemas.SteppedUp,
    refuses: ['passkey-unusable'],
    answer: async ({ caller, body, by }) => ({
      authenticatedAt: timestamp(await passkeys.stepUp(caller, body.credential, by)),
    }),
  }),
]

export const stepUpByCodeRoutes = (byCode: StepUpByCode, portal: PortalCookie) => [
  operation('POST /session/step-up/send-otp', {
    access: 'signed-in',
    tag: 'session',
    id: 'sendStepUpCode',
    summary: 'Ask for a code to prove who I am',
    description: `Mails a code to my address; with \`sessionId\`, the same code again. It counts as a code for that address. The language of the mail follows Accept-Language: ${languageNames}.`,
    body: Nullable(schemas.StepUpCodeRequest),
    status: 202,
    reply: CodeSent,
    refuses: ['otp-unusable'],
    answer: ({ request, caller, body, sender, language }) =>
      byCode.send(
        caller,
        { language, deviceToken: portal.deviceTokenIn(request), sessionId: body?.sessionId },
        sender,
      ),
  }),

  operation('POST /session/step-up/validate-otp', {
    access: 'signed-in',
    tag: 'session',
    id: 'validateStepUpCode',
    summary: 'Prove with a code who I am',
    description: 'Renews the proof in the same session. Wrong codes are handled as in validate-otp.',
    body: schemas.StepUpCodeAnswer,
    reply: schemas.SteppedUp,
    refuses: ['otp-incorrect', 'otp-unusable'],
    answer: async ({ caller, body: { otp_code: code, sessionId }, by, sender }) => ({
      authenticatedAt: timestamp(await byCode.validate(caller, { code, sessionId }, sender, by)),
    }),
  }),
]
