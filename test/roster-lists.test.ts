/** Sets made from class lists as schools have them, from Canvas and from School Data Sync, and their import. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { isEmpty, isRefused } from '../src/school/roster/roster.ts'
import {
  linesOf,
  listFile,
  type Made,
  readSet,
  setFrom,
  setFromFolder,
  setFromText,
} from './support/class-lists.ts'
import { type Engine, engines, onPostgres } from './support/engines.ts'
import { packZip, writeZip } from './support/roster-files.ts'
import { inWorld, studentsNow } from './support/roster-world.ts'
import { number, packWorkbook } from './support/workbooks.ts'

const english = `Student ID,First Name,Last Name,Email,Year,Course,Instructor,Instructor Email,Semester,Start Date,End Date,Room,Meeting Times
0012,Ada,Byron,ada@school.example,1st year,Anatomy I,Dr. Ana López,ana@school.example,Fall 2026,2026-08-17,2026-12-18,Hall 1,Mon 9:00-10:30; Wed 2:00 pm - 3:00 pm
0012,Ada,Byron,ada@school.example,1st year,Surgery,Tom Gray,tom@school.example,Fall 2026,2026-08-17,2026-12-18,OR 2,Fri 08:30-12:00
0013,Grace,Hopper,grace@school.example,2,Anatomy I,Dr. Ana López,ana@school.example,Fall 2026,2026-08-17,2026-12-18,Hall 1,Mon 9:00-10:30; Wed 2:00 pm - 3:00 pm
`

/** Saved by a French Excel: semicolons, Windows-1252, days first. */
const french = Buffer.from(
  `Faculté vétérinaire – liste des étudiants;;;;;;
;;;;;;
N° étudiant;Nom et prénom;Courriel;Année;Cours;Enseignant;Date de début;Date de fin;Salle;Horaire
20260001;DUPONT Marie;marie.dupont@ecole.example;3ème année;Anatomie;M. Lefèvre;01/09/2026;31/01/2027;Amphi A;lundi 9h-10h30 et jeudi 14h00-16h00
20260002;DE LA TOUR Élise;elise@ecole.example;3ème année;Anatomie;M. Lefèvre;01/09/2026;31/01/2027;Amphi A;lundi 9h-10h30 et jeudi 14h00-16h00
20260002;DE LA TOUR Élise;elise@ecole.example;3ème année;Chirurgie;Mme Petit;01/09/2026;31/01/2027;;
`.replaceAll('\n', '\r\n'),
  'latin1',
)
// The dash of the title is not in Latin 1, but in Windows-1252 it is 0x96.
french[french.indexOf('\x13', 0, 'latin1')] = 0x96

const spanish = `Matrícula\tNombre\tPrimer apellido\tSegundo apellido\tCorreo electrónico\tCurso\tAsignatura\tGrupo\tProfesor\tCorreo del profesor\tPeriodo\tFecha de inicio\tFecha de fin\tAula\tHorario
E-001\tJosé\tNúñez\tPérez\tjose@escuela.example\t2º\tFisiología\tA\tDra. Ana Ruiz\truiz@escuela.example\t2026-1\t05/09/2026\t20/12/2026\tAula 3\tlun y mié 09:00-10:30
E-002\tLucía\tGarcía\t\tlucia@escuela.example\t2º\tFisiología\tB\tDra. Ana Ruiz\truiz@escuela.example\t2026-1\t05/09/2026\t20/12/2026\tAula 4\tmar 09:00-10:30
`

/** One row a student, and headers that nobody here knows. */
const italian = `Matricola,Cognome,Nome,Posta
M-7,Rossi,Giulia,giulia@scuola.example
M-8,De Luca,Marco,marco@scuola.example
`
const italianMap = { number: 'Matricola', lastName: 'cognome', firstName: 'Nome', email: 'Posta' } as const

/** A title, dates as Excel keeps them, numbers with zeros by format, a formula, and a sheet of notes before it. */
async function mixedWorkbook(): Promise<string> {
  const day = (serial: number) => number(serial, 1)
  const formula = { raw: 't="str"><f>CONCATENATE("a","@school.example")</f><v>a@school.example</v></c>' }
  const rich = { raw: 't="inlineStr"><is><r><t>Equine </t></r><r><t>practice</t></r></is></c>' }
  const bytes = await packWorkbook(
    {
      Notes: [['Ask the office'], ['Printed in September']],
      Students: [
        ['Class list, autumn 2026'],
        [],
        [
          'No.',
          'Name',
          'E-mail',
          'Class',
          'First day',
          'Last day',
          'Teacher',
          'Start time',
          'End time',
          'Day',
          'Phone',
        ],
        [
          number(42, 2),
          'Byron, Ada',
          formula,
          rich,
          day(46266),
          day(46418),
          'Tom Gray',
          number(0.375, 3),
          number(0.4375, 3),
          'Monday',
          number('5.5E8'),
        ],
        [
          number(43, 2),
          'Marie Dupont',
          'm@school.example',
          'Equine practice',
          day(46266),
          day(46418),
          'Tom Gray',
          number(0.375, 3),
          number(0.4375, 3),
          'Mardi',
          null,
        ],
        [null, null, null, null, null, null, null, null, null, null, null],
      ],
    },
    { formats: ['d/m/yyyy', '00000', 'hh:mm'] },
  )
  return listFile('clase 3A.xlsx', bytes)
}

