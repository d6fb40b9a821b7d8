/**
 * The changes between two rosters that are still in the store, read page by page. Students are compared as they were
 * kept, so this is exactly what an import did, whatever day it was.
 */
import type { Db } from '../../../platform/db/db.ts'
import type { UserData } from '../records.ts'
import { differingIds } from '../store/differences.ts'
import { enrolmentOf, enrolmentsAmong } from '../store/enrolments.ts'
import { goneAmong, recordsAmong } from '../store/records.ts'
import { knownBefore, studentsAmong } from '../store/students.ts'
import { type Group, planKinds } from '../words.ts'
import { type Change, groupOf, type Lookup, recordChange, searchTextOf, studentChange } from './changes.ts'
import type { Operation } from './next.ts'

export interface PastChange {
  readonly change: Change
  /** What it is found by. */
  readonly text: string
  /** Of all changes of its group, those after this key follow. */
  readonly key: string
}

interface Between {
  readonly from: number
  readonly to: number
}

type RecordGroup = Exclude<Group, Operation | 'addresses'>

const isOfRecords = (group: string): group is RecordGroup => planKinds.some((kind) => kind === group)

/** Of one group, or of all students, in the order of their keys. */
export async function* pastChanges(
  db: Db,
  between: Between,
  group: Group | 'student',
  after = '',
): AsyncGenerator<PastChange> {
  if (group !== 'student' && isOfRecords(group)) {
    for await (const ids of differingIds(db, between, group, after))
      yield* await recordChanges(db, between, group, ids)
    return
  }
  for await (const ids of differingIds(db, between, 'student', after))
    for (const one of await studentChanges(db, between, ids))
      if (group === 'student' || groupOf(one.change) === group) yield one
}

async function studentChanges(
  db: Db,
  { from, to }: Between,
  people: readonly string[],
): Promise<PastChange[]> {
  const byPerson = async (content: number) =>
    new Map((await studentsAmong(db, content, 'person_id', people)).map((row) => [row.person_id, row]))
  const [before, after, known] = [
    await byPerson(from),
    await byPerson(to),
    await knownBefore(db, from, people),
  ]
  return people.flatMap((key) => {
    const [was, is] = [before.get(key) ?? null, after.get(key) ?? null]
    if (was?.digest === is?.digest) return []
    const change = studentChange(operationOf(was, is, known.has(key)), was, is)
    return [{ key, change, text: searchTextOf(change, nobody) }]
  })
}

const nobody: Lookup = { user: () => undefined, class: () => undefined }

function operationOf(before: object | null, after: object | null, wasKnown: boolean): Operation {
  if (before && after) return 'changed'
  if (before) return 'leaving'
  return wasKnown ? 'returning' : 'added'
}

async function recordChanges(
  db: Db,
  { from, to }: Between,
  kind: RecordGroup,
  ids: readonly string[],
): Promise<PastChange[]> {
  const [before, after] = [await recordsIn(db, from, kind, ids), await recordsIn(db, to, kind, ids)]
  const gone = await goneAmong(db, from, kind, ids)
  const lookup = await lookupFor(db, { from, to }, [...before.values(), ...after.values()])
  return ids.flatMap((key) => {
    const [was, is] = [before.get(key) ?? null, after.get(key) ?? null]
    // A class is also written again when its teachers change.
    if (JSON.stringify(was) === JSON.stringify(is)) return []
    const operation = operationOf(was, is, gone.has(key))
    const change = recordChange({ kind, sourcedId: key, operation }, { before: was, after: is }, lookup)
    return [{ key, change, text: searchTextOf(change, lookup) }]
  })
}

async function recordsIn(
  db: Db,
  content: number,
  kind: RecordGroup,
  ids: readonly string[],
): Promise<Map<string, object>> {
  if (kind === 'enrolment') {
    const rows = await enrolmentsAmong(db, content, 'sourced_id', ids)
    return new Map(rows.map((row) => [row.sourced_id, enrolmentOf(row)]))
  }
  const rows = await recordsAmong(db, content, kind, ids)
  return new Map(rows.map((row) => [row.sourced_id, JSON.parse(row.data)]))
}

/** The users and classes that these records refer to, as they are afterwards or, if they left, were before. */
async function lookupFor(db: Db, { from, to }: Between, records: readonly object[]): Promise<Lookup> {
  const idsOf = (name: 'userId' | 'classId') =>
    records.flatMap((record) => (name in record ? [(record as Record<string, string>)[name]!] : []))
  const read = async (kind: 'user' | 'class', ids: readonly string[]) =>
    new Map([...(await recordsIn(db, from, kind, ids)), ...(await recordsIn(db, to, kind, ids))])
  const users = (await read('user', idsOf('userId'))) as Map<string, UserData>
  const classes = (await read('class', idsOf('classId'))) as Map<string, { title: string }>
  return { user: (id) => users.get(id), class: (id) => classes.get(id) }
}
