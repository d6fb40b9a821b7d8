/** The records before and after an import. */
import type { DataOf, EnrolmentData } from '../records.ts'
import { columnsOf, type RecordKind, type Workbench } from '../workbench/workbench.ts'

export type Operation = 'added' | 'changed' | 'leaving' | 'returning'

export interface Counts {
  before: number
  after: number
  added: number
  changed: number
  leaving: number
  returning: number
}

export function noCounts(before = 0): Counts {
  return { before, after: 0, added: 0, changed: 0, leaving: 0, returning: 0 }
}

type Row = Record<string, unknown>

/** Looks records up by their sourcedIds. */
export class Next {
  readonly #bench: Workbench

  constructor(bench: Workbench) {
    this.#bench = bench
  }

  get<K extends RecordKind>(kind: K, id: string): DataOf[K] | undefined {
    return this.#find(`next_${kind}`, id)
  }

  /** The current one. */
  before<K extends RecordKind>(kind: K, id: string): DataOf[K] | undefined {
    return this.#find(`was_${kind}`, id)
  }

  #find<D>(view: string, id: string): D | undefined {
    const row = this.#bench.file.one<{ data: string }>(`select data from ${view} where id = ?`, id)
    return row && JSON.parse(row.data)
  }
}

/** The record in a row of the workbench; `prefix` is that of its columns. */
export function dataIn(kind: RecordKind | 'enrolment', row: Row, prefix = ''): object {
  if (kind !== 'enrolment') return JSON.parse(row[`${prefix}data`] as string)
  const [userId, classId, schoolId, role, primary, startDate, endDate] = columnsOf(kind).map(
    (name) => row[prefix + name],
  )
  return { userId, classId, schoolId, role, primary: primary === 1, startDate, endDate } as EnrolmentData
}

/** Keeps what was asked for last, since the same record is often asked for again; for records of which there are few. */
export function remembered<T>(read: (id: string) => T, most: number): (id: string) => T {
  const known = new Map<string, T>()
  return (id) => {
    if (!known.has(id)) {
      if (known.size >= most) known.clear()
      known.set(id, read(id))
    }
    return known.get(id)!
  }
}
