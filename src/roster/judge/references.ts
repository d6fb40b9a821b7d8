/** Whether every record that a row names is there. In a delta it may come later. */
import { isIncoming } from '../compare/compare.ts'
import type { Kind } from '../records.ts'
import type { Case, Faults } from './case.ts'

const fileOf = {
  org: 'orgs.csv',
  term: 'academicSessions.csv',
  course: 'courses.csv',
  class: 'classes.csv',
  user: 'users.csv',
} as const
type Target = keyof typeof fileOf

const words: Readonly<Record<Kind, string>> = {
  org: 'organisations',
  term: 'terms',
  course: 'courses',
  class: 'classes',
  user: 'people',
  role: 'roles',
  enrolment: 'enrolments',
}

interface Place {
  readonly file: string
  readonly line: number
}

export function checkReferences(roster: Case, found: Faults): void {
  const { next, incoming } = roster
  const checker = new ReferenceChecker(roster, found)
  for (const [id, { data, from }] of next.course)
    checker.check('course', id, from, 'orgSourcedId', 'org', data.orgId)
  for (const [id, { data, from }] of next.class) {
    checker.check('class', id, from, 'courseSourcedId', 'course', data.courseId)
    checker.check('class', id, from, 'schoolSourcedId', 'org', data.schoolId)
    for (const termId of data.termIds) checker.check('class', id, from, 'termSourcedIds', 'term', termId)
  }
  for (const [id, { data, from }] of next.user) {
    for (const orgId of data.orgIds) checker.check('user', id, from, 'orgSourcedIds', 'org', orgId)
  }
  for (const [id, { data, from }] of next.role) {
    checker.check('role', id, from, 'userSourcedId', 'user', data.userId)
    checker.check('role', id, from, 'orgSourcedId', 'org', data.orgId)
  }
  for (const [id, enrolment] of next.enrolment) {
    const { data } = enrolment
    const line = incoming.unchangedEnrolments.get(id)
    const unchanged = line === undefined ? null : { file: 'enrollments.csv', line }
    const from = isIncoming(enrolment) ? enrolment : unchanged
    checker.check('enrolment', id, from, 'classSourcedId', 'class', data.classId)
    checker.check('enrolment', id, from, 'userSourcedId', 'user', data.userId)
    checker.check('enrolment', id, from, 'schoolSourcedId', 'org', data.schoolId)
  }
  checker.tellConsequences()
}

class ReferenceChecker {
  readonly #roster: Case
  readonly #found: Faults
  readonly #consequences = new Map<string, { kind: Kind; target: Target; rows: string; count: number }>()

  constructor(roster: Case, found: Faults) {
    this.#roster = roster
    this.#found = found
  }

  /** `from` is null for a record that the file does not name. */
  check(
    kind: Kind,
    sourcedId: string,
    from: Place | null,
    column: string,
    target: Target,
    id: string | null,
  ): void {
    if (from === null || id === null || this.#roster.next[target].has(id)) return
    const { incoming } = this.#roster
    if (incoming.mayBeUnread(target, id)) return void this.#follows(kind, target, 'that could not be read')
    if (incoming.deleted.get(target)?.has(id)) return void this.#follows(kind, target, 'that say tobedeleted')
    const severity = this.#roster.file.modes[kind] === 'delta' ? 'warning' : 'error'
    if (severity === 'error') this.#found.blame(kind, sourcedId)
    const { file, line } = from
    const message = `Nothing in the roster has this sourcedId. ${column} must name one that is there.`
    this.#found.log.add(
      { severity, code: 'dangling-reference', file, line, column, value: id, message },
      'row',
    )
  }

  #follows(kind: Kind, target: Target, rows: string): void {
    const key = `${kind} ${target} ${rows}`
    const known = this.#consequences.get(key)
    if (known) known.count++
    else this.#consequences.set(key, { kind, target, rows, count: 1 })
  }

  tellConsequences(): void {
    for (const { kind, target, rows, count } of this.#consequences.values()) {
      const message = `And ${count} ${words[kind]} name ${words[target]} in rows of ${fileOf[target]} ${rows}.`
      this.#found.log.add({
        severity: 'warning',
        code: 'follows',
        file: fileOf[target],
        line: null,
        column: null,
        value: null,
        message,
      })
    }
  }
}
