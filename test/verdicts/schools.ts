/** Random schools, and what may happen to one between two exports. */
import {
  addClass,
  addUser,
  autumn,
  type Cells,
  change,
  drop,
  dropClass,
  emptySchool,
  enrol,
  numbers,
  type School,
} from '../support/roster-school.ts'
import type { Random } from './random.ts'

const over = { startDate: '2026-01-07', endDate: '2026-05-29' }
const spring = { startDate: '2027-01-11', endDate: '2027-05-28' }

export function randomSchool(random: Random): School {
  const school = emptySchool()
  school.orgs.set('org-2', { name: 'Large Animals', type: 'school', parentSourcedId: 'org-1' })
  const term = { type: 'term', schoolYear: '2027' }
  school.academicSessions.set('term-0', { ...term, title: 'Last spring', ...over })
  school.academicSessions.set('term-2', { ...term, title: 'Spring', ...spring })
  school.courses.set('course-2', { title: 'Surgery', courseCode: 'VET201', orgSourcedId: 'org-2' })
  for (const n of numbers(random.from(2, 6))) addRandomClass(school, random, `class-${n}`)
  for (const n of numbers(random.from(1, 4))) {
    addUser(school, `tea-${n}`, 'teacher', { givenName: 'Tom', familyName: `Gray ${n}` })
    enrol(school, `tea-${n}`, random.one([...school.classes.keys()]), { role: 'teacher', primary: 'true' })
  }
  const number = random.one([
    () => '',
    (n: number) => `S${100 + n}`,
    (n: number) => String(n * 17).padStart(6, '0'),
  ])
  for (const n of numbers(random.from(4, 16))) addRandomStudent(school, random, `stu-${n}`, number(n))
  if (random.is(0.3)) {
    addUser(school, 'par-1', 'student', { email: 'stu-1@school.example' })
    change(school.roles, 'role-par-1', { role: 'guardian' })
  }
  return school
}

function addRandomClass(school: School, random: Random, id: string): void {
  addClass(school, id, {
    courseSourcedId: random.one(['course-1', 'course-2']),
    classType: random.one(['scheduled', 'scheduled', 'homeroom', 'ext:rotation', 'ext:practical']),
    schoolSourcedId: random.one(['org-1', 'org-2']),
    termSourcedIds: random.one(['term-1', 'term-1', 'term-0', 'term-2', 'term-1,term-2']),
    classCode: random.one(['', `VET-${id}`]),
    location: random.one(['', 'Hall 1', 'Étable']),
    subjects: random.one(['', 'Anatomy,Surgery']),
    periods: random.one(['', '1,2']),
    'metadata.meets': random.one(['', '', 'Mon 09:00-10:30; Wed 14:00-15:00']),
  })
}

function addRandomStudent(school: School, random: Random, id: string, identifier: string): void {
  addUser(school, id, 'student', {
    identifier,
    givenName: random.one(['Ada', 'Émile', 'Li', 'Søren']),
    email: random.one([`${id}@school.example`, `${id}@school.example`, `${id.toUpperCase()}@School.example`]),
    grades: random.one(['', '1', '2', '3']),
    enabledUser: random.one(['true', 'true', 'true', 'true', 'false']),
    preferredGivenName: random.one(['', '', 'Addie']),
    pronouns: random.one(['', '', 'they/them']),
    primaryOrgSourcedId: random.one(['', 'org-1', 'org-2']),
  })
  const dates = random.one<Cells>([{}, {}, { beginDate: autumn.startDate, endDate: autumn.endDate }])
  for (const one of random.some([...school.classes.keys()], 0.5)) enrol(school, id, one, dates)
}

type Edit = (school: School, random: Random) => void

const isStudent = (school: School) => (id: string) => school.roles.get(`role-${id}`)?.role === 'student'
const studentsOf = (school: School) => [...school.users.keys()].filter(isStudent(school))
const teachersOf = (school: School) => [...school.users.keys()].filter((id) => id.startsWith('tea-'))
const keysOf = (rows: ReadonlyMap<string, unknown>) => [...rows.keys()]

const emailOf = (school: School, id: string) => school.users.get(id)?.email ?? ''