suite('Class lists', () => {
  test('In English, one row per student and class', async () => {
    const made = await setFromText(english)
    assert.deepEqual(linesOf(made.findings), [])
    assert.deepEqual(made.counts, { students: 2, teachers: 2, classes: 2, enrolments: 3 })
    const { users, classes, findings, of } = await readSet(made)
    assert.deepEqual(findings, [])
    const ada = users.get('student-0012')!
    assert.deepEqual(
      [ada.firstname, ada.lastname, ada.number, ada.email, ada.year, ada.role],
      ['Ada', 'Byron', '0012', 'ada@school.example', 1, 'student'],
    )
    assert.deepEqual([...users.keys()].sort(), [
      'student-0012',
      'student-0013',
      'teacher-ana@school.example',
      'teacher-tom@school.example',
    ])
    assert.equal(users.get('teacher-ana@school.example')!.firstname, 'Ana')
    const anatomy = classes.get('class-anatomy-i-fall-2026')!
    assert.equal(anatomy.location, 'Hall 1')
    assert.deepEqual(anatomy.meetings, [
      { day: 'mon', start: '09:00', end: '10:30' },
      { day: 'wed', start: '14:00', end: '15:00' },
    ])
    assert.deepEqual(
      of('term').map(({ data }) => data),
      [{ title: 'Fall 2026', type: 'term', startDate: '2026-08-17', endDate: '2026-12-18', parentId: null }],
    )
    const shown = made.tables[0]!
    assert.deepEqual(
      shown.mapping.find(({ field }) => field === 'number'),
      {
        field: 'number',
        header: 'Student ID',
        samples: ['0012', '0012', '0013'],
      },
    )
    assert.deepEqual(shown.unused, [])
  })

  test('In French, saved by Excel with semicolons in Windows-1252, below a title', async () => {
    const made = await setFromText(french)
    assert.deepEqual(linesOf(made.findings), [])
    const [{ encoding, headerLine }] = made.tables as [(typeof made.tables)[number]]
    assert.deepEqual([encoding, headerLine], ['Windows-1252', 3])
    const { users, classes, of, findings } = await readSet(made)
    assert.deepEqual(
      findings.map(({ code, value }) => [code, value]),
      [
        ['one-name', ''],
        ['one-name', ''],
      ],
      'teachers with a last name only',
    )
    const elise = users.get('student-20260002')!
    assert.deepEqual([elise.firstname, elise.lastname, elise.year], ['Élise', 'DE LA TOUR', 3])
    assert.equal(users.get('teacher-lefevre')!.lastname, 'Lefèvre')
    assert.deepEqual(
      classes
        .get('class-anatomie-2026-09-01-2027-01-31')!
        .meetings?.map(({ day, start, end }) => `${day} ${start} ${end}`),
      ['mon 09:00 10:30', 'thu 14:00 16:00'],
    )
    assert.equal((of('term')[0]!.data as { startDate: string }).startDate, '2026-09-01')
    assert.equal(of('enrolment').length, 5)
  })

  test('In Spanish, with two last names, groups and tabs', async () => {
    const made = await setFromText(spanish)
    assert.deepEqual(linesOf(made.findings), [])
    const { users, classes, findings } = await readSet(made)
    assert.deepEqual(findings, [])
    const jose = users.get('student-E-001')!
    assert.deepEqual([jose.firstname, jose.lastname, jose.year], ['José', 'Núñez Pérez', 2])
    const [a, b] = ['a', 'b'].map((group) => classes.get(`class-fisiologia-${group}-2026-1`)!)
    assert.deepEqual([a!.title, b!.title], ['Fisiología (A)', 'Fisiología (B)'])
    assert.equal(a!.courseId, b!.courseId)
    assert.deepEqual(
      a!.meetings!.map(({ day }) => day),
      ['mon', 'wed'],
    )
    assert.equal(users.get('teacher-ruiz@escuela.example')!.lastname, 'Ruiz')
  })

  test('In another language with a mapping, one row per student and no classes', async () => {
    const unknown = await setFromText(italian)
    assert.deepEqual(linesOf(unknown.findings), ['error missing-column list.csv:1'])
    assert.match(unknown.findings[0]!.message, /It begins with: Matricola, Cognome, Nome, Posta\. .*--map/)
    const made = await setFromText(italian, { map: italianMap })
    assert.deepEqual(linesOf(made.findings), [])
    assert.deepEqual(made.counts, { students: 2, teachers: 0, classes: 0, enrolments: 0 })
    const { users, findings } = await readSet(made)
    assert.deepEqual(findings, [])
    assert.deepEqual(
      [users.get('student-M-8')!.firstname, users.get('student-M-8')!.lastname],
      ['Marco', 'De Luca'],
    )
  })

  test('In a workbook, with a title, dates, padded numbers, formulas and times', async () => {
    const made = await setFrom([await mixedWorkbook()])
    assert.deepEqual(linesOf(made.findings), [])
    const [shown] = made.tables
    assert.deepEqual([shown!.sheet, shown!.headerLine, shown!.unused], ['Students', 3, ['Phone']])
    const { users, classes, of, findings } = await readSet(made)
    assert.deepEqual(findings, [])
    const ada = users.get('student-00042')!
    assert.deepEqual(
      [ada.firstname, ada.lastname, ada.number, ada.email],
      ['Ada', 'Byron', '00042', 'a@school.example'],
    )
    assert.deepEqual(of('term')[0]!.data, {
      title: '2026-09-01 – 2027-01-31',
      type: 'term',
      startDate: '2026-09-01',
      endDate: '2027-01-31',
      parentId: null,
    })
    const [one] = [...classes.values()]
    assert.equal(one!.title, 'Equine practice')
    // The rows of a class name one meeting each.
    assert.deepEqual(
      one!.meetings!.map(({ day, start }) => `${day} ${start}`),
      ['mon 09:00', 'tue 09:00'],
    )
  })

  test('The same content makes the same file, whatever it comes from', async () => {
    const first = await setFromText(english)
    const again = await setFromText(`\ufeff${english}`)
    const other = await setFromText(Buffer.from(`\ufeff${english}`, 'utf16le'))
    assert.equal(other.tables[0]!.encoding, 'UTF-16')
    for (const { out } of [again, other]) assert.deepEqual(readFileSync(out), readFileSync(first.out))
  })

  test('Several lists make one set', async () => {
    const header = 'Number,Name,E-mail,Class\n'
    const terms = ['2026-09-01..2027-01-31']
    const one = listFile('1A.csv', `${header}1,Ada Byron,ada@school.example,1A\n`)
    const two = listFile(
      '1B.csv',
      `sep=;\n${header.replaceAll(',', ';')}2;Tom Gray;tom@school.example;1B\n1;Ada Byron;ada@school.example;1B\n`,
    )
    const made = await setFrom([one, two], { terms })
    assert.deepEqual(linesOf(made.findings), [])
    assert.deepEqual(made.counts, { students: 2, teachers: 0, classes: 2, enrolments: 3 })
  })

  test('Students without numbers are known by address, and a number that comes later in the list counts', async () => {
    const made = await setFromText(
      'Name,E-mail,No.\nAda Byron,Ada@School.example,\nAda Byron,ada@school.example,7\nTom Gray,tom@school.example,\n',
    )
    const { users } = await readSet(made)
    assert.deepEqual([...users.keys()], ['student-7', 'student-tom@school.example'])
  })

  test('A column that counts the rows is not the student number, unless somebody says so', async () => {
    const rows = ['Ada Byron,ada', 'Tom Gray,tom', 'Eva Hart,eva'].map(
      (row, i) => `${i + 1},${row}@school.example\n`,
    )
    const counted = `Nº,Name,E-mail\n${rows.join('')}`
    const made = await setFromText(counted)
    assert.deepEqual(linesOf(made.findings), ['warning ambiguous-column list.csv:1 Nº'])
    assert.ok((await readSet(made)).users.has('student-ada@school.example'))
    for (const asked of [
      await setFromText(counted, { map: { number: 'Nº' } }),
      await setFromText(counted.replace('Nº', 'Student No.')),
    ]) {
      assert.deepEqual(linesOf(asked.findings), [])
      assert.ok((await readSet(asked)).users.has('student-1'))
    }
  })

  test('A row may name several classes and teachers, and the header may come again', async () => {
    const made = await setFromText(
      `No.,Name,E-mail,Courses,Teacher
1,Ada Byron,ada@school.example,"Anatomy, Surgery","Tom Gray
Dr. Ana López"
No.,Name,E-mail,Courses,Teacher
2,Tom Hart,hart@school.example,"Surgery;Equine | Surgery",
`,
      { terms: ['2026-09-01..2027-01-31'] },
    )
    assert.deepEqual(linesOf(made.findings), [])
    assert.deepEqual(made.counts, { students: 2, teachers: 2, classes: 3, enrolments: 4 })
    const one = await setFromText('No.,Name,E-mail,Course\n1,Ada Byron,a@b.example,"Anatomy, part 1"\n', {
      terms: ['2026-09-01..2027-01-31'],
    })
    assert.deepEqual(
      [...(await readSet(one)).classes.values()].map(({ title }) => title),
      ['Anatomy, part 1'],
    )
  })

  const perStudent = 'No.,Name,E-mail'
  for (const [what, list] of [
    [
      'numbered columns',
      `${perStudent},Class 1,Class 2,Class 3\n1,Ada Byron,ada@b.example,Anatomy,Surgery,\n2,Tom Hart,tom@b.example,Surgery,,Equine\n`,
    ],
    [
      'columns with crosses',
      `${perStudent},Anatomy,Surgery,Equine\n1,Ada Byron,ada@b.example,x,X,\n2,Tom Hart,tom@b.example,,✓,x\n`,
    ],
  ] as const)
    test(`Classes may be in ${what}`, async () => {
      const terms = ['2026-09-01..2027-01-31']
      const made = await setFromText(list, { terms })
      assert.deepEqual(linesOf(made.findings), [])
      assert.deepEqual(made.counts, { students: 2, teachers: 0, classes: 3, enrolments: 4 })
      const { classes } = await readSet(made)
      assert.deepEqual([...classes.values()].map(({ title }) => title).sort(), [
        'Anatomy',
        'Equine',
        'Surgery',
      ])
      const [{ mapping, unused }] = made.tables as [(typeof made.tables)[0]]
      const { header, samples } = mapping.find(({ field }) => field === 'class')!
      assert.deepEqual([samples, unused], [['Anatomy; Surgery', 'Surgery; Equine'], []])
      const again = await setFromText(list, { terms, map: { class: header } })
      assert.deepEqual(again.counts, made.counts, 'a kept mapping fits')
    })

  test('Crosses beside a column for classes are not classes', async () => {
    const made = await setFromText(
      `${perStudent},Class,Paid,Photo\n1,Ada Byron,ada@b.example,Anatomy,x,x\n`,
      {
        terms: ['2026-09-01..2027-01-31'],
      },
    )
    assert.deepEqual([made.counts?.classes, made.tables[0]!.unused], [1, ['Paid', 'Photo']])
  })

  test('A total below the last row is skipped', async () => {
    const rows =
      'N° étudiant,Nom,Prénom,Courriel,Matière,Début,Fin\n1,Byron,Ada,ada@b.example,Anatomie,2026-09-01,2027-01-31\n'
    for (const total of ['Total,1,,,,,', ',,,,Total :,1,']) {
      const made = await setFromText(`${rows}${total}\n`)
      assert.deepEqual(linesOf(made.findings), ['warning footer-line list.csv:3'], total)
      assert.equal(made.counts?.students, 1)
    }
  })

  test('One class may have several spans of days in its term; each student has one of them', async () => {
    const made = await setFromText(`Number,Name,E-mail,Class,Term,Type,Start,End
1,Ada Byron,ada@school.example,Equine,Autumn 2026,Rotation,2026-09-01,2026-09-14
2,Tom Gray,tom@school.example,Equine,Autumn 2026,Rotation,2026-09-15,2026-09-28
`)
    const { classes, of } = await readSet(made)
    assert.deepEqual([...classes.keys()], ['class-equine-autumn-2026'])
    assert.equal(classes.get('class-equine-autumn-2026')!.kind, 'rotation')
    const days = of('enrolment').map(({ data }) => (data as { startDate: string }).startDate)
    assert.deepEqual(days, ['2026-09-01', '2026-09-15'])
  })
})

