/** The difference between two rosters of the store, as a delta that would turn one into the other. */
import type { Db } from '../../../platform/db/db.ts'
import { type DataOf, type Kind, kinds, type Mode, type RosterFile } from '../records.ts'
import { enrolmentOf, enrolmentsOnlyIn } from '../store/enrolments.ts'
import { recordsOnlyIn } from '../store/records.ts'
import type { Workbench } from '../workbench/workbench.ts'

/** Puts it on a workbench. */
export async function deltaBetween(
  db: Db,
  { incoming }: Workbench,
  now: number,
  then: number,
): Promise<RosterFile> {
  const modes: Partial<Record<Kind, Mode>> = {}
  let rows = 0
  const add = (kind: Kind, sourcedId: string, data: DataOf[Kind] | null) =>
    incoming.record({ kind, sourcedId, data, file: '', line: ++rows })
  for (const kind of kinds) {
    modes[kind] = 'delta'
    // Of two rows, the first stays: what goes is told only of what does not come back.
    for await (const page of rowsOnlyIn(db, kind, then, now))
      for (const [id, data] of page) add(kind, id, data)
    for await (const page of rowsOnlyIn(db, kind, now, then)) for (const [id] of page) add(kind, id, null)
    Array.from(incoming.finish(kind))
  }
  return {
    name: '',
    sha256: '',
    version: '1.2',
    modes,
    modeFrom: 'caller',
    form: 'mixed',
    missing: [],
    rows,
    newestRowAt: null,
  }
}

async function* rowsOnlyIn(
  db: Db,
  kind: Kind,
  content: number,
  other: number,
): AsyncGenerator<[sourcedId: string, data: DataOf[Kind]][]> {
  if (kind === 'enrolment')
    for await (const page of enrolmentsOnlyIn(db, content, other))
      yield page.map((row) => [row.sourced_id, enrolmentOf(row)])
  else
    for await (const page of recordsOnlyIn(db, content, other, kind))
      yield page.map((row) => [row.sourced_id, JSON.parse(row.data)])
}
