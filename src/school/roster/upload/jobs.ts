/**
 * Long-running work on rosters: reading an uploaded file, importing it, and undoing imports. It runs in its own thread
 * (thread.ts), so that requests are still answered.
 */
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Db } from '../../../platform/db/db.ts'
import type { By } from '../../../platform/lib/by.ts'
import {
  type Change,
  fieldsOf,
  type Hold,
  type HoldCode,
  isRefused,
  type Plan,
  type Roster,
  RosterError,
} from '../roster.ts'
import { type Group, groups } from '../words.ts'
import { addChanges, finishReading, type PlanRow, partsOf, planById } from './store.ts'

export const findingsMax = 1_000
const changesPerPage = 100
/** Of each group; nobody reads more. */
const changesKeptMax = 10_000
const undoChangesMax = 1_000

export interface PlanSummary {
  readonly file: { version: string; rows: number; modes: string[]; missing: string[] }
  readonly counts: Plan['counts'] | Record<string, never>
  readonly holds: Hold[]
  readonly badRows: number
  readonly skipsBadRows: boolean
  readonly findings: { readonly errors: number; readonly warnings: number }
  readonly groups: { group: Group; count: number; kept: number }[]
}

export interface PlanOptions {
  readonly mode?: 'bulk' | 'delta'
  readonly match?: 'number' | 'address'
  readonly skipBadRowsMax?: number
}

export type Job =
  | { readonly kind: 'read'; readonly planId: string }
  | { readonly kind: 'apply'; readonly planId: string; readonly allow: readonly HoldCode[]; readonly by: By }
  | { readonly kind: 'show-undo'; readonly to: number | null }
  | ({ readonly kind: 'undo' } & UndoJob)

export interface UndoJob {
  readonly to: number | null
  /** Only if this roster is still in force. */
  readonly from: number | null
  readonly allow: readonly HoldCode[]
  readonly by: By
}

export interface UndoView {
  /** The current roster. */
  readonly from: number
  /** The roster that would be restored; 0 is the empty one. */
  readonly to: number
  readonly undone: number[]
  readonly counts: { leaving: number; returning: number; changed: number }
  readonly holds: Hold[]
  /** The first of them. */
  readonly changes: Change[]
}

export interface ResultOf {
  readonly read: undefined
  readonly apply: number | null
  readonly 'show-undo': UndoView
  readonly undo: number
}

export interface JobDeps {
  readonly db: Db
  readonly roster: Roster
  /** For files, emptied by the caller. */
  readonly folder: string
  onProgress(done: number, total: number | null): void
}

export async function work(job: Job, deps: JobDeps): Promise<ResultOf[Job['kind']]> {
  switch (job.kind) {
    case 'read':
      return read(job.planId, deps)
    case 'apply':
      return apply(job, deps)
    case 'show-undo':
      return showUndo(job.to, deps)
    case 'undo':
      return undo(job, deps)
  }
}

async function read(planId: string, deps: JobDeps): Promise<undefined> {
  const row = await rowOf(planId, deps)
  const plan = await planOf(row, deps)
  const refused = isRefused(plan)
  const { file, counts, holds, badRows, skipsBadRows, findings, content, generation } = plan
  const { version, rows, missing } = file
  const errors = findings.filter(({ severity }) => severity === 'error').length
  const summary: PlanSummary = {
    file: { version, rows, modes: [...new Set(Object.values(file.modes))], missing: [...missing] },
    // A refused file has no plan, only findings.
    counts: refused ? {} : counts,
    holds: refused ? [] : [...holds],
    badRows,
    skipsBadRows,
    findings: { errors, warnings: findings.length - errors },
    groups: refused ? [] : await keepChanges(planId, plan, deps),
  }
  const gravest = findings.toSorted((a, b) => a.severity.localeCompare(b.severity)).slice(0, findingsMax)
  await deps.db.tx(
    finishReading(planId, {
      state: refused ? 'refused' : 'ready',
      content,
      generation,
      sha256: file.sha256,
      summary: JSON.stringify(summary),
      findings: JSON.stringify(gravest),
    }),
  )
}

/** Plans again from the kept file; fails if the result differs from what was shown. */
async function apply(job: Extract<Job, { kind: 'apply' }>, deps: JobDeps): Promise<number | null> {
  const row = await rowOf(job.planId, deps)
  const plan = await planOf(row, deps)
  const { counts }: PlanSummary = JSON.parse(row.summary!)
  const isSame =
    plan.content === row.content &&
    plan.generation === row.generation &&
    JSON.stringify(plan.counts) === JSON.stringify(counts)
  if (!isSame) throw new RosterError('moved-on', 'the changes would differ from those shown')
  return deps.roster.import(plan, job, (_stage, done, total) => deps.onProgress(done, total))
}

async function showUndo(to: number | null, { roster }: JobDeps): Promise<UndoView> {
  const plan = await roster.planUndo(to ?? undefined)
  const changes: Change[] = []
  for await (const change of plan.changes()) {
    if (changes.length >= undoChangesMax) break
    changes.push(change)
  }
  return {
    from: plan.seen.generation,
    to: plan.content,
    undone: plan.undone.map(({ id }) => id),
    counts: plan.counts,
    holds: [...plan.holds],
    changes,
  }
}

async function undo({ to, from, allow, by }: UndoJob, { roster }: JobDeps): Promise<number> {
  const plan = await roster.planUndo(to ?? undefined)
  if (from !== null && plan.seen.generation !== from)
    throw new RosterError('moved-on', 'the roster has changed since this was shown')
  return roster.undo(plan, { allow, by })
}

async function rowOf(planId: string, { db }: JobDeps): Promise<PlanRow> {
  const row = await planById(db, planId)
  if (!row) throw new RosterError('moved-on', 'the plan no longer exists')
  return row
}

async function planOf(row: PlanRow, { db, roster, folder, onProgress }: JobDeps): Promise<Plan> {
  const path = join(folder, 'roster.zip')
  await pipeline(Readable.from(partsOf(db, row.id)), createWriteStream(path))
  const options: PlanOptions = JSON.parse(row.options)
  return roster.plan(path, {
    ...options,
    name: row.file_name,
    onProgress: (_stage, done, total) => onProgress(done, total),
  })
}

async function keepChanges(planId: string, plan: Plan, { db }: JobDeps): Promise<PlanSummary['groups']> {
  const found = groups.map((group) => ({ group, count: 0, kept: 0, pages: 0, open: [] as Change[] }))
  const flush = async (place: number) => {
    const one = found[place]!
    if (one.open.length > 0) await addChanges(db, planId, place, one.pages++, JSON.stringify(one.open))
    one.open = []
  }
  for await (const change of plan.changes()) {
    const place = groups.indexOf(groupOf(change))
    const one = found[place]!
    one.count++
    if (one.kept >= changesKeptMax) continue
    one.kept++
    one.open.push(change)
    if (one.open.length === changesPerPage) await flush(place)
  }
  for (const place of found.keys()) await flush(place)
  return found.flatMap(({ group, count, kept }) => (count > 0 ? [{ group, count, kept }] : []))
}

function groupOf(change: Change): Group {
  const { kind, operation } = change
  if (kind !== 'student') return kind
  const moves = operation === 'changed' && fieldsOf(change).some(({ field }) => field === 'email')
  return moves ? 'addresses' : operation
}
