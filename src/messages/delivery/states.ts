/** The states of a mail, and the steps that lead to them. */

/** In the order in which they usually come. */
export const states = ['queued', 'deferred', 'handed', 'not-sent', 'failed', 'bounced', 'opened'] as const
export type State = (typeof states)[number]

/** For searches: still to be sent, whether `queued` or `deferred`. */
export const waiting = 'waiting'

export const stateAfter = {
  deferred: 'deferred',
  handed: 'handed',
  'not-sent': 'not-sent',
  failed: 'failed',
  bounced: 'bounced',
  'wrong-code': null,
  'right-code': 'opened',
} as const satisfies Record<string, State | null>

export type StepName = keyof typeof stateAfter
