/** Changes to a school of at most 20 students and 20 classes, and whether each is held or refused. */
import type { HoldCode } from '../../src/school/roster/roster.ts'
import {
  addUser,
  bulk,
  change,
  drop,
  dropClass,
  edited,
  enrol,
  newSchool,
  numbers,
  type School,
} from './roster-school.ts'

const leaveStudents = (count: number) => (s: School) => {
  // Changes only their role, so that it is not the loss of their enrolments that holds the roster.
  for (const n of numbers(count)) change(s.roles, `role-stu-${n}`, { role: 'guardian' })
}
const renameStudents = (count: number) => (s: School) => {
  for (const n of numbers(count)) change(s.users, `stu-${n}`, { givenName: 'Renamed' })
}
const moveStudents = (count: number) => (s: School) => {
  for (const n of numbers(count)) change(s.users, `stu-${n}`, { email: `moved-${n}@school.example` })
}
const retitleClasses = (count: number) => (s: School) => {
  for (const n of numbers(count)) change(s.classes, `class-${n}`, { title: 'Retitled' })
}
const redateEnrolments = (count: number) => (s: School) => {
  for (const id of [...s.enrollments.keys()].slice(0, count))
    change(s.enrollments, id, { beginDate: '2026-09-01' })
}
const endClassesOf = (count: number) => (s: School) => {
  for (const n of numbers(count)) change(s.enrollments, `class-${n}-stu-${n}`, { endDate: '2026-08-31' })
}
const everybodyInClass1 = (s: School) => {
  for (const id of [...s.users.keys()].filter((id) => id.startsWith('stu-'))) enrol(s, id, 'class-1')
}
const over = { startDate: '2026-01-07', endDate: '2026-05-29' }
/** By a term that is over. */
const endClasses = (count: number) => (s: School) => {
  s.academicSessions.set('term-0', { ...s.academicSessions.get('term-1')!, ...over })
  for (const n of numbers(count)) change(s.classes, `class-${n + 1}`, { termSourcedIds: 'term-0' })
}
const endEnrolments = (count: number) => (s: School) => {
  for (const n of numbers(count))
    change(s.enrollments, `class-${n + 1}-stu-${n + 1}`, { endDate: '2026-08-31' })
}
const dropClasses = (count: number) => (s: School) => {
  for (const n of numbers(count)) dropClass(s, `class-${n + 1}`)
}
const dropEnrolments = (count: number) => (s: School) => {
  for (const n of numbers(count)) s.enrollments.delete(`class-${n + 1}-stu-${n + 1}`)
}
/** This term is over for all but so many classes, whose term is yet to come. */
const holidays = (classes: number) => (s: School) => {
  everybodyInClass1(s)
  const autumn = s.academicSessions.get('term-1')!
  s.academicSessions.set('term-1', { ...autumn, startDate: '2027-01-11', endDate: '2027-05-28' })
  s.academicSessions.set('term-0', { ...autumn, ...over })
  for (const id of [...s.classes.keys()].slice(classes)) change(s.classes, id, { termSourcedIds: 'term-0' })
}
const dropUpcoming = (s: School) => {
  for (const [id, { termSourcedIds }] of s.classes) if (termSourcedIds === 'term-1') dropClass(s, id)
}
const renewEnrolments = (s: School) => {
  const rows = [...s.enrollments]
  s.enrollments.clear()
  for (const [id, row] of rows) s.enrollments.set(`new-${id}`, row)
}
const numberStudents = (letter: string, count: number) => (s: School) => {
  for (const n of numbers(count)) change(s.users, `stu-${n}`, { identifier: `${letter}${n}` })
}
const fourTeachers = (s: School) => {
  for (const n of [2, 3, 4]) {
    addUser(s, `tea-${n}`, 'teacher')
    enrol(s, `tea-${n}`, 'class-1', { role: 'teacher' })
  }
}
const renewIds = (count: number) => (s: School) => {
  for (const n of numbers(count)) {
    drop(s, `stu-${n}`)
    addUser(s, `fresh-${n}`, 'student')
    enrol(s, `fresh-${n}`, 'class-1')
  }
}

type Held = readonly [
  sentence: string,
  size: [students: number, classes: number],
  edit: (school: School) => void,
  held: readonly [HoldCode, RegExp] | null,
  first?: (school: School) => void,
]

