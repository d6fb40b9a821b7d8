/** The current roster, beside the rows of the file. */
import { closedAfter, inGeneration, unclosedIn } from '../../../identity/people/in-roster.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { WorkFile } from '../../../platform/db/work-file.ts'
import { type Kind, kinds } from '../records.ts'
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
import { emptyStanding, restColumns, studentColumns } from './tables.ts'

export type RecordKind = Exclude<Kind, 'enrolment'>

/** Rows come in pages. */
type Pages<R> = AsyncIterable<readonly R[]>

/** The rows of a roster that a file is compared with. */
export interface Rows {
  records(kind: RecordKind): Pages<RecordRow>
  documents(): Pages<DocumentRow>
  enrolments(): Pages<EnrolmentRow>
  students(): Pages<StudentVersion>
  disabled(): Promise<readonly DisabledVersion[]>
}

/** What is asked of a roster beside its rows. */
export interface Standing extends Seen {
  /** By userId. */
  readonly corrections: ReadonlyMap<string, CorrectionRow>
  /** The generations that led to this roster, newest first. */
  readonly lineage: readonly GenerationRow[]
  /** Current counts, if not all rows are shown. */
  readonly sizes: Sizes | null
  /** How many enrolments of students there are in each class. */
  classSizes(): Promise<readonly { readonly class_id: string; readonly n: number }[]>
  /** Those that are absent now and existed before. */
  gone(kind: Kind, sourcedIds: readonly string[]): Promise<ReadonlySet<string>>
  /** sourcedId → userId, of those who were ever on the roster. */
  identities(sourcedIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Address → sourcedId of a student who has or had it. */
  owners(addressKeys: readonly string[]): Promise<ReadonlyMap<string, string>>
}

export async function standingIn(db: Db, { content, generation }: StateRow): Promise<Standing> {
  return {
    content,
    generation,
    corrections: new Map((await correctionsIn(db, content)).map((row) => [row.person_id, row])),
    lineage: await lineageOf(db, content),
    sizes: null,
    classSizes: () => classSizes(db, content),
    gone: (kind, ids) => goneAmong(db, content, kind, ids),
    identities: (ids) => identitiesAmong(db, content, ids),
    owners: (keys) => ownersAmong(db, content, keys),
  }
}

/** Of an import that is not compared with anything. */
export function noStanding({ content, generation }: Seen): Standing {
  return {
    ...{ content, generation, corrections: new Map(), lineage: [], sizes: null },
    classSizes: async () => [],
    gone: async () => new Set(),
    identities: async () => new Map(),
    owners: async () => new Map(),
  }
}

/** All rows of a generation. */
export const rowsIn = (db: Db, content: number): Rows => ({
  records: (kind) => recordsIn(db, content, kind),
  documents: () => documentsIn(db, content),
  enrolments: () => enrolmentsIn(db, content),
  students: () => studentsIn(db, content),
  disabled: () => disabledIn(db, content),
})

export const noRows: Rows = {
  async *records() {},
  async *documents() {},
  async *enrolments() {},
  async *students() {},
  disabled: async () => [],
}

/** Copies rows into the tables of the current roster. */
export async function copyRows(file: WorkFile, rows: Rows): Promise<void> {
  file.exec(emptyStanding)
  for (const kind of kinds)
    if (kind === 'enrolment') await copy(file, 'now_enrolment', enrolmentColumns, rows.enrolments())
    else await copy(file, `now_${kind}`, ['sourced_id', 'from_gen', 'data'], rows.records(kind))
  await copy(file, 'now_document', ['sourced_id', 'document'], rows.documents())
  await copy(file, 'now_student', studentColumns, rows.students())
  const disabled = await rows.disabled()
  await copy(file, 'now_disabled', ['person_id', 'from_gen', 'sourced_id', 'digest'], [disabled])
}

const enrolmentColumns = ['sourced_id', 'from_gen', 'user_id', 'class_id', ...restColumns] as const

async function copy<R extends { readonly [K in C]: string | number | null }, C extends string>(
  file: WorkFile,
  table: string,
  columns: readonly C[],
  pages: AsyncIterable<readonly R[]> | Iterable<readonly R[]>,
): Promise<void> {
  const writer = file.rows(table, columns.length)
  for await (const page of pages) for (const row of page) writer.add(...columns.map((name) => row[name]))
  writer.flush()
}

/** Shows an SQLite store as those tables, without copying it. */
export function showRows(file: WorkFile, store: string, content: number): void {
  dropTables(file)
  file.show(store)
  const visible = (table: string) => {
    const hasClosed = file.one(
      `select 1 as one from store.${table} t where ${closedAfter('t', String(content))} limit 1`,
    )
    return hasClosed ? inGeneration('t', String(content)) : unclosedIn('t', String(content))
  }
  const records = visible('roster_record')
  for (const kind of kinds)
    file.exec(
      kind === 'enrolment'
        ? `create temp view now_enrolment as select t.sourced_id as id, ${listed(enrolmentColumns.slice(1))}
             from store.roster_enrolment t where ${visible('roster_enrolment')}`
        : `create temp view now_${kind} as select t.sourced_id as id, t.from_gen, t.data
             from store.roster_record t where t.kind = '${kind}' and ${records}`,
    )
  file.exec(`create temp view now_document as select t.sourced_id as id, t.document
      from store.roster_record t where t.kind = 'class' and ${records};
    create temp view now_student as select ${listed(studentColumns)}
      from store.student t where ${visible('student')};
    create temp view now_disabled as select t.person_id, t.from_gen, t.sourced_id, t.digest
      from store.disabled_student t where ${visible('disabled_student')}`)
}

const listed = (columns: readonly string[]) => columns.map((name) => `t.${name}`).join(', ')
const tables = [...kinds, 'document', 'student', 'disabled'].map((name) => `now_${name}`)

function dropTables(file: WorkFile): void {
  for (const table of tables) file.exec(`drop table if exists main.${table}`)
}

/** The store is no longer read. */
export function hideRows(file: WorkFile): void {
  for (const table of tables) file.exec(`drop view if exists temp.${table}`)
  file.hide()
}
