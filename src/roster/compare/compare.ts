/**
 * Compares a file with what stands: the roster as it would be, and every difference. Records are matched by sourcedId
 * alone. A bulk file removes what it leaves out; a delta changes only what it names. What stands stays also for rows
 * that cannot be read.
 */
import type { DataOf, EnrolmentData, Kind, RoleData, RosterFile, UserData } from '../records.ts'
import { type Change, countChanges, namedChanges } from './changes.ts'
import { type CurrentRoster, parseData, type RecordKind } from './current.ts'
import { classDocument, digestOf, type Lookup, type Teaching } from './documents.ts'
import { getOrAdd, type Incoming, type Incomings, type NextEnrolment } from './incoming.ts'
import type { Counts, Next, NextRoster, NextStudent, PlanKind } from './next.ts'
import { type MatchBy, nextStudents } from './students.ts'

export { type Change, fieldsOf, fullName, studentView } from './changes.ts'
export { type CurrentRoster, loadCurrent, parseData, type RecordKind } from './current.ts'
export { digestOf } from './documents.ts'
export { type BadRow, Incomings, isIncoming } from './incoming.ts'
export {
  type Corrected,
  type Counts,
  type NextRoster,
  type NextStudent,
  type PlanKind,
  planKinds,
} from './next.ts'
export { corrected, type MatchBy, matchesBy, matchKeys } from './students.ts'

export interface Comparison {
  readonly current: CurrentRoster
  readonly next: NextRoster
  readonly students: ReadonlyMap<string, NextStudent>
  readonly documents: ReadonlyMap<string, string>
  readonly counts: Readonly<Record<PlanKind, Counts>>
  changes(): Generator<Change>
}

export interface CompareOptions {
  /** In the school's time zone: a role counts only within its days. */
  readonly today: string
  readonly match: MatchBy | null
}

export function compare(
  current: CurrentRoster,
  incoming: Incomings,
  file: RosterFile,
  { today, match }: CompareOptions,
): Comparison {
  const next = nextRoster(current, incoming, file)
  const lookup: Lookup = {
    org: (id) => next.org.get(id)?.data,
    term: (id) => next.term.get(id)?.data,
    course: (id) => next.course.get(id)?.data,
    user: (id) => next.user.get(id)?.data,
  }
  const students = nextStudents(current, next, rolesToday(next, today), lookup, match)
  const sides = { current, next, students }
  return {
    ...sides,
    documents: nextDocuments(next, lookup),
    counts: countChanges(sides),
    changes: () => namedChanges(sides),
  }
}

function nextRoster(current: CurrentRoster, incoming: Incomings, file: RosterFile): NextRoster {
  const stays = (kind: Kind, id: string) =>
    file.modes[kind] === 'bulk' ? incoming.mayBeUnread(kind, id) : !incoming.deleted.get(kind)?.has(id)
  const recordsOf = <K extends RecordKind>(kind: K): Map<string, Next<DataOf[K]>> => {
    const result = new Map<string, Next<DataOf[K]>>()
    for (const [id, record] of current.records[kind]) {
      if (stays(kind, id) || incoming.isBad(kind, id))
        result.set(id, { data: parseData<K>(record), digest: record.digest, from: null })
    }
    for (const [id, from] of (incoming.records.get(kind) ?? []) as Map<string, Incoming<DataOf[K]>>) {
      if (!incoming.isBad(kind, id)) result.set(id, { data: from.data, digest: digestOf(from.data), from })
    }
    return result
  }
  const enrolment = new Map<string, NextEnrolment>()
  for (const [id, standing] of current.enrolments) {
    if (stays('enrolment', id) || incoming.unchangedEnrolments.has(id) || incoming.isBad('enrolment', id))
      enrolment.set(id, standing)
  }
  for (const [id, from] of (incoming.records.get('enrolment') ?? []) as Map<
    string,
    Incoming<EnrolmentData>
  >) {
    if (!incoming.isBad('enrolment', id)) enrolment.set(id, from)
  }
  const user = recordsOf('user')
  const role = recordsOf('role')
  if (file.version === '1.1') dropOldRoles(role, user, file)
  else if (file.modes.user === 'delta') keepOldRoles(user, role, current)
  return {
    org: recordsOf('org'),
    term: recordsOf('term'),
    course: recordsOf('course'),
    class: recordsOf('class'),
    user,
    role,
    enrolment,
  }
}

/** 1.1 has roles in users.csv, so the records that 1.2 left behind no longer count. */
function dropOldRoles(
  roles: Map<string, Next<RoleData>>,
  users: ReadonlyMap<string, Next<UserData>>,
  file: RosterFile,
): void {
  for (const [id, { data }] of roles) {
    if (file.modes.user === 'bulk' || users.get(data.userId)?.from) roles.delete(id)
  }
}

/** A user of a 1.2 delta whose roles came with 1.1 keeps them until roles.csv says something. */
function keepOldRoles(
  users: Map<string, Next<UserData>>,
  roles: ReadonlyMap<string, Next<RoleData>>,
  current: CurrentRoster,
): void {
  const named = new Set([...roles.values()].map(({ data }) => data.userId))
  for (const [id, { data, from }] of users) {
    const standing = current.records.user.get(id)
    if (!from || !standing || named.has(id)) continue
    const { role, orgIds } = parseData<'user'>(standing)
    if (role === null) continue
    const kept = { ...data, role, orgIds }
    users.set(id, { data: kept, digest: digestOf(kept), from })
  }
}

function rolesToday({ role }: NextRoster, today: string): Map<string, RoleData[]> {
  const roles = new Map<string, RoleData[]>()
  for (const { data } of role.values()) {
    const { startDate = today, endDate = today } = data
    if (startDate <= today && today <= endDate) getOrAdd(roles, data.userId, () => []).push(data)
  }
  return roles
}

function nextDocuments(next: NextRoster, lookup: Lookup): Map<string, string> {
  const teachers = new Map<string, Map<string, Teaching>>()
  for (const { data } of next.enrolment.values()) {
    if (data.role !== 'teacher') continue
    const { userId, primary } = data
    const ofClass = getOrAdd(teachers, data.classId, () => new Map<string, Teaching>())
    ofClass.set(userId, { userId, primary: primary || ofClass.get(userId)?.primary === true })
  }
  const teachersOf = (id: string) => [...(teachers.get(id)?.values() ?? [])]
  return new Map(
    [...next.class].map(([id, { data }]) => [id, classDocument(id, data, teachersOf(id), lookup)]),
  )
}
