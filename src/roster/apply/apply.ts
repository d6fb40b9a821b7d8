/**
 * Writes a plan as a new generation that readers cannot see yet, in short batches with pauses so that sign-ins never
 * wait long, then publishes it in one short transaction. If the process is killed before that, nothing has changed, and
 * whoever writes a roster next clears the leftovers.
 */
import type { Db, Statement, Value } from '../../db/db.ts'
import { type EventType, stagedEvent } from '../../events/events.ts'
import type { By } from '../../lib/by.ts'
import { newId } from '../../lib/random.ts'
import { endSessions } from '../../session/session.ts'
import { endFeedsOfMoved } from '../../student/student.ts'
import { type Corrected, isIncoming, type NextStudent, type RecordKind } from '../compare/compare.ts'
import type { Plan } from '../plan.ts'
import {
  type CorrectionRow,
  closeCorrection,
  closeEnrolment,
  closeRecord,
  closeStudent,
  insertRows,
  publish,
  type Seen,
  type StudentFields,
  type Table,
} from '../store.ts'
import { type Lease, pause } from './lease.ts'

export { type Lease, pause, whileLeased } from './lease.ts'

const pauseMsMin = 3
const pauseShare = 0.2

export interface ApplyDeps {
  readonly db: Db
  readonly lease: Lease
  readonly writesPerBatch: number
  readonly by: By
  onBatch(written: number, total: number): void
}

/** Returns false if the roster changed in the meantime. */
export async function applyPlan(
  plan: Plan,
  generation: number,
  now: number,
  deps: ApplyDeps,
): Promise<boolean> {
  await writeInBatches(() => writesOf(plan, generation, now, deps.by), deps)
  // With the statistics of an empty table, reading a class list takes a hundred times as long.
  await deps.db.analyze(['person', 'student', 'roster_record', 'roster_enrolment'])
  return publishGeneration(deps.lease, generation, plan, now, deps.by)
}

export async function publishGeneration(
  lease: Lease,
  generation: number,
  seen: Seen,
  now: number,
  by: By,
): Promise<boolean> {
  const [published] = await lease.write([
    ...publish(generation, seen, now),
    ...endSessions({ departedIn: generation }, 'account', now, by),
    endFeedsOfMoved(generation),
  ])
  return published!.length > 0
}

type Write = { readonly table: Table; readonly row: readonly Value[] } | Statement

async function writeInBatches(
  writes: () => Iterable<Write>,
  { db, lease, writesPerBatch, onBatch }: ApplyDeps,
): Promise<void> {
  let total = 0
  for (const _ of writes()) total++
  let written = 0
  let batch: Write[] = []
  const flush = async () => {
    const started = performance.now()
    await lease.write(statementsOf(db, batch))
    written += batch.length
    batch = []
    onBatch(written, total)
    // Gives other users of the store a turn.
    await pause(Math.max(pauseMsMin, (performance.now() - started) * pauseShare))
  }
  for (const write of writes()) {
    batch.push(write)
    if (batch.length === writesPerBatch) await flush()
  }
  if (batch.length > 0) await flush()
}

function statementsOf(db: Db, batch: readonly Write[]): Statement[] {
  const rows = new Map<Table, (readonly Value[])[]>()
  const statements: Statement[] = []
  for (const write of batch) {
    if ('sql' in write) statements.push(write)
    else if (!rows.get(write.table)?.push(write.row)) rows.set(write.table, [write.row])
  }
  return [...[...rows].flatMap(([table, some]) => insertRows(db, table, some)), ...statements]
}

function* writesOf(plan: Plan, generation: number, now: number, by: By): Generator<Write> {
  const imported = { id: newId(), at: now, generation, data: { generation } }
  yield { table: 'event', row: stagedEvent('roster.imported', by, imported) }
  yield* studentWrites(plan, generation, now, by)
  yield* recordWrites(plan, generation, now)
  yield* enrolmentWrites(plan, generation)
}