// 20 students in 20 classes make 40 enrolments, including the teacher's. Today is within the term.
export const heldCases: readonly Held[] = [
  ['4 of 40 students leaving is not held', [40, 40], leaveStudents(4), null],
  [
    '5 of 40 students leaving is held',
    [40, 40],
    leaveStudents(5),
    ['leavers', /5 of 40 students would leave/],
  ],
  ['3 of 20 students leaving is not held: too few to say', [20, 20], leaveStudents(3), null],
  [
    '4 of 20 students leaving is held',
    [20, 20],
    leaveStudents(4),
    ['leavers', /4 of 20 students would leave/],
  ],
  ['all of 3 students leaving is held', [3, 3], leaveStudents(3), ['leavers', /nobody would be left/]],
  ['15 of 20 students changing is not held', [20, 20], renameStudents(15), null],
  ['16 of 20 students changing is held', [20, 20], renameStudents(16), ['changes', /16 of 20 students/]],
  ['the only student changing is not held', [1, 20], renameStudents(1), null],
  ['15 of 20 classes changing is not held', [2, 20], retitleClasses(15), null],
  ['16 of 20 classes changing is held', [2, 20], retitleClasses(16), ['changes', /16 of 20 classes/]],
  ['18 of 19 classes changing is not held: too few to say', [2, 19], retitleClasses(18), null],
  ['30 of 40 enrolments changing is not held', [20, 20], redateEnrolments(30), null],
  [
    '31 of 40 enrolments changing is held',
    [20, 20],
    redateEnrolments(31),
    ['changes', /31 of 40 enrolments/],
  ],
  ['1 of 4 teachers leaving is not held', [8, 2], (s) => drop(s, 'tea-2'), null, fourTeachers],
  [
    '2 of 4 teachers leaving is held',
    [8, 2],
    (s) => {
      drop(s, 'tea-2')
      drop(s, 'tea-3')
    },
    ['teachers', /2 of 4 teachers would leave/],
    fourTeachers,
  ],
  [
    'teachers who are still there but teach nothing any more are held',
    [8, 2],
    (s) => {
      for (const n of [2, 3]) s.enrollments.delete(`class-1-tea-${n}`)
    },
    ['teachers', /2 of 4 teachers would leave/],
    fourTeachers,
  ],
  ['5 of 20 students without a current class is not held', [20, 20], endClassesOf(5), null],
  [
    '6 of 20 students without a current class is held',
    [20, 20],
    endClassesOf(6),
    ['terms', /6 of 20 students would no longer have a current class/],
  ],
  [
    'a term that moves into the future is held',
    [8, 2],
    (s) => change(s.academicSessions, 'term-1', { startDate: '2030-08-17', endDate: '2030-12-18' }),
    ['terms', /8 of 8 students would no longer have a current class/],
  ],
  [
    '5 of 20 current classes ending by new dates is not held',
    [20, 20],
    endClasses(5),
    null,
    everybodyInClass1,
  ],
  [
    '6 of 20 current classes ending by new dates is held',
    [20, 20],
    endClasses(6),
    ['terms', /6 of 20 current classes would not be current by the new dates \(more than 25 %\)/],
    everybodyInClass1,
  ],
  ['9 of 39 enrolments ending is not held', [20, 20], endEnrolments(9), null, everybodyInClass1],
  [
    '10 of 39 enrolments ending is held',
    [20, 20],
    endEnrolments(10),
    ['terms', /10 of 39 current enrolments would not be current by the new dates \(more than 25 %\)/],
    everybodyInClass1,
  ],
  ['5 of 20 current classes leaving is not held', [20, 20], dropClasses(5), null, everybodyInClass1],
  [
    '6 of 20 current classes leaving is held',
    [20, 20],
    dropClasses(6),
    ['classes', /6 of 20 classes that have not ended would leave \(more than 25 %\)/],
    everybodyInClass1,
  ],
  [
    'classes of a term that is over may leave',
    [20, 20],
    dropClasses(19),
    null,
    (s) => {
      everybodyInClass1(s)
      s.academicSessions.set('term-0', { ...s.academicSessions.get('term-1')!, ...over })
      for (const id of s.classes.keys())
        if (id !== 'class-1') change(s.classes, id, { termSourcedIds: 'term-0' })
    },
  ],
  ['9 of 39 current enrolments leaving is not held', [20, 20], dropEnrolments(9), null, everybodyInClass1],
  [
    '10 of 39 current enrolments leaving is held',
    [20, 20],
    dropEnrolments(10),
    ['enrolments', /10 of 39 enrolments in classes that have not ended would leave \(more than 25 %\)/],
    everybodyInClass1,
  ],
  [
    'in the holidays, 2 of 8 classes of next term leaving is not held',
    [20, 20],
    dropClasses(2),
    null,
    holidays(8),
  ],
  [
    'in the holidays, 3 of 8 classes of next term leaving is held',
    [20, 20],
    dropClasses(3),
    ['classes', /3 of 8 classes that have not ended would leave \(more than 25 %\)/],
    holidays(8),
  ],
  [
    'in the holidays, all of next term leaving is held for its classes',
    [20, 20],
    dropUpcoming,
    ['classes', /8 of 8 classes that have not ended would leave/],
    holidays(8),
  ],
  [
    'in the holidays, all of next term leaving is held for its enrolments',
    [20, 20],
    dropUpcoming,
    ['enrolments', /27 of 27 enrolments in classes that have not ended would leave/],
    holidays(8),
  ],
  [
    'in the holidays, 6 of 27 enrolments of next term leaving is not held',
    [20, 20],
    dropEnrolments(6),
    null,
    holidays(8),
  ],
  [
    'in the holidays, 7 of 27 enrolments of next term leaving is held',
    [20, 20],
    dropEnrolments(7),
    ['enrolments', /7 of 27 enrolments in classes that have not ended would leave/],
    holidays(8),
  ],
  [
    'in the holidays, next term getting dates that are over is held',
    [20, 20],
    (s) => change(s.academicSessions, 'term-1', over),
    ['terms', /8 of 8 upcoming classes would be over by the new dates/],
    holidays(8),
  ],
  [
    'in the holidays, next term beginning later is not held',
    [20, 20],
    (s) => change(s.academicSessions, 'term-1', { startDate: '2027-02-01' }),
    null,
    holidays(8),
  ],
  ['enrolments that only get new ids are not held', [20, 20], renewEnrolments, null],
  [
    '2 of 20 student numbers changing is not held',
    [20, 20],
    numberStudents('B', 2),
    null,
    numberStudents('A', 20),
  ],
  [
    '3 of 20 student numbers changing is held',
    [20, 20],
    numberStudents('B', 3),
    ['numbers', /student numbers of 3 of 20 students would change/],
    numberStudents('A', 20),
  ],
  ['2 of 20 addresses changing is not held', [20, 20], moveStudents(2), null],
  [
    '3 of 20 addresses changing is held',
    [20, 20],
    moveStudents(3),
    ['addresses', /addresses of 3 of 20 students would change/],
  ],
  ['1 address of 2 changing is not held: it is one person', [2, 2], moveStudents(1), null],
  [
    'new sourcedIds for most are held',
    [20, 20],
    renewIds(11),
    ['identities', /11 of 20 students have a new sourcedId/],
  ],
  [
    'a new id with the address of one who leaves is held as a changed id',
    [5, 2],
    (s) => {
      drop(s, 'stu-1')
      addUser(s, 'new-1', 'student', { email: 'STU-1@school.example' })
    },
    ['identities', /new-1 has the address of stu-1/],
  ],
]