/** Each student gets the address of the next, and the last one has none that can be read. */
function passAddresses(school: School): void {
  const ids = studentsOf(school)
  const emails = ids.map((id) => emailOf(school, id))
  for (const [i, id] of ids.entries()) change(school.users, id, { email: emails[i + 1] ?? 'not an address' })
}

function swapAddresses(school: School, random: Random): void {
  const [one, other] = random.shuffled(studentsOf(school))
  if (one === undefined || other === undefined) return
  const [first, second] = [emailOf(school, one), emailOf(school, other)]
  change(school.users, one, { email: second })
  change(school.users, other, { email: first })
}

/** Another system would give everybody another id. */
function renewIds(school: School, share: number, random: Random): void {
  for (const id of random.some(studentsOf(school), share)) {
    const cells = school.users.get(id)!
    const classes = [...school.enrollments.values()].filter((row) => row.userSourcedId === id)
    drop(school, id)
    addUser(school, `new-${id}`, 'student', cells)
    for (const { classSourcedId, userSourcedId: _, ...row } of classes)
      enrol(school, `new-${id}`, classSourcedId!, row)
  }
}

const reference = (file: 'courses' | 'classes' | 'roles' | 'enrollments' | 'users', column: string): Edit => {
  return (school, random) => {
    const ids = keysOf(school[file])
    if (ids.length > 0) change(school[file], random.one(ids), { [column]: 'nowhere' })
  }
}

const inCapitals = (file: 'classes' | 'roles' | 'enrollments', column: string, share: number): Edit => {
  return (school, random) => {
    for (const id of random.some(keysOf(school[file]), share))
      change(school[file], id, { [column]: school[file].get(id)![column]!.toUpperCase() })
  }
}

const eachStudent = (share: number, cells: (id: string, school: School) => Record<string, string>): Edit => {
  return (school, random) => {
    for (const id of random.some(studentsOf(school), share)) change(school.users, id, cells(id, school))
  }
}

const eachRow = (
  file: 'classes' | 'enrollments' | 'courses' | 'orgs',
  share: number,
  cells: Record<string, string>,
): Edit => {
  return (school, random) => {
    for (const id of random.some(keysOf(school[file]), share)) change(school[file], id, cells)
  }
}

