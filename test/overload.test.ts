import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, mock, suite, test } from 'node:test'
import { Connection, wire } from '../bench/http.ts'
import { type Place, RequestQueue } from '../src/platform/http/queue.ts'
import { freshNetwork } from './support/fresh.ts'
import { type Reply, type Service, startService, TestClock } from './support/service.ts'
import { eventually } from './support/wait.ts'

const workingMax = 128
const roomMin = 16
const inTimeMs = 5
const calmAfterMs = 100
const tickMs = 10
const inOrderMs = 1_000
const waitingMax = 5_000
const patienceMs = 3_000

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

suite('The queue in front of the routes', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }))
  afterEach(() => mock.timers.reset())

  /** A queue, and what became of every request in the order in which it happened. */
  function newQueue() {
    const clock = new TestClock()
    const log: string[] = []
    const queue = new RequestQueue(clock, { warn: (_fields, message) => void log.push(message) })
    const started: number[] = []
    const refused: number[] = []
    const places: Place[] = []
    return {
      clock,
      queue,
      log,
      started,
      refused,
      enter(count: number) {
        for (let i = 0; i < count; i++) {
          const number = places.length
          places.push(queue.enter((admitted) => void (admitted ? started : refused).push(number)))
        }
      },
      leave(...numbers: number[]) {
        for (const number of numbers) queue.leave(places[number]!)
      },
      /** Time passes, and the queue looks after itself once. */
      pass(ms: number) {
        clock.advance(ms)
        mock.timers.tick(tickMs)
      },
    }
  }

  /** In overload, with `workingMax` requests that are still worked on. */
  function overloadedQueue() {
    const made = newQueue()
    made.enter(200)
    made.pass(patienceMs)
    assert.match(made.log.join(), /^overloaded/)
    return made
  }

  test('A burst waits for its turn, oldest first, and nobody is refused', () => {
    const { started, refused, enter, leave, log } = newQueue()
    enter(300)
    assert.deepEqual(started, range(0, workingMax))
    for (const number of range(0, 300)) leave(number)
    assert.deepEqual(started, range(0, 300))
    assert.deepEqual([refused, log], [[], []])
  })

  test('When the oldest has waited for a while, the newest goes first', () => {
    const { started, enter, leave, pass } = newQueue()
    enter(workingMax + 3)
    pass(inOrderMs)
    leave(0)
    assert.equal(started.at(-1), workingMax)
    pass(1)
    leave(1)
    assert.equal(started.at(-1), workingMax + 2)
  })

  test('A queue that has not drained for three seconds is overload: who waits is refused', () => {
    const { log, started, refused, enter, leave, pass } = newQueue()
    enter(200)
    pass(patienceMs - 1)
    enter(1)
    assert.deepEqual([refused, log], [[], []])
    pass(1)
    assert.deepEqual(refused, range(workingMax, 200))
    assert.match(log.join(), /^overloaded/)
    leave(0)
    assert.equal(started.at(-1), 200)
  })

  test('In overload there is less and less room while requests are late, and at last for a few', () => {
    const { queue, enter, leave, pass } = overloadedQueue()
    for (const number of range(0, workingMax - roomMin)) {
      leave(number)
      pass(inTimeMs + 1)
    }
    assert.ok(queue.isClosed)
    leave(workingMax - 1)
    assert.ok(!queue.isClosed)
    enter(1)
    assert.ok(queue.isClosed)
  })

  test('In overload a tick that comes late takes room away, too', () => {
    const { queue, leave, pass } = overloadedQueue()
    leave(...range(0, workingMax / 4))
    assert.ok(!queue.isClosed)
    pass(tickMs + inTimeMs)
    assert.ok(queue.isClosed)
  })

  test('In overload there is ever more room while all are in time', () => {
    const { queue, refused, enter, pass } = overloadedQueue()
    enter(workingMax / 4)
    pass(0)
    assert.ok(queue.isClosed)
    for (let tick = 0; tick < 10; tick++) pass(0)
    assert.ok(!queue.isClosed)
    enter(10)
    assert.equal(refused.length, 200 - workingMax)
  })

  test('When nobody was refused for a moment and there is room, overload ends', () => {
    const { log, started, refused, enter, leave, pass } = overloadedQueue()
    enter(1)
    pass(inTimeMs)
    assert.ok(refused.includes(200))
    pass(calmAfterMs - 1)
    leave(...range(0, workingMax))
    pass(0)
    assert.match(log.at(-1)!, /^overloaded/)
    pass(1)
    assert.match(log.at(-1)!, /^no longer overloaded/)
    enter(workingMax + 1)
    assert.equal(started.length, 2 * workingMax)
  })

  for (const [how, jumpMs] of [
    ['put back by an hour', -3_600_000],
    ['put forward by an hour', 3_600_000],
  ] as const)
    test(`When the clock is ${how}, nobody is refused too early, and overload ends on time`, () => {
      const { clock, log, refused, enter, leave, pass } = newQueue()
      enter(200)
      pass(patienceMs - 1)
      clock.jump(jumpMs)
      pass(0)
      assert.deepEqual([refused, log], [[], []])
      pass(1)
      assert.deepEqual(refused, range(workingMax, 200))
      clock.jump(jumpMs)
      leave(...range(0, workingMax))
      pass(calmAfterMs - 1)
      assert.match(log.at(-1)!, /^overloaded/)
      pass(1)
      assert.match(log.at(-1)!, /^no longer overloaded/)
    })

  test('As long as there is no room, overload lasts', () => {
    const { log, leave, pass } = overloadedQueue()
    pass(patienceMs)
    assert.match(log.at(-1)!, /^overloaded/)
    leave(...range(0, workingMax))
    pass(0)
    assert.match(log.at(-1)!, /^no longer overloaded/)
  })

  test('A client that left is neither worked on nor refused', () => {
    const { started, refused, enter, leave, pass } = newQueue()
    enter(131)
    leave(128, 128)
    leave(0, 0)
    assert.equal(started.at(-1), 129)
    leave(130)
    pass(patienceMs - 1)
    enter(1)
    pass(patienceMs)
    assert.deepEqual(refused, [131])
  })

  test('It has an end', () => {
    const { refused, enter, pass } = newQueue()
    enter(workingMax + waitingMax)
    assert.equal(refused.length, 0)
    enter(1)
    assert.deepEqual(refused, [workingMax + waitingMax])
    pass(inTimeMs)
    assert.equal(refused.length, 1 + waitingMax)
  })

  /**
   * In a time of its own: a process that reads a request in 5 µs, and then refuses it in 5 or serves it in 45. In a
   * turn of its event loop it reads all that has arrived, and serves those who were admitted. Returns which part of
   * what it can serve it does serve, and how long 99 of 100 take at most.
   */
  function flood(timesOfWhatItCan: number) {
    const [readMs, refuseMs, serveMs] = [0.005, 0.005, 0.045]
    const [flowingMs, endMs] = [5_000, 10_000]
    const perMs = timesOfWhatItCan / (readMs + serveMs)
    let now = 0
    const queue = new RequestQueue({ elapsed: () => now }, { warn: () => {} })
    const took: number[] = []
    let admitted: { readonly since: number; place?: Place }[] = []
    let [arrived, nextTick] = [0, 0]
    while (now < endMs) {
      now += readMs
      for (; arrived < now * perMs; arrived++) {
        now += readMs
        if (queue.isClosed) {
          queue.noteRefused()
          now += refuseMs
          continue
        }
        const request: (typeof admitted)[number] = { since: arrived / perMs }
        request.place = queue.enter((isAdmitted) => {
          if (isAdmitted) admitted.push(request)
          else now += refuseMs
        })
      }
      const served = admitted
      admitted = []
      for (const { since, place } of served) {
        now += serveMs
        queue.leave(place!)
        if (now > flowingMs) took.push(now - since)
      }
      if (now < nextTick) continue
      nextTick = now + tickMs
      mock.timers.tick(tickMs)
    }
    const part = (took.length * (readMs + serveMs)) / (now - flowingMs)
    return { part, p99: took.sort((a, b) => a - b)[Math.floor(took.length * 0.99)]! }
  }

  for (const [times, least] of [
    [0.9, 0.89],
    [1.2, 0.8],
    [2, 0.5],
    [3, 0.3],
  ] as const)
    test(`Asked for ${times} times what it can serve, it serves ${least} of that, and soon`, () => {
      const { part, p99 } = flood(times)
      assert.ok(part >= least, `${part}`)
      assert.ok(p99 < 30, `${p99} ms`)
    })
})

