/** Who is a student in the next roster, which account each has, and what staff have corrected. */
import { newId } from '../../lib/random.ts'
import { parseAddress } from '../../people/address.ts'
import type { RoleData } from '../records.ts'
import type { CorrectionRow, StudentFields } from '../store.ts'
import type { CurrentRoster } from './current.ts'
import { digestOf, isStudent, type Lookup, studentFields } from './documents.ts'
import type { AppliedCorrection, Corrected, NextRoster, NextStudent } from './next.ts'

/** How accounts are kept when the school's system gives everybody a new sourcedId. */
export const matchKeys = ['number', 'address'] as const
export type MatchBy = (typeof matchKeys)[number]

export function nextStudents(
  current: CurrentRoster,
  next: NextRoster,
  rolesOf: ReadonlyMap<string, RoleData[]>,
  lookup: Lookup,
  match: MatchBy | null,
): Map<string, NextStudent> {
  const fieldsOf = new Map<string, StudentFields>()
  for (const [id, { data }] of next.user) {
    const roles = rolesOf.get(id) ?? []
    if (data.enabled && isStudent(data, roles)) fieldsOf.set(id, studentFields(id, data, roles, lookup))
  }
  const matches = match === null ? new Map<string, string>() : matchesBy(match, current, fieldsOf)
  const students = new Map<string, NextStudent>()
  for (const [id, inFile] of fieldsOf) {
    const matchedFrom = matches.get(id) ?? null
    const known = current.identities.get(id)
    const personId = known ?? current.identities.get(matchedFrom ?? '') ?? newId()
    const correction = correctionOf(current.corrections.get(personId), inFile)
    const fields = correction?.left ? corrected(inFile, correction.left) : inFile
    students.set(id, {
      personId,
      fields,
      digest: digestOf(fields),
      before: current.students.get(id) ?? current.students.get(matchedFrom ?? '') ?? null,
      isKnown: known !== undefined,
      matchedFrom,
      correction,
    })
  }
  return students
}

/** New sourcedId → the sourcedId of the one student who leaves and has the same number or address. */
export function matchesBy(
  match: MatchBy,
  current: CurrentRoster,
  next: ReadonlyMap<string, StudentFields>,
): Map<string, string> {
  const keyOf = (fields: StudentFields) => (match === 'number' ? fields.student_number : fields.email_key)
  const leavers = uniqueBy(
    [...current.students].filter(([id]) => !next.has(id)),
    keyOf,
  )
  const newcomers = uniqueBy(
    [...next].filter(([id]) => !current.identities.has(id)),
    keyOf,
  )
  const matches = new Map<string, string>()
  for (const [key, id] of newcomers) {
    const leaver = leavers.get(key)
    if (id !== null && leaver) matches.set(id, leaver)
  }
  return matches
}

/** Key → sourcedId, or null where several have the key. */
function uniqueBy(
  students: readonly (readonly [string, StudentFields])[],
  keyOf: (fields: StudentFields) => string | null,
): Map<string, string | null> {
  const byKey = new Map<string, string | null>()
  for (const [id, fields] of students) {
    const key = keyOf(fields)
    if (key !== null) byKey.set(key, byKey.has(key) ? null : id)
  }
  return byKey
}

/** A field is corrected until the file says the same. */
function correctionOf(row: CorrectionRow | undefined, inFile: StudentFields): AppliedCorrection | null {
  if (!row) return null
  const still = (name: keyof Corrected) => (row[name] === inFile[name] ? null : row[name])
  const left = { email: still('email'), firstname: still('firstname'), lastname: still('lastname') }
  const isDone = left.email === null && left.firstname === null && left.lastname === null
  const { email, firstname, lastname } = inFile
  return { row, left: isDone ? null : left, inFile: { email, firstname, lastname } }
}

export function corrected(inFile: StudentFields, { email, firstname, lastname }: Corrected): StudentFields {
  const address = email === null ? null : parseAddress(email)
  return {
    ...inFile,
    ...(address !== null && typeof address !== 'string' && { email: address.email, email_key: address.key }),
    ...(firstname !== null && { firstname }),
    ...(lastname !== null && { lastname }),
  }
}
