/** What a student may add: a case a line, without a store. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { feedsMax, placeForFeed } from '../src/school/student/rules.ts'

const at = (email_key: string) => ({ email_key })
const feedsAt = (email_key: string, count: number) => Array.from({ length: count }, () => at(email_key))
const [mia, former] = ['mia@school.example', 'former@school.example']

suite('A calendar feed', () => {
  const cases: [
    string,
    ReturnType<typeof at> | undefined,
    ReturnType<typeof feedsAt>,
    ReturnType<typeof placeForFeed>,
  ][] = [
    ['is the first', at(mia), [], { addressKey: mia }],
    ['is one of five', at(mia), feedsAt(mia, 4), { addressKey: mia }],
    ['is not the sixth', at(mia), feedsAt(mia, 5), 'full'],
    ['is not the seventh', at(mia), feedsAt(mia, 6), 'full'],
    [
      'does not count those of a former address',
      at(mia),
      [...feedsAt(former, 5), ...feedsAt(mia, 4)],
      { addressKey: mia },
    ],
    ['needs a student', undefined, [], 'gone'],
    ['needs a student, also where there are many', undefined, feedsAt(mia, 5), 'gone'],
  ]
  for (const [name, student, feeds, expected] of cases)
    test(name, () => assert.deepEqual(placeForFeed(student, feeds), expected))

  test('is never one too many of an address', () => {
    const addresses = fc.array(fc.constantFrom(mia, former), { maxLength: 40 })
    fc.assert(
      fc.property(addresses, (moves) => {
        const feeds: ReturnType<typeof at>[] = []
        for (const address of moves) {
          const place = placeForFeed(at(address), feeds)
          if (typeof place === 'object') feeds.push(at(place.addressKey))
        }
        for (const address of [mia, former]) {
          const asked = moves.filter((one) => one === address).length
          const made = feeds.filter(({ email_key }) => email_key === address).length
          assert.equal(made, Math.min(asked, feedsMax))
        }
      }),
    )
  })
})
