/** The words of plans and holds: for the store, the HTTP interface, the console and the command line. */

export const planKinds = ['student', 'class', 'enrolment', 'user', 'role', 'course', 'term', 'org'] as const
export type PlanKind = (typeof planKinds)[number]

/** How accounts are matched if every sourcedId is new. */
export const matchKeys = ['number', 'address'] as const
export type MatchBy = (typeof matchKeys)[number]

/** Each hold is allowed by its code. */
export const holdCodes = [
  'leavers',
  'changes',
  'teachers',
  'terms',
  'addresses',
  'identities',
  'mode',
  'stale',
] as const
export type HoldCode = (typeof holdCodes)[number]

/** What changes, sorted as people ask: first students, by what happens to them, then the other records. */
export const groups = [
  'leaving',
  'addresses',
  'changed',
  'returning',
  'added',
  ...planKinds.filter((kind) => kind !== 'student'),
] as const
export type Group = (typeof groups)[number]

export const planStates = ['ready', 'refused', 'applying', 'applied', 'failed'] as const

/** Why an import did not happen. `stopped`: its process ended. `error`: the log tells. */
export const planFailures = ['moved-on', 'busy', 'held', 'refused', 'stopped', 'error'] as const
export type PlanFailure = (typeof planFailures)[number]
