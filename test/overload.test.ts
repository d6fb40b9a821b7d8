import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type Place, RequestQueue } from '../src/http/queue.ts'
import { freshNetwork } from './support/fresh.ts'
import { type Reply, type Service, startService, TestClock } from './support/service.ts'
import { eventually } from './support/wait.ts'

const workingMax = 128
const workingMaxOverloaded = 16
const inOrderMs = 1_000
const waitingMax = 5_000
const patienceMs = 3_000

/** A queue, and what became of every request in the order in which it happened. */
function newQueue() {
  const clock = new TestClock()
  const log: string[] = []
  const queue = new RequestQueue(clock, { warn: (_fields, message) => void log.push(message) })
  const started: number[] = []
  const refused: number[] = []
  const places: Place[] = []
  const enter = (count: number) => {
    for (let i = 0; i < count; i++) {
      const number = places.length
      places.push(queue.enter((admitted) => void (admitted ? started : refused).push(number)))
    }
  }
  const leave = (...numbers: number[]) => {
    for (const number of numbers) queue.leave(places[number]!)
  }
  return { clock, log, started, refused, enter, leave }
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

suite('The queue in front of the routes', () => {
  test('A burst waits for its turn, oldest first, and nobody is refused', () => {
    const { started, refused, enter, leave, log } = newQueue()
    enter(300)
    assert.deepEqual(started, range(0, workingMax))
    for (const number of range(0, 300)) leave(number)
    assert.deepEqual(started, range(0, 300))
    assert.deepEqual([refused, log], [[], []])
  })

  test('When the oldest has waited for a while, the newest goes first', () => {
    const { clock, started, enter, leave } = newQueue()
    enter(workingMax + 3)
    clock.advance(inOrderMs)
    leave(0)
    assert.equal(started.at(-1), workingMax)
    clock.advance(1)
    leave(1)
    assert.equal(started.at(-1), workingMax + 2)
  })

  test('A queue that has not drained for three seconds is overload: who waits is refused, and fewer are worked on', async () => {
    const { clock, log, started, refused, enter, leave } = newQueue()
    enter(200)
    clock.advance(patienceMs - 1)
    enter(1)
    clock.advance(1)
    await eventually('the old ones are refused', () => refused.length === 200 - workingMax)
    assert.deepEqual(refused, range(workingMax, 200))
    assert.match(log.join(), /^overloaded/)
    leave(...range(0, workingMax - workingMaxOverloaded))
    assert.equal(started.length, workingMax)
    leave(workingMax - 1)
    assert.equal(started.at(-1), 200)
  })

  test('When nobody waits and nobody was refused for a moment, all is as before', async () => {
    const { clock, log, started, refused, enter, leave } = newQueue()
    enter(200)
    clock.advance(patienceMs)
    await eventually('the old ones are refused', () => refused.length === 200 - workingMax)
    enter(1)
    clock.advance(20)
    await eventually('in overload nobody waits long', () => refused.includes(200))
    leave(...range(0, workingMax - 1))
    assert.match(log.at(-1)!, /^overloaded/)
    clock.advance(100)
    leave(workingMax - 1)
    assert.match(log.at(-1)!, /^no longer overloaded/)
    enter(workingMax + 1)
    assert.equal(started.length, 2 * workingMax)
  })

  test('A client that left is neither worked on nor refused', async () => {
    const { clock, started, refused, enter, leave } = newQueue()
    enter(131)
    leave(128, 128)
    leave(0, 0)
    assert.equal(started.at(-1), 129)
    leave(130)
    clock.advance(patienceMs)
    enter(1)
    clock.advance(patienceMs)
    await eventually('the last one is refused', () => refused.length > 0)
    assert.deepEqual(refused, [131])
  })

  test('It has an end', () => {
    const { clock, refused, enter } = newQueue()
    enter(workingMax + waitingMax)
    assert.equal(refused.length, 0)
    enter(1)
    assert.deepEqual(refused, [workingMax + waitingMax])
    clock.advance(20)
    enter(1)
    assert.equal(refused.length, 1 + waitingMax)
  })
})

suite('Overload', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite')
  })
  after(() => service.stop())

  const profile = () => service.request('/veterinarian/AAAAAAAAAAAAAAAAAAAAAA', { headers: freshNetwork() })
  const register = (n: number) =>
    service.post(
      '/veterinarian/register',
      { firstname: 'Ada', lastname: 'Marsh', email: `over${n}@vets.example` },
      freshNetwork(),
    )

  /** A store that answers nobody until it is told to. */
  function heldStore() {
    const { db } = service.app.parts
    const { one, byId, all, run, tx } = db
    const calls: (() => void)[] = []
    const hold =
      <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
      (...args: A): Promise<R> =>
        new Promise((resolve, reject) => calls.push(() => void call(...args).then(resolve, reject)))
    Object.assign(db, { one: hold(one), byId: hold(byId), all: hold(all), run: hold(run), tx: hold(tx) })
    return () => {
      Object.assign(db, { one, byId, all, run, tx })
      for (const call of calls) call()
    }
  }

  /** So many requests meet a store that does not answer for half a second; then it does. Returns what was refused, and all. */
  async function overloadWith(count: number, ask: (n: number) => Promise<Reply>, meanwhile = async () => {}) {
    const release = heldStore()
    const replies: Reply[] = []
    const asked = range(0, count).map(async (n) => replies.push(await ask(n)))
    try {
      await eventually('all are there', () => inFlight() === count)
      assert.equal(replies.length, 0)
      service.clock.advance(patienceMs)
      await eventually('some are refused', () => replies.length === count - workingMax)
      const refused = [...replies]
      await meanwhile()
      return { refused, replies }
    } finally {
      release()
      await Promise.all(asked)
      assert.equal((await profile()).status, 404)
      service.clock.advance(100)
      assert.equal((await profile()).status, 404)
    }
  }

  test('is answered with 503 and Retry-After, while health and files are served, and is over at once', async () => {
    const { refused, replies } = await overloadWith(
      200,
      (n) => (n % 2 === 0 ? profile() : register(n)),
      async () => {
        for (const path of ['/health/live', '/assets/page.css'])
          assert.equal((await service.request(path)).status, 200, path)
      },
    )
    for (const { status, json, headers } of refused) {
      assert.deepEqual([status, json.code], [503, 'unavailable'])
      assert.match(headers.get('retry-after')!, /^[1-4]$/)
    }
    const served = replies.filter(({ status }) => status === 404 || status === 202)
    assert.equal(served.length, workingMax)
    assert.equal((await register(0)).status, 202)
  })

  test('While it lasts and some wait already, others are turned away before their bodies are read, without a log line each', async () => {
    const before = service.log.length
    const [turnedAway, waited] = [[] as Reply[], [] as Reply[]]
    const more: Promise<unknown>[] = []
    await overloadWith(150, profile, async () => {
      for (let n = 0; n < 16; n++) more.push(profile().then((reply) => waited.push(reply)))
      await eventually('those who wait are there', () => inFlight() === workingMax + 16)
      for (let n = 0; n < 10; n++) turnedAway.push(await register(2_000 + n))
      turnedAway.push(await profile())
      service.clock.advance(20)
      await eventually('nobody waits long', () => waited.length === 16)
    })
    await Promise.all(more)
    for (const { status, json, headers } of turnedAway) {
      assert.deepEqual([status, json.code, json.instance], [503, 'unavailable', headers.get('request-id')])
      assert.match(headers.get('retry-after')!, /^[1-4]$/)
      assert.equal(headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'")
      assert.ok(!service.log.some((line) => line.includes(json.instance)))
    }
    const lines = service.log.slice(before).join('')
    assert.match(lines, new RegExp(`"refused":${150 - workingMax + 16 + 11},`))
  })

  test('What was refused was not done', async () => {
    const { replies } = await overloadWith(150, (n) => register(1_000 + n))
    assert.equal(replies.filter(({ status }) => status === 202).length, workingMax)
    await service.app.parts.veterinarians.settle()
    const people = await service.rows("select id from person where email_key like 'over1___@vets.example'")
    assert.equal(people.length, workingMax)
  })

  /** Requests that have begun and not ended. */
  let begun = 0
  before(() => {
    service.app.parts.server.app.server.on('request', (_request, reply) => {
      begun++
      reply.on('close', () => begun--)
    })
  })
  const inFlight = () => begun
})
