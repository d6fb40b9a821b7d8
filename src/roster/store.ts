/** The roster's SQL. A row is visible while `from_gen <= content` and `to_gen` is null or greater than `content`. */
import { type Db, type Row, type Statement, statement, type Value } from '../db/db.ts'
import { clockSlackMs } from '../lib/clock.ts'

/** The right to write; see apply/lease.ts. */
export interface Lease {
  /** Atomic like `Db.tx`; fails if the lease was lost. */
  write(statements: readonly Statement[]): Promise<Row[][]>
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
  /** The holds that were allowed, with commas between. */
  readonly allowed: string
  readonly newest_row_at: number | null
}

export interface StateRow {
  readonly content: number
  readonly generation: number
  readonly held_by: string | null
  readonly held_until: number
}

export async function rosterState(db: Db): Promise<StateRow> {
  return (await db.one<StateRow>('select content, generation, held_by, held_until from roster_state'))!
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
     where g.published_at is not null order by g.id desc limit ${limit}`,
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

/** Returns whether it was free, had run out, or is of a clock that was ahead. */
export async function takeLease(db: Db, by: string, now: number, until: number): Promise<boolean> {
  const rows = await db.run(
    `update roster_state set held_by = $1, held_until = $2, writer = null
     where held_until <= $3 or held_until > $4 returning content`,
    [by, until, now, until + clockSlackMs],
  )
  return rows.length > 0
}

const leaseLost = 'roster_hold_lost'

/**
 * The first statement of every transaction that writes a roster. If another process has the lease, the table's check on
 * `writer` makes it fail. Otherwise the row stays locked, so nobody can take the lease before the transaction ends.
 */
export function renewLease(by: string, until: number): Statement {
  return statement('update roster_state set writer = $1, held_until = $2', by, until)
}

export function isLeaseLost(error: unknown): boolean {
  return error instanceof Error && error.message.includes(leaseLost)
}

export function release(db: Db, by: string) {
  return db.run('update roster_state set held_by = null, held_until = 0, writer = null where held_by = $1', [
    by,
  ])
}

/** The roster that a plan was made against. */
export type Seen = Pick<StateRow, 'content' | 'generation'>

const highest = '(select coalesce(max(id), 0) from roster_generation)'

/** Returns the generation's number, or undefined if the roster has changed since `seen`. */
export async function newGeneration(
  lease: Lease,
  seen: Seen,
  g: Omit<GenerationRow, 'id' | 'parent' | 'content' | 'published_at'>,
  content: number | null,
): Promise<number | undefined> {
  const [, rows] = await lease.write([
    // During an upgrade, an older version that does not update last_generation may have been importing.
    statement(
      `update roster_state set last_generation = 1 + case when last_generation < ${highest} then ${highest} else last_generation end`,
    ),
    statement(
      `insert into roster_generation (id, kind, parent, content, file_name, sha256, version, rows, summary, started_at,
         actor, allowed, newest_row_at)
       select last_generation, $1, content, coalesce(cast($2 as integer), last_generation), $3, $4, $5, cast($6 as integer),
         $7, cast($8 as bigint), $9, $10, cast($11 as bigint)
       from roster_state where content = $12 and generation = $13 returning id`,
      g.kind,
      content,
      g.file_name,
      g.sha256,
      g.version,
      g.rows,
      g.summary,
      g.started_at,
      g.actor,
      g.allowed,
      g.newest_row_at,
      seen.content,
      seen.generation,
    ),
  ])
  return rows![0]?.id as number | undefined
}

/** Readers see the old roster before this transaction and the new one after it. */
export function publish(generation: number, seen: Seen, now: number): Statement[] {
  return [
    statement(
      `update roster_state set content = (select content from roster_generation where id = $1), generation = $1
       where content = $2 and generation = $3 returning content`,
      generation,
      seen.content,
      seen.generation,
    ),
    statement(
      `update roster_generation set published_at = $1 where id = $2 and exists (select 1 from roster_state where generation = $2)`,
      now,
      generation,
    ),
  ]
}

const visible = '(select content from roster_state)'
const unpublished = '(select id from roster_generation where published_at is null)'

/** An unfinished or undone generation leaves its own rows, and `to_gen` on the rows it replaced. */
const leftovers = [
  ['roster_record', 'kind, sourced_id, from_gen'],
  ['roster_enrolment', 'sourced_id, from_gen'],
  ['student', 'person_id, from_gen'],
  ['roster_correction', 'person_id, from_gen'],
].flatMap(([table, key]) => [
  { change: `delete from ${table}`, table, key, where: `from_gen > ${visible}` },
  { change: `update ${table} set to_gen = null`, table, key, where: `to_gen > ${visible}` },
])
const unseen = [
  // Of a generation that was undone: the next import may decide otherwise.
  {
    change: 'delete from student_identity',
    table: 'student_identity',
    key: 'sourced_id',
    where: `matched_from is not null and generation > ${visible}`,
  },
  { change: 'delete from event', table: 'event', key: 'id', where: `generation in ${unpublished}` },
  {
    change: 'delete from roster_departure',
    table: 'roster_departure',
    key: 'generation, person_id',
    where: `generation in ${unpublished}`,
  },
]

/** Removes what an unfinished or undone generation wrote, in short batches. */
export async function clearLeftovers(
  db: Db,
  lease: Lease,
  batch: number,
  pause: () => Promise<void>,
): Promise<void> {
  const clear = async ({ change, table, key, where }: (typeof leftovers)[number]) => {
    const sql = `${change} where (${key}) in (select ${key} from ${table} where ${where} limit ${batch}) returning 1 as one`
    while ((await lease.write([statement(sql)]))[0]!.length === batch) await pause()
  }
  for (const some of leftovers) await clear(some)
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
        statement('delete from person where id = $1', person_id),
      ]),
    )
    if (people.length < batch) return
    await pause()
  }
}

export interface RecordRow {
  readonly kind: string
  readonly sourced_id: string
  readonly from_gen: number
  readonly to_gen: number | null
  readonly digest: string
  readonly data: string
  readonly document: string | null
}

const pageSize = 10_000

/** Every record that is or was on the roster; the latest version of each comes last. */
export async function* recordsOf(db: Db): AsyncGenerator<RecordRow> {
  let last = { kind: '', sourced_id: '', from_gen: -1 }
  for (;;) {
    const page = await db.all<RecordRow>(
      `select kind, sourced_id, from_gen, to_gen, digest, data, document from roster_record
       where (kind, sourced_id, from_gen) > ($1, $2, $3) order by kind, sourced_id, from_gen limit ${pageSize}`,
      [last.kind, last.sourced_id, last.from_gen],
    )
    yield* page
    if (page.length < pageSize) return
    last = page.at(-1)!
  }
}

export interface EnrolmentRow {
  readonly sourced_id: string
  readonly from_gen: number
  readonly to_gen: number | null
  readonly user_id: string
  readonly class_id: string
  readonly school_id: string | null
  readonly role: string
  readonly is_primary: number
  readonly start_date: string | null
  readonly end_date: string | null
}

export async function* enrolmentsOf(db: Db): AsyncGenerator<EnrolmentRow> {
  let last = { sourced_id: '', from_gen: -1 }
  for (;;) {
    const page = await db.all<EnrolmentRow>(
      `select sourced_id, from_gen, to_gen, user_id, class_id, school_id, role, is_primary, start_date, end_date
       from roster_enrolment where (sourced_id, from_gen) > ($1, $2) order by sourced_id, from_gen limit ${pageSize}`,
      [last.sourced_id, last.from_gen],
    )
    yield* page
    if (page.length < pageSize) return
    last = page.at(-1)!
  }
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
  readonly to_gen: number | null
  readonly digest: string
}

const studentColumns =
  'person_id, from_gen, to_gen, sourced_id, digest, email, email_key, firstname, lastname, preferred_name, pronouns, student_number, year, school_id, school_name'

export function studentsIn(db: Db, content: number): Promise<StudentVersion[]> {
  return db.all<StudentVersion>(
    `select ${studentColumns} from student
     where from_gen <= $1 and (to_gen is null or to_gen > $1) order by sourced_id`,
    [content],
  )
}

export function studentIn(db: Db, content: number, personId: string): Promise<StudentVersion | undefined> {
  return db.one<StudentVersion>(
    `select ${studentColumns} from student where person_id = $2 and from_gen <= $1 and (to_gen is null or to_gen > $1)`,
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

/** Addresses that students had in earlier generations. */
export function formerAddresses(
  db: Db,
  content: number,
): Promise<{ sourced_id: string; email_key: string }[]> {
  return db.all(
    'select sourced_id, email_key from student where to_gen <= $1 and email_key is not null order by to_gen',
    [content],
  )
}

/** What matched one sourcedId with another counts as long as its import is not undone. */
export function identities(db: Db, content: number): Promise<{ sourced_id: string; person_id: string }[]> {
  return db.all(
    `select i.sourced_id, i.person_id from student_identity i join roster_generation g on g.id = i.generation
     where g.published_at is not null and (i.matched_from is null or i.generation <= $1)`,
    [content],
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

/**
 * Inserts `rowsPerInsert` rows per statement and the remainder one by one, so that few statements have to be prepared.
 */
export function insertRows(db: Db, table: Table, rows: readonly (readonly Value[])[]): Statement[] {
  const statements: Statement[] = []
  const whole = rows.length - (rows.length % db.rowsPerInsert)
  for (let at = 0; at < whole; at += db.rowsPerInsert) {
    const part = rows.slice(at, at + db.rowsPerInsert)
    statements.push({
      sql: insertText(table, part.length),
      params: part.length === 1 ? part[0]! : part.flat(),
    })
  }
  for (const row of rows.slice(whole)) statements.push({ sql: insertText(table, 1), params: row })
  return statements
}

const texts = new Map<string, string>()

function insertText(table: Table, rows: number): string {
  const columns = columnsOf[table]
  const key = `${table}:${rows}`
  const known = texts.get(key)
  if (known) return known
  const width = columns.length
  const values = Array.from(
    { length: rows },
    (_, row) => `(${columns.map((_, column) => `$${row * width + column + 1}`).join(', ')})`,
  )
  const text = `insert into ${table} (${columns.join(', ')}) values ${values.join(', ')}`
  texts.set(key, text)
  return text
}

export type Table = keyof typeof columnsOf

const columnsOf = {
  roster_record: ['kind', 'sourced_id', 'from_gen', 'digest', 'data', 'document', 'updated_at'],
  roster_enrolment: [
    'sourced_id',
    'from_gen',
    'user_id',
    'class_id',
    'school_id',
    'role',
    'is_primary',
    'start_date',
    'end_date',
  ],
  student: [
    'person_id',
    'from_gen',
    'sourced_id',
    'digest',
    'email',
    'email_key',
    'firstname',
    'lastname',
    'preferred_name',
    'pronouns',
    'student_number',
    'year',
    'school_id',
    'school_name',
    'updated_at',
  ],
  student_identity: ['sourced_id', 'person_id', 'generation', 'matched_from'],
  roster_correction: ['person_id', 'from_gen', 'email', 'firstname', 'lastname', 'actor', 'corrected_at'],
  person: ['id', 'role', 'status', 'created_at', 'updated_at'],
  roster_departure: ['generation', 'person_id'],
  event: [
    'id',
    'at',
    'type',
    'person_id',
    'data',
    'generation',
    'actor',
    'request_id',
    'network_fingerprint',
  ],
} as const

export function closeRecord(kind: string, sourcedId: string, fromGen: number, generation: number): Statement {
  return statement(
    'update roster_record set to_gen = $1 where kind = $2 and sourced_id = $3 and from_gen = $4',
    generation,
    kind,
    sourcedId,
    fromGen,
  )
}

export function closeEnrolment(sourcedId: string, fromGen: number, generation: number): Statement {
  return statement(
    'update roster_enrolment set to_gen = $1 where sourced_id = $2 and from_gen = $3',
    generation,
    sourcedId,
    fromGen,
  )
}

export function closeCorrection(personId: string, fromGen: number, generation: number): Statement {
  return statement(
    'update roster_correction set to_gen = $1 where person_id = $2 and from_gen = $3',
    generation,
    personId,
    fromGen,
  )
}

export function closeStudent(personId: string, fromGen: number, generation: number): Statement {
  return statement(
    'update student set to_gen = $1 where person_id = $2 and from_gen = $3',
    generation,
    personId,
    fromGen,
  )
}

/** How the last fetch went, and which set fetches are done with. */
export interface FetchRow {
  readonly tried_at: number
  readonly outcome: string
  readonly message: string
  readonly source: string | null
  readonly mark: string | null
  readonly sha256: string | null
  readonly file_name: string | null
  readonly done_at: number | null
}

export function lastFetch(db: Pick<Db, 'one'>): Promise<FetchRow | undefined> {
  return db.one<FetchRow>(
    'select tried_at, outcome, message, source, mark, sha256, file_name, done_at from roster_fetch',
  )
}

export function fetchTried(now: number, outcome: string, message: string): Statement {
  return statement(
    `insert into roster_fetch (one, tried_at, outcome, message) values (1, $1, $2, $3)
     on conflict (one) do update set tried_at = excluded.tried_at, outcome = excluded.outcome, message = excluded.message`,
    now,
    outcome,
    message,
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

/** The roster was compared with the school's, and nothing had to change. */
export function rosterChecked(now: number): Statement {
  return statement('update roster_state set checked_at = $1', now)
}
