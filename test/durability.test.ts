import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openDb } from '../src/platform/db/open.ts'
import { second } from '../src/platform/lib/clock.ts'
import { type ServingChild, serveStore } from './support/child.ts'
import { atLength, engines, migratedStore, onPostgres } from './support/engines.ts'
import { startPostgres } from './support/postgres.ts'
import { type Reply, type Service, startService } from './support/service.ts'
import { type MailServer, startMailServer } from './support/smtp.ts'
import { eventually, outboxEmpty, patienceMs } from './support/wait.ts'

interface Acknowledged {
  over: boolean
  readonly registered: string[]
  readonly sent: { email: string; sessionId: string }[]
  readonly signedIn: { sessionId: string; access: string; refresh: string }[]
}

const clients = 8
const enough = { registered: 200, signedIn: 24 }
const sample = 30

const validate = (target: ServingChild, email: string, otp_code: number | null, sessionId: string) =>
  target.post('/veterinarian/validate-otp', { email, otp_code, sessionId })

async function send(target: ServingChild, email: string): Promise<string> {
  const sent = await target.post('/veterinarian/send-otp', { email })
  assert.equal(sent.status, 202, sent.text)
  return sent.json.sessionId
}

/** Registers, asks for codes and signs in until the service goes away. Records only what was answered. */
async function hammer(target: ServingChild, mail: MailServer, noted: Acknowledged, client: number) {
  try {
    for (let n = 0; ; n++) {
      const email = `c${client}.${n}@clinic.example`
      const names = { firstname: 'Ada', lastname: 'Marsh' }
      const registered = await target.post('/veterinarian/register', { ...names, email })
      assert.equal(registered.status, 202, registered.text)
      noted.registered.push(email)
      if (n % 4 === 3) continue
      const sessionId = await send(target, email)
      noted.sent.push({ email, sessionId })
      if (n % 4 > 0) continue
      const mailed = await eventually('a code or the end', () =>
        noted.over ? null : mail.received.find(({ to }) => to === email),
      )
      if (!mailed) return
      const reply = await validate(target, email, mailed.code, sessionId)
      assert.equal(reply.status, 200, reply.text)
      const { access_token: access, refresh_token: refresh } = reply.json
      noted.signedIn.push({ sessionId, access, refresh })
    }
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (!['ECONNRESET', 'ECONNREFUSED', 'EPIPE'].includes(code)) throw error
  }
}

const evenly = <T>(all: readonly T[], count: number) =>
  all.filter((_, i) => Math.floor((i * count) / all.length) !== Math.floor(((i - 1) * count) / all.length))

for (const engine of engines) {
  test(
    `what was acknowledged before a kill -9 under load is there afterwards, on ${engine}`,
    atLength,
    async (t) => {
      const store = await migratedStore(engine)
      const mail = await startMailServer()
      const db = openDb(store.url)
      const started: ServingChild[] = []
      t.after(async () => {
        await Promise.all(started.map((child) => child.end('SIGKILL')))
        await Promise.all([mail.close(), db.close()])
        await store.remove()
      })
      const serve = () => serveStore(store.url, mail, { CHIRON_LIMITS: 'off' })
      const noted: Acknowledged = { over: false, registered: [], sent: [], signedIn: [] }

      const first = await serve()
      started.push(first)
      const load = Promise.all(Array.from({ length: clients }, (_, i) => hammer(first, mail, noted, i)))
      await eventually(
        'enough was acknowledged',
        () => noted.registered.length >= enough.registered && noted.signedIn.length >= enough.signedIn,
      )
      await first.end('SIGKILL')
      noted.over = true
      await load

      const kept = async (table: 'challenge' | 'session') =>
        new Set((await db.all<{ id: string }>(`select id from ${table}`)).map((row) => row.id))
      const challenges = await kept('challenge')
      for (const { sessionId } of noted.sent) assert.ok(challenges.has(sessionId), 'a sent code is known')
      const sessions = await kept('session')
      for (const { sessionId } of noted.signedIn) assert.ok(sessions.has(sessionId), 'a session is kept')

      // What the dead process had claimed is due again when its lease is over; bring that moment forward.
      await db.run('update outbox set next_at = 0')
      const second = await serve()
      started.push(second)
      for (const { email } of noted.sent) assert.ok((await mail.mailTo(email)).code, email)
      // Some of them are sent twice, and must not be taken for those that are asked for below.
      await outboxEmpty({ rows: db.all })

      for (const { access, refresh } of noted.signedIn) {
        assert.equal((await second.request('/veterinarian/me', { token: access })).status, 200)
        assert.equal((await second.post('/session/refresh', { refresh_token: refresh })).status, 200)
      }

      const chosen = evenly(noted.registered, sample)
      assert.equal(chosen.length, sample)
      await Promise.all(
        chosen.map(async (email) => {
          const before = mail.received.filter(({ to }) => to === email).length
          const sessionId = await send(second, email)
          const { code } = await mail.mailTo(email, before + 1)
          const reply = await validate(second, email, code, sessionId)
          assert.equal(reply.status, 200, `${email}: ${reply.text}`)
          assert.equal(reply.json.user.email, email)
        }),
      )
    },
  )
}

