/**
 * Makes the content of a set from a Canvas SIS export or provisioning report: users.csv, courses.csv, enrollments.csv,
 * sections.csv and terms.csv. Ids are those of Canvas. A section is a class; so is a course that has enrolments of its
 * own. Canvas keeps roles in enrolments only, so people without one are skipped unless declared_user_type is set.
 */
import { aboutFile } from '../findings.ts'
import type { Days } from './day-text.ts'
import { type ExportFiles, type ExportReading, type ExportRow, emailIn, tellSkipped } from './export-files.ts'
import { nameFrom } from './person-name.ts'
import type { SetPerson } from './set.ts'

export const isCanvas = async (files: ExportFiles): Promise<boolean> =>
  files.has('users', 'enrollments') &&
  ((await files.hasColumn('users', 'userid')) || (await files.hasColumn('users', 'canvasuserid')))

export async function readCanvas(reading: ExportReading): Promise<void> {
  if (!reading.files.needs('users', 'courses', 'enrollments')) return
  const leftOut = await new CanvasReader(reading).read()
  if (leftOut === 0) return
  const message = `${leftOut === 1 ? '1 person has' : `${leftOut} people have`} no enrolment and no declared_user_type, so their role is unknown; they were skipped.`
  reading.log.add(aboutFile('warning', 'no-role', 'users.csv', message))
}

const orgId = 'school'
const roles: Readonly<Record<string, 'student' | 'teacher' | 'aide'>> = {
  ...{ student: 'student', studentenrollment: 'student' },
  ...{ teacher: 'teacher', teacherenrollment: 'teacher', ta: 'aide', taenrollment: 'aide' },
}
const goneStatuses = new Set(['deleted', 'inactive', 'rejected', 'deleted_last_completed'])

interface Section {
  readonly title: string
  readonly days: Days | null
}

interface Course extends Section {
  readonly code: string
  readonly termId: string
}

class CanvasReader {
  readonly #reading: ExportReading
  readonly #terms = new Map<string, Section>()
  readonly #courses = new Map<string, Course>()
  readonly #sections = new Map<string, Section & { readonly courseId: string }>()
  readonly #people = new Map<string, Omit<SetPerson, 'role'> & { declared: string }>()
  readonly #roles = new Map<string, SetPerson['role']>()

  constructor(reading: ExportReading) {
    this.#reading = reading
  }

  /** Returns how many people have no role. */
  async read(): Promise<number> {
    const { files, options, content } = this.#reading
    content.orgs.set(orgId, options.schoolName)
    for await (const row of files.rows('terms'))
      if (!isGone(row)) this.#terms.set(termIn(row), { title: row.text('name'), days: daysOf(row) })
    for await (const row of files.rows('courses')) if (!isGone(row)) this.#course(row)
    for await (const row of files.rows('sections'))
      if (!isGone(row)) {
        const id = sectionIn(row)
        this.#sections.set(id, { courseId: courseIn(row), title: row.text('name'), days: daysOf(row) })
      }
    for await (const row of files.rows('users')) if (row.text('status') !== 'deleted') this.#user(row)
    for await (const row of files.rows('enrollments')) if (!isGone(row)) this.#enrolment(row)
    let leftOut = 0
    for (const [id, { declared, ...person }] of this.#people) {
      const role = this.#roles.get(id) ?? (declared === 'student' || declared === 'teacher' ? declared : null)
      if (role === null) leftOut++
      else content.people.set(id, { ...person, role })
    }
    return leftOut
  }

  #course(row: ExportRow): void {
    const id = courseIn(row)
    const title = row.text('longname') || row.text('shortname') || id
    const termId = termIn(row)
    this.#courses.set(id, { title, code: row.text('shortname'), termId, days: daysOf(row) })
  }

  #user(row: ExportRow): void {
    const id = userIn(row)
    const [given, family] = [row.name('firstname'), row.name('lastname')]
    const full = row.name('sortablename') || row.name('fullname') || row.name('shortname') || ''
    const email = emailIn(row, 'email', 'loginid')
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
    const personId = userIn(row)
    const sectionId = sectionIn(row)
    const courseId = this.#sections.get(sectionId)?.courseId ?? courseIn(row)
    if (!this.#people.has(personId)) return void tellSkipped(row, 'userid', `nobody in users.csv has this id`)
    const course = this.#courses.get(courseId)
    if (!course) return void tellSkipped(row, 'courseid', 'no course of courses.csv has this id')
    const classId = this.#sections.has(sectionId) ? sectionId : courseId
    if (this.#roles.get(personId) !== 'student')
      this.#roles.set(personId, role === 'student' ? 'student' : 'teacher')
    if (this.#class(classId, courseId, course, row))
      this.#reading.content.enrol({ classId, personId, role }, daysOf(row) ?? undefined)
  }

  #class(id: string, courseId: string, course: Course, row: ExportRow): boolean {
    const { files, options, content } = this.#reading
    if (content.classes.has(id)) return true
    const section = this.#sections.get(id)
    const term = this.#terms.get(course.termId)
    const name = term?.title || course.termId
    const given = options.terms.of(name, null)
    const own = section?.days ?? course.days ?? term?.days ?? null
    const days = name === '' ? (own ?? given) : (given ?? own)
    if (days === null) {
      const message = `Neither terms.csv nor courses.csv has dates for "${course.title}". Give the first and the last day,`
      files.tellNoDays(row, 'courseid', name, message)
      return false
    }
    const isOwn = days !== term?.days || course.termId === ''
    // Term ids are joined with commas in classes.csv.
    const plainId = course.termId.replaceAll(',', '_')
    const termId = isOwn ? [plainId, days.start, days.end].filter(Boolean).join('-') : plainId
    const { title, code } = course
    content.courses.set(courseId, { title, code })
    const about = { title: section?.title || title, code, kind: 'course', courseId, orgId } as const
    content.addClass(id, about, [content.addTerm(termId, name, days)])
    return true
  }
}

/** Rows created by hand in Canvas have no SIS id. */
function keyOf(row: ExportRow, own: string, canvas: string): string {
  const id = row.id(own) ?? ''
  const number = row.id(canvas) ?? ''
  return id !== '' || number === '' ? id : `canvas-${number}`
}

const userIn = (row: ExportRow) => keyOf(row, 'userid', 'canvasuserid')
const termIn = (row: ExportRow) => keyOf(row, 'termid', 'canvastermid')
const courseIn = (row: ExportRow) => keyOf(row, 'courseid', 'canvascourseid')
const sectionIn = (row: ExportRow) => keyOf(row, 'sectionid', 'canvassectionid')

const isGone = (row: ExportRow) => goneStatuses.has(row.text('status').toLowerCase())

/** null unless both are set: Canvas allows either to be open. */
function daysOf(row: ExportRow): Days | null {
  if (row.text('startdate') === '' || row.text('enddate') === '') return null
  const days = row.days('startdate', 'enddate', null)
  return days === 'refused' ? null : days
}
