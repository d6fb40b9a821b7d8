/** The roster's SQL. A row is visible while `from_gen <= content` and `to_gen` is null or greater than `content`. */
import { type Db, prune, type Row, type Statement, statement, type Value } from '../../platform/db/db.ts'
import { lockOne, type Outcome, readOne } from '../../platform/db/decision.ts'
import { clockSlackMs } from '../../platform/lib/clock.ts'
import type { EnrolmentData } from './records.ts'

/** The right to write; see apply/lease.ts. */
export interface Lease {
  /** Atomic like `Db.tx`; fails if the lease was lost. Returns the rows of all statements. */
  write(statements: readonly Statement[]): Promise<Row[]>
  /** As `Db.stage`; fails if the lease was lost. */
  stage(statements: Iterable<Statement>): Promise<void>
  /** As `Db.decide`, with the roster locked; fails if the lease was lost. */
  decide<T>(rule: (state: LockedState) => Outcome<T>): Promise<T>
}

export interface GenerationRow {
  readonly id: number
  readonly kind: 'import' | 'undo' | 'correction'
  readonly parent: number
  readonly content: number
  readonly file_name: string
  readonly sha256: string
  readonly version: string
  readonly rows: number
  readonly summary: string
  readonly started_at: number
  readonly published_at: number | null
  /** Null in generations of older versions. */
  readonly actor: string | null
  /** The allowed holds, comma-separated. */
  readonly allowed: string
  readonly newest_row_at: number | null
}

export interface StateRow {
  readonly content: number
  readonly generation: number
  readonly leased_by: string | null
  readonly leased_until: number
  /** The earliest generation that can be gone back to: those before it are folded into it. */
  readonly folded: number
  /** The roster that the last undo left, while it can be redone. */
  readonly redo: number | null
}

/** Programs before schema 0026 clear the rows at their next import, and leave the number. */
const redo = `(select r.redo from roster_state r where r.redo > r.content and not exists (
  select 1 from roster_generation g where g.id > r.redo and g.kind <> 'undo' and g.published_at is not null))`

export async function rosterState(db: Db): Promise<StateRow> {
  return (await db.one<StateRow>(
    `select content, generation, leased_by, leased_until, folded, ${redo} as redo from roster_state`,
  ))!
}

const generationColumns =
  'id, kind, parent, content, file_name, sha256, version, rows, summary, started_at, published_at, actor, allowed, newest_row_at'

export interface HistoryRow extends GenerationRow {
  /** Of the member of staff who did it; null for the command line. */
  readonly actor_name: string | null
}

export function publishedGenerations(db: Db, limit: number): Promise<HistoryRow[]> {
  const columns = generationColumns.replaceAll(/\w+/g, 'g.$&')
  return db.all<HistoryRow>(
    `select ${columns}, p.firstname || ' ' || p.lastname as actor_name
     from roster_generation g left join person p on p.id = g.actor
     where g.published_at is not null order by g.id desc limit $1`,
    [limit],
  )
}

/** Published ones with this number or a smaller one. */
function generationsUpTo(db: Db, id: number): Promise<GenerationRow[]> {
  return db.all<GenerationRow>(
    `select ${generationColumns} from roster_generation where published_at is not null and id <= $1`,
    [id],
  )
}

/** The generations that have led to this one, newest first. */
export async function lineageOf(db: Db, content: number): Promise<GenerationRow[]> {
  const known = new Map((await generationsUpTo(db, content)).map((row) => [row.id, row]))
  const lineage: GenerationRow[] = []
  for (let at = known.get(content); at; at = known.get(at.parent)) lineage.push(at)
  return lineage
}

export function generationById(db: Db, id: number): Promise<GenerationRow | undefined> {
  return db.one<GenerationRow>(`select ${generationColumns} from roster_generation where id = $1`, [id])
}

/** Returns whether it was free or expired, or was written by a clock that was ahead. */
export async function takeLease(db: Db, by: string, now: number, until: number): Promise<boolean> {
  const rows = await db.run(
    `update roster_state set leased_by = $1, leased_until = $2, writer = null
     where leased_until <= $3 or leased_until > $4 returning content`,
    [by, until, now, until + clockSlackMs],
  )
  return rows.length > 0
}

