/** Every difference between two rosters, with the names of the people and classes concerned. */
import { folded } from '../../../platform/lib/folded.ts'
import type { DataOf, UserData } from '../records.ts'
import type { StudentFields } from '../store/students.ts'
import type { Group, PlanKind } from '../words.ts'
import { columnsOf, type Workbench } from '../workbench/workbench.ts'
import { dataIn, type Next, type Operation, remembered } from './next.ts'
import type { Students } from './students.ts'

/** Fields by name. */
type Side = Record<string, unknown> | null

export interface Change {
  readonly kind: PlanKind
  readonly sourcedId: string
  readonly operation: Operation
  /** For display: a person's names, the title of a class, who is in which class. */
  readonly name: string
  readonly studentNumber: string | null
  readonly before: Side
  readonly after: Side
}

const kinds = ['class', 'user', 'role', 'course', 'term', 'org', 'enrolment'] as const
type RecordKind = (typeof kinds)[number]

/** Looks up the records that others refer to. */
export interface Lookup {
  user(id: string): UserData | undefined
  class(id: string): { readonly title: string } | undefined
}

const lookupsKept = 1_000

/** The new records or, of those that leave, the current ones. */
export function lookupFor(next: Next): Lookup {
  const found = <K extends 'user' | 'class'>(kind: K) =>
    remembered((id) => next.get(kind, id) ?? next.before(kind, id), lookupsKept)
  return { user: found('user'), class: found('class') }
}

export function* namedChanges(bench: Workbench, students: Students, lookup: Lookup): Generator<Change> {
  yield* studentChanges(students)
  for (const kind of kinds)
    for (const { sourcedId, operation, before, after } of differences(bench, kind))
      yield recordChange({ kind, sourcedId, operation }, { before, after }, lookup)
}

export function recordChange(
  about: { readonly kind: RecordKind; readonly sourcedId: string; readonly operation: Operation },
  { before, after }: { before: object | null; after: object | null },
  lookup: Lookup,
): Change {
  const name = nameOf(lookup, about.kind, after ?? before!)
  return { ...about, name, studentNumber: null, before: before as Side, after: after as Side }
}

export function groupOf(change: Change): Group {
  const { kind, operation } = change
  if (kind !== 'student') return kind
  const moves = operation === 'changed' && fieldsOf(change).some(({ field }) => field === 'email')
  return moves ? 'addresses' : operation
}

/** What a change is found by: its name, and the names, numbers and addresses of the person concerned. */
export function searchTextOf({ name, studentNumber, before, after }: Change, lookup: Lookup): string {
  const texts = new Set([name, studentNumber])
  for (const side of [before, after]) {
    if (side === null) continue
    const user = typeof side.userId === 'string' ? lookup.user(side.userId) : undefined
    for (const { firstname, lastname, number, email } of [side, user ?? {}] as Partial<UserData>[]) {
      if (firstname !== undefined) texts.add(fullName({ firstname, lastname: lastname ?? '' }))
      texts.add(number ?? null).add(email ?? null)
    }
  }
  return folded([...texts].filter(Boolean).join(' ').replaceAll(/\s+/g, ' '))
}

/** By person: a student who is matched with another sourcedId changes, and neither leaves nor is added. */
function* studentChanges(students: Students): Generator<Change> {
  for (const { state, fields, before } of students.changing()) yield studentChange(state, before, fields)
  for (const student of students.leaving()) yield studentChange('leaving', student, null)
}

export function studentChange(
  operation: Operation,
  before: StudentFields | null,
  after: StudentFields | null,
): Change {
  const shown = (after ?? before)!
  return {
    kind: 'student',
    sourcedId: shown.sourced_id,
    operation,
    name: fullName(shown),
    studentNumber: shown.student_number,
    before: before && studentView(before),
    after: after && studentView(after),
  }
}

interface Difference extends Pick<Change, 'sourcedId' | 'operation'> {
  readonly before: object | null
  readonly after: object | null
}

function* differences({ file }: Workbench, kind: RecordKind): Generator<Difference> {
  const columns = columnsOf(kind)
  const both = columns.map((name) => `c.was_${name}, f.${name}`).join(', ')
  const found = file.each(
    `select c.operation, f.id, ${both} from change_${kind} c cross join file_${kind} f on f.n = c.row order by c.row`,
  )
  for (const row of found) {
    const operation = row.operation as Operation
    const before = operation === 'changed' ? dataIn(kind, row, 'was_') : null
    yield { sourcedId: row.id as string, operation, before, after: dataIn(kind, row) }
  }
  for (const row of file.each(`select id, ${columns.join(', ')} from leaving_${kind} order by n`))
    yield { sourcedId: row.id as string, operation: 'leaving', before: dataIn(kind, row), after: null }
}

/** The fields of a change that differ. */
export function fieldsOf({ before, after }: Change): { field: string; before: unknown; after: unknown }[] {
  if (before === null || after === null) return []
  return [...new Set([...Object.keys(after), ...Object.keys(before)])]
    .map((field) => ({ field, before: before[field] ?? null, after: after[field] ?? null }))
    .filter((one) => JSON.stringify(one.before) !== JSON.stringify(one.after))
}

export function studentView(fields: StudentFields) {
  return {
    firstname: fields.firstname,
    lastname: fields.lastname,
    preferredName: fields.preferred_name,
    pronouns: fields.pronouns,
    studentNumber: fields.student_number,
    email: fields.email,
    year: fields.year,
    school: fields.school_name,
  }
}

export function fullName({ firstname, lastname }: { firstname: string; lastname: string }): string {
  return `${firstname} ${lastname}`.trim()
}

function nameOf(lookup: Lookup, kind: RecordKind, shown: object): string {
  const nameOfUser = (id: string) => {
    const user = lookup.user(id)
    return user ? fullName(user) : id
  }
  switch (kind) {
    case 'user':
      return fullName(shown as UserData)
    case 'role': {
      const { userId, role } = shown as DataOf['role']
      return `${nameOfUser(userId)} as ${role}`
    }
    case 'enrolment': {
      const { userId, classId, role } = shown as DataOf['enrolment']
      const title = lookup.class(classId)?.title ?? classId
      return `${nameOfUser(userId)} in ${title}${role === 'student' ? '' : ` as ${role}`}`
    }
    case 'org':
      return (shown as DataOf['org']).name
    default:
      return (shown as DataOf['class']).title
  }
}
