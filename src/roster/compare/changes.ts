/** Every difference between what stands and the next roster, with the names of whom and what it is about. */
import type { DataOf, UserData } from '../records.ts'
import type { StudentFields } from '../store.ts'
import { type CurrentRoster, parseData, type RecordKind } from './current.ts'
import { isIncoming } from './incoming.ts'
import {
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
  /** As people call it: a person's names, the title of a class, who is in which class. */
  readonly name: string
  readonly studentNumber: string | null
  readonly before: object | null
  readonly after: object | null
}

interface Sides {
  readonly current: CurrentRoster
  readonly next: NextRoster
  readonly students: ReadonlyMap<string, NextStudent>
}

/** Without names, for counting: they take longer to make. */
interface Difference {
  readonly kind: PlanKind
  readonly sourcedId: string
  readonly operation: Operation
  readonly before: () => object | null
  readonly after: () => object | null
}

export function countChanges(sides: Sides): Record<PlanKind, Counts> {
  const { current, next, students } = sides
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
  for (const { kind, operation } of allDifferences(sides)) counts[kind][operation]++
  return counts
}

export function* namedChanges(sides: Sides): Generator<Change> {
  const names = new Names(sides)
  for (const { kind, sourcedId, operation, before: b, after: a } of allDifferences(sides)) {
    const [before, after] = [b(), a()]
    const shown = after ?? before!
    const studentNumber = kind === 'student' ? (shown as StudentView).studentNumber : null
    yield { kind, sourcedId, operation, name: names.of(kind, shown), studentNumber, before, after }
  }
}

/** The fields of a change that differ. */
export function fieldsOf({ before, after }: Change): { field: string; before: unknown; after: unknown }[] {
  if (before === null || after === null) return []
  const old = before as Record<string, unknown>
  return Object.entries(after)
    .filter(([field, value]) => JSON.stringify(old[field] ?? null) !== JSON.stringify(value ?? null))
    .map(([field, value]) => ({ field, before: old[field] ?? null, after: value }))
}

export type StudentView = ReturnType<typeof studentView>

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

class Names {
  readonly #sides: Sides

  constructor(sides: Sides) {
    this.#sides = sides
  }

  of(kind: PlanKind, shown: object): string {
    switch (kind) {
      case 'student':
      case 'user':
        return fullName(shown as UserData)
      case 'role': {
        const { userId, role } = shown as DataOf['role']
        return `${this.#user(userId)} as ${role}`
      }
      case 'enrolment': {
        const { userId, classId, role } = shown as DataOf['enrolment']
        return `${this.#user(userId)} in ${this.#title(classId)}${role === 'student' ? '' : ` as ${role}`}`
      }
      case 'org':
        return (shown as DataOf['org']).name
      default:
        return (shown as DataOf['class']).title
    }
  }

  #user(id: string): string {
    const data = this.#find('user', id)
    return data ? fullName(data) : id
  }

  #title(id: string): string {
    return this.#find('class', id)?.title ?? id
  }

  #find<K extends 'user' | 'class'>(kind: K, id: string): DataOf[K] | undefined {
    const { current, next } = this.#sides
    const found = next[kind].get(id)?.data as DataOf[K] | undefined
    const standing = current.records[kind].get(id)
    return found ?? (standing && parseData<K>(standing))
  }
}

const recordKinds: readonly RecordKind[] = ['class', 'user', 'role', 'course', 'term', 'org']

function* allDifferences({ current, next, students }: Sides): Generator<Difference> {
  yield* studentDifferences(current, students)
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

/** By person: a student who is matched with another sourcedId changes, and neither leaves nor is added. */
function* studentDifferences(
  current: CurrentRoster,
  students: ReadonlyMap<string, NextStudent>,
): Generator<Difference> {
  const kind = 'student'
  const matched = new Set<string>()
  for (const [sourcedId, { fields, before, digest, isKnown, matchedFrom }] of students) {
    if (matchedFrom !== null) matched.add(matchedFrom)
    if (before?.digest === digest) continue
    const operation = before ? 'changed' : isKnown ? 'returning' : 'added'
    yield {
      kind,
      sourcedId,
      operation,
      before: () => before && studentView(before),
      after: () => studentView(fields),
    }
  }
  for (const [sourcedId, before] of current.students) {
    if (!students.has(sourcedId) && !matched.has(sourcedId))
      yield { kind, sourcedId, operation: 'leaving', before: () => studentView(before), after: () => null }
  }
}

function* differences<B, A>(
  kind: PlanKind,
  before: ReadonlyMap<string, B>,
  after: ReadonlyMap<string, A>,
  same: (before: B, after: A) => boolean,
  dataBefore: (before: B) => object,
  dataAfter: (after: A) => object,
  wasThere: (id: string) => boolean,
): Generator<Difference> {
  for (const [sourcedId, a] of after) {
    const b = before.get(sourcedId)
    if (b === undefined) {
      const operation = wasThere(sourcedId) ? 'returning' : 'added'
      yield { kind, sourcedId, operation, before: () => null, after: () => dataAfter(a) }
    } else if (!same(b, a)) {
      yield { kind, sourcedId, operation: 'changed', before: () => dataBefore(b), after: () => dataAfter(a) }
    }
  }
  for (const [sourcedId, b] of before) {
    if (!after.has(sourcedId))
      yield { kind, sourcedId, operation: 'leaving', before: () => dataBefore(b), after: () => null }
  }
}
