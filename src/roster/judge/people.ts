/** Whether everybody can have an account: addresses, and not too many classes. */
import { parseAddress } from '../../people/address.ts'
import { isIncoming } from '../compare/compare.ts'
import type { CodedFinding } from '../findings.ts'
import type { Case, Faults } from './case.ts'

export const classesPerStudentMax = 500

export function checkPeople(roster: Case, found: Faults): void {
  checkStudents(roster, found)
  checkTeachers(roster, found)
  checkClassCounts(roster, found)
}

function placeOf({ next }: Case, userId: string): { file: string; line: number | null } {
  const from = next.user.get(userId)?.from
  return from ? { file: from.file, line: from.line } : { file: 'users.csv', line: null }
}

/** Students sign in with their addresses, so each needs a different one. */
function checkStudents(roster: Case, found: Faults): void {
  const owners = new Map<string, string>()
  const accounts = new Map<string, string>()
  const tell = (
    sourcedId: string,
    code: 'no-address' | 'bad-address' | 'duplicate-address' | 'same-account',
    column: string,
    value: string | null,
    message: string,
  ) => {
    const severity = code === 'no-address' ? 'warning' : 'error'
    if (severity === 'error') found.blame('user', sourcedId)
    found.log.add({ severity, code, ...placeOf(roster, sourcedId), column, value, message }, 'row')
  }
  for (const [id, { personId, fields, correction }] of roster.students) {
    const written = correction?.left?.email ?? roster.next.user.get(id)!.data.email
    const address = written === null ? null : parseAddress(written)
    if (address === null)
      tell(id, 'no-address', 'email', null, 'This student has no address and cannot sign in.')
    else if (typeof address === 'string') tell(id, 'bad-address', 'email', written, `An address ${address}.`)
    const owner = owners.get(fields.email_key ?? '')
    if (owner !== undefined) {
      const message = `The student with sourcedId ${owner} has the same address. Each student needs a different one to sign in.`
      tell(id, 'duplicate-address', 'email', written, message)
    } else if (fields.email_key !== null) owners.set(fields.email_key, id)
    const other = accounts.get(personId)
    if (other !== undefined) {
      const message = `This and ${other} are the same account: an earlier import matched them. Only one of them can be a student.`
      tell(id, 'same-account', 'sourcedId', id, message)
    } else accounts.set(personId, id)
  }
}

/** Students see the addresses of their teachers, and a teacher who is a veterinarian is known by it. */
function checkTeachers({ next, students, ...rest }: Case, { log }: Faults): void {
  const teachers = new Set<string>()
  for (const { data } of next.enrolment.values()) if (data.role === 'teacher') teachers.add(data.userId)
  const owners = new Map<string, string>()
  for (const [id, { fields }] of students) if (fields.email_key !== null) owners.set(fields.email_key, id)
  for (const id of teachers) {
    const written = next.user.get(id)?.data.email ?? null
    const address = written === null ? null : parseAddress(written)
    if (address === null || typeof address === 'string') continue
    const owner = owners.get(address.key)
    owners.set(address.key, id)
    if (owner === undefined || owner === id) continue
    const place = placeOf({ next, students, ...rest }, id)
    const message = `The person with sourcedId ${owner} has the same address.`
    log.add(
      { severity: 'warning', code: 'shared-address', ...place, column: 'email', value: written, message },
      'row',
    )
  }
}

function checkClassCounts({ next, students }: Case, found: Faults): void {
  const counts = new Map<string, number>()
  for (const { data } of next.enrolment.values()) {
    if (data.role === 'student' && students.has(data.userId))
      counts.set(data.userId, (counts.get(data.userId) ?? 0) + 1)
  }
  const busy = new Map<string, Set<string>>()
  for (const [id, count] of counts) if (count > classesPerStudentMax) busy.set(id, new Set())
  if (busy.size === 0) return
  for (const [sourcedId, enrolment] of next.enrolment) {
    const { userId, classId, role } = enrolment.data
    const classes = role === 'student' ? busy.get(userId) : undefined
    // The same class under two ids is one class.
    if (!classes || classes.has(classId)) continue
    classes.add(classId)
    if (classes.size <= classesPerStudentMax) continue
    found.blame('enrolment', sourcedId)
    if (classes.size > classesPerStudentMax + 1) continue
    const from = isIncoming(enrolment) ? enrolment : null
    found.log.add(
      {
        severity: 'error',
        code: 'too-many-classes',
        file: from?.file ?? 'enrollments.csv',
        line: from?.line ?? null,
        column: 'userSourcedId',
        value: userId,
        message: `A student may be in at most ${classesPerStudentMax} classes.`,
      },
      'row',
    )
  }
}

/** Students whom no mail reaches, so that they cannot sign in. `bounced` is the time by address. */
export function bouncedFindings(
  students: Case['students'],
  bounced: ReadonlyMap<string, number>,
): CodedFinding[] {
  return [...students.values()].flatMap(({ fields }): CodedFinding[] => {
    const at = fields.email_key === null ? undefined : bounced.get(fields.email_key)
    if (at === undefined) return []
    const message = `mail to ${fields.email} bounced on ${dateOf(at)}; this student gets no codes until the address is mended`
    const about = { file: 'users.csv', line: null, column: 'email', value: fields.email }
    return [{ ...about, severity: 'warning', code: 'address-bounced', message }]
  })
}

const dateOf = (at: number) => new Date(at).toISOString().slice(0, 10)
