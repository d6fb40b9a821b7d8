/** The rules of limits, a case a line: no database, and no clock but the one in the case. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  type AnswerCounts,
  attacksBegunBy,
  isCalm,
  needsLongerCode,
} from '../src/identity/limits/guessing.ts'
import { type CodeAsk, inboxBucket, limitsOfCode } from '../src/identity/limits/policies.ts'
import { day, hour, minute, second } from '../src/platform/lib/clock.ts'
import {
  allFreeAt,
  type Counts,
  countAfter,
  freeAt,
  isEmpty,
  left,
  oneLess,
  oneMore,
  type Rate,
  refillMs,
  type Window,
  windowsFreeAt,
  withTime,
} from '../src/platform/lib/limit.ts'

const start = Date.parse('2026-11-19T08:00:00Z')
/** Newest first, as they are kept. */
const kept = (...ages: number[]) => ages.map((age) => start - age).join('')

/** How many of these times lie in the `ms` that begin at any of them. */
const mostWithin = (times: readonly number[], ms: number) =>
  Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + ms).length))

describe('A window', () => {
  const three: Window[] = [{ max: 3, windowMs: minute }]
  const two: Window[] = [
    { max: 2, windowMs: minute },
    { max: 4, windowMs: hour },
  ]
  const cases: readonly [what: string, windows: Window[], times: string, freeIn: number][] = [
    ['is free without times', three, '', 0],
    ['is free with one', three, kept(0), 0],
    ['is free with two', three, kept(0, 1), 0],
    ['is full with three', three, kept(0, 0, 0), minute],
    ['is full until the oldest has left', three, kept(1, 2, 20 * second), 40 * second],
    ['is full for a last millisecond', three, kept(1, 2, minute - 1), 1],
    ['is free when the oldest is as old as it', three, kept(1, 2, minute), 0],
    ['counts no more than its last three', three, kept(1, 2, minute, minute), 0],
    ['of two has the shorter one full', two, kept(1, 2), minute - 2],
    ['of two has the longer one full', two, kept(minute, minute, 2 * minute, 3 * minute), 57 * minute],
    ['of two has both full', two, kept(0, 0, 0, 10 * minute), 50 * minute],
    ['of two is free again', two, kept(minute, 2 * minute, 3 * minute), 0],
    ['of two is free after the longer one', two, kept(minute, hour, hour, hour), 0],
    ['with a time in the future waits for it', three, kept(-minute, -minute, -minute), 2 * minute],
  ]
  for (const [what, windows, times, freeIn] of cases)
    test(what, () => {
      assert.equal(Math.max(0, windowsFreeAt(windows, times) - start), freeIn)
    })

  test('keeps as many times as its largest maximum', () => {
    assert.equal(withTime(three, '', start), kept(0))
    assert.equal(withTime(three, kept(1, 2, 3), start), kept(0, 1, 2))
    assert.equal(withTime(two, kept(1, 2, 3, 4), start), kept(0, 1, 2, 3))
  })

  test('never allows more than its maximum, within any time of its length', () => {
    const window = fc.record({
      max: fc.integer({ min: 1, max: 5 }),
      windowMs: fc.integer({ min: 1, max: 1_000 }),
    })
    const windows = fc.array(window, { minLength: 1, maxLength: 3 })
    const pauses = fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 60 })
    fc.assert(
      fc.property(windows, pauses, (windows, pauses) => {
        let [times, now] = ['', start]
        const taken: number[] = []
        for (const pause of pauses) {
          now += pause
          const isFree = windows.every(
            ({ max, windowMs }) => taken.filter((at) => at > now - windowMs).length < max,
          )
          assert.equal(windowsFreeAt(windows, times) <= now, isFree)
          if (!isFree) continue
          times = withTime(windows, times, now)
          taken.push(now)
        }
        for (const { max, windowMs } of windows) assert.ok(mostWithin(taken, windowMs) <= max)
      }),
      { numRuns: 300 },
    )
  })
})

