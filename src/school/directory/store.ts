import {
  byOtherIndex,
  current,
  inGeneration,
  inRoster,
  writtenAfter,
  writtenBy,
} from '../../identity/people/in-roster.ts'
import { accountValues } from '../../identity/people/people.ts'
import type { Db, Value } from '../../platform/db/db.ts'
import { roles } from '../../roles.ts'

/** A page begins after the row with this key; empty at the start. */
export interface Place {
  readonly after: string
  readonly limit: number
}

export interface StudentRow {
  readonly id: string
  readonly status: 'active' | 'inactive' | 'suspended'
  readonly updated_at: number
  /** The rest is null if the student is not on the roster. */
  readonly student_number: string | null
  readonly firstname: string | null
  readonly lastname: string | null
  readonly preferred_name: string | null
  readonly email: string | null
  readonly year: number | null
  readonly school_id: string | null
  readonly school_name: string | null
}

export interface ClassRow {
  readonly id: string
  /** JSON written by the import. */
  readonly document: string
  readonly updated_at: number
}

export interface EnrolmentRow {
  readonly id: string
  readonly class_id: string
  readonly person_id: string
  readonly start_date: string | null
  readonly end_date: string | null
  readonly updated_at: number
}

export interface Read<Row> {
  /** The generation of the roster that the rows are from. */
  readonly generation: number
  readonly rows: Row[]
}

/** What was published since a time. */
export interface Since {
  /** People who changed then or later may have changed unseen until now: an import writes before it is published. */
  readonly peopleFrom: number
  /** Rows of later generations are new; 0 if all rows count as new. */
  readonly generation: number
}

/** An undo shows rows of earlier generations again, and nothing tells which. */
export async function publishedSince(db: Db, since: number): Promise<Since> {
  const row = await db.one<{ first: number | null; undone: number | null; before: number | null }>(
    `select
       (select min(g.started_at) from roster_generation g where g.published_at >= $1) as first,
       (select max(g.id) from roster_generation g where g.published_at >= $1 and g.kind = 'undo') as undone,
       (select g.content from roster_generation g where g.published_at < $1 order by g.id desc limit 1) as before`,
    [since],
  )
  const { first, undone, before } = row!
  return { peopleFrom: Math.min(since, first ?? since), generation: undone === null ? (before ?? 0) : 0 }
}

/** In one statement, so that rows and generation belong together. */
async function readPage<Row extends { id: string }>(
  db: Db,
  page: string,
  { after, limit }: Place,
  ...params: Value[]
): Promise<Read<Row>> {
  const rows = await db.all<Row & { generation: number }>(
    `select r.generation, t.* from (select generation from roster_state limit 1) r left join (${page}) t on true order by t.id`,
    [after, limit, ...params],
  )
  return { generation: rows[0]!.generation, rows: rows.filter(({ id }) => id !== null) }
}

/** Pages are read in the order of their keys. */
const inOrder = (t: string) => byOtherIndex(inRoster(t))

const studentColumns = `p.id, ${accountValues.status} as status, p.updated_at, s.student_number, s.firstname, s.lastname,
  s.preferred_name, s.email, s.year, s.school_id, s.school_name`

/** The page is cut before the join: PostgreSQL would rather sort everybody. */
export function studentsInOrder(db: Db, place: Place): Promise<Read<StudentRow>> {
  return readPage<StudentRow>(
    db,
    `select ${studentColumns} from (
       select * from student s where s.person_id > $1 and ${inOrder('s')} order by s.person_id limit $2
     ) s join person p on p.id = s.person_id`,
    place,
  )
}

/**
 * With few changes, all are found by their index and sorted. With many, the next ones are near in the order of keys. So
 * neither way reads more than some ten thousand rows for a page.
 */
const fewMax = 10_000

async function areFew(db: Db, changes: string, ...params: Value[]): Promise<boolean> {
  const counted = `select cast(count(*) as bigint) as n from (${changes} limit ${fewMax + 1}) c`
  return (await db.one<{ n: number }>(counted, params))!.n <= fewMax
}

