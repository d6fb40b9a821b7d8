/** Clean and dirty rosters: which records are read, and which findings are reported where. */
import assert from 'node:assert/strict'
import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { after, test } from 'node:test'
import { ZipFile } from 'yazl'
import { FindingLog, findingKinds } from '../src/school/roster/findings.ts'
import { RowCutter } from '../src/school/roster/read/csv-rows.ts'
import { readRoster } from '../src/school/roster/read/read.ts'
import type { ClassData, Mode } from '../src/school/roster/records.ts'
import { atLength } from './support/engines.ts'
import { delta, in12, rowOf } from './support/roster-edits.ts'
import {
  clean11,
  clean12,
  freshPath,
  packZip,
  readAll as readEverything,
  without,
  writeFolder,
  writeZip,
} from './support/roster-files.ts'
import { lenientCases } from './support/roster-lenient.ts'
import { strictCases } from './support/roster-strict.ts'

/** Findings of the judge, those that only a zip can have, and those of class lists. */
const inOtherTests = [
  'address-bounced',
  'no-address',
  'bad-address',
  'duplicate-address',
  'shared-address',
  'dangling-reference',
  'reference-case',
  'no-rows',
  'lost-zeros',
  'same-account',
  'too-many-classes',
  'follows',
  'bad-rows-spread',
  'too-many-rows',
  'too-many-columns',
  'too-many-errors',
  'too-much-memory',
  'too-much-time',
  'unpacks-too-large',
  'packed-too-tightly',
  'encrypted-file',
  'damaged-file',
  'unsafe-name',
  'wrapped-in-folder',
  'ambiguous-column',
  'unread-sheet',
  'missing-term',
  'differing-rows',
  'repeated-row',
  'bad-datetime',
  'no-role',
]

const seen = new Set<string>()

async function readAll(path: string, mode: Mode | null = null) {
  const read = await readEverything(path, mode)
  for (const { code, message } of read.findings) {
    seen.add(code)
    assert.ok(Object.hasOwn(findingKinds, code), code)
    assert.ok(message.length > 10, code)
  }
  return read
}

const usersHeader = 'sourcedId,status,dateLastModified,enabledUser,username'

test('a clean roster of version 1.2 is read without a word, in the order of kinds', async () => {
  const { file, records, findings } = await readAll(writeFolder(clean12))
  assert.deepEqual(findings, [])
  assert.equal(file.version, '1.2')
  assert.equal(file.rows, 12)
  const modes = { org: 'bulk', term: 'bulk', course: 'bulk', class: 'bulk', user: 'bulk', role: 'bulk' }
  assert.deepEqual(file.modes, { ...modes, enrolment: 'bulk' })
  const kinds = ['org', 'term', 'term', 'course', 'class', 'class', 'user', 'user', 'role', 'role']
  assert.deepEqual(
    records.map((record) => record.kind),
    [...kinds, 'enrolment', 'enrolment'],
  )
  const dataOf = (id: string) => records.find(({ sourcedId }) => sourcedId === id)?.data
  assert.deepEqual(dataOf('user-1'), {
    enabled: true,
    firstname: 'Ada',
    lastname: 'Byron',
    preferredName: 'Addie Lovelace',
    pronouns: 'she/her',
    number: 'S100',
    email: 'ada@school.example',
    year: 9,
    role: null,
    orgIds: [],
  })
  assert.deepEqual(dataOf('class-1'), {
    title: 'Anatomy A',
    code: 'VET101-A',
    kind: 'course',
    courseId: 'course-1',
    schoolId: 'org-1',
    termIds: ['term-1', 'term-2'],
    location: 'Hall 1',
    periods: ['1', '2'],
    subjects: ['Anatomy', 'Surgery'],
  })
  assert.deepEqual(dataOf('role-2'), {
    userId: 'user-2',
    role: 'teacher',
    orgId: 'org-1',
    primary: false,
    startDate: '2026-08-01',
  })
  assert.deepEqual(dataOf('enr-1'), {
    userId: 'user-1',
    classId: 'class-1',
    schoolId: 'org-1',
    role: 'student',
    primary: false,
    startDate: '2026-08-17',
    endDate: '2026-12-18',
  })
  assert.deepEqual(
    records.filter(({ kind }) => kind === 'enrolment').map(({ file, line }) => [file, line]),
    [
      ['enrollments.csv', 2],
      ['enrollments.csv', 3],
    ],
  )
})

