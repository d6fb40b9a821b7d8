/**
 * A process that is stopped for longer than a code lives, and clocks that jump by an hour: it goes on, codes and sessions
 * are judged by the clock as it is now, and nobody waits for an hour.
 */
import assert from 'node:assert/strict'
import { openDb } from '../../src/platform/db/open.ts'
import { hour, minute } from '../../src/platform/lib/clock.ts'
import { deriveCode } from '../../src/platform/lib/code.ts'
import { secretsFrom } from '../../src/platform/lib/secret.ts'
import { newFolder, type ServingChild, serveStore } from '../support/child.ts'
import { type Engine, newStore } from '../support/engines.ts'
import { newFaults } from '../support/faults.ts'
import type { Reply } from '../support/service.ts'
import { type MailServer, startMailServer } from '../support/smtp.ts'
import { eventually, until } from '../support/wait.ts'
import { callsTo } from '../support/wire.ts'

const secret = 'time-5f0c2a7be1d94c38a6'.repeat(2)
const keys = secretsFrom(secret, null).current
const sweepEveryMs = minute

/** Asks as new callers do: connections may have ended when time jumped. */
class Visitor {
  readonly #url: string
  readonly #mail: MailServer

  constructor({ url }: ServingChild, mail: MailServer) {
    this.#url = url
    this.#mail = mail
  }

  async request(...args: Parameters<ServingChild['request']>): Promise<Reply> {
    const [path, options] = args
    const headers = { connection: 'close', ...options?.headers }
    return callsTo(this.#url).request(path, { ...options, headers })
  }

  post(path: string, body: unknown) {
    return this.request(path, { body })
  }

  async register(email: string): Promise<void> {
    const reply = await this.post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email })
    assert.equal(reply.status, 202, reply.text)
  }

  send(email: string) {
    return this.post('/veterinarian/send-otp', { email })
  }

  answer(email: string, sessionId: string) {
    const otp_code = deriveCode(keys, { role: 'veterinarian', sessionId, addressKey: email, digits: 6 })
    return this.post('/veterinarian/validate-otp', { email, otp_code, sessionId })
  }

  /** With the code from the mail: the outbox must be alive for that. */
  async signIn(email: string) {
    await this.register(email)
    const earlier = this.#mail.received.filter(({ to }) => to === email).length
    const sent = await this.send(email)
    assert.equal(sent.status, 202, sent.text)
    await this.#mail.mailTo(email, earlier + 1)
    const reply = await this.answer(email, sent.json.sessionId)
    assert.equal(reply.status, 200, reply.text)
    return reply.json as { access_token: string; refresh_token: string }
  }

  async me(token: string): Promise<[number, string?]> {
    const { status, json } = await this.request('/veterinarian/me', { token })
    return [status, json.code]
  }

  async refreshed(refresh_token: string) {
    const reply = await this.post('/session/refresh', { refresh_token })
    assert.equal(reply.status, 200, reply.text)
    return reply.json as { access_token: string; refresh_token: string }
  }
}

/** A service whose clocks can be moved. A recipient with `later` in it is put off until `mailOpens`. */
async function inService(
  engine: Engine,
  work: (it: {
    visitor: Visitor
    child: ServingChild
    faults: ReturnType<typeof newFaults>
    mail: MailServer
    rows<R>(sql: string): Promise<R[]>
    openMail(): void
    restart(): Promise<void>
  }) => Promise<void>,
): Promise<void> {
  const store = await newStore(engine)
  const folder = newFolder()
  const faults = newFaults(folder.path)
  let open = false
  const mail = await startMailServer({
    onRcptTo({ address }, _session, done) {
      if (open || !address.includes('later')) done()
      else done(Object.assign(new Error('not now'), { responseCode: 451 }))
    },
  })
  const serve = () =>
    serveStore(store.url, mail, { CHIRON_SECRET: secret, CHIRON_WORKERS: '2', ...faults.begin() })
  let child = await serve()
  const db = openDb(store.url)
  try {
    const it = {
      visitor: new Visitor(child, mail),
      child,
      faults,
      mail,
      rows: <R>(sql: string) => db.all(sql) as Promise<R[]>,
      openMail() {
        open = true
      },
      async restart() {
        process.kill(-child.pid, 'SIGKILL')
        await child.exited
        child = await serve()
        it.child = child
        it.visitor = new Visitor(child, mail)
      },
    }
    await work(it)
    assert.doesNotMatch(child.output.out, /"level":50|a worker ended/)
  } finally {
    process.kill(-child.pid, 'SIGCONT')
    await child.end('SIGKILL')
    await db.close()
    faults.remove()
    await mail.close()
    await store.remove()
    folder.remove()
  }
}

