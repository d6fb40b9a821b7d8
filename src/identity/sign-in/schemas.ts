import { Email, Id, Nullable, Timestamp, Titled } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'

/** The reply to a request for a code. */
export const CodeSent = Titled('CodeSent', {
  sessionId: Id('Identifies this sign-in until sign-out. Not a secret.'),
  reference: Type.String({ description: 'Three letters, also in the mail’s subject.', examples: ['KTV'] }),
  digits: Type.Enum([6, 8], {
    title: 'CodeDigits',
    description: 'Number of digits in the code.',
  }),
  expiresAt: Timestamp('When the code stops working.'),
  resendAt: Nullable(Timestamp('From when it can be sent again; null when no more.')),
})

export const OtpCode = Type.Integer({ minimum: 100000, maximum: 99999999, examples: [483920] })

export const Ask = Type.Object(
  {
    email: Email,
    sessionId: Type.Optional(Type.String({ description: 'To resend the code of that session.' })),
    device_token: Type.Optional(
      Type.String({
        description:
          'From an earlier validate-otp for this address. Gives this device a share of codes of its own.',
      }),
    ),
  },
  { title: 'CodeRequest', examples: [{ email: 'ada@example.org' }] },
)

export const Answer = Titled('CodeAnswer', {
  email: Email,
  otp_code: OtpCode,
  sessionId: Type.String({ description: 'From send-otp.', documented: { minLength: 1 } }),
})

// Fastify knows headers in lower case; the document spells them as usual.
export const AnswerHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      pattern: '^[\\x21-\\x7e]{1,255}$',
      description: 'The same for every retry of a request: 1 to 255 visible ASCII characters.',
      examples: ['0c4b7d1e-6b0a-4a3e-9f57-2f6f0d6a4f53'],
    }),
  ),
})
