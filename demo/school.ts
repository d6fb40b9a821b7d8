/**
 * A small veterinary school as OneRoster 1.2 CSV: sixty students, twelve teachers, five years. Its dates depend on the
 * given day, so that there are always past, current and future classes. People are in people.ts, courses and classes in
 * classes.ts.
 */
import { addDays, addWeeks, type Calendar, calendarAround } from './calendar.ts'
import {
  type Class,
  classes,
  courses,
  handlingCode,
  meetsOf,
  rotationCodes,
  type Span,
  shelterCode,
} from './classes.ts'
import { type FileName, headerLine, manifest, type Row, rowLine } from './oneroster.ts'
import {
  plainLetters,
  type Student,
  studentDomain,
  students,
  type Teacher,
  teacherDomain,
  teachers,
} from './people.ts'

const universityId = 'university'
const schoolId = 'vet-school'
const weeksARotation = 3
/** On leave in this round: has past and future rotations, but none now. */
const onLeave = 'oscar.nystrom'

export interface DemoAddress {
  readonly email: string
  readonly who: string
}

function demoAddress(local: string, who: string): DemoAddress {
  return { email: `${local}@${studentDomain}`, who }
}

export const demoAddresses: readonly DemoAddress[] = [
  demoAddress('eleanor.whitcombe', 'Eleanor, year 5, on rotation in Equine Surgery now'),
  demoAddress('amelie.rousseau', 'Amélie, year 1, courses and practicals'),
  demoAddress('alexandra.petrova', 'Alexandra, year 3, called Sasha, they/them'),
  demoAddress('hannah.kohler', 'Hannah, year 4, courses and a shelter placement now'),
  demoAddress(onLeave, 'Oscar, year 5, no classes at present'),
  demoAddress('henry.ashworth', 'Henry, year 2, not enabled: cannot sign in'),
]

/** Teaches by the roster, and is registered as well. */
export const demoVeterinarian = {
  ...demoName('medicine'),
  who: 'Naomi, a veterinarian who teaches years 4 and 5',
}

function demoName(key: string) {
  const teacher = teachers.find((one) => one.key === key)!
  return { email: teacherAddress(teacher), firstname: teacher.given, lastname: teacher.family }
}

function teacherAddress({ given, family }: Teacher): string {
  return `${plainLetters(given)}.${plainLetters(family)}@${teacherDomain}`
}

interface Dates {
  readonly beginDate?: string
  readonly endDate?: string
}

/** From the Monday `offset` weeks from now to the Friday `weeks` later. */
function weeksFrom(calendar: Calendar, offset: number, weeks: number): Dates {
  const beginDate = addWeeks(calendar.monday, offset)
  return { beginDate, endDate: addDays(beginDate, weeks * 7 - 3) }
}

/** Three past, one now (in its second week), two ahead: each pair of students does all six rotations. */
function rotationDates(calendar: Calendar, nth: number, code: string): Dates {
  const pair = nth >> 1
  const place = (rotationCodes.indexOf(code) - pair + rotationCodes.length) % rotationCodes.length
  const round = place > 2 ? place - rotationCodes.length : place
  return weeksFrom(calendar, round * weeksARotation - 1, weeksARotation)
}

function isNow(dates: Dates, calendar: Calendar): boolean {
  return dates.beginDate! <= calendar.monday && calendar.monday <= dates.endDate!
}

/** Null if the student is not in the class. `nth` counts the students of a year. */
function datesIn({ code, type }: Class, student: Student, nth: number, calendar: Calendar): Dates | null {
  if (rotationCodes.includes(code)) {
    const dates = rotationDates(calendar, nth, code)
    return student.local === onLeave && isNow(dates, calendar) ? null : dates
  }
  if (student.local === onLeave) return null
  if (code === 'ANAT1-PA' || code === 'ANAT1-PB') return (nth % 2 === 0) === (code === 'ANAT1-PA') ? {} : null
  if (code === handlingCode) return weeksFrom(calendar, -14, 6)
  if (code === shelterCode) return weeksFrom(calendar, [-7, 0, 5][nth >> 2]!, 2)
  return type === 'homeroom' ? { beginDate: calendar.year.startDate } : {}
}

const teacherId = (key: string) => `teacher-${key}`
const classId = (code: string) => `class-${code.toLowerCase()}`
const courseId = (code: string) => `course-${code.toLowerCase()}`
const studentId = (i: number) => `student-${String(i + 1).padStart(3, '0')}`

const orgRows: readonly Row<'orgs'>[] = [
  { sourcedId: universityId, name: 'University of Pelion', type: 'district', identifier: 'UPEL' },
  {
    ...{ sourcedId: schoolId, name: 'Pelion School of Veterinary Medicine', type: 'school' },
    ...{ identifier: 'PSVM', parentSourcedId: universityId },
  },
]

