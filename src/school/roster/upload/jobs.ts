/**
 * Long-running work on rosters: reading an uploaded file, importing it, and undoing imports. It runs in a process of its own
 * (process.ts), so that requests are still answered.
 */
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Db } from '../../../platform/db/db.ts'
import type { By } from '../../../platform/lib/by.ts'
import { type DayOrder, type Field, isListZip, type MadeSet, makeSet, TermDays } from '../lists/lists.ts'
import {
  type Change,
  type Finding,
  groupOf,
  type Hold,
  type HoldCode,
  isRefused,
  type Plan,
  type Roster,
  RosterError,
  type Seen,
} from '../roster.ts'
import { type Group, groups } from '../words.ts'
import { addChanges, finishPlanning, type Planned, type PlanRow, partsOf, planById } from './store.ts'

const findingsMax = 1_000
const changesPerPage = 100
const undoChangesMax = 1_000

export interface PlanSummary {
  readonly file: {
    readonly version: string | null
    readonly rows: number | null
    readonly modes: readonly string[]
    readonly missing: readonly string[]
  }
  readonly counts: Plan['counts'] | Record<string, never>
  readonly holds: readonly Hold[]
  readonly badRows: number
  readonly skipsBadRows: boolean
  readonly findings: { readonly errors: number; readonly warnings: number }
  readonly groups: readonly { readonly group: Group; readonly count: number }[]
}

/** Of a plan that is not made yet, or of a file that is refused. */
export const noSummary: PlanSummary = {
  file: { version: null, rows: null, modes: [], missing: [] },
  counts: {},
  holds: [],
  badRows: 0,
  skipsBadRows: false,
  findings: { errors: 0, warnings: 0 },
  groups: [],
}

export interface PlanOptions {
  readonly mode?: 'bulk' | 'delta'
  readonly match?: 'number' | 'address'
  readonly skipBadRowsMax?: number
  /** It was sent as a CSV file or a workbook, not as a zip. */
  readonly isList?: boolean
  /** The options of class lists. */
  readonly map?: Readonly<Partial<Record<Field, string>>>
  readonly terms?: readonly string[]
  readonly dates?: DayOrder
}

export type Job =
  | { readonly kind: 'plan'; readonly planId: string }
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
  readonly plan: undefined
  readonly apply: number | null
  readonly 'show-undo': UndoView
  readonly undo: number
}

export interface JobDeps {
  readonly db: Db
  readonly roster: Roster
  /** For files, emptied by the caller. */
  readonly folder: string
  readonly schoolName: string
  onProgress(done: number, total: number | null): void
}

export async function work(job: Job, deps: JobDeps): Promise<ResultOf[Job['kind']]> {
  switch (job.kind) {
    case 'plan':
      return plan(job.planId, deps)
    case 'apply':
      return apply(job, deps)
    case 'show-undo':
      return showUndo(job.to, deps)
    case 'undo':
      return undo(job, deps)
  }
}

async function plan(planId: string, deps: JobDeps): Promise<undefined> {
  const row = await rowOf(planId, deps)
  const set = await setOf(row, deps)
  const { db, roster } = deps
  const list = set.list && JSON.stringify(shownList(set.list))
  if (set.path === null) {
    const { findings } = set.list!
    await db.tx(finishPlanning(planId, { ...refusal(findings, await roster.standing()), list }))
    return
  }
  const made = await planOf(row, set.path, deps)
  const findings = [...(set.list?.findings ?? []), ...made.findings]
  const { file, content, generation, badRows, skipsBadRows } = made
  const { version, rows, missing, sha256 } = file
  const about = { version, rows, modes: [...new Set(Object.values(file.modes))], missing: [...missing] }
  const isBad = isRefused(made)
  const summary: PlanSummary = {
    ...noSummary,
    ...{ file: about, badRows, skipsBadRows, findings: countsOf(findings) },
    // A refused file has no plan, only findings.
    ...(!isBad && { counts: made.counts, holds: made.holds, groups: await keepChanges(planId, made, deps) }),
  }
  await db.tx(
    finishPlanning(planId, {
      state: isBad ? 'refused' : 'ready',
      ...{ content, generation, sha256, list },
      summary: JSON.stringify(summary),
      findings: gravest(findings),
    }),
  )
}

