import assert from 'node:assert/strict'
import { connect, createServer, type Server } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import type { SMTPServerOptions } from 'smtp-server'
import { strangersMailLimits } from '../src/identity/limits/limits.ts'
import { recipientsIn } from '../src/identity/people/people.ts'
import { Outbox } from '../src/messages/mail/outbox.ts'
import { smtpTransport } from '../src/messages/mail/smtp.ts'
import { lanes, mails } from '../src/messages/mail/store.ts'
import { renew } from '../src/messages/queue/store.ts'
import type { Db, Param } from '../src/platform/db/db.ts'
import { ownBranding } from '../src/platform/lib/branding.ts'
import { day, second } from '../src/platform/lib/clock.ts'
import { secretsFrom } from '../src/platform/lib/secret.ts'
import { serveStore } from './support/child.ts'
import { atLength, type Engine, engines, migratedStore } from './support/engines.ts'
import { repeat } from './support/fresh.ts'
import { freePort } from './support/postgres.ts'
import { type Service, serviceFor, startService, TestClock } from './support/service.ts'
import { type MailServer, startMailServer } from './support/smtp.ts'
import { eventually, outboxEmpty, pause } from './support/wait.ts'

const secret = 'a secret for tests that is long enough'
const leaseMs = 25 * second
/** Connections to a mail server. */
const atOnce = 20
const refusal = (responseCode: number) => Object.assign(new Error('no'), { responseCode })

/** A mail server on a port where nobody listens at first. */
async function shutDoor(mail: MailServer): Promise<{ url: string; open(): Promise<void>; close(): void }> {
  const port = await freePort()
  const door: Server = createServer((socket) => {
    const inside = connect(Number(new URL(mail.url).port), '127.0.0.1')
    socket.pipe(inside).pipe(socket)
    for (const end of [socket, inside]) end.on('error', () => end.destroy())
  })
  return {
    url: `smtp://127.0.0.1:${port}`,
    open: () => new Promise((resolve) => door.listen(port, '127.0.0.1', resolve)),
    close: () => void door.close(),
  }
}

async function behindDoor(t: TestContext, engine: Engine, options: SMTPServerOptions = {}) {
  const mail = await startMailServer(options)
  const door = await shutDoor(mail)
  const service = await startService(engine, { mail, env: { CHIRON_SMTP_URL: door.url } })
  t.after(async () => {
    await service.stop()
    door.close()
    await mail.close()
  })
  return { mail, door, service }
}

/** A mail server that delays the recipients for which `stalls` returns true, until they are released. */
async function stallingServer(stalls: (address: string, from: string) => boolean) {
  const held: { address: string; from: string; go: () => void }[] = []
  let open = false
  const onRcptTo: SMTPServerOptions['onRcptTo'] = ({ address }, session, callback) => {
    const { mailFrom } = session.envelope
    const from = mailFrom ? mailFrom.address : ''
    if (open || !stalls(address, from)) return callback()
    held.push({ address, from, go: callback })
  }
  // Long, so that the server is not the first to close a connection.
  const mail = await startMailServer({ onRcptTo, socketTimeout: 600_000 })
  return {
    mail,
    held,
    release() {
      open = true
      for (const { go } of held.splice(0)) go()
    },
  }
}

async function behindStall(
  t: TestContext,
  engine: Engine,
  stalls: (address: string, from: string) => boolean,
) {
  const server = await stallingServer(stalls)
  const service = await startService(engine, { mail: server.mail })
  t.after(async () => {
    server.release()
    await service.stop()
    await server.mail.close()
  })
  return { ...server, service }
}

const ask = async (service: Service, email: string) => {
  await service.register(email)
  const sent = await service.post('/veterinarian/send-otp', { email })
  assert.equal(sent.status, 202)
  return sent.json.sessionId as string
}

