/**
 * Plans in the store: a row each, the uploaded file in parts, and the changes in pages. A plan is gone, imported or
 * refused as soon as its row says so; what was kept for it is then deleted in short transactions, here or by the sweeper.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { changeSome, type Db, insertion, prune, type Statement, statement } from '../../../platform/db/db.ts'
import { lockAll, lockOne } from '../../../platform/db/decision.ts'
import type { planStates } from '../words.ts'
import type { Planned } from './planned.ts'

/** `arriving`: the file is not complete yet, and nobody knows the plan. */
type PlanState = 'arriving' | (typeof planStates)[number]

export interface PlanRow {
  readonly id: string
  readonly person_id: string
  readonly created_at: number
  readonly expires_at: number
  readonly file_name: string
  readonly options: string
  readonly state: PlanState
  readonly content: number | null
  readonly generation: number | null
  readonly sha256: string | null
  readonly summary: string | null
  readonly findings: string | null
  readonly list: string | null
  readonly busy_until: number | null
  readonly done: number | null
  readonly total: number | null
  readonly failure: string | null
  readonly imported_as: number | null
}

const listedColumns =
  'id, person_id, created_at, expires_at, file_name, options, state, content, generation, sha256, summary, busy_until, done, total, failure, imported_as'

export function planById(db: Db, id: string): Promise<PlanRow | undefined> {
  return db.one<PlanRow>(`select ${listedColumns}, findings, list from roster_plan where id = $1`, [id])
}

export interface PendingRow extends Omit<PlanRow, 'findings' | 'list'> {
  readonly person_name: string | null
}

/** Those that may still be imported or read, newest first. */
export function pendingPlans(db: Db, now: number): Promise<PendingRow[]> {
  return db.all<PendingRow>(
    `select ${listedColumns},
       (select p.firstname || ' ' || p.lastname from person p where p.id = person_id) as person_name
     from roster_plan where expires_at > $1 and state not in ('arriving', 'applied') order by created_at desc, id`,
    [now],
  )
}

export type OwnPlan = Pick<PlanRow, 'id' | 'created_at' | 'state'>

export const lockPlansOf = (personId: string) =>
  lockAll<OwnPlan>(
    'plan',
    'select id, created_at, state from roster_plan where person_id = $1 order by id',
    personId,
  )

export const lockPlan = (id: string) =>
  lockOne<OwnPlan>('plan', 'select id, created_at, state from roster_plan where id = $1', id)

export type NewPlan = Pick<
  PlanRow,
  'id' | 'person_id' | 'created_at' | 'expires_at' | 'file_name' | 'options'
>

export const addPlan = ({ id, person_id, created_at, expires_at, file_name, options }: NewPlan) =>
  insertion('roster_plan', {
    ...{ id, person_id, created_at, expires_at, file_name, options },
    state: 'arriving',
  })

export const addPart = (planId: string, number: number, bytes: Buffer) =>
  insertion('roster_plan_part', { plan_id: planId, number, base64: bytes.toString('base64') })

/** The uploaded file, part by part. */
export async function* partsOf(db: Db, planId: string): AsyncGenerator<Buffer> {
  for (let number = 0; ; number++) {
    const part = await db.one<{ base64: string }>(
      'select base64 from roster_plan_part where plan_id = $1 and number = $2',
      [planId, number],
    )
    if (!part) return
    yield Buffer.from(part.base64, 'base64')
  }
}

/** A page of the changes of one group. The group is known by its place in the list of groups. */
export interface PageId {
  readonly planId: string
  readonly place: number
  readonly page: number
}

/** Both texts are compressed: a first import has a change for every row. */
export const addChanges = ({ planId, place, page }: PageId, changes: string, keys: string) =>
  insertion('roster_plan_change', {
    ...{ plan_id: planId, place, page },
    changes: packed(changes),
    keys: packed(keys),
  })

const packed = (text: string) => deflateRawSync(text, { level: 1 }).toString('base64')
const unpacked = (base64: string) => inflateRawSync(Buffer.from(base64, 'base64')).toString()

/** From this page on: the changes as JSON, or for each a line of the words that it is found by. */
export async function changePages(
  db: Db,
  { planId, place, page }: PageId,
  column: 'changes' | 'keys',
  limit: number,
): Promise<{ page: number; text: string }[]> {
  const pages = await db.all<{ page: number; text: string }>(
    `select page, ${column} as text from roster_plan_change
     where plan_id = $1 and place = $2 and page >= $3 order by page limit $4`,
    [planId, place, page, limit],
  )
  return pages.map(({ page, text }) => ({ page, text: unpacked(text) }))
}