const withMeets = (meets: string) => ({
  ...clean12,
  'classes.csv': clean12['classes.csv']
    .replace('periods\n', 'periods,Metadata.Meets\n')
    .replace('"1,2"\n', `"1,2","${meets}"\n`)
    .replace('term-1,,,\n', 'term-1,,,,\n'),
})

const meets: [written: string, read: string[]][] = [
  ['Mon 09:00-10:30', ['mon 09:00 10:30']],
  ['Wed 14:00-15:00; Mon 09:00-10:30', ['mon 09:00 10:30', 'wed 14:00 15:00']],
  ['sunday 8:00 – 9:05 ;SAT 23:00-23:59;', ['sat 23:00 23:59', 'sun 08:00 09:05']],
  [
    'Tue 11:00-12:00;Tue 09:00-10:00;Tue 09:00-09:30;Tue 11:00-12:00',
    ['tue 09:00 09:30', 'tue 09:00 10:00', 'tue 11:00 12:00'],
  ],
  ['Thurs. 10:00-11:00', ['thu 10:00 11:00']],
]
for (const [written, expected] of meets) {
  test(`metadata.meets ${written} is read, by day and start, each once`, async () => {
    const { records, findings } = await readAll(writeFolder(withMeets(written)))
    assert.deepEqual(findings, [])
    const data = records.find(({ sourcedId }) => sourcedId === 'class-1')!.data as ClassData
    assert.deepEqual(
      data.meetings!.map(({ day, start, end }) => `${day} ${start} ${end}`),
      expected,
    )
  })
}

for (const written of [
  'Mon',
  '09:00-10:30',
  'Mon 9-10',
  'Mon 09:00',
  'Mo 09:00-10:00',
  'Mox 09:00-10:00',
  'Mon 10:00-10:00',
  'Mon 23:00-01:00',
  'Mon 09:00-24:00',
  'Mon 09:60-10:00',
  'Mon 09:00-10:00, Tue 09:00-10:00',
  'Mon 09:00-10:00; maybe',
  `Mon 09:00-10:00${';Mon 09:00-10:00'.repeat(50)}`,
]) {
  test(`metadata.meets ${written.slice(0, 40)} is ignored with a warning, and the class is kept`, async () => {
    const { records, findings } = await readAll(writeFolder(withMeets(written)))
    const [finding, ...more] = findings
    assert.deepEqual(more, [])
    const { severity, code, file, line, column, value } = finding!
    assert.deepEqual(
      [severity, code, file, line, column],
      ['warning', 'bad-meetings', 'classes.csv', 2, 'metadata.meets'],
    )
    assert.ok(written.startsWith(value!.replace('…', '')))
    const data = records.find(({ sourcedId }) => sourcedId === 'class-1')!.data as ClassData
    assert.equal('meetings' in data, false)
  })
}

test('a clean roster of version 1.1 has role and orgs in its users', async () => {
  const { file, records, findings } = await readAll(writeFolder(clean11))
  assert.deepEqual(findings, [])
  assert.equal(file.version, '1.1')
  const user = records.find((record) => record.kind === 'user')?.data
  assert.deepEqual(user, {
    enabled: true,
    firstname: 'Ada',
    lastname: 'Byron',
    preferredName: null,
    pronouns: null,
    number: 'S100',
    email: 'ada@school.example',
    year: 9,
    role: 'student',
    orgIds: ['org-1', 'org-2'],
  })
})

test('a zip and a folder of the same files give the same records, and the same hash each time', async () => {
  const zipPath = writeZip(await packZip(clean12))
  const folder = await readAll(writeFolder(clean12))
  const zip = await readAll(zipPath)
  assert.deepEqual(zip.records, folder.records)
  assert.deepEqual(zip.findings, [])
  assert.equal(zip.file.name, 'roster.zip')
  assert.equal((await readAll(zipPath)).file.sha256, zip.file.sha256)
  assert.equal((await readAll(writeFolder(clean12))).file.sha256, folder.file.sha256)
  const other = await readAll(writeFolder(in12('users.csv', 'Ada', 'Ida')))
  assert.notEqual(other.file.sha256, folder.file.sha256)
})

