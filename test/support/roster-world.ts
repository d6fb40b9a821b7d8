/** A store with only a roster, what is visible in it, and the roster of a running service. */

import assert from 'node:assert/strict'
import { accounts } from '../../src/identity/people/people.ts'
import type { Db, Statement, Value } from '../../src/platform/db/db.ts'
import { isTake, type Step } from '../../src/platform/db/decision.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { openDb } from '../../src/platform/db/open.ts'
import { byOperator } from '../../src/platform/lib/by.ts'
import { holdCodes, type Plan, Roster } from '../../src/school/roster/roster.ts'
import { type Engine, migratedStore, type Store } from './engines.ts'
import { freshNetwork } from './fresh.ts'
import { type Reply, type Service, type SignedIn, TestClock } from './service.ts'

export interface World {
  readonly url: string
  readonly db: Db
  readonly clock: TestClock
  readonly roster: Roster
  plan(path: string): Promise<Plan>
  /** Plans and imports, with --force. */
  import(path: string): Promise<number | null>
  undo(): Promise<number>
  close(): Promise<void>
}

export async function openWorld(engine: Engine, made?: Store): Promise<World> {
  const store = made ?? (await migratedStore(engine))
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
    import: async (path) => roster.import(await roster.plan(path), { allow: holdCodes, by: byOperator }),
    undo: async () => roster.undo(await roster.planUndo(), { allow: holdCodes, by: byOperator }),
    async close() {
      await db.close()
      await store.remove()
    },
  }
}

export async function inWorld<T>(
  engine: Engine,
  work: (world: World) => Promise<T>,
  store?: Store,
): Promise<T> {
  const world = await openWorld(engine, store)
  try {
    return await work(world)
  } finally {
    await world.close()
  }
}

const isVisible = (t: string) =>
  `${t}.from_gen <= (select content from roster_state) and (${t}.to_gen is null or ${t}.to_gen > (select content from roster_state))`

export async function visibleRows(db: Db): Promise<Record<string, object[]>> {
  const rows: Record<string, object[]> = {}
  for (const [table, order] of [
    ['roster_record', 'kind, sourced_id'],
    ['roster_enrolment', 'sourced_id'],
    ['student', 'sourced_id, person_id'],
    ['disabled_student', 'sourced_id, person_id'],
  ] as const) {
    const found = await db.all(`select * from ${table} t where ${isVisible('t')} order by ${order}`)
    rows[table] = found.map(({ to_gen: _, ...row }) => row)
  }
  rows.account = await db.all(
    `select id, status, email, firstname, lastname from ${accounts} a where role = 'student' and status = 'active' order by id`,
  )
  return rows
}

/** sourcedId → userId of the students now on the roster. */
export async function studentsNow(db: Db): Promise<Record<string, string>> {
  const rows = await db.all<{ sourced_id: string; person_id: string }>(
    `select sourced_id, person_id from student t where ${isVisible('t')} order by sourced_id, person_id`,
  )
  return Object.fromEntries(rows.map((row) => [row.sourced_id, row.person_id]))
}

/** The same store, calling `before` ahead of every write. */
export function watched(db: Db, before: (statements: readonly Statement[]) => Promise<void> | void): Db {
  return {
    ...db,
    async tx(statements) {
      await before(statements)
      return db.tx(statements)
    },
    async stage(statements) {
      const all = [...statements]
      await before(all)
      return db.stage(all)
    },
    async run(sql, params = []) {
      await before([{ sql, params }])
      return db.run(sql, params)
    },
    async decide(...steps) {
      for (const step of steps) await before(await writesOf(db, step))
      return db.decide(...steps)
    },
  }
}

/** What a decision would write, without writing it. */
async function writesOf(db: Db, step: Step<unknown>): Promise<readonly Statement[]> {
  if (isTake(step)) return [step.take]
  const { writes } = await db.decide({
    asks: step.asks,
    rule: (rows) => ({ result: { writes: step.rule(rows).writes ?? [] } }),
  })
  return writes
}

/** The content without times and ids, so that two stores with the same roster compare equal. */
export async function contentOf(db: Db): Promise<object> {
  const { roster_record, roster_enrolment, student } = await visibleRows(db)
  const plain = (rows: object[] = []) =>
    rows.map((row) => ({ ...row, from_gen: 0, updated_at: 0, person_id: '' }))
  return { records: plain(roster_record), enrolments: plain(roster_enrolment), students: plain(student) }
}

/** Checks that every sourcedId has one student row, and that its person is the recorded one. */
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

/** Calls `told` before every read and waits for it. Returns a function that restores the store. */
export function onRead(db: Db, told: (sql: string) => Promise<void> | void): () => void {
  const { one, byId, all } = db
  const telling = (read: (sql: string, params?: readonly Value[]) => Promise<unknown>) => {
    return async (sql: string, params?: readonly Value[]) => {
      await told(sql)
      return read(sql, params)
    }
  }
  const tellingById: Db['byId'] = async (read, id) => {
    await told(read.one)
    return byId(read, id)
  }
  Object.assign(db, { one: telling(one), byId: tellingById, all: telling(all) })
  return () => void Object.assign(db, { one, byId, all })
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

export function rosterOf(service: Service): ServiceRoster {
  const roster = new Roster(service.app.parts.db, service.clock)
  return {
    roster,
    import: async (path) => roster.import(await roster.plan(path), { allow: holdCodes, by: byOperator }),
    undo: async () => roster.undo(await roster.planUndo(), { allow: holdCodes, by: byOperator }),
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
