/**
 * A lease on work that only one process may do at a time. A dead process loses it when it expires, or when the clock
 * was set back and the expiry is too far ahead.
 */
import { clockSlackMs } from '../lib/clock.ts'
import type { Db } from './db.ts'

/** Takes the lease or extends it. False if somebody else has it. */
export async function takeLease(
  db: Db,
  lease: { name: string; by: string; now: number; until: number },
): Promise<boolean> {
  const taken = await db.run(
    `insert into lease (name, leased_by, leased_until) values ($1, $2, $3)
     on conflict (name) do update set leased_by = excluded.leased_by, leased_until = excluded.leased_until
       where lease.leased_by = excluded.leased_by or lease.leased_until <= $4 or lease.leased_until > $5
     returning name`,
    [lease.name, lease.by, lease.until, lease.now, lease.until + clockSlackMs],
  )
  return taken.length > 0
}

export function dropLease(db: Db, name: string, by: string) {
  return db.run('delete from lease where name = $1 and leased_by = $2', [name, by])
}
