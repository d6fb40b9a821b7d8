/** Which roster is visible, and who may write the next one. */
import { type Db, type Row, type Statement, statement } from '../../../platform/db/db.ts'
import { lockOne, type Outcome, readOne } from '../../../platform/db/decision.ts'
import { clockSlackMs } from '../../../platform/lib/clock.ts'

export interface StateRow {
  readonly content: number
  readonly generation: number
  readonly leased_by: string | null
  readonly leased_until: number
  /** The earliest generation that can be gone back to: those before it are folded into it. */
  readonly folded: number
  /** The roster that the last undo left, while it can be redone. */
  readonly redo: number | null
}

/** The roster that a plan was made against. */
export type Seen = Pick<StateRow, 'content' | 'generation'>

/** Programs before schema 0026 clear the rows at their next import, and leave the number. */
const redo = `(select r.redo from roster_state r where r.redo > r.content and not exists (
  select 1 from roster_generation g where g.id > r.redo and g.kind <> 'undo' and g.published_at is not null))`

/** The newest generation whose rows stay: the visible one, or one that can be redone. */
export const kept = `(select coalesce(${redo}, content) from roster_state)`

export async function rosterState(db: Db): Promise<StateRow> {
  return (await db.one<StateRow>(
    `select content, generation, leased_by, leased_until, folded, ${redo} as redo from roster_state`,
  ))!
}

/** From now on, nothing can be redone. */
export function forgetRedo(): Statement {
  return statement('update roster_state set redo = null')
}

/** The roster was compared with the school's file, and nothing changed. */
export function rosterChecked(now: number): Statement {
  return statement('update roster_state set checked_at = $1', now)
}

export interface LockedState extends Pick<StateRow, 'content' | 'generation' | 'folded' | 'leased_by'> {
  /** The highest number that was ever given. */
  readonly last_generation: number
}

export const lockState = () =>
  lockOne<LockedState>(
    'roster',
    'select content, generation, folded, leased_by, last_generation from roster_state where one = 1',
  )

/** During an upgrade, an older version that does not update last_generation may have been importing. */
export const readHighest = () =>
  readOne<{ id: number }>('select coalesce(max(id), 0) as id from roster_generation')

/** The right to write; see apply/lease.ts. */
export interface Lease {
  /** Atomic like `Db.tx`; fails if the lease was lost. Returns the rows of all statements. */
  write(statements: readonly Statement[]): Promise<Row[]>
  /** As `Db.stage`; fails if the lease was lost. */
  stage(statements: Iterable<Statement>): Promise<void>
  /** As `Db.decide`, with the roster locked; fails if the lease was lost. */
  decide<T>(rule: (state: LockedState) => Outcome<T>): Promise<T>
}

/** Returns whether it was free or expired, or was written by a clock that was ahead. */
export async function takeLease(db: Db, by: string, now: number, until: number): Promise<boolean> {
  const rows = await db.run(
    `update roster_state set leased_by = $1, leased_until = $2, writer = null
     where leased_until <= $3 or leased_until > $4 returning content`,
    [by, until, now, until + clockSlackMs],
  )
  return rows.length > 0
}

/**
 * The first statement of every transaction that writes a roster. If another process has the lease, the table's check on
 * `writer` makes it fail. Otherwise the row stays locked, so nobody can take the lease before the transaction ends.
 */
export function renewLease(by: string, until: number): Statement {
  return statement('update roster_state set writer = $1, leased_until = $2', by, until)
}

const leaseLost = 'roster_hold_lost'

export function isLeaseLost(error: unknown): boolean {
  return error instanceof Error && error.message.includes(leaseLost)
}

export function release(db: Db, by: string) {
  return db.run(
    'update roster_state set leased_by = null, leased_until = 0, writer = null where leased_by = $1',
    [by],
  )
}
