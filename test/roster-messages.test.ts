/** One cause is one message, with its place and what to do, in the words of a registrar. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { demoSchool } from '../demo/school.ts'
import { findingLines, planLines, refusalLines } from '../src/operate/commands/roster-text.ts'
import type { Db } from '../src/platform/db/db.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { openDb } from '../src/platform/db/open.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import type { Finding } from '../src/school/roster/records.ts'
import { Roster } from '../src/school/roster/roster.ts'
import { newStore, type Store } from './support/engines.ts'
import { writeFolder } from './support/roster-files.ts'
import { TestClock } from './support/service.ts'

type Files = Record<string, string>
type Edit = (files: Files) => Files

const school: Files = Object.fromEntries(demoSchool('2026-11-15'))
const clock = new TestClock()
let store: Store
let db: Db
let roster: Roster

before(async () => {
  store = await newStore('sqlite')
  db = openDb(store.url)
  await migrate(db, clock)
  roster = new Roster(db, clock)
  await imported(numbered)
})

after(async () => {
  await db.close()
  await store.remove()
})

const planOf = (edit: Edit) => roster.plan(writeFolder(edit(school)))
async function imported(edit: Edit) {
  await roster.import(await planOf(edit), { allow: [], by: byOperator })
}

/** Changes the cells of a column; no cell of these files before it has a comma. */
function column(file: string, name: string, change: (cell: string, line: number) => string): Edit {
  return (files) => {
    const [header, ...rows] = files[file]!.split('\n') as [string, ...string[]]
    const at = header.split(',').indexOf(name)
    assert.ok(at >= 0, `${file} has ${name}`)
    const changed = rows.map((row, i) => {
      if (row === '') return row
      const cells = row.match(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)!.map((cell) => cell.replace(/,$/, ''))
      cells.length = header.split(',').length
      cells[at] = change(cells[at]!, i + 2)
      return cells.join(',')
    })
    return { ...files, [file]: [header, ...changed].join('\n') }
  }
}

/** Numbers of six digits; every other one begins with zeros. */
const fullNumber = (line: number) => `${line % 2 === 0 ? '00' : '21'}${4000 + line}`
const numbered = column('users.csv', 'identifier', (_cell, line) => fullNumber(line))
const isStudentLine = (files: Files, line: number) =>
  files['users.csv']!.split('\n')[line - 1]!.startsWith('student')
const firstStudent = school['users.csv']!.split('\n').findIndex((row) => row.startsWith('student')) + 1

const email = (to: (cell: string) => string): Edit => {
  return (files) =>
    column('users.csv', 'email', (cell, line) => (line === firstStudent ? to(cell) : cell))(numbered(files))
}
const headerOnly = (...names: string[]): Edit => {
  return (files) => {
    const cut = names.map((name) => [name, `${files[name]!.split('\n')[0]}\n`])
    return { ...numbered(files), ...Object.fromEntries(cut) }
  }
}
const upper = (file: string, name: string): Edit => {
  return (files) => column(file, name, (cell) => cell.toUpperCase())(numbered(files))
}

const cases: [
  what: string,
  edit: Edit,
  expected: [code: string, file: string, line: number | null, message: RegExp][],
][] = [
  ...[
    [
      'two addresses',
      (cell: string) => `${cell}; ada@home.example`,
      /^The cell has 2 addresses\. Keep the one/,
    ],
    [
      'two addresses with a comma',
      (cell: string) => `"${cell}, ada@home.example"`,
      /^The cell has 2 addresses/,
    ],
    [
      'an address with a name',
      (cell: string) => `Ada <${cell}>`,
      /^Keep only the address itself, without a name/,
    ],
    ['a link', (cell: string) => `mailto:${cell}`, /^Keep only the address itself/],
    ['no address', () => 'N/A', /^This is not an e-mail address\. .* or leave the cell empty\.$/],
    ['an accent', () => 'josé@school.example', /^An address must have only letters without accents/],
    ['a lost character', () => 'jos\ufffd@school.example', /^A character of the address was lost/],
    ['no domain', () => 'ada@home', /^An address must have a domain name with a dot after the @\.$/],
  ].map(([what, to, message]): (typeof cases)[number] => [
    `${what} in a cell`,
    email(to as (cell: string) => string),
    [['bad-address', 'users.csv', firstStudent, message as RegExp]],
  ]),
  ...['users', 'orgs', 'courses', 'classes', 'academicSessions'].map((name): (typeof cases)[number] => [
    `no rows in ${name}.csv`,
    headerOnly(`${name}.csv`),
    [
      [
        'no-rows',
        `${name}.csv`,
        null,
        /a header and no rows, but other files have \d+ references to it\. .*export it again/,
      ],
    ],
  ]),
  [
    'users in other capitals than in the files that refer to them',
    upper('users.csv', 'sourcedId'),
    [
      [
        'reference-case',
        'roles.csv',
        2,
        /^users\.csv has TEACHER-.*in other capitals.*The same in 71 other places\.$/,
      ],
      ['reference-case', 'enrollments.csv', 2, /^users\.csv has TEACHER-.*The same in 419 other places\.$/],
    ],
  ],
  [
    'one class in other capitals',
    (files) =>
      column('enrollments.csv', 'classSourcedId', (cell, line) => (line === 4 ? cell.toUpperCase() : cell))(
        numbered(files),
      ),
    [
      [
        'reference-case',
        'enrollments.csv',
        4,
        /in other capitals\. Export both files with the same spelling\.$/,
      ],
    ],
  ],
  [
    'terms with a semicolon between them',
    (files) =>
      column('classes.csv', 'termSourcedIds', (cell, line) => (line === 2 ? 'semester-1;semester-2' : cell))(
        numbered(files),
      ),
    [['dangling-reference', 'classes.csv', 2, /If these are several, separate them with commas/]],
  ],
]

