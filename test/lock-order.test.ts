/**
 * Transactions that lock several rows do so in one order, or do not wait. Otherwise PostgreSQL ends one of two that wait
 * for each other, after a second. Each part runs many at once, those that could meet in opposite orders, and PostgreSQL
 * itself counts the deadlocks.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { codeTaken, Limits, networkPolicies, strangersMailLimits } from '../src/identity/limits/limits.ts'
import { type Person, personById } from '../src/identity/people/people.ts'
import { endSessions } from '../src/identity/session/session.ts'
import {
  admitMail,
  chooseNotice,
  forgetMail,
  lockMail,
  lockNotice,
  mailsOf,
  mails as mailTable,
  pruneMail,
  tryAllNow,
} from '../src/messages/mail/store.ts'
import { claimJobs, renew } from '../src/messages/queue/store.ts'
import {
  countFailure,
  forgetFailures,
  hurryLines,
  lines,
  linesOf,
  queueDeliveries,
  releaseLine,
  requeueDeliveries,
} from '../src/messages/webhooks/store.ts'
import type { Db, Statement } from '../src/platform/db/db.ts'
import { decision } from '../src/platform/db/decision.ts'
import { takeFromBuckets } from '../src/platform/db/limits.ts'
import { openDb } from '../src/platform/db/open.ts'
import { bySelf, bySystem } from '../src/platform/lib/by.ts'
import { secretsFrom } from '../src/platform/lib/secret.ts'
import { Veterinarians } from '../src/school/veterinarian/veterinarian.ts'
import { migratedStore, onPostgres } from './support/engines.ts'
import { eventually } from './support/wait.ts'

const now = Date.parse('2026-11-15T09:00:00Z')
const rounds = 150
const atOnce = 200
const by = bySelf({ requestId: null, network: { fingerprint: 'n', wider: [] } } as never)

/** What each round runs, all at once. */
type Part = (db: Db, round: number) => Promise<unknown>[]

const tx = (db: Db, statements: readonly Statement[]) => db.tx(statements)
const networkOf = (name: string) => ({ fingerprint: name, wider: [{ fingerprint: 'wider', shares: 16 }] })

const limits: Part = (db, round) => {
  const all = new Limits(db, true, console)
  const [one, other] = round % 2 ? ['a', 'b'] : ['b', 'a']
  const participants = { inbox: 'inbox', askedFrom: one!, answeredFrom: other! }
  const caller = (name: string) => ({ network: networkOf(name), requestId: null, noteLimit() {} })
  const ask = { inbox: 'inbox', network: one!, device: null, moverId: round % 3 ? null : 'mover' }
  const code = decision(all.codeAsks(ask, now), ({ state }) => ({
    writes: codeTaken(ask, state, now) ?? [],
    result: null,
  }))
  const wrong = decision(
    all.answerAsks({ challengeId: 'none', answeredFrom: other!, waits: true }, now),
    () => ({
      writes: all.wrongAnswer(participants, now),
      result: null,
    }),
  )
  return [
    db.decide(wrong),
    all.signedIn('code', participants, now),
    all.admit({ policy: networkPolicies.send }, caller(one!), now, code).catch(() => {}),
    all.admit({ policy: networkPolicies.validate }, caller(other!), now).catch(() => {}),
    tx(db, all.sweep(now + 60 * 60_000)),
  ]
}

const sessions: Part = (db, round) => [
  tx(db, endSessions({ personId: 'p' }, 'signed-out', now, by)),
  tx(db, endSessions({ personId: 'p', except: `s${round % 40}` }, 'revoked', now, by)),
  tx(db, endSessions({ expiredAt: now }, 'expired', now, bySystem)),
  tx(db, [
    {
      sql: 'update session set ended_at = null, end_reason = null where id = $1',
      params: [`s${round % 40}`],
    },
  ]),
]

/** Two inboxes of one domain. */
function choosing(round: number, hasCode: boolean) {
  const id = `m${round % 40}`
  const inbox = `inbox${round % 2}`
  const limits = strangersMailLimits({ inbox, domain: 'domain', isKnown: round % 3 === 0, hasCode })
  const asks = { row: lockMail(id), ...(!hasCode && { notice: lockNotice(inbox) }), ...limits.locks }
  return decision(asks, ({ row: _row, notice: _notice, ...counts }) => ({
    writes: [
      ...limits.take(counts, now),
      ...(hasCode ? [admitMail(id, now)] : chooseNotice({ id, kind: 'no-account', inbox, now })),
    ],
    result: null,
  }))
}

const mails: Part = (db, round) => [
  db.decide(choosing(round, true)),
  db.decide(choosing(round, false)),
  tx(db, forgetMail('nobody', `inbox${round % 2}`)),
  ...['one', 'other'].map((by) =>
    claimJobs(db, mailTable, mailsOf('codes', ['code']), { by, now, leaseUntil: now, limit: 20 }),
  ),
  ...['m20', 'm3', 'm11'].map((id) =>
    tx(db, [renew(mailTable, { id, claimed_by: round % 2 ? 'one' : 'other' }, now)]),
  ),
  tx(db, [tryAllNow(now - 1)]),
  tx(db, pruneMail(now, { caught: 0, noticed: 0, due: now - 1 })),
  tx(db, [{ sql: 'update outbox set claimed_by = null where id = $1', params: [`m${round % 40}`] }]),
]

