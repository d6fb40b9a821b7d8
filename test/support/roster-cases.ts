/** Changes to a school of at most 20 students and 20 classes, and whether each is held or refused. */
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
const leaveClasses = (count: number) => (s: School) => {
  for (const n of numbers(count)) dropClass(s, `class-${n}`)
}
const leaveEnrolments = (count: number) => (s: School) => {
  for (const id of [...s.enrollments.keys()].slice(0, count)) s.enrollments.delete(id)
}
const renameStudents = (count: number) => (s: School) => {
  for (const n of numbers(count)) change(s.users, `stu-${n}`, { givenName: 'Renamed' })
}
const retitleClasses = (count: number) => (s: School) => {
  for (const n of numbers(count)) change(s.classes, `class-${n}`, { title: 'Retitled' })
}
const redateEnrolments = (count: number) => (s: School) => {
  for (const id of [...s.enrollments.keys()].slice(0, count))
    change(s.enrollments, id, { beginDate: '2026-09-01' })
}

type Held = readonly [
  sentence: string,
  size: [students: number, classes: number],
  edit: (school: School) => void,
  held: RegExp | null,
]

// 20 students in 20 classes make 40 enrolments, including the teacher's.
export const heldCases: readonly Held[] = [
  ['2 of 20 students leaving is not held', [20, 20], leaveStudents(2), null],
  ['3 of 20 students leaving is held', [20, 20], leaveStudents(3), /3 of 20 students would leave/],
  ['18 of 19 students leaving is not held: too few to say', [19, 20], leaveStudents(18), null],
  ['15 of 20 students changing is held', [20, 20], renameStudents(15), /15 of 20 students would change/],
  ['14 of 20 students changing is not held', [20, 20], renameStudents(14), null],
  ['all of 19 students changing is not held', [19, 20], renameStudents(19), null],
  ['2 of 20 classes leaving is not held', [0, 20], leaveClasses(2), null],
  ['3 of 30 classes leaving is not held', [0, 30], leaveClasses(3), null],
  ['3 of 20 classes leaving is held', [40, 20], leaveClasses(3), /3 of 20 classes would leave/],
  ['15 of 20 classes changing is held', [2, 20], retitleClasses(15), /15 of 20 classes would change/],
  ['14 of 20 classes changing is not held', [2, 20], retitleClasses(14), null],
  ['18 of 19 classes changing is not held', [2, 19], retitleClasses(18), null],
  ['4 of 40 enrolments leaving is not held', [20, 20], leaveEnrolments(4), null],
  ['5 of 40 enrolments leaving is held', [20, 20], leaveEnrolments(5), /5 of 40 enrolments would leave/],
  ['30 of 40 enrolments changing is held', [20, 20], redateEnrolments(30), /30 of 40 enrolments would ch/],
  ['29 of 40 enrolments changing is not held', [20, 20], redateEnrolments(29), null],
  ['18 of 19 enrolments leaving is not held', [10, 9], leaveEnrolments(18), null],
  [
    'a new id with the address of one who leaves is held as a changed id',
    [5, 2],
    (s) => {
      drop(s, 'stu-1')
      addUser(s, 'new-1', 'student', { email: 'STU-1@school.example' })
    },
    /new-1 is new and has the address of stu-1/,
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
    'a student and a teacher with one address are two users with one address, and refused',
    (s) => change(s.users, 'stu-2', { email: 'tea-1@school.example' }),
    ['error', 'duplicate-address', 'users.csv', 'email', 'tea-1@school.example'],
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

export const followUp = (size: [number, number], edit: (school: School) => void) => {
  const school = newSchool(...size)
  return [bulk(school), bulk(edited(school, edit))] as const
}
