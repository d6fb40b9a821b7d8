import { Nullable, Timestamp } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import type { Role } from '../../roles.ts'
import type { State, StepName } from './states.ts'

const Step = Type.Object(
  {
    at: Timestamp(),
    step: Type.Unsafe<StepName | 'queued'>({
      type: 'string',
      description:
        'What happened: `queued`, `deferred`, `handed`, `not-sent`, `failed`, `bounced`, `wrong-code` or `right-code`.',
      examples: ['handed'],
    }),
    server: Nullable(Type.String({ description: 'The mail server.' })),
    reply: Nullable(Type.String({ description: 'What it said, word for word.' })),
    why: Nullable(Type.String({ description: 'The reason in our own words.' })),
    hard: Nullable(Type.Boolean({ description: 'Of a bounce: whether it is for good.' })),
    nextAt: Nullable(Timestamp('When it is tried again.')),
  },
  { title: 'DeliveryStep' },
)

/** What became of one mail. */
export const DeliveryEntry = Type.Object(
  {
    deliveryId: Type.String(),
    role: Type.Unsafe<Role>({ type: 'string' }),
    mail: Nullable(Type.String({ description: 'What the mail says, such as `code` or `no-account`.' })),
    domain: Type.String({ description: 'The part of the address after the @.' }),
    userId: Nullable(Type.String({ description: 'Whose address it was, if anybody’s.' })),
    askedBy: Nullable(
      Type.String({ description: 'Who asked for it, if it went to an address that they want to move to.' }),
    ),
    sessionId: Nullable(Type.String()),
    state: Type.Unsafe<State>({ type: 'string', examples: ['handed'] }),
    createdAt: Timestamp(),
    updatedAt: Timestamp(),
    steps: Type.Array(Step),
  },
  { title: 'Delivery' },
)

export const DeliveryPage = Type.Object(
  { deliveries: Type.Array(DeliveryEntry), next: Nullable(Type.String()) },
  { title: 'DeliveryPage' },
)