/** The plan of a file that could not be compared at all. */
export function refusal(findings: readonly Finding[], { content, generation }: Seen): Planned {
  const summary = { ...noSummary, findings: countsOf(findings) }
  return {
    ...{ state: 'refused', content, generation, sha256: null, list: null },
    summary: JSON.stringify(summary),
    findings: gravest(findings),
  }
}

function countsOf(findings: readonly Finding[]) {
  const errors = findings.filter(({ severity }) => severity === 'error').length
  return { errors, warnings: findings.length - errors }
}

function gravest(findings: readonly Finding[]): string {
  const sorted = findings.toSorted((a, b) => a.severity.localeCompare(b.severity))
  return JSON.stringify(sorted.slice(0, findingsMax))
}

/** Plans again from the kept file; fails if the result differs from what was shown. */
async function apply(job: Extract<Job, { kind: 'apply' }>, deps: JobDeps): Promise<number | null> {
  const row = await rowOf(job.planId, deps)
  const { path } = await setOf(row, deps)
  // A list makes the same set every time.
  const plan = await planOf(row, path!, deps)
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

interface FoundSet {
  /** null: the list has errors, and there is no set. */
  readonly path: string | null
  readonly list: MadeSet | null
}

/** The uploaded set, or the one that is made of an uploaded list. */
async function setOf(row: PlanRow, { db, folder, schoolName }: JobDeps): Promise<FoundSet> {
  const path = join(folder, 'upload')
  await pipeline(Readable.from(partsOf(db, row.id)), createWriteStream(path))
  const { isList = false, map = {}, terms = [], dates }: PlanOptions = JSON.parse(row.options)
  if (!isList && !(await isListZip(path))) return { path, list: null }
  const days = new TermDays()
  for (const term of terms) days.add(term)
  const out = join(folder, 'set.zip')
  const mapping = new Map(Object.entries(map) as [Field, string][])
  const list = await makeSet([{ path, name: row.file_name }], out, {
    ...{ mapping, terms: days, dayOrder: dates ?? null, schoolName },
  })
  return { path: list.counts === null ? null : out, list }
}

function planOf(row: PlanRow, path: string, { roster, onProgress }: JobDeps): Promise<Plan> {
  const { mode, match, skipBadRowsMax }: PlanOptions = JSON.parse(row.options)
  return roster.plan(path, {
    ...(mode && { mode }),
    ...(match && { match }),
    ...(skipBadRowsMax !== undefined && { skipBadRowsMax }),
    name: row.file_name,
    onProgress: (_stage, done, total) => onProgress(done, total),
  })
}

/** How a list was understood. */
function shownList({ kind, tables }: MadeSet) {
  return { kind, tables }
}

/** Every change, in pages by group. Returns how many there are. */
async function keepChanges(
  planId: string,
  plan: Plan,
  { db, onProgress }: JobDeps,
): Promise<PlanSummary['groups']> {
  const total = Object.values(plan.counts).reduce(
    (sum, { added, changed, leaving, returning }) => sum + added + changed + leaving + returning,
    0,
  )
  const found = groups.map((group, place) => ({
    group,
    place,
    count: 0,
    open: [] as Change[],
    keys: [] as string[],
  }))
  const flush = async ({ place, count, open, keys }: (typeof found)[number]) => {
    const page = Math.ceil(count / changesPerPage) - 1
    await db.stage([addChanges(planId, { place, page }, JSON.stringify(open), keys.join('\n'))])
    open.length = 0
    keys.length = 0
  }
  let done = 0
  for (const change of plan.changes()) {
    const one = found[groups.indexOf(groupOf(change))]!
    one.count++
    one.open.push(change)
    one.keys.push(plan.searchTextOf(change))
    if (one.open.length === changesPerPage) {
      await flush(one)
      done += changesPerPage
      onProgress(done, total)
    }
  }
  for (const one of found) if (one.open.length > 0) await flush(one)
  return found.flatMap(({ group, count }) => (count > 0 ? [{ group, count }] : []))
}
