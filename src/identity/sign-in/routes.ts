import type { Static, TSchema } from 'typebox'
import { AppError } from '../../errors.ts'
import type { Call } from '../../platform/http/operation.ts'
import type { PortalCookie } from '../../platform/http/portal.ts'
import { languageNames } from '../../platform/http/schemas.ts'
import type { Role } from '../../roles.ts'
import { Fields } from '../people/fields.ts'
import { operation } from '../session/operation.ts'
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
}

export const signInRoutes = (deps: SignInRoutesDeps) => [sending(deps), ...validating(deps)]

const sending = ({ role, signIn, isOpen, portal }: SignInRoutesDeps) =>
  operation(`POST /${role}/send-otp`, {
    access: 'public',
    limit: 'own',
    tag: role,
    id: `send${titled(role)}Code`,
    summary: 'Ask for a code by e-mail',
    description: `Opens a session and mails its code. With \`sessionId\`, sends the same code again. The reply does not reveal whether the address has an account. The language of the mail follows Accept-Language: ${languageNames}.`,
    onRequest: refuseUnless(isOpen),
    body: Ask,
    status: 202,
    reply: CodeSent,
    refuses: ['otp-unusable', 'forbidden'],
    answer({ request, body, sender, language }) {
      const { sessionId, device_token: deviceToken = portal.deviceTokenIn(request) } = body
      const ask = { address: addressIn(body), language, deviceToken, asker: null }
      return sessionId === undefined ? signIn.send(ask, sender) : signIn.resend(ask, sender, sessionId)
    },
  })

const validating = ({ role, signIn, Profile, isOpen, portal }: SignInRoutesDeps) => [
  operation(`POST /${role}/validate-otp`, {
    access: 'public',
    limit: 'own',
    tag: role,
    id: `validate${titled(role)}Code`,
    summary: 'Answer with the code',
    description:
      'Exchanges the right code for tokens. A code allows five attempts within ten minutes and works once. With an Idempotency-Key, the same request can be retried for two minutes if its reply was lost.',
    onRequest: refuseUnless(isOpen),
    headers: AnswerHeaders,
    body: Answer,
    reply: SignInReply(Profile, `${titled(role)}SignIn`),
    refuses: ['otp-incorrect', 'otp-unusable', 'forbidden'],
    async answer(call) {
      const { reply, deviceToken } = await signIn.validate(answerIn(call), call.sender)
      return { ...reply, device_token: deviceToken }
    },
  }),

  operation(`POST /portal/${role}/validate-otp`, {
    access: 'portal',
    limit: 'own',
    tag: 'portal',
    id: `validate${titled(role)}CodeInPortal`,
    summary: `Answer with the code, as a ${role}`,
    description: `Like POST /${role}/validate-otp, but the refresh token is in a cookie instead of the body. If the cookie \`chiron_shared=1\` (on https \`__Host-chiron_shared\`) marks a shared computer, the refresh cookie lasts until the browser is closed, and no device cookie is set.`,
    onRequest: refuseUnless(isOpen),
    headers: AnswerHeaders,
    body: Answer,
    reply: PortalTokenReply(Profile, `${titled(role)}PortalSignIn`),
    refuses: ['otp-incorrect', 'otp-unusable'],
    async answer(call) {
      const signedIn = await signIn.validate(answerIn(call), call.sender)
      portal.keepDevice(call.reply, signedIn.deviceToken)
      return portal.keep(call.reply, signedIn)
    },
  }),
]

const titled = (role: Role) => `${role[0]!.toUpperCase()}${role.slice(1)}`

const refuseUnless =
  (isOpen: boolean) => (_request: unknown, _reply: unknown, done: (error?: Error) => void) =>
    done(
      isOpen
        ? undefined
        : new AppError('forbidden', 'A code does not sign anybody in here. Use the school’s account.'),
    )

function answerIn({ body, device, idempotencyKey }: Call<unknown, unknown, unknown, Static<typeof Answer>>) {
  const { otp_code: code, sessionId } = body
  return { address: addressIn(body), code, sessionId, device, idempotencyKey }
}

function addressIn({ email }: { readonly email: string }) {
  const fields = new Fields()
  const address = fields.email(email)
  fields.check()
  return address
}
