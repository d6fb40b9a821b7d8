/**
 * The roster: who studies here, and in which classes. A file is read (read/), compared with the current roster
 * (compare/), judged (judge/) and written as a new generation (apply/). `undo` restores an earlier generation exactly;
 * `correct` puts one student right by hand. The service only reads the roster; students see their part through
 * `student/`.
 */
import type { Db, Value } from '../db/db.ts'
import { bouncesAmong } from '../delivery/delivery.ts'
import { UsageError } from '../errors.ts'
import { type EventType, stagedEvent } from '../events/events.ts'
import type { By } from '../lib/by.ts'
import type { Clock } from '../lib/clock.ts'
import { newId } from '../lib/random.ts'
import type { Secrets } from '../lib/secret.ts'
import { dayIn } from '../student/classes.ts'
import { applyPlan, type Lease, pause, publishGeneration, whileLeased } from './apply/apply.ts'
import {
  type Change,
  type Corrected,
  fullName,
  Incomings,
  loadCurrent,
  type MatchBy,
  studentView,
} from './compare/compare.ts'
import { type Correction, correctionsOf, writeCorrection } from './correct.ts'
import { RosterError } from './errors.ts'
import { FindingLog } from './findings.ts'
import { bouncedFindings, type HoldCode } from './judge/judge.ts'
import { isEmpty, isRefused, makePlan, type Plan } from './plan.ts'
import { readRoster } from './read/read.ts'
import type { Finding, Mode } from './records.ts'
import {
  clearLeftovers,
  type GenerationRow,
  generationById,
  type HistoryRow,
  insertRows,
  lineageOf,
  newGeneration,
  publishedGenerations,
  rosterState,
  type Seen,
  type StudentVersion,
  studentsIn,
} from './store.ts'

export { type Change, fieldsOf, matchKeys, planKinds } from './compare/compare.ts'
export { exitCodes, RosterError, type RosterFailure } from './errors.ts'
export { type Hold, type HoldCode, holdCodes } from './judge/judge.ts'
export { isEmpty, isRefused, type Plan } from './plan.ts'
export type { Finding } from './records.ts'
export type { HistoryRow, Seen } from './store.ts'

const rowsPerBatch = 2_000
const pauseMs = 5
const historyMax = 100

export type Progress = (stage: 'reading' | 'writing', done: number, total: number | null) => void

export interface RosterOptions {
  /** The school's days. */
  readonly timeZone?: string
  /** With them, plans also tell whose mail bounced. */
  readonly secrets?: Secrets
  readonly rowsPerBatch?: number
}

export interface PlanOptions {
  /** Shown in place of the file's own name. */
  readonly name?: string
  /** Overrides what the set says of itself. */
  readonly mode?: Mode
  /** How accounts are kept when sourcedIds have changed. */
  readonly match?: MatchBy
  /** Bad rows are left out if there are at most so many. */
  readonly skipBadRowsMax?: number
  readonly onProgress?: Progress
}

export interface UndoPlan {
  /** What is undone, newest first. */
  readonly undone: readonly GenerationRow[]
  /** The roster that the plan was made against. */
  readonly seen: Seen
  /** The generation that is visible afterwards. */
  readonly content: number
  readonly counts: { leaving: number; returning: number; changed: number }
  /** The students who leave, come back or change. */
  changes(): Generator<Change>
}

export class Roster {
  readonly #db: Db
  readonly #clock: Clock
  readonly #batch: number
  readonly #dayOf: (now: number) => string
  readonly #secrets: Secrets | null

  constructor(db: Db, clock: Clock, options: RosterOptions = {}) {
    this.#db = db
    this.#clock = clock
    this.#batch = options.rowsPerBatch ?? rowsPerBatch
    this.#dayOf = dayIn(options.timeZone ?? 'UTC')
    this.#secrets = options.secrets ?? null
  }

