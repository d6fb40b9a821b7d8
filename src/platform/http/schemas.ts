/** Schemas that several features share, and the problem replies of every route. */
import type { Static, TSchema, TUnsafe } from 'typebox'
import { type ErrorCode, errorKinds, invalidField } from '../../errors.ts'
import { languages } from '../lib/languages.ts'
import { problemMediaType } from './problem.ts'
import { Type } from './type.ts'

const names = Object.values(languages).map(({ english }) => english)
export const languageNames = `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`

export const Id = (description: string) => Type.String({ description, examples: ['q2nXcUoYTkKsmcYbkzyHRA'] })
export const Timestamp = (description?: string) =>
  Type.String({
    format: 'date-time',
    ...(description && { description }),
    examples: ['2026-11-15T09:00:00.000Z'],
  })
/** Refers to a schema that app.ts registers. */
export function Ref<T extends TSchema>(schema: T): TUnsafe<Static<T>> {
  const { $id } = schema as { $id?: string }
  if ($id === undefined) throw new Error('a schema needs an $id to be referenced')
  return Type.Unsafe<Static<T>>({ $ref: $id })
}
/** Which classes, by date; current ones if it is left out. */
export const WhenQuery = Type.Object({
  when: Type.Optional(Type.Enum(['current', 'upcoming', 'past', 'all'])),
})

interface Span {
  readonly min: number
  readonly max: number
}

/** A whole number in the query, which arrives as text; `integerFrom` reads it. */
export const QueryInteger = ({ min, max }: Span, description: string) =>
  Type.Optional(Type.String({ description, documented: { type: 'integer', minimum: min, maximum: max } }))

export function integerFrom(parameter: string, text: string, { min, max }: Span): number {
  const value = Number(text)
  if (/^\d{1,16}$/.test(text) && value >= min && value <= max) return value
  throw invalidField({ parameter, detail: `must be a whole number from ${min} to ${max}` })
}

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

// `documented` keywords appear in the OpenAPI document but are not validated. people/ enforces these rules: it measures
// the normalised value and has better error messages.
export const Email = Type.String({
  description: 'One plain e-mail address. Kept as typed, compared lower-cased.',
  documented: { format: 'email', minLength: 3, maxLength: 254 },
  examples: ['ada@example.org'],
})
// Not every client generator supports \p{L}, so this accepts anything with a letter. people/names.ts is stricter.
const mayBeName = '^[^/@]*[A-Za-z\\u00aa\\u00b5\\u00ba\\u00c0-\\uffff][^/@]*$'
export const Name = (description: string, example: string) =>
  Type.String({
    description: `${description} Counted in Unicode’s NFC, without spaces around it. At least one letter; no /, @ or www.`,
    documented: { minLength: 1, maxLength: 100, pattern: mayBeName },
    examples: [example],
  })

export const Problem = Type.Object(
  {
    type: Type.String({ description: 'The address of this error’s explanation.' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    instance: Type.String({ description: 'The id of the request, as in the Request-Id header.' }),
    code: Type.String({
      description: `Decide by it. More may be added; today there are ${Object.keys(errorKinds)
        .map((code) => `\`${code}\``)
        .join(', ')}.`,
      examples: Object.keys(errorKinds),
    }),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          pointer: Type.Optional(
            Type.String({ description: 'Where in the body: a JSON pointer.', examples: ['#/email'] }),
          ),
          parameter: Type.Optional(
            Type.String({
              description: 'Or which parameter of the path, query or headers.',
              examples: ['when'],
            }),
          ),
          detail: Type.String({ description: 'What was expected.' }),
        }),
        { description: 'For invalid-request: what is wrong where.' },
      ),
    ),
    attemptsLeft: Type.Optional(Type.Integer({ description: 'For otp-incorrect.' })),
  },
  { $id: 'Problem', description: 'RFC 9457' },
)

/** Problems of every call. */
const commonProblems = [
  'unsupported-version',
  'too-many-requests',
  'internal-error',
  'unavailable',
] as const satisfies ErrorCode[]

type StatusOf<Code extends ErrorCode> = (typeof errorKinds)[Code]['status']

interface ProblemReply {
  readonly description: string
  readonly content: {
    readonly [problemMediaType]: {
      readonly schema: TUnsafe<Static<typeof Problem>>
      readonly example: object
    }
  }
}

type Problems<Code extends ErrorCode> = Record<StatusOf<Code | (typeof commonProblems)[number]>, ProblemReply>

/** Replies for these codes and the common ones, grouped by status. */
export function problems<Code extends ErrorCode = never>(...codes: Code[]): Problems<Code> {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of [...codes, ...commonProblems]) {
    const { status } = errorKinds[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, list]) => [
      status,
      {
        description: list.map((code) => `\`${code}\`: ${errorKinds[code].title}`).join('; '),
        content: { [problemMediaType]: { schema: Ref(Problem), example: exampleOf(list[0]!) } },
      },
    ]),
  ) as Problems<Code>
}

function exampleOf(code: ErrorCode): object {
  const { status, title, explanation } = errorKinds[code]
  const detail = explanation.replaceAll('`', '')
  const instance = 'q2nXcUoYTkKsmcYbkzyHRA'
  return { type: `https://access.example.org/problems/${code}`, title, status, detail, instance, code }
}