test('without a manifest the rows are asked, and tobedeleted rows need only their sourcedId', async () => {
  const users = delta('users.csv').replace(
    /^user-2,active(,[^,]+),.*$/m,
    (_row, date) => `user-2,tobedeleted${date}${','.repeat(20)}`,
  )
  const { file, records, findings } = await readAll(writeFolder({ 'users.csv': users, 'roles.csv': '' }))
  assert.deepEqual(findings.map(rowOf), [
    ['warning', 'missing-manifest', file.name, null, null, null],
    ['error', 'empty-file', 'roles.csv', 1, null, null],
  ])
  assert.deepEqual([file.modes.user, file.modeFrom, file.form], ['delta', 'rows', 'dated'])
  assert.deepEqual(
    records.map(({ sourcedId, data }) => [sourcedId, data === null]),
    [
      ['user-1', false],
      ['user-2', true],
    ],
  )
})

test('the kind of a class comes from classType, unless metadata.kind says otherwise', async () => {
  const header = `${clean12['classes.csv'].split('\n')[0]},metadata.kind`
  const kinds: [type: string, kind: string, expected: string][] = [
    ['scheduled', '', 'course'],
    ['homeroom', '', 'homeroom'],
    ['ext:rotation', '', 'rotation'],
    ['ext:practical', '', 'practical'],
    ['ext:tutorial', '', 'tutorial'],
    ['scheduled', 'rotation', 'rotation'],
    ['ext:rotation', 'Tutorial', 'tutorial'],
    ['', 'practical', 'practical'],
  ]
  const rows = kinds.map(
    ([type, kind], i) => `class-${i},,,Class,,course-1,,${type},,org-1,term-1,,,,${kind}\n`,
  )
  const { records, findings } = await readAll(
    writeFolder({ ...clean12, 'classes.csv': `${header}\n${rows.join('')}` }),
  )
  assert.deepEqual(findings, [])
  assert.deepEqual(
    records.filter(({ kind }) => kind === 'class').map(({ data }) => data && 'kind' in data && data.kind),
    kinds.map(([, , expected]) => expected),
  )
})

test('names are trimmed and composed, and identifiers are left as they are', async () => {
  const { records } = await readAll(
    writeFolder(in12('users.csv', 'Tom,Gray,,,', '  Rene\u0301 ,Gray,,e\u0301,')),
  )
  const user = records.find(({ sourcedId }) => sourcedId === 'user-2')!.data
  assert.ok(user && 'firstname' in user)
  assert.equal(user.firstname, 'Ren\u00e9')
  assert.equal(user.number, 'e\u0301')
})

test('lines are counted as an editor does, with blank lines and breaks inside quotes', async () => {
  const orgs = `\r\nsourcedId,name,type\r\norg-1,School,school\r\n\r\n"org-2","A\r\nB\nC",school\r\n,,\r\norg-3,Third,scool\r\n`
  const { records, findings } = await readAll(writeFolder({ ...clean12, 'orgs.csv': orgs }))
  assert.deepEqual(findings.map(rowOf), [
    ['warning', 'blank-lines', 'orgs.csv', 1, null, null],
    ['error', 'control-character', 'orgs.csv', 5, 'name', 'A\r\nB\nC'],
    ['error', 'bad-enumeration', 'orgs.csv', 9, 'type', 'scool'],
  ])
  assert.match(findings[2]!.message, /did you mean school/i)
  assert.equal(records[0]!.line, 3)
})

for (const [sentence, files, expected] of lenientCases) {
  test(`lenient in form: ${sentence}`, async () => {
    const { findings, records } = await readAll(writeFolder(files))
    assert.deepEqual(findings.map(rowOf), expected)
    const rows = Object.keys(files).includes('roles.csv') ? 12 : 9
    assert.equal(records.length, rows)
  })
}

for (const [sentence, files, expected] of strictCases) {
  test(`strict in meaning: ${sentence}`, async () => {
    const { findings, records } = await readAll(writeFolder(files))
    assert.deepEqual(findings.map(rowOf), expected)
    const refused = new Set(
      expected
        .filter(([severity, code]) => severity === 'error' && code !== 'missing-file')
        .map(([, , file, line]) => `${file}:${line}`),
    )
    assert.deepEqual(
      records.filter(({ file, line }) => refused.has(`${file}:${line}`)),
      [],
    )
  })
}

test('a misspelt column is met with the right one, and a duplicate with both lines', async () => {
  const misspelt = await readAll(writeFolder(in12('users.csv', usersHeader, usersHeader.replace('dI', 'I'))))
  assert.match(misspelt.findings[0]!.message, /Did you mean sourcedId\?/)
  const twice = await readAll(writeFolder(in12('enrollments.csv', 'enr-2', 'enr-1')))
  assert.match(twice.findings[0]!.message, /Line 2 and line 3/)
})

