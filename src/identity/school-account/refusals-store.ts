import { type Db, insertion, prune, type Statement } from '../../platform/db/db.ts'

export interface RefusalRow {
  readonly reference: string
  readonly at: number
  readonly student_number: string
  readonly email: string
  /** Those of its event. */
  readonly data: string
  readonly person_id: string | null
  /** Null if the provider was removed. */
  readonly provider_name: string | null
}

interface NewRefusal extends Pick<RefusalRow, 'reference' | 'at' | 'student_number' | 'email'> {
  readonly event_id: string
  readonly provider_id: string
}

export function insertRefusal(refusal: NewRefusal): Statement {
  const { sql, params } = insertion('school_refusal', { ...refusal })
  return { sql: `${sql} on conflict (reference) do nothing`, params }
}

/** The newest first; with `words`, those with this reference, number or address. */
export function refusalsFor(db: Db, words: string, limit: number): Promise<RefusalRow[]> {
  const reference = words.toUpperCase().replace(/[^A-Z]/g, '')
  const spelled = reference.replace(/(...)(?=.)/g, '$1-')
  const found = words === '' ? 'true' : '(r.reference = $2 or r.student_number = $3 or lower(r.email) = $4)'
  const params = words === '' ? [] : [spelled, words, words.toLowerCase()]
  return db.all<RefusalRow>(
    `select r.reference, r.at, r.student_number, r.email, e.data, e.person_id, v.name as provider_name
     from (select r.* from school_refusal r where ${found} order by r.at desc, r.reference limit $1) r
     join event e on e.id = r.event_id
     left join provider v on v.id = r.provider_id
     order by r.at desc, r.reference`,
    [limit, ...params],
  )
}

export const pruneRefusals = (before: number) => prune('school_refusal', 'reference', 'at < $1', before)
