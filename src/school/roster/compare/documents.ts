/**
 * Builds the documents that readers get: classes with their course, school, terms and teachers, and students with
 * their school. This happens once per import, so that a request only reads rows. Pure.
 */
import { hash } from 'node:crypto'
import { parseAddress } from '../../../platform/lib/address.ts'
import type { ClassData, CourseData, OrgData, RoleData, TermData, UserData } from '../records.ts'
import type { StudentFields } from '../store/students.ts'
import type { Workbench } from '../workbench/workbench.ts'
import { type Next, remembered } from './next.ts'

/** Public ids do not reveal the file's ids, and are safe in a URL. */
export function publicId(kind: string, sourcedId: string): string {
  return hash('sha256', `${kind}\0${sourcedId}`, 'base64url').slice(0, 22)
}

/** The caller builds members in a fixed order, so equal data has an equal digest. */
export const digestOf = (data: object): string => digestOfText(JSON.stringify(data))
export const digestOfText = (text: string): string => hash('sha1', text, 'base64url')

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

const lookupsKept = 10_000

/** Finds records of the next roster. */
export function lookupIn(next: Next): Lookup {
  return {
    org: remembered((id) => next.get('org', id), lookupsKept),
    term: remembered((id) => next.get('term', id), lookupsKept),
    course: remembered((id) => next.get('course', id), lookupsKept),
    user: (id) => next.get('user', id),
  }
}

interface ClassRow {
  readonly place: number
  readonly id: string
  readonly data: string
  /** Null if it does not change. */
  readonly operation: string | null
  /** The generation of the current row, and its document. */
  readonly from_gen: number | null
  readonly document: string | null
}

/** Notes the classes of the next roster whose documents are new: also those that only their teachers change. */
export function noteDocuments({ file }: Workbench, lookup: Lookup): void {
  file.run(`insert into teaching select class_id, user_id, min(place), max(is_primary)
    from next_enrolment where role = 'teacher' group by class_id, user_id`)
  const writer = file.rows('new_document', 4)
  const classes = file.each<ClassRow>(
    `select n.place, n.id, n.data, c.operation, s.from_gen, d.document from next_class n
       left join change_class c on c.row = n.place left join now_class s on s.id = n.id
       left join now_document d on d.id = n.id order by n.place`,
  )
  for (const { place, id, data, operation, from_gen, document } of classes) {
    const teachers = file.all<{ user_id: string; is_primary: number }>(
      'select user_id, is_primary from teaching where class_id = ? order by place',
      id,
    )
    const taught = teachers.map((one) => ({ userId: one.user_id, primary: one.is_primary === 1 }))
    const next = classDocument(id, JSON.parse(data), taught, lookup)
    if (operation !== null || next !== document) writer.add(place, id, from_gen, next)
  }
  writer.flush()
}
