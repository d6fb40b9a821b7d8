/** What random schools hardly ever come to: bounds, zips that are made to harm, chains of bad rows, and fetching. */
import { clean12 } from '../support/roster-files.ts'
import { oneCellRows, rowsOf } from '../support/roster-floods.ts'
import {
  addUser,
  bulkFiles,
  change,
  drop,
  edited,
  enrol,
  newSchool,
  numbers,
  type School,
} from '../support/roster-school.ts'
import { zipped } from './exports.ts'
import {
  allowAll,
  check,
  checkAsText,
  history,
  importOf,
  inFolder,
  type Scenario,
  type Step,
  undo,
} from './scenario.ts'

const many = 1_100

export async function rare(): Promise<Scenario[]> {
  const school = newSchool(14, 3)
  const zips = await hostileZips()
  return [
    judged('more errors than are listed', { ...clean12, 'users.csv': oneCellRows(10_100) }),
    judged('more findings than are listed', { ...clean12, ...everyCellBad() }),
    ...Object.entries(zips).map(([name, zip]) => ({
      name: `rare: ${name}`,
      files: { 'set.zip': zip },
      steps: [check('set.zip'), checkAsText('set.zip')],
    })),
    ...[3, 9, 10, 11, 14].map((count) =>
      inTurn(`addresses that ${count} pass on`, school, edited(school, passAddresses(count))),
    ),
    inTurn('numbers without their zeros', numbered(school, '000'), numbered(school, '')),
    sameAccount(school),
    fetched(school),
  ]
}

const judged = (name: string, files: Readonly<Record<string, string | Buffer>>): Scenario => ({
  name: `rare: ${name}`,
  files: inFolder('set', files),
  steps: [check('set'), check('set', '--skip-bad-rows', '1000000'), checkAsText('set')],
})

const inTurn = (name: string, base: School, next: School): Scenario => ({
  name: `rare: ${name}`,
  files: { ...inFolder('base', bulkFiles(base)), ...inFolder('next', bulkFiles(next)) },
  steps: [
    importOf('base', ...allowAll),
    ...[[], ['--skip-bad-rows', '1'], ['--skip-bad-rows', '1000']].flatMap((options) => [
      check('next', ...options),
      checkAsText('next', ...options),
    ]),
    importOf('next', ...allowAll, '--skip-bad-rows', '1000'),
    undo(...allowAll),
  ],
})

/** Each has that of the next, and the last one none that can be read: skipping a row makes another one bad. */
const passAddresses = (count: number) => (school: School) => {
  for (const n of numbers(count))
    change(school.users, `stu-${n}`, { email: n < count ? `stu-${n + 1}@school.example` : 'not an address' })
}

const numbered = (school: School, zeros: string) =>
  edited(school, ({ users }) => {
    for (const n of numbers(14)) change(users, `stu-${n}`, { identifier: `${n % 2 ? zeros : '9'}${100 + n}` })
  })

/** Under new ids, by their addresses; then under both. */
function sameAccount(school: School): Scenario {
  const renewed = edited(school, (s) => {
    for (const n of [1, 2, 3]) {
      drop(s, `stu-${n}`)
      addUser(s, `new-${n}`, 'student', { email: `stu-${n}@school.example` })
      enrol(s, `new-${n}`, 'class-1')
    }
  })
  const both = edited(renewed, (s) => addUser(s, 'stu-1', 'student', { email: 'another@school.example' }))
  return {
    name: 'rare: two ids of one account',
    files: {
      ...inFolder('base', bulkFiles(school)),
      ...inFolder('next', bulkFiles(renewed)),
      ...inFolder('both', bulkFiles(both)),
    },
    steps: [
      importOf('base', ...allowAll),
      ...[[], ['--match', 'number'], ['--match', 'address']].map((options) => check('next', ...options)),
      importOf('next', '--match', 'address', ...allowAll),
      check('both'),
      importOf('both', '--skip-bad-rows', '9', ...allowAll),
      importOf('base', ...allowAll),
      undo(...allowAll),
      undo(...allowAll),
      history,
    ],
  }
}

function fetched(school: School): Scenario {
  const fetch = (folder: string, ...options: string[]): Step => ({
    args: ['roster', 'fetch', '--json', '--verbose', ...options],
    env: { CHIRON_ROSTER_SOURCE: folder },
  })
  const next = edited(school, (s) => {
    for (const n of numbers(6)) drop(s, `stu-${n}`)
  })
  return {
    name: 'rare: fetched',
    files: {
      ...inFolder('base', bulkFiles(school)),
      ...inFolder('next', bulkFiles(next)),
      ...inFolder('bad', { ...clean12, 'users.csv': 'sourcedId\n' }),
    },
    steps: [
      ...[fetch('base'), fetch('base'), fetch('base', '--again'), fetch('next'), fetch('bad')],
      ...[fetch('next', ...allowAll), fetch('nowhere'), { ...fetch('next'), days: 9 }, history],
    ],
  }
}

/** More than a thousand errors in each of sixteen columns. */
function everyCellBad(): Record<string, Buffer> {
  const bad = 'x,x'
  return {
    'users.csv': rowsOf(
      'sourcedId,status,dateLastModified,enabledUser,username,givenName,familyName,identifier,email',
      many,
      (i) => `u${i},${bad},yes,u${i},Ada,Byron,1E+05,a@b.example`,
    ),
    'roles.csv': rowsOf(
      'sourcedId,status,dateLastModified,userSourcedId,roleType,role,beginDate,endDate,orgSourcedId',
      many,
      (i) => `r${i},${bad},u${i},x,x,x,x,org-1`,
    ),
    'enrollments.csv': rowsOf(
      'sourcedId,status,dateLastModified,classSourcedId,schoolSourcedId,userSourcedId,role,primary,beginDate,endDate',
      many,
      (i) => `e${i},${bad},class-1,org-1,u${i},x,x,x,x`,
    ),
  }
}

const flagAt = { local: 6, central: 8 }

async function hostileZips(): Promise<Record<string, Buffer>> {
  const zip = await zipped(clean12, 'xx/')
  const encrypted = Buffer.from(zip)
  for (const [mark, at] of [
    ['PK\x03\x04', flagAt.local],
    ['PK\x01\x02', flagAt.central],
  ] as const)
    for (
      let found = zip.indexOf(mark, 0, 'latin1');
      found >= 0;
      found = zip.indexOf(mark, found + 1, 'latin1')
    )
      encrypted[found + at]! |= 1
  const damaged = Buffer.from(zip)
  damaged.fill(0, 60, 200)
  return {
    'files in a folder': zip,
    'a zip with a password': encrypted,
    'a damaged zip': damaged,
    'half a zip': zip.subarray(0, zip.length / 2),
    'a path that leads out': Buffer.from(zip.toString('latin1').replaceAll('xx/', '../'), 'latin1'),
    'packed too tightly': await zipped({ ...clean12, 'users.csv': Buffer.alloc(4 * 2 ** 20) }),
    'two sets': await zipped({ ...clean12, ...inFolder('more', clean12) }),
  }
}