describe('A bucket', () => {
  const three: Rate = { burst: 3, intervalMs: 100 }
  // `fullIn` says how long the bucket takes to fill, from now on.
  const cases: readonly [what: string, fullIn: number, holds: number, freeIn: number, more: number][] = [
    ['that was never used is full', -start, 3, 0, -start],
    ['that has just filled is full', 0, 3, 0, 0],
    ['misses a part of one', 1, 2, 0, -99],
    ['misses one', 100, 2, 0, 0],
    ['misses more than one', 101, 1, 0, 1],
    ['misses two', 200, 1, 0, 100],
    ['has almost none', 201, 0, 1, 101],
    ['has none', 300, 0, 100, 200],
    ['was filled by a clock ahead of ours', 1_000, 0, 800, 900],
  ]
  for (const [what, fullIn, holds, freeIn, more] of cases)
    test(what, () => {
      const fullAt = start + fullIn
      assert.equal(left(three, fullAt, start), holds)
      assert.equal(isEmpty(three, fullAt, start), holds === 0)
      assert.equal(Math.max(0, freeAt(three, fullAt) - start), freeIn)
      assert.equal(oneMore(three, fullAt, start), start + more)
      assert.equal(oneLess(three, fullAt, start), start + Math.max(0, fullIn) + 100)
    })

  test('never gives more than its burst and what it gets back meanwhile', () => {
    const rate = fc.record({
      burst: fc.integer({ min: 1, max: 6 }),
      intervalMs: fc.integer({ min: 1, max: 200 }),
    })
    const steps = fc.array(fc.record({ pause: fc.integer({ min: 0, max: 250 }), isRefund: fc.boolean() }), {
      maxLength: 60,
    })
    fc.assert(
      fc.property(rate, steps, (rate, steps) => {
        let [fullAt, now] = [0, start]
        let refunds = 0
        const taken: number[] = []
        for (const { pause, isRefund } of steps) {
          now += pause
          if (isRefund && taken.length > refunds) {
            fullAt = oneMore(rate, fullAt, now)
            refunds++
          } else if (!isEmpty(rate, fullAt, now)) {
            fullAt = oneLess(rate, fullAt, now)
            taken.push(now)
          } else assert.ok(freeAt(rate, fullAt) > now)
          assert.ok(fullAt - now <= refillMs(rate))
        }
        for (const [i, from] of taken.entries())
          for (const [n, to] of taken.slice(i).entries())
            assert.ok(n + 1 <= rate.burst + Math.floor((to - from) / rate.intervalMs) + refunds)
      }),
      { numRuns: 300 },
    )
  })
})

