/** When a roster may become the current one, and which plans are kept: a case a line, without a store. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { canPublish, isAsSeen } from '../src/school/roster/rules.ts'
import type { LockedState } from '../src/school/roster/store/state.ts'
import { canDrop, surplusOf } from '../src/school/roster/upload/rules.ts'
import type { OwnPlan } from '../src/school/roster/upload/store.ts'
import { planStates } from '../src/school/roster/words.ts'

const state: LockedState = { content: 4, generation: 6, folded: 2, leased_by: 'one', last_generation: 7 }
const seen = { content: 4, generation: 6 }

suite('A generation', () => {
  const cases: [string, Partial<LockedState>, number, boolean][] = [
    ['of an import is published', {}, 7, true],
    ['goes back to a roster that is kept', {}, 3, true],
    ['goes back to the earliest that is kept', {}, 2, true],
    ['does not go back further', {}, 1, false],
    ['goes back to the empty roster while that is kept', { folded: 0 }, 0, true],
    ['does not go back to the empty roster later', {}, 0, false],
    ['does not follow another roster', { content: 5, generation: 7 }, 7, false],
    ['does not follow an undo that led to the same roster', { generation: 7 }, 7, false],
  ]
  for (const [name, change, content, expected] of cases)
    test(name, () => assert.equal(canPublish({ ...state, ...change }, seen, content), expected))

  test('starts from the roster that was seen', () => {
    assert.equal(isAsSeen(state, seen), true)
    assert.equal(isAsSeen({ ...state, content: 3 }, seen), false)
    assert.equal(isAsSeen({ ...state, generation: 5 }, seen), false)
  })
})

const plan = (id: string, created_at: number, state: OwnPlan['state'] = 'ready') => ({
  id,
  created_at,
  state,
})
const five = ['a', 'b', 'c', 'd', 'e'].map((id, i) => plan(id, i))

suite('Plans of one person', () => {
  const cases: [string, OwnPlan[], string[]][] = [
    ['are none at first', [], []],
    ['may be five with a new one', five.slice(1), []],
    ['lose the oldest', five, ['a']],
    ['lose the oldest, in whatever order they come', five.toReversed(), ['a']],
    ['lose one of the same moment', five.map(({ id }) => plan(id, 0)), ['e']],
    ['keep what is being imported', [plan('a', 0, 'applying'), ...five.slice(1)], []],
    ['lose the next one instead', [plan('z', -1, 'applying'), ...five], ['a']],
    ['lose what is still being made', [plan('a', 0, 'planning'), ...five.slice(1)], ['a']],
  ]
  for (const [name, plans, expected] of cases) test(name, () => assert.deepEqual(surplusOf(plans), expected))

  test('are never more than five, but for those that are being imported', () => {
    const states = fc.constantFrom<OwnPlan['state']>('arriving', ...planStates)
    const made = fc.array(fc.tuple(fc.nat(9), states), { maxLength: 30 })
    fc.assert(
      fc.property(made, (all) => {
        let plans: OwnPlan[] = []
        for (const [i, [at, state]] of all.entries()) {
          const surplus = surplusOf(plans)
          assert.ok(plans.every((one) => one.state !== 'applying' || !surplus.includes(one.id)))
          plans = [...plans.filter(({ id }) => !surplus.includes(id)), plan(`${i}`, at, state)]
          assert.ok(plans.filter((one, i) => canDrop(one) || i === plans.length - 1).length <= 5)
        }
      }),
    )
  })
})
