/** Schools, terms, courses, classes, users and roles, as documents. */
import { inGeneration, onlyIn, writtenBy } from '../../../identity/people/in-roster.ts'
import type { Db } from '../../../platform/db/db.ts'
import { lookUp, pages, pagesOf } from './pages.ts'

export interface RecordRow {
  readonly sourced_id: string
  readonly from_gen: number
  readonly data: string
}

const columns = 't.sourced_id, t.from_gen, t.data'
const table = 'roster_record'

export function recordsIn(db: Db, content: number, kind: string): AsyncGenerator<RecordRow[]> {
  return pagesOf<RecordRow>(db, content, { columns, table, where: 't.kind = $2' }, kind)
}

/** What is visible in one generation and not, or not so, in another. */
export function recordsOnlyIn(
  db: Db,
  content: number,
  other: number,
  kind: string,
): AsyncGenerator<RecordRow[]> {
  const select = { columns, table, where: 't.kind = $3' }
  return pages<RecordRow>(db, select, onlyIn('t', '$1', '$2'), [content, other, kind])
}

export interface DocumentRow {
  readonly sourced_id: string
  readonly document: string
}

/** Classes as readers get them. */
export function documentsIn(db: Db, content: number): AsyncGenerator<DocumentRow[]> {
  return pagesOf<DocumentRow>(db, content, {
    columns: 't.sourced_id, t.document',
    table,
    where: "t.kind = 'class'",
  })
}

export function recordIn(
  db: Db,
  content: number,
  kind: string,
  sourcedId: string,
): Promise<{ data: string } | undefined> {
  return db.one(
    `select t.data from roster_record t where t.kind = $2 and t.sourced_id = $3 and ${inGeneration('t', '$1')}`,
    [content, kind, sourcedId],
  )
}

export function recordsAmong(
  db: Db,
  content: number,
  kind: string,
  sourcedIds: Iterable<string>,
): Promise<RecordRow[]> {
  const sql = (list: string) =>
    `select ${columns} from roster_record t where t.kind = '${kind}' and t.sourced_id in (${list}) and ${inGeneration('t', '$1')}`
  return lookUp<RecordRow>(db, sql, content, sourcedIds)
}

export function rolesOfUsers(db: Db, content: number, userIds: Iterable<string>): Promise<RecordRow[]> {
  const sql = (list: string) =>
    `select ${columns} from roster_role t where t.user_id in (${list}) and ${inGeneration('t', '$1')}`
  return lookUp<RecordRow>(db, sql, content, userIds)
}

/** Who is a teacher by role, or has a role that begins or ends between these days, so that it may count now or no longer. */
export async function usersByRole(db: Db, content: number, from: string, to: string): Promise<string[]> {
  const rows = await db.all<{ user_id: string }>(
    `select t.user_id from roster_role t where ${inGeneration('t', '$1')} and (t.role = 'teacher'
       or t.start_date between $2 and $3 or t.end_date between $2 and $3)
     union select t.sourced_id from roster_record t
       where t.kind = 'user' and t.data like '%"role":"teacher"%' and ${inGeneration('t', '$1')}`,
    [content, from, to],
  )
  return rows.map(({ user_id }) => user_id)
}

/** Which of these, also enrolments, are not visible, but were in an earlier generation. */
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
    (list) =>
      `select distinct t.sourced_id from ${from} t.sourced_id in (${list}) and ${writtenBy('t', '$1')}`,
    content,
    sourcedIds,
  )
  return new Set(rows.map((row) => row.sourced_id))
}