/** Further problems of calls with a body. */
export const bodyProblems = [
  'invalid-request',
  'malformed-json',
  'timeout',
  'body-too-large',
  'unsupported-media-type',
] as const satisfies ErrorCode[]

/** Further problems of calls with a token. */
export const tokenProblems = [
  'unauthenticated',
  'invalid-token',
  'session-ended',
] as const satisfies ErrorCode[]

/** Problems of reading what only staff may read; an unknown parameter is one of them (access.ts). */
export const staffReadProblems = [
  'invalid-request',
  ...tokenProblems,
  'forbidden',
] as const satisfies ErrorCode[]

export const Empty = Type.Unsafe<void>({ type: 'null', description: 'No content.' })

/** The reply to a request for a code. */
export const CodeSent = Type.Object({
  sessionId: Id('Names this sign-in, from here to sign-out. Not a secret.'),
  reference: Type.String({ description: 'Three letters, also in the mail’s subject.', examples: ['KTV'] }),
  digits: Type.Enum([6, 8], { description: 'How long the code is.' }),
  expiresAt: Timestamp('When the code stops working.'),
  resendAt: Nullable(Timestamp('From when it can be sent again; null when no more.')),
})

export const OtpCode = Type.Integer({ minimum: 100000, maximum: 99999999, examples: [483920] })

export const TokenReply = (User: TSchema) =>
  Type.Object({
    access_token: Type.String(),
    token_type: Type.Literal('Bearer'),
    expires_in: Type.Integer({ description: 'Seconds.' }),
    refresh_token: Type.String(),
    user: User,
  })

export const SignInReply = (User: TSchema) => {
  const { properties } = TokenReply(User)
  const device_token = Type.String({
    description:
      'Send it as `device_token` with the next send-otp for this address from this device. Good for 400 days; no credential.',
  })
  return Type.Object({ ...properties, device_token })
}

/** In the portal the refresh token is in the cookie. */
export const PortalTokenReply = (User: TSchema) => Type.Omit(TokenReply(User), ['refresh_token'])

const Step = Type.Object({
  at: Timestamp(),
  step: Type.String({
    description:
      'What happened: `queued`, `deferred`, `handed`, `not-sent`, `failed`, `bounced`, `wrong-code` or `right-code`.',
    examples: ['handed'],
  }),
  server: Nullable(Type.String({ description: 'The mail server.' })),
  reply: Nullable(Type.String({ description: 'What it said, word for word.' })),
  why: Nullable(Type.String({ description: 'The reason in our own words.' })),
  hard: Nullable(Type.Boolean({ description: 'Of a bounce: whether it is for good.' })),
  nextAt: Nullable(Timestamp('When it is tried again.')),
})

/** What became of one mail. */
export const DeliveryEntry = Type.Object(
  {
    deliveryId: Type.String(),
    role: Type.String(),
    mail: Nullable(Type.String({ description: 'What the mail says, such as `code` or `no-account`.' })),
    domain: Type.String({ description: 'The part of the address after the @.' }),
    userId: Nullable(Type.String({ description: 'Whose address it was, if anybody’s.' })),
    askedBy: Nullable(
      Type.String({ description: 'Who asked for it, if it went to an address that they want to move to.' }),
    ),
    sessionId: Nullable(Type.String()),
    state: Type.String({ examples: ['handed'] }),
    createdAt: Timestamp(),
    updatedAt: Timestamp(),
    steps: Type.Array(Step),
  },
  { $id: 'Delivery' },
)

/** Part of the export of every role. */
export const HistoryFields = {
  deliveries: Type.Array(Ref(DeliveryEntry), {
    description:
      'What became of mails, for 30 days. Of a mail that somebody asked for at an address that was not theirs, their own export shows only that they did.',
  }),
  sessions: Type.Array(
    Type.Object({
      sessionId: Type.String(),
      device: Type.String(),
      startedAt: Timestamp(),
      lastSeenAt: Timestamp(),
      expiresAt: Timestamp(),
      endedAt: Nullable(Timestamp()),
      endReason: Nullable(Type.String()),
    }),
  ),
  events: Type.Array(
    Type.Object({
      at: Timestamp(),
      type: Type.String(),
      sessionId: Nullable(Type.String()),
      actor: Type.String({ description: '`self`, `system`, `operator`, or a member of staff.' }),
      note: Nullable(Type.String({ description: 'What staff wrote about it.' })),
    }),
  ),
}

export const EventEntry = Type.Object(
  {
    id: Type.String(),
    number: Type.Integer({ description: 'Grows; pass the last one you have as `after`.' }),
    type: Type.String({ examples: ['session.started'] }),
    at: Timestamp(),
    userId: Nullable(Type.String()),
    actor: Type.String({
      description: '`self`, `system`, `operator` for the command line, or the userId of a member of staff.',
    }),
    requestId: Nullable(Type.String()),
    network: Nullable(Type.String({ description: 'A fingerprint; "chiron network" tells what it did.' })),
    data: Type.Object({}, { additionalProperties: true }),
  },
  { $id: 'Event' },
)
