/**
 * The roster: who studies here, and in which classes. A file is read (read/), compared with the current roster
 * (compare/), checked (checks/) and written as a new generation (apply/). `undo` restores an earlier generation
 * exactly; `correct` corrects one student by hand. The service only reads the roster; students see their part through
 * `student/`.
 */
import { basename } from 'node:path'
import { UsageError } from '../../errors.ts'
import { bouncesAmong } from '../../messages/delivery/delivery.ts'
import { type EventType, stagedEvent } from '../../messages/events/events.ts'
import type { Db } from '../../platform/db/db.ts'
import type { By } from '../../platform/lib/by.ts'
import { type Clock, day } from '../../platform/lib/clock.ts'
import { folded } from '../../platform/lib/folded.ts'
import { newId } from '../../platform/lib/random.ts'
import type { Secrets } from '../../platform/lib/secret.ts'
import { dayIn } from '../student/classes.ts'
import {
  applyPlan,
  type Lease,
  newGeneration,
  pause,
  publishGeneration,
  whileLeased,
  writeInBatches,
} from './apply/apply.ts'
import { type Bounds, Meter, usualBounds } from './bounds.ts'
import { bouncedFindings, deltaDoubt, type Hold, lossHolds } from './checks/checks.ts'
import {
  type Change,
  type Corrected,
  compare,
  deltaBetween,
  groupOf,
  Incomings,
  type PastChange,
  partOfRoster,
  pastChanges,
  RecordTable,
  type Standing,
  studentChange,
  wholeRoster,
} from './compare/compare.ts'
import { type Correction, correctionsOf, writeCorrection } from './correct.ts'
import { RosterError } from './errors.ts'
import { FatalFinding, FindingLog } from './findings.ts'
import { cutPlan, isEmpty, isRefused, makePlan, type Plan } from './plan.ts'
import { readRoster } from './read/read.ts'
import type { Finding, Mode, RosterFile } from './records.ts'
import type { RowWrite } from './rows.ts'
import { isAsSeen } from './rules.ts'
import { clearLeftovers } from './store/clear.ts'
import { countDiffering, differencesBetween, type StudentDifference } from './store/differences.ts'
import {
  type GenerationRow,
  generationById,
  type HistoryRow,
  lineageOf,
  publishedGenerations,
} from './store/generations.ts'
import { ClosedMeanwhile } from './store/pages.ts'
import { forgetRedo, rosterChecked, rosterState, type Seen, type StateRow } from './store/state.ts'
import { addressesIn } from './store/students.ts'
import {
  type BadRows,
  type Group,
  groups,
  type HoldCode,
  type HoldShares,
  type MatchBy,
  openHolds,
  planKinds,
  usualShares,
} from './words.ts'

export type { Hold } from './checks/checks.ts'
export { type Change, fieldsOf, groupOf, publicId } from './compare/compare.ts'
export { exitCodes, RosterError, type RosterFailure } from './errors.ts'
export { isEmpty, isRefused, type Plan } from './plan.ts'
export { meetingsText } from './read/read.ts'
export type { Finding } from './records.ts'

export { foldGenerations } from './store/clear.ts'
export type { HistoryRow } from './store/generations.ts'
export type { Seen } from './store/state.ts'
export { type HoldCode, holdCodes, matchKeys, openHolds } from './words.ts'

// SQLite writes many of the same pages again with every batch.
const rowsPerBatch = { sqlite: 10_000, postgres: 2_000 } as const
const pauseMs = 5
const historyMax = 100
const marginDays = 7
const recordKinds = planKinds.filter((kind) => kind !== 'student')

export type Progress = (stage: 'reading' | 'writing', done: number, total: number | null) => void

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

export interface UndoPlan {
  /** The undone generations, newest first; for a redo, the undo itself. */
  readonly undone: readonly GenerationRow[]
  /** The roster that the plan was made against. */
  readonly seen: Seen
  /** The generation that is visible afterwards. */
  readonly content: number
  readonly counts: { leaving: number; returning: number; changed: number }
  /** What must be allowed by name, as for an import. */
  readonly holds: readonly Hold[]
  /** The students who leave, come back or change. */
  changes(): Generator<Change>
  /** The same, as they are kept. */
  differences(): Generator<StudentDifference>
}

export class Roster {
  readonly #db: Db
  readonly #clock: Clock
  readonly #batch: number
  readonly #dayOf: (now: number) => string
  readonly #secrets: Secrets | null
  readonly #bounds: Bounds
  readonly #holdShares: HoldShares
  readonly #badRows: BadRows