const bad: readonly (readonly [
  what: string,
  list: string,
  found: readonly string[],
  message: RegExp,
  options?: Parameters<typeof setFromText>[1],
])[] = [
  [
    'no column for the address',
    'Number,Name,Klasse\n1,Ada Byron,3A\n',
    ['error missing-column list.csv:1 email'],
    /No column is recognised as the e-mail address of the student\. .*--map email="Klasse": Number, Name, Klasse\./,
  ],
  [
    'two columns that could be the number',
    'Student ID,Matricule,Name,E-mail\n1,2,Ada Byron,ada@school.example\n',
    ['error ambiguous-column list.csv:1 number'],
    /"Student ID" \(column A\) and "Matricule" \(column B\)\. Say which, in the console or with --map number="Student ID"/,
  ],
  [
    'a mapping to a column that is not there',
    'Number,Name,E-mail\n1,Ada Byron,ada@school.example\n',
    ['error missing-column list.csv:1 class'],
    /There is no column "Klasse" for the class\. The columns are: Number, Name, E-mail\./,
    { map: { class: 'Klasse' } },
  ],
  [
    'a row without a name',
    'Number,Name,E-mail\n1,Ada Byron,ada@school.example\n2,,tom@school.example\n',
    ['error missing-value list.csv:3 Name'],
    /The row has no name\. Fill it in, or remove the row\./,
  ],
  [
    'a row without a student, as merged cells leave it',
    'Number,Name,E-mail,Class,Start,End\n1,Ada Byron,ada@school.example,3A,2026-09-01,2027-01-31\n,,,3B,2026-09-01,2027-01-31\n',
    ['error missing-value list.csv:3 Name'],
    /The row has no student\. .*merged cells/,
  ],
  [
    'a row without number and address',
    'Number,Name,E-mail\n1,Ada Byron,ada@school.example\n,Printed on 3 September,\n',
    ['error missing-value list.csv:3 E-mail'],
    /neither a student number nor an e-mail address/,
  ],
  [
    'a class without a term',
    'Number,Name,E-mail,Class\n1,Ada Byron,ada@school.example,3A\n2,Tom Gray,tom@school.example,3A\n',
    ['error missing-term list.csv:2 Class'],
    /Give the first and the last day, in the console or with --term 2026-09-01\.\.2027-01-31/,
  ],
  [
    'a term without days',
    'Number,Name,E-mail,Class,Term\n1,Ada Byron,ada@school.example,3A,Autumn\n2,Tom Gray,tom@school.example,3A,Autumn\n',
    ['error missing-term list.csv:2 Term'],
    /Give the first and the last day, in the console or with --term "Autumn=2026-09-01\.\.2027-01-31"/,
    { terms: ['2026-09-01..2027-01-31'] },
  ],
  [
    'days that could be read either way',
    'Number,Name,E-mail,Class,Start,End\n1,Ada Byron,ada@school.example,3A,03/09/2026,01/02/2027\n',
    ['error bad-date list.csv:2 Start', 'error bad-date list.csv:2 End'],
    /--dates day-first or --dates month-first/,
  ],
  [
    'days that are none',
    'Number,Name,E-mail,Class,Start,End\n1,Ada Byron,ada@school.example,3A,2026-02-30,2027-01-31\n',
    ['error bad-date list.csv:2 Start'],
    /Write it like 2026-09-01\./,
  ],
  [
    'a last day before the first',
    'Number,Name,E-mail,Class,Start,End\n1,Ada Byron,ada@school.example,3A,2026-09-01,2026-01-31\n',
    ['error bad-date list.csv:2 End'],
    /The last day is before the first, 2026-09-01\./,
  ],
  [
    'one number for two students',
    'Number,Name,E-mail\n1,Ada Byron,ada@school.example\n1,Tom Gray,tom@school.example\n',
    ['error differing-rows list.csv:3 Name'],
    /The number 1 belongs to Ada Byron in line 2 and to Tom Gray here\./,
  ],
  [
    'two addresses of one student',
    'Number,Name,E-mail\n1,Ada Byron,ada@school.example\n1,Ada Byron,byron@school.example\n',
    ['error differing-rows list.csv:3 E-mail'],
    /has the address ada@school\.example in line 2 and byron@school\.example here/,
  ],
  [
    'one address for two students',
    'Number,Name,E-mail\n1,Ada Byron,ada@school.example\n2,Tom Gray,ADA@school.example\n',
    ['error duplicate-address list.csv:3 E-mail'],
    /The student with number 1 has the same address \(line 2\)/,
  ],
  [
    'two addresses in a cell',
    'Number,Name,E-mail\n1,Ada Byron,ada@school.example / a@home.example\n',
    ['error bad-address list.csv:2 E-mail'],
    /There are two addresses in this cell\./,
  ],
  [
    'a number that lost its digits, and a formula that failed',
    'Number,Name,E-mail\n1.23E+11,Ada Byron,ada@school.example\n#REF!,Tom Gray,tom@school.example\n',
    ['error spreadsheet-number list.csv:2 Number', 'error spreadsheet-error list.csv:3 Number'],
    /turned this identifier into a number/,
  ],
  [
    'a quote that never ends',
    'Number,Name,E-mail\n1,"Ada Byron,ada@school.example\n2,Tom Gray,tom@school.example\n',
    ['error bad-quotes list.csv:2'],
    /never closed/,
  ],
  ['no rows', 'Number,Name,E-mail\n', ['error empty-file list.csv'], /a header and no rows/],
  ['nothing at all', ' \n', ['error not-a-roster list.csv'], /The file is empty\./],
  ['a web page', '<!DOCTYPE html><html>', ['error not-a-roster list.csv'], /web page/],
]

