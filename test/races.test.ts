import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { Limits, networkPolicies } from '../src/identity/limits/limits.ts'
import type { Db } from '../src/platform/db/db.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { openDb } from '../src/platform/db/open.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { minute } from '../src/platform/lib/clock.ts'
import { serveStore } from './support/child.ts'
import { atLength, type Engine, engines, migratedStore, newStore, onPostgres } from './support/engines.ts'
import { type Reply, type Service, startService, TestClock } from './support/service.ts'
import { startMailServer } from './support/smtp.ts'
import { eventually } from './support/wait.ts'

type Target = Pick<Service, 'post' | 'request' | 'rows' | 'mail' | 'stop'>

async function startWorkers(engine: Engine): Promise<Target> {
  const store = await migratedStore(engine)
  const mail = await startMailServer()
  const child = await serveStore(store.url, mail, { CHIRON_WORKERS: '2' })
  const db = openDb(store.url)
  return {
    ...child,
    mail,
    rows: (sql, params) => db.all(sql, params) as never,
    async stop() {
      await child.end()
      await Promise.all([mail.close(), db.close()])
      await store.remove()
    },
  }
}

const lockWaits =
  "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"

let count = 0
const newAddress = () => `vet${count++}@clinic.example`

const atOnce = <T>(times: number, work: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: times }, (_, i) => work(i)))

const networks: [where: string, headers: (i: number) => Record<string, string>][] = [
  ['one network', () => ({})],
  ['as many networks', (i) => ({ 'x-forwarded-for': `10.0.${count % 250}.${i}` })],
]

async function challenge(target: Target) {
  const email = newAddress()
  assert.equal(
    (await target.post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email })).status,
    202,
  )
  const { json } = await target.post('/veterinarian/send-otp', { email })
  const { code } = await target.mail.mailTo(email)
  const answer = (otp_code: number, headers: Record<string, string> = {}) =>
    target.post('/veterinarian/validate-otp', { email, otp_code, sessionId: json.sessionId }, headers)
  const sessionId: string = json.sessionId
  return { email, sessionId, right: code!, wrong: code === 100_000 ? 100_001 : 100_000, answer }
}

/** Counts outcomes by status or problem code. */
function tally(replies: readonly Reply[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, json } of replies) {
    const outcome = status < 400 ? String(status) : `${status} ${json?.code}`
    counts[outcome] = (counts[outcome] ?? 0) + 1
  }
  return counts
}

const eventsOf = async (target: Target, type: string, column: 'session_id' | 'person_id', id: string) =>
  (await target.rows(`select id from event where type = $1 and ${column} = $2`, [type, id])).length

const sessionsWith = (target: Target, id: string) =>
  target.rows<{ person_id: string; refresh_seq: number }>(
    'select person_id, refresh_seq from session where id = $1',
    [id],
  )

