/** The rules of registrations, a case a line. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  canRotate,
  changesOf,
  clientsMax,
  closesToUnverified,
  hasRoom,
  turned,
} from '../src/identity/clients/rules.ts'

test('There is room for 200 applications', () => {
  assert.equal(clientsMax, 200)
  for (const [count, has] of [
    [0, true],
    [199, true],
    [200, false],
    [201, false],
  ] as const)
    assert.equal(hasRoom(count), has)
})

describe('A change', () => {
  const before = {
    ...{ name: 'Moodle', redirect_uris: '[]', logout_uris: '[]', backchannel_uri: null, scopes: 'openid' },
    ...{ roles: 'student', consent: 'never', pkce: 1, claims_in_id_token: 0, id_token_alg: 'ES256' },
    unverified_veterinarians: null,
  } as const
  const open = { unverified_veterinarians: 1 }
  const cases: [what: string, before: object, given: object, changes: object][] = [
    ['of nothing changes nothing', {}, {}, {}],
    ['to the same changes nothing', {}, { name: 'Moodle', backchannel_uri: null }, {}],
    ['has only what differs', {}, { name: 'Ilias', pkce: 1 }, { name: 'Ilias' }],
    [
      'may take an address away',
      { backchannel_uri: 'x' },
      { backchannel_uri: null },
      { backchannel_uri: null },
    ],
    [
      'that admits veterinarians for the first time admits verified ones',
      {},
      { roles: 'veterinarian student' },
      { unverified_veterinarians: 0, roles: 'veterinarian student' },
    ],
    [
      'may admit all of them at once',
      {},
      { roles: 'veterinarian', ...open },
      { ...open, roles: 'veterinarian' },
    ],
    [
      'of other roles leaves undecided what was',
      { roles: 'veterinarian' },
      { roles: 'veterinarian student' },
      { roles: 'veterinarian student' },
    ],
    ['leaves decided what was', { ...open }, { roles: 'veterinarian' }, { roles: 'veterinarian' }],
    ['decides', { roles: 'veterinarian' }, { unverified_veterinarians: 0 }, { unverified_veterinarians: 0 }],
  ]
  for (const [what, was, given, changes] of cases)
    test(what, () => assert.deepEqual(changesOf({ ...before, ...was } as never, given), changes))

  test('sends those away who are not verified if it says so, also where it was said before', () => {
    assert.equal(closesToUnverified({ unverified_veterinarians: 0 }), true)
    assert.equal(closesToUnverified({ unverified_veterinarians: 1 }), false)
    assert.equal(closesToUnverified({ name: 'Moodle' }), false)
  })
})

describe('An application', () => {
  const cases: [disabledAt: number | null, enabled: boolean | undefined, becomes: string | null][] = [
    [null, undefined, null],
    [null, true, null],
    [null, false, 'disabled'],
    [1, undefined, null],
    [1, false, null],
    [1, true, 'enabled'],
  ]
  for (const [disabled_at, enabled, becomes] of cases)
    test(`that is ${disabled_at === null ? 'on' : 'off'}, asked to be ${enabled}, becomes ${becomes ?? 'no other'}`, () =>
      assert.equal(turned({ disabled_at }, enabled), becomes))

  test('gets a new secret if it still has the one that is replaced', () => {
    assert.equal(canRotate({ secret_digest: 'a' }, 'a'), true)
    assert.equal(canRotate({ secret_digest: 'b' }, 'a'), false)
    assert.equal(canRotate({ secret_digest: null }, 'a'), false)
    assert.equal(canRotate(undefined, 'a'), false)
  })
})
