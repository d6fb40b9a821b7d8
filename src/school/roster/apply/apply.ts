/**
 * Writes a plan as a new generation that readers cannot see yet, in short batches with pauses so that sign-ins never
 * wait long, then publishes it in one short transaction. If the process is killed before that, nothing has changed,
 * and the next import or undo clears the leftovers.
 */

import { setTimeout as pause } from 'node:timers/promises'
import { endSessions } from '../../../identity/session/session.ts'
import { type EventType, stagedEvent } from '../../../messages/events/events.ts'
import type { Db, Statement, Value } from '../../../platform/db/db.ts'
import type { By } from '../../../platform/lib/by.ts'
import type { Clock } from '../../../platform/lib/clock.ts'
import { newId } from '../../../platform/lib/random.ts'
import { endFeedsOfMoved } from '../../student/student.ts'
import { digestOfText, type NextStudent } from '../compare/compare.ts'
import { movedOn } from '../errors.ts'
import type { Plan, Progress } from '../plan.ts'
import { batchWriter, type NewVersion, newCorrection, newVersion, type RowWrite } from '../rows.ts'
import { canPublish, isAsSeen } from '../rules.ts'
import type { CorrectionRow } from '../store/corrections.ts'
import { addGeneration, type NewGeneration, publish } from '../store/generations.ts'
import type { Seen } from '../store/state.ts'
import type { StudentVersion } from '../store/students.ts'
import { columnsOf } from '../workbench/workbench.ts'
import type { Lease } from './lease.ts'

export { whileLeased } from './lease.ts'

const pauseMsMin = 3
const pauseShare = 0.2
/** Of the current roster. */
const muchShare = 0.1

export interface Writer {
  readonly db: Db
  readonly clock: Clock
  readonly lease: Lease
  readonly by: By
  readonly writesPerBatch: number
}

/** Which generation is written, when and by whom. */
export interface Writing {
  readonly generation: number
  readonly now: number
  readonly by: By
}

interface Change {
  readonly about: Omit<NewGeneration, 'id' | 'content' | 'started_at' | 'actor'>
  /** The roster that it was planned against. */
  readonly seen: Seen
  /** The generation that is visible afterwards, if it is not the new one. */
  readonly content?: number
  readonly redo?: number | null
  write(writing: Writing): Promise<void>
}

/** Writes a generation and publishes it. Returns its number; fails if the roster has changed since it was `seen`. */
export async function asGeneration({ clock, lease, by }: Writer, change: Change): Promise<number> {
  const { about, seen, redo = null } = change
  const now = clock.now()
  const generation = await lease.decide((state) => {
    if (!isAsSeen(state, seen)) return { result: null }
    const id = state.last_generation + 1
    const row = { ...about, id, content: change.content ?? id, started_at: now, actor: by.actor }
    return { writes: addGeneration(row, seen.content), result: id }
  })
  if (generation === null) throw movedOn()
  await change.write({ generation, now, by })
  const { content = generation } = change
  const publishedAt = clock.now()
  const isPublished = await lease.decide((state) => {
    if (!canPublish(state, seen, content)) return { result: false }
    const writes = [
      ...publish({ generation, content, redo }, publishedAt),
      ...endSessions({ departedIn: generation }, 'account', publishedAt, by),
      endFeedsOfMoved(generation),
    ]
    return { writes, result: true }
  })
  if (!isPublished) throw movedOn()
  return generation
}

export async function writePlan(
  plan: Plan,
  writing: Writing,
  writer: Writer,
  onProgress: Progress,
): Promise<void> {
  const total = totalOf(plan)
  await writeInBatches(writesOf(plan, writing), writing.generation, writer, (written) =>
    onProgress('writing', Math.min(written, total), total),
  )
  onProgress('writing', total, total)
  // With the statistics of an empty table, reading a class list takes a hundred times as long.
  if (changesMuch(plan)) await writer.db.analyze(['person', 'student', 'roster_record', 'roster_enrolment'])
}

function changesMuch(plan: Plan): boolean {
  const before = Object.values(plan.counts).reduce((sum, of) => sum + of.before, 0)
  return totalOf(plan) > before * muchShare
}

