/**
 * Makes the content of a set from files for Microsoft School Data Sync: version 1 (School.csv, Section.csv, Student.csv,
 * Teacher.csv, StudentEnrollment.csv, TeacherRoster.csv) or 2.1 (orgs.csv, users.csv, roles.csv and so on).
 */
import type { ListOptions } from './class-list.ts'
import type { DayOrder, Days } from './day-text.ts'
import type { ExportFiles, ExportRow } from './export-files.ts'
import { idOf, type SetContent, type SetPerson, type SetTerm } from './set.ts'

export const isSds1 = (files: ExportFiles): boolean =>
  files.has('student', 'section') || files.has('student', 'school')

/** OneRoster has files of the same names, but its roles have a sourcedId. */
export const isSds2 = async (files: ExportFiles): Promise<boolean> =>
  files.has('orgs', 'users', 'roles') && !(await files.hasColumn('roles', 'sourcedid'))

export async function readSds1(files: ExportFiles, options: ListOptions, content: SetContent): Promise<void> {
  if (!files.needs('school', 'section', 'student', 'studentenrollment')) return
  for await (const row of files.rows('school')) content.orgs.set(idIn(row, 'sisid'), row.text('name'))
  for (const role of ['student', 'teacher'] as const)
    for await (const row of files.rows(role)) if (!isGone(row)) takePerson1(row, role, content)
  const order = await files.dayOrderOf('section', 'termstartdate', 'termenddate')
  const told = new Set<string>()
  for await (const row of files.rows('section'))
    if (!isGone(row)) takeSection(row, order, options, content, told)
  await takeEnrolments1(files, 'studentenrollment', 'student', content)
  await takeEnrolments1(files, 'teacherroster', 'teacher', content)
}

const isGone = (row: ExportRow) => /^(inactive|deleted)$/i.test(row.text('status'))
const idIn = (row: ExportRow, column: string) => row.id(column) ?? ''

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
    ...{ role, given, family, email },
    number: role === 'student' ? number || id : number,
    year: /^\d{1,2}$/.exec(row.text('grade'))?.[0] ?? '',
    enabled: true,
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
  options: ListOptions,
  content: SetContent,
  told: Set<string>,
): void {
  const id = idIn(row, 'sisid')
  const name = row.text('termname') || row.text('termsisid')
  const days = row.days('termstartdate', 'termenddate', order) ?? options.terms.of(name, order)
  if (id === '') return
  if (days === null) noDays(row, name, told)
  // Without dates there is no set; its enrolments need no findings of their own.
  const termIds = new Set<string>()
  const title = row.text('sectionname') || row.text('coursename') || id
  const courseId = idOf('course', idIn(row, 'coursesisid') || id)
  content.courses.set(courseId, { title: row.text('coursename') || title, code: row.text('coursenumber') })
  if (days !== null && days !== 'refused') {
    const termId = idOf('term', idIn(row, 'termsisid').replaceAll(',', '_'), days.start, days.end)
    content.terms.set(termId, { title: name || `${days.start} – ${days.end}`, type: 'term', ...days })
    termIds.add(termId)
  }
  content.classes.set(id, {
    ...{ title, code: row.text('sectionnumber'), kind: 'course', courseId },
    orgId: orgIn(row, 'schoolsisid', content),
    ...{ termIds, rooms: new Set(), meets: new Set() },
  })
}

function noDays(row: ExportRow, name: string, told: Set<string>): void {
  if (told.has(name)) return
  told.add(name)
  const which = name === '' ? '' : `${name}=`
  const message = `This section has no dates. Fill in Term StartDate and Term EndDate, or give them in the console or with --term "${which}2026-09-01..2027-01-31".`
  row.tell('error', 'missing-term', 'sisid', message)
}

async function takeEnrolments1(
  files: ExportFiles,
  file: string,
  role: SetPerson['role'],
  content: SetContent,
): Promise<void> {
  for await (const row of files.rows(file)) {
    const classId = idIn(row, 'sectionsisid')
    const personId = idOf(role, idIn(row, 'sisid'))
    if (!content.people.has(personId)) dangling(row, 'sisid', `no ${role} has this id`)
    else if (!content.classes.has(classId)) dangling(row, 'sectionsisid', 'no section has this id')
    else content.enrol({ classId, personId, role, start: '', end: '' })
  }
}

function dangling(row: ExportRow, column: string, why: string): void {
  row.tell('warning', 'dangling-reference', column, `The enrolment was skipped: ${why}.`)
}