export interface LockedState extends Pick<StateRow, 'content' | 'generation' | 'folded' | 'leased_by'> {
  /** The highest number that was ever given. */
  readonly last_generation: number
}

export const lockState = () =>
  lockOne<LockedState>(
    'roster',
    'select content, generation, folded, leased_by, last_generation from roster_state where one = 1',
  )

/** During an upgrade, an older version that does not update last_generation may have been importing. */
export const readHighest = () =>
  readOne<{ id: number }>('select coalesce(max(id), 0) as id from roster_generation')

const leaseLost = 'roster_hold_lost'

/**
 * The first statement of every transaction that writes a roster. If another process has the lease, the table's check on
 * `writer` makes it fail. Otherwise the row stays locked, so nobody can take the lease before the transaction ends.
 */
export function renewLease(by: string, until: number): Statement {
  return statement('update roster_state set writer = $1, leased_until = $2', by, until)
}

export function isLeaseLost(error: unknown): boolean {
  return error instanceof Error && error.message.includes(leaseLost)
}

export function release(db: Db, by: string) {
  return db.run(
    'update roster_state set leased_by = null, leased_until = 0, writer = null where leased_by = $1',
    [by],
  )
}

/** The roster that a plan was made against. */
export type Seen = Pick<StateRow, 'content' | 'generation'>

export type NewGeneration = Omit<GenerationRow, 'parent' | 'published_at'>

