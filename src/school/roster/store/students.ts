/** Students as they sign in and see themselves, those who may not sign in, and whose account is whose. */
import { closedBy, inGeneration } from '../../../identity/people/in-roster.ts'
import type { Db } from '../../../platform/db/db.ts'
import { lookUp, pagesOf } from './pages.ts'

/** Null where the file says nothing. */
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

export const studentColumns =
  `person_id, from_gen, sourced_id, digest, email, email_key, firstname, lastname, preferred_name,
  pronouns, student_number, year, school_id, school_name`.replaceAll(/\w+/g, 't.$&')

export function studentsIn(db: Db, content: number): AsyncGenerator<StudentVersion[]> {
  return pagesOf<StudentVersion>(db, content, { columns: studentColumns, table: 'student' })
}

export function studentIn(db: Db, content: number, personId: string): Promise<StudentVersion | undefined> {
  return db.one<StudentVersion>(
    `select ${studentColumns} from student t where t.person_id = $2 and ${inGeneration('t', '$1')}`,
    [content, personId],
  )
}

export function studentsAmong(
  db: Db,
  content: number,
  column: 'person_id' | 'email_key',
  values: Iterable<string>,
): Promise<StudentVersion[]> {
  const sql = (list: string) =>
    `select ${studentColumns} from student t where t.${column} in (${list}) and ${inGeneration('t', '$1')}`
  return lookUp<StudentVersion>(db, sql, content, values)
}

export function studentsWithoutAddress(db: Db, content: number): Promise<StudentVersion[]> {
  return db.all<StudentVersion>(
    `select ${studentColumns} from student t where t.email_key is null and ${inGeneration('t', '$1')}`,
    [content],
  )
}

export async function addressesIn(db: Db, content: number): Promise<string[]> {
  const sql = `select t.email_key from student t where t.email_key is not null and ${inGeneration('t', '$1')}`
  return (await db.all<{ email_key: string }>(sql, [content])).map(({ email_key }) => email_key)
}

/** Address → sourcedId of the student who has it or, if nobody does, who had it last. */
export async function ownersAmong(
  db: Db,
  content: number,
  addressKeys: Iterable<string>,
): Promise<Map<string, string>> {
  const isGone = closedBy('t', '$1')
  const rows = await lookUp<{ sourced_id: string; email_key: string }>(
    db,
    (list) => `select t.sourced_id, t.email_key from student t
      where t.email_key in (${list}) and (${isGone} or (${inGeneration('t', '$1')}))
      order by case when ${isGone} then t.to_gen else 2147483647 end`,
    content,
    addressKeys,
  )
  return new Map(rows.map((row) => [row.email_key, row.sourced_id]))
}

export interface DisabledVersion {
  readonly person_id: string
  readonly from_gen: number
  readonly sourced_id: string
  readonly digest: string
}

/** Students whom the roster has, but who may not sign in. */
export function disabledIn(db: Db, content: number): Promise<DisabledVersion[]> {
  return db.all<DisabledVersion>(
    `select t.person_id, t.from_gen, t.sourced_id, t.digest from disabled_student t where ${inGeneration('t', '$1')}`,
    [content],
  )
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
