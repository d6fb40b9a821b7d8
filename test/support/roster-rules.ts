/** The rules of OneRoster for a set of CSV files, implemented independently of the reader. */
import { parse } from 'csv-parse/sync'

export type Rows = Record<string, string>[]
export type Tables = Map<string, Rows>

export function tablesOf(files: ReadonlyMap<string, string>): Tables {
  const tables: Tables = new Map()
  for (const [name, text] of files)
    tables.set(name.replace('.csv', ''), parse(text, { columns: true }) as Rows)
  return tables
}

const references: readonly (readonly [file: string, column: string, target: string])[] = [
  ['orgs', 'parentSourcedId', 'orgs'],
  ['academicSessions', 'parentSourcedId', 'academicSessions'],
  ['courses', 'schoolYearSourcedId', 'academicSessions'],
  ['courses', 'orgSourcedId', 'orgs'],
  ['classes', 'courseSourcedId', 'courses'],
  ['classes', 'schoolSourcedId', 'orgs'],
  ['classes', 'termSourcedIds', 'academicSessions'],
  ['users', 'primaryOrgSourcedId', 'orgs'],
  ['users', 'orgSourcedIds', 'orgs'],
  ['roles', 'userSourcedId', 'users'],
  ['roles', 'orgSourcedId', 'orgs'],
  ['roles', 'userProfileSourcedId', 'userProfiles'],
  ['userProfiles', 'userSourcedId', 'users'],
  ['enrollments', 'classSourcedId', 'classes'],
  ['enrollments', 'schoolSourcedId', 'orgs'],
  ['enrollments', 'userSourcedId', 'users'],
]

const date = /^\d{4}-\d{2}-\d{2}$/
const patterns: readonly (readonly [file: string, column: string, pattern: RegExp])[] = [
  ['orgs', 'type', /^(district|school)$/],
  ['orgs', 'name', /./],
  ['academicSessions', 'type', /^(schoolYear|semester)$/],
  ['academicSessions', 'title', /./],
  ['academicSessions', 'schoolYear', /^\d{4}$/],
  ['academicSessions', 'startDate', date],
  ['academicSessions', 'endDate', date],
  ['courses', 'title', /./],
  ['courses', 'orgSourcedId', /./],
  ['classes', 'title', /./],
  ['classes', 'classType', /^(scheduled|homeroom|ext:(practical|tutorial|rotation))$/],
  ['classes', 'courseSourcedId', /./],
  ['classes', 'schoolSourcedId', /./],
  ['classes', 'termSourcedIds', /./],
  ['users', 'enabledUser', /^(true|false)$/],
  ['users', 'username', /./],
  ['users', 'givenName', /./],
  ['users', 'familyName', /./],
  ['users', 'email', /^[a-z0-9.]+@[a-z.]*example\.edu$/],
  ['users', 'password', /^$/],
  ['users', 'grades', /^[1-5]?$/],
  ['roles', 'roleType', /^primary$/],
  ['roles', 'role', /^(student|teacher)$/],
  ['roles', 'orgSourcedId', /./],
  ['enrollments', 'role', /^(student|teacher)$/],
  ['enrollments', 'primary', /^(true|false)$/],
  ['enrollments', 'beginDate', /^(\d{4}-\d{2}-\d{2})?$/],
  ['enrollments', 'endDate', /^(\d{4}-\d{2}-\d{2})?$/],
]

function* danglingIn(tables: Tables): Generator<string> {
  const known = new Map([...tables].map(([name, rows]) => [name, new Set(rows.map((row) => row.sourcedId))]))
  for (const [file, column, target] of references)
    for (const row of tables.get(file) ?? [])
      for (const id of (row[column] ?? '').split(',').filter((one) => one !== ''))
        if (!known.get(target)?.has(id)) yield `${file}.${column}: ${id} is not among ${target}`
}

function* illFormedIn(tables: Tables): Generator<string> {
  for (const [file, column, pattern] of patterns)
    for (const row of tables.get(file) ?? [])
      if (!pattern.test(row[column] ?? '')) yield `${file}.${column}: ${row[column]}`
}

function isReal(text: string): boolean {
  return new Date(`${text}T00:00:00Z`).toISOString().startsWith(text)
}

function* wrongDatesIn(tables: Tables): Generator<string> {
  for (const [name, rows] of tables)
    for (const { sourcedId, startDate, beginDate, endDate } of rows) {
      const [from, to] = [startDate || beginDate, endDate]
      for (const one of [from, to]) if (one && !isReal(one)) yield `${name} ${sourcedId}: no day ${one}`
      if (from && to && from > to) yield `${name} ${sourcedId}: ${from} is after ${to}`
    }
}

function* repeatedIn(tables: Tables, file: string, key: (row: Record<string, string>) => string) {
  const seen = new Set<string>()
  for (const row of tables.get(file) ?? []) {
    const value = key(row)
    if (seen.has(value)) yield `${file}: ${value} twice`
    seen.add(value)
  }
}

function* wrongInManifest(tables: Tables): Generator<string> {
  for (const { propertyName, value } of tables.get('manifest')!) {
    const file = /^file\.(.*)/.exec(propertyName!)?.[1]
    if (file && (value === 'absent') === tables.has(file)) yield `manifest: ${file} is ${value}`
  }
}

function* wrongInBulk(tables: Tables): Generator<string> {
  for (const [name, rows] of tables)
    for (const row of rows)
      if (row.status || row.dateLastModified) yield `${name} ${row.sourcedId}: has a status`
}

/** For a bulk set; empty if there are no faults. */
export function faultsOf(tables: Tables): string[] {
  const names = [...tables.keys()].filter((name) => name !== 'manifest')
  return [
    ...wrongInManifest(tables),
    ...wrongInBulk(tables),
    ...names.flatMap((name) => [...repeatedIn(tables, name, ({ sourcedId }) => sourcedId ?? '')]),
    ...repeatedIn(tables, 'users', ({ email }) => email!.toLowerCase()),
    ...repeatedIn(tables, 'users', ({ username }) => username!),
    ...repeatedIn(tables, 'enrollments', (row) => `${row.userSourcedId} in ${row.classSourcedId}`),
    ...danglingIn(tables),
    ...illFormedIn(tables),
    ...wrongDatesIn(tables),
  ]
}
