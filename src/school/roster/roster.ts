/**
 * The roster: who studies here, and in which classes. A file is read (read/), compared with the current roster
 * (compare/), checked (checks/) and written as a new generation (apply/). `undo` restores an earlier generation
 * exactly; `correct` corrects one student by hand. The service only reads the roster; students see their part through
 * `student/`.
 */
import type { Db } from '../../platform/db/db.ts'
import type { By } from '../../platform/lib/by.ts'
import type { Clock } from '../../platform/lib/clock.ts'
import type { Secrets } from '../../platform/lib/secret.ts'
import { dayIn } from '../student/classes.ts'
import { asGeneration, type Writer, whileLeased, writeInBatches, writePlan } from './apply/apply.ts'
import { type Bounds, usualBounds } from './bounds.ts'
import type { Hold } from './checks/checks.ts'
import { type Corrected, groupOf, type PastChange, pastChanges } from './compare/compare.ts'
import { type Correction, correctionsOf, writeCorrection } from './correct.ts'
import { movedOn, RosterError } from './errors.ts'
import { isEmpty, isRefused, type Plan, Planner, type PlanOptions, type Progress } from './plan.ts'
import { isAsSeen } from './rules.ts'
import { clearLeftovers } from './store/clear.ts'
import { countDiffering } from './store/differences.ts'
import { type GenerationRow, type HistoryRow, lineageOf, publishedGenerations } from './store/generations.ts'
import { forgetRedo, rosterChecked, rosterState, type Seen } from './store/state.ts'
import { historyMax, planUndo, reachableNow, redoAfter, type UndoPlan, undoWrites } from './undo.ts'
import {
  type BadRows,
  type Group,
  groups,
  type HoldCode,
  type HoldShares,
  openHolds,
  planKinds,
  usualShares,
} from './words.ts'

export { type Change, fieldsOf, groupOf, publicId } from './compare/compare.ts'
export { exitCodes, RosterError, type RosterFailure } from './errors.ts'
export { isEmpty, isRefused, type Plan, type PlanOptions, type Progress } from './plan.ts'
export { meetingsText } from './read/read.ts'
export type { Finding } from './records.ts'

export { foldGenerations } from './store/clear.ts'
export type { HistoryRow } from './store/generations.ts'
export type { Seen } from './store/state.ts'
export type { UndoPlan } from './undo.ts'
export { type HoldCode, holdCodes, matchKeys, openHolds } from './words.ts'

// SQLite writes many of the same pages again with every batch.
const rowsPerBatch = { sqlite: 10_000, postgres: 2_000 } as const
const recordKinds = planKinds.filter((kind) => kind !== 'student')

export interface RosterOptions {
  /** The school's days. */
  readonly timeZone?: string
  /** If given, plans also report students whose mail bounced. */
  readonly secrets?: Secrets
  readonly holdShares?: Partial<HoldShares>
  /** Applies where a plan does not say. */
  readonly badRows?: BadRows
  readonly rowsPerBatch?: number
  readonly bounds?: Partial<Bounds>
}

export class Roster {
  readonly #db: Db
  readonly #clock: Clock
  readonly #batch: number
  readonly #planner: Planner

