/** Faults that other sign-in services had to publish, as far as no other file has a test for them. */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { after, before, suite, test } from 'node:test'
import type { ReadById, Statement } from '../src/platform/db/db.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { atLength, engines, migratedStore } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { type Service, type SignedIn, startService, TestClock } from './support/service.ts'
import { startMailServer } from './support/smtp.ts'
import { wire } from './support/wire.ts'

for (const engine of engines) {
  suite(`What an outsider sets going, on ${engine}`, () => {
    let service: Service
    /** The statements of one request, apart from what the service does on its own meanwhile. */
    const statements = new AsyncLocalStorage<string[]>()
    let newest: string[] = []
    before(async () => {
      service = await startService(engine)
      service.app.parts.server.app.server.prependListener('request', () => {
        newest = []
        statements.enterWith(newest)
      })
      const { db } = service.app.parts
      const { all, one, run, tx, byId } = db
      const noting =
        <A extends unknown[], R>(call: (...args: A) => R) =>
        (...args: A): R => {
          statements.getStore()?.push(...args.filter((arg) => typeof arg === 'string'))
          return call(...args)
        }
      Object.assign(db, {
        all: noting(all),
        one: noting(one),
        run: noting(run),
        byId: (lookup: ReadById, id: string) => noting((_sql: string) => byId(lookup, id))(lookup.one),
        tx: (list: readonly Statement[]) =>
          noting((..._sql: string[]) => tx(list))(...list.map(({ sql }) => sql)),
      })
    })
    after(() => service.stop())

    const owners: [who: string, prepare: (email: string) => Promise<unknown>][] = [
      ['nobody', async () => {}],
      ['somebody who has not confirmed it', (email) => service.register(email)],
      ['somebody', (email) => service.signIn(email, freshNetwork())],
      [
        'somebody suspended',
        async (email) => {
          const { userId } = await service.signIn(email, freshNetwork())
          await service.app.parts.support.suspend(userId, 'a test', byOperator)
        },
      ],
    ]

    test('is the same statements for an address of somebody and of nobody, so that time tells nothing', async () => {
      const addresses = owners.map(([who, prepare]) => ({ who, prepare, email: freshAddress('timing') }))
      for (const { prepare, email } of addresses) await prepare(email)
      await service.app.parts.veterinarians.settle()
      await service.app.parts.outbox.stop()
      const done: Record<string, string[][]> = {}
      for (const { who, email } of addresses) {
        const steps: string[][] = []
        const call = async (path: string, body: object) => {
          const reply = await service.post(`/veterinarian/${path}`, { email, ...body }, freshNetwork())
          steps.push(newest)
          return reply
        }
        await call('register', { firstname: 'Ada', lastname: 'Marsh' })
        const { sessionId } = (await call('send-otp', {})).json
        await call('validate-otp', { sessionId, otp_code: 99_999_999 })
        done[who] = steps
      }
      const { nobody, ...others } = done
      for (const steps of nobody!) assert.ok(steps.length > 0)
      for (const [who, steps] of Object.entries(others)) assert.deepEqual(steps, nobody, who)
      assert.doesNotMatch(nobody!.flat().join(), /\b(from|join|into|update) (person|student)\b/)
    })
  })

  test(`Wrong answers are still counted after a restart, on ${engine}`, atLength, async () => {
    const store = await migratedStore(engine)
    const mail = await startMailServer()
    const options = { databaseUrl: store.url, mail, clock: new TestClock() }
    const email = freshAddress('restart')
    let service = await startService(engine, options)
    await service.register(email)
    const { sessionId, code } = await service.code(email)
    const answer = (otp_code: number) =>
      service.post('/veterinarian/validate-otp', { email, sessionId, otp_code })
    try {
      for (const attemptsLeft of [4, 3, 2, 1, 0]) {
        assert.equal((await answer(99_999_999)).json.attemptsLeft, attemptsLeft)
        await service.stop()
        service = await startService(engine, options)
      }
      assert.equal((await answer(code)).json.code, 'otp-unusable')
    } finally {
      await service.stop()
      await mail.close()
      await store.remove()
    }
  })
}