export async function readSds2(files: ExportFiles, options: ListOptions, content: SetContent): Promise<void> {
  if (!files.needs('orgs', 'users', 'roles')) return
  for await (const row of files.rows('orgs')) content.orgs.set(idIn(row, 'sourcedid'), row.text('name'))
  const sessions = await readSessions(files)
  const people = await readRoles(files, content)
  for await (const row of files.rows('users')) takePerson2(row, people, content)
  for await (const row of files.rows('courses'))
    content.courses.set(idIn(row, 'sourcedid'), { title: row.text('title'), code: row.text('code') })
  const told = new Set<string>()
  for await (const row of files.rows('classes')) takeClass(row, sessions, options, content, told)
  for await (const row of files.rows('enrollments')) takeEnrolment2(row, content)
}

const sessionTypes: Readonly<Record<string, SetTerm['type']>> = {
  ...{ schoolyear: 'schoolYear', semester: 'semester', gradingperiod: 'gradingPeriod' },
}

async function readSessions(files: ExportFiles): Promise<Map<string, SetTerm>> {
  const sessions = new Map<string, SetTerm>()
  const order = await files.dayOrderOf('academicsessions', 'startdate', 'enddate')
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
async function readRoles(files: ExportFiles, content: SetContent): Promise<RoleOf> {
  const roles = new Map<string, Pick<SetPerson, 'role' | 'orgId' | 'year'>>()
  for await (const row of files.rows('roles')) {
    const role = row.text('role').toLowerCase()
    const id = idIn(row, 'usersourcedid')
    if ((role !== 'student' && role !== 'teacher') || roles.get(id)?.role === 'student') continue
    const year = /^\d{1,2}$/.exec(row.text('grade'))?.[0] ?? ''
    roles.set(id, { role, orgId: orgIn(row, 'orgsourcedid', content), year })
  }
  return roles
}

function takePerson2(row: ExportRow, roles: RoleOf, content: SetContent): void {
  const id = idIn(row, 'sourcedid')
  const role = roles.get(id)
  const [given, family] = [row.name('givenname'), row.name('familyname')]
  const isAddress = row.text('email') === '' && row.text('username').includes('@')
  const email = row.email(isAddress ? 'username' : 'email')
  if (!role || given === null || family === null || email === null) return
  const number = role.role === 'student' ? id : ''
  content.people.set(id, { ...role, given, family, email, number, enabled: true })
}

function takeClass(
  row: ExportRow,
  sessions: ReadonlyMap<string, SetTerm>,
  options: ListOptions,
  content: SetContent,
  told: Set<string>,
): void {
  const id = idIn(row, 'sourcedid')
  const termIds = new Set<string>()
  const named = row
    .text('sessionsourcedids')
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean)
  for (const each of named) {
    const term = sessions.get(each)
    if (term) content.terms.set(each, term)
    if (term) termIds.add(each)
  }
  if (termIds.size === 0) {
    const days = options.terms.of(named[0] ?? '', null)
    if (days === null) noDays2(row, named[0] ?? '', told)
    else termIds.add(takeDays(days, content))
  }
  const title = row.text('title') || id
  const courseId = idIn(row, 'coursesourcedid') || idOf('course', id)
  if (!content.courses.has(courseId)) content.courses.set(courseId, { title, code: '' })
  content.classes.set(id, {
    ...{ title, code: row.text('code'), kind: 'course', courseId, termIds },
    orgId: orgIn(row, 'orgsourcedid', content),
    ...{ rooms: new Set(), meets: new Set() },
  })
}

function takeDays(days: Days, content: SetContent): string {
  const id = idOf('term', days.start, days.end)
  content.terms.set(id, { title: `${days.start} – ${days.end}`, type: 'term', ...days })
  return id
}

function noDays2(row: ExportRow, name: string, told: Set<string>): void {
  if (told.has(name)) return
  told.add(name)
  const which = name === '' ? '' : `${name}=`
  const message = `This class has no dates. Add academicSessions.csv and sessionSourcedIds, or give the dates in the console or with --term "${which}2026-09-01..2027-01-31".`
  row.tell('error', 'missing-term', 'sourcedid', message)
}

function takeEnrolment2(row: ExportRow, content: SetContent): void {
  const role = row.text('role').toLowerCase()
  const classId = idIn(row, 'classsourcedid')
  const personId = idIn(row, 'usersourcedid')
  if (role !== 'student' && role !== 'teacher') return
  if (!content.people.has(personId)) dangling(row, 'usersourcedid', 'no student or teacher has this id')
  else if (!content.classes.has(classId)) dangling(row, 'classsourcedid', 'no class has this id')
  else content.enrol({ classId, personId, role, start: '', end: '' })
}
