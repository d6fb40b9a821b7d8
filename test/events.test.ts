import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { byOperator } from '../src/platform/lib/by.ts'
import { day, minute, second } from '../src/platform/lib/clock.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { type Service, startService } from './support/service.ts'
import { startMailServer } from './support/smtp.ts'
import { outboxEmpty, until } from './support/wait.ts'

interface Event {
  readonly id: string
  readonly at: number
  readonly type: string
  readonly person_id: string | null
  readonly session_id: string | null
  readonly data: string
}

for (const engine of engines) {
  suite(`Events on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const names = { firstname: 'Evangelina', lastname: 'Quartermaine' }
    const signIn = async (email: string) => {
      await service.register(email, names)
      return service.signIn(email, freshNetwork())
    }
    const ofPerson = (personId: string) =>
      service.rows<Event>('select * from event where person_id = $1 order by at, id', [personId])
    const types = async (personId: string) => (await ofPerson(personId)).map((event) => event.type).sort()
    const ofSession = (sessionId: string, type: string) =>
      service.rows<Event>('select * from event where session_id = $1 and type = $2', [sessionId, type])
    const pending = async (email: string) => {
      await service.app.parts.veterinarians.settle()
      const [row] = await service.rows<{ id: string }>('select id from person where email = $1', [email])
      return row!.id
    }
    const me = (token: string, method: string, body?: object) =>
      service.request('/veterinarian/me', { method, token, ...(body && { body }) })

    test('veterinarian.registered is written once, however often the address is registered', async () => {
      const email = freshAddress('registered')
      const at = service.clock.now()
      await service.register(email, names)
      const id = await pending(email)
      assert.deepEqual(await types(id), ['veterinarian.registered'])
      assert.equal((await ofPerson(id))[0]?.at, at)
      service.clock.advance(second)
      await service.register(email, { ...names, firstname: 'Wilhelmina' })
      await pending(email)
      assert.deepEqual(await types(id), ['veterinarian.registered'], 'a change to a pending one is no event')
    })

    test('Registering an active address is not an event', async () => {
      const email = freshAddress('active')
      const { userId } = await signIn(email)
      const before = await types(userId)
      await service.register(email, names)
      await service.app.parts.veterinarians.settle()
      assert.deepEqual(await types(userId), before)
    })

    test('veterinarian.activated and session.started are written by the first right code', async () => {
      const email = freshAddress('activated')
      const first = await signIn(email)
      assert.deepEqual(await types(first.userId), [
        'session.started',
        'veterinarian.activated',
        'veterinarian.registered',
      ])
      const [started] = await ofSession(first.sessionId, 'session.started')
      assert.equal(started?.person_id, first.userId)
      service.clock.advance(second)
      const second_ = await service.signIn(email, freshNetwork())
      const now = await types(first.userId)
      assert.equal(now.filter((type) => type === 'veterinarian.activated').length, 1)
      assert.equal(now.filter((type) => type === 'session.started').length, 2)
      assert.equal((await ofSession(second_.sessionId, 'session.started')).length, 1)
    })

    test('veterinarian.updated is written by a change of name, once each', async () => {
      const { access, userId } = await signIn(freshAddress('updated'))
      const count = async () => (await types(userId)).filter((type) => type === 'veterinarian.updated').length
      const before = await count()
      service.clock.advance(second)
      await me(access, 'PATCH', { firstname: 'Wilhelmina' })
      assert.equal(await count(), before + 1)
      await me(access, 'PATCH', { firstname: '' })
      assert.equal(await count(), before + 1)
    })

    test('veterinarian.updated is written when names are confirmed, once', async () => {
      const { access, userId } = await signIn(freshAddress('confirmed'))
      const count = async () => (await types(userId)).filter((type) => type === 'veterinarian.updated').length
      for (let i = 0; i < 2; i++) {
        await me(access, 'PATCH', { firstname: names.firstname })
        assert.equal(await count(), 1)
      }
    })

    test('veterinarian.updated is not written for a PATCH that lost to a close', async () => {
      const email = freshAddress('lost')
      const { userId } = await signIn(email)
      const { db, veterinarians } = service.app.parts
      const person = (await veterinarians.findAccount(email))!
      await db.run("update person set status = 'closed' where id = $1", [userId])
      await assert.rejects(veterinarians.rename(person, { firstname: 'Late' }, byOperator), {
        code: 'session-ended',
      })
      assert.ok(!(await types(userId)).includes('veterinarian.updated'))
    })

    test('veterinarian.suspended, veterinarian.reactivated and session.ended are written once each', async () => {
      const { userId, sessionId } = await signIn(freshAddress('suspended'))
      const { support } = service.app.parts
      assert.deepEqual(
        [
          await support.suspend(userId, 'a test', byOperator),
          await support.suspend(userId, 'a test', byOperator),
        ],
        [true, false],
      )
      service.clock.advance(second)
      const reactivate = () => support.reactivate(userId, null, byOperator)
      assert.deepEqual([await reactivate(), await reactivate()], [true, false])
      const all = await types(userId)
      for (const type of ['veterinarian.suspended', 'veterinarian.reactivated', 'session.ended'])
        assert.equal(all.filter((one) => one === type).length, 1, type)
      const [ended] = await ofSession(sessionId, 'session.ended')
      assert.deepEqual(JSON.parse(ended!.data), { reason: 'account' })
    })

    test('veterinarian.closed is written once, with the end of each session', async () => {
      const email = freshAddress('closed')
      const first = await signIn(email)
      const second_ = await service.signIn(email, freshNetwork())
      await Promise.all([
        me(first.access, 'DELETE'),
        me(second_.access, 'DELETE'),
        me(first.access, 'DELETE'),
      ])
      const all = await types(first.userId)
      assert.equal(all.filter((type) => type === 'veterinarian.closed').length, 1)
      for (const { sessionId } of [first, second_]) {
        const ended = await ofSession(sessionId, 'session.ended')
        assert.deepEqual(
          ended.map((event) => JSON.parse(event.data)),
          [{ reason: 'account' }],
        )
      }
    })

    test('veterinarian.lapsed is written once when a registration lapses', async () => {
      const email = freshAddress('lapsed')
      await service.register(email, names)
      const id = await pending(email)
      service.clock.advance(7 * day)
      await Promise.all([service.app.parts.sweeper.sweep(), service.app.parts.sweeper.sweep()])
      assert.deepEqual((await types(id)).sort(), ['veterinarian.lapsed', 'veterinarian.registered'])
    })

    const endings: [
      reason: string,
      end: (who: { access: string; refresh: string; sessionId: string; email: string }) => Promise<void>,
    ][] = [
      [
        'signed-out',
        async ({ access }) => void (await service.request('/session', { method: 'DELETE', token: access })),
      ],
      [
        'revoked',
        async ({ sessionId, email }) => {
          const other = await service.signIn(email, freshNetwork())
          const reply = await service.request(`/session/${sessionId}`, {
            method: 'DELETE',
            token: other.access,
          })
          assert.equal(reply.status, 204)
        },
      ],
      [
        'reuse',
        async ({ refresh }) => {
          let token = refresh
          for (let i = 0; i < 2; i++) {
            service.clock.advance(minute)
            token = (await service.post('/session/refresh', { refresh_token: token })).json.refresh_token
          }
          for (let i = 0; i < 2; i++) await service.post('/session/refresh', { refresh_token: refresh })
        },
      ],
      [
        'expired',
        async () => {
          service.clock.advance(30 * day)
          await Promise.all([service.app.parts.sweeper.sweep(), service.app.parts.sweeper.sweep()])
        },
      ],
    ]
    for (const [reason, end] of endings) {
      test(`session.ended is written once with the reason ${reason}`, async () => {
        const email = freshAddress('ended')
        const who = await signIn(email)
        await end({ ...who, email })
        const events = await ofSession(who.sessionId, 'session.ended')
        assert.deepEqual(
          events.map((event) => [event.person_id, JSON.parse(event.data)]),
          [[who.userId, { reason }]],
        )
      })
    }

    test('otp.exhausted is written once, by the fifth wrong answer', async () => {
      const email = freshAddress('exhausted')
      const { sessionId } = (await service.post('/veterinarian/send-otp', { email }, freshNetwork())).json
      const answer = () =>
        service.post('/veterinarian/validate-otp', { email, sessionId, otp_code: 99_999_999 }, freshNetwork())
      for (let i = 0; i < 4; i++) await answer()
      assert.equal((await ofSession(sessionId, 'otp.exhausted')).length, 0)
      await Promise.all([answer(), answer(), answer()])
      assert.equal((await ofSession(sessionId, 'otp.exhausted')).length, 1)
    })

    test('otp.exhausted is written 12,200 times a day at most, because strangers can use up any number of codes', async () => {
      const exhaust = async () => {
        const email = freshAddress('exhausted')
        const { sessionId } = (await service.post('/veterinarian/send-otp', { email }, freshNetwork())).json
        const body = { email, sessionId, otp_code: 99_999_999 }
        const replies = []
        for (let i = 0; i < 5; i++)
          replies.push(await service.post('/veterinarian/validate-otp', body, freshNetwork()))
        assert.equal(replies.at(-1)!.json.attemptsLeft, 0)
        return (await ofSession(sessionId, 'otp.exhausted')).length
      }
      assert.equal(await exhaust(), 1)
      const until = service.clock.now() + 2 * 24 * 60 * minute
      await service.app.parts.db.run("update bucket set full_at = $1 where key = 'service:exhausted'", [
        until,
      ])
      assert.equal(await exhaust(), 0)
      await service.app.parts.db.run("delete from bucket where key = 'service:exhausted'")
      assert.equal(await exhaust(), 1)
    })

    test('A challenge that merely expires is not an event', async () => {
      const email = freshAddress('merely')
      await service.register(email, names)
      const { sessionId } = await service.code(email, freshNetwork())
      await outboxEmpty(service)
      service.clock.advance(2 * 60 * minute)
      await service.app.parts.sweeper.sweep()
      assert.deepEqual(await service.rows('select id from event where session_id = $1', [sessionId]), [])
    })

    test('Events hold ids only, never names, addresses or codes', async () => {
      const events = await service.rows<Event>('select * from event')
      assert.ok(events.length > 20)
      for (const event of events) {
        assert.doesNotMatch(JSON.stringify(event), /@|clinic\.example|Evangelina|Wilhelmina|Quartermaine/)
        assert.ok(event.person_id !== null || event.session_id !== null)
        const data = Object.keys(JSON.parse(event.data))
        assert.ok(
          data.every((name) => name === 'reason' || name === 'method'),
          event.data,
        )
      }
    })
  })

  suite(`Failed mail on ${engine}`, () => {
    const failures: [reason: string, smtpCode: number][] = [
      ['refused', 550],
      ['expired', 451],
    ]
    for (const [reason, responseCode] of failures) {
      test(`mail.failed is written once with the reason ${reason}`, async () => {
        let tries = 0
        const mail = await startMailServer({
          onRcptTo(_address, _session, callback) {
            tries++
            callback(Object.assign(new Error('no'), { responseCode }))
          },
        })
        const service = await startService(engine, { mail })
        const email = freshAddress('undeliverable')
        await service.register(email)
        const { sessionId } = (await service.post('/veterinarian/send-otp', { email })).json
        await until(
          async () => tries,
          (count) => count > 0,
        )
        if (reason === 'expired') service.clock.advance(10 * minute)
        const ask = () =>
          service.rows<Event>("select * from event where type = 'mail.failed' and session_id = $1", [
            sessionId,
          ])
        const events = await until(ask, (rows) => rows.length > 0)
        assert.deepEqual(
          events.map((event) => JSON.parse(event.data)),
          [{ reason }],
        )
        assert.doesNotMatch(JSON.stringify(events), /@|undeliverable/)
        assert.deepEqual(await service.rows('select id from outbox'), [])
        await service.stop()
        await mail.close()
      })
    }
  })
}