suite('Overload', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite')
  })
  after(() => service.stop())

  const nobody = '/veterinarian/AAAAAAAAAAAAAAAAAAAAAA'
  const profile = () => service.request(nobody, { headers: freshNetwork() })
  const newConnection = () => new Connection(Number(new URL(service.url).port))
  const profileOver = async (connection: Connection) =>
    (await connection.ask(wire({ method: 'GET', path: nobody, headers: freshNetwork() }))).slice(9, 12)
  const register = (n: number) =>
    service.post(
      '/veterinarian/register',
      { firstname: 'Ada', lastname: 'Marsh', email: `over${n}@vets.example` },
      freshNetwork(),
    )

  /** A store that answers nobody until it is told to. */
  function heldStore() {
    const { db } = service.app.parts
    const { one, byId, all, run, tx, unsynced, decide } = db
    const calls: (() => void)[] = []
    const hold =
      <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
      (...args: A): Promise<R> =>
        new Promise((resolve, reject) => calls.push(() => void call(...args).then(resolve, reject)))
    const reads = { one: hold(one), byId: hold(byId), all: hold(all) }
    const writes = {
      run: hold(run),
      tx: hold(tx),
      unsynced: hold(unsynced),
      decide: hold(decide as (...steps: unknown[]) => Promise<unknown>),
    }
    Object.assign(db, reads, writes)
    return () => {
      Object.assign(db, { one, byId, all, run, tx, unsynced, decide })
      for (const call of calls) call()
    }
  }

  /**
   * So many requests meet a store that does not answer for some seconds; then it does, and a moment later it is all over.
   * Returns what was refused, and all.
   */
  async function overloadWith(
    count: number,
    ask: (n: number) => Promise<Reply>,
    meanwhile = async () => {},
    afterwards = async () => {},
  ) {
    service.log.length = 0
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
      await afterwards()
      const newcomer = newConnection()
      assert.equal(await profileOver(newcomer), '404')
      newcomer.end()
      service.clock.advance(calmAfterMs)
      await eventually('calm', () => service.log.some((line) => line.includes('no longer overloaded')))
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

  test('While there is no room, others are turned away before their bodies are read, without a log line each', async () => {
    const turnedAway: Reply[] = []
    await overloadWith(150, profile, async () => {
      for (let n = 0; n < 10; n++) turnedAway.push(await register(2_000 + n))
      turnedAway.push(await profile())
    })
    for (const { status, json, headers } of turnedAway) {
      assert.deepEqual([status, json.code, json.instance], [503, 'unavailable', headers.get('request-id')])
      assert.match(headers.get('retry-after')!, /^[1-4]$/)
      assert.equal(headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'")
      assert.ok(!service.log.some((line) => line.includes(json.instance)))
    }
    const lines = service.log.join('')
    assert.match(lines, new RegExp(`"refused":${150 - workingMax + 11},`))
  })

  test('A connection that was refused is refused for a second, also when there is room again, unless it is all over', async () => {
    const [refused, other] = [newConnection(), newConnection()]
    await overloadWith(
      150,
      profile,
      async () => assert.equal(await profileOver(refused), '503'),
      async () => {
        assert.equal(await profileOver(refused), '503')
        assert.equal(await profileOver(other), '404')
        assert.equal(await profileOver(refused), '503')
      },
    )
    assert.equal(await profileOver(refused), '404')
    for (const connection of [refused, other]) connection.end()
  })

  for (const [how, jumpMs] of [
    ['back', -3_600_000],
    ['forward', 3_600_000],
  ] as const)
    test(`A clock that is put ${how} during overload changes nothing about its end`, async () => {
      const refused = newConnection()
      await overloadWith(
        150,
        profile,
        async () => {
          assert.equal(await profileOver(refused), '503')
          service.clock.jump(jumpMs)
        },
        async () => assert.equal(await profileOver(refused), '503'),
      )
      assert.equal(await profileOver(refused), '404')
      refused.end()
    })

  for (const [what, ask] of [
    ['read', () => profile()],
    ['write', () => register(3_000)],
  ] as const)
    test(`After a refused ${what} its connection is not read again in the same turn of the event loop`, async () => {
      const { server } = service.app.parts.server.app
      const stayPaused: boolean[] = []
      await overloadWith(150, profile, async () => {
        server.once('request', ({ socket }) =>
          socket.once('pause', () => setImmediate(() => stayPaused.push(socket.isPaused()))),
        )
        assert.equal((await ask()).status, 503)
        await eventually('it was paused', () => stayPaused.length > 0)
      })
      assert.deepEqual(stayPaused, [true])
    })

  test('Refused requests have no effect', async () => {
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
