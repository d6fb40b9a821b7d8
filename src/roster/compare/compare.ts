/**
 * Compares a file with what stands: the roster as it would be, and every difference. Records are matched by sourcedId
 * alone. A bulk file removes what it leaves out; a delta changes only what it names.
 */
import { newId } from '../../lib/random.ts'
import type { DataOf, EnrolmentData, RoleData, RosterFile } from '../records.ts'
import { type CurrentRoster, parseData, type RecordKind } from './current.ts'
import { classDocument, digestOf, isStudent, type Lookup, studentFields, type Teaching } from './documents.ts'
import { getOrAdd, type Incoming, type Incomings, isIncoming, type NextEnrolment } from './incoming.ts'
import {
  type Counts,
  type Next,
  type NextRoster,
  type NextStudent,
  type PlanKind,
  planKinds,
} from './next.ts'

export { type CurrentRoster, loadCurrent, type RecordKind } from './current.ts'
export { Incomings, isIncoming } from './incoming.ts'
export {
  type Counts,
  type Next,
  type NextRoster,
  type NextStudent,
  type PlanKind,
  planKinds,
} from './next.ts'

export type Operation = 'added' | 'changed' | 'leaving' | 'returning'

export interface Change {
  readonly kind: PlanKind
  readonly sourcedId: string
  readonly operation: Operation
  /** Set for a change, to compare field by field. */
  readonly before: object | null
  readonly after: object | null
}

export interface Comparison {
  readonly current: CurrentRoster
  readonly next: NextRoster
  readonly students: ReadonlyMap<string, NextStudent>
  readonly documents: ReadonlyMap<string, string>
  readonly counts: Readonly<Record<PlanKind, Counts>>
  changes(): Generator<Change>
}

export function compare(current: CurrentRoster, incoming: Incomings, file: RosterFile): Comparison {
  const next = nextRoster(current, incoming, file)
  const rolesOf = groupBy(next.role, (role) => role.userId)
  const lookup: Lookup = {
    org: (id) => next.org.get(id)?.data,
    term: (id) => next.term.get(id)?.data,
    course: (id) => next.course.get(id)?.data,
    user: (id) => next.user.get(id)?.data,
  }
  const students = nextStudents(current, next, rolesOf, lookup)
  return {
    current,
    next,
    students,
    documents: nextDocuments(next, lookup),
    counts: countAll(current, next, students),
    changes: () => allChanges(current, next, students),
  }
}

function nextRoster(current: CurrentRoster, incoming: Incomings, file: RosterFile): NextRoster {
  const recordsOf = <K extends RecordKind>(kind: K): Map<string, Next<DataOf[K]>> => {
    const gone = incoming.deleted.get(kind)
    const result = new Map<string, Next<DataOf[K]>>()
    if (file.modes[kind] !== 'bulk') {
      for (const [id, record] of current.records[kind]) {
        if (!gone?.has(id)) result.set(id, { data: parseData<K>(record), digest: record.digest, from: null })
      }
    }
    for (const [id, from] of (incoming.records.get(kind) ?? []) as Map<string, Incoming<DataOf[K]>>) {
      result.set(id, { data: from.data, digest: digestOf(from.data), from })
    }
    return result
  }
  const enrolment = new Map<string, NextEnrolment>()
  const goneEnrolments = incoming.deleted.get('enrolment')
  for (const [id, standing] of current.enrolments) {
    const stays =
      file.modes.enrolment === 'bulk' ? incoming.unchangedEnrolments.has(id) : !goneEnrolments?.has(id)
    if (stays) enrolment.set(id, standing)
  }
  for (const [id, from] of (incoming.records.get('enrolment') ?? []) as Map<
    string,
    Incoming<EnrolmentData>
  >) {
    enrolment.set(id, from)
  }
  return {
    org: recordsOf('org'),
    term: recordsOf('term'),
    course: recordsOf('course'),
    class: recordsOf('class'),
    user: recordsOf('user'),
    role: recordsOf('role'),
    enrolment,
  }
}