/** The plan is made. What was kept for one that is refused is not needed. */
export async function finishPlanning(db: Db, id: string, p: Planned): Promise<void> {
  await db.run(
    `update roster_plan set state = $1, content = $2, generation = $3, sha256 = $4, summary = $5, findings = $6,
       list = $7, busy_until = null
     where id = $8 and state = 'planning'`,
    [p.state, p.content, p.generation, p.sha256, p.summary, p.findings, p.list, id],
  )
  if (p.state === 'refused') await clearPlan(db, id)
}

export interface Claim {
  readonly id: string
  readonly by: string
  readonly until: number
}

/**
 * One process makes a plan, and one imports it. An import that failed can be tried again. Returns whether it is this
 * process.
 */
export async function claimPlan(
  db: Db,
  state: 'planning' | 'applying',
  { id, by, until }: Claim,
): Promise<boolean> {
  const from =
    state === 'planning' ? "state = 'arriving'" : "state in ('ready', 'failed') and summary is not null"
  const rows = await db.run(
    `update roster_plan set state = '${state}', claimed_by = $1, busy_until = $2, failure = null, done = 0, total = null
     where id = $3 and ${from} returning id`,
    [by, until, id],
  )
  return rows.length > 0
}

const isBusy = "state in ('planning', 'applying')"

/** Extends the claim and records the progress. Returns whether the plan is still there. */
export async function renewClaim(
  db: Db,
  { id, by, until }: Claim,
  progress: { done: number; total: number | null },
): Promise<boolean> {
  const rows = await db.run(
    `update roster_plan set busy_until = $1, done = $2, total = $3
     where id = $4 and claimed_by = $5 and ${isBusy} returning id`,
    [until, progress.done, progress.total, id, by],
  )
  return rows.length > 0
}

export async function finishPlan(db: Db, id: string, importedAs: number | null): Promise<void> {
  await db.run(
    `update roster_plan set state = 'applied', imported_as = $1, failure = null, findings = null, list = null,
       busy_until = null
     where id = $2`,
    [importedAs, id],
  )
  await clearPlan(db, id)
}

export function failPlan(db: Db, id: string, by: string, failure: string) {
  return db.run(
    `update roster_plan set state = 'failed', failure = $1, busy_until = null
     where id = $2 and claimed_by = $3 and ${isBusy}`,
    [failure, id, by],
  )
}

const isDead = `${isBusy} and busy_until <= $1`
/** The import that a dead process had published just before it died. */
const published = `(select max(g.id) from roster_generation g
  where g.published_at is not null and g.kind = 'import' and g.sha256 = roster_plan.sha256
    and g.parent = roster_plan.content and g.id > roster_plan.generation)`

/** Plans whose process died while it made or imported them: imported if it had already published, otherwise failed. */
export function settleDead(now: number): Statement[] {
  return [
    statement(
      `update roster_plan set state = 'applied', imported_as = ${published}, findings = null, list = null, busy_until = null
       where state = 'applying' and ${isDead} and ${published} is not null`,
      now,
    ),
    statement(
      `update roster_plan set state = 'failed', failure = 'stopped', busy_until = null where ${isDead}`,
      now,
    ),
  ]
}

/** `clearPlan` deletes the rest. */
export const dropPlan = (id: string) => statement('delete from roster_plan where id = $1', id)

/** A part is up to 1.4 MB and takes SQLite about 5 ms, a page of changes about 6 kB. */
const kept = [
  { table: 'roster_plan_part', key: 'plan_id, number', max: 2 },
  { table: 'roster_plan_change', key: 'plan_id, place, page', max: 50 },
] as const
export const rowsPerSweep = Math.min(...kept.map(({ max }) => max))
const pauseMs = 5

const dropSome = ({ table, key, max }: (typeof kept)[number], where: string, param: string | number) =>
  changeSome(`delete from ${table}`, { table, key, where, max, returning: '1 as gone' }, param)

/** Deletes the file and the changes of a plan, with pauses for other writers. If it fails, the sweeper does it. */
export async function clearPlan(db: Db, id: string): Promise<void> {
  try {
    for (const rows of kept)
      while ((await db.tx([dropSome(rows, 'plan_id = $1', id)]))[0]!.length === rows.max) await pause(pauseMs)
  } catch {}
}

/** Rows that belong to no remaining plan. */
export function sweepPlans(now: number): Statement[] {
  const current = "select id from roster_plan where (expires_at > $1 or state = 'applying')"
  const isLeft = `plan_id not in (${current} and state not in ('applied', 'refused'))`
  return [
    ...settleDead(now),
    ...kept.map((rows) => dropSome(rows, isLeft, now)),
    prune('roster_plan', 'id', `id not in (${current})`, now),
  ]
}
