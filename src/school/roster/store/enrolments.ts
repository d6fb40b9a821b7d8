import { inGeneration, onlyIn } from '../../../identity/people/in-roster.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { EnrolmentData } from '../records.ts'
import { lookUp, pages, pagesOf } from './pages.ts'

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

const columns =
  't.sourced_id, t.from_gen, t.user_id, t.class_id, t.school_id, t.role, t.is_primary, t.start_date, t.end_date'
const select = { columns, table: 'roster_enrolment' }

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
  return pagesOf<EnrolmentRow>(db, content, select)
}

/** What is visible in one generation and not, or not so, in another. */
export function enrolmentsOnlyIn(db: Db, content: number, other: number): AsyncGenerator<EnrolmentRow[]> {
  return pages<EnrolmentRow>(db, select, onlyIn('t', '$1', '$2'), [content, other])
}

export function enrolmentsAmong(
  db: Db,
  content: number,
  column: 'sourced_id' | 'user_id',
  values: Iterable<string>,
): Promise<EnrolmentRow[]> {
  const sql = (list: string) =>
    `select ${columns} from roster_enrolment t where t.${column} in (${list}) and ${inGeneration('t', '$1')}`
  return lookUp<EnrolmentRow>(db, sql, content, values)
}

export function teachingIn(db: Db, content: number): Promise<EnrolmentRow[]> {
  return db.all<EnrolmentRow>(
    `select ${columns} from roster_enrolment t where t.role = 'teacher' and ${inGeneration('t', '$1')}`,
    [content],
  )
}

/** How many students are enrolled in each class. */
export function classSizes(db: Db, content: number): Promise<{ class_id: string; n: number }[]> {
  return db.all(
    `select t.class_id, count(*) as n from roster_enrolment t
     where t.role = 'student' and ${inGeneration('t', '$1')} group by t.class_id`,
    [content],
  )
}