suite('Class lists that cannot be read', () => {
  for (const [what, list, found, message, options] of bad)
    test(what, async () => {
      const made = await setFromText(list, options)
      assert.equal(made.counts, null)
      assert.deepEqual(linesOf(made.findings), found)
      assert.match(made.findings[0]!.message, message)
      assert.throws(() => readFileSync(made.out), /ENOENT/)
    })

  test('Each of them can be read once it is done as the message says', async () => {
    const list = 'Student ID,Matricule,Name,Klasse,E-mail\n1,2,Ada Byron,3A,ada@school.example\n'
    const map = { number: 'Matricule', class: 'Klasse' } as const
    const made = await setFromText(list, { map, terms: ['2026-09-01..2027-01-31'] })
    assert.deepEqual(linesOf(made.findings), [])
    assert.deepEqual([...(await readSet(made)).users.keys()], ['student-2'])
    const dated =
      'Number,Name,E-mail,Class,Start,End\n1,Ada Byron,a@school.example,3A,03/09/2026,01/02/2027\n'
    for (const [dayOrder, start] of [
      ['day-first', '2026-09-03'],
      ['month-first', '2026-03-09'],
    ] as const) {
      const { of } = await readSet(await setFromText(dated, { dayOrder }))
      assert.equal((of('term')[0]!.data as { startDate: string }).startDate, start)
    }
  })

  test('The same row twice counts once, and times that are not understood are left out', async () => {
    const row = '1,Ada Byron,ada@school.example,3A,2026-09-01,2027-01-31,whenever\n'
    const made = await setFromText(`Number,Name,E-mail,Class,Start,End,Schedule\n${row}${row}`)
    assert.deepEqual(linesOf(made.findings), [
      'warning bad-meetings list.csv:2 Schedule',
      'warning repeated-row list.csv:3 Class',
    ])
    assert.match(made.findings[1]!.message, /The row repeats line 2\. It counts once\./)
    assert.deepEqual(made.counts, { students: 1, teachers: 0, classes: 1, enrolments: 1 })
    const student = '1,Ada Byron,ada@school.example\n'
    const alone = await setFromText(`Number,Name,E-mail\n${student}${student}`)
    assert.deepEqual(linesOf(alone.findings), ['warning repeated-row list.csv:3 Number'])
  })
})

