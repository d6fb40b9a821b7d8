/**
 * Long-running work on rosters: reading an uploaded file, importing it, and undoing imports. It runs in a process of its own
 * (process.ts), so that requests are still answered.
 */
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Static } from 'typebox'
import type { Db, Statement } from '../../../platform/db/db.ts'
import type { By } from '../../../platform/lib/by.ts'
import { type DayOrder, type Field, isListZip, type MadeSet, makeSet, TermDays } from '../lists/lists.ts'
import {
  type Change,
  groupOf,
  type HoldCode,
  isRefused,
  type Plan,
  type Progress,
  type Roster,
  RosterError,
  type PlanOptions as RosterPlanOptions,
} from '../roster.ts'
import { groups } from '../words.ts'
import { type PlanSummary, planned, refusal } from './planned.ts'
import type { RosterUndoPlan } from './schemas.ts'
import { addChanges, finishPlanning, type PlanRow, partsOf, planById } from './store.ts'

const changesPerPage = 100
/** Every transaction waits for the disk. */
const pagesPerWrite = 20
const undoChangesMax = 1_000

export interface PlanOptions extends Pick<RosterPlanOptions, 'mode' | 'match' | 'skipBadRowsMax'> {
  /** It was sent as a CSV file or a workbook, not as a zip. */
  readonly isList?: boolean
  /** The options of class lists. */
  readonly map?: Readonly<Partial<Record<Field, string>>>
  readonly terms?: string[]
  readonly dates?: DayOrder
}

interface PlanJob {
  readonly planId: string
}

interface Approval {
  readonly allow: readonly HoldCode[]
  readonly by: By
}

type ApplyJob = PlanJob & Approval

export interface UndoJob extends Approval {
  readonly to: number | null
  /** Only if this roster is still in force. */
  readonly from: number | null
}

export type UndoView = Static<typeof RosterUndoPlan>

export interface JobDeps {
  readonly db: Db
  readonly roster: Roster
  /** For files, emptied by the caller. */
  readonly folder: string
  readonly schoolName: string
  readonly onProgress: Progress
}

const jobs = { plan, apply, 'show-undo': showUndo, undo }
type Kind = keyof typeof jobs
export type Job<K extends Kind = Kind> = {
  [One in K]: { readonly kind: One } & Parameters<(typeof jobs)[One]>[0]
}[K]
export type ResultOf = { [K in Kind]: Awaited<ReturnType<(typeof jobs)[K]>> }
const workOn: { [K in Kind]: (job: Job<K>, deps: JobDeps) => Promise<ResultOf[K]> } = jobs

export const work = <K extends Kind>(job: Job<K>, deps: JobDeps): Promise<ResultOf[K]> =>
  workOn[job.kind](job, deps)

async function plan({ planId }: PlanJob, deps: JobDeps): Promise<undefined> {
  const { db, roster } = deps
  const row = await rowOf(planId, deps)
  const set = await setOf(row, deps)
  const list = set.list && JSON.stringify({ kind: set.list.kind, tables: set.list.tables })
  if (set.path === null) {
    await finishPlanning(db, planId, refusal(set.list!.findings, await roster.standing(), list))
    return
  }
  const made = await planOf(row, set.path, deps)
  const { content, generation, counts, holds, badRows, skipsBadRows } = made
  const { version, rows, modes, missing, sha256 } = made.file
  const state = isRefused(made) ? 'refused' : 'ready'
  const summary = {
    file: { version, rows, modes: [...new Set(Object.values(modes))], missing: [...missing] },
    ...{ badRows, skipsBadRows },
    // A refused file has no plan, only findings.
    ...(state === 'ready' && { counts, holds: [...holds], groups: await keepChanges(planId, made, deps) }),
  }
  const findings = [...(set.list?.findings ?? []), ...made.findings]
  await finishPlanning(db, planId, planned({ state, content, generation, sha256, list }, summary, findings))
}

/** Plans again from the kept file; fails if the result differs from what was shown. */
async function apply(job: ApplyJob, deps: JobDeps): Promise<number | null> {
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
  return deps.roster.import(plan, job, deps.onProgress)
}

async function showUndo({ to }: Pick<UndoJob, 'to'>, { roster }: JobDeps): Promise<UndoView> {
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
  const options = { mapping, terms: days, dayOrder: dates ?? null, schoolName }
  const list = await makeSet([{ path, name: row.file_name }], out, options)
  return { path: list.counts === null ? null : out, list }
}

function planOf(row: PlanRow, path: string, { roster, onProgress }: JobDeps): Promise<Plan> {
  const { isList, map, terms, dates, ...options }: PlanOptions = JSON.parse(row.options)
  return roster.plan(path, { ...options, name: row.file_name, onProgress })
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
  let done = 0
  let waiting: Statement[] = []
  const write = async () => {
    await db.stage(waiting)
    waiting = []
    onProgress('writing', done, total)
  }
  const found = groups.map((group, place) => ({
    ...{ group, place, page: 0, count: 0 },
    changes: [] as Change[],
    keys: [] as string[],
  }))
  const close = (one: (typeof found)[number]) => {
    const { place, changes, keys } = one
    waiting.push(addChanges({ planId, place, page: one.page++ }, JSON.stringify(changes), keys.join('\n')))
    done += changes.length
    changes.length = keys.length = 0
  }
  for await (const change of plan.changes()) {
    const one = found[groups.indexOf(groupOf(change))]!
    one.count++
    one.keys.push(plan.searchTextOf(change))
    if (one.changes.push(change) === changesPerPage) close(one)
    if (waiting.length === pagesPerWrite) await write()
  }
  for (const one of found) if (one.changes.length > 0) close(one)
  await write()
  return found.flatMap(({ group, count }) => (count > 0 ? [{ group, count }] : []))
}