/** About how many writes there are. */
function totalOf({ counts }: Plan): number {
  const { student, ...others } = counts
  const ofOthers = Object.values(others).map((of) => of.added + of.returning + of.leaving + 2 * of.changed)
  const ofStudents = 4 * student.added + 2 * student.returning + 3 * (student.changed + student.leaving)
  return ofOthers.reduce((sum, count) => sum + count, ofStudents + 1)
}

export async function writeInBatches(
  writes: Iterator<RowWrite>,
  generation: number,
  { db, lease, writesPerBatch }: Writer,
  onWritten: (written: number) => void = () => {},
): Promise<void> {
  const statementsOf = batchWriter(db, generation)
  let written = 0
  let next = writes.next()
  function* take(batch: { size: number }): Generator<RowWrite> {
    for (; batch.size < writesPerBatch && !next.done; batch.size++) {
      yield next.value
      next = writes.next()
    }
  }
  const send = async (statements: Iterable<Statement>, batch: { readonly size: number }) => {
    const started = performance.now()
    await lease.stage(statements)
    written += batch.size
    onWritten(written)
    // Gives other users of the store a turn.
    await pause(Math.max(pauseMsMin, (performance.now() - started) * pauseShare))
  }
  let sending = Promise.resolve()
  while (!next.done) {
    const batch = { size: 0 }
    // On PostgreSQL, this batch is built while the store writes the previous one. On SQLite, the last one is empty.
    const statements = statementsOf(take(batch))
    await sending
    sending = send(statements, batch)
    sending.catch(() => {})
  }
  await sending
}

function* writesOf(plan: Plan, writing: Writing): Generator<RowWrite> {
  const { generation, now, by } = writing
  const imported = { id: newId(), at: now, generation, data: { generation } }
  yield { table: 'event', row: stagedEvent('roster.imported', by, imported) }
  for (const student of plan.students.corrected()) yield* correctionOf(student, generation)
  yield* studentWrites(plan, writing)
  yield* disabledWrites(plan, writing)
  yield* recordWrites(plan, writing)
  yield* enrolmentWrites(plan, generation)
}

const kinds = ['org', 'term', 'course', 'class', 'user', 'role'] as const

type RecordKind = (typeof kinds)[number]

function* recordWrites(plan: Plan, writing: Writing): Generator<RowWrite> {
  for (const kind of kinds) {
    if (kind === 'class') yield* classWrites(plan, writing)
    else yield* plainWrites(plan, kind, writing)
    const leaving = plan.bench.file.each<{ id: string; from_gen: number }>(
      `select id, from_gen from leaving_${kind} order by n`,
    )
    for (const { id, from_gen } of leaving) yield { closes: 'roster_record', row: [kind, id, from_gen] }
  }
}

interface WrittenRow {
  readonly id: string
  readonly data: string
  /** The generation of the current row, if it has one. */
  readonly from_gen: number | null
  readonly document: string | null
}

function* plainWrites({ bench }: Plan, kind: RecordKind, writing: Writing): Generator<RowWrite> {
  const rows = bench.file.each<WrittenRow>(
    `select f.id, f.data, c.from_gen, null as document from change_${kind} c cross join file_${kind} f on f.n = c.row
     order by c.row`,
  )
  for (const row of rows) yield* recordWrite(kind, row, writing)
}

/** Also classes of which only the document is new. */
function* classWrites({ bench }: Plan, writing: Writing): Generator<RowWrite> {
  const rows = bench.file.each<WrittenRow>(
    `select n.id, n.data, d.closes as from_gen, d.document from new_document d join next_class n on n.place = d.place
     order by d.place`,
  )
  for (const row of rows) yield* recordWrite('class', row, writing)
}

function* recordWrite(
  kind: RecordKind,
  { id, data, from_gen, document }: WrittenRow,
  { generation, now }: Writing,
): Generator<RowWrite> {
  if (from_gen !== null) yield { closes: 'roster_record', row: [kind, id, from_gen] }
  const digest = digestOfText(data)
  yield { table: 'roster_record', row: [kind, id, generation, digest, data, document, now] }
}

