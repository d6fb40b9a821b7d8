import { type Db, type Statement, statement, update } from '../../../platform/db/db.ts'

/** The outcome of the last fetch, and the set that need not be fetched again. */
export interface FetchRow {
  readonly tried_at: number
  readonly outcome: string
  readonly message: string
  readonly source: string | null
  readonly mark: string | null
  readonly sha256: string | null
  readonly file_name: string | null
  readonly done_at: number | null
  /** When the newest file was written, or first seen if the source does not say. */
  readonly file_at: number | null
  readonly overdue_told_at: number | null
}

export function lastFetch(db: Pick<Db, 'one'>): Promise<FetchRow | undefined> {
  return db.one<FetchRow>(
    'select tried_at, outcome, message, source, mark, sha256, file_name, done_at, file_at, overdue_told_at from roster_fetch',
  )
}

export function fetchTried(
  tried: Pick<FetchRow, 'tried_at' | 'outcome' | 'message' | 'file_at' | 'overdue_told_at'>,
): Statement {
  return statement(
    `insert into roster_fetch (one, tried_at, outcome, message, file_at, overdue_told_at) values (1, $1, $2, $3, $4, $5)
     on conflict (one) do update set tried_at = excluded.tried_at, outcome = excluded.outcome, message = excluded.message,
       file_at = excluded.file_at, overdue_told_at = excluded.overdue_told_at`,
    tried.tried_at,
    tried.outcome,
    tried.message,
    tried.file_at,
    tried.overdue_told_at,
  )
}

export function fetchDone(
  set: Pick<FetchRow, 'source' | 'mark' | 'sha256' | 'file_name' | 'done_at'>,
): Statement {
  const { source, mark, sha256, file_name, done_at } = set
  return update('roster_fetch', { source, mark, sha256, file_name, done_at }, { one: 1 })
}
