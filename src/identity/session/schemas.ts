import type { TSchema } from 'typebox'
import { DeliveryEntry } from '../../messages/delivery/schemas.ts'
import { Nullable, Timestamp, Titled } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'

const proofFields = {
  authenticatedAt: Nullable(
    Timestamp(
      'When the person last proved who they are in this session; null after a sign-in with a school account of which the provider did not say when.',
    ),
  ),
  method: Type.String({ description: 'How: `code`, `passkey` or `school`.', examples: ['passkey'] }),
}

const clientFields = {
  clientId: Nullable(Type.String({ description: 'The application; null for the portal and front ends.' })),
  clientName: Nullable(Type.String({ examples: ['Moodle'] })),
}

export const OpenSession = Titled('Session', {
  sessionId: Type.String(),
  current: Type.Boolean({ description: 'Whether this is the session of the request.' }),
  startedAt: Timestamp(),
  lastSeenAt: Timestamp('Accurate to about a minute.'),
  expiresAt: Timestamp('Unless it is refreshed before then.'),
  ...proofFields,
  device: Type.String({ examples: ['Firefox on Android'] }),
  ...clientFields,
  scope: Nullable(Type.String({ description: 'What the application may see, separated by spaces.' })),
  parentId: Nullable(Type.String({ description: 'The session with which this one ends.' })),
})
export const SessionList = Titled('SessionList', { sessions: Type.Array(OpenSession) })

/** JSON or RFC 6749's form. They share a schema, because generators cannot tell the two apart. */
export const RefreshBody = Titled('RefreshRequest', {
  refresh_token: Type.String({ description: 'From the last token reply.' }),
  grant_type: Type.Optional(
    Type.Unsafe<unknown>({
      description: 'Required in a form, ignored in JSON.',
      documented: { type: 'string', const: 'refresh_token' },
    }),
  ),
  client_id: Type.Optional(Type.Unsafe<unknown>({ description: 'Ignored.', documented: { type: 'string' } })),
})
export const OAuthProblem = Type.Object(
  {
    error: Type.String({ examples: ['invalid_grant', 'invalid_request', 'unsupported_grant_type'] }),
    error_description: Type.String(),
  },
  { title: 'OAuthProblem', description: 'RFC 6749 §5.2, the answer to a form' },
)

const TokenType = Type.Literal('Bearer', { title: 'TokenType' })

export const TokenReply = <User extends TSchema>(User: User, title: string) =>
  Titled(title, {
    access_token: Type.String(),
    token_type: TokenType,
    expires_in: Type.Integer({ description: 'Seconds.' }),
    refresh_token: Type.String(),
    user: User,
  })

export const SignInReply = <User extends TSchema>(User: User, title: string) => {
  const { properties } = TokenReply(User, title)
  const device_token = Type.String({
    description:
      'Send it as `device_token` with the next send-otp for this address from this device. Valid for 400 days. Not a credential.',
  })
  return Titled(title, { ...properties, device_token })
}

/** In the portal the refresh token is in the cookie. */
export const PortalTokenReply = <User extends TSchema>(User: User, title: string) =>
  Titled(title, Type.Omit(TokenReply(User, title), ['refresh_token']).properties)

export const PastSession = Titled('PastSession', {
  sessionId: Type.String(),
  device: Type.String(),
  startedAt: Timestamp(),
  lastSeenAt: Timestamp(),
  expiresAt: Timestamp(),
  ...proofFields,
  ...clientFields,
  endedAt: Nullable(Timestamp()),
  endReason: Nullable(Type.String()),
})
const HistoryEvent = Titled('HistoryEvent', {
  at: Timestamp(),
  type: Type.String(),
  sessionId: Nullable(Type.String()),
  actor: Type.String({ description: '`self`, `system`, `operator`, or a member of staff.' }),
  note: Nullable(Type.String({ description: 'The reason or note given by staff.' })),
})

/** Part of the export of every role. */
export const HistoryFields = {
  deliveries: Type.Array(DeliveryEntry, {
    description:
      'Delivery records of the last 30 days. If a mail was requested for an address that was not the person’s own, the export shows only the request.',
  }),
  sessions: Type.Array(PastSession),
  events: Type.Array(HistoryEvent),
}
