/** Random histories of every operation against the real service, each answer held against the model's. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { byOperator } from '../../src/platform/lib/by.ts'
import { day, minute, second } from '../../src/platform/lib/clock.ts'
import { deriveCode } from '../../src/platform/lib/code.ts'
import { secretsFrom } from '../../src/platform/lib/secret.ts'
import type { Engine } from '../support/engines.ts'
import { addUser, bulk, emptySchool } from '../support/roster-school.ts'
import { rosterOf } from '../support/roster-world.ts'
import { type Reply, type Service, startService } from '../support/service.ts'
import { Model, type Outcome, type Role } from './model.ts'

const secret = 'torture-9c41be70d2f8463aa5e1'.repeat(2)

const people = fc.nat(2)
const role = fc.constantFrom<Role>('veterinarian', 'student')
const which = fc.nat(7)

const steps = {
  register: { weight: 3, arbitrary: fc.record({ do: fc.constant('register' as const), person: people }) },
  send: { weight: 6, arbitrary: fc.record({ do: fc.constant('send' as const), role, person: people }) },
  resend: { weight: 2, arbitrary: fc.record({ do: fc.constant('resend' as const), which }) },
  right: { weight: 7, arbitrary: fc.record({ do: fc.constant('right' as const), which }) },
  rightTwice: { weight: 1, arbitrary: fc.record({ do: fc.constant('rightTwice' as const), which }) },
  wrong: { weight: 4, arbitrary: fc.record({ do: fc.constant('wrong' as const), which }) },
  use: { weight: 5, arbitrary: fc.record({ do: fc.constant('use' as const), which }) },
  refresh: {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('refresh' as const),
      which,
      back: fc.constantFrom(0, 0, 0, 1, 1, 2, 3),
    }),
  },
  signOut: {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('signOut' as const), which, everywhere: fc.boolean() }),
  },
  close: { weight: 1, arbitrary: fc.record({ do: fc.constant('close' as const), which }) },
  suspend: { weight: 2, arbitrary: fc.record({ do: fc.constant('suspend' as const), role, person: people }) },
  reactivate: {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('reactivate' as const), role, person: people }),
  },
  import: {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('import' as const), students: fc.subarray([0, 1, 2]) }),
  },
  undo: { weight: 1, arbitrary: fc.record({ do: fc.constant('undo' as const) }) },
  rotateKeys: { weight: 1, arbitrary: fc.record({ do: fc.constant('rotateKeys' as const) }) },
  sweep: { weight: 1, arbitrary: fc.record({ do: fc.constant('sweep' as const) }) },
  wait: {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(
        second,
        29 * second,
        31 * second,
        5 * minute,
        10 * minute,
        16 * minute,
        day,
        7 * day,
        31 * day,
      ),
    }),
  },
}

export type Step = Awaited<ReturnType<typeof anyOf>>
const anyOf = () => fc.sample(fc.oneof(...Object.values(steps)), 1)[0]!

/** Most histories begin with people who can sign in, so that there is something to go wrong. */
export const histories = fc
  .tuple(
    fc.constantFrom<Step[]>(
      [],
      [
        { do: 'register', person: 0 },
        { do: 'send', role: 'veterinarian', person: 0 },
        { do: 'right', which: 0 },
      ],
      [
        { do: 'import', students: [0, 1] },
        { do: 'send', role: 'student', person: 0 },
        { do: 'right', which: 0 },
      ],
    ),
    fc.array(fc.oneof(...Object.values(steps)), { minLength: 5, maxLength: 40, size: 'max' }),
  )
  .map(([beginning, rest]): Step[] => [...beginning, ...rest])

interface Tokens {
  access: string
  accessAt: number
  refresh: string[]
}

const outcome = ({ status, json }: Reply): Outcome => (status < 400 ? [status] : [status, json.code])

export class Torturer {
  readonly counts = { histories: 0, steps: 0 }
  readonly #service: Service
  readonly #keys = secretsFrom(secret, null).current