export const edits: readonly Edit[] = [
  (school, random) => drop(school, random.one(studentsOf(school))),
  (school, random) => {
    for (const id of random.some(studentsOf(school), 0.6)) drop(school, id)
  },
  (school, random) => {
    for (const id of random.some(studentsOf(school), 0.4))
      change(school.roles, `role-${id}`, { role: 'guardian' })
  },
  (school, random) => change(school.roles, `role-${random.one(studentsOf(school))}`, { role: 'teacher' }),
  (school, random) => change(school.roles, `role-${random.one(teachersOf(school))}`, { role: 'student' }),
  (school, random) =>
    change(school.roles, `role-${random.one(studentsOf(school))}`, { endDate: '2026-09-30' }),
  (school) =>
    school.roles.set('second', {
      ...school.roles.get('role-tea-1')!,
      roleType: 'secondary',
      role: 'student',
    }),
  eachStudent(0.2, () => ({ givenName: 'Renamed' })),
  eachStudent(0.9, () => ({ familyName: 'Renamed' })),
  eachStudent(0.1, (id) => ({ email: `moved-${id}@school.example` })),
  eachStudent(0.5, (id) => ({ email: `moved-${id}@school.example` })),
  eachStudent(0.3, (id, school) => ({ email: emailOf(school, id).toUpperCase() })),
  eachStudent(0.2, () => ({ email: '' })),
  eachStudent(0.2, () => ({ enabledUser: 'false' })),
  eachStudent(0.8, () => ({ enabledUser: 'true' })),
  eachStudent(0.4, (id) => ({ identifier: `N${id}` })),
  eachStudent(1, (id, school) => ({
    identifier: (school.users.get(id)?.identifier ?? '').replace(/^0+/, ''),
  })),
  eachStudent(0.2, () => ({ grades: '4', pronouns: 'she/her' })),
  eachStudent(0.1, () => ({ email: 'one@school.example; two@school.example' })),
  eachStudent(0.15, () => ({ email: 'stu-1@school.example' })),
  passAddresses,
  swapAddresses,
  (school, random) => renewIds(school, 1, random),
  (school, random) => renewIds(school, 0.3, random),
  (school, random) => {
    const id = random.one(studentsOf(school))
    addUser(school, 'twin-1', 'student', {
      email: emailOf(school, id),
      identifier: school.users.get(id)?.identifier ?? '',
    })
  },
  (school, random) => {
    for (const n of numbers(random.from(1, 5))) {
      addUser(school, `late-${n}`, 'student', { identifier: `L${n}` })
      enrol(school, `late-${n}`, random.one(keysOf(school.classes)))
    }
  },
  (school, random) => {
    const [from, to] = random.shuffled(studentsOf(school))
    const email = emailOf(school, from!)
    drop(school, from!)
    if (to) change(school.users, to, { email })
  },
  (school) => addUser(school, 'tea-9', 'teacher', { email: 'stu-1@school.example' }),
  (school) => {
    for (const id of teachersOf(school)) drop(school, id)
  },
  (school) => {
    for (const [id, row] of school.enrollments) if (row.role === 'teacher') school.enrollments.delete(id)
  },
  (school) => change(school.users, 'tea-1', { email: 'tom@school.example', familyName: 'Black' }),
  eachRow('classes', 0.3, { title: 'Retitled' }),
  eachRow('classes', 0.5, { termSourcedIds: 'term-0' }),
  eachRow('classes', 0.3, { termSourcedIds: 'term-2' }),
  eachRow('classes', 0.2, { termSourcedIds: '' }),
  eachRow('classes', 0.3, { 'metadata.meets': 'Mondays at nine' }),
  eachRow('classes', 0.2, { classType: 'ext:seminar', location: 'Stable' }),
  eachRow('courses', 0.5, { title: 'Anatomy II' }),
  eachRow('orgs', 0.5, { name: 'Faculty of Veterinary Medicine' }),
  (school, random) => {
    for (const id of random.some(keysOf(school.classes), 0.4)) dropClass(school, id)
  },
  (school, random) => school.classes.delete(random.one(keysOf(school.classes))),
  (school, random) => addRandomClass(school, random, 'class-new'),
  (school) => change(school.academicSessions, 'term-1', spring),
  (school) => change(school.academicSessions, 'term-1', over),
  (school) =>
    change(school.academicSessions, 'term-1', { startDate: autumn.endDate, endDate: autumn.startDate }),
  (school) => void school.academicSessions.delete('term-2'),
  (school) => void school.courses.delete('course-2'),
  (school) => void school.orgs.delete('org-2'),
  (school, random) => {
    for (const id of random.some(keysOf(school.enrollments), 0.4)) school.enrollments.delete(id)
  },
  (school) => {
    const rows = [...school.enrollments]
    school.enrollments.clear()
    for (const [id, row] of rows) school.enrollments.set(`again-${id}`, row)
  },
  (school, random) => {
    for (const id of random.some(keysOf(school.enrollments), 0.3))
      school.enrollments.set(`twice-${id}`, school.enrollments.get(id)!)
  },
  eachRow('enrollments', 0.5, { endDate: '2026-09-01' }),
  eachRow('enrollments', 0.3, { beginDate: '2026-10-01', endDate: '2026-09-01' }),
  (school, random) => school.users.delete(random.one(keysOf(school.users))),
  reference('courses', 'orgSourcedId'),
  reference('classes', 'courseSourcedId'),
  reference('classes', 'schoolSourcedId'),
  reference('classes', 'termSourcedIds'),
  reference('users', 'primaryOrgSourcedId'),
  reference('roles', 'userSourcedId'),
  reference('roles', 'orgSourcedId'),
  reference('enrollments', 'classSourcedId'),
  reference('enrollments', 'userSourcedId'),
  reference('enrollments', 'schoolSourcedId'),
  inCapitals('enrollments', 'userSourcedId', 1),
  inCapitals('enrollments', 'classSourcedId', 0.3),
  inCapitals('roles', 'userSourcedId', 0.5),
  inCapitals('classes', 'courseSourcedId', 1),
]

/** A copy to which some of these things happened. */
export function lived(school: School, random: Random, count: number): School {
  const next = structuredClone(school)
  // Some need a student, a teacher or a class that another one took away.
  for (const edit of random.shuffled(edits).slice(0, count))
    if (studentsOf(next).length > 1 && next.classes.size > 0 && next.users.has('tea-1')) edit(next, random)
  return next
}
