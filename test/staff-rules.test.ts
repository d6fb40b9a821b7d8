/** Who of the staff may be changed or removed, and who may be suspended: a case a line, without a store. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { canBecome } from '../src/identity/people/rules.ts'
import { statuses } from '../src/identity/people/statuses.ts'
import { memberAmong } from '../src/identity/staff/rules.ts'

const one = { id: 'one', may: 'admin' }
const two = { id: 'two', may: 'registrar,support,admin' }
const desk = { id: 'desk', may: 'support' }

suite('A member of staff', () => {
  const cases: [
    string,
    readonly (typeof one)[],
    string,
    string | null | undefined,
    ReturnType<typeof memberAmong>,
  ][] = [
    ['is removed', [one, desk], 'desk', null, desk],
    ['who is an admin is removed while there is another', [one, two], 'one', null, one],
    ['who is the last admin is not removed', [one, desk], 'one', null, 'last-admin'],
    ['who is alone is not removed', [two], 'two', null, 'last-admin'],
    ['gets other rights', [one, desk], 'desk', 'registrar', desk],
    ['becomes an admin', [one, desk], 'desk', 'support,admin', desk],
    ['is one admin less while there is another', [one, two], 'two', 'support', two],
    ['who is the last admin stays one', [one, desk], 'one', 'support', 'last-admin'],
    ['who is the last admin may get other rights too', [one, desk], 'one', 'support,admin', one],
    ['who is the last admin may get another name', [one, desk], 'one', undefined, one],
    ['who is gone is not removed', [one, two], 'three', null, 'gone'],
    ['who is gone gets no rights', [one, two], 'three', 'admin', 'gone'],
  ]
  for (const [name, staff, id, may, expected] of cases)
    test(name, () => assert.equal(memberAmong(staff, id, may), expected))

  test('is an admin, whatever changes are asked for in whatever order', () => {
    const rights = fc.constantFrom('admin', 'support', 'registrar,admin')
    const steps = fc.array(fc.tuple(fc.nat(3), fc.option(rights)))
    fc.assert(
      fc.property(fc.array(rights, { minLength: 1, maxLength: 4 }), steps, (all, changes) => {
        let staff = ['admin', ...all].map((may, id) => ({ id: `${id}`, may }))
        for (const [number, may] of changes) {
          const member = memberAmong(staff, `${number}`, may)
          if (typeof member === 'string') continue
          staff = staff.flatMap((each) => {
            if (each !== member) return [each]
            return may === null ? [] : [{ ...each, may }]
          })
        }
        assert.ok(staff.some(({ may }) => may.split(',').includes('admin')))
      }),
    )
  })
})

test('Only whoever is active is suspended, and only whoever is suspended becomes active again', () => {
  const all = [...new Set(Object.values(statuses).flat())]
  assert.deepEqual(
    all.filter((status) => canBecome(status, 'suspended')),
    ['active'],
  )
  assert.deepEqual(
    all.filter((status) => canBecome(status, 'active')),
    ['suspended'],
  )
})
