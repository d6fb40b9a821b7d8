/** What a challenge allows, a case a line: no database, and no clock but the one in the case. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  type Answer,
  attemptsMax,
  type Challenge,
  codeTtlMs,
  resendOf,
  resendPauseMs,
  takesAnswer,
  type Verdict,
  verdictOn,
} from '../src/identity/sign-in/rules.ts'
import { minute, second } from '../src/platform/lib/clock.ts'

const start = Date.parse('2026-11-19T08:00:00Z')

const opened: Challenge = {
  id: 'challenge',
  role: 'veterinarian',
  address_fingerprint: 'address',
  inbox_fingerprint: 'inbox',
  network_fingerprint: 'network',
  device_id: null,
  digits: 6,
  reference: 'ABCD',
  created_at: start,
  expires_at: start + codeTtlMs,
  resend_at: start + resendPauseMs,
  resends: 0,
  attempts: 0,
  send_id: 'send',
  person_id: null,
  session_id: null,
  email: null,
  used_at: null,
  used_by: null,
}
const signIn = { role: 'veterinarian', asker: null, addressFingerprints: ['address'] } as const
const right: Answer = {
  whose: signIn,
  digits: 6,
  fits: true,
  canBeUsed: true,
  repeatedBy: null,
  isCalm: true,
}
const wrong: Answer = { ...right, fits: false }

const used: Partial<Challenge> = { used_at: start + minute, used_by: 'request', attempts: 1 }
const asked: Partial<Challenge> = { person_id: 'person', session_id: 'session', email: 'a@b.example' }
const askedBy = (personId: string, sessionId: string | null) => ({
  whose: { role: 'veterinarian', asker: { personId, sessionId } } as const,
})

type Case = readonly [
  what: string,
  row: Partial<Challenge>,
  answer: Partial<Answer>,
  after: number,
  is: Verdict | Verdict['is'],
]

const wrongWith = (attemptsLeft: number): Verdict => ({ is: 'wrong', attemptsLeft })

const verdicts: readonly Case[] = [
  ['the right code', {}, {}, 0, 'right'],
  ['the right code, in the last millisecond', {}, {}, codeTtlMs - 1, 'right'],
  ['the right code, at its end', {}, {}, codeTtlMs, 'unusable'],
  ['the right code after four wrong ones', { attempts: 4 }, {}, 0, 'right'],
  ['the right code after five wrong ones', { attempts: 5 }, {}, 0, 'unusable'],
  ['a wrong code', {}, { fits: false }, 0, wrongWith(4)],
  ['a second wrong code', { attempts: 1 }, { fits: false }, 0, wrongWith(3)],
  ['a third wrong code', { attempts: 2 }, { fits: false }, 0, wrongWith(2)],
  ['a fourth wrong code', { attempts: 3 }, { fits: false }, 0, wrongWith(1)],
  ['a fifth wrong code', { attempts: 4 }, { fits: false }, 0, wrongWith(0)],
  ['a sixth wrong code', { attempts: 5 }, { fits: false }, 0, 'unusable'],
  ['the right code of nobody who may sign in', {}, { canBeUsed: false }, 0, wrongWith(4)],
  ['six digits for a code of eight', { digits: 8 }, {}, 0, wrongWith(4)],
  ['eight digits for a code of six', {}, { digits: 8 }, 0, wrongWith(4)],
  ['eight digits', { digits: 8 }, { digits: 8 }, 0, 'right'],
  ['eight wrong digits', { digits: 8 }, { digits: 8, fits: false }, 0, wrongWith(4)],

  ['the code of another address', { address_fingerprint: 'other' }, {}, 0, 'unusable'],
  ['the code of a student', { role: 'student' }, {}, 0, 'unusable'],
  ['the code of somebody who asked while signed in', asked, {}, 0, 'unusable'],
  ['the address under the earlier secret', { address_fingerprint: 'old' }, old(), 0, 'right'],
  ['the code of their own session', asked, askedBy('person', 'session'), 0, 'right'],
  ['the code of another of their sessions', asked, askedBy('person', 'other'), 0, 'unusable'],
  ['the code of another person', asked, askedBy('other', 'session'), 0, 'unusable'],
  ['a step-up with a code for a new address', asked, askedBy('person', null), 0, 'unusable'],
  ['a new address', { ...asked, session_id: null }, askedBy('person', null), 0, 'right'],
  ['a new address with the code of a step-up', asked, askedBy('person', null), 0, 'unusable'],
  ['a sign-in code for a step-up', {}, askedBy('person', 'session'), 0, 'unusable'],

  ['six digits while the service is attacked', {}, { isCalm: false }, 0, 'unusable'],
  ['wrong six digits while it is attacked', {}, { isCalm: false, fits: false }, 0, 'unusable'],
  ['six digits of a known device, attacked', { device_id: 'device' }, { isCalm: false }, 0, 'right'],
  ['eight digits, attacked', { digits: 8 }, { digits: 8, isCalm: false }, 0, 'right'],
  ['six digits for eight, attacked', { digits: 8 }, { isCalm: false }, 0, wrongWith(4)],

  ['a used code', used, {}, minute, 'unusable'],
  ['a used code, with another key', used, { repeatedBy: 'other' }, minute, 'unusable'],
  ['the same request again', used, { repeatedBy: 'request' }, minute, 'repeated'],
  ['the same request two minutes later', used, { repeatedBy: 'request' }, 3 * minute, 'repeated'],
  ['the same request later', used, { repeatedBy: 'request' }, 3 * minute + 1, 'unusable'],
  [
    'the same request, whoever may sign in',
    used,
    { repeatedBy: 'request', canBeUsed: false },
    minute,
    'repeated',
  ],
  ['the same key, another code', used, { repeatedBy: 'request', fits: false }, minute, 'wrong-repeat'],
  ['the same key, more digits', used, { repeatedBy: 'request', digits: 8 }, minute, 'wrong-repeat'],
  ['the same request, attacked', used, { repeatedBy: 'request', isCalm: false }, minute, 'repeated'],
  ['the tenth answer', { ...used, attempts: 9 }, { repeatedBy: 'request' }, minute, 'repeated'],
  ['the eleventh answer', { ...used, attempts: 10 }, { repeatedBy: 'request' }, minute, 'unusable'],
  [
    'a repeat of another address',
    { ...used, address_fingerprint: 'other' },
    { repeatedBy: 'request' },
    minute,
    'unusable',
  ],
  ['a repeat of another role', { ...used, role: 'student' }, { repeatedBy: 'request' }, minute, 'unusable'],
  ['a key before the code is used', {}, { repeatedBy: 'request' }, 0, 'right'],
]

function old() {
  return { whose: { ...signIn, addressFingerprints: ['address', 'old'] } }
}

const verdict = (row: Partial<Challenge>, answer: Partial<Answer>, after: number) =>
  verdictOn({ ...opened, ...row }, { ...right, ...answer }, start + after)

describe('An answer', () => {
  test('to no challenge is unusable', () => {
    assert.deepEqual(verdictOn(undefined, right, start), { is: 'unusable' })
  })

  for (const [what, row, answer, after, is] of verdicts)
    test(what, () => {
      assert.deepEqual(verdict(row, answer, after), typeof is === 'string' ? { is } : is)
    })

  // Each alone is enough, so it does not matter what else is true of the challenge or of the answer.
  const closed: readonly [what: string, row: Partial<Challenge>, answer: Partial<Answer>, after: number][] = [
    ['expired', {}, {}, codeTtlMs],
    ['expired long ago', {}, {}, 6 * codeTtlMs],
    ['exhausted', { attempts: attemptsMax }, {}, 0],
    ['used without a key', { ...used, used_by: 'id' }, {}, minute],
    ['used by another request', { ...used, used_by: 'other' }, {}, minute],
    ['of another address', { address_fingerprint: 'other' }, {}, 0],
    ['of another role', { role: 'student' }, {}, 0],
    ['of a session', asked, {}, 0],
    ['of a mover', { ...asked, session_id: null }, {}, 0],
  ]
  const rows: readonly [what: string, row: Partial<Challenge>][] = [
    ['six digits', {}],
    ['eight digits', { digits: 8 }],
    ['a known device', { device_id: 'device' }],
    ['resent', { resends: 3, resend_at: null }],
  ]
  const answers: readonly [what: string, answer: Partial<Answer>][] = [
    ['a right answer', {}],
    ['a wrong answer', { fits: false }],
    ['eight digits', { digits: 8 }],
    ['a right answer with a key', { repeatedBy: 'request' }],
    ['a wrong answer with a key', { repeatedBy: 'request', fits: false }],
    ['an answer without an account', { canBeUsed: false }],
    ['an answer during an attack', { isCalm: false }],
  ]
  for (const [why, row, answer, after] of closed)
    for (const [how, more] of rows)
      test(`A challenge that is ${why} takes none: ${how}`, () => {
        for (const [what, given] of answers)
          assert.equal(verdict({ ...more, ...row }, { ...given, ...answer }, after).is, 'unusable', what)
      })

  test('of a known request never tells more than whether its code was right', () => {
    for (const [, row] of rows)
      for (const [, given] of answers) {
        const { is } = verdict({ ...row, ...used }, { ...given, repeatedBy: 'request' }, minute)
        const fits = given.fits ?? true
        assert.equal(is, fits && (row.digits ?? 6) === (given.digits ?? 6) ? 'repeated' : 'wrong-repeat')
      }
  })
})

describe('A resend', () => {
  const cases: readonly (readonly [
    what: string,
    row: Partial<Challenge>,
    after: number,
    is: ReturnType<typeof resendOf>,
    answer?: Partial<Answer>,
  ])[] = [
    ['after half a minute', {}, 30 * second, { is: 'due', nextAt: start + 60 * second }],
    ['a moment before', {}, 30 * second - 1, { is: 'too-early', at: start + 30 * second }],
    ['at once', {}, 0, { is: 'too-early', at: start + 30 * second }],
    ['the second', { resends: 1 }, minute, { is: 'due', nextAt: start + minute + 30 * second }],
    ['the third, which is the last', { resends: 2 }, minute, { is: 'due', nextAt: null }],
    ['a fourth', { resends: 3, resend_at: null }, minute, { is: 'too-many' }],
    ['a fourth, with a time', { resends: 3 }, minute, { is: 'too-many' }],
    ['of a challenge without resends', { resend_at: null }, minute, { is: 'too-many' }],
    ['of an expired code', {}, codeTtlMs, { is: 'unusable' }],
    ['of an exhausted code', { attempts: 5 }, minute, { is: 'unusable' }],
    ['of a used code', used, minute, { is: 'unusable' }],
    ['of another address', { address_fingerprint: 'other' }, minute, { is: 'unusable' }],
    ['of six digits during an attack', {}, minute, { is: 'unusable' }, { isCalm: false }],
    [
      'of eight digits during an attack',
      { digits: 8 },
      minute,
      { is: 'due', nextAt: start + 90 * second },
      { isCalm: false },
    ],
    [
      'of a known device during an attack',
      { device_id: 'd' },
      minute,
      { is: 'due', nextAt: start + 90 * second },
      { isCalm: false },
    ],
    ['of a step-up', asked, minute, { is: 'due', nextAt: start + 90 * second }, askedBy('person', 'session')],
    ['of somebody else’s step-up', asked, minute, { is: 'unusable' }, askedBy('other', 'session')],
  ]
  for (const [what, row, after, is, answer = {}] of cases)
    test(what, () => {
      assert.deepEqual(resendOf({ ...opened, ...row }, { ...right, ...answer }, start + after), is)
    })

  test('of no challenge is unusable', () => {
    assert.deepEqual(resendOf(undefined, right, start + minute), { is: 'unusable' })
  })
})

/** The row after the writes that follow from a verdict (sign-in.ts). */
function answered(row: Challenge, verdict: Verdict, claimBy: string, now: number): Challenge {
  const attempts = row.attempts + 1
  if (verdict.is === 'right') return { ...row, attempts, used_at: now, used_by: claimBy }
  return verdict.is === 'wrong' || verdict.is === 'wrong-repeat' ? { ...row, attempts } : row
}

