/**
 * The part of the roster that a small delta can touch: the records it names and everything needed to check it, looked
 * up by index. So the time for a delta depends on its own size, not on that of the school.
 */
import type { Db } from '../../../platform/db/db.ts'
import { parseAddress } from '../../../platform/lib/address.ts'
import type { ClassData, RosterFile, UserData } from '../records.ts'
import { type EnrolmentRow, enrolmentsAmong, teachingIn } from '../store/enrolments.ts'
import { type RecordRow, recordsAmong, recordsIn, rolesOfUsers, usersByRole } from '../store/records.ts'
import { sizesIn } from '../store/sizes.ts'
import {
  identitiesAmong,
  type StudentVersion,
  studentsAmong,
  studentsWithoutAddress,
} from '../store/students.ts'
import type { Incomings } from './incoming.ts'
import type { Standing } from './standing.ts'

/** With more rows than this, reading the whole roster takes no longer. */
const rowsMax = 20_000

export interface PartOptions {
  /** Roles that begin or end between these days may change who is a student. */
  readonly days: readonly [from: string, to: string]
  /** Students with these addresses are included. */
  readonly addressKeys: readonly string[]
}

/** Null if the delta may touch everything. */
export async function partOfRoster(
  db: Db,
  whole: Standing,
  incoming: Incomings,
  file: RosterFile,
  options: PartOptions,
): Promise<Standing | null> {
  const modes = Object.values(file.modes)
  if (file.rows > rowsMax || modes.length === 0 || modes.includes('bulk')) return null
  if (await touchesAll(db, whole, incoming)) return null
  const part = await new Neighbourhood(db, incoming, whole, options).load()
  return {
    ...whole,
    sizes: await sizesIn(db, whole.content),
    async *records(kind) {
      if (kind === 'user') yield part.users
      else if (kind === 'role') yield part.roles
      else yield* whole.records(kind)
    },
    async *enrolments() {
      yield part.enrolments
    },
    async *students() {
      yield part.students
    },
  }
}

/** Schools are part of students, and terms decide which classes are current. */
async function touchesAll(db: Db, { content }: Standing, { of }: Incomings): Promise<boolean> {
  for (const kind of ['org', 'term'] as const) {
    if (of[kind].size === 0) continue
    for await (const page of recordsIn(db, content, kind))
      for (const { sourced_id, data } of page) {
        const row = of[kind].find(sourced_id)
        if (of[kind].goes(sourced_id) || (row >= 0 && JSON.stringify(of[kind].table.dataAt(row)) !== data))
          return true
      }
    for (const row of of[kind].rows()) {
      const id = of[kind].table.ids.at(row)
      if ((await recordsAmong(db, content, kind, [id])).length === 0) return true
    }
  }
  for (const { sourced_id, data } of await recordsAmong(db, content, 'class', of.class.named())) {
    const row = of.class.find(sourced_id)
    const terms = ({ termIds }: ClassData) => termIds.join('\n')
    if (row < 0 || terms(of.class.table.dataAt(row)) !== terms(JSON.parse(data))) return true
  }
  return false
}

class Neighbourhood {
  readonly #db: Db
  readonly #content: number
  readonly #incoming: Incomings
  readonly #whole: Standing
  readonly #options: PartOptions
  readonly #userIds = new Set<string>()
  readonly #users = new Map<string, RecordRow>()
  readonly #roles = new Map<string, RecordRow>()
  readonly #enrolments = new Map<string, EnrolmentRow>()
  readonly #students = new Map<string, StudentVersion>()

  constructor(db: Db, incoming: Incomings, whole: Standing, options: PartOptions) {
    this.#db = db
    this.#content = whole.content
    this.#incoming = incoming
    this.#whole = whole
    this.#options = options
  }

  async load() {
    await this.#loadEnrolments()
    await this.#loadRoles()
    for (const id of this.#incoming.of.user.named()) this.#userIds.add(id)
    for (const id of await usersByRole(this.#db, this.#content, ...this.#options.days)) this.#userIds.add(id)
    await this.#loadStudents()
    await this.#loadUsers()
    const all = <R>(rows: Map<string, R>) => [...rows.keys()].sort().map((id) => rows.get(id)!)
    return {
      users: all(this.#users),
      roles: all(this.#roles),
      enrolments: all(this.#enrolments),
      students: all(this.#students),
    }
  }

  /** Those that are named, all others of the same people, and those of teachers, who are part of their classes. */
  async #loadEnrolments(): Promise<void> {
    const { enrolment } = this.#incoming.of
    const { names } = enrolment.table.parts
    const named = await enrolmentsAmong(this.#db, this.#content, 'sourced_id', enrolment.named())
    const people = new Set(named.map(({ user_id }) => user_id))
    for (const row of enrolment.rows()) people.add(names.at(enrolment.table.userAt(row)))
    const others = await enrolmentsAmong(this.#db, this.#content, 'user_id', people)
    const teaching = await teachingIn(this.#db, this.#content)
    for (const row of [...named, ...others, ...teaching]) this.#enrolments.set(row.sourced_id, row)
    for (const id of people) this.#userIds.add(id)
    for (const { user_id } of teaching) this.#userIds.add(user_id)
  }

  async #loadRoles(): Promise<void> {
    const { role } = this.#incoming.of
    for (const row of await recordsAmong(this.#db, this.#content, 'role', role.named())) {
      this.#roles.set(row.sourced_id, row)
      this.#userIds.add(JSON.parse(row.data).userId)
    }
    for (const row of role.rows()) this.#userIds.add(role.table.dataAt(row).userId)
  }

  /** Also people whose address or account somebody in the file would share. */
  async #loadStudents(): Promise<void> {
    const { user } = this.#incoming.of
    const keys = new Set(this.#options.addressKeys)
    const note = ({ email }: UserData) => {
      const address = email === null ? null : parseAddress(email)
      if (address !== null && typeof address !== 'string') keys.add(address.key)
    }
    for (const row of user.rows()) note(user.table.dataAt(row))
    for (const row of await recordsAmong(this.#db, this.#content, 'user', this.#userIds))
      note(JSON.parse(row.data))
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
}
