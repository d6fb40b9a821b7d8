/**
 * The roster for staff: they upload a file, review its changes and import it, or undo an import. The rules of the
 * roster itself are in `roster/`, for these and for the commands alike. A plan and its file are in the store, so any
 * process can show and import them; a plan whose process died can be imported again.
 */
import type { Readable } from 'node:stream'
import { AppError, invalidField, UsageError } from '../../../errors.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { By } from '../../../platform/lib/by.ts'
import { type Clock, day, second, timestamp } from '../../../platform/lib/clock.ts'
import { isId, newId } from '../../../platform/lib/random.ts'
import { visible } from '../../../platform/lib/visible.ts'
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
import type { PlanOptions, PlanSummary, UndoJob, UndoView } from './jobs.ts'
import {
  addPart,
  addPlan,
  changesFrom,
  claimPlan,
  dropPlan,
  failPlan,
  finishPlan,
  type PlanRow,
  planById,
  renewClaim,
  settleDead,
  sweepPlans,
} from './store.ts'
import { Thread, type ThreadSettings } from './thread.ts'

export type { PlanOptions, UndoView } from './jobs.ts'

export const fileBytesMax = 64 * 1024 * 1024
/** Of a file that is too large. */
const discardedBytesMax = fileBytesMax + 1024 * 1024
const partBytes = 1024 * 1024
const planTtlMs = day
const plansPerPerson = 5
const uploadsMax = 4
const claimMs = 30 * second
const renewEveryMs = second
const lookEveryMs = second
const fileNameMax = 100
const pagesAtOnce = 4

export interface UploadsDeps {
  readonly db: Db
  readonly clock: Clock
  readonly roster: Roster
  readonly settings: ThreadSettings
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
  /** Aborted when the client has left. */
  readonly gone: AbortSignal
}

export class Uploads {
  readonly #deps: UploadsDeps
  readonly #thread: Thread
  /** Names this process in claims. */
  readonly #id = newId()
  readonly #imports = new Set<Promise<void>>()
  #uploads = 0

  constructor(deps: UploadsDeps) {
    this.#deps = deps
    this.#thread = new Thread(deps.settings, deps.clock)
  }

  start(): Promise<void> {
    return this.#thread.clean()
  }

