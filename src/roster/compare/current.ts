/** The current roster, loaded from the store to be compared with a file. */
import type { Db } from '../../db/db.ts'
import type { DataOf, EnrolmentData, Kind } from '../records.ts'
import {
  type CorrectionRow,
  correctionsIn,
  enrolmentsOf,
  formerAddresses,
  type GenerationRow,
  identities,
  lineageOf,
  recordsOf,
  type StateRow,
  type StudentVersion,
  studentsIn,
} from '../store.ts'

export type RecordKind = Exclude<Kind, 'enrolment'>

export interface CurrentRecord {
  readonly fromGen: number
  readonly digest: string
  /** JSON, parsed only when needed. */
  readonly data: string
  readonly document: string | null
}

export interface CurrentEnrolment {
  readonly fromGen: number
  readonly data: EnrolmentData
}

export interface CurrentRoster {
  readonly content: number
  readonly generation: number
  readonly records: Readonly<Record<RecordKind, ReadonlyMap<string, CurrentRecord>>>
  readonly enrolments: ReadonlyMap<string, CurrentEnrolment>
  readonly students: ReadonlyMap<string, StudentVersion>
  /** Address → sourcedId of a student who had it before. */
  readonly formerAddresses: ReadonlyMap<string, string>
  /** sourcedId → userId, for everybody who was ever on the roster. */
  readonly identities: ReadonlyMap<string, string>
  /** By userId. */
  readonly corrections: ReadonlyMap<string, CorrectionRow>
  /** The generations that have led to this roster, newest first. */
  readonly lineage: readonly GenerationRow[]
  /** Whether a record that is absent now existed before. */
  wasThere(kind: Kind, sourcedId: string): boolean
}

/** Hundreds of thousands of enrolments repeat a few thousand ids and dates; this keeps one copy of each. */
export class SharedTexts {
  readonly #texts = new Map<string, string>()

  enrolment(data: EnrolmentData): EnrolmentData {
    return {
      userId: this.#share(data.userId),
      classId: this.#share(data.classId),
      schoolId: data.schoolId === null ? null : this.#share(data.schoolId),
      role: this.#share(data.role),
      primary: data.primary,
      startDate: data.startDate === null ? null : this.#share(data.startDate),
      endDate: data.endDate === null ? null : this.#share(data.endDate),
    }
  }

  #share(text: string): string {
    const known = this.#texts.get(text)
    if (known === undefined) this.#texts.set(text, text)
    return known ?? text
  }
}

export function parseData<K extends RecordKind>(record: CurrentRecord): DataOf[K] {
  return JSON.parse(record.data)
}

export async function loadCurrent(db: Db, { content, generation }: StateRow): Promise<CurrentRoster> {
  const visible = (row: { from_gen: number; to_gen: number | null }) =>
    row.from_gen <= content && (row.to_gen === null || row.to_gen > content)
  const gone = new Set<string>()
  const records = Object.fromEntries(
    ['org', 'term', 'course', 'class', 'user', 'role'].map((kind) => [
      kind,
      new Map<string, CurrentRecord>(),
    ]),
  ) as Record<RecordKind, Map<string, CurrentRecord>>
  for await (const row of recordsOf(db)) {
    if (visible(row)) {
      const { from_gen: fromGen, digest, data, document } = row
      records[row.kind as RecordKind].set(row.sourced_id, { fromGen, digest, data, document })
    } else if (row.from_gen <= content) gone.add(`${row.kind} ${row.sourced_id}`)
  }

  const shared = new SharedTexts()
  const enrolments = new Map<string, CurrentEnrolment>()
  for await (const row of enrolmentsOf(db)) {
    if (visible(row)) {
      enrolments.set(row.sourced_id, {
        fromGen: row.from_gen,
        data: shared.enrolment({
          userId: row.user_id,
          classId: row.class_id,
          schoolId: row.school_id,
          role: row.role,
          primary: row.is_primary === 1,
          startDate: row.start_date,
          endDate: row.end_date,
        }),
      })
    } else if (row.from_gen <= content) gone.add(`enrolment ${row.sourced_id}`)
  }
  const students = new Map((await studentsIn(db, content)).map((student) => [student.sourced_id, student]))
  const known = new Map((await identities(db, content)).map((row) => [row.sourced_id, row.person_id]))
  const former = new Map((await formerAddresses(db, content)).map((row) => [row.email_key, row.sourced_id]))
  return {
    content,
    generation,
    records,
    enrolments,
    students,
    formerAddresses: former,
    identities: known,
    corrections: new Map((await correctionsIn(db, content)).map((row) => [row.person_id, row])),
    lineage: await lineageOf(db, content),
    wasThere: (kind, sourcedId) => gone.has(`${kind} ${sourcedId}`),
  }
}
