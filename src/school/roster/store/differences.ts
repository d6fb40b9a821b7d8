/** What differs between two generations of one line. */
import { addedBetween, closedBetween, inGeneration, onlyIn } from '../../../identity/people/in-roster.ts'
import type { Db } from '../../../platform/db/db.ts'
import { pageSize, pagesFrom } from './pages.ts'
import { type StudentVersion, studentColumns, studentsAmong } from './students.ts'

/** The table and key of a kind; other kinds are in one table. */
function placeOf(kind: string): { table: string; key: string; where: string } {
  if (kind === 'student') return { table: 'student', key: 'person_id', where: 'true' }
  if (kind === 'enrolment') return { table: 'roster_enrolment', key: 'sourced_id', where: 'true' }
  return { table: 'roster_record', key: 'sourced_id', where: `t.kind = '${kind}'` }
}

/** Pages of the keys of rows that differ, from `after` on. */
export async function* differingIds(
  db: Db,
  { from, to }: { from: number; to: number },
  kind: string,
  after: string,
): AsyncGenerator<string[]> {
  const { table, key, where } = placeOf(kind)
  const sql = `select distinct t.${key} as id from ${table} t
       where ${where} and ((${onlyIn('t', '$1', '$2')}) or (${onlyIn('t', '$2', '$1')})) and t.${key} > $3
       order by t.${key} limit ${pageSize}`
  const read = (last: string) => db.all<{ id: string }>(sql, [from, to, last])
  for await (const page of pagesFrom(after, ({ id }) => id, read)) yield page.map(({ id }) => id)
}

/** How many records of a kind differ. */
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
       where ${of}o.sourced_id = t.sourced_id and ${inGeneration('o', content)} and ${condition})`
  const row = await db.one<{ n: number }>(
    `select cast(count(*) as bigint) as n from ${table} t where ${where} and (
       (${onlyIn('t', '$2', '$1')} and not ${hasOther('$1', isSame)}) or
       (${onlyIn('t', '$1', '$2')} and not ${hasOther('$2', 'true')}))`,
    [from, to],
  )
  return row!.n
}

export interface StudentDifference {
  readonly before: StudentVersion | null
  readonly after: StudentVersion | null
}

/** Every student who differs, in pages: `before` in the first generation, `after` in the second. */
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
  const came = (t: string) => addedBetween(t, '$1', '$2')
  const went = closedBetween('t', '$1', '$2')
  const here = `select ${studentColumns} from student t
    where ${came('t')} and t.person_id > $3 order by t.person_id limit ${pageSize}`
  for await (const page of studentPages(db, here, [earlier, later])) {
    const people = page.map(({ person_id }) => person_id)
    const before = await studentsAmong(db, earlier, 'person_id', people)
    const byPerson = new Map(before.map((row) => [row.person_id, row]))
    yield page.map((student) => ({ before: student, after: byPerson.get(student.person_id) ?? null }))
  }
  const gone = `select ${studentColumns} from student t where ${went} and t.person_id > $3
    and not exists (select 1 from student n where n.person_id = t.person_id and ${came('n')})
    order by t.person_id limit ${pageSize}`
  for await (const page of studentPages(db, gone, [earlier, later]))
    yield page.map((student) => ({ before: null, after: student }))
}

function studentPages(db: Db, sql: string, params: readonly number[]): AsyncGenerator<StudentVersion[]> {
  const read = (last: string) => db.all<StudentVersion>(sql, [...params, last])
  return pagesFrom('', ({ person_id }) => person_id, read)
}
