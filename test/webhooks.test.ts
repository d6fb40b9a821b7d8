/** Deliveries to a receiver on a socket: signatures, order, retries, rotation, replay, several processes. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { SigningKeys } from '../src/identity/session/keys.ts'
import { eventHappened } from '../src/messages/events/events.ts'
import { bySystem } from '../src/platform/lib/by.ts'
import { day, hour, minute, second } from '../src/platform/lib/clock.ts'
import { newId } from '../src/platform/lib/random.ts'
import { secretsFrom } from '../src/platform/lib/secret.ts'
import { serveStore } from './support/child.ts'
import { atLength, type Engine, engines, migratedStore, type Store } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { type Receiver, signatureOf, startReceiver, status, verify } from './support/receiver.ts'
import { type Service, startService, TestClock } from './support/service.ts'
import { startMailServer } from './support/smtp.ts'
import { sqliteBytes, storeCells } from './support/store-text.ts'
import { eventually } from './support/wait.ts'

const allow = { CHIRON_WEBHOOK_ALLOW: '127.0.0.1' }

const serve = (engine: Engine, options: Parameters<typeof startService>[1] = {}) =>
  startService(engine, { ...options, env: { ...allow, ...options.env } })

/** Writes events of these people, in this order, a millisecond apart. */
async function happen(service: Service, ...people: (string | null)[]): Promise<string[]> {
  const ids: string[] = []
  for (const person of people) {
    service.clock.advance(1)
    const id = newId()
    ids.push(id)
    const event = { id, at: service.clock.now(), ...(person !== null && { personId: person }) }
    await service.app.parts.db.tx([eventHappened('veterinarian.updated', bySystem, event)])
  }
  return ids
}

const idsOf = ({ received }: Receiver) => received.map(({ headers }) => headers['webhook-id'])

