/** Who is a student in the next roster, which account each has, and what staff have corrected. */
import { parseAddress } from '../../../platform/lib/address.ts'
import { newId } from '../../../platform/lib/random.ts'
import type { RoleData, UserData } from '../records.ts'
import type { CorrectionRow } from '../store/corrections.ts'
import type { DisabledVersion, StudentFields, StudentVersion } from '../store/students.ts'
import type { MatchBy } from '../words.ts'
import { type Standing, studentColumns, studentIndexes, type Workbench } from '../workbench/workbench.ts'
import { digestOf, isStudent, type Lookup, studentFields } from './documents.ts'
import { type Counts, noCounts, type Operation } from './next.ts'

/** How accounts are kept under new sourcedIds: by what the people have in common, or by name (new → current). */
export type Match = MatchBy | ReadonlyMap<string, string>

export interface NextStudent {
  readonly state: Exclude<Operation, 'leaving'> | 'same'
  readonly personId: string
  readonly fields: StudentFields
  readonly digest: string
  /** The same person's current row, perhaps under another sourcedId; null also if nothing changes. */
  readonly before: StudentVersion | null
  /** Whether the sourcedId was a student's before this import. */
  readonly isKnown: boolean
  /** Whether the account is new. */
  readonly isNewPerson: boolean
  /** The sourcedId of the account that this one takes over. */
  readonly matchedFrom: string | null
  readonly correction: AppliedCorrection | null
}

/** A student of the next roster who may not sign in, and who differs from the current one. */
export interface NextDisabled extends Pick<NextStudent, 'personId' | 'fields' | 'digest' | 'isNewPerson'> {
  readonly before: Pick<DisabledVersion, 'from_gen'> | null
}

export interface AppliedCorrection {
  readonly row: CorrectionRow
  /** The remaining correction, without fields in which the file now agrees. Null if none remain. */
  readonly left: Corrected | null
  /** The file's value of each corrected field. */
  readonly inFile: Corrected
}

/** Null: as the file has it. */
export interface Corrected {
  readonly email: string | null
  readonly firstname: string | null
  readonly lastname: string | null
}

/** A user of the next roster, and what the current one has under the same sourcedId. */
interface UserRow {
  readonly place: number
  readonly id: string
  readonly data: string
  /** Those that count today. */
  readonly roles: string
  readonly person_id: string | null
  readonly digest: string | null
  readonly disabled_id: string | null
  readonly disabled_digest: string | null
  readonly disabled_from: number | null
}

interface Found {
  readonly row: UserRow
  readonly user: UserData
  readonly fields: StudentFields
}

interface StudentRow {
  readonly id: string
  readonly state: NextStudent['state']
  readonly person_id: string
  readonly digest: string
  readonly fields: string
  readonly correction: string | null
  readonly matched_from: string | null
  readonly is_new_person: number
  readonly version: string | null
}

const usersAtOnce = 500
const rolesOf = (id: string) =>
  `'[' || (select coalesce(group_concat(t.data, ',' order by t.place), '') from role_today t where t.user_id = ${id}) || ']'`
const selectStudents = `select s.*, w.version from student s left join was_student w
  on s.state = 'changed' and w.id = coalesce(s.matched_from, s.id)`

export class Students {
  readonly counts: Counts = noCounts()
  /** How many have an address now. */
  addressesBefore = 0
  /** How many have a student number now. */
  numbersBefore = 0
  #matched = 0
  readonly #bench: Workbench
  readonly #standing: Standing
  readonly #lookup: Lookup

  constructor(bench: Workbench, standing: Standing, lookup: Lookup) {
    this.#bench = bench
    this.#standing = standing
    this.#lookup = lookup
  }

  async find(today: string, match: Match | null): Promise<void> {
    const { file } = this.#bench
    file.run(
      `insert into role_today select data ->> 'userId', place, data from next_role
       where coalesce(data ->> 'startDate', ?1) <= ?1 and coalesce(data ->> 'endDate', ?1) >= ?1`,
      today,
    )
    await this.#findStudents()
    this.#findLeavers()
    if (match !== null) this.#match(match)
    const { counts } = this
    counts.after = counts.before + counts.added + counts.returning - counts.leaving
  }

