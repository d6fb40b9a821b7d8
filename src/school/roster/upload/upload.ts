/**
 * The roster for staff: they upload a file, review its changes and import it. The rules of the roster itself are in
 * `roster/`, for these and for the commands alike. A plan and its file are in the store, so any process can show, discard
 * and import them. The process that makes or imports a plan renews its claim to it; if it dies, the plan counts as failed,
 * and its import can be tried again.
 */
import type { Readable } from 'node:stream'
import { AppError, invalidField } from '../../../errors.ts'
import type { Context } from '../../../platform/context.ts'
import { decision } from '../../../platform/db/decision.ts'
import type { By } from '../../../platform/lib/by.ts'
import { day, second } from '../../../platform/lib/clock.ts'
import { isId, newId } from '../../../platform/lib/random.ts'
import { FatalFinding } from '../findings.ts'
import { type Roster, RosterError } from '../roster.ts'
import { openHolds, type PlanFailure } from '../words.ts'
import { fileBytesMax, keepFile, refuseLarge, shownName } from './file.ts'
import { holdCodesFrom, Imports } from './imports.ts'
import type { Job, PlanOptions } from './jobs.ts'
import { type Changes, changesOfPlan } from './listing.ts'
import { refusal } from './planned.ts'
import { type JobLimits, JobProcess, type JobSettings, removeLeftovers } from './process.ts'
import { canDrop, keepsChanges, surplusOf } from './rules.ts'
import * as store from './store.ts'
import { pendingOf, summaryOf, viewOf } from './views.ts'

const planTtlMs = day
const uploadsMax = 4
const claimMs = 30 * second
const renewEveryMs = second

export interface UploadsDeps extends Pick<Context, 'db' | 'clock'> {
  readonly roster: Roster
  readonly settings: JobSettings
  readonly limitsMs?: JobLimits
  readonly log: {
    info(fields: object, message: string): void
    error(fields: object, message: string): void
  }
}

export interface Upload {
  readonly file: Readable
  /** As the sender says; 0 if it does not say. */
  readonly bytes: number
  /** For display. */
  readonly name?: string | undefined
}

type PlanJob = Extract<Job, { readonly planId: string }>

export class Uploads {
  readonly imports: Imports
  readonly #deps: UploadsDeps
  readonly #jobs: JobProcess
  /** Names this process in claims. */
  readonly #id = newId()
  readonly #running = new Set<Promise<void>>()
  #uploads = 0