function courseRows({ year }: Calendar): Row<'courses'>[] {
  return courses.map((course) => ({
    sourcedId: courseId(course.code),
    schoolYearSourcedId: year.sourcedId,
    title: course.title,
    courseCode: course.code,
    grades: course.year === null ? '' : String(course.year),
    orgSourcedId: schoolId,
    subjects: course.subjects.join(','),
  }))
}

function termIds(span: Span, { first, second }: Calendar): string {
  if (span === 'year') return `${first.sourcedId},${second.sourcedId}`
  return span === 'first' ? first.sourcedId : second.sourcedId
}

function classRows(calendar: Calendar): Row<'classes'>[] {
  return classes.map((one) => ({
    sourcedId: classId(one.code),
    title: one.title,
    grades: String(one.year),
    courseSourcedId: courseId(one.course),
    classCode: one.code,
    classType: one.type,
    location: one.location,
    schoolSourcedId: schoolId,
    termSourcedIds: termIds(one.span, calendar),
    subjects: courses.find(({ code }) => code === one.course)!.subjects.join(','),
    periods: one.periods.join(','),
    'metadata.meets': meetsOf(one.periods),
  }))
}

function studentRow(student: Student, i: number, { year }: Calendar): Row<'users'> {
  const entered = Number(year.startDate.slice(0, 4)) - student.year + 1
  const email = `${student.local}@${studentDomain}`
  return {
    sourcedId: studentId(i),
    enabledUser: String(student.enabled ?? true),
    username: email,
    givenName: student.given,
    familyName: student.family,
    identifier: `V${entered}-${String(i + 1).padStart(3, '0')}`,
    email,
    grades: String(student.year),
    preferredGivenName: student.preferred ?? '',
    primaryOrgSourcedId: schoolId,
    pronouns: student.pronouns ?? '',
  }
}

function teacherRows(): Row<'users'>[] {
  return teachers.map((teacher) => {
    const { key, given, family } = teacher
    const email = teacherAddress(teacher)
    return {
      ...{ sourcedId: teacherId(key), enabledUser: 'true', username: email, email },
      ...{ givenName: given, familyName: family, primaryOrgSourcedId: schoolId },
    }
  })
}

function userRows(calendar: Calendar): Row<'users'>[] {
  return [...teacherRows(), ...students.map((student, i) => studentRow(student, i, calendar))]
}

function roleRow(userId: string, role: 'student' | 'teacher'): Row<'roles'> {
  return {
    ...{ sourcedId: `role-${userId}`, userSourcedId: userId, roleType: 'primary', role },
    orgSourcedId: schoolId,
  }
}

function roleRows(): Row<'roles'>[] {
  return [
    ...teachers.map(({ key }) => roleRow(teacherId(key), 'teacher')),
    ...students.map((_, i) => roleRow(studentId(i), 'student')),
  ]
}

function enrolment(
  code: string,
  userId: string,
  role: string,
  primary: boolean,
  dates: Dates,
): Row<'enrollments'> {
  return {
    ...{ sourcedId: `${code.toLowerCase()}-${userId}`, classSourcedId: classId(code) },
    ...{ schoolSourcedId: schoolId, userSourcedId: userId, role, primary: String(primary), ...dates },
  }
}

function enrolmentsOf(one: Class, calendar: Calendar): Row<'enrollments'>[] {
  const rows = one.teachers.map((key, i) => enrolment(one.code, teacherId(key), 'teacher', i === 0, {}))
  let nth = 0
  for (const [i, student] of students.entries()) {
    if (student.year !== one.year) continue
    const dates = datesIn(one, student, nth++, calendar)
    if (dates !== null) rows.push(enrolment(one.code, studentId(i), 'student', false, dates))
  }
  return rows
}

function file<F extends FileName>(name: F, rows: readonly Row<F>[]): [string, string] {
  return [`${name}.csv`, headerLine(name, '1.2') + rows.map((row) => rowLine<F>(name, '1.2', row)).join('')]
}

/** CSV text by file name, the manifest first. */
export function demoSchool(today: string): Map<string, string> {
  const calendar = calendarAround(today)
  const present: FileName[] = [
    'orgs',
    'academicSessions',
    'courses',
    'classes',
    'users',
    'roles',
    'enrollments',
  ]
  return new Map([
    ['manifest.csv', manifest('1.2', 'bulk', present, 'Chiron demo school')],
    file('orgs', orgRows),
    file('academicSessions', calendar.rows),
    file('courses', courseRows(calendar)),
    file('classes', classRows(calendar)),
    file('users', userRows(calendar)),
    file('roles', roleRows()),
    file(
      'enrollments',
      classes.flatMap((one) => enrolmentsOf(one, calendar)),
    ),
  ])
}
