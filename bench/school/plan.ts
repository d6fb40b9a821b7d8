/** A generated school's measures, checked and completed: everything else follows from them. */
import { type Calendar, calendarAround } from '../../demo/calendar.ts'
import type { Version } from '../../demo/oneroster.ts'
import { hashOf, shuffle } from './chance.ts'

export interface SchoolOptions {
  readonly students: number
  /** Default: one for 13 students, at least 40. */
  readonly classes?: number
  /** Rows of enrollments.csv before anyone leaves, the teachers' among them. Default: 12 for each student, and theirs. */
  readonly enrolments?: number
  readonly seed?: number
  readonly version?: Version
  /** YYYY-MM-DD: the school year lies around it. */
  readonly today: string
  readonly domain?: string
  readonly classesPerStudentMax?: number
  /** Shares from 0 to 1 of the students who leave, marry, or get another address. No student is two of these. */
  readonly leave?: number
  readonly rename?: number
  readonly changeAddress?: number
  /** Only what those three change, as a delta. */
  readonly delta?: boolean
}

export type Change = 'leaves' | 'renamed' | 'readdressed'

export interface Plan {
  readonly students: number
  readonly teachers: number
  readonly classes: number
  readonly studentEnrolments: number
  readonly teacherEnrolments: number
  readonly seed: number
  readonly version: Version
  readonly today: string
  readonly calendar: Calendar
  readonly domain: string
  readonly leaving: number
  /** The leaving among them. */
  readonly changes: number
  /** What happened to student `i` since the school without changes. */
  change(i: number): Change | null
}

export const universityId = 'org-university'
export const schoolId = 'org-vet'
const numbered = (kind: string, i: number) => `${kind}-${String(i + 1).padStart(6, '0')}`
export const studentId = (i: number) => numbered('stu', i)
export const teacherId = (i: number) => numbered('tea', i)
export const classId = (i: number) => numbered('cls', i)

const studentsATeacher = 25
const classesPerStudent = 12
const assistantsMax = 2

/** Of class `c`, the primary one first; fewer where there are too few. */
export function teachersOf(seed: number, teachers: number, c: number): number[] {
  const assistants = Math.min(hashOf(seed, 'assistants', c) % (assistantsMax + 1), teachers - 1)
  return Array.from({ length: assistants + 1 }, (_, nth) => (c + nth) % teachers)
}

function countTeacherEnrolments(seed: number, teachers: number, classes: number): number {
  let count = 0
  for (let c = 0; c < classes; c++) count += teachersOf(seed, teachers, c).length
  return count
}

function changes({ students, leave = 0, rename = 0, changeAddress = 0 }: SchoolOptions, seed: number) {
  const [leaving, renamed, readdressed] = [leave, rename, changeAddress].map((share) => {
    if (!(share >= 0 && share <= 1)) throw new Error(`a share lies between 0 and 1, not at ${share}`)
    return Math.round(share * students)
  }) as [number, number, number]
  if (leaving + renamed + readdressed > students) throw new Error('more changes than students')
  const place = shuffle(seed, 'changes', students)
  const change = (i: number): Change | null => {
    const at = place(i)
    if (at < leaving) return 'leaves'
    if (at < leaving + renamed) return 'renamed'
    return at < leaving + renamed + readdressed ? 'readdressed' : null
  }
  return { leaving, changes: leaving + renamed + readdressed, change }
}

function wholeAndPositive(name: string, value: number): number {
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`${name} must be a whole number from 1`)
  return value
}

export function planOf(options: SchoolOptions): Plan {
  const { seed = 1, version = '1.2', domain = 'students.example.edu' } = options
  const students = wholeAndPositive('students', options.students)
  const classes = wholeAndPositive('classes', options.classes ?? Math.max(40, Math.round(students / 13)))
  const teachers = Math.ceil(students / studentsATeacher)
  const teacherEnrolments = countTeacherEnrolments(seed, teachers, classes)
  const wanted = options.enrolments ?? 0
  // Years have as many classes as each other, or one fewer: nobody can be in more than the smallest year has.
  const most = Math.min(options.classesPerStudentMax ?? 40, Math.floor(classes / 5))
  const byDefault = students * Math.min(classesPerStudent, most)
  const studentEnrolments = options.enrolments === undefined ? byDefault : wanted - teacherEnrolments
  if (studentEnrolments < 0)
    throw new Error(`${wanted} enrolments are fewer than the ${teacherEnrolments} of the teachers`)
  if (studentEnrolments > students * most)
    throw new Error(
      `${studentEnrolments} enrolments for ${students} students: at most ${most} classes each ` +
        `(more with classesPerStudentMax, or with more classes)`,
    )
  return {
    ...{ students, teachers, classes, studentEnrolments, teacherEnrolments, seed, version, domain },
    today: options.today,
    calendar: calendarAround(options.today),
    ...changes(options, seed),
  }
}
