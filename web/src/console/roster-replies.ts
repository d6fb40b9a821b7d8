/** Replies of the service about plans and imports of the roster: types of its own schemas. */
import type { Static } from 'typebox'
import type {
  PendingRosterPlan,
  RosterChange,
  RosterImport,
  RosterImportDetail,
  RosterImportList,
  RosterPlan,
  RosterUndoPlan,
} from '../../../src/school/roster/upload/schemas.ts'

export type Change = Static<typeof RosterChange>
export type Import = Static<typeof RosterImport>
export type ImportList = Static<typeof RosterImportList>
export type ImportDetail = Static<typeof RosterImportDetail>
export type Plan = Static<typeof RosterPlan>
export type PlanState = Plan['state']
export type PendingPlan = Static<typeof PendingRosterPlan>
export type UndoPlan = Static<typeof RosterUndoPlan>

export type Kind = Change['kind']
export const kinds = [
  'student',
  'class',
  'enrolment',
  'user',
  'role',
  'course',
  'term',
  'org',
] as const satisfies Kind[]

export type Operation = Change['operation']
export const operations = ['added', 'changed', 'leaving', 'returning'] as const satisfies Operation[]

export type GroupCount = Plan['groups'][number]
export type Group = GroupCount['group']
/** Students by what happens to them. */
export type StudentGroup = Exclude<Group, Kind>
export const studentGroups = [
  'leaving',
  'addresses',
  'changed',
  'returning',
  'added',
] as const satisfies StudentGroup[]

export type Finding = Plan['findings'][number]
export type Hold = Plan['holds'][number]
export type Failure = NonNullable<Plan['failure']>
/** How the columns of a class list were understood. */
export type ListTable = NonNullable<Plan['list']>['tables'][number]
export type ListKind = NonNullable<Plan['list']>['kind']
export type ListField = ListTable['mapping'][number]['field']
/** How a file is to be read, where it does not say so itself. */
export type PlanOptions = Plan['options']
