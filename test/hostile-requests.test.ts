/** Requests that try to redirect links, poison caches or take over an address. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { type Service, type SignedIn, startService } from './support/service.ts'
import { wire } from './support/wire.ts'

suite('Hostile requests', () => {
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
    // Nobody has this address, so the mail says where to register.
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
