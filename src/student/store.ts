import { type Db, type Statement, statement } from '../db/db.ts'

const visible = (alias: string) =>
  `${alias}.from_gen <= (select content from roster_state) and (${alias}.to_gen is null or ${alias}.to_gen > (select content from roster_state))`

export interface StudentRow {
  /** The generation of the roster that this was read from. */
  readonly roster: number
  readonly person_id: string
  readonly email: string
  readonly firstname: string
  readonly lastname: string
  readonly preferred_name: string | null
  readonly pronouns: string | null
  readonly student_number: string | null
  readonly year: number | null
  readonly school_id: string | null
  readonly school_name: string | null
  readonly student_updated_at: number
}

export interface ClassRow {
  /** JSON written by the import; null in the single row of a student without classes. */
  readonly document: string | null
  readonly start_date: string | null
  readonly end_date: string | null
  readonly class_updated_at: number | null
  readonly enrolment_id: string | null
}

/**
 * A student with all classes, in one statement so that everything comes from the same roster. No row if the student is
 * not on the roster.
 */
export async function studentWithClasses(db: Db, personId: string): Promise<(StudentRow & ClassRow)[]> {
  const rows = await db.all<StudentRow & ClassRow & { class_id: string | null }>(
    `select (select content from roster_state) as roster, s.person_id, s.email, s.firstname, s.lastname, s.preferred_name, s.pronouns, s.student_number, s.year,
       s.school_id, s.school_name, s.updated_at as student_updated_at,
       c.document, e.start_date, e.end_date, c.updated_at as class_updated_at, e.sourced_id as enrolment_id, e.class_id
     from student s
     left join roster_enrolment e on e.user_id = s.sourced_id and e.role = 'student' and ${visible('e')}
     left join roster_record c on c.kind = 'class' and c.sourced_id = e.class_id and ${visible('c')}
     where s.person_id = $1 and ${visible('s')}`,
    [personId],
  )
  return onePerClass(rows)
}

/** Some systems list an enrolment under two ids. Where the days of two overlap, they are one. */
function onePerClass<R extends ClassRow & { readonly class_id: string | null }>(rows: readonly R[]): R[] {
  const found: R[] = []
  const lastOf = new Map<string | null, number>()
  for (const row of rows.toSorted((a, b) => ((a.start_date ?? '') < (b.start_date ?? '') ? -1 : 1))) {
    const last = lastOf.get(row.class_id)
    if (last !== undefined && (row.start_date ?? '') <= (found[last]!.end_date ?? row.start_date ?? ''))
      found[last] = joined(found[last]!, row)
    else lastOf.set(row.class_id, found.push(row) - 1)
  }
  return found
}

/** From the first day to the last of both; an open start or end stays open. */
function joined<R extends ClassRow>(a: R, b: R): R {
  const first = a.enrolment_id! < b.enrolment_id! ? a : b
  const end_date = a.end_date && b.end_date && (a.end_date > b.end_date ? a.end_date : b.end_date)
  return { ...first, start_date: a.start_date, end_date }
}

export async function isOnRoster(db: Db, personId: string): Promise<boolean> {
  const sql = `select s.person_id from student s where s.person_id = $1 and ${visible('s')}`
  return (await db.one(sql, [personId])) !== undefined
}

export async function personIdByAddress(db: Db, addressKey: string): Promise<string | undefined> {
  const row = await db.one<{ person_id: string }>(
    `select s.person_id from student s where s.email_key = $1 and ${visible('s')}`,
    [addressKey],
  )
  return row?.person_id
}

/**
 * Replaces the student's feed. Its address is taken from the roster with which the caller was authenticated: in a
 * roster published since, the address may be somebody else's. No row if that roster has been pruned.
 */
export function putFeed(
  db: Db,
  feed: { personId: string; roster: number; tokenHash: string; createdAt: number },
): Promise<{ person_id: string }[]> {
  return db.run(
    `insert into calendar_feed (person_id, token_hash, created_at, email_key)
     select s.person_id, $2, cast($3 as bigint), s.email_key from student s
     where s.person_id = $1 and s.from_gen <= $4 and (s.to_gen is null or s.to_gen > $4)
     on conflict (person_id) do update
       set token_hash = excluded.token_hash, created_at = excluded.created_at, email_key = excluded.email_key
     returning person_id`,
    [feed.personId, feed.tokenHash, feed.createdAt, feed.roster],
  )
}

// Also covers students who left the roster and came back with another address.
const feedWithItsAddress =
  'calendar_feed f join account p on p.id = f.person_id and p.email_key = f.email_key'

export function feedOf(db: Db, personId: string): Promise<{ created_at: number } | undefined> {
  return db.one(`select f.created_at from ${feedWithItsAddress} where f.person_id = $1`, [personId])
}

export function dropFeed(db: Db, personId: string) {
  return db.run('delete from calendar_feed where person_id = $1', [personId])
}

export function ownerOfFeed(db: Db, tokenHash: string): Promise<{ person_id: string } | undefined> {
  return db.one(
    `select f.person_id from ${feedWithItsAddress} where f.token_hash = $1 and p.status = 'active'`,
    [tokenHash],
  )
}

/**
 * Ends the feeds of students whose address changed: a generation ended their sessions, but they are still on the
 * roster.
 */
export function endFeedsOfMoved(generation: number): Statement {
  return statement(
    `delete from calendar_feed where person_id in (
       select d.person_id from roster_departure d join roster_state r on r.generation = d.generation
       join student s on s.person_id = d.person_id and ${visible('s')}
       where d.generation = $1)`,
    generation,
  )
}
