import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { minute, second } from '../src/platform/lib/clock.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { outcome, type Service, startService, wrongFor } from './support/service.ts'

const unusable = [401, 'otp-unusable']

for (const engine of engines) {
  suite(`Signing in on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const send = (email: string, sessionId?: string, network = freshNetwork()) =>
      service.post(
        '/veterinarian/send-otp',
        { email, ...(sessionId !== undefined && { sessionId }) },
        network,
      )
    const validate = (email: string, sessionId: string, otp_code: unknown, network = freshNetwork()) =>
      service.post('/veterinarian/validate-otp', { email, otp_code, sessionId }, network)
    const registered = async (name?: string) => {
      const email = freshAddress(name)
      const body = { firstname: 'Ada', lastname: 'Marsh', email }
      assert.equal((await service.post('/veterinarian/register', body, freshNetwork())).status, 202)
      return email
    }
    const codesTo = (email: string) =>
      service.mail.received.filter((mail) => mail.to === email).map((mail) => mail.code)
    const attempts = async (sessionId: string) =>
      (
        await service.rows<{ attempts: number }>('select attempts from challenge where id = $1', [sessionId])
      )[0]?.attempts

    test('send-otp answers 202 with exactly its five members', async () => {
      const email = await registered('sends')
      const reply = await send(email)
      assert.equal(reply.status, 202)
      const now = service.clock.now()
      const { sessionId, reference, ...rest } = reply.json
      assert.match(sessionId, /^[A-Za-z0-9_-]{30}$/)
      assert.match(reference, /^[A-Z]{3}$/)
      assert.deepEqual(rest, {
        digits: 6,
        expiresAt: new Date(now + 10 * minute).toISOString(),
        resendAt: new Date(now + 30 * second).toISOString(),
      })
      const { code, mail } = await service.mail.mailTo(email)
      assert.ok(code !== null && code >= 100_000 && code <= 999_999)
      assert.ok(mail.subject?.includes(reference))
    })

    test('A resend mails the same code for the same session', async () => {
      const email = freshAddress('resends')
      // Until an address is confirmed, it gets three codes a day.
      await service.signIn(email, freshNetwork())
      const first = await send(email)
      const { sessionId } = first.json
      await service.mail.mailTo(email, 2)
      for (let nth = 1; nth <= 3; nth++) {
        service.clock.advance(30 * second)
        const reply = await send(email, sessionId)
        assert.equal(reply.status, 202)
        assert.deepEqual(reply.json, {
          ...first.json,
          resendAt: nth === 3 ? null : new Date(service.clock.now() + 30 * second).toISOString(),
        })
        await service.mail.mailTo(email, nth + 2)
      }
      const codes = codesTo(email).slice(1)
      assert.deepEqual(codes, Array(4).fill(codes[0]))
      assert.equal((await validate(email, sessionId, codes[0])).status, 200)
    })

    test('A fourth resend is 429 with Retry-After', async () => {
      const email = await registered()
      const { sessionId, expiresAt } = (await send(email)).json
      for (let nth = 1; nth <= 3; nth++) {
        service.clock.advance(30 * second)
        await send(email, sessionId)
      }
      service.clock.advance(minute)
      const reply = await send(email, sessionId)
      assert.deepEqual(outcome(reply), [429, 'too-many-requests'])
      const wait = Number(reply.headers.get('retry-after'))
      assert.equal(wait, Math.ceil((Date.parse(expiresAt) - service.clock.now()) / 1000))
    })

    test('A resend before resendAt is 429, and Retry-After says when', async () => {
      const email = await registered()
      const { sessionId } = (await send(email)).json
      service.clock.advance(10 * second + 1)
      const early = await send(email, sessionId)
      assert.deepEqual(outcome(early), [429, 'too-many-requests'])
      assert.equal(early.headers.get('retry-after'), '20')
      service.clock.advance(20 * second - 1)
      const reply = await send(email, sessionId)
      assert.equal(reply.status, 202)
      const again = await send(email, sessionId)
      assert.deepEqual([again.status, again.headers.get('retry-after')], [429, '30'])
    })

    test('A resend does not lengthen the life of the code', async () => {
      const email = await registered()
      const { sessionId } = (await send(email)).json
      const { code } = await service.mail.mailTo(email)
      service.clock.advance(9 * minute)
      assert.equal((await send(email, sessionId)).status, 202)
      await service.mail.mailTo(email, 2)
      service.clock.advance(minute)
      assert.deepEqual(outcome(await validate(email, sessionId, code)), unusable)
      assert.deepEqual(outcome(await send(email, sessionId)), unusable)
    })

    test('A resend for an unknown, ended or mismatched session is 401 otp-unusable', async () => {
      const email = await registered()
      const used = await service.signIn(email, freshNetwork())
      const exhausted = (await send(email)).json.sessionId
      for (let i = 0; i < 5; i++) await validate(email, exhausted, 99_999_999)
      const others = (await send(await registered())).json.sessionId
      service.clock.advance(30 * second)
      for (const sessionId of ['', 'x', 'A'.repeat(22), '\u0000', used.sessionId, exhausted, others]) {
        const reply = await send(email, sessionId)
        assert.deepEqual(outcome(reply), unusable, sessionId)
        assert.equal(reply.headers.get('www-authenticate'), 'OTP')
      }
      for (const sessionId of [null, 7, ['x'], {}])
        assert.equal((await service.post('/veterinarian/send-otp', { email, sessionId })).status, 400)
    })

    test('Two sessions of one address have codes of their own', async () => {
      const email = await registered()
      const a = await service.code(email, freshNetwork())
      const b = await service.code(email, freshNetwork())
      assert.notEqual(a.sessionId, b.sessionId)
      if (a.code !== b.code)
        assert.deepEqual(outcome(await validate(email, a.sessionId, b.code)), [401, 'otp-incorrect'])
      assert.equal((await validate(email, b.sessionId, b.code)).status, 200)
      assert.equal((await validate(email, a.sessionId, a.code)).status, 200)
    })

    const wrongTypes: [name: string, value: unknown][] = [
      ['a string', '123456'],
      ['an empty string', ''],
      ['a fraction', 123456.5],
      ['below the range', 99_999],
      ['above the range', 100_000_000],
      ['zero', 0],
      ['negative', -123_456],
      ['huge', 1e300],
      ['null', null],
      ['true', true],
      ['a list', [123456]],
      ['an object', { code: 123456 }],
      ['left out', undefined],
    ]
    for (const [name, value] of wrongTypes) {
      test(`An otp_code that is ${name} is 400 and counts no attempt`, async () => {
        const email = await registered()
        const { sessionId } = (await send(email)).json
        const reply = await validate(email, sessionId, value)
        assert.deepEqual(outcome(reply), [400, 'invalid-request'])
        assert.deepEqual(
          reply.json.errors.map((error: { pointer: string }) => error.pointer),
          ['#/otp_code'],
        )
        assert.equal(await attempts(sessionId), 0)
      })
    }

    for (const value of [null, 7, ['x'], undefined]) {
      test(`A sessionId of ${JSON.stringify(value)} is 400`, async () => {
        const body = { email: freshAddress(), otp_code: 123456, sessionId: value }
        const reply = await service.post('/veterinarian/validate-otp', body)
        assert.deepEqual(outcome(reply), [400, 'invalid-request'])
      })
    }

    test('An integer written with an exponent or a zero fraction is an integer', async () => {
      const email = await registered()
      const { sessionId, code } = await service.code(email, freshNetwork())
      const reply = await service.post(
        '/veterinarian/validate-otp',
        `{"email":"${email}","sessionId":"${sessionId}","otp_code":${code}.0}`,
      )
      assert.equal(reply.status, 200)
    })

    test('The right code answers 200 once, and makes a pending veterinarian active', async () => {
      const email = await registered('activates')
      const { sessionId, code } = await service.code(email, freshNetwork())
      const [before] = await service.rows<{ status: string }>('select status from person where email = $1', [
        email,
      ])
      assert.equal(before?.status, 'pending')
      const reply = await validate(email, sessionId, code)
      assert.equal(reply.status, 200)
      assert.equal(reply.json.user.status, 'active')
      assert.equal((await service.request(`/veterinarian/${reply.json.user.userId}`)).status, 200)
      assert.deepEqual(outcome(await validate(email, sessionId, code)), unusable)
      assert.deepEqual(outcome(await validate(email, sessionId, wrongFor(code))), unusable)
    })

    test('A code allows five attempts, the last of them included', async () => {
      const email = await registered()
      const { sessionId, code } = await service.code(email, freshNetwork())
      const left: number[] = []
      for (let i = 0; i < 4; i++) {
        const reply = await validate(email, sessionId, wrongFor(code))
        assert.deepEqual(outcome(reply), [401, 'otp-incorrect'])
        assert.equal(reply.headers.get('www-authenticate'), 'OTP')
        left.push(reply.json.attemptsLeft)
      }
      assert.deepEqual(left, [4, 3, 2, 1])
      assert.equal((await validate(email, sessionId, code)).status, 200)
    })

    test('The fifth wrong answer has attemptsLeft 0; after it even the right code is otp-unusable', async () => {
      const email = await registered()
      const { sessionId, code } = await service.code(email, freshNetwork())
      for (const attemptsLeft of [4, 3, 2, 1, 0]) {
        const reply = await validate(email, sessionId, wrongFor(code))
        assert.deepEqual([...outcome(reply), reply.json.attemptsLeft], [401, 'otp-incorrect', attemptsLeft])
      }
      const reply = await validate(email, sessionId, code)
      assert.deepEqual(outcome(reply), unusable)
      assert.equal('attemptsLeft' in reply.json, false)
    })

    test('A code lives ten minutes', async () => {
      const email = await registered()
      const first = await service.code(email, freshNetwork())
      service.clock.advance(10 * minute - 1)
      assert.equal((await validate(email, first.sessionId, first.code)).status, 200)
      const second = await service.code(email, freshNetwork())
      service.clock.advance(10 * minute)
      assert.deepEqual(outcome(await validate(email, second.sessionId, second.code)), unusable)
    })

    test('Another address, or another session, is otp-unusable and counts no attempt', async () => {
      const email = await registered()
      const other = await registered()
      const { sessionId, code } = await service.code(email, freshNetwork())
      for (let i = 0; i < 6; i++) {
        assert.deepEqual(outcome(await validate(other, sessionId, code)), unusable)
        assert.deepEqual(outcome(await validate(freshAddress(), sessionId, code)), unusable)
        assert.deepEqual(outcome(await validate(email, 'A'.repeat(22), code)), unusable)
        assert.deepEqual(outcome(await validate(email, 'nonsense', code)), unusable)
      }
      assert.equal(await attempts(sessionId), 0)
      assert.equal((await validate(email, sessionId, code)).status, 200)
    })

    test('A session of the other role is otp-unusable, counts no attempt and is not sent again', async () => {
      const email = await registered()
      const { sessionId, code } = await service.code(email, freshNetwork())
      const { db } = service.app.parts
      await db.run("update challenge set role = 'student' where id = $1", [sessionId])
      service.clock.advance(30 * second)
      assert.deepEqual(outcome(await validate(email, sessionId, code)), unusable)
      assert.deepEqual(outcome(await send(email, sessionId)), unusable)
      assert.equal(await attempts(sessionId), 0)
      await db.run("update challenge set role = 'veterinarian' where id = $1", [sessionId])
      assert.equal((await validate(email, sessionId, code)).status, 200)
    })

    test('The row of a session contains neither the code nor the address', async () => {
      const email = await registered('rows')
      const { sessionId, code } = await service.code(email, freshNetwork())
      const [row] = await service.rows<object>('select * from challenge where id = $1', [sessionId])
      const values = Object.values(row!).map(String)
      assert.ok(values.includes(sessionId) && !values.includes(String(code)))
      for (const value of values) assert.doesNotMatch(value, /@|clinic\.example/)
    })
  })
}