for (const engine of engines) {
  const ways: [how: string, start: () => Promise<Target>, options?: typeof atLength][] = [
    [`one process on ${engine}`, () => startService(engine)],
    [`two workers on ${engine}`, () => startWorkers(engine), atLength],
  ]
  for (const [how, start, options = {}] of ways) {
    describe(`answers at once, ${how}`, options, () => {
      let target: Target
      before(async () => {
        target = await start()
      })
      after(() => target.stop())

      for (const [where, headers] of networks) {
        test(`of 100 right answers from ${where} one gets a token`, async () => {
          const { sessionId, right, answer } = await challenge(target)
          const replies = await atOnce(100, (i) => answer(right, headers(i)))
          assert.deepEqual(tally(replies), { 200: 1, '401 otp-unusable': 99 })
          assert.equal((await sessionsWith(target, sessionId)).length, 1)
          assert.equal(await eventsOf(target, 'session.started', 'session_id', sessionId), 1)
          const token = replies.find((reply) => reply.status === 200)?.json.access_token
          const reads = await atOnce(20, () => target.request('/veterinarian/me', { token }))
          assert.deepEqual(tally(reads), { 200: 20 })
        })

        test(`of 100 wrong answers from ${where} five are compared`, async () => {
          const { sessionId, wrong, right, answer } = await challenge(target)
          const replies = await atOnce(100, (i) => answer(wrong, headers(i)))
          assert.deepEqual(tally(replies), { '401 otp-incorrect': 5, '401 otp-unusable': 95 })
          const left = replies.flatMap(({ json }) =>
            json.code === 'otp-incorrect' ? [json.attemptsLeft] : [],
          )
          assert.deepEqual(left.sort(), [0, 1, 2, 3, 4])
          assert.equal(await eventsOf(target, 'otp.exhausted', 'session_id', sessionId), 1)
          assert.equal((await answer(right)).json.code, 'otp-unusable')
        })

        test(`right answers among 20 wrong ones from ${where} never give two tokens`, async () => {
          const places = [0, 0, 1, 2, 3, 4, 5, 10]
          const outcomes = await Promise.all(
            places.map(async (place) => {
              const { sessionId, right, wrong, answer } = await challenge(target)
              const replies = await atOnce(22, (i) =>
                answer(i === place || i === place + 1 ? right : wrong, headers(i)),
              )
              const { 200: signedIn = 0, ...others } = tally(replies)
              const known = (others['401 otp-incorrect'] ?? 0) + (others['401 otp-unusable'] ?? 0)
              return { signedIn, known, sessions: (await sessionsWith(target, sessionId)).length, others }
            }),
          )
          for (const { signedIn, known, sessions, others } of outcomes) {
            assert.ok(signedIn <= 1, `${signedIn} tokens`)
            assert.equal(sessions, signedIn)
            assert.equal(known, 22 - signedIn, JSON.stringify(others))
          }
        })
      }

      test('30 people of one network who answer again and again all sign in once', async () => {
        const people = await atOnce(30, () => challenge(target))
        const replies = await Promise.all(
          people.map(async ({ right, answer }) => {
            const answers: Promise<Reply>[] = []
            for (let nth = 0; nth < 4; nth++) {
              answers.push(answer(right))
              await target.request('/health/ready')
            }
            return Promise.all(answers)
          }),
        )
        assert.deepEqual(tally(replies.flat()), { 200: 30, '401 otp-unusable': 90 })
      })
    })
  }

  describe(`the same request many times at once on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    for (const [when, pauseMs] of [
      ['at once', 0],
      ['a minute after a first refresh', minute],
    ] as const)
      test(`100 refreshes with one token all give the same child, ${when}`, async () => {
        const { refresh, sessionId } = await service.signIn(newAddress())
        const renew = () => service.post('/session/refresh', { refresh_token: refresh })
        const earlier = [refresh, ...(pauseMs > 0 ? [(await renew()).json.refresh_token] : [])]
        service.clock.advance(pauseMs)
        const replies = await atOnce(100, renew)
        assert.deepEqual(tally(replies), { 200: 100 })
        const [child, ...others] = new Set(replies.map(({ json }) => json.refresh_token))
        assert.deepEqual(others, [])
        assert.ok(!earlier.includes(child))
        assert.equal((await sessionsWith(service, sessionId))[0]?.refresh_seq, earlier.length + 1)
      })

    test('of 50 codes asked for one address from one network 5 are granted, and mailed', async () => {
      const email = newAddress()
      const replies = await atOnce(50, () => service.post('/veterinarian/send-otp', { email }))
      assert.deepEqual(tally(replies), { 202: 5, '429 too-many-requests': 45 })
      for (const { status, headers } of replies)
        if (status === 429) assert.ok(Number(headers.get('retry-after')) > 0)
      const accepted = new Set(replies.flatMap(({ json }) => json.sessionId ?? []))
      assert.equal(accepted.size, 5)
    })

    test('of 50 codes asked for one address from 50 networks 20 are granted', async () => {
      const email = newAddress()
      const replies = await atOnce(50, (i) =>
        service.post('/veterinarian/send-otp', { email }, { 'x-forwarded-for': `10.1.0.${i}` }),
      )
      assert.deepEqual(tally(replies), { 202: 20, '429 too-many-requests': 30 })
    })

    test('of 20 resends one is granted, and the refused ones use up no code', async () => {
      const { email, sessionId } = await challenge(service)
      service.clock.advance(31_000)
      const store = openDb(service.databaseUrl)
      let asked: Promise<Reply[]> | undefined
      // On SQLite nobody else can write meanwhile, so all of them have looked before the first is granted.
      await store.exclusively(async () => {
        asked = atOnce(20, () => service.post('/veterinarian/send-otp', { email, sessionId }))
        for (let i = 0; i < 5; i++) await service.request('/health/live')
      })
      await store.close()
      const replies = await asked!
      assert.deepEqual(tally(replies), { 202: 1, '429 too-many-requests': 19 })
      for (const { status, headers } of replies)
        if (status === 429) assert.equal(headers.get('retry-after'), '30')
      const [again] = await service.rows<{ resends: number }>('select resends from challenge where id = $1', [
        sessionId,
      ])
      assert.equal(again?.resends, 1)
      const more = await atOnce(10, () => service.post('/veterinarian/send-otp', { email }))
      assert.deepEqual(tally(more), { 202: 3, '429 too-many-requests': 7 })
    })

    test('50 registrations of one address make one person', async () => {
      const email = newAddress()
      const replies = await atOnce(50, (i) => service.register(i % 2 ? email : email.toUpperCase()))
      assert.deepEqual(tally(replies), { 202: 50 })
      await Promise.all([service.code(email), service.code(email)])
      await eventually('every registration is applied', async () => {
        const left = await service.rows('select id from registration where email_key = $1', [email])
        return left.length === 0
      })
      const people = await service.rows<{ id: string }>('select id from person where email_key = $1', [email])
      assert.equal(people.length, 1)
      assert.equal(await eventsOf(service, 'veterinarian.registered', 'person_id', people[0]!.id), 1)
    })

    test('20 closings of one account close it once', async () => {
      const email = newAddress()
      const { access, userId, sessionId } = await service.signIn(email)
      const replies = await atOnce(20, () =>
        service.request('/veterinarian/me', { method: 'DELETE', token: access }),
      )
      const { 204: closed = 0, '401 session-ended': late = 0 } = tally(replies)
      assert.equal(closed + late, 20, JSON.stringify(tally(replies)))
      assert.ok(closed >= 1)
      assert.equal(await eventsOf(service, 'veterinarian.closed', 'person_id', userId), 1)
      assert.equal(await eventsOf(service, 'session.ended', 'session_id', sessionId), 1)
      assert.equal((await service.rows('select id from person where email_key = $1', [email])).length, 0)
    })
  })

  test(`services that start at once on a new store of ${engine} accept each other's tokens`, async () => {
    const store = await newStore(engine)
    const mail = await startMailServer()
    const clock = new TestClock()
    const env = { CHIRON_PUBLIC_URL: 'http://chiron.localhost' }
    const db = openDb(store.url)
    await migrate(db, clock)
    const services = await atOnce(4, () => startService(engine, { databaseUrl: store.url, mail, clock, env }))
    const tokens = await Promise.all(services.map((service) => service.signIn(newAddress())))
    const reads = await Promise.all(
      services.flatMap((service) =>
        tokens.map(({ access }) => service.request('/veterinarian/me', { token: access })),
      ),
    )
    await Promise.all(services.map((service) => service.stop()))
    await Promise.all([mail.close(), db.close()])
    await store.remove()
    assert.deepEqual(tally(reads), { 200: 16 })
  })
}