const step = fc.record({
  afterMs: fc.oneof(fc.integer({ min: 0, max: 5 * second }), fc.integer({ min: 0, max: 4 * minute })),
  asks: fc.constantFrom('answer', 'answer', 'answer', 'resend'),
  fits: fc.boolean(),
  key: fc.constantFrom(null, 'one', 'two'),
  isCalm: fc.boolean(),
})

test('However answers, repeats and resends follow each other, a right answer wins once', () => {
  const shape = { digits: fc.constantFrom(6, 8), device_id: fc.constantFrom(null, 'device') }
  fc.assert(
    fc.property(fc.record(shape), fc.array(step, { maxLength: 40 }), (given, steps) => {
      let row: Challenge = { ...opened, ...(given as Pick<Challenge, 'digits' | 'device_id'>) }
      let [now, resends] = [start, 0]
      const seen: Verdict['is'][] = []
      for (const [i, { afterMs, asks, fits, key, isCalm }] of steps.entries()) {
        now += afterMs
        const answer = { ...right, fits, digits: row.digits, repeatedBy: key, isCalm }
        if (asks === 'resend') {
          const resend = resendOf(row, answer, now)
          if (resend.is !== 'due') continue
          assert.ok(row.resend_at !== null && row.resend_at <= now && row.used_at === null)
          row = { ...row, resends: row.resends + 1, resend_at: resend.nextAt }
          resends++
          continue
        }
        const open = takesAnswer(row, answer, now)
        const verdict = verdictOn(row, answer, now)
        assert.equal(verdict.is === 'right', open && fits)
        assert.equal(verdict.is === 'wrong', open && !fits)
        if (verdict.is === 'repeated') assert.equal(row.used_by, key)
        row = answered(row, verdict, key ?? `request ${i}`, now)
        seen.push(verdict.is)
      }
      const count = (...of: Verdict['is'][]) => seen.filter((is) => of.includes(is)).length
      assert.ok(count('right') <= 1)
      assert.ok(count('wrong', 'right') <= attemptsMax)
      assert.ok(count('wrong', 'right', 'wrong-repeat') <= 2 * attemptsMax)
      assert.ok(resends <= 3)
      if (seen.includes('right')) assert.ok(!seen.slice(seen.indexOf('right')).includes('wrong'))
      else assert.equal(count('repeated', 'wrong-repeat'), 0)
    }),
    { numRuns: 500 },
  )
})

test('A hundred right answers in a row: the first wins, and its repeats get the same', () => {
  let row = opened
  const seen = Array.from({ length: 100 }, (_, i) => {
    const key = i % 2 === 0 ? 'even' : 'odd'
    const verdict = verdictOn(row, { ...right, repeatedBy: key }, start + i)
    row = answered(row, verdict, key, start + i)
    return verdict.is
  })
  const expected = seen.map((_, i) => (i === 0 ? 'right' : i % 2 === 0 ? 'repeated' : 'unusable'))
  assert.deepEqual(seen, expected)
})

test('A wrong answer costs an attempt, whoever gives it', () => {
  let row = opened
  for (const left of [4, 3, 2, 1, 0]) {
    const verdict = verdictOn(row, wrong, start)
    assert.deepEqual(verdict, wrongWith(left))
    row = answered(row, verdict, 'nobody', start)
  }
  assert.equal(verdictOn(row, right, start).is, 'unusable')
})
