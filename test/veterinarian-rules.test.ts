/** What becomes of registrations, and what veterinarians and staff may change: a case a line, without a store. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import type { Status } from '../src/identity/people/people.ts'
import {
  canClose,
  canMove,
  canSetHidden,
  canSetVerified,
  effectOf,
  givingWay,
  isUnchanged,
  renamed,
} from '../src/school/veterinarian/rules.ts'
import type { Account, Holder } from '../src/school/veterinarian/store.ts'

const now = Date.parse('2026-11-19T09:00:00Z')

const holder = (change: Partial<Holder> = {}): Holder => ({
  id: 'other',
  status: 'pending',
  updated_at: now - 10,
  confirm_before: now + 10,
  ...change,
})

const account = (change: Partial<Account> = {}): Account => ({
  id: 'ada',
  role: 'veterinarian',
  status: 'active',
  email: 'Ada@vets.example',
  email_key: 'ada@vets.example',
  firstname: 'Ada',
  lastname: 'Byron',
  created_at: now - 100,
  updated_at: now - 10,
  confirm_before: null,
  confirmed_at: now - 50,
  verified_at: null,
  unverified_at: null,
  hidden_at: null,
  ...change,
})

suite('A registration', () => {
  const cases: [string, Holder | undefined, ReturnType<typeof effectOf>][] = [
    ['of a free address opens an account', undefined, 'opens'],
    ['renews one that is pending', holder(), 'renews'],
    ['renews one of the same moment', holder({ updated_at: now }), 'renews'],
    ['does not undo a newer one', holder({ updated_at: now + 1 }), 'none'],
    ['replaces one past its deadline', holder({ confirm_before: now }), 'replaces'],
    [
      'replaces one past its deadline, even a newer one',
      holder({ confirm_before: now - 1, updated_at: now + 1 }),
      'replaces',
    ],
    ['leaves an active account alone', holder({ status: 'active', confirm_before: null }), 'none'],
    ['leaves a suspended account alone', holder({ status: 'suspended', confirm_before: null }), 'none'],
    [
      'leaves an active account alone whose deadline was kept',
      holder({ status: 'active', confirm_before: now - 1 }),
      'none',
    ],
  ]
  for (const [name, held, effect] of cases)
    test(name, () => assert.equal(effectOf({ created_at: now }, held), effect))

  test('has the same effect as all that came before it, in whatever order and however often they are applied', () => {
    const times = fc.uniqueArray(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 6 })
    const orders = times.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
    )
    fc.assert(
      fc.property(orders, ([all, order]) => {
        let held: Holder | undefined
        for (const at of [...order, ...order]) {
          const effect = effectOf({ created_at: at }, held)
          if (effect !== 'none') held = holder({ updated_at: at, confirm_before: at + 1_000 })
        }
        assert.equal(held?.updated_at, Math.max(...all))
      }),
    )
  })
})

suite('New names', () => {
  const names = { firstname: 'Ada', lastname: 'Lovelace' }
  const verified = account({ verified_at: now })
  test('keep what is not given', () => {
    assert.deepEqual(renamed(account(), { lastname: 'Lovelace' }), { ...names, losesVerification: false })
    assert.deepEqual(renamed(account(), {}), {
      firstname: 'Ada',
      lastname: 'Byron',
      losesVerification: false,
    })
  })
  test('take the verification back', () =>
    assert.deepEqual(renamed(verified, names), { ...names, losesVerification: true }))
  test('that are the same do not', () =>
    assert.equal(renamed(verified, { firstname: 'Ada', lastname: 'Byron' })?.losesVerification, false))
  test('in another spelling do', () =>
    assert.equal(renamed(verified, { firstname: 'ADA' })?.losesVerification, true))
  for (const status of ['pending', 'suspended', 'closed'] as const)
    test(`cannot be given to an account that is ${status}`, () =>
      assert.equal(renamed(account({ status }), names), null))
  test('cannot be given to nobody', () => assert.equal(renamed(undefined, names), null))
})

suite('A verification', () => {
  const seen = account()
  const lost = account({ unverified_at: now })
  const cases: [string, Account | undefined, boolean, boolean][] = [
    ['is given', account(), true, true],
    ['is given to a suspended person', account({ status: 'suspended' }), true, true],
    ['is given back to somebody who lost it', lost, true, true],
    ['is not given twice', account({ verified_at: now }), true, false],
    ['is not given to a pending account', account({ status: 'pending' }), true, false],
    ['is not given to a closed account', account({ status: 'closed' }), true, false],
    ['is not given to nobody', undefined, true, false],
    ['is not given to another first name', account({ firstname: 'Eve' }), true, false],
    ['is not given to another last name', account({ lastname: 'Eve' }), true, false],
    ['is not given to another address', account({ email_key: 'eve@vets.example' }), true, false],
    ['is given to another spelling of the address', account({ email: 'ADA@vets.example' }), true, true],
    ['is withdrawn', account({ verified_at: now }), false, true],
    ['that was lost can be dismissed', lost, false, true],
    ['that nobody has is not withdrawn', account(), false, false],
    ['is not withdrawn from another name', account({ verified_at: now, lastname: 'Eve' }), false, false],
  ]
  for (const [name, found, verified, allowed] of cases)
    test(name, () => assert.equal(canSetVerified(found, seen, verified), allowed))
})

suite('A public page', () => {
  const cases: [string, Account | undefined, boolean, boolean][] = [
    ['is hidden', account(), true, true],
    ['is not hidden twice', account({ hidden_at: now }), true, false],
    ['is shown', account({ hidden_at: now }), false, true],
    ['is not shown twice', account(), false, false],
    ['of a suspended account stays as it is', account({ status: 'suspended' }), true, false],
    ['of nobody cannot be hidden', undefined, true, false],
  ]
  for (const [name, found, hidden, allowed] of cases)
    test(name, () => assert.equal(canSetHidden(found, hidden), allowed))
})

test('Every account can be closed once', () => {
  const can: Record<Status<'veterinarian'>, boolean> = {
    pending: true,
    active: true,
    suspended: true,
    closed: false,
  }
  for (const [status, allowed] of Object.entries(can))
    assert.equal(canClose(account({ status: status as Status<'veterinarian'> })), allowed, status)
  assert.equal(canClose(undefined), false)
})

suite('An address', () => {
  const at = (id: string, status: Status) => ({ id, status })
  const cases: [string, Parameters<typeof givingWay>[0], string[] | null][] = [
    ['that nobody has is free', [at('ada', 'active')], []],
    ['of unconfirmed accounts is free', [at('ada', 'active'), at('b', 'pending')], ['b']],
    ['of an active account is not', [at('ada', 'active'), at('b', 'active')], null],
    ['of a suspended account is not', [at('b', 'suspended')], null],
  ]
  for (const [name, holders, ids] of cases)
    test(name, () => assert.deepEqual(givingWay(holders, 'ada')?.map(({ id }) => id) ?? null, ids))

  test('can be left by accounts that are active or suspended', () => {
    const can = (['pending', 'active', 'suspended', 'closed'] as const).filter((status) =>
      canMove(account({ status })),
    )
    assert.deepEqual(can, ['active', 'suspended'])
  })

  test('is the same as the request found it, or the owner does not move', () => {
    assert.equal(isUnchanged(account(), { email_key: 'ada@vets.example' }), true)
    assert.equal(isUnchanged(account(), { email_key: 'eve@vets.example' }), false)
    assert.equal(isUnchanged(account({ status: 'suspended' }), { email_key: 'ada@vets.example' }), false)
    assert.equal(isUnchanged(undefined, { email_key: 'ada@vets.example' }), false)
  })
})
