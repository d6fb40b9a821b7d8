/**
 * Compares a file with the current roster: the resulting roster, and every difference. Records are matched by
 * sourcedId alone. A bulk file removes what it leaves out; a delta changes only what it names. Records in unreadable
 * rows stay unchanged.
 *
 * The current roster is streamed in pages, and only differences from the file are kept.
 */
import type { Kind, RosterFile, UserData } from '../records.ts'
import { enrolmentOf } from '../store/enrolments.ts'
import type { RecordRow } from '../store/records.ts'
import type { PlanKind } from '../words.ts'
import { type Change, lookupFor, namedChanges, searchTextOf } from './changes.ts'
import { Documents, lookupIn } from './documents.ts'
import type { Incomings } from './incoming.ts'
import { type Counts, type NextRoster, newNextRoster } from './next.ts'
import type { RecordKind, Standing } from './standing.ts'
import { type Match, type NextStudents, nextStudents } from './students.ts'

export { deltaBetween } from './between.ts'
export { type Change, fieldsOf, fullName, groupOf, studentChange } from './changes.ts'
export { digestOf, publicId } from './documents.ts'
export { type BadRow, Incomings } from './incoming.ts'
export type {
  Corrected,
  Counts,
  NextRoster,
  NextStudent,
} from './next.ts'
export { partOfRoster } from './part.ts'
export { type PastChange, pastChanges } from './past.ts'
export { noRoster, type Standing, wholeRoster } from './standing.ts'
export { corrected, type NextStudents } from './students.ts'
export { type EnrolmentTable, RecordTable } from './tables.ts'

export interface Comparison {
  readonly standing: Standing
  readonly next: NextRoster
  readonly students: NextStudents
  readonly documents: Documents
  readonly counts: Readonly<Record<PlanKind, Counts>>
  changes(): Generator<Change>
  /** What a change is found by. */
  searchTextOf(change: Change): string
}

export interface CompareOptions {
  /** In the school's time zone: a role counts only within its days. */
  readonly today: string
  readonly match: Match | null
}

export async function compare(
  standing: Standing,
  incoming: Incomings,
  file: RosterFile,
  { today, match }: CompareOptions,
): Promise<Comparison> {
  const next = newNextRoster(incoming)
  const comparer = new Comparer(standing, incoming, file, next)
  await comparer.compareAll()
  const lookup = lookupIn(next)
  const documents = new Documents(next, lookup)
  for await (const page of standing.documents())
    for (const { sourced_id, document } of page) documents.meet(sourced_id, document)
  const students = await nextStudents(standing, next, today, lookup, match)
  const names = lookupFor(next)
  const { org, term, course, class: classes, user, role, enrolment } = next
  return {
    standing,
    next,
    students,
    documents,
    counts: {
      student: students.counts,
      class: classes.counts,
      enrolment: enrolment.counts,
      user: user.counts,
      role: role.counts,
      course: course.counts,
      term: term.counts,
      org: org.counts,
    },
    changes: () => namedChanges(next, students, names),
    searchTextOf: (change) => searchTextOf(change, names),
  }
}

class Comparer {
  readonly #standing: Standing
  readonly #incoming: Incomings
  readonly #file: RosterFile
  readonly #next: NextRoster

  constructor(standing: Standing, incoming: Incomings, file: RosterFile, next: NextRoster) {
    this.#standing = standing
    this.#incoming = incoming
    this.#file = file
    this.#next = next
  }

  /** Roles before users: whether a user keeps an old role depends on them. */
  async compareAll(): Promise<void> {
    for (const kind of ['org', 'term', 'course', 'class', 'role'] as const) await this.#records(kind)
    const keepsOldRoles = this.#file.version === '1.2' && this.#file.modes.user === 'delta'
    await this.#records('user', keepsOldRoles ? this.#oldRoleKeeper() : undefined)
    await this.#enrolments()
  }

  async #records(kind: RecordKind, onMeet?: (row: number, standing: RecordRow) => void): Promise<void> {
    const next = this.#next[kind] as NextRoster['org']
    let before = 0
    for await (const page of this.#standing.records(kind)) {
      before += page.length
      for (const standing of page) {
        const { sourced_id: id, from_gen: fromGen } = standing
        const row = next.incoming.find(id)
        const data = () => JSON.parse(standing.data)
        if (row >= 0) {
          onMeet?.(row, standing)
          next.meet(row, fromGen, JSON.stringify(next.dataAt(row)) === standing.data, data)
        } else if (this.#stays(kind, id) && !(kind === 'role' && this.#isOldRole(data())))
          next.keep(id, fromGen, data())
        else next.leave(id, fromGen, data())
      }
    }
    next.counts.before = this.#standing.sizes?.[kind] ?? before
    await next.settle(this.#gone(kind))
  }

  async #enrolments(): Promise<void> {
    const next = this.#next.enrolment
    let before = 0
    for await (const page of this.#standing.enrolments()) {
      before += page.length
      for (const standing of page) {
        const { sourced_id: id, from_gen: fromGen } = standing
        const row = next.incoming.find(id)
        const data = enrolmentOf(standing)
        if (row >= 0) next.meet(row, fromGen, next.incoming.table.isSame(row, data), () => data)
        else if (this.#stays('enrolment', id)) next.keep(id, fromGen, data)
        else next.leave(id, fromGen, data)
      }
    }
    next.counts.before = this.#standing.sizes?.enrolment ?? before
    await next.settle(this.#gone('enrolment'))
  }

  /** Nothing was there before the first import. */
  #gone(kind: Kind) {
    const { content } = this.#standing
    return content === 0 ? null : (ids: readonly string[]) => this.#standing.gone(kind, ids)
  }

  #stays(kind: Kind, id: string): boolean {
    const rows = this.#incoming.of[kind]
    if (rows.isBad(id)) return true
    return this.#file.modes[kind] === 'bulk' ? rows.mayBeUnread(id) : !rows.goes(id)
  }

  /** 1.1 has roles in users.csv, so the records that 1.2 left behind no longer count. */
  #isOldRole({ userId }: { userId: string }): boolean {
    if (this.#file.version !== '1.1') return false
    return this.#file.modes.user === 'bulk' || this.#next.user.incoming.find(userId) >= 0
  }

  /** A user of a 1.2 delta whose roles came with 1.1 keeps them until roles.csv says something. */
  #oldRoleKeeper(): (row: number, standing: RecordRow) => void {
    const { user, role } = this.#next
    const named = new Set<string>()
    for (const row of role.rows()) named.add(role.dataAt(row).userId)
    return (row, standing) => {
      const { role: oldRole, orgIds }: UserData = JSON.parse(standing.data)
      if (oldRole === null || named.has(standing.sourced_id)) return
      user.replace(row, { ...user.dataAt(row), role: oldRole, orgIds })
    }
  }
}
