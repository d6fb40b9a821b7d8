/**
 * Makes the content of a set from a Canvas SIS export or provisioning report: users.csv, courses.csv, enrollments.csv,
 * sections.csv and terms.csv. Ids are those of Canvas. A section is a class; so is a course that has enrolments of its
 * own. Canvas keeps roles in enrolments only, so people without one are skipped unless declared_user_type is set.
 */
import type { FindingLog } from '../findings.ts'
import { aboutFile } from '../findings.ts'
import type { ListOptions } from './class-list.ts'
import type { Days } from './day-text.ts'
import type { ExportFiles, ExportRow } from './export-files.ts'
import { nameFrom } from './person-name.ts'
import type { SetContent, SetPerson } from './set.ts'

export const isCanvas = async (files: ExportFiles): Promise<boolean> =>
  files.has('users', 'enrollments') &&
  ((await files.hasColumn('users', 'userid')) || (await files.hasColumn('users', 'canvasuserid')))

export async function readCanvas(
  files: ExportFiles,
  options: ListOptions,
  content: SetContent,
  log: FindingLog,
): Promise<void> {
  if (!files.needs('users', 'courses', 'enrollments')) return
  await new CanvasReader(files, options, content, log).read()
}

const orgId = 'school'
const roles: Readonly<Record<string, 'student' | 'teacher' | 'aide'>> = {
  ...{ student: 'student', studentenrollment: 'student' },
  ...{ teacher: 'teacher', teacherenrollment: 'teacher', ta: 'aide', taenrollment: 'aide' },
}
const goneStatuses = new Set(['deleted', 'inactive', 'rejected', 'deleted_last_completed'])

interface Course {
  readonly title: string
  readonly code: string
  readonly termId: string
  readonly days: Days | null
}

class CanvasReader {
  readonly #files: ExportFiles
  readonly #options: ListOptions
  readonly #content: SetContent
  readonly #log: FindingLog
  readonly #terms = new Map<string, { title: string; days: Days | null }>()
  readonly #courses = new Map<string, Course>()
  readonly #sections = new Map<string, { courseId: string; title: string; days: Days | null }>()
  readonly #people = new Map<string, Omit<SetPerson, 'role'> & { declared: string }>()
  readonly #roles = new Map<string, SetPerson['role']>()
  readonly #told = new Set<string>()

  constructor(files: ExportFiles, options: ListOptions, content: SetContent, log: FindingLog) {
    this.#files = files
    this.#options = options
    this.#content = content
    this.#log = log
  }

