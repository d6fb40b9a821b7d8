import { type Db, type Row, type Statement, update, type Value } from '../../platform/db/db.ts'

/**
 * A table in which jobs wait. `next_at` says when a job is due, or when its lease ends; `claimed_by` names the claim under
 * which it is worked on.
 */
export interface JobTable {
  readonly name: string
  /** The columns of its primary key. */
  readonly key: readonly string[]
  /** The columns that are read with a claim, with the key and `claimed_by`. */
  readonly columns: string
  /** Whether `attempts` counts claims, and not outcomes. */
  readonly countsClaims?: boolean
}

/** Jobs for one receiver, or of one urgency: a lane that is blocked holds up no other. */
export interface JobsOfLane {
  /** A condition, in which `$3` is the present time. Its own parameters begin with `$5`. */
  readonly where: string
  readonly params: readonly Value[]
}

export interface Claim {
  readonly by: string
  readonly now: number
  readonly leaseUntil: number
  readonly limit: number
}

/**
 * Claims due jobs by moving `next_at` to the end of the lease, so that another process takes over if this one dies. Jobs
 * that somebody else has locked are left for the next time.
 */
export async function claimJobs<Job>(
  db: Pick<Db, 'tx'>,
  table: JobTable,
  lane: JobsOfLane,
  claim: Claim,
): Promise<Job[]> {
  const key = table.key.join(', ')
  const counted = table.countsClaims ? ', attempts = attempts + 1' : ''
  const due = `select ${key} from ${table.name} where ${lane.where} and next_at <= $3 order by next_at limit $4`
  // Without the condition again, for which PostgreSQL might read all due rows.
  const claiming = (keys: string) =>
    `update ${table.name} set claimed_by = $1, next_at = $2${counted} where (${key}) in (${keys}) returning ${table.columns}`
  const [claimed] = await db.tx([
    {
      sql: claiming(due),
      postgres: `with locked as materialized (${due} for update skip locked) ${claiming(`select ${key} from locked`)}`,
      params: [claim.by, claim.leaseUntil, claim.now, claim.limit, ...lane.params],
    },
  ])
  return claimed as Job[]
}

/** Extends the lease. */
export const renew = (table: JobTable, job: Row, leaseUntil: number): Statement =>
  update(table.name, { next_at: leaseUntil }, claimOn(table, job))

/** Gives the job back until it is due. */
export const release = (table: JobTable, job: Row, nextAt: number): Statement =>
  update(table.name, { next_at: nextAt, claimed_by: null }, claimOn(table, job))

/** Another process may have claimed it since. */
const claimOn = ({ key }: JobTable, job: Row): Row =>
  Object.fromEntries([...key, 'claimed_by'].map((column) => [column, job[column]!]))
