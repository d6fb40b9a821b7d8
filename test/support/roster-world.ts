/** A store with a roster and nothing around it, what is visible in it, and students of a service. */
import assert from 'node:assert/strict'
import type { Db, Statement } from '../../src/db/db.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openDb } from '../../src/db/open.ts'
import { type Plan, Roster } from '../../src/roster/roster.ts'
import { type Engine, newStore } from './engines.ts'
import { freshNetwork } from './fresh.ts'
import { type Reply, type Service, type SignedIn, TestClock } from './service.ts'

export interface World {
  readonly url: string
  readonly db: Db
  readonly clock: TestClock
  readonly roster: Roster
  plan(path: string): Promise<Plan>
  /** Plans and imports; what is held goes through. */
  import(path: string): Promise<number | null>
  undo(): Promise<number>
  close(): Promise<void>
}

export async function openWorld(engine: Engine): Promise<World> {
  const store = await newStore(engine)
  const clock = new TestClock()
  const db = openDb(store.url)
  await migrate(db, clock)
  const roster = new Roster(db, clock)
  return {
    url: store.url,
    db,
    clock,
    roster,
    plan: (path) => roster.plan(path),
    import: async (path) => roster.import(await roster.plan(path), { force: true }),
    undo: async () => roster.undo(await roster.planUndo()),
    async close() {
      await db.close()
      await store.remove()
    },
  }
}

export async function inWorld(engine: Engine, work: (world: World) => Promise<void>): Promise<void> {
  const world = await openWorld(engine)
  try {
    await work(world)
  } finally {
    await world.close()
  }
}

const isVisible = (t: string) =>
  `${t}.from_gen <= (select content from roster_state) and (${t}.to_gen is null or ${t}.to_gen > (select content from roster_state))`

/** Every row of the roster that readers can see, and every student account. */
export async function visibleRows(db: Db): Promise<Record<string, object[]>> {
  const rows: Record<string, object[]> = {}
  for (const [table, order] of [
    ['roster_record', 'kind, sourced_id'],
    ['roster_enrolment', 'sourced_id'],
    ['student', 'sourced_id, person_id'],
  ] as const) {
    const found = await db.all(`select * from ${table} t where ${isVisible('t')} order by ${order}`)
    rows[table] = found.map(({ to_gen: _, ...row }) => row)
  }
  rows.account = await db.all(
    "select id, status, email, firstname, lastname from account where role = 'student' and status = 'active' order by id",
  )
  return rows
}

/** sourcedId → userId of those on the roster now. */
export async function studentsNow(db: Db): Promise<Record<string, string>> {
  const rows = await db.all<{ sourced_id: string; person_id: string }>(
    `select sourced_id, person_id from student t where ${isVisible('t')} order by sourced_id, person_id`,
  )
  return Object.fromEntries(rows.map((row) => [row.sourced_id, row.person_id]))
}

/** The same store through which somebody can step in before a write. */
export function watched(db: Db, before: (statements: readonly Statement[]) => Promise<void> | void): Db {
  return {
    ...db,
    async tx(statements) {
      await before(statements)
      return db.tx(statements)
    },
    async run(sql, params = []) {
      await before([{ sql, params }])
      return db.run(sql, params)
    },
  }
}

/** Everything but when: the same roster imported into a store of its own gives the same rows. */
export async function contentOf(db: Db): Promise<object> {
  const { roster_record, roster_enrolment, student } = await visibleRows(db)
  const plain = (rows: object[] = []) =>
    rows.map((row) => ({ ...row, from_gen: 0, updated_at: 0, person_id: '' }))
  return { records: plain(roster_record), enrolments: plain(roster_enrolment), students: plain(student) }
}

/** One student row for each sourcedId, and the one that its identity says. */
export async function assertSound(db: Db): Promise<void> {
  const rows = await db.all(
    `select s.sourced_id, s.person_id, i.person_id as identity, p.role from student s
     left join student_identity i on i.sourced_id = s.sourced_id left join person p on p.id = s.person_id
     where s.from_gen <= (select content from roster_state)
       and (s.to_gen is null or s.to_gen > (select content from roster_state))`,
  )
  assert.equal(new Set(rows.map((row) => row.sourced_id)).size, rows.length, 'one row a student')
  for (const row of rows) assert.deepEqual([row.person_id, row.role], [row.identity, 'student'])
}

/** Something happens just before the nth read from now. Gives what puts the store back as it was. */
export function beforeRead(db: Db, nth: number, happens: () => Promise<void>): () => Promise<void> {
  const { one, byId, all } = db
  const undo = () => void Object.assign(db, { one, byId, all })
  let reads = 0
  let happening = Promise.resolve()
  const stepIn = async () => {
    if (++reads !== nth) return
    undo()
    happening = happens()
    await happening
  }
  const guarded = <Asked extends unknown[]>(read: (...asked: Asked) => Promise<unknown>) => {
    return async (...asked: Asked) => {
      await stepIn()
      return read(...asked)
    }
  }
  Object.assign(db, { one: guarded(one), byId: guarded(byId), all: guarded(all) })
  // It may be one of the outbox's reads that met it, which nobody waits for.
  return async () => {
    undo()
    await happening
  }
}

export const writesStudents = (statements: readonly Statement[]) =>
  statements.some(({ sql }) => /^insert into student /.test(sql))
export const publishes = (statements: readonly Statement[]) =>
  statements.some(({ sql }) => /^update roster_state set content/.test(sql))

export interface ServiceRoster {
  readonly roster: Roster
  import(path: string): Promise<number | null>
  undo(): Promise<number>
}

/** The roster of a running service, written beside it. */
export function rosterOf(service: Service): ServiceRoster {
  const roster = new Roster(service.app.parts.db, service.clock)
  return {
    roster,
    import: async (path) => roster.import(await roster.plan(path), { force: true }),
    undo: async () => roster.undo(await roster.planUndo()),
  }
}

export async function studentCode(service: Service, email: string, headers = freshNetwork()) {
  const before = service.mail.received.filter((m) => m.to.toLowerCase() === email.toLowerCase()).length
  const sent = await service.post('/student/send-otp', { email }, headers)
  if (sent.status !== 202) throw new Error(`send-otp answered ${sent.status}: ${sent.text}`)
  const mail = await service.mail.mailTo(email, before + 1)
  return { sessionId: sent.json.sessionId as string, code: mail.code, mail: mail.mail, sent }
}

export function answer(
  service: Service,
  email: string,
  sessionId: string,
  code: number | null,
): Promise<Reply> {
  const otp_code = code ?? 123456
  return service.post('/student/validate-otp', { email, otp_code, sessionId }, freshNetwork())
}

export async function signInStudent(
  service: Service,
  email: string,
): Promise<SignedIn & { user: Reply['json'] }> {
  const { sessionId, code } = await studentCode(service, email)
  const reply = await answer(service, email, sessionId, code)
  if (reply.status !== 200) throw new Error(`validate-otp answered ${reply.status}: ${reply.text}`)
  const { access_token, refresh_token, user } = reply.json
  return { access: access_token, refresh: refresh_token, sessionId, userId: user.userId, user }
}
