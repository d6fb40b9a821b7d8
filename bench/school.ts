/**
 * A veterinary school of any size as OneRoster CSV. The same options give the same bytes. Every row is made from its
 * number and written at once, so memory does not grow with the school.
 *
 *   node bench/school.ts --students 20000 --classes 1500 --enrolments 200000 --out school.zip
 *     [--seed 1] [--today 2026-03-02] [--leave 0.03] [--rename 0.02] [--delta]
 *
 * --out is a zip if it ends in .zip, and a folder otherwise. --leave and --rename are shares of the students; --delta
 * writes only these changes.
 */
import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { ZipFile } from 'yazl'
import { addDays, addWeeks, calendarAround } from '../demo/calendar.ts'
import { type FileName, headerLine, manifest, type Row, rowLine } from '../demo/oneroster.ts'
import { plainLetters } from '../demo/people.ts'
import { languages } from './names.ts'

export interface SchoolOptions {
  readonly students: number
  /** Default: one for every 13 students, at least 40. */
  readonly classes?: number
  /** Rows of enrollments.csv before anyone leaves, teachers included. Default: 12 for each student, and the teachers'. */
  readonly enrolments?: number
  readonly seed?: number
  /** YYYY-MM-DD, a day in the school year. */
  readonly today: string
  readonly leave?: number
  readonly rename?: number
  readonly delta?: boolean
}

export interface SchoolFile {
  readonly name: string
  text(): Iterable<string>
}

const version = '1.2'
const pieceLength = 64 * 1024
const years = 5
const studentsPerTeacher = 25
const classesPerStudent = 12
/** Students of a group sit in the same classes and go on rotation together. */
const studentsPerGroup = 24
const [rotationSlots, weeksPerSlot] = [10, 4]
/** Larger than any school, and prime: multiples of it modulo the number of students shuffle them. */
const shuffling = 1_000_003

const [universityId, schoolId] = ['org-university', 'org-vet']
const numbered = (kind: string, i: number) => `${kind}-${String(i + 1).padStart(6, '0')}`

const lectures = [
  ['Anatomy of Domestic Animals', 'Cell Biology', 'Histology', 'Animal Husbandry'],
  ['Physiology', 'Microbiology', 'Parasitology', 'Immunology'],
  ['Pathology', 'Pharmacology', 'Public Health, Food and Law', 'Virology'],
  ['Small Animal Medicine', 'Equine Medicine', 'Anaesthesia', 'Diagnostic Imaging'],
  ['Clinical Reasoning', 'Professional Practice', 'Emergency and Critical Care', 'Evidence in Practice'],
]
const rotations = ['Equine Surgery', 'Anaesthesia, Theatre', 'Exotics', 'Radiology', 'Shelter Medicine']
const kinds = ['homeroom', 'course', 'course', 'course', 'course', 'practical', 'practical', 'tutorial']
const clinicalKinds = ['homeroom', 'course', 'tutorial', 'rotation', 'rotation', 'rotation']

/** A number that depends only on the seed and the labels, so that any row can be made without the others. */
function hash(seed: number, ...labels: readonly (string | number)[]): number {
  let mixed = 0x2545f491
  for (const label of [seed, ...labels])
    for (const value of typeof label === 'number' ? [label] : Buffer.from(label)) {
      mixed = Math.imul(mixed ^ value, 0x9e3779b1)
      mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b)
      mixed = (mixed ^ (mixed >>> 13)) >>> 0
    }
  return mixed
}

class School {
  readonly options: SchoolOptions
  readonly #seed: number
  readonly #teachers: number
  readonly #classes: number
  readonly #studentEnrolments: number
  readonly #leaving: number
  readonly #renamed: number
  readonly #calendar