/** Not `role = 'student'`: SQLite would read by the index on roles. */
const isStudent = `p.role not in (${roles.filter((role) => role !== 'student').map((role) => `'${role}'`)})`

/** Whether on the roster or not. */
export async function studentsChanged(db: Db, place: Place, from: number): Promise<Read<StudentRow>> {
  const few = await areFew(db, 'select 1 as one from person p where p.updated_at >= $1', from)
  // An expression cannot be looked up in an index.
  const [id, changedAt] = few ? ["p.id || ''", 'p.updated_at'] : ['p.id', 'p.updated_at + 0']
  return readPage<StudentRow>(
    db,
    `select ${studentColumns} from (
       select * from person p where ${id} > $1 and ${changedAt} >= $3 and ${isStudent} order by ${id} limit $2
     ) p left join student s on s.person_id = p.id and ${inRoster('s')}`,
    place,
    from,
  )
}

const classes = (changed: string) =>
  `select c.sourced_id as id, c.document, c.updated_at from roster_record c
   where c.kind = 'class' and c.sourced_id > $1 and ${inOrder('c')} ${changed}
   order by c.sourced_id limit $2`

export function classesInOrder(db: Db, place: Place): Promise<Read<ClassRow>> {
  return readPage<ClassRow>(db, classes(''), place)
}

export function classesChanged(db: Db, place: Place, generation: number): Promise<Read<ClassRow>> {
  return readPage<ClassRow>(db, classes(`and ${byOtherIndex(writtenAfter('c', '$3'))}`), place, generation)
}

/** The account of an enrolled student, and whether the class is there; null if not in this generation. */
const studentIn = (generation: string) =>
  `(select s.person_id from student_identity i join student s on s.person_id = i.person_id and s.sourced_id = i.sourced_id
    where i.sourced_id = e.user_id and ${inGeneration('s', generation)})`
const classIn = (generation: string) =>
  `(select 1 from roster_record c where c.kind = 'class' and c.sourced_id = e.class_id and ${inGeneration('c', generation)})`

/** Student and class must be on the roster. No joins: PostgreSQL would rather sort all enrolments. */
const enrolments = (where: string) =>
  `select e.sourced_id as id, e.class_id, ${studentIn(current)} as person_id, e.start_date, e.end_date,
     (select g.started_at from roster_generation g where g.id = e.from_gen) as updated_at
   from roster_enrolment e
   where e.sourced_id > $1 and e.role = 'student' and ${inOrder('e')}
     and ${studentIn(current)} is not null and ${classIn(current)} is not null ${where}
   order by e.sourced_id limit $2`

export function enrolmentsInOrder(db: Db, place: Place): Promise<Read<EnrolmentRow>> {
  return readPage<EnrolmentRow>(db, enrolments(''), place)
}

/** Enrolments that may have changed after the generation `n`. */
const touched = (n: string) => {
  const since = (t: string) => `${writtenAfter(t, n)} and ${writtenBy(t, current)}`
  return `select e.sourced_id from roster_enrolment e where ${since('e')}
    union all select e.sourced_id from student s join roster_enrolment e on e.user_id = s.sourced_id where ${since('s')}
    union all select e.sourced_id from roster_record c join roster_enrolment e on e.class_id = c.sourced_id
      where c.kind = 'class' and ${since('c')}`
}

/** The enrolments of somebody who is back on the roster count as changed, and so do those in a class that is back. */
const enrolmentChanged = `and (${byOtherIndex(writtenAfter('e', '$3'))} or ${studentIn('$3')} is null or ${classIn('$3')} is null)`

export async function enrolmentsChanged(
  db: Db,
  place: Place,
  generation: number,
): Promise<Read<EnrolmentRow>> {
  const few = await areFew(db, touched('$1'), generation)
  const among = few ? `and e.sourced_id in (${touched('$3')})` : ''
  return readPage<EnrolmentRow>(db, enrolments(`${among} ${enrolmentChanged}`), place, generation)
}
