/**
 * The rows that decisions lock, in the order in which they lock them, so that no two wait for each other. Rows of one kind
 * are locked in the order of their keys, and what strangers share comes last, because it is held for the shortest time.
 */
export const lockOrder = [
  'client',
  'provider',
  'staff',
  'registration',
  'person',
  'challenge',
  'code',
  'session',
  'signing-key',
  'rsa-signing-key',
  'roster',
  'plan',
  'mail',
  'delivery',
  'notice',
  'webhook',
  'bucket',
  'quota',
  'failure',
] as const

export type Lockable = (typeof lockOrder)[number]
