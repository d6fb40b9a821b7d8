import {
  accounts,
  inRoster,
  type LostBy,
  type Person,
  personList,
  type Status,
} from '../../identity/people/people.ts'
import type { Db, Value } from '../../platform/db/db.ts'
import type { ServedRole } from '../../roles.ts'

/** Somebody whom the school serves. */
export interface Client extends Person<ServedRole> {
  readonly student_number: string | null
  /** When a change cleared the verification, and what changed; null once staff have verified again. */
  readonly unverified_at: number | null
  readonly unverified_because: LostBy | null
}

const clientColumns = `${personList('a')}, a.student_number, a.unverified_at, a.unverified_because`
// Everybody but staff. Not as a list of roles: SQLite would read by the index on roles, and sort everybody for each chunk.
const served = "a.role <> 'staff'"

export function clientById(db: Db, id: string): Promise<Client | undefined> {
  return db.one<Client>(`select ${clientColumns} from ${accounts} a where a.id = $1 and ${served}`, [id])
}

/** A part of all people, by their ids. */
export interface Range {
  readonly after: string
  /** The last one; undefined for no upper bound. */
  readonly upTo: string | undefined
}

export interface Wanted {
  /** Folded; each must be part of a name, the address or the number. */
  readonly words: readonly string[]
  readonly role: ServedRole | undefined
  readonly status: string | undefined
  readonly verified: Verified | undefined
}

/** For veterinarians: verified, not verified, or to be verified again. */
export const verifiedStates = ['true', 'false', 'lost'] as const
export type Verified = (typeof verifiedStates)[number]

const isVerified: Record<Verified, (t: string) => string> = {
  true: (t) => `${t}.verified_at is not null`,
  false: (t) => `${t}.verified_at is null`,
  lost: (t) => `${t}.unverified_at is not null`,
}

/** How many people one statement scans, in about ten milliseconds. */
const rangeSize = 10_000

/** SQLite works in the service's own thread and must not keep it long; PostgreSQL looks through everybody at once. */
export async function endOfRange(db: Db, after: string): Promise<string | undefined> {
  if (db.engine === 'postgres') return undefined
  const sql = `select p.id from person p where p.id > $1 order by p.id limit 1 offset ${rangeSize - 1}`
  return (await db.one<{ id: string }>(sql, [after]))?.id
}

/** In the order of their ids, without closed accounts. */
export async function findClients(db: Db, range: Range, wanted: Wanted, limit: number): Promise<Client[]> {
  const params: Value[] = []
  const param = (value: Value) => `$${params.push(value)}`
  const after = param(range.after)
  const upTo = range.upTo === undefined ? undefined : param(range.upTo)
  const isIn = (id: string) => `${id} > ${after}${upTo === undefined ? '' : ` and ${id} <= ${upTo}`}`
  const { words, role, verified } = wanted
  const isSo = (t: string) => (verified === undefined ? 'true' : isVerified[verified](t))
  const status = wanted.status === undefined ? "<> 'closed'" : `= ${param(wanted.status)}`
  if (words.length === 0) {
    const isRole = role === undefined ? 'true' : `a.role = ${param(role)}`
    return db.all<Client>(
      `select ${clientColumns} from ${accounts} a where ${isIn('a.id')} and ${served} and a.status ${status} and ${isRole} and ${isSo('a')}
       order by a.id limit ${param(limit)}`,
      params,
    )
  }
  const patterns = words.map((word) => param(`%${word.replaceAll(/[\\%_]/g, '\\$&')}%`))
  const has = (text: string) =>
    patterns.map((pattern) => `(${text}) like ${pattern} escape '\\'`).join(' and ')
  const isStatus =
    wanted.status === undefined
      ? 'true'
      : `exists (select 1 from person p where p.id = s.person_id and p.status ${status})`
  // Not through the view, which would look up each student separately. Only students on the roster have a name.
  const matching = {
    student: `select s.person_id as id from student s
      where ${isIn('s.person_id')} and ${inRoster('s')} and ${isStatus}
        and ${has(`${nameKeys('s')} || ' ' || lower(coalesce(s.student_number, ''))`)}`,
    veterinarian: `select p.id from person p
      where ${isIn('p.id')} and p.role <> 'staff' and p.status ${status} and ${isSo('p')} and ${has(nameKeys('p'))}`,
  }
  const parts = role === undefined ? Object.values(matching) : [matching[role]]
  const sql = `${parts.join(' union all ')} order by id limit ${param(limit)}`
  return clientsById(db, await db.all<{ id: string }>(sql, params))
}

const nameKeys = (t: string) =>
  `${t}.firstname_key || ' ' || ${t}.lastname_key || ' ' || coalesce(${t}.email_key, '')`

/** Those with exactly this address, student number or id. */
export async function clientsByKey(db: Db, key: string): Promise<Client[]> {
  const ids = await db.all<{ id: string }>(
    `select p.id from person p where p.role = 'veterinarian' and p.email_key = $1
     union select s.person_id from student s where s.email_key = $1 and ${inRoster('s')}
     union select s.person_id from student s where s.student_number = $2 and ${inRoster('s')}
     union select p.id from person p where p.id = $2`,
    [key.toLowerCase(), key],
  )
  return clientsById(db, ids)
}

async function clientsById(db: Db, ids: readonly { readonly id: string }[]): Promise<Client[]> {
  const clients = await Promise.all(ids.map(({ id }) => clientById(db, id)))
  return clients.filter((client) => client !== undefined)
}

export interface Counts {
  readonly role: ServedRole
  readonly status: Status<ServedRole>
  readonly count: number
  /** The last id of all that were counted. */
  readonly last: string
}

/** Veterinarians whom staff have to verify again. */
export async function countUnverified(db: Db): Promise<number> {
  const sql = 'select cast(count(*) as bigint) as count from person where unverified_at is not null'
  return (await db.one<{ count: number }>(sql))!.count
}

/** Whether any student is on the roster, so that one can sign in. */
export async function hasStudents(db: Db): Promise<boolean> {
  return (await db.one(`select 1 as one from student s where ${inRoster('s')} limit 1`)) !== undefined
}

/** Counts people in the order of their ids. */
export function countClients(db: Db, after: string, limit: number): Promise<Counts[]> {
  return db.all<Counts>(
    `select role, status, cast(count(*) as bigint) as count, max(max(id)) over () as last
     from (select a.id, a.role, a.status from ${accounts} a where a.id > $1 and ${served} order by a.id limit $2) chunk
     group by role, status`,
    [after, limit],
  )
}