describe('A code', () => {
  const ask: CodeAsk = { inbox: 'inbox', network: 'network', device: null, moverId: null }
  const none = { counts: new Map<string, string>(), isKnown: false }
  const emptyInbox = start + 20 * 24 * minute
  const { key: inboxKey } = inboxBucket('inbox')
  const inboxFullAt = (at: number) => ({ counts: new Map([[inboxKey, String(at)]]) })
  type State = { readonly counts: Counts; readonly isKnown: boolean }
  const codeFreeAt = (ask: CodeAsk, { counts, isKnown }: State) =>
    allFreeAt(limitsOfCode(ask, isKnown).own, counts)
  /** What the rows hold after a code was taken; null if a limit has no room. */
  const takeCode = (ask: CodeAsk, state: State, now: number) =>
    codeFreeAt(ask, state) > now
      ? null
      : limitsOfCode(ask, state.isKnown).own.map(
          (limit) => [limit.key, String(countAfter(limit, state.counts, now))] as const,
        )
  const pair = 'inbox:network'
  const times = (key: string, ...ages: number[]) => ({ counts: new Map([[key, kept(...ages)]]) })
  const some = (count: number, age = 0) => Array.from({ length: count }, () => age)

  const cases: readonly [what: string, ask: Partial<CodeAsk>, state: Partial<State>, freeIn: number][] = [
    ['for an unknown inbox', {}, {}, 0],
    ['the fifth of a pair', {}, times(pair, ...some(4)), 0],
    ['the sixth of a pair', {}, times(pair, ...some(5)), 15 * minute],
    ['the sixth, as the first is 14 minutes old', {}, times(pair, ...some(4), 14 * minute), minute],
    ['the sixth, after 15 minutes', {}, times(pair, ...some(4), 15 * minute), 0],
    ['for an inbox that strangers used up', {}, inboxFullAt(emptyInbox), 24 * minute],
    ['for that inbox, a minute before', {}, inboxFullAt(emptyInbox - 23 * minute), minute],
    ['for that inbox, when it has one again', {}, inboxFullAt(emptyInbox - 24 * minute), 0],
    ['for that inbox from a known network', {}, { ...inboxFullAt(emptyInbox), isKnown: true }, 0],
    ['for that inbox from a known device', { device: 'd' }, inboxFullAt(emptyInbox), 0],
    ['from a known network, the sixth', {}, { ...times(pair, ...some(5)), isKnown: true }, 15 * minute],
    ['from a device whose network used up its pair', { device: 'd' }, times(pair, ...some(5)), 0],
    ['the sixth of a device', { device: 'd' }, times('device:d', ...some(5)), 15 * minute],
    ['the 41st of a device in a day', { device: 'd' }, times('device:d', ...some(40, hour)), 23 * hour],
    ['the 40th of a device in a day', { device: 'd' }, times('device:d', ...some(39, hour)), 0],
    ['the 21st of all devices', { device: 'd' }, times('devices:inbox', ...some(20)), 15 * minute],
    [
      'the 161st of all devices in a day',
      { device: 'd' },
      times('devices:inbox', ...some(160, hour)),
      23 * hour,
    ],
    ['the tenth of a mover', { moverId: 'm' }, times('mover:m', ...some(9)), 0],
    ['the eleventh of a mover', { moverId: 'm' }, times('mover:m', ...some(10)), 15 * minute],
    ['the 21st of a mover in a day', { moverId: 'm' }, times('mover:m', ...some(20, hour)), 23 * hour],
    ['of a mover, with a device', { moverId: 'm', device: 'd' }, times('mover:m', ...some(10)), 15 * minute],
    ['of another mover', { moverId: 'other' }, times('mover:m', ...some(10)), 0],
  ]
  for (const [what, asks, some, freeIn] of cases)
    test(what, () => {
      const [whole, state] = [
        { ...ask, ...asks },
        { ...none, ...some },
      ]
      const taken = takeCode(whole, state, start)
      assert.equal(taken === null, freeIn > 0)
      assert.equal(Math.max(0, codeFreeAt(whole, state) - start), freeIn)
      if (!taken) {
        assert.equal(takeCode(whole, state, start + freeIn - 1), null)
        assert.notEqual(takeCode(whole, state, start + freeIn), null)
        return
      }
      const isStranger = whole.device === null && !state.isKnown
      assert.equal(new Map(taken).has(inboxKey), isStranger)
      for (const [key, count] of taken)
        if (key === inboxKey)
          assert.equal(Number(count), Math.max(start, Number(state.counts.get(key) ?? 0)) + 24 * minute)
        else assert.ok(count.startsWith(String(start)))
    })

  test('counts where it belongs', () => {
    const keys = (asks: Partial<CodeAsk>, isKnown = false) =>
      limitsOfCode({ ...ask, ...asks }, isKnown).own.map(({ key }) => key)
    assert.deepEqual(keys({}), ['inbox:network', inboxKey])
    assert.deepEqual(limitsOfCode(ask, false).shared.length, 1)
    assert.deepEqual(limitsOfCode(ask, true).shared, [])
    assert.deepEqual(limitsOfCode({ ...ask, device: 'd' }, false).shared, [])
    assert.deepEqual(keys({}, true), ['inbox:network'])
    assert.deepEqual(keys({ device: 'd' }), ['devices:inbox', 'device:d'])
    assert.deepEqual(keys({ moverId: 'm' }), ['mover:m', 'inbox:network', inboxKey])
    assert.deepEqual(keys({ moverId: 'm', device: 'd' }), ['mover:m', 'devices:inbox', 'device:d'])
  })

  test('is never one too many for an inbox, whoever asks for it, from wherever and whenever', () => {
    const step = fc.record({
      pause: fc.oneof(
        fc.integer({ min: 0, max: 10 * second }),
        fc.integer({ min: 0, max: 20 * minute }),
        fc.constant(day),
      ),
      network: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
      device: fc.constantFrom(null, null, 'd1', 'd2', 'd3', 'd4', 'd5'),
      moverId: fc.constantFrom(null, null, 'm1', 'm2'),
    })
    fc.assert(
      fc.property(fc.array(step, { minLength: 50, maxLength: 150 }), (steps) => {
        let counts: Counts = new Map()
        let now = start
        const given: (CodeAsk & { at: number })[] = []
        for (const { pause, ...who } of steps) {
          now += pause
          const whole = { ...ask, ...who }
          // 'a' is known from the tenth code on.
          const state = { counts, isKnown: who.network === 'a' && given.length >= 10 }
          const taken = takeCode(whole, state, now)
          assert.equal(taken === null, codeFreeAt(whole, state) > now)
          if (!taken) continue
          counts = new Map([...counts, ...taken])
          const isCharged = taken.some(([key]) => key === inboxKey)
          given.push({ ...whole, at: now, ...(!isCharged && { network: 'known' }) })
        }
        const most = (ms: number, which: (one: CodeAsk) => boolean) =>
          mostWithin(
            given.filter(which).map(({ at }) => at),
            ms,
          )
        const isStranger = ({ device, network }: CodeAsk) => device === null && network !== 'known'
        assert.ok(most(24 * minute, isStranger) <= 21)
        assert.ok(most(day, isStranger) <= 20 + 60)
        assert.ok(most(15 * minute, ({ device }) => device !== null) <= 20)
        assert.ok(most(day, ({ device }) => device !== null) <= 160)
        for (const name of ['d1', 'd2', 'd3', 'd4', 'd5']) {
          assert.ok(most(15 * minute, ({ device }) => device === name) <= 5)
          assert.ok(most(day, ({ device }) => device === name) <= 40)
        }
        for (const name of ['a', 'b', 'c', 'd', 'e', 'f'])
          assert.ok(most(15 * minute, ({ device, network }) => device === null && network === name) <= 5)
        for (const name of ['m1', 'm2']) {
          assert.ok(most(15 * minute, ({ moverId }) => moverId === name) <= 10)
          assert.ok(most(day, ({ moverId }) => moverId === name) <= 20)
        }
      }),
      { numRuns: 100 },
    )
  })
})

