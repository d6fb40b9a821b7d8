/** A session at a client does not outlive what it depends on, whichever comes first. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import pg from 'pg'
import { endSessions, Sessions } from '../src/identity/session/session.ts'
import { insertSession } from '../src/identity/session/store.ts'
import { type Db, locking, type Row, type Statement, statement } from '../src/platform/db/db.ts'
import type { Decision } from '../src/platform/db/decision.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { openDb } from '../src/platform/db/open.ts'
import { bySystem } from '../src/platform/lib/by.ts'
import { day } from '../src/platform/lib/clock.ts'
import { newId } from '../src/platform/lib/random.ts'
import { type Engine, engines, migratedStore, onPostgres } from './support/engines.ts'
import { TestClock } from './support/service.ts'
import { eventually } from './support/wait.ts'

const now = Date.parse('2026-11-15T09:00:00Z')
const clientId = newId()

interface World {
  readonly db: Db
  readonly url: string
  /** A session of the portal, of a new person. */
  parent(): Promise<{ id: string; personId: string }>
  /** Whether each session that was started from this one has ended, with an event and a call to its client. */
  children(parentId: string): Promise<object[]>
}

async function inWorld(engine: Engine, work: (world: World) => Promise<void>): Promise<void> {
  const store = await migratedStore(engine)
  const db = openDb(store.url)
  try {
    await migrate(db, new TestClock())
    await db.run(
      `insert into client (id, name, kind, redirect_uris, logout_uris, backchannel_uri, scopes, roles, consent, pkce, claims_in_id_token, unverified_veterinarians, created_at)
       values ($1, 'Moodle', 'web', '[]', '[]', 'https://moodle.example/logout', 'openid', 'veterinarian', 'never', 1, 0, 0, 0)`,
      [clientId],
    )
    await work({
      db,
      url: store.url,
      async parent() {
        const [id, personId] = [newId(), newId()]
        const address = `${personId.toLowerCase()}@clinic.example`
        await db.run(
          `insert into person (id, role, status, email, email_key, firstname, lastname, created_at, updated_at, verified_at)
           values ($1, 'veterinarian', 'active', $2, $2, 'Ada', 'Marsh', 0, 0, 1)`,
          [personId, address],
        )
        const about = { id, role: 'veterinarian', personId } as const
        const session = { ...about, device: '', method: 'code', now, expiresAt: now + day } as const
        await db.tx(insertSession(session, bySystem))
        return { id, personId }
      },
      async children(parentId) {
        const rows = await db.all(
          `select case when s.ended_at is null then 0 else 1 end as ended,
             (select count(*) from event e where e.session_id = s.id and e.type = 'session.ended') as events,
             (select count(*) from logout_call l where l.session_id = s.id) as calls
           from session s where s.parent_id = $1`,
          [parentId],
        )
        return rows.map((row) => ({ ...row }))
      },
    })
  } finally {
    await db.close()
    await store.remove()
  }
}

const sessions = new Sessions({} as never)
const starting = ({ id: startedFrom, personId }: { id: string; personId: string }) =>
  sessions.startingAtClient(
    { id: newId(), clientId, personId, scope: 'openid', startedFrom, language: 'en', offline: false, now },
    bySystem,
  )

const endings = {
  'signing out': ({ id, personId }) => endSessions({ id, personId }, 'signed-out', now, bySystem),
  'signing out everywhere': ({ personId }) => endSessions({ personId }, 'revoked', now, bySystem),
  'losing the verification': ({ personId }) => [
    locking('select id from person where id = $1', personId),
    statement('update person set verified_at = null where id = $1', personId),
    ...endSessions({ personId, atStrictClients: true }, 'account', now, bySystem),
  ],
} satisfies Record<string, (parent: { id: string; personId: string }) => Statement[]>

const told = { ended: 1, events: 1, calls: 1 }

for (const engine of engines)
  for (const [how, end] of Object.entries(endings))
    test(`Started and ended many times at once by ${how}, none is left on ${engine}`, () =>
      inWorld(engine, async ({ db, parent, children }) => {
        for (let round = 0; round < 40; round++) {
          const from = await parent()
          const starts = Array.from({ length: 4 }, () => db.decide(starting(from)))
          const ends = Array.from({ length: 2 }, () => db.tx(end(from)))
          await Promise.all(round % 2 ? [...starts, ...ends] : [...ends, ...starts])
          for (const child of await children(from.id)) assert.deepEqual(child, told)
        }
      }))

type Run = (one: Statement) => Promise<Row[]>

async function carryOut(run: Run, { asks, rule }: Decision<unknown>): Promise<void> {
  const rows: Row[][] = []
  for (const { lock, question } of asks)
    rows.push(await run(lock === null ? question : { ...question, sql: `${question.sql} for update` }))
  for (const write of rule(rows).writes ?? []) await run(write)
}

suite('On PostgreSQL', onPostgres, () => {
  /** Runs these statements of a transaction, one by one, in a connection of its own. */
  async function heldOpen<T>(url: string, work: (run: Run) => Promise<T>): Promise<T> {
    const connection = new pg.Client({ connectionString: url })
    await connection.connect()
    try {
      await connection.query('begin')
      const result = await work(
        async ({ sql, postgres = sql, params }) => (await connection.query(postgres, [...params])).rows,
      )
      await connection.query('commit')
      return result
    } finally {
      await connection.end()
    }
  }

  async function untilOneWaits(db: Db): Promise<void> {
    const waiting = `select 1 as one from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    await eventually('something waits', () => db.one(waiting))
  }

  for (const [how, end] of Object.entries(endings)) {
    test(`One that is started while its parent is ended by ${how} does not start`, () =>
      inWorld('postgres', async ({ db, url, parent, children }) => {
        const from = await parent()
        const { start } = await heldOpen(url, async (run) => {
          const [first, ...rest] = end(from)
          await run(first!)
          const start = db.decide(starting(from))
          await untilOneWaits(db)
          for (const one of rest) await run(one)
          return { start }
        })
        assert.equal(await start, null)
        assert.deepEqual(await children(from.id), [])
      }))

    test(`One whose start is not yet committed when its parent is ended by ${how} ends with it`, () =>
      inWorld('postgres', async ({ db, url, parent, children }) => {
        const from = await parent()
        const ending = await heldOpen(url, async (run) => {
          await carryOut(run, starting(from))
          const ended = db.tx(end(from))
          await untilOneWaits(db)
          return { ended }
        })
        await ending.ended
        assert.deepEqual(await children(from.id), [told])
      }))
  }
})
