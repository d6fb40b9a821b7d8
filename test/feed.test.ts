/** Events as a feed: a reader who asks for what comes after a number misses nothing and sees nothing twice. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { type EventRow, eventHappened, numberEvents, readFeed } from '../src/messages/events/events.ts'
import type { Db } from '../src/platform/db/db.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { openDb } from '../src/platform/db/open.ts'
import { byOperator, bySystem } from '../src/platform/lib/by.ts'
import { newId } from '../src/platform/lib/random.ts'
import { holdCodes, Roster } from '../src/school/roster/roster.ts'
import { commandFolder, startChiron, startScript } from './support/child.ts'
import { atLength, engines, migratedStore, onPostgres } from './support/engines.ts'
import { freshAddress, freshNetwork, repeat } from './support/fresh.ts'
import { run } from './support/roster-commands.ts'
import { addUser, bulk, drop, edited, newSchool } from './support/roster-school.ts'
import { inWorld, publishes, watched } from './support/roster-world.ts'
import { outcome, type Reply, type Service, startService, TestClock } from './support/service.ts'
import { newStaff } from './support/staff.ts'
import { eventually, pause } from './support/wait.ts'

const source = (name: string) => JSON.stringify(fileURLToPath(new URL(`../src/${name}`, import.meta.url)))

/** Follows the feed with a cursor in small pages. */
function follow(db: Db, filter: Partial<Parameters<typeof readFeed>[1]> = {}) {
  const seen: EventRow[] = []
  let stopped = false
  let cursor = 0
  const step = async () => {
    const page = await readFeed(db, { after: cursor, limit: 7, ...filter })
    seen.push(...page)
    cursor = page.at(-1)?.number ?? cursor
    return page.length
  }
  const reading = (async () => {
    while (!stopped) if ((await step()) === 0) await pause(1)
    while ((await step()) > 0);
  })()
  return {
    seen,
    /** Reads to the end. */
    async end() {
      stopped = true
      await reading
      return seen
    },
  }
}

/** Each once, numbered without a gap from 1. */
function assertWhole(seen: readonly EventRow[], ids: readonly string[]): void {
  assert.deepEqual(
    seen.map(({ number }) => number),
    seen.map((_, i) => i + 1),
  )
  assert.deepEqual(seen.map(({ id }) => id).sort(), [...ids].sort())
}

const anEvent = (id: string, at = 1) =>
  eventHappened('veterinarian.updated', bySystem, { id, at, personId: 'p' })

async function inStore(
  engine: (typeof engines)[number],
  work: (db: Db, url: string) => Promise<void>,
): Promise<void> {
  const store = await migratedStore(engine)
  const db = openDb(store.url)
  try {
    await migrate(db, new TestClock())
    await work(db, store.url)
  } finally {
    await db.close()
    await store.remove()
  }
}

