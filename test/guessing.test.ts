/** Guessing across many addresses and networks, and the brake on it. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { readFigures } from '../src/operate/metrics/readings.ts'
import { day, hour, minute } from '../src/platform/lib/clock.ts'
import { atLength, engines } from './support/engines.ts'
import { freshAddress, freshNetwork, type Network, repeat } from './support/fresh.ts'
import { type Reply, type Service, startService } from './support/service.ts'

const wrong = 99_999_999

interface Open {
  readonly email: string
  readonly sessionId: string
  readonly digits: number
  readonly reference: string
}

for (const engine of engines) {
  suite(`Guessing across the whole service on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const open = async (email = freshAddress('guessed'), more: object = {}): Promise<Open> => {
      const { status, json, text } = await service.post(
        '/veterinarian/send-otp',
        { email, ...more },
        freshNetwork(),
      )
      assert.equal(status, 202, text)
      return { email, ...json }
    }
    const answer = ({ email, sessionId }: Open, otp_code = wrong, network: Network = freshNetwork()) =>
      service.post('/veterinarian/validate-otp', { email, sessionId, otp_code }, network)
    const codeOf = async ({ email, reference }: Open) => (await service.mail.mailWith(email, reference)).code!
    /** Five wrong answers to each; all at once, as far as the client can. */
    const guess = async (sessions: readonly Open[], atOnce = 25) =>
      (await repeat(sessions.length * 5, (i) => answer(sessions[i % sessions.length]!), atOnce)).map(outcome)
    const outcome = ({ status, json }: Reply) => (status === 200 ? 'signed in' : (json.code as string))
    const count = (outcomes: readonly string[], one: string) => outcomes.filter((it) => it === one).length
    /** Pretends that the whole service had this many right or wrong answers just now. */
    const given = async (kind: 'right' | 'service', count: number) => {
      const at = (slotMs: number) => Math.floor(service.clock.now() / slotMs) * (slotMs / minute)
      for (const [key, slot] of [
        [kind, at(minute)],
        [`${kind}:day`, at(15 * minute)],
      ] as const)
        await service.app.parts.db.run('insert into failure (key, minute, count) values ($1, $2, $3)', [
          key,
          slot,
          count,
        ])
    }
    const attack = async () => {
      await given('service', 450)
      const sessions = await repeat(10, () => open())
      assert.deepEqual([...new Set(await guess(sessions))], ['otp-incorrect'])
    }

    test('an open code of 6 digits takes no more answers, alike for accounts and decoys; the owner gets a new one', async () => {
      const state = async () => (await readFigures(service.app.parts.db, service.clock.now())).guessing
      const owner = freshAddress('owner')
      await service.signIn(owner, freshNetwork())
      const [account, decoy] = [await open(owner), await open()]
      assert.equal((await state()).underAttack, false)
      await attack()
      assert.deepEqual(await state(), {
        wrongLastHour: 500,
        wrongLastDay: 500,
        hourThreshold: 500,
        dayThreshold: 2_000,
        underAttack: true,
      })
      const lines = service.log.filter((line) => /"on":"service"/.test(line))
      assert.equal(lines.length, 1)
      assert.match(lines[0]!, /open six-digit codes are refused/)
      for (const session of [account, decoy]) {
        assert.equal(session.digits, 6)
        assert.equal(outcome(await answer(session)), 'otp-unusable')
      }
      assert.equal(outcome(await answer(account, await codeOf(account))), 'otp-unusable')
      service.clock.advance(30_000)
      for (const { email, sessionId } of [account, decoy]) {
        const resent = await service.post('/veterinarian/send-otp', { email, sessionId }, freshNetwork())
        assert.deepEqual([resent.status, resent.json.code], [401, 'otp-unusable'])
      }
      const next = await open(owner)
      assert.equal(next.digits, 8)
      assert.equal(outcome(await answer(next, await codeOf(next))), 'signed in')
      const [row] = await service.rows<{ attempts: number }>('select attempts from challenge where id = $1', [
        account.sessionId,
      ])
      assert.equal(row?.attempts, 0)
      service.clock.advance(day + hour)
    })

    test('a code of 6 digits that a known device asked for takes answers all the same', async () => {
      const email = freshAddress('device')
      const network = freshNetwork()
      await service.register(email)
      const first = await open(email)
      const signedIn = await answer(first, await codeOf(first), network)
      const session = await open(email, { device_token: signedIn.json.device_token })
      assert.equal(session.digits, 6)
      await attack()
      assert.equal(outcome(await answer(session)), 'otp-incorrect')
      assert.equal(outcome(await answer(session, await codeOf(session))), 'signed in')
      service.clock.advance(day + hour)
    })

    test('answers that arrive at once are not compared beyond the threshold', atLength, async () => {
      await given('service', 450)
      const sessions = await repeat(40, () => open())
      const outcomes = await guess(sessions, 200)
      const compared = count(outcomes, 'otp-incorrect')
      assert.equal(compared + count(outcomes, 'otp-unusable'), 200)
      assert.equal(compared, 50)
      service.clock.advance(day + hour)
    })

    test('right answers that arrive among wrong ones wait until those are counted', atLength, async () => {
      await given('service', 450)
      const owners = await repeat(30, async () => {
        const email = freshAddress('among')
        await service.register(email)
        const session = await open(email)
        return { session, code: await codeOf(session) }
      })
      const decoys = await repeat(80, () => open())
      const one = (i: number) => {
        const owner = i % 11 === 10 ? owners[(i - 10) / 11] : undefined
        return owner ? answer(owner.session, owner.code) : answer(decoys[i % decoys.length]!)
      }
      const outcomes = await repeat(330, one, 330)
      const signedIn = outcomes.filter(({ status }) => status === 200).length
      assert.equal(outcomes.filter(({ json }) => json.code === 'otp-incorrect').length, 50)
      // Fifty wrong answers, and what came between them.
      assert.ok(signedIn <= 8, `${signedIn} signed in`)
      service.clock.advance(day + hour)
    })

    test('a tenth as many wrong answers as right ones are no attack, up to 2,400 in a day', async () => {
      await given('right', 5_500)
      await attack()
      assert.equal((await open()).digits, 6)
      await guess(await repeat(10, () => open()))
      assert.equal((await open()).digits, 8)
      service.clock.advance(day + hour)

      await given('right', 1_000_000)
      await given('service', 2_300)
      const outcomes = await guess(await repeat(40, () => open()), 50)
      const compared = count(outcomes, 'otp-incorrect')
      assert.ok(compared >= 100 && compared <= 120, `${compared} were compared`)
      service.clock.advance(2 * day)
    })

    test('a day of it compares at most 2,500 codes of 6 digits', atLength, async () => {
      const compared: { at: number; count: number }[] = []
      const within = (from: number) =>
        compared
          .filter(({ at }) => at >= from && at < from + day)
          .reduce((total, { count }) => total + count, 0)
      for (let at = 0; at < 30; at++) {
        const first = await open()
        if (first.digits === 8) {
          // Guesses go on, at the codes that there are.
          for (let n = 0; n < 5; n++) assert.equal(outcome(await answer(first)), 'otp-incorrect')
        } else {
          await given('service', 450)
          const sessions = await repeat(20, () => open())
          const wrongAnswers = count(await guess(sessions), 'otp-incorrect')
          compared.push({ at: service.clock.now(), count: 450 + wrongAnswers })
        }
        service.clock.advance(hour + minute)
      }
      for (const { at } of compared) assert.ok(within(at) <= 2_500, `${within(at)} in a day`)
      assert.ok(within(compared[0]!.at) >= 2_000)
    })
  })
}
