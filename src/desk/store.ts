import type { Db, Value } from '../db/db.ts'
import { type ServedRole, servedRoles } from '../lib/roles.ts'
import { type Person, personColumns } from '../people/people.ts'

/** Somebody whom the school serves. */
export type Client = Person<ServedRole> & { readonly student_number: string | null }

const clientColumns = `${personColumns('a')}, a.student_number`
const served = `a.role in (${servedRoles.map((role) => `'${role}'`).join(', ')})`
const there = `${served} and a.status <> 'closed'`

export function clientById(db: Db, id: string): Promise<Client | undefined> {
  return db.one<Client>(`select ${clientColumns} from account a where a.id = $1 and ${served}`, [id])
}

/** In the order of their ids, `limit` of those with an id after `after`. */
export function someClients(db: Db, after: string, limit: number): Promise<Client[]> {
  return db.all<Client>(
    `select ${clientColumns} from account a where a.id > $1 and ${there} order by a.id limit ${limit}`,
    [after],
  )
}

/** Those with exactly this address or student number. */
export function clientsByKey(db: Db, key: string): Promise<Client[]> {
  const inRoster = `select s.person_id from student s where (s.email_key = $1 or s.student_number = $2)
    and s.from_gen <= (select content from roster_state)
    and (s.to_gen is null or s.to_gen > (select content from roster_state))`
  const params: Value[] = [key.toLowerCase(), key]
  return db.all<Client>(
    `select ${clientColumns} from account a
     where ${there} and a.id in (select p.id from person p where p.role = 'veterinarian' and p.email_key = $1 union all ${inRoster})
     order by a.id`,
    params,
  )
}
