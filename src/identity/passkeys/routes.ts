import type { Static, TSchema } from 'typebox'
import { ownChangeWithinMs } from '../../platform/http/access.ts'
import type { Call } from '../../platform/http/operation.ts'
import type { PortalCookie } from '../../platform/http/portal.ts'
import { Id } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { operation } from '../session/operation.ts'
import { PortalTokenReply, TokenReply } from '../session/schemas.ts'
import { AnswerHeaders } from '../sign-in/schemas.ts'
import type { Passkeys } from './passkeys.ts'
import * as schemas from './schemas.ts'

export interface PasskeyRoutesDeps {
  readonly passkeys: Passkeys
  readonly validate: Passkeys['validate']
  /** Of any role. */
  readonly Profile: TSchema
  readonly portal: PortalCookie
  readonly publicUrl: string
}

export const passkeyRoutes = (deps: PasskeyRoutesDeps) => [
  ...signingIn(deps),
  ...addingPasskeys(deps.passkeys),
  ...changingPasskeys(deps.passkeys),
  endpoints(deps.publicUrl),
]

const signingIn = ({ passkeys, validate, Profile, portal }: PasskeyRoutesDeps) => [
  operation('POST /passkey/options', {
    access: 'public',
    limit: 'own',
    tag: 'passkey',
    id: 'getPasskeyOptions',
    summary: 'A challenge to sign in with a passkey',
    description: 'The same for everybody: it looks nothing up and stores nothing.',
    reply: schemas.PasskeyRequestOptions,
    answer: ({ sender }) => passkeys.signInOptions(sender),
  }),

  operation('POST /passkey/validate', {
    access: 'public',
    limit: 'own',
    tag: 'passkey',
    id: 'validatePasskey',
    summary: 'Sign in with a passkey',
    description:
      'Exchanges the answer of an authenticator for tokens. A challenge works once, within five minutes. With an Idempotency-Key, the same request can be retried for two minutes if its reply was lost.',
    headers: AnswerHeaders,
    body: schemas.PasskeyAnswer,
    reply: TokenReply(Profile, 'TokenReply'),
    refuses: ['passkey-unusable'],
    answer: async (call) => (await validate(answerIn(call), call.sender)).reply,
  }),

  operation('POST /portal/passkey/validate', {
    access: 'portal',
    limit: 'own',
    tag: 'portal',
    id: 'validatePasskeyInPortal',
    summary: 'Sign in with a passkey',
    description:
      'Like POST /passkey/validate, but the refresh token is in a cookie instead of the body. On a shared computer the cookie lasts until the browser is closed.',
    headers: AnswerHeaders,
    body: schemas.PasskeyAnswer,
    reply: PortalTokenReply(Profile, 'PortalTokenReply'),
    refuses: ['passkey-unusable'],
    answer: async (call) => portal.keep(call.reply, await validate(answerIn(call), call.sender)),
  }),
]

function answerIn(call: Call<unknown, unknown, unknown, Static<typeof schemas.PasskeyAnswer>>) {
  const { body, device, idempotencyKey } = call
  return { credential: body.credential, device, idempotencyKey }
}

const proven = { access: 'signed-in', tag: 'passkey', provedWithinMs: ownChangeWithinMs } as const

const addingPasskeys = ({ own }: Passkeys) => [
  operation('GET /passkey', {
    access: 'signed-in',
    beforePasskey: true,
    tag: 'passkey',
    id: 'listPasskeys',
    summary: 'My passkeys',
    reply: schemas.PasskeyList,
    answer: async ({ caller }) => ({ passkeys: await own.list(caller.id) }),
  }),

  operation('POST /passkey/add-options', {
    ...proven,
    beforePasskey: true,
    id: 'getNewPasskeyOptions',
    summary: 'A challenge to add a passkey',
    description: 'Needs a proof of who I am at most 10 minutes old. An account can have ten passkeys.',
    reply: schemas.PasskeyCreationOptions,
    refuses: ['conflict'],
    answer: ({ caller }) => own.addOptions(caller),
  }),

  operation('POST /passkey', {
    ...proven,
    beforePasskey: true,
    id: 'addPasskey',
    summary: 'Add a passkey',
    description:
      'Needs a proof of who I am at most 10 minutes old. Without a name, the passkey is named after its provider or this device. I get a mail.',
    body: schemas.NewPasskey,
    status: 201,
    reply: schemas.AddedPasskey,
    refuses: ['passkey-unusable', 'conflict', 'passkey-exists'],
    answer: ({ caller, body: { credential, name }, by, language, device }) =>
      own.add(caller, { credential, name, device }, { by, language }),
  }),
]

const params = Type.Object({ passkeyId: Id('One of my passkeys.') })

const changingPasskeys = ({ own }: Passkeys) => [
  operation('PATCH /passkey/:passkeyId', {
    access: 'signed-in',
    tag: 'passkey',
    id: 'renamePasskey',
    summary: 'Rename a passkey',
    params,
    body: schemas.PasskeyChange,
    reply: schemas.PasskeyEntry,
    refuses: ['not-found'],
    answer: ({ caller, params, body }) => own.rename(caller.id, params.passkeyId, body.name),
  }),

  operation('DELETE /passkey/:passkeyId', {
    ...proven,
    id: 'removePasskey',
    summary: 'Remove a passkey',
    description: 'Needs a proof of who I am at most 10 minutes old. I get a mail.',
    params,
    refuses: ['not-found'],
    answer: ({ caller, params, by, language }) =>
      own.remove(caller.id, params.passkeyId, { by, sessionId: caller.session_id, language }),
  }),
]

const endpoints = (publicUrl: string) =>
  operation('GET /.well-known/passkey-endpoints', {
    access: 'public',
    tag: 'passkey',
    id: 'getPasskeyEndpoints',
    summary: 'Where people manage their passkeys, for password managers',
    reply: schemas.PasskeyEndpoints,
    answer({ reply }) {
      reply.header('Cache-Control', 'public, max-age=300')
      return { enroll: `${publicUrl}/#/passkeys`, manage: `${publicUrl}/#/passkeys` }
    },
  })
