/**
 * The roster for staff: they upload a file, review its changes and import it, or undo an import. The rules of the
 * roster itself are in `roster/`, for these and for the commands alike. A plan and its file are in the store, so any
 * process can show, discard and import them. The process that makes or imports a plan renews its claim to it; if it
 * dies, the plan counts as failed, and its import can be tried again.
 */
import type { Readable } from 'node:stream'
import { AppError, invalidField, UsageError } from '../../../errors.ts'
import type { Db } from '../../../platform/db/db.ts'
import { decision } from '../../../platform/db/decision.ts'
import type { By } from '../../../platform/lib/by.ts'
import { type Clock, day, second, timestamp } from '../../../platform/lib/clock.ts'
import { folded } from '../../../platform/lib/folded.ts'
import { isId, newId } from '../../../platform/lib/random.ts'
import { visible } from '../../../platform/lib/visible.ts'
import { FatalFinding } from '../findings.ts'
import {
  type Change,
  type Finding,
  type HistoryRow,
  type HoldCode,
  holdCodes,
  type Roster,
  RosterError,
} from '../roster.ts'
import { type Group, groups, openHolds, type PlanFailure, type planStates } from '../words.ts'
import {
  type Job,
  noSummary,
  type PlanOptions,
  type PlanSummary,
  refusal,
  type UndoJob,
  type UndoView,
} from './jobs.ts'
import { type JobLimits, JobProcess, type JobSettings } from './process.ts'
import { changeReport } from './report.ts'
import { canDrop, surplusOf } from './rules.ts'
import {
  addPart,
  addPlan,
  changesFrom,
  claimPlan,
  dropPlan,
  failPlan,
  finishPlan,
  finishPlanning,
  lockPlan,
  lockPlansOf,
  type PendingRow,
  type PlanRow,
  pendingPlans,
  planById,
  renewClaim,
  settleDead,
  sweepPlans,
} from './store.ts'

export type { PlanOptions, UndoView } from './jobs.ts'

export const fileBytesMax = 64 * 1024 * 1024
/** Of a file that is too large. */
const discardedBytesMax = fileBytesMax + 1024 * 1024
const partBytes = 1024 * 1024
const planTtlMs = day
const uploadsMax = 4
const claimMs = 30 * second
const renewEveryMs = second
const fileNameMax = 100
const pagesAtOnce = { changes: 4, keys: 200 }

export interface UploadsDeps {
  readonly db: Db
  readonly clock: Clock
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

/** Which changes to list. */
export interface Wanted {
  readonly group?: Group
  /** Words that each change must have. */
  readonly q?: string
}

export interface WantedPage extends Wanted {
  /** The `next` value of the previous page. */
  readonly after?: string
  readonly limit: number
}

/** A change, and the `next` value of a page that begins with it. */
interface Placed {
  readonly change: Change
  readonly at: string
}

export class Uploads {
  readonly #deps: UploadsDeps
  readonly #jobs: JobProcess
  /** Names this process in claims. */
  readonly #id = newId()
  readonly #running = new Set<Promise<void>>()
  #uploads = 0

  constructor(deps: UploadsDeps) {
    this.#deps = deps
    this.#jobs = new JobProcess(deps.settings, deps.clock, deps.limitsMs)
  }

  start(): Promise<void> {
    return this.#jobs.clean()
  }

