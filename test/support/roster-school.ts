/** A small school in OneRoster 1.2 that tests change row by row and write as bulk files or a delta. */
import { type FileName, headerLine, manifest, rowLine } from '../../demo/oneroster.ts'
import { type Files, writeFolder } from './roster-files.ts'

export type Cells = Readonly<Record<string, string>>
export type School = { readonly [F in FileName]: Map<string, Cells> }

export const schoolFiles: readonly FileName[] = [
  'orgs',
  'academicSessions',
  'courses',
  'classes',
  'users',
  'roles',
  'enrollments',
]

export const autumn = { startDate: '2026-08-17', endDate: '2026-12-18' }

export function emptySchool(): School {
  return {
    orgs: new Map([['org-1', { name: 'School of Veterinary Medicine', type: 'school' }]]),
    academicSessions: new Map([['term-1', { title: 'Autumn', type: 'term', ...autumn, schoolYear: '2027' }]]),
    courses: new Map([['course-1', { title: 'Anatomy', courseCode: 'VET101', orgSourcedId: 'org-1' }]]),
    classes: new Map(),
    users: new Map(),
    roles: new Map(),
    enrollments: new Map(),
    userProfiles: new Map(),
  }
}

export function addClass(school: School, id: string, cells: Cells = {}): void {
  school.classes.set(id, {
    title: `Class ${id}`,
    courseSourcedId: 'course-1',
    classType: 'scheduled',
    schoolSourcedId: 'org-1',
    termSourcedIds: 'term-1',
    ...cells,
  })
}

export function addUser(school: School, id: string, role: 'student' | 'teacher', cells: Cells = {}): void {
  school.users.set(id, {
    enabledUser: 'true',
    username: id,
    givenName: 'Given',
    familyName: `Family ${id}`,
    email: `${id}@school.example`,
    ...cells,
  })
  school.roles.set(`role-${id}`, { userSourcedId: id, roleType: 'primary', role, orgSourcedId: 'org-1' })
}

export function enrol(school: School, userId: string, classId: string, cells: Cells = {}): void {
  school.enrollments.set(`${classId}-${userId}`, {
    classSourcedId: classId,
    schoolSourcedId: 'org-1',
    userSourcedId: userId,
    role: 'student',
    primary: 'false',
    ...cells,
  })
}

/** Removes a user with their roles and enrolments. */
export function drop(school: School, id: string): void {
  school.users.delete(id)
  for (const rows of [school.roles, school.enrollments])
    for (const [key, row] of rows) if (row.userSourcedId === id) rows.delete(key)
}

export function dropClass(school: School, id: string): void {
  school.classes.delete(id)
  for (const [key, row] of school.enrollments) if (row.classSourcedId === id) school.enrollments.delete(key)
}

export function change(rows: Map<string, Cells>, id: string, cells: Cells): void {
  rows.set(id, { ...rows.get(id)!, ...cells })
}

export const numbers = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

/** stu-1 and so on, each in one of class-1 and so on, taught by tea-1. */
export function newSchool(students: number, classes = 2): School {
  const school = emptySchool()
  addUser(school, 'tea-1', 'teacher', { givenName: 'Tom', familyName: 'Gray' })
  for (const n of numbers(classes)) {
    addClass(school, `class-${n}`)
    enrol(school, 'tea-1', `class-${n}`, { role: 'teacher', primary: 'true' })
  }
  for (const n of numbers(students)) {
    addUser(school, `stu-${n}`, 'student')
    enrol(school, `stu-${n}`, `class-${((n - 1) % classes) + 1}`)
  }
  return school
}

/** A copy of the school with a change. */
export function edited(school: School, edit: (school: School) => void): School {
  const copy = structuredClone(school)
  edit(copy)
  return copy
}

function csv(file: FileName, rows: Iterable<[string, Cells]>): string {
  return (
    headerLine(file, '1.2') +
    [...rows].map(([sourcedId, cells]) => rowLine(file, '1.2', { sourcedId, ...cells } as never)).join('')
  )
}

export function bulkFiles(school: School, files: readonly FileName[] = schoolFiles): Files {
  return {
    'manifest.csv': manifest('1.2', 'bulk', files, 'Tests'),
    ...Object.fromEntries(files.map((file) => [`${file}.csv`, csv(file, school[file])])),
  }
}

export const bulk = (school: School, files?: readonly FileName[]) => writeFolder(bulkFiles(school, files))

export type Delta = { readonly [F in FileName]?: readonly (readonly [string, Cells | null])[] }

/** Rows to add or change; null deletes one. */
export function deltaFiles(delta: Delta, dateLastModified = '2026-11-01T08:00:00Z'): Files {
  const files = Object.keys(delta) as FileName[]
  const marked = (rows: readonly (readonly [string, Cells | null])[]) =>
    rows.map(([id, cells]): [string, Cells] => [
      id,
      cells ? { ...cells, status: 'active', dateLastModified } : { status: 'tobedeleted', dateLastModified },
    ])
  return {
    'manifest.csv': manifest('1.2', 'delta', files, 'Tests'),
    ...Object.fromEntries(files.map((file) => [`${file}.csv`, csv(file, marked(delta[file]!))])),
  }
}

export const delta = (rows: Delta) => writeFolder(deltaFiles(rows))