test(
  'an answer that meets the right one being accepted on PostgreSQL is refused, and fails nobody',
  onPostgres,
  async (t) => {
    const service = await startService('postgres')
    t.after(() => service.stop())
    const { email, right, answer } = await challenge(service)
    const owner = new pg.Client({ connectionString: service.databaseUrl })
    await owner.connect()
    await owner.query('begin')
    await owner.query('select id from person where email_key = $1 for update', [email])
    const first = answer(right)
    await eventually('it waits', async () => (await service.rows(lockWaits)).length > 0)
    const second = answer(right)
    await owner.query('commit')
    await owner.end()
    assert.deepEqual(tally(await Promise.all([first, second])), { 200: 1, '401 otp-unusable': 1 })
  },
)

/** A store on PostgreSQL, and another connection to it. */
async function withOther(work: (db: Db, other: pg.Client) => Promise<void>): Promise<void> {
  const store = await migratedStore('postgres')
  const db = openDb(store.url)
  const other = new pg.Client({ connectionString: store.url })
  await other.connect()
  try {
    await work(db, other)
  } finally {
    await other.end()
    await db.close()
    await store.remove()
  }
}

const someoneWaits = (db: Db) => eventually('it waits', async () => (await db.all(lockWaits)).length > 0)

for (const rows of [
  ['net:send-otp', 'net:validate-otp'],
  ['net:validate-otp', 'net:send-otp'],
])
  test(
    `sign-ins refund the limits in one order on PostgreSQL, whatever the order of the rows: ${rows}`,
    onPostgres,
    () =>
      withOther(async (db, other) => {
        for (const key of rows)
          await db.run("insert into bucket (key, full_at, mark) values ($1, 2000000, '')", [key])
        const lock = (key: string) =>
          other.query('select key from bucket where key = $1 for update nowait', [key])
        await other.query('begin')
        await lock('net:send-otp')
        const refund = new Limits(db, true, console).signedIn(
          'code',
          { inbox: 'inbox', askedFrom: 'net', answeredFrom: 'net' },
          1_000_000,
        )
        await someoneWaits(db)
        assert.equal((await lock('net:validate-otp')).rowCount, 1)
        await other.query('commit')
        await refund
      }),
  )

