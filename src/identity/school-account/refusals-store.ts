import { type Db, prune, type Statement, statement } from '../../platform/db/db.ts'

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

export interface NewRefusal {
  readonly reference: string
  readonly eventId: string
  readonly at: number
  readonly providerId: string
  readonly number: string
  readonly address: string
}

export function insertRefusal(r: NewRefusal): Statement {
  return statement(
    `insert into school_refusal (reference, event_id, at, provider_id, student_number, email) values ($1, $2, $3, $4, $5, $6)
     on conflict (reference) do nothing`,
    r.reference,
    r.eventId,
    r.at,
    r.providerId,
    r.number,
    r.address,
  )
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

export function pruneRefusals(before: number): Statement {
  return prune('school_refusal', 'reference', 'at < $1', before)
}