for (const engine of engines) {
  suite(`Webhooks on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await serve(engine)
      // So that receivers accept the time of a signature.
      service.clock.advance(Date.now() - service.clock.now())
    })
    after(() => service.stop())

    /** A receiver that gets updates, until the end of the test. */
    const hooked = async (
      t: { after(done: () => Promise<void>): void },
      options: { answer?: Receiver['answer']; events?: string[]; path?: string } = {},
    ) => {
      const receiver = await startReceiver(options.answer)
      const { webhooks } = service.app.parts
      const webhook = await webhooks.add({
        url: receiver.url + (options.path ?? ''),
        events: options.events ?? ['veterinarian.updated'],
      })
      t.after(async () => {
        await webhooks.remove(webhook.id)
        await receiver.close()
      })
      const deliveries = () => webhooks.deliveries(webhook.id)
      const state = async () => (await webhooks.list()).find(({ id }) => id === webhook.id)!
      return { receiver, webhook, deliveries, state }
    }

    test('An event arrives signed, with its id, its time and the event as the feed shows it', async (t) => {
      const { receiver, webhook } = await hooked(t, { events: ['session.started'] })
      const who = await service.signIn(freshAddress(), freshNetwork())
      const [one] = await receiver.until(1)
      verify(webhook.secret, one!)
      assert.throws(() => verify(webhook.secret, { ...one!, body: `${one!.body} ` }))
      const { type, timestamp, data, ...rest } = JSON.parse(one!.body)
      assert.deepEqual(rest, {})
      assert.equal(type, 'session.started')
      assert.equal(timestamp, data.at)
      assert.equal(data.id, one!.headers['webhook-id'])
      assert.deepEqual(
        [data.userId, data.actor, data.data],
        [who.userId, 'self', { sessionId: who.sessionId, method: 'code' }],
      )
      assert.ok(data.number > 0 && typeof data.requestId === 'string')
      assert.equal(one!.headers['content-type'], 'application/json')
      assert.match(one!.headers['user-agent']!, /^Chiron\/\d/)
    })

    test('The signature is HMAC-SHA256 over id, time and body, as anybody can compute it', async (t) => {
      const { receiver, webhook } = await hooked(t)
      await happen(service, 'by-hand')
      const [one] = await receiver.until(1)
      assert.equal(Buffer.from(webhook.secret.slice('whsec_'.length), 'base64').length, 32)
      assert.equal(one!.headers['webhook-signature'], signatureOf(webhook.secret, one!))
    })

    test('An endpoint gets only the events that it wants, and only those after it was added', async (t) => {
      await happen(service, 'before')
      const { receiver, state } = await hooked(t)
      const { receiver: other } = await hooked(t, { events: ['session.ended'] })
      const { receiver: all } = await hooked(t, { events: ['*'] })
      const ids = await happen(service, 'after')
      await service.signIn(freshAddress(), freshNetwork())
      await eventually('a sign-in', () => all.received.some(({ event }) => event.type === 'session.started'))
      await receiver.until(1)
      assert.deepEqual(idsOf(receiver), ids)
      assert.deepEqual(idsOf(other), [])
      assert.ok(idsOf(all).includes(ids[0]))
      assert.deepEqual((await state()).events, ['veterinarian.updated'])
    })

    test('Events of a person arrive in order; a failure holds up that person alone', async (t) => {
      const broken = { left: 1 }
      const { receiver, deliveries } = await hooked(t, {
        answer: (response, { event }) =>
          status(event.userId === 'ann' && broken.left-- > 0 ? 500 : 204)(response, receiver.received[0]!),
      })
      const [a1, b1, a2, n1, b2, a3, n2] = await happen(
        service,
        ...['ann', 'bob', 'ann', null, 'bob', 'ann', null],
      )
      await receiver.until(5)
      await eventually('the failure, and all but those of Ann', async () => {
        const all = await deliveries()
        const hasFailed = all.some(({ eventId, attempts }) => eventId === a1 && attempts === 1)
        return hasFailed && all.filter(({ state }) => state === 'delivered').length === 4
      })
      const of = (...ids: (string | undefined)[]) =>
        idsOf(receiver).filter((id) => ids.includes(id as string))
      assert.deepEqual(of(b1, b2), [b1, b2])
      assert.deepEqual(of(n1, n2), [n1, n2])
      assert.deepEqual(of(a1, a2, a3), [a1])
      service.clock.advance(5.5 * second)
      await receiver.until(8)
      assert.deepEqual(of(a1, a2, a3), [a1, a1, a2, a3])
    })

    test('An endpoint has a bounded number of connections', async (t) => {
      let release = () => {}
      const released = new Promise<void>((resolve) => {
        release = resolve
      })
      const { receiver } = await hooked(t, {
        answer: (response) => void released.then(() => response.writeHead(200).end()),
      })
      await happen(service, ...Array.from({ length: 30 }, (_, i) => `crowd-${i}`))
      await receiver.until(8)
      release()
      await receiver.until(30)
      assert.equal(receiver.open.most, 8)
      assert.equal(new Set(idsOf(receiver)).size, 30)
    })

    test('An endpoint that hangs delays no other', async (t) => {
      const { receiver: hangs } = await hooked(t, { answer: () => {} })
      const { receiver } = await hooked(t)
      await happen(service, ...Array.from({ length: 20 }, (_, i) => `hang-${i}`))
      await receiver.until(20)
      await hangs.until(8)
      assert.equal(hangs.received.length, 8)
    })

    test('Pauses grow over three days, then the delivery is given up and the next one goes', async (t) => {
      const { receiver, deliveries } = await hooked(t, {
        answer: (response, one) => status(one.event.userId === 'patient' ? 503 : 204)(response, one),
        events: ['veterinarian.updated'],
      })
      const tried = () => receiver.received.filter(({ event }) => event.userId === 'patient')
      const untilTried = (count: number) => eventually(`${count} tries`, () => tried().length >= count)
      await happen(service, 'patient')
      await happen(service, 'patient')
      await untilTried(1)
      const [first] = tried()
      const started = service.clock.now()
      const pauses: number[] = []
      for (let tries = 1; tries < 12; tries++) {
        const waiting = await eventually('the attempt is written down', async () => {
          const one = (await deliveries()).find(({ eventId }) => eventId === first!.event.id)
          return one?.attempts === tries && one
        })
        // Others are delivered, so it is not the endpoint that is in trouble.
        const [healthy] = await happen(service, 'healthy')
        await eventually('another is delivered', async () =>
          (await deliveries()).some(({ eventId, state }) => eventId === healthy && state === 'delivered'),
        )
        assert.deepEqual(
          [waiting?.state, waiting?.status, waiting?.error],
          ['waiting', 503, 'it answered 503'],
        )
        const pause = Date.parse(waiting!.nextTryAt!) - Date.parse(waiting!.triedAt!)
        pauses.push(pause)
        service.clock.advance(pause)
        await untilTried(tries + 1)
      }
      const total = service.clock.now() - started
      assert.ok(total > 70 * hour && total < 81 * hour, `${total / hour} hours`)
      assert.ok(pauses.every((pause, i) => i === 0 || pause > pauses[i - 1]!))
      assert.ok(pauses[0]! >= 5 * second && pauses[0]! < 5.5 * second)
      const outcome = await eventually('given up', async () => {
        const one = (await deliveries()).find(({ eventId }) => eventId === first!.event.id)
        return one?.state === 'given-up' && one
      })
      assert.deepEqual([outcome.attempts, outcome.nextTryAt], [12, null])
      await untilTried(13)
      const ids = tried().map(({ headers }) => headers['webhook-id'])
      assert.equal(new Set(ids.slice(0, 12)).size, 1, 'the id stays the same')
      assert.notEqual(ids[12], ids[0])
      const stamps = tried()
        .slice(0, 12)
        .map(({ headers }) => Number(headers['webhook-timestamp']))
      assert.ok(stamps.every((stamp, i) => i === 0 || stamp > stamps[i - 1]!))
      assert.equal(tried()[11]!.body, first!.body)
    })

    test('When an endpoint is well again after a longer trouble, what waits is sent at once', async (t) => {
      const { receiver, state } = await hooked(t, { answer: status(500) })
      await happen(service, ...Array.from({ length: 6 }, (_, i) => `back-${i}`))
      await receiver.until(6)
      await eventually('six failures', async () => (await state()).failures === 6)
      service.clock.advance(6 * second)
      await receiver.until(12)
      await eventually('twelve failures', async () => (await state()).failures === 12)
      receiver.answer = status(200)
      await happen(service, 'back-fresh')
      await receiver.until(19)
      await eventually('nothing waits', async () => (await state()).waiting === 0)
      assert.equal((await state()).failures, 0)
    })

    test('One log line says that an endpoint fails, one that it works again, and neither its path', async (t) => {
      const { receiver, webhook, state } = await hooked(t, { answer: status(500), path: '/sesame?key=open' })
      const lines = () =>
        service.log.filter((line) => line.includes(webhook.id)).map((line) => JSON.parse(line))
      await happen(service, 'log-1', 'log-2', 'log-3')
      await eventually('three failures', async () => (await state()).failures === 3)
      receiver.answer = status(200)
      service.clock.advance(6 * second)
      await receiver.until(6)
      await eventually('the second line', () => lines().length === 2)
      assert.deepEqual(
        lines().map(({ msg, host }) => [/^a webhook (is failing|works)/.exec(msg)?.[0], host]),
        ['a webhook is failing', 'a webhook works'].map((msg) => [msg, new URL(receiver.url).host]),
      )
      assert.doesNotMatch(service.log.join(''), /sesame|key=open|whsec_/)
      assert.equal(receiver.received[0]!.path, '/hook/sesame?key=open')
    })

    for (const [name, answer, error] of [
      ['a redirect', status(302, { location: 'http://127.0.0.1:1/' }), 'it redirects'],
      ['status 404', status(404), 'it answered 404'],
      ['a cut connection', (response) => void response.socket!.destroy(), 'ECONNRESET'],
    ] as [string, Receiver['answer'], string][])
      test(`A delivery fails by ${name}`, async (t) => {
        const { receiver, deliveries } = await hooked(t, { answer })
        await happen(service, 'fails')
        await receiver.until(1)
        const one = await eventually('an attempt', async () => {
          const [delivery] = await deliveries()
          return delivery?.attempts === 1 && delivery
        })
        assert.deepEqual([one.state, one.error], ['waiting', error])
      })

    for (const [name, answer] of [
      ['any 2xx', status(299)],
      [
        '2xx with a body without an end',
        (response) => void response.writeHead(200).write('x'.repeat(200_000)),
      ],
    ] as [string, Receiver['answer']][])
      test(`A delivery succeeds by ${name}`, async (t) => {
        const { deliveries } = await hooked(t, { answer })
        await happen(service, 'succeeds')
        await eventually('delivered', async () => (await deliveries())[0]?.state === 'delivered')
      })

    test('410 switches an endpoint off; enabled again it gets what happens from then on', async (t) => {
      const { receiver, webhook, state, deliveries } = await hooked(t, { answer: status(410) })
      await happen(service, 'gone', 'gone')
      await receiver.until(1)
      const off = await eventually('it is off', async () => {
        const now = await state()
        return !now.enabled && now
      })
      assert.deepEqual([off.disabledBecause, off.waiting], ['gone', 0])
      assert.deepEqual(
        (await deliveries()).map((one) => one.state),
        ['dropped', 'dropped'],
      )
      await happen(service, 'missed')
      receiver.answer = status(204)
      await service.app.parts.webhooks.change(webhook.id, { enabled: true })
      const [id] = await happen(service, 'again')
      await receiver.until(2)
      assert.equal(idsOf(receiver)[1], id)
      assert.equal(receiver.received.length, 2)
    })

    test('After a rotation both secrets sign for a day, then only the new one', async (t) => {
      const { receiver, webhook } = await hooked(t)
      const { secret } = await service.app.parts.webhooks.rotate(webhook.id)
      assert.notEqual(secret, webhook.secret)
      await happen(service, 'rotated')
      const [one] = await receiver.until(1)
      const both = [secret, webhook.secret].map((each) => signatureOf(each, one!))
      assert.equal(one!.headers['webhook-signature'], both.join(' '))
      service.clock.advance(day)
      await happen(service, 'a-day-later')
      const [, later] = await receiver.until(2)
      assert.equal(later!.headers['webhook-signature'], signatureOf(secret, later!))
    })

    test('A replay sends again what the endpoint wants since then, in order and with the same ids', async (t) => {
      const { receiver, webhook, state } = await hooked(t)
      await happen(service, 'early')
      service.clock.advance(minute)
      const since = service.clock.now()
      const ids = await happen(service, 'late', 'late', 'later', 'late')
      await receiver.until(5)
      await eventually('nothing waits', async () => (await state()).waiting === 0)
      assert.equal(await service.app.parts.webhooks.replay(webhook.id, since), 4)
      await receiver.until(9)
      const again = receiver.received.slice(5)
      const late = again.filter(({ event }) => event.userId === 'late')
      assert.deepEqual(again.map(({ event }) => event.id).sort(), [...ids].sort())
      assert.deepEqual(
        late.map(({ event }) => event.id),
        [ids[0], ids[1], ids[3]],
      )
    })

    test('A replay also sends what was missed while the endpoint was disabled', async (t) => {
      const { receiver, webhook } = await hooked(t)
      const { webhooks } = service.app.parts
      await webhooks.change(webhook.id, { enabled: false })
      service.clock.advance(second)
      const since = service.clock.now()
      const ids = await happen(service, 'missed', 'missed')
      await assert.rejects(webhooks.replay(webhook.id, since), { code: 'conflict' })
      await webhooks.change(webhook.id, { enabled: true })
      assert.equal(await webhooks.replay(webhook.id, since), 2)
      await receiver.until(2)
      assert.deepEqual(idsOf(receiver), ids)
    })

    test('A new address and new events count at once', async (t) => {
      const { webhook } = await hooked(t, { answer: status(500) })
      const { receiver } = await hooked(t, { events: ['session.ended'] })
      await happen(service, 'moved')
      const { webhooks } = service.app.parts
      await eventually('a failure', async () => (await webhooks.deliveries(webhook.id))[0]?.attempts === 1)
      await webhooks.change(webhook.id, { url: receiver.url })
      await receiver.until(1)
      await webhooks.change(webhook.id, { events: ['session.started'] })
      await happen(service, 'unwanted')
      await service.signIn(freshAddress(), freshNetwork())
      await receiver.until(2)
      assert.deepEqual(
        receiver.received.map(({ event }) => event.type),
        ['veterinarian.updated', 'session.started'],
      )
    })

    test('Secrets stand in the store only sealed', async (t) => {
      const { webhook } = await hooked(t)
      const { secret } = await service.app.parts.webhooks.rotate(webhook.id)
      const text = (await storeCells(service)).map(({ value }) => value).join('\n')
      const bytes = engine === 'sqlite' ? sqliteBytes(service.databaseUrl) : ''
      for (const each of [secret, webhook.secret]) {
        const bare = each.slice('whsec_'.length)
        for (const form of [bare, Buffer.from(bare, 'base64').toString('latin1')]) {
          assert.ok(!text.includes(form))
          assert.ok(!bytes.includes(form))
        }
      }
    })

    test('Deliveries that have ended are pruned after a week; those that wait stay', async (t) => {
      const { receiver, deliveries } = await hooked(t)
      await happen(service, 'pruned')
      await receiver.until(1)
      await eventually('delivered', async () => (await deliveries())[0]?.state === 'delivered')
      receiver.answer = status(500)
      await happen(service, 'kept')
      await receiver.until(2)
      service.clock.advance(7 * day + minute)
      await service.app.parts.sweeper.sweep()
      const left = await deliveries()
      assert.equal(left.length, 1)
    })
  })

  suite(`Webhooks of several processes on ${engine}`, atLength, () => {
    let store: Store
    before(async () => {
      store = await migratedStore(engine)
    })
    after(() => store.remove())

    test('Two services on one store deliver everything once, in order, and no person’s events at the same time', async (t) => {
      const clock = new TestClock()
      const one = await serve(engine, { databaseUrl: store.url, clock })
      const two = await serve(engine, { databaseUrl: store.url, clock, mail: one.mail })
      const open = new Map<string, number>()
      const receiver = await startReceiver((response, { event }) => {
        const now = (open.get(event.userId) ?? 0) + 1
        open.set(event.userId, now)
        assert.equal(now, 1)
        setTimeout(() => {
          open.set(event.userId, 0)
          response.writeHead(200).end()
        }, 3)
      })
      t.after(async () => {
        await two.stop()
        await one.stop()
        await receiver.close()
      })
      await one.app.parts.webhooks.add({ url: receiver.url, events: ['*'] })
      const people = Array.from({ length: 10 }, (_, i) => `both-${i}`)
      const ids: string[] = []
      for (let round = 0; round < 20; round++) ids.push(...(await happen(round % 2 ? one : two, ...people)))
      await receiver.until(ids.length)
      await eventually('nothing waits', async () => (await one.app.parts.webhooks.list())[0]!.waiting === 0)
      assert.equal(receiver.received.length, ids.length)
      await eventually(
        'a line without deliveries is removed',
        async () => (await one.rows('select line from webhook_line')).length === 0,
      )
      for (const person of people) {
        const numbers = receiver.received
          .filter(({ event }) => event.userId === person)
          .map(({ event }) => event.number)
        assert.equal(numbers.length, 20)
        assert.deepEqual(
          numbers,
          [...numbers].sort((a, b) => a - b),
        )
      }
    })

    test('After kill -9 during a delivery another process sends it again, once', async (t) => {
      const own = await migratedStore(engine)
      const mail = await startMailServer()
      const child = await serveStore(own.url, mail, allow)
      const clock = new TestClock()
      clock.advance(Date.now() - clock.now())
      const receiver = await startReceiver(() => {})
      t.after(async () => {
        await receiver.close()
        await mail.close()
        await own.remove()
      })
      const other = await serve(engine, { databaseUrl: own.url, clock, mail })
      t.after(() => other.stop())
      await other.app.parts.deliverer.stop()
      await other.app.parts.webhooks.add({ url: receiver.url, events: ['veterinarian.updated'] })
      const ids = await happen(other, 'killed', 'killed')
      await receiver.until(1)
      await child.end('SIGKILL')
      receiver.answer = status(200)
      clock.advance(Date.now() - clock.now() + 26 * second)
      const third = await serve(engine, { databaseUrl: own.url, clock, mail })
      t.after(() => third.stop())
      await receiver.until(3)
      await eventually('nothing waits', async () => (await third.app.parts.webhooks.list())[0]!.waiting === 0)
      assert.deepEqual(idsOf(receiver), [ids[0], ids[0], ids[1]])
    })

    test('A service that stops ends a hanging delivery and lets another send it at once', async (t) => {
      const own = await migratedStore(engine)
      const receiver = await startReceiver(() => {})
      t.after(async () => {
        await receiver.close()
        await own.remove()
      })
      const clock = new TestClock()
      const one = await serve(engine, { databaseUrl: own.url, clock })
      await one.app.parts.webhooks.add({ url: receiver.url, events: ['*'] })
      await happen(one, 'stopped')
      await receiver.until(1)
      await one.stop()
      receiver.answer = status(200)
      const two = await serve(engine, { databaseUrl: own.url, clock })
      t.after(() => two.stop())
      await receiver.until(2)
      const [delivery] = await eventually('it is delivered', async () => {
        const all = await two.app.parts.webhooks.list()
        const list = await two.app.parts.webhooks.deliveries(all[0]!.id)
        return list[0]?.state === 'delivered' && list
      })
      assert.equal(delivery!.attempts, 1, 'the attempt that was cut off does not count')
    })

    test('A service with another secret leaves the endpoint to others, and says so', async (t) => {
      const own = await migratedStore(engine)
      const receiver = await startReceiver()
      t.after(async () => {
        await receiver.close()
        await own.remove()
      })
      const clock = new TestClock()
      const one = await serve(engine, { databaseUrl: own.url, clock })
      await one.app.parts.webhooks.add({ url: receiver.url, events: ['veterinarian.updated'] })
      await one.app.parts.deliverer.stop()
      await happen(one, 'sealed')
      const secrets = secretsFrom('a secret that nobody else has, long', null)
      const keys = new SigningKeys({ db: one.app.parts.db, clock, secrets }, minute)
      await keys.list()
      await keys.rotate(bySystem)
      const stranger = await serve(engine, {
        databaseUrl: own.url,
        clock,
        env: { CHIRON_SECRET: 'a secret that nobody else has, long' },
      })
      t.after(async () => {
        await stranger.stop()
        await one.stop()
      })
      for (const what of ['the secret of a webhook was', 'some signing keys are'])
        await eventually('a line in the log', () =>
          stranger.log.some((line) => line.includes(`${what} sealed under another CHIRON_SECRET`)),
        )
      assert.equal(receiver.received.length, 0)
      const [webhook] = await stranger.app.parts.webhooks.list()
      assert.deepEqual([webhook!.readable, webhook!.waiting], [false, 1])
    })
  })
}

test('A receiver that never answers is left after 15 seconds', async (t) => {
  const { setTimeout } = globalThis
  let fifteenSecondsPass = () => {}
  t.mock.method(globalThis, 'setTimeout', (work: () => void, ms?: number, ...args: []) => {
    if (ms === 15_000) fifteenSecondsPass = work
    return setTimeout(work, ms, ...args)
  })
  const service = await serve('sqlite')
  const receiver = await startReceiver(() => {})
  t.after(async () => {
    await service.stop()
    await receiver.close()
  })
  const { webhooks } = service.app.parts
  const { id } = await webhooks.add({ url: receiver.url, events: ['*'] })
  await happen(service, 'hangs')
  await receiver.until(1)
  fifteenSecondsPass()
  const [delivery] = await eventually('an attempt', async () => {
    const list = await webhooks.deliveries(id)
    return list[0]?.attempts === 1 && list
  })
  assert.equal(delivery!.error, 'no answer within 15 s')
})
