/** What an import would do, and whether it may be done: a file compared with what stands, and judged. */
import {
  type CompareOptions,
  type Comparison,
  compare,
  type Incomings,
  planKinds,
  type Standing,
} from './compare/compare.ts'
import { FindingLog } from './findings.ts'
import { findFaults, findHolds, type Hold } from './judge/judge.ts'
import { type Finding, type Kind, kinds, type Mode, type RosterFile } from './records.ts'

export interface Plan extends Comparison {
  readonly file: RosterFile
  readonly content: number
  readonly generation: number
  readonly findings: readonly Finding[]
  /** What must be allowed by name before it is imported. */
  readonly holds: readonly Hold[]
  /** Rows that cannot be read or fit nowhere. They refuse the file, unless they may be skipped. */
  readonly badRows: number
  /** Whether those rows are left out, and what stands in their place stays. */
  readonly skipsBadRows: boolean
}

export interface PlanOptions extends CompareOptions {
  readonly skipBadRowsMax: number
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

export async function makePlan(
  standing: Standing,
  incoming: Incomings,
  file: RosterFile,
  log: FindingLog,
  options: PlanOptions,
): Promise<Plan> {
  const { today } = options
  const inMode = (mode: Mode | null) => compare(standing, incoming, inOneMode(file, mode), options)
  const judged = async () => {
    const compared = await inMode(null)
    const faults = findFaults({ ...compared, file, incoming, today }, new FindingLog())
    return { compared, faults, found: faults.log.all(file.name) }
  }
  const maySkip = (count: number) => !log.failsAsAWhole && count > 0 && count <= options.skipBadRowsMax
  const findings = log.all(file.name)
  let { compared, faults, found } = await judged()
  // Without those rows others may fit nowhere, which are then left out too.
  while (faults.badRows > 0 && maySkip(incoming.badRows + faults.badRows)) {
    findings.push(...found.filter(({ severity }) => severity === 'error'))
    for (const { kind, sourcedId } of faults.bad()) incoming.bad(kind, sourcedId)
    ;({ compared, faults, found } = await judged())
  }
  findings.push(...found)
  const badRows = incoming.badRows + faults.badRows
  const skipsBadRows = maySkip(badRows)
  return {
    ...compared,
    file,
    content: standing.content,
    generation: standing.generation,
    findings: skipsBadRows ? findings.map(asWarning) : findings,
    holds: await findHolds({ ...compared, file, incoming, today }, inMode),
    badRows,
    skipsBadRows,
  }
}

const asWarning = (finding: Finding): Finding => ({ ...finding, severity: 'warning' })

function inOneMode(file: RosterFile, mode: Mode | null): RosterFile {
  if (mode === null) return file
  const modes: Partial<Record<Kind, Mode>> = {}
  for (const kind of kinds) if (file.modes[kind]) modes[kind] = mode
  return { ...file, modes }
}