test('the manifest decides between bulk and delta, and a bulk set may have dates in every row', async () => {
  const dated = Object.fromEntries(
    Object.entries(clean12).map(([name]) => [
      name,
      name === 'manifest.csv' ? clean12[name] : delta(name as keyof typeof clean12),
    ]),
  )
  const read = await readAll(writeFolder(dated))
  assert.deepEqual(read.findings, [])
  assert.deepEqual([read.file.modes.user, read.file.modeFrom, read.file.form], ['bulk', 'manifest', 'dated'])
  assert.equal(read.file.newestRowAt, Date.UTC(2026, 8, 1, 8))
  const given = await readAll(writeFolder(dated), 'delta')
  assert.deepEqual([given.file.modes.user, given.file.modeFrom], ['delta', 'caller'])
})

test('a bulk set without a vital file is refused, and a delta without it only says so', async () => {
  for (const name of ['classes', 'users', 'roles', 'enrollments']) {
    const files = { ...without(clean12, `${name}.csv`), ...without12Manifest(name) }
    const bulk = await readAll(writeFolder(files))
    assert.deepEqual(bulk.findings.map(rowOf), [['error', 'missing-part', 'roster', null, null, null]])
    assert.match(bulk.findings[0]!.message, new RegExp(`no ${name}\\.csv`))
    const changes = await readAll(writeFolder(files), 'delta')
    assert.deepEqual(changes.findings.filter(({ severity }) => severity === 'error').map(rowOf), [])
    assert.deepEqual(changes.file.missing, [`${name}.csv`])
  }
})

const without12Manifest = (name: string) => ({
  'manifest.csv': clean12['manifest.csv'].replace(`file.${name},bulk`, `file.${name},absent`),
})

test('one stray quote costs one row, also in a large file, and the row is known by its id', async () => {
  const [header, row] = clean12['users.csv'].split('\n') as [string, string]
  const people = Array.from({ length: 5_000 }, (_, n) => row.replace('user-1', `user-${n}`))
  people[100] = people[100]!.replace('Ada,', '"Ada,')
  people[200] = people[200]!.replace('Byron', 'By"ron')
  people[300] = people[300]!.replace(',S100', '')
  const users = `${header}\n${people.join('\n')}\n`
  const { findings, records, bad } = await readAll(writeFolder({ ...clean12, 'users.csv': users }))
  assert.deepEqual(findings.map(rowOf), [
    ['error', 'bad-quotes', 'users.csv', 102, null, null],
    ['error', 'bad-quotes', 'users.csv', 202, null, null],
    ['error', 'cell-count', 'users.csv', 302, null, null],
  ])
  assert.deepEqual(bad, ['user-100', 'user-200', 'user-300'])
  assert.equal(records.filter(({ kind }) => kind === 'user').length, 4_997)
})

test('a carriage return alone between lines that end in a line feed ends a row too, also before a quote', async () => {
  const classes = clean12['classes.csv'].replaceAll('\n', '\n\r')
  const { findings, records } = await readAll(writeFolder({ ...clean12, 'classes.csv': classes }))
  assert.equal(records.filter(({ kind }) => kind === 'class').length, 2)
  assert.deepEqual(findings.map(({ code }) => code).sort(), ['blank-lines', 'lone-carriage-return'])
})

