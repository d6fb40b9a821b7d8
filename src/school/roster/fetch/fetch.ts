/**
 * Fetches the newest set from the configured source (`folder.ts`, `web.ts`, `sftp.ts`) and imports it under the same
 * holds as by hand. A set that was imported or changed nothing is not fetched again. A refused or held set is fetched
 * every time, until it is fixed or allowed.
 *
 * How it went is kept in the store, and reported by mail (`report.ts`) when somebody has to do something.
 */
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AppError, UsageError } from '../../../errors.ts'
import { queueReport } from '../../../messages/mail/outbox.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { By } from '../../../platform/lib/by.ts'
import { type Clock, localTime } from '../../../platform/lib/clock.ts'
import { reasonOf } from '../../../platform/lib/reason.ts'
import type { Secrets } from '../../../platform/lib/secret.ts'
import { visible } from '../../../platform/lib/visible.ts'
import { exitCodes, RosterError } from '../errors.ts'
import {
  type HoldCode,
  isRefused,
  type Plan,
  type PlanOptions,
  type Progress,
  type Roster,
} from '../roster.ts'
import { placeOf, type RosterSource } from '../source.ts'
import { type FetchRow, fetchDone, fetchTried, lastFetch, rosterChecked } from '../store.ts'
import { openHolds } from '../words.ts'
import { type Arrival, type Limits, usualLimits, type Wanted } from './arrival.ts'
import { takeFromFolder } from './folder.ts'
import { detailsOf, type FetchOutcome, reportOf } from './report.ts'
import { takeFromSftp } from './sftp.ts'
import { takeFromWeb } from './web.ts'

export interface Fetched {
  readonly outcome: FetchOutcome
  /** A sentence without its full stop. */
  readonly message: string
  readonly exitCode: number
  readonly generation: number | null
  readonly plan: Plan | null
  /** Figures, findings and what to do now, without names and whole addresses. */
  readonly details: readonly string[]
  /** The reports that were put into the outbox. */
  readonly mailIds: readonly string[]
}

type Tried = Omit<Fetched, 'details' | 'mailIds'> & {
  /** The set that need not be fetched again. */
  readonly done?: Pick<FetchRow, 'mark' | 'sha256' | 'file_name' | 'done_at'>
}

export interface FetchDeps {
  readonly db: Db
  readonly clock: Clock
  readonly secrets: Secrets
  readonly roster: Roster
  readonly source: RosterSource
  /** Addresses that get reports. */
  readonly reportTo: readonly string[]
  readonly timeZone: string
  readonly limits?: Limits
}

export interface FetchOptions {
  readonly plan: Omit<PlanOptions, 'name'>
  readonly allow: readonly HoldCode[]
  /** Also fetch the set that need not be fetched again. */
  readonly again: boolean
  readonly reportAlways: boolean
  /** How this command is called, for the report. */
  readonly command: string
  readonly by: By
  onPlan?(plan: Plan): Promise<void>
  readonly onProgress?: Progress
}

const whyCharactersMax = 500

export class RosterFetch {
  readonly #deps: FetchDeps
  /** Recognises the source without storing its secrets. */
  readonly #sourceId: string

  constructor(deps: FetchDeps) {
    this.#deps = deps
    const { source } = deps
    const address = source.kind === 'web' ? source.url : placeOf(source)
    this.#sourceId = createHash('sha256').update(`${source.kind} ${address}`).digest('hex')
  }

