/** Checks that a planned roster is consistent, and whether it changes so much that somebody should confirm it. Pure. */
import { parseAddress } from '../people/address.ts'
import type { CurrentRoster } from './current.ts'
import { isIncoming } from './incoming.ts'
import type { Counts, Next, NextRoster, NextStudent, PlanKind } from './next.ts'
import { type Finding, type Kind, kinds, type RosterFile } from './records.ts'

export const classesPerStudentMax = 500
const leavingShareMax = 0.1
const changingShareMax = 0.75
const smallKind = 20

export interface Checks {
  readonly findings: Finding[]
  readonly held: string[]
}

export interface CheckInput {
  readonly current: CurrentRoster
  readonly next: NextRoster
  readonly students: ReadonlyMap<string, NextStudent>
  readonly counts: Readonly<Record<PlanKind, Counts>>
  readonly file: RosterFile
  readonly readerFindings: readonly Finding[]
  /** sourcedId → line, for enrolments that did not change. */
  readonly unchangedEnrolments: ReadonlyMap<string, number>
}

interface Place {
  readonly file: string
  readonly line: number
}

export function checkRoster(input: CheckInput): Checks {
  return {
    findings: [...references(input), ...addresses(input), ...classCounts(input)],
    held: [...shares(input), ...emptyFiles(input), ...idChanges(input)],
  }
}

/** In a bulk file every referenced record must exist; in a delta it may arrive later. */
function* references({ next, file, readerFindings, unchangedEnrolments }: CheckInput): Generator<Finding> {
  // If a file could not be read at all, its header error is enough; do not also report every reference into it.
  const unread = new Set(readerFindings.filter(isAboutWholeFile).map((finding) => finding.file))
  const readable = (kind: keyof typeof fileOf) => (unread.has(fileOf[kind]) ? everything : next[kind])
  const [orgs, terms, courses] = [readable('org'), readable('term'), readable('course')]
  const [classes, users] = [readable('class'), readable('user')]
  const check = function* (
    kind: Kind,
    from: Place | null,
    column: string,
    target: { has(id: string): boolean },
    id: string | null,
  ) {
    if (from === null || id === null || target.has(id)) return
    yield {
      severity: file.modes[kind] === 'delta' ? 'warning' : 'error',
      code: 'dangling-reference',
      file: from.file,
      line: from.line,
      column,
      value: id,
      message: `nothing in the roster has this sourcedId; ${column} must name one that is there`,
    } as const
  }
  for (const { data, from } of next.course.values())
    yield* check('course', from, 'orgSourcedId', orgs, data.orgId)
  for (const { data, from } of next.class.values()) {
    yield* check('class', from, 'courseSourcedId', courses, data.courseId)
    yield* check('class', from, 'schoolSourcedId', orgs, data.schoolId)
    for (const termId of data.termIds) yield* check('class', from, 'termSourcedIds', terms, termId)
  }
  for (const { data, from } of next.user.values()) {
    for (const orgId of data.orgIds) yield* check('user', from, 'orgSourcedIds', orgs, orgId)
  }
  for (const { data, from } of next.role.values()) {
    yield* check('role', from, 'userSourcedId', users, data.userId)
    yield* check('role', from, 'orgSourcedId', orgs, data.orgId)
  }
  for (const [id, enrolment] of next.enrolment) {
    const { data } = enrolment
    const line = unchangedEnrolments.get(id)
    const unchanged = line === undefined ? null : { file: 'enrollments.csv', line }
    const from = isIncoming(enrolment) ? enrolment : unchanged
    yield* check('enrolment', from, 'classSourcedId', classes, data.classId)
    yield* check('enrolment', from, 'userSourcedId', users, data.userId)
    yield* check('enrolment', from, 'schoolSourcedId', orgs, data.schoolId)
  }
}

const fileOf = {
  org: 'orgs.csv',
  term: 'academicSessions.csv',
  course: 'courses.csv',
  class: 'classes.csv',
  user: 'users.csv',
} as const

const everything = { has: () => true }

function isAboutWholeFile({ severity, line }: Finding): boolean {
  return severity === 'error' && (line === null || line === 1)
}