  /** Stores the file, reads it and plans its changes; stops when the client leaves or the plan is discarded. */
  async upload({ file, bytes, name, gone }: Upload, options: PlanOptions, by: By) {
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
      await db.tx(addPlan(plan, plansPerPerson))
      await this.#keep(id, file)
      await this.#read(id, gone)
      return await this.show(id)
    } catch (error) {
      await db.tx(dropPlan(id)).catch(() => {})
      throw error
    } finally {
      this.#uploads--
    }
  }

  async show(planId: string) {
    return viewOf(await this.#plan(planId))
  }

  /** Changes of one group or of all; `after` is the `next` value of the previous page. */
  async changes(planId: string, about: { group?: Group; after?: string; limit: number }) {
    await this.#plan(planId)
    const { group, limit } = about
    const only = group === undefined ? null : groups.indexOf(group)
    let at = cursorFrom(about.after ?? `${only ?? 0}.0.0`)
    const changes: Change[] = []
    for (;;) {
      const pages = await changesFrom(this.#deps.db, planId, at, only, pagesAtOnce)
      for (const { place, page, changes: text } of pages) {
        const all: Change[] = JSON.parse(text)
        const isFirst = place === at.place && page === at.page
        for (let index = isFirst ? at.index : 0; index < all.length; index++) {
          if (changes.length === limit) return { changes, next: `${place}.${page}.${index}` }
          changes.push(all[index]!)
        }
      }
      const last = pages.at(-1)
      if (!last || pages.length < pagesAtOnce) return { changes, next: null }
      at = { place: last.place, page: last.page + 1, index: 0 }
    }
  }

  /** Also works while the file is being read, in any process. */
  async discard(planId: string): Promise<void> {
    const row = await this.#kept(planId)
    const [, , gone] = await this.#deps.db.tx(dropPlan(row.id))
    if (gone!.length === 0)
      throw new AppError('conflict', 'This plan is being imported and cannot be discarded now.')
  }

  /** Starts the import; `show` reports its progress. Idempotent. */
  async apply(planId: string, allow: readonly string[], by: By) {
    const allowed = allow.map(holdCodeFrom)
    const row = await this.#plan(planId)
    if (row.state === 'applying' || row.state === 'applied') return viewOf(row)
    if (row.state === 'refused')
      throw new AppError('conflict', 'This file has errors and cannot be imported.')
    const { db, clock, roster } = this.#deps
    const { content, generation } = await roster.standing()
    if (content !== row.content || generation !== row.generation) throw new AppError('roster-moved-on')
    const open = openHolds(summaryOf(row).holds, allowed)
    if (open.length > 0)
      throw invalidField({ pointer: '#/allow', detail: `must include ${open.join(', ')} to confirm` })
    const now = clock.now()
    if (await claimPlan(db, { id: planId, by: this.#id, now, until: now + claimMs })) {
      const work = this.#import(planId, allowed, by)
      this.#imports.add(work)
      work.finally(() => this.#imports.delete(work))
    }
    return this.show(planId)
  }

  /** Imports and undos, newest first. */
  async imports() {
    const { roster } = this.#deps
    const [rows, standing] = await Promise.all([roster.history(), roster.standing()])
    return rows.map((row) => importOf(row, standing))
  }

  showUndo(to: number | null): Promise<UndoView> {
    return this.#thread.run({ kind: 'show-undo', to }).catch(asRefusal)
  }

  /** Returns the number of the new roster. */
  async undo({ allow, ...job }: Omit<UndoJob, 'allow'> & { allow: readonly string[] }): Promise<number> {
    const allowed = allow.map(holdCodeFrom)
    const generation = await this.#thread.run({ kind: 'undo', ...job, allow: allowed }).catch(asRefusal)
    this.#deps.log.info({ generation }, 'roster imports were undone in the console')
    return generation
  }

  sweep(now: number) {
    return sweepPlans(now)
  }

  /** Aborts running imports; their plans can be imported again. */
  async stop(): Promise<void> {
    await this.#thread.stop()
    await Promise.all(this.#imports)
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
    if (bytes === 0) throw new AppError('invalid-request', 'The body is empty; it must be the zip file.')
    if (waitingBytes > 0) await flush()
  }

  async #read(planId: string, gone: AbortSignal): Promise<void> {
    const { db } = this.#deps
    const discarded = new AbortController()
    const look = async () => {
      if (!(await planById(db, planId))) discarded.abort(wasDiscarded())
    }
    // Keep going: the store may only be unreachable for a moment.
    const timer = setInterval(() => look().catch(() => {}), lookEveryMs)
    try {
      const signal = AbortSignal.any([gone, discarded.signal])
      await this.#thread.run({ kind: 'read', planId }, { signal })
    } catch (error) {
      if (!(error instanceof RosterError)) throw error
      throw error.failure === 'moved-on' ? wasDiscarded() : new AppError('invalid-request', error.message)
    } finally {
      clearInterval(timer)
    }
  }

  async #import(planId: string, allow: readonly HoldCode[], by: By): Promise<void> {
    const { db, clock, log } = this.#deps
    const progress: { done: number; total: number | null } = { done: 0, total: null }
    const claim = { id: planId, by: this.#id }
    // Keep going: the store may only be unreachable for a moment.
    const renew = () => renewClaim(db, { ...claim, until: clock.now() + claimMs }, progress).catch(() => {})
    const timer = setInterval(renew, renewEveryMs)
    try {
      const job = { kind: 'apply', planId, allow, by } as const
      const generation = await this.#thread.run(job, {
        onProgress: (done, total) => Object.assign(progress, { done, total }),
      })
      await db.tx(finishPlan(planId, generation))
      log.info({ planId, generation }, 'a roster was imported in the console')
    } catch (error) {
      const failure = failureOf(error)
      if (failure === 'error') log.error({ planId, err: error }, 'a roster import failed')
      // If this fails, the claim expires.
      await failPlan(db, planId, this.#id, failure).catch(() => {})
    } finally {
      clearInterval(timer)
    }
  }

  /** A plan whose file has been read. */
  async #plan(planId: string): Promise<PlanRow> {
    const row = await this.#kept(planId)
    if (row.state === 'reading') throw noPlan()
    return row
  }

  async #kept(planId: string): Promise<PlanRow> {
    const { db, clock } = this.#deps
    const read = async () => (isId(planId) ? await planById(db, planId) : undefined)
    let row = await read()
    const now = clock.now()
    if (row?.state === 'applying' && row.busy_until! <= now) {
      await db.tx(settleDead(now))
      row = await read()
    }
    if (!row || row.expires_at <= now) throw noPlan()
    return row
  }
}

const noPlan = () => new AppError('not-found', 'There is no such plan. Plans are kept for a day.')
const wasDiscarded = () => new AppError('not-found', 'The plan was discarded while its file was being read.')

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
  if (place === undefined)
    throw invalidField({ parameter: 'after', detail: 'must be the `next` value of the previous page' })
  return { place: Number(place), page: Number(page), index: Number(index) }
}

function failureOf(error: unknown): PlanFailure {
  if (error instanceof RosterError) return error.failure
  return error instanceof AppError && error.code === 'unavailable' ? 'stopped' : 'error'
}

/** The reply to a request that cannot be carried out now. */
function asRefusal(error: unknown): never {
  if (error instanceof RosterError && error.failure === 'moved-on') throw new AppError('roster-moved-on')
  if (error instanceof RosterError && error.failure === 'held')
    throw invalidField({ pointer: '#/allow', detail: error.message })
  if (error instanceof RosterError && error.failure === 'busy')
    throw new AppError('unavailable', 'Another import is running.', { retryAfterSeconds: 30 })
  if (error instanceof UsageError) throw invalidField({ pointer: '#/to', detail: error.message })
  throw error
}

const summaryOf = (row: PlanRow): PlanSummary => JSON.parse(row.summary!)

/** Of a plan whose file has been read. */
function viewOf(row: PlanRow) {
  const { file, counts, holds, badRows, skipsBadRows, findings, groups: found } = summaryOf(row)
  const { mode, match, skipBadRowsMax = 0 }: PlanOptions = JSON.parse(row.options)
  const shown: Finding[] = JSON.parse(row.findings ?? '[]')
  return {
    planId: row.id,
    state: row.state as (typeof planStates)[number],
    failure: row.failure as PlanFailure | null,
    createdAt: timestamp(row.created_at),
    createdBy: row.person_id,
    expiresAt: timestamp(row.expires_at),
    fileName: row.file_name,
    sha256: row.sha256!,
    version: file.version,
    rows: file.rows,
    modes: file.modes,
    missing: file.missing,
    options: { mode: mode ?? null, match: match ?? null, skipBadRows: skipBadRowsMax },
    roster: row.generation!,
    counts,
    groups: found,
    holds,
    badRows,
    skipsBadRows,
    errors: findings.errors,
    warnings: findings.warnings,
    findings: shown,
    progress: row.state === 'applying' ? { done: row.done ?? 0, total: row.total } : null,
    generation: row.imported_as,
  }
}

function importOf(row: HistoryRow, standing: Awaited<ReturnType<Roster['standing']>>) {
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
