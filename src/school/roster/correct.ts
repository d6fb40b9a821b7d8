/**
 * Corrects one student by hand until the school's system does. A correction is its own generation: it is seen at once,
 * ends sessions if the address changes, and can be undone.
 */

import { UsageError } from '../../errors.ts'
import { stagedEvent } from '../../messages/events/events.ts'
import type { Db } from '../../platform/db/db.ts'
import { newId } from '../../platform/lib/random.ts'
import { asGeneration, correctionWrites, versionWrites, type Writer, type Writing } from './apply/apply.ts'
import { type Corrected, corrected, digestOf, fullName } from './compare/compare.ts'
import type { UserData } from './records.ts'
import { type RowWrite, writeRow } from './rows.ts'
import { type CorrectionRow, correctionsIn } from './store/corrections.ts'
import { recordIn } from './store/records.ts'
import type { Seen } from './store/state.ts'
import { type StudentFields, type StudentVersion, studentIn, studentsAmong } from './store/students.ts'

export interface Correction {
  readonly userId: string
  readonly name: string
  readonly studentNumber: string | null
  /** Null: as the file has it. */
  readonly corrected: Corrected
  readonly inFile: Corrected
  readonly actor: string
  readonly correctedAt: number
}

interface Standing {
  readonly student: StudentVersion
  /** As the file has them. */
  readonly fields: StudentFields
  readonly row: CorrectionRow | null
}

const uncorrected: Corrected = { email: null, firstname: null, lastname: null }

/** Those of students who are on the roster. */
export async function correctionsOf(db: Db, content: number): Promise<Correction[]> {
  const found: Correction[] = []
  for (const row of await correctionsIn(db, content)) {
    const standing = await standingOf(db, content, row.person_id)
    if (!standing) continue
    const { student, fields } = standing
    const { email, firstname, lastname } = row
    found.push({
      userId: row.person_id,
      name: fullName(student),
      studentNumber: student.student_number,
      corrected: { email, firstname, lastname },
      inFile: { email: fields.email, firstname: fields.firstname, lastname: fields.lastname },
      actor: row.actor,
      correctedAt: row.corrected_at,
    })
  }
  return found
}

async function standingOf(db: Db, content: number, personId: string): Promise<Standing | undefined> {
  const student = await studentIn(db, content, personId)
  const record = student && (await recordIn(db, content, 'user', student.sourced_id))
  if (!record) return undefined
  const { email, firstname, lastname }: UserData = JSON.parse(record.data)
  const corrections = await correctionsIn(db, content)
  const row = corrections.find(({ person_id }) => person_id === personId) ?? null
  const { sourced_id, preferred_name, pronouns, student_number, year, school_id, school_name } = student
  // In the order of `studentFields`, on which the digest depends.
  const bare = { sourced_id, email: null, email_key: null, firstname, lastname, preferred_name, pronouns }
  const all = { ...bare, student_number, year, school_id, school_name }
  return { student, fields: corrected(all, { ...uncorrected, email }), row }
}

/** `wanted` null removes the correction. Returns the new generation, or null if there is nothing to change. */
export async function writeCorrection(
  personId: string,
  wanted: Partial<Corrected> | null,
  seen: Seen,
  writer: Writer,
): Promise<number | null> {
  const { db, lease } = writer
  const standing = await standingOf(db, seen.content, personId)
  if (!standing)
    throw new UsageError('no student on the roster matches; only students on the roster can be corrected')
  const { student, fields: inFile, row } = standing
  const { email, firstname, lastname } = { ...(row ?? uncorrected), ...(wanted ?? uncorrected) }
  const left = withoutSame({ email, firstname, lastname }, inFile)
  const fields = corrected(inFile, left ?? uncorrected)
  await mustBeFree(db, seen.content, fields, personId)
  const isSame = JSON.stringify(left) === JSON.stringify(row ? withoutSame(row, inFile) : null)
  if (isSame && fields.email === student.email) return null
  return asGeneration(writer, {
    about: {
      ...{ kind: 'correction', file_name: '', sha256: '', version: '', rows: 0, allowed: '' },
      summary: JSON.stringify({ userId: personId, removed: left === null }),
      newest_row_at: null,
    },
    seen,
    async write(writing) {
      const writes = writesOf(standing, fields, left, writing)
      await lease.write([...writes].map((write) => writeRow(write, writing.generation)))
    },
  })
}

function* writesOf(
  { student, row }: Standing,
  fields: StudentFields,
  left: Corrected | null,
  writing: Writing,
): Generator<RowWrite> {
  const { generation, now, by } = writing
  const personId = student.person_id
  const event = { id: newId(), at: now, generation, personId }
  const stamp = { person_id: personId, from_gen: generation, actor: by.actor, corrected_at: now }
  yield { changes: 'person', row: [personId, now] }
  yield { table: 'event', row: stagedEvent('student.updated', by, event) }
  yield* versionWrites({ personId, fields, digest: digestOf(fields) }, student, writing)
  yield* correctionWrites(row, left && { ...left, ...stamp })
}

/** A value that equals the file's is not a correction. */
function withoutSame(wanted: Corrected, inFile: StudentFields): Corrected | null {
  const still = (name: keyof Corrected) => (wanted[name] === inFile[name] ? null : wanted[name])
  const left = { email: still('email'), firstname: still('firstname'), lastname: still('lastname') }
  return left.email === null && left.firstname === null && left.lastname === null ? null : left
}

async function mustBeFree(
  db: Db,
  content: number,
  { email_key }: StudentFields,
  personId: string,
): Promise<void> {
  if (email_key === null) return
  const owners = await studentsAmong(db, content, 'email_key', [email_key])
  const other = owners.find(({ person_id }) => person_id !== personId)
  if (!other) return
  const owner = `${fullName(other)} (${other.student_number ?? other.sourced_id})`
  throw new UsageError(`this is the address of ${owner}`)
}