  async #findStudents(): Promise<void> {
    const { file } = this.#bench
    const users = file.each<UserRow>(
      `select n.place, n.id, n.data, ${rolesOf('n.id')} as roles, s.person_id, s.digest,
         d.person_id as disabled_id, d.digest as disabled_digest, d.from_gen as disabled_from
       from next_user n left join now_student s on s.sourced_id = n.id
         left join now_disabled d on d.sourced_id = n.id order by n.place`,
    )
    const [students, disabled] = [file.rows('student', 12), file.rows('next_disabled', 8)]
    let some: Found[] = []
    const settle = async () => {
      const unknown = some.filter(({ row }) => row.person_id === null).map(({ row }) => row.id)
      const accounts = await this.#standing.identities(unknown)
      for (const one of some)
        if (one.user.enabled) students.add(...this.#studentRow(one, accounts.get(one.row.id)))
        else disabled.add(...this.#disabledRow(one, accounts.get(one.row.id)))
      some = []
    }
    for (const row of users) {
      const user: UserData = JSON.parse(row.data)
      const roles: RoleData[] = row.roles === '[]' ? [] : JSON.parse(row.roles)
      if (!isStudent(user, roles)) continue
      some.push({ row, user, fields: studentFields(row.id, user, roles, this.#lookup) })
      if (some.length === usersAtOnce) await settle()
    }
    await settle()
    students.flush()
    disabled.flush()
    file.exec(studentIndexes)
  }

  /** `account`: of somebody who was on the roster before. */
  #studentRow({ row, fields }: Found, account: string | undefined) {
    const { place, id, person_id, disabled_id } = row
    const known = person_id ?? account
    const { final, digest, correction } = this.#corrected(fields, known)
    const state = person_id === null ? (account === undefined ? 'added' : 'returning') : 'changed'
    const isSame = state === 'changed' && digest === row.digest
    if (!isSame) this.counts[state]++
    return [
      ...[place, id, isSame ? 'same' : state, final.email_key],
      correction === null ? null : (fields.email_key ?? ''),
      ...[fields.student_number, known ?? disabled_id ?? newId(), digest],
      isSame && correction === null ? null : JSON.stringify(final),
      ...[correction && JSON.stringify(correction), null],
      Number(state === 'added' && disabled_id === null),
    ]
  }

  #disabledRow({ row, fields }: Found, account: string | undefined) {
    const { place, id, person_id, disabled_id, disabled_digest, disabled_from } = row
    const known = person_id ?? disabled_id ?? account
    const digest = digestOf(fields)
    const before = disabled_id === null ? null : JSON.stringify({ from_gen: disabled_from })
    const isSame = Number(digest === disabled_digest)
    return [
      ...[place, id, known ?? newId(), Number(known === undefined), digest],
      ...[JSON.stringify(fields), before, isSame],
    ]
  }

  #corrected(fields: StudentFields, person: string | undefined) {
    const row = person === undefined ? undefined : this.#standing.corrections.get(person)
    const correction = correctionOf(row, fields)
    const final = correction?.left ? corrected(fields, correction.left) : fields
    return { final, digest: digestOf(final), correction }
  }

  #findLeavers(): void {
    const { file } = this.#bench
    const { counts } = this
    const version = studentColumns.map((name) => `'${name}', s.${name}`).join(', ')
    const differing = file.run(
      `insert into was_student (id, student_number, email_key, version)
       select s.sourced_id, s.student_number, s.email_key, json_object(${version}) from now_student s
       where not exists (select 1 from student t where t.id = s.sourced_id and t.state = 'same')
       order by s.sourced_id`,
    )
    counts.leaving = differing - counts.changed
    const { sizes } = this.#standing
    const now = file.one<Record<'student' | 'address' | 'number', number>>(
      'select count(*) as student, count(email_key) as address, count(student_number) as number from now_student',
    )!
    counts.before = (sizes ?? now).student
    this.addressesBefore = (sizes ?? now).address
    this.numbersBefore = (sizes ?? now).number
    file.run(
      `insert into no_longer_disabled select d.person_id, d.from_gen from now_disabled d
         left join next_user n on n.id = d.sourced_id
       where case when n.id is null
         then ? or exists (select 1 from row_user r where r.id = d.sourced_id)
         else not exists (select 1 from next_disabled x where x.id = d.sourced_id) end`,
      Number(sizes === null),
    )
  }

