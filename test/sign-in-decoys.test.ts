import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { after, before, suite, test } from 'node:test'
import { byOperator } from '../src/platform/lib/by.ts'
import { day, second } from '../src/platform/lib/clock.ts'
import { deriveCode } from '../src/platform/lib/code.ts'
import { secretsFrom } from '../src/platform/lib/secret.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { recordStore } from './support/recorded.ts'
import { type Reply, type Service, startService } from './support/service.ts'

const secret = 'a secret for tests that is long enough'

/** What an outsider can compare: everything except random values and the address itself. */
function seen(reply: Reply, email: string) {
  const body = { ...reply.json }
  for (const name of ['sessionId', 'reference', 'instance']) if (name in body) body[name] = body[name].length
  return {
    status: reply.status,
    headers: [...reply.headers.keys()].sort(),
    length: reply.text.replaceAll(email, '').length,
    rateLimit: [reply.headers.get('ratelimit'), reply.headers.get('ratelimit-policy')],
    wait: reply.headers.get('retry-after'),
    body,
  }
}

for (const engine of engines) {
  suite(`Decoys on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine, { env: { CHIRON_SECRET: secret } })
    })
    after(() => service.stop())

    const owners: [name: string, prepare: (email: string) => Promise<void>][] = [
      ['unknown', async () => {}],
      [
        'pending',
        async (email) => {
          await service.register(email)
        },
      ],
      [
        'suspended',
        async (email) => {
          const { userId } = await service.signIn(email, freshNetwork())
          await service.app.parts.support.suspend(userId, 'a test', byOperator)
        },
      ],
      [
        'closed',
        async (email) => {
          const { access } = await service.signIn(email, freshNetwork())
          assert.equal(
            (await service.request('/veterinarian/me', { method: 'DELETE', token: access })).status,
            204,
          )
        },
      ],
      [
        'lapsed',
        async (email) => {
          await service.register(email)
          service.clock.advance(7 * day)
        },
      ],
    ]

    /** Sends, resends, answers wrongly until nothing is left, and once more. */
    async function journey(email: string) {
      const network = freshNetwork()
      const steps: ReturnType<typeof seen>[] = []
      const call = async (path: string, body: object) => {
        const reply = await service.post(`/veterinarian/${path}`, { email, ...body }, network)
        steps.push(seen(reply, email))
        return reply
      }
      const { sessionId } = (await call('send-otp', {})).json
      await call('send-otp', { sessionId })
      service.clock.advance(30 * second)
      await call('send-otp', { sessionId })
      for (let i = 0; i < 6; i++) await call('validate-otp', { sessionId, otp_code: 99_999_999 })
      await call('send-otp', { sessionId })
      for (let i = 0; i < 4; i++) await call('send-otp', {})
      return steps
    }

    for (const [name, prepare] of owners) {
      test(`A session of a ${name} address is like one of an active address in every call`, async () => {
        const active = freshAddress('active')
        const other = freshAddress('secret')
        await service.signIn(active, freshNetwork())
        await prepare(other)
        const start = service.clock.now()
        const expected = await journey(active)
        const shift = service.clock.now() - start
        const actual = await journey(other)
        const shifted = (text: unknown) =>
          typeof text === 'string' ? new Date(Date.parse(text) + shift).toISOString() : text
        for (const step of expected)
          for (const time of ['expiresAt', 'resendAt'])
            if (step.body[time]) step.body[time] = shifted(step.body[time])
        assert.deepEqual(actual, expected)
        assert.deepEqual(
          actual.map((step) => step.status),
          [202, 429, 202, 401, 401, 401, 401, 401, 401, 401, 202, 202, 202, 429],
        )
        assert.deepEqual(
          actual.slice(3, 9).map((step) => step.body.attemptsLeft),
          [4, 3, 2, 1, 0, undefined],
        )
      })
    }

    for (const name of ['unknown', 'suspended', 'closed', 'lapsed']) {
      test(`No code fits a session of a ${name} address, not even the one that would be its own`, async () => {
        const email = freshAddress('nothing.fits')
        await owners.find(([owner]) => owner === name)![1](email)
        const network = freshNetwork()
        const sent = await service.post('/veterinarian/send-otp', { email }, network)
        const { sessionId, digits } = sent.json
        const own = deriveCode(secretsFrom(secret, null).current, {
          role: 'veterinarian',
          sessionId,
          addressKey: email.toLowerCase(),
          digits,
        })
        for (const attemptsLeft of [4, 3, 2, 1, 0]) {
          const reply = await service.post(
            '/veterinarian/validate-otp',
            { email, sessionId, otp_code: own },
            network,
          )
          assert.deepEqual(
            [reply.status, reply.json.code, reply.json.attemptsLeft],
            [401, 'otp-incorrect', attemptsLeft],
          )
        }
      })
    }

    test('The same derivation does fit a session with an account', async () => {
      const email = freshAddress('fits')
      await service.register(email)
      const { sessionId, code } = await service.code(email, freshNetwork())
      const subject = { role: 'veterinarian', sessionId, addressKey: email, digits: 6 } as const
      assert.equal(deriveCode(secretsFrom(secret, null).current, subject), code)
    })

    test('Suspending between the mail and the answer makes the right code a wrong one', async () => {
      const email = freshAddress('late.suspension')
      const { userId } = await service.signIn(email, freshNetwork())
      const { sessionId, code } = await service.code(email, freshNetwork())
      await service.app.parts.support.suspend(userId, 'a test', byOperator)
      const reply = await service.post('/veterinarian/validate-otp', { email, sessionId, otp_code: code })
      assert.deepEqual([reply.status, reply.json.code, reply.json.attemptsLeft], [401, 'otp-incorrect', 4])
    })
  })
}

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
      recordStore(service.app.parts.db, (call) =>
        statements.getStore()?.push(...call.statements.map(({ sql }) => sql)),
      )
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
      // A wrong answer looks up an address that nobody has.
      const [registered, sent] = nobody!
      const asked = [...registered!, ...sent!].join()
      assert.doesNotMatch(asked, /\b(from|join|into|update) (person|student)\b/)
    })
  })
}
