/** Who is a student in the next roster, which account each has, and what staff have corrected. */

import { parseAddress } from '../../../platform/lib/address.ts'
import { newId } from '../../../platform/lib/random.ts'
import { Ids, Numbers, Texts } from '../compact.ts'
import type { RoleData } from '../records.ts'
import type { CorrectionRow } from '../store/corrections.ts'
import type { DisabledVersion, StudentFields, StudentVersion } from '../store/students.ts'
import type { MatchBy } from '../words.ts'
import { digestOf, isStudent, type Lookup, studentFields } from './documents.ts'
import {
  type AppliedCorrection,
  type Corrected,
  type Counts,
  lookedUpAtOnce,
  type NextDisabled,
  type NextRoster,
  type NextStudent,
  noCounts,
} from './next.ts'
import type { Standing } from './standing.ts'
import { RecordTable } from './tables.ts'

/** How accounts are kept under new sourcedIds: by what the people have in common, or by name (new → current). */
export type Match = MatchBy | ReadonlyMap<string, string>

const states = ['none', 'same', 'changed', 'added', 'returning'] as const
type State = (typeof states)[number]

export async function nextStudents(
  standing: Standing,
  next: NextRoster,
  today: string,
  lookup: Lookup,
  match: Match | null,
): Promise<NextStudents> {
  const students = new NextStudents(next, new RolesToday(next, today), lookup, standing)
  for await (const page of standing.students()) for (const student of page) students.meet(student)
  await students.settle(match)
  return students
}

/** Students have the row numbers that they have as users. */
export class NextStudents {
  readonly counts: Counts
  /** How many have an address now. */
  addressesBefore = 0
  /** How many have a student number now. */
  numbersBefore = 0
  /** How many current students the file names. */
  namedBefore = 0
  /** The addresses, by which students are known when they sign in. */
  readonly keys = new Ids()
  /** The current rows of those who change or leave. */
  readonly #was = new RecordTable<StudentVersion>()
  readonly #next: NextRoster
  readonly #roles: RolesToday
  readonly #lookup: Lookup
  readonly #standing: Standing
  readonly #states = new Numbers()
  /** Number of the key + 1. */
  readonly #keyOf = new Numbers()
  /** Of the fields as the file has them. */
  readonly #digests = new Texts()
  readonly #digestOf = new Numbers()
  readonly #persons: string[] = []
  readonly #corrections = new Map<number, CorrectionRow>()
  /** Row → the sourcedId of the account that it takes over. */
  readonly #matchedFrom = new Map<number, string>()
  readonly #matched = new Set<string>()
  /** Rows of those who may not sign in. */
  readonly #disabled = new Set<number>()
  /** By sourcedId: those who may not sign in now. */
  #disabledBefore: ReadonlyMap<string, DisabledVersion> = new Map()

  constructor(next: NextRoster, roles: RolesToday, lookup: Lookup, standing: Standing) {
    this.#next = next
    this.#roles = roles
    this.#lookup = lookup
    this.#standing = standing
    this.counts = noCounts()
    for (const row of next.user.rows()) {
      const user = next.user.dataAt(row)
      const own = roles.of(row)
      if (!isStudent(user, own)) continue
      if (!user.enabled) {
        this.#disabled.add(row)
        continue
      }
      const fields = studentFields(next.user.idAt(row), user, own, lookup)
      this.#setState(row, 'added')
      this.#setKey(row, fields)
      this.#digestOf.set(row, this.#digests.add(digestOf(fields)))
      this.#persons[row] = ''
    }
  }

  get size(): number {
    const { before, added, returning, leaving } = this.counts
    return before + added + returning - leaving
  }