for (const [what, edit, expected] of cases)
  test(`One cause, one message: ${what}`, async () => {
    const { findings } = await planOf(edit)
    const errors = findings.filter(({ severity }) => severity === 'error')
    assert.deepEqual(
      errors.map(({ code, file, line }) => [code, file, line]),
      expected.map(([code, file, line]) => [code, file, line]),
    )
    for (const [i, { message }] of errors.entries()) assert.match(message, expected[i]![3])
  })

test('A file without rows that nothing refers to is a warning', async () => {
  const { findings, holds } = await planOf(headerOnly('enrollments.csv', 'classes.csv'))
  assert.deepEqual(
    findings.map(({ severity, code, file }) => [severity, code, file]),
    [
      ['warning', 'no-rows', 'classes.csv'],
      ['warning', 'no-rows', 'enrollments.csv'],
    ],
  )
  assert.ok(holds.length > 0)
})

const shortened = (cell: string) => String(Number(cell))
const zeros: [what: string, edit: Edit, value: string, message: RegExp][] = [
  [
    'the current roster',
    (files) => column('users.csv', 'identifier', shortened)(numbered(files)),
    '40',
    /^In the current roster, this number is 0040\d\d: a spreadsheet has probably removed .* other rows\.$/,
  ],
  [
    'the sourcedId',
    (files) => {
      const [first] = files['users.csv']!.split('\n').filter((row) => row.startsWith('student'))
      const id = first!.split(',')[0]!
      const files0 = Object.fromEntries(
        Object.entries(files).map(([name, text]) => [
          name,
          text.replaceAll(`${id},`, '000777,').replaceAll(`,${id},`, ',000777,'),
        ]),
      )
      return column('users.csv', 'identifier', (_cell, line) =>
        line === firstStudent ? '777' : `V-${line}`,
      )(files0)
    },
    '777',
    /^By the sourcedId, this number is 000777: .* as text first\.$/,
  ],
  [
    'the other numbers',
    column('users.csv', 'identifier', (_cell, line) =>
      line % 5 === 0 ? `${90000 + line}` : `${210000 + line}`,
    ),
    '900',
    /^By the length of the others, this number is 0900\d\d: /,
  ],
]

for (const [what, edit, value, message] of zeros)
  test(`Student numbers that lost their zeros are noticed by ${what}`, async () => {
    const { findings } = await planOf(edit)
    const lost = findings.filter(({ code }) => code === 'lost-zeros')
    assert.equal(lost.length, 1)
    assert.deepEqual(
      [lost[0]!.severity, lost[0]!.file, lost[0]!.column],
      ['warning', 'users.csv', 'identifier'],
    )
    assert.ok(lost[0]!.value!.startsWith(value), lost[0]!.value!)
    assert.match(lost[0]!.message, message)
    assert.ok(isStudentLine(edit(school), lost[0]!.line!) || lost[0]!.value === '777')
  })

test('Most numbers without their zeros also hold the import', async () => {
  const { holds } = await planOf((files) => column('users.csv', 'identifier', shortened)(numbered(files)))
  assert.deepEqual(
    holds.map(({ code }) => code),
    ['numbers'],
  )
})

test('Numbers of any length, or with letters, are not suspected', async () => {
  for (const number of [
    (line: number) => `${line}`,
    (line: number) => `V${line}`,
    (line: number) => `0${line}`,
  ]) {
    const { findings } = await planOf(column('users.csv', 'identifier', (_cell, line) => number(line)))
    assert.deepEqual(
      findings.filter(({ code }) => code === 'lost-zeros'),
      [],
    )
  }
})

const lineOf = (line: number, message: string): Finding => {
  return {
    severity: 'error',
    code: 'cell-count',
    file: 'users.csv',
    line,
    column: null,
    value: null,
    message,
  }
}

test('A message is printed once, and its other lines after it', () => {
  const lines = [...findingLines([lineOf(2, 'A.'), lineOf(3, 'A.'), lineOf(4, 'B.')], true)]
  assert.deepEqual(lines.slice(2), [
    '  users.csv, line 2: A.',
    '  users.csv, line 3: the same',
    '  users.csv, line 4: B.',
  ])
})

test('One is not several, in what a command prints', async () => {
  const plan = await planOf(email(() => 'none'))
  assert.match(
    [...refusalLines(plan, false)].join('\n'),
    /1 row is bad\. .* would skip it .*; its record stays unchanged/,
  )
  const cut = await planOf((files) => ({ ...numbered(files), 'orgs.csv': `${files['orgs.csv']}x` }))
  assert.match(cut.findings[0]!.message, /^The row has 1 cell and the header has 7\./)
})

test('Meetings are printed as people write them, also those that end', async () => {
  const isFirst = (line: number) => line === 2
  const plan = await planOf((files) =>
    column('classes.csv', 'metadata.meets', (cell, line) =>
      isFirst(line) ? 'Tue 08:00-09:30; Thu 10:00-11:00' : line === 3 ? '' : cell,
    )(numbered(files)),
  )
  const text = [...planLines(plan, { verbose: true, allow: [] })].join('\n')
  assert.match(text, /meetings \w{3} \d\d:\d\d-\d\d:\d\d.* → Tue 08:00-09:30; Thu 10:00-11:00/)
  assert.match(text, /meetings \w{3} \d\d:\d\d-\d\d:\d\d.* → nothing/)
  assert.doesNotMatch(text, /[{}[\]]/)
})
