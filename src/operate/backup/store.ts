import { type Db, type Exec, type Rows, type Statement, statement } from '../../platform/db/db.ts'

export function noteBackup(db: Db, b: { id: string; now: number; program: string; forgetBefore: number }) {
  return db.tx([
    statement('delete from backup where began_at < $1', b.forgetBefore),
    statement(
      "insert into backup (id, kind, began_at, program) values ($1, 'backup', $2, $3)",
      b.id,
      b.now,
      b.program,
    ),
  ])
}

export function noteFinished(db: Db, id: string, now: number) {
  return db.run('update backup set finished_at = $1 where id = $2', [now, id])
}

export async function lastFinished(db: Db): Promise<number | null> {
  const row = await db.one<{ at: number | null }>(
    "select max(began_at) as at from backup where kind = 'backup' and finished_at is not null",
  )
  return row?.at ?? null
}

/** The newest recorded backup is the one that this store was restored from; it has no end in the copy. */
export function noteRestoration(id: string, now: number, program: string): Statement[] {
  return [
    statement(
      `update backup set finished_at = began_at where finished_at is null
         and began_at = (select max(began_at) from backup where kind = 'backup')`,
    ),
    statement(
      "insert into backup (id, kind, began_at, finished_at, program) values ($1, 'restore', $2, $2, $3)",
      id,
      now,
      program,
    ),
  ]
}

/** Open sign-ins, their mails, signing keys and leases. */
export const dropPassing: readonly Statement[] = [
  statement('delete from challenge'),
  statement("delete from outbox where session_id <> ''"),
  statement('delete from signing_key'),
  statement('delete from rsa_signing_key'),
  statement('delete from lease'),
]

export function skipEventNumbers(count: number): Statement {
  return statement('update event_counter set last = last + $1', count)
}

export async function contents(db: Db): Promise<{ people: number; lastEventAt: number | null }> {
  const row = await db.one<{ people: number; last: number | null }>(
    'select (select count(*) from person) as people, (select max(at) from event) as last',
  )
  return { people: Number(row?.people ?? 0), lastEventAt: row?.last ?? null }
}

/** How many other connections of Chiron the PostgreSQL server has for this database. */
export async function othersConnected(db: Db): Promise<number> {
  const row = await db.one<{ others: number }>(
    `select count(*) as others from pg_stat_activity
     where datname = current_database() and application_name = 'chiron' and pid <> pg_backend_pid()`,
  )
  return Number(row!.others)
}

const ownTables = `select c.relname as name, case when c.relkind = 'v' then 'view' else 'table' end as kind
  from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'v') and c.relname <> 'restoring'
  order by c.relkind desc`

const tablesIn = async (rows: Rows) => (await rows(ownTables)) as { name: string; kind: 'table' | 'view' }[]

/** Moves the tables of a PostgreSQL store aside. Until `restored`, a table marks the store as incomplete. */
export async function putAside(exec: Exec, rows: Rows): Promise<void> {
  if (await isRestoring(rows)) return dropTables(exec, rows)
  await exec('drop schema if exists replaced cascade; create schema replaced')
  for (const { name } of await tablesIn(rows)) await exec(`alter table public."${name}" set schema replaced`)
  await exec('create table public.restoring (one integer)')
}

export async function putBack(exec: Exec, rows: Rows): Promise<void> {
  await dropTables(exec, rows)
  const names = (await rows(ownTables.replace("'public'", "'replaced'"))) as { name: string }[]
  for (const { name } of names) await exec(`alter table replaced."${name}" set schema public`)
  await exec('drop schema replaced; drop table public.restoring')
}

/** From here on the store is complete. */
export const restored = statement('drop table public.restoring')

async function isRestoring(rows: Rows): Promise<boolean> {
  const found = await rows("select 1 as found where to_regclass('public.restoring') is not null")
  return found.length > 0
}

async function dropTables(exec: Exec, rows: Rows): Promise<void> {
  for (const { name, kind } of await tablesIn(rows)) await exec(`drop ${kind} public."${name}" cascade`)
}