for (const engine of engines) {
  suite(`The feed on ${engine}`, () => {
    test('A reader beside three writing processes misses nothing and sees nothing twice', async () => {
      await inStore(engine, async (db, url) => {
        const reader = follow(db)
        const second = follow(db)
        const writer = (name: string) => `
          import { openDb } from ${source('platform/db/open.ts')}
          import { eventHappened, numberEvents } from ${source('messages/events/events.ts')}
          import { bySystem } from ${source('platform/lib/by.ts')}
          const db = openDb(${JSON.stringify(url)})
          for (let i = 0; i < 150; i++) {
            // Clocks differ between machines.
            const at = Date.now() + Math.floor(Math.random() * 2000) - 1000
            const event = (n) => eventHappened('session.started', bySystem, { id: '${name}.' + i + '.' + n, at })
            await Promise.all([db.tx([event(0), event(1)]), db.tx([event(2)]), i % 10 ? 0 : numberEvents(db)])
          }
          await db.close()`
        const children = ['a', 'b', 'c'].map((name) => startScript(writer(name)))
        for (const child of children) assert.equal((await child.exited).code, 0, child.output.err)
        const ids = ['a', 'b', 'c'].flatMap((name) =>
          Array.from({ length: 450 }, (_, i) => `${name}.${Math.floor(i / 3)}.${i % 3}`),
        )
        assertWhole(await reader.end(), ids)
        assertWhole(await second.end(), ids)
      })
    })

    test('A reader beside many writers on one connection pool sees each event once', async () => {
      await inStore(engine, async (db) => {
        const reader = follow(db)
        const ids = await repeat(600, async (i) => {
          const id = `event.${i}`
          // Every seventh transaction fails as a whole.
          if (i % 7 === 0)
            await assert.rejects(
              db.tx([anEvent(`lost.${i}`), { sql: 'insert into nothing values (1)', params: [] }]),
            )
          await db.tx([anEvent(id, 1_000 - i)])
          return id
        })
        assertWhole(await reader.end(), ids)
      })
    })

    test('An event that is written twice is one event', async () => {
      await inStore(engine, async (db) => {
        await repeat(20, () => db.tx([anEvent('once')]))
        await repeat(20, () => numberEvents(db))
        await db.tx([anEvent('once')])
        assertWhole(await readFeed(db, { limit: 10 }), ['once'])
      })
    })

    test('Numbers are not given again when the newest events are gone', async () => {
      await inStore(engine, async (db) => {
        for (let i = 0; i < 5; i++) await db.tx([anEvent(`old.${i}`, i)])
        assert.equal((await readFeed(db, { limit: 10 })).at(-1)?.number, 5)
        await db.run('delete from event')
        assert.deepEqual(await readFeed(db, { limit: 10 }), [])
        await db.tx([anEvent('new')])
        assert.deepEqual(
          (await readFeed(db, { after: 5, limit: 10 })).map(({ id, number }) => [id, number]),
          [['new', 6]],
        )
        await db.run('delete from event where number <= 6')
        await db.tx([anEvent('newer')])
        assert.deepEqual(
          (await readFeed(db, { after: 6, limit: 10 })).map(({ number }) => number),
          [7],
        )
      })
    })

    test(
      'Beside imports and undos a reader sees every event once, and no event before it is published',
      atLength,
      async () => {
        await inWorld(engine, async ({ db, clock }) => {
          const reader = follow(db)
          let unseen: string[] = []
          const staged = async () =>
            (
              await db.all<{ id: string }>(
                'select id from event where generation is not null and number is null',
              )
            ).map(({ id }) => id)
          const roster = new Roster(
            watched(db, async (statements) => {
              if (!publishes(statements)) return
              unseen = await staged()
              assert.ok(unseen.length > 0)
              assert.ok(reader.seen.every(({ id }) => !unseen.includes(id)))
            }),
            clock,
          )
          const importing = async (path: string) => {
            clock.advance(1_000)
            await roster.import(await roster.plan(path), { allow: holdCodes, by: byOperator })
          }
          const others: string[] = []
          const writing = { on: true }
          const writer = (async () => {
            while (writing.on) {
              const id = newId()
              await db.tx([anEvent(id, clock.now())])
              others.push(id)
              await pause(2)
            }
          })()
          const school = newSchool(40)
          await importing(bulk(school))
          await eventually('the events of the import', () =>
            unseen.every((id) => reader.seen.some((e) => e.id === id)),
          )
          await importing(
            bulk(
              edited(school, (s) => {
                drop(s, 'stu-2')
                addUser(s, 'fresh-1', 'student')
              }),
            ),
          )
          clock.advance(1_000)
          await roster.undo(await roster.planUndo(), { allow: holdCodes, by: byOperator })
          writing.on = false
          await writer
          const seen = await reader.end()
          const all = await db.all<{ id: string }>('select id from event')
          assertWhole(
            seen,
            all.map(({ id }) => id),
          )
          for (const id of others) assert.ok(seen.some((event) => event.id === id))
          const count = (type: string) => seen.filter((event) => event.type === type).length
          assert.deepEqual([count('roster.imported'), count('roster.undone')], [2, 1])
          assert.ok(seen.filter(({ actor }) => actor === 'operator').length > 40)
          assert.deepEqual([count('student.deactivated'), count('student.reactivated')], [2, 1])
        })
      },
    )

    test('Events of an import that failed never show, also after the next one', async () => {
      await inWorld(engine, async ({ db, clock, import: importFile }) => {
        const failing = new Roster(
          watched(db, (statements) => {
            if (publishes(statements)) throw new Error('cut off')
          }),
          clock,
        )
        await assert.rejects(
          async () =>
            failing.import(await failing.plan(bulk(newSchool(5))), { allow: holdCodes, by: byOperator }),
          /cut off/,
        )
        const left = (await db.all<{ id: string }>('select id from event')).map(({ id }) => id)
        assert.ok(left.length > 5)
        assert.deepEqual(await readFeed(db, { limit: 100 }), [])
        clock.advance(120_000)
        await importFile(bulk(newSchool(5)))
        const seen = await readFeed(db, { limit: 100 })
        assert.ok(seen.length > 5)
        assert.ok(seen.every(({ id, type }) => !left.includes(id) || type.startsWith('student.')))
        assert.equal(seen.filter(({ type }) => type === 'roster.imported').length, 1)
        assert.equal(new Set(seen.map(({ id }) => id)).size, seen.length)
      })
    })

    test('Every page is read through an index', async () => {
      await inStore(engine, async (db) => {
        await repeat(engine === 'postgres' ? 40 : 1, async (i) => {
          const events = Array.from({ length: 250 }, (_, n) =>
            eventHappened(n % 2 ? 'session.started' : 'session.ended', bySystem, {
              id: `${i}.${n}`,
              at: i * 250 + n,
              personId: `person-${n}`,
            }),
          )
          await db.tx(events)
        })
        await numberEvents(db)
        await db.analyze(['event'])
        const plans: string[] = []
        const explaining: Db = {
          ...db,
          async all(sql, params) {
            const prefix = engine === 'sqlite' ? 'explain query plan ' : 'explain '
            const lines = await db.all<Record<string, string>>(prefix + sql, params)
            plans.push(lines.map((line) => line.detail ?? line['QUERY PLAN']).join('\n'))
            return []
          },
        }
        for (const filter of [
          {},
          { after: 1_000 },
          { types: ['key.rotated'] },
          { types: ['key.rotated', 'mail.failed'] },
          { personId: 'person-7' },
          { personId: 'person-7', types: ['session.started'] },
          { network: 'nobody' },
          { network: 'nobody', types: ['session.started'] },
        ] as const)
          await readFeed(explaining, { limit: 10, ...filter })
        assert.equal(plans.length, 8)
        const byNumber = /event_number/
        const indexes = [byNumber, byNumber, /event_type/, /event_type/, /event_person/, /event_person/]
        for (const [i, plan] of plans.entries()) {
          assert.doesNotMatch(plan, /Seq Scan|SCAN e\b/, plan)
          assert.match(plan, indexes[i] ?? /event_network/)
        }
      })
    })
  })

  suite(`GET /staff/events on ${engine}`, () => {
    let service: Service
    let token: string
    before(async () => {
      service = await startService(engine)
      token = (await newStaff(service, 'admin')).access
    })
    after(() => service.stop())

    const get = (query = '') => service.request(`/staff/events${query}`, { token })

    test('Pages follow each other by `next`, also when events come in between', async () => {
      await service.signIn(freshAddress(), freshNetwork())
      const seen: { number: number }[] = []
      for (let next = 0; ; ) {
        const { status, json, headers } = await get(`?after=${next}&limit=2`)
        assert.equal(status, 200)
        assert.equal(headers.get('cache-control'), 'no-store')
        assert.ok(json.events.length <= 2)
        seen.push(...json.events)
        if (json.events.length === 0) {
          assert.equal(json.next, next)
          break
        }
        assert.equal(json.next, json.events.at(-1).number)
        next = json.next
        if (seen.length === 2) await service.signIn(freshAddress(), freshNetwork())
      }
      assert.deepEqual(
        seen.map(({ number }) => number),
        seen.map((_, i) => i + 1),
      )
      assert.ok(seen.length >= 8)
      assert.deepEqual(await get().then(({ json }) => json.events), seen)
    })

    test('Types and a person narrow it down', async () => {
      const one = await service.signIn(freshAddress(), freshNetwork())
      const other = await service.signIn(freshAddress(), freshNetwork())
      const mine = (await get(`?person=${one.userId}`)).json.events
      assert.deepEqual(
        mine.map((event: { type: string }) => event.type),
        ['veterinarian.registered', 'veterinarian.activated', 'session.started'],
        'the order holds also within one millisecond',
      )
      const started = (await get(`?types=session.started,session.ended&person=${other.userId}`)).json
      assert.deepEqual(
        started.events.map((event: { data: object }) => event.data),
        [{ sessionId: other.sessionId, method: 'code' }],
      )
      const [last] = started.events
      const later = await get(`?types=session.started&after=${last.number}&person=${other.userId}`)
      assert.deepEqual(later.json, { events: [], names: {}, next: last.number })
      assert.deepEqual((await get('?person=nobody')).json, { events: [], names: {}, next: 0 })
    })

    for (const query of [
      'after=-1',
      'after=x',
      'after=1.5',
      'after=99999999999999999999',
      'limit=0',
      'limit=1001',
      'limit=ten',
      'types=session.begun',
      'types=',
      'types=session.started,',
      'types=session.started;drop',
      'since=yesterday',
      'until=2026-13-01T00:00:00Z',
      'userId=q2nXcUoYTkKsmcYbkzyHRA',
    ])
      test(`?${query} is 400`, async () => {
        assert.deepEqual(outcome(await get(`?${query}`)), [400, 'invalid-request'])
      })

    test('Names of people and actors stand beside the events, and go with the account', async () => {
      const admin = await newStaff(service, 'admin')
      const { userId, access } = await service.signIn(freshAddress(), freshNetwork())
      await service.request(`/staff/people/${userId}/verify`, {
        method: 'POST',
        token: admin.access,
        body: {},
      })
      const page = async () => (await get(`?person=${userId}`)).json
      assert.deepEqual((await page()).names, { [userId]: 'Ada Marsh', [admin.userId]: 'Grace Hopper' })
      await service.request('/veterinarian/me', { method: 'DELETE', token: access })
      const later = await page()
      assert.equal(later.events.at(-1).type, 'session.ended')
      assert.deepEqual(later.names, { [admin.userId]: 'Grace Hopper' })
    })

    test('An actor and a span of time narrow it down, in both directions', async () => {
      const admin = await newStaff(service, 'admin')
      const { userId } = await service.signIn(freshAddress(), freshNetwork())
      const act = (name: string) =>
        service.request(`/staff/people/${userId}/${name}`, { method: 'POST', token: admin.access, body: {} })
      const times = ['verify', 'unverify', 'verify'] as const
      const at: string[] = []
      for (const name of times) {
        service.clock.advance(60_000)
        at.push(new Date(service.clock.now()).toISOString())
        assert.equal((await act(name)).status, 204)
      }
      const typesOf = async (query: string) =>
        (await get(`?actor=${admin.userId}${query}`)).json.events.map(({ type }: { type: string }) => type)
      const [verified, unverified] = ['veterinarian.verified', 'veterinarian.unverified']
      const newestFirst = `&before=${Number.MAX_SAFE_INTEGER}`
      assert.deepEqual(await typesOf(''), [verified, unverified, verified])
      assert.deepEqual(await typesOf(`&since=${at[1]}`), [unverified, verified])
      assert.deepEqual(await typesOf(`&until=${at[2]}`), [verified, unverified])
      assert.deepEqual(await typesOf(`&until=${at[2]}${newestFirst}`), [unverified, verified])
      assert.deepEqual(await typesOf(`&since=${at[1]}&until=${at[2]}&types=${verified}`), [])
      const all = (await get(`?since=${at[1]}&until=${at[2]}`)).json.events
      assert.deepEqual(
        all.map((event: { type: string; actor: string }) => [event.type, event.actor]),
        [[unverified, admin.userId]],
      )
      const own = (await get(`?actor=self&person=${userId}`)).json.events
      assert.equal(own.length, 3)
    })

    test('An event says who made the change, in which request, from which network', async () => {
      const network = freshNetwork()
      const email = freshAddress()
      await service.register(email)
      const { sessionId, code } = await service.code(email, network)
      const answer = await service.post(
        '/veterinarian/validate-otp',
        { email, otp_code: code, sessionId },
        network,
      )
      const { userId } = answer.json.user
      const requestOf = (reply: Reply) => reply.headers.get('request-id')
      const admin = await newStaff(service, 'admin')
      const { support } = service.app.parts
      const suspended = await service.request(`/staff/people/${userId}/suspend`, {
        method: 'POST',
        token: admin.access,
        body: { reason: 'a test' },
        headers: freshNetwork(),
      })
      assert.equal(suspended.status, 204)
      service.clock.advance(1)
      await support.reactivate(userId, null, byOperator)
      const again = await service.signIn(email, network)
      service.clock.advance(40 * 24 * 60 * 60_000)
      await service.app.parts.sweeper.sweep()
      token = (await newStaff(service, 'admin')).access

      const { events } = (await get(`?person=${userId}`)).json
      const of = (type: string) => events.filter((event: { type: string }) => event.type === type)
      const [started, startedAgain] = of('session.started')
      assert.deepEqual([started.actor, started.requestId], ['self', requestOf(answer)])
      assert.match(started.network, /^[A-Za-z0-9_-]{22}$/)
      assert.equal(startedAgain.network, started.network, 'the same network has the same fingerprint')
      const [suspension] = of('veterinarian.suspended')
      assert.deepEqual([suspension.actor, suspension.requestId], [admin.userId, requestOf(suspended)])
      assert.ok(suspension.network !== null && suspension.network !== started.network)
      const [ended, expired] = of('session.ended')
      assert.deepEqual(
        [ended.actor, ended.requestId, ended.data.reason],
        [admin.userId, requestOf(suspended), 'account'],
      )
      const [reactivated] = of('veterinarian.reactivated')
      assert.deepEqual(
        [reactivated.actor, reactivated.requestId, reactivated.network],
        ['operator', null, null],
      )
      assert.deepEqual(
        [expired.actor, expired.requestId, expired.network, expired.data],
        ['system', null, null, { sessionId: again.sessionId, reason: 'expired' }],
      )
    })
  })
}