describe('Wrong answers', () => {
  const none: AnswerCounts = {
    wrong_hour: 0,
    wrong_day: 0,
    right_hour: 0,
    right_day: 0,
    inbox_hour: 0,
    inbox_day: 0,
    asked_ten_minutes: 0,
    asked_day: 0,
    answered_ten_minutes: 0,
    answered_day: 0,
  }
  type Count = keyof AnswerCounts
  const thresholds: readonly [
    count: Count,
    from: number,
    on: 'address' | 'network' | 'service',
    minutes: number,
  ][] = [
    ['inbox_hour', 20, 'address', 60],
    ['inbox_day', 50, 'address', 1_440],
    ['asked_ten_minutes', 100, 'network', 10],
    ['asked_day', 300, 'network', 1_440],
    ['answered_ten_minutes', 100, 'network', 10],
    ['answered_day', 300, 'network', 1_440],
    ['wrong_hour', 500, 'service', 60],
    ['wrong_day', 2_000, 'service', 1_440],
  ]
  const networks = { askedFrom: 'asking', answeredFrom: 'answering' }

  for (const [count, from, on, withinMinutes] of thresholds) {
    const isKnownBefore = !count.startsWith('answered')
    for (const [wrong, isAttack] of [
      [0, false],
      [1, false],
      [from - 1, false],
      [from, true],
      [from + 1, true],
      [10 * from, true],
    ] as const)
      test(`${wrong} as ${count} ${isAttack ? 'are' : 'are not'} an attack`, () => {
        const counts = { ...none, [count]: wrong }
        // Who answers a code is not known when it is opened.
        if (isKnownBefore) assert.equal(needsLongerCode(counts, 0), isAttack)
        assert.equal(isCalm(counts), !(isAttack && on === 'service'))
      })

    test(`${from} as ${count} begin one, once`, () => {
      const begun = (wrong: number) => attacksBegunBy({ ...none, [count]: wrong }, networks)
      const network = count.startsWith('asked') ? 'asking' : 'answering'
      assert.deepEqual(begun(from - 2), [])
      assert.deepEqual(begun(from - 1), [{ on, network, wrongCodes: from, withinMinutes }])
      assert.deepEqual(begun(from), [])
      assert.deepEqual(begun(from + 100), [])
    })
  }

  test('of a network that asks and answers count once', () => {
    const counts = { ...none, asked_day: 299, answered_day: 299 }
    const same = { askedFrom: 'one', answeredFrom: 'one' }
    assert.equal(attacksBegunBy(counts, same).length, 1)
    assert.deepEqual(
      attacksBegunBy(counts, networks).map(({ network }) => network),
      ['answering', 'asking'],
    )
  })

  const raised: readonly [what: string, counts: Partial<AnswerCounts>, isCalm: boolean][] = [
    ['501 beside 5,020 right ones', { wrong_hour: 501, right_hour: 5_020 }, true],
    ['502 beside 5,020 right ones', { wrong_hour: 502, right_hour: 5_020 }, false],
    ['500 beside 4,999 right ones', { wrong_hour: 500, right_hour: 4_999 }, false],
    ['500 beside 5,009 right ones', { wrong_hour: 500, right_hour: 5_009 }, false],
    ['2,399 beside a million right ones', { wrong_hour: 2_399, right_hour: 1_000_000 }, true],
    ['2,400 beside a million right ones', { wrong_hour: 2_400, right_hour: 1_000_000 }, false],
    ['2,399 in a day beside 24,000', { wrong_day: 2_399, right_day: 24_000 }, true],
    ['2,400 in a day beside 24,000', { wrong_day: 2_400, right_day: 24_000 }, false],
    ['2,000 in a day beside a good hour', { wrong_day: 2_000, right_hour: 24_000 }, false],
  ]
  for (const [what, counts, calm] of raised)
    test(`${what} ${calm ? 'are slips' : 'are an attack'}`, () => {
      assert.equal(isCalm({ ...none, ...counts }), calm)
    })

  for (const open of [0, 1, 2, 3, 4, 100])
    test(`Beside ${open} open challenges, a code has ${open < 3 ? 'six' : 'eight'} digits`, () => {
      assert.equal(needsLongerCode(none, open), open >= 3)
    })
})
