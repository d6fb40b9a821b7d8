/** A property over passkeys: whatever people and thieves do, each answer is the one that a small model gives. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import fc from 'fast-check'
import type { Authenticator } from './support/authenticator.ts'
import { atLength, engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { addOptions, newAuthenticator, ok, signInOptions, stepUpOptions } from './support/passkeys.ts'
import { type Service, startService } from './support/service.ts'

type Step =
  | { readonly do: 'add'; readonly person: number }
  | {
      readonly do: 'add again' | 'use' | 'remove' | 'step up'
      readonly person: number
      readonly device: number
    }
  | { readonly do: 'replay'; readonly answer: number }

const person = fc.nat(1)
const device = fc.nat(20)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('add' as const), person }),
  fc.record({ do: fc.constantFrom('add again', 'use', 'remove', 'step up' as const), person, device }),
  fc.record({ do: fc.constant('replay' as const), answer: fc.nat(20) }),
) as fc.Arbitrary<Step>

interface Device {
  readonly authenticator: Authenticator
  readonly owner: number
  /** Null once it is removed. */
  passkeyId: string | null
}

for (const engine of engines)
  suite(`Passkeys as their model on ${engine}`, atLength, () => {
    let service: Service
    before(async () => {
      service = await startService(engine, { env: { CHIRON_LIMITS: 'off' } })
    })
    after(() => service.stop())

    test('Passkeys behave as their model under any sequence of add, use, remove and replay', async () => {
      const run = async (steps: readonly Step[]) => {
        const people = await Promise.all(
          [0, 1].map(() => service.signIn(freshAddress('model'), freshNetwork())),
        )
        const devices: Device[] = []
        const answers: { path: string; token?: string; body: object; added?: string }[] = []
        const send = (path: string, body: object, token?: string) =>
          service.request(path, { method: 'POST', body, ...(token !== undefined && { token }) })
        for (const one of steps) {
          if (one.do === 'replay') {
            const answer = answers[one.answer % Math.max(1, answers.length)]
            if (!answer) continue
            const { status, json } = await send(answer.path, answer.body, answer.token)
            const isThere = devices.some(({ passkeyId }) => passkeyId !== null && passkeyId === answer.added)
            const expected = isThere ? '409 passkey-exists' : '401 passkey-unusable'
            assert.equal(`${status} ${json.code}`, expected, answer.path)
            continue
          }
          const { access, userId } = people[one.person]!
          if (one.do === 'add') {
            const authenticator = newAuthenticator(service)
            const options = await service.request('/passkey/add-options', { method: 'POST', token: access })
            const mine = devices.filter((each) => each.owner === one.person && each.passkeyId !== null)
            assert.equal(options.status, mine.length < 10 ? 200 : 409)
            if (options.status !== 200) continue
            const body = { credential: authenticator.create(options.json) }
            const { passkeyId } = ok(await send('/passkey', body, access), 201)
            answers.push({ path: '/passkey', token: access, body, added: passkeyId })
            devices.push({ authenticator, owner: one.person, passkeyId })
            continue
          }
          const used = devices[one.device % Math.max(1, devices.length)]
          if (!used) continue
          const { authenticator } = used
          if (one.do === 'use') {
            const body = { credential: authenticator.get(await signInOptions(service)) }
            const reply = await send('/passkey/validate', body)
            if (used.passkeyId === null) assert.equal(reply.json.known, false)
            else assert.equal(ok(reply).user.userId, people[used.owner]!.userId)
            answers.push({ path: '/passkey/validate', body })
          } else if (one.do === 'step up') {
            const body = { credential: authenticator.get(await stepUpOptions(service, access)) }
            const { status } = await send('/session/step-up', body, access)
            assert.equal(status, used.passkeyId !== null && used.owner === one.person ? 200 : 401)
            answers.push({ path: '/session/step-up', token: access, body })
          } else if (one.do === 'remove') {
            const path = `/passkey/${used.passkeyId ?? 'gone'}`
            const { status } = await service.request(path, { method: 'DELETE', token: access })
            const isMine = used.passkeyId !== null && used.owner === one.person
            assert.equal(status, isMine ? 204 : 404)
            if (isMine) used.passkeyId = null
          } else if (used.passkeyId !== null) {
            const options = await addOptions(service, access).catch(() => null)
            if (!options) continue
            const credential = authenticator.createAgain(authenticator.credentials[0]!, options)
            assert.equal((await send('/passkey', { credential }, access)).json.code, 'passkey-exists')
          }
          const { passkeys } = ok(await service.request('/passkey', { token: access }))
          const left = devices.filter((each) => each.owner === one.person && each.passkeyId !== null)
          assert.deepEqual(
            passkeys.map((each: { passkeyId: string }) => each.passkeyId).sort(),
            left.map(({ passkeyId }) => passkeyId).sort(),
            userId,
          )
        }
      }
      await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 25 }), run), { numRuns: 25 })
    })
  })