  /** Stores the file and begins to plan its changes; `show` reports the progress. */
  async upload({ file, bytes, name }: Upload, options: PlanOptions, by: By) {
    if (this.#uploads >= uploadsMax)
      throw new AppError('unavailable', 'Other rosters are being read.', { retryAfterSeconds: 30 })
    const { db, clock } = this.#deps
    const now = clock.now()
    const id = newId()
    const plan = {
      id,
      personId: by.actor,
      now,
      expiresAt: now + planTtlMs,
      fileName: shownName(name),
      options: JSON.stringify(options),
    }
    this.#uploads++
    try {
      if (bytes > fileBytesMax) await refuseLarge(file)
      await db.decide(
        decision({ plans: lockPlansOf(by.actor) }, ({ plans }) => ({
          writes: [...surplusOf(plans).flatMap(dropPlan), addPlan(plan)],
          result: null,
        })),
      )
      await this.#keep(id, file)
      if (!(await claimPlan(db, 'planning', this.#claim(id)))) throw noPlan()
    } catch (error) {
      this.#uploads--
      await this.#drop(id).catch(() => {})
      throw error
    }
    this.#start({ kind: 'plan', planId: id }, () => this.#uploads--)
    return this.show(id)
  }

  async show(planId: string) {
    return viewOf(await this.#plan(planId))
  }

  /** Those that can still be imported, or that say why they cannot; newest first. */
  async pending() {
    const { db, clock } = this.#deps
    const now = clock.now()
    await db.tx(settleDead(now))
    return (await pendingPlans(db, now)).map(pendingOf)
  }

  async changes(planId: string, wanted: WantedPage) {
    await this.#plan(planId)
    return pageOf(this.#placed(planId, wanted, wanted.after), wanted.limit)
  }

  /** All changes of a plan as CSV, in pieces. */
  async report(planId: string, wanted: Wanted): Promise<AsyncIterable<string>> {
    await this.#plan(planId)
    return changeReport(changesIn(this.#placed(planId, wanted)))
  }

  async *#placed(planId: string, { group, q }: Wanted, after?: string): AsyncGenerator<Placed> {
    const { db } = this.#deps
    const words = wordsOf(q)
    const only = group === undefined ? null : groups.indexOf(group)
    const start = cursorFrom(after ?? `${only ?? 0}.0.0`)
    const column = words.length > 0 ? 'keys' : 'changes'
    const limit = pagesAtOnce[column]
    for (let at: { place: number; page: number } = start; ; ) {
      const pages = await changesFrom(db, planId, column, at, only, limit)
      for (const { place, page, text } of pages) {
        const first = place === start.place && page === start.page ? start.index : 0
        const lines = column === 'keys' ? text.split('\n') : null
        if (lines && !lines.some((line) => hasAll(line, words))) continue
        const json = lines
          ? (await changesFrom(db, planId, 'changes', { place, page }, place, 1))[0]?.text
          : text
        const changes: Change[] = JSON.parse(json ?? '[]')
        for (let index = first; index < changes.length; index++)
          if (!lines || hasAll(lines[index]!, words))
            yield { change: changes[index]!, at: `${place}.${page}.${index}` }
      }
      const last = pages.at(-1)
      if (!last || pages.length < limit) return
      at = { place: last.place, page: last.page + 1 }
    }
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
  #drop(planId: string): Promise<boolean> {
    return this.#deps.db.decide(
      decision({ plan: lockPlan(planId) }, ({ plan }) =>
        plan && !canDrop(plan) ? { result: false } : { writes: dropPlan(planId), result: true },
      ),
    )
  }

  /** Starts the import; `show` reports its progress. Idempotent. */
  async apply(planId: string, allow: readonly string[], by: By) {
    const allowed = allow.map(holdCodeFrom)
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
    if (await claimPlan(db, 'applying', this.#claim(planId)))
      this.#start({ kind: 'apply', planId, allow: allowed, by })
    return this.show(planId)
  }

  /** Imports and undos, newest first. */
  async imports() {
    const { roster } = this.#deps
    const [rows, standing] = await Promise.all([roster.history(), roster.standing()])
    const told = await roster.told(rows)
    const imports = rows.map((row) => importOf(row, standing, told))
    return { imports, canEmpty: standing.reachable.includes(0) }
  }

  /** One of them, with how many changes of each group it made. */
  async showImport(number: number) {
    const { roster } = this.#deps
    const row = await this.#imported(number)
    const [standing, told] = await Promise.all([roster.standing(), roster.told([row])])
    const found = told.has(number) ? await roster.groupsOf(row) : []
    return { ...importOf(row, standing, told), groups: found.map(listed) }
  }

  async importChanges(number: number, wanted: WantedPage) {
    return pageOf(this.#placedIn(await this.#told(number), wanted, wanted.after), wanted.limit)
  }

  /** All changes of an import as CSV, in pieces. */
  async importReport(number: number, wanted: Wanted): Promise<AsyncIterable<string>> {
    return changeReport(changesIn(this.#placedIn(await this.#told(number), wanted)))
  }

  async #imported(number: number): Promise<HistoryRow> {
    const row = (await this.#deps.roster.history()).find(({ id }) => id === number)
    if (!row) throw new AppError('not-found', 'No import has this number.')
    return row
  }

  async #told(number: number): Promise<HistoryRow> {
    const row = await this.#imported(number)
    if ((await this.#deps.roster.told([row])).has(number)) return row
    throw new AppError(
      'not-found',
      `The changes of number ${number} are no longer kept: the roster before or after it is gone.`,
    )
  }

  async *#placedIn(row: HistoryRow, { group, q }: Wanted, after?: string): AsyncGenerator<Placed> {
    const words = wordsOf(q)
    const [start, key] = keyFrom(after)
    for (const [place, each] of groups.entries()) {
      if (place < start || (group !== undefined && each !== group)) continue
      let before = place === start ? key : ''
      for await (const one of this.#deps.roster.changesOf(row, each, before)) {
        if (hasAll(one.text, words))
          yield { change: one.change, at: `${place}.${Buffer.from(before).toString('base64url')}` }
        before = one.key
      }
    }
  }

  showUndo(to: number | null): Promise<UndoView> {
    return this.#jobs.run({ kind: 'show-undo', to }).catch(asRefusal)
  }

  /** Returns the number of the new roster. */
  async undo({ allow, ...job }: Omit<UndoJob, 'allow'> & { allow: readonly string[] }): Promise<number> {
    const allowed = allow.map(holdCodeFrom)
    const generation = await this.#jobs.run({ kind: 'undo', ...job, allow: allowed }).catch(asRefusal)
    this.#deps.log.info({ generation }, 'roster imports were undone in the console')
    return generation
  }

  sweep(now: number) {
    return sweepPlans(now)
  }

  /** Aborts running work; imports can be tried again. */
  async stop(): Promise<void> {
    await this.#jobs.stop()
    await Promise.all(this.#running)
  }

  #claim(id: string) {
    return { id, by: this.#id, until: this.#deps.clock.now() + claimMs }
  }

  async #keep(planId: string, file: Readable): Promise<void> {
    const { db } = this.#deps
    let bytes = 0
    let number = 0
    let waiting: Buffer[] = []
    let waitingBytes = 0
    const flush = async () => {
      await addPart(db, planId, number++, Buffer.concat(waiting))
      waiting = []
      waitingBytes = 0
    }
    for await (const chunk of chunksOf(file)) {
      bytes += chunk.length
      if (bytes > fileBytesMax) break
      waiting.push(chunk)
      waitingBytes += chunk.length
      if (waitingBytes >= partBytes) await flush()
    }
    if (bytes > fileBytesMax) await refuseLarge(file)
    if (bytes === 0) throw new AppError('invalid-request', 'The body is empty; it must be the file.')
    if (waitingBytes > 0) await flush()
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
      if (!(await renewClaim(db, this.#claim(planId), progress))) discarded.abort(noPlan())
    }
    // Keep going: the store may only be unreachable for a moment.
    const timer = setInterval(() => renew().catch(() => {}), renewEveryMs)
    try {
      const generation = await this.#jobs.run(job, {
        onProgress: (done, total) => Object.assign(progress, { done, total }),
        ...(job.kind === 'plan' && { signal: discarded.signal }),
      })
      if (job.kind === 'apply') {
        await db.tx(finishPlan(planId, generation ?? null))
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
      await db.tx(finishPlanning(planId, refusal([error.finding], await roster.standing())))
      return
    }
    const failure = failureOf(error)
    if (failure === 'error')
      log.error(
        { planId, err: error },
        kind === 'plan' ? 'a roster could not be planned' : 'a roster import failed',
      )
    await failPlan(db, planId, this.#id, failure)
  }

  /** A plan whose file has arrived. */
  async #plan(planId: string): Promise<PlanRow> {
    const row = await this.#kept(planId)
    if (row.state === 'arriving') throw noPlan()
    return row
  }

  async #kept(planId: string): Promise<PlanRow> {
    const { db, clock } = this.#deps
    const read = async () => (isId(planId) ? await planById(db, planId) : undefined)
    let row = await read()
    const now = clock.now()
    if (row && row.busy_until !== null && row.busy_until <= now) {
      await db.tx(settleDead(now))
      row = await read()
    }
    if (!row || row.expires_at <= now) throw noPlan()
    return row
  }
}

const noPlan = () => new AppError('not-found', 'No plan has this id. Plans are kept for a day.')

type PlanJob = Extract<Job, { readonly planId: string }>

async function pageOf(placed: AsyncGenerator<Placed>, limit: number) {
  const changes: Change[] = []
  for await (const { change, at } of placed) {
    if (changes.length === limit) return { changes, next: at }
    changes.push(change)
  }
  return { changes, next: null }
}

async function* changesIn(placed: AsyncIterable<Placed>): AsyncGenerator<Change> {
  for await (const { change } of placed) yield change
}

const wordsOf = (q = '') => folded(q).split(/\s+/).filter(Boolean)
const hasAll = (text: string, words: readonly string[]) => words.every((word) => text.includes(word))

/** Leaving the loop early does not destroy the stream, and with it the connection that the reply needs. */
const chunksOf = (file: Readable): AsyncIterable<Buffer> => file.iterator({ destroyOnReturn: false })

/** Keeps reading for a while: a client that is cut off may not see the reply. */
async function refuseLarge(file: Readable): Promise<never> {
  let bytes = 0
  for await (const chunk of chunksOf(file)) {
    bytes += chunk.length
    if (bytes > discardedBytesMax) break
  }
  throw new AppError('body-too-large')
}

function shownName(name: string | undefined): string {
  const base = name?.split(/[/\\]/).at(-1)?.trim() ?? ''
  return [...visible(base)].slice(0, fileNameMax).join('') || 'roster.zip'
}

function holdCodeFrom(text: string): HoldCode {
  const code = holdCodes.find((each) => each === text)
  if (!code) throw invalidField({ pointer: '#/allow', detail: `takes ${holdCodes.join(', ')}` })
  return code
}

function cursorFrom(text: string): { place: number; page: number; index: number } {
  const [, place, page, index] = /^(\d{1,2})\.(\d{1,6})\.(\d{1,6})$/.exec(text) ?? []
  if (place === undefined) throw wrongCursor()
  return { place: Number(place), page: Number(page), index: Number(index) }
}

/** The group and key after which a page of past changes begins. */
function keyFrom(cursor = '0.'): [place: number, key: string] {
  const [, place, key] = /^(\d{1,2})\.([\w-]*)$/.exec(cursor) ?? []
  if (place === undefined || key === undefined) throw wrongCursor()
  const text = Buffer.from(key, 'base64url').toString()
  if (text.includes('\0')) throw wrongCursor()
  return [Number(place), text]
}

function wrongCursor(): AppError {
  return invalidField({ parameter: 'after', detail: 'must be the `next` value of the previous page' })
}

function failureOf(error: unknown): PlanFailure {
  if (error instanceof RosterError) return error.failure
  if (error instanceof FatalFinding) return 'refused'
  return error instanceof AppError && error.code === 'unavailable' ? 'stopped' : 'error'
}

/** The reply to a request that cannot be carried out now. */
function asRefusal(error: unknown): never {
  if (error instanceof RosterError && error.failure === 'moved-on') throw new AppError('roster-moved-on')
  if (error instanceof RosterError && error.failure === 'held')
    throw invalidField({ pointer: '#/allow', detail: error.message })
  if (error instanceof RosterError && error.failure === 'busy')
    throw new AppError('unavailable', 'Another import is running.', { retryAfterSeconds: 30 })
  if (error instanceof FatalFinding)
    throw new AppError('unavailable', 'This takes more time or memory than it may.', {
      retryAfterSeconds: 60,
    })
  if (error instanceof UsageError) throw invalidField({ pointer: '#/to', detail: error.message })
  throw error
}

const summaryOf = ({ summary }: Pick<PlanRow, 'summary'>): PlanSummary =>
  summary === null ? noSummary : JSON.parse(summary)

const progressOf = ({ state, done, total }: Pick<PlanRow, 'state' | 'done' | 'total'>) =>
  state === 'planning' || state === 'applying' ? { done: done ?? 0, total } : null

/** Every change is listed. */
const listed = ({ group, count }: { group: Group; count: number }) => ({ group, count, kept: count })

type HeadRow = Pick<
  PlanRow,
  'id' | 'state' | 'failure' | 'created_at' | 'person_id' | 'expires_at' | 'file_name'
>

/** What the list of plans and a plan itself say alike. */
function headOf(row: HeadRow) {
  return {
    planId: row.id,
    state: row.state as (typeof planStates)[number],
    failure: row.failure as PlanFailure | null,
    createdAt: timestamp(row.created_at),
    createdBy: row.person_id,
    expiresAt: timestamp(row.expires_at),
    fileName: row.file_name,
  }
}

function pendingOf(row: PendingRow) {
  const { counts, holds, findings } = summaryOf(row)
  const { added, changed, leaving, returning } = counts.student ?? {
    added: 0,
    changed: 0,
    leaving: 0,
    returning: 0,
  }
  return {
    ...headOf(row),
    createdByName: row.person_name?.trim() || null,
    students: { added, changed, leaving, returning },
    holds: [...new Set(holds.map(({ code }) => code))],
    errors: findings.errors,
    warnings: findings.warnings,
    progress: progressOf(row),
  }
}

function viewOf(row: PlanRow) {
  const { file, counts, holds, badRows, skipsBadRows, findings, groups: found } = summaryOf(row)
  const options: PlanOptions = JSON.parse(row.options)
  const shown: Finding[] = JSON.parse(row.findings ?? '[]')
  return {
    ...headOf(row),
    sha256: row.sha256,
    version: file.version,
    rows: file.rows,
    modes: [...file.modes],
    missing: [...file.missing],
    options: {
      mode: options.mode ?? null,
      match: options.match ?? null,
      skipBadRows: options.skipBadRowsMax ?? 0,
      map: Object.entries(options.map ?? {}).map(([field, header]) => `${field}=${header}`),
      term: [...(options.terms ?? [])],
      dates: options.dates ?? null,
    },
    list: row.list === null ? null : JSON.parse(row.list),
    roster: row.generation,
    counts,
    groups: found.map(listed),
    holds: [...holds],
    badRows,
    skipsBadRows,
    errors: findings.errors,
    warnings: findings.warnings,
    findings: shown,
    progress: progressOf(row),
    generation: row.imported_as,
  }
}

function importOf(
  row: HistoryRow,
  standing: Awaited<ReturnType<Roster['standing']>>,
  told: ReadonlySet<number>,
) {
  const summary = JSON.parse(row.summary)
  return {
    generation: row.id,
    kind: row.kind,
    publishedAt: timestamp(row.published_at!),
    actor: row.actor,
    actorName: row.actor_name?.trim() || null,
    fileName: row.kind === 'correction' ? null : row.file_name,
    sha256: row.kind === 'import' ? row.sha256 : null,
    rows: row.kind === 'import' ? row.rows : null,
    allowed: row.allowed === '' ? [] : row.allowed.split(','),
    /** Of an undo: the roster that it went back to. */
    content: row.content,
    students: studentsOf(row.kind, summary),
    current: row.id === standing.generation,
    canGoBack: standing.reachable.includes(row.content),
    changesKept: told.has(row.id),
  }
}

function studentsOf(kind: HistoryRow['kind'], summary: Record<string, never>) {
  const none = { added: 0, changed: 0, leaving: 0, returning: 0 }
  if (kind === 'correction') return { ...none, changed: 1 }
  const { added, changed, leaving, returning } = {
    ...none,
    ...(kind === 'import' ? summary.student : summary),
  }
  return { added, changed, leaving, returning }
}
