/** Checks that every referenced record exists. In a delta it may come later. */
import type { Ids } from '../compact.ts'
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

/** One, and several. */
const words: Readonly<Record<Kind, readonly [string, string]>> = {
  org: ['organisation', 'organisations'],
  term: ['term', 'terms'],
  course: ['course', 'courses'],
  class: ['class', 'classes'],
  user: ['person', 'people'],
  role: ['role', 'roles'],
  enrolment: ['enrolment', 'enrolments'],
}

export function checkReferences(roster: Case, found: Faults): void {
  const { next } = roster
  const checker = new ReferenceChecker(roster, found)
  for (const row of next.course.incoming.rows())
    checker.check('course', row, 'orgSourcedId', 'org', next.course.dataAt(row).orgId)
  for (const row of next.class.incoming.rows()) {
    const { courseId, schoolId, termIds } = next.class.dataAt(row)
    checker.check('class', row, 'courseSourcedId', 'course', courseId)
    checker.check('class', row, 'schoolSourcedId', 'org', schoolId)
    for (const termId of termIds) checker.check('class', row, 'termSourcedIds', 'term', termId)
  }
  for (const row of next.user.incoming.rows()) {
    for (const orgId of next.user.dataAt(row).orgIds)
      checker.check('user', row, 'orgSourcedIds', 'org', orgId)
  }
  for (const row of next.role.incoming.rows()) {
    const { userId, orgId } = next.role.dataAt(row)
    checker.check('role', row, 'userSourcedId', 'user', userId)
    checker.check('role', row, 'orgSourcedId', 'org', orgId)
  }
  checkEnrolments(roster, checker)
  checker.tellConsequences()
}

/** By number, because there are many. */
function checkEnrolments({ next: { enrolment, ...next } }: Case, checker: ReferenceChecker): void {
  const { names } = enrolment.parts
  const [hasClass, hasUser] = [
    asked(names, (id) => next.class.has(id)),
    asked(names, (id) => next.user.has(id)),
  ]
  for (const row of enrolment.incoming.rows()) {
    const [ofClass, ofUser] = [enrolment.classAt(row), enrolment.userAt(row)]
    if (!hasClass(ofClass)) checker.check('enrolment', row, 'classSourcedId', 'class', names.at(ofClass))
    if (!hasUser(ofUser)) checker.check('enrolment', row, 'userSourcedId', 'user', names.at(ofUser))
    checker.check('enrolment', row, 'schoolSourcedId', 'org', enrolment.restAt(row).schoolId)
  }
}

class ReferenceChecker {
  readonly #roster: Case
  readonly #found: Faults
  readonly #consequences = new Map<string, { kind: Kind; target: Target; rows: string; count: number }>()

  constructor(roster: Case, found: Faults) {
    this.#roster = roster
    this.#found = found
  }

  /** Checks a reference in a row of the file. */
  check(kind: Kind, row: number, column: string, target: Target, id: string | null): void {
    const { next, incoming } = this.#roster
    if (id === null || next[target].has(id)) return
    const targets = incoming.of[target]
    if (targets.mayBeUnread(id)) return void this.#follows(kind, target, 'that could not be read')
    if (targets.goes(id)) return void this.#follows(kind, target, 'marked tobedeleted')
    const severity = this.#roster.file.modes[kind] === 'delta' ? 'warning' : 'error'
    if (severity === 'error') this.#found.blame(kind, next[kind].idAt(row))
    const { file, line } = next[kind].placeOf(row)!
    const message = `Nothing in the roster has this sourcedId. ${column} must refer to an existing one.`
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
      const [one, several] = words[kind]
      const these = count === 1 ? `${one} refers to` : `${several} refer to`
      const message = `${count} ${these} ${words[target][1]} in rows of ${fileOf[target]} ${rows}.`
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

/** Asks once for each number. */
function asked(names: Ids, has: (id: string) => boolean): (number: number) => boolean {
  const answers = new Uint8Array(names.size)
  return (number) => {
    if (answers[number] === 0) answers[number] = has(names.at(number)) ? 1 : 2
    return answers[number] === 1
  }
}
