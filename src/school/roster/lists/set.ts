/**
 * The content of a set, and the set itself: OneRoster 1.1, bulk, as a zip. The same content always gives the same
 * sourcedIds and the same bytes, so an unchanged list changes nothing.
 */
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { ZipFile } from 'yazl'
import { folded } from '../../../platform/lib/folded.ts'
import type { ClassKind } from '../records.ts'

export interface SetTerm {
  readonly title: string
  readonly type: 'term' | 'semester' | 'schoolYear' | 'gradingPeriod'
  readonly start: string
  readonly end: string
}

export interface SetCourse {
  readonly title: string
  readonly code: string
}

export interface SetClass {
  readonly title: string
  readonly code: string
  readonly kind: ClassKind
  readonly courseId: string
  readonly orgId: string
  readonly termIds: Set<string>
  readonly rooms: Set<string>
  readonly meets: Set<string>
}

export interface SetPerson {
  readonly role: 'student' | 'teacher'
  readonly given: string
  readonly family: string
  readonly number: string
  readonly email: string
  readonly year: string
  readonly enabled: boolean
  readonly orgId: string
}

export interface SetEnrolment {
  readonly classId: string
  readonly personId: string
  readonly role: 'student' | 'teacher' | 'aide'
  readonly start: string
  readonly end: string
}

/** All by sourcedId. */
export class SetContent {
  readonly orgs = new Map<string, string>()
  readonly terms = new Map<string, SetTerm>()
  readonly courses = new Map<string, SetCourse>()
  readonly classes = new Map<string, SetClass>()
  readonly people = new Map<string, SetPerson>()
  readonly enrolments = new Map<string, SetEnrolment>()

  enrol(enrolment: SetEnrolment): void {
    const { classId, personId, role } = enrolment
    this.enrolments.set(idOf(role, classId, personId), enrolment)
  }

  counts() {
    const roles = { student: 0, teacher: 0 }
    for (const { role } of this.people.values()) roles[role]++
    let enrolments = 0
    for (const { role } of this.enrolments.values()) if (role === 'student') enrolments++
    return { students: roles.student, teachers: roles.teacher, classes: this.classes.size, enrolments }
  }
}

const idCharactersMax = 200

/** Readable, unless it would be too long. */
export function idOf(...parts: readonly string[]): string {
  const id = parts.filter((part) => part !== '').join('-')
  if (id.length <= idCharactersMax) return id
  const hash = createHash('sha256').update(id).digest('hex').slice(0, 32)
  return `${id.slice(0, idCharactersMax - 33)}-${hash}`
}

/** For ids from titles and names: without case, accents and punctuation. */
export function slug(text: string): string {
  const plain = folded(text).replaceAll(/[^\p{L}\p{N}]+/gu, '-')
  return plain.replaceAll(/^-|-$/g, '') || text
}

const every = 'sourcedId,status,dateLastModified'

/** The files of the set. */
export function* filesOf(content: SetContent): Generator<[name: string, lines: Iterable<string>]> {
  const names = ['academicSessions', 'classes', 'courses', 'enrollments', 'orgs', 'users']
  yield [
    'manifest.csv',
    [
      'propertyName,value',
      'manifest.version,1.0',
      'oneroster.version,1.1',
      ...names.map((name) => `file.${name},bulk`),
      'source.systemName,Chiron',
    ],
  ]
  yield [
    'orgs.csv',
    rows(`${every},name,type,identifier,parentSourcedId`, content.orgs, (id, name) => [
      ...[id, '', '', name, 'school', '', ''],
    ]),
  ]
  yield [
    'academicSessions.csv',
    rows(
      `${every},title,type,startDate,endDate,parentSourcedId,schoolYear`,
      content.terms,
      (id, { title, type, start, end }) => [id, '', '', title, type, start, end, '', end.slice(0, 4)],
    ),
  ]
  const [org = ''] = content.orgs.keys()
  yield [
    'courses.csv',
    rows(
      `${every},schoolYearSourcedId,title,courseCode,grades,orgSourcedId,subjects,subjectCodes`,
      content.courses,
      (id, { title, code }) => [id, '', '', '', title, code, '', org, '', ''],
    ),
  ]
  yield [
    'classes.csv',
    rows(
      `${every},title,grades,courseSourcedId,classCode,classType,location,schoolSourcedId,termSourcedIds,subjects,subjectCodes,periods,metadata.kind,metadata.meets`,
      content.classes,
      (id, one) => [
        ...[id, '', '', one.title, '', one.courseId, one.code],
        one.kind === 'homeroom' ? 'homeroom' : 'scheduled',
        ...[[...one.rooms].join(', '), one.orgId, [...one.termIds].join(','), '', '', ''],
        ...[one.kind, [...one.meets].join('; ')],
      ],
    ),
  ]
  yield [
    'users.csv',
    rows(
      `${every},enabledUser,orgSourcedIds,role,username,userIds,givenName,familyName,middleName,identifier,email,sms,phone,agentSourcedIds,grades,password`,
      content.people,
      (id, one) => [
        ...[id, '', '', String(one.enabled), one.orgId, one.role, '', '', one.given, one.family, ''],
        ...[one.number, one.email, '', '', '', one.year, ''],
      ],
    ),
  ]
  yield [
    'enrollments.csv',
    rows(
      `${every},classSourcedId,schoolSourcedId,userSourcedId,role,primary,beginDate,endDate`,
      content.enrolments,
      (id, { classId, personId, role, start, end }) => [
        ...[id, '', '', classId, content.classes.get(classId)!.orgId, personId, role],
        ...[role === 'teacher' ? 'true' : '', start, end],
      ],
    ),
  ]
}

function* rows<T>(
  header: string,
  records: ReadonlyMap<string, T>,
  cellsOf: (id: string, record: T) => readonly string[],
): Generator<string> {
  yield header
  for (const [id, record] of records) yield csvLine(cellsOf(id, record))
}

export function csvLine(cells: readonly string[]): string {
  return cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')
}

/** So that the same content is the same file, in any time zone. */
const always = { mtime: new Date(2000, 0, 1), forceDosTimestamp: true }
const linesPerPiece = 10_000

/** The file appears whole or not at all. */
export async function writeZip(path: string, files: Iterable<[name: string, lines: Iterable<string>]>) {
  const zip = new ZipFile()
  for (const [name, lines] of files) {
    const pieces = [...inPieces(lines)].map((piece) => Buffer.from(piece))
    zip.addBuffer(Buffer.concat(pieces), name, always)
  }
  zip.end()
  const half = `${path}.part`
  try {
    await pipeline(zip.outputStream, createWriteStream(half))
    await rename(half, path)
  } catch (error) {
    await rm(half, { force: true })
    throw error
  }
}

function* inPieces(lines: Iterable<string>): Generator<string> {
  let piece: string[] = []
  for (const line of lines) {
    piece.push(line, '\n')
    if (piece.length < linesPerPiece) continue
    yield piece.join('')
    piece = []
  }
  yield piece.join('')
}
