/**
 * Writes OneRoster CSV with LF line ends, quoting only where needed. Shares no code with the reader (src/school/roster), so
 * that each checks the other.
 */
export type Version = '1.1' | '1.2'
export type Mode = 'bulk' | 'delta'

const head = ['sourcedId', 'status', 'dateLastModified'] as const

const shared = {
  orgs: [...head, 'name', 'type', 'identifier', 'parentSourcedId'],
  academicSessions: [...head, 'title', 'type', 'startDate', 'endDate', 'parentSourcedId', 'schoolYear'],
  courses: [
    ...head,
    ...(['schoolYearSourcedId', 'title', 'courseCode', 'grades', 'orgSourcedId'] as const),
    ...(['subjects', 'subjectCodes'] as const),
  ],
  classes: [
    ...head,
    ...(['title', 'grades', 'courseSourcedId', 'classCode', 'classType', 'location'] as const),
    ...(['schoolSourcedId', 'termSourcedIds', 'subjects', 'subjectCodes', 'periods'] as const),
    'metadata.meets',
  ],
  enrollments: [
    ...head,
    ...(['classSourcedId', 'schoolSourcedId', 'userSourcedId', 'role', 'primary'] as const),
    ...(['beginDate', 'endDate'] as const),
  ],
} as const

const person = [
  ...(['username', 'userIds', 'givenName', 'familyName', 'middleName', 'identifier', 'email'] as const),
  ...(['sms', 'phone', 'agentSourcedIds', 'grades', 'password'] as const),
] as const

const columns = {
  '1.1': {
    ...shared,
    // Version 1.1 knows only homeroom and scheduled; an extension column has the real kind.
    classes: [...shared.classes, 'metadata.kind'],
    users: [...head, 'enabledUser', 'orgSourcedIds', 'role', ...person],
    roles: [],
    userProfiles: [],
  },
  '1.2': {
    ...shared,
    users: [
      ...head,
      'enabledUser',
      ...person,
      ...(['userMasterIdentifier', 'resourceSourcedIds', 'preferredGivenName'] as const),
      ...(['preferredMiddleName', 'preferredFamilyName', 'primaryOrgSourcedId', 'pronouns'] as const),
    ],
    roles: [
      ...head,
      ...(['userSourcedId', 'roleType', 'role', 'beginDate', 'endDate'] as const),
      ...(['orgSourcedId', 'userProfileSourcedId'] as const),
    ],
    userProfiles: [
      ...head,
      ...(['userSourcedId', 'profileType', 'vendorId', 'applicationId', 'description'] as const),
      ...(['credentialType', 'username', 'password'] as const),
    ],
  },
} as const

export type FileName = keyof (typeof columns)['1.2']
type Column<F extends FileName> = (typeof columns)[Version][F][number]
/** May have cells of either version; those that the written version lacks are left out. */
export type Row<F extends FileName> = Readonly<Partial<Record<Column<F>, string>>>

function cell(value: string): string {
  return /[",\r\n]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}

function line(cells: readonly string[]): string {
  return `${cells.map(cell).join(',')}\n`
}

export function headerLine(file: FileName, version: Version): string {
  return line(columns[version][file])
}

export function rowLine<F extends FileName>(file: F, version: Version, row: Row<F>): string {
  const cells = row as Readonly<Record<string, string | undefined>>
  return line(columns[version][file].map((column) => cells[column] ?? ''))
}

const manifestFiles: Readonly<Record<Version, readonly string[]>> = {
  '1.1': [
    ...['academicSessions', 'categories', 'classes', 'classResources', 'courses', 'courseResources'],
    ...['demographics', 'enrollments', 'lineItems', 'orgs', 'resources', 'results', 'users'],
  ],
  '1.2': [
    ...['academicSessions', 'categories', 'classes', 'classResources', 'courses', 'courseResources'],
    ...['demographics', 'enrollments', 'lineItemLearningObjectiveIds', 'lineItems', 'lineItemScoreScales'],
    ...['orgs', 'resources', 'resultLearningObjectiveIds', 'results', 'resultScoreScales', 'roles'],
    ...['scoreScales', 'userProfiles', 'userResources', 'users'],
  ],
}

export function manifest(version: Version, mode: Mode, present: readonly FileName[], system: string): string {
  const modeOf = (file: string) => (present.some((name) => name === file) ? mode : 'absent')
  return [
    ['propertyName', 'value'],
    ['manifest.version', '1.0'],
    ['oneroster.version', version],
    ...manifestFiles[version].map((file) => [`file.${file}`, modeOf(file)]),
    ['source.systemName', system],
    ['source.systemCode', 'chiron-demo'],
  ]
    .map(line)
    .join('')
}
