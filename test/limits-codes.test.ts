import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { day, minute, second } from '../src/platform/lib/clock.ts'
import { atLength, engines, migratedStore } from './support/engines.ts'
import { freshAddress, freshNetwork, type Network } from './support/fresh.ts'
import { type Reply, type Service, startService, TestClock } from './support/service.ts'
import { startMailServer } from './support/smtp.ts'

for (const engine of engines) {
  suite(`Codes for one address on ${engine}`, atLength, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const send = (email: string, network: Network) =>
      service.post('/veterinarian/send-otp', { email }, network)
    const granted = async (times: number, email: string, network: Network) => {
      for (let i = 0; i < times; i++) {
        const reply = await send(email, network)
        assert.equal(reply.status, 202, `code ${i + 1} of ${times}: ${reply.text}`)
      }
    }
    const refused = async (email: string, network: Network) => {
      const reply = await send(email, network)
      assert.deepEqual([reply.status, reply.json.code], [429, 'too-many-requests'])
      const wait = Number(reply.headers.get('retry-after'))
      assert.ok(Number.isInteger(wait) && wait > 0)
      return wait * second
    }
    /** Waiting a second less is too little, waiting as told is enough. */
    const waitIsRight = async (email: string, network: Network, wait: number) => {
      service.clock.advance(wait - second)
      assert.equal(await refused(email, network), second)
      service.clock.advance(second)
      await granted(1, email, network)
    }

    test('Five in 15 minutes from one network, then 429 until the first is 15 minutes old', async () => {
      const email = freshAddress()
      const network = freshNetwork()
      for (let i = 0; i < 5; i++) {
        await granted(1, email, network)
        service.clock.advance(minute)
      }
      const wait = await refused(email, network)
      assert.equal(wait, 10 * minute)
      await waitIsRight(email, network, wait)
      assert.equal(await refused(email, network), minute)
    })

    test('Another network, and another address from the same one, are not touched by it', async () => {
      const email = freshAddress()
      const network = freshNetwork()
      await granted(5, email, network)
      await refused(email, network)
      await granted(5, email, freshNetwork())
      await granted(5, freshAddress(), network)
    })

    test('An address is one address however it is written', async () => {
      const email = freshAddress('spelt')
      const network = freshNetwork()
      for (const spelling of [email, email.toUpperCase(), email.replace('spelt', 'SpElT')])
        await granted(1, spelling, network)
      await granted(2, email, network)
      await refused(email.toUpperCase(), network)
    })

    test('One network has no count of a day for one address: nobody on the campus can use it up', async () => {
      const email = freshAddress('campus')
      const network = freshNetwork()
      await service.signIn(email, network)
      service.clock.advance(day)
      for (let i = 0; i < 20; i++) {
        await granted(5, email, network)
        await refused(email, network)
        service.clock.advance(15 * minute)
      }
      await granted(1, email, network)
    })

    test('An address counts without its +tag', async () => {
      const [local, domain] = freshAddress('tagged').split('@')
      const network = freshNetwork()
      const tagged = (tag: string) => `${local}${tag}@${domain}`
      for (const tag of ['', '+a', '+b', '+a+b', '+']) await granted(1, tagged(tag), network)
      for (const tag of ['', '+a', '+c']) await refused(tagged(tag), network)
      await granted(1, `+${local}@${domain}`, network)
      for (let i = 0; i < 3; i++) await granted(5, tagged(`+${i}`), freshNetwork())
      await refused(tagged('+new'), freshNetwork())
    })

    test('Twenty at once from all networks, then one more every 24 minutes', async () => {
      const email = freshAddress()
      for (let i = 0; i < 4; i++) await granted(5, email, freshNetwork())
      const network = freshNetwork()
      const wait = await refused(email, network)
      assert.equal(wait, 24 * minute)
      await waitIsRight(email, network, wait)
    })

    test('Strangers who keep on using it up delay the owner by 24 minutes at most', async () => {
      const email = freshAddress()
      let codes = 0
      for (let at = 0; at < day; at += 5 * minute) {
        while ((await send(email, freshNetwork())).status === 202) codes++
        assert.ok((await refused(email, freshNetwork())) <= 24 * minute)
        service.clock.advance(5 * minute)
      }
      assert.equal(codes, 20 + 59)
    })

    test('Over the whole service, 20,000 at once and 4,000 a minute, but for known networks and devices', async () => {
      const [email, home] = [freshAddress('all'), freshNetwork()]
      await service.signIn(email, home)
      const { db } = service.app.parts
      const intervalMs = minute / 4_000
      await db.run("update bucket set full_at = $1 where key = 'service:codes'", [
        service.clock.now() + 19_990 * intervalMs,
      ])
      for (let i = 0; i < 10; i++) await granted(1, freshAddress(), freshNetwork())
      assert.equal(await refused(freshAddress(), freshNetwork()), second)
      await granted(2, email, home)
      service.clock.advance(10 * intervalMs)
      for (let i = 0; i < 10; i++) await granted(1, freshAddress(), freshNetwork())
      await refused(freshAddress(), freshNetwork())
      service.clock.advance(day)
    })

    test('A refused request does not count as a code', async () => {
      const email = freshAddress()
      for (let i = 0; i < 4; i++) await granted(5, email, freshNetwork())
      const network = freshNetwork()
      const wait = await refused(email, network)
      for (let i = 0; i < 6; i++) {
        service.clock.advance(second)
        assert.equal(await refused(email, network), wait - (i + 1) * second)
      }
      service.clock.advance(wait - 6 * second)
      await granted(1, email, network)
      service.clock.advance(4 * wait)
      await granted(4, email, network)
    })

    test('A resend counts as a code sent', async () => {
      const email = freshAddress()
      const network = freshNetwork()
      const { sessionId } = (await send(email, network)).json
      for (let i = 0; i < 3; i++) {
        service.clock.advance(30 * second)
        const reply = await service.post('/veterinarian/send-otp', { email, sessionId }, network)
        assert.equal(reply.status, 202)
      }
      await granted(1, email, network)
      await refused(email, network)
    })

    test('A resend beyond the limit is 429 with a Retry-After that is right', async () => {
      const email = freshAddress()
      const network = freshNetwork()
      await granted(4, email, network)
      service.clock.advance(13 * minute)
      const { sessionId } = (await send(email, network)).json
      service.clock.advance(30 * second)
      const resend = () => service.post('/veterinarian/send-otp', { email, sessionId }, network)
      const reply = await resend()
      assert.deepEqual([reply.status, reply.headers.get('retry-after')], [429, '90'])
      service.clock.advance(90 * second)
      assert.equal((await resend()).status, 202)
    })

    test('Known and unknown addresses are limited alike', async () => {
      const known = freshAddress('known')
      await service.signIn(known, freshNetwork())
      service.clock.advance(day)
      const journeys = []
      for (const email of [known, freshAddress('other')]) {
        const network = freshNetwork()
        const replies: Reply[] = []
        for (let i = 0; i < 7; i++) replies.push(await send(email, network))
        journeys.push(
          replies.map((reply) => [
            reply.status,
            reply.headers.get('retry-after'),
            reply.headers.get('ratelimit'),
            reply.headers.get('ratelimit-policy'),
          ]),
        )
      }
      assert.deepEqual(journeys[0], journeys[1])
    })

    test('A network where the address signed in keeps its own five while others bomb it', async () => {
      const email = freshAddress('bombed')
      const home = freshNetwork()
      await service.signIn(email, home)
      service.clock.advance(day)
      for (let i = 0; i < 4; i++) await granted(5, email, freshNetwork())
      await refused(email, freshNetwork())
      await granted(5, email, home)
      await refused(email, home)
      await refused(email, freshNetwork())
    })

    test('Requests from a known network are not counted for the address', async () => {
      const email = freshAddress('known.network')
      const home = freshNetwork()
      await service.signIn(email, home)
      service.clock.advance(day)
      for (let i = 0; i < 4; i++) {
        await granted(5, email, home)
        service.clock.advance(15 * minute)
      }
      for (let i = 0; i < 4; i++) await granted(5, email, freshNetwork())
      await refused(email, freshNetwork())
    })

    test('Retry-After for the owner’s network does not count what others did', async () => {
      const email = freshAddress('bombed.wait')
      const home = freshNetwork()
      await service.signIn(email, home)
      service.clock.advance(day)
      for (let j = 0; j < 4; j++) await granted(5, email, freshNetwork())
      assert.ok((await refused(email, freshNetwork())) > 15 * minute)
      await granted(5, email, home)
      const wait = await refused(email, home)
      assert.equal(wait, 15 * minute)
      await waitIsRight(email, home, wait)
    })

    test('A network is known for 90 days after the last sign-in there', async () => {
      const email = freshAddress('ninety')
      const home = freshNetwork()
      await service.signIn(email, home)
      service.clock.advance(90 * day - minute)
      for (let i = 0; i < 4; i++) await granted(5, email, freshNetwork())
      await granted(1, email, home)
      service.clock.advance(minute)
      await refused(email, home)
    })

    test('Where an address merely asked for codes its network is not known', async () => {
      const email = freshAddress('asked')
      const elsewhere = freshNetwork()
      await service.signIn(email, freshNetwork())
      await granted(1, email, elsewhere)
      service.clock.advance(day)
      for (let i = 0; i < 4; i++) await granted(5, email, freshNetwork())
      await refused(email, elsewhere)
    })

    test('Counts per address are never refunded', async () => {
      const email = freshAddress('no.refund')
      const network = freshNetwork()
      for (let i = 0; i < 5; i++) await service.signIn(email, network)
      await refused(email, network)
    })
  })

  test(`Limits survive a restart on ${engine}`, async () => {
    const store = await migratedStore(engine)
    const mail = await startMailServer()
    const clock = new TestClock()
    const options = { databaseUrl: store.url, mail, clock }
    const email = freshAddress('restart')
    const network = freshNetwork()
    const register = (service: Service) =>
      service.post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email }, network)
    const send = (service: Service) => service.post('/veterinarian/send-otp', { email }, network)
    const validate = (service: Service) =>
      service.post('/veterinarian/validate-otp', { email, otp_code: 123456, sessionId: 'x' }, network)

    const first = await startService(engine, options)
    for (let i = 0; i < 5; i++) assert.equal((await send(first)).status, 202)
    for (let i = 0; i < 3; i++) await register(first)
    for (let i = 0; i < 7; i++) await validate(first)
    await first.stop()

    const second_ = await startService(engine, options)
    const refused = await send(second_)
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '900'])
    assert.match((await register(second_)).headers.get('ratelimit') ?? '', /r=96;/)
    assert.match((await validate(second_)).headers.get('ratelimit') ?? '', /r=1192;/)
    await second_.stop()
    await mail.close()
    await store.remove()
  })
}
