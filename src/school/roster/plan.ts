/** Plans an import: reads a file, compares it with the current roster, and checks it. Writes nothing to the store. */

import { basename } from 'node:path'
import { bouncesAmong } from '../../messages/delivery/delivery.ts'
import type { Db } from '../../platform/db/db.ts'
import { type Clock, day } from '../../platform/lib/clock.ts'
import type { Secrets } from '../../platform/lib/secret.ts'
import { type Bounds, Meter } from './bounds.ts'
import {
  bouncedFindings,
  deltaDoubt,
  Faults,
  findFaults,
  findHolds,
  type Hold,
  lossHolds,
} from './checks/checks.ts'
import { type CompareOptions, type Comparison, compare, deltaBetween } from './compare/compare.ts'
import { aboutFile, FatalFinding, FindingLog } from './findings.ts'
import { readRoster } from './read/read.ts'
import { type Finding, type Kind, kinds, type Mode, type RosterFile } from './records.ts'
import { ClosedMeanwhile } from './store/pages.ts'
import { rosterState, type Seen } from './store/state.ts'
import { addressesIn } from './store/students.ts'
import { type BadRows, type HoldShares, type MatchBy, planKinds } from './words.ts'
import { type Delta, type Standing, standingIn, Workbench } from './workbench/workbench.ts'

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

const marginDays = 7

interface JudgeOptions extends CompareOptions {
  readonly skipBadRowsMax: number
  readonly holdShares: HoldShares
}

export interface PlanOptions {
  /** Shown in place of the file's own name. */
  readonly name?: string
  /** Overrides the manifest. */
  readonly mode?: Mode
  /** How accounts are matched when sourcedIds have changed. */
  readonly match?: MatchBy
  /** Skips up to this many bad rows. */
  readonly skipBadRowsMax?: number
  readonly onProgress?: Progress
}

export type Progress = (stage: 'reading' | 'writing', done: number, total: number | null) => void

export function isRefused(plan: Plan): boolean {
  return plan.findings.some((finding) => finding.severity === 'error')
}

export function isEmpty(plan: Plan): boolean {
  return planKinds.every((kind) => {
    const { added, changed, leaving, returning } = plan.counts[kind]
    return added + changed + leaving + returning === 0
  })
}

/** A file on its workbench. */
interface Reading {
  readonly bench: Workbench
  readonly file: RosterFile
  readonly log: FindingLog
}

interface PlannerDeps {
  readonly db: Db
  readonly clock: Clock
  readonly dayOf: (now: number) => string
  /** If given, plans also report students whose mail bounced. */
  readonly secrets: Secrets | null
  readonly bounds: Bounds
  readonly holdShares: HoldShares
  /** Applies where a plan does not say. */
  readonly badRows: BadRows
}

export class Planner {
  readonly #deps: PlannerDeps

  constructor(deps: PlannerDeps) {
    this.#deps = deps
  }

  async plan(path: string, options: PlanOptions = {}): Promise<Plan> {
    const { name, mode = null, match = null, onProgress } = options
    const { db, bounds, holdShares, badRows } = this.#deps
    const allowed = options.skipBadRowsMax === undefined ? badRows : { max: options.skipBadRowsMax }
    const meter = new Meter(bounds, name ?? basename(path))
    const bench = new Workbench(db, { meter, onProgress: (rows) => onProgress?.('reading', rows, null) })
    // How many rows there are is known at the end.
    const log = new FindingLog(() => 'max' in allowed && bench.incoming.badRows >= allowed.max)
    const read = await readRoster(path, { mode, meter, shownPath: name }, log, bench.incoming)
    const file = name === undefined ? read : { ...read, name }
    const reading = { bench, file, log }
    const skipBadRowsMax = 'max' in allowed ? allowed.max : Math.floor(allowed.share * read.rows)
    const judging = { today: this.#today(), match, skipBadRowsMax, holdShares }
    if (!log.isCut)
      try {
        const plan = await this.#beside(bench, file, (standing) => judge(standing, reading, judging))
        const bounced = bouncedFindings(plan, await this.#bouncedAmong(() => plan.students.addressKeys()))
        meter.end()
        return { ...plan, findings: [...plan.findings, ...bounced] }
      } catch (error) {
        if (!(error instanceof FatalFinding)) throw error
        log.end(error)
      }
    return cutPlan(await rosterState(db), reading, judging.today)
  }

  /**
   * What would be lost by going from one roster to another, judged as an import that would do the same; the students are
   * those counted. `match`: sourcedId then → sourcedId now, of those whose account was matched to a new one.
   */
  async lossesBetween(
    bench: Workbench,
    [now, next]: readonly [now: number, next: number],
    students: Partial<Comparison['counts']['student']>,
    match: ReadonlyMap<string, string>,
  ): Promise<Hold[]> {
    const file = await deltaBetween(this.#deps.db, bench, now, next)
    const today = this.#today()
    return this.#beside(bench, file, async (standing) => {
      const compared = await compare(bench, standing, file, { today, match })
      const student = { ...compared.counts.student, ...students }
      const judged = { ...compared, counts: { ...compared.counts, student }, file, today }
      return lossHolds(judged, this.#deps.holdShares)
    })
  }

  #today(): string {
    return this.#deps.dayOf(this.#deps.clock.now())
  }

  /** Works beside the current roster; again if another import has begun in the meantime. */
  async #beside<T>(bench: Workbench, file: RosterFile, work: (standing: Standing) => Promise<T>): Promise<T> {
    const { db } = this.#deps
    for (;;)
      try {
        const whole = await standingIn(db, await rosterState(db))
        const delta = deltaDoubt(file) === null ? await this.#deltaOf(file, whole) : null
        return await bench.beside(db, whole, delta, work)
      } catch (error) {
        if (!(error instanceof ClosedMeanwhile)) throw error
      }
  }

