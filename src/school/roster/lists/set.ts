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
import { dataFiles } from '../read/read.ts'
import type { ClassKind } from '../records.ts'
import type { Days } from './day-text.ts'

export interface SetTerm extends Days {
  readonly title: string
  readonly type: 'term' | 'semester' | 'schoolYear' | 'gradingPeriod'
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

export interface SetEnrolment extends Days {
  readonly classId: string
  readonly personId: string
  readonly role: 'student' | 'teacher' | 'aide'
}

const noDays: Days = { start: '', end: '' }

export class SetContent {
  readonly orgs = new Map<string, string>()
  readonly terms = new Map<string, SetTerm>()
  readonly courses = new Map<string, SetCourse>()
  readonly classes = new Map<string, SetClass>()
  readonly people = new Map<string, SetPerson>()
  readonly enrolments = new Map<string, SetEnrolment>()

  /** Returns the id. Without a title, the days stand in. */
  addTerm(id: string, title: string, days: Days): string {
    this.terms.set(id, { title: title || `${days.start} – ${days.end}`, type: 'term', ...days })
    return id
  }

  addClass(
    id: string,
    of: Pick<SetClass, 'title' | 'code' | 'kind' | 'courseId' | 'orgId'>,
    termIds: Iterable<string> = [],
  ): SetClass {
    const made: SetClass = { ...of, termIds: new Set(termIds), rooms: new Set(), meets: new Set() }
    this.classes.set(id, made)
    return made
  }

  /** Without days, an enrolment is as long as the class. */
  enrol(enrolment: Omit<SetEnrolment, keyof Days>, { start, end } = noDays): void {
    const { classId, personId, role } = enrolment
    this.enrolments.set(idOf(role, classId, personId), { ...enrolment, start, end })
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

type CsvLines = [name: string, lines: Iterable<string>]

export function* filesOf(content: SetContent): Generator<CsvLines> {
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
  const { orgs, terms, courses, classes, people, enrolments } = content
  const [org = ''] = orgs.keys()
  yield fileOf('orgs', orgs, (name) => ({ name, type: 'school' }))
  yield fileOf('academicSessions', terms, ({ title, type, start, end }) => ({
    ...{ title, type, startDate: start, endDate: end, schoolYear: end.slice(0, 4) },
  }))
  yield fileOf('courses', courses, ({ title, code }) => ({ title, courseCode: code, orgSourcedId: org }))
  yield fileOf('classes', classes, ({ title, code, kind, courseId, orgId, ...one }) => ({
    ...{ title, courseSourcedId: courseId, classCode: code, schoolSourcedId: orgId },
    classType: kind === 'homeroom' ? kind : 'scheduled',
    location: [...one.rooms].join(', '),
    termSourcedIds: [...one.termIds].join(','),
    'metadata.kind': kind,
    'metadata.meets': [...one.meets].join('; '),
  }))
  yield fileOf('users', people, ({ enabled, orgId, role, given, family, number, email, year }) => ({
    ...{ enabledUser: String(enabled), orgSourcedIds: orgId, role, givenName: given, familyName: family },
    ...{ identifier: number, email, grades: year },
  }))
  yield fileOf('enrollments', enrolments, ({ classId, personId, role, start, end }) => ({
    ...{ classSourcedId: classId, schoolSourcedId: classes.get(classId)!.orgId, userSourcedId: personId },
    ...{ role, primary: role === 'teacher' ? 'true' : '', beginDate: start, endDate: end },
  }))
}

const ownColumns: Readonly<Record<string, readonly string[]>> = {
  classes: ['metadata.kind', 'metadata.meets'],
}

/** `cellsOf`: by column; those of the others are empty. */
function fileOf<T>(
  name: string,
  records: ReadonlyMap<string, T>,
  cellsOf: (record: T) => Readonly<Record<string, string>>,
): CsvLines {
  const { all } = dataFiles.find((file) => file.name === name)!.columns['1.1']!
  const columns = [...all, ...(ownColumns[name] ?? [])]
  const lines = function* () {
    yield columns.join(',')
    for (const [sourcedId, record] of records) {
      const cells: Readonly<Record<string, string>> = { sourcedId, ...cellsOf(record) }
      yield csvLine(columns.map((column) => cells[column] ?? ''))
    }
  }
  return [`${name}.csv`, lines()]
}

export function csvLine(cells: readonly string[]): string {
  return cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')
}

/** So that the same content is the same file, in any time zone. */
const always = { mtime: new Date(2000, 0, 1), forceDosTimestamp: true }
const pieceCharacters = 1024 * 1024

/** The file appears whole or not at all. */
export async function writeZip(path: string, files: Iterable<CsvLines>) {
  const zip = new ZipFile()
  for (const [name, lines] of files) zip.addBuffer(Buffer.concat([...inPieces(lines)]), name, always)
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

function* inPieces(lines: Iterable<string>): Generator<Buffer> {
  let piece = ''
  for (const line of lines) {
    piece += `${line}\n`
    if (piece.length < pieceCharacters) continue
    yield Buffer.from(piece)
    piece = ''
  }
  yield Buffer.from(piece)
}
