/** Repeated work in rounds, as the workers of queues and the sweeper use it. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Failure } from '../src/platform/lib/failure.ts'
import { Poller } from '../src/platform/lib/poller.ts'
import { eventually } from './support/wait.ts'

suite('Poller', () => {
  /** Rounds that end when the test says so. */
  function start() {
    const said: string[] = []
    const log = {
      info: (_: object, message: string) => void said.push(message),
      warn: (_: object, message: string) => void said.push(message),
    }
    const open: PromiseWithResolvers<void>[] = []
    const work = () => {
      const round = Promise.withResolvers<void>()
      open.push(round)
      return round.promise
    }
    const rounds = new Poller(work, new Failure(log, 'the work'))
    const begun = (count: number) => eventually(`${count} rounds`, async () => open.length === count)
    return { rounds, open, said, begun }
  }

  test('They do not overlap, and many wakes during one make one more', async () => {
    const { rounds, open, begun } = start()
    for (let i = 0; i < 5; i++) rounds.wake()
    assert.equal(open.length, 1)
    open[0]!.resolve()
    await begun(2)
    open[1]!.resolve()
    await rounds.stop()
    assert.equal(open.length, 2)
  })

  test('Failures are logged once, and so is the recovery', async () => {
    const { rounds, open, said, begun } = start()
    rounds.wake()
    for (const i of [0, 1]) {
      open[i]!.reject(new Error('broken'))
      rounds.wake()
      await begun(i + 2)
    }
    open[2]!.resolve()
    await rounds.stop()
    assert.deepEqual(said, ['the work is failing; retrying until it works', 'the work works again'])
  })

  test('Once stopped, nothing more begins, and the round is waited for', async () => {
    const { rounds, open } = start()
    rounds.wake()
    let isOver = false
    const stopped = rounds.stop().then(() => {
      isOver = true
    })
    await new Promise(setImmediate)
    assert.equal(isOver, false)
    open[0]!.resolve()
    await stopped
    rounds.wake()
    assert.equal(open.length, 1)
  })
})