const canvas = {
  'users.csv': `user_id,integration_id,login_id,first_name,last_name,full_name,sortable_name,email,declared_user_type,status
u1,,ada,Ada,Byron,Ada Byron,"Byron, Ada",ada@school.example,,active
u2,,tom@school.example,,,Tom Gray,"Gray, Tom",,,active
u3,,grace,Grace,Hopper,,,grace@school.example,,suspended
u4,,gone,Gone,Away,,,gone@school.example,,deleted
u5,,office,Office,Clerk,,,office@school.example,,active
u6,,new,New,Comer,,,new@school.example,student,active
`,
  'terms.csv': `term_id,name,status,start_date,end_date
T1,Autumn 2026,active,2026-08-17T00:00:00Z,2026-12-18T23:59:59Z
T2,Default Term,active,,
`,
  'courses.csv': `course_id,short_name,long_name,account_id,term_id,status,start_date,end_date
c1,VET101,Anatomy,,T1,active,,
c2,VET102,Surgery,,T2,active,2026-09-01T00:00:00Z,2026-10-31T00:00:00Z
c3,VET103,Old,,T1,deleted,,
`,
  'sections.csv': `section_id,course_id,name,status,start_date,end_date
s1,c1,Anatomy A,active,,
s2,c1,Anatomy B,active,,
`,
  'enrollments.csv': `course_id,user_id,role,section_id,status
c1,u1,student,s1,active
,u3,student,s2,active
c2,u1,student,,active
c1,u2,teacher,s1,active
c1,u2,teacher,s2,active
c2,u3,ta,,active
c1,u4,student,s1,active
c1,u1,student,s2,deleted
c3,u1,student,,active
c1,u5,observer,s1,active
`,
}