export function addGeneration(g: NewGeneration, parent: number): Statement[] {
  return [
    statement('update roster_state set last_generation = $1', g.id),
    statement(
      `insert into roster_generation (id, kind, parent, content, file_name, sha256, version, rows, summary, started_at,
         actor, allowed, newest_row_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
      g.id,
      g.kind,
      parent,
      g.content,
      g.file_name,
      g.sha256,
      g.version,
      g.rows,
      g.summary,
      g.started_at,
      g.actor,
      g.allowed,
      g.newest_row_at,
    ),
  ]
}

/** A generation that is to be the roster from now on. */
export interface Publication {
  readonly generation: number
  /** The generation whose rows are visible then: its own, or those that an undo goes back to. */
  readonly content: number
  readonly redo: number | null
}

/** Readers see the old roster before this transaction and the new one after it. */
export function publish({ generation, content, redo }: Publication, now: number): Statement[] {
  return [
    statement(
      'update roster_state set content = $1, generation = $2, redo = cast($3 as bigint)',
      content,
      generation,
      redo,
    ),
    statement('update roster_generation set published_at = $1 where id = $2', now, generation),
  ]
}

/**
 * Folds old generations away, some rows at a time. Those that led to the visible roster stay if they are among the newest
 * imports or were published after `keptSince`, and so does the one before them, to go back to.
 */
export function foldGenerations(keptSince: number, keptImports: number): Statement[] {
  const earliestKept = `with recursive line (id, parent, published_at, imports) as (
      select g.id, g.parent, g.published_at, case when g.kind = 'import' then 1 else 0 end
      from roster_generation g join roster_state s on s.content = g.id
      union all
      select g.id, g.parent, g.published_at, line.imports + case when g.kind = 'import' then 1 else 0 end
      from roster_generation g join line on g.id = line.parent
    )
    select min(parent) from line where imports <= $1 or published_at > $2`
  const isFolded = (generation: string) => `${generation} <= (select folded from roster_state)`
  return [
    statement(
      `update roster_state set folded = (${earliestKept}) where folded < (${earliestKept})`,
      keptImports,
      keptSince,
    ),
    prune('roster_record', 'kind, sourced_id, from_gen', isFolded('to_gen')),
    prune('roster_enrolment', 'sourced_id, from_gen', isFolded('to_gen')),
    prune('student', 'person_id, from_gen', isFolded('to_gen')),
    prune('disabled_student', 'person_id, from_gen', isFolded('to_gen')),
    prune('roster_correction', 'person_id, from_gen', isFolded('to_gen')),
    prune('roster_departure', 'generation, person_id', isFolded('generation')),
  ]
}

const kept = `(select coalesce(${redo}, content) from roster_state)`
const unpublished = '(select id from roster_generation where published_at is null)'

/** An unfinished or undone generation leaves its own rows, and `to_gen` on the rows it replaced. */
const leftovers = [
  ['roster_record', 'kind, sourced_id, from_gen'],
  ['roster_enrolment', 'sourced_id, from_gen'],
  ['student', 'person_id, from_gen'],
  ['disabled_student', 'person_id, from_gen'],
  ['roster_correction', 'person_id, from_gen'],
].flatMap(([table, key]) => [
  { change: `delete from ${table}`, table, key, where: `from_gen > ${kept}` },
  { change: `update ${table} set to_gen = null`, table, key, where: `to_gen > ${kept}` },
])
/** Accounts that such a generation created for disabled students. */
const strangers = {
  change: 'delete from person',
  table: 'person',
  key: 'id',
  where: `id in (select d.person_id from disabled_student d where d.from_gen > ${kept}
    and not exists (select 1 from disabled_student o where o.person_id = d.person_id and o.from_gen <= ${kept})
    and not exists (select 1 from student_identity i where i.person_id = d.person_id))`,
}
const unseen = [
  // Of a generation that was undone: the next import may decide otherwise.
  {
    change: 'delete from student_identity',
    table: 'student_identity',
    key: 'sourced_id',
    where: `matched_from is not null and generation > ${kept}`,
  },
  { change: 'delete from event', table: 'event', key: 'id', where: `generation in ${unpublished}` },
  {
    change: 'delete from roster_departure',
    table: 'roster_departure',
    key: 'generation, person_id',
    where: `generation in ${unpublished}`,
  },
]

/** From now on, nothing can be redone. */
export function forgetRedo(): Statement {
  return statement('update roster_state set redo = null')
}

/** Removes what an unfinished or undone generation wrote, in short batches, except what can be redone. */
export async function clearLeftovers(
  db: Db,
  lease: Lease,
  batch: number,
  pause: () => Promise<void>,
): Promise<void> {
  const clear = async ({ change, table, key, where }: (typeof leftovers)[number]) => {
    const sql = `${change} where (${key}) in (select ${key} from ${table} where ${where} limit ${batch}) returning 1 as one`
    while ((await lease.write([statement(sql)])).length === batch) await pause()
  }
  for (const some of [strangers, ...leftovers]) await clear(some)
  await clearNewcomers(db, lease, batch, pause)
  for (const some of unseen) await clear(some)
  await lease.write([statement('delete from roster_generation where published_at is null')])
}

/** People who were written but never appeared on a published roster. */
async function clearNewcomers(
  db: Db,
  lease: Lease,
  batch: number,
  pause: () => Promise<void>,
): Promise<void> {
  for (;;) {
    const people = await db.all<{ person_id: string }>(
      `select person_id from student_identity where generation in ${unpublished} and matched_from is null limit ${batch}`,
    )
    await lease.write(
      people.flatMap(({ person_id }) => [
        statement('delete from student_identity where person_id = $1', person_id),
        statement(
          `delete from person where id = $1
             and not exists (select 1 from disabled_student d where d.person_id = person.id)`,
          person_id,
        ),
      ]),
    )
    if (people.length < batch) return
    await pause()
  }
}

const pageSize = 500

/** The condition under which rows of `t` are visible in a generation. */
const isVisible = (t: string, content = '$1') =>
  `${t}.from_gen <= ${content} and (${t}.to_gen is null or ${t}.to_gen > ${content})`

/** Another import has begun to close rows while they were read. */
export class ClosedMeanwhile extends Error {
  override readonly name = 'ClosedMeanwhile'
}

/** Rows closed by an unfinished or undone import stay visible until the next import clears it. */
async function hasClosedLater(db: Db, table: string, content: number): Promise<boolean> {
  const found = await db.one(`select 1 as one from ${table} where to_gen > $1 limit 1`, [content])
  return found !== undefined
}

interface Selection<R> {
  readonly columns: string
  readonly table: string
  readonly key: keyof R & string
  readonly where?: string
}

/** Pages through the rows of a table in the order of `key`; the last key is the parameter after `params`. */
async function* pages<R extends object>(
  db: Db,
  { columns, table, key, where = 'true' }: Selection<R>,
  condition: string,
  params: readonly Value[],
): AsyncGenerator<R[]> {
  let last: Value = ''
  for (;;) {
    const page: R[] = await db.all<R>(
      `select ${columns} from ${table} t
       where ${where} and ${condition} and t.${key} > $${params.length + 1} order by t.${key} limit ${pageSize}`,
      [...params, last],
    )
    if (page.length > 0) yield page
    if (page.length < pageSize) return
    last = page.at(-1)![key] as Value
  }
}

/** The visible rows; `params` begin at `$2`. */
async function* pagesOf<R extends object>(
  db: Db,
  content: number,
  select: Selection<R>,
  ...params: Value[]
): AsyncGenerator<R[]> {
  const isMixed = await hasClosedLater(db, select.table, content)
  // Only what is not closed at all has an index of its own.
  const visible = isMixed ? isVisible('t') : 't.from_gen <= $1 and t.to_gen is null'
  yield* pages(db, select, visible, [content, ...params])
  if (!isMixed && (await hasClosedLater(db, select.table, content))) throw new ClosedMeanwhile()
}

/** The rows that are visible in one generation and not in another; `params` begin at `$3`. */
function pagesOnlyIn<R extends object>(
  db: Db,
  content: number,
  other: number,
  select: Selection<R>,
  ...params: Value[]
): AsyncGenerator<R[]> {
  const onlyHere = `${isVisible('t')} and not (${isVisible('t', '$2')})`
  return pages(db, select, onlyHere, [content, other, ...params])
}

const recordColumns = 't.sourced_id, t.from_gen, t.data'

export function recordsIn(db: Db, content: number, kind: string): AsyncGenerator<RecordRow[]> {
  const select = {
    columns: recordColumns,
    table: 'roster_record',
    key: 'sourced_id',
    where: 't.kind = $2',
  } as const
  return pagesOf<RecordRow>(db, content, select, kind)
}

/** What is visible in one generation and not, or not so, in another. */
export function recordsOnlyIn(db: Db, content: number, other: number, kind: string) {
  const select = {
    columns: recordColumns,
    table: 'roster_record',
    key: 'sourced_id',
    where: 't.kind = $3',
  } as const
  return pagesOnlyIn<RecordRow>(db, content, other, select, kind)
}

export function enrolmentsOnlyIn(db: Db, content: number, other: number) {
  const select = { columns: enrolmentColumns, table: 'roster_enrolment', key: 'sourced_id' } as const
  return pagesOnlyIn<EnrolmentRow>(db, content, other, select)
}

export interface DocumentRow {
  readonly sourced_id: string
  readonly document: string
}

/** Classes as readers get them. */
export function documentsIn(db: Db, content: number): AsyncGenerator<DocumentRow[]> {
  const columns = 't.sourced_id, t.document'
  const where = "t.kind = 'class'"
  return pagesOf<DocumentRow>(db, content, { columns, table: 'roster_record', key: 'sourced_id', where })
}

export interface EnrolmentRow {
  readonly sourced_id: string
  readonly from_gen: number
  readonly user_id: string
  readonly class_id: string
  readonly school_id: string | null
  readonly role: string
  readonly is_primary: number
  readonly start_date: string | null
  readonly end_date: string | null
}

const enrolmentColumns =
  't.sourced_id, t.from_gen, t.user_id, t.class_id, t.school_id, t.role, t.is_primary, t.start_date, t.end_date'

export function enrolmentOf(row: EnrolmentRow): EnrolmentData {
  return {
    userId: row.user_id,
    classId: row.class_id,
    schoolId: row.school_id,
    role: row.role,
    primary: row.is_primary === 1,
    startDate: row.start_date,
    endDate: row.end_date,
  }
}

export function enrolmentsIn(db: Db, content: number): AsyncGenerator<EnrolmentRow[]> {
  const select = { columns: enrolmentColumns, table: 'roster_enrolment', key: 'sourced_id' } as const
  return pagesOf<EnrolmentRow>(db, content, select)
}

export function studentsIn(db: Db, content: number): AsyncGenerator<StudentVersion[]> {
  return pagesOf<StudentVersion>(db, content, {
    columns: studentColumns,
    table: 'student',
    key: 'sourced_id',
  })
}

export function recordsAmong(
  db: Db,
  content: number,
  kind: string,
  sourcedIds: Iterable<string>,
): Promise<RecordRow[]> {
  const sql = (list: string) =>
    `select ${recordColumns} from roster_record t where t.kind = '${kind}' and t.sourced_id in (${list}) and ${isVisible('t')}`
  return lookUp<RecordRow>(db, sql, content, sourcedIds)
}

export function rolesOfUsers(db: Db, content: number, userIds: Iterable<string>): Promise<RecordRow[]> {
  const sql = (list: string) =>
    `select ${recordColumns} from roster_role t where t.user_id in (${list}) and ${isVisible('t')}`
  return lookUp<RecordRow>(db, sql, content, userIds)
}

/** Who is a teacher by role, or has a role that begins or ends between these days, so that it may count now or no longer. */
export async function usersByRole(db: Db, content: number, from: string, to: string): Promise<string[]> {
  const rows = await db.all<{ user_id: string }>(
    `select t.user_id from roster_role t where ${isVisible('t')} and (t.role = 'teacher'
       or t.start_date between $2 and $3 or t.end_date between $2 and $3)
     union select t.sourced_id from roster_record t
       where t.kind = 'user' and t.data like '%"role":"teacher"%' and ${isVisible('t')}`,
    [content, from, to],
  )
  return rows.map(({ user_id }) => user_id)
}

export function enrolmentsAmong(
  db: Db,
  content: number,
  column: 'sourced_id' | 'user_id',
  values: Iterable<string>,
): Promise<EnrolmentRow[]> {
  const sql = (list: string) =>
    `select ${enrolmentColumns} from roster_enrolment t where t.${column} in (${list}) and ${isVisible('t')}`
  return lookUp<EnrolmentRow>(db, sql, content, values)
}

export function teachingIn(db: Db, content: number): Promise<EnrolmentRow[]> {
  return db.all<EnrolmentRow>(
    `select ${enrolmentColumns} from roster_enrolment t where t.role = 'teacher' and ${isVisible('t')}`,
    [content],
  )
}

export function studentsAmong(
  db: Db,
  content: number,
  column: 'person_id' | 'email_key',
  values: Iterable<string>,
): Promise<StudentVersion[]> {
  const sql = (list: string) =>
    `select ${studentColumns} from student t where t.${column} in (${list}) and ${isVisible('t')}`
  return lookUp<StudentVersion>(db, sql, content, values)
}

export function studentsWithoutAddress(db: Db, content: number): Promise<StudentVersion[]> {
  return db.all<StudentVersion>(
    `select ${studentColumns} from student t where t.email_key is null and ${isVisible('t')}`,
    [content],
  )
}

export async function addressesIn(db: Db, content: number): Promise<string[]> {
  const sql = `select t.email_key from student t where t.email_key is not null and ${isVisible('t')}`
  return (await db.all<{ email_key: string }>(sql, [content])).map(({ email_key }) => email_key)
}

/** How many are visible, by kind; `address` and `number`: how many students have one. */
export async function sizesIn(db: Db, content: number): Promise<Sizes> {
  // "+ 0" keeps SQLite from the index of generations: that of what is not closed says all.
  const visibleIn = async (table: string) =>
    (await hasClosedLater(db, table, content)) ? isVisible('t') : 't.from_gen + 0 <= $1 and t.to_gen is null'
  const count = async <R>(table: string, what: string, end = '') =>
    db.all<R>(`select ${what} from ${table} t where ${await visibleIn(table)} ${end}`, [content])
  const records = await count<{ kind: keyof Sizes; n: number }>(
    'roster_record',
    't.kind, count(*) as n',
    'group by t.kind',
  )
  const [enrolments] = await count<{ n: number }>('roster_enrolment', 'count(*) as n')
  const [students] = await count<{ n: number; address: number; number: number }>(
    'student',
    'count(*) as n, count(t.email_key) as address, count(t.student_number) as number',
  )
  const sizes = { org: 0, term: 0, course: 0, class: 0, user: 0, role: 0 }
  return {
    ...sizes,
    ...Object.fromEntries(records.map(({ kind, n }) => [kind, n])),
    enrolment: enrolments!.n,
    student: students!.n,
    address: students!.address,
    number: students!.number,
  }
}

/** How many students are enrolled in each class. */
export async function classSizes(db: Db, content: number): Promise<{ class_id: string; n: number }[]> {
  return db.all(
    `select t.class_id, count(*) as n from roster_enrolment t
     where t.role = 'student' and ${isVisible('t')} group by t.class_id`,
    [content],
  )
}

export type Sizes = Record<
  'org' | 'term' | 'course' | 'class' | 'user' | 'role' | 'enrolment' | 'student' | 'address' | 'number',
  number
>

const lookedUpAtOnce = 500

/** Looks many values up, some at a time. There are few different texts: the last value is repeated to fill a list. */
async function lookUp<R>(
  db: Db,
  sql: (list: string) => string,
  content: number,
  values: Iterable<string>,
): Promise<R[]> {
  const all = [...new Set(values)]
  const found: R[] = []
  for (let at = 0; at < all.length; at += lookedUpAtOnce) {
    const some = all.slice(at, at + lookedUpAtOnce)
    const size = some.length > 20 ? lookedUpAtOnce : 20
    while (some.length < size) some.push(some.at(-1)!)
    const list = some.map((_, i) => `$${i + 2}`).join(', ')
    for (const row of await db.all<R>(sql(list), [content, ...some])) found.push(row)
  }
  return found
}

/** Which of these are not visible, but were in an earlier generation. */
export async function goneAmong(
  db: Db,
  content: number,
  kind: string,
  sourcedIds: readonly string[],
): Promise<Set<string>> {
  const from =
    kind === 'enrolment' ? 'roster_enrolment t where' : `roster_record t where t.kind = '${kind}' and`
  const rows = await lookUp<{ sourced_id: string }>(
    db,
    (list) => `select distinct t.sourced_id from ${from} t.sourced_id in (${list}) and t.from_gen <= $1`,
    content,
    sourcedIds,
  )
  return new Set(rows.map((row) => row.sourced_id))
}

/** What matched one sourcedId with another counts as long as its import is not undone. */
export async function identitiesAmong(
  db: Db,
  content: number,
  sourcedIds: Iterable<string>,
): Promise<Map<string, string>> {
  const rows = await lookUp<{ sourced_id: string; person_id: string }>(
    db,
    (
      list,
    ) => `select i.sourced_id, i.person_id from student_identity i join roster_generation g on g.id = i.generation
      where i.sourced_id in (${list}) and g.published_at is not null and (i.matched_from is null or i.generation <= $1)`,
    content,
    sourcedIds,
  )
  return new Map(rows.map((row) => [row.sourced_id, row.person_id]))
}

/** Which of these people were on the roster in this generation or before. */
export async function knownBefore(
  db: Db,
  content: number,
  personIds: readonly string[],
): Promise<Set<string>> {
  const rows = await lookUp<{ person_id: string }>(
    db,
    (list) =>
      `select distinct i.person_id from student_identity i where i.person_id in (${list}) and i.generation <= $1`,
    content,
    personIds,
  )
  return new Set(rows.map((row) => row.person_id))
}

/** The table and key of a kind; other kinds are in one table. */
function placeOf(kind: string): { table: string; key: string; where: string } {
  if (kind === 'student') return { table: 'student', key: 'person_id', where: 'true' }
  if (kind === 'enrolment') return { table: 'roster_enrolment', key: 'sourced_id', where: 'true' }
  return { table: 'roster_record', key: 'sourced_id', where: `t.kind = '${kind}'` }
}

const onlyIn = (content: string, other: string) =>
  `${isVisible('t', content)} and not (${isVisible('t', other)})`

/** Pages of the keys of rows that differ between two generations of one line, from `after` on. */
export async function* differingIds(
  db: Db,
  { from, to }: { from: number; to: number },
  kind: string,
  after: string,
): AsyncGenerator<string[]> {
  const { table, key, where } = placeOf(kind)
  let last = after
  for (;;) {
    const page = await db.all<{ id: string }>(
      `select distinct t.${key} as id from ${table} t
       where ${where} and ((${onlyIn('$1', '$2')}) or (${onlyIn('$2', '$1')})) and t.${key} > $3
       order by t.${key} limit ${pageSize}`,
      [from, to, last],
    )
    if (page.length > 0) yield page.map(({ id }) => id)
    if (page.length < pageSize) return
    last = page.at(-1)!.id
  }
}

/** How many records of a kind differ between two generations. */
export async function countDiffering(
  db: Db,
  { from, to }: { from: number; to: number },
  kind: string,
): Promise<number> {
  const { table, where } = placeOf(kind)
  const of = kind === 'enrolment' ? '' : 'o.kind = t.kind and '
  // A class is also written again when its teachers change.
  const isSame = kind === 'enrolment' ? 'false' : 'o.data = t.data'
  const hasOther = (content: string, condition: string) =>
    `exists (select 1 from ${table} o
       where ${of}o.sourced_id = t.sourced_id and ${isVisible('o', content)} and ${condition})`
  const row = await db.one<{ n: number }>(
    `select cast(count(*) as bigint) as n from ${table} t where ${where} and (
       (${onlyIn('$2', '$1')} and not ${hasOther('$1', isSame)}) or
       (${onlyIn('$1', '$2')} and not ${hasOther('$2', 'true')}))`,
    [from, to],
  )
  return row!.n
}

/** Address → sourcedId of the student who has it or, if nobody does, who had it last. */
export async function ownersAmong(
  db: Db,
  content: number,
  addressKeys: Iterable<string>,
): Promise<Map<string, string>> {
  const rows = await lookUp<{ sourced_id: string; email_key: string }>(
    db,
    (list) => `select t.sourced_id, t.email_key from student t
      where t.email_key in (${list}) and (t.to_gen <= $1 or (${isVisible('t')}))
      order by case when t.to_gen <= $1 then t.to_gen else 2147483647 end`,
    content,
    addressKeys,
  )
  return new Map(rows.map((row) => [row.email_key, row.sourced_id]))
}

export interface RecordRow {
  readonly sourced_id: string
  readonly from_gen: number
  readonly data: string
}

/** A student as they sign in and see themselves; null where the file says nothing. */
export interface StudentFields {
  readonly sourced_id: string
  readonly email: string | null
  readonly email_key: string | null
  readonly firstname: string
  readonly lastname: string
  readonly preferred_name: string | null
  readonly pronouns: string | null
  readonly student_number: string | null
  readonly year: number | null
  readonly school_id: string | null
  readonly school_name: string | null
}

export interface StudentVersion extends StudentFields {
  readonly person_id: string
  readonly from_gen: number
  readonly digest: string
}

const studentColumns =
  `person_id, from_gen, sourced_id, digest, email, email_key, firstname, lastname, preferred_name,
  pronouns, student_number, year, school_id, school_name`.replaceAll(/\w+/g, 't.$&')

export interface DisabledVersion {
  readonly person_id: string
  readonly from_gen: number
  readonly sourced_id: string
  readonly digest: string
}

/** Students whom the roster has, but who may not sign in. */
export function disabledIn(db: Db, content: number): Promise<DisabledVersion[]> {
  return db.all<DisabledVersion>(
    `select t.person_id, t.from_gen, t.sourced_id, t.digest from disabled_student t where ${isVisible('t')}`,
    [content],
  )
}

export interface StudentDifference {
  readonly before: StudentVersion | null
  readonly after: StudentVersion | null
}

/** Every student who differs between two generations of one line, in pages: `before` in the first, `after` in the second. */
export async function* differencesBetween(
  db: Db,
  first: number,
  second: number,
): AsyncGenerator<StudentDifference[]> {
  const [earlier, later] = first < second ? [first, second] : [second, first]
  const asked = ({ before, after }: StudentDifference) =>
    first < second ? { before: after, after: before } : { before, after }
  for await (const page of goingBack(db, earlier, later)) yield page.map(asked)
}

/** `before` is in the later one. */
async function* goingBack(db: Db, earlier: number, later: number): AsyncGenerator<StudentDifference[]> {
  const was = (t: string) => `${t}.from_gen <= $1 and ${t}.to_gen > $1 and ${t}.to_gen <= $2`
  const is = (t: string) =>
    `${t}.from_gen > $1 and ${t}.from_gen <= $2 and (${t}.to_gen is null or ${t}.to_gen > $2)`
  const came = `select ${studentColumns} from student t
    where ${is('t')} and t.person_id > $3 order by t.person_id limit ${pageSize}`
  for await (const page of pagesByPerson(db, came, earlier, later)) {
    const people = page.map(({ person_id }) => person_id)
    const before = await lookUp<StudentVersion>(
      db,
      (list) =>
        `select ${studentColumns} from student t where t.person_id in (${list}) and ${isVisible('t')}`,
      earlier,
      people,
    )
    const byPerson = new Map(before.map((row) => [row.person_id, row]))
    yield page.map((student) => ({ before: student, after: byPerson.get(student.person_id) ?? null }))
  }
  const went = `select ${studentColumns} from student t where ${was('t')} and t.person_id > $3
    and not exists (select 1 from student n where n.person_id = t.person_id and ${is('n')})
    order by t.person_id limit ${pageSize}`
  for await (const page of pagesByPerson(db, went, earlier, later))
    yield page.map((student) => ({ before: null, after: student }))
}

async function* pagesByPerson(
  db: Db,
  sql: string,
  earlier: number,
  later: number,
): AsyncGenerator<StudentVersion[]> {
  let last = ''
  for (;;) {
    const page = await db.all<StudentVersion>(sql, [earlier, later, last])
    if (page.length > 0) yield page
    if (page.length < pageSize) return
    last = page.at(-1)!.person_id
  }
}

export function studentIn(db: Db, content: number, personId: string): Promise<StudentVersion | undefined> {
  return db.one<StudentVersion>(
    `select ${studentColumns} from student t where t.person_id = $2 and ${isVisible('t')}`,
    [content, personId],
  )
}

export function recordIn(
  db: Db,
  content: number,
  kind: string,
  sourcedId: string,
): Promise<{ data: string } | undefined> {
  return db.one(
    `select data from roster_record where kind = $2 and sourced_id = $3 and from_gen <= $1
       and (to_gen is null or to_gen > $1)`,
    [content, kind, sourcedId],
  )
}

/** Null: as the file has it. */
export interface CorrectionRow {
  readonly person_id: string
  readonly from_gen: number
  readonly email: string | null
  readonly firstname: string | null
  readonly lastname: string | null
  readonly actor: string
  readonly corrected_at: number
}

export function correctionsIn(db: Db, content: number): Promise<CorrectionRow[]> {
  return db.all<CorrectionRow>(
    `select person_id, from_gen, email, firstname, lastname, actor, corrected_at from roster_correction
     where from_gen <= $1 and (to_gen is null or to_gen > $1) order by corrected_at, person_id`,
    [content],
  )
}

/** The outcome of the last fetch, and the set that need not be fetched again. */
export interface FetchRow {
  readonly tried_at: number
  readonly outcome: string
  readonly message: string
  readonly source: string | null
  readonly mark: string | null
  readonly sha256: string | null
  readonly file_name: string | null
  readonly done_at: number | null
  /** When the newest file was written, or first seen if the source does not say. */
  readonly file_at: number | null
  readonly overdue_told_at: number | null
}

export function lastFetch(db: Pick<Db, 'one'>): Promise<FetchRow | undefined> {
  return db.one<FetchRow>(
    'select tried_at, outcome, message, source, mark, sha256, file_name, done_at, file_at, overdue_told_at from roster_fetch',
  )
}

export function fetchTried(
  tried: Pick<FetchRow, 'tried_at' | 'outcome' | 'message' | 'file_at' | 'overdue_told_at'>,
): Statement {
  return statement(
    `insert into roster_fetch (one, tried_at, outcome, message, file_at, overdue_told_at) values (1, $1, $2, $3, $4, $5)
     on conflict (one) do update set tried_at = excluded.tried_at, outcome = excluded.outcome, message = excluded.message,
       file_at = excluded.file_at, overdue_told_at = excluded.overdue_told_at`,
    tried.tried_at,
    tried.outcome,
    tried.message,
    tried.file_at,
    tried.overdue_told_at,
  )
}

export function fetchDone(
  set: Pick<FetchRow, 'source' | 'mark' | 'sha256' | 'file_name' | 'done_at'>,
): Statement {
  return statement(
    'update roster_fetch set source = $1, mark = $2, sha256 = $3, file_name = $4, done_at = $5',
    set.source,
    set.mark,
    set.sha256,
    set.file_name,
    set.done_at,
  )
}

/** The roster was compared with the school's file, and nothing changed. */
export function rosterChecked(now: number): Statement {
  return statement('update roster_state set checked_at = $1', now)
}