suite('Headers and paths', () => {
  let service: Service
  let who: SignedIn
  before(async () => {
    service = await startService('sqlite')
    who = await service.signIn(freshAddress('paths'))
  })
  after(() => service.stop())

  test('No header of a request decides what a mail or a problem links to', async () => {
    const evil = 'evil.example'
    const headers = {
      ...freshNetwork(),
      host: evil,
      'x-forwarded-host': evil,
      'x-forwarded-proto': 'javascript',
      'x-forwarded-server': evil,
      'x-original-url': `https://${evil}/`,
      forwarded: `host=${evil}`,
      origin: `https://${evil}`,
      referer: `https://${evil}/`,
      'content-type': 'application/json',
    }
    // Of nobody, so that the mail says where to register.
    const email = freshAddress('host')
    const send = (body: object) =>
      wire(service.url, '/veterinarian/send-otp', { method: 'POST', headers, body: JSON.stringify(body) })
    assert.equal((await send({ email })).status, 202)
    const { raw, mail } = await service.mail.mailTo(email)
    assert.match(mail.text ?? '', /http:\/\/localhost:\d+/)
    assert.doesNotMatch(raw, /evil|javascript/)
    const refused = await send({ email: 'nobody' })
    assert.match(refused.json.type, /^http:\/\/localhost:\d+\/problems\//)
    assert.doesNotMatch(refused.text, /evil/)
    for (const [, value] of refused.headers) assert.doesNotMatch(value, /evil/)
  })

  const personal = ['/veterinarian/me', '/veterinarian/me/export', '/session']
  const suffixes = [
    '/x.css',
    '.css',
    ';x.css',
    ';/x.css',
    '%2fx.css',
    '%00.css',
    '%0a.css',
    '%23.css',
    '%3f.css',
    '/.css',
    '/',
    '/..%2f..%2fassets/page.css',
    '//x.js',
    '\\x.css',
  ]

  for (const suffix of suffixes)
    test(`Nothing personal is at a path that a cache would take for a file: ${suffix}`, async () => {
      for (const path of personal) {
        const headers = { ...freshNetwork(), authorization: `Bearer ${who.access}` }
        const reply = await wire(service.url, path + suffix, { headers })
        assert.ok(reply.status === 404 || reply.status === 405, `${reply.status} ${path}`)
        assert.equal(reply.headers.get('cache-control'), 'no-store')
        assert.ok(!reply.text.includes(who.userId))
      }
    })

  test('A query does not make a personal reply one to keep', async () => {
    for (const path of personal) {
      const { status, headers } = await service.request(`${path}?x=/x.css`, { token: who.access })
      assert.deepEqual([status, headers.get('cache-control')], [200, 'no-store'], path)
    }
  })

  test('An address that a stranger registered beforehand gives the stranger nothing', async () => {
    const email = freshAddress('victim')
    const stranger = freshNetwork()
    await service.register(email, { firstname: 'Mallory', lastname: 'Stranger' })
    const planted = (await service.post('/veterinarian/send-otp', { email }, stranger)).json.sessionId
    await service.mail.mailTo(email, 1)
    const { sessionId, code } = await service.code(email, freshNetwork())
    const signedIn = await service.post('/veterinarian/validate-otp', { email, otp_code: code, sessionId })
    const { access_token: access, user } = signedIn.json
    // The account is active now, and its names are still the stranger's.
    await service.code(email, freshNetwork())
    const mails = service.mail.received.filter(({ to }) => to === email)
    for (const { raw } of mails) assert.doesNotMatch(raw, /Mallory|Stranger/)
    const { sessions } = (await service.request('/session', { token: access })).json
    assert.deepEqual(
      sessions.map((one: { sessionId: string }) => one.sessionId),
      [sessionId],
    )
    for (const credential of [planted, user.userId])
      assert.equal((await service.request('/veterinarian/me', { token: credential })).status, 401)
    const profile = (await service.request('/veterinarian/me', { token: access })).json
    assert.deepEqual([profile.confirmed, profile.verified], [false, false])
  })
})