  async read(): Promise<void> {
    this.#content.orgs.set(orgId, this.#options.schoolName)
    for await (const row of this.#files.rows('terms'))
      if (!isGone(row))
        this.#terms.set(keyOf(row, 'termid', 'canvastermid'), { title: row.text('name'), days: daysOf(row) })
    for await (const row of this.#files.rows('courses')) if (!isGone(row)) this.#course(row)
    for await (const row of this.#files.rows('sections'))
      if (!isGone(row))
        this.#sections.set(keyOf(row, 'sectionid', 'canvassectionid'), {
          courseId: keyOf(row, 'courseid', 'canvascourseid'),
          title: row.text('name'),
          days: daysOf(row),
        })
    for await (const row of this.#files.rows('users')) if (row.text('status') !== 'deleted') this.#user(row)
    for await (const row of this.#files.rows('enrollments')) if (!isGone(row)) this.#enrolment(row)
    this.#takePeople()
  }

  #course(row: ExportRow): void {
    const id = keyOf(row, 'courseid', 'canvascourseid')
    const title = row.text('longname') || row.text('shortname') || id
    const termId = keyOf(row, 'termid', 'canvastermid')
    this.#courses.set(id, { title, code: row.text('shortname'), termId, days: daysOf(row) })
  }

  #user(row: ExportRow): void {
    const id = keyOf(row, 'userid', 'canvasuserid')
    const [given, family] = [row.name('firstname'), row.name('lastname')]
    const full = row.name('sortablename') || row.name('fullname') || row.name('shortname') || ''
    const email =
      row.text('email') === '' && row.text('loginid').includes('@')
        ? row.email('loginid')
        : row.email('email')
    const number = row.id('userid')
    if (id === '' || given === null || family === null || email === null || number === null) return
    const name = given === '' && family === '' ? nameFrom(full, false) : { given, family }
    const enabled = row.text('status') !== 'suspended'
    const declared = row.text('declaredusertype').toLowerCase()
    this.#people.set(id, { ...name, number, email, year: '', enabled, orgId, declared })
  }

  #enrolment(row: ExportRow): void {
    const role = roles[row.text('role').toLowerCase()]
    if (role === undefined) return
    const personId = keyOf(row, 'userid', 'canvasuserid')
    const sectionId = keyOf(row, 'sectionid', 'canvassectionid')
    const courseId = this.#sections.get(sectionId)?.courseId ?? keyOf(row, 'courseid', 'canvascourseid')
    if (!this.#people.has(personId)) return void dangling(row, 'userid', `nobody in users.csv has this id`)
    const course = this.#courses.get(courseId)
    if (!course) return void dangling(row, 'courseid', 'no course of courses.csv has this id')
    const classId = this.#sections.has(sectionId) ? sectionId : courseId
    if (this.#roles.get(personId) !== 'student')
      this.#roles.set(personId, role === 'student' ? 'student' : 'teacher')
    if (!this.#class(classId, courseId, course, row)) return
    const days = daysOf(row)
    this.#content.enrol({ classId, personId, role, start: days?.start ?? '', end: days?.end ?? '' })
  }

  #class(id: string, courseId: string, course: Course, row: ExportRow): boolean {
    if (this.#content.classes.has(id)) return true
    const section = this.#sections.get(id)
    const term = this.#terms.get(course.termId)
    const name = term?.title || course.termId
    const given = this.#options.terms.of(name, null)
    const own = section?.days ?? course.days ?? term?.days ?? null
    const days = name === '' ? (own ?? given) : (given ?? own)
    if (days === null) return this.#noDays(course, name, row)
    const isOwn = days !== term?.days || course.termId === ''
    // Term ids are joined with commas in classes.csv.
    const plainId = course.termId.replaceAll(',', '_')
    const termId = isOwn ? [plainId, days.start, days.end].filter(Boolean).join('-') : plainId
    const title = name || `${days.start} – ${days.end}`
    this.#content.terms.set(termId, { title, type: 'term', ...days })
    this.#content.courses.set(courseId, { title: course.title, code: course.code })
    this.#content.classes.set(id, {
      title: section?.title || course.title,
      code: course.code,
      kind: 'course',
      courseId,
      orgId,
      termIds: new Set([termId]),
      rooms: new Set(),
      meets: new Set(),
    })
    return true
  }

  #noDays(course: Course, term: string, row: ExportRow): false {
    if (this.#told.has(term)) return false
    this.#told.add(term)
    const which = term === '' ? '' : `${term}=`
    const message = `Neither terms.csv nor courses.csv has dates for "${course.title}". Give the first and the last day, in the console or with --term "${which}2026-09-01..2027-01-31".`
    row.tell('error', 'missing-term', 'courseid', message)
    return false
  }

  #takePeople(): void {
    let leftOut = 0
    for (const [id, { declared, ...person }] of this.#people) {
      const role = this.#roles.get(id) ?? (declared === 'student' || declared === 'teacher' ? declared : null)
      if (role === null) leftOut++
      else this.#content.people.set(id, { ...person, role })
    }
    if (leftOut === 0) return
    const message = `${leftOut === 1 ? '1 person has' : `${leftOut} people have`} no enrolment and no declared_user_type, so their role is unknown; they were skipped.`
    this.#log.add(aboutFile('warning', 'no-role', 'users.csv', message))
  }
}

/** Rows created by hand in Canvas have no SIS id. */
function keyOf(row: ExportRow, own: string, canvas: string): string {
  const id = row.id(own) ?? ''
  const number = row.id(canvas) ?? ''
  return id !== '' || number === '' ? id : `canvas-${number}`
}

const isGone = (row: ExportRow) => goneStatuses.has(row.text('status').toLowerCase())

/** null unless both are set: Canvas allows either to be open. */
function daysOf(row: ExportRow): Days | null {
  if (row.text('startdate') === '' || row.text('enddate') === '') return null
  const days = row.days('startdate', 'enddate', null)
  return days === 'refused' ? null : days
}

function dangling(row: ExportRow, column: string, why: string): void {
  row.tell('warning', 'dangling-reference', column, `The enrolment was skipped: ${why}.`)
}
