/** The difference between two rosters of the store, as a delta that would turn one into the other. */
import type { Db } from '../../../platform/db/db.ts'
import { type DataOf, type Kind, kinds, type Mode, type RosterFile } from '../records.ts'
import { enrolmentOf, enrolmentsOnlyIn } from '../store/enrolments.ts'
import { recordsOnlyIn } from '../store/records.ts'
import { Incomings } from './incoming.ts'

export async function deltaBetween(
  db: Db,
  now: number,
  then: number,
): Promise<{ incoming: Incomings; file: RosterFile }> {
  const incoming = new Incomings()
  let rows = 0
  const add = (kind: Kind, sourcedId: string, data: DataOf[Kind] | null) => {
    incoming.ids(kind).add(sourcedId)
    incoming.record({ kind, sourcedId, data, file: '', line: 0 })
    rows++
  }
  const modes: Partial<Record<Kind, Mode>> = {}
  for (const kind of kinds) {
    modes[kind] = 'delta'
    for await (const page of rowsOnlyIn(db, kind, then, now))
      for (const [id, data] of page) add(kind, id, data)
    for await (const page of rowsOnlyIn(db, kind, now, then))
      for (const [id] of page) if (!incoming.of[kind].isNamed(id)) add(kind, id, null)
  }
  const file: RosterFile = {
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
  return { incoming, file }
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
