/** Every difference between two rosters, with the names of the people and classes concerned. */
import { folded } from '../../../platform/lib/folded.ts'
import type { DataOf, UserData } from '../records.ts'
import type { StudentFields } from '../store/students.ts'
import type { Group, PlanKind } from '../words.ts'
import type { NextRoster, NextRows, Operation } from './next.ts'
import type { NextStudents } from './students.ts'

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

/** The new records or, of those that leave, the current ones. */
export function lookupFor(next: NextRoster): Lookup {
  return { user: remembered((id) => found(next.user, id)), class: remembered((id) => found(next.class, id)) }
}

/** Most changes ask for the same record twice, and records are kept as JSON. */
function remembered<T>(read: (id: string) => T): (id: string) => T {
  let last: { id: string; value: T } | null = null
  return (id) => {
    if (last?.id !== id) last = { id, value: read(id) }
    return last.value
  }
}

export function* namedChanges(next: NextRoster, students: NextStudents, lookup: Lookup): Generator<Change> {
  yield* studentChanges(students)
  for (const kind of kinds)
    for (const { sourcedId, operation, before, after } of differences<object>(next[kind]))
      yield recordChange(kind, sourcedId, operation, { before, after }, lookup)
}

export function recordChange(
  kind: RecordKind,
  sourcedId: string,
  operation: Operation,
  { before, after }: { before: object | null; after: object | null },
  lookup: Lookup,
): Change {
  const name = nameOf(lookup, kind, after ?? before!)
  const sides = { before: before as Side, after: after as Side }
  return { kind, sourcedId, operation, name, studentNumber: null, ...sides }
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
function* studentChanges(students: NextStudents): Generator<Change> {
  for (const row of students.rows()) {
    const state = students.stateOf(row)
    if (state === 'same' || state === 'none') continue
    const { fields, before } = students.at(row)
    yield studentChange(state, before, fields)
  }
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

function* differences<D extends object>(next: NextRows<D>): Generator<Difference> {
  for (const row of next.incoming.rows()) {
    const operation = next.stateOf(row)
    if (operation === 'same') continue
    const sourcedId = next.idAt(row)
    const before = operation === 'changed' ? next.wasOf(sourcedId) : null
    yield { sourcedId, operation, before, after: next.dataAt(row) }
  }
  for (const { row, sourcedId } of next.leaving())
    yield { sourcedId, operation: 'leaving', before: next.was.dataAt(row), after: null }
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

function found<D>(next: NextRows<D>, id: string): D | undefined {
  const was = next.was.ids.find(id)
  return next.get(id) ?? (was < 0 ? undefined : next.was.dataAt(was))
}
