/**
 * Makes the content of a set from files for Microsoft School Data Sync: version 1 (School.csv, Section.csv, Student.csv,
 * Teacher.csv, StudentEnrollment.csv, TeacherRoster.csv) or 2.1 (orgs.csv, users.csv, roles.csv and so on).
 */
import type { DayOrder } from './day-text.ts'
import { type ExportFiles, type ExportReading, type ExportRow, emailIn, tellSkipped } from './export-files.ts'
import { idOf, type SetContent, type SetPerson, type SetTerm } from './set.ts'

export const isSds1 = (files: ExportFiles): boolean =>
  files.has('student', 'section') || files.has('student', 'school')

/** OneRoster has files of the same names, but its roles have a sourcedId. */
export const isSds2 = async (files: ExportFiles): Promise<boolean> =>
  files.has('orgs', 'users', 'roles') && !(await files.hasColumn('roles', 'sourcedid'))

export async function readSds1(reading: ExportReading): Promise<void> {
  const { files, options, content } = reading
  if (!files.needs('school', 'section', 'student', 'studentenrollment')) return
  for await (const row of files.rows('school')) content.orgs.set(idIn(row, 'sisid'), row.text('name'))
  for (const role of ['student', 'teacher'] as const)
    for await (const row of files.rows(role)) if (!isGone(row)) takePerson1(row, role, content)
  const order = options.dayOrder ?? (await files.dayOrderOf('section', 'termstartdate', 'termenddate'))
  for await (const row of files.rows('section')) if (!isGone(row)) takeSection(row, order, reading)
  for await (const row of files.rows('studentenrollment')) takeEnrolment1(row, 'student', content)
  for await (const row of files.rows('teacherroster')) takeEnrolment1(row, 'teacher', content)
}

const isGone = (row: ExportRow) => /^(inactive|deleted)$/i.test(row.text('status'))
const idIn = (row: ExportRow, column: string) => row.id(column) ?? ''
const yearIn = (row: ExportRow) => /^\d{1,2}$/.exec(row.text('grade'))?.[0] ?? ''

/** A student and a teacher may have the same id. */
function takePerson1(row: ExportRow, role: SetPerson['role'], content: SetContent): void {
  const id = idIn(row, 'sisid')
  const given = row.name('firstname')
  const family = row.name('lastname')
  const isAddress = row.text('username').includes('@')
  const email = row.email(isAddress ? 'username' : 'secondaryemail')
  const number = row.id(role === 'student' ? 'studentnumber' : 'teachernumber')
  if (id === '' || given === null || family === null || email === null || number === null) return
  content.people.set(idOf(role, id), {
    ...{ role, given, family, email, enabled: true },
    number: role === 'student' ? number || id : number,
    year: yearIn(row),
    orgId: orgIn(row, 'schoolsisid', content),
  })
}

/** The named school, or the first if it is missing or unknown. */
function orgIn(row: ExportRow, column: string, content: SetContent): string {
  const [first = ''] = content.orgs.keys()
  return content.orgs.has(idIn(row, column)) ? idIn(row, column) : first
}

function takeSection(
  row: ExportRow,
  order: DayOrder | null,
  { files, options, content }: ExportReading,
): void {
  const id = idIn(row, 'sisid')
  const name = row.text('termname') || row.text('termsisid')
  const days = row.days('termstartdate', 'termenddate', order) ?? options.terms.of(name, order)
  if (id === '') return
  if (days === null) {
    const message = 'This section has no dates. Fill in Term StartDate and Term EndDate, or give them'
    files.tellNoDays(row, 'sisid', name, message)
  }
  const title = row.text('sectionname') || row.text('coursename') || id
  const courseId = idOf('course', idIn(row, 'coursesisid') || id)
  content.courses.set(courseId, { title: row.text('coursename') || title, code: row.text('coursenumber') })
  // Without dates there is no set, but its enrolments need no findings of their own.
  const termIds: string[] = []
  if (days !== null && days !== 'refused') {
    const termId = idOf('term', idIn(row, 'termsisid').replaceAll(',', '_'), days.start, days.end)
    termIds.push(content.addTerm(termId, name, days))
  }
  const code = row.text('sectionnumber')
  const orgId = orgIn(row, 'schoolsisid', content)
  content.addClass(id, { title, code, kind: 'course', courseId, orgId }, termIds)
}

function takeEnrolment1(row: ExportRow, role: SetPerson['role'], content: SetContent): void {
  const classId = idIn(row, 'sectionsisid')
  const personId = idOf(role, idIn(row, 'sisid'))
  if (!content.people.has(personId)) tellSkipped(row, 'sisid', `no ${role} has this id`)
  else if (!content.classes.has(classId)) tellSkipped(row, 'sectionsisid', 'no section has this id')
  else content.enrol({ classId, personId, role })
}