  constructor(deps: UploadsDeps) {
    const { roster, log, settings, clock, limitsMs } = deps
    this.#deps = deps
    this.#jobs = new JobProcess(settings, clock, limitsMs)
    this.imports = new Imports({ roster, log, jobs: this.#jobs })
  }

  start(): Promise<void> {
    return removeLeftovers()
  }

  /** Stores the file and begins to plan its changes; `show` reports the progress. */
  async upload({ file, bytes, name }: Upload, options: PlanOptions, by: By) {
    if (this.#uploads >= uploadsMax)
      throw new AppError('unavailable', 'Other rosters are being read.', { retryAfterSeconds: 30 })
    const { db } = this.#deps
    const id = newId()
    this.#uploads++
    try {
      if (bytes > fileBytesMax) await refuseLarge(file)
      const about = { file_name: shownName(name), options: JSON.stringify(options) }
      await this.#add({ id, person_id: by.actor, ...about })
      await keepFile(db, id, file)
      if (!(await store.claimPlan(db, 'planning', this.#claim(id)))) throw noPlan()
    } catch (error) {
      this.#uploads--
      await this.#drop(id).catch(() => {})
      throw error
    }
    this.#start({ kind: 'plan', planId: id }, () => this.#uploads--)
    return this.show(id)
  }

  /** In place of the oldest, if somebody has too many. */
  async #add(about: Omit<store.NewPlan, 'created_at' | 'expires_at'>): Promise<void> {
    const { db, clock } = this.#deps
    const now = clock.now()
    const plan = { ...about, created_at: now, expires_at: now + planTtlMs }
    const surplus = await db.decide(
      decision({ plans: store.lockPlansOf(plan.person_id) }, ({ plans }) => {
        const result = surplusOf(plans)
        return { writes: [...result.map(store.dropPlan), store.addPlan(plan)], result }
      }),
    )
    for (const id of surplus) await store.clearPlan(db, id)
  }

  async show(planId: string) {
    return viewOf(await this.#plan(planId))
  }

  /** Those that can still be imported, or that say why they cannot; newest first. */
  async pending() {
    const { db, clock } = this.#deps
    const now = clock.now()
    await db.tx(store.settleDead(now))
    return (await store.pendingPlans(db, now)).map(pendingOf)
  }

  async changesOf(planId: string): Promise<Changes> {
    const row = await this.#plan(planId)
    return keepsChanges(row) ? changesOfPlan(this.#deps.db, planId) : async function* () {}
  }

  /** Also works while the plan is being made, in any process. Only its owner may do it, or an admin. */
  async discard(planId: string, by: { readonly id: string; readonly isAdmin: boolean }): Promise<void> {
    const row = await this.#kept(planId)
    if (row.person_id !== by.id && !by.isAdmin)
      throw new AppError('forbidden', 'Only the person who uploaded this plan, or an admin, may discard it.')
    if (!(await this.#drop(row.id)))
      throw new AppError('conflict', 'This plan is being imported and cannot be discarded now.')
  }

  /** Returns whether it is gone. */
  async #drop(planId: string): Promise<boolean> {
    const { db } = this.#deps
    const isGone = await db.decide(
      decision({ plan: store.lockPlan(planId) }, ({ plan }) =>
        plan && !canDrop(plan) ? { result: false } : { writes: [store.dropPlan(planId)], result: true },
      ),
    )
    if (isGone) await store.clearPlan(db, planId)
    return isGone
  }

  /** Starts the import; `show` reports its progress. Idempotent. */
  async apply(planId: string, allow: readonly string[], by: By) {
    const allowed = holdCodesFrom(allow)
    const row = await this.#plan(planId)
    if (row.state === 'applying' || row.state === 'applied') return viewOf(row)
    if (row.state === 'planning')
      throw new AppError('conflict', 'This plan is still being made. Wait until its state is ready.')
    if (row.state === 'refused')
      throw new AppError('conflict', 'This file has errors and cannot be imported.')
    if (row.summary === null)
      throw new AppError('conflict', 'The plan could not be made. Upload the file again.')
    const { db, roster } = this.#deps
    const { content, generation } = await roster.standing()
    if (content !== row.content || generation !== row.generation) throw new AppError('roster-moved-on')
    const open = openHolds(summaryOf(row).holds, allowed)
    if (open.length > 0)
      throw invalidField({ pointer: '#/allow', detail: `must include ${open.join(', ')} to confirm` })
    if (await store.claimPlan(db, 'applying', this.#claim(planId)))
      this.#start({ kind: 'apply', planId, allow: allowed, by })
    return this.show(planId)
  }

  readonly rowsAtOnce = store.rowsPerSweep

  sweep(now: number) {
    return store.sweepPlans(now)
  }

  /** Aborts running work; imports can be tried again. */
  async stop(): Promise<void> {
    await this.#jobs.stop()
    await Promise.all(this.#running)
  }

  #claim(id: string) {
    return { id, by: this.#id, until: this.#deps.clock.now() + claimMs }
  }

  #start(job: PlanJob, onEnd: () => void = () => {}): void {
    const work = this.#run(job).finally(onEnd)
    this.#running.add(work)
    work.finally(() => this.#running.delete(work))
  }

  /** Makes or imports a plan. Making ends early if the plan is discarded, in any process. */
  async #run(job: PlanJob): Promise<void> {
    const { db, log } = this.#deps
    const { planId } = job
    const progress: { done: number; total: number | null } = { done: 0, total: null }
    const discarded = new AbortController()
    const renew = async () => {
      if (!(await store.renewClaim(db, this.#claim(planId), progress))) discarded.abort(noPlan())
    }
    // Keep going: the store may only be unreachable for a moment.
    const timer = setInterval(() => renew().catch(() => {}), renewEveryMs)
    try {
      const generation = await this.#jobs.run(job, {
        onProgress: (done, total) => Object.assign(progress, { done, total }),
        ...(job.kind === 'plan' && { signal: discarded.signal }),
      })
      if (job.kind === 'apply') {
        await store.finishPlan(db, planId, generation ?? null)
        log.info({ planId, generation }, 'a roster was imported in the console')
      }
    } catch (error) {
      // If this fails, the claim expires.
      if (!discarded.signal.aborted) await this.#failed(job, error).catch(() => {})
    } finally {
      clearInterval(timer)
    }
  }

  async #failed({ kind, planId }: PlanJob, error: unknown): Promise<void> {
    const { db, log, roster } = this.#deps
    if (kind === 'plan' && error instanceof FatalFinding) {
      await store.finishPlanning(db, planId, refusal([error.finding], await roster.standing()))
      return
    }
    const failure = failureOf(error)
    const what = kind === 'plan' ? 'a roster could not be planned' : 'a roster import failed'
    if (failure === 'error') log.error({ planId, err: error }, what)
    await store.failPlan(db, planId, this.#id, failure)
  }

  /** A plan whose file has arrived. */
  async #plan(planId: string): Promise<store.PlanRow> {
    const row = await this.#kept(planId)
    if (row.state === 'arriving') throw noPlan()
    return row
  }

  async #kept(planId: string): Promise<store.PlanRow> {
    const { db, clock } = this.#deps
    const read = async () => (isId(planId) ? await store.planById(db, planId) : undefined)
    let row = await read()
    const now = clock.now()
    if (row && row.busy_until !== null && row.busy_until <= now) {
      await db.tx(store.settleDead(now))
      row = await read()
    }
    if (!row || row.expires_at <= now) throw noPlan()
    return row
  }
}

const noPlan = () => new AppError('not-found', 'No plan has this id. Plans are kept for a day.')

function failureOf(error: unknown): PlanFailure {
  if (error instanceof RosterError) return error.failure
  if (error instanceof FatalFinding) return 'refused'
  return error instanceof AppError && error.code === 'unavailable' ? 'stopped' : 'error'
}