/** Two mails, one after the other, while one waits. */
async function deliverOthers(service: Service): Promise<void> {
  for (const email of ['next@vets.example', 'last@vets.example']) {
    await ask(service, email)
    await service.mail.mailTo(email)
    await eventually(`${email} is done with`, async () => {
      const rows = await service.rows('select id from outbox')
      return rows.length === 1
    })
  }
}

const failures = async (service: Service) =>
  (
    await service.rows<{ session_id: string; data: string }>(
      "select session_id, data from event where type = 'mail.failed'",
    )
  ).map(({ session_id, data }) => ({ session_id, data }))

interface Waiting {
  attempts: number
  next_at: number
}

/** How long the mail waits after its nth attempt failed. */
const pauseAfter = (service: Service, attempts: number) =>
  eventually(`try ${attempts}`, async () => {
    service.app.parts.outbox.wake()
    const [mail] = await service.rows<Waiting>('select attempts, next_at from outbox')
    const pause = mail ? mail.next_at - service.clock.now() : 0
    return mail?.attempts === attempts && pause !== leaseMs && pause > 0 ? pause : undefined
  })

for (const engine of engines) {
  describe(`The outbox on ${engine}`, () => {
    test('delivers when a mail server that was down is up again', async (t) => {
      const { mail, door, service } = await behindDoor(t, engine)
      await ask(service, 'late@vets.example')
      const pause = await pauseAfter(service, 1)
      await door.open()
      service.clock.advance(pause)
      const { code } = await mail.mailTo('late@vets.example')
      assert.notEqual(code, null)
      await outboxEmpty(service)
      assert.deepEqual(await failures(service), [])
    })

    test('tries with growing pauses, and drops and records a mail whose code is dead', async (t) => {
      const { mail, door, service } = await behindDoor(t, engine)
      const started = service.clock.now()
      const sessionId = await ask(service, 'never@vets.example')
      const pauses: number[] = []
      while ((await failures(service)).length === 0 && pauses.length < 100) {
        const pause = await Promise.race([
          pauseAfter(service, pauses.length + 1),
          outboxEmpty(service).then(() => 0),
        ])
        if (pause === 0) break
        pauses.push(pause)
        service.clock.advance(pause)
      }
      assert.ok(pauses.length > 5)
      assert.ok(pauses[0]! <= 5 * second)
      // The last one ends with the life of the code.
      const growing = pauses.slice(0, -1)
      assert.ok(growing.at(-1)! >= 10 * pauses[0]!)
      assert.deepEqual(
        growing,
        [...growing].sort((a, b) => a - b),
      )
      assert.equal(service.clock.now() - started, 10 * 60 * second)
      assert.deepEqual(await failures(service), [
        { session_id: sessionId, data: JSON.stringify({ reason: 'expired' }) },
      ])
      await door.open()
      await service.signIn('other@vets.example')
      assert.deepEqual(
        mail.received.map(({ to }) => to),
        ['other@vets.example'],
      )
    })

    test('drops and records at once what is refused with 5xx, and tries again what is put off with 4xx', async () => {
      const tries = { gone: 0, busy: 0 }
      const mail = await startMailServer({
        onRcptTo({ address }, _session, callback) {
          const name = address.split('@')[0] as 'gone' | 'busy'
          tries[name]++
          callback(name === 'gone' ? refusal(550) : tries.busy < 3 ? refusal(450) : null)
        },
      })
      const service = await startService(engine, { mail })
      try {
        const sessionId = await ask(service, 'gone@vets.example')
        await outboxEmpty(service)
        assert.equal(tries.gone, 1)
        const recorded = [{ session_id: sessionId, data: JSON.stringify({ reason: 'refused' }) }]
        assert.deepEqual(await failures(service), recorded)
        await ask(service, 'busy@vets.example')
        for (const attempt of [1, 2]) service.clock.advance(await pauseAfter(service, attempt))
        service.app.parts.outbox.wake()
        await mail.mailTo('busy@vets.example')
        assert.equal(tries.busy, 3)
        await outboxEmpty(service)
        assert.deepEqual(await failures(service), recorded)
      } finally {
        await service.stop()
        await mail.close()
      }
    })

    test('is not held up by slow recipients', atLength, async (t) => {
      const { mail, held, release, service } = await behindStall(t, engine, (address) =>
        address.startsWith('slow'),
      )
      for (let i = 0; i < 5; i++) await ask(service, `slow${i}@vets.example`)
      await eventually('the slow ones stall', () => held.length === 5)
      for (let i = 0; i < 10; i++) await service.signIn(`quick${i}@vets.example`)
      assert.equal(mail.received.length, 10)
      release()
      for (let i = 0; i < 5; i++) await mail.mailTo(`slow${i}@vets.example`)
      await outboxEmpty(service)
      assert.equal(mail.received.length, 15)
    })

    test(
      'sends what waits at once and in order when the server is back after an outage',
      atLength,
      async (t) => {
        const { mail, door, service } = await behindDoor(t, engine)
        const addresses = Array.from({ length: 60 }, (_, i) => `wait${i}@vets.example`)
        for (const email of addresses) {
          await ask(service, email)
          service.clock.advance(1)
        }
        const tried = (times: number) =>
          eventually(`each is tried ${times} times`, async () => {
            service.app.parts.outbox.wake()
            const rows = await service.rows<Waiting>('select attempts from outbox where claimed_by is null')
            return rows.filter(({ attempts }) => attempts === times).length === addresses.length
          })
        // They are in the midst of long pauses when the server comes back; one more mail is asked for.
        for (const [i, pause] of [2, 5, 10].entries()) {
          await tried(i + 1)
          service.clock.advance(pause * second)
        }
        await tried(4)
        await door.open()
        await ask(service, 'probe@vets.example')
        await outboxEmpty(service)
        const [first, ...others] = mail.received.map(({ to }) => to)
        assert.equal(first, 'probe@vets.example')
        const places = others.map((email) => addresses.indexOf(email))
        // Twenty at once may overtake each other.
        places.forEach((place, i) => {
          assert.ok(Math.abs(place - i) <= 40, `${place} came as ${i}`)
        })
        assert.deepEqual(others.toSorted(), addresses.toSorted())
      },
    )

    test('lets a pause run its course when the server was down only for a moment', async (t) => {
      const { mail, door, service } = await behindDoor(t, engine)
      await ask(service, 'late@vets.example')
      const pause = await pauseAfter(service, 1)
      await door.open()
      await deliverOthers(service)
      assert.deepEqual(
        mail.received.map(({ to }) => to),
        ['next@vets.example', 'last@vets.example'],
      )
      service.clock.advance(pause)
      await mail.mailTo('late@vets.example')
    })

    test('lets a mail wait that was put off, also after an outage, when others are delivered', async (t) => {
      let tries = 0
      const { mail, door, service } = await behindDoor(t, engine, {
        onRcptTo({ address }, _session, callback) {
          const isBusy = address.startsWith('busy')
          if (isBusy) tries++
          callback(isBusy ? refusal(450) : null)
        },
      })
      await ask(service, 'late@vets.example')
      for (const attempt of [1, 2, 3]) service.clock.advance(await pauseAfter(service, attempt))
      await door.open()
      await mail.mailTo('late@vets.example')
      await outboxEmpty(service)
      await ask(service, 'busy@vets.example')
      for (const attempt of [1, 2, 3]) service.clock.advance(await pauseAfter(service, attempt))
      await pauseAfter(service, 4)
      await deliverOthers(service)
      assert.equal(tries, 4)
    })

    test('does not send a mail again that it is sending when the clock jumps', async (t) => {
      const { mail, held, release, service } = await behindStall(t, engine, (address) =>
        address.startsWith('slow'),
      )
      await ask(service, 'slow@vets.example')
      await eventually('the mail is under way', () => held.length === 1)
      service.clock.advance(2 * leaseMs)
      service.app.parts.outbox.wake()
      // It has looked for mails that are due when this one has arrived.
      await service.signIn('other@vets.example')
      const [slow] = await service.rows<Waiting>(
        "select next_at from outbox where email = 'slow@vets.example'",
      )
      assert.equal(slow!.next_at, service.clock.now() + leaseMs, 'nor does another worker')
      release()
      await outboxEmpty(service)
      assert.equal(mail.received.filter(({ to }) => to === 'slow@vets.example').length, 1)
    })

    test('of two services on one store share the work, and never send a mail twice', atLength, async () => {
      const { mail, held, release } = await stallingServer(() => true)
      const store = await migratedStore(engine)
      const clock = new TestClock()
      const names = ['one', 'two']
      const services = await Promise.all(
        names.map((name) =>
          startService(engine, {
            mail,
            clock,
            databaseUrl: store.url,
            env: { CHIRON_MAIL_FROM: `${name}@chiron.example` },
          }),
        ),
      )
      try {
        const addresses = Array.from({ length: 60 }, (_, i) => `shared${i}@vets.example`)
        await Promise.all(addresses.map((email) => ask(services[0]!, email)))
        await eventually('both are at work', () => new Set(held.map(({ from }) => from)).size === 2)
        release()
        await outboxEmpty(services[0]!)
        assert.deepEqual(mail.received.map(({ to }) => to).sort(), addresses.sort())
        assert.equal(new Set(mail.received.map((m) => m.mail.from?.address)).size, 2)
      } finally {
        release()
        for (const service of services) await service.stop()
        await mail.close()
        await store.remove()
      }
    })

    test('sends after the lease what a worker held that died', async () => {
      const stalled = await stallingServer(() => true)
      const store = await migratedStore(engine)
      const child = await serveStore(store.url, stalled.mail)
      assert.equal((await child.post('/veterinarian/send-otp', { email: 'left@vets.example' })).status, 202)
      await eventually('the mail is under way', () => stalled.held.length === 1).finally(() =>
        child.end('SIGKILL'),
      )
      const clock = new TestClock()
      clock.advance(Date.now() - clock.now())
      const service = await startService(engine, { databaseUrl: store.url, clock })
      try {
        await service.signIn('other@vets.example')
        assert.deepEqual(
          service.mail.received.map(({ to }) => to),
          ['other@vets.example'],
        )
        clock.advance(leaseMs)
        service.app.parts.outbox.wake()
        await service.mail.mailTo('left@vets.example')
        await outboxEmpty(service)
      } finally {
        await service.stop()
        stalled.release()
        await stalled.mail.close()
        await store.remove()
      }
    })

    test('records no failure of a mail that another worker has delivered meanwhile', async () => {
      const held: ((error?: Error) => void)[] = []
      const slowServer = await startMailServer({
        onRcptTo: (_address, _session, callback) => held.push(callback),
      })
      const store = await migratedStore(engine)
      const clock = new TestClock()
      const slow = await startService(engine, { mail: slowServer, databaseUrl: store.url, clock })
      await ask(slow, 'twice@vets.example')
      await eventually('the mail is under way', () => held.length === 1)
      const stopped = slow.app.parts.outbox.stop()
      clock.advance(leaseMs)
      const quick = await startService(engine, { databaseUrl: store.url, clock })
      try {
        await quick.mail.mailTo('twice@vets.example')
        await outboxEmpty(quick)
        held[0]!(refusal(550))
        await stopped
        await eventually('the refusal arrives', () =>
          slow.log.some((line) => /refused permanently/.test(line)),
        )
        assert.deepEqual(await failures(quick), [])
      } finally {
        await Promise.all([slow.stop(), quick.stop()])
        await slowServer.close()
        await store.remove()
      }
    })

    test('lets a mail under way finish when the service stops, and takes its leave of the server', async () => {
      const { mail, held, release } = await stallingServer(() => true)
      const store = await migratedStore(engine)
      const first = await startService(engine, { mail, databaseUrl: store.url })
      await ask(first, 'under-way@vets.example')
      await eventually('the mail is under way', () => held.length === 1)
      const stopped = first.stop()
      release()
      await stopped
      assert.equal(mail.received.length, 1)
      await eventually('its connection is closed', () => mail.connections() === 0)
      const second = await startService(engine, { mail, databaseUrl: store.url })
      try {
        assert.deepEqual(await second.rows('select id from outbox'), [])
      } finally {
        await second.stop()
        await mail.close()
        await store.remove()
      }
    })

    test('sends after a sweep what was put off for too long while a clock was wrong', async (t) => {
      const { mail, door, service } = await behindDoor(t, engine)
      await ask(service, 'late@vets.example')
      await pauseAfter(service, 1)
      const { db, sweeper } = service.app.parts
      const putOff = async (ms: number) => {
        await db.run('update outbox set next_at = $1', [service.clock.now() + ms])
        await sweeper.sweep()
        const [waiting] = await service.rows<Waiting>('select next_at from outbox')
        return waiting!.next_at - service.clock.now()
      }
      assert.equal(await putOff(10 * second), 10 * second)
      assert.ok((await putOff(day)) < day)
      await door.open()
      // It may have been tried again before the door was open.
      service.clock.advance(30 * second)
      await mail.mailTo('late@vets.example')
    })

    test('leaves a mail that a command would send at once to the worker that has it', async (t) => {
      const { mail, held, release, service } = await behindStall(t, engine, () => true)
      await ask(service, 'taken@vets.example')
      await eventually('the mail is under way', () => held.length === 1)
      const [{ id }] = (await service.rows<{ id: string }>('select id from outbox')) as [{ id: string }]
      assert.equal(await service.app.parts.outbox.sendNow(id), false)
      release()
      await outboxEmpty(service)
      assert.equal(mail.received.length, 1)
    })

    test('holds on to the mail that it is sending, and to no other', async (t) => {
      const { held, service } = await behindStall(t, engine, () => true)
      for (const name of ['one', 'two']) await ask(service, `${name}@vets.example`)
      await eventually('both are under way', () => held.length === 2)
      const waiting = () =>
        service.rows<{ readonly id: string; readonly claimed_by: string; readonly next_at: number }>(
          'select id, claimed_by, next_at from outbox order by id',
        )
      const [one, two] = await waiting()
      const later = one!.next_at + day
      const { db } = service.app.parts
      await db.tx([renew(mails, one!, later), renew(mails, { ...two!, claimed_by: 'another worker' }, later)])
      assert.deepEqual(
        (await waiting()).map(({ next_at }) => next_at),
        [later, two!.next_at],
      )
    })

    test('sends a notice even if it claims it before it hears that it was chosen', async (t) => {
      const service = await serviceFor(t, engine)
      await service.app.parts.outbox.stop()
      const { db } = service.app.parts
      const claimedAgain = Promise.withResolvers<void>()
      let isChosen = false
      const late: Db = {
        ...db,
        decide: async (...steps) => {
          const result = await db.decide(...steps)
          if (result === 'chosen') {
            isChosen = true
            outbox.wake()
            await claimedAgain.promise.then(() => pause(0))
          }
          return result
        },
        tx: async (statements) => {
          const results = await db.tx(statements)
          const claims = statements.some(({ sql }) => sql.includes('set claimed_by = $1'))
          if (isChosen && claims) claimedAgain.resolve()
          return results
        },
      }
      const outbox = outboxOn(late, service)
      t.after(() => outbox.stop())
      await service.post('/veterinarian/send-otp', { email: 'nobody@vets.example' })
      outbox.start()
      await service.mail.mailTo('nobody@vets.example')
      await outboxEmpty(service)
    })

    test('tries a mail again even if that is due before it hears that the mail was put off', async (t) => {
      let tries = 0
      const service = await serviceFor(t, engine, {
        smtp: { onRcptTo: (_address, _session, callback) => callback(++tries === 1 ? refusal(450) : null) },
      })
      await service.app.parts.outbox.stop()
      const { db } = service.app.parts
      const looked = Promise.withResolvers<void>()
      let isPutOff = false
      const late: Db = {
        ...db,
        // It looks for notices after it has taken codes.
        all: <R>(sql: string, params?: readonly Param[]) => {
          if (isPutOff && sql.includes(lanes.notices)) looked.resolve()
          return db.all<R>(sql, params)
        },
        decide: async (...steps) => {
          const result = await db.decide(...steps)
          if (isPutOff || result !== true) return result
          isPutOff = true
          service.clock.advance(2 * second)
          outbox.wake()
          await looked.promise
          return result
        },
      }
      const outbox = outboxOn(late, service)
      t.after(() => outbox.stop())
      await ask(service, 'later@vets.example')
      outbox.start()
      await service.mail.mailTo('later@vets.example')
      await outboxEmpty(service)
      assert.equal(tries, 2)
    })

    test('takes no further mails when it is being stopped', async (t) => {
      const { held, release, service } = await behindStall(t, engine, () => true)
      const { outbox } = service.app.parts
      await repeat(50, (i) => ask(service, `wait${i}@vets.example`))
      await eventually('no connection is free', () => {
        outbox.wake()
        return held.length === atOnce
      })
      const stopped = outbox.stop()
      release()
      await stopped
      const left = await eventually('those under way are sent', async () => {
        const rows = await service.rows<Waiting>('select attempts from outbox')
        return rows.length <= 50 - atOnce ? rows : undefined
      })
      assert.deepEqual(
        left.map(({ attempts }) => attempts),
        Array(50 - atOnce).fill(0),
      )
      outbox.wake()
      await pause(200)
      const later = await service.rows<Waiting>('select attempts from outbox where attempts = 0')
      assert.equal(later.length, 50 - atOnce)
    })

    test('leaves no mail waiting for its lease that it took while it was being stopped', async () => {
      const service = await startService(engine)
      await service.app.parts.outbox.stop()
      await ask(service, 'last@vets.example')
      const { db } = service.app.parts
      const gate = Promise.withResolvers<void>()
      const taken = Promise.withResolvers<void>()
      let taking = 0
      const slow: Db = {
        ...db,
        tx: async (statements) => {
          taking++
          await gate.promise
          return db.tx(statements).finally(taken.resolve)
        },
      }
      const outbox = outboxOn(slow, service)
      try {
        outbox.start()
        await eventually('it takes a mail', () => taking > 0)
        const stopped = outbox.stop()
        setImmediate(gate.resolve)
        await stopped
        await taken.promise
        const rows = await service.rows<Waiting>('select attempts, next_at from outbox')
        const waits = rows.map(({ next_at }) => Math.max(0, next_at - service.clock.now()))
        assert.deepEqual(
          waits.filter((ms) => ms > 0),
          [],
        )
      } finally {
        await service.stop()
      }
    })
  })
}

/** A worker like the one of the service, with its own way to the store. */
function outboxOn(db: Db, service: Service): Outbox {
  const { veterinarians } = service.app.parts
  return new Outbox({
    db,
    clock: service.clock,
    secrets: secretsFrom(secret, null),
    findRecipient: recipientsIn(
      { veterinarian: veterinarians, student: veterinarians, staff: veterinarians },
      service.clock,
    ),
    strangers: { of: strangersMailLimits, knowsDomain: async () => false },
    transport: smtpTransport({ url: service.mail.url }),
    publicUrl: service.url,
    from: 'no-reply@chiron.example',
    bounces: null,
    branding: ownBranding,
    delayMs: [20, 40],
    timeZone: 'UTC',
    log: { info() {}, warn() {} },
  })
}