const sds1 = {
  'School.csv': 'SIS ID,Name\n10,School of Veterinary Medicine\n',
  'Section.csv': `SIS ID,School SIS ID,Section Name,Section Number,Term SIS ID,Term Name,Term StartDate,Term EndDate,Course SIS ID,Course Name
A1,10,Anatomy A,1,T1,Autumn 2026,8/17/2026,12/18/2026,VET101,Anatomy
A2,10,Anatomy B,2,T1,Autumn 2026,8/17/2026,12/18/2026,VET101,Anatomy
`,
  'Student.csv': `SIS ID,School SIS ID,Username,First Name,Last Name,Student Number,Grade,Secondary Email,Status
1,10,ada@school.example,Ada,Byron,S1,1,,Active
2,10,grace,Grace,Hopper,S2,2,grace@school.example,Active
3,10,gone@school.example,Gone,Away,S3,2,,Inactive
`,
  'Teacher.csv': 'SIS ID,School SIS ID,Username,First Name,Last Name\n1,10,tom@school.example,Tom,Gray\n',
  'StudentEnrollment.csv': 'Section SIS ID,SIS ID\nA1,1\nA2,1\nA2,2\n',
  'TeacherRoster.csv': 'Section SIS ID,SIS ID\nA1,1\nA2,1\n',
}

