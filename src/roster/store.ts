/** SQL of the roster. Rows are visible while `from_gen <= content` and `to_gen` is not reached. */
import { type Db, type Statement, statement, type Value } from '../db/db.ts'

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

/** Only one process writes a roster at a time; a dead one loses its hold when the lease runs out. */
export async function hold(db: Db, by: string, now: number, until: number): Promise<boolean> {
  const rows = await db.run(
    'update roster_state set held_by = $1, held_until = $2 where held_until <= $3 or held_by = $1 returning content',
    [by, until, now],
  )
  return rows.length > 0
}

/**
 * Part of every transaction that writes a generation: renews the hold, and fails if it was lost. (The second statement
 * puts a null where none may be, and so undoes whatever comes with it.)
 */
export function keepHold(by: string, until: number): Statement[] {
  return [
    statement('update roster_state set held_until = $1 where held_by = $2', until, by),
    statement(
      `insert into roster_departure (generation, person_id)
       select 0, null from roster_state where held_by is null or held_by <> $1`,
      by,
    ),
  ]
}

export function release(db: Db, by: string) {
  return db.run('update roster_state set held_by = null, held_until = 0 where held_by = $1', [by])
}

export async function newGeneration(
  db: Db,
  g: Omit<GenerationRow, 'id' | 'content' | 'published_at'>,
  content: number | null,
): Promise<number> {
  const [row] = await db.run<{ id: number }>(
    `insert into roster_generation (id, kind, parent, content, file_name, sha256, version, rows, summary, started_at)
     select coalesce(max(id), 0) + 1, $1, cast($2 as integer), coalesce(cast($3 as integer), coalesce(max(id), 0) + 1), $4, $5, $6,
       cast($7 as integer), $8, cast($9 as bigint)
     from roster_generation returning id`,
    [g.kind, g.parent, content, g.file_name, g.sha256, g.version, g.rows, g.summary, g.started_at],
  )
  return row!.id
}

/** The one short transaction: readers see the old roster before it and the new one after. */
export function publish(generation: number, parent: number, by: string, now: number): Statement[] {
  return [
    statement(
      `update roster_state set content = (select content from roster_generation where id = $1), generation = $1
       where content = $2 and held_by = $3 returning content`,
      generation,
      parent,
      by,
    ),
    statement(
      `update roster_generation set published_at = $1 where id = $2 and exists (select 1 from roster_state where generation = $2)`,
      now,
      generation,
    ),
  ]
}

const versioned = ['roster_record', 'roster_enrolment', 'student'] as const
const leftoverKeys = {
  roster_record: 'kind, sourced_id, from_gen',
  roster_enrolment: 'sourced_id, from_gen',
  student: 'person_id, from_gen',
} as const

/** Takes away what an unfinished or undone generation wrote, a short batch at a time. */
export async function clearLeftovers(
  db: Db,
  content: number,
  batch: number,
  pause: () => Promise<void>,
): Promise<void> {
  for (const table of versioned) {
    const keys = leftoverKeys[table]
    const within = (condition: string) =>
      `(${keys}) in (select ${keys} from ${table} where ${condition} limit ${batch})`
    for (const sql of [
      `delete from ${table} where ${within('from_gen > $1')} returning from_gen`,
      `update ${table} set to_gen = null where ${within('to_gen > $1')} returning from_gen`,
    ]) {
      while ((await db.run(sql, [content])).length === batch) await pause()
    }
  }
  await clearNewcomers(db, batch, pause)
  const unpublished = '(select id from roster_generation where published_at is null)'
  await db.tx([
    statement(`delete from event where generation in ${unpublished}`),
    statement(`delete from roster_departure where generation in ${unpublished}`),
    statement('delete from roster_generation where published_at is null'),
  ])
}

/** People who were written but never on a published roster: nobody has seen them. */
async function clearNewcomers(db: Db, batch: number, pause: () => Promise<void>): Promise<void> {
  for (;;) {
    const people = await db.all<{ person_id: string }>(
      `select i.person_id from student_identity i join roster_generation g on g.id = i.generation
       where g.published_at is null limit ${batch}`,
    )
    await db.tx(
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

/** Every record that is or ever was on the roster, the latest version of each last. */
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

/** Students visible in a generation. */
export function studentsIn(db: Db, content: number): Promise<StudentVersion[]> {
  return db.all<StudentVersion>(
    `select person_id, from_gen, to_gen, sourced_id, digest, email_key from student
     where from_gen <= $1 and (to_gen is null or to_gen > $1)`,
    [content],
  )
}

/** The addresses that students had in earlier generations. */
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

// --- writing a generation, many rows a statement ---

/** Inserts as statements of `rowsPerInsert`; the rest one by one, so that few texts have to be prepared. */
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
  const text = `insert into ${table} (${columns.join(', ')}) values ${values.join(', ')} on conflict do nothing`
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
  event: ['id', 'at', 'type', 'person_id', 'data', 'generation'],
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