suite('The feed beside transactions that commit late', onPostgres, () => {
  test('What is committed late or out of order comes later, and what is rolled back never', async () => {
    await inStore('postgres', async (db, url) => {
      const clients = await Promise.all(
        Array.from({ length: 12 }, async () => {
          const client = new pg.Client({ connectionString: url })
          await client.connect()
          return client
        }),
      )
      const insert = ({ sql, params }: ReturnType<typeof anEvent>) => ({ text: sql, values: [...params] })
      for (const [i, client] of clients.entries()) {
        await client.query('begin')
        await client.query(insert(anEvent(`late.${i}`, i)))
      }
      const reader = follow(db)
      await db.tx([anEvent('early.0', 1_000)])
      await eventually('the first', () => reader.seen.length === 1)
      const order = [7, 2, 11, 0, 9, 4, 1, 10, 5, 3, 8, 6]
      for (const [n, i] of order.entries()) {
        await clients[i]!.query(i % 4 === 3 ? 'rollback' : 'commit')
        await db.tx([anEvent(`early.${n + 1}`, 1_000 + n)])
      }
      await Promise.all(clients.map((client) => client.end()))
      const committed = order.filter((i) => i % 4 !== 3).map((i) => `late.${i}`)
      const ids = [...committed, ...Array.from({ length: 13 }, (_, i) => `early.${i}`)]
      assertWhole(await reader.end(), ids)
      assert.equal(reader.seen[0]?.id, 'early.0', 'a number that was read is never preceded later')
    })
  })

  test('Whoever numbers waits for another who does, and nobody gets the same number', async () => {
    await inStore('postgres', async (db, url) => {
      const slow = new pg.Client({ connectionString: url })
      await slow.connect()
      await db.tx([anEvent('a'), anEvent('b')])
      await slow.query('begin')
      await slow.query('select one from event_counter where one = 1 for update')
      const others = Array.from({ length: 5 }, () => readFeed(db, { limit: 10 }))
      await slow.query("update event set number = 1 where id = 'a'")
      await slow.query('update event_counter set last = 1')
      await slow.query('commit')
      await slow.end()
      for (const seen of await Promise.all(others)) assertWhole(seen, ['a', 'b'])
    })
  })
})

