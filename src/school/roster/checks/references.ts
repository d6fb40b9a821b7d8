/** Checks that every referenced record exists. In a delta it may come later. */
import { counted } from '../../../platform/lib/counted.ts'
import { dataIn } from '../compare/compare.ts'
import { aboutFile } from '../findings.ts'
import type { DataOf, Kind } from '../records.ts'
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

/** A row of the file, and what it refers to. */
interface Referring {
  readonly id: string
  readonly line: number
  readonly references: readonly Reference[]
}

interface Reference {
  readonly column: string
  readonly target: Target
  readonly id: string | null
}

const to = (column: string, target: Target, id: string | null): Reference => ({ column, target, id })

/** What the records of each kind refer to, and the rows among which some of it is missing. */
const referring: readonly {
  readonly kind: Kind
  readonly where: string
  of(data: DataOf[Kind]): readonly Reference[]
}[] = [
  {
    kind: 'course',
    where: `f.data ->> 'orgId' not in (select id from next_org)`,
    of: (data) => [to('orgSourcedId', 'org', (data as DataOf['course']).orgId)],
  },
  {
    kind: 'class',
    where: `f.data ->> 'courseId' not in (select id from next_course)
      or f.data ->> 'schoolId' not in (select id from next_org)
      or exists (select 1 from json_each(f.data, '$.termIds') where value not in (select id from next_term))`,
    of(data) {
      const { courseId, schoolId, termIds } = data as DataOf['class']
      return [
        to('courseSourcedId', 'course', courseId),
        to('schoolSourcedId', 'org', schoolId),
        ...termIds.map((id) => to('termSourcedIds', 'term', id)),
      ]
    },
  },
  {
    kind: 'user',
    where: `exists (select 1 from json_each(f.data, '$.orgIds') where value not in (select id from next_org))`,
    of: (data) => (data as DataOf['user']).orgIds.map((id) => to('orgSourcedIds', 'org', id)),
  },
  {
    kind: 'role',
    where: `f.data ->> 'userId' not in (select id from next_user)
      or f.data ->> 'orgId' not in (select id from next_org)`,
    of(data) {
      const { userId, orgId } = data as DataOf['role']
      return [to('userSourcedId', 'user', userId), to('orgSourcedId', 'org', orgId)]
    },
  },
  {
    kind: 'enrolment',
    where: `f.class_id not in (select id from next_class) or f.user_id not in (select id from next_user)
      or f.school_id not in (select id from next_org)`,
    of(data) {
      const { classId, userId, schoolId } = data as DataOf['enrolment']
      return [
        to('classSourcedId', 'class', classId),
        to('userSourcedId', 'user', userId),
        to('schoolSourcedId', 'org', schoolId),
      ]
    },
  },
]

export function checkReferences(roster: Case, found: Faults): void {
  const checker = new ReferenceChecker(roster, found)
  const { file } = roster.bench
  for (const { kind, where, of } of referring)
    for (const row of file.each(`select f.* from file_${kind} f where ${where} order by f.n`)) {
      const [id, line] = [row.id as string, row.line as number]
      const references = of(dataIn(kind, row) as DataOf[Kind])
      checker.check(kind, { id, line, references })
    }
  checker.tellCases()
  checker.tellEmpty()
  checker.tellConsequences()
}

/** References that differ from a sourcedId in capitals only, with the first of them. */
interface InOtherCase extends Reference {
  readonly kind: Kind
  readonly line: number
  readonly meant: string
  count: number
}

class ReferenceChecker {
  readonly #roster: Case
  readonly #found: Faults
  readonly #lowered = new Set<Target>()
  readonly #inOtherCase = new Map<string, InOtherCase>()
  /** Kinds whose file has no rows, and how many rows refer to it. */
  readonly #referringToEmpty = new Map<Target, number>()
  readonly #consequences = new Map<string, { kind: Kind; target: Target; rows: string; count: number }>()

  constructor(roster: Case, found: Faults) {
    this.#roster = roster
    this.#found = found
  }

  check(kind: Kind, row: Referring): void {
    for (const reference of row.references)
      if (reference.id !== null && !this.#has(`next_${reference.target}`, reference.id))
        this.#checkMissing(kind, row, reference)
  }

  #has(table: string, id: string | null): boolean {
    return this.#roster.bench.file.one(`select 1 as one from ${table} where id = ?`, id) !== undefined
  }

  #checkMissing(kind: Kind, { id: own, line }: Referring, { column, target, id }: Reference): void {
    const { incoming } = this.#roster.bench
    if (incoming.of[target].isPartlyUnread || incoming.isBad(target, id!))
      return void this.#follows(kind, target, 'that could not be read')
    if (this.#has(`row_${target}`, id)) return void this.#follows(kind, target, 'marked tobedeleted')
    if (this.#isEmpty(target)) {
      this.#referringToEmpty.set(target, (this.#referringToEmpty.get(target) ?? 0) + 1)
      return
    }
    const severity = this.#severityOf(kind)
    if (severity === 'error') this.#found.blame(kind, own)
    const meant = this.#inOtherCapitals(target, id!)
    if (meant !== undefined) return void this.#differsInCase({ kind, line, column, target, id, meant })
    const message = /[;|]/.test(id!)
      ? 'Nothing in the roster has this sourcedId. If these are several, separate them with commas, and put the cell in double quotes.'
      : `Nothing in the roster has this sourcedId. ${column} must refer to an existing one: it is not in ${fileOf[target]}.`
    const { file } = incoming.of[kind]
    this.#found.log.add(
      { severity, code: 'dangling-reference', file, line, column, value: id, message },
      'row',
    )
  }

  #severityOf(kind: Kind): 'error' | 'warning' {
    return this.#roster.file.modes[kind] === 'delta' ? 'warning' : 'error'
  }

  #isEmpty(kind: Kind): boolean {
    const { file, bench } = this.#roster
    return file.modes[kind] === 'bulk' && bench.incoming.of[kind].isEmpty
  }

  /** A sourcedId that differs only in capitals. They are listed only when a reference is wrong. */
  #inOtherCapitals(target: Target, id: string): string | undefined {
    const { file } = this.#roster.bench
    if (!this.#lowered.has(target)) {
      this.#lowered.add(target)
      file.run('delete from lowered where kind = ?', target)
      for (const one of file.each<{ id: string }>(`select id from next_${target} order by place`))
        file.run('insert or replace into lowered values (?, ?, ?)', target, one.id.toLowerCase(), one.id)
    }
    const lower = id.toLowerCase()
    return file.one<{ id: string }>('select id from lowered where kind = ? and lower = ?', target, lower)?.id
  }

  #differsInCase(found: Omit<InOtherCase, 'count'>): void {
    const key = `${found.kind} ${found.column}`
    const known = this.#inOtherCase.get(key)
    if (known) known.count++
    else this.#inOtherCase.set(key, { ...found, count: 1 })
  }

  tellCases(): void {
    const { incoming } = this.#roster.bench
    for (const { kind, target, column, line, id, meant, count } of this.#inOtherCase.values()) {
      const others = count === 1 ? '' : ` The same in ${counted(count - 1, 'other place', 'other places')}.`
      const message = `${fileOf[target]} has ${meant}, in other capitals. Export both files with the same spelling.${others}`
      const about = { file: incoming.of[kind].file, line, column, value: id, message }
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