const sds2 = {
  'orgs.csv': 'sourcedId,name,type,parentSourcedId\n10,School of Veterinary Medicine,university,\n',
  'academicSessions.csv':
    'sourcedId,title,type,schoolYear,startDate,endDate\nT1,Autumn 2026,semester,2027,2026-08-17,2026-12-18\n',
  'users.csv': `sourcedId,username,givenName,familyName,password,activeDirectoryMatchId,email,phone,sms
1,ada@school.example,Ada,Byron,,,,,
2,grace,Grace,Hopper,,,grace@school.example,,
3,tom@school.example,Tom,Gray,,,,,
4,office@school.example,Office,Clerk,,,,,
`,
  'roles.csv': `userSourcedId,orgSourcedId,role,sessionSourcedId,grade,isPrimary,roleStartDate,roleEndDate
1,10,student,,1,true,,
2,10,student,,2,true,,
3,10,teacher,,,true,,
4,10,staff,,,true,,
`,
  'classes.csv':
    'sourcedId,orgSourcedId,title,sessionSourcedIds,courseSourcedId,code\nA1,10,Anatomy A,T1,,VET101\n',
  'enrollments.csv': 'classSourcedId,userSourcedId,role\nA1,1,student\nA1,2,student\nA1,3,teacher\n',
}

suite('Exports of other systems', () => {
  test('A Canvas export, as a folder, as a zip, and file by file', async () => {
    const made = await setFromFolder(canvas)
    assert.equal(made.kind, 'Canvas export')
    assert.deepEqual(linesOf(made.findings), [
      'warning dangling-reference enrollments.csv:8 user_id',
      'warning dangling-reference enrollments.csv:10 course_id',
      'warning no-role users.csv',
    ])
    assert.match(made.findings[2]!.message, /^1 person has no enrolment/)
    assert.deepEqual(made.counts, { students: 3, teachers: 1, classes: 3, enrolments: 3 })
    const { users, classes, of, findings } = await readSet(made)
    assert.deepEqual(findings, [])
    assert.deepEqual([users.get('u2')!.firstname, users.get('u2')!.email], ['Tom', 'tom@school.example'])
    assert.equal(users.get('u3')!.enabled, false)
    assert.deepEqual([...classes.keys()], ['s1', 's2', 'c2'])
    assert.deepEqual(
      of('term').map(({ sourcedId }) => sourcedId),
      ['T1', 'T2-2026-09-01-2026-10-31'],
    )
    const bytes = readFileSync(made.out)
    const zipped = await setFrom([writeZip(await packZip(canvas))])
    assert.deepEqual(readFileSync(zipped.out), bytes)
    const apart = await setFrom(Object.entries(canvas).map(([name, text]) => listFile(name, text)))
    assert.deepEqual(readFileSync(apart.out), bytes)
  })

  test('A Canvas term without days is asked for', async () => {
    const courses = canvas['courses.csv'].replace(/2026-09-01.*$/m, ',')
    const files = { ...canvas, 'courses.csv': courses }
    const made = await setFromFolder(files)
    assert.deepEqual(
      linesOf(made.findings).filter((line) => line.startsWith('error')),
      ['error missing-term enrollments.csv:4 course_id'],
    )
    assert.match(
      made.findings.find(({ code }) => code === 'missing-term')!.message,
      /has dates for "Surgery"\. Give the first and the last day, in the console or with --term "Default Term=2026-09-01\.\.2027-01-31"/,
    )
    const given = await setFromFolder(files, { terms: ['Default Term=2026-09-01..2026-10-31'] })
    assert.equal(given.counts?.classes, 3)
  })

  const undated = {
    'a Canvas export': {
      'users.csv':
        'user_id,login_id,first_name,last_name,email,status\nu1,ada,Ada,Byron,ada@school.example,active\n',
      'courses.csv': 'course_id,short_name,long_name,term_id,status\nc1,VET101,Anatomy,,active\n',
      'enrollments.csv': 'course_id,user_id,role,status\nc1,u1,student,active\n',
    },
    'School Data Sync files, version 1': {
      ...sds1,
      'Section.csv': sds1['Section.csv'].replaceAll(/\d+\/\d+\/\d+/g, ''),
    },
    'School Data Sync files, version 2.1': {
      ...sds2,
      'classes.csv': sds2['classes.csv'].replace(',T1,', ',,'),
    },
  }
  for (const [what, files] of Object.entries(undated))
    test(`${what} without dates: one error, and none for what follows from it`, async () => {
      const { findings, counts } = await setFromFolder(files)
      assert.deepEqual([findings.map(({ code }) => code), counts], [['missing-term'], null])
    })

  test('Files for School Data Sync, version 1', async () => {
    const made = await setFromFolder(sds1)
    assert.equal(made.kind, 'School Data Sync files')
    assert.deepEqual(linesOf(made.findings), [])
    assert.deepEqual(made.counts, { students: 2, teachers: 1, classes: 2, enrolments: 3 })
    const { users, of, findings } = await readSet(made)
    assert.deepEqual(findings, [])
    assert.deepEqual([...users.keys()], ['student-1', 'student-2', 'teacher-1'])
    assert.deepEqual(
      ['student-1', 'student-2'].map((id) => [
        users.get(id)!.number,
        users.get(id)!.email,
        users.get(id)!.year,
      ]),
      [
        ['S1', 'ada@school.example', 1],
        ['S2', 'grace@school.example', 2],
      ],
    )
    assert.equal((of('term')[0]!.data as { endDate: string }).endDate, '2026-12-18')
    const { 'StudentEnrollment.csv': _, ...less } = sds1
    assert.deepEqual(linesOf((await setFromFolder(less)).findings).slice(0, 1), ['error missing-file roster'])
  })

  test('Files for School Data Sync, version 2.1', async () => {
    const made = await setFromFolder(sds2)
    assert.deepEqual(linesOf(made.findings), [])
    assert.deepEqual(made.counts, { students: 2, teachers: 1, classes: 1, enrolments: 2 })
    const { users, findings } = await readSet(made)
    assert.deepEqual(findings, [])
    assert.deepEqual([...users.keys()], ['1', '2', '3'])
  })

  test('A OneRoster set, and a folder of anything else, are sent elsewhere', async () => {
    const set = await setFrom([(await setFromText(english)).out])
    assert.match(set.findings[0]!.message, /This is already a OneRoster set/)
    const other = await setFromFolder({ 'list.csv': english })
    assert.match(other.findings[0]!.message, /neither a Canvas SIS export/)
    assert.deepEqual([set.counts, other.counts], [null, null])
  })
})

