/** When events are tried again and endpoints switched off, a case a line. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  failingSince,
  type Health,
  hasFailed,
  hasRoom,
  isInTrouble,
  isSwitchedOff,
  pauseAfter,
  type Trouble,
  webhooksMax,
} from '../src/messages/webhooks/rules.ts'
import { day, hour, minute, second } from '../src/platform/lib/clock.ts'

const now = Date.parse('2026-11-19T08:00:00Z')
const well: Health = { disabled_at: null, failures: 0, failing_since: null }
const failing = (failures: number, forMs: number): Health => ({
  ...well,
  failures,
  failing_since: now - forMs,
})
const off = (health: Health): Health => ({ ...health, disabled_at: now })

describe('An endpoint', () => {
  const cases: readonly [what: string, health: Health | undefined, trouble: Trouble, isOff: boolean][] = [
    ['that answers 410', well, 'gone', true],
    ['that answers 410 after failures', failing(3, minute), 'gone', true],
    ['that answers 410, but is off already', off(well), 'gone', false],
    ['that answers 410, but was removed', undefined, 'gone', false],
    ['that works', well, 'failing', false],
    ['that has failed for three days, twelve times', failing(12, 3 * day), 'failing', true],
    ['that has failed for longer, more often', failing(100, 5 * day), 'failing', true],
    ['that has failed a millisecond less', failing(12, 3 * day - 1), 'failing', false],
    ['that has failed eleven times', failing(11, 3 * day), 'failing', false],
    ['that has failed often in a minute', failing(1_000, minute), 'failing', false],
    ['that has failed since a time ahead', failing(12, -day), 'failing', false],
    ['that has failed, but is off already', off(failing(12, 3 * day)), 'failing', false],
    ['that has failed, but was removed', undefined, 'failing', false],
    ['that cannot be read for three days', failing(0, 3 * day), 'unreadable', true],
    ['that cannot be read for a millisecond less', failing(0, 3 * day - 1), 'unreadable', false],
    ['that cannot be read since now', failing(0, 0), 'unreadable', false],
    ['that cannot be read, for the first time', well, 'unreadable', false],
    ['that cannot be read, but is off already', off(failing(0, 4 * day)), 'unreadable', false],
  ]
  for (const [what, health, trouble, isOff] of cases)
    test(`${what} ${isOff ? 'is' : 'is not'} switched off`, () => {
      assert.equal(isSwitchedOff(health, trouble, now), isOff)
    })

  const since: readonly [what: string, failing_since: number | null, is: number][] = [
    ['begins to fail', null, now],
    ['keeps the time of its first failure', now - day, now - day],
    ['fails in the same moment', now, now],
    ['forgets a time ahead, of a clock that was wrong', now + 1, now],
  ]
  for (const [what, failing_since, is] of since)
    test(what, () => assert.equal(failingSince({ ...well, failing_since }, now), is))

  for (const [failures, isTrouble] of [
    [0, false],
    [4, false],
    [5, true],
    [6, true],
  ] as const)
    test(`that failed ${failures} times ${isTrouble ? 'is' : 'is not'} in trouble itself`, () => {
      assert.equal(isInTrouble(failing(failures, minute)), isTrouble)
    })

  test('has failed if it was counted, or could not be tried', () => {
    assert.equal(hasFailed(well), false)
    assert.equal(hasFailed(failing(1, 0)), true)
    assert.equal(hasFailed(failing(0, minute)), true)
  })

  test('is not switched off before three days and twelve failures, however they come', () => {
    const pauses = fc.array(fc.integer({ min: 0, max: day }), { maxLength: 60 })
    fc.assert(
      fc.property(pauses, (pauses) => {
        let health = well
        let at = now
        for (const [i, pause] of pauses.entries()) {
          at += pause
          health = { ...health, failures: i + 1, failing_since: failingSince(health, at) }
          const lasted = at - now - pauses[0]!
          assert.equal(isSwitchedOff(health, 'failing', at), i + 1 >= 12 && lasted >= 3 * day)
        }
      }),
    )
  })
})

test('A delivery is tried twelve times in 72 hours, with pauses that grow', () => {
  const pauses: number[] = []
  for (let pause = pauseAfter(1); pause !== undefined; pause = pauseAfter(pauses.length + 1))
    pauses.push(pause)
  assert.equal(pauses.length, 11)
  assert.equal(pauses[0], 5 * second)
  assert.deepEqual(
    pauses,
    [...pauses].sort((a, b) => a - b),
  )
  const total = pauses.reduce((sum, pause) => sum + pause)
  assert.ok(total > 72 * hour && total < 73 * hour)
})

test(`There are at most ${webhooksMax} endpoints`, () => {
  for (const [n, room] of [
    [0, true],
    [webhooksMax - 1, true],
    [webhooksMax, false],
    [webhooksMax + 1, false],
  ] as const)
    assert.equal(hasRoom(n), room)
})