test('quoted cells with commas, quotes and line breaks are read across chunks of any size', async () => {
  const cells = ['plain', 'a, b', 'a "b" c', 'two\nlines', 'two\r\nlines', '']
  const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`
  const text = cells.map((cell, n) => `${n},${quoted(cell)},x\r\n`).join('')
  for (const size of [1, 2, 3, 7, 1_000]) {
    const rows: string[][] = []
    const row = (each: readonly string[], breaks: number) => rows.push([...each, `${breaks}`])
    const cutter = new RowCutter({ row, bad: () => assert.fail('all quotes match') })
    for (let at = 0; at < text.length; at += size) cutter.push(Buffer.from(text.slice(at, at + size)))
    cutter.end()
    const expected = cells.map((cell, n) => [`${n}`, cell, 'x', cell.includes('\n') ? '1' : '0'])
    assert.deepEqual(rows, expected, `chunks of ${size}`)
  }
})

test('a password is in no record and no finding', async () => {
  const dirty = in12('users.csv', 'user-2,,,,tom', 'user-1,,,yes,tom')
  for (const files of [clean12, clean11, dirty]) {
    const read = await readAll(writeFolder(files))
    assert.ok(!JSON.stringify(read).includes('hunter2'))
  }
})

test('a file with nothing but a header is what the manifest says, or else bulk', async () => {
  const header = `${clean12['users.csv'].split('\n')[0]}\n`
  const said = await readAll(
    writeFolder({ ...in12('manifest.csv', 'file.users,bulk', 'file.users,delta'), 'users.csv': header }),
  )
  assert.equal(said.file.modes.user, 'delta')
  assert.deepEqual(said.findings, [])
  const unsaid = await readAll(writeFolder({ 'users.csv': header }))
  assert.equal(unsaid.file.modes.user, 'bulk')
})

test('a warning down a whole column is counted after a hundred', async () => {
  const header = clean12['enrollments.csv'].split('\n')[0]
  const rows = Array.from({ length: 150 }, (_, i) => `e${i},,,class-1,org-1,user-1,Student,,,\n`)
  const { findings, records } = await readAll(
    writeFolder({ ...clean12, 'enrollments.csv': `${header}\n${rows.join('')}` }),
  )
  assert.equal(records.filter(({ kind }) => kind === 'enrolment').length, 150)
  assert.equal(findings.length, 101)
  assert.equal(findings[100]!.line, null)
  assert.match(findings[100]!.message, /50 more rows/)
})

test('the same error in 20,000 rows is listed a thousand times and then counted', async () => {
  const rows = Array.from({ length: 20_000 }, (_, i) => `org-${i},School,scool\n`)
  const { findings, bad } = await readAll(
    writeFolder({ ...clean12, 'orgs.csv': `sourcedId,name,type\n${rows.join('')}` }),
  )
  assert.equal(bad.length, 20_000)
  assert.equal(findings.length, 1_001)
  assert.deepEqual(rowOf(findings[1_000]!), ['error', 'bad-enumeration', 'orgs.csv', null, 'type', null])
  assert.match(findings[1_000]!.message, /The same in 19000 more rows/)
})

test('after ten thousand findings of any kind the rest is a number, and an error if one of them was', () => {
  const log = new FindingLog()
  for (let n = 0; n < 10_500; n++) {
    const about = { file: 'users.csv', line: 1, column: `column ${n}`, value: null }
    log.add({ severity: 'error', code: 'unknown-header', ...about, message: 'This column is unknown.' })
  }
  const findings = log.all('roster.zip')
  assert.equal(findings.length, 10_001)
  assert.deepEqual(rowOf(findings[10_000]!), ['error', 'more-findings', 'roster.zip', null, null, null])
  assert.match(findings[10_000]!.message, /^500 more/)
  seen.add('more-findings')
})

test('two hundred thousand rows pass through in little memory', atLength, async () => {
  const path = freshPath('roster.zip')
  const zip = new ZipFile()
  zip.addReadStream(Readable.from(enrolments(200_000)), 'enrollments.csv')
  zip.end()
  await pipeline(zip.outputStream, createWriteStream(path))
  const before = process.memoryUsage.rss()
  let peak = before
  let records = 0
  const log = new FindingLog()
  const file = await readRoster(path, { mode: 'delta' }, log, {
    record: () => records++,
    finish: () => [],
    bad: () => assert.fail('no row is bad'),
    unread: () => assert.fail('every file is read'),
    progress() {
      peak = Math.max(peak, process.memoryUsage.rss())
    },
  })
  assert.ok(log.all('roster').every(({ severity }) => severity === 'warning'))
  assert.equal(records, 200_000)
  assert.equal(file.rows, 200_000)
  // The ids, to find duplicates, and what the collector has not yet taken; the file alone has 30 MB.
  assert.ok(peak - before < 150e6, `${Math.round((peak - before) / 1e6)} MB`)
})

function* enrolments(count: number) {
  yield `${clean12['enrollments.csv'].split('\n')[0]}\n`
  for (let i = 0; i < count; i++) {
    const id = (i * 2_654_435_761) % 4_294_967_296
    yield `enrolment-${id.toString(36)}-${i},,,class-${id % 1500},school-1,student-${id % 20_000},student,false,2026-08-17,2026-12-18\n`
  }
}

after(() => {
  assert.deepEqual(
    Object.keys(findingKinds).filter((code) => !seen.has(code) && !inOtherTests.includes(code)),
    [],
    'every code has a test',
  )
})
