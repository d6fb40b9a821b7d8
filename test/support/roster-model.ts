/** Random rosters in sequence, and what a simple model expects to be visible after each. */
import fc from 'fast-check'
import {
  addClass,
  addUser,
  type Cells,
  type Delta,
  emptySchool,
  enrol,
  type School,
} from './roster-school.ts'

const studentNames = ['s1', 's2', 's3', 's4']
const classNames = ['c1', 'c2', 'c3']

/** Students by id with their names, classes by id with their titles, and who is enrolled where. */
export interface Wish {
  readonly students: Record<string, string | null>
  readonly classes: Record<string, string | null>
  readonly enrolled: readonly (readonly [string, string])[]
}

const word = fc.constantFrom('A', 'B', 'C')
const wish: fc.Arbitrary<Wish> = fc.record({
  students: fc.record(Object.fromEntries(studentNames.map((name) => [name, fc.option(word)]))),
  classes: fc.record(Object.fromEntries(classNames.map((name) => [name, fc.option(word)]))),
  enrolled: fc.subarray(studentNames.flatMap((s) => classNames.map((c) => [s, c] as const))),
})

export type Step =
  | { readonly kind: 'bulk'; readonly wish: Wish }
  | { readonly kind: 'delta'; readonly students: Record<string, string | null | undefined> }
  | { readonly kind: 'undo' }
  | { readonly kind: 'crash'; readonly wish: Wish }

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('bulk' as const), wish }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('delta' as const),
        students: fc.dictionary(fc.constantFrom(...studentNames), fc.option(word), { minKeys: 1 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('undo' as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const), wish }) },
  ),
  { minLength: 3, maxLength: 10 },
)

/** One student always stays, so that the school is never empty. */
export function schoolOf({ students, classes, enrolled }: Wish): School {
  const school = emptySchool()
  addUser(school, 'keeper', 'student')
  addClass(school, 'kept')
  enrol(school, 'keeper', 'kept')
  for (const [id, title] of Object.entries(classes)) if (title) addClass(school, id, { title })
  for (const [id, givenName] of Object.entries(students)) {
    if (givenName) addUser(school, id, 'student', { givenName, email: `${id}.${givenName}@school.example` })
  }
  for (const [student, one] of enrolled)
    if (school.users.has(student) && school.classes.has(one)) enrol(school, student, one)
  return school
}

export function deltaOf(students: Record<string, string | null | undefined>): Delta {
  const scratch = emptySchool()
  const users: [string, Cells | null][] = []
  const roles: [string, Cells | null][] = []
  for (const [id, givenName] of Object.entries(students)) {
    if (givenName) addUser(scratch, id, 'student', { givenName, email: `${id}.${givenName}@school.example` })
    users.push([id, scratch.users.get(id) ?? null])
    roles.push([`role-${id}`, scratch.roles.get(`role-${id}`) ?? null])
  }
  return { users, roles }
}

export function afterDelta(school: School, { users = [], roles = [] }: Delta): School {
  const next = structuredClone(school)
  for (const [rows, changes] of [
    [next.users, users],
    [next.roles, roles],
  ] as const) {
    for (const [id, cells] of changes) {
      if (cells) rows.set(id, cells)
      else rows.delete(id)
    }
  }
  return next
}

export function seenIn(school: School): Record<string, [name: string, email: string, classes: string[]]> {
  const seen: Record<string, [string, string, string[]]> = {}
  for (const [id, user] of [...school.users].sort()) {
    const titles = [...school.enrollments.values()]
      .filter((row) => row.userSourcedId === id)
      .map((row) => school.classes.get(row.classSourcedId!)?.title)
      .filter((title) => title !== undefined)
    seen[id] = [user.givenName!, user.email!, titles.sort()]
  }
  return seen
}