  meet(student: StudentVersion): void {
    this.counts.before++
    if (student.email_key !== null) this.addressesBefore++
    if (student.student_number !== null) this.numbersBefore++
    if (this.#next.user.incoming.isNamed(student.sourced_id)) this.namedBefore++
    const row = this.#next.user.find(student.sourced_id)
    if (!this.isStudent(row)) {
      this.counts.leaving++
      this.#was.set(this.#was.ids.add(student.sourced_id), student)
      return
    }
    this.#setPerson(row, student.person_id)
    const isSame = this.#digestAt(row) === student.digest
    this.#setState(row, isSame ? 'same' : 'changed')
    if (isSame) return
    this.counts.changed++
    this.#was.set(this.#was.ids.add(student.sourced_id), student)
  }

  /** Finds the accounts of those who are not on the roster now. */
  async settle(match: Match | null): Promise<void> {
    this.#disabledBefore = new Map((await this.#standing.disabled()).map((one) => [one.sourced_id, one]))
    await this.#withAccounts(
      this.rows().filter((row) => this.stateOf(row) === 'added'),
      (row, personId) => {
        this.#setPerson(row, personId)
        this.#setState(row, 'returning')
        this.counts.returning++
      },
    )
    await this.#withAccounts(this.#disabled.values(), (row, personId) => {
      this.#persons[row] = personId
    })
    if (match !== null) this.#match(match)
    for (const row of this.rows()) {
      if (this.stateOf(row) !== 'added') continue
      this.#persons[row] = this.#disabledBefore.get(this.idAt(row))?.person_id ?? newId()
      this.counts.added++
    }
    const { sizes } = this.#standing
    if (sizes) this.counts.before = sizes.student
    if (sizes) this.addressesBefore = sizes.address
    if (sizes) this.numbersBefore = sizes.number
    this.counts.after = this.size
  }

  /** Calls `each` with the rows whose sourcedIds have accounts. */
  async #withAccounts(rows: Iterable<number>, each: (row: number, personId: string) => void): Promise<void> {
    let some: number[] = []
    const flush = async () => {
      const known = await this.#standing.identities(some.map((row) => this.idAt(row)))
      for (const row of some) {
        const personId = known.get(this.idAt(row))
        if (personId !== undefined) each(row, personId)
      }
      some = []
    }
    for (const row of rows) {
      some.push(row)
      if (some.length === lookedUpAtOnce) await flush()
    }
    if (some.length > 0) await flush()
  }

  #match(match: Match): void {
    const matches = typeof match === 'string' ? this.matchesBy(match) : match
    for (const [sourcedId, from] of matches) {
      const [row, was] = [this.#next.user.find(sourcedId), this.#was.ids.find(from)]
      if (!this.isStudent(row) || was < 0) continue
      if (this.stateOf(row) === 'returning') this.counts.returning--
      this.#setPerson(row, this.#was.dataAt(was).person_id)
      this.#setState(row, 'changed')
      this.#matchedFrom.set(row, from)
      this.#matched.add(from)
      this.counts.changed++
      this.counts.leaving--
      this.namedBefore++
    }
  }

  /** New sourcedId → the sourcedId of the one student who leaves and has the same number or address. */
  matchesBy(match: MatchBy): Map<string, string> {
    const keyOf = (fields: StudentFields) => (match === 'number' ? fields.student_number : fields.email_key)
    const leavers = new Map<string, string | null>()
    const newcomers = new Map<string, string | null>()
    // Null if several have the key.
    const note = (found: Map<string, string | null>, id: string, key: string | null) => {
      if (key !== null) found.set(key, found.has(key) ? null : id)
    }
    for (let was = 0; was < this.#was.ids.size; was++) {
      const student = this.#was.dataAt(was)
      if (!this.has(student.sourced_id)) note(leavers, student.sourced_id, keyOf(student))
    }
    for (const row of this.rows()) {
      if (this.stateOf(row) !== 'added' && !this.#matchedFrom.has(row)) continue
      const fields = this.#fieldsInFile(row)
      note(newcomers, fields.sourced_id, keyOf(fields))
    }
    const matches = new Map<string, string>()
    for (const [key, id] of newcomers) {
      const leaver = leavers.get(key)
      if (id !== null && leaver) matches.set(id, leaver)
    }
    return matches
  }

  /** New sourcedId → the sourcedId of the account that it takes over. */
  *matched(): Generator<[sourcedId: string, from: string]> {
    for (const [row, from] of this.#matchedFrom) yield [this.idAt(row), from]
  }

  isStudent(row: number): boolean {
    return row >= 0 && row < this.#states.length && this.#states.at(row) !== 0
  }

  has(sourcedId: string): boolean {
    return this.isStudent(this.#next.user.find(sourcedId))
  }

  get(sourcedId: string): NextStudent | undefined {
    const row = this.#next.user.find(sourcedId)
    return this.isStudent(row) ? this.at(row) : undefined
  }

  *rows(): Generator<number> {
    for (const row of this.#next.user.rows()) if (this.isStudent(row)) yield row
  }

  idAt(row: number): string {
    return this.#next.user.idAt(row)
  }

  stateOf(row: number): State {
    return states[this.#states.at(row)]!
  }

  personAt(row: number): string {
    return this.#persons[row]!
  }

  /** The number of the address, or −1. */
  keyAt(row: number): number {
    return this.#keyOf.at(row) - 1
  }

  /** The number of the address of whoever has this sourcedId, or −1. */
  keyOf(sourcedId: string): number {
    const row = this.#next.user.find(sourcedId)
    return this.isStudent(row) ? this.keyAt(row) : -1
  }

  at(row: number): NextStudent {
    const inFile = this.#fieldsInFile(row)
    const correction = correctionOf(this.#corrections.get(row), inFile)
    const fields = correction?.left ? corrected(inFile, correction.left) : inFile
    const matchedFrom = this.#matchedFrom.get(row) ?? null
    const state = this.stateOf(row)
    const was = state === 'changed' ? this.#was.ids.find(matchedFrom ?? inFile.sourced_id) : -1
    return {
      personId: this.personAt(row),
      fields,
      digest: digestOf(fields),
      before: was < 0 ? null : this.#was.dataAt(was),
      isKnown: state !== 'added' && matchedFrom === null,
      isNewPerson: state === 'added' && !this.#disabledBefore.has(inFile.sourced_id),
      matchedFrom,
      correction,
    }
  }

  *corrected(): Generator<NextStudent> {
    for (const row of this.#corrections.keys()) yield this.at(row)
  }

  *leaving(): Generator<StudentVersion> {
    for (let was = 0; was < this.#was.ids.size; was++) {
      const id = this.#was.ids.at(was)
      if (!this.has(id) && !this.#matched.has(id)) yield this.#was.dataAt(was)
    }
  }

  /** Those who may not sign in and are new or differ from the current roster. */
  *disabled(): Generator<NextDisabled> {
    for (const row of this.#disabled) {
      const fields = this.#fieldsInFile(row)
      const digest = digestOf(fields)
      const before = this.#disabledBefore.get(fields.sourced_id) ?? null
      if (before?.digest === digest) continue
      const known = before?.person_id ?? this.#persons[row]
      yield { personId: known ?? newId(), fields, digest, before, isNewPerson: known === undefined }
    }
  }

  /** Those who may not sign in now and are enabled or gone in the next roster. */
  *noLongerDisabled(): Generator<DisabledVersion> {
    const { user } = this.#next
    for (const one of this.#disabledBefore.values()) {
      const row = user.find(one.sourced_id)
      const isGone = this.#standing.sizes === null || user.incoming.goes(one.sourced_id)
      if (row < 0 ? isGone : !this.#disabled.has(row)) yield one
    }
  }

  #fieldsInFile(row: number): StudentFields {
    const { user } = this.#next
    return studentFields(user.idAt(row), user.dataAt(row), this.#roles.of(row), this.#lookup)
  }

  #digestAt(row: number): string {
    return this.#corrections.has(row) ? this.at(row).digest : this.#digests.at(this.#digestOf.at(row))
  }

  #setState(row: number, state: State): void {
    this.#states.set(row, states.indexOf(state))
  }

  #setKey(row: number, { email_key }: StudentFields): void {
    this.#keyOf.set(row, email_key === null ? 0 : this.keys.add(email_key) + 1)
  }

  #setPerson(row: number, personId: string): void {
    this.#persons[row] = personId
    const correction = this.#standing.corrections.get(personId)
    if (!correction) return
    this.#corrections.set(row, correction)
    this.#setKey(row, this.at(row).fields)
  }
}

/** The roles of each user that count today. */
export class RolesToday {
  readonly #next: NextRoster
  /** By user: a role + 1; by role: the user's next one + 1. */
  readonly #first = new Numbers()
  readonly #following = new Numbers()

  constructor(next: NextRoster, today: string) {
    this.#next = next
    for (const role of next.role.rows()) {
      const { userId, startDate = today, endDate = today } = next.role.dataAt(role)
      const user = startDate <= today && today <= endDate ? next.user.find(userId) : -1
      if (user < 0) continue
      this.#following.set(role, user < this.#first.length ? this.#first.at(user) : 0)
      this.#first.set(user, role + 1)
    }
  }

  of(user: number): RoleData[] {
    const roles: RoleData[] = []
    let role = user < this.#first.length ? this.#first.at(user) : 0
    for (; role > 0; role = this.#following.at(role - 1)) {
      this.#next.role.incoming.meter.step()
      roles.push(this.#next.role.dataAt(role - 1))
    }
    return roles.reverse()
  }
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
