/** Deletes rows that no roster needs: of old generations, and of those that were unfinished or undone. */
import { setTimeout as pause } from 'node:timers/promises'
import { closedAfter, closedBy, writtenAfter, writtenBy } from '../../../identity/people/in-roster.ts'
import { type Db, prune, type Statement, statement } from '../../../platform/db/db.ts'
import { kept, type Lease } from './state.ts'

/** The tables whose rows belong to generations, with their keys. */
const versioned = [
  ['roster_record', 'kind, sourced_id, from_gen'],
  ['roster_enrolment', 'sourced_id, from_gen'],
  ['student', 'person_id, from_gen'],
  ['disabled_student', 'person_id, from_gen'],
  ['roster_correction', 'person_id, from_gen'],
] as const

/**
 * Folds old generations away, some rows at a time. Those that led to the visible roster stay if they are among the newest
 * imports or were published after `keptSince`, and so does the one before them, to go back to.
 */
export function foldGenerations(keptSince: number, keptImports: number): Statement[] {
  const earliestKept = `with recursive line (id, parent, published_at, imports) as (
      select g.id, g.parent, g.published_at, case when g.kind = 'import' then 1 else 0 end
      from roster_generation g join roster_state s on s.content = g.id
      union all
      select g.id, g.parent, g.published_at, line.imports + case when g.kind = 'import' then 1 else 0 end
      from roster_generation g join line on g.id = line.parent
    )
    select min(parent) from line where imports <= $1 or published_at > $2`
  const folded = '(select folded from roster_state)'
  return [
    statement(
      `update roster_state set folded = (${earliestKept}) where folded < (${earliestKept})`,
      keptImports,
      keptSince,
    ),
    ...versioned.map(([table, key]) => prune(table, key, closedBy(table, folded))),
    prune('roster_departure', 'generation, person_id', `generation <= ${folded}`),
  ]
}

interface Clearing {
  readonly table: string
  readonly key: string
  readonly where: string
  /** Deletes if not given. */
  readonly change?: string
}

const pauseMs = 5
const unpublished = '(select id from roster_generation where published_at is null)'

/** An unfinished or undone generation leaves its own rows, and `to_gen` on the rows it replaced. */
const versions: readonly Clearing[] = versioned.flatMap(([table, key]) => [
  { table, key, where: writtenAfter(table, kept) },
  { table, key, where: closedAfter(table, kept), change: `update ${table} set to_gen = null` },
])
/** Accounts that such a generation created for disabled students. */
const strangers: Clearing = {
  table: 'person',
  key: 'id',
  where: `id in (select d.person_id from disabled_student d where ${writtenAfter('d', kept)}
    and not exists (select 1 from disabled_student o where o.person_id = d.person_id and ${writtenBy('o', kept)})
    and not exists (select 1 from student_identity i where i.person_id = d.person_id))`,
}
const unseen: readonly Clearing[] = [
  // Of a generation that was undone: the next import may decide otherwise.
  {
    table: 'student_identity',
    key: 'sourced_id',
    where: `matched_from is not null and generation > ${kept}`,
  },
  { table: 'event', key: 'id', where: `generation in ${unpublished}` },
  { table: 'roster_departure', key: 'generation, person_id', where: `generation in ${unpublished}` },
]

/** Removes what an unfinished or undone generation wrote, in short batches, except what can be redone. */
export async function clearLeftovers(db: Db, lease: Lease, batch: number): Promise<void> {
  const clear = async ({ table, key, where, change = `delete from ${table}` }: Clearing) => {
    const sql = `${change} where (${key}) in (select ${key} from ${table} where ${where} limit ${batch}) returning 1 as one`
    while ((await lease.write([statement(sql)])).length === batch) await pause(pauseMs)
  }
  for (const some of [strangers, ...versions]) await clear(some)
  await clearNewcomers(db, lease, batch)
  for (const some of unseen) await clear(some)
  await lease.write([statement('delete from roster_generation where published_at is null')])
}

/** People who were written but never appeared on a published roster. */
async function clearNewcomers(db: Db, lease: Lease, batch: number): Promise<void> {
  for (;;) {
    const people = await db.all<{ person_id: string }>(
      `select person_id from student_identity where generation in ${unpublished} and matched_from is null limit ${batch}`,
    )
    await lease.write(
      people.flatMap(({ person_id }) => [
        statement('delete from student_identity where person_id = $1', person_id),
        statement(
          `delete from person where id = $1
             and not exists (select 1 from disabled_student d where d.person_id = person.id)`,
          person_id,
        ),
      ]),
    )
    if (people.length < batch) return
    await pause(pauseMs)
  }
}