function nextStudents(
  current: CurrentRoster,
  next: NextRoster,
  rolesOf: Map<string, RoleData[]>,
  lookup: Lookup,
): Map<string, NextStudent> {
  const students = new Map<string, NextStudent>()
  for (const [id, { data }] of next.user) {
    const roles = rolesOf.get(id) ?? []
    if (!data.enabled || !isStudent(data, roles)) continue
    const fields = studentFields(id, data, roles, lookup)
    students.set(id, { personId: current.identities.get(id) ?? newId(), fields, digest: digestOf(fields) })
  }
  return students
}

function nextDocuments(next: NextRoster, lookup: Lookup): Map<string, string> {
  const teachers = new Map<string, Teaching[]>()
  for (const { data } of next.enrolment.values()) {
    if (data.role === 'teacher')
      getOrAdd(teachers, data.classId, () => []).push({ userId: data.userId, primary: data.primary })
  }
  return new Map(
    [...next.class].map(([id, { data }]) => [id, classDocument(id, data, teachers.get(id) ?? [], lookup)]),
  )
}

const recordKinds: readonly RecordKind[] = ['class', 'user', 'role', 'course', 'term', 'org']

function countAll(
  current: CurrentRoster,
  next: NextRoster,
  students: ReadonlyMap<string, NextStudent>,
): Record<PlanKind, Counts> {
  const sizes: Record<PlanKind, [number, number]> = {
    student: [current.students.size, students.size],
    enrolment: [current.enrolments.size, next.enrolment.size],
    class: [current.records.class.size, next.class.size],
    user: [current.records.user.size, next.user.size],
    role: [current.records.role.size, next.role.size],
    course: [current.records.course.size, next.course.size],
    term: [current.records.term.size, next.term.size],
    org: [current.records.org.size, next.org.size],
  }
  const counts = Object.fromEntries(
    planKinds.map((kind) => {
      const [before, after] = sizes[kind]
      return [kind, { before, after, added: 0, changed: 0, leaving: 0, returning: 0 }]
    }),
  ) as Record<PlanKind, Counts>
  for (const { kind, operation } of allChanges(current, next, students)) counts[kind][operation]++
  return counts
}

function* allChanges(
  current: CurrentRoster,
  next: NextRoster,
  students: ReadonlyMap<string, NextStudent>,
): Generator<Change> {
  yield* differences(
    'student',
    current.students,
    students,
    (before, after) => before.digest === after.digest,
    () => ({}),
    (after) => after.fields,
    (id) => current.identities.has(id),
  )
  for (const kind of recordKinds) {
    yield* differences(
      kind,
      current.records[kind],
      next[kind] as ReadonlyMap<string, Next<object>>,
      (before, after) => after.from === null || before.digest === after.digest,
      (before) => parseData(before),
      (after) => after.data,
      (id) => current.wasThere(kind, id),
    )
  }
  yield* differences(
    'enrolment',
    current.enrolments,
    next.enrolment,
    (_before, after) => !isIncoming(after),
    (before) => before.data,
    (after) => after.data,
    (id) => current.wasThere('enrolment', id),
  )
}

function* differences<B, A>(
  kind: PlanKind,
  before: ReadonlyMap<string, B>,
  after: ReadonlyMap<string, A>,
  same: (before: B, after: A) => boolean,
  dataBefore: (before: B) => object,
  dataAfter: (after: A) => object,
  wasThere: (id: string) => boolean,
): Generator<Change> {
  for (const [sourcedId, a] of after) {
    const b = before.get(sourcedId)
    if (b === undefined) {
      const operation = wasThere(sourcedId) ? 'returning' : 'added'
      yield { kind, sourcedId, operation, before: null, after: dataAfter(a) }
    } else if (!same(b, a)) {
      yield { kind, sourcedId, operation: 'changed', before: dataBefore(b), after: dataAfter(a) }
    }
  }
  for (const [sourcedId, b] of before) {
    if (!after.has(sourcedId))
      yield { kind, sourcedId, operation: 'leaving', before: dataBefore(b), after: null }
  }
}

function groupBy<D, K>(records: ReadonlyMap<string, { data: D }>, key: (data: D) => K): Map<K, D[]> {
  const groups = new Map<K, D[]>()
  for (const { data } of records.values()) getOrAdd(groups, key(data), () => []).push(data)
  return groups
}
