/** The current roster, as far as a file can touch it. */
import type { Db } from '../../../platform/db/db.ts'
import type { Kind } from '../records.ts'
import { type CorrectionRow, correctionsIn } from '../store/corrections.ts'
import { classSizes, type EnrolmentRow, enrolmentsIn } from '../store/enrolments.ts'
import { type GenerationRow, lineageOf } from '../store/generations.ts'
import { type DocumentRow, documentsIn, goneAmong, type RecordRow, recordsIn } from '../store/records.ts'
import type { Sizes } from '../store/sizes.ts'
import type { Seen, StateRow } from '../store/state.ts'
import {
  type DisabledVersion,
  disabledIn,
  identitiesAmong,
  ownersAmong,
  type StudentVersion,
  studentsIn,
} from '../store/students.ts'

export type RecordKind = Exclude<Kind, 'enrolment'>

/** Rows come in pages. */
type Pages<R> = AsyncIterable<readonly R[]>

export interface Standing {
  readonly content: number
  readonly generation: number
  /** By userId. */
  readonly corrections: ReadonlyMap<string, CorrectionRow>
  /** The generations that led to this roster, newest first. */
  readonly lineage: readonly GenerationRow[]
  /** Current counts, if not all rows are loaded. */
  readonly sizes: Sizes | null
  records(kind: RecordKind): Pages<RecordRow>
  documents(): Pages<DocumentRow>
  enrolments(): Pages<EnrolmentRow>
  students(): Pages<StudentVersion>
  /** Students who may not sign in; all of them, also if not all rows are loaded. */
  disabled(): Promise<readonly DisabledVersion[]>
  /** How many enrolments of students there are in classes of each kind. */
  enrolmentsBy<K>(kindOf: (classId: string) => K): Promise<ReadonlyMap<K, number>>
  /** Those that are absent now and existed before. */
  gone(kind: Kind, sourcedIds: readonly string[]): Promise<ReadonlySet<string>>
  /** sourcedId → userId, of those who were ever on the roster. */
  identities(sourcedIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Address → sourcedId of a student who has or had it. */
  owners(addressKeys: readonly string[]): Promise<ReadonlyMap<string, string>>
}

/** Empty, if nothing is compared. */
export function noRoster({ content, generation }: Seen): Standing {
  async function* nothing() {}
  return {
    ...{ content, generation, corrections: new Map(), lineage: [], sizes: null },
    ...{ records: nothing, documents: nothing, enrolments: nothing, students: nothing },
    disabled: async () => [],
    enrolmentsBy: async () => new Map(),
    gone: async () => new Set(),
    identities: async () => new Map(),
    owners: async () => new Map(),
  }
}

/** All of it. */
export async function wholeRoster(db: Db, { content, generation }: StateRow): Promise<Standing> {
  return {
    content,
    generation,
    corrections: new Map((await correctionsIn(db, content)).map((row) => [row.person_id, row])),
    lineage: await lineageOf(db, content),
    sizes: null,
    records: (kind) => recordsIn(db, content, kind),
    documents: () => documentsIn(db, content),
    enrolments: () => enrolmentsIn(db, content),
    students: () => studentsIn(db, content),
    disabled: () => disabledIn(db, content),
    async enrolmentsBy<K>(kindOf: (classId: string) => K) {
      const counts = new Map<K, number>()
      for (const { class_id, n } of await classSizes(db, content))
        counts.set(kindOf(class_id), (counts.get(kindOf(class_id)) ?? 0) + n)
      return counts
    },
    gone: (kind, ids) => goneAmong(db, content, kind, ids),
    identities: (ids) => identitiesAmong(db, content, ids),
    owners: (keys) => ownersAmong(db, content, keys),
  }
}
