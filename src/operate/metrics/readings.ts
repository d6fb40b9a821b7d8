import { serviceState } from '../../identity/limits/limits.ts'
import type { Db } from '../../platform/db/db.ts'
import type { SharedFigures } from '../support/support.ts'

export interface Figures extends SharedFigures {
  readonly webhooks_waiting: number
  readonly first_codes_waiting: number
  readonly backup_at: number | null
}

export type FiguresDb = Pick<Db, 'one' | 'all'>

export async function readFigures(db: FiguresDb, now: number): Promise<Figures> {
  const guessing = await serviceState(db, now)
  const figures = await db.one<Omit<Figures, 'guessing'>>(
    `select
       (select count(*) from outbox where sent_at is null and waits_for is null) as unsent,
       (select min(created_at) from outbox where sent_at is null and waits_for is null) as oldest_unsent_at,
       (select count(*) from outbox where waits_for is not null) as first_codes_waiting,
       (select generation from roster_state) as roster_generation,
       (select published_at from roster_generation
        where id = (select generation from roster_state)) as roster_published_at,
       (select max(published_at) from roster_generation where kind = 'import') as roster_at,
       (select max(at) from (
          select max(published_at) as at from roster_generation where kind = 'import'
          union all select checked_at from roster_state) as checks) as roster_checked_at,
       (select tried_at from roster_fetch) as roster_fetch_at,
       (select outcome from roster_fetch) as roster_fetch_outcome,
       (select file_at from roster_fetch) as roster_file_at,
       (select max(version) from migration) as schema_version,
       (select count(*) from webhook_delivery where ended_at is null) as webhooks_waiting,
       (select max(began_at) from backup where kind = 'backup' and finished_at is not null) as backup_at`,
  )
  return { ...figures!, guessing }
}
