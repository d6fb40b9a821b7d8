/**
 * Fetches the newest set from the configured source (`folder.ts`, `web.ts`, `sftp.ts`) and imports it under the same
 * holds as by hand. A set that was imported or changed nothing is not fetched again. A refused or held set is fetched
 * every time, until it is fixed or allowed.
 *
 * How it went is kept in the store, and reported by mail (`report.ts`) when somebody has to do something. A source that
 * has no newer file for `maxAgeDays` is reported too (`overdue`): its export may have stopped.
 */
import { createHash } from 'node:crypto'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AppError, UsageError } from '../../../errors.ts'
import { queueReport } from '../../../messages/mail/outbox.ts'
import type { Context } from '../../../platform/context.ts'
import type { By } from '../../../platform/lib/by.ts'
import { day, localTime } from '../../../platform/lib/clock.ts'
import { reasonOf } from '../../../platform/lib/reason.ts'
import { visible } from '../../../platform/lib/visible.ts'
import { dayIn } from '../../student/classes.ts'
import { exitCodes, RosterError } from '../errors.ts'
import { isOverdue } from '../overdue.ts'
import {
  type HoldCode,
  isRefused,
  type Plan,
  type PlanOptions,
  type Progress,
  type Roster,
} from '../roster.ts'
import { placeOf, type RosterSource } from '../source.ts'
import { type FetchRow, fetchDone, fetchTried, lastFetch } from '../store/fetch.ts'
import { rosterChecked } from '../store/state.ts'
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
  /** Whether an earlier fetch of the same day reported that no newer file comes. */
  readonly isToldToday: boolean
  /** The reports that were put into the outbox. */
  readonly mailIds: readonly string[]
}

type Outcome = Pick<Fetched, 'outcome' | 'message' | 'exitCode' | 'generation' | 'plan'> & {
  /** The set that need not be fetched again. */
  readonly done?: Pick<FetchRow, 'mark' | 'sha256' | 'file_name' | 'done_at'>
}

type Tried = Outcome & {
  /** When the newest file was written, or first seen; null if none was. */
  readonly fileAt: number | null
}

export interface FetchDeps extends Pick<Context, 'db' | 'clock' | 'secrets' | 'timeZone'> {
  readonly roster: Roster
  readonly source: RosterSource
  /** Addresses that get reports. */
  readonly reportTo: readonly string[]
  /** Days without a newer file until that is reported, once a day. */
  readonly maxAgeDays: number
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
  readonly #dayOf: (now: number) => string

  constructor(deps: FetchDeps) {
    this.#deps = deps
    this.#dayOf = dayIn(deps.timeZone)
    const { source } = deps
    const address = source.kind === 'web' ? source.url : placeOf(source)
    this.#sourceId = createHash('sha256').update(`${source.kind} ${address}`).digest('hex')
  }

