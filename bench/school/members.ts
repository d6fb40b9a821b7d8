/** Who belongs to a generated school and to which of its classes: users, roles, profiles, enrolments, by number. */
import { addDays, addWeeks } from '../../demo/calendar.ts'
import type { Row } from '../../demo/oneroster.ts'
import { drawFor, hashOf } from './chance.ts'
import { localPart, nameFrom, otherLocalPart } from './names.ts'
import { classId, type Plan, schoolId, studentId, teacherId, teachersOf } from './plan.ts'
import { classesInYear, classOfYear, kindOf, spanOf, years } from './teaching.ts'

/** Students of a group sit in the same classes and go on rotation together. */
const studentsAGroup = 24
const slotsOfRotation = 10
const weeksASlot = 4

const pronouns = ['she/her', 'he/him', 'they/them']
const nicknames = ['Alex', 'Sam', 'Jo', 'Kit', 'Max', 'Mika', 'Zoë', 'Béa']

const yearOfStudent = (i: number) => (i % years) + 1
const groupOfStudent = (i: number) => Math.floor(i / (studentsAGroup * years))

export function studentRow(plan: Plan, i: number): Row<'users'> {
  const draw = drawFor(plan.seed, 'student', i)
  const [name, year, change] = [nameFrom(draw), yearOfStudent(i), plan.change(i)]
  const local = change === 'readdressed' ? otherLocalPart(name, i + 1) : localPart(name, i + 1)
  const family = change === 'renamed' ? `${name.family}-${nameFrom(draw).family}` : name.family
  const email = `${local}@${plan.domain}`
  const said = drawFor(plan.seed, 'said', i)
  const entered = Number(plan.calendar.year.startDate.slice(0, 4)) - year + 1
  return {
    sourcedId: studentId(i),
    enabledUser: said(200) === 0 ? 'false' : 'true',
    orgSourcedIds: schoolId,
    role: 'student',
    username: `s${i + 1}`,
    givenName: name.given,
    familyName: family,
    identifier: `V${entered}-${String(i + 1).padStart(6, '0')}`,
    email,
    grades: String(year),
    preferredGivenName: said(20) === 0 ? nicknames[said(nicknames.length)]! : '',
    primaryOrgSourcedId: schoolId,
    pronouns: said(5) === 0 ? pronouns[said(pronouns.length)]! : '',
  }
}

function teacherRow(plan: Plan, i: number): Row<'users'> {
  const name = nameFrom(drawFor(plan.seed, 'teacher', i))
  return {
    sourcedId: teacherId(i),
    enabledUser: 'true',
    orgSourcedIds: schoolId,
    role: 'teacher',
    username: `t${i + 1}`,
    givenName: name.given,
    familyName: name.family,
    email: `${localPart(name, i + 1)}@staff.${plan.domain}`,
    primaryOrgSourcedId: schoolId,
  }
}

/** The numbers of the students who are still there. */
function* present(plan: Plan): Generator<number> {
  for (let i = 0; i < plan.students; i++) if (plan.change(i) !== 'leaves') yield i
}

export function* userRows(plan: Plan): Generator<Row<'users'>> {
  for (let i = 0; i < plan.teachers; i++) yield teacherRow(plan, i)
  for (const i of present(plan)) yield studentRow(plan, i)
}

export function studentRole(i: number): Row<'roles'> {
  return roleRow(studentId(i), 'student')
}

function roleRow(userSourcedId: string, role: string, userProfileSourcedId = ''): Row<'roles'> {
  return {
    ...{ sourcedId: `role-${userSourcedId}`, userSourcedId, roleType: 'primary', role },
    ...{ orgSourcedId: schoolId, userProfileSourcedId },
  }
}

export function* roleRows(plan: Plan): Generator<Row<'roles'>> {
  for (let i = 0; i < plan.teachers; i++) yield roleRow(teacherId(i), 'teacher', `profile-${teacherId(i)}`)
  for (const i of present(plan)) yield studentRole(i)
}

/** Teachers have an account with the timetable system; there are no passwords in any of this. */
export function* profileRows(plan: Plan): Generator<Row<'userProfiles'>> {
  for (let i = 0; i < plan.teachers; i++)
    yield {
      ...{ sourcedId: `profile-${teacherId(i)}`, userSourcedId: teacherId(i), profileType: 'timetable' },
      ...{
        vendorId: 'example.edu',
        applicationId: 'timetable',
        credentialType: 'SSO',
        username: `t${i + 1}`,
      },
    }
}

interface Dates {
  readonly beginDate?: string
  readonly endDate?: string
}

/** Two to four weeks at the start of a slot of four; the group's first ten rotations do not overlap. */
function rotationDates(plan: Plan, year: number, group: number, nth: number): Dates {
  const slot = (group + nth) % slotsOfRotation
  const start = (hashOf(plan.seed, 'phase', year, group) % weeksASlot) + slot * weeksASlot
  const weeks = 2 + (hashOf(plan.seed, 'weeks', year, group, nth) % 3)
  const beginDate = addWeeks(plan.calendar.year.startDate, start)
  return { beginDate, endDate: addDays(beginDate, weeks * 7 - 3) }
}

/** Half the classes leave the dates to their terms, as many exports do. */
function courseDates(plan: Plan, c: number): Dates {
  if (hashOf(plan.seed, 'dated', c) % 2 === 0) return {}
  const { startDate, endDate } = plan.calendar[spanOf(plan, c)]
  return { beginDate: startDate, endDate }
}

const hex = (value: number) => value.toString(16).padStart(8, '0')

/** Every class of student `i`: spread evenly over the year's, so that each kind has its share. */
export function* enrolmentsOf(plan: Plan, i: number): Generator<Row<'enrollments'>> {
  const [year, group] = [yearOfStudent(i), groupOfStudent(i)]
  const inYear = classesInYear(plan, year)
  const groups = Math.ceil(plan.students / (studentsAGroup * years))
  const more = i < plan.studentEnrolments % plan.students ? 1 : 0
  const count = Math.floor(plan.studentEnrolments / plan.students) + more
  let nthRotation = 0
  for (let nth = 0; nth < count; nth++) {
    const place = Math.floor(((nth + group / groups) * inYear) / count)
    const c = classOfYear(year, place)
    const dates =
      kindOf(plan, c) === 'rotation' ? rotationDates(plan, year, group, nthRotation++) : courseDates(plan, c)
    yield {
      // The first part in no order, as most systems give them out; the rest keeps it unique.
      sourcedId: `${hex(hashOf(plan.seed, 'enrolment', i, nth))}-${i + 1}-${nth + 1}`,
      ...{ classSourcedId: classId(c), schoolSourcedId: schoolId, userSourcedId: studentId(i) },
      ...{ role: 'student', primary: 'false', ...dates },
    }
  }
}

function* teacherEnrolments(plan: Plan, c: number): Generator<Row<'enrollments'>> {
  for (const [nth, teacher] of teachersOf(plan.seed, plan.teachers, c).entries())
    yield {
      sourcedId: `${hex(hashOf(plan.seed, 'teaching', c, nth))}-t${c + 1}-${nth + 1}`,
      ...{ classSourcedId: classId(c), schoolSourcedId: schoolId, userSourcedId: teacherId(teacher) },
      ...{ role: 'teacher', primary: String(nth === 0) },
    }
}

export function* enrolmentRows(plan: Plan): Generator<Row<'enrollments'>> {
  for (let c = 0; c < plan.classes; c++) yield* teacherEnrolments(plan, c)
  for (const i of present(plan)) yield* enrolmentsOf(plan, i)
}
