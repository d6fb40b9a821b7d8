/**
 * The roster: who studies here, and in which classes. It comes as a file (oneroster.ts reads it), is compared with
 * what stands (plan.ts), and becomes a new generation (apply.ts). `undo` goes back to the generation before, exactly.
 * The service only reads it; students see their part through `student/`.
 */
import type { Db, Statement, Value } from '../db/db.ts'
import { UsageError } from '../errors.ts'
import { type Clock, second } from '../lib/clock.ts'
import { newId } from '../lib/random.ts'
import { applyPlan, pause, publishGeneration } from './apply.ts'
import { loadCurrent } from './current.ts'
import { Incomings } from './incoming.ts'
import { readRoster } from './oneroster.ts'
import { isEmpty, isRefused, makePlan, type Plan } from './plan.ts'
import {
  clearLeftovers,
  type GenerationRow,
  generationById,
  hold,
  insertRows,
  keepHold,
  newGeneration,
  publishedGenerations,
  release,
  rosterState,
  studentsIn,
} from './store.ts'

export { isEmpty, isRefused, type Plan } from './plan.ts'
export type { GenerationRow } from './store.ts'

const leaseMs = 15 * second
const clearBatch = 2_000
const holdPollMs = 200
const historyMax = 100

export type Progress = (stage: 'reading' | 'writing', done: number, total: number | null) => void

export interface UndoPlan {
  readonly generation: GenerationRow
  /** What is visible afterwards. */
  readonly content: number
  readonly counts: { leaving: number; returning: number; changed: number }
}

export class Roster {
  readonly #db: Db
  readonly #clock: Clock
  readonly #holder = newId()

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** What importing this file would do. Writes nothing. */
  async plan(path: string, onProgress: Progress = () => {}, name?: string): Promise<Plan> {
    const current = await loadCurrent(this.#db, await rosterState(this.#db))
    const incoming = new Incomings(current, (rows) => onProgress('reading', rows, null))
    const file = await readRoster(path, incoming)
    return makePlan(current, incoming, name === undefined ? file : { ...file, name })
  }

  /** Does what the plan says, all of it or nothing. Gives the new generation. */
  async import(
    plan: Plan,
    options: { force: boolean },
    onProgress: Progress = () => {},
  ): Promise<number | null> {
    if (isRefused(plan)) throw new UsageError('the roster has errors and cannot be imported')
    if (plan.held.length > 0 && !options.force)
      throw new UsageError('the import is held; --force lets it through')
    if (isEmpty(plan)) return null
    return this.#alone(async () => {
      const { content, generation: latest } = await rosterState(this.#db)
      if (content !== plan.content || latest !== plan.generation) throw changedMeanwhile()
      await clearLeftovers(this.#db, content, clearBatch, () => pause(5))
      const now = this.#clock.now()
      const generation = await newGeneration(
        this.#db,
        {
          kind: 'import',
          parent: plan.content,
          file_name: plan.file.name,
          sha256: plan.file.sha256,
          version: plan.file.version,
          rows: plan.file.rows,
          summary: JSON.stringify(plan.counts),
          started_at: now,
        },
        null,
      )
      const published = await applyPlan(plan, generation, now, {
        db: this.#db,
        holder: this.#holder,
        hold: () => this.#keepHold(),
        onBatch: (written, total) => onProgress('writing', written, total),
      })
      if (!published) throw changedMeanwhile()
      return generation
    })
  }

  history(): Promise<GenerationRow[]> {
    return publishedGenerations(this.#db, historyMax)
  }

  /** What going one step back would do. */
  async planUndo(): Promise<UndoPlan> {
    const { content } = await rosterState(this.#db)
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
    return { generation, content: generation.parent, counts: { leaving, returning, changed } }
  }

  async undo(plan: UndoPlan): Promise<number> {
    return this.#alone(async () => {
      const { content } = await rosterState(this.#db)
      if (content !== plan.generation.id) throw changedMeanwhile()
      const now = this.#clock.now()
      const { file_name, sha256, version, rows } = plan.generation
      const undo = await newGeneration(
        this.#db,
        {
          kind: 'undo',
          parent: content,
          file_name,
          sha256,
          version,
          rows,
          summary: JSON.stringify(plan.counts),
          started_at: now,
        },
        plan.content,
      )
      await this.#stageUndo(plan, undo, now)
      const published = await publishGeneration(this.#db, undo, content, this.#holder, now)
      if (!published) throw changedMeanwhile()
      return undo
    })
  }

  /** The events of going back, and whose sessions end. */
  async #stageUndo(plan: UndoPlan, undo: number, now: number): Promise<void> {
    const before = await studentsIn(this.#db, plan.generation.id)
    const after = new Map((await studentsIn(this.#db, plan.content)).map((s) => [s.person_id, s]))
    const undone = plan.generation.id
    const events: Value[][] = [
      [newId(), now, 'roster.imported', null, JSON.stringify({ generation: undo, undone }), undo],
    ]
    const departures: Value[][] = []
    const event = (type: string, personId: string) => events.push([newId(), now, type, personId, '{}', undo])
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
      for (let at = 0; at < rows.length; at += clearBatch) {
        await this.#db.tx([
          ...this.#keepHold(),
          ...insertRows(this.#db, table, rows.slice(at, at + clearBatch)),
        ])
        await pause(5)
      }
    }
  }

  /** One writer at a time, in all processes. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    await this.#takeHold()
    try {
      return await work()
    } catch (error) {
      if ((await rosterState(this.#db)).held_by !== this.#holder)
        throw new UsageError('another import took over')
      throw error
    } finally {
      await release(this.#db, this.#holder)
    }
  }

  /** Whoever has the hold renews it while at work; one that is not renewed belongs to a dead process, and runs out. */
  async #takeHold(): Promise<void> {
    const seen = await rosterState(this.#db)
    for (;;) {
      const now = this.#clock.now()
      if (await hold(this.#db, this.#holder, now, now + leaseMs)) return
      const state = await rosterState(this.#db)
      const renewed = state.held_by !== null && state.held_until !== seen.held_until
      if (renewed) throw new UsageError('another import is under way; try again when it is done')
      await pause(holdPollMs)
    }
  }

  #keepHold(): Statement[] {
    return keepHold(this.#holder, this.#clock.now() + leaseMs)
  }
}

function changedMeanwhile(): UsageError {
  return new UsageError('the roster changed since the plan was made; look at the plan again')
}