  async #deltaOf(file: RosterFile, { lineage, content }: Standing): Promise<Delta> {
    const { db, clock, dayOf } = this.#deps
    const last = lineage.find(({ kind }) => kind === 'import')?.started_at ?? 0
    const addressKeys = await this.#bouncedAmong(() => addressesIn(db, content))
    // An import may be applied some days after its plan was made.
    const days = [dayOf(last - marginDays * day), dayOf(clock.now())] as const
    return { file, days, addressKeys: [...addressKeys.keys()] }
  }

  async #bouncedAmong(
    addressKeys: () => Iterable<string> | Promise<Iterable<string>>,
  ): Promise<Map<string, number>> {
    const { db, secrets } = this.#deps
    return secrets === null ? new Map() : bouncesAmong(db, secrets, addressKeys)
  }
}

/** The current roster is beside the file on the workbench. */
export async function judge(standing: Standing, reading: Reading, options: JudgeOptions): Promise<Plan> {
  const { bench, file, log } = reading
  const { incoming } = bench
  const judged = async () => {
    const compared = await compare(bench, standing, file, options)
    const isHopeless = () => incoming.badRows + faults.badRows > options.skipBadRowsMax
    const faults: Faults = new Faults(bench, new FindingLog(isHopeless))
    findFaults({ ...compared, file, today: options.today }, faults)
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
    incoming.leaveOut(faults.bad())
    ;({ compared, faults, found } = await judged())
  }
  const spreads = isOpen()
  if (spreads) findings.push(badRowsSpread(file.name))
  findings.push(...found)
  const badRows = incoming.badRows + faults.badRows
  const skipsBadRows = maySkip(badRows) && !spreads
  const { content, generation } = standing
  return {
    ...compared,
    ...{ file, content, generation, badRows, skipsBadRows },
    findings: skipsBadRows ? findings.map(asWarning) : findings,
    holds: faults.log.isCut ? [] : await holdsOf(compared, standing, reading, options),
    failsAsAWhole: fails() || spreads,
  }
}

function holdsOf(
  compared: Comparison,
  standing: Standing,
  { bench, file }: Reading,
  options: JudgeOptions,
): Promise<Hold[]> {
  const inMode = (mode: Mode) =>
    bench.file.aside(async () => (await compare(bench, standing, inOneMode(file, mode), options)).counts)
  return findHolds({ ...compared, file, today: options.today }, options.holdShares, inMode)
}

/** The findings of a file that was not read or compared to the end. */
async function cutPlan(
  { content, generation }: Seen,
  { bench, file, log }: Reading,
  today: string,
): Promise<Plan> {
  const empty = new Workbench({ file: null })
  const options = { today, match: null }
  const nothing = await empty.alone((none) => compare(empty, none, { ...file, modes: {} }, options))
  return {
    ...nothing,
    ...{ file, content, generation, findings: log.all(file.name), holds: [] },
    ...{ badRows: bench.incoming.badRows, skipsBadRows: false, failsAsAWhole: true },
  }
}

function badRowsSpread(name: string) {
  const message = 'Each time bad rows are skipped, other rows become bad: fix those listed, then check again.'
  return aboutFile('error', 'bad-rows-spread', name, message)
}

const asWarning = (finding: Finding): Finding => ({ ...finding, severity: 'warning' })

function inOneMode(file: RosterFile, mode: Mode): RosterFile {
  const modes: Partial<Record<Kind, Mode>> = {}
  for (const kind of kinds) if (file.modes[kind]) modes[kind] = mode
  return { ...file, modes }
}
