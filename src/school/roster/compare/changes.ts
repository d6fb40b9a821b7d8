/** Every difference between the current and the next roster, with the names of the people and classes concerned. */
import type { DataOf, UserData } from '../records.ts'
import type { StudentFields } from '../store.ts'
import type { PlanKind } from '../words.ts'
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

export function* namedChanges(next: NextRoster, students: NextStudents): Generator<Change> {
  yield* studentChanges(students)
  for (const kind of kinds) {
    for (const { sourcedId, operation, before, after } of differences<object>(next[kind])) {
      const name = nameOf(next, kind, after ?? before!)
      const sides = { before: before as Side, after: after as Side }
      yield { kind, sourcedId, operation, name, studentNumber: null, ...sides }
    }
  }
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

function nameOf(next: NextRoster, kind: (typeof kinds)[number], shown: object): string {
  const nameOfUser = (id: string) => {
    const user = found(next.user, id)
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
      const title = found(next.class, classId)?.title ?? classId
      return `${nameOfUser(userId)} in ${title}${role === 'student' ? '' : ` as ${role}`}`
    }
    case 'org':
      return (shown as DataOf['org']).name
    default:
      return (shown as DataOf['class']).title
  }
}

/** The new record or, if it leaves, the current one. */
function found<D>(next: NextRows<D>, id: string): D | undefined {
  const was = next.was.ids.find(id)
  return next.get(id) ?? (was < 0 ? undefined : next.was.dataAt(was))
}
