/** The rules of applications' requests, a case a line. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { personScopes } from '../src/identity/clients/kinds.ts'
import { consentWith, covers, grantedTo, isTooOld, redemptionOf } from '../src/identity/oauth/rules.ts'
import { second } from '../src/platform/lib/clock.ts'
import { roles } from '../src/roles.ts'

const now = Date.parse('2026-11-19T08:00:00Z')

describe('A proof of who somebody is', () => {
  const cases: [
    what: string,
    prompt: string[],
    maxAge: number | null,
    authAt: number | null,
    old: boolean,
  ][] = [
    ['is taken at any age', [], null, now - 1e9, false],
    ['is taken without a time', [], null, null, false],
    ['is asked for again by prompt=login', ['login'], null, now, true],
    ['is asked for again by prompt=login with max_age', ['login'], 60, now, true],
    ['is not asked for again by another prompt', ['consent', 'select_account'], null, now - 1e9, false],
    ['is asked for again by max_age=0', [], 0, now, true],
    ['is young enough', [], 60, now - 60 * second, false],
    ['is too old', [], 60, now - 60 * second - 1, true],
    ['is too old if nobody knows when', [], 60, null, true],
  ]
  for (const [what, prompt, maxAge, auth_at, old] of cases)
    test(what, () => assert.equal(isTooOld({ prompt: new Set(prompt), maxAge }, { auth_at }, now), old))
})

describe('Scopes', () => {
  test('are granted as asked for, but staff never stay signed in offline', () => {
    for (const role of roles) {
      const granted = role === 'staff' ? ['openid', 'email'] : ['openid', 'offline_access', 'email']
      assert.deepEqual(grantedTo(role, ['openid', 'offline_access', 'email']), granted)
    }
  })

  const cases: [given: string | undefined, asked: string[], becomes: string | null][] = [
    [undefined, ['openid'], 'openid'],
    ['openid', ['openid'], null],
    ['openid email', ['email'], null],
    ['openid', ['openid', 'email'], 'openid email'],
    ['openid email', ['profile'], 'openid email profile'],
    ['openid', [], null],
    ['openid_more', ['openid'], 'openid_more openid'],
  ]
  for (const [given, asked, becomes] of cases)
    test(`A consent to ${given ?? 'nothing'}, asked for ${asked.join(' ') || 'nothing'}, becomes ${becomes ?? 'no other'}`, () =>
      assert.equal(consentWith(given, asked), becomes))

  test('that are given are never fewer than before, and cover what was asked for', () => {
    const scopes = fc.subarray([...personScopes])
    fc.assert(
      fc.property(fc.array(scopes, { minLength: 1, maxLength: 6 }), (asks) => {
        let given: string | undefined
        for (const asked of asks) {
          const before = given
          given = consentWith(given, asked) ?? given
          if (asked.length > 0) assert.ok(covers(given, asked))
          if (before !== undefined) assert.ok(covers(given, before.split(' ')))
          assert.equal(consentWith(given, asked), null)
        }
      }),
    )
  })
})

describe('A code', () => {
  const code = { client_id: 'moodle', redirect_uri: 'https://a.example', used_at: null, expires_at: now + 1 }
  const request = { clientId: 'moodle', redirectUri: 'https://a.example', verifierFits: true }
  const cases: [what: string, is: string, code: object | undefined, request: object][] = [
    ['is redeemed', 'due', {}, {}],
    ['is unknown', 'unusable', undefined, {}],
    ['is of another client', 'unusable', { client_id: 'other' }, {}],
    [
      'is of another client, which must not learn that it was used',
      'unusable',
      { client_id: 'other', used_at: 1 },
      {},
    ],
    ['has expired', 'unusable', { expires_at: now }, {}],
    ['was used', 'used', { used_at: now - 1 }, {}],
    ['was used and has expired', 'used', { used_at: now - 1, expires_at: now }, {}],
    ['was used, whatever else is wrong', 'used', { used_at: 1 }, { redirectUri: 'x', verifierFits: false }],
    ['is for another address', 'other-redirect', {}, { redirectUri: 'https://b.example' }],
    ['is for an address that is missing', 'other-redirect', {}, { redirectUri: undefined }],
    ['needs its verifier', 'wrong-verifier', {}, { verifierFits: false }],
  ]
  for (const [what, is, row, asked] of cases)
    test(what, () =>
      assert.equal(redemptionOf(row && { ...code, ...row }, { ...request, ...asked }, now), is),
    )

  test('is redeemed once, in any order of requests', () => {
    const asked = fc.record({
      clientId: fc.constantFrom('moodle', 'other'),
      redirectUri: fc.constantFrom('https://a.example', undefined),
      verifierFits: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(asked, { maxLength: 30 }), (requests) => {
        let row: typeof code | (Omit<typeof code, 'used_at'> & { used_at: number }) = code
        let redeemed = 0
        for (const one of requests) {
          if (redemptionOf(row, one, now) !== 'due') continue
          redeemed++
          row = { ...row, used_at: now }
        }
        assert.ok(redeemed <= 1)
      }),
    )
  })
})
