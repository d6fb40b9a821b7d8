/** Whether everybody can have an account: addresses, and not too many classes. */
import { parseAddress } from '../../../platform/lib/address.ts'
import { Ids, Numbers } from '../compact.ts'
import type { CodedFinding } from '../findings.ts'
import type { Case, Faults } from './case.ts'

export const classesPerStudentMax = 500

export function checkPeople(roster: Case, found: Faults): void {
  checkStudents(roster, found)
  checkTeachers(roster, found)
  checkClassCounts(roster, found)
}

function placeOf({ next }: Case, row: number): { file: string; line: number | null } {
  return next.user.placeOf(row) ?? { file: 'users.csv', line: null }
}

type StudentFault = 'no-address' | 'bad-address' | 'duplicate-address' | 'same-account'

/** Students sign in with their addresses, so each needs a different one. */
function checkStudents(roster: Case, found: Faults): void {
  const { students, next } = roster
  const owners = new Owners()
  const persons = new Ids()
  const accounts = new Owners()
  const tell = (row: number, code: StudentFault, column: string, value: string | null, message: string) => {
    const severity = code === 'no-address' ? 'warning' : 'error'
    if (severity === 'error') found.blame('user', students.idAt(row))
    found.log.add({ severity, code, ...placeOf(roster, row), column, value, message }, 'row')
  }
  const writtenOf = (row: number) => students.at(row).correction?.left?.email ?? next.user.dataAt(row).email
  for (const row of students.rows()) {
    const key = students.keyAt(row)
    if (key < 0) {
      const written = writtenOf(row)
      const fault = written === null ? null : parseAddress(written)
      if (fault === null)
        tell(row, 'no-address', 'email', null, 'This student has no address and cannot sign in.')
      else if (typeof fault === 'string')
        tell(row, 'bad-address', 'email', written, addressAdvice(written!, fault))
    }
    const owner = key < 0 ? null : owners.take(key, row)
    if (owner !== null) {
      const message = `The student with sourcedId ${students.idAt(owner)} has the same address. Each student needs a different one to sign in.`
      tell(row, 'duplicate-address', 'email', writtenOf(row), message)
    }
    const other = accounts.take(persons.add(students.personAt(row)), row)
    if (other !== null) {
      const message = `This student and ${students.idAt(other)} have the same account, because an earlier import matched them. Only one of them can be in the roster.`
      tell(row, 'same-account', 'sourcedId', students.idAt(row), message)
    }
  }
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

/** The first owner of each number. */
class Owners {
  readonly #rows = new Numbers()

  /** The row that already has it, or null. */
  take(number: number, row: number): number | null {
    const owner = this.of(number)
    if (owner === null) this.#rows.set(number, row + 1)
    return owner
  }

  of(number: number): number | null {
    return number < this.#rows.length && this.#rows.at(number) > 0 ? this.#rows.at(number) - 1 : null
  }
}

/** Students see the addresses of their teachers, and a teacher who is a veterinarian is known by it. */
function checkTeachers(roster: Case, { log }: Faults): void {
  const { next, students } = roster
  const teachers = new Set<string>()
  for (const row of next.enrolment.rows())
    if (next.enrolment.restAt(row).role === 'teacher') teachers.add(next.enrolment.dataAt(row).userId)
  const owners = new Owners()
  for (const row of students.rows()) if (students.keyAt(row) >= 0) owners.take(students.keyAt(row), row)
  const others = new Map<string, string>()
  for (const id of teachers) {
    const row = next.user.find(id)
    const written = row < 0 ? null : next.user.dataAt(row).email
    const address = written === null ? null : parseAddress(written)
    if (address === null || typeof address === 'string') continue
    const key = students.keys.find(address.key)
    const student = key < 0 ? null : owners.of(key)
    const owner = others.get(address.key) ?? (student === null ? undefined : students.idAt(student))
    others.set(address.key, id)
    if (owner === undefined || owner === id) continue
    const message = `The person with sourcedId ${owner} has the same address.`
    const about = { ...placeOf(roster, row), column: 'email', value: written, message }
    log.add({ severity: 'warning', code: 'shared-address', ...about }, 'row')
  }
}

function checkClassCounts({ next, students }: Case, found: Faults): void {
  const { enrolment } = next
  const counts = new Uint32Array(enrolment.parts.names.size)
  for (const row of enrolment.rows())
    if (enrolment.restAt(row).role === 'student') counts[enrolment.userAt(row)]!++
  const busy = new Map<number, Set<number>>()
  for (const [user, count] of counts.entries())
    if (count > classesPerStudentMax && students.has(enrolment.parts.names.at(user)))
      busy.set(user, new Set())
  if (busy.size === 0) return
  for (const row of enrolment.rows()) {
    const classes = enrolment.restAt(row).role === 'student' ? busy.get(enrolment.userAt(row)) : undefined
    // The same class under two ids is one class.
    if (!classes || classes.has(enrolment.classAt(row))) continue
    classes.add(enrolment.classAt(row))
    if (classes.size <= classesPerStudentMax) continue
    found.blame('enrolment', enrolment.idAt(row))
    if (classes.size > classesPerStudentMax + 1) continue
    found.log.add(
      {
        severity: 'error',
        code: 'too-many-classes',
        ...(enrolment.placeOf(row) ?? { file: 'enrollments.csv', line: null }),
        column: 'userSourcedId',
        value: enrolment.parts.names.at(enrolment.userAt(row)),
        message: `A student may be in at most ${classesPerStudentMax} classes.`,
      },
      'row',
    )
  }
}

/** Students whose mail bounces, so that they cannot sign in. `bounced` is the time by address. */
export function bouncedFindings(
  students: Case['students'],
  bounced: ReadonlyMap<string, number>,
): CodedFinding[] {
  if (bounced.size === 0) return []
  const times = new Map([...bounced].map(([key, at]) => [students.keys.find(key), at]))
  return students
    .rows()
    .flatMap((row): CodedFinding[] => {
      const at = students.keyAt(row) < 0 ? undefined : times.get(students.keyAt(row))
      if (at === undefined) return []
      const { email } = students.at(row).fields
      const message = `mail to ${email} bounced on ${dateOf(at)}; this student gets no codes until the address is corrected`
      const about = { file: 'users.csv', line: null, column: 'email', value: email }
      return [{ ...about, severity: 'warning', code: 'address-bounced', message }]
    })
    .toArray()
}

const dateOf = (at: number) => new Date(at).toISOString().slice(0, 10)
