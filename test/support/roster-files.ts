/** Small rosters in folders and zips, deleted when the process ends. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { isDeepStrictEqual } from 'node:util'
import { ZipFile } from 'yazl'
import { FindingLog } from '../../src/school/roster/findings.ts'
import { readRoster } from '../../src/school/roster/read/read.ts'
import type { Finding, Kind, Mode, RosterFile, RosterRecord } from '../../src/school/roster/records.ts'

export type Files = Readonly<Record<string, string | Buffer>>

/** OneRoster 1.2, bulk, without any findings. */
export const clean12 = {
  'manifest.csv': `propertyName,value
manifest.version,1.0
oneroster.version,1.2
file.academicSessions,bulk
file.classes,bulk
file.courses,bulk
file.demographics,absent
file.enrollments,bulk
file.orgs,bulk
file.roles,bulk
file.users,bulk
file.userProfiles,absent
source.systemName,Registrar
`,
  'orgs.csv': `sourcedId,status,dateLastModified,name,type,identifier,parentSourcedId
org-1,,,School of Veterinary Medicine,school,,
`,
  'academicSessions.csv': `sourcedId,status,dateLastModified,title,type,startDate,endDate,parentSourcedId,schoolYear
term-1,,,Autumn,term,2026-08-17,2026-12-18,,2027
term-2,,,Spring,ext:half,2027-01-04,2027-05-28,,2027
`,
  'courses.csv': `sourcedId,status,dateLastModified,schoolYearSourcedId,title,courseCode,grades,orgSourcedId,subjects,subjectCodes
course-1,,,,Anatomy,VET101,,org-1,,
`,
  'classes.csv': `sourcedId,status,dateLastModified,title,grades,courseSourcedId,classCode,classType,location,schoolSourcedId,termSourcedIds,subjects,subjectCodes,periods
class-1,,,Anatomy A,,course-1,VET101-A,scheduled,Hall 1,org-1,"term-1, term-2","Anatomy,Surgery",,"1,2"
class-2,,,Equine rotation,,course-1,,ext:rotation,,org-1,term-1,,,
`,
  'users.csv': `sourcedId,status,dateLastModified,enabledUser,username,userIds,givenName,familyName,middleName,identifier,email,sms,phone,agentSourcedIds,grades,password,userMasterIdentifier,resourceSourcedIds,preferredGivenName,preferredMiddleName,preferredFamilyName,primaryOrgSourcedId,pronouns
user-1,,,true,ada,,Ada,Byron,,S100,ada@school.example,,,,"KG,09,10",hunter2,,,Addie,,Lovelace,org-1,she/her
user-2,,,,tom,,Tom,Gray,,,,,,,,,,,,,,,
`,
  'roles.csv': `sourcedId,status,dateLastModified,userSourcedId,roleType,role,beginDate,endDate,orgSourcedId,userProfileSourcedId
role-1,,,user-1,primary,student,,,org-1,
role-2,,,user-2,secondary,teacher,2026-08-01,,org-1,
`,
  'enrollments.csv': `sourcedId,status,dateLastModified,classSourcedId,schoolSourcedId,userSourcedId,role,primary,beginDate,endDate
enr-1,,,class-1,org-1,user-1,student,,2026-08-17,2026-12-18
enr-2,,,class-1,org-1,user-2,teacher,true,,
`,
} as const

/** The same roster in OneRoster 1.1. */
export const clean11 = {
  ...without(clean12, 'roles.csv'),
  'manifest.csv': `propertyName,value
manifest.version,1.0
oneroster.version,1.1
file.classes,bulk
file.users,bulk
`,
  'classes.csv': clean12['classes.csv'].replace('ext:rotation', 'homeroom'),
  'academicSessions.csv': clean12['academicSessions.csv'].replace('ext:half', 'semester'),
  'users.csv': `sourcedId,status,dateLastModified,enabledUser,orgSourcedIds,role,username,userIds,givenName,familyName,middleName,identifier,email,sms,phone,agentSourcedIds,grades,password
user-1,,,true,"org-1,org-2",student,ada,{Local:1},Ada,Byron,,S100,ada@school.example,,,,09,hunter2
`,
} as const

export function without(files: Files, ...names: string[]): Record<string, string | Buffer> {
  return Object.fromEntries(Object.entries(files).filter(([name]) => !names.includes(name)))
}

let folder: string | undefined
let count = 0

/** A path that does not exist yet. */
export function freshPath(name = 'roster'): string {
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'chiron-roster-'))
    process.once('exit', () => rmSync(made, { recursive: true, force: true }))
    folder = made
  }
  count++
  mkdirSync(join(folder, `${count}`))
  return join(folder, `${count}`, name)
}

export function writeFolder(files: Files): string {
  const path = freshPath()
  mkdirSync(path)
  for (const [name, content] of Object.entries(files)) writeFileSync(join(path, name), content)
  return path
}

export async function packZip(files: Files): Promise<Buffer> {
  const zip = new ZipFile()
  for (const [name, content] of Object.entries(files)) zip.addBuffer(Buffer.from(content), name)
  zip.end()
  return await buffer(zip.outputStream)
}

export function writeZip(zip: Buffer): string {
  const path = freshPath('roster.zip')
  writeFileSync(path, zip)
  return path
}

/** Offsets of the central directory headers, so that tests can falsify them. */
export function centralHeaders(zip: Buffer): number[] {
  const headers: number[] = []
  for (
    let at = zip.indexOf('PK\x01\x02', 0, 'latin1');
    at >= 0;
    at = zip.indexOf('PK\x01\x02', at + 1, 'latin1')
  )
    headers.push(at)
  return headers
}

export interface Read {
  readonly file: RosterFile
  readonly records: RosterRecord[]
  readonly findings: Finding[]
  /** The sourcedIds of rows that were refused. */
  readonly bad: (string | null)[]
  readonly unread: Kind[]
}

export async function readAll(path: string, mode: Mode | null = null): Promise<Read> {
  const records: RosterRecord[] = []
  const bad: (string | null)[] = []
  const unread: Kind[] = []
  const log = new FindingLog()
  const file = await readRoster(path, { mode }, log, {
    record: (record) => records.push(record),
    bad: ({ sourcedId }) => bad.push(sourcedId),
    unread: (kind) => unread.push(kind),
    progress() {},
    *finish(kind) {
      const all = records.filter((record) => record.kind === kind)
      for (const record of all) {
        const first = all.find(({ sourcedId }) => sourcedId === record.sourcedId)!
        if (record === first) continue
        records.splice(records.indexOf(record), 1)
        const isSame = isDeepStrictEqual({ ...first, line: 0 }, { ...record, line: 0 })
        yield { kind, sourcedId: record.sourcedId, line: record.line, first: first.line, isSame }
      }
    },
  })
  return { file, records, findings: log.all(file.name), bad, unread }
}
