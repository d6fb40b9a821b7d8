/** Replies of the service about plans and imports of the roster. */
export const kinds = ['student', 'class', 'enrolment', 'user', 'role', 'course', 'term', 'org'] as const
export type Kind = (typeof kinds)[number]

export interface Counts {
  readonly before: number
  readonly after: number
  readonly added: number
  readonly changed: number
  readonly leaving: number
  readonly returning: number
}

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
}

/** `refused`: the file has errors. */
export type PlanState = 'ready' | 'refused' | 'applying' | 'applied' | 'failed'

export interface Plan {
  readonly planId: string
  readonly state: PlanState
  readonly fileName: string | null
  readonly createdAt: string
  readonly counts: Readonly<Partial<Record<Kind, Counts>>>
  readonly holds: readonly Hold[]
  readonly findings: readonly Finding[]
  readonly progress: { readonly done: number; readonly total: number | null } | null
  readonly generation: number | null
}

export type Operation = 'added' | 'changed' | 'leaving' | 'returning'

export interface Change {
  readonly kind: Kind
  readonly sourcedId: string
  readonly operation: Operation
  readonly before: Readonly<Record<string, unknown>> | null
  readonly after: Readonly<Record<string, unknown>> | null
}

export interface Import {
  readonly generation: number
  readonly kind: 'import' | 'undo'
  readonly fileName: string
  readonly publishedAt: string
  readonly actor: string
  readonly counts: Readonly<Partial<Record<Kind, Partial<Counts>>>>
  /** Whether this is the roster of now. */
  readonly current: boolean
}
