/** Rosters that cannot be read: every error has its place, and the row yields no record. */
import { bytes, type Case, delta, in12 } from './roster-edits.ts'
import { clean11, clean12, without } from './roster-files.ts'

export const strictCases: readonly Case[] = [
  [
    'a misspelt needed column',
    in12('users.csv', 'sourcedId', 'sourceId'),
    [['error', 'unknown-header', 'users.csv', 1, 'sourceId', 'sourceId']],
  ],
  [
    'a misspelt column that is read',
    in12('users.csv', ',email,', ',emial,'),
    [['error', 'unknown-header', 'users.csv', 1, 'emial', 'emial']],
  ],
  [
    'a column under a common other name',
    in12('users.csv', ',givenName,', ',First Name,'),
    [['error', 'unknown-header', 'users.csv', 1, 'First Name', 'First Name']],
  ],
  [
    'a missing column',
    { ...clean12, 'orgs.csv': 'sourcedId,name\norg-1,School\n' },
    [['error', 'missing-column', 'orgs.csv', 1, 'type', null]],
  ],
  [
    'a column twice',
    { ...clean12, 'orgs.csv': 'sourcedId,name,type,name\norg-1,School,school,x\n' },
    [['error', 'duplicate-header', 'orgs.csv', 1, 'name', 'name']],
  ],
  [
    'semicolons',
    { ...clean12, 'orgs.csv': 'sourcedId;name;type\norg-1;School;school\n' },
    [['error', 'wrong-separator', 'orgs.csv', 1, null, 'sourcedId;name;type']],
  ],
  [
    'a file of blank lines',
    { ...clean12, 'orgs.csv': '\n\n' },
    [
      ['warning', 'blank-lines', 'orgs.csv', 1, null, null],
      ['error', 'empty-file', 'orgs.csv', 1, null, null],
    ],
  ],
  [
    'a row with too few cells and one with too many',
    { ...clean12, 'orgs.csv': 'sourcedId,name,type\norg-1,School\norg-2,A,school,x\n' },
    [
      ['error', 'cell-count', 'orgs.csv', 2, null, null],
      ['error', 'cell-count', 'orgs.csv', 3, null, null],
    ],
  ],
  [
    'a quote inside a cell',
    { ...clean12, 'orgs.csv': 'sourcedId,name,type\norg-1,School,school\norg-2,A 5" needle,school\n' },
    [['error', 'bad-quotes', 'orgs.csv', 3, null, null]],
  ],
  [
    'a quote that is never closed',
    { ...clean12, 'orgs.csv': 'sourcedId,name,type\norg-1,"School,school\norg-2,A,school\n' },
    [['error', 'bad-quotes', 'orgs.csv', 2, null, null]],
  ],
  [
    'a header with a stray quote, after which nothing is read',
    { ...clean12, 'orgs.csv': 'sourcedId,na"me,type\norg-1,School,school\n' },
    [['error', 'bad-quotes', 'orgs.csv', 1, null, null]],
  ],
  [
    'an export for Clever',
    { 'students.csv': 'Student_id\n', 'sections.csv': 'Section_id\n', 'enrollments.csv': 'x\n' },
    [['error', 'not-a-roster', 'roster', null, null, null]],
  ],
  ['an empty folder', {}, [['error', 'not-a-roster', 'roster', null, null, null]]],
  [
    'Windows-1252 in every row that has it, without the password',
    {
      ...clean12,
      'users.csv': Buffer.concat([
        bytes(clean12['users.csv'], 'Gray', [0x47, 0xe9]),
        bytes('user-3,,,true,x,,A,B,,,,,,,,pass?,,,,,,,\n', '?', [0xe9]),
      ]),
    },
    [
      ['error', 'not-utf-8', 'users.csv', 3, 'familyName', 'G\ufffd'],
      ['error', 'not-utf-8', 'users.csv', 4, 'password', null],
    ],
  ],
  [
    'UTF-16 with its mark',
    { ...clean12, 'users.csv': Buffer.from(`\ufeff${clean12['users.csv']}`, 'utf16le') },
    [['error', 'not-utf-8', 'users.csv', 1, null, null]],
  ],
  [
    'UTF-16 without its mark',
    { ...clean12, 'users.csv': Buffer.from(clean12['users.csv'], 'utf16le') },
    [['error', 'not-utf-8', 'users.csv', 1, null, null]],
  ],
  [
    'dates as a spreadsheet writes them, and days that are none',
    {
      ...clean12,
      'enrollments.csv': `${clean12['enrollments.csv'].split('\n')[0]}
enr-1,,,class-1,org-1,user-1,student,,8/27/2018,2026-02-29
enr-2,,,class-1,org-1,user-2,student,,2024-02-29,20261218
`,
    },
    [
      ['error', 'bad-date', 'enrollments.csv', 2, 'beginDate', '8/27/2018'],
      ['error', 'bad-date', 'enrollments.csv', 2, 'endDate', '2026-02-29'],
      ['error', 'bad-date', 'enrollments.csv', 3, 'endDate', '20261218'],
    ],
  ],
  [
    'identifiers, references and codes that a spreadsheet has eaten',
    {
      ...clean12,
      'courses.csv': 'sourcedId,title,courseCode,orgSourcedId\n1.23E+11,Anatomy,4E+05,"2,5E+12"\n12E4,Ok,,\n',
      'classes.csv': `${clean12['classes.csv'].split('\n')[0]}
class-1,,,A,,course-1,,scheduled,,org-1,"term-1,1.5E+10",,,
`,
      'users.csv': clean12['users.csv'].replace('S100', '1.00E+05'),
    },
    [
      ['error', 'spreadsheet-number', 'courses.csv', 2, 'sourcedId', '1.23E+11'],
      ['error', 'spreadsheet-number', 'courses.csv', 2, 'courseCode', '4E+05'],
      ['error', 'spreadsheet-number', 'courses.csv', 2, 'orgSourcedId', '2,5E+12'],
      ['error', 'spreadsheet-number', 'classes.csv', 2, 'termSourcedIds', 'term-1,1.5E+10'],
      ['error', 'spreadsheet-number', 'users.csv', 2, 'identifier', '1.00E+05'],
    ],
  ],
  [
    'an empty cell that must be filled, and somebody without any name',
    { ...in12('users.csv', 'Tom,Gray', ','), 'orgs.csv': 'sourcedId,name,type\norg-1,,school\n' },
    [
      ['error', 'missing-value', 'orgs.csv', 2, 'name', ''],
      ['error', 'missing-value', 'users.csv', 3, 'familyName', ''],
    ],
  ],
  [
    'a control character in a name and in a title',
    { ...in12('users.csv', 'Tom', 'T\u0007om'), 'orgs.csv': 'sourcedId,name,type\no,A\u0000B,school\n' },
    [
      ['error', 'control-character', 'orgs.csv', 2, 'name', 'A\u0000B'],
      ['error', 'bad-name', 'users.csv', 3, 'givenName', 'T\u0007om'],
    ],
  ],
  [
    'an endless identifier, shown short',
    in12('orgs.csv', 'org-1', 'x'.repeat(256)),
    [['error', 'too-long', 'orgs.csv', 2, 'sourcedId', `${'x'.repeat(80)}…`]],
  ],
  [
    'a boolean that is none',
    in12('users.csv', 'true,ada', 'yes,ada'),
    [['error', 'bad-boolean', 'users.csv', 2, 'enabledUser', 'yes']],
  ],
  [
    'a value that the standard does not have',
    in12('roles.csv', 'secondary,teacher', 'secondary,professor'),
    [['error', 'bad-enumeration', 'roles.csv', 3, 'role', 'professor']],
  ],
  [
    'inactive in 1.2',
    { ...clean12, 'users.csv': delta('users.csv').replace('user-2,active', 'user-2,inactive') },
    [['error', 'bad-enumeration', 'users.csv', 3, 'status', 'inactive']],
  ],
  [
    'a kind that Chiron does not know',
    { ...clean12, 'classes.csv': clean12['classes.csv'].replace('periods', 'metadata.kind') },
    [['error', 'bad-class-kind', 'classes.csv', 2, 'metadata.kind', '1,2']],
  ],
  [
    'a sourcedId twice',
    in12('enrollments.csv', 'enr-2', 'enr-1'),
    [['error', 'duplicate-id', 'enrollments.csv', 3, 'sourcedId', 'enr-1']],
  ],
  [
    'a version that is not read',
    in12('manifest.csv', 'oneroster.version,1.2', 'oneroster.version,2.0'),
    [['error', 'unsupported-version', 'manifest.csv', 3, 'value', '2.0']],
  ],
  [
    'a manifest that announces a file that is not there',
    without(clean12, 'classes.csv'),
    [['error', 'missing-file', 'manifest.csv', 5, 'value', 'bulk']],
  ],
  [
    'a manifest with a mode of its own',
    in12('manifest.csv', 'file.users,bulk', 'file.users,full'),
    [['error', 'bad-manifest-mode', 'manifest.csv', 11, 'value', 'full']],
  ],
  [
    'a file in two spellings',
    { ...clean12, 'Users.csv': clean12['users.csv'] },
    [
      ['warning', 'file-name-case', 'Users.csv', null, null, null],
      ['error', 'duplicate-file', 'users.csv', null, null, null],
    ],
  ],
  [
    'a folder without a roster',
    { 'letter.txt': 'Dear registrar' },
    [
      ['error', 'no-files', 'roster', null, null, null],
      ['warning', 'unknown-file', 'letter.txt', null, null, null],
    ],
  ],
  [
    'files of 1.1 under a manifest of 1.2',
    { ...clean11, 'manifest.csv': clean12['manifest.csv'] },
    [['error', 'version-differs', 'manifest.csv', 3, 'value', '1.2']],
  ],
  [
    'files of 1.2 under a manifest of 1.1',
    in12('manifest.csv', 'version,1.2', 'version,1.1'),
    [['error', 'version-differs', 'manifest.csv', 3, 'value', '1.1']],
  ],
  [
    'users of 1.2 without roles and without a manifest',
    without(clean12, 'manifest.csv', 'roles.csv'),
    [
      ['warning', 'missing-manifest', 'roster', null, null, null],
      ['error', 'missing-part', 'roster', null, null, null],
    ],
  ],
  [
    'several missing columns, in one error',
    { ...clean12, 'orgs.csv': 'sourcedId\norg-1\n' },
    [['error', 'missing-column', 'orgs.csv', 1, 'name, type', null]],
  ],
  [
    'a title above the header',
    { ...clean12, 'users.csv': `Users of the school, 2026\n\n${clean12['users.csv']}` },
    [
      ['warning', 'blank-lines', 'users.csv', 2, null, null],
      ['error', 'header-below', 'users.csv', 1, null, null],
    ],
  ],
  [
    'rows without a header',
    { ...clean12, 'orgs.csv': 'org-1,,,School of Veterinary Medicine,school,,\n' },
    [['error', 'empty-file', 'orgs.csv', 1, null, null]],
  ],
  [
    'quotes around whole lines',
    { ...clean12, 'orgs.csv': '"sourcedId,name,type"\n"org-1,School,school"\n' },
    [['error', 'bad-quotes', 'orgs.csv', 1, null, 'sourcedId,name,type']],
  ],
  [
    'quotes of a word processor',
    { ...clean12, 'orgs.csv': '“sourcedId”,“name”,“type”\n“org-1”,“School”,“school”\n' },
    [['error', 'bad-quotes', 'orgs.csv', 1, null, '“sourcedId”']],
  ],
  [
    'semicolons and quotes, in one error',
    { ...clean12, 'orgs.csv': 'sep=;\nsourcedId;name;type\norg-1;"A; B";school\norg-2;C "D";school\n' },
    [['error', 'wrong-separator', 'orgs.csv', 2, null, 'sourcedId;name;type']],
  ],
  [
    'a file that breaks off in a row',
    { ...clean12, 'orgs.csv': 'sourcedId,name,type\norg-1,School,school\norg-2' },
    [['error', 'cell-count', 'orgs.csv', 3, null, null]],
  ],
  [
    'a total between the rows',
    { ...clean12, 'orgs.csv': 'sourcedId,name,type\nTotal: 1 row\norg-1,School,school\n' },
    [['error', 'cell-count', 'orgs.csv', 2, null, null]],
  ],
  [
    'errors of a spreadsheet wherever they stand',
    {
      ...in12('enrollments.csv', '2026-08-17', '#VALUE!'),
      'classes.csv': clean12['classes.csv'].replace('VET101-A', '#REF!'),
      'users.csv': clean12['users.csv'].replace('true,ada', '#N/A,ada').replace('ada@school.example', '#N/A'),
    },
    [
      ['error', 'spreadsheet-error', 'classes.csv', 2, 'classCode', '#REF!'],
      ['error', 'spreadsheet-error', 'users.csv', 2, 'enabledUser', '#N/A'],
      ['error', 'spreadsheet-error', 'users.csv', 2, 'email', '#N/A'],
      ['error', 'spreadsheet-error', 'enrollments.csv', 2, 'beginDate', '#VALUE!'],
    ],
  ],
  [
    'a file under a name that is only similar',
    { ...without(clean12, 'enrollments.csv'), 'enrolments.csv': clean12['enrollments.csv'] },
    [
      ['warning', 'unknown-file', 'enrolments.csv', null, null, null],
      ['error', 'missing-file', 'manifest.csv', 8, 'value', 'bulk'],
    ],
  ],
  [
    'a folder of many files',
    Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`${i}.csv`, ''])),
    [['error', 'too-many-files', 'roster', null, null, null]],
  ],
]
