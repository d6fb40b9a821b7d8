/** The roster's SQL. A row is visible while `from_gen <= content` and `to_gen` is null or greater than `content`. */
import { type Db, type Row, type Statement, statement, type Value } from '../db/db.ts'

/** The right to write; see apply/hold.ts. */
export interface Hold {
  /** Atomic like `Db.tx`; fails if the hold was lost. */
  write(statements: readonly Statement[]): Promise<Row[][]>
}

export interface GenerationRow {
  readonly id: number
  readonly kind: 'import' | 'undo'
  readonly parent: number
  readonly content: number
  readonly file_name: string
  readonly sha256: string
  readonly version: string
  readonly rows: number
  readonly summary: string
  readonly started_at: number
  readonly published_at: number | null
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
  'id, kind, parent, content, file_name, sha256, version, rows, summary, started_at, published_at'

export function publishedGenerations(db: Db, limit: number): Promise<GenerationRow[]> {
  return db.all<GenerationRow>(
    `select ${generationColumns} from roster_generation where published_at is not null order by id desc limit ${limit}`,
  )
}

export function generationById(db: Db, id: number): Promise<GenerationRow | undefined> {
  return db.one<GenerationRow>(`select ${generationColumns} from roster_generation where id = $1`, [id])
}

/** Returns whether the hold was free or its lease had run out. */
export async function takeHold(db: Db, by: string, now: number, until: number): Promise<boolean> {
  const rows = await db.run(
    'update roster_state set held_by = $1, held_until = $2, writer = null where held_until <= $3 returning content',
    [by, until, now],
  )
  return rows.length > 0
}

const holdLost = 'roster_hold_lost'

/**
 * The first statement of every transaction that writes a roster. If another process has the hold, the table's check on
 * `writer` makes it fail. Otherwise the row stays locked, so nobody can take the hold before the transaction ends.
 */
export function renewHold(by: string, until: number): Statement {
  return statement('update roster_state set writer = $1, held_until = $2', by, until)
}

export function isHoldLost(error: unknown): boolean {
  return error instanceof Error && error.message.includes(holdLost)
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
  hold: Hold,
  seen: Seen,
  g: Omit<GenerationRow, 'id' | 'parent' | 'content' | 'published_at'>,
  content: number | null,
): Promise<number | undefined> {
  const [, rows] = await hold.write([
    // During an upgrade, an older version that does not update last_generation may have been importing.
    statement(
      `update roster_state set last_generation = 1 + case when last_generation < ${highest} then ${highest} else last_generation end`,
    ),
    statement(
      `insert into roster_generation (id, kind, parent, content, file_name, sha256, version, rows, summary, started_at)
       select last_generation, $1, content, coalesce(cast($2 as integer), last_generation), $3, $4, $5, cast($6 as integer),
         $7, cast($8 as bigint)
       from roster_state where content = $9 and generation = $10 returning id`,
      g.kind,
      content,
      g.file_name,
      g.sha256,
      g.version,
      g.rows,
      g.summary,
      g.started_at,
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
].flatMap(([table, key]) => [
  { change: `delete from ${table}`, table, key, where: `from_gen > ${visible}` },
  { change: `update ${table} set to_gen = null`, table, key, where: `to_gen > ${visible}` },
])
const unseen = [
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
  hold: Hold,
  batch: number,
  pause: () => Promise<void>,
): Promise<void> {
  const clear = async ({ change, table, key, where }: (typeof leftovers)[number]) => {
    const sql = `${change} where (${key}) in (select ${key} from ${table} where ${where} limit ${batch}) returning 1 as one`
    while ((await hold.write([statement(sql)]))[0]!.length === batch) await pause()
  }
  for (const some of leftovers) await clear(some)
  await clearNewcomers(db, hold, batch, pause)
  for (const some of unseen) await clear(some)
  await hold.write([statement('delete from roster_generation where published_at is null')])
}

/** People who were written but never appeared on a published roster. */
async function clearNewcomers(db: Db, hold: Hold, batch: number, pause: () => Promise<void>): Promise<void> {
  for (;;) {
    const people = await db.all<{ person_id: string }>(
      `select person_id from student_identity where generation in ${unpublished} limit ${batch}`,
    )
    await hold.write(
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

export interface StudentVersion {
  readonly person_id: string
  readonly from_gen: number
  readonly to_gen: number | null
  readonly sourced_id: string
  readonly digest: string
  readonly email_key: string | null
}

export function studentsIn(db: Db, content: number): Promise<StudentVersion[]> {
  return db.all<StudentVersion>(
    `select person_id, from_gen, to_gen, sourced_id, digest, email_key from student
     where from_gen <= $1 and (to_gen is null or to_gen > $1)`,
    [content],
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

export function identities(db: Db): Promise<{ sourced_id: string; person_id: string }[]> {
  return db.all(
    `select i.sourced_id, i.person_id from student_identity i join roster_generation g on g.id = i.generation
     where g.published_at is not null`,
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
  student_identity: ['sourced_id', 'person_id', 'generation'],
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

export function closeStudent(personId: string, fromGen: number, generation: number): Statement {
  return statement(
    'update student set to_gen = $1 where person_id = $2 and from_gen = $3',
    generation,
    personId,
    fromGen,
  )
}