  constructor(db: Db, clock: Clock, options: RosterOptions = {}) {
    this.#db = db
    this.#clock = clock
    this.#batch = options.rowsPerBatch ?? rowsPerBatch[db.engine]
    this.#dayOf = dayIn(options.timeZone ?? 'UTC')
    this.#secrets = options.secrets ?? null
    this.#bounds = { ...usualBounds, ...options.bounds }
    this.#holdShares = { ...usualShares, ...options.holdShares }
    this.#badRows = options.badRows ?? { max: 0 }
  }

  /** Plans the import of a file; writes nothing. */
  async plan(path: string, options: PlanOptions = {}): Promise<Plan> {
    const { name, mode = null, match = null, onProgress } = options
    const allowed: BadRows =
      options.skipBadRowsMax === undefined ? this.#badRows : { max: options.skipBadRowsMax }
    const meter = new Meter(this.#bounds, name ?? basename(path))
    const incoming = new Incomings((rows) => onProgress?.('reading', rows, null), meter)
    // How many rows there are is known at the end.
    const log = new FindingLog(() => 'max' in allowed && incoming.badRows >= allowed.max)
    const read = await readRoster(path, { mode, meter, shownPath: name }, log, incoming)
    const file = name === undefined ? read : { ...read, name }
    const skipBadRowsMax = 'max' in allowed ? allowed.max : Math.floor(allowed.share * read.rows)
    const today = this.#dayOf(this.#clock.now())
    const planOptions = { today, match, skipBadRowsMax, holdShares: this.#holdShares }
    if (!log.isCut)
      try {
        const plan = await againWhileClosing(async () =>
          makePlan(await this.#standingFor(file, incoming), incoming, file, log, planOptions),
        )
        const bounced = await this.#bounced(plan)
        meter.end()
        return { ...plan, findings: [...plan.findings, ...bounced] }
      } catch (error) {
        if (!(error instanceof FatalFinding)) throw error
        log.end(error)
      }
    return cutPlan(await rosterState(this.#db), incoming, file, log, today)
  }

  /** The current roster, or the part that matters for a delta. */
  async #standingFor(file: RosterFile, incoming: Incomings): Promise<Standing> {
    const whole = await wholeRoster(this.#db, await rosterState(this.#db))
    if (deltaDoubt(file) !== null) return whole
    const last = whole.lineage.find(({ kind }) => kind === 'import')?.started_at ?? 0
    // An import may be applied some days after its plan was made.
    const days = [this.#dayOf(last - marginDays * day), this.#dayOf(this.#clock.now())] as const
    const addressKeys = await this.#bouncedAmong(() => addressesIn(this.#db, whole.content))
    const part = await partOfRoster(this.#db, whole, incoming, file, {
      days,
      addressKeys: [...addressKeys.keys()],
    })
    return part ?? whole
  }

  async #bounced({ students }: Plan): Promise<Finding[]> {
    const keys = students.rows().filter((row) => students.keyAt(row) >= 0)
    const bounced = await this.#bouncedAmong(() => keys.map((row) => students.keys.at(students.keyAt(row))))
    return bouncedFindings(students, bounced)
  }

  async #bouncedAmong(
    addressKeys: () => Iterable<string> | Promise<Iterable<string>>,
  ): Promise<Map<string, number>> {
    if (this.#secrets === null) return new Map()
    return bouncesAmong(this.#db, this.#secrets, addressKeys)
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
    return this.#alone(plan, async (lease) => {
      const now = this.#clock.now()
      const { name, sha256, version, rows, newestRowAt } = plan.file
      const generation = await newGeneration(
        lease,
        plan,
        {
          kind: 'import',
          file_name: name,
          sha256,
          version,
          rows,
          summary: JSON.stringify(plan.counts),
          started_at: now,
          actor: by.actor,
          allowed: allowedIn(plan.holds),
          newest_row_at: newestRowAt,
        },
        null,
      )
      if (generation === null) throw movedOn()
      const published = await applyPlan(plan, generation, now, {
        db: this.#db,
        clock: this.#clock,
        lease,
        writesPerBatch: this.#batch,
        by,
        onBatch: (written, total) => onProgress('writing', written, total),
      })
      if (!published) throw movedOn()
      return generation
    })
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
  async standing(): Promise<Seen & { readonly reachable: readonly number[] }> {
    const state = await rosterState(this.#db)
    const { content, generation, folded } = state
    const earlier = earlierOf(await lineageOf(this.#db, content)).filter((id) => id >= folded)
    const later = (await this.#later(state)).map(({ id }) => id)
    return { content, generation, reachable: [...later, ...earlier] }
  }

  /**
   * Goes back by one, or to what the roster was after generation `to`; 0 is the empty roster. Until the next
   * import begins, that may also be a roster that the last undos left.
   */
  async planUndo(to?: number): Promise<UndoPlan> {
    const seen = await rosterState(this.#db)
    const lineage = await lineageOf(this.#db, seen.content)
    const later = (await this.#later(seen)).map(({ id }) => id)
    const [head] = lineage
    if (!head && (to === undefined || later.length === 0)) throw new UsageError('there is no import to undo')
    const content = to === undefined ? head!.parent : await this.#contentOf(to, seen, { lineage, later })
    if (later.includes(content)) {
      const undo = (await generationById(this.#db, seen.generation))!
      return this.#undoPlan([undo], seen, content)
    }
    if (content < seen.folded)
      throw new UsageError(
        `number ${head!.id} can no longer be undone: the roster before it is no longer kept`,
      )
    const undone = lineage.slice(0, content === 0 ? undefined : lineage.findIndex(({ id }) => id === content))
    return this.#undoPlan(undone, seen, content)
  }

  /** The generations that can be redone, newest first. */
  async #later({ content, redo }: StateRow): Promise<GenerationRow[]> {
    return redo === null ? [] : (await lineageOf(this.#db, redo)).filter(({ id }) => id > content)
  }

  async #undoPlan(undone: readonly GenerationRow[], seen: StateRow, content: number): Promise<UndoPlan> {
    const kept = new RecordTable<StudentDifference>()
    const names: string[] = []
    const counts = { leaving: 0, returning: 0, changed: 0 }
    // sourcedId then → sourcedId now, of those whose account was matched to a new one.
    const renamed = new Map<string, string>()
    for await (const page of differencesBetween(this.#db, seen.content, content))
      for (const one of page) {
        if (one.before?.digest === one.after?.digest) continue
        counts[operationOf(one)]++
        if (one.before && one.after && one.before.sourced_id !== one.after.sourced_id)
          renamed.set(one.after.sourced_id, one.before.sourced_id)
        const { person_id, firstname, lastname } = (one.before ?? one.after)!
        kept.set(kept.ids.add(person_id), one)
        names.push(folded(`${lastname} ${firstname}`))
      }
    const byName = [...names.keys()].sort((a, b) => (names[a]! < names[b]! ? -1 : 1))
    function* differences() {
      for (const row of byName) yield kept.dataAt(row)
    }
    function* changes() {
      for (const one of differences()) yield studentChange(operationOf(one), one.before, one.after)
    }
    const holds = await this.#undoHolds(seen, content, { counts, renamed })
    return { undone, seen, content, counts, holds, changes, differences }
  }

  /** Judged as an import that would do the same, with the students counted as the undo counts them. */
  async #undoHolds(
    seen: StateRow,
    content: number,
    { counts, renamed }: { counts: UndoPlan['counts']; renamed: ReadonlyMap<string, string> },
  ): Promise<Hold[]> {
    const { incoming, file } = await deltaBetween(this.#db, seen.content, content)
    const today = this.#dayOf(this.#clock.now())
    const compared = await againWhileClosing(async () =>
      compare(await this.#standingFor(file, incoming), incoming, file, { today, match: renamed }),
    )
    const student = { ...compared.counts.student, ...counts }
    const judged = { ...compared, counts: { ...compared.counts, student }, file, incoming, today }
    return lossHolds(judged, this.#holdShares)
  }

  /** What the roster was after this generation, which may itself be an undo. */
  async #contentOf(
    to: number,
    seen: StateRow,
    { lineage, later }: { lineage: readonly GenerationRow[]; later: readonly number[] },
  ): Promise<number> {
    const content = to === 0 ? 0 : (await generationById(this.#db, to))?.content
    const earlier = earlierOf(lineage)
    const reachable = [...later, ...earlier.filter((id) => id >= seen.folded)]
    if (content !== undefined && reachable.includes(content)) return content
    const isKnown = content !== undefined && earlier.includes(content)
    const why =
      content === seen.content
        ? 'is what the roster is now'
        : isKnown
          ? 'is no longer kept'
          : 'cannot be restored'
    const available = await this.#numbersOf(reachable)
    throw new UsageError(
      `number ${to} ${why}; available: ${available.join(', ')} (see "chiron roster history")`,
    )
  }

  /** An undo has a number of its own for an earlier roster, and either number leads there. */
  async #numbersOf(reachable: readonly number[]): Promise<number[]> {
    const others = (await this.history()).filter(({ content }) => reachable.includes(content))
    return [...new Set([...reachable, ...others.map(({ id }) => id)])].sort((a, b) => a - b)
  }

  async undo(plan: UndoPlan, { allow, by }: { allow: readonly HoldCode[]; by: By }): Promise<number> {
    checkHolds(plan.holds, allow, 'the undo')
    const redo = await this.#redoAfter(plan)
    const change = async (lease: Lease) => {
      const now = this.#clock.now()
      const { file_name, sha256, version, rows } = plan.undone[0]!
      const undo = await newGeneration(
        lease,
        plan.seen,
        {
          kind: 'undo',
          file_name,
          sha256,
          version,
          rows,
          summary: JSON.stringify(plan.counts),
          started_at: now,
          actor: by.actor,
          allowed: allowedIn(plan.holds),
          newest_row_at: null,
        },
        plan.content,
      )
      if (undo === null) throw movedOn()
      await writeInBatches(undoWrites(plan, undo, now, by), undo, {
        db: this.#db,
        lease,
        writesPerBatch: this.#batch,
      })
      const publication = { generation: undo, content: plan.content, redo, seen: plan.seen }
      if (!(await publishGeneration(lease, publication, this.#clock.now(), by))) throw movedOn()
      return undo
    }
    return this.#alone(plan.seen, change, { keepsRedo: true })
  }

  /** The latest generation that can be redone after the undo. */
  async #redoAfter({ seen, content }: UndoPlan): Promise<number | null> {
    const { redo } = await rosterState(this.#db)
    const furthest = Math.max(redo ?? 0, seen.content)
    return furthest > content ? furthest : null
  }

  /** Corrects a student until the file agrees. Returns null if there is nothing to change. */
  correct(personId: string, wanted: Partial<Corrected>, by: By): Promise<number | null> {
    return this.#correct(personId, wanted, by)
  }

  /** Removes a correction: the file's values apply again. */
  uncorrect(personId: string, by: By): Promise<number | null> {
    return this.#correct(personId, null, by)
  }

  async corrections(): Promise<Correction[]> {
    return correctionsOf(this.#db, (await rosterState(this.#db)).content)
  }

  async #correct(personId: string, wanted: Partial<Corrected> | null, by: By): Promise<number | null> {
    const seen = await rosterState(this.#db)
    return this.#alone(seen, async (lease) => {
      const deps = { db: this.#db, lease, seen, now: this.#clock.now(), by }
      const generation = await writeCorrection(personId, wanted, deps)
      if (generation === 'moved-on') throw movedOn()
      return generation
    })
  }

  /**
   * Takes the lease, and fails if the roster is no longer the one that the plan was made against. Clears away what a
   * killed process has left and, unless `keepsRedo`, what the last undo left.
   */
  async #alone<T>(seen: Seen, work: (lease: Lease) => Promise<T>, { keepsRedo = false } = {}): Promise<T> {
    return whileLeased(this.#db, this.#clock, async (lease) => {
      if (!isAsSeen(await rosterState(this.#db), seen)) throw movedOn()
      if (!keepsRedo) await lease.write([forgetRedo()])
      await clearLeftovers(this.#db, lease, this.#batch, () => pause(pauseMs))
      return work(lease)
    })
  }
}

/** Reads the current roster again if another import has begun in the meantime. */
async function againWhileClosing<T>(read: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof ClosedMeanwhile)) throw error
    }
}

function checkHolds(holds: readonly Hold[], allow: readonly HoldCode[], what: string): void {
  const held = openHolds(holds, allow)
  if (held.length > 0)
    throw new RosterError('held', `${what} is held: ${held.join(', ')}; allow each hold by name`)
}

const allowedIn = (holds: readonly Hold[]) => openHolds(holds, []).join(',')

function movedOn(): RosterError {
  return new RosterError('moved-on', 'the roster has changed since the plan was made; review a new plan')
}

const earlierOf = (lineage: readonly GenerationRow[]) =>
  lineage.length === 0 ? [] : [...lineage.slice(1).map(({ id }) => id), 0]

function operationOf({ before, after }: StudentDifference): 'leaving' | 'returning' | 'changed' {
  if (before === null) return 'returning'
  return after === null ? 'leaving' : 'changed'
}

/** The events of an undo, and whose sessions end. */
function* undoWrites(plan: UndoPlan, undo: number, now: number, by: By): Generator<RowWrite> {
  const undone = plan.undone[0]!.id
  const about = { at: now, generation: undo }
  const event = (type: EventType, personId: string): RowWrite => ({
    table: 'event',
    row: stagedEvent(type, by, { ...about, id: newId(), personId }),
  })
  const data = { generation: undo, undone }
  yield { table: 'event', row: stagedEvent('roster.undone', by, { ...about, id: newId(), data }) }
  for (const { before, after } of plan.differences()) {
    if (before === null) yield event('student.reactivated', after!.person_id)
    else yield event(after === null ? 'student.deactivated' : 'student.updated', before.person_id)
    yield { changes: 'person', row: [(before ?? after)!.person_id, now] }
    if (before && (after === null || before.email_key !== after.email_key))
      yield { table: 'roster_departure', row: [undo, before.person_id] }
  }
}
