import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { type Db, prune, type Statement, statement } from '../../../platform/db/db.ts'
import { lockAll, lockOne } from '../../../platform/db/decision.ts'
import type { planStates } from '../words.ts'

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

const planColumns =
  'id, person_id, created_at, expires_at, file_name, options, state, content, generation, sha256, summary, findings, list, busy_until, done, total, failure, imported_as'

export function planById(db: Db, id: string): Promise<PlanRow | undefined> {
  return db.one<PlanRow>(`select ${planColumns} from roster_plan where id = $1`, [id])
}

export interface PendingRow extends Omit<PlanRow, 'findings' | 'list'> {
  readonly person_name: string | null
}

/** Those that may still be imported or read, newest first. */
export function pendingPlans(db: Db, now: number): Promise<PendingRow[]> {
  const columns = planColumns.replace('findings, list, ', '').replaceAll(/\w+/g, 'r.$&')
  return db.all<PendingRow>(
    `select ${columns}, p.firstname || ' ' || p.lastname as person_name
     from roster_plan r left join person p on p.id = r.person_id
     where r.expires_at > $1 and r.state not in ('arriving', 'applied') order by r.created_at desc, r.id`,
    [now],
  )
}

export interface NewPlan {
  readonly id: string
  readonly personId: string
  readonly now: number
  readonly expiresAt: number
  readonly fileName: string
  readonly options: string
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

export const addPlan = (plan: NewPlan) =>
  statement(
    `insert into roster_plan (id, person_id, created_at, expires_at, file_name, options, state)
     values ($1, $2, $3, $4, $5, $6, 'arriving')`,
    plan.id,
    plan.personId,
    plan.now,
    plan.expiresAt,
    plan.fileName,
    plan.options,
  )

export function addPart(db: Db, planId: string, number: number, bytes: Buffer) {
  return db.run('insert into roster_plan_part (plan_id, number, base64) values ($1, $2, $3)', [
    planId,
    number,
    bytes.toString('base64'),
  ])
}

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

/** Both texts are compressed: a first import has a change for every row. */
export function addChanges(
  planId: string,
  at: { place: number; page: number },
  changes: string,
  keys: string,
): Statement {
  return statement(
    'insert into roster_plan_change (plan_id, place, page, changes, keys) values ($1, $2, $3, $4, $5)',
    planId,
    at.place,
    at.page,
    packed(changes),
    packed(keys),
  )
}

const packed = (text: string) => deflateRawSync(text, { level: 1 }).toString('base64')
const unpacked = (base64: string) => inflateRawSync(Buffer.from(base64, 'base64')).toString()

export interface ChangesPage {
  readonly place: number
  readonly page: number
  /** What was asked for. */
  readonly text: string
}

/** From this page on, of one place or of all: the changes, or what they are found by. */
export async function changesFrom(
  db: Db,
  planId: string,
  column: 'changes' | 'keys',
  from: { place: number; page: number },
  only: number | null,
  limit: number,
): Promise<ChangesPage[]> {
  const pages = await db.all<ChangesPage>(
    `select place, page, ${column} as text from roster_plan_change
     where plan_id = $1 and (place, page) >= ($2, $3) and place <= $4 order by place, page limit $5`,
    [planId, from.place, from.page, only ?? 1_000, limit],
  )
  return pages.map(({ text, ...at }) => ({ ...at, text: unpacked(text) }))
}

const dropFile = (id: string) => statement('delete from roster_plan_part where plan_id = $1', id)
const dropChanges = (id: string) => statement('delete from roster_plan_change where plan_id = $1', id)

export interface Planned {
  readonly state: 'ready' | 'refused'
  readonly content: number
  readonly generation: number
  readonly sha256: string | null
  readonly summary: string
  readonly findings: string
  readonly list: string | null
}

/** The plan is made. The file of one that is refused need not be kept. */
export function finishPlanning(id: string, p: Planned): Statement[] {
  return [
    statement(
      `update roster_plan set state = $1, content = $2, generation = $3, sha256 = $4, summary = $5, findings = $6,
         list = $7, busy_until = null
       where id = $8 and state = 'planning'`,
      p.state,
      p.content,
      p.generation,
      p.sha256,
      p.summary,
      p.findings,
      p.list,
      id,
    ),
    ...(p.state === 'refused' ? [dropFile(id)] : []),
  ]
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

export function finishPlan(id: string, importedAs: number | null): Statement[] {
  return [
    statement(
      `update roster_plan set state = 'applied', imported_as = $1, failure = null, findings = null, list = null,
         busy_until = null
       where id = $2`,
      importedAs,
      id,
    ),
    dropFile(id),
    dropChanges(id),
  ]
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

export const dropPlan = (id: string): Statement[] => [
  dropFile(id),
  dropChanges(id),
  statement('delete from roster_plan where id = $1', id),
]

/** Rows that belong to no remaining plan. */
export function sweepPlans(now: number): Statement[] {
  const kept = "(select id from roster_plan where expires_at > $1 or state = 'applying')"
  const needed = `(select id from roster_plan where (expires_at > $1 or state = 'applying') and state <> 'applied')`
  return [
    ...settleDead(now),
    prune('roster_plan_part', 'plan_id, number', `plan_id not in ${needed}`, now),
    prune('roster_plan_change', 'plan_id, place, page', `plan_id not in ${needed}`, now),
    prune('roster_plan', 'id', `id not in ${kept}`, now),
  ]
}
