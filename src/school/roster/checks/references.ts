/** Checks that every referenced record exists. In a delta it may come later. */
import { counted } from '../../../platform/lib/counted.ts'
import type { Ids } from '../compact.ts'
import { aboutFile } from '../findings.ts'
import type { Kind } from '../records.ts'
import type { Case, Faults } from './case.ts'

const fileOf = {
  org: 'orgs.csv',
  term: 'academicSessions.csv',
  course: 'courses.csv',
  class: 'classes.csv',
  user: 'users.csv',
  role: 'roles.csv',
  enrolment: 'enrollments.csv',
} as const
type Target = Exclude<Kind, 'role' | 'enrolment'>

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

/** Without their rows, people would leave or lose their classes. */
const isVital: ReadonlySet<Kind> = new Set(['class', 'user', 'role', 'enrolment'])

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
  checker.tellCases()
  checker.tellEmpty()
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

/** References that differ from a sourcedId in capitals only, with the first of them. */
interface InOtherCase {
  readonly kind: Kind
  readonly target: Target
  readonly column: string
  readonly row: number
  readonly id: string
  readonly meant: string
  count: number
}

class ReferenceChecker {
  readonly #roster: Case
  readonly #found: Faults
  readonly #lowered = new Map<Target, ReadonlyMap<string, string>>()
  readonly #inOtherCase = new Map<string, InOtherCase>()
  /** Kinds whose file has no rows, and how many rows refer to it. */
  readonly #referringToEmpty = new Map<Target, number>()
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
    if (this.#isEmpty(target)) {
      this.#referringToEmpty.set(target, (this.#referringToEmpty.get(target) ?? 0) + 1)
      return
    }
    const severity = this.#severityOf(kind)
    if (severity === 'error') this.#found.blame(kind, next[kind].idAt(row))
    const meant = this.#inLowerCase(target).get(id.toLowerCase())
    if (meant !== undefined) return void this.#differsInCase(kind, row, column, target, id, meant)
    const { file, line } = next[kind].placeOf(row)!
    const message = /[;|]/.test(id)
      ? 'Nothing in the roster has this sourcedId. If these are several, separate them with commas, and put the cell in double quotes.'
      : `Nothing in the roster has this sourcedId. ${column} must refer to an existing one: it is not in ${fileOf[target]}.`
    this.#found.log.add(
      { severity, code: 'dangling-reference', file, line, column, value: id, message },
      'row',
    )
  }

  #severityOf(kind: Kind): 'error' | 'warning' {
    return this.#roster.file.modes[kind] === 'delta' ? 'warning' : 'error'
  }

  #isEmpty(kind: Kind): boolean {
    const { file, incoming } = this.#roster
    return file.modes[kind] === 'bulk' && incoming.of[kind].isEmpty
  }

  /** Every sourcedId by its form in lower case. Built only when a reference is wrong. */
  #inLowerCase(target: Target): ReadonlyMap<string, string> {
    const known = this.#lowered.get(target)
    if (known) return known
    const rows = this.#roster.next[target]
    const lowered = new Map<string, string>()
    for (const row of rows.rows()) lowered.set(rows.idAt(row).toLowerCase(), rows.idAt(row))
    this.#lowered.set(target, lowered)
    return lowered
  }

  #differsInCase(kind: Kind, row: number, column: string, target: Target, id: string, meant: string): void {
    const known = this.#inOtherCase.get(`${kind} ${column}`)
    if (known) known.count++
    else this.#inOtherCase.set(`${kind} ${column}`, { kind, target, column, row, id, meant, count: 1 })
  }

  tellCases(): void {
    for (const { kind, target, column, row, id, meant, count } of this.#inOtherCase.values()) {
      const { file, line } = this.#roster.next[kind].placeOf(row)!
      const others = count === 1 ? '' : ` The same in ${counted(count - 1, 'other place', 'other places')}.`
      const message = `${fileOf[target]} has ${meant}, in other capitals. Export both files with the same spelling.${others}`
      const about = { file, line, column, value: id, message }
      this.#found.log.add({ severity: this.#severityOf(kind), code: 'reference-case', ...about }, 'row')
    }
  }

  /** A file without rows is one error, not one for each row that refers to it. */
  tellEmpty(): void {
    for (const kind of ['org', 'term', 'course', 'class', 'user', 'role', 'enrolment'] as const) {
      if (!this.#isEmpty(kind)) continue
      const count = this.#referringToEmpty.get(kind as Target) ?? 0
      const again = 'The export is probably incomplete: export it again.'
      if (count > 0) {
        const refer = count === 1 ? 'reference' : 'references'
        const message = `The file has a header and no rows, but other files have ${count} ${refer} to it. ${again}`
        this.#found.log.add(aboutFile('error', 'no-rows', fileOf[kind], message))
      } else if (isVital.has(kind)) {
        const message = `The file has a header and no rows. If the school has ${words[kind][1]}, the export is incomplete.`
        this.#found.log.add(aboutFile('warning', 'no-rows', fileOf[kind], message))
      }
    }
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
      const refer = count === 1 ? 'refers' : 'refer'
      const message = `${counted(count, one, several)} ${refer} to ${words[target][1]} in rows of ${fileOf[target]} ${rows}.`
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