test(
  'a request that finds its network used up at the last moment on PostgreSQL takes nothing from wider networks',
  onPostgres,
  () =>
    withOther(async (db, other) => {
      const network = { fingerprint: 'own', wider: [{ fingerprint: 'wide', shares: 16 }] }
      const caller = { network, requestId: null, noteLimit() {} }
      await db.run("insert into bucket (key, full_at, mark) values ('own:register', 0, '')")
      await other.query('begin')
      await other.query("update bucket set full_at = 9000000 where key = 'own:register'")
      const taking = new Limits(db, true, console).admit(
        { policy: networkPolicies.register },
        caller,
        1_000_000,
      )
      await someoneWaits(db)
      const refused = assert.rejects(taking, { code: 'too-many-requests' })
      await other.query('commit')
      await refused
      assert.deepEqual(await db.all('select key from bucket'), [{ key: 'own:register' }])
    }),
)

for (const engine of engines) {
  describe(`accounts and sign-ins that meet on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine, { env: { CHIRON_LIMITS: 'off' } })
    })
    after(() => service.stop())

    test('Applying one registration many times at once makes one account and no error', async () => {
      for (let round = 0; round < 10; round++) {
        const email = `met${round}@vets.example`
        assert.equal((await service.register(email)).status, 202)
        const { veterinarians } = service.app.parts
        const found = await Promise.all(Array.from({ length: 8 }, () => veterinarians.findAccount(email)))
        assert.equal(new Set(found.map((person) => person?.id)).size, 1)
        assert.ok(found[0])
      }
    })

    test('A sign-in that meets a suspension leaves no session behind', async () => {
      for (let round = 0; round < 20; round++) {
        const email = `suspended${round}@vets.example`
        const { userId } = await service.signIn(email)
        const { sessionId, code } = await service.code(email)
        const [reply] = await Promise.all([
          service.post('/veterinarian/validate-otp', { email, otp_code: code, sessionId }),
          service.app.parts.support.suspend(userId, 'a test', byOperator),
        ])
        // Before the suspension it lets in, after it no longer; it never fails.
        assert.ok([200, 401].includes(reply.status), `${reply.status} ${reply.text}`)
        const live = await service.rows('select id from session where person_id = $1 and ended_at is null', [
          userId,
        ])
        assert.deepEqual(live, [])
      }
    })
  })
}