describe('PostgreSQL stopped and started again under load', onPostgres, () => {
  async function startOnOwnServer(t: TestContext) {
    const server = await startPostgres()
    t.after(() => server.remove())
    const service = await startService('postgres', {
      databaseUrl: server.url('postgres'),
      env: { CHIRON_LIMITS: 'off' },
    })
    t.after(() => service.stop())
    return { server, service }
  }

  interface Seen {
    readonly what: string
    readonly reply: Reply
    readonly ms: number
  }

  /** Each kind of request, with the status it has when all is well. */
  const kindsOf = (
    access: string,
    refresh: string,
  ): [number, string, Parameters<Service['request']>[1]?][] => [
    [200, '/health/ready'],
    [200, '/veterinarian/me', { token: access }],
    [200, '/session', { token: access }],
    [404, '/veterinarian/AAAAAAAAAAAAAAAAAAAAAA'],
    [200, '/session/refresh', { body: { refresh_token: refresh } }],
    [202, '/veterinarian/send-otp', { body: { email: 'load@clinic.example' } }],
    [
      202,
      '/veterinarian/register',
      { body: { firstname: 'Ada', lastname: 'Marsh', email: 'load@clinic.example' } },
    ],
    [
      401,
      '/veterinarian/validate-otp',
      { body: { email: 'load@clinic.example', otp_code: 123456, sessionId: 'AAAAAAAAAAAAAAAAAAAAAA' } },
    ],
  ]

  function assertUnavailable({ what, reply }: Seen) {
    assert.equal(reply.status, 503, `${what}: ${reply.status} ${reply.text}`)
    assert.equal(reply.json.code, 'unavailable', what)
    assert.match(reply.headers.get('content-type') ?? '', /^application\/problem\+json/)
    assert.ok(Number(reply.headers.get('retry-after')) > 0, what)
  }

  test('is 503 unavailable while it is down, and recovers automatically', async (t) => {
    const { server, service } = await startOnOwnServer(t)
    const { access, refresh } = await service.signIn('ada@clinic.example')
    const kinds = kindsOf(access, refresh)

    const ask = async ([expected, path, options]: (typeof kinds)[number]): Promise<
      Seen & { expected: number }
    > => {
      const began = Date.now()
      const reply = await service.request(path, options)
      return { what: path, reply, ms: Date.now() - began, expected }
    }
    const seen: (Seen & { expected: number })[] = []
    let loading = true
    const load = Promise.all(
      kinds.map(async (kind) => {
        while (loading) seen.push(await ask(kind))
      }),
    )
    const more = (count: number) => {
      const from = seen.length
      return eventually(`${count} more replies`, () => seen.length >= from + count)
    }

    for (let round = 0; round < 2; round++) {
      await more(200)
      await server.stop()
      for (const kind of kinds) assertUnavailable(await ask(kind))
      assert.equal((await service.request('/health/live')).status, 200)
      await more(100)
      await server.start()
      for (const kind of kinds)
        await eventually(`${kind[1]} works again`, async () => {
          const { reply, expected } = await ask(kind)
          // A health check that failed tries to write again a second later.
          if (reply.status !== expected) service.clock.advance(second)
          return reply.status === expected
        })
    }
    loading = false
    await load

    for (const one of seen) {
      if (one.reply.status !== one.expected) assertUnavailable(one)
      assert.ok(one.ms < patienceMs, `${one.what} took ${one.ms} ms`)
    }
    const again = await service.signIn('berta@clinic.example')
    assert.equal((await service.request('/veterinarian/me', { token: again.access })).status, 200)
  })

  test('every code that was acknowledged around it is mailed', async (t) => {
    const { server, service } = await startOnOwnServer(t)
    const acknowledged: string[] = []
    let loading = true
    let asked = 0
    const load = Promise.all(
      Array.from({ length: clients }, async () => {
        while (loading) {
          const email = `m${asked++}@clinic.example`
          const registered = await service.register(email)
          const sent = await service.post('/veterinarian/send-otp', { email })
          if (registered.status === 202 && sent.status === 202) acknowledged.push(email)
        }
      }),
    )
    const more = (count: number) => {
      const from = acknowledged.length
      return eventually(`${count} more codes`, () => acknowledged.length >= from + count)
    }
    await more(50)
    await server.stop()
    await server.start()
    await more(50)
    loading = false
    await load
    // A mail that was being handed over when the store went away is due again when its lease is over.
    await eventually('every mail is handed over', async () => {
      service.clock.advance(second)
      return (await service.rows('select id from outbox')).length === 0
    })
    for (const email of acknowledged) assert.ok((await service.mail.mailTo(email)).code, email)
  })
})
