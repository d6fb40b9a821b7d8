/**
 * The records of a roster after reading. Each is identified by its sourcedId alone. The reader (read/) makes
 * them, the plan compares them, the store keeps them.
 */
import type { Meeting } from '../student/classes.ts'

/** In reading order: each kind refers only to earlier ones (roles and enrolments come last). */
export const kinds = ['org', 'term', 'course', 'class', 'user', 'role', 'enrolment'] as const
export type Kind = (typeof kinds)[number]

export type ClassKind = 'course' | 'homeroom' | 'rotation' | 'practical' | 'tutorial'

export interface OrgData {
  readonly name: string
  readonly type: string
  readonly parentId: string | null
}

export interface TermData {
  readonly title: string
  readonly type: string
  readonly startDate: string
  readonly endDate: string
  readonly parentId: string | null
}

export interface CourseData {
  readonly title: string
  readonly code: string | null
  readonly orgId: string | null
}

export interface ClassData {
  readonly title: string
  readonly code: string | null
  readonly kind: ClassKind
  readonly courseId: string
  readonly schoolId: string
  readonly termIds: readonly string[]
  readonly location: string | null
  readonly periods: readonly string[]
  readonly subjects: readonly string[]
  /** Absent if there are none: a class without them is the same as in rosters from before they existed. */
  readonly meetings?: readonly Meeting[]
}

export interface UserData {
  readonly enabled: boolean
  readonly firstname: string
  readonly lastname: string
  readonly preferredName: string | null
  readonly pronouns: string | null
  /** `identifier` in OneRoster: the student number. */
  readonly number: string | null
  /** As written; null if empty. */
  readonly email: string | null
  readonly year: number | null
  /** Only in 1.1. In 1.2 roles are separate records, and these are null and empty. */
  readonly role: string | null
  readonly orgIds: readonly string[]
}

export interface RoleData {
  readonly userId: string
  readonly role: string
  readonly orgId: string | null
  readonly primary: boolean
  /** The role has no effect outside these days. Not set if the file gives none. */
  readonly startDate?: string
  readonly endDate?: string
}

export interface EnrolmentData {
  readonly userId: string
  readonly classId: string
  readonly schoolId: string | null
  readonly role: string
  readonly primary: boolean
  readonly startDate: string | null
  readonly endDate: string | null
}

export interface DataOf {
  readonly org: OrgData
  readonly term: TermData
  readonly course: CourseData
  readonly class: ClassData
  readonly user: UserData
  readonly role: RoleData
  readonly enrolment: EnrolmentData
}

export interface RosterRecord<K extends Kind = Kind> {
  readonly kind: K
  readonly sourcedId: string
  /** null: the row says that the record goes (`tobedeleted`). */
  readonly data: DataOf[K] | null
  readonly file: string
  /** As an editor counts. */
  readonly line: number
}

/** A problem with the file. Errors refuse the import; warnings do not. */
export interface Finding {
  readonly severity: 'error' | 'warning'
  /** Stable: programs and docs/roster.md rely on it. */
  readonly code: string
  readonly file: string
  readonly line: number | null
  readonly column: string | null
  /** As in the file, shortened; never a password. */
  readonly value: string | null
  /** The problem, in words that a registrar understands. */
  readonly message: string
}

export type Mode = 'bulk' | 'delta'

/** What decided between bulk and delta: the caller, the manifest or, without one, the form of the rows. */
export type ModeFrom = 'caller' | 'manifest' | 'rows'

/** Whether every row has status and dateLastModified, as in a delta; or no row has either; or something between. */
export type Form = 'dated' | 'bare' | 'mixed'

export interface RosterFile {
  readonly name: string
  /** Hash of the zip, or of the folder's files (names and contents) sorted by name. */
  readonly sha256: string
  readonly version: '1.1' | '1.2'
  /** Only kinds whose file exists. */
  readonly modes: Partial<Readonly<Record<Kind, Mode>>>
  readonly modeFrom: ModeFrom
  readonly form: Form
  /** Files of the standard that Chiron reads and that are not there. */
  readonly missing: readonly string[]
  readonly rows: number
  /** The newest dateLastModified; null if there is none. */
  readonly newestRowAt: number | null
}

/** A row that must be left out. */
export interface BadRow {
  readonly kind: Kind
  /** Null if it could not be made out. */
  readonly sourcedId: string | null
  /** Null if its cells could not be told apart. */
  readonly line: number | null
}

/** A row with the sourcedId of an earlier one. */
export interface Repeat {
  readonly kind: Kind
  readonly sourcedId: string
  readonly line: number
  readonly first: number
  /** Whether both say the same. */
  readonly isSame: boolean
}

/** Takes what is read. */
export interface RosterSink {
  record(record: RosterRecord): void
  bad(row: BadRow): void
  /** The rows of a file could not be read at all. */
  unread(kind: Kind): void
  /** All rows of a kind have been read. Of those with the same sourcedId, the first stays. */
  finish(kind: Kind): Iterable<Repeat>
  /** Called now and then with the number of rows read so far. */
  progress(rows: number): void
}
