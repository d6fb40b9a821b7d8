/** Whether everybody can have an account: addresses, and not too many classes. */
import { parseAddress } from '../../../platform/lib/address.ts'
import { dataIn } from '../compare/compare.ts'
import type { CodedFinding, FindingCode } from '../findings.ts'
import type { UserData } from '../records.ts'
import type { Case, Faults } from './case.ts'

export const classesPerStudentMax = 500

export function checkPeople(roster: Case, found: Faults): void {
  checkStudents(roster, found)
  checkTeachers(roster, found)
  checkClassCounts(roster, found)
}

/** In the file; a record that the file does not name has no line. */
function placeOf({ bench }: Case, line: number | null): { file: string; line: number | null } {
  return { file: line === null ? 'users.csv' : bench.incoming.of.user.file, line }
}

interface StudentFault {
  readonly fault: 'address' | 'duplicate-address' | 'same-account'
  readonly id: string
  readonly line: number | null
  /** The address as the file has it, and as staff have corrected it. */
  readonly data: string
  readonly corrected: string | null
  /** Another student who has the same. */
  readonly other: string | null
}

const sharing = (fault: string, column: string, step: number) => `
  select s.place, ${step}, '${fault}', s.id, o.id from student s
  join (select ${column} as common, min(place) as place from student where ${column} is not null
        group by 1 having count(*) > 1) f on f.common = s.${column} and s.place > f.place
  join student o on o.place = f.place`

/** Students sign in with their addresses, so each needs a different one. */
const studentFaults = `
  select x.fault, x.id, n.line, n.data, s.correction ->> '$.left.email' as corrected, x.other from (
    select place, 1 as step, 'address' as fault, id, null as other from student where email_key is null
    union all ${sharing('duplicate-address', 'email_key', 2)}
    union all ${sharing('same-account', 'person_id', 3)}
  ) x join student s on s.place = x.place join next_user n on n.id = x.id order by x.place, x.step`

function checkStudents(roster: Case, found: Faults): void {
  for (const row of roster.bench.file.each<StudentFault>(studentFaults)) {
    const told = toldOf(row)
    if (told.severity === 'error') found.blame('user', row.id)
    found.log.add({ ...told, ...placeOf(roster, row.line) }, 'row')
  }
}

function toldOf({ fault, id, data, corrected, other }: StudentFault): Omit<CodedFinding, 'file' | 'line'> {
  const written = corrected ?? (JSON.parse(data) as UserData).email
  const error = (code: FindingCode, column: string, value: string | null, message: string) =>
    ({ severity: 'error', code, column, value, message }) as const
  if (fault === 'duplicate-address') {
    const message = `The student with sourcedId ${other} has the same address. Each student needs a different one to sign in.`
    return error('duplicate-address', 'email', written, message)
  }
  if (fault === 'same-account') {
    const message = `This student and ${other} have the same account, because an earlier import matched them. Only one of them can be in the roster.`
    return error('same-account', 'sourcedId', id, message)
  }
  const wrong = written === null ? null : parseAddress(written)
  if (typeof wrong === 'string') return error('bad-address', 'email', written, addressAdvice(written!, wrong))
  const message = 'This student has no address and cannot sign in.'
  return { severity: 'warning', code: 'no-address', column: 'email', value: null, message }
}

