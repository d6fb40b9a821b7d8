/**
 * Compares a file with the current roster: the resulting roster, and every difference. Records are matched by
 * sourcedId alone. A bulk file removes what it leaves out; a delta changes only what it names. Records in unreadable
 * rows stay unchanged.
 */
import { type Kind, kinds, type RosterFile, type UserData } from '../records.ts'
import type { PlanKind } from '../words.ts'
import {
  clearComparison,
  columnsOf,
  keptIndexes,
  type Standing,
  type Workbench,
} from '../workbench/workbench.ts'
import { type Change, lookupFor, namedChanges, searchTextOf } from './changes.ts'
import { lookupIn, noteDocuments } from './documents.ts'
import { type Counts, Next, noCounts } from './next.ts'
import { type Match, Students } from './students.ts'

export { deltaBetween } from './between.ts'
export { type Change, fieldsOf, fullName, groupOf, studentChange } from './changes.ts'
export { digestOf, digestOfText, publicId } from './documents.ts'
export { type Counts, dataIn, type Next } from './next.ts'
export { type PastChange, pastChanges } from './past.ts'
export { type Corrected, corrected, type NextStudent, type Students } from './students.ts'

export interface Comparison {
  readonly bench: Workbench
  readonly standing: Standing
  readonly next: Next
  readonly students: Students
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

/** The current roster is beside the file on the workbench. */
export async function compare(
  bench: Workbench,
  standing: Standing,
  file: RosterFile,
  { today, match }: CompareOptions,
): Promise<Comparison> {
  const comparer = new Comparer(bench, standing, file)
  const counts = await comparer.compareAll()
  const next = new Next(bench)
  const lookup = lookupIn(next)
  noteDocuments(bench, lookup)
  const students = new Students(bench, standing, lookup)
  await students.find(today, match)
  const { org, term, course, class: classes, user, role, enrolment } = counts
  const names = lookupFor(next)
  return {
    bench,
    standing,
    next,
    students,
    counts: { student: students.counts, class: classes, enrolment, user, role, course, term, org },
    changes: () => namedChanges(bench, students, names),
    searchTextOf: (change) => searchTextOf(change, names),
  }
}

const lookedUpAtOnce = 500

class Comparer {
  readonly #bench: Workbench
  readonly #standing: Standing
  readonly #file: RosterFile

  constructor(bench: Workbench, standing: Standing, file: RosterFile) {
    this.#bench = bench
    this.#standing = standing
    this.#file = file
  }

  /** Roles before users: whether a user keeps an old role depends on them. */
  async compareAll(): Promise<Record<Kind, Counts>> {
    const { file } = this.#bench
    file.exec(`${clearComparison}
      update row_user set data = (select t.data from told_user t where t.n = row_user.n)
        where n in (select n from told_user);
      delete from told_user`)
    const counts = Object.fromEntries(kinds.map((kind) => [kind, noCounts()])) as Record<Kind, Counts>
    for (const kind of ['org', 'term', 'course', 'class', 'role', 'user', 'enrolment'] as const) {
      if (kind === 'user' && this.#file.version === '1.2' && this.#file.modes.user === 'delta')
        this.#keepOldRoles()
      counts[kind] = await this.#compare(kind)
    }
    return counts
  }

  async #compare(kind: Kind): Promise<Counts> {
    const { file } = this.#bench
    const columns = columnsOf(kind)
    const isSame = columns.map((name) => `s.${name} is f.${name}`).join(' and ')
    const differing = file.run(
      `insert into change_${kind} select f.n, case when s.id is null then 'added' else 'changed' end, s.from_gen,
         ${columns.map((name) => `s.${name}`).join(', ')}
       from file_${kind} f left join now_${kind} s on s.id = f.id where s.id is null or not (${isSame}) order by f.id`,
    )
    const changed =
      differing === 0 || this.#standing.content === 0
        ? 0
        : file.number(`select count(*) from change_${kind} where operation = 'changed'`)
    const counts = { ...noCounts(), changed, added: differing - changed }
    const now = file.number(`select count(*) from now_${kind}`)
    const found = file.number(`select count(*) from file_${kind}`) - counts.added
    if (now > found) counts.leaving = this.#compareUnnamed(kind)
    if (counts.added > 0 && this.#standing.content !== 0) counts.returning = await this.#findReturning(kind)
    counts.added -= counts.returning
    counts.before = this.#standing.sizes?.[kind] ?? now
    counts.after = counts.before + counts.added + counts.returning - counts.leaving
    return counts
  }

  /** Current records that the file does not have as active. Returns how many leave. */
  #compareUnnamed(kind: Kind): number {
    const { file } = this.#bench
    const stays = this.#staysIf(kind)
    const columns = ['id', 'from_gen', ...columnsOf(kind)].join(', ')
    const unnamed = `select ${columns} from now_${kind} s
      where not exists (select 1 from file_${kind} f where f.id = s.id)`
    file.run(`insert into kept_${kind} (${columns}) ${unnamed} and (${stays}) order by s.id`)
    file.exec(keptIndexes(kind))
    return file.run(`insert into leaving_${kind} (${columns}) ${unnamed} and not (${stays}) order by s.id`)
  }

  #staysIf(kind: Kind): string {
    const { version, modes } = this.#file
    // Bad rows are not among those of the file, so a delta keeps what they name.
    const stays =
      modes[kind] !== 'bulk'
        ? `not exists (select 1 from row_${kind} r where r.id = s.id)`
        : this.#bench.incoming.of[kind].isPartlyUnread
          ? 'true'
          : `s.id in (select b.id from bad b where b.kind = '${kind}')`
    if (kind !== 'role' || version !== '1.1') return stays
    // 1.1 has roles in users.csv, so the records that 1.2 left behind no longer count.
    const isOld = modes.user === 'bulk' ? 'true' : "s.data ->> 'userId' in (select id from file_user)"
    return `${stays} and not (${isOld})`
  }

  /** New rows that existed in an earlier roster are returning. */
  async #findReturning(kind: Kind): Promise<number> {
    const { file } = this.#bench
    let returning = 0
    let last = 0
    for (;;) {
      const some = file.all<{ row: number; id: string }>(
        `select c.row, r.id from change_${kind} c cross join row_${kind} r on r.n = c.row
         where c.operation = 'added' and c.row > ? order by c.row limit ${lookedUpAtOnce}`,
        last,
      )
      if (some.length === 0) return returning
      last = some.at(-1)!.row
      const gone = await this.#standing.gone(
        kind,
        some.map(({ id }) => id),
      )
      for (const { row, id } of some)
        if (gone.has(id))
          returning += file.run(`update change_${kind} set operation = 'returning' where row = ?`, row)
    }
  }

  /** A user of a 1.2 delta whose roles came with 1.1 keeps them until roles.csv says something. */
  #keepOldRoles(): void {
    const { file } = this.#bench
    const users = file.all<{ n: number; data: string; was: string }>(
      `select f.n, f.data, s.data as was from file_user f cross join now_user s on s.id = f.id
       where s.data ->> 'role' is not null and f.id not in (select data ->> 'userId' from next_role)`,
    )
    for (const { n, data, was } of users) {
      const { role, orgIds }: UserData = JSON.parse(was)
      file.run('insert into told_user values (?, ?)', n, data)
      const kept = JSON.stringify({ ...JSON.parse(data), role, orgIds })
      file.run('update row_user set data = ? where n = ?', kept, n)
    }
  }
}
