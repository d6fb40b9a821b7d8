import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { day, hour, minute } from '../src/platform/lib/clock.ts'
import { atLength, engines, migratedStore } from './support/engines.ts'
import { freshAddress, freshNetwork, type Network, repeat } from './support/fresh.ts'
import { type Service, startService, TestClock } from './support/service.ts'
import { startMailServer } from './support/smtp.ts'

for (const engine of engines) {
  suite(`Guessing codes on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const send = async (email: string, network: Network = freshNetwork()) => {
      const reply = await service.post('/veterinarian/send-otp', { email }, network)
      assert.equal(reply.status, 202, reply.text)
      return reply.json as { sessionId: string; digits: number; reference: string }
    }
    const digits = async (email: string, network: Network = freshNetwork()) =>
      (await send(email, network)).digits

    const codeOf = async (email: string, reference: string) =>
      (await service.mail.mailWith(email, reference)).code ?? 0

    /** So many wrong answers, five to a session; `where` says for whom and from where each session is. */
    const fail = async (times: number, where: () => { email?: string; network?: Network }) => {
      await repeat(Math.ceil(times / 5), async (i) => {
        const { email = freshAddress('guessed'), network = freshNetwork() } = where()
        const { sessionId } = await send(email, network)
        for (let n = 0; n < Math.min(5, times - i * 5); n++) {
          const body = { email, sessionId, otp_code: 99_999_999 }
          const reply = await service.post('/veterinarian/validate-otp', body, network)
          assert.equal(reply.json.code, 'otp-incorrect')
        }
      })
    }

    test('Twenty failures in an hour for an address give it 8 digits until the count falls', async () => {
      const email = freshAddress('target')
      await service.signIn(email, freshNetwork())
      await fail(19, () => ({ email }))
      assert.equal(await digits(email), 6)
      await fail(1, () => ({ email }))
      const sent = await send(email)
      assert.equal(sent.digits, 8)
      assert.equal(await digits(freshAddress()), 6)
      service.clock.advance(hour - minute)
      assert.equal(await digits(email), 8)
      service.clock.advance(2 * minute)
      assert.equal(await digits(email), 6)
    })

    test('A code of 8 digits is mailed, sent again and answered like any other', async () => {
      const email = freshAddress('eight')
      await service.signIn(email, freshNetwork())
      await fail(20, () => ({ email }))
      const sent = await send(email)
      assert.equal(sent.digits, 8)
      const code = await codeOf(email, sent.reference)
      assert.ok(code >= 10_000_000 && code <= 99_999_999)
      service.clock.advance(30_000)
      const again = await service.post(
        '/veterinarian/send-otp',
        { email, sessionId: sent.sessionId },
        freshNetwork(),
      )
      assert.deepEqual([again.status, again.json.digits], [202, 8])
      const body = { email, sessionId: sent.sessionId, otp_code: code }
      const reply = await service.post('/veterinarian/validate-otp', body, freshNetwork())
      assert.equal(reply.status, 200)
    })

    test('Fifty failures in a day for an address give it 8 digits', async () => {
      const email = freshAddress('slow.target')
      for (const times of [19, 19]) {
        await fail(times, () => ({ email }))
        service.clock.advance(hour + 2 * minute)
      }
      await fail(11, () => ({ email }))
      assert.equal(await digits(email), 6)
      await fail(1, () => ({ email }))
      assert.equal(await digits(email), 8)
      service.clock.advance(2 * hour)
      assert.equal(await digits(email), 8)
      service.clock.advance(day - 3 * hour)
      assert.equal(await digits(email), 6)
    })

    test('A hundred failures in ten minutes from a network give it 8 digits', async () => {
      const network = freshNetwork()
      await fail(99, () => ({ network }))
      assert.equal(await digits(freshAddress(), network), 6)
      await fail(1, () => ({ network }))
      assert.equal(await digits(freshAddress(), network), 8)
      assert.equal(await digits(freshAddress()), 6)
      service.clock.advance(9 * minute)
      assert.equal(await digits(freshAddress(), network), 8)
      service.clock.advance(2 * minute)
      assert.equal(await digits(freshAddress(), network), 6)
    })

    test('Three hundred failures in a day from a network give it 8 digits', async () => {
      service.clock.advance(2 * hour)
      const network = freshNetwork()
      for (const times of [99, 99, 99]) {
        await fail(times, () => ({ network }))
        service.clock.advance(hour)
      }
      await fail(2, () => ({ network }))
      assert.equal(await digits(freshAddress(), network), 6)
      await fail(1, () => ({ network }))
      assert.equal(await digits(freshAddress(), network), 8)
      service.clock.advance(day + minute)
      assert.equal(await digits(freshAddress(), network), 6)
    })

    test('Five hundred failures in an hour over the whole service give everybody 8 digits', async () => {
      service.clock.advance(2 * hour)
      await fail(499, () => ({}))
      assert.equal(await digits(freshAddress()), 6)
      await fail(1, () => ({}))
      assert.equal(await digits(freshAddress()), 8)
      service.clock.advance(hour + minute)
      assert.equal(await digits(freshAddress()), 6)
    })

    test('Nobody is locked out: under attack a right code still signs in', async () => {
      const email = freshAddress('locked.out')
      await service.signIn(email, freshNetwork())
      await fail(60, () => ({ email }))
      const { sessionId, reference } = await send(email)
      const body = { email, sessionId, otp_code: await codeOf(email, reference) }
      const reply = await service.post('/veterinarian/validate-otp', body, freshNetwork())
      assert.equal(reply.status, 200)
    })

    test('An address with three open sessions gets 8 digits for further ones', async () => {
      const email = freshAddress('batch')
      await service.signIn(email, freshNetwork())
      const first = await send(email)
      for (let i = 0; i < 2; i++) assert.equal(await digits(email), 6)
      const fourth = await send(email)
      assert.equal(fourth.digits, 8)
      assert.ok((await codeOf(email, fourth.reference)) >= 10_000_000)
      assert.equal(await digits(freshAddress()), 6)
      const body = { email, sessionId: first.sessionId, otp_code: await codeOf(email, first.reference) }
      assert.equal((await service.post('/veterinarian/validate-otp', body, freshNetwork())).status, 200)
      assert.equal(await digits(email), 8, 'three are still open')
      service.clock.advance(10 * minute)
      assert.equal(await digits(email), 6)
    })

    test('A wrong answer does not make room for another code of 6 digits', async () => {
      const email = freshAddress('batch.wrong')
      for (let i = 0; i < 3; i++) {
        const { sessionId } = await send(email)
        const body = { email, sessionId, otp_code: 99_999_999 }
        assert.equal((await service.post('/veterinarian/validate-otp', body, freshNetwork())).status, 401)
      }
      assert.equal(await digits(email), 8)
    })

    test('Twenty sessions opened at once have three codes of 6 digits', async () => {
      const email = freshAddress('batch.at.once')
      const sent = await repeat(20, () => send(email), 20)
      assert.equal(sent.filter((one) => one.digits === 6).length, 3)
      const [local, domain] = freshAddress('batch.tagged').split('@')
      const tagged = await repeat(12, (i) => send(`${local}+${i}@${domain}`), 12)
      assert.equal(tagged.filter((one) => one.digits === 6).length, 3)
    })

    test('A network that asked for codes is counted when they are answered wrongly from elsewhere', async () => {
      service.clock.advance(2 * hour)
      const asking = freshNetwork()
      await repeat(20, async () => {
        const email = freshAddress('elsewhere')
        const { sessionId } = await send(email, asking)
        for (let n = 0; n < 5; n++) {
          const body = { email, sessionId, otp_code: 99_999_999 }
          assert.equal((await service.post('/veterinarian/validate-otp', body, freshNetwork())).status, 401)
        }
      })
      assert.equal(await digits(freshAddress(), asking), 8)
      assert.equal(await digits(freshAddress()), 6)
    })

    test('Answers to other people’s sessions do not count as failures', async () => {
      const email = freshAddress('not.counted')
      const network = freshNetwork()
      const body = { email, sessionId: 'A'.repeat(22), otp_code: 123456 }
      const replies = await repeat(120, () => service.post('/veterinarian/validate-otp', body, network))
      for (const { status } of replies) assert.equal(status, 401)
      assert.equal(await digits(email, network), 6)
    })
  })
}

for (const engine of engines)
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
