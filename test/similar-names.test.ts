/** Which names somebody may mean who has misspelt one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mayBeMisspelt, slipsBetween } from '../src/operate/support/similar.ts'

const cases: readonly [typed: string, name: string, slips: number | undefined][] = [
  ['elenor whit', 'eleanor whitcombe', 1],
  ['elaenor', 'eleanor whitcombe', 1],
  ['whitcomb', 'eleanor whitcombe', 0],
  ['whitcome', 'eleanor whitcombe', 1],
  ['witcome', 'eleanor whitcombe', undefined],
  ['witcombe', 'eleanor whitcombe', 1],
  ['hwitcombe', 'eleanor whitcombe', 1],
  ['whitcombe eleanor', 'eleanor whitcombe', 0],
  ['eleanor feldman', 'eleanor whitcombe', undefined],
  ['obrien', "maeve o'brien", 1],
  ["o'brian", "maeve o'brien", 1],
  ['garcia lopes', 'ines garcia-lopez', 1],
  ['ann', 'anna berg', 0],
  ['amn', 'anna berg', undefined],
  ['anne', 'anna berg', 1],
  ['mueller', 'jan muller', 1],
  ['xavier', 'anna berg', undefined],
  ['annabergs', 'anna berg', undefined],
]

for (const [typed, name, slips] of cases)
  test(`"${typed}" is ${slips === undefined ? 'not like' : `${slips} from`} "${name}"`, () => {
    assert.equal(slipsBetween(typed.split(' '), name), slips)
  })

test('addresses, numbers and short words are not taken for misspelt names', () => {
  for (const typed of ['ada@clinic.example', 's-1234567', 'an', 'jo li'])
    assert.equal(mayBeMisspelt(typed.split(' ')), false, typed)
  assert.equal(mayBeMisspelt(['elenor']), true)
})
