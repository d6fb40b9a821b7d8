/**
 * The part of the roster that a small delta can touch: the records it names and everything needed to check it, looked
 * up by index. So the time for a delta depends on its own size, not on that of the school.
 */
import type { Db } from '../../../platform/db/db.ts'
import type { WorkFile } from '../../../platform/db/work-file.ts'
import { parseAddress } from '../../../platform/lib/address.ts'
import type { ClassData, RosterFile } from '../records.ts'
import { type EnrolmentRow, enrolmentsAmong, teachingIn } from '../store/enrolments.ts'
import { type RecordRow, recordsAmong, recordsIn, rolesOfUsers, usersByRole } from '../store/records.ts'
import { type Sizes, sizesIn } from '../store/sizes.ts'
import {
  identitiesAmong,
  type StudentVersion,
  studentsAmong,
  studentsWithoutAddress,
} from '../store/students.ts'
import type { Incoming } from './incoming.ts'
import { type Rows, rowsIn, type Standing } from './standing.ts'

/** With more rows than this, reading the whole roster takes no longer. */
const rowsMax = 20_000

/** A set of changes, and what else must be looked up for it. */
export interface Delta {
  readonly file: RosterFile
  /** Roles that begin or end between these days may change who is a student. */
  readonly days: readonly [from: string, to: string]
  /** Students with these addresses are included. */
  readonly addressKeys: readonly string[]
}

interface Desk {
  readonly file: WorkFile
  readonly incoming: Incoming
}

/** Null if the delta may touch everything. */
export async function partOfRoster(
  db: Db,
  whole: Standing,
  desk: Desk,
  delta: Delta,
): Promise<{ rows: Rows; sizes: Sizes } | null> {
  const modes = Object.values(delta.file.modes)
  if (delta.file.rows > rowsMax || modes.length === 0 || modes.includes('bulk')) return null
  if (await touchesAll(db, whole, desk)) return null
  const part = await new Neighbourhood(db, desk, whole, delta).load()
  const all = rowsIn(db, whole.content)
  return {
    sizes: await sizesIn(db, whole.content),
    rows: {
      ...all,
      async *records(kind) {
        if (kind === 'user') yield part.users
        else if (kind === 'role') yield part.roles
        else yield* all.records(kind)
      },
      async *enrolments() {
        yield part.enrolments
      },
      async *students() {
        yield part.students
      },
    },
  }
}

/** Schools are part of students, and terms decide which classes are current. */
async function touchesAll(db: Db, { content }: Standing, { incoming }: Desk): Promise<boolean> {
  for (const kind of ['org', 'term'] as const) {
    const named = new Set(incoming.named(kind))
    if (named.size === 0) continue
    for await (const page of recordsIn(db, content, kind))
      for (const { sourced_id, data } of page)
        if (named.delete(sourced_id) && JSON.stringify(incoming.find(kind, sourced_id)) !== data) return true
    if ([...named].some((id) => incoming.find(kind, id) !== null)) return true
  }
  for (const { sourced_id, data } of await recordsAmong(db, content, 'class', incoming.named('class'))) {
    const found = incoming.find('class', sourced_id)
    const terms = ({ termIds }: ClassData) => termIds.join('\n')
    if (!found || terms(found) !== terms(JSON.parse(data))) return true
  }
  return false
}

class Neighbourhood {
  readonly #db: Db
  readonly #content: number
  readonly #desk: Desk
  readonly #whole: Standing
  readonly #delta: Delta
  readonly #userIds = new Set<string>()
  readonly #users = new Map<string, RecordRow>()
  readonly #roles = new Map<string, RecordRow>()
  readonly #enrolments = new Map<string, EnrolmentRow>()
  readonly #students = new Map<string, StudentVersion>()

  constructor(db: Db, desk: Desk, whole: Standing, delta: Delta) {
    this.#db = db
    this.#content = whole.content
    this.#desk = desk
    this.#whole = whole
    this.#delta = delta
  }

  async load() {
    await this.#loadEnrolments()
    await this.#loadRoles()
    for (const id of this.#desk.incoming.named('user')) this.#userIds.add(id)
    for (const id of await usersByRole(this.#db, this.#content, ...this.#delta.days)) this.#userIds.add(id)
    await this.#loadStudents()
    await this.#loadUsers()
    return {
      users: [...this.#users.values()],
      roles: [...this.#roles.values()],
      enrolments: [...this.#enrolments.values()],
      students: [...this.#students.values()],
    }
  }

  /** Those that are named, all others of the same people, and those of teachers, who are part of their classes. */
  async #loadEnrolments(): Promise<void> {
    const named = await enrolmentsAmong(
      this.#db,
      this.#content,
      'sourced_id',
      this.#desk.incoming.named('enrolment'),
    )
    const people = new Set(named.map(({ user_id }) => user_id))
    for (const id of this.#usersIn('enrolment')) people.add(id)
    const others = await enrolmentsAmong(this.#db, this.#content, 'user_id', people)
    const teaching = await teachingIn(this.#db, this.#content)
    for (const row of [...named, ...others, ...teaching]) this.#enrolments.set(row.sourced_id, row)
    for (const id of people) this.#userIds.add(id)
    for (const { user_id } of teaching) this.#userIds.add(user_id)
  }

  async #loadRoles(): Promise<void> {
    const named = this.#desk.incoming.named('role')
    for (const row of await recordsAmong(this.#db, this.#content, 'role', named)) {
      this.#roles.set(row.sourced_id, row)
      this.#userIds.add(JSON.parse(row.data).userId)
    }
    for (const id of this.#usersIn('role')) this.#userIds.add(id)
  }

  /** Also people whose address or account somebody in the file would share. */
  async #loadStudents(): Promise<void> {
    const keys = new Set(this.#delta.addressKeys)
    const note = (data: string) => {
      const { email } = JSON.parse(data)
      const address = email === null ? null : parseAddress(email)
      if (address !== null && typeof address !== 'string') keys.add(address.key)
    }
    for (const { data } of this.#desk.file.each<{ data: string }>('select data from file_user')) note(data)
    for (const { data } of await recordsAmong(this.#db, this.#content, 'user', this.#userIds)) note(data)
    const identities = await identitiesAmong(this.#db, this.#content, this.#userIds)
    const people = [...identities.values(), ...this.#whole.corrections.keys()]
    for (const student of [
      ...(await studentsAmong(this.#db, this.#content, 'person_id', people)),
      ...(await studentsAmong(this.#db, this.#content, 'email_key', keys)),
      ...(await studentsWithoutAddress(this.#db, this.#content)),
    ]) {
      this.#students.set(student.sourced_id, student)
      this.#userIds.add(student.sourced_id)
    }
  }

  async #loadUsers(): Promise<void> {
    for (const row of await recordsAmong(this.#db, this.#content, 'user', this.#userIds))
      this.#users.set(row.sourced_id, row)
    for (const row of await rolesOfUsers(this.#db, this.#content, this.#userIds))
      this.#roles.set(row.sourced_id, row)
  }

  #usersIn(kind: 'role' | 'enrolment'): string[] {
    const sql = `select distinct user_id from row_${kind} where user_id is not null`
    return this.#desk.file.all<{ user_id: string }>(sql).map(({ user_id }) => user_id)
  }
}
