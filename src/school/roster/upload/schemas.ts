import { Nullable, OpenObject, Timestamp } from '../../../platform/http/schemas.ts'
import { Type } from '../../../platform/http/type.ts'
import {
  dayOrders,
  fieldNames,
  groups,
  holdCodes,
  matchKeys,
  planFailures,
  planKinds,
  planStates,
} from '../words.ts'

export const generationNumbers = { min: 0, max: 2 ** 31 - 1 }

const operations = ['added', 'changed', 'leaving', 'returning'] as const
const n = Type.Integer()
const Count = Type.Object(
  { before: n, added: n, changed: n, leaving: n, returning: n, after: n },
  { title: 'RosterCount' },
)
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
const Finding = Type.Object(
  {
    severity: Type.Enum(['error', 'warning'], { title: 'RosterSeverity' }),
    code: Type.String({ examples: ['duplicate-address'] }),
    file: Type.String(),
    line: Nullable(Type.Integer()),
    column: Nullable(Type.String()),
    value: Nullable(Type.String()),
    message: Type.String({ description: 'The problem in plain words.' }),
  },
  { title: 'RosterFinding' },
)
const HoldCode = Type.Enum([...holdCodes], { title: 'RosterHoldCode' })
const Hold = Type.Object(
  {
    code: HoldCode,
    reason: Type.String(),
    numbers: OpenObject<number>(),
  },
  { title: 'RosterHold' },
)
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
export const MatchKey = Type.Enum([...matchKeys], { title: 'RosterMatchKey' })
export const Group = Type.Enum([...groups], { title: 'RosterGroup' })
export const DayOrder = Type.Enum([...dayOrders], { title: 'RosterDayOrder' })
export const PlanOptions = Type.Object(
  {
    mode: Nullable(Mode),
    match: Nullable(MatchKey),
    skipBadRows: Type.Integer(),
    map: Type.Array(Type.String({ examples: ['number=Matricola'] })),
    term: Type.Array(Type.String({ examples: ['Autumn 2026=2026-08-17..2026-12-18'] })),
    dates: Nullable(DayOrder),
  },
  { title: 'RosterPlanOptions' },
)
const ListTable = Type.Object(
  {
    file: Type.String(),
    sheet: Nullable(Type.String()),
    encoding: Nullable(Type.String({ description: 'If it is not UTF-8.' })),
    headerLine: Type.Integer(),
    rows: Type.Integer(),
    mapping: Type.Array(
      Type.Object(
        {
          field: Type.Enum([...fieldNames], { title: 'RosterListField' }),
          header: Type.String(),
          samples: Type.Array(Type.String(), { description: 'The cells of the first three rows.' }),
        },
        { title: 'RosterListColumn' },
      ),
    ),
    unused: Type.Array(Type.String(), { description: 'Headers of columns that are not used.' }),
  },
  { title: 'RosterListTable' },
)
const List = Type.Object(
  {
    kind: Type.Enum(['class list', 'Canvas export', 'School Data Sync files'], { title: 'RosterListKind' }),
    tables: Type.Array(ListTable, { description: 'How the columns of a class list were understood.' }),
  },
  { title: 'RosterList' },
)
const GroupCount = Type.Object(
  {
    group: Group,
    count: Type.Integer(),
    kept: Type.Integer({ description: 'The number that `/changes` lists.' }),
  },
  { title: 'RosterGroupCount' },
)

const State = Type.Enum([...planStates], {
  title: 'RosterPlanState',
  description:
    '`planning`: the changes are being worked out. `refused`: the file has errors. `failed`: nothing has changed; an import can be tried again, and a file whose plan could not be made (`roster` is null) is uploaded again.',
})
const Failure = Type.Enum([...planFailures], {
  title: 'RosterPlanFailure',
  description: 'Why it failed. `stopped`: the service was stopped. `error`: see the service’s log.',
})

export const RosterPlan = Type.Object(
  {
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
  },
  { title: 'RosterPlan' },
)

const Side = Nullable(OpenObject())
export const RosterChange = Type.Object(
  {
    kind: Type.Enum([...planKinds], { title: 'RosterRecordKind' }),
    sourcedId: Type.String(),
    operation: Type.Enum([...operations], { title: 'RosterOperation' }),
    name: Type.String(),
    studentNumber: Nullable(Type.String()),
    before: Side,
    after: Side,
  },
  { title: 'RosterChange' },
)

const StudentCounts = Type.Object(
  { added: n, changed: n, leaving: n, returning: n },
  { title: 'RosterStudentCounts' },
)
export const RosterImport = Type.Object(
  {
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
  },
  { title: 'RosterImport' },
)
export const RosterImportDetail = Type.Object(
  {
    ...RosterImport.properties,
    groups: Type.Array(GroupCount, {
      description: 'Its changes in groups; empty if they are no longer kept.',
    }),
  },
  { title: 'RosterImportDetail' },
)
export const PendingRosterPlan = Type.Object(
  {
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
  },
  { title: 'PendingRosterPlan' },
)
export const PendingRosterPlans = Type.Object(
  { plans: Type.Array(PendingRosterPlan) },
  { title: 'PendingRosterPlans' },
)

export const RosterChangePage = Type.Object(
  { changes: Type.Array(RosterChange), next: Nullable(Type.String()) },
  { title: 'RosterChangePage' },
)
const Allow = Type.Optional(Type.Array(Type.String(), { examples: [['leavers']] }))
export const RosterApproval = Type.Object({ allow: Allow }, { title: 'RosterApproval' })
export const RosterImportList = Type.Object(
  {
    imports: Type.Array(RosterImport),
    canEmpty: Type.Boolean({ description: 'Whether an undo can go to 0, the empty roster.' }),
  },
  { title: 'RosterImportList' },
)
export const RosterUndoPlan = Type.Object(
  {
    from: Type.Integer({ description: 'The current roster.' }),
    to: Type.Integer(),
    undone: Type.Array(Type.Integer(), { description: 'Newest first.' }),
    counts: Type.Object({ leaving: n, returning: n, changed: n }, { title: 'RosterUndoCounts' }),
    holds: Type.Array(Hold, { description: 'The holds that `allow` must list before the undo.' }),
    changes: Type.Array(RosterChange, { description: 'The first 1,000 students.' }),
  },
  { title: 'RosterUndoPlan' },
)
export const RosterUndo = Type.Object(
  {
    to: Type.Optional(Type.Integer({ minimum: generationNumbers.min, maximum: generationNumbers.max })),
    from: Type.Optional(Type.Integer({ minimum: generationNumbers.min, maximum: generationNumbers.max })),
    allow: Allow,
  },
  { title: 'RosterUndo' },
)
export const RosterUndone = Type.Object(
  {
    generation: Type.Integer({ description: 'The new number of the roster.' }),
  },
  { title: 'RosterUndone' },
)