suite('chiron events', atLength, () => {
  const folder = commandFolder()
  const env = folder.ownStore()
  const chiron = (...args: string[]) => run(folder.path, args, env)
  const staff = (address: string) =>
    chiron('staff', 'add', address, '--name', 'Ada Marsh', '--may', 'admin', '--json')
  let ada: string
  before(async () => {
    const added = await staff('ada@example.org')
    assert.equal(added.code, 0, added.err)
    ada = added.json[0].userId
    await chiron('staff', 'change', 'ada@example.org', '--may', 'support,admin')
    await staff('bea@example.org')
  })

  const numbers = (ran: { json: { number: number }[] }) => ran.json.map(({ number }) => number)

  test('shows a table, or JSON lines that are the events of the feed', async () => {
    const { out, code } = await chiron('events')
    assert.equal(code, 0)
    const lines = out.trimEnd().split('\n')
    assert.equal(lines.length, 3)
    assert.match(lines[0]!, /^ +1 {2}\d{4}-\d\d-\d\dT\S+Z {2}staff\.added +\S{22} {2}by operator$/)
    const { json } = await chiron('events', '--json')
    assert.deepEqual(
      json.map(({ type, actor, requestId, network }) => [type, actor, requestId, network]),
      ['staff.added', 'staff.changed', 'staff.added'].map((type) => [type, 'operator', null, null]),
    )
    assert.equal(json[0].userId, ada)
  })

  test('filters by type, person, time and number', async () => {
    const events = async (...args: string[]) => numbers(await chiron('events', '--json', ...args))
    assert.deepEqual(await events('--type', 'staff.added'), [1, 3])
    assert.deepEqual(await events('--type', 'staff.changed, staff.removed'), [2])
    assert.deepEqual(await events('--person', ada), [1, 2])
    assert.deepEqual(await events('--person', ada, '--type', 'staff.changed'), [2])
    assert.deepEqual(await events('--after', '1'), [2, 3])
    assert.deepEqual(await events('--after', '1', '--limit', '1'), [2])
    assert.deepEqual(await events('--since', '1h'), [1, 2, 3])
    assert.deepEqual(await events('--since', '2099-01-01'), [])
    assert.deepEqual(await events('--since', '2020-01-01', '--after', '2'), [3])
  })

  test('follows what happens next', async () => {
    const child = startChiron(
      ['events', '--follow', '--json', '--since', '2020-01-01', '--type', 'staff.added'],
      {
        cwd: folder.path,
        env,
      },
    )
    const lines = () => child.output.out.split('\n').filter(Boolean)
    await eventually('what was there', () => lines().length === 2)
    assert.equal((await staff('cleo@example.org')).code, 0)
    await chiron('staff', 'remove', 'bea@example.org')
    assert.equal((await staff('dora@example.org')).code, 0)
    await eventually('what came', () => lines().length === 4)
    const seen = lines().map((line) => JSON.parse(line).number)
    assert.deepEqual(seen, [1, 3, 4, 6])
    await child.end()
    const late = startChiron(['events', '--follow', '--since', '2099-01-01'], { cwd: folder.path, env })
    await pause(300)
    await late.end()
    assert.equal(late.output.out, '')
  })

  for (const [args, message] of [
    [['--type', 'staff.add'], /^chiron: there is no event "staff\.add"; did you mean staff\.added\?$/m],
    [['--after', '-1'], /^chiron: --after must be a whole number/],
    [['--limit', '0'], /^chiron: --limit must be a whole number/],
    [['--since', 'yesterday'], /^chiron: --since must be a time/],
    [['--person', 'nobody@example.org'], /^chiron: /],
  ] as [string[], RegExp][])
    test(`says on one line what is wrong with ${args.join(' ')}`, async () => {
      const ran = await chiron('events', ...args)
      assert.equal(ran.code, 1)
      assert.match(ran.err, message)
      assert.equal(ran.err.trimEnd().split('\n').length, 1)
    })
})
