/** Going back to what the roster was, and forward again to what the last undos left. */
import { UsageError } from '../../errors.ts'
import { type EventType, stagedEvent } from '../../messages/events/events.ts'
import type { Db } from '../../platform/db/db.ts'
import { folded } from '../../platform/lib/folded.ts'
import { newId } from '../../platform/lib/random.ts'
import type { Writing } from './apply/apply.ts'
import type { Hold } from './checks/checks.ts'
import { type Change, studentChange } from './compare/compare.ts'
import type { Planner } from './plan.ts'
import type { RowWrite } from './rows.ts'
import { differencesBetween, type StudentDifference } from './store/differences.ts'
import { type GenerationRow, generationById, lineageOf, publishedGenerations } from './store/generations.ts'
import { rosterState, type Seen, type StateRow } from './store/state.ts'
import { Workbench } from './workbench/workbench.ts'

export const historyMax = 100

export interface UndoPlan {
  /** The undone generations, newest first; for a redo, the undo itself. */
  readonly undone: readonly GenerationRow[]
  /** The roster that the plan was made against. */
  readonly seen: Seen
  /** The generation that is visible afterwards. */
  readonly content: number
  readonly counts: { leaving: number; returning: number; changed: number }
  /** What must be allowed by name, as for an import. */
  readonly holds: readonly Hold[]
  /** The students who leave, come back or change. */
  changes(): Generator<Change>
  /** The same, as they are kept. */
  differences(): Generator<StudentDifference>
}

/** The current roster, and the numbers that can be gone to; 0 is the empty roster. */
export async function reachableNow(db: Db): Promise<Seen & { readonly reachable: readonly number[] }> {
  const state = await rosterState(db)
  const { earlier, later } = await around(db, state)
  const { content, generation, folded } = state
  return { content, generation, reachable: [...later, ...earlier.filter((id) => id >= folded)] }
}

/**
 * Goes back by one, or to what the roster was after generation `to`; 0 is the empty roster. Until the next
 * import begins, that may also be a roster that the last undos left.
 */
export async function planUndo(db: Db, planner: Planner, to?: number): Promise<UndoPlan> {
  const seen = await rosterState(db)
  const line = await around(db, seen)
  const { lineage, later } = line
  const [head] = lineage
  if (!head && (to === undefined || later.length === 0)) throw new UsageError('there is no import to undo')
  const content = to === undefined ? head!.parent : await contentOf(db, to, seen, line)
  const plan = (undone: readonly GenerationRow[]) => undoPlan(db, planner, { undone, seen, content })
  if (later.includes(content)) return plan([(await generationById(db, seen.generation))!])
  if (content < seen.folded)
    throw new UsageError(`number ${head!.id} can no longer be undone: the roster before it is no longer kept`)
  return plan(lineage.slice(0, content === 0 ? undefined : lineage.findIndex(({ id }) => id === content)))
}

interface Line {
  /** The generations that led to the current roster, newest first. */
  readonly lineage: readonly GenerationRow[]
  readonly earlier: readonly number[]
  /** Those that can be redone, newest first. */
  readonly later: readonly number[]
}

async function around(db: Db, { content, redo }: StateRow): Promise<Line> {
  const lineage = await lineageOf(db, content)
  const earlier = lineage.length === 0 ? [] : [...lineage.slice(1).map(({ id }) => id), 0]
  const redoable = redo === null ? [] : await lineageOf(db, redo)
  return { lineage, earlier, later: redoable.map(({ id }) => id).filter((id) => id > content) }
}

async function undoPlan(
  db: Db,
  planner: Planner,
  going: Pick<UndoPlan, 'undone' | 'content'> & { readonly seen: StateRow },
): Promise<UndoPlan> {
  const { seen, content } = going
  const bench = new Workbench(db)
  const { file } = bench
  file.exec('create table difference (n integer primary key, name text, person_id text, both text)')
  const rows = file.rows('difference', 4)
  const counts = { leaving: 0, returning: 0, changed: 0 }
  // sourcedId then → sourcedId now, of those whose account was matched to a new one.
  const renamed = new Map<string, string>()
  for await (const page of differencesBetween(db, seen.content, content))
    for (const one of page) {
      if (one.before?.digest === one.after?.digest) continue
      counts[operationOf(one)]++
      if (one.before && one.after && one.before.sourced_id !== one.after.sourced_id)
        renamed.set(one.after.sourced_id, one.before.sourced_id)
      const { person_id, firstname, lastname } = (one.before ?? one.after)!
      rows.add(null, folded(`${lastname} ${firstname}`), person_id, JSON.stringify(one))
    }
  rows.flush()
  function* differences(): Generator<StudentDifference> {
    const sql = 'select both from difference order by name, person_id'
    for (const { both } of file.each<{ both: string }>(sql)) yield JSON.parse(both)
  }
  function* changes() {
    for (const one of differences()) yield studentChange(operationOf(one), one.before, one.after)
  }
  const holds = await planner.lossesBetween(bench, [seen.content, content], counts, renamed)
  return { ...going, counts, holds, changes, differences }
}

/** What the roster was after this generation, which may itself be an undo. */
async function contentOf(db: Db, to: number, seen: StateRow, { earlier, later }: Line): Promise<number> {
  const content = to === 0 ? 0 : (await generationById(db, to))?.content
  const reachable = [...later, ...earlier.filter((id) => id >= seen.folded)]
  if (content !== undefined && reachable.includes(content)) return content
  const isKnown = content !== undefined && earlier.includes(content)
  const gone = isKnown ? 'is no longer kept' : 'cannot be restored'
  const why = content === seen.content ? 'is what the roster is now' : gone
  const available = (await numbersOf(db, reachable)).join(', ')
  throw new UsageError(`number ${to} ${why}; available: ${available} (see "chiron roster history")`)
}

/** An undo has a number of its own for an earlier roster, and either number leads there. */
async function numbersOf(db: Db, reachable: readonly number[]): Promise<number[]> {
  const published = await publishedGenerations(db, historyMax)
  const others = published.filter(({ content }) => reachable.includes(content))
  return [...new Set([...reachable, ...others.map(({ id }) => id)])].sort((a, b) => a - b)
}

/** The latest generation that can be redone after the undo. */
export async function redoAfter(db: Db, { seen, content }: UndoPlan): Promise<number | null> {
  const { redo } = await rosterState(db)
  const furthest = Math.max(redo ?? 0, seen.content)
  return furthest > content ? furthest : null
}

function operationOf({ before, after }: StudentDifference): 'leaving' | 'returning' | 'changed' {
  if (before === null) return 'returning'
  return after === null ? 'leaving' : 'changed'
}

/** The events of an undo, and whose sessions end. */
export function* undoWrites(plan: UndoPlan, { generation, now, by }: Writing): Generator<RowWrite> {
  const undone = plan.undone[0]!.id
  const about = { at: now, generation }
  const event = (type: EventType, personId: string): RowWrite => ({
    table: 'event',
    row: stagedEvent(type, by, { ...about, id: newId(), personId }),
  })
  const data = { generation, undone }
  yield { table: 'event', row: stagedEvent('roster.undone', by, { ...about, id: newId(), data }) }
  for (const { before, after } of plan.differences()) {
    if (before === null) yield event('student.reactivated', after!.person_id)
    else yield event(after === null ? 'student.deactivated' : 'student.updated', before.person_id)
    yield { changes: 'person', row: [(before ?? after)!.person_id, now] }
    if (before && (after === null || before.email_key !== after.email_key))
      yield { table: 'roster_departure', row: [generation, before.person_id] }
  }
}
