/**
 * What a roster consists of, once it has been read: records of a few kinds, in our own words, each with the sourcedId
 * that alone identifies it. The reader (oneroster.ts) makes them, the plan compares them, the store keeps them.
 */

/** In the order in which they are read: each refers only to kinds before it (roles and enrolments last). */
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
}

export interface UserData {
  readonly enabled: boolean
  readonly firstname: string
  readonly lastname: string
  readonly preferredName: string | null
  readonly pronouns: string | null
  /** `identifier`: what the school calls the student's number. */
  readonly number: string | null
  /** As written; null when empty. */
  readonly email: string | null
  readonly year: number | null
  /** Of 1.1: the user's own role and orgs. In 1.2 they stand in role records, and these are null and empty. */
  readonly role: string | null
  readonly orgIds: readonly string[]
}

export interface RoleData {
  readonly userId: string
  readonly role: string
  readonly orgId: string | null
  readonly primary: boolean
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
  /** Of a delta: the record goes away. */
  readonly deleted: boolean
  readonly data: DataOf[K]
  readonly file: string
  /** As an editor counts. */
  readonly line: number
}

/** Something about the file that its sender should know. Errors refuse the import; warnings do not. */
export interface Finding {
  readonly severity: 'error' | 'warning'
  /** Stable, for programs and for docs/roster.md: `bad-date`, `unknown-header`, `dangling-reference`, … */
  readonly code: string
  readonly file: string
  readonly line: number | null
  readonly column: string | null
  /** As it stands in the file, shortened; never a password. */
  readonly value: string | null
  /** What was expected, in words that a registrar understands. */
  readonly message: string
}

export type Mode = 'bulk' | 'delta'

/** What was read. */
export interface RosterFile {
  readonly name: string
  /** Of the zip, or of the names and contents of the folder's files in order of name. */
  readonly sha256: string
  readonly version: '1.1' | '1.2'
  /** Kinds whose file was there. */
  readonly modes: Partial<Readonly<Record<Kind, Mode>>>
  readonly rows: number
}

/** Takes what the reader finds, as it finds it. */
export interface RosterSink {
  record(record: RosterRecord): void
  finding(finding: Finding): void
  /** Now and then: rows read so far. */
  progress(rows: number): void
}