/** An index that grows mostly at one place is written many times faster, so rows come in the order of their ids. */
function* enrolmentWrites({ bench }: Plan, generation: number): Generator<RowWrite> {
  const rows = bench.file.lists<[number | null, ...Value[]]>(
    `select c.from_gen, f.id, cast(? as integer), ${columnsOf('enrolment').join(', ')}
     from file_enrolment f join change_enrolment c on c.row = f.n order by f.id`,
    generation,
  )
  for (const [fromGen, ...row] of rows) {
    if (fromGen !== null) yield { closes: 'roster_enrolment', row: [row[0]!, fromGen] }
    yield { table: 'roster_enrolment', row }
  }
  const leaving = bench.file.each<{ id: string; from_gen: number }>(
    'select id, from_gen from leaving_enrolment order by n',
  )
  for (const { id, from_gen } of leaving) yield { closes: 'roster_enrolment', row: [id, from_gen] }
}

function* studentWrites({ students }: Plan, writing: Writing): Generator<RowWrite> {
  const { generation, now, by } = writing
  const event = (type: EventType, personId: string): RowWrite => {
    const id = `${type}.${personId}.${generation}`
    return { table: 'event', row: stagedEvent(type, by, { id, at: now, generation, personId }) }
  }
  for (const student of students.changing()) {
    const { fields, personId, before, isKnown, matchedFrom } = student
    yield accountOf(student, now)
    if (!isKnown)
      yield { table: 'student_identity', row: [fields.sourced_id, personId, generation, matchedFrom] }
    yield event(before ? 'student.updated' : isKnown ? 'student.reactivated' : 'student.added', personId)
    yield* versionWrites(student, before, writing)
  }
  for (const { person_id, from_gen } of students.leaving()) {
    yield { closes: 'student', row: [person_id, from_gen] }
    yield { changes: 'person', row: [person_id, now] }
    yield { table: 'roster_departure', row: [generation, person_id] }
    yield event('student.deactivated', person_id)
  }
}

function* disabledWrites({ students }: Plan, writing: Writing): Generator<RowWrite> {
  for (const student of students.disabled()) {
    const { personId, before } = student
    yield accountOf(student, writing.now)
    if (before) yield { closes: 'disabled_student', row: [personId, before.from_gen] }
    yield newVersion('disabled_student', student, writing)
  }
  for (const { person_id, from_gen } of students.noLongerDisabled()) {
    yield { closes: 'disabled_student', row: [person_id, from_gen] }
    yield { changes: 'person', row: [person_id, writing.now] }
  }
}

const accountOf = (
  { personId, isNewPerson }: { readonly personId: string; readonly isNewPerson: boolean },
  now: number,
): RowWrite =>
  isNewPerson
    ? { table: 'person', row: [personId, 'student', 'active', now, now] }
    : { changes: 'person', row: [personId, now] }

/** A student instead of the version before, or for the first time. Sessions end if the address changes. */
export function* versionWrites(
  student: NewVersion,
  before: StudentVersion | null,
  writing: Writing,
): Generator<RowWrite> {
  const { personId, fields } = student
  if (before) yield { closes: 'student', row: [personId, before.from_gen] }
  if (before && before.email_key !== fields.email_key)
    yield { table: 'roster_departure', row: [writing.generation, personId] }
  yield newVersion('student', student, writing)
}

/** A correction loses the fields in which the file now agrees. */
function* correctionOf({ correction }: NextStudent, generation: number): Generator<RowWrite> {
  if (!correction) return
  const { row, left } = correction
  if (left && left.email === row.email && left.firstname === row.firstname && left.lastname === row.lastname)
    return
  yield* correctionWrites(row, left && { ...row, ...left, from_gen: generation })
}

/** `null`: none. */
export function* correctionWrites(
  before: CorrectionRow | null,
  after: CorrectionRow | null,
): Generator<RowWrite> {
  if (before) yield { closes: 'roster_correction', row: [before.person_id, before.from_gen] }
  if (after) yield newCorrection(after)
}
