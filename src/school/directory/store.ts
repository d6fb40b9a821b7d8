import { accountTables, accountValues, inRoster } from '../../identity/people/people.ts'
import type { Db, Value } from '../../platform/db/db.ts'

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
    `select r.generation, t.* from roster_state r left join (${page}) t on true order by t.id`,
    [after, limit, ...params],
  )
  return { generation: rows[0]!.generation, rows: rows.filter(({ id }) => id !== null) }
}

const studentColumns = `p.id, ${accountValues.status} as status, p.updated_at, s.student_number, s.firstname, s.lastname,
  s.preferred_name, s.email, s.year, s.school_id, s.school_name`

/** "+ 0" keeps SQLite from the indexes of generations: pages are read in the order of their keys. */
const visibleInOrder = (t: string) =>
  `${t}.from_gen + 0 <= (select content from roster_state) and (${t}.to_gen is null or ${t}.to_gen > (select content from roster_state))`

/** Those on the roster. */
export function studentsInOrder(db: Db, place: Place): Promise<Read<StudentRow>> {
  return readPage<StudentRow>(
    db,
    `select ${studentColumns} from student s cross join person p
     where p.id = s.person_id and s.person_id > $1 and ${visibleInOrder('s')}
     order by s.person_id limit $2`,
    place,
  )
}

/**
 * With few changes, all are found by their index and sorted. With many, the next ones are near in the order of keys. So
 * neither way reads more than some ten thousand rows for a page.
 */
const fewMax = 10_000

const isFew = async (db: Db, changes: string, ...params: Value[]): Promise<boolean> => {
  const counted = `select cast(count(*) as bigint) as n from (${changes}) c`
  return (await db.one<{ n: number }>(counted, params))!.n <= fewMax
}

/** Whether on the roster or not. */
export async function studentsChanged(db: Db, place: Place, from: number): Promise<Read<StudentRow>> {
  const counted = `select 1 as one from person p where p.updated_at >= $1 limit ${fewMax + 1}`
  // An expression cannot be looked up in an index.
  const [id, changedAt] = (await isFew(db, counted, from))
    ? ["p.id || ''", 'p.updated_at']
    : ['p.id', 'p.updated_at + 0']
  return readPage<StudentRow>(
    db,
    `select ${studentColumns} from ${accountTables}
     where ${id} > $1 and ${changedAt} >= $3 and p.role || '' = 'student' order by ${id} limit $2`,
    place,
    from,
  )
}

const classes = (changed: string) =>
  `select c.sourced_id as id, c.document, c.updated_at from roster_record c
   where c.kind = 'class' and c.sourced_id > $1 and ${visibleInOrder('c')} ${changed}
   order by c.sourced_id limit $2`

export function classesInOrder(db: Db, place: Place): Promise<Read<ClassRow>> {
  return readPage<ClassRow>(db, classes(''), place)
}

export function classesChanged(db: Db, place: Place, generation: number): Promise<Read<ClassRow>> {
  return readPage<ClassRow>(db, classes('and c.from_gen + 0 > $3'), place, generation)
}

/** Of students and classes that are on the roster; `from` has enrolments as `e`. */
const enrolments = (from: string, where: string) =>
  `select e.sourced_id as id, e.class_id, s.person_id, e.start_date, e.end_date, g.started_at as updated_at
   from ${from} cross join student_identity i cross join student s cross join roster_record c cross join roster_generation g
   where e.role = 'student' and ${visibleInOrder('e')}
     and i.sourced_id = e.user_id and s.person_id = i.person_id and s.sourced_id = e.user_id and ${visibleInOrder('s')}
     and c.kind = 'class' and c.sourced_id = e.class_id and ${visibleInOrder('c')}
     and g.id = e.from_gen and ${where}
   order by e.sourced_id limit $2`

export function enrolmentsInOrder(db: Db, place: Place): Promise<Read<EnrolmentRow>> {
  return readPage<EnrolmentRow>(db, enrolments('roster_enrolment e', 'e.sourced_id > $1'), place)
}

/** The enrolments of somebody who is back on the roster are new, too, and so are those in a class that is back. */
const wasMissing = (table: string, t: string, key: string, generation: string) =>
  `not exists (select 1 from ${table} o where o.${key} = ${t}.${key}${table === 'roster_record' ? " and o.kind = 'class'" : ''}
     and o.from_gen <= ${generation} and (o.to_gen is null or o.to_gen > ${generation}))`
const isNew = (t: string, generation: string) => `${t}.from_gen > ${generation} and ${inRoster(t)}`
const newStudents = (generation: string) =>
  `student s where ${isNew('s', generation)} and ${wasMissing('student', 's', 'person_id', generation)}`
const newClasses = (generation: string) =>
  `roster_record c where c.kind = 'class' and ${isNew('c', generation)} and ${wasMissing('roster_record', 'c', 'sourced_id', generation)}`

export async function enrolmentsChanged(
  db: Db,
  place: Place,
  generation: number,
): Promise<Read<EnrolmentRow>> {
  const changed = (n: string) =>
    `select e.sourced_id from roster_enrolment e where ${isNew('e', n)}
     union all select e.sourced_id from roster_enrolment e where e.user_id in (select s.sourced_id from ${newStudents(n)})
     union all select e.sourced_id from roster_enrolment e where e.class_id in (select c.sourced_id from ${newClasses(n)})`
  const few = await isFew(db, `${changed('$1')} limit ${fewMax + 1}`, generation)
  const page = few
    ? enrolments(
        `(select distinct x.sourced_id from (${changed('$3')}) x) f cross join roster_enrolment e`,
        'e.sourced_id = f.sourced_id and f.sourced_id > $1',
      )
    : enrolments(
        'roster_enrolment e',
        `e.sourced_id > $1 and (e.from_gen + 0 > $3 or ${wasMissing('student', 's', 'person_id', '$3')}
          or ${wasMissing('roster_record', 'c', 'sourced_id', '$3')})`,
      )
  return readPage<EnrolmentRow>(db, page, place, generation)
}
