import type { Db } from '../db/db.ts'

const visible = (alias: string) =>
  `${alias}.from_gen <= (select content from roster_state) and (${alias}.to_gen is null or ${alias}.to_gen > (select content from roster_state))`

export interface StudentRow {
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
  /** JSON, as made by the import; null in the one row of a student without classes. */
  readonly document: string | null
  readonly start_date: string | null
  readonly end_date: string | null
  readonly class_updated_at: number | null
}

/**
 * A student with all classes: one statement, so one round trip and one roster, by the index on the student alone.
 * No row if the student is not on the roster.
 */
export function studentWithClasses(db: Db, personId: string): Promise<(StudentRow & ClassRow)[]> {
  return db.all<StudentRow & ClassRow>(
    `select s.person_id, s.email, s.firstname, s.lastname, s.preferred_name, s.pronouns, s.student_number, s.year,
       s.school_id, s.school_name, s.updated_at as student_updated_at,
       c.document, e.start_date, e.end_date, c.updated_at as class_updated_at
     from student s
     left join roster_enrolment e on e.user_id = s.sourced_id and e.role = 'student' and ${visible('e')}
     left join roster_record c on c.kind = 'class' and c.sourced_id = e.class_id and ${visible('c')}
     where s.person_id = $1 and ${visible('s')}`,
    [personId],
  )
}

/** Who on the roster has this address. */
export async function personIdByAddress(db: Db, addressKey: string): Promise<string | undefined> {
  const row = await db.one<{ person_id: string }>(
    `select s.person_id from student s where s.email_key = $1 and ${visible('s')}`,
    [addressKey],
  )
  return row?.person_id
}
