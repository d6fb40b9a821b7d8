/** The rules of passkeys, a case a line: no database, and no clock but the one in the case. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { additionTo, passkeysMax, verdictOn } from '../src/identity/passkeys/rules.ts'
import type { Passkey, UsedChallenge } from '../src/identity/passkeys/store.ts'
import type { Person } from '../src/identity/people/people.ts'
import { minute } from '../src/platform/lib/clock.ts'

const now = Date.parse('2026-11-19T08:00:00Z')
const passkey: Passkey = {
  passkey_id: 'key',
  person_id: 'ada',
  email_key: 'ada@clinic.example',
  credential_id: 'credential',
  public_key: '',
  user_handle: '',
  rp_id: 'clinic.example',
  aaguid: '',
  transports: '',
  name: '',
  sign_count: 7,
  backed_up: 0,
  created_at: 0,
  last_used_at: null,
}
const counted = (sign_count: number): Passkey => ({ ...passkey, sign_count })

describe('An answer of an authenticator', () => {
  const answer = { personId: 'ada', signCount: 8, isFresh: true, repeatedBy: null }
  const used: UsedChallenge = { used_at: now, used_by: 'first', session_id: 'session', person_id: 'ada' }
  const again = { ...answer, repeatedBy: 'first' }
  const free = { passkey, canBeUsed: true }
  const taken = { ...free, used }
  const cases: readonly [
    what: string,
    found: Parameters<typeof verdictOn>[0],
    given: Parameters<typeof verdictOn>[1],
    verdict: ReturnType<typeof verdictOn>['is'],
  ][] = [
    ['is right', free, answer, 'right'],
    ['is right with a key for repeats', free, again, 'right'],
    ['counts on', { ...free, passkey: counted(7) }, { ...answer, signCount: 8 }, 'right'],
    ['counts on by more', { ...free, passkey: counted(7) }, { ...answer, signCount: 70 }, 'right'],
    ['has no counter', { ...free, passkey: counted(0) }, { ...answer, signCount: 0 }, 'right'],
    ['begins to count', { ...free, passkey: counted(0) }, { ...answer, signCount: 1 }, 'right'],
    ['stands still', { ...free, passkey: counted(7) }, { ...answer, signCount: 7 }, 'cloned'],
    ['goes back', { ...free, passkey: counted(7) }, { ...answer, signCount: 6 }, 'cloned'],
    ['goes back to no counter', { ...free, passkey: counted(7) }, { ...answer, signCount: 0 }, 'cloned'],
    [
      'goes back where it opens nothing',
      { ...free, passkey: counted(9), canBeUsed: false },
      answer,
      'cloned',
    ],
    ['opens nothing', { ...free, canBeUsed: false }, answer, 'refused'],
    ['is of a removed passkey', { canBeUsed: true }, answer, 'refused'],
    ['is too old', free, { ...answer, isFresh: false }, 'unusable'],
    ['is too old and goes back', { ...free, passkey: counted(9) }, { ...answer, isFresh: false }, 'unusable'],
    ['comes twice', taken, answer, 'unusable'],
    ['comes twice and goes back', { ...taken, passkey: counted(9) }, answer, 'unusable'],
    ['is repeated', taken, again, 'repeated'],
    ['is repeated by another request', taken, { ...again, repeatedBy: 'other' }, 'unusable'],
    ['is repeated with the passkey of another', taken, { ...again, personId: 'eve' }, 'unusable'],
    ['is repeated after the challenge ended', taken, { ...again, isFresh: false }, 'repeated'],
    ['is repeated after the passkey went', { used, canBeUsed: false }, again, 'repeated'],
    ['is repeated in time', { ...free, used: { ...used, used_at: now - 2 * minute } }, again, 'repeated'],
    [
      'is repeated too late',
      { ...free, used: { ...used, used_at: now - 2 * minute - 1 } },
      again,
      'unusable',
    ],
    ['repeats what was refused', { ...free, used: { ...used, session_id: null } }, again, 'unusable'],
  ]
  for (const [what, found, given, verdict] of cases)
    test(`that ${what} is ${verdict}`, () => {
      assert.deepEqual(
        verdictOn(found, given, now),
        verdict === 'repeated' ? { is: verdict, sessionId: 'session' } : { is: verdict },
      )
    })

  test('is right once, whatever comes after it', () => {
    const later = fc.record({
      personId: fc.constantFrom('ada', 'eve'),
      signCount: fc.nat(20),
      isFresh: fc.boolean(),
      repeatedBy: fc.constantFrom(null, 'first', 'other'),
    })
    fc.assert(
      fc.property(fc.array(later), fc.nat(5 * minute), (answers, afterMs) => {
        assert.equal(verdictOn(free, again, now).is, 'right')
        for (const one of answers) {
          const { is } = verdictOn(taken, one, now + afterMs)
          assert.ok(is === 'unusable' || (is === 'repeated' && one.repeatedBy === 'first'))
        }
      }),
    )
  })
})

describe('A passkey', () => {
  const account = { id: 'ada', status: 'active', email_key: 'ada@clinic.example' } as Person
  const state = { account, isSessionOpen: true, isChallengeUsed: false, own: [], exists: false }
  const many = (n: number) => Array.from({ length: n }, () => passkey)
  const formerly = { ...passkey, email_key: 'former@clinic.example' }
  const elsewhere = { ...passkey, rp_id: 'elsewhere.example' }
  const here = 'clinic.example'
  type Change = Partial<Parameters<typeof additionTo>[0]>
  const cases: readonly [string, Change, string | null, ReturnType<typeof additionTo>][] = [
    ['first', {}, null, 'added'],
    ['tenth', { own: many(passkeysMax - 1) }, null, 'added'],
    ['eleventh', { own: many(passkeysMax) }, null, 'too-many'],
    ['eleventh, of which some have a former address', { own: Array(10).fill(formerly) }, null, 'too-many'],
    ['with a credential that is known', { exists: true }, null, 'exists'],
    ['eleventh with a known credential', { exists: true, own: many(10) }, null, 'exists'],
    ['with a used challenge', { isChallengeUsed: true }, null, 'unusable'],
    ['sent again after it was added', { isChallengeUsed: true, exists: true }, null, 'exists'],
    ['of an ended session', { isSessionOpen: false }, null, 'unusable'],
    ['of no account', { account: undefined }, null, 'unusable'],
    ['of a suspended account', { account: { ...account, status: 'suspended' } }, null, 'unusable'],
    ['first of staff with a code', {}, here, 'added'],
    ['second of staff with a code', { own: [passkey] }, here, 'second'],
    ['first that works for this address', { own: [formerly] }, here, 'added'],
    ['first that works under this name', { own: [elsewhere] }, here, 'added'],
    ['second of staff with a passkey', { own: [passkey] }, null, 'added'],
  ]
  for (const [what, change, onlyFirst, result] of cases)
    test(`${what} is ${result}`, () => {
      assert.equal(additionTo({ ...state, ...change }, onlyFirst), result)
    })

  test('is never one of more than ten', () => {
    fc.assert(
      fc.property(fc.nat(30), (tries) => {
        const own: Passkey[] = []
        for (let i = 0; i < tries; i++)
          if (additionTo({ ...state, own }, null) === 'added') own.push({ ...passkey, passkey_id: String(i) })
        assert.equal(own.length, Math.min(tries, passkeysMax))
      }),
    )
  })
})