  constructor(db: Db, clock: Clock, options: RosterOptions = {}) {
    this.#db = db
    this.#clock = clock
    this.#batch = options.rowsPerBatch ?? rowsPerBatch[db.engine]
    this.#planner = new Planner({
      db,
      clock,
      dayOf: dayIn(options.timeZone ?? 'UTC'),
      secrets: options.secrets ?? null,
      bounds: { ...usualBounds, ...options.bounds },
      holdShares: { ...usualShares, ...options.holdShares },
      badRows: options.badRows ?? { max: 0 },
    })
  }

  /** Plans the import of a file; writes nothing. */
  plan(path: string, options: PlanOptions = {}): Promise<Plan> {
    return this.#planner.plan(path, options)
  }

  /** Applies the whole plan or nothing. Returns the new generation, or null if there is nothing to do. */
  async import(
    plan: Plan,
    { allow, by }: { allow: readonly HoldCode[]; by: By },
    onProgress: Progress = () => {},
  ): Promise<number | null> {
    if (isRefused(plan)) throw new RosterError('refused', 'the roster has errors and cannot be imported')
    checkHolds(plan.holds, allow, 'the import')
    if (isEmpty(plan)) {
      await this.#db.tx([rosterChecked(this.#clock.now())])
      return null
    }
    const { name, sha256, version, rows, newestRowAt } = plan.file
    return this.#alone(plan, by, (writer) =>
      asGeneration(writer, {
        about: {
          ...{ kind: 'import', file_name: name, sha256, version, rows },
          summary: JSON.stringify(plan.counts),
          allowed: allowedIn(plan.holds),
          newest_row_at: newestRowAt,
        },
        seen: plan,
        write: (writing) => writePlan(plan, writing, writer, onProgress),
      }),
    )
  }

  history(): Promise<HistoryRow[]> {
    return publishedGenerations(this.#db, historyMax)
  }

  /** The numbers whose changes can still be told, because the rosters before and after them are kept. */
  async told(rows: readonly GenerationRow[]): Promise<ReadonlySet<number>> {
    const { content, folded, redo } = await rosterState(this.#db)
    const line = await lineageOf(this.#db, Math.max(content, redo ?? 0))
    const kept = new Set([0, ...line.map(({ id }) => id)].filter((id) => id >= folded))
    return new Set(rows.filter((row) => kept.has(row.parent) && kept.has(row.content)).map(({ id }) => id))
  }

  /** The changes that an import, undo or correction made, of one group, after the one with this key. */
  changesOf({ parent, content }: GenerationRow, group: Group, after?: string): AsyncGenerator<PastChange> {
    return pastChanges(this.#db, { from: parent, to: content }, group, after)
  }

  /** How many changes of each group it made. */
  async groupsOf(row: GenerationRow): Promise<{ group: Group; count: number }[]> {
    const counts = new Map<Group, number>(groups.map((group) => [group, 0]))
    const between = { from: row.parent, to: row.content }
    for await (const { change } of pastChanges(this.#db, between, 'student'))
      counts.set(groupOf(change), counts.get(groupOf(change))! + 1)
    for (const kind of recordKinds) counts.set(kind, await countDiffering(this.#db, between, kind))
    return [...counts].flatMap(([group, count]) => (count > 0 ? [{ group, count }] : []))
  }

  /** The current roster, and the numbers that `undo` can go to; 0 is the empty roster. */
  standing(): Promise<Seen & { readonly reachable: readonly number[] }> {
    return reachableNow(this.#db)
  }

  planUndo(to?: number): Promise<UndoPlan> {
    return planUndo(this.#db, this.#planner, to)
  }

  async undo(plan: UndoPlan, { allow, by }: { allow: readonly HoldCode[]; by: By }): Promise<number> {
    checkHolds(plan.holds, allow, 'the undo')
    const redo = await redoAfter(this.#db, plan)
    const { file_name, sha256, version, rows } = plan.undone[0]!
    const change = (writer: Writer) =>
      asGeneration(writer, {
        about: {
          ...{ kind: 'undo', file_name, sha256, version, rows },
          summary: JSON.stringify(plan.counts),
          allowed: allowedIn(plan.holds),
          newest_row_at: null,
        },
        ...{ seen: plan.seen, content: plan.content, redo },
        write: (writing) => writeInBatches(undoWrites(plan, writing), writing.generation, writer),
      })
    return this.#alone(plan.seen, by, change, { keepsRedo: true })
  }

  /** Corrects a student until the file agrees. Returns null if there is nothing to change. */
  async correct(personId: string, wanted: Partial<Corrected> | null, by: By): Promise<number | null> {
    const seen = await rosterState(this.#db)
    return this.#alone(seen, by, (writer) => writeCorrection(personId, wanted, seen, writer))
  }

  /** Removes a correction: the file's values apply again. */
  uncorrect(personId: string, by: By): Promise<number | null> {
    return this.correct(personId, null, by)
  }

  async corrections(): Promise<Correction[]> {
    return correctionsOf(this.#db, (await rosterState(this.#db)).content)
  }

  /**
   * Takes the lease, and fails if the roster is no longer the one that the plan was made against. Clears away what a
   * killed process has left and, unless `keepsRedo`, what the last undo left.
   */
  #alone<T>(
    seen: Seen,
    by: By,
    work: (writer: Writer) => Promise<T>,
    { keepsRedo = false } = {},
  ): Promise<T> {
    const [db, clock, writesPerBatch] = [this.#db, this.#clock, this.#batch]
    return whileLeased(db, clock, async (lease) => {
      if (!isAsSeen(await rosterState(db), seen)) throw movedOn()
      if (!keepsRedo) await lease.write([forgetRedo()])
      await clearLeftovers(db, lease, writesPerBatch)
      return work({ db, clock, lease, by, writesPerBatch })
    })
  }
}

function checkHolds(holds: readonly Hold[], allow: readonly HoldCode[], what: string): void {
  const held = openHolds(holds, allow)
  if (held.length > 0)
    throw new RosterError('held', `${what} is held: ${held.join(', ')}; allow each hold by name`)
}

const allowedIn = (holds: readonly Hold[]) => openHolds(holds, []).join(',')
