import { Nullable, OpenObject, Timestamp, Titled } from '../../../platform/http/schemas.ts'
import { Type } from '../../../platform/http/type.ts'
import * as words from '../words.ts'

export const generationNumbers = { min: 0, max: 2 ** 31 - 1 }

const operations = ['added', 'changed', 'leaving', 'returning'] as const
const n = Type.Integer()
const Count = Titled('RosterCount', { before: n, added: n, changed: n, leaving: n, returning: n, after: n })
const perhaps = Type.Optional(Count)
const Counts = Type.Object(
  {
    ...{ student: perhaps, class: perhaps, enrolment: perhaps, user: perhaps },
    ...{ role: perhaps, course: perhaps, term: perhaps, org: perhaps },
  },
  {
    title: 'RosterCounts',
    description: 'By kind of record: counts before and after, and counts of each change. Empty if refused.',
  },
)
const Finding = Titled('RosterFinding', {
  severity: Type.Enum(['error', 'warning'], { title: 'RosterSeverity' }),
  code: Type.String({ examples: ['duplicate-address'] }),
  file: Type.String(),
  line: Nullable(Type.Integer()),
  column: Nullable(Type.String()),
  value: Nullable(Type.String()),
  message: Type.String({ description: 'The problem in plain words.' }),
})
const HoldCode = Type.Enum([...words.holdCodes], { title: 'RosterHoldCode' })
const Hold = Titled('RosterHold', {
  code: HoldCode,
  reason: Type.String(),
  numbers: OpenObject<number>(),
})
const Progress = Type.Object(
  {
    done: Type.Integer(),
    total: Nullable(
      Type.Integer({ description: 'Null while the file is being read; `done` then counts rows.' }),
    ),
  },
  { title: 'RosterProgress', description: 'Of the plan while it is made, then of its import.' },
)

export const Mode = Type.Enum(['bulk', 'delta'], { title: 'RosterMode' })
export const MatchKey = Type.Enum([...words.matchKeys], { title: 'RosterMatchKey' })
export const Group = Type.Enum([...words.groups], { title: 'RosterGroup' })
export const DayOrder = Type.Enum([...words.dayOrders], { title: 'RosterDayOrder' })
export const PlanOptions = Titled('RosterPlanOptions', {
  mode: Nullable(Mode),
  match: Nullable(MatchKey),
  skipBadRows: Type.Integer(),
  map: Type.Array(Type.String({ examples: ['number=Matricola'] })),
  term: Type.Array(Type.String({ examples: ['Autumn 2026=2026-08-17..2026-12-18'] })),
  dates: Nullable(DayOrder),
})
const ListTable = Titled('RosterListTable', {
  file: Type.String(),
  sheet: Nullable(Type.String()),
  encoding: Nullable(Type.String({ description: 'If it is not UTF-8.' })),
  headerLine: Type.Integer(),
  rows: Type.Integer(),
  mapping: Type.Array(
    Titled('RosterListColumn', {
      field: Type.Enum([...words.fieldNames], { title: 'RosterListField' }),
      header: Type.String(),
      samples: Type.Array(Type.String(), { description: 'The cells of the first three rows.' }),
    }),
  ),
  unused: Type.Array(Type.String(), { description: 'Headers of columns that are not used.' }),
})
const List = Titled('RosterList', {
  kind: Type.Enum(['class list', 'Canvas export', 'School Data Sync files'], { title: 'RosterListKind' }),
  tables: Type.Array(ListTable, { description: 'How the columns of a class list were understood.' }),
})
const GroupCount = Titled('RosterGroupCount', {
  group: Group,
  count: Type.Integer(),
  kept: Type.Integer({ description: 'The number that `/changes` lists.' }),
})

const State = Type.Enum([...words.planStates], {
  title: 'RosterPlanState',
  description:
    '`planning`: the changes are being worked out. `refused`: the file has errors. `failed`: nothing has changed; an import can be tried again, and a file whose plan could not be made (`roster` is null) is uploaded again.',
})
const Failure = Type.Enum([...words.planFailures], {
  title: 'RosterPlanFailure',
  description: 'Why it failed. `stopped`: the service was stopped. `error`: see the service’s log.',
})

