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
  'classes',
  'enrolments',
  'numbers',
  'addresses',
  'identities',
  'mode',
  'stale',
] as const
export type HoldCode = (typeof holdCodes)[number]

/** The holds that nobody has allowed yet, each once. */
export function openHolds(
  holds: readonly { readonly code: HoldCode }[],
  allow: readonly HoldCode[],
): HoldCode[] {
  return [...new Set(holds.map(({ code }) => code))].filter((code) => !allow.includes(code))
}

/** In percent: a hold begins above it. 100 switches a hold off. */
export const usualShares = {
  leavers: 10,
  changes: 75,
  teachers: 25,
  terms: 25,
  classes: 25,
  enrolments: 25,
  numbers: 10,
  addresses: 10,
  identities: 50,
} as const satisfies Partial<Record<HoldCode, number>>
export type SharedHold = keyof typeof usualShares
export type HoldShares = Readonly<Record<SharedHold, number>>

/** How many bad rows may be left out: this many, or this share of all rows. */
export type BadRows = { readonly max: number } | { readonly share: number }

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

export const planStates = ['planning', 'ready', 'refused', 'applying', 'applied', 'failed'] as const

/** Why a plan or its import did not happen. `stopped`: its process ended. `error`: the log tells. */
export const planFailures = ['moved-on', 'busy', 'held', 'refused', 'stopped', 'error'] as const
export type PlanFailure = (typeof planFailures)[number]

/** What the columns of a class list may be, each with its meaning for messages and docs/roster.md. */
export const fields = {
  name: 'full name',
  firstName: 'first name',
  lastName: 'last name',
  secondLastName: 'second last name',
  number: 'student number',
  email: 'e-mail address',
  year: 'year of study',
  school: 'school or campus',
  class: 'class',
  code: 'code of the class',
  group: 'group within the class',
  kind: 'kind of class',
  teacher: 'teacher',
  teacherFirstName: 'teacher’s first name',
  teacherLastName: 'teacher’s last name',
  teacherEmail: 'teacher’s e-mail address',
  term: 'term',
  start: 'first day',
  end: 'last day',
  room: 'room',
  meets: 'meeting times',
  day: 'day of the week',
  startTime: 'time at which it begins',
  endTime: 'time at which it ends',
} as const

export type Field = keyof typeof fields
export const fieldNames = Object.keys(fields) as Field[]

/** Which comes first in 03/09/2026. */
export const dayOrders = ['day-first', 'month-first'] as const
export type DayOrder = (typeof dayOrders)[number]
