/** Somebody sets the clock of the machine while the service runs: durations within a process stay as long as they are. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { SigningKeys } from '../src/identity/session/keys.ts'
import { Drops } from '../src/messages/mail/drops.ts'
import { MemoryBuckets, memoryPolicies } from '../src/platform/http/limits.ts'
import { Refusals } from '../src/platform/http/refusals.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { hour, minute, second, systemClock } from '../src/platform/lib/clock.ts'
import { secretsFrom } from '../src/platform/lib/secret.ts'
import { usualLimits } from '../src/school/roster/fetch/arrival.ts'
import { atRest, type Entry, newestSet } from '../src/school/roster/fetch/newest.ts'
import { engines } from './support/engines.ts'
import { startService, TestClock } from './support/service.ts'

const jumps = [
  ['back', -hour],
  ['forward', hour],
] as const

test('The clock of the service has a time that does not jump', () => {
  const before = systemClock.elapsed()
  assert.ok(systemClock.elapsed() >= before)
  assert.ok(before < Date.now() / 2, 'it is not the time of day')
})

for (const [way, jumpMs] of jumps)
  suite(`After the clock was put ${way} by an hour`, () => {
    test('a bucket in memory refills as before', () => {
      const clock = new TestClock()
      const buckets = new MemoryBuckets(clock)
      const { session } = memoryPolicies
      for (let i = 0; i < session.burst; i++) buckets.take(session, 'busy')
      clock.jump(jumpMs)
      assert.throws(() => buckets.take(session, 'busy'))
      clock.advance(minute / session.refillPerMinute)
      buckets.take(session, 'busy')
      assert.throws(() => buckets.take(session, 'busy'))
    })

    test('refusals are counted over ten minutes', () => {
      const clock = new TestClock()
      const lines: object[] = []
      const refusals = new Refusals({ warn: (about: object) => lines.push(about) }, clock)
      for (let i = 0; i < 99; i++) refusals.note('register', 'a network')
      clock.jump(jumpMs)
      refusals.note('register', 'a network')
      assert.equal(lines.length, 1)
      clock.advance(10 * minute)
      for (let i = 0; i < 100; i++) refusals.note('register', 'a network')
      assert.equal(lines.length, 2)
    })

    test('mails are within their budget a minute after the last drop', () => {
      const clock = new TestClock()
      const lines: string[] = []
      const say = (_about: object, line: string) => void lines.push(line)
      const drops = new Drops({ warn: say, info: say }, clock, { began: 'began', over: 'over' })
      drops.note('vets.example')
      clock.jump(jumpMs)
      clock.advance(minute - 1)
      drops.look()
      assert.equal(lines.length, 1)
      clock.advance(1)
      drops.look()
      assert.equal(lines.length, 2)
    })

    test('a set is taken when nobody has written to it for ten seconds', async () => {
      const clock = new TestClock()
      const file: Entry = { name: 'roster.zip', bytes: 5, changedAt: clock.now() }
      let pauses = 0
      const pause = async (ms: number) => {
        clock.advance(ms)
        if (pauses++ === 0) clock.jump(jumpMs)
      }
      const time = { now: () => clock.now(), elapsed: () => clock.elapsed(), pause }
      await atRest(async () => newestSet([file])!, usualLimits, time)
      assert.equal(clock.elapsed(), 10 * second)
    })
  })

for (const engine of engines)
  test(`After the clock was put back, another process still learns of new keys, on ${engine}`, async (t) => {
    const service = await startService(engine)
    t.after(() => service.stop())
    const { db, keys } = service.app.parts
    const secrets = secretsFrom('a secret for tests that is long enough', null)
    const other = new SigningKeys({ db, clock: service.clock, secrets }, 15 * minute)
    await other.open()
    service.clock.jump(-hour)
    service.clock.advance(minute)
    assert.equal(await keys.rotate(byOperator), true)
    assert.ok((await other.publicKeys()).length === 2)
  })
