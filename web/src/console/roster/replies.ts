/** Replies of the service about plans and imports of the roster. */
export const kinds = ['student', 'class', 'enrolment', 'user', 'role', 'course', 'term', 'org'] as const
export type Kind = (typeof kinds)[number]

export const operations = ['added', 'changed', 'leaving', 'returning'] as const
export type Operation = (typeof operations)[number]

/** Students by what happens to them, then the other kinds. */
export const studentGroups = ['leaving', 'addresses', 'changed', 'returning', 'added'] as const
export type StudentGroup = (typeof studentGroups)[number]
export type Group = StudentGroup | Exclude<Kind, 'student'>

export type Counts = Readonly<Record<Operation | 'before' | 'after', number>>

export interface Finding {
  readonly severity: 'error' | 'warning'
  readonly code: string
  readonly file: string
  readonly line: number | null
  readonly column: string | null
  readonly value: string | null
  readonly message: string
}

export interface Hold {
  readonly code: string
  readonly reason: string
  readonly numbers: Readonly<Record<string, number>>
}

/** `refused`: the file has errors. */
export type PlanState = 'ready' | 'refused' | 'applying' | 'applied' | 'failed'
export type Failure = 'moved-on' | 'busy' | 'held' | 'refused' | 'stopped' | 'error'

/** How a file is to be read, where it does not say so itself. */
export interface PlanOptions {
  readonly mode: 'bulk' | 'delta' | null
  readonly match: 'number' | 'address' | null
  readonly skipBadRows: number
}

export interface Plan {
  readonly planId: string
  readonly state: PlanState
  readonly failure: Failure | null
  readonly createdAt: string
  readonly createdBy: string
  readonly expiresAt: string
  readonly fileName: string
  readonly version: string
  readonly rows: number
  readonly modes: readonly string[]
  readonly options: PlanOptions
  readonly counts: Readonly<Partial<Record<Kind, Counts>>>
  readonly groups: readonly { readonly group: Group; readonly count: number; readonly kept: number }[]
  readonly holds: readonly Hold[]
  readonly badRows: number
  readonly skipsBadRows: boolean
  readonly errors: number
  readonly warnings: number
  /** The first 1,000, errors first. */
  readonly findings: readonly Finding[]
  readonly progress: { readonly done: number; readonly total: number | null } | null
  readonly generation: number | null
}

type Side = Readonly<Record<string, unknown>> | null

export interface Change {
  readonly kind: Kind
  readonly sourcedId: string
  readonly operation: Operation
  /** As people call it. */
  readonly name: string
  readonly studentNumber: string | null
  readonly before: Side
  readonly after: Side
}

export interface Import {
  readonly generation: number
  readonly kind: 'import' | 'undo' | 'correction'
  readonly publishedAt: string
  readonly actor: string | null
  readonly actorName: string | null
  readonly fileName: string | null
  readonly allowed: readonly string[]
  /** Of an undo: the roster that it went back to. */
  readonly content: number
  readonly students: Readonly<Record<Operation, number>>
  /** Whether this is the roster of now. */
  readonly current: boolean
  readonly canGoBack: boolean
}

/** What going back would change. */
export interface UndoPlan {
  readonly from: number
  readonly to: number
  readonly undone: readonly number[]
  readonly counts: Readonly<Record<'leaving' | 'returning' | 'changed', number>>
  /** The first 1,000 students. */
  readonly changes: readonly Change[]
}
