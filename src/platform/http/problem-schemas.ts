/** The problem, and the problem replies of every route. */
import { type ErrorCode, errorKinds } from '../../errors.ts'
import { Titled } from './schemas.ts'
import { Type } from './type.ts'

export const problemMediaType = 'application/problem+json'

const FieldProblem = Titled('FieldProblem', {
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
})

export const Problem = Type.Object(
  {
    type: Type.String({ description: 'URL of the explanation of this error.' }),
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
      Type.Array(FieldProblem, { description: 'For invalid-request: the fields at fault.' }),
    ),
    attemptsLeft: Type.Optional(Type.Integer({ description: 'For otp-incorrect.' })),
    within: Type.Optional(
      Type.Integer({ description: 'For recent-sign-in-required: how recent it must be, in seconds.' }),
    ),
    methods: Type.Optional(
      Type.Array(Type.String(), {
        description: 'For recent-sign-in-required: how the caller can prove it again, `passkey` or `code`.',
      }),
    ),
    known: Type.Optional(
      Type.Boolean({ description: 'For passkey-unusable: false if there is no such passkey here.' }),
    ),
    error: Type.Optional(
      Type.String({ description: 'At /oauth/userinfo: the error of RFC 6750 §3.1, for libraries of OAuth.' }),
    ),
    error_description: Type.Optional(Type.String({ description: 'At /oauth/userinfo.' })),
  },
  { title: 'Problem', description: 'RFC 9457' },
)

const { status, title, explanation } = errorKinds['invalid-token']
export const exampleProblem = {
  type: 'https://access.example.org/problems/invalid-token',
  title,
  status,
  detail: explanation.replaceAll('`', ''),
  instance: 'q2nXcUoYTkKsmcYbkzyHRA',
  code: 'invalid-token',
}

/** Problems of every call. */
const commonProblems = [
  'unsupported-version',
  'too-many-requests',
  'internal-error',
  'unavailable',
] as const satisfies ErrorCode[]

interface ProblemReply {
  readonly description: string
  readonly content: Readonly<Record<string, object>>
}

/** Replies for these codes and the common ones, grouped by status. */
export function problems(codes: readonly ErrorCode[]): Record<number, ProblemReply> {
  const replies: Record<number, ProblemReply> = {}
  const content = { [problemMediaType]: { schema: Problem } }
  for (const [status, list] of Map.groupBy([...codes, ...commonProblems], (code) => errorKinds[code].status))
    replies[status] = { description: list.map((code) => `\`${code}\``).join(', '), content }
  return replies
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