  async run(options: FetchOptions): Promise<Fetched> {
    const { db, clock, secrets, source, reportTo, timeZone } = this.#deps
    const row = await lastFetch(db)
    const known = row?.source === this.#sourceId ? row : null
    const { done, fileAt, ...tried } = this.#withSilence(await this.#tryOnce(known, options))
    const { outcome, message } = tried
    const now = clock.now()
    const toldAt = known?.overdue_told_at ?? null
    const isToldToday = outcome === 'overdue' && toldAt !== null && this.#dayOf(toldAt) === this.#dayOf(now)
    const isQuiet = outcome === 'imported' || outcome === 'unchanged' || isToldToday
    const report = reportOf(tried, { place: placeOf(source), at: now, timeZone, command: options.command })
    const addresses = isQuiet && !options.reportAlways ? [] : reportTo
    const mails = addresses.map((email) => queueReport(secrets, { email, report, now }))
    const overdueToldAt = outcome === 'overdue' && mails.length > 0 ? now : toldAt
    await db.tx([
      fetchTried({ tried_at: now, outcome, message, file_at: fileAt, overdue_told_at: overdueToldAt }),
      ...(done ? [fetchDone({ ...done, source: this.#sourceId })] : []),
      ...(outcome === 'unchanged' ? [rosterChecked(now)] : []),
      ...mails.flatMap(({ statements }) => statements),
    ])
    return {
      ...tried,
      details: detailsOf(tried, options),
      isToldToday,
      mailIds: mails.map(({ id }) => id),
    }
  }

  /** `known`: the last fetch from this source. */
  async #tryOnce(known: FetchRow | null, options: FetchOptions): Promise<Tried> {
    const last = options.again ? null : known
    let fileAt = known?.file_at ?? null
    try {
      const { limits = usualLimits, source, roster, clock } = this.#deps
      await using folder = await mkdtempDisposable(join(tmpdir(), 'chiron-roster-'))
      const arrival = await take(source, { known: last?.mark ?? null, folder: folder.path, limits })
      if (!arrival) return { ...this.#nothingNewer(last!, null), fileAt }
      const plan = await roster.plan(arrival.path, { ...options.plan, name: arrival.name })
      await arrival.verify()
      const isSame = arrival.mark === null && known?.sha256 === plan.file.sha256
      // The clock of the source may be ahead of ours.
      const now = clock.now()
      if (!isSame) fileAt = Math.min(arrival.writtenAt ?? now, now)
      return { ...(await this.#import(arrival, plan, last, options)), fileAt }
    } catch (error) {
      // Without the store nothing can be noted, and no mail queued.
      if (error instanceof AppError) throw error
      return { ...this.#failed(error), fileAt }
    }
  }

  #withSilence(tried: Tried): Tried {
    const { clock, maxAgeDays, timeZone } = this.#deps
    const { outcome, fileAt } = tried
    const now = clock.now()
    if (outcome !== 'unchanged' || fileAt === null || !isOverdue(fileAt, now, maxAgeDays)) return tried
    const days = Math.floor((now - fileAt) / day)
    const message = `no newer file has come for ${days} days; the newest is from ${localTime(fileAt, timeZone)}`
    return { ...tried, outcome: 'overdue', message, exitCode: exitCodes.held }
  }

  async #import(
    arrival: Arrival,
    plan: Plan,
    last: FetchRow | null,
    options: FetchOptions,
  ): Promise<Outcome> {
    const { roster, clock } = this.#deps
    const { allow, by, onPlan, onProgress } = options
    const { sha256 } = plan.file
    const done = { mark: arrival.mark, sha256, file_name: arrival.name, done_at: clock.now() }
    // Somebody may have undone its import, so the same set must not be imported again automatically.
    if (last?.sha256 === sha256)
      return { ...this.#nothingNewer(last, plan), done: { ...done, done_at: last.done_at } }
    await onPlan?.(plan)
    if (isRefused(plan))
      return ended('refused', 'the file has errors and cannot be imported', plan, exitCodes.refused)
    const held = openHolds(plan.holds, allow)
    if (held.length > 0) return ended('held', `the import is held: ${held.join(', ')}`, plan, exitCodes.held)
    const generation = await roster.import(plan, { allow, by }, onProgress)
    if (generation === null)
      return { ...ended('unchanged', 'the roster already matches the file', plan), done }
    return { ...ended('imported', `the roster is now number ${generation}`, plan), generation, done }
  }

  #nothingNewer({ file_name, done_at }: FetchRow, plan: Plan | null): Outcome {
    const at = localTime(done_at!, this.#deps.timeZone)
    return ended('unchanged', `there is nothing newer than ${file_name}, fetched ${at}`, plan)
  }

  #failed(error: unknown): Outcome {
    if (error instanceof RosterError && exitCodes[error.failure] === exitCodes.busy)
      return ended('busy', error.message, null, exitCodes.busy)
    const [why, exitCode] =
      error instanceof UsageError ? [error.message, error.exitCode] : [reasonOf(error), 1]
    // A server may have said anything.
    const said = visible(why).slice(0, whyCharactersMax)
    return ended('failed', `nothing was fetched from ${placeOf(this.#deps.source)}: ${said}`, null, exitCode)
  }
}

function take(source: RosterSource, wanted: Wanted): Promise<Arrival | null> {
  if (source.kind === 'folder') return takeFromFolder(source, wanted)
  return source.kind === 'web' ? takeFromWeb(source, wanted) : takeFromSftp(source, wanted)
}

function ended(outcome: FetchOutcome, message: string, plan: Plan | null, exitCode = 0): Outcome {
  return { outcome, message, plan, exitCode, generation: null }
}