function* recordWrites(
  { current, next, documents }: Plan,
  generation: number,
  now: number,
): Generator<Write> {
  for (const kind of ['org', 'term', 'course', 'class', 'user', 'role'] as RecordKind[]) {
    const standing = current.records[kind]
    for (const [id, { digest, data }] of next[kind]) {
      const before = standing.get(id)
      const document = kind === 'class' ? documents.get(id)! : null
      if (before && before.digest === digest && before.document === document) continue
      if (before) yield closeRecord(kind, id, before.fromGen, generation)
      const row = [kind, id, generation, digest, JSON.stringify(data), document, now]
      yield { table: 'roster_record', row }
    }
    for (const [id, before] of standing) {
      if (!next[kind].has(id)) yield closeRecord(kind, id, before.fromGen, generation)
    }
  }
}

function* enrolmentWrites({ current, next }: Plan, generation: number): Generator<Write> {
  // Sorted by key: an index that grows at its end is written many times faster.
  const fresh = [...next.enrolment.keys()].filter((id) => isIncoming(next.enrolment.get(id)!)).sort()
  for (const id of fresh) {
    const before = current.enrolments.get(id)
    if (before) yield closeEnrolment(id, before.fromGen, generation)
    const { userId, classId, schoolId, role, primary, startDate, endDate } = next.enrolment.get(id)!.data
    const row = [id, generation, userId, classId, schoolId, role, Number(primary), startDate, endDate]
    yield { table: 'roster_enrolment', row }
  }
  for (const [id, before] of current.enrolments) {
    if (!next.enrolment.has(id)) yield closeEnrolment(id, before.fromGen, generation)
  }
}

function* studentWrites(
  { current, students }: Plan,
  generation: number,
  now: number,
  by: By,
): Generator<Write> {
  const event = (type: EventType, personId: string): Write => {
    const id = `${type}.${personId}.${generation}`
    return { table: 'event', row: stagedEvent(type, by, { id, at: now, generation, personId }) }
  }
  const matched = new Set<string>()
  for (const [id, student] of students) {
    const { fields, digest, personId, before, isKnown, matchedFrom } = student
    yield* correctionWrites(student, generation)
    if (matchedFrom !== null) matched.add(matchedFrom)
    if (before?.digest === digest) continue
    if (!isKnown && matchedFrom === null)
      yield { table: 'person', row: [personId, 'student', 'active', now, now] }
    if (!isKnown) yield { table: 'student_identity', row: [id, personId, generation, matchedFrom] }
    if (before) yield closeStudent(personId, before.from_gen, generation)
    if (before && before.email_key !== fields.email_key) {
      yield { table: 'roster_departure', row: [generation, personId] }
    }
    yield event(before ? 'student.updated' : isKnown ? 'student.reactivated' : 'student.added', personId)
    yield { table: 'student', row: studentRow(personId, fields, digest, generation, now) }
  }
  for (const [id, { person_id, from_gen }] of current.students) {
    if (students.has(id) || matched.has(id)) continue
    yield closeStudent(person_id, from_gen, generation)
    yield { table: 'roster_departure', row: [generation, person_id] }
    yield event('student.deactivated', person_id)
  }
}

/** A correction loses the fields that the file has come to say itself. */
function* correctionWrites({ personId, correction }: NextStudent, generation: number): Generator<Write> {
  if (!correction) return
  const { row, left } = correction
  if (left && left.email === row.email && left.firstname === row.firstname && left.lastname === row.lastname)
    return
  yield closeCorrection(personId, row.from_gen, generation)
  if (left) yield { table: 'roster_correction', row: correctionRow(personId, generation, left, row) }
}

export function correctionRow(
  personId: string,
  generation: number,
  { email, firstname, lastname }: Corrected,
  { actor, corrected_at }: Pick<CorrectionRow, 'actor' | 'corrected_at'>,
): Value[] {
  return [personId, generation, email, firstname, lastname, actor, corrected_at]
}

export function studentRow(
  personId: string,
  fields: StudentFields,
  digest: string,
  generation: number,
  now: number,
): Value[] {
  const { sourced_id, email, email_key, firstname, lastname, preferred_name, pronouns } = fields
  const { student_number, year, school_id, school_name } = fields
  const names = [email, email_key, firstname, lastname, preferred_name, pronouns, student_number, year]
  return [personId, generation, sourced_id, digest, ...names, school_id, school_name, now]
}
