/** Rosters that deviate from the standard but are clear: they are read with a warning. */
import { type Case, delta, in11, in12 } from './roster-edits.ts'
import { clean11, clean12, without } from './roster-files.ts'

export const lenientCases: readonly Case[] = [
  [
    'a byte order mark is skipped',
    { ...clean12, 'users.csv': `\ufeff${clean12['users.csv']}` },
    [['warning', 'byte-order-mark', 'users.csv', 1, null, null]],
  ],
  [
    'a second byte order mark is skipped too',
    { ...clean12, 'users.csv': `\ufeff\ufeff${clean12['users.csv']}` },
    [['warning', 'byte-order-mark', 'users.csv', 1, null, null]],
  ],
  [
    'a line that tells Excel the separator is skipped',
    { ...clean12, 'users.csv': `sep=,\r\n${clean12['users.csv']}` },
    [['warning', 'separator-line', 'users.csv', 1, null, null]],
  ],
  [
    'so is a Ctrl-Z at the end',
    {
      ...clean12,
      'users.csv': `${clean12['users.csv']}\x1a`,
      'orgs.csv': `${clean12['orgs.csv'].trimEnd()}\x1a\r\n`,
    },
    [
      ['warning', 'footer-line', 'orgs.csv', null, null, null],
      ['warning', 'footer-line', 'users.csv', null, null, null],
    ],
  ],
  [
    'so are a total and a count of rows at the end',
    {
      ...clean12,
      'roles.csv': `${clean12['roles.csv']}(2 rows affected)\n`,
      'users.csv': `${clean12['users.csv']}Total,2${','.repeat(21)}\n\n`,
    },
    [
      ['warning', 'blank-lines', 'users.csv', 5, null, null],
      ['warning', 'footer-line', 'users.csv', 4, null, 'Total, 2'],
      ['warning', 'footer-line', 'roles.csv', 4, null, '(2 rows affected)'],
    ],
  ],
  [
    'NULL is an empty cell, but not in a name',
    in12('users.csv', 'user-2,,,,tom,,Tom,Gray,,,', 'user-2,NULL,NULL,NULL,tom,,Tom,NULL,,NULL,'),
    [['warning', 'null-word', 'users.csv', 3, 'status', 'NULL']],
  ],
  [
    'what keeps a spreadsheet from changing an identifier goes away',
    in12('users.csv', 'S100', '"=""00100"""'),
    [['warning', 'spreadsheet-text', 'users.csv', 2, 'identifier', '="00100"']],
  ],
  [
    'invisible characters around identifiers go away',
    in12('enrollments.csv', 'user-1,student', '\u200buser-1\u2060,student'),
    [['warning', 'surrounding-space', 'enrollments.csv', 2, 'userSourcedId', '\u200buser-1\u2060']],
  ],
  [
    'text that was encoded twice is pointed out wherever people see it',
    {
      ...in12('users.csv', 'S100', 'S1Ã©'),
      'orgs.csv': clean12['orgs.csv'].replace('School', 'Ã‰cole'),
      'academicSessions.csv': clean12['academicSessions.csv'].replace('Autumn', 'OtoÃ±o'),
      'courses.csv': clean12['courses.csv'].replace('Anatomy', 'Ð˜Ð²Ð°Ð½'),
      'classes.csv': clean12['classes.csv'].replace('Hall 1', 'Hall \ufffd'),
    },
    [
      ['warning', 'damaged-text', 'orgs.csv', 2, 'name', 'Ã‰cole of Veterinary Medicine'],
      ['warning', 'damaged-text', 'academicSessions.csv', 2, 'title', 'OtoÃ±o'],
      ['warning', 'damaged-text', 'courses.csv', 2, 'title', 'Ð˜Ð²Ð°Ð½'],
      ['warning', 'damaged-text', 'classes.csv', 2, 'location', 'Hall \ufffd'],
      ['warning', 'damaged-text', 'users.csv', 2, 'identifier', 'S1Ã©'],
    ],
  ],
  ['French quotation marks are not damage', in12('orgs.csv', 'School', '«\u00a0là\u00a0»'), []],
  ['CR LF is as good as LF', { ...clean12, 'users.csv': clean12['users.csv'].replaceAll('\n', '\r\n') }, []],
  [
    'a lone CR ends a line too',
    { ...clean12, 'users.csv': clean12['users.csv'].replaceAll('\n', '\r') },
    [['warning', 'lone-carriage-return', 'users.csv', null, null, null]],
  ],
  [
    'trailing empty cells are ignored',
    in12('orgs.csv', 'org-1,,,School of Veterinary Medicine,school,,', 'org-1,,,School,school,,,,'),
    [['warning', 'trailing-cells', 'orgs.csv', 2, null, null]],
  ],
  [
    'capitals in enumerations are forgiven',
    in12('roles.csv', 'primary,student', 'Primary,STUDENT'),
    [
      ['warning', 'enumeration-case', 'roles.csv', 2, 'role', 'STUDENT'],
      ['warning', 'enumeration-case', 'roles.csv', 2, 'roleType', 'Primary'],
    ],
  ],
  [
    'capitals in booleans are forgiven',
    in12('users.csv', 'true,ada', 'TRUE,ada'),
    [['warning', 'boolean-case', 'users.csv', 2, 'enabledUser', 'TRUE']],
  ],
  [
    'capitals in headers are forgiven',
    in12('users.csv', 'sourcedId,status', 'SourcedID,status'),
    [['warning', 'header-case', 'users.csv', 1, 'sourcedId', 'SourcedID']],
  ],
  [
    'extra columns are ignored, and metadata columns are no news',
    { ...clean12, 'orgs.csv': 'sourcedId,name,type,metadata.city,mascot\norg-1,School,school,Davis,mule\n' },
    [['warning', 'unknown-header', 'orgs.csv', 1, 'mascot', 'mascot']],
  ],
  [
    'a column of the other version is ignored',
    in12('users.csv', 'primaryOrgSourcedId', 'orgSourcedIds'),
    [['warning', 'unknown-header', 'users.csv', 1, 'orgSourcedIds', 'orgSourcedIds']],
  ],
  [
    'manifest.version 1 is read as 1.0',
    in12('manifest.csv', 'manifest.version,1.0', 'manifest.version,1'),
    [['warning', 'manifest-version', 'manifest.csv', 2, 'value', '1']],
  ],
  ['version 1.2.1 is a 1.2', in12('manifest.csv', 'version,1.2', 'version,1.2.1'), []],
  [
    'a manifest may leave out the version',
    in12('manifest.csv', 'oneroster.version,1.2\n', ''),
    [['warning', 'missing-version', 'manifest.csv', null, 'value', null]],
  ],
  [
    'without a manifest roles.csv tells the version',
    without(clean12, 'manifest.csv'),
    [['warning', 'missing-manifest', 'roster', null, null, null]],
  ],
  [
    'userprofiles.csv is checked for form',
    {
      ...clean12,
      'userprofiles.csv':
        'sourcedId,status,dateLastModified,userSourcedId,profileType,vendorId,applicationId,description,credentialType,username,password\nup-1,,,user-1,p,v,,,c,ada,secret\n',
    },
    [
      ['warning', 'file-name-case', 'userprofiles.csv', null, null, null],
      ['warning', 'unexpected-file', 'manifest.csv', 12, 'value', 'absent'],
    ],
  ],
  [
    'other files of the standard are no news, others are',
    { ...clean12, 'demographics.csv': 'anything', 'notes.txt': 'x' },
    [['warning', 'unknown-file', 'notes.txt', null, null, null]],
  ],
  ['in a bulk set dates and states are no news', { ...clean12, 'users.csv': delta('users.csv') }, []],
  ['nor is a state without a date', in12('orgs.csv', 'org-1,,', 'org-1,active,'), []],
  [
    'a delta whose rows look like bulk is pointed out',
    in12('manifest.csv', 'file.users,bulk', 'file.users,delta'),
    [['warning', 'mode-differs', 'manifest.csv', 11, 'value', 'delta']],
  ],
  [
    'a delta with some rows that have no date is pointed out once',
    {
      ...in12('manifest.csv', 'file.users,bulk', 'file.users,delta'),
      'users.csv': delta('users.csv').replace('user-2,active,2026-09-01T08:00:00Z', 'user-2,active,'),
    },
    [['warning', 'mixed-mode', 'users.csv', 3, 'status', null]],
  ],
  [
    'somebody with one name is taken',
    in12('users.csv', 'Tom,Gray', 'Tom,'),
    [['warning', 'one-name', 'users.csv', 3, 'familyName', '']],
  ],
  ['a class code that looks like a small number is taken', in12('classes.csv', 'VET101-A', '7E-1'), []],
  ['marks of direction in a name are taken', in12('users.csv', 'Tom,Gray', '\u200f\u05d3\u05df,Gray'), []],
  [
    'spaces around identifiers go away',
    in12('enrollments.csv', 'enr-1', ' enr-1 '),
    [['warning', 'surrounding-space', 'enrollments.csv', 2, 'sourcedId', ' enr-1 ']],
  ],
  [
    'a time without a zone is taken',
    {
      ...without(clean12, 'manifest.csv'),
      'users.csv': delta('users.csv').replaceAll('T08:00:00Z', ''),
    },
    [
      ['warning', 'missing-manifest', 'roster', null, null, null],
      ['warning', 'datetime-form', 'users.csv', 2, 'dateLastModified', '2026-09-01'],
      ['warning', 'datetime-form', 'users.csv', 3, 'dateLastModified', '2026-09-01'],
    ],
  ],
  [
    'ext: values in 1.1 are taken',
    in11('classes.csv', 'homeroom', 'ext:rotation'),
    [['warning', 'extension-in-1.1', 'classes.csv', 3, 'classType', 'ext:rotation']],
  ],
  [
    'an unknown ext: class type is a course',
    in12('classes.csv', 'ext:rotation', 'ext:seminar'),
    [['warning', 'unknown-class-kind', 'classes.csv', 3, 'classType', 'ext:seminar']],
  ],
  [
    'inactive of 1.1 is tobedeleted',
    {
      ...clean11,
      'orgs.csv':
        'sourcedId,status,dateLastModified,name,type\norg-1,inactive,2026-09-01T08:00:00Z,S,school\n',
    },
    [['warning', 'inactive-status', 'orgs.csv', 2, 'status', 'inactive']],
  ],
  [
    'days the wrong way round are pointed out',
    in12('enrollments.csv', '2026-12-18', '2026-01-18'),
    [['warning', 'date-order', 'enrollments.csv', 2, 'endDate', '2026-01-18']],
  ],
]