  /** Plans the import of a file; writes nothing. */
  async plan(path: string, options: PlanOptions = {}): Promise<Plan> {
    const { name, mode = null, match = null, skipBadRowsMax = 0, onProgress } = options
    const current = await loadCurrent(this.#db, await rosterState(this.#db))
    const incoming = new Incomings(current, (rows) => onProgress?.('reading', rows, null))
    const log = new FindingLog()
    const file = await readRoster(path, mode, log, incoming)
    const today = this.#dayOf(this.#clock.now())
    const named = name === undefined ? file : { ...file, name }
    const plan = makePlan(current, incoming, named, log, { today, match, skipBadRowsMax })
    return { ...plan, findings: [...plan.findings, ...(await this.#bounced(plan))] }
  }

  async #bounced({ students }: Plan): Promise<Finding[]> {
    if (this.#secrets === null) return []
    const addresses = [...students.values()].flatMap(({ fields }) => fields.email_key ?? [])
    return bouncedFindings(students, await bouncesAmong(this.#db, this.#secrets, addresses))
  }

  /** Applies the whole plan or nothing. Returns the new generation, or null if there is nothing to do. */
  async import(
    plan: Plan,
    { allow, by }: { allow: readonly HoldCode[]; by: By },
    onProgress: Progress = () => {},
  ): Promise<number | null> {
    if (isRefused(plan)) throw new RosterError('refused', 'the roster has errors and cannot be imported')
    const held = plan.holds.filter(({ code }) => !allow.includes(code)).map(({ code }) => code)
    if (held.length > 0)
      throw new RosterError(
        'held',
        `the import is held for ${held.join(', ')}, which must be allowed by name`,
      )
    if (isEmpty(plan)) return null
    return this.#alone(plan, async (lease) => {
      await this.#clear(lease)
      const now = this.#clock.now()
      const { name, sha256, version, rows, newestRowAt } = plan.file
      const allowed = plan.holds.map(({ code }) => code)
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
          allowed: [...new Set(allowed)].join(','),
          newest_row_at: newestRowAt,
        },
        null,
      )
      if (generation === undefined) throw movedOn()
      const published = await applyPlan(plan, generation, now, {
        db: this.#db,
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

  /** The roster that stands, and the earlier ones to which `undo` can go back, newest first; 0 is the empty roster. */
  async standing(): Promise<Seen & { readonly earlier: readonly number[] }> {
    const { content, generation } = await rosterState(this.#db)
    return { content, generation, earlier: earlierOf(await lineageOf(this.#db, content)) }
  }

  /** Goes back by one, or to what the roster was after generation `to`; 0 is the empty roster. */
  async planUndo(to?: number): Promise<UndoPlan> {
    const seen = await rosterState(this.#db)
    const lineage = await lineageOf(this.#db, seen.content)
    const [head] = lineage
    if (!head) throw new UsageError('there is no import to undo')
    const content = to === undefined ? head.parent : await this.#contentOf(to, lineage)
    const undone = lineage.slice(0, content === 0 ? undefined : lineage.findIndex(({ id }) => id === content))
    const before = byPerson(await studentsIn(this.#db, seen.content))
    const after = byPerson(await studentsIn(this.#db, content))
    const counts = { leaving: 0, returning: 0, changed: 0 }
    const changes = () => studentChanges(before, after)
    for (const { operation } of changes()) if (operation !== 'added') counts[operation]++
    return { undone, seen, content, counts, changes }
  }

  async #contentOf(to: number, lineage: readonly GenerationRow[]): Promise<number> {
    const content = to === 0 ? 0 : (await generationById(this.#db, to))?.content
    const earlier = earlierOf(lineage)
    if (content !== undefined && earlier.includes(content)) return content
    throw new UsageError(
      `number ${to} is not one to go back to; those are ${earlier.toReversed().join(', ')} ("chiron roster history" lists them)`,
    )
  }

  async undo(plan: UndoPlan, by: By): Promise<number> {
    return this.#alone(plan.seen, async (lease) => {
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
          allowed: '',
          newest_row_at: null,
        },
        plan.content,
      )
      if (undo === undefined) throw movedOn()
      await this.#stageUndo(lease, plan, undo, now, by)
      if (!(await publishGeneration(lease, undo, plan.seen, now, by))) throw movedOn()
      return undo
    })
  }

  /** Puts a student right until the file says the same. Returns null if there is nothing to change. */
  correct(personId: string, wanted: Partial<Corrected>, by: By): Promise<number | null> {
    return this.#correct(personId, wanted, by)
  }

  /** Takes a correction back: the file counts again. */
  uncorrect(personId: string, by: By): Promise<number | null> {
    return this.#correct(personId, null, by)
  }

  async corrections(): Promise<Correction[]> {
    return correctionsOf(this.#db, (await rosterState(this.#db)).content)
  }

  async #correct(personId: string, wanted: Partial<Corrected> | null, by: By): Promise<number | null> {
    const seen = await rosterState(this.#db)
    return this.#alone(seen, async (lease) => {
      await this.#clear(lease)
      const deps = { db: this.#db, lease, seen, now: this.#clock.now(), by }
      const generation = await writeCorrection(personId, wanted, deps)
      if (generation === 'moved-on') throw movedOn()
      return generation
    })
  }

  /** Writes the events of the undo, and which sessions end. */
  async #stageUndo(lease: Lease, plan: UndoPlan, undo: number, now: number, by: By): Promise<void> {
    const before = await studentsIn(this.#db, plan.seen.content)
    const after = byPerson(await studentsIn(this.#db, plan.content))
    const undone = plan.undone[0]!.id
    const about = { at: now, generation: undo }
    const events: Value[][] = [
      stagedEvent('roster.undone', by, { ...about, id: newId(), data: { generation: undo, undone } }),
    ]
    const departures: Value[][] = []
    const event = (type: EventType, personId: string) =>
      events.push(stagedEvent(type, by, { ...about, id: newId(), personId }))
    for (const student of before) {
      const then = after.get(student.person_id)
      after.delete(student.person_id)
      if (!then) event('student.deactivated', student.person_id)
      else if (then.digest !== student.digest) event('student.updated', student.person_id)
      if (!then || then.email_key !== student.email_key) departures.push([undo, student.person_id])
    }
    for (const personId of after.keys()) event('student.reactivated', personId)
    for (const [table, rows] of [
      ['event', events],
      ['roster_departure', departures],
    ] as const) {
      for (let at = 0; at < rows.length; at += this.#batch) {
        await lease.write(insertRows(this.#db, table, rows.slice(at, at + this.#batch)))
        await pause(pauseMs)
      }
    }
  }

  #clear(lease: Lease): Promise<void> {
    return clearLeftovers(this.#db, lease, this.#batch, () => pause(pauseMs))
  }

  /** Takes the lease, and fails if the roster is no longer the one that the plan was made against. */
  async #alone<T>(seen: Seen, work: (lease: Lease) => Promise<T>): Promise<T> {
    return whileLeased(this.#db, this.#clock, async (lease) => {
      const { content, generation } = await rosterState(this.#db)
      if (content !== seen.content || generation !== seen.generation) throw movedOn()
      return work(lease)
    })
  }
}

function movedOn(): RosterError {
  return new RosterError('moved-on', 'the roster changed since the plan was made; look at the plan again')
}

const earlierOf = (lineage: readonly GenerationRow[]) =>
  lineage.length === 0 ? [] : [...lineage.slice(1).map(({ id }) => id), 0]

const byPerson = (students: readonly StudentVersion[]) =>
  new Map(students.map((student) => [student.person_id, student]))

function* studentChanges(
  before: ReadonlyMap<string, StudentVersion>,
  after: ReadonlyMap<string, StudentVersion>,
): Generator<Change> {
  const change = (b: StudentVersion | undefined, a: StudentVersion | undefined): Change => {
    const shown = (a ?? b)!
    return {
      kind: 'student',
      sourcedId: shown.sourced_id,
      operation: !a ? 'leaving' : b ? 'changed' : 'returning',
      name: fullName(shown),
      studentNumber: shown.student_number,
      before: b ? studentView(b) : null,
      after: a ? studentView(a) : null,
    }
  }
  for (const [id, student] of before) {
    const then = after.get(id)
    if (then?.digest !== student.digest) yield change(student, then)
  }
  for (const [id, student] of after) if (!before.has(id)) yield change(undefined, student)
}