  async run(options: FetchOptions): Promise<Fetched> {
    const { done, ...tried } = await this.#tryOnce(options)
    const { db, clock, secrets, source, reportTo, timeZone } = this.#deps
    const { outcome, message } = tried
    const now = clock.now()
    const isWell = outcome === 'imported' || outcome === 'unchanged'
    const report = reportOf(tried, { place: placeOf(source), at: now, timeZone, command: options.command })
    const addresses = isWell && !options.reportAlways ? [] : reportTo
    const mails = addresses.map((email) => queueReport(secrets, { email, report, now }))
    await db.tx([
      fetchTried(now, outcome, message),
      ...(done ? [fetchDone({ ...done, source: this.#sourceId })] : []),
      ...(outcome === 'unchanged' ? [rosterChecked(now)] : []),
      ...mails.flatMap(({ statements }) => statements),
    ])
    return { ...tried, details: detailsOf(tried, options), mailIds: mails.map(({ id }) => id) }
  }

  async #tryOnce(options: FetchOptions): Promise<Tried> {
    const row = await lastFetch(this.#deps.db)
    const last = row?.source === this.#sourceId && !options.again ? row : null
    try {
      return await inScratchFolder(async (folder) => {
        const { limits = usualLimits, source } = this.#deps
        const arrival = await take(source, { known: last?.mark ?? null, folder, limits })
        return arrival ? this.#import(arrival, last, options) : this.#nothingNewer(last!, null)
      })
    } catch (error) {
      // Without the store nothing can be noted, and no mail queued.
      if (error instanceof AppError) throw error
      return this.#failed(error)
    }
  }

  async #import(arrival: Arrival, last: FetchRow | null, options: FetchOptions): Promise<Tried> {
    const { roster, clock } = this.#deps
    const { allow, by, onPlan, onProgress } = options
    const plan = await roster.plan(arrival.path, { ...options.plan, name: arrival.name })
    await arrival.verify()
    const { sha256 } = plan.file
    const done = { mark: arrival.mark, sha256, file_name: arrival.name, done_at: clock.now() }
    // Somebody may have undone its import, so the same set must not be imported again automatically.
    if (last?.sha256 === sha256)
      return { ...this.#nothingNewer(last, plan), done: { ...done, done_at: last.done_at } }
    await onPlan?.(plan)
    if (isRefused(plan)) return stopped('refused', 'the file has errors and cannot be imported', plan)
    const held = openHolds(plan.holds, allow)
    if (held.length > 0) return stopped('held', `the import is held: ${held.join(', ')}`, plan)
    const generation = await roster.import(plan, { allow, by }, onProgress)
    if (generation === null) return { ...unchanged('the roster already matches the file', plan), done }
    const message = `the roster is now number ${generation}`
    return { outcome: 'imported', message, exitCode: 0, generation, plan, done }
  }

  #nothingNewer({ file_name, done_at }: FetchRow, plan: Plan | null): Tried {
    const at = localTime(done_at!, this.#deps.timeZone)
    return unchanged(`there is nothing newer than ${file_name}, fetched ${at}`, plan)
  }

  #failed(error: unknown): Tried {
    if (error instanceof RosterError && exitCodes[error.failure] === exitCodes.busy)
      return stopped('busy', error.message, null)
    const exitCode = error instanceof UsageError ? error.exitCode : 1
    const why = error instanceof UsageError ? error.message : reasonOf(error)
    // A server may have said anything.
    const said = visible(why).slice(0, whyCharactersMax)
    const message = `nothing was fetched from ${placeOf(this.#deps.source)}: ${said}`
    return { outcome: 'failed', message, exitCode, generation: null, plan: null }
  }
}

async function inScratchFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'chiron-roster-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function take(source: RosterSource, wanted: Wanted): Promise<Arrival | null> {
  if (source.kind === 'folder') return takeFromFolder(source, wanted)
  return source.kind === 'web' ? takeFromWeb(source, wanted) : takeFromSftp(source, wanted)
}

function unchanged(message: string, plan: Plan | null): Tried {
  return { outcome: 'unchanged', message, exitCode: 0, generation: null, plan }
}

function stopped(outcome: 'held' | 'refused' | 'busy', message: string, plan: Plan | null): Tried {
  return { outcome, message, exitCode: exitCodes[outcome], generation: null, plan }
}