  private constructor(service: Service) {
    this.#service = service
  }

  static async start(engine: Engine): Promise<Torturer> {
    const env = { CHIRON_LIMITS: 'off', CHIRON_SECRET: secret }
    return new Torturer(await startService(engine, { env }))
  }

  stop(): Promise<void> {
    return this.#service.stop()
  }

  async run(history: readonly Step[]): Promise<void> {
    const run = ++this.counts.histories
    const play = new Play(this.#service, this.#keys, run)
    for (const step of history) {
      this.counts.steps++
      await play.step(step)
    }
    await play.checkEvents()
  }
}

/** One history, with addresses of its own. */
class Play {
  readonly #service: Service
  readonly #keys: ReturnType<typeof secretsFrom>['current']
  readonly #run: number
  readonly #model: Model
  /** The ids of the model's challenges, and the tokens of its sessions. */
  readonly #challengeIds: string[] = []
  readonly #sessionIds: string[] = []
  readonly #tokens: Tokens[] = []
  readonly #userIds = new Map<string, string>()

  constructor(service: Service, keys: ReturnType<typeof secretsFrom>['current'], run: number) {
    this.#service = service
    this.#keys = keys
    this.#run = run
    this.#model = new Model(service.clock.now())
  }

  async step(step: Step): Promise<void> {
    const model = this.#model
    switch (step.do) {
      case 'register':
        return this.#same(
          model.register(this.#address('veterinarian', step.person)),
          await this.#register(step.person),
        )
      case 'send': {
        const address = this.#address(step.role, step.person)
        const reply = await this.#service.post(`/${step.role}/send-otp`, { email: address })
        this.#same(model.send(step.role, address), reply)
        this.#challengeIds.push(reply.json.sessionId)
        return
      }
      case 'resend': {
        const at = this.#pick(step.which, this.#challengeIds)
        if (at === undefined) return
        const { role, address } = model.challenges[at]!
        const body = { email: address, sessionId: this.#challengeIds[at] }
        return this.#same(model.resend(at), await this.#service.post(`/${role}/send-otp`, body))
      }
      case 'right':
      case 'wrong': {
        const at = this.#pick(step.which, this.#challengeIds)
        if (at === undefined) return
        const reply = await this.#answer(at, step.do === 'right')
        this.#same(model.answer(at, step.do === 'right'), reply)
        if (reply.status === 200) this.#keep(at, reply)
        return
      }
      case 'rightTwice': {
        const at = this.#pick(step.which, this.#challengeIds)
        if (at === undefined) return
        const replies = await Promise.all([this.#answer(at, true), this.#answer(at, true)])
        const expected = [model.answer(at, true), model.answer(at, true)]
        const sorted = (list: readonly Outcome[]) => list.map(String).sort()
        assert.deepEqual(sorted(replies.map(outcome)), sorted(expected))
        const won = replies.find(({ status }) => status === 200)
        if (won) this.#keep(at, won)
        return
      }
      case 'use': {
        const at = this.#pick(step.which, this.#tokens)
        if (at === undefined) return
        const { access, accessAt } = this.#tokens[at]!
        const reply = await this.#service.request(`/${model.sessions[at]!.role}/me`, { token: access })
        return this.#same(model.use(at, accessAt), reply)
      }
      case 'refresh': {
        const at = this.#pick(step.which, this.#tokens)
        if (at === undefined) return
        const tokens = this.#tokens[at]!
        const token = Math.max(0, tokens.refresh.length - 1 - step.back)
        const reply = await this.#service.post('/session/refresh', { refresh_token: tokens.refresh[token] })
        const { outcome: expected, given } = model.refresh(at, token)
        this.#same(expected, reply)
        if (given === undefined) return
        if (given === tokens.refresh.length) tokens.refresh.push(reply.json.refresh_token)
        assert.equal(reply.json.refresh_token, tokens.refresh[given])
        Object.assign(tokens, { access: reply.json.access_token, accessAt: model.now })
        return
      }
      case 'signOut': {
        const at = this.#pick(step.which, this.#tokens)
        if (at === undefined) return
        const { access: token, accessAt } = this.#tokens[at]!
        const path = step.everywhere ? '/session/all' : '/session'
        const reply = await this.#service.request(path, { method: 'DELETE', token })
        return this.#same(model.signOut(at, accessAt, step.everywhere), reply)
      }
      case 'close': {
        const at = this.#pick(step.which, this.#tokens)
        if (at === undefined) return
        const { access: token, accessAt } = this.#tokens[at]!
        const reply = await this.#service.request('/veterinarian/me', { method: 'DELETE', token })
        return this.#same(model.close(at, accessAt), reply)
      }
      case 'suspend':
      case 'reactivate': {
        const address = this.#address(step.role, step.person)
        const userId = this.#userIds.get(address)
        if (!model[step.do](step.role, address)) return
        const { support } = this.#service.app.parts
        assert.equal(
          await support[step.do](userId ?? (await support.idOf(address)), 'torture', byOperator),
          true,
        )
        return
      }
      case 'import': {
        const addresses = step.students.map((person) => this.#address('student', person))
        const school = emptySchool()
        for (const [i, email] of addresses.entries())
          addUser(school, `r${this.#run}-${step.students[i]}`, 'student', { email })
        await rosterOf(this.#service).import(bulk(school))
        // Somebody who has left is no longer found by an address.
        const { support } = this.#service.app.parts
        for (const address of addresses)
          if (!this.#userIds.has(address)) this.#userIds.set(address, await support.idOf(address))
        return model.import(new Set(addresses))
      }
      case 'undo':
        if (!model.canUndo()) return
        await rosterOf(this.#service).undo()
        return model.undo()
      case 'rotateKeys':
        await this.#service.app.parts.keys.rotate(byOperator)
        return
      case 'sweep':
        return this.#service.app.parts.sweeper.sweep()
      case 'wait':
        this.#service.clock.advance(step.ms)
        model.now = this.#service.clock.now()
    }
  }

  /** Each session has one event of its start, and one of its end once it has ended. */
  async checkEvents(): Promise<void> {
    for (const [i, sessionId] of this.#sessionIds.entries()) {
      const events = await this.#service.rows<{ type: string }>(
        'select type from event where session_id = $1 order by at, id',
        [sessionId],
      )
      const types = events.map(({ type }) => type)
      assert.equal(types.filter((type) => type === 'session.started').length, 1)
      const ended = types.filter((type) => type === 'session.ended').length
      assert.ok(ended <= 1)
      if (this.#model.sessions[i]!.ended) assert.equal(ended, 1, `session ${i} ended without an event`)
    }
  }

  #same(expected: Outcome, reply: Reply): void {
    assert.deepEqual(outcome(reply), expected)
  }

  #address(role: Role, person: number): string {
    return `${role}${person}.run${this.#run}@torture.example`
  }

  /** The last ones are the likeliest to matter. */
  #pick(which: number, list: readonly unknown[]): number | undefined {
    return list.length === 0 ? undefined : list.length - 1 - (which % list.length)
  }

  #register(person: number): Promise<Reply> {
    const email = this.#address('veterinarian', person)
    return this.#service.post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email })
  }

  #answer(at: number, isRight: boolean): Promise<Reply> {
    const { role, address: email } = this.#model.challenges[at]!
    const sessionId = this.#challengeIds[at]!
    const code = deriveCode(this.#keys, { role, sessionId, addressKey: email, digits: 6 })
    const otp_code = isRight ? code : code === 999_999 ? 100_000 : code + 1
    return this.#service.post(`/${role}/validate-otp`, { email, otp_code, sessionId })
  }

  #keep(at: number, { json }: Reply): void {
    this.#sessionIds.push(this.#challengeIds[at]!)
    this.#tokens.push({ access: json.access_token, accessAt: this.#model.now, refresh: [json.refresh_token] })
    this.#userIds.set(this.#model.challenges[at]!.address, json.user.userId)
  }
}