export const RosterPlan = Titled('RosterPlan', {
  planId: Type.String(),
  state: State,
  failure: Nullable(Failure),
  createdAt: Timestamp(),
  createdBy: Type.String({ description: 'The userId of the member of staff.' }),
  expiresAt: Timestamp('It can be imported until then.'),
  fileName: Type.String(),
  sha256: Nullable(Type.String()),
  version: Nullable(Type.String({ examples: ['1.2'] })),
  rows: Nullable(Type.Integer()),
  modes: Type.Array(Type.String(), { description: '`bulk`, `delta` or both, as the file was read.' }),
  missing: Type.Array(Type.String(), { description: 'Files of the standard that are not in it.' }),
  options: PlanOptions,
  list: Nullable(List),
  roster: Nullable(
    Type.Integer({
      description: 'The number of the roster it was compared with; null until the plan is made.',
    }),
  ),
  counts: Counts,
  groups: Type.Array(GroupCount, {
    description: 'Changes in groups: students first, by kind of change.',
  }),
  holds: Type.Array(Hold, { description: 'The holds that `allow` must list before the import.' }),
  badRows: Type.Integer(),
  skipsBadRows: Type.Boolean({ description: 'Whether the bad rows are skipped.' }),
  errors: Type.Integer(),
  warnings: Type.Integer(),
  findings: Type.Array(Finding, { description: 'The first 1,000, errors first.' }),
  progress: Nullable(Progress),
  generation: Nullable(Type.Integer({ description: 'The number of the resulting roster.' })),
})

const Side = Nullable(OpenObject())
export const RosterChange = Titled('RosterChange', {
  kind: Type.Enum([...words.planKinds], { title: 'RosterRecordKind' }),
  sourcedId: Type.String(),
  operation: Type.Enum([...operations], { title: 'RosterOperation' }),
  name: Type.String(),
  studentNumber: Nullable(Type.String()),
  before: Side,
  after: Side,
})

const StudentCounts = Titled('RosterStudentCounts', { added: n, changed: n, leaving: n, returning: n })
export const RosterImport = Titled('RosterImport', {
  generation: Type.Integer(),
  kind: Type.Enum(['import', 'undo', 'correction'], { title: 'RosterImportKind' }),
  publishedAt: Timestamp(),
  actor: Nullable(Type.String({ description: '`operator` for the command line, or a userId.' })),
  actorName: Nullable(Type.String()),
  fileName: Nullable(Type.String()),
  sha256: Nullable(Type.String()),
  rows: Nullable(Type.Integer()),
  allowed: Type.Array(Type.String(), { description: 'The holds that were allowed.' }),
  content: Type.Integer({ description: 'For an undo: the number of the roster it restored.' }),
  students: StudentCounts,
  current: Type.Boolean({ description: 'Whether this is the current roster.' }),
  canGoBack: Type.Boolean({ description: 'Whether an undo can restore what the roster was after it.' }),
  changesKept: Type.Boolean({ description: 'Whether its changes can still be listed.' }),
})
export const RosterImportDetail = Titled('RosterImportDetail', {
  ...RosterImport.properties,
  groups: Type.Array(GroupCount, {
    description: 'Its changes in groups; empty if they are no longer kept.',
  }),
})
export const PendingRosterPlan = Titled('PendingRosterPlan', {
  planId: Type.String(),
  state: State,
  failure: Nullable(Failure),
  createdAt: Timestamp(),
  createdBy: Type.String({ description: 'The userId of the member of staff.' }),
  createdByName: Nullable(Type.String()),
  expiresAt: Timestamp(),
  fileName: Type.String(),
  students: StudentCounts,
  holds: Type.Array(HoldCode),
  errors: Type.Integer(),
  warnings: Type.Integer(),
  progress: Nullable(Progress),
})
export const PendingRosterPlans = Titled('PendingRosterPlans', { plans: Type.Array(PendingRosterPlan) })

export const RosterChangePage = Titled('RosterChangePage', {
  changes: Type.Array(RosterChange),
  next: Nullable(Type.String()),
})
const Allow = Type.Optional(Type.Array(Type.String(), { examples: [['leavers']] }))
export const RosterApproval = Titled('RosterApproval', { allow: Allow })
export const RosterImportList = Titled('RosterImportList', {
  imports: Type.Array(RosterImport),
  canEmpty: Type.Boolean({ description: 'Whether an undo can go to 0, the empty roster.' }),
})
export const RosterUndoPlan = Titled('RosterUndoPlan', {
  from: Type.Integer({ description: 'The current roster.' }),
  to: Type.Integer(),
  undone: Type.Array(Type.Integer(), { description: 'Newest first.' }),
  counts: Titled('RosterUndoCounts', { leaving: n, returning: n, changed: n }),
  holds: Type.Array(Hold, { description: 'The holds that `allow` must list before the undo.' }),
  changes: Type.Array(RosterChange, { description: 'The first 1,000 students.' }),
})
export const RosterUndo = Titled('RosterUndo', {
  to: Type.Optional(Type.Integer({ minimum: generationNumbers.min, maximum: generationNumbers.max })),
  from: Type.Optional(Type.Integer({ minimum: generationNumbers.min, maximum: generationNumbers.max })),
  allow: Allow,
})
export const RosterUndone = Titled('RosterUndone', {
  generation: Type.Integer({ description: 'The new number of the roster.' }),
})
