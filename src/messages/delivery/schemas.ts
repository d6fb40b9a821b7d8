import { Nullable, Timestamp, Titled } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import type { Role } from '../../roles.ts'
import type { State, StepName } from './states.ts'

const Step = Titled('DeliveryStep', {
  at: Timestamp(),
  step: Type.Unsafe<StepName | 'queued'>({
    type: 'string',
    description:
      'What happened: `queued`, `deferred`, `handed`, `not-sent`, `failed`, `bounced`, `wrong-code` or `right-code`.',
    examples: ['handed'],
  }),
  server: Nullable(Type.String({ description: 'The mail server.' })),
  reply: Nullable(Type.String({ description: 'Its reply, verbatim.' })),
  why: Nullable(Type.String({ description: 'The reason in plain words.' })),
  hard: Nullable(Type.Boolean({ description: 'For a bounce: whether it is permanent.' })),
  nextAt: Nullable(Timestamp('Time of the next attempt.')),
})

/** What became of one mail. */
export const DeliveryEntry = Titled('Delivery', {
  deliveryId: Type.String(),
  role: Type.Unsafe<Role>({ type: 'string' }),
  mail: Nullable(Type.String({ description: 'The kind of mail, such as `code` or `no-account`.' })),
  domain: Type.String({ description: 'The part of the address after the @.' }),
  userId: Nullable(Type.String({ description: 'The owner of the address, if any.' })),
  askedBy: Nullable(
    Type.String({ description: 'The person who requested it, if it went to their new address.' }),
  ),
  sessionId: Nullable(Type.String()),
  state: Type.Unsafe<State>({ type: 'string', examples: ['handed'] }),
  createdAt: Timestamp(),
  updatedAt: Timestamp(),
  steps: Type.Array(Step),
})

export const DeliveryPage = Titled('DeliveryPage', {
  deliveries: Type.Array(DeliveryEntry),
  next: Nullable(Type.String()),
})
