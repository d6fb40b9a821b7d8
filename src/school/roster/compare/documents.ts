/**
 * Builds the documents that readers get: classes with their course, school, terms and teachers, and students with
 * their school. This happens once per import, so that a request only reads rows. Pure.
 */
import { hash } from 'node:crypto'
import { parseAddress } from '../../../platform/lib/address.ts'
import { Numbers } from '../compact.ts'
import type { ClassData, CourseData, OrgData, RoleData, TermData, UserData } from '../records.ts'
import type { StudentFields } from '../store/students.ts'
import type { NextRoster } from './next.ts'

/** Public ids do not reveal the file's ids, and are safe in a URL. */
export function publicId(kind: string, sourcedId: string): string {
  return hash('sha256', `${kind}\0${sourcedId}`, 'base64url').slice(0, 22)
}

/** The caller builds members in a fixed order, so equal data has an equal digest. */
export function digestOf(data: object): string {
  return hash('sha1', JSON.stringify(data), 'base64url')
}

export interface Lookup {
  org(id: string): OrgData | undefined
  term(id: string): TermData | undefined
  course(id: string): CourseData | undefined
  user(id: string): UserData | undefined
}

interface Teaching {
  readonly userId: string
  readonly primary: boolean
}

function classDocument(id: string, data: ClassData, teachers: readonly Teaching[], lookup: Lookup): string {
  const course = lookup.course(data.courseId)
  return JSON.stringify({
    classId: publicId('class', id),
    code: data.code,
    title: data.title,
    kind: data.kind,
    course: {
      courseId: publicId('course', data.courseId),
      code: course?.code ?? null,
      title: course?.title ?? data.title,
    },
    school: { schoolId: publicId('org', data.schoolId), name: lookup.org(data.schoolId)?.name ?? '' },
    terms: data.termIds
      .flatMap((termId) => {
        const term = lookup.term(termId)
        const { title, startDate, endDate } = term ?? {}
        return term ? [{ termId: publicId('term', termId), title, startDate, endDate }] : []
      })
      .sort((a, b) => (a.startDate! < b.startDate! ? -1 : 1)),
    teachers: teachers.flatMap(({ userId, primary }) => teacherOf(lookup.user(userId), primary)).sort(byName),
    location: data.location,
    periods: data.periods,
    meetings: data.meetings,
    subjects: data.subjects,
  })
}

interface Teacher {
  readonly firstname: string
  readonly lastname: string
  readonly email: string | null
  readonly primary: boolean
}

function teacherOf(user: UserData | undefined, primary: boolean): Teacher[] {
  if (!user) return []
  return [{ firstname: user.firstname, lastname: user.lastname, email: user.email, primary }]
}

function byName(a: Teacher, b: Teacher): number {
  return (
    Number(b.primary) - Number(a.primary) ||
    a.lastname.localeCompare(b.lastname) ||
    a.firstname.localeCompare(b.firstname)
  )
}

export function isStudent(user: UserData, roles: readonly RoleData[]): boolean {
  return user.role === 'student' || roles.some((role) => role.role === 'student')
}

export function studentFields(
  id: string,
  user: UserData,
  roles: readonly RoleData[],
  lookup: Lookup,
): StudentFields {
  const address = user.email === null ? null : parseAddress(user.email)
  const usable = address !== null && typeof address !== 'string' ? address : null
  const schoolId = schoolOf(user, roles, lookup)
  return {
    sourced_id: id,
    email: usable?.email ?? null,
    email_key: usable?.key ?? null,
    firstname: user.firstname,
    lastname: user.lastname,
    preferred_name: user.preferredName,
    pronouns: user.pronouns,
    student_number: user.number,
    year: user.year,
    school_id: schoolId === null ? null : publicId('org', schoolId),
    school_name: schoolId === null ? null : (lookup.org(schoolId)?.name ?? null),
  }
}

/** The org of the student's primary role; with several, schools come before districts. */
function schoolOf(user: UserData, roles: readonly RoleData[], lookup: Lookup): string | null {
  const asStudent = roles.filter((role) => role.role === 'student')
  const ids = [
    ...asStudent.filter((role) => role.primary).map((role) => role.orgId),
    ...asStudent.map((role) => role.orgId),
    ...user.orgIds,
  ].filter((id) => id !== null)
  return ids.find((id) => lookup.org(id)?.type === 'school') ?? ids[0] ?? null
}

/** Finds records of the next roster. Those that are few and asked for often are parsed once. */
export function lookupIn(next: NextRoster): Lookup {
  const remembered = <D>(find: (id: string) => D | undefined) => {
    const known = new Map<string, D | undefined>()
    return (id: string) => {
      if (!known.has(id)) known.set(id, find(id))
      return known.get(id)
    }
  }
  return {
    org: remembered((id) => next.org.get(id)),
    term: remembered((id) => next.term.get(id)),
    course: remembered((id) => next.course.get(id)),
    user: (id) => next.user.get(id),
  }
}

/** The documents of the next roster's classes, made when they are asked for, and which of them change. */
export class Documents {
  readonly #next: NextRoster
  readonly #lookup: Lookup
  readonly #teachers = new Map<string, Map<string, Teaching>>()
  readonly #same = new Numbers()

  constructor(next: NextRoster, lookup: Lookup) {
    this.#next = next
    this.#lookup = lookup
    const { enrolment } = next
    for (const row of enrolment.rows()) {
      if (enrolment.restAt(row).role !== 'teacher') continue
      const { classId, userId, primary } = enrolment.dataAt(row)
      const ofClass = this.#teachers.get(classId) ?? new Map<string, Teaching>()
      this.#teachers.set(classId, ofClass)
      ofClass.set(userId, { userId, primary: primary || ofClass.get(userId)?.primary === true })
    }
  }

  /** A class as it currently is. */
  meet(sourcedId: string, document: string): void {
    const row = this.#next.class.find(sourcedId)
    if (row >= 0 && this.of(row) === document) this.#same.set(row, 1)
  }

  /** `row` is that of a class. */
  isSame(row: number): boolean {
    return row < this.#same.length && this.#same.at(row) === 1
  }

  of(row: number): string {
    const id = this.#next.class.idAt(row)
    const teachers = [...(this.#teachers.get(id)?.values() ?? [])]
    return classDocument(id, this.#next.class.dataAt(row), teachers, this.#lookup)
  }
}
