import type { Db } from '../db/db.ts'
import type { ServedRole } from '../lib/roles.ts'
import { type Person, personColumns } from '../people/people.ts'

/** Somebody whom the school serves. */
export type Client = Person<ServedRole> & { readonly student_number: string | null }

const clientColumns = `${personColumns('a')}, a.student_number`
// Everybody but staff. Not as a list of roles: SQLite would read by the index on roles, and sort everybody for each chunk.
const served = "a.role <> 'staff'"

export function clientById(db: Db, id: string): Promise<Client | undefined> {
  return db.one<Client>(`select ${clientColumns} from account a where a.id = $1 and ${served}`, [id])
}

/** In the order of their ids, closed accounts too. */
export function someClients(db: Db, after: string, limit: number): Promise<Client[]> {
  return db.all<Client>(
    `select ${clientColumns} from account a where a.id > $1 and ${served} order by a.id limit ${limit}`,
    [after],
  )
}

/** Those with exactly this address or student number. */
export async function clientsByKey(db: Db, key: string): Promise<Client[]> {
  const ids = await db.all<{ id: string }>(
    `select p.id from person p where p.role = 'veterinarian' and p.email_key = $1
     union select s.person_id from student s where s.email_key = $1 and ${onRoster}
     union select s.person_id from student s where s.student_number = $2 and ${onRoster}`,
    [key.toLowerCase(), key],
  )
  const clients = await Promise.all(ids.map(({ id }) => clientById(db, id)))
  return clients.filter((client) => client !== undefined)
}

const onRoster = `s.from_gen <= (select content from roster_state)
  and (s.to_gen is null or s.to_gen > (select content from roster_state))`

export interface Counts {
  readonly role: ServedRole
  readonly status: string
  readonly count: number
  /** The last id of all that were counted. */
  readonly last: string
}

/** Counts people in the order of their ids. */
export function countClients(db: Db, after: string, limit: number): Promise<Counts[]> {
  return db.all<Counts>(
    `select role, status, cast(count(*) as bigint) as count, max(max(id)) over () as last
     from (select a.id, a.role, a.status from account a where a.id > $1 and ${served} order by a.id limit ${limit}) chunk
     group by role, status`,
    [after],
  )
}