/** The process stands still for eleven minutes. */
export async function standsStill(engine: Engine): Promise<void> {
  await inService(engine, async ({ visitor, child, faults, mail, rows }) => {
    const session = await visitor.signIn('before@time.example')
    const sent = await visitor.send('before@time.example')
    await mail.mailTo('before@time.example', 2)
    await visitor.register('later@time.example')
    assert.equal((await visitor.send('later@time.example')).status, 202)
    await eventually('the mail was put off', () => child.output.out.includes('it will be retried'))

    process.kill(-child.pid, 'SIGSTOP')
    faults.moveWallClock(11 * minute)
    faults.moveTimers(11 * minute)
    process.kill(-child.pid, 'SIGCONT')

    const late = await visitor.answer('before@time.example', sent.json.sessionId)
    assert.deepEqual([late.status, late.json.code], [401, 'otp-unusable'])
    assert.deepEqual(await visitor.me(session.access_token), [200, undefined])
    await visitor.refreshed(session.refresh_token)
    await visitor.signIn('after@time.example')
    await eventually('the mail with the dead code is recorded', async () => {
      const failures = await rows("select id from event where type = 'mail.failed'")
      return failures.length === 1
    })
    assert.equal(mail.received.filter(({ to }) => to.startsWith('later')).length, 0)
  })
}

/** Limits that were used by a clock that was ahead are forgotten by the next sweep, a minute later at most. */
async function swept(visitor: Visitor): Promise<void> {
  const answered = await until(
    () => visitor.send('greedy@time.example'),
    ({ status }) => status !== 429,
  )
  assert.equal(answered.status, 202, answered.text)
}

/** The clock is an hour ahead for a while, and is then put right. */
export async function jumps(engine: Engine): Promise<void> {
  await inService(engine, async (it) => {
    const { faults, mail } = it
    const first = await it.visitor.signIn('first@time.example')
    const sent = await it.visitor.send('first@time.example')
    await mail.mailTo('first@time.example', 2)

    faults.moveWallClock(hour)
    const late = await it.visitor.answer('first@time.example', sent.json.sessionId)
    assert.deepEqual([late.status, late.json.code], [401, 'otp-unusable'])
    assert.deepEqual(await it.visitor.me(first.access_token), [401, 'invalid-token'])
    const refreshed = await it.visitor.refreshed(first.refresh_token)
    assert.deepEqual(await it.visitor.me(refreshed.access_token), [200, undefined])
    await it.visitor.signIn('ahead@time.example')
    // Limits are used up, a mail waits, and somebody has the lease of the sweeper, all by the wrong clock.
    await until(
      () => it.visitor.send('greedy@time.example'),
      ({ status }) => status === 429,
    )
    await it.visitor.register('later@time.example')
    assert.equal((await it.visitor.send('later@time.example')).status, 202)
    await eventually('the mail was put off', () => it.child.output.out.includes('it will be retried'))
    faults.moveTimers(sweepEveryMs)
    await eventually('somebody sweeps', async () => {
      const leases = await it.rows<{ leased_until: number }>('select leased_until from lease')
      return leases.some(({ leased_until }) => leased_until > Date.now() + 30 * minute)
    })

    faults.moveWallClock(0)
    it.openMail()
    // Also after a restart: the lease is that of a dead process.
    await it.restart()
    assert.deepEqual(await it.visitor.me(refreshed.access_token), [200, undefined])
    await it.visitor.refreshed(refreshed.refresh_token)
    assert.equal((await it.visitor.send('greedy@time.example')).status, 429)
    faults.moveTimers(2 * sweepEveryMs)
    await swept(it.visitor)
    await it.visitor.signIn('back@time.example')
    assert.equal((await it.visitor.send('greedy@time.example')).status, 202)
    await mail.mailTo('later@time.example')

    faults.moveWallClock(-hour)
    faults.moveTimers(3 * sweepEveryMs)
    await swept(it.visitor)
    await it.visitor.signIn('earlier@time.example')
    faults.moveWallClock(0)
    await it.visitor.signIn('again@time.example')
  })
}