/** `fault`: what is wrong with it as one address. */
function addressAdvice(written: string, fault: string): string {
  const addresses = written.match(/[^\s<>()[\]"',;:|/]+@[^\s<>()[\]"',;:|/]+/g) ?? []
  if (written.includes('\ufffd'))
    return 'A character of the address was lost when the file was written. Export it again as UTF-8.'
  if (addresses.length > 1)
    return `The cell has ${addresses.length} addresses. Keep the one with which the student signs in.`
  const [only] = addresses
  if (only === undefined)
    return 'This is not an e-mail address. Write one such as ada@example.org, or leave the cell empty.'
  if (only !== written && typeof parseAddress(only) !== 'string')
    return 'Keep only the address itself, without a name or anything else around it.'
  return `An address ${fault}.`
}

/** Teachers whose address an earlier teacher or a student has. */
const sharedAddresses = `
  select t.owner, n.line, n.data from (
    select place, id, coalesce(lag(id) over (partition by email_key order by place),
      (select s.id from student s where s.email_key = a.email_key order by s.place limit 1)) as owner
    from teacher_address a
  ) t join next_user n on n.id = t.id where t.owner <> t.id order by t.place`

/** Students see the addresses of their teachers, and a teacher who is a veterinarian is known by it. */
function checkTeachers(roster: Case, { log }: Faults): void {
  const { file } = roster.bench
  file.exec('delete from teacher_address')
  const teachers = file.each<{ place: number; id: string; data: string }>(
    `select min(t.place) as place, n.id, n.data from teaching t join next_user n on n.id = t.user_id
     group by t.user_id order by 1`,
  )
  const writer = file.rows('teacher_address', 3)
  for (const { place, id, data } of teachers) {
    const { email }: UserData = JSON.parse(data)
    const address = email === null ? null : parseAddress(email)
    if (address !== null && typeof address !== 'string') writer.add(address.key, id, place)
  }
  writer.flush()
  const shared = file.each<{ owner: string; line: number | null; data: string }>(sharedAddresses)
  for (const { owner, line, data } of shared) {
    const message = `The person with sourcedId ${owner} has the same address.`
    const about = { ...placeOf(roster, line), column: 'email', value: (JSON.parse(data) as UserData).email }
    log.add({ severity: 'warning', code: 'shared-address', ...about, message }, 'row')
  }
}

/** Students with more enrolments than they may have classes. */
const busyStudents = `
  select user_id from (
    select user_id, count(*) as n from row_enrolment
    where rest in (select n from rest where role = 'student') group by user_id
    union all
    select user_id, count(*) from kept_enrolment where role = 'student' group by user_id
  ) group by user_id having sum(n) > ${classesPerStudentMax}`

/** The same class under two ids is one class. */
const classesOfBusy = `
  select e.*, dense_rank() over (partition by user_id order by first) as nth from (
    select n.*, min(n.place) over (partition by n.user_id, n.class_id) as first from next_enrolment n
    where n.role = 'student' and n.user_id in (${busyStudents}) and n.user_id in (select id from student)
  ) e order by place`

function checkClassCounts({ bench }: Case, found: Faults): void {
  for (const row of bench.file.each(
    `select * from (${classesOfBusy}) where nth > ${classesPerStudentMax} and place = first order by place`,
  )) {
    found.blame('enrolment', row.id as string)
    if ((row.nth as number) > classesPerStudentMax + 1) continue
    const line = row.line as number | null
    const { userId } = dataIn('enrolment', row) as { userId: string }
    found.log.add(
      {
        severity: 'error',
        code: 'too-many-classes',
        file: line === null ? 'enrollments.csv' : bench.incoming.of.enrolment.file,
        line,
        column: 'userSourcedId',
        value: userId,
        message: `A student may be in at most ${classesPerStudentMax} classes.`,
      },
      'row',
    )
  }
}

/** Students whose mail bounces, so that they cannot sign in. `bounced` is the time by address. */
export function bouncedFindings(
  { students, bench }: Pick<Case, 'students' | 'bench'>,
  bounced: ReadonlyMap<string, number>,
): CodedFinding[] {
  if (bounced.size === 0) return []
  const found: CodedFinding[] = []
  const rows = bench.file.each<{ id: string; email_key: string }>(
    'select id, email_key from student where email_key is not null order by place',
  )
  for (const { id, email_key } of rows) {
    const at = bounced.get(email_key)
    if (at === undefined) continue
    const { email } = students.get(id)!.fields
    const message = `mail to ${email} bounced on ${dateOf(at)}; this student gets no codes until the address is corrected`
    const about = { file: 'users.csv', line: null, column: 'email', value: email }
    found.push({ ...about, severity: 'warning', code: 'address-bounced', message })
  }
  return found
}

const dateOf = (at: number) => new Date(at).toISOString().slice(0, 10)
