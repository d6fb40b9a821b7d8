/** The plan of an import: a file compared with the current roster, and checked. */

import { Faults, findFaults, findHolds, type Hold } from './checks/checks.ts'
import {
  type CompareOptions,
  type Comparison,
  compare,
  Incomings,
  noRoster,
  type Standing,
} from './compare/compare.ts'
import { aboutFile, FindingLog } from './findings.ts'
import { type Finding, type Kind, kinds, type Mode, type RosterFile } from './records.ts'
import type { Seen } from './store/state.ts'
import { type HoldShares, planKinds } from './words.ts'

export interface Plan extends Comparison {
  readonly file: RosterFile
  readonly content: number
  readonly generation: number
  readonly findings: readonly Finding[]
  /** The holds that must be allowed by name before the import. */
  readonly holds: readonly Hold[]
  /** Rows that are unreadable or have dangling references. The file is refused unless they may be skipped. */
  readonly badRows: number
  /** Whether the bad rows are skipped and their current records stay. */
  readonly skipsBadRows: boolean
  /** Whether there are errors that skipping rows cannot fix. */
  readonly failsAsAWhole: boolean
}

/** Each round compares everything, and few files need more than two. */
const skippingRoundsMax = 10

export interface PlanOptions extends CompareOptions {
  readonly skipBadRowsMax: number
  readonly holdShares: HoldShares
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
    const isHopeless = () => incoming.badRows + faults.badRows > options.skipBadRowsMax
    const faults: Faults = new Faults(new FindingLog(isHopeless))
    findFaults({ ...compared, file, incoming, today }, faults)
    return { compared, faults, found: faults.log.all(file.name) }
  }
  const fails = () => log.failsAsAWhole || faults.log.failsAsAWhole
  const maySkip = (count: number) => !fails() && count > 0 && count <= options.skipBadRowsMax
  const findings = log.all(file.name)
  let { compared, faults, found } = await judged()
  // Without those rows, others may lose their references and are then skipped too.
  let rounds = 0
  const isOpen = () => faults.badRows > 0 && maySkip(incoming.badRows + faults.badRows)
  for (; isOpen() && rounds < skippingRoundsMax; rounds++) {
    findings.push(...found.filter(({ severity }) => severity === 'error'))
    for (const { kind, sourcedId } of faults.bad()) incoming.bad(kind, sourcedId)
    ;({ compared, faults, found } = await judged())
  }
  const spreads = isOpen()
  if (spreads) findings.push(badRowsSpread(file.name))
  findings.push(...found)
  const badRows = incoming.badRows + faults.badRows
  const skipsBadRows = maySkip(badRows) && !spreads
  return {
    ...compared,
    file,
    content: standing.content,
    generation: standing.generation,
    findings: skipsBadRows ? findings.map(asWarning) : findings,
    holds: faults.log.isCut
      ? []
      : await findHolds({ ...compared, file, incoming, today }, options.holdShares, inMode),
    badRows,
    skipsBadRows,
    failsAsAWhole: fails() || spreads,
  }
}

/** The findings of a file that was not read to the end. */
export async function cutPlan(
  seen: Seen,
  { badRows }: Incomings,
  file: RosterFile,
  log: FindingLog,
  today: string,
): Promise<Plan> {
  const { content, generation } = seen
  const nothing = await compare(
    noRoster(seen),
    new Incomings(),
    { ...file, modes: {} },
    { today, match: null },
  )
  const findings = log.all(file.name)
  return {
    ...nothing,
    ...{ file, content, generation, findings, holds: [], badRows, skipsBadRows: false, failsAsAWhole: true },
  }
}

function badRowsSpread(name: string) {
  const message = 'Each time bad rows are skipped, other rows become bad: fix those listed, then check again.'
  return aboutFile('error', 'bad-rows-spread', name, message)
}

const asWarning = (finding: Finding): Finding => ({ ...finding, severity: 'warning' })

function inOneMode(file: RosterFile, mode: Mode | null): RosterFile {
  if (mode === null) return file
  const modes: Partial<Record<Kind, Mode>> = {}
  for (const kind of kinds) if (file.modes[kind]) modes[kind] = mode
  return { ...file, modes }
}
