/** The doctor's queries. All of them work on a read-only connection. */
import type { Db } from '../../platform/db/db.ts'
import { firstIdAt } from '../../platform/lib/random.ts'

type Reads = Pick<Db, 'all' | 'one'>

export async function sqliteFacts(db: Reads): Promise<{ version: string; damage: string | null }> {
  const version = await db.one<{ version: string }>('select sqlite_version() as version')
  const check = await db.all<{ quick_check: string }>('pragma quick_check(1)')
  const result = check[0]?.quick_check ?? 'no answer'
  return { version: version!.version, damage: result === 'ok' ? null : result }
}

export interface PostgresFacts {
  readonly version: string
  readonly number: number
  readonly encrypted: number
  readonly connections: number
  readonly connections_max: number
  readonly role: string
  readonly database: string
  readonly may_create: number
  readonly others_tables: number
  /** Milliseconds; 0 for none. */
  readonly statement_timeout: number
  /** Epoch milliseconds, by the clock of the server. */
  readonly now: number
}

export async function postgresFacts(db: Reads): Promise<PostgresFacts> {
  const facts = await db.one<PostgresFacts>(
    `select current_setting('server_version') as version,
       cast(current_setting('server_version_num') as integer) as number,
       (select case when ssl then 1 else 0 end from pg_stat_ssl where pid = pg_backend_pid()) as encrypted,
       (select count(*) from pg_stat_activity) as connections,
       cast(current_setting('max_connections') as integer) as connections_max,
       current_user as role,
       current_database() as database,
       case when has_schema_privilege(current_schema(), 'create') then 1 else 0 end as may_create,
       (select count(*) from pg_class where relkind = 'r' and not pg_has_role(relowner, 'usage')
          and relnamespace = (select oid from pg_namespace where nspname = current_schema())) as others_tables,
       (select cast(setting as integer) from pg_settings where name = 'statement_timeout') as statement_timeout,
       cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as now`,
  )
  return facts!
}

export interface KeyRow {
  readonly kid: string
  readonly sealed: string
  readonly created_at: number
}

/** How many are failing, and how many the service has switched off. */
export async function failingWebhooks(db: Reads): Promise<{ failing: number; off: number }> {
  const row = await db.one<{ failing: number; off: number }>(
    `select (select count(*) from webhook where disabled_at is null and failures > 0) as failing,
       (select count(*) from webhook where disabled_at is not null and disabled_because <> 'operator') as off`,
  )
  return row!
}

export function keyRows(db: Reads): Promise<KeyRow[]> {
  return db.all<KeyRow>(`select kid, sealed, created_at from signing_key
     union all select kid, sealed, created_at from rsa_signing_key order by created_at`)
}

export function passkeyCounts(db: Reads): Promise<{ rp_id: string; count: number }[]> {
  return db.all('select rp_id, cast(count(*) as bigint) as count from passkey group by rp_id order by rp_id')
}

/** An unfinished import, and whether it is still running. */
export async function unfinishedImport(
  db: Reads,
  now: number,
): Promise<{ startedAt: number; isRunning: boolean } | null> {
  const row = await db.one<{ started_at: number; leased_until: number }>(
    `select g.started_at, s.leased_until from roster_generation g, roster_state s
     where g.published_at is null order by g.id desc limit 1`,
  )
  return row ? { startedAt: row.started_at, isRunning: row.leased_until > now } : null
}

export interface LateCodes {
  readonly domain: string
  /** Whether they wait, or waited, for the budget of the whole service. */
  readonly overall: 0 | 1
  readonly waiting: number
  readonly dropped: number
}

/** First codes that wait for a budget, and those dropped `since`, of the domains with most of them. */
export function lateCodes(
  db: Reads,
  { why, overall, queue }: { why: string; overall: string; queue: string },
  since: number,
  limit: number,
): Promise<LateCodes[]> {
  // The states are written as in an index.
  return db.all<LateCodes>(
    `select domain, overall, cast(sum(waiting) as bigint) as waiting, cast(sum(1 - waiting) as bigint) as dropped from (
       select d.domain, case o.waits_for when $4 then 1 else 0 end as overall, 1 as waiting
       from outbox o join delivery d on d.id = o.id where o.waits_for is not null
       union all
       select domain, case when steps like $5 then 1 else 0 end, 0 from delivery
       where state in ('deferred', 'not-sent', 'failed', 'bounced')
         and state = 'not-sent' and id >= $1 and steps like $2) late
     group by domain, overall order by waiting desc, dropped desc, domain, overall limit $3`,
    [firstIdAt(since), `%${why}%`, limit, queue, `%${overall}%`],
  )
}

/** The state of buckets: taking from a bucket changes its value. */
export async function bucketMarks(db: Reads, keys: readonly string[]): Promise<Map<string, string>> {
  const rows = await db.all<{ key: string; mark: string }>(
    `select key, mark from bucket where key in (${keys.map((_key, i) => `$${i + 1}`).join(', ')})`,
    keys,
  )
  return new Map(rows.map(({ key, mark }) => [key, mark]))
}
