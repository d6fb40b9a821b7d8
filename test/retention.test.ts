/** What is kept is kept as long as the settings say, and one process at a time deletes the rest. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { endSessions } from '../src/identity/session/session.ts'
import { pruneEvents } from '../src/messages/events/events.ts'
import { Sweeper } from '../src/operate/sweeper.ts'
import { type Db, type Row, statement, sweptRowsMax } from '../src/platform/db/db.ts'
import { byOperator, bySystem } from '../src/platform/lib/by.ts'
import { day, hour, minute } from '../src/platform/lib/clock.ts'
import { newIdAt } from '../src/platform/lib/random.ts'
import { atLength, type Engine, engines } from './support/engines.ts'
import { freshAddress, freshNetwork, repeat } from './support/fresh.ts'
import { freePort } from './support/postgres.ts'
import { type Service, serviceFor, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'

const count = async (service: Service, from: string) =>
  Number((await service.rows<{ n: number }>(`select count(*) as n from ${from}`))[0]!.n)
const sweep = (service: Service) => service.app.parts.sweeper.sweep()
const numbers = async (service: Service, token: string) => {
  const { json } = await service.request('/staff/events?limit=1000', { token })
  return json.events.map((event: { number: number }) => event.number) as number[]
}

for (const engine of engines) {
  suite(`Retention on ${engine}`, atLength, () => {
    test('Ended sessions are kept for 30 days', async (t) => {
      const service = await serviceFor(t, engine)
      const { access } = await service.signIn(freshAddress())
      await service.request('/session', { method: 'DELETE', token: access })
      service.clock.advance(30 * day - minute)
      await sweep(service)
      assert.equal(await count(service, 'session'), 1)
      service.clock.advance(2 * minute)
      await sweep(service)
      assert.equal(await count(service, 'session'), 0)
    })

    test('Ended sessions are kept as long as the setting says', async (t) => {
      const service = await serviceFor(t, engine, { env: { CHIRON_KEEP_SESSIONS_DAYS: '2' } })
      const { access } = await service.signIn(freshAddress())
      await service.request('/session', { method: 'DELETE', token: access })
      service.clock.advance(2 * day + minute)
      await sweep(service)
      assert.equal(await count(service, 'session'), 0)
    })

    test('Events are kept for 400 days with their notes, and a number is never given again', async (t) => {
      const service = await serviceFor(t, engine)
      const email = freshAddress()
      const { userId } = await service.signIn(email)
      await service.app.parts.support.verify(userId, 'came with a passport', byOperator)
      const before = await numbers(service, (await newStaff(service, 'admin')).access)
      assert.equal(await count(service, 'note'), 1)

      service.clock.advance(400 * day - hour)
      await sweep(service)
      assert.equal(await count(service, "event where type = 'veterinarian.verified'"), 1)
      service.clock.advance(2 * hour)
      await sweep(service)
      assert.equal(await count(service, 'note'), 0)
      assert.equal(await count(service, "event where type = 'veterinarian.verified'"), 0)
      await service.signIn(email, freshNetwork())
      const later = await numbers(service, (await newStaff(service, 'admin')).access)
      assert.ok(Math.min(...later) > Math.max(...before), `${later} after ${before}`)
    })

    test('A closed account leaves its id until no event names it', async (t) => {
      const service = await serviceFor(t, engine)
      const { access, userId } = await service.signIn(freshAddress())
      await service.request('/veterinarian/me', { method: 'DELETE', token: access })
      service.clock.advance(399 * day)
      await sweep(service)
      assert.equal(await count(service, `person where id = '${userId}' and status = 'closed'`), 1)
      service.clock.advance(2 * day)
      await sweep(service)
      assert.equal(await count(service, `person where id = '${userId}'`), 0)
      assert.equal(await count(service, `event where person_id = '${userId}'`), 0)
    })

    test('Name and address of a removed member of staff go with the last event that names them', async (t) => {
      const service = await serviceFor(t, engine)
      const other = await newStaff(service, 'admin')
      const removed = await newStaff(service, 'support')
      const path = `/staff/members/${removed.userId}`
      assert.equal((await service.request(path, { method: 'DELETE', token: other.access })).status, 204)
      const named = `person where id = '${removed.userId}' and lastname = 'Hopper'`
      service.clock.advance(399 * day)
      await sweep(service)
      assert.equal(await count(service, named), 1)
      service.clock.advance(2 * day)
      await sweep(service)
      assert.equal(await count(service, `person where id = '${removed.userId}'`), 0)
      assert.equal(await count(service, `person where id = '${other.userId}'`), 1)
    })

    test('Pending registrations go after 7 days, also thousands of them at once', async (t) => {
      const service = await serviceFor(t, engine)
      const { db, sweeper } = service.app.parts
      const pendingCount = 2 * sweptRowsMax + 7
      await db.run(series(engine, pendingCount, service.clock.now() + 7 * day).people)
      service.clock.advance(7 * day - minute)
      await sweeper.sweep()
      assert.equal(await count(service, "person where status = 'pending'"), pendingCount)
      service.clock.advance(2 * minute)
      await sweeper.sweep()
      assert.equal(await count(service, 'person'), 0)
      assert.equal(await count(service, "event where type = 'veterinarian.lapsed'"), pendingCount)
    })

    test('Thousands of sessions that expired end with an event each, some at a time', async (t) => {
      const service = await serviceFor(t, engine)
      const { db } = service.app.parts
      const sessions = 2 * sweptRowsMax + 7
      await db.run(series(engine, sessions, service.clock.now() + day).sessions)
      service.clock.advance(2 * day)
      const now = service.clock.now()
      const results = await db.tx(endSessions({ expiredAt: now }, 'expired', now, bySystem))
      assert.equal(Math.max(...results.map((rows) => rows.length)), sweptRowsMax)
      await sweep(service)
      assert.equal(await count(service, "session where end_reason = 'expired'"), sessions)
      assert.equal(await count(service, "event where type = 'session.ended'"), sessions)
    })

    test('Of two services on one store, the one with the lease sweeps until it stops or dies', async (t) => {
      const first = await serviceFor(t, engine)
      const { databaseUrl, clock, mail } = first
      const second = await startService(engine, { databaseUrl, clock, mail })
      t.after(() => second.stop())
      const third = await startService(engine, { databaseUrl, clock, mail })
      t.after(() => third.stop())
      const addOld = () =>
        first.app.parts.db.run("insert into notice (inbox_fingerprint, sent_at) values ('a', 1)")
      const swept = async (service: Service) => {
        await addOld()
        await sweep(service)
        const gone = (await count(first, 'notice')) === 0
        await first.app.parts.db.run('delete from notice')
        return gone
      }

      assert.deepEqual([await swept(first), await swept(second), await swept(first)], [true, false, true])
      // It died: the lease runs out.
      clock.advance(3 * minute)
      assert.deepEqual([await swept(second), await swept(first)], [true, false])
      // It stops: the lease is free at once.
      await second.app.parts.sweeper.stop()
      assert.deepEqual([await swept(third), await swept(first)], [true, false])
    })

    test('Parallel sweeps of two services do the work once', async (t) => {
      const first = await serviceFor(t, engine)
      const { databaseUrl, clock, mail } = first
      const second = await startService(engine, { databaseUrl, clock, mail })
      t.after(() => second.stop())
      await first.app.parts.db.run(series(engine, 50, clock.now() + day).sessions)
      clock.advance(2 * day)
      await Promise.all([sweep(first), sweep(second), sweep(first), sweep(second)])
      assert.equal(await count(first, "event where type = 'session.ended'"), 50)
    })

    test('Thousands of old events go in short transactions, and people sign in meanwhile', async (t) => {
      const service = await serviceFor(t, engine)
      const { db } = service.app.parts
      const backlog = 10 * sweptRowsMax
      await db.run(series(engine, backlog, 1).events)
      const batches: number[] = []
      const counting: Db = {
        ...db,
        async tx(statements) {
          const results = await db.tx(statements)
          batches.push(Math.max(...results.map((rows) => rows.length)))
          return results
        },
      }
      const sweeper = new Sweeper({
        db: counting,
        clock: service.clock,
        log: { warn() {}, info() {} },
        keys: { rotateIfDue: async () => {} },
        veterinarians: { settle: async () => {} },
        parts: { events: { sweep: (now) => pruneEvents(now - 400 * day) } },
      })
      const sweeping = sweeper.sweep()
      const profiles = await repeat(10, async () => {
        const { access } = await service.signIn(freshAddress(), freshNetwork())
        return service.request('/veterinarian/me', { token: access })
      })
      await sweeping
      for (const { status } of profiles) assert.equal(status, 200)
      assert.equal(await count(service, "event where type = 'old'"), 0)
      assert.ok(batches.every((rows) => rows <= sweptRowsMax))
      assert.equal(batches.length, backlog / sweptRowsMax + 1)
    })

    test('A part that fails is named once, and keeps neither the other parts nor the keys from theirs', async (t) => {
      const service = await serviceFor(t, engine, { env: { CHIRON_METRICS_PORT: String(await freePort()) } })
      const { db, keys, metrics } = service.app.parts
      const [firstKey] = await keys.list()
      await db.run("insert into notice (inbox_fingerprint, sent_at) values ('a', 1)")
      await db.run(series(engine, 3, 1).events)
      await db.run('alter table delivery rename to delivery_gone')
      service.clock.advance(91 * day)
      const failures = async () => {
        const { values } = await metrics!.registry.getSingleMetric('chiron_sweep_failures_total')!.get()
        return values.map(({ labels, value }): [unknown, number] => [labels.part, value])
      }
      await sweep(service)
      await sweep(service)
      assert.deepEqual(
        (await failures()).filter(([, times]) => times > 0),
        [['deliveries', 2]],
      )
      assert.ok((await failures()).some(([part]) => part === 'roster'))
      assert.equal(await count(service, 'notice'), 0)
      assert.equal(await count(service, "event where type = 'old'"), 0)
      assert.notEqual((await keys.list()).at(-1)!.kid, firstKey!.kid)

      await db.run('alter table delivery_gone rename to delivery')
      await sweep(service)
      const said = service.log.map((line) => JSON.parse(line).msg).filter((msg) => /the sweep of/.test(msg))
      assert.deepEqual(said, [
        'the sweep of deliveries is failing; retrying until it works',
        'the sweep of deliveries works again',
      ])
    })

    test('A backlog of one part keeps the others from nothing: parts take turns', async (t) => {
      const service = await serviceFor(t, engine)
      const { db } = service.app.parts
      const turns: string[] = []
      const many: Row[] = Array.from({ length: sweptRowsMax }, () => ({}))
      const part = (name: string, rounds: number) => {
        let left = rounds
        return {
          sweep: () => {
            turns.push(name)
            return --left > 0 ? [statement('select 1 as many')] : [statement('select 1 as few')]
          },
        }
      }
      const sweeper = new Sweeper({
        db: { ...db, tx: async ([one]) => [one!.sql.endsWith('many') ? many : []] },
        clock: service.clock,
        log: { warn() {}, info() {} },
        keys: { rotateIfDue: async () => void turns.push('keys') },
        veterinarians: { settle: async () => {} },
        parts: { large: part('large', 3), small: part('small', 1) },
      })
      await service.app.parts.sweeper.stop()
      await sweeper.sweep()
      assert.deepEqual(turns, ['keys', 'large', 'small', 'large', 'large'])
    })

    for (const table of ['delivery', 'webhook_delivery'] as const)
      test(`Thousands of old rows of ${table} go in short transactions after a setting was lowered`, async (t) => {
        const service = await serviceFor(t, engine, { env: { CHIRON_KEEP_MAIL_DAYS: '1' } })
        const { db, sweeper } = service.app.parts
        const backlog = 10 * sweptRowsMax
        const old = service.clock.now() - 20 * day
        await db.run(series(engine, backlog, old)[table])
        const { tx } = db
        let most = 0
        Object.assign(db, {
          tx: async (statements: Parameters<Db['tx']>[0]) => {
            const results = await tx(statements)
            most = Math.max(most, ...results.map(({ length }) => length))
            return results
          },
        })
        const sweeping = sweeper.sweep()
        const { access } = await service.signIn(freshAddress(), freshNetwork())
        assert.equal((await service.request('/veterinarian/me', { token: access })).status, 200)
        await sweeping
        assert.equal(
          await count(
            service,
            `${table} where 'old' = substr(${table === 'delivery' ? 'domain' : 'webhook_id'}, 1, 3)`,
          ),
          0,
        )
        assert.equal(most, sweptRowsMax)
      })

    test('A service that stops does not first work off its backlog', async (t) => {
      const service = await serviceFor(t, engine)
      const { db, sweeper } = service.app.parts
      await db.run(series(engine, 5 * sweptRowsMax, 1).events)
      const sweeping = sweeper.sweep()
      await sweeper.stop()
      await sweeping
      assert.ok((await count(service, "event where type = 'old'")) >= 3 * sweptRowsMax)
    })
  })
}

/** Statements that insert many rows at once. */
function series(engine: Engine, rows: number, at: number) {
  const numbered =
    engine === 'sqlite'
      ? `(with recursive s (i) as (select 1 union all select i + 1 from s where i < ${rows}) select i from s) s`
      : `(select i from generate_series(1, ${rows}) i) s`
  return {
    people: `insert into person (id, role, status, email, email_key, firstname, lastname, created_at, updated_at, confirm_before)
      select 'p' || i, 'veterinarian', 'pending', 'a' || i, 'a' || i, 'A', 'B', 1, 1, ${at} from ${numbered}`,
    sessions: `insert into session (id, role, person_id, device, started_at, last_seen_at, expires_at, refresh_seq, rotated_at, rotated_before_at)
      select 's' || i, 'veterinarian', 'p' || i, '', 1, 1, ${at}, 1, 0, 0 from ${numbered}`,
    delivery: `insert into delivery (id, session_id, role, address_fingerprint, domain, state, created_at, updated_at, steps)
      select '${newIdAt(at)}' || i, '', 'student', 'a' || i, 'old', 'handed', ${at}, ${at}, '' from ${numbered}`,
    webhook_delivery: `insert into webhook_delivery (webhook_id, number, line, attempts, tried_at, ended_at, outcome)
      select 'old', i, '', 1, ${at}, ${at}, 'delivered' from ${numbered}`,
    events: `insert into event (id, at, type, data, number) select 'old' || i, ${at}, 'old', '{}', -i from ${numbered}`,
  }
}