const webhooks: Part = (db, round) => {
  const line = { webhook_id: 'w', line: `p${round % 40}`, claimed_by: 'one' }
  const range = { after: 0, to: 40, now }
  return [
    tx(db, queueDeliveries({ ...range, queuedTo: 0 })),
    db.decide(requeueDeliveries({ ...range, id: 'w', since: 0 })),
    ...['one', 'other'].map((by) =>
      claimJobs(db, lines, linesOf('w'), { by, now, leaseUntil: now, limit: 40 }),
    ),
    db.decide(forgetFailures('w', now - 1)),
    db.decide(countFailure('w', now)),
    tx(db, [hurryLines('w', now - 1)]),
    tx(db, releaseLine(line, now)),
  ]
}

/** Registrations of addresses that others move to, and of accounts that are closed. */
const accounts: Part = (db, round) => {
  const veterinarians = new Veterinarians({
    db,
    clock: { now: () => now, elapsed: () => 0 },
    secrets: secretsFrom('a secret for tests that is long enough', null),
    limits: new Limits(db, true, console),
    students: { taughtBy: async () => [] },
  })
  const email = `a${round % 2}@vets.example`
  const registration = (id: string, key: string) =>
    db.run(
      `insert into registration (id, email, email_key, firstname, lastname, created_at, confirm_before)
       values ($1, $2, $2, 'Ada', 'Byron', $3, $4)`,
      [id, key, now, now + 1],
    )
  const move = async (id: string) => {
    const person = (await personById(db, id)) as Person<'veterinarian'>
    await veterinarians.changeAddress(person, { email, key: email }, { by, note: null, now }).catch(() => {})
  }
  const close = async () => {
    const [id, key] = [`closed${round}`, `closed${round}@vets.example`]
    await insertVeterinarian(db, id, key)
    await registration(`r${round}`, key)
    const person = (await personById(db, id)) as Person<'veterinarian'>
    await Promise.all([veterinarians.close(person, by), veterinarians.findAccount(key)])
  }
  return [
    registration(`one${round}`, email).then(() => veterinarians.findAccount(email)),
    registration(`other${round}`, email).then(() => veterinarians.settle()),
    move('p0'),
    move('p1'),
    close(),
  ]
}

const insertVeterinarian = (db: Db, id: string, key: string) =>
  db.run(
    `insert into person (id, role, status, email, email_key, firstname, lastname, created_at, updated_at)
     values ($1, 'veterinarian', 'active', $2, $2, 'Ada', 'Byron', 0, 0)`,
    [id, key],
  )

async function fill(db: Db) {
  for (const id of ['p0', 'p1']) await insertVeterinarian(db, id, `${id}@vets.example`)
  await db.run(
    "insert into webhook (id, url, events, sealed, after_number, created_at) values ('w', '', '*', '', 0, 0)",
  )
  for (let i = 40; i-- > 0; ) {
    await db.run(
      `insert into session (id, role, person_id, device, started_at, last_seen_at, expires_at, refresh_seq, rotated_at, rotated_before_at)
       values ($1, 'student', 'p', '', 0, 0, $2, 1, 0, 0)`,
      [`s${i}`, now - (i % 2)],
    )
    await db.run(
      `insert into outbox (id, session_id, role, email, address_fingerprint, language, digits, reference, created_at, expires_at, attempts, next_at)
       values ($1, 's', 'student', 'a@b.example', 'f', 'en', 6, 'ABC', $2, $2, 0, $3)`,
      [`m${i}`, now, now - (i % 3)],
    )
    await db.run(
      `insert into event (id, number, at, type, person_id, data, actor) values ($1, $2, 0, 'session.started', $1, '{}', 'self')`,
      [`p${i}`, i + 1],
    )
  }
}

for (const [name, part] of Object.entries({ limits, sessions, mails, webhooks, accounts }))
  test(`No two transactions of ${name} wait for each other on PostgreSQL`, onPostgres, async (t) => {
    const store = await migratedStore('postgres')
    t.after(() => store.remove())
    const dbs = [openDb(store.url), openDb(store.url)]
    await fill(dbs[0]!)
    const running: Promise<unknown>[] = []
    for (let round = 0; round < rounds; round++) {
      running.push(...part(dbs[round % 3 ? 0 : 1]!, round))
      // More decisions would be refused.
      if (running.length >= atOnce) await Promise.all(running.splice(0))
    }
    await Promise.all(running)
    await Promise.all(dbs.map((db) => db.close()))
    const client = new pg.Client({ connectionString: store.url })
    await client.connect()
    const { rows } = await client.query(
      'select deadlocks from pg_stat_database where datname = current_database()',
    )
    await client.end()
    assert.equal(Number(rows[0].deadlocks), 0)
  })

test('A new bucket is locked before a wider one on PostgreSQL', onPostgres, async (t) => {
  const store = await migratedStore('postgres')
  t.after(() => store.remove())
  const db = openDb(store.url)
  const [own, wider] = ['own', 'wider'].map((key) => ({ key, burst: 10, intervalMs: 1_000 }))
  await db.tx([takeFromBuckets([wider!], now)])
  const other = new pg.Client({ connectionString: store.url })
  await other.connect()
  await other.query('begin')
  await other.query("insert into bucket (key, full_at, mark) values ('own', 0, '')")
  const taking = db.tx([takeFromBuckets([own!, wider!], now)])
  await eventually('it waits', async () => {
    const waiting = `select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`
    return (await db.one(waiting)) !== undefined
  })
  const free = await other.query("select 1 from bucket where key = 'wider' for update skip locked")
  assert.equal(free.rowCount, 1)
  await other.query('commit')
  assert.equal((await taking)[0]!.length, 2)
  await other.end()
  await db.close()
})
