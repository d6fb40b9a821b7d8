/** A plan that is made, as its row keeps it. */
import type { Finding, Hold, Plan, Seen } from '../roster.ts'
import type { Group } from '../words.ts'

const findingsMax = 1_000

export interface PlanSummary {
  readonly file: {
    readonly version: string | null
    readonly rows: number | null
    readonly modes: readonly string[]
    readonly missing: readonly string[]
  }
  readonly counts: Plan['counts'] | Record<string, never>
  readonly holds: readonly Hold[]
  readonly badRows: number
  readonly skipsBadRows: boolean
  readonly findings: { readonly errors: number; readonly warnings: number }
  readonly groups: readonly { readonly group: Group; readonly count: number }[]
}

/** Of a plan that is not made yet, or of a file that is refused. */
export const noSummary: PlanSummary = {
  file: { version: null, rows: null, modes: [], missing: [] },
  counts: {},
  holds: [],
  badRows: 0,
  skipsBadRows: false,
  findings: { errors: 0, warnings: 0 },
  groups: [],
}

export interface Planned extends Seen {
  readonly state: 'ready' | 'refused'
  readonly sha256: string | null
  readonly summary: string
  /** The gravest of them. */
  readonly findings: string
  /** How a list was understood. */
  readonly list: string | null
}

type About = Omit<Planned, 'summary' | 'findings'>

export function planned(
  { state, content, generation, sha256, list }: About,
  summary: Partial<PlanSummary>,
  findings: readonly Finding[],
): Planned {
  const errors = findings.filter(({ severity }) => severity === 'error').length
  const sorted = findings.toSorted((a, b) => a.severity.localeCompare(b.severity))
  return {
    ...{ state, content, generation, sha256, list },
    summary: JSON.stringify({
      ...noSummary,
      ...summary,
      findings: { errors, warnings: findings.length - errors },
    }),
    findings: JSON.stringify(sorted.slice(0, findingsMax)),
  }
}

/** Of a file that could not be compared at all. */
export const refusal = (findings: readonly Finding[], seen: Seen, list: string | null = null): Planned =>
  planned({ ...seen, state: 'refused', sha256: null, list }, {}, findings)
