/**
 * The roster: who studies here, and in which classes. A file is read (oneroster.ts), compared with the current roster
 * (plan.ts) and written as a new generation (apply.ts). `undo` restores the previous generation exactly. The service
 * only reads the roster; students see their part through `student/`.
 */
import type { Db, Value } from '../db/db.ts'
import { bouncesAmong } from '../delivery/delivery.ts'
import { UsageError } from '../errors.ts'
import { type EventType, stagedEvent } from '../events/events.ts'
import type { By } from '../lib/by.ts'
import type { Clock } from '../lib/clock.ts'
import { newId } from '../lib/random.ts'
import type { Secrets } from '../lib/secret.ts'
import { applyPlan, publishGeneration } from './apply.ts'
import { bouncedFindings } from './checks.ts'
import { loadCurrent } from './current.ts'
import { type Hold, pause, whileHeld } from './hold.ts'
import { Incomings } from './incoming.ts'
import { readRoster } from './oneroster.ts'
import { isEmpty, isRefused, makePlan, type Plan } from './plan.ts'
import type { Finding } from './records.ts'
import {
  clearLeftovers,
  type GenerationRow,
  generationById,
  insertRows,
  newGeneration,
  publishedGenerations,
  rosterState,
  type Seen,
  studentsIn,
} from './store.ts'

export { isEmpty, isRefused, type Plan } from './plan.ts'
export type { GenerationRow } from './store.ts'

const rowsPerBatch = 2_000
const pauseMs = 5
const historyMax = 100

export type Progress = (stage: 'reading' | 'writing', done: number, total: number | null) => void

export interface UndoPlan {
  readonly generation: GenerationRow
  /** The roster that the plan was made against. */
  readonly seen: Seen
  /** The generation that is visible afterwards. */
  readonly content: number
  readonly counts: { leaving: number; returning: number; changed: number }
}

export class Roster {
  readonly #db: Db
  readonly #clock: Clock
  readonly #batch: number
  readonly #secrets: Secrets | null

  /** With the secrets, plans also tell whose mail bounced. */
  constructor(db: Db, clock: Clock, batch = rowsPerBatch, secrets: Secrets | null = null) {
    this.#db = db
    this.#clock = clock
    this.#batch = batch
    this.#secrets = secrets
  }

  /** Plans the import of a file; writes nothing. */
  async plan(path: string, onProgress: Progress = () => {}, name?: string): Promise<Plan> {
    const current = await loadCurrent(this.#db, await rosterState(this.#db))
    const incoming = new Incomings(current, (rows) => onProgress('reading', rows, null))
    const file = await readRoster(path, incoming)
    const plan = makePlan(current, incoming, name === undefined ? file : { ...file, name })
    return { ...plan, findings: [...plan.findings, ...(await this.#bounced(plan))] }
  }

  async #bounced({ students }: Plan): Promise<Finding[]> {
    const addresses = [...students.values()].flatMap(({ fields }) => fields.email_key ?? [])
    if (this.#secrets === null) return []
    return bouncedFindings(students, await bouncesAmong(this.#db, this.#secrets, addresses))
  }

  /** Applies the whole plan or nothing. Returns the new generation. */
  async import(
    plan: Plan,
    options: { force: boolean; by: By },
    onProgress: Progress = () => {},
  ): Promise<number | null> {
    if (isRefused(plan)) throw new UsageError('the roster has errors and cannot be imported')
    if (plan.held.length > 0 && !options.force)
      throw new UsageError('the import is held; --force lets it through')
    if (isEmpty(plan)) return null
    return this.#alone(plan, async (hold) => {
      await clearLeftovers(this.#db, hold, this.#batch, () => pause(pauseMs))
      const now = this.#clock.now()
      const generation = await newGeneration(
        hold,
        plan,
        {
          kind: 'import',
          file_name: plan.file.name,
          sha256: plan.file.sha256,
          version: plan.file.version,
          rows: plan.file.rows,
          summary: JSON.stringify(plan.counts),
          started_at: now,
        },
        null,
      )
      if (generation === undefined) throw changedMeanwhile()
      const published = await applyPlan(plan, generation, now, {
        db: this.#db,
        hold,
        writesPerBatch: this.#batch,
        by: options.by,
        onBatch: (written, total) => onProgress('writing', written, total),
      })
      if (!published) throw changedMeanwhile()
      return generation
    })
  }

  history(): Promise<GenerationRow[]> {
    return publishedGenerations(this.#db, historyMax)
  }

  async planUndo(): Promise<UndoPlan> {
    const seen = await rosterState(this.#db)
    const { content } = seen
    const generation = await generationById(this.#db, content)
    if (!generation) throw new UsageError('there is no import to undo')
    const after = new Map((await studentsIn(this.#db, generation.parent)).map((s) => [s.person_id, s]))
    const before = new Map((await studentsIn(this.#db, content)).map((s) => [s.person_id, s]))
    let changed = 0
    let leaving = 0
    for (const [id, student] of before) {
      const then = after.get(id)
      if (!then) leaving++
      else if (then.digest !== student.digest) changed++
    }
    const returning = [...after.keys()].filter((id) => !before.has(id)).length
    return { generation, seen, content: generation.parent, counts: { leaving, returning, changed } }
  }

  async undo(plan: UndoPlan, by: By): Promise<number> {
    return this.#alone(plan.seen, async (hold) => {
      const now = this.#clock.now()
      const { file_name, sha256, version, rows } = plan.generation
      const summary = JSON.stringify(plan.counts)
      const undo = await newGeneration(
        hold,
        plan.seen,
        { kind: 'undo', file_name, sha256, version, rows, summary, started_at: now },
        plan.content,
      )
      if (undo === undefined) throw changedMeanwhile()
      await this.#stageUndo(hold, plan, undo, now, by)
      if (!(await publishGeneration(hold, undo, plan.seen, now, by))) throw changedMeanwhile()
      return undo
    })
  }

  /** Writes the events of the undo, and which sessions end. */
  async #stageUndo(hold: Hold, plan: UndoPlan, undo: number, now: number, by: By): Promise<void> {
    const before = await studentsIn(this.#db, plan.generation.id)
    const after = new Map((await studentsIn(this.#db, plan.content)).map((s) => [s.person_id, s]))
    const undone = plan.generation.id
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
        await hold.write(insertRows(this.#db, table, rows.slice(at, at + this.#batch)))
        await pause(pauseMs)
      }
    }
  }

  /** Holds the roster, and fails if it is no longer the one that the plan was made against. */
  async #alone<T>(seen: Seen, work: (hold: Hold) => Promise<T>): Promise<T> {
    return whileHeld(this.#db, this.#clock, async (hold) => {
      const { content, generation } = await rosterState(this.#db)
      if (content !== seen.content || generation !== seen.generation) throw changedMeanwhile()
      return work(hold)
    })
  }
}

function changedMeanwhile(): UsageError {
  return new UsageError('the roster changed since the plan was made; look at the plan again')
}