function* addresses({ next, students }: CheckInput): Generator<Finding> {
  const owners = new Map<string, string>()
  for (const [id, user] of next.user) {
    const { email, enabled } = user.data
    const isStudent = students.has(id)
    if (!enabled) continue
    const about = { ...placeOf(user), column: 'email', value: email }
    const address = email === null ? null : parseAddress(email)
    if (address === null) {
      const message = 'this student has no address and cannot sign in'
      if (isStudent) yield { ...about, severity: 'warning', code: 'no-address', message }
    } else if (typeof address === 'string') {
      if (isStudent) yield { ...about, severity: 'error', code: 'bad-address', message: address }
    } else {
      const owner = owners.get(address.key)
      const message = `the user with sourcedId ${owner} has the same address; every user needs a different one`
      if (owner !== undefined) yield { ...about, severity: 'error', code: 'duplicate-address', message }
      owners.set(address.key, id)
    }
  }
}

/** Students whom no mail reaches, so that they cannot sign in. `bounced` is the time by address. */
export function bouncedFindings(
  students: ReadonlyMap<string, NextStudent>,
  bounced: ReadonlyMap<string, number>,
): Finding[] {
  return [...students.values()].flatMap(({ fields }): Finding[] => {
    const at = fields.email_key === null ? undefined : bounced.get(fields.email_key)
    if (at === undefined) return []
    const message = `mail to ${fields.email} bounced on ${dateOf(at)}; this student gets no codes until the address is mended`
    const about = { file: 'users.csv', line: null, column: 'email', value: fields.email }
    return [{ ...about, severity: 'warning', code: 'address-bounced', message }]
  })
}

const dateOf = (at: number) => new Date(at).toISOString().slice(0, 10)

function placeOf(record: Next<unknown>): { file: string; line: number | null } {
  return record.from ? { file: record.from.file, line: record.from.line } : { file: 'users.csv', line: null }
}

function* classCounts({ next, students }: CheckInput): Generator<Finding> {
  const counts = new Map<string, number>()
  for (const enrolment of next.enrolment.values()) {
    const { data } = enrolment
    if (data.role !== 'student' || !students.has(data.userId)) continue
    const count = (counts.get(data.userId) ?? 0) + 1
    counts.set(data.userId, count)
    if (count !== classesPerStudentMax + 1) continue
    const from = isIncoming(enrolment) ? enrolment : null
    yield {
      severity: 'error',
      code: 'too-many-classes',
      file: from?.file ?? 'enrollments.csv',
      line: from?.line ?? null,
      column: 'userSourcedId',
      value: data.userId,
      message: `a student may be in at most ${classesPerStudentMax} classes`,
    }
  }
}

const words: Record<PlanKind, string> = {
  student: 'students',
  class: 'classes',
  enrolment: 'enrolments',
  user: 'people',
  role: 'roles',
  course: 'courses',
  term: 'terms',
  org: 'organisations',
}

function* shares({ counts }: CheckInput): Generator<string> {
  for (const kind of ['student', 'class', 'enrolment'] as const) {
    const { before, leaving, changed } = counts[kind]
    if (before < smallKind) continue
    if (leaving / before > leavingShareMax)
      yield `${leaving} of ${before} ${words[kind]} would leave (more than 10 %)`
    if (changed / before >= changingShareMax)
      yield `${changed} of ${before} ${words[kind]} would change (75 % or more)`
  }
}

function* emptyFiles({ counts, file }: CheckInput): Generator<string> {
  if (file.rows === 0) yield 'the roster has no rows at all'
  for (const kind of kinds) {
    const { before, after } = counts[kind]
    if (file.modes[kind] === 'bulk' && before > 0 && after === 0) yield `the file of ${words[kind]} is empty`
  }
}

/** A new student with an address that another student has or had is probably the same person under a new sourcedId. */
function* idChanges({ current, students }: CheckInput): Generator<string> {
  const owners = new Map(current.formerAddresses)
  for (const [id, { email_key }] of current.students) if (email_key !== null) owners.set(email_key, id)
  for (const [id, { fields }] of students) {
    if (current.identities.has(id) || fields.email_key === null) continue
    const owner = owners.get(fields.email_key)
    if (owner === undefined || students.get(owner)?.fields.email_key === fields.email_key) continue
    yield `sourcedId ${id} is new and has the address of ${owner}: a changed id? With --force they are two accounts`
  }
}