  #match(match: Match): void {
    const { file } = this.#bench
    const { counts } = this
    for (const [id, from] of typeof match === 'string' ? this.matchesBy(match) : match) {
      const student = file.one<StudentRow>('select * from student where id = ?', id)
      const was = file.one<{ version: string }>('select version from was_student where id = ?', from)
      if (!student || !was) continue
      const { person_id }: StudentVersion = JSON.parse(was.version)
      const { final, digest, correction } = this.#corrected(this.#fieldsInFile(id), person_id)
      if (student.state !== 'same') counts[student.state]--
      file.run(
        `update student set state = 'changed', person_id = ?, digest = ?, email_key = ?, fields = ?, correction = ?,
           matched_from = ?, is_new_person = 0 where id = ?`,
        ...[person_id, digest, final.email_key, JSON.stringify(final)],
        ...[correction && JSON.stringify(correction), from, id],
      )
      counts.changed++
      counts.leaving--
      this.#matched++
    }
  }

  /** New sourcedId → the sourcedId of the one student who leaves and has the same number or address. */
  matchesBy(match: MatchBy): Map<string, string> {
    const [key, was] =
      match === 'number'
        ? ['number', 'student_number']
        : [`nullif(coalesce(file_key, email_key), '')`, 'email_key']
    const rows = this.#bench.file.all<{ id: string; was: string }>(
      `select n.id, l.id as was from
         (select min(id) as id, ${key} as common from student
          where (state = 'added' or matched_from is not null) and ${key} is not null group by 2 having count(*) = 1) n
       join
         (select min(w.id) as id, w.${was} as common from was_student w
          where w.${was} is not null and w.id not in (select id from student) group by 2 having count(*) = 1) l
       on l.common = n.common`,
    )
    return new Map(rows.map((row) => [row.id, row.was]))
  }

  /** How many current students the file names. */
  namedBefore(): number {
    const sql = `select count(*) from now_student s where exists (select 1 from row_user r where r.id = s.sourced_id)`
    return this.#bench.file.number(sql) + this.#matched
  }

  /** The next ones who differ from the current ones. */
  *changing(): Generator<NextStudent & { readonly state: Exclude<Operation, 'leaving'> }> {
    const sql = `${selectStudents} where s.state <> 'same' order by s.place`
    for (const row of this.#bench.file.each<StudentRow>(sql))
      yield { ...nextStudent(row), state: row.state as Exclude<Operation, 'leaving'> }
  }

  get(id: string): NextStudent | undefined {
    const row = this.#bench.file.one<StudentRow>(`${selectStudents} where s.id = ?`, id)
    return row && nextStudent({ ...row, fields: row.fields ?? JSON.stringify(this.#fieldsInFile(id)) })
  }

  *corrected(): Generator<NextStudent> {
    const sql = `${selectStudents} where s.correction is not null order by s.place`
    for (const row of this.#bench.file.each<StudentRow>(sql)) yield nextStudent(row)
  }

  *leaving(): Generator<StudentVersion> {
    const leavers = this.#bench.file.each<{ version: string }>(
      `select w.version from was_student w where w.id not in (select id from student)
         and w.id not in (select matched_from from student where matched_from is not null) order by w.n`,
    )
    for (const { version } of leavers) yield JSON.parse(version)
  }

  /** Those who may not sign in and are new or differ from the current roster. */
  *disabled(): Generator<NextDisabled> {
    const sql = 'select * from next_disabled where is_same = 0 order by place'
    for (const { person_id, fields, digest, before, is_new_person } of this.#bench.file.each<
      Omit<StudentRow, 'version'> & { readonly before: string | null }
    >(sql))
      yield {
        personId: person_id,
        fields: JSON.parse(fields),
        digest,
        before: before === null ? null : JSON.parse(before),
        isNewPerson: is_new_person === 1,
      }
  }

  /** Those who may not sign in now and are enabled or gone in the next roster. */
  noLongerDisabled(): Iterable<{ readonly person_id: string; readonly from_gen: number }> {
    return this.#bench.file.each('select person_id, from_gen from no_longer_disabled order by rowid')
  }

  /** The addresses by which students are known when they sign in. */
  *addressKeys(): Generator<string> {
    const sql = 'select email_key from student where email_key is not null order by place'
    for (const { email_key } of this.#bench.file.each<{ email_key: string }>(sql)) yield email_key
  }

  #fieldsInFile(id: string): StudentFields {
    const { data, roles } = this.#bench.file.one<Pick<UserRow, 'data' | 'roles'>>(
      `select data, ${rolesOf('n.id')} as roles from next_user n where n.id = ?`,
      id,
    )!
    return studentFields(id, JSON.parse(data), JSON.parse(roles), this.#lookup)
  }
}

const nextStudent = (row: StudentRow): NextStudent => ({
  state: row.state,
  personId: row.person_id,
  fields: JSON.parse(row.fields),
  digest: row.digest,
  before: row.version === null ? null : JSON.parse(row.version),
  isKnown: row.state !== 'added' && row.matched_from === null,
  isNewPerson: row.is_new_person === 1,
  matchedFrom: row.matched_from,
  correction: row.correction === null ? null : JSON.parse(row.correction),
})

/** A field is corrected until the file says the same. */
function correctionOf(row: CorrectionRow | undefined, inFile: StudentFields): AppliedCorrection | null {
  if (!row) return null
  const still = (name: keyof Corrected) => (row[name] === inFile[name] ? null : row[name])
  const left = { email: still('email'), firstname: still('firstname'), lastname: still('lastname') }
  const isDone = left.email === null && left.firstname === null && left.lastname === null
  const { email, firstname, lastname } = inFile
  return { row, left: isDone ? null : left, inFile: { email, firstname, lastname } }
}

export function corrected(inFile: StudentFields, { email, firstname, lastname }: Corrected): StudentFields {
  const address = email === null ? null : parseAddress(email)
  return {
    ...inFile,
    ...(address !== null && typeof address !== 'string' && { email: address.email, email_key: address.key }),
    ...(firstname !== null && { firstname }),
    ...(lastname !== null && { lastname }),
  }
}