type Found = readonly [
  sentence: string,
  edit: (school: School) => void,
  finding: [severity: 'error' | 'warning', code: string, file: string, column: string, value: string | null],
]

export const findingCases: readonly Found[] = [
  [
    'two students with one address are refused, whatever its case',
    (s) => change(s.users, 'stu-2', { email: 'STU-1@school.example' }),
    ['error', 'duplicate-address', 'users.csv', 'email', 'STU-1@school.example'],
  ],
  [
    'a new id with the address of one who stays is refused',
    (s) => addUser(s, 'new-1', 'student', { email: 'stu-1@school.example' }),
    ['error', 'duplicate-address', 'users.csv', 'email', 'stu-1@school.example'],
  ],
  [
    'a teacher with the address of a student is only warned of',
    (s) => change(s.users, 'tea-1', { email: 'stu-2@school.example' }),
    ['warning', 'shared-address', 'users.csv', 'email', 'stu-2@school.example'],
  ],
  [
    'two teachers with one address are only warned of',
    (s) => {
      addUser(s, 'tea-2', 'teacher', { email: 'TEA-1@school.example' })
      enrol(s, 'tea-2', 'class-1', { role: 'teacher' })
    },
    ['warning', 'shared-address', 'users.csv', 'email', 'TEA-1@school.example'],
  ],
  [
    'an address that is none is refused',
    (s) => change(s.users, 'stu-1', { email: 'stu-1 at school.example' }),
    ['error', 'bad-address', 'users.csv', 'email', 'stu-1 at school.example'],
  ],
  [
    'a student without an address is only warned of',
    (s) => change(s.users, 'stu-1', { email: '' }),
    ['warning', 'no-address', 'users.csv', 'email', null],
  ],
  ...(
    [
      ['courses', 'course-1', 'orgSourcedId'],
      ['classes', 'class-1', 'courseSourcedId'],
      ['classes', 'class-1', 'schoolSourcedId'],
      ['classes', 'class-1', 'termSourcedIds'],
      ['roles', 'role-stu-1', 'userSourcedId'],
      ['roles', 'role-stu-1', 'orgSourcedId'],
      ['enrollments', 'class-1-stu-1', 'classSourcedId'],
      ['enrollments', 'class-1-stu-1', 'userSourcedId'],
      ['enrollments', 'class-1-stu-1', 'schoolSourcedId'],
    ] as const
  ).map(
    ([file, id, column]): Found => [
      `${column} of ${file} that names nothing is refused`,
      (s) => change(s[file], id, { [column]: 'nowhere' }),
      ['error', 'dangling-reference', `${file}.csv`, column, 'nowhere'],
    ],
  ),
  [
    'a user who is gone but for an enrolment that did not change is refused',
    (s) => {
      s.users.delete('stu-1')
      s.roles.delete('role-stu-1')
    },
    ['error', 'dangling-reference', 'enrollments.csv', 'userSourcedId', 'stu-1'],
  ],
]

export function busySchool(classes: number): string {
  const school = newSchool(1, classes)
  for (const n of numbers(classes)) enrol(school, 'stu-1', `class-${n}`)
  return bulk(school)
}

export const followUp = (
  size: [number, number],
  edit: (school: School) => void,
  first: (school: School) => void = () => {},
) => {
  const school = edited(newSchool(...size), first)
  return [bulk(school), bulk(edited(school, edit))] as const
}
