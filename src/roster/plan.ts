/** What an import would do, and whether it may be done: a file compared with what stands, and judged. */
import { type Comparison, type CurrentRoster, compare, type Incomings, planKinds } from './compare/compare.ts'
import { checkRoster } from './judge/judge.ts'
import type { Finding, RosterFile } from './records.ts'

export interface Plan extends Comparison {
  readonly file: RosterFile
  readonly content: number
  readonly generation: number
  readonly findings: readonly Finding[]
  /** Reasons why it needs --force. */
  readonly held: readonly string[]
}

export function isRefused(plan: Plan): boolean {
  return plan.findings.some((finding) => finding.severity === 'error')
}

export function isEmpty(plan: Plan): boolean {
  return planKinds.every((kind) => {
    const { added, changed, leaving, returning } = plan.counts[kind]
    return added + changed + leaving + returning === 0
  })
}

export function makePlan(current: CurrentRoster, incoming: Incomings, file: RosterFile): Plan {
  const compared = compare(current, incoming, file)
  const { findings, held } = checkRoster({
    ...compared,
    file,
    readerFindings: incoming.findings,
    unchangedEnrolments: incoming.unchangedEnrolments,
  })
  return {
    ...compared,
    file,
    content: current.content,
    generation: current.generation,
    findings: [...incoming.findings, ...findings],
    held,
  }
}
