/** A plan that is made, as its row keeps it. */
import type { Static } from 'typebox'
import type { Finding, Seen } from '../roster.ts'
import type { Group } from '../words.ts'
import type { RosterPlan } from './schemas.ts'

const findingsMax = 1_000

type View = Static<typeof RosterPlan>

export interface PlanSummary extends Pick<View, 'counts' | 'holds' | 'badRows' | 'skipsBadRows'> {
  readonly file: Pick<View, 'version' | 'rows' | 'modes' | 'missing'>
  readonly findings: Pick<View, 'errors' | 'warnings'>
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

export function planned(about: About, summary: Partial<PlanSummary>, findings: readonly Finding[]): Planned {
  const errors = findings.filter(({ severity }) => severity === 'error').length
  const counted = { findings: { errors, warnings: findings.length - errors } }
  const sorted = findings.toSorted((a, b) => a.severity.localeCompare(b.severity))
  return {
    ...about,
    summary: JSON.stringify({ ...noSummary, ...summary, ...counted }),
    findings: JSON.stringify(sorted.slice(0, findingsMax)),
  }
}

/** Of a file that could not be compared at all. */
export function refusal(
  findings: readonly Finding[],
  { content, generation }: Seen,
  list: string | null = null,
): Planned {
  return planned({ state: 'refused', content, generation, sha256: null, list }, {}, findings)
}
