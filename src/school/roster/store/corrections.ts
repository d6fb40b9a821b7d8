import { inGeneration } from '../../../identity/people/in-roster.ts'
import type { Db } from '../../../platform/db/db.ts'

/** Null: as the file has it. */
export interface CorrectionRow {
  readonly person_id: string
  readonly from_gen: number
  readonly email: string | null
  readonly firstname: string | null
  readonly lastname: string | null
  readonly actor: string
  readonly corrected_at: number
}

export function correctionsIn(db: Db, content: number): Promise<CorrectionRow[]> {
  return db.all<CorrectionRow>(
    `select t.person_id, t.from_gen, t.email, t.firstname, t.lastname, t.actor, t.corrected_at from roster_correction t
     where ${inGeneration('t', '$1')} order by t.corrected_at, t.person_id`,
    [content],
  )
}