/** From the file to the store: a plan without errors, an import, and nothing to do for the same file. */
async function throughTheStore(engine: Engine, make: () => Promise<Made>, students: number): Promise<void> {
  await inWorld(engine, async (world) => {
    const { out } = await make()
    const plan = await world.plan(out)
    assert.equal(isRefused(plan), false, JSON.stringify(plan.findings))
    assert.deepEqual(plan.holds, [])
    await world.import(out)
    assert.equal(Object.keys(await studentsNow(world.db)).length, students)
    assert.equal(isEmpty(await world.plan((await make()).out)), true)
    assert.equal(await world.import((await make()).out), null)
  })
}

suite('Sets that were made go through plan and import', { concurrency: 2 }, () => {
  const cases: readonly (readonly [string, () => Promise<Made>, number])[] = [
    ['an English list', () => setFromText(english), 2],
    ['a French list', () => setFromText(french), 2],
    ['a Spanish list', () => setFromText(spanish), 2],
    ['an Italian list with a mapping', () => setFromText(italian, { map: italianMap }), 2],
    ['a workbook', async () => setFrom([await mixedWorkbook()]), 2],
    ['a Canvas export', () => setFromFolder(canvas), 2],
    ['SDS files, version 1', () => setFromFolder(sds1), 2],
    ['SDS files, version 2.1', () => setFromFolder(sds2), 2],
  ]
  for (const [what, make, students] of cases) test(what, () => throughTheStore('sqlite', make, students))

  test('an English list on PostgreSQL', onPostgres, () =>
    throughTheStore('postgres', () => setFromText(english), 2),
  )

  for (const engine of engines)
    test(`Whoever is renamed, moves to another class or changes the address keeps the account on ${engine}`, () =>
      inWorld(engine, async (world) => {
        await world.import((await setFromText(english)).out)
        const before = await studentsNow(world.db)
        const next = english
          .replaceAll('Ada,Byron,ada@', 'Ada,Lovelace,ada.lovelace@')
          .replace('2,Anatomy I', '2,Surgery')
        const plan = await world.plan((await setFromText(next)).out)
        assert.deepEqual([plan.counts.student.changed, plan.counts.student.leaving], [1, 0])
        await world.import((await setFromText(next)).out)
        assert.deepEqual(await studentsNow(world.db), before)
        await world.undo()
        assert.equal(isEmpty(await world.plan((await setFromText(english)).out)), true)
      }))
})