export async function readSds2(reading: ExportReading): Promise<void> {
  const { files, content } = reading
  if (!files.needs('orgs', 'users', 'roles')) return
  for await (const row of files.rows('orgs')) content.orgs.set(idIn(row, 'sourcedid'), row.text('name'))
  const sessions = await readSessions(reading)
  const people = await readRoles(reading)
  for await (const row of files.rows('users')) takePerson2(row, people, content)
  for await (const row of files.rows('courses'))
    content.courses.set(idIn(row, 'sourcedid'), { title: row.text('title'), code: row.text('code') })
  for await (const row of files.rows('classes')) takeClass(row, sessions, reading)
  for await (const row of files.rows('enrollments')) takeEnrolment2(row, content)
}

const sessionTypes: Readonly<Record<string, SetTerm['type']>> = {
  ...{ schoolyear: 'schoolYear', semester: 'semester', gradingperiod: 'gradingPeriod' },
}

async function readSessions({ files, options }: ExportReading): Promise<Map<string, SetTerm>> {
  const sessions = new Map<string, SetTerm>()
  const order = options.dayOrder ?? (await files.dayOrderOf('academicsessions', 'startdate', 'enddate'))
  for await (const row of files.rows('academicsessions')) {
    const days = row.days('startdate', 'enddate', order)
    if (days === null || days === 'refused') continue
    const type = sessionTypes[row.text('type').toLowerCase()] ?? 'term'
    sessions.set(idIn(row, 'sourcedid'), { title: row.text('title'), type, ...days })
  }
  return sessions
}

type RoleOf = ReadonlyMap<string, Pick<SetPerson, 'role' | 'orgId' | 'year'>>

/** A student who also teaches is a student. Other roles are ignored. */
async function readRoles({ files, content }: ExportReading): Promise<RoleOf> {
  const roles = new Map<string, Pick<SetPerson, 'role' | 'orgId' | 'year'>>()
  for await (const row of files.rows('roles')) {
    const role = row.text('role').toLowerCase()
    const id = idIn(row, 'usersourcedid')
    if ((role === 'student' || role === 'teacher') && roles.get(id)?.role !== 'student')
      roles.set(id, { role, orgId: orgIn(row, 'orgsourcedid', content), year: yearIn(row) })
  }
  return roles
}

function takePerson2(row: ExportRow, roles: RoleOf, content: SetContent): void {
  const id = idIn(row, 'sourcedid')
  const role = roles.get(id)
  const [given, family] = [row.name('givenname'), row.name('familyname')]
  const email = emailIn(row, 'email', 'username')
  if (!role || given === null || family === null || email === null) return
  const number = role.role === 'student' ? id : ''
  content.people.set(id, { ...role, given, family, email, number, enabled: true })
}

function takeClass(
  row: ExportRow,
  sessions: ReadonlyMap<string, SetTerm>,
  { files, options, content }: ExportReading,
): void {
  const id = idIn(row, 'sourcedid')
  const listed = row.text('sessionsourcedids').split(',')
  const named = listed.map((each) => each.trim()).filter(Boolean)
  const termIds = named.filter((each) => sessions.has(each))
  for (const each of termIds) content.terms.set(each, sessions.get(each)!)
  const days = termIds.length > 0 ? null : options.terms.of(named[0] ?? '', null)
  if (days !== null) termIds.push(content.addTerm(idOf('term', days.start, days.end), '', days))
  if (termIds.length === 0) {
    const message =
      'This class has no dates. Add academicSessions.csv and sessionSourcedIds, or give the dates'
    files.tellNoDays(row, 'sourcedid', named[0] ?? '', message)
  }
  const title = row.text('title') || id
  const courseId = idIn(row, 'coursesourcedid') || idOf('course', id)
  if (!content.courses.has(courseId)) content.courses.set(courseId, { title, code: '' })
  const code = row.text('code')
  const orgId = orgIn(row, 'orgsourcedid', content)
  content.addClass(id, { title, code, kind: 'course', courseId, orgId }, termIds)
}

function takeEnrolment2(row: ExportRow, content: SetContent): void {
  const role = row.text('role').toLowerCase()
  const classId = idIn(row, 'classsourcedid')
  const personId = idIn(row, 'usersourcedid')
  if (role !== 'student' && role !== 'teacher') return
  if (!content.people.has(personId)) tellSkipped(row, 'usersourcedid', 'no student or teacher has this id')
  else if (!content.classes.has(classId)) tellSkipped(row, 'classsourcedid', 'no class has this id')
  else content.enrol({ classId, personId, role })
}