  constructor(options: SchoolOptions) {
    const { students, leave = 0, rename = 0 } = options
    this.options = options
    this.#seed = options.seed ?? 1
    this.#calendar = calendarAround(options.today)
    this.#teachers = Math.ceil(students / studentsPerTeacher)
    this.#classes = options.classes ?? Math.max(40, Math.round(students / 13))
    const most = Math.floor(this.#classes / years)
    const teaching = Array.from({ length: this.#classes }, (_, c) => this.#teachersOf(c).length)
    const teacherEnrolments = teaching.reduce((sum, count) => sum + count, 0)
    this.#studentEnrolments =
      options.enrolments === undefined
        ? students * Math.min(classesPerStudent, most)
        : options.enrolments - teacherEnrolments
    if (this.#studentEnrolments < 0 || this.#studentEnrolments > students * most)
      throw new Error(`enrolments: from ${teacherEnrolments} to ${teacherEnrolments + students * most}`)
    this.#leaving = Math.round(students * leave)
    this.#renamed = Math.round(students * rename)
    if (options.delta && this.#leaving + this.#renamed === 0) throw new Error('a delta needs leave or rename')
  }

  files(): SchoolFile[] {
    const files = this.options.delta ? this.#delta() : this.#bulk()
    const present = files.map(({ name }) => name.slice(0, -'.csv'.length) as FileName)
    const text = manifest(version, this.options.delta ? 'delta' : 'bulk', present, 'Chiron school generator')
    return [{ name: 'manifest.csv', text: () => [text] }, ...files]
  }

  #bulk(): SchoolFile[] {
    return [
      fileOf('orgs', () => [
        { sourcedId: universityId, name: 'University of Pelion', type: 'district' },
        { sourcedId: schoolId, name: 'Veterinary School', type: 'school', parentSourcedId: universityId },
      ]),
      fileOf('academicSessions', () => this.#calendar.rows),
      fileOf('courses', () => this.#courses()),
      fileOf('classes', () => this.#each(this.#classes, (c) => [this.#class(c)])),
      fileOf('users', () => this.#people((id, i) => [i === null ? this.#teacher(id) : this.#student(i)])),
      fileOf('roles', () => this.#people((id, i) => [role(id, i === null ? 'teacher' : 'student')])),
      fileOf('enrollments', () => this.#enrolments()),
    ]
  }

  /** A file without rows is left out: it would say that there is nothing. */
  #delta(): SchoolFile[] {
    const users = fileOf('users', () => this.#changed('users', (i) => [this.#student(i)]))
    if (this.#leaving === 0) return [users]
    return [
      users,
      fileOf('roles', () => this.#changed('roles', (i) => [role(numbered('stu', i), 'student')])),
      fileOf('enrollments', () => this.#changed('enrollments', (i) => this.#enrolmentsOf(i))),
    ]
  }

  *#each<T>(count: number, rows: (i: number) => Iterable<T>): Generator<T> {
    for (let i = 0; i < count; i++) yield* rows(i)
  }

  /** Teachers, for whom `i` is null, and the students who have not left. */
  *#people<T>(rows: (id: string, i: number | null) => Iterable<T>): Generator<T> {
    for (let i = 0; i < this.#teachers; i++) yield* rows(numbered('tea', i), null)
    for (let i = 0; i < this.options.students; i++)
      if (this.#change(i) !== 'leaves') yield* rows(numbered('stu', i), i)
  }

  *#changed<F extends FileName>(file: F, rows: (i: number) => Iterable<Row<F>>): Generator<Row<F>> {
    const dateLastModified = `${this.options.today}T00:00:00.000Z`
    for (let i = 0; i < this.options.students; i++) {
      const change = this.#change(i)
      if (change === null || (file !== 'users' && change !== 'leaves')) continue
      const status = change === 'leaves' ? 'tobedeleted' : 'active'
      for (const row of rows(i)) yield { ...row, status, dateLastModified } as Row<F>
    }
  }

  #change(i: number): 'leaves' | 'renamed' | null {
    const place = (i * shuffling + this.#seed) % this.options.students
    if (place < this.#leaving) return 'leaves'
    return place < this.#leaving + this.#renamed ? 'renamed' : null
  }

  #pick<T>(from: readonly T[], ...labels: readonly (string | number)[]): T {
    return from[hash(this.#seed, ...labels) % from.length]!
  }

  #nameOf(id: string) {
    const { given, family } = this.#pick(languages, 'language', id)
    return { givenName: this.#pick(given, 'given', id), familyName: this.#pick(family, 'family', id) }
  }

  #student(i: number): Row<'users'> {
    const id = numbered('stu', i)
    const name = this.#nameOf(id)
    const familyName = this.#change(i) === 'renamed' ? `${name.familyName}-Hill` : name.familyName
    return {
      ...{ sourcedId: id, username: `s${i + 1}`, ...name, familyName, primaryOrgSourcedId: schoolId },
      enabledUser: String(hash(this.#seed, 'disabled', i) % 200 !== 0),
      identifier: `V-${String(i + 1).padStart(6, '0')}`,
      email: `${plainLetters(name.familyName).slice(0, 20) || 'student'}${i + 1}@students.example.edu`,
      grades: String((i % years) + 1),
      preferredGivenName: hash(this.#seed, 'nickname', i) % 20 === 0 ? 'Alex' : '',
      pronouns: hash(this.#seed, 'pronouns', i) % 5 === 0 ? 'they/them' : '',
    }
  }

  #teacher(id: string): Row<'users'> {
    const [username, email] = [id, `${id.replace('-', '')}@staff.example.edu`]
    const name = this.#nameOf(id)
    return { sourcedId: id, enabledUser: 'true', username, ...name, email, primaryOrgSourcedId: schoolId }
  }

  *#courses(): Generator<Row<'courses'>> {
    const titles = [['Academic Guidance'], ...lectures, rotations]
    for (const [year, inYear] of titles.entries())
      for (const [nth, title] of inYear.entries())
        yield {
          ...{ sourcedId: `course-${year}${nth}`, title, courseCode: `C${year}${nth}` },
          ...{ schoolYearSourcedId: this.#calendar.year.sourcedId, orgSourcedId: schoolId },
          ...{
            grades: year >= 1 && year <= years ? String(year) : '4,5',
            subjects: title.split(', ').join(','),
          },
        }
  }

  #kind(c: number): string {
    return this.#pick(c % years < 3 ? kinds : clinicalKinds, 'kind', c)
  }

  /** Classes belong to the years in turn. */
  #class(c: number): Row<'classes'> {
    const [kind, year, nth] = [this.#kind(c), (c % years) + 1, Math.floor(c / years)]
    const titles = kind === 'homeroom' ? ['Guidance'] : kind === 'rotation' ? rotations : lectures[year - 1]!
    const of = kind === 'homeroom' ? 0 : kind === 'rotation' ? years + 1 : year
    const title = titles[nth % titles.length]!
    const { first, second } = this.#calendar
    const semesters = kind === 'homeroom' || kind === 'rotation' ? [first, second] : [c % 2 ? first : second]
    return {
      ...{ sourcedId: numbered('cls', c), title: `${title}, ${kind} ${nth + 1}`, classCode: `C${c + 1}` },
      ...{ grades: String(year), courseSourcedId: `course-${of}${nth % titles.length}` },
      classType: kind === 'homeroom' ? kind : kind === 'course' ? 'scheduled' : `ext:${kind}`,
      location: `Hunter Building, Room ${1 + (hash(this.#seed, 'room', c) % 60)}`,
      schoolSourcedId: schoolId,
      termSourcedIds: semesters.map(({ sourcedId }) => sourcedId).join(','),
      subjects: title.split(', ').join(','),
      periods: kind === 'rotation' ? '' : `${this.#pick(['Mon', 'Wed', 'Fri'], 'day', c)} ${1 + (c % 8)}`,
    }
  }

  /** The first one is the primary teacher. */
  #teachersOf(c: number): number[] {
    const assistants = Math.min(hash(this.#seed, 'assistants', c) % 3, this.#teachers - 1)
    return Array.from({ length: assistants + 1 }, (_, nth) => (c + nth) % this.#teachers)
  }

  *#enrolments(): Generator<Row<'enrollments'>> {
    for (let c = 0; c < this.#classes; c++)
      for (const [nth, teacher] of this.#teachersOf(c).entries())
        yield {
          ...this.#enrolment('teacher', teacher, c, nth),
          ...{ userSourcedId: numbered('tea', teacher), role: 'teacher', primary: String(nth === 0) },
        }
    for (let i = 0; i < this.options.students; i++)
      if (this.#change(i) !== 'leaves') yield* this.#enrolmentsOf(i)
  }

  #enrolment(kind: string, person: number, c: number, nth: number): Row<'enrollments'> {
    // Begins with random digits: most systems give out ids in no order.
    const random = hash(this.#seed, kind, person, c).toString(16).padStart(8, '0')
    const sourcedId = `${random}-${kind[0]}${person + 1}-${c + 1}-${nth + 1}`
    return { sourcedId, classSourcedId: numbered('cls', c), schoolSourcedId: schoolId }
  }

  /** The classes of student `i`, spread evenly over those of the year. */
  *#enrolmentsOf(i: number): Generator<Row<'enrollments'>> {
    const { students } = this.options
    const [year, group] = [i % years, Math.floor(i / (studentsPerGroup * years))]
    const [inYear, groups] = [
      Math.ceil((this.#classes - year) / years),
      students / (studentsPerGroup * years),
    ]
    const more = i < this.#studentEnrolments % students ? 1 : 0
    const count = Math.floor(this.#studentEnrolments / students) + more
    for (let nth = 0; nth < count; nth++) {
      const c = Math.floor(((nth + group / Math.ceil(groups)) * inYear) / count) * years + year
      yield {
        ...this.#enrolment('student', i, c, nth),
        ...{ userSourcedId: numbered('stu', i), role: 'student', primary: 'false' },
        ...(this.#kind(c) === 'rotation' ? this.#rotation(group, nth) : {}),
      }
    }
  }

  /** Two to four weeks at the start of a slot of four. */
  #rotation(group: number, nth: number) {
    const slot = (group + nth) % rotationSlots
    const phase = hash(this.#seed, 'phase', group) % weeksPerSlot
    const weeks = 2 + (hash(this.#seed, 'weeks', group, nth) % 3)
    const beginDate = addWeeks(this.#calendar.year.startDate, slot * weeksPerSlot + phase)
    return { beginDate, endDate: addDays(beginDate, weeks * 7 - 3) }
  }
}

const role = (userSourcedId: string, name: string): Row<'roles'> => ({
  ...{
    sourcedId: `role-${userSourcedId}`,
    userSourcedId,
    roleType: 'primary',
    role: name,
    orgSourcedId: schoolId,
  },
})

function fileOf<F extends FileName>(file: F, rows: () => Iterable<Row<F>>): SchoolFile {
  function* text(): Generator<string> {
    let piece = headerLine(file, version)
    for (const row of rows()) {
      piece += rowLine(file, version, row)
      if (piece.length < pieceLength) continue
      yield piece
      piece = ''
    }
    if (piece !== '') yield piece
  }
  return { name: `${file}.csv`, text }
}

export const generateSchool = (options: SchoolOptions): SchoolFile[] => new School(options).files()

export async function writeSchoolFolder(path: string, options: SchoolOptions): Promise<void> {
  await mkdir(path, { recursive: true })
  for (const { name, text } of generateSchool(options))
    await pipeline(Readable.from(text()), createWriteStream(join(path, name)))
}

export async function writeSchoolZip(path: string, options: SchoolOptions): Promise<void> {
  const zip = new ZipFile()
  // Zips keep local times: local midnight gives the same bytes in every time zone.
  const mtime = new Date(`${options.today}T00:00:00`)
  for (const { name, text } of generateSchool(options))
    zip.addReadStreamLazy(name, { mtime, mode: 0o100644, forceDosTimestamp: true }, (give) =>
      give(null, Readable.from(text(), { objectMode: false })),
    )
  zip.end()
  await pipeline(zip.outputStream, createWriteStream(path))
}

if (import.meta.main) {
  const string = { type: 'string' } as const
  const { values } = parseArgs({
    options: {
      ...{
        students: string,
        classes: string,
        enrolments: string,
        seed: string,
        leave: string,
        rename: string,
      },
      ...{ today: string, out: string, delta: { type: 'boolean' } },
    },
  })
  const { out, students, today = new Date().toISOString().slice(0, 10), delta } = values
  if (out === undefined || students === undefined) throw new Error('--students and --out are needed')
  const number = (text: string | undefined) => (text === undefined ? undefined : Number(text))
  const options: SchoolOptions = {
    ...{ students: Number(students), classes: number(values.classes), enrolments: number(values.enrolments) },
    ...{
      seed: number(values.seed),
      leave: number(values.leave),
      rename: number(values.rename),
      today,
      delta,
    },
  }
  await (out.endsWith('.zip') ? writeSchoolZip(out, options) : writeSchoolFolder(out, options))
  process.stdout.write(`${out}: ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB of memory\n`)
}
