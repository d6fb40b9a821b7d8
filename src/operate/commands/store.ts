import type { Db } from '../../platform/db/db.ts'

/** Whether the store has never had a roster. Members of staff may exist before the first one. */
export async function hasNoSchool(db: Db): Promise<boolean> {
  const something = await db.one(
    `select 1 as something where exists (select 1 from roster_generation)
       or exists (select 1 from person where role = 'student')`,
  )
  return something === undefined
}
